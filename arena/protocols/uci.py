"""UCI, for chess: `python -m arena engine chess alphabeta:ms=1000`.

    go depth|nodes|movetime|infinite|ponder|searchmoves|mate, and clocks: wtime, btime, winc, binc, movestogo
    options    MultiPV, Ponder, UCI_ShowWDL, Move Overhead; Hash and Threads where the player has them; `Player`, its whole text;
               and each option of the player under its own name

What is unknown or illegal is one line `info string`, and changes nothing; after a `position` that is refused, `go` is answered by no
move. A position that our rules count as drawn by repetition or by fifty moves, where the other program plays on, is searched as if it
had no history.

The protocol: Stefan Meyer-Kahlen, 2006.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from arena.protocols.clock import OVERHEAD
from arena.protocols.declared import declared
from arena.protocols.protocol import AUTHOR, NAME, Going, Position, Protocol, describe
from arena.protocols.scores import has_draws, score, win_draw_loss
from base.errors import UserError, short
from base.options import split

if TYPE_CHECKING:
    from games import Game
    from games.choice import Candidate, Choice

MOST_LINES = 256
EVERY = 0.1  # seconds between reports
SIZES = ("tt_mb", "memory_mb", "mb")
"""What players call the size of their memory."""
NUMBERS = ("depth", "nodes", "mate", "movetime", "movestogo")
LARGEST = 10**15


class Uci(Protocol):
    """One conversation."""

    hello, welcome, new = "uci", "uciok", "ucinewgame"
    clocks = (("wtime", "winc"), ("btime", "binc"))
    """By seat: the time left, and the increment."""

    def __init__(self, spec: str, text: str) -> None:
        super().__init__(spec, text)
        self.lines, self.shows_wdl = 1, False
        self._given: tuple[str, tuple[str, ...]] | None = None  # the position, in words
        self._was_refused = False  # the last one
        self._after_ponder: float | None = None  # seconds, from ponderhit on

    def check(self, game: Game) -> None:
        if game.name != "chess":
            raise UserError(f"uci: expected the game of chess, got {game.name}")

    # ── the conversation ──

    @property
    def commands(self) -> dict[str, Callable[[list[str]], object]]:
        return {
            self.hello: self._greet,
            self.new: self._new_game,
            "isready": lambda words: self.service.send("readyok"),
            "setoption": self._set_option,
            "position": self._position,
            "go": self._go,
            "stop": lambda words: self.stop(),
            "ponderhit": lambda words: self._ponderhit(),
            "quit": lambda words: self.service.leave(),
            "debug": lambda words: None,
            "register": lambda words: None,
        }

    def words_of(self, line: str) -> list[str]:
        """From the first word that is a command: the protocol allows others before it."""
        words = line.split()
        known = self.commands
        first = next((index for index, word in enumerate(words) if word in known), None)
        return words if first is None else words[first:]

    def is_urgent(self, line: str) -> bool:
        words = self.words_of(line)
        return words[:1] == [self.hello] or words == ["quit"]

    def has_to_wait(self, line: str) -> bool:
        word = (self.words_of(line) or [""])[0]
        if word in (self.hello, "quit", "debug", "register") or word not in self.commands:
            return False
        if self.going is not None and word in ("position", "go", self.new):
            self.stop()
            if self.going is not None:
                return True
        return self.going is None and word != "setoption" and not self.is_ready

    def answer(self, line: str) -> None:
        words = self.words_of(line)
        if not words:
            return
        command = self.commands.get(words[0])
        try:
            if command is None:
                raise UserError(f"unknown command '{short(words[0])}'")
            command(words[1:])
        except UserError as error:
            self.complain(describe(error))

    def complain(self, message: str) -> None:
        self.service.send(f"info string error: {message}")

    # ── options ──

    def _greet(self, words: list[str]) -> None:
        self.service.send(f"id name {NAME} {self.text}")
        self.service.send(f"id author {AUTHOR}")
        for line in self._declarations():
            self.service.send(f"option name {line}")
        self.service.send(self.welcome)

    def _declarations(self) -> Iterator[str]:
        kind = self.text.partition(":")[0]
        known, values = declared(kind), self.options()
        yield f"Player type string default {self.text}"
        yield f"MultiPV type spin default 1 min 1 max {MOST_LINES}"
        yield "Ponder type check default false"
        yield "UCI_ShowWDL type check default false"
        yield f"Move Overhead type spin default {round(1000 * OVERHEAD)} min 0 max 10000"
        size = next((name for name in SIZES if name in known), None)
        if size is not None:
            yield f"Hash type spin default {values[size] or 32} min 1 max 1048576"
        if "threads" in known:
            yield f"Threads type spin default {values['threads'] or 1} min 1 max 256"
        taken = {size, "threads", "multipv", "Player"}
        for name, value in values.items():
            if name in taken:
                continue
            if name in known and known[name].is_switch:
                yield f"{name} type check default {'true' if value in ('on', 'true', '1') else 'false'}"
            else:
                yield f"{name} type string default {value or '<empty>'}"

    def _set_option(self, words: list[str]) -> None:
        text = " ".join(words)
        name, _, value = text.removeprefix("name ").partition(" value ")
        name, value = name.removesuffix(" value").strip(), value.strip()
        key = name.lower()
        if key == "multipv":
            self.lines = whole(name, value, 1, MOST_LINES)
        elif key == "uci_showwdl":
            self.shows_wdl = value.lower() == "true"
        elif key == "move overhead":
            self.clock.overhead = whole(name, value, 0, 10_000) / 1000
        elif key in ("ponder", "uci_analysemode", "uci_opponent", "uci_engineabout", "clear hash"):
            return
        elif key == "player":
            split(value)
            self.text = value
        elif key == "hash":
            found = next((each for each in SIZES if each in self.options()), None)
            self.set_option(found or name, str(whole(name, value, 1, 1 << 20)))
        else:
            self.set_option(name, value)

    def _new_game(self, words: list[str]) -> None:
        assert self.analyst is not None
        self.analyst.new_game()
        self.position = self._given = None
        self._was_refused = False

    def loaded(self) -> None:
        self._given = None if self.position is None else self._given

    # ── positions ──

    def _position(self, words: list[str]) -> None:
        self._was_refused = True
        self._take_position(words)
        self._was_refused = False

    def _take_position(self, words: list[str]) -> None:
        if not words:
            raise UserError("position: expected startpos or fen, got nothing")
        at = words.index("moves") if "moves" in words else len(words)
        where, moves = words[:at], tuple(words[at + 1 :])
        place = " ".join(where)
        if self._given is not None and self.position is not None:
            before, known = self._given
            if before == place and moves[: len(known)] == known:
                self.position = self._played(self.position, moves[len(known) :])
                self._given = place, moves
                return
        if where[:1] == ["startpos"]:
            start = self.game.initial()
        elif where[:1] == ["fen"] and len(where) > 1:
            start = self.game.parse(" ".join(where[1:]))
        else:
            raise UserError(f"position: expected startpos or fen, got '{short(place)}'")
        self.position = self._played(Position(start, (), start), moves)
        self._given = place, moves

    def _played(self, position: Position, moves: Sequence[str]) -> Position:
        for word in moves:
            position = self.revived(position)
            position = position.then(self.game, self.game.action(position.state, word))
        return position

    def revived(self, position: Position) -> Position:
        """The same; where a counter has ended the game and the other program plays on, one without the past."""
        game, state = self.game, position.state
        if not game.is_terminal(state) or not game.movements(state):
            return position
        words = game.text(state).split()
        for text in (" ".join(words), " ".join([*words[:4], "0", *words[5:]])):
            start = game.parse(text)
            if not game.is_terminal(start):
                return Position(start, (), start)
        return position

    # ── searches ──

    def _go(self, words: list[str]) -> None:
        from games.choice import Limits

        if self._was_refused:
            self.complain("go: expected a position that was understood; the last one was refused")
            self.service.send("bestmove (none)")
            return
        self.position = self.revived(self.the_position())
        given, moves = self._limits(words)
        here = self.position.state
        mover = self.game.to_move(here) or 0
        left, increment = (given.get(name) for name in self.clocks[mover])
        seconds = None
        if "movetime" in given:
            seconds = self.clock.fixed(given["movetime"] / 1000)
        elif left is not None:
            seconds = self.clock.budget(max(left, 0) / 1000, max(increment or 0, 0) / 1000, given.get("movestogo"))
        depth = given.get("depth") or (2 * given["mate"] if given.get("mate") else None)
        is_held = "infinite" in given or "ponder" in given
        limits = Limits(
            depth=depth,
            nodes=given.get("nodes"),
            is_endless=is_held or depth is not None or given.get("nodes") is not None,
            actions=tuple(self._chosen(moves)),
            lines=self.lines,
            every=EVERY,
        )
        self._after_ponder = seconds
        with_book = not (is_held or limits.is_endless or moves or self.lines > 1)
        self.go("go", limits, None if is_held else seconds, is_held=is_held, with_book=with_book)

    def _limits(self, words: list[str]) -> tuple[dict[str, int], list[str]]:
        """The numbers of a `go`, and the moves of its searchmoves. What is not understood is reported and left out."""
        numbers = {*NUMBERS, *(name for pair in self.clocks for name in pair)}
        given: dict[str, int] = {}
        moves: list[str] = []
        rest = iter(words)
        is_moves = False
        for word in rest:
            if word in ("infinite", "ponder"):
                given[word], is_moves = 1, False
            elif word in numbers:
                is_moves = False
                try:
                    given[word] = whole(word, next(rest, ""), -LARGEST, LARGEST)
                    if word in ("depth", "nodes", "mate", "movestogo", "movetime"):
                        given[word] = max(given[word], 0 if word == "movetime" else 1)
                except UserError as error:
                    self.complain(describe(error))
                    if word in ("depth", "nodes", "mate", "movestogo", "movetime"):
                        given[word] = 1  # an answer, instead of a search without this limit
            elif word == "searchmoves":
                is_moves = True
            elif is_moves:
                moves.append(word)
            else:
                self.complain(f"go: unknown word '{short(word)}'")
        given["nodes"] = min(given["nodes"], 2**31 - 2) if "nodes" in given else 0
        if not given["nodes"]:
            del given["nodes"]
        return given, moves

    def _chosen(self, moves: list[str]) -> Iterator[int]:
        legal = self.game.legal_actions(self.the_position().state)
        for word in dict.fromkeys(moves):
            action = self.game.id_of(word)
            if action in legal:
                yield action
            else:
                self.complain(f"searchmoves: expected legal moves, got '{short(word)}'")

    def _ponderhit(self) -> None:
        going = self.going
        if going is None or not going.is_held:
            return
        going.is_held = False
        if self._after_ponder is not None and going.analysis is not None:
            going.planned, going.began = self._after_ponder, time.perf_counter()
            going.analysis.stop_after(self._after_ponder)
        elif self._after_ponder is None and going.analysis is not None and self.analyst is not None:
            own = self.analyst.player.ms
            going.analysis.stop_after(0.0 if own is None else own / 1000)
        self._answer_if_over(going)

    def reported(self, going: Going, choice: Choice) -> None:
        for line in self._infos(going, choice):
            self.service.inform(line)

    def _infos(self, going: Going, choice: Choice) -> Iterator[str]:
        game, state = self.game, going.position.state
        draws = has_draws(game)
        ms = round(1000 * choice.seconds)
        rate = round(choice.nodes / choice.seconds) if choice.seconds > 0 else 0
        best, *others = self._ranked(choice)
        number = 0
        for each in [best, *others][: self.lines]:
            if each.value is None:
                continue
            number += 1
            value = choice.value if number == 1 else each.value
            line = choice.pv if number == 1 else each.pv or (each.action,)
            bound = {"upper": " upperbound", "lower": " lowerbound"}.get(each.bound, "")
            words = [f"info depth {choice.depth}"]
            if self.lines > 1:
                words.append(f"multipv {number}")
            words.append(f"score {score(game, state, value, line)}{bound}")
            if self.shows_wdl:
                words.append("wdl {} {} {}".format(*win_draw_loss(value, draws)))
            words.append(f"nodes {choice.nodes} nps {rate} time {ms}")
            words.append("pv " + " ".join(game.name_of(action) for action in line))
            yield " ".join(words)

    def _ranked(self, choice: Choice) -> list[Candidate]:
        from games.choice import Candidate

        best = Candidate(choice.action, choice.value, pv=choice.pv)
        first = next((each for each in choice.actions if each.action == choice.action), best)
        first = replace(first, value=choice.value)
        others = [each for each in choice.actions if each.action != choice.action]
        return [first, *others]

    def conclude(self, going: Going) -> None:
        action = self.action_of(going)
        if action is None:
            action = self.after_the_end(going.position.state)
        if action is None:
            self.service.send("bestmove (none)")
            return
        words = ["bestmove", self.game.name_of(action)]
        found = going.found
        if found is not None and not isinstance(found, Exception) and found.action == action and len(found.pv) > 1:
            words += ["ponder", self.game.name_of(found.pv[1])]
        self.service.send(" ".join(words))

    def after_the_end(self, state: Any) -> int | None:
        """What to play in a finished game: without mating material, the other program may play on."""
        is_mate = min(self.game.utility(state)) < 0
        self.service.send(f"info depth 0 score {'mate' if is_mate else 'cp'} 0")
        return next(iter(self.game.movements(state)), None)


def whole(name: str, text: str, least: int, most: int) -> int:
    """A whole number between two others."""
    try:
        found = int(text) if len(text) <= 20 else math.inf
    except ValueError:
        found = math.inf
    if not least <= found <= most:
        raise UserError(f"{name}: expected a whole number, {least} to {most}, got '{short(text)}'")
    return int(found)
