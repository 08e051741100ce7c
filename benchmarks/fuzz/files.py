"""JSON, TOML, books, metrics, ladders, the cache folder, the lines of an engine."""

from __future__ import annotations

import json
import os
import sqlite3
import warnings
import zlib
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import numpy as np

from arena.analyze import Queries
from arena.engines.uci import Uci
from arena.ladder.rating import CrossTable, rate
from arena.ladder.results import LadderResults
from arena.ladder.standings import Standings
from arena.openings import Opening
from arena.players import Forfeit
from base.errors import UserError
from base.files import cache_folder, read_json
from base.kernel_cache import _payload
from base.reading import json_of, toml_of
from base.seeds import generator
from benchmarks.fuzz.positions import game_of
from benchmarks.fuzz.values import (
    NUMBERS,
    TEXTS,
    Rng,
    Wrong,
    damaged,
    damaged_text,
    mutated_bytes,
    spoiled_json,
    token,
    written,
)
from checkpoints import read_card
from classical.book import Book, build_book
from classical.eval import Eval
from games import Game, load
from games.engine.trial import walk
from games.record import GameRecord, make_record


def jsons(rng: Rng, folder: Path) -> bool:
    """JSON in each of its uses: plain, a card, weights of EVAL, a tree, an evaluation, a budget."""
    from train.evaluation import read_evaluation
    from train.run import read_budget

    path = folder / "file.json"
    evaluation = {
        "line": "Elo +1",
        "metrics": {"elo/search": 1.0},
        "details": {"search": {"x": [1]}},
        "elo": [1.0, 0.0, 2.0],
    }
    card = {
        "game": "nim:most=7",
        "version": 1,
        "net": "mlp:1x16",
        "weights": "sha256:" + "0" * 64,
        "step": 3,
        "elo": None,
        "note": "x",
    }
    weights = {
        "game": "tic_tac_toe",
        "version": 1,
        "unit": 0.3,
        "note": "",
        "games": 10,
        "weights": {"forks": 1.0, "to move": 2.0},
    }
    tree = {"players": 2, "tree": {"player": 0, "actions": {"a": 1, "b": {"chance": {"x": [0.5, 1], "y": [0.5, -1]}}}}}
    (folder / "card.json").write_bytes(written(spoiled_json(card, rng)))
    (folder / "weights.safetensors").write_bytes(b"x")
    uses: list[tuple[Any, Callable[[], object]]] = [
        ({"a": [1, {"b": None}], "c": "x"}, lambda: read_json(path)),
        (card, lambda: read_card(folder)),
        (weights, lambda: Eval.load(path, game_of("tic_tac_toe"))),
        (tree, lambda: use_tree(path)),
        (evaluation, lambda: read_evaluation(path)),
        ({"games": 5, "minutes": 0.0}, lambda: read_budget(path)),
    ]
    value, read = rng.choice(uses)
    text = spoiled_json(value, rng)
    path.write_bytes(written(text) if rng.random() < 0.9 else damaged(written(text), rng))
    read()
    again = json.dumps(json_of(path.read_bytes(), path), ensure_ascii=False)
    if json_of(again.encode(), path) != json_of(path.read_bytes(), path):
        raise Wrong("JSON that does not come back")
    return True


def use_tree(path: Path) -> None:
    """Interpreted: each tree is a game that would be compiled anew."""
    game = load(f"tree:{path}")
    state = game.blank()
    game.rules.initial(state)
    walk(game.rules, state, generator(1), game.rules.max_plies)


def tomls(rng: Rng, folder: Path) -> bool:
    """A configuration in TOML, a ladder's reference players, `--set`."""
    from arena.ladder.reference_players import read_reference_players
    from train.config import changed, compose, of_table, read, settings, to_toml

    config = compose(game_of("tic_tac_toe"))
    path, kind = folder / "file.toml", rng.random()
    if kind < 0.3:
        path.write_bytes(
            written(damaged_text('anchor = "random"\nplayers = ["random", "uct:sims=10"]\nopenings = "plies=2"\n', rng))
        )
        read_reference_players(path)
        return True
    if kind < 0.6:
        keys = [*settings(config), "seed", "x", "search.method", "search", "a.b.c", ".".join("a" * 2000), ""]
        found = changed(config, [f"{rng.choice(keys)}={rng.choice((token(rng), *TEXTS, *settings(config).values()))}"])
    else:
        lines = to_toml(config).splitlines()
        at = rng.choice([i for i, line in enumerate(lines) if " = " in line])
        lines[at] = lines[at].partition(" = ")[0] + " = " + token(rng)
        text = "\n".join(lines) if rng.random() < 0.6 else damaged_text(to_toml(config), rng)
        path.write_bytes(written(text))
        found = of_table(read(path, stored=True))
    if of_table(toml_of(to_toml(found), "again")) != found:
        raise Wrong("a configuration that does not come back")
    return True


def books(rng: Rng, folder: Path) -> bool:
    game, path = game_of("tic_tac_toe"), folder / "book.jsonl"
    build_book(game, [make_record(game, [4, 0, 8, 2, 6, 7, 1])] * 3, min_games=1).save(path)
    lines = path.read_text().splitlines()
    at = rng.randrange(len(lines))
    lines[at] = spoiled_json(json.loads(lines[at]), rng)
    text = written("\n".join(lines) + "\n")
    path.write_bytes(damaged(text, rng) if rng.random() < 0.3 else text)
    book = Book.load(path, game)
    for action, games, score in book.moves(game.initial()):
        if action not in game.legal_actions(game.initial()) or games < 1 or not abs(score) <= 1:
            raise Wrong(f"a move of a book: {action}, {games}, {score}")
    return True


def metrics(rng: Rng, folder: Path) -> bool:
    """Lines of a run's metrics, warnings and calibration: whatever they are, the run resumes."""
    from monitor.history import CalibrationRows, History, WarningRows
    from monitor.warning_log import spells

    kinds: list[tuple[Any, Any]] = [
        ({"games": 8, "curves": {"loss/policy": 1.5, "elo/search": 2}}, History),
        ({"games": 8, "name": "overfitting", "seen": "0.1", "causes": ["a"], "advice": ["b"]}, WarningRows),
        ({"games": 8, "calibration": {"value": [[3, 0.1, 0.2, 0.3]]}}, CalibrationRows),
    ]
    row, kind = rng.choice(kinds)
    path = folder / "rows.jsonl"
    lines = [json.dumps(row), spoiled_json(row, rng), json.dumps(row)]
    lines = rng.sample(lines, 3)
    path.write_bytes(
        damaged(written("\n".join(lines)), rng) if rng.random() < 0.4 else written("\n".join(lines) + "\n")
    )
    before = len(kind(path).rows)
    rows = kind(path, 8)
    if isinstance(rows, History):
        rows.series("loss/policy")
        rows.add(16, {"loss/policy": 1.0})
    else:
        rows.add(16, {key: value for key, value in row.items() if key != "games"})
        spells(rows.rows if kind is WarningRows else [])
    if len(kind(path).rows) > before + 1 or kind(path).rows[-1]["games"] != 16:
        raise Wrong("rows that do not resume")
    return before > 1


def ladders(rng: Rng, folder: Path) -> bool:
    game, path = game_of("nim"), folder / "nim.sqlite"
    first, second = sorted(("random", "uct:sims=10"))
    with LadderResults(path, game) as results:
        for _ in range(3):
            number = results.take(first, second)
            results.add(first, second, number, number, Opening(), ladder_block(game, rng))
    if rng.random() < 0.5:
        path.write_bytes(
            mutated_bytes(path.read_bytes(), rng) if rng.random() < 0.7 else damaged(path.read_bytes(), rng)
        )
    else:
        tables = {
            "blocks": ("result", "is_new", "number", "digest", "plies", "a", "b"),
            "players": ("text", "id"),
            "pairs": ("given",),
        }
        table = rng.choice(list(tables))
        value = rng.choice(
            (-1, 99, 9, 8, 0, 1, "x", 1.5, None, b"\xff", b"", "\x1b[31m", "<b>`|", 2**62, "a\nb", "random")
        )
        with closing(sqlite3.connect(path)) as base, suppress(sqlite3.Error), base:
            base.execute("PRAGMA ignore_check_constraints = ON")
            where = rng.choice(("", " WHERE rowid = 1")) if table == "players" else ""
            base.execute(f"UPDATE {table} SET {rng.choice(tables[table])} = ?{where}", (value,))
    with LadderResults(path, game) as results:
        counts, players = results.counts(), results.players()
    for each in counts.values():
        if each.results.min() < 0 or each.results.sum() > each.blocks:
            raise Wrong(f"results of a ladder: {each}")
    if len(players) >= 2:
        table_of = CrossTable(players, [(0, 1)], [each.results for each in counts.values()][:1] or [np.zeros(9)])
        standings = Standings(game, rate(table_of, 0, replicates=20), counts)
        if any(not text.isprintable() for text in standings.text().splitlines() + standings.markdown().splitlines()):
            raise Wrong("a table that is not printable")
    return True


def ladder_block(game: Game, rng: Rng) -> list[GameRecord]:
    found = []
    for seats in ([0, 1], [1, 0]):
        moves: list[int] = []
        state = game.initial()
        while legal := game.legal_actions(state):
            moves.append(rng.choice(legal))
            state = game.result(state, moves[-1])
        found.append(make_record(game, moves, metadata={"seats": seats, "late": [0, 0]}))
    return found


def caches(rng: Rng, folder: Path) -> bool:
    """A cache folder that others may write to, a kernel's file that is damaged."""
    root = folder / "cache"
    (root / "kernels").mkdir(parents=True, mode=0o700)
    root.chmod(0o700)
    victim = rng.choice((root, root / "kernels"))
    mode = rng.choice((0o700, 0o755, 0o777, 0o770, 0o722, 0o1777, 0o750, 0o702))
    victim.chmod(mode)
    found = _with_cache(root)
    is_own = not mode & 0o022
    if found.is_relative_to(root) != is_own:
        raise Wrong(f"a cache folder of mode {mode:o} was {'not ' if is_own else ''}taken")
    data = b"zermelo kernel 1\n" + zlib.compress(b"x" * 99)
    with suppress(ValueError):
        _payload(damaged(data, rng))
        raise Wrong("a kernel without its checksum")
    return is_own


def _with_cache(root: Path) -> Path:
    before = os.environ.get("ZERMELO_CACHE")
    os.environ["ZERMELO_CACHE"] = str(root)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return cache_folder("kernels")
    finally:
        del os.environ["ZERMELO_CACHE"]
        if before is not None:
            os.environ["ZERMELO_CACHE"] = before


def queries(rng: Rng, folder: Path) -> bool:
    """Lines of `python -m arena analyze`."""
    game = game_of("tic_tac_toe")
    query = {
        "id": "a",
        "position": game.text(game.initial()),
        "moves": ["b2", ["O", "a1"]],
        "analyzeTurns": [0, 2],
        "maxVisits": 10,
        "maxDepth": 3,
        "maxTime": 0.5,
        "lines": 2,
        "allowMoves": [{"player": "B", "moves": ["a2"], "untilDepth": 1}, "c3"],
        "avoidMoves": ["a3"],
        "reportDuringSearchEvery": 0.1,
        "priorities": [1, 2],
    }
    found = json_of(spoiled_json(query, rng), "query")
    if not isinstance(found, dict):
        raise UserError("query: expected an object")
    for job in Queries(game).jobs_of(found):
        legal = game.legal_actions(job.state)
        if any(action not in legal for action in job.limits.actions) or (job.limits.nodes or 1) < 1:
            raise Wrong(f"a query: {job}")
    return True


class _Scripted(Uci):
    """An engine whose lines are given."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = iter(lines)
        super().__init__(game_of("chess"), "scripted", 50, None, None, 0, {})

    def prepare(self) -> None:
        pass

    def send(self, line: str) -> None:
        pass

    def receive(self) -> str:
        return next(self.lines, "bestmove e2e4")


def engines(rng: Rng, folder: Path) -> bool:
    """Lines of a chess engine: a move, or a forfeit."""
    lines = [
        "info depth 4 seldepth 5 multipv 1 score cp 100 nodes 44 pv e2e4 b8c6",
        "info depth 3 score mate -2 pv d2d4",
        "bestmove e2e4",
    ]
    for _ in range(rng.choice((1, 2, 3))):
        at = rng.randrange(len(lines))
        words = lines[at].split()
        words[rng.randrange(len(words))] = rng.choice((*NUMBERS, *TEXTS, *words))
        lines[at] = " ".join(words) if rng.random() < 0.7 else damaged_text(lines[at], rng)
    engine = _Scripted([piece for line in lines for piece in line.split("\n")])
    try:
        choice = engine.choose(engine.game.initial())
    except Forfeit as forfeit:
        raise UserError(str(forfeit)) from None
    if choice.action not in engine.game.legal_actions(engine.game.initial()) or not -1 <= choice.value <= 1:
        raise Wrong(f"an engine's choice: {choice}")
    return True
