"""SGF, the world's files of go games: `read_sgf(path, game)` gives records one by one, `sgf_of(record, game)` writes one.

Reads the main line of each game in constant memory; comments and variations are skipped. Stones set up before the first move (handicap)
and a first move by white become the record's first position. A game of another size or komi than ours, setup in the middle, or
a colour that moves twice in a row is broken: it is left out and reported (games/formats/broken.py).

Our rules count area; dead stones are not removed by agreement. Where the file's result after two passes differs from the area, the
second pass is left out and the game counts as ended by agreement, with the file's result. Where the game continues beyond the last
ply of our rules, the record ends there.

    property        in a record
    PB, PW          players
    RE              outcome, unless it follows from the board; ending: R `resigned`, T `time forfeit`, F `forfeit`, else `agreed`
    AB, AW, PL      start
    others          metadata["properties"] (those of the root, one value each)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

from base.errors import UserError
from base.files import StrPath
from games.engine.game import Game
from games.formats.broken import Broken, Report, excerpt, lines_of, on_stderr, sound_records
from games.record import ILLEGAL, GameRecord, make_record, replayer
from games.types import Array, GameState

GO = "go"
LETTERS = "abcdefghijklmnopqrstuvwxyz"
LONGEST_VALUE = 10_000  # characters that are kept of one value
MOST_VALUES = 1_000  # that are kept of one property
MOST_NODES = 10_000  # that are read of one game of any board
OWN = {"GM", "FF", "CA", "AP", "SZ", "KM", "RE", "PB", "PW", "AB", "AW", "AE", "PL", "B", "W"}  # ours to write
ENDINGS = {"R": "resigned", "T": "time forfeit", "F": "forfeit"}

_IDENTIFIER = re.compile(r"[A-Za-z]+")
_VALUE = re.compile(r"[^\\\]]*(?:\\.[^\\\]]*)*\\?", re.DOTALL)
_ESCAPED = re.compile(r"\\(\n|.)", re.DOTALL)
_RESULT = re.compile(r"([BW])\+(.*)", re.IGNORECASE)

Node = dict[str, list[str]]


@dataclass
class SgfGame:
    """The main line of one game tree."""

    line: int
    nodes: list[Node] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    """The line of each node."""
    fault: str = ""
    """Why the text can't be read."""


def read_sgf(path: StrPath, game: Game, report: Report = on_stderr) -> Iterator[GameRecord]:
    """The games of a file as records. Broken ones are left out and reported; a file of nothing else is refused."""
    if not is_go(game):
        raise UserError(f"{path}: expected games of {game.name}, got an SGF file, which holds games of {GO}")
    games = games_of(lines_of(path), game.rules.max_plies + MOST_VALUES)
    return sound_records(path, games, lambda each: record_of(each, game), report)


def read_sgf_of_any_board(
    path: StrPath, load: Callable[[str], Game], report: Report = on_stderr
) -> Iterator[GameRecord]:
    """The same with a board and a komi for each game: `load("go:size=13,komi=0.5")` gives what its file names."""

    def record(text: SgfGame) -> GameRecord:
        try:
            game = load(spec_of(text))
        except Broken:
            raise
        except UserError as error:
            raise Broken(text.line, str(error)) from None
        return record_of(text, game)

    return sound_records(path, games_of(lines_of(path), MOST_NODES), record, report)


def spec_of(text: SgfGame) -> str:
    """The game of go that an SGF names by its size (19 where it names none) and its komi."""
    root = text.nodes[0] if text.nodes else {}
    size = (root.get("SZ") or [""])[0].strip() or "19"
    komi = (root.get("KM") or [""])[0].strip().replace(",", ".")
    if not re.fullmatch(r"(\d{1,2})(:\1)?", size):
        raise Broken(text.line, f"SZ: expected a square board, got {excerpt(size)}")
    if komi and not re.fullmatch(r"[-+]?\d{1,4}(\.\d{0,6})?", komi):
        raise Broken(text.line, f"KM: expected a number of points, got {excerpt(komi)}")
    return f"{GO}:size={size.partition(':')[0]}" + (f",komi={komi}" if komi else "")


def is_go(game: Game) -> bool:
    return game.name.startswith(GO + ":")


# ── text into games ──


def games_of(lines: Iterable[tuple[int, str]], most: int) -> Iterator[SgfGame]:
    """Splits a file into games. No game is held longer than `most` nodes, and never more than one."""
    game: SgfGame | None = None
    depth, is_main = 0, True  # the main line ends where the first bracket closes
    values: list[str] | None = None  # of the property that is being read
    value: str | None = None  # as far as it has been read
    for number, line in lines:
        at = 0
        while at < len(line):
            if value is not None:
                found = _VALUE.match(line, at)
                assert found is not None
                value = (value + found[0])[: LONGEST_VALUE + 1]
                at = found.end()
                if at < len(line):  # the bracket that closes it
                    at += 1
                    if values is not None and len(values) < MOST_VALUES:
                        values.append(_ESCAPED.sub(lambda each: "" if each[1] == "\n" else each[1], value))
                    value = None
                continue
            letter = line[at]
            at += 1
            if letter == "(":
                game, depth = game or SgfGame(number), depth + 1
            elif letter.isspace():
                continue
            elif game is None:
                continue  # text between games
            elif letter == ")":
                depth, is_main, values = depth - 1, False, None
                if depth == 0:
                    yield game
                    game, is_main = None, True
            elif letter == "[":
                value = ""
            elif letter == ";":
                values = None
                if is_main and len(game.nodes) < most:
                    game.nodes.append({})
                    game.lines.append(number)
            elif found := _IDENTIFIER.match(line, at - 1):
                at = found.end()
                name = "".join(letter for letter in found[0] if letter.isupper())  # old files write `Black` for B
                is_kept = is_main and game.nodes and (len(game.nodes) == 1 or name in OWN)
                values = game.nodes[-1].setdefault(name, []) if is_kept else None
            else:
                game.fault = game.fault or f"expected ( ) ; or a property in line {number}, got '{letter}'"
    if game is not None:
        game.fault = f"expected ')' behind the game that began in line {game.line}, got the end of the file"
        yield game


# ── games into records ──


def record_of(text: SgfGame, game: Game) -> GameRecord:
    """The record of one game. Raises `Broken`, in one line, where it has none."""
    root = text.nodes[0] if text.nodes else {}
    if text.fault or not text.nodes:
        raise Broken(text.line, text.fault or "expected a game, got an empty tree")
    _check_root(text.line, root, game)
    stones, start, mover = np.zeros((_size(game), _size(game)), np.int8), None, ""
    moves: list[tuple[str, int, int]] = []
    for node, line in zip(text.nodes, text.lines, strict=True):
        if moves and any(name in node for name in ("AB", "AW", "AE")):
            raise Broken(line, f"ply {len(moves)}: expected stones to be set up before the first move")
        for name, stone in (("AB", 1), ("AW", 2), ("AE", 0)):
            for value in node.get(name, []):
                _set_up(stones, value, stone, line)
        if not moves and node.get("PL"):
            mover = node["PL"][0].strip().upper()[:1]
        for colour in ("B", "W"):
            for value in node.get(colour, []):
                moves.append((colour, _action_of(value, game, line), line))
    first = moves[0][0] if moves else mover or "B"
    if first != "B" or stones.any():
        start = _start_of(stones, first, game, text.line)
    for ply, (colour, _, line) in enumerate(moves):
        if colour != ("BW", "WB")[first == "W"][ply % 2]:
            raise Broken(line, f"ply {ply}: expected the colours to move in turn, got {colour} twice in a row")
    return _replayed(text, root, game, start, moves)


def _check_root(line: int, root: Node, game: Game) -> None:
    """Is it go, of our size and komi?"""

    def value(name: str, default: str) -> str:
        return (root.get(name) or [default])[0].strip() or default

    if value("GM", "1") != "1":
        raise Broken(line, f"GM: expected 1, the game of go, got {excerpt(value('GM', ''))}")
    size = _size(game)
    if value("SZ", "19") not in (str(size), f"{size}:{size}"):
        raise Broken(line, f"SZ: expected a board of size {size}, got {excerpt(value('SZ', '19'))}")
    komi = float(game.options["komi"])
    try:
        is_ours = float(value("KM", str(komi)).replace(",", ".")) == komi
    except ValueError:
        is_ours = False
    if not is_ours:
        raise Broken(line, f"KM: expected a komi of {komi:g}, got {excerpt(value('KM', ''))}")


def _size(game: Game) -> int:
    return int(game.options["size"])


def _place(text: str, size: int) -> tuple[int, int] | None:
    """Row from the bottom and column of a point such as `dd`, whose rows count from the top."""
    if len(text) != 2 or text[0] not in LETTERS[:size] or text[1] not in LETTERS[:size]:
        return None
    return size - 1 - LETTERS.index(text[1]), LETTERS.index(text[0])


def _action_of(value: str, game: Game, line: int) -> int:
    size = _size(game)
    word = value.strip()
    if word == "" or word == "tt":  # no board here is larger than 19
        return size * size
    place = _place(word, size)
    if place is None:
        raise Broken(line, f"expected a point of a board of size {size}, got '{excerpt(word)}'")
    return place[0] * size + place[1]


def _set_up(stones: Array, value: str, stone: int, line: int) -> None:
    """A point, or a rectangle `ab:cd` of them."""
    one, _, other = value.strip().partition(":")
    here, there = _place(one, len(stones)), _place(other or one, len(stones))
    if here is None or there is None:
        raise Broken(line, f"expected a point of a board of size {len(stones)}, got '{excerpt(value)}'")
    rows, columns = sorted((here[0], there[0])), sorted((here[1], there[1]))
    stones[rows[0] : rows[1] + 1, columns[0] : columns[1] + 1] = stone


def _start_of(stones: Array, mover: str, game: Game, line: int) -> GameState:
    if mover not in ("B", "W"):
        raise Broken(line, f"PL: expected B or W, got '{excerpt(mover)}'")
    rows = ["".join(".xo"[stone] for stone in row) for row in stones[::-1]]
    try:
        return game.parse(f"{'/'.join(rows)} {'xo'['BW'.index(mover)]} 0")
    except UserError as error:
        raise Broken(line, f"setup: {error}") from None


def _replayed(
    text: SgfGame, root: Node, game: Game, start: GameState | None, moves: list[tuple[str, int, int]]
) -> GameRecord:
    """Plays the moves and determines how the game ended."""
    states = game.scratch(game.initial() if start is None else start, len(moves) + 1)
    scratch = np.zeros(game.rules.max_legal, np.int32), np.zeros(game.actions, np.int32)
    actions = [action for _, action, _ in moves]
    nothing = np.zeros(len(moves) + 1, np.int64), np.zeros(0, np.int32)  # no policies
    ply, fault = game.kernel(replayer)(states, *scratch, np.array(actions, np.int32), *nothing)
    state = states[ply]
    if fault == ILLEGAL:
        colour, action, line = moves[ply]
        what = f"{colour} {game.name_of(action)}"
        raise Broken(line, f"ply {ply}: expected a legal move, got {what} in {game.text(state)}")
    actions = actions[:ply]
    result = (root.get("RE") or [""])[0].strip()
    outcome, ending = _outcome_of(result)
    if game.is_terminal(state):
        if outcome is None or outcome == game.utility(state):
            outcome, ending = None, ""
        elif state.passes >= 2:
            actions.pop()
            ending = "agreed"
        else:
            raise Broken(text.line, f"RE: expected {_by_rules(game, state)}, by area, got {excerpt(result)}")
    others = {name: values[0] for name, values in root.items() if values and name not in OWN}
    return make_record(
        game,
        actions,
        outcome=outcome,
        ending=ending,
        players=[(root.get(name) or [""])[0] for name in ("PB", "PW")],
        start=start,
        metadata={"properties": others} if others else {},
    )


def _outcome_of(result: str) -> tuple[tuple[float, float] | None, str]:
    """The outcome that a result stands for, and how such a game ended if not by its rules."""
    if result.lower() in ("0", "draw", "jigo"):
        return (0.0, 0.0), "agreed"
    found = _RESULT.match(result)
    if found is None:  # void, unknown, unfinished
        return None, ""
    mark = found[2].strip()[:1].upper()
    return ((1.0, -1.0) if found[1].upper() == "B" else (-1.0, 1.0)), ENDINGS.get(mark, "agreed")


# ── records into text ──


def sgf_of(record: GameRecord, game: Game) -> str:
    """The game in SGF, ten moves a line, with an empty line behind it."""
    if not is_go(game):
        raise UserError(f"SGF holds games of {GO}, got one of {game.name}")
    positions = record.positions(game)
    start, last, size = positions[0], positions[-1], _size(game)
    if start.passes:
        raise UserError("SGF has no position behind a pass: expected a game that begins elsewhere")
    given = record.metadata.get("properties", {})
    given = given if isinstance(given, dict) else {}
    root = {"GM": "1", "FF": "4", "CA": "UTF-8", "SZ": str(size), "KM": f"{float(game.options['komi']):g}"}
    root |= {name: player for name, player in zip(("PB", "PW"), record.players, strict=False) if player}
    root |= {name: str(text) for name, text in given.items() if re.fullmatch("[A-Z]+", name) and name not in OWN}
    if record.outcome is not None:
        root["RE"] = _by_rules(game, last) if game.is_terminal(last) else _result_of(record)
    head = "".join(f"{name}[{_escaped(text)}]" for name, text in root.items()) + _setup_of(record, start, size)
    colours = "BW" if int(start.mover) == 0 else "WB"
    words = [f";{colours[ply % 2]}[{_point(int(move), size)}]" for ply, move in enumerate(record.moves)]
    body = "".join("\n" + "".join(words[i : i + 10]) for i in range(0, len(words), 10))
    return f"(;{head}{body})\n\n"


def _setup_of(record: GameRecord, start: GameState, size: int) -> str:
    """Stones and mover of a first position that is not the usual one."""
    if record.start is None:
        return ""
    stones = {"AB": 1, "AW": 2}
    points = {name: [i for i in range(size * size) if start.board[i] == stone] for name, stone in stones.items()}
    written = [f"{name}{''.join(f'[{_point(i, size)}]' for i in places)}" for name, places in points.items() if places]
    return "".join(written) + f"PL[{'BW'[start.mover]}]"


def _point(action: int, size: int) -> str:
    row, column = divmod(action, size)
    return LETTERS[column] + LETTERS[size - 1 - row] if action < size * size else ""


def _by_rules(game: Game, state: GameState) -> str:
    """The result with its margin."""
    lead = game.features(state, 0)["area"] - float(game.options["komi"])
    return f"B+{lead:g}" if lead > 0 else f"W+{-lead:g}" if lead < 0 else "0"


def _result_of(record: GameRecord) -> str:
    assert record.outcome is not None
    if record.outcome[0] == record.outcome[1]:
        return "0"
    words = {"resign": "R", "time forfeit": "T", "forfeit": "F"}  # the arena adds the player and the reason
    mark = next((mark for word, mark in words.items() if word in record.ending), "")
    return ("B+" if record.outcome[0] > 0 else "W+") + mark


def _escaped(text: str) -> str:
    flat = "".join(letter if letter.isprintable() else " " for letter in text)
    return flat.replace("\\", "\\\\").replace("]", "\\]")
