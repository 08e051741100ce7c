"""GNU Backgammon as a player: `gnubg:plies=0`, where Debian's package gnubg, or another build with Python, is installed.

It estimates every position in which a turn can end, and the best of them is played, checker by checker. `plies` is how far it looks
beyond that position: 0 is its network alone, 2 its usual strength in play. There is no cube: a gammon counts twice, a backgammon three
times. Its estimates serve as a measure too (`benchmarks/backgammon.py`):

    engine = GnuBackgammon(game, plies=0)
    ends = engine.judged(state)            # each with the mover's equity in points, the best first

GNU Backgammon 1.07, 2022.
"""

from __future__ import annotations

import shlex
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from arena.engines.engine import GRACE, STARTING, TIMEOUT, Engine
from arena.players import Thinker
from base.errors import UserError
from base.files import cache_folder
from base.options import split
from games import CHANCE, Game
from games.choice import Candidate, Choice

SCRIPT = Path(__file__).with_name("gnubg_script.py")
MOST = 3.0
"""Points of a backgammon, which is a utility of 1."""
ROUNDING = 1e-3

Plies = Annotated[int, range(4)]


def player(game: Game, /, plies: Plies = 0) -> Thinker:
    """GNU Backgammon, where it is installed, without a cube"""
    return GnuBackgammon(game, plies)


@dataclass(frozen=True)
class End:
    """A position in which a turn can end."""

    state: Any
    path: tuple[int, ...]
    """The actions that lead there."""
    equity: float
    """Of the player whose turn ends, in points."""


class GnuBackgammon(Engine):
    kind = "gnubg"

    def __init__(self, game: Game, plies: int = 0) -> None:
        if split(game.name)[0] != "backgammon" or game.options["start"] == "hyper":
            raise UserError(f"gnubg: expected backgammon with 15 checkers a side, got {game.name}")
        self.plies = plies
        settings, script = (shlex.quote(str(path)) for path in (cache_folder("gnubg"), SCRIPT))
        super().__init__(game, f"gnubg -t -q -r -s {settings} -p {script}", None, GRACE)
        self.name = "gnubg"

    def handshake(self) -> None:
        self.deadline = time.monotonic() + STARTING
        self.receive_until(lambda line: line == "ready")

    def begin(self) -> None:
        """Each position is estimated for itself."""

    def think(self) -> Choice:
        found = self.ends(self.state)
        best, firsts = found[0], dict[int, End]()
        for each in found:
            firsts.setdefault(each.path[0], each)
        candidates = tuple(Candidate(action, end.equity / MOST, pv=end.path) for action, end in firsts.items())
        return Choice(best.path[0], best.equity / MOST, pv=best.path, nodes=len(found), actions=candidates)

    def judged(self, state: Any) -> list[End]:
        """As `ends`, outside a game."""
        self.prepare()
        self.deadline = time.monotonic() + TIMEOUT
        return self.ends(state)

    def ends(self, state: Any) -> list[End]:
        """Where the turn that is under way can end, the best first."""
        game, mover = self.game, int(state.mover)
        found = turn_ends(game, state)
        unsure = [end for end, _ in found if not game.is_terminal(end)]
        equities = iter(self.equities([game.text(end).split(":")[0] for end in unsure]))
        valued = [
            End(end, path, MOST * game.utility(end)[mover] if game.is_terminal(end) else -next(equities))
            for end, path in found
        ]
        return sorted(valued, key=lambda each: -each.equity)

    def equities(self, positions: list[str]) -> list[float]:
        """Of the player on roll, in points."""
        if not positions:
            return []
        self.send(f"{self.plies} {' '.join(positions)}")
        words = self.receive_until(lambda line: line.startswith("equities"))[-1].split()[1:]
        try:
            found = [float(word) for word in words]
        except ValueError:
            found = []
        if len(found) != len(positions) or not all(abs(each) <= MOST + ROUNDING for each in found):
            self.forfeit(f"expected {len(positions)} equities of -3 to 3, got '{' '.join(words)[:40]}'")
        return [max(-MOST, min(MOST, each)) for each in found]


def turn_ends(game: Game, state: Any) -> list[tuple[Any, tuple[int, ...]]]:
    """Each different position in which the turn can end, with actions that lead there."""
    found: list[tuple[Any, tuple[int, ...]]] = []
    seen: set[str] = set()
    todo: list[tuple[Any, tuple[int, ...]]] = [(state, ())]
    while todo:
        here, path = todo.pop()
        for action in game.legal_actions(here):
            after = game.result(here, action)
            if (text := game.text(after)) in seen:
                continue
            seen.add(text)
            is_over = game.is_terminal(after) or game.to_move(after) == CHANCE
            (found if is_over else todo).append((after, (*path, action)))
    return found
