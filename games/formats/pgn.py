"""PGN, the world's files of chess games: `read_pgn(path, game)` gives records one by one, `pgn_of(record, game)` writes one.

Reading is lenient and takes constant memory: tags may be missing, games may begin anywhere (FEN). Comments, variations, `$5` and `!?`
(as `$5`) are kept as text and written again. Broken games are left out and reported (games/formats/broken.py). Where a game continues
after it was drawn by our rules (the third repetition, fifty moves, dead material, all without a claim), the record ends with the draw;
what follows is kept as text, too.

    tag             in a record
    White, Black    players
    Result          outcome, unless it follows from the board
    FEN             start
    Seed            seed
    Termination     ending, where there is a result that the rules did not give; if missing, `resigned` or `agreed`
    others          metadata["tags"], also a Termination that says the same in other words
    comments, …     metadata["notes"]: by the number of moves before them, from "0"
    moves behind    metadata["rest"]: words and result
"""

from __future__ import annotations

import itertools
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from base.errors import UserError
from base.files import StrPath
from games.engine.game import Game
from games.formats.broken import Broken, Report, excerpt, lines_of, on_stderr, sound_records
from games.formats.san import FINE, OVER, Wish, refusal, resolve, san_line, wish_of
from games.record import GameRecord, make_record
from games.types import GameState

CHESS = "chess"
ROSTER = {"Event": "?", "Site": "?", "Date": "????.??.??", "Round": "?"}
OWN = {"White", "Black", "Result", "FEN", "SetUp", "Termination", "Seed"}  # tags that are fields of a record
OUTCOMES = {"1-0": (1.0, -1.0), "0-1": (-1.0, 1.0), "1/2-1/2": (0.0, 0.0), "*": None}
ENDINGS = {"abandoned": "broken off", "adjudication": "adjudicated", "unterminated": ""}  # PGN's terms, and ours

_TAG = re.compile(r'\s*\[\s*(\w+)\s*"((?:[^"\\]|\\.)*)"\s*\]')
_LOOSE_TAG = re.compile(r'\s*\[\s*(\w+)\s*"(.*)"\s*\]\s*$')  # quotes within quotes
_TOKEN = re.compile(r"\{[^}]*\}?|;.*|<[^>]*>?|[()]|\$\d*|[^\s{}();$<]+")
_NUMBER = re.compile(r"\d*\.+|\d+$")
_SILENT = re.compile(r"e\.?p\.?|[^A-Za-z0-9-]+|[+=/-]*[+=/][+=/-]*|-\+")  # words that are no moves and mean none
_GLYPH = re.compile(r"[!?]{1,2}$")
GLYPHS = {
    "!": 1,
    "?": 2,
    "!!": 3,
    "??": 4,
    "!?": 5,
    "?!": 6,
    "=": 10,
    "+=": 14,
    "=+": 15,
    "+/-": 16,
    "-/+": 17,
    "+-": 18,
    "-+": 19,
}
"""By the standard's numbers."""
MOST_NOTES = 100_000
"""Characters that are kept of the comments and variations of a game."""
_RESULTS = {"1/2": "1/2-1/2", "½-½": "1/2-1/2", "1–0": "1-0", "0–1": "0-1"} | {word: word for word in OUTCOMES}


@dataclass
class PgnGame:
    """One game as written in the file."""

    line: int
    tags: dict[str, str] = field(default_factory=dict)
    words: list[str] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    """The line of each word."""
    result: str = ""
    """The result mark after the moves."""
    fault: str = ""
    """Why the text can't be read."""
    notes: dict[int, list[str]] = field(default_factory=dict)
    """Comments, variations and glyphs, by the number of words before them."""
    noted: int = 0
    """Characters of them."""

    def note(self, text: str) -> None:
        if self.noted + len(text) <= MOST_NOTES:
            self.noted += len(text) + 1
            self.notes.setdefault(len(self.words), []).append(text)


@dataclass
class Unit:
    """A comment or a variation that is being read, as far as it is not too long to be kept."""

    parts: list[str] = field(default_factory=list)
    size: int = 0

    def add(self, text: str) -> None:
        words = " ".join(text.split())
        self.size += len(words) + 1
        if words and self.size <= MOST_NOTES:
            self.parts.append(words)

    def taken(self) -> str:
        """The whole, which begins anew; empty where it was too long."""
        found = ""
        for before, part in itertools.pairwise(["(", *self.parts]) if self.size <= MOST_NOTES else ():
            found += part if before == "(" or part == ")" else f" {part}"
        self.parts, self.size = [], 0
        return found


def read_pgn(path: StrPath, game: Game, report: Report = on_stderr) -> Iterator[GameRecord]:
    """The games of a file as records. Broken ones are left out and reported; a file of nothing else is refused."""
    if game.name != CHESS:
        raise UserError(f"{path}: expected games of {game.name}, got a PGN file, which holds games of {CHESS}")
    return sound_records(
        path, games_of(lines_of(path), game.rules.max_plies), lambda each: record_of(each, game), report
    )


# ── text into games ──


def games_of(lines: Iterable[tuple[int, str]], most: int) -> Iterator[PgnGame]:
    """Splits a file into games. No game is held longer than `most` plies, and never more than one."""
    game: PgnGame | None = None
    depth = 0  # of variations
    comment = 0  # the line where a comment began that is still open
    unit = Unit()
    is_blank = True
    for number, line in lines:
        after_blank, is_blank = is_blank, not line.strip()
        if comment and after_blank and game is not None and line.startswith('[Event "'):
            game.fault = f"expected '}}' behind the comment that began in line {comment}, got another game"
            comment = 0
        at = 0
        if comment:
            at = line.find("}") + 1
            unit.add(line[:at] if at else line)
            if not at:
                continue
            comment = 0
            if depth == 0:
                _note(game, unit.taken())
        elif line.startswith("%"):
            continue
        tags, at = _tags_in(line, at) if "[" in line and not at else ([], at)
        if tags and game is not None and (game.words or game.result or game.fault or tags[0][0] in game.tags):
            yield game
            game = None
        if tags:
            game, depth, unit = game or PgnGame(number), 0, Unit()
            game.tags |= tags
        for match in _TOKEN.finditer(line, at):
            token = match[0]
            first = token[0]
            if first == ";":
                token = "{" + token[1:].replace("}", ")").strip() + "}"
            if depth > 0 or first in "{(;$":
                unit.add(token)
            if first == "{":
                comment = 0 if token[-1] == "}" else number
            elif first == "(":
                depth += 1
            elif first == ")":
                depth = max(0, depth - 1)
            if first in "{);$" and depth == 0 and not comment:
                _note(game, unit.taken())
            elif depth == 0 and first not in "{(;$<)":
                number_of_move = None if token in _RESULTS else _NUMBER.match(token)
                word = token[number_of_move.end() :] if number_of_move else token
                if not word or (word not in _RESULTS and _SILENT.fullmatch(word)):
                    _note(game, f"${GLYPHS[word]}" if word in GLYPHS else "")
                    continue
                if game is None or game.result:
                    if game is not None:
                        yield game
                    game = PgnGame(number)
                if word in _RESULTS:
                    game.result = _RESULTS[word]
                elif len(game.words) <= most:
                    game.words.append(word)
                    game.lines.append(number)
                    if glyph := _GLYPH.search(word):
                        game.note(f"${GLYPHS[glyph[0]]}")
    if game is not None:
        if comment:
            game.fault = f"expected '}}' behind the comment that began in line {comment}, got the end of the file"
        yield game


def _note(game: PgnGame | None, text: str) -> None:
    """Text between games belongs to none of them."""
    if game is not None and text:
        game.note(text)


def _tags_in(line: str, at: int) -> tuple[list[tuple[str, str]], int]:
    """The tags that a line begins with, and where they end."""
    tags = []
    while found := _TAG.match(line, at):
        tags.append((found[1], re.sub(r"\\(.)", r"\1", found[2])))
        at = found.end()
    if not tags and (found := _LOOSE_TAG.match(line, at)):
        return [(found[1], found[2])], found.end()
    return tags, at


# ── games into records ──


def record_of(text: PgnGame, game: Game) -> GameRecord:
    """The record of one game. Raises `Broken`, in one line, where it has none."""
    tags = text.tags
    if text.fault:
        raise Broken(text.line, text.fault)
    variant = tags.get("Variant", "Standard")
    if variant.lower() not in ("standard", "chess", "normal", "from position"):
        raise Broken(text.line, f"expected a game of chess, got one of {excerpt(variant)}")
    start = _start_of(text, game)
    wishes: list[Wish] = []
    for word, line in zip(text.words, text.lines, strict=True):
        wish = wish_of(word)
        if wish is None:
            raise Broken(line, f"expected a move, got '{excerpt(word)}'")
        wishes.append(wish)
    moves, fault, last = resolve(game, game.initial() if start is None else start, wishes)
    if fault not in (FINE, OVER) or (fault == OVER and not game.movements(last)):
        ply = len(moves)
        raise Broken(text.lines[ply], f"ply {ply}: {refusal(game, last, text.words[ply], fault)}")
    result = text.result if text.result not in ("", "*") else _RESULTS.get(tags.get("Result", "*").strip(), "*")
    outcome, ending = _ending_of(text, game, last, result)
    others = {name: value for name, value in tags.items() if name not in OWN and ROSTER.get(name) != value}
    seed = tags.get("Seed", "")
    if seed and not _is_seed(seed):
        others["Seed"] = seed
    record = make_record(
        game,
        moves,
        outcome=outcome,
        ending=ending,
        seed=int(seed) if _is_seed(seed) else None,
        players=["" if name == "?" else name for name in (tags.get("White", "?"), tags.get("Black", "?"))],
        start=start,
    )
    if (termination := tags.get("Termination", "").strip()) != _termination_of(record) and termination:
        others["Termination"] = termination
    found: dict[str, Any] = {"tags": others} if others else {}
    if notes := {str(ply): " ".join(texts) for ply, texts in text.notes.items()}:
        found["notes"] = notes
    if fault == OVER:
        found["rest"] = {"words": " ".join(_GLYPH.sub("", word) for word in text.words[len(moves) :]), "result": result}
    return replace(record, metadata=found)


def _is_seed(text: str) -> bool:
    return re.fullmatch("[0-9]{1,20}", text) is not None and int(text) < 1 << 64


def _start_of(text: PgnGame, game: Game) -> GameState | None:
    """The position that the game begins from; None for the usual one."""
    fen = text.tags.get("FEN")
    if fen is None:
        return None
    try:
        start = game.parse(fen)
    except UserError as error:
        raise Broken(text.line, f"FEN: {error}") from None
    return None if game.text(start) == game.text(game.initial()) else start


def _ending_of(text: PgnGame, game: Game, last: GameState, result: str) -> tuple[tuple[float, float] | None, str]:
    """Outcome and ending for the record; neither where they follow from the rules."""
    outcome = OUTCOMES[result]
    if game.is_terminal(last):
        by_rules = game.utility(last)
        if by_rules != (0.0, 0.0) and outcome is not None and outcome != by_rules:
            raise Broken(text.line, f"expected {_result_of(by_rules)} from a game that ends with mate, got {result}")
        return None, ""
    word = text.tags.get("Termination", "").strip()
    ending = ENDINGS.get(word.lower(), word)
    if outcome is None:
        return None, "" if ending.lower() in ("normal", "?") else ending
    if ending.lower() in ("", "normal", "?"):
        ending = "resigned" if outcome != (0.0, 0.0) else "agreed"
    return outcome, ending


# ── records into text ──


def pgn_of(record: GameRecord, game: Game) -> str:
    """The game in PGN's export format, with an empty line behind it."""
    if game.name != CHESS:
        raise UserError(f"PGN holds games of {CHESS}, got one of {game.name}")
    record.check(game)
    start = record.first_position(game)
    notes, rest, stated = _kept(record)
    result = stated or _result_of(record.outcome)
    players = [*record.players, "", ""][:2]
    given = record.metadata.get("tags", {})
    others = {str(name): str(value) for name, value in given.items()} if isinstance(given, dict) else {}
    tags = {name: others.pop(name, unknown) for name, unknown in ROSTER.items()}
    tags |= {"White": players[0] or "?", "Black": players[1] or "?", "Result": result}
    tags |= {name: value for name, value in others.items() if re.fullmatch(r"\w+", name) and name not in OWN}
    if record.start is not None:
        tags |= {"SetUp": "1", "FEN": game.text(start)}
    if termination := _stated_termination(record, others) or _termination_of(record):
        tags["Termination"] = termination
    if record.seed is not None:
        tags["Seed"] = str(record.seed)
    elif "Seed" in others and not _is_seed(others["Seed"]):
        tags["Seed"] = others["Seed"]
    head = "".join(f'[{name} "{_quoted(value)}"]\n' for name, value in tags.items())
    record.positions(game)  # refuses what does not fit before anything is written
    line = [*san_line(game, start, record.moves.tolist()), *rest]
    words = _numbered(line, int(start.move), bool(start.mover), notes)
    moves = textwrap.fill(" ".join([*words, result]), 79, break_long_words=False, break_on_hyphens=False)
    moves = moves.replace("\n%", "\n %")  # a line that begins with it would be no part of the game
    return f"{head}\n{moves}\n\n"


def _result_of(outcome: tuple[float, ...] | None) -> str:
    if outcome is None:
        return "*"
    return "1-0" if outcome[0] > outcome[1] else "0-1" if outcome[0] < outcome[1] else "1/2-1/2"


def _termination_of(record: GameRecord) -> str:
    by_default = "resigned" if record.outcome not in (None, (0.0, 0.0)) else "agreed"
    if record.outcome is None:
        words = {ours: theirs for theirs, ours in ENDINGS.items()}
        return words.get(record.ending, record.ending)
    if record.ending in ("", by_default):
        return "normal" if not record.ending else ""
    return "adjudication" if record.ending == "adjudicated" else record.ending


def _stated_termination(record: GameRecord, given: Mapping[str, str]) -> str:
    """The tag as it was read, where it says what the record does."""
    word = given.get("Termination", "")
    ending = ENDINGS.get(word.lower(), word)
    if ending.lower() in ("normal", "?"):
        ending = ""
    default = "" if record.outcome is None else "resigned" if record.outcome != (0.0, 0.0) else "agreed"
    return word if word and record.ending in ("", ending or default) else ""


def _kept(record: GameRecord) -> tuple[dict[int, str], list[str], str]:
    """What a file had beside the game: notes by ply, the moves behind its end, the result of these. What is not sound is left out."""
    notes, rest = record.metadata.get("notes", {}), record.metadata.get("rest", {})
    words = str(rest.get("words", "")).split() if isinstance(rest, Mapping) else []
    stated = rest.get("result") if words and isinstance(rest, Mapping) else ""
    if stated not in OUTCOMES or any(wish_of(word) is None for word in words):
        words, stated = [], ""
    given = notes.items() if isinstance(notes, Mapping) else ()
    sound = {int(ply): text for ply, text in given if str(ply).isdecimal() and isinstance(text, str) and is_sound(text)}
    return {ply: _printable(text) for ply, text in sound.items()}, words, str(stated)


def is_sound(note: str) -> bool:
    """Whether it consists of comments, variations and glyphs that end where they should."""
    depth = 0
    for match in _TOKEN.finditer(note):
        token = match[0]
        depth += (token == "(") - (token == ")")
        if depth < 0 or (token[0] == "{" and token[-1] != "}") or token[0] == ";":
            return False
        if depth == 0 and token[0] not in "{)$":
            return False
    return depth == 0


def _printable(text: str) -> str:
    return "".join(letter if letter.isprintable() else " " for letter in text)


def _quoted(value: str) -> str:
    flat = _printable(value)
    return flat.replace("\\", "\\\\").replace('"', '\\"')


def _numbered(words: list[str], number: int, is_black: bool, notes: Mapping[int, str]) -> Iterator[str]:
    """`1. e4 e5 2. Nf3`, or from a position in which black is to move, and behind notes, `7... Kd8 8. Ra1`."""
    for ply, word in enumerate(words):
        if note := notes.get(ply):
            yield note
        moves, colour = divmod(ply + is_black, 2)
        if colour == 0:
            yield f"{number + moves}. {word}"
        else:
            yield f"{number + moves}... {word}" if ply == 0 or note else word
    if note := notes.get(len(words)):
        yield note
