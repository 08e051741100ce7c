"""Everything a search writes, in one record: settings, counters, one entry per ply. Compiled code gets it as a single pointer.

| field                    | what                                                                                   |
|--------------------------|----------------------------------------------------------------------------------------|
| `nodes` … `extensions`   | counters, see COUNTERS                                                                  |
| `node_limit`, `grace`    | the search stops beyond so many nodes, and at `stop`; but not before `grace` of them    |
| `use_tt` … `logging`     | the settings as numbers, see SWITCHES                                                   |
| `stop`, `aborted`        | set from outside to stop; set inside once it has                                        |
| `flags`                  | of the subtree searched last: HORIZON, its value rests on EVAL; PATH, on a draw that    |
|                          | other paths do not have                                                                 |
| `weights`, `values`      | of EVAL, and room for the features                                                      |
| `probcut`                | [depth, which]: how a shallow search foretells one of that depth                        |
| `cutoffs_by`             | [player, action] how often and how high up an action cut off: the history table         |
| `filled`                 | slots of the table that were filled since it was emptied; `filled_count` of them, of    |
|                          | which the first FILLED are known: so a short game empties its table in no time          |
| `roots`                  | the root's actions, best first                                                          |
| `plies`                  | per ply: actions with their ranks, killers, the principal variation from there          |
| `states`                 | per ply: the position                                                                   |
| `log`                    | the searched tree, where asked for, edge by edge in the order of visits; see LOG        |
"""

from __future__ import annotations

from typing import Any

import numpy as np

from classical.alphabeta.settings import MAX_DEPTH
from games import Rules

NONE = -1  # no action
INFINITY = 2_000_000  # beyond every score

HORIZON, PATH = 1, 2
EXACT, UPPER, LOWER, PRUNED = 0, 1, 2, 3  # how a value is meant; PRUNED: never visited, for its sibling cut off
INNER, LEAF, END = 0, 1, 2  # where an edge leads: on, to the horizon, to the end of the game

FILLED = 1 << 16
LINE = 64  # actions of a principal variation that are kept
TURN = 220  # plies beyond MAX_DEPTH that turns of several actions, extensions and quiescence may take
PAIRS, PROBCUT_DEPTHS = 2, 16

COUNTERS = (
    "nodes",  # positions visited, the root counted
    "evaluations",  # EVAL asked, wherever
    "leaves",  # positions at the horizon
    "ends",  # finished games
    "path_ends",  # of which by counter or repetition: another path to the position would not have ended there. Also wins of the
    # endgame tables that come too late for the counter on this path
    "quiet_nodes",  # those of nodes that quiescence visited
    "stand_pats",  # of which EVAL alone was enough
    "cutoffs",
    "first_cutoffs",  # of which by the first action tried: the measure of good ordering
    "killer_cutoffs",
    "table_probes",
    "table_hits",
    "table_cutoffs",
    "table_stores",
    "path_values",  # not stored, because another path leads to another value
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
    "endgame_hits",  # positions looked up in endgame tables
)

SWITCHES = (
    "use_tt",
    "pvs",
    "ordering",
    "killers",
    "history",
    "presort",
    "quiescence",
    "checks",
    "singular",
    "null_move",
    "lmr",
    "futility",
    "beam",
    "use_probcut",
    "exact",
    "multipv_all",
    "ordered",  # any of the ordering organs
    "guessing",  # any of the organs that ask EVAL before the horizon
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
    """Plies from the root for which there is room."""
    return min(rules.max_plies + 3, MAX_DEPTH + TURN)


def workspace(rules: Rules) -> np.dtype[Any]:
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
        + [(name, np.int32) for name in SWITCHES]
        + [("stop", np.uint8), ("aborted", np.uint8), ("flags", np.int32)]
        + [("root_count", np.int32), ("roots_done", np.int32), ("log_used", np.int32), ("log_parent", np.int32)]
        + [("weights", np.float32, features), ("values", np.float32, features)]
        + [("probcut", PAIR, (PROBCUT_DEPTHS, PAIRS)), ("probcut_errors", np.float32)]
        + [("filled_count", np.int64), ("filled", np.int32, FILLED)]
        + [("cutoffs_by", np.int32, (2, rules.actions))]
        + [
            ("roots", ROOT, rules.max_legal + 1),
            ("plies", ply, room),
            ("states", rules.State, room),
            ("log", LOG, LOGGED),
        ]
    )


def laid_out(fields: list[Any]) -> np.dtype[Any]:
    """A dtype whose numbers stand at multiples of 8 bytes and whose arrays begin cache lines: numpy's own `align` is lost on records
    of records."""
    formats = [np.dtype((field[1], field[2])) if len(field) > 2 else np.dtype(field[1]) for field in fields]
    offsets, end = [], 0
    for format_ in formats:
        step = 64 if format_.shape else 8
        offsets.append(-(-end // step) * step)
        end = offsets[-1] + format_.itemsize
    names = [field[0] for field in fields]
    return np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": -(-end // 64) * 64})
