"""What a law is, and the laws that a single position can break.

A law is a sentence about the rules of a game, with a check. `laws.py` lists all laws; `python -m games doctor GAME` checks them. The
quick ones below need one position at a time, so `trial.py` also checks them while it tries out the rules of a file.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from base.errors import short
from games.engine.rules import CHANCE, Rules
from games.types import Actions, GameState, Integer

if TYPE_CHECKING:
    from games.engine.game_under_test import GameUnderTest, Position

WHOLE = (int, np.integer, np.bool_)
NUMBER = (*WHOLE, float, np.floating)


class Breach(Exception):
    """A law is broken: which function to look at, what was seen, in which position, and how much was checked before."""

    def __init__(self, function: str, seen: str, position: Position | None = None, checked: str = "") -> None:
        super().__init__(f"{function}: {seen}")
        self.function, self.seen, self.position, self.checked = function, seen, position, checked


@dataclass(frozen=True)
class Law:
    """One law."""

    sentence: str
    check: Callable[[GameUnderTest], str]
    """Raises the first `Breach`; returns how much was checked."""
    is_required: bool = False
    """Rules that break it have no further properties to check."""


@dataclass(frozen=True, kw_only=True)
class QuickLaw(Law):
    """A law that one position can break."""

    at: Callable[[Answers, int], None]
    """at(answers, ply) raises a `Breach` at one position, `ply` actions after the first one."""


def law(sentence: str, is_required: bool = False) -> Callable[[Callable[[GameUnderTest], str]], Law]:
    """Makes a law of a check."""
    return lambda check: Law(sentence, check, is_required)


def quick_law(
    sentence: str,
    is_required: bool = False,
    counted: Callable[[GameUnderTest], str] = lambda test: f"{len(test.positions)} positions",
) -> Callable[[Callable[[Answers, int], None]], QuickLaw]:
    """Makes a law of a check of one position. The doctor makes that check at each position of the games played."""

    def make(at: Callable[[Answers, int], None]) -> QuickLaw:
        def check(test: GameUnderTest) -> str:
            for position in test.positions:
                try:
                    at(test.answers(position.state), position.ply)
                except Breach as breach:
                    breach.position = position
                    raise
            return counted(test)

        return QuickLaw(sentence=sentence, check=check, is_required=is_required, at=at)

    return make


# ── what rules answer about one position ──


class Functions(NamedTuple):
    """The functions of `Rules` that a quick law calls, interpreted or compiled."""

    is_terminal: Callable[[GameState], bool]
    to_move: Callable[[GameState], int]
    legal_actions: Callable[[GameState, Actions], int]
    utility: Callable[[GameState, Integer], float]


class Answers:
    """What the rules answer about one position. A function is called when its answer is first used."""

    def __init__(self, rules: Rules, functions: Functions, state: GameState) -> None:
        self.rules, self._functions, self._state = rules, functions, state

    @cached_property
    def is_terminal(self) -> bool:
        return bool(number("is_terminal", self._functions.is_terminal(self._state)))

    @cached_property
    def mover(self) -> int:
        return int(number("to_move", self._functions.to_move(self._state), WHOLE))

    @cached_property
    def legal(self) -> list[int]:
        most = self.rules.max_legal
        actions = np.zeros(most, np.int32)
        n = number("legal_actions", self._functions.legal_actions(self._state, actions), WHOLE)
        if not 0 <= n <= most:
            raise Breach("legal_actions", f"{n} actions; expected 0 to max_legal = {most}")
        return [int(action) for action in actions[:n]]

    @cached_property
    def utilities(self) -> tuple[float, ...]:
        """By player."""
        players = range(self.rules.players)
        return tuple(float(number("utility", self._functions.utility(self._state, player))) for player in players)


def number(function: str, answer: Any, kinds: tuple[type, ...] = NUMBER) -> Any:
    """The answer of `function`, if it is a number: in compiled code None and text may pass for one."""
    if not isinstance(answer, kinds):
        wanted = "a number" if kinds is NUMBER else "a whole number"
        raise Breach(function, f"the answer is {short(repr(answer))}; expected {wanted}")
    return answer


# ── the quick laws ──


@quick_law("an unfinished position has a legal action, action ids are in range, and so is the player to move", True)
def there_is_a_legal_action(answers: Answers, ply: int) -> None:
    if answers.is_terminal:
        return
    rules = answers.rules
    if not answers.legal:
        raise Breach("legal_actions or is_terminal", "no legal action where is_terminal is false")
    wrong = next((action for action in answers.legal if not 0 <= action < rules.actions), None)
    if wrong is not None:
        raise Breach("legal_actions", f"action {wrong}; expected 0 to {rules.actions - 1}")
    lowest = CHANCE if rules.chance else 0
    if not lowest <= answers.mover < rules.players:
        raise Breach("to_move", f"player {answers.mover}; expected {lowest} to {rules.players - 1}")


def _longest_game(test: GameUnderTest) -> str:
    longest = max((game.plies for game in test.random_games), default=0)
    return f"longest of {len(test.random_games)} games: {longest} of {test.rules.max_plies} plies"


@quick_law("games end within max_plies", counted=_longest_game)
def games_end(answers: Answers, ply: int) -> None:
    most = answers.rules.max_plies
    if ply >= most and not answers.is_terminal:
        raise Breach("is_terminal or max_plies", f"no end after max_plies = {most} plies")


@quick_law("each player's utility is a number; in a zero-sum game they sum to zero")
def utilities_sum_to_zero(answers: Answers, ply: int) -> None:
    if answers.is_terminal:
        must_sum_to_zero(answers)


def must_sum_to_zero(answers: Answers) -> None:
    total = sum(answers.utilities)
    if answers.rules.zero_sum and abs(total) > 1e-6:
        raise Breach("utility or zero_sum", f"utilities {answers.utilities} sum to {total:g}")


QUICK_LAWS = (there_is_a_legal_action, games_end, utilities_sum_to_zero)
