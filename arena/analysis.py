"""Searches in the background, for whatever watches and stops them: engine protocols, `python -m arena analyze`.

    analyst = Analyst(make_player("uct:sims=800", game))
    analysis = analyst.search(state, start, actions, Limits(is_endless=True, lines=3, every=0.1), report, done)
    analysis.stop()                                     # done(choice) follows at once

One search at a time: a new one stops the one before and waits for its end. `report` and `done` are called on the thread of the search.
What a search has found is read there, between two of its steps, so nothing reads what compiled code is writing.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from arena.players import Player
from base.errors import UserError
from base.threads import Stop
from games import CHANCE
from games.choice import Choice, Limits, Report

Done = Callable[["Choice | Exception"], object]
"""Receives the result of a search, or what it raised."""


class Analysis:
    """One search, from its beginning."""

    def __init__(self, search: Callable[[Stop], Choice], done: Done) -> None:
        self._stop, self._done, self._search = Stop(), done, search
        self._timer: threading.Timer | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        found: Choice | Exception
        try:
            found = self._search(self._stop)
        except Exception as error:
            found = error
        if self._timer is not None:
            self._timer.cancel()
        self._done(found)

    def stop(self) -> None:
        """It ends soon, with what it has found."""
        self._stop()

    def stop_after(self, seconds: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if seconds <= 0:
            self.stop()
            return
        self._timer = threading.Timer(min(seconds, threading.TIMEOUT_MAX), self.stop)
        self._timer.daemon = True
        self._timer.start()

    def wait(self) -> None:
        """Until it has ended and its result is delivered."""
        self._thread.join()


class Analyst:
    """A player and its searches. It follows the game: where a position continues the one that was searched last, the player receives
    the actions between them and may keep what it found."""

    def __init__(self, player: Player) -> None:
        self.player, self.game = player, player.game
        self._analysis: Analysis | None = None
        self._searched: tuple[Any, list[int]] | None = None  # the game up to the position that was searched last

    def prepare(self) -> None:
        """Compile what a search with reports needs besides the player's own."""
        state = self.game.initial()
        if self.player.can_stop and self.game.to_move(state) not in (None, CHANCE):
            self.player.analyse(state, Limits(depth=2, nodes=64, lines=2, every=0.0), lambda found: None, Stop())
            self.player.new_game()

    def new_game(self) -> None:
        self.end()
        self._searched = None
        self.player.new_game()

    def search(
        self,
        state: Any,
        start: Any,
        actions: Sequence[int],
        limits: Limits,
        report: Report,
        done: Done,
        *,
        seconds: float | None = None,
        with_book: bool = False,
    ) -> Analysis:
        """Search `state`, the position that `actions` reach from `start`; `seconds`: stop it then."""
        self.end()
        if self.game.to_move(state) is None:
            raise UserError(f"expected a position of {self.game.name} with a move to choose, got a finished game")

        def search(stop: Stop) -> Choice:
            self._follow(start, actions)
            booked = self.player.from_book(state) if with_book else None
            return booked or self.player.analyse(state, limits, report, stop)

        self._analysis = Analysis(search, done)
        if seconds is not None:
            self._analysis.stop_after(seconds)
        return self._analysis

    def end(self) -> None:
        """Stop the search under way, and wait for its end."""
        if self._analysis is not None:
            self._analysis.stop()
            self._analysis.wait()
            self._analysis = None

    def _follow(self, start: Any, actions: Sequence[int]) -> None:
        before, self._searched = self._searched, (start.copy(), list(actions))
        if before is None or before[0] != start or before[1] != list(actions[: len(before[1])]):
            return
        for action in actions[len(before[1]) :]:
            self.player.advance(action)
