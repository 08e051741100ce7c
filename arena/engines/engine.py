"""What engine protocols share: the process, the time limit, and the game as it was sent to the engine.

An engine starts when its player is made, so a command that does not start is a one-line error at once. It gets each game from the
beginning and every action of it; where a game began at another position, that position is set up. A later failure (crash, illegal
action, no answer within the limit) is a `Forfeit`; the engine is then killed, and started again when the next move is needed.

    ms      the time limit of a move in milliseconds. The engine gets it, and forfeits only after `grace` more
    grace   allows for pipes, a busy machine, and engines that check their clock rarely. Without `ms` the limit is TIMEOUT
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any, NoReturn

from arena.players import Forfeit
from base.errors import UserError
from base.subprocesses import Companion, Ended, Failed, Silent
from games import Game
from games.choice import Choice

STARTING = 30.0  # seconds for a step of the start: programs load networks
TIMEOUT = 60.0  # seconds for a move without `ms`
GRACE = 2000  # milliseconds

Grace = Annotated[int, range(3_600_001)]


class Engine(ABC):
    """An engine process and its game. A protocol is a subclass with `handshake`, `begin` and `think`."""

    kind = ""
    start: Any
    """The first position of the game."""
    moves: list[int]
    """The actions from there."""
    state: Any
    """The position they lead to; None after an action that was not legal in it."""

    def __init__(self, game: Game, command: str, ms: int | None, grace: int) -> None:
        self.game, self.command, self.ms, self.grace = game, command, ms, grace
        self.name = command
        self.companion: Companion | None = None
        self.deadline = 0.0
        self.follow(game.initial())

    # ── the protocol ──

    @abstractmethod
    def handshake(self) -> None:
        """Set up a new process; raise UserError where it does not speak the protocol."""

    @abstractmethod
    def begin(self) -> None:
        """Announce a new game."""

    @abstractmethod
    def think(self) -> Choice:
        """The action to play in `self.state`, which `self.moves` reach from `self.start`."""

    # ── the player ──

    def prepare(self) -> None:
        """Start the process unless it runs. UserError where it does not start."""
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
        """An action that is not legal here means that the game began at another position; `choose` sets that up."""
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
        except UserError as error:  # it started before, so the command is right
            raise Forfeit(str(error)) from None
        try:
            began = time.perf_counter()
            self.deadline = time.monotonic() + (TIMEOUT if self.ms is None else (self.ms + self.grace) / 1000)
            choice = self.think()
        except Silent:
            self.stop()
            limit = f"{TIMEOUT:g} s" if self.ms is None else f"{self.ms + self.grace:,} ms"
            raise Forfeit(f"no move within {limit}") from None
        except Ended as end:
            self.stop()
            raise Forfeit(str(end)) from None
        except Forfeit:
            raise
        except BaseException:  # an unread answer would be taken for the next one
            self.stop()
            raise
        return replace(choice, seconds=time.perf_counter() - began)

    def stop(self) -> None:
        if self.companion is not None:
            self.companion.close()
            self.companion = None

    # ── helpers for protocols ──

    def follow(self, state: Any) -> None:
        """The game continues from this position."""
        self.start, self.state = state.copy(), state.copy()
        self.moves = []

    def is_from_the_start(self) -> bool:
        return bool(self.start == self.game.initial())

    def send(self, line: str) -> None:
        assert self.companion is not None
        self.companion.send(line, self.deadline)

    def receive(self) -> str:
        assert self.companion is not None
        if time.monotonic() > self.deadline:  # it writes lines without end
            raise Silent("no answer in time")
        return self.companion.receive(self.deadline)

    def receive_until(self, is_wanted: Callable[[str], bool], sent: str = "") -> list[str]:
        """The lines up to the wanted one. A program that echoes `sent` does not speak the protocol."""
        lines: list[str] = []
        while not lines or not is_wanted(lines[-1]):
            lines = [*lines[-1000:], self.receive()]
            if sent and lines[-1].strip() == sent:
                raise UserError(
                    f"'{self.command}' echoes its input: expected a program that speaks {self.kind.upper()}"
                )
        return lines

    def legal(self, word: str) -> int:
        """The action of that name. An illegal action is a forfeit."""
        action = self.game.id_of(word)
        if action is None or action not in self.game.legal_actions(self.state):
            self.forfeit(f"illegal move '{word[:20]}'")
        return action

    def whole(self, word: str) -> int:
        """A number that the engine wrote. One of more than 18 digits is a forfeit."""
        if len(word) > 19:
            self.forfeit(f"a number of {len(word)} digits")
        return int(word)

    def forfeit(self, reason: str) -> NoReturn:
        self.stop()  # its board may differ from ours now
        raise Forfeit(reason)
