"""What moves did to the value of a game: exact values from the solver, mistakes by a search's estimates."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable

from arena.page.tree import Node, Score
from base.errors import UserError
from classical.solver import Solver, Unsolved
from games import CHANCE, Game
from games.choice import Candidate, Choice, error_of_mean

MISTAKE = 0.2  # of a utility that is lost by one move, beyond the error of the search
SEEN = 0.01  # of the visits of the best action: with fewer a value says little
NODES, SECONDS, POSITIONS = 2_000_000, 2.0, 20_000  # of the solver, for each position


class Judge:
    """A thread that solves positions: those that `path` gives, the last one first."""

    def __init__(
        self, game: Game, path: Callable[[], list[Node]], solved: Callable[[], None], changed: threading.Condition
    ) -> None:
        """`path()` and `solved()` are called while `changed` is held; whatever changes the path notifies it."""
        self.game, self.path, self.solved, self.changed = game, path, solved, changed
        self.is_closed = False
        threading.Thread(target=self._work, daemon=True).start()

    def _work(self) -> None:
        solver = None
        while True:
            with self.changed:
                while not self.is_closed and not self._open():
                    self.changed.wait()
                if self.is_closed:
                    return
                node = self._open()[0]
            try:
                solver = solver or Solver(self.game, nodes=NODES, seconds=SECONDS, positions=POSITIONS)
                found = solver.solve(node.state, "one").utilities
            except (Unsolved, UserError):
                found = None
            with self.changed:
                node.exact, node.unsolved = found, found is None
                if found is not None:
                    self.solved()

    def _open(self) -> list[Node]:
        """Earlier positions are harder: none before one that was too hard."""
        found = []
        for each in reversed(self.path()):
            if each.unsolved:
                break
            if each.is_choice and each.exact is None:
                found.append(each)
        return found


def verdict(game: Game, before: Node, after: Node) -> str:
    """What a move did to the value of its player: proven, in words; estimated, `?` or `??`."""
    mover = before.mover
    if mover is None or mover == CHANCE:
        return ""
    reached = after.outcome if after.outcome is not None and not after.ending else after.exact
    if before.exact is not None and reached is not None:
        was, now = before.exact[mover], reached[mover]
        if now >= was - 1e-9:
            return ""
        if game.rules.zero_sum and game.players == 2 and set(game.rules.values) <= {-1.0, 0.0, 1.0}:
            words = {(1.0, 0.0): "gave the win away", (1.0, -1.0): "lost a won game", (0.0, -1.0): "gave the draw away"}
            return words.get((was, now), f"gave {was - now:g} away")
        return f"gave {game.shown(was - now).lstrip('+')} away"
    known = after.outcome or after.utilities
    if after.action in before.scores:
        best, played = max(before.scores.values()), before.scores[after.action]
        lost, error = best.value - played.value, math.hypot(best.error, played.error)
    elif before.utilities is not None and known is not None and not game.hides_information:
        lost, error = before.utilities[mover] - known[mover], math.hypot(before.error, after.error)
    else:
        return ""
    if lost <= MISTAKE + error:
        return ""
    return "??" if lost > 2 * MISTAKE + error else "?"


def scores(choice: Choice) -> dict[int, Score]:
    """The values, for the mover, of the actions that one search looked at closely enough to compare them."""
    most = max((each.visits or 0 for each in choice.actions), default=0)
    return {
        each.action: Score(each.value, _error_of(each))
        for each in choice.actions
        if each.value is not None and (each.visits is None or each.visits >= SEEN * most)
    }


def error_of(choice: Choice) -> float:
    """Of the value of a choice."""
    return next((_error_of(each) for each in choice.actions if each.action == choice.action), 0.0)


def _error_of(each: Candidate) -> float:
    """Simulations make a mean; a search that counts none has no error of its own."""
    is_mean = each.visits is not None and each.value is not None and each.bound == "estimate"
    return error_of_mean(each.value or 0.0, each.visits or 0) if is_mean else 0.0
