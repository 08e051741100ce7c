"""Go programs that speak GTP: `gtp:"gnugo --mode gtp --level 1"`.

Our rules are Tromp and Taylor's: area, no suicide, positional superko, and what stands on the board when both have passed is alive. A
program has to be told so in its own way, or it will pass too early and lose points that it thinks its own, or forfeit with a move that
is illegal here. For GNU Go:

    gtp:"gnugo --mode gtp --level 1 --chinese-rules --positional-superko --forbid-suicide --capture-all-dead"

With `ms` of a second or more it is told so by `time_settings`, as its time for each move; GTP knows whole seconds only. It says nothing
of what it thinks: values are 0. A position that did not arise from moves is set up stone by stone, which every program can do.

The protocol: Gunnar Farnebäck, GTP version 2, 2002.
"""

from __future__ import annotations

import time
from contextlib import suppress

from arena.engines import STARTING, Engine
from arena.forfeit import Forfeit
from base.errors import UserError
from games import Game
from games.choice import Choice
from games.formats.sgf import is_go

COLOURS = ("black", "white")


class Refused(Exception):
    """It answered with a question mark."""


class Gtp(Engine):
    """One program, for one seat."""

    kind = "gtp"

    def __init__(self, game: Game, command: str, ms: int | None, grace: int) -> None:
        if not is_go(game):
            raise UserError(f"gtp: expected the game of go, got {game.name}")
        self.told: list[int] | None = (
            None  # moves from `self.start` that are on the program's board; None: another game is
        )
        super().__init__(game, command, ms, grace)

    def handshake(self) -> None:
        self.told = None
        self.deadline = time.monotonic() + STARTING
        settings = [f"boardsize {self.game.options['size']}", "clear_board", f"komi {self.game.options['komi']:g}"]
        try:
            self.name = self.ask("name")
            for each in settings:
                self.ask(each)
        except Refused as refusal:
            raise UserError(f"'{self.command}' refuses {refusal}") from None
        if self.ms is not None and self.ms >= 1000:
            with suppress(Refused):  # it keeps no clock; ours stays
                self.ask(f"time_settings 0 {self.ms // 1000} 1")

    def begin(self) -> None:
        self.told = None

    def follow(self, state: object) -> None:
        self.told = None
        super().follow(state)

    def think(self) -> Choice:
        colour = COLOURS[int(self.state.mover)]
        try:
            self.catch_up()
            word = self.ask(f"genmove {colour}").lower()
        except Refused as refusal:
            self.forfeit(f"it refuses {refusal}")
        if word == "resign":
            self.told = None
            raise Forfeit("resigned")
        action = self.legal(word)
        self.told = [*self.moves, action]
        return Choice(action, 0.0, pv=(action,))

    def catch_up(self) -> None:
        """Bring its board to `self.state`."""
        if self.told is None or self.moves[: len(self.told)] != self.told:
            self.told = None
            self.set_up()
            self.told = []
        first = int(self.start.mover)
        for ply in range(len(self.told), len(self.moves)):
            self.ask(f"play {COLOURS[(first + ply) % 2]} {self.game.name_of(self.moves[ply])}")
        self.told = list(self.moves)

    def set_up(self) -> None:
        """The first position. Putting its stones one by one takes none of them: until all are there, each chain has the liberty that it
        has in the end, or that where its next stone goes."""
        game, start = self.game, self.start
        self.ask("clear_board")
        if self.is_from_the_start():
            return
        if len(game.text(start).split()) > 3:
            raise UserError(
                f"gtp: expected a position in which superko forbids nothing, for none else can be told, got {game.text(start)}"
            )
        for point in range(len(game.names) - 1):
            if start.board[point]:
                self.ask(f"play {COLOURS[start.board[point] - 1]} {game.name_of(point)}")
        if start.passes:
            self.ask(f"play {COLOURS[1 - int(start.mover)]} pass")

    def ask(self, command: str) -> str:
        """Its answer in one line: `= …`, and an empty line behind it."""
        self.say(command)
        lines = self.hear_until(lambda line: line.startswith(("=", "?")), asked=command if command == "name" else "")
        answer = lines[-1]
        self.hear_until(lambda line: not line.strip())
        if answer[0] == "?":
            raise Refused(f"'{command}': {answer[1:].strip()[:60]}")
        return answer[1:].strip()
