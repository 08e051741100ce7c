"""Go programs that speak GTP: `gtp:"gnugo --mode gtp --level 1"`.

Our rules are those of Tromp and Taylor: area scoring, no suicide, positional superko, and all stones on the board are alive when both
have passed. A program needs settings for them. Otherwise it passes too early and loses points that it counts as its own, or forfeits
with a move that is illegal here. For GNU Go:

    gtp:"gnugo --mode gtp --level 1 --chinese-rules --positional-superko --forbid-suicide --capture-all-dead"

With `ms` of a second or more, `time_settings` sets the time for each move; GTP has whole seconds only. GTP reports no evaluation, so
values are 0. A position given without moves is set up stone by stone, which every program supports.

The protocol: Gunnar Farnebäck, GTP version 2, 2002.
"""

from __future__ import annotations

import time
from contextlib import suppress

from arena.engines.engine import GRACE, STARTING, Engine, Grace
from arena.players import Count, Forfeit, Thinker
from base.errors import UserError
from games import Game
from games.choice import Choice
from games.formats.sgf import is_go

COLOURS = ("black", "white")


def player(game: Game, command: str, /, ms: Count | None = None, grace: Grace = GRACE) -> Thinker:
    """an external go program that speaks GTP"""
    return Gtp(game, command, ms, grace)


class Refused(Exception):
    """The program answered `?`."""


class Gtp(Engine):
    """One program for one seat."""

    kind = "gtp"

    def __init__(self, game: Game, command: str, ms: int | None, grace: int) -> None:
        if not is_go(game):
            raise UserError(f"gtp: expected the game of go, got {game.name}")
        self.sent: list[int] | None = None  # the actions from `self.start` on the program's board; None: another game
        super().__init__(game, command, ms, grace)

    def handshake(self) -> None:
        self.sent = None
        self.deadline = time.monotonic() + STARTING
        settings = [f"boardsize {self.game.options['size']}", "clear_board", f"komi {self.game.options['komi']:g}"]
        try:
            self.name = self.answer_to("name")
            for each in settings:
                self.answer_to(each)
        except Refused as refusal:
            raise UserError(f"'{self.command}' refuses {refusal}") from None
        if self.ms is not None and self.ms >= 1000:
            with suppress(Refused):  # it has no clock; our limit still holds
                self.answer_to(f"time_settings 0 {self.ms // 1000} 1")

    def begin(self) -> None:
        self.sent = None

    def follow(self, state: object) -> None:
        self.sent = None
        super().follow(state)

    def think(self) -> Choice:
        colour = COLOURS[int(self.state.mover)]
        try:
            self.catch_up()
            word = self.answer_to(f"genmove {colour}").lower()
        except Refused as refusal:
            self.forfeit(f"the engine refuses {refusal}")
        if word == "resign":
            self.sent = None
            raise Forfeit("resigned")
        action = self.legal(word)
        self.sent = [*self.moves, action]
        return Choice(action, 0.0, pv=(action,))

    def catch_up(self) -> None:
        """Bring the program's board to `self.state`."""
        if self.sent is None or self.moves[: len(self.sent)] != self.sent:
            self.sent = None
            self.set_up()
            self.sent = []
        first = int(self.start.mover)
        for ply in range(len(self.sent), len(self.moves)):
            self.answer_to(f"play {COLOURS[(first + ply) % 2]} {self.game.name_of(self.moves[ply])}")
        self.sent = list(self.moves)

    def set_up(self) -> None:
        """The first position. Its stones can be placed one by one without captures: each chain always has the liberty that it has in
        the end, or the point of a stone still to come."""
        game, start = self.game, self.start
        self.answer_to("clear_board")
        if self.is_from_the_start():
            return
        if len(game.text(start).split()) > 3:
            raise UserError(
                "gtp: expected a position in which superko forbids no move, since GTP cannot express others, "
                f"got {game.text(start)}"
            )
        for point in range(len(game.names) - 1):
            if start.board[point]:
                self.answer_to(f"play {COLOURS[start.board[point] - 1]} {game.name_of(point)}")
        if start.passes:
            self.answer_to(f"play {COLOURS[1 - int(start.mover)]} pass")

    def answer_to(self, command: str) -> str:
        """The answer to a command: a line `= …`, then an empty line."""
        self.send(command)
        lines = self.receive_until(lambda line: line.startswith(("=", "?")), sent=command if command == "name" else "")
        answer = lines[-1]
        self.receive_until(lambda line: not line.strip())
        if answer[0] == "?":
            raise Refused(f"'{command}': {answer[1:].strip()[:60]}")
        return answer[1:].strip()
