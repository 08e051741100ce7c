"""Rules are tried out before they are trusted: some games played interpreted, where a wrong index or an endless loop does no harm.

Compiled code reads and writes wherever an index points, and an endless loop in it can't be stopped from inside. So random games are
played for half a second the first time that rules come from a file, and whenever a position comes as text of which only the types of
its fields were checked:

    try_out(game)                    # a UserError names file, line and cause; what passed is remembered by its content
    walk(rules, state, rng, 200)     # from any position; raises whatever the rules raise, or a `Breach` of a quick law

The doctor checks more, and longer (`laws.py`).
"""

from __future__ import annotations

import hashlib
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from base.compiler import content_key
from base.errors import UserError, short
from base.files import cache_folder
from base.seeds import Rng, generator
from base.threads import Overtime, within
from games.engine import kernels
from games.engine.overflow import OUTSIDE
from games.engine.quick_laws import QUICK_LAWS, Answers, Breach, Functions
from games.engine.rules import Rules
from games.types import GameState

if TYPE_CHECKING:
    from games.engine.game import Game

GAMES, SECONDS = 20, 0.4  # whichever comes first
PATIENCE = 5.0  # seconds for all of it: a call that takes longer does not end
KEPT = 500  # contents remembered
HARMFUL = (IndexError, ArithmeticError)  # of other exceptions the compiler reports more


def try_out(game: Game) -> None:
    """Refuse rules that are unsafe to compile."""
    rules = game.rules
    numbers = rules.State.descr, rules.players, rules.actions, rules.max_legal, rules.max_plies, rules.observation
    key = hashlib.sha256(f"{content_key(kernels.recorded_game(rules))} {numbers}".encode()).hexdigest()
    mark: Path | None = None
    with suppress(OSError):
        mark = cache_folder("tried") / key
        if mark.exists():
            return
    moves: list[int] = []
    try:
        within(PATIENCE, lambda: _play(game, moves))
    except (Breach, Overtime, *HARMFUL) as error:
        raise UserError(_refusal(game, error, moves)) from None
    except Exception:
        return
    if mark is not None:
        with suppress(OSError):
            mark.touch()
            for old in sorted(mark.parent.iterdir(), key=lambda path: path.stat().st_mtime)[:-KEPT]:
                old.unlink()


def _play(game: Game, moves: list[int]) -> None:
    start = time.perf_counter()
    for number in range(GAMES):
        moves.clear()
        state, rng = game.blank(), generator(number, "trial")
        game.rules.initial(state)
        until = start + SECONDS / 2 if number == 0 else start + SECONDS  # the first game calls every function
        walk(game.rules, state, rng, game.rules.max_plies, moves, until, call_all=number == 0)
        if time.perf_counter() >= start + SECONDS:
            return


def walk(
    rules: Rules,
    state: GameState,
    rng: Rng,
    most: int,
    moves: list[int] | None = None,
    until: float = np.inf,
    call_all: bool = False,
) -> None:
    """Random play, interpreted, from `state`, which changes: to the end of the game, for `most` plies, or until that time.

    Appends each action to `moves`. Raises what the rules raise, or the `Breach` of a quick law. With `call_all`, the functions that the
    quick laws do not need are called too.
    """
    moves = [] if moves is None else moves
    actions, sample = np.zeros(rules.max_legal, np.int32), kernels.sampler(rules)
    functions = Functions(rules.is_terminal, rules.to_move, rules.legal_actions, rules.utility)
    others = _other_functions(rules) if call_all else []
    with np.errstate(over="ignore"):
        for ply in range(most + 1):
            answers = Answers(rules, functions, state)
            for law in QUICK_LAWS:
                law.at(answers, ply)
            for call in others:
                call(state.copy())
            if answers.is_terminal or ply == most or time.perf_counter() >= until:
                return
            moves.append(int(sample(state, actions, rng)))
            rules.result(state, moves[-1])


def _other_functions(rules: Rules) -> list[Callable[[GameState], Any]]:
    actions, planes = np.zeros(rules.max_legal, np.int32), np.zeros(rules.observation, np.float32)
    values, features = np.zeros(max(1, len(rules.feature_names)), np.float32), rules.features

    def views(state: GameState) -> None:
        for player in range(rules.players):
            rules.observe(state, player, planes)
            if features is not None:
                features(state, player, values)

    def tactics(state: GameState) -> None:
        if not rules.is_terminal(state):
            rules.tactical_actions(state, actions)

    return [rules.key, views, tactics]


def _refusal(game: Game, error: BaseException, moves: list[int]) -> str:
    after = " ".join(game.names[move] if 0 <= move < game.actions else str(move) for move in moves)
    place, seen = ("", str(error)) if isinstance(error, Breach) else (f"{place_of(error)}: ", seen_of(error))
    path = short(f"'{after}'") if after else "the start"
    return f"{game.name}: {place}{seen} (after {path}); python -m games doctor {game.spec} shows more"


# ── where interpreted rules fail ──


def seen_of(error: BaseException) -> str:
    if isinstance(error, Overtime):
        return "it does not end; is there a loop that never ends?"
    cure = (
        "; compute with int(...), or give the field of State a wider type" if isinstance(error, OverflowError) else ""
    )
    return f"{type(error).__name__}: {error}{cure}"


def place_of(error: BaseException) -> str:
    """The function and line in which interpreted rules failed: the innermost one outside the engine, its helpers and numpy."""
    frames = _frames_of_rules(error) or traceback.extract_tb(error.__traceback__)
    return f"{frames[-1].name} ({Path(frames[-1].filename).name}, line {frames[-1].lineno})"


def is_of_rules(error: BaseException) -> bool:
    """Whether the error was raised in the rules, and not in the engine by what they returned."""
    return bool(_frames_of_rules(error))


def _frames_of_rules(error: BaseException) -> list[traceback.FrameSummary]:
    return [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith(OUTSIDE)]
