"""Everything a search writes, in one record: settings, counters, one entry per ply. Compiled code takes it as a single pointer.

| field                    | what                                                                                   |
|--------------------------|----------------------------------------------------------------------------------------|
| `nodes` … `endgame_hits` | counters, see COUNTERS                                                                  |
| `node_limit`, `grace`    | the search stops beyond so many nodes, and at `stop`; but not before `grace` of them    |
| `iterative` … `logging`  | the settings as numbers, and what follows from them: see SETTINGS, DERIVED              |
| `stop`, `aborted`        | set from outside to stop; set inside once the search has stopped                        |
| `depends`                | on what the value of the last subtree depends: HORIZON, on EVAL; PATH, on a draw that   |
|                          | other paths to the position do not have                                                 |
| `weights`, `values`      | of EVAL, and scratch space for the features                                             |
| `pairs`                  | [depth, which]: ProbCut's predictions of a search of that depth by a shallow one        |
| `cutoffs_by`             | [player, action]: the history table                                                     |
| `filled`                 | slots of the table filled since it was emptied: `filled_count`, of which the first      |
|                          | FILLED are listed, so that a table with few entries is emptied fast                     |
| `roots`                  | the root's actions, best first                                                          |
| `plies`                  | per ply: actions with their ranks, killers, the principal variation from there          |
| `states`                 | per ply: the position                                                                   |
| `log`                    | the searched tree, where requested, edge by edge in the order of visits; see LOG        |
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from classical.alphabeta.settings import MAX_DEPTH, AlphaBetaSettings
from games import Rules
from games.types import Record

Workspace = Record

NONE = -1  # no action
INFINITY = 2_000_000  # beyond every score

HORIZON, PATH = 1, 2
EXACT, UPPER, LOWER, PRUNED = 0, 1, 2, 3  # what a value is; PRUNED: never visited, because a sibling cut off
INNER, LEAF, END = 0, 1, 2  # where an edge leads: to an inner node, to the horizon, to the end of the game

FILLED = 1 << 16
LINE = 64  # actions of a principal variation that are kept
TURN = 220  # plies beyond MAX_DEPTH for turns of several actions, extensions and quiescence
PAIRS, PROBCUT_DEPTHS = 2, 16

COUNTERS = (
    "nodes",  # positions visited, the root included
    "evaluations",  # computations of EVAL
    "leaves",  # positions at the horizon
    "ends",  # finished games
    "path_ends",  # of which by counter or repetition: on another path the position is no end. Also wins of the endgame tables
    # that take longer than the counter of this path allows
    "quiet_nodes",  # nodes visited by quiescence
    "stand_pats",  # of which EVAL alone cut off
    "cutoffs",
    "first_cutoffs",  # of which by the first action tried: a measure of good ordering
    "killer_cutoffs",
    "table_probes",
    "table_hits",
    "table_cutoffs",
    "table_stores",
    "path_values",  # not stored, because they depend on the path
    "pvs_researches",
    "aspiration_researches",
    "null_tries",
    "null_cutoffs",
    "reductions",
    "reduction_researches",
    "futility_prunes",
    "beam_prunes",
    "probcut_tries",
    "probcut_cutoffs",
    "check_extensions",
    "extensions",  # singular ones
    "endgame_hits",  # positions found in endgame tables
)

SETTINGS = tuple(
    each.name for each in fields(AlphaBetaSettings) if isinstance(each.default, int) and each.name != "bare"
)
"""Settings that kernels read, under the same names."""
DERIVED = (
    "multipv_all",
    "ordered",  # any enhancement that orders actions is on
    "guessing",  # any enhancement that evaluates before the horizon is on
    "deepest",  # the ply from which on nothing is extended
    "age",  # of the table's entries
    "logging",  # how many edges are logged
)

LOG = np.dtype(
    [
        ("parent", np.int32),  # the edge that leads here; -1 at the root
        ("action", np.int32),
        ("alpha", np.int32),  # the window when the edge was reached; scores are the mover's
        ("beta", np.int32),
        ("value", np.int32),
        ("ply", np.int16),
        ("mover", np.int8),
        ("kind", np.int8),  # EXACT, UPPER (failed low), LOWER (cut off) or PRUNED
        ("leads", np.int8),  # INNER, LEAF, END
    ],
    align=True,
)
ROOT = np.dtype([("action", np.int32), ("value", np.int32), ("kind", np.int32), ("nodes", np.int64)], align=True)
PAIR = np.dtype([("shallow", np.int32), ("slope", np.float32), ("offset", np.float32), ("error", np.float32)])
LOGGED = 20_000  # edges at most


def levels(rules: Rules) -> int:
    """How many plies from the root the workspace holds."""
    return min(rules.max_plies + 3, MAX_DEPTH + TURN)


def workspace(rules: Rules) -> np.dtype[np.void]:
    """The record's dtype for one game."""
    ply = np.dtype(
        [
            ("actions", np.int32, rules.max_legal),
            ("ranks", np.int32, rules.max_legal),
            ("killers", np.int32, 2),
            ("line", np.int32, LINE),
            ("line_length", np.int32),
        ],
        align=True,
    )
    features = max(1, len(rules.feature_names))
    room = levels(rules)
    return laid_out(
        [(name, np.int64) for name in COUNTERS]
        + [("node_limit", np.int64), ("grace", np.int64)]
        + [(name, np.int32) for name in (*SETTINGS, *DERIVED)]
        + [("stop", np.uint8), ("aborted", np.uint8), ("depends", np.int32)]
        + [("root_count", np.int32), ("roots_done", np.int32), ("log_used", np.int32), ("log_parent", np.int32)]
        + [("weights", np.float32, features), ("values", np.float32, features)]
        + [("pairs", PAIR, (PROBCUT_DEPTHS, PAIRS)), ("probcut_errors", np.float32)]
        + [("filled_count", np.int64), ("filled", np.int32, FILLED)]
        + [("cutoffs_by", np.int32, (2, rules.actions))]
        + [
            ("roots", ROOT, rules.max_legal + 1),
            ("plies", ply, room),
            ("states", rules.State, room),
            ("log", LOG, LOGGED),
        ]
    )


def laid_out(fields: list[tuple[Any, ...]]) -> np.dtype[np.void]:
    """A dtype whose numbers are at multiples of 8 bytes and whose arrays begin cache lines: numpy's `align` has no effect on nested
    records."""
    formats = [np.dtype((field[1], field[2])) if len(field) > 2 else np.dtype(field[1]) for field in fields]
    offsets, end = [], 0
    for format_ in formats:
        step = 64 if format_.shape else 8
        offsets.append(-(-end // step) * step)
        end = offsets[-1] + format_.itemsize
    names = [field[0] for field in fields]
    return np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": -(-end // 64) * 64})
