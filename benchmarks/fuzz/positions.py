"""Positions, records and logs of games."""

from __future__ import annotations

import functools
import json
import shutil
import struct
import zlib
from contextlib import suppress
from pathlib import Path

from arena.match_folder import MatchFolder
from base.errors import UserError
from base.framed_log import HEADER, MARKER, LogWriter
from benchmarks.fuzz.values import Rng, Wrong, damaged, damaged_text, mutated_bytes, spoiled_json, written
from games import Game, load
from games.engine import record_codec
from games.engine.view_laws import mutated
from games.record import GameRecord, make_record, read_records
from games.types import GameState

GAMES = (
    "othello",
    "checkers",
    "dots_and_boxes",
    "backgammon",
    "chess",
    "go:size=5",
    "nim",
    "connect_four",
    "tic_tac_toe",
    "kuhn_poker",
    "phantom_tic_tac_toe",
)


@functools.cache
def game_of(name: str) -> Game:
    return load(name)


def some_game(rng: Rng) -> Game:
    return game_of(rng.choice(GAMES))


def some_moves(game: Game, rng: Rng, most: int) -> tuple[GameState, list[int]]:
    state, moves = game.initial(), []
    for _ in range(rng.randrange(most + 1)):
        legal = game.legal_actions(state)
        if not legal:
            break
        moves.append(rng.choice(legal))
        state = game.result(state, moves[-1])
    return state, moves


def use(game: Game, state: GameState) -> None:
    """With checks first, then as searches do, without: a position that leaves memory shows itself in one or the other."""
    try:
        game.play_with_checks(state, games=3)
    except (IndexError, ZeroDivisionError) as error:
        raise Wrong(f"a position of {game.name} that leaves memory: {error}: {game.text(state)}") from None
    game.random_games(2, 1, state)
    for player in range(game.players):
        game.observe(state, player)
    game.key(state)
    game.render(state)
    if game.restored(state.tobytes()) != state:
        raise Wrong(f"a position of {game.name} that its own text does not give back: {game.text(state)}")


def starts(rng: Rng, folder: Path) -> bool:
    """The first position of a record."""
    game = some_game(rng)
    state, _ = some_moves(game, rng, 30)
    data = mutated(state.tobytes(), rng.stream)
    record = make_record(game, [], ending="broken off")
    header, arrays = record_codec.decode(record.to_bytes())
    record = GameRecord.from_bytes(record_codec.encode(header | {"start": data.hex()}, arrays), game)
    use(game, record.first_position(game))
    return True


def positions(rng: Rng, folder: Path) -> bool:
    """Position text."""
    game = some_game(rng)
    state = game.parse(damaged_text(game.text(some_moves(game, rng, 30)[0]), rng))
    use(game, state)
    return True


def packed(header: str, arrays: bytes) -> bytes:
    """A record with a right checksum, whatever is in it."""
    text = written(header)
    body = struct.pack("<I", len(text)) + text + zlib.compress(arrays)
    return record_codec.MAGIC + struct.pack("<I", zlib.crc32(body)) + body


def spoiled_record(game: Game, rng: Rng) -> bytes:
    _, moves = some_moves(game, rng, 12)
    notes = {
        "number": 3,
        "net": "abc",
        "block": 0,
        "game": 1,
        "seats": [0, 1],
        "times": [[], []],
        "timed": [0, 0],
        "late": [0, 0],
    }
    notes |= {
        "opening": 0,
        "resigns": {"player": 0, "ply": 1, "wrong": True},
        "tags": {"Event": "x"},
        "properties": {"EV": "x"},
    }
    ending = (
        {}
        if game.is_terminal(game.play(" ".join(map(game.name_of, moves))))
        else {"ending": "resigned", "outcome": (1, -1)}
    )
    data = make_record(game, moves, metadata=notes, seed=5, **ending).to_bytes()  # type: ignore[arg-type]
    if rng.random() < 0.2:
        return damaged(data, rng)
    length = struct.unpack_from("<I", data, len(record_codec.MAGIC) + 4)[0]
    head = len(record_codec.MAGIC) + 8
    flat, text = zlib.decompress(data[head + length :]), data[head : head + length].decode()
    if rng.random() < 0.4:
        return packed(text, damaged(flat, rng) if rng.random() < 0.3 else mutated_bytes(flat, rng))
    return packed(spoiled_json(json.loads(text), rng), flat)


def records(rng: Rng, folder: Path) -> bool:
    """A record with right checksums."""
    from games.formats.pgn import pgn_of
    from games.formats.sgf import is_go, sgf_of
    from selfplay.statistics import Statistics

    game = some_game(rng)
    record = GameRecord.from_bytes(spoiled_record(game, rng), game)
    Statistics.of([record]).lines()
    states = record.positions(game)
    if GameRecord.from_bytes(record.to_bytes(), game) != record:
        raise Wrong("a record that does not come back from its bytes")
    if record.move_names(game).encode() and len(states) != len(record) + 1:
        raise Wrong("a record without its positions")
    if game.name == "chess":
        pgn_of(record, game)
    if is_go(game):
        sgf_of(record, game)
    return True


def logs(rng: Rng, folder: Path) -> bool:
    """A log of records: of a run, of a match, of self-play."""
    from train.games import GameLog, games_of

    game = game_of("tic_tac_toe")
    path = folder / "000000.log"
    with LogWriter(path) as log:
        for _ in range(3):
            log.append(spoiled_record(game, rng))
    if rng.random() < 0.3:
        path.write_bytes(damaged(path.read_bytes(), rng))
    if rng.random() < 0.2:
        path.write_bytes(rng.choice((HEADER, HEADER + MARKER * 5, HEADER[:7], b"")) + rng.randbytes(30))
    shutil.copyfile(path, folder / "games.log")
    with suppress(UserError):
        list(read_records(path, game))
    with suppress(UserError), MatchFolder(folder / "match", {}, game, 2, report=str):
        pass
    if (folder / "match").is_dir():
        shutil.copyfile(folder / "games.log", folder / "match" / "games.log")
        with suppress(UserError), MatchFolder(folder / "match", {}, game, 2, resume=True, report=str):
            pass
    games = games_of(folder, 0, game, str)  # a run resumes, whatever is in its log
    with GameLog(folder, 0, game, "abc", str) as found:
        if not found.games.keys() <= {record.noted("number") for record in games}:
            raise Wrong("a game of a run that is not among its games")
    return bool(games)
