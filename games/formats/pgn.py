"""PGN, the world's files of chess games: `read_pgn(path, game)` gives records one by one, `pgn_of(record, game)` writes one.

Reading is lenient and takes constant memory: comments, variations, `$5` and `!?` are skipped, tags may be missing, games may begin
anywhere (FEN). Broken games are left out and reported (games/formats/broken.py). Where a game continues after it was drawn by our rules
(the third repetition, fifty moves, dead material, all without a claim), the record ends with the draw.

    tag             in a record
    White, Black    players
    Result          outcome, unless it follows from the board
    FEN             start
    Seed            seed
    Termination     ending, where there is a result that the rules did not give; if missing, `resigned` or `agreed`
    others          metadata["tags"]
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

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
    is_blank = True
    for number, line in lines:
        after_blank, is_blank = is_blank, not line.strip()
        if comment and after_blank and game is not None and line.startswith('[Event "'):
            game.fault = f"expected '}}' behind the comment that began in line {comment}, got another game"
            comment = 0
        at = 0
        if comment:
            at = line.find("}") + 1
            if not at:
                continue
            comment = 0
        elif line.startswith("%"):
            continue
        tags, at = _tags_in(line, at) if "[" in line and not at else ([], at)
        if tags and game is not None and (game.words or game.result or game.fault or tags[0][0] in game.tags):
            yield game
            game = None
        if tags:
            game, depth = game or PgnGame(number), 0
            game.tags |= tags
        for match in _TOKEN.finditer(line, at):
            token = match[0]
            first = token[0]
            if first == "{":
                comment = 0 if token[-1] == "}" else number
            elif first == "(":
                depth += 1
            elif first == ")":
                depth = max(0, depth - 1)
            elif depth == 0 and first not in ";$<":
                number_of_move = None if token in _RESULTS else _NUMBER.match(token)
                word = token[number_of_move.end() :] if number_of_move else token
                if not word or (word not in _RESULTS and _SILENT.fullmatch(word)):
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
    if game is not None:
        if comment:
            game.fault = f"expected '}}' behind the comment that began in line {comment}, got the end of the file"
        yield game


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
    return make_record(
        game,
        moves,
        outcome=outcome,
        ending=ending,
        seed=int(seed) if re.fullmatch("[0-9]{1,20}", seed) and int(seed) < 1 << 64 else None,
        players=["" if name == "?" else name for name in (tags.get("White", "?"), tags.get("Black", "?"))],
        start=start,
        metadata={"tags": others} if others else {},
    )


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
    result = _result_of(record.outcome)
    players = [*record.players, "", ""][:2]
    given = record.metadata.get("tags", {})
    others = {str(name): str(value) for name, value in given.items()} if isinstance(given, dict) else {}
    tags = {name: others.pop(name, unknown) for name, unknown in ROSTER.items()}
    tags |= {"White": players[0] or "?", "Black": players[1] or "?", "Result": result}
    tags |= {name: value for name, value in others.items() if re.fullmatch(r"\w+", name) and name not in OWN}
    if record.start is not None:
        tags |= {"SetUp": "1", "FEN": game.text(start)}
    if termination := _termination_of(record):
        tags["Termination"] = termination
    if record.seed is not None:
        tags["Seed"] = str(record.seed)
    head = "".join(f'[{name} "{_quoted(value)}"]\n' for name, value in tags.items())
    record.positions(game)  # refuses what does not fit before anything is written
    words = _numbered(san_line(game, start, record.moves.tolist()), int(start.move), bool(start.mover))
    moves = textwrap.fill(" ".join([*words, result]), 79, break_long_words=False, break_on_hyphens=False)
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


def _quoted(value: str) -> str:
    flat = "".join(letter if letter.isprintable() else " " for letter in value)
    return flat.replace("\\", "\\\\").replace('"', '\\"')


def _numbered(words: list[str], number: int, is_black: bool) -> Iterator[str]:
    """`1. e4 e5 2. Nf3`, or from a position in which black is to move `7... Kd8 8. Ra1`."""
    for ply, word in enumerate(words):
        moves, colour = divmod(ply + is_black, 2)
        if colour == 0:
            yield f"{number + moves}. {word}"
        else:
            yield f"{number}... {word}" if ply == 0 else word
