"""Rules tried out before they are trusted: some games played interpreted, where a wrong index or an endless loop does no harm.

Compiled code reads and writes where it is told to, and nothing ends it from inside. So the first time that rules come from a file, and
whenever a position comes as text that only the fields' types have checked, the game is played at random for a moment first:

    try_out(game)                       # a UserError names file, line and cause; what passed is remembered by its content
    wander(rules, state, rng, 200)      # from any position; raises whatever the rules trip over

It is a glance, not an examination: that is the doctor's (`laws.py`).
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

import base
from base.compiler import content_key
from base.errors import UserError, short
from base.files import cache_folder
from base.seeds import Rng, generator
from base.threads import Overtime, within
from games.engine import kernels
from games.engine.rules import CHANCE, Rules
from games.types import GameState

if TYPE_CHECKING:
    from games.engine.game import Game

GAMES, SECONDS = 20, 0.4  # whichever comes first
PATIENCE = 5.0  # seconds for all of it: one question that takes longer does not end
KEPT = 500  # contents remembered
HARMFUL = (IndexError, ArithmeticError)  # of other exceptions the compiler has more to say


class Broken(Exception):
    """An answer that breaks the contract: of which function, and what was seen."""

    def __init__(self, function: str, seen: str) -> None:
        super().__init__(f"{function}: {seen}")
        self.function, self.seen = function, seen


WHOLE = (int, np.integer, np.bool_)
NUMBER = (*WHOLE, float, np.floating)


def number(function: str, answer: Any, kinds: tuple[type, ...] = NUMBER) -> Any:
    """The answer of `function`, if it is a number at all: compiled, nothing and text may pass for one."""
    if not isinstance(answer, kinds):
        wanted = "a number" if kinds is NUMBER else "a whole number"
        raise Broken(function, f"the answer is {short(repr(answer))}; expected {wanted}")
    return answer


def try_out(game: Game) -> None:
    """Refuse rules that compiled code could not be trusted with."""
    rules = game.rules
    numbers = rules.State.descr, rules.players, rules.actions, rules.max_legal, rules.max_plies, rules.observation
    key = hashlib.sha256(f"{content_key(kernels.examine(rules))} {numbers}".encode()).hexdigest()
    mark: Path | None = None
    with suppress(OSError):
        mark = cache_folder("tried") / key
        if mark.exists():
            return
    moves: list[int] = []
    try:
        within(PATIENCE, lambda: _play(game, moves))
    except (Broken, Overtime, *HARMFUL) as error:
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
        until = start + SECONDS / 2 if number == 0 else start + SECONDS  # the first is asked everything
        wander(game.rules, state, rng, game.rules.max_plies, moves, until, ask_all=number == 0)
        if time.perf_counter() >= start + SECONDS:
            return


def wander(
    rules: Rules,
    state: GameState,
    rng: Rng,
    most: int,
    moves: list[int] | None = None,
    until: float = np.inf,
    ask_all: bool = False,
) -> None:
    """Play from `state`, which changes, at random, interpreted: to the end, `most` plies far or `until` that time.

    `moves` notes the way. Raises what the rules raise, or `Broken` where an answer breaks the contract.
    """
    moves = [] if moves is None else moves
    actions, sample = np.zeros(rules.max_legal, np.int32), kernels.sampler(rules)
    questions = _questions(rules) if ask_all else []
    lowest = CHANCE if rules.chance else 0
    with np.errstate(over="ignore"):
        for ply in range(most + 1):
            over = bool(number("is_terminal", rules.is_terminal(state)))
            if over:
                for ask in questions:
                    ask(state.copy())
                utilities = [float(number("utility", rules.utility(state, player))) for player in range(rules.players)]
                if rules.zero_sum and abs(sum(utilities)) > 1e-6:
                    raise Broken("utility", f"utilities {utilities} in a game of zero sum")
                return
            n = number("legal_actions", rules.legal_actions(state, actions), WHOLE)
            if not 0 <= n <= rules.max_legal:
                raise Broken("legal_actions", f"{n} actions; expected 0 to max_legal = {rules.max_legal}")
            if n == 0:
                raise Broken(
                    "legal_actions or is_terminal", "no legal action, and is_terminal says that the game goes on"
                )
            wrong = [int(action) for action in actions[:n] if not 0 <= action < rules.actions]
            if wrong:
                raise Broken("legal_actions", f"action {wrong[0]}; expected 0 to {rules.actions - 1}")
            mover = int(number("to_move", rules.to_move(state), WHOLE))
            if not lowest <= mover < rules.players:
                raise Broken("to_move", f"player {mover}; expected {lowest} to {rules.players - 1}")
            for ask in questions:
                ask(state.copy())
            if ply == most:
                if most == rules.max_plies:
                    raise Broken("is_terminal or max_plies", f"no end after max_plies = {most} plies")
                return
            if time.perf_counter() >= until:
                return
            moves.append(int(sample(state, actions, rng)))
            rules.result(state, moves[-1])


def _questions(rules: Rules) -> list[Callable[[GameState], Any]]:
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
    if isinstance(error, Broken):
        seen, place = str(error), ""
    else:
        seen = "it does not end" if isinstance(error, Overtime) else f"{type(error).__name__}: {error}"
        place = f"{place_of(error)}: "
    path = short(f"'{after}'") if after else "the start"
    return f"{game.name}: {place}{seen} (after {path}); python -m games doctor {game.spec} says more"


_HOUSE = (str(Path(__file__).parent), str(Path(base.__file__).parent), str(Path(np.__file__).parent))


def place_of(error: BaseException) -> str:
    """The function and line in which interpreted rules failed: the innermost one outside the engine, its helpers and numpy."""
    frames = _frames_of_rules(error) or traceback.extract_tb(error.__traceback__)
    return f"{frames[-1].name} ({Path(frames[-1].filename).name}, line {frames[-1].lineno})"


def is_of_rules(error: BaseException) -> bool:
    """Whether rules failed, and not the engine at what they answered."""
    return bool(_frames_of_rules(error))


def _frames_of_rules(error: BaseException) -> list[traceback.FrameSummary]:
    return [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith(_HOUSE)]
