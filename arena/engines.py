"""Engines of others as players: what UCI (arena/uci.py) and GTP (arena/gtp.py) have in common.

An engine is started when the player is made, so what does not start is one line then. It is told of each game from the beginning, and
of every move; where a game turns out to have begun elsewhere, the position itself is set up. What goes wrong later (a crash, an
illegal move, silence beyond the limit) is a `Forfeit`; the engine is then killed, and started anew when it is asked again.

    ms      what it may think, in milliseconds. It is told so, and has `grace` more before it forfeits
    grace   for pipes, a busy machine, and engines that look at their clock now and then. Without `ms` an engine has PATIENCE
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any, NoReturn

from arena.forfeit import Forfeit
from base.errors import UserError
from base.subprocesses import Companion, Ended, Failed, Silent
from games import Game
from games.choice import Choice

HELLO = 10.0  # seconds for the first answer of a UCI engine, which has nothing to load before it
STARTING = 30.0  # seconds for each other step of the start: programs load networks, those of GTP before they say a word
PATIENCE = 60.0  # seconds for a move where no limit in ms was given
GRACE = 2000  # milliseconds

Grace = Annotated[int, range(3_600_001)]


class Engine:
    """The process, and the game as it has been told. Subclasses speak a protocol: `handshake`, `begin` and `think`."""

    kind = ""
    start: Any
    """The position from which the game is followed."""
    moves: list[int]
    """The actions since."""
    state: Any
    """The position they lead to; None once something was played that does not fit."""

    def __init__(self, game: Game, command: str, ms: int | None, grace: int) -> None:
        self.game, self.command, self.ms, self.grace = game, command, ms, grace
        self.name = command
        self.companion: Companion | None = None
        self.deadline = 0.0
        self.follow(game.initial())

    # ── what a protocol says ──

    def handshake(self) -> None:
        """Introduce ourselves to a fresh process."""
        raise NotImplementedError

    def begin(self) -> None:
        """Say that the next position belongs to another game."""
        raise NotImplementedError

    def think(self) -> Choice:
        """The move in `self.state`, which `self.moves` reach from `self.start`."""
        raise NotImplementedError

    # ── what a player does ──

    def prepare(self) -> None:
        """Start it, if it does not run. What does not start is the user's mistake."""
        if self.companion is not None:
            return
        try:
            self.companion = Companion(self.command)
            self.handshake()
        except Failed as failure:
            self.stop()
            raise UserError(f"{self.kind}: '{self.command}' {failure} as it was started") from None
        except UserError as error:
            self.stop()
            raise UserError(f"{self.kind}: {error}") from None
        except BaseException:
            self.stop()
            raise

    def new_game(self) -> None:
        self.follow(self.game.initial())
        try:
            if self.companion is not None:
                self.deadline = time.monotonic() + STARTING
                self.begin()
        except Failed:
            self.stop()  # `choose` starts it again, and forfeits where that fails
        except BaseException:
            self.stop()
            raise

    def advance(self, action: int) -> None:
        """A move that does not fit says that the game began elsewhere; `choose` will see where it is."""
        if self.state is None:
            return
        try:
            self.state = self.game.result(self.state, action)
            self.moves.append(action)
        except UserError:
            self.state = None

    def choose(self, state: Any) -> Choice:
        if self.state is None or self.state != state:
            self.follow(state)
        try:
            self.prepare()
        except UserError as error:  # it did start once
            raise Forfeit(str(error)) from None
        try:
            began = time.perf_counter()
            self.deadline = time.monotonic() + (PATIENCE if self.ms is None else (self.ms + self.grace) / 1000)
            choice = self.think()
        except Silent:
            self.stop()
            limit = f"{PATIENCE:g} s" if self.ms is None else f"{self.ms + self.grace:,} ms"
            raise Forfeit(f"no move within {limit}") from None
        except Ended as end:
            self.stop()
            raise Forfeit(str(end)) from None
        except Forfeit:
            raise
        except BaseException:  # an answer that nobody will read is left over
            self.stop()
            raise
        return replace(choice, seconds=time.perf_counter() - began)

    def stop(self) -> None:
        if self.companion is not None:
            self.companion.close()
            self.companion = None

    # ── for protocols ──

    def follow(self, state: Any) -> None:
        """The game goes on from here."""
        self.start, self.state = state.copy(), state.copy()
        self.moves = []

    def is_from_the_start(self) -> bool:
        return bool(self.start == self.game.initial())

    def say(self, line: str) -> None:
        assert self.companion is not None
        self.companion.send(line, self.deadline)

    def hear(self) -> str:
        assert self.companion is not None
        if time.monotonic() > self.deadline:  # it talks and talks, and does not come to the point
            raise Silent("no answer in time")
        return self.companion.receive(self.deadline)

    def hear_until(self, is_wanted: Callable[[str], bool], asked: str = "") -> list[str]:
        """Its lines up to the wanted one. Who only repeats what it was `asked` is no engine."""
        lines: list[str] = []
        while not lines or not is_wanted(lines[-1]):
            lines = [*lines[-1000:], self.hear()]
            if asked and lines[-1].strip() == asked:
                raise UserError(
                    f"'{self.command}' repeats what it is told: expected a program that speaks {self.kind.upper()}"
                )
        return lines

    def legal(self, word: str) -> int:
        """The action of that name. An illegal move loses the game."""
        action = self.game.id_of(word)
        if action is None or action not in self.game.legal_actions(self.state):
            self.forfeit(f"illegal move '{word[:20]}'")
        return action

    def forfeit(self, reason: str) -> NoReturn:
        self.stop()  # its board is not ours any more
        raise Forfeit(reason)
