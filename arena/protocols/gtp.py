"""GTP, for go: `python -m arena engine go:size=9 net:go/mine,sims=800`.

Version 2 of the protocol, and of the programs that analyse:

    lz-analyze, kata-analyze [COLOUR] [CENTISECONDS] [interval N] [minmoves N] [maxmoves N] [allow|avoid COLOUR MOVES PLIES]
    lz-genmove_analyze, kata-genmove_analyze            the same while a move is searched

An analysis ends with the next line of input, whatever that is. Values are those of the player to move. A search that counts no visits
shows its nodes for the best move and 1 for others. `boardsize` and `komi` load the game with these options, and the player with it;
where the player cannot play that (a network of another size), the answer is an error and nothing changes.

Our rules are those of Tromp and Taylor: stones are not removed by agreement, so play on until dead stones are captured.

The protocol: Gunnar Farnebäck, GTP version 2, 2002. The analysis: Leela Zero 2018, KataGo 2019.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from arena.protocols.protocol import NAME, Going, Position, Protocol, describe
from base.errors import UserError, short
from base.options import split, written

if TYPE_CHECKING:
    from games import Game
    from games.choice import Choice

VERSION = "1.17"
"""Lizzie requires 15 or more behind the point, from the days of Leela Zero 0.15."""
COLOURS = {"b": 0, "black": 0, "w": 1, "white": 1}
EVERY = 0.5  # seconds between the lines of an analysis, unless the other program names them
_NUMBER = re.compile(r"\d{1,9}$")


@dataclass
class Asked:
    """What is being answered."""

    id: str
    style: str = ""
    """Of analysis lines: lz or kata; empty: none."""
    is_move: bool = True
    """The result is played."""
    most: int = 1000
    """Moves in a line."""


class Gtp(Protocol):
    """One conversation."""

    def __init__(self, spec: str, text: str) -> None:
        super().__init__(spec, text)
        self.asked = Asked("")
        self.history: list[Position] = []
        """The positions before the current one, for `undo`."""
        self.left: dict[int, tuple[float, int]] = {}
        """By seat: seconds on the clock, and the stones that they are for (0: the rest of the game)."""
        self.settings: tuple[float, float, int] | None = None
        self._id = ""  # of the command that is being handled
        self._answer_when_loaded: str | None = None  # the id of the boardsize or komi that waits
        self._kept: tuple[str, tuple[int, ...]] | None = (
            None  # the game that komi leaves as it is: its start, its moves
        )

    def check(self, game: Game) -> None:
        if not game.name.startswith("go:"):
            raise UserError(f"gtp: expected the game of go, got {game.name}")

    # ── the conversation ──

    @property
    def commands(self) -> dict[str, Callable[[list[str]], str | None]]:
        """Each returns the text of its answer; None: the answer follows."""
        return {
            "protocol_version": lambda words: "2",
            "name": lambda words: NAME,
            "version": lambda words: VERSION,
            "known_command": lambda words: "true" if words and words[0] in self.commands else "false",
            "list_commands": lambda words: "\n".join(sorted(self.commands)),
            "quit": self._quit,
            "boardsize": self._boardsize,
            "clear_board": self._clear_board,
            "clear_cache": self._clear_cache,
            "komi": self._komi,
            "get_komi": lambda words: f"{float(self.game.options['komi']):g}",
            "play": self._play,
            "set_position": self._set_position,
            "fixed_handicap": self._fixed_handicap,
            "place_free_handicap": self._free_handicap,
            "set_free_handicap": self._handicap,
            "undo": self._undo,
            "genmove": lambda words: self._genmove(words, ""),
            "reg_genmove": lambda words: self._genmove(words, "", is_move=False),
            "lz-genmove_analyze": lambda words: self._genmove(words, "lz"),
            "kata-genmove_analyze": lambda words: self._genmove(words, "kata"),
            "genmove_analyze": lambda words: self._genmove(words, "lz"),
            "lz-analyze": lambda words: self._analyze(words, "lz"),
            "kata-analyze": lambda words: self._analyze(words, "kata"),
            "analyze": lambda words: self._analyze(words, "kata"),
            "stop": lambda words: "",
            "time_settings": self._time_settings,
            "time_left": self._time_left,
            "final_score": lambda words: self._final_score(),
            "final_status_list": self._final_status_list,
            "showboard": lambda words: "\n" + self.game.render(self.the_position().state).rstrip(),
            "loadsgf": self._loadsgf,
            "kata-get-rules": lambda words: RULES,
        }

    light = ("protocol_version", "name", "version", "known_command", "list_commands", "quit")
    """Commands that need no player."""

    def is_analysing(self) -> bool:
        return self.going is not None and self.going.purpose == "analyze"

    def has_to_wait(self, line: str) -> bool:
        if self.is_analysing():
            self.stop()
        if self.going is not None or self._answer_when_loaded is not None:
            return True
        command = words_of(line)[1]
        return bool(command) and command[0] in self.commands and command[0] not in self.light and not self.is_ready

    def answer(self, line: str) -> None:
        number, words = words_of(line)
        if not words:
            return
        self._id = number
        command = self.commands.get(words[0])
        try:
            if command is None:
                raise UserError("unknown command")
            text = command(words[1:])
            if text is not None:
                self.succeed(number, text)
        except UserError as error:
            self.fail(number, describe(error))

    def succeed(self, number: str, text: str) -> None:
        self.service.send(f"={number} {text}".rstrip(" ") + "\n")

    def fail(self, number: str, text: str) -> None:
        self.service.send(f"?{number} {text}\n")

    def complain(self, message: str) -> None:
        """GTP has no line for it: answers carry their errors."""

    def ended(self) -> None:
        if self.going is None:
            self.service.leave()
        elif self.is_analysing():
            self.stop()

    def _quit(self, words: list[str]) -> str:
        self.service.leave()
        return ""

    # ── the board ──

    def _boardsize(self, words: list[str]) -> str | None:
        size = number_of(words, "boardsize")
        if not 2 <= size <= 19 or size != int(size):
            raise UserError("unacceptable size")
        self._kept = None
        return self._load_with("size", f"{size:g}")

    def _komi(self, words: list[str]) -> str | None:
        here = self.the_position()
        self._kept = self.game.text(here.start), here.actions
        return self._load_with("komi", f"{number_of(words, 'komi'):g}")

    def _load_with(self, option: str, value: str) -> str | None:
        if f"{float(self.game.options[option]):g}" == value:
            return ""
        name, _ = split(self.spec)
        options = {key: written(each) for key, each in self.game.options.items()} | {option: value}
        self.spec = f"{name}:" + ",".join(f"{key}={each}" for key, each in options.items())
        self._answer_when_loaded = self._id
        self.load()
        return None

    def loaded(self) -> None:
        if self._answer_when_loaded is None:
            return
        number, self._answer_when_loaded = self._answer_when_loaded, None
        self.position, self.history = None, []
        if self._kept is not None:
            text, actions = self._kept
            start = self.game.parse(text)
            self.position = Position(start, (), start)
            for action in actions:
                self._go_on(self.position.then(self.game, action))
        self.succeed(number, "")

    def refused(self, message: str) -> None:
        if self._answer_when_loaded is not None:
            number, self._answer_when_loaded = self._answer_when_loaded, None
            self.fail(number, message)

    def _clear_board(self, words: list[str]) -> str:
        assert self.analyst is not None
        self.analyst.new_game()
        self.position, self.history = None, []
        return ""

    def _clear_cache(self, words: list[str]) -> str:
        assert self.analyst is not None
        self.analyst.new_game()
        return ""

    def _play(self, words: list[str]) -> str:
        if len(words) != 2 or words[0].lower() not in COLOURS:
            raise UserError("syntax error: expected play COLOUR MOVE")
        colour, word = COLOURS[words[0].lower()], words[1]
        if word.lower() == "resign":
            return ""
        position = self._with_mover(colour)
        action = self.game.id_of(word)
        if action is None:
            raise UserError("syntax error: invalid coordinate")
        if action not in self.game.legal_actions(position.state):
            raise UserError("illegal move")
        self._go_on(position.then(self.game, action))
        return ""

    def _go_on(self, position: Position) -> None:
        self.history.append(self.the_position())
        self.position = position

    def _with_mover(self, colour: int) -> Position:
        """The position with this colour to move: of a colour that moves twice, and of play that continues after two passes."""
        here = self.the_position()
        if int(here.state.mover) == colour and here.state.passes < 2:
            return here
        state = here.state.copy()
        state.mover, state.passes = colour, 0
        return Position(state, (), state)

    def _set_position(self, words: list[str]) -> str:
        """Stones, as pairs of a colour and a point; black moves then."""
        if len(words) % 2:
            raise UserError("syntax error: expected pairs of a colour and a point")
        stones = {}
        for colour, point in zip(words[::2], words[1::2], strict=True):
            if colour.lower() not in COLOURS:
                raise UserError("syntax error: expected a colour")
            stones[self._point(point)] = COLOURS[colour.lower()]
        self._set_up(stones, "x")
        return ""

    def _handicap(self, words: list[str]) -> str:
        if len(words) < 2:
            raise UserError("syntax error: expected two points or more")
        points = [self._point(word) for word in words]
        if len(set(points)) < len(points):
            raise UserError("bad vertex list: expected each point once")
        self._place_handicap(points)
        return ""

    def _fixed_handicap(self, words: list[str]) -> str:
        points = handicap_points(int(self.game.options["size"]))
        count = self._count_of_stones(words, "fixed_handicap")
        if count > max(points):
            raise UserError("invalid number of stones")
        return self._place_handicap(points[count])

    def _free_handicap(self, words: list[str]) -> str:
        """On the points of the fixed one, and fewer stones where those do not suffice, which the protocol allows."""
        points = handicap_points(int(self.game.options["size"]))
        count = min(self._count_of_stones(words, "place_free_handicap"), max(points))
        if not count:
            raise UserError("invalid number of stones")
        return self._place_handicap(points[count])

    def _count_of_stones(self, words: list[str], what: str) -> int:
        count = number_of(words, what)
        if count != int(count):
            raise UserError(f"syntax error: {what}: expected a whole number")
        if count < 2:
            raise UserError("invalid number of stones")
        return int(count)

    def _place_handicap(self, points: Sequence[int]) -> str:
        """The points, as the answer has them."""
        if self._stones():
            raise UserError("board not empty")
        self._set_up(dict.fromkeys(points, 0), "o")
        return " ".join(map(self.game.name_of, points))

    def _point(self, word: str) -> int:
        action, size = self.game.id_of(word), int(self.game.options["size"])
        if action is None or action >= size * size:
            raise UserError("syntax error: invalid coordinate")
        return action

    def _set_up(self, stones: dict[int, int], mover: str) -> None:
        size = int(self.game.options["size"])
        rows = [
            "".join(".xo"[1 + stones.get(row * size + column, -1)] for column in range(size))
            for row in reversed(range(size))
        ]
        start = self.game.parse(f"{'/'.join(rows)} {mover} 0")
        self._go_on(Position(start, (), start))

    def _undo(self, words: list[str]) -> str:
        if not self.history:
            raise UserError("cannot undo")
        self.position = self.history.pop()
        return ""

    def _loadsgf(self, words: list[str]) -> str:
        from games.formats.sgf import read_sgf

        if not words:
            raise UserError("syntax error: expected loadsgf FILE [MOVE]")
        moves = None if len(words) == 1 else max(0, int(number_of(words[1:], "loadsgf")) - 1)
        try:
            record = next(iter(read_sgf(words[0], self.game, lambda *_: None)), None)
        except OSError as error:
            raise UserError(f"cannot load file: {error.strerror}") from None
        if record is None:
            raise UserError("cannot load file: it has no game that our rules can replay")
        self._clear_board([])
        start = record.positions(self.game)[0]
        self.position = Position(start, (), start)
        for action in record.moves[:moves]:
            self._go_on(self.the_position().then(self.game, int(action)))
        return ""

    # ── results ──

    def _final_score(self) -> str:
        black, white = self.game.scores(self.the_position().state)
        lead = black - white
        return "0" if lead == 0 else f"{'B' if lead > 0 else 'W'}+{abs(lead):g}"

    def _final_status_list(self, words: list[str]) -> str:
        """All stones on the board are alive."""
        return "\n".join(map(self.game.name_of, self._stones())) if words[:1] == ["alive"] else ""

    def _stones(self) -> list[int]:
        """The points that have one."""
        state, size = self.the_position().state, int(self.game.options["size"])
        return [point for point in range(size * size) if state.board[point]]

    # ── time ──

    def _time_settings(self, words: list[str]) -> str:
        if len(words) != 3:
            raise UserError("syntax error: expected time_settings SECONDS SECONDS STONES")
        main, extra, stones = (number_of([word], "time_settings") for word in words)
        self.settings = None if extra > 0 and stones == 0 else (max(main, 0), max(extra, 0), int(max(stones, 0)))
        self.left = {}
        return ""

    def _time_left(self, words: list[str]) -> str:
        if len(words) != 3 or words[0].lower() not in COLOURS:
            raise UserError("syntax error: expected time_left COLOUR SECONDS STONES")
        seconds, stones = (number_of([word], "time_left") for word in words[1:])
        self.left[COLOURS[words[0].lower()]] = max(seconds, 0), int(max(stones, 0))
        return ""

    def _seconds(self, colour: int) -> float | None:
        """For the next move; None: no clock."""
        if self.settings is None:
            return None
        main, extra, stones = self.settings
        left, count = self.left.get(colour, (main, 0) if main > 0 else (extra, stones))
        if count > 0:
            return self.clock.budget(left, 0.0, count)
        later = extra / stones if stones else 0.0
        if left <= 0:
            return self.clock.budget(later, 0.0, 1)
        return max(self.clock.budget(left), self.clock.budget(later, 0.0, 1) if stones else 0.0)

    # ── searches ──

    def _genmove(self, words: list[str], style: str, is_move: bool = True) -> str | None:
        colour, limits, most = self._request(words, style)
        here = self._with_mover(colour)
        if self.game.is_terminal(here.state):
            return "pass"
        if here is not self.the_position():
            self._go_on(here)
        self.asked = Asked(self._id, style, is_move, most)
        if style:
            self.service.send(f"={self._id}")
        self.go("genmove", limits, self._seconds(colour), with_book=not style)
        return None

    def _analyze(self, words: list[str], style: str) -> str | None:
        colour, limits, most = self._request(words, style)
        here = self._with_mover(colour)
        if here is not self.the_position():
            self._go_on(here)
        self.asked = Asked(self._id, style, False, most)
        self.service.send(f"={self._id}")
        self.go("analyze", replace(limits, is_endless=True), None, is_held=True)
        return None

    def _request(self, words: list[str], style: str) -> tuple[int, Any, int]:
        """Colour, limits, and how many moves a line has."""
        from games.choice import Limits

        here = self.the_position().state
        colour, every, least, most = int(here.mover), EVERY, 0, 1000
        legal = list(self.game.legal_actions(here))
        chosen: set[int] | None = None
        rest = iter([word.lower() for word in words])
        for word in rest:
            if word in COLOURS:
                colour = COLOURS[word]
            elif word == "interval" or _NUMBER.match(word):
                every = max(number_of([next(rest, "") if word == "interval" else word], "interval"), 1) / 100
            elif word == "minmoves":
                least = int(number_of([next(rest, "")], word))
            elif word == "maxmoves":
                most = max(1, int(number_of([next(rest, "")], word)))
            elif word in ("allow", "avoid"):
                _, moves, _ = next(rest, ""), next(rest, ""), next(rest, "")
                named = {action for each in moves.split(",") if (action := self.game.id_of(each)) is not None}
                if word == "allow":
                    chosen = named & set(legal)
                else:
                    chosen = (set(legal) if chosen is None else chosen) - named
            elif word in ("ownership", "rootinfo", "movesownership", "pvvisits", "pvedgevisits"):
                next(rest, "")  # there is none
            else:
                raise UserError(f"syntax error: unknown word '{short(word)}'")
        actions = () if chosen is None else tuple(sorted(chosen))
        lines = max(1, min(most, max(least, 12))) if style else 1
        return colour, Limits(actions=actions, lines=lines, every=every if style else math.inf), most

    def reported(self, going: Going, choice: Choice) -> None:
        if self.asked.style:
            line = " ".join(self._infos(going, choice))
            if line:
                self.service.inform(line)

    def _infos(self, going: Going, choice: Choice) -> Iterator[str]:
        game, style = self.game, self.asked.style
        first = [each for each in choice.actions if each.action == choice.action]
        others = [each for each in choice.actions if each.action != choice.action]
        for order, each in enumerate([*first, *others][: self.asked.most]):
            if each.value is None or each.visits == 0:
                continue
            visits = each.visits if each.visits is not None else max(choice.nodes, 1) if order == 0 else 1
            value = choice.value if order == 0 else each.value
            rate = (1 + value) / 2
            bound = max(0.0, rate - 1 / math.sqrt(visits)) if each.bound != "exact" else rate
            prior = each.prior or 0.0
            line = " ".join(game.name_of(action) for action in (each.pv or (each.action,)))
            head = f"info move {game.name_of(each.action)} visits {visits}"
            if style == "lz":
                yield (
                    f"{head} winrate {round(10000 * rate)} prior {round(10000 * prior)} lcb {round(10000 * bound)} "
                    f"order {order} pv {line}"
                )
            else:
                yield (
                    f"{head} utility {value:.6f} winrate {rate:.6f} scoreMean 0 scoreStdev 0 scoreLead 0 scoreSelfplay 0 "
                    f"prior {prior:.6f} lcb {bound:.6f} utilityLcb {2 * bound - 1:.6f} order {order} pv {line}"
                )

    def conclude(self, going: Going) -> None:
        asked = self.asked
        if going.purpose == "analyze":
            self.service.send("")
            return
        if isinstance(going.found, Exception) and not asked.style:
            self.fail(asked.id, describe(going.found))
            return
        action = self.action_of(going)
        word = "pass" if action is None else self.game.name_of(action)
        if action is not None and asked.is_move:
            self._go_on(going.position.then(self.game, action))
        if asked.style:
            self.service.send(f"play {word}\n")
        else:
            self.succeed(asked.id, word)


RULES = (
    '{"hasButton":false,"ko":"POSITIONAL","scoring":"AREA","suicide":false,"tax":"NONE","whiteHandicapBonus":"0",'
    '"friendlyPassOk":false}'
)


def handicap_points(size: int) -> dict[int, list[int]]:
    """By their number, the points of the protocol's fixed handicap: up to nine on odd boards from 9 on, else four; none below 7."""
    edge = 3 if size >= 13 else 2
    low, middle, high = edge, size // 2, size - 1 - edge
    corners = [(low, low), (high, high), (high, low), (low, high)]  # row from below, column
    sides = [(middle, low), (middle, high), (low, middle), (high, middle)]
    found: dict[int, list[tuple[int, int]]] = {0: []}
    if size >= 7:
        found |= {count: corners[:count] for count in (2, 3, 4)}
    if size >= 9 and size % 2:
        centre = [(middle, middle)]
        found |= {5: corners + centre, 6: corners + sides[:2], 7: corners + sides[:2] + centre}
        found |= {8: corners + sides, 9: corners + sides + centre}
    return {count: [row * size + column for row, column in places] for count, places in found.items()}


def words_of(line: str) -> tuple[str, list[str]]:
    """The id of a command, and its words, without comments."""
    words = line.partition("#")[0].split()
    if words and _NUMBER.match(words[0]):
        return words[0], words[1:]
    return "", words


def number_of(words: list[str], what: str) -> float:
    try:
        found = float(words[0])
    except (IndexError, ValueError):
        found = math.nan
    if not abs(found) < 1e9:
        raise UserError(f"syntax error: {what}: expected a number")
    return found
