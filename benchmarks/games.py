"""The speed of the rules, beside OpenSpiel's C++ in the same run.

    python -m benchmarks.games                              # every game of the folder, options by default
    python -m benchmarks.games othello:size=6 --seconds 3   # these games only
    python -m benchmarks.games --json                       # one JSON object instead of the table

| column   | what                                                                                                  |
|----------|-------------------------------------------------------------------------------------------------------|
| bytes    | one position                                                                                          |
| plies    | mean length of a random game, here / there; where they differ, so does a game's work or what is one ply |
| games/s  | random games from the start to the end, here and in OpenSpiel, and how many times faster               |
| perft    | leaves counted per second from the start, the last ply in bulk, at the depth shown; peers do the same  |
| cold     | seconds for a new process to import, load, play one random game and count perft 3, with an empty cache |
| warm     | the same again, with the cache that the first one filled                                               |

Everything runs on one core. Sides take turns, each for about --seconds, and the best of their turns is shown. Rates are per second of
processor time and starts in seconds by the clock, so a busy machine distorts the last two columns most.

OpenSpiel's random games are the rollouts of its own Monte Carlo evaluator. Python can't call that directly, but its tree search can: a
search of one simulation only evaluates the root, with an evaluator that takes the mean of thousands of rollouts. So there is one call
from Python for thousands of games. Where a game starts with a roll of the dice, that first roll is left out.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from base.errors import Arguments, run_command
from games import Game, builtin_games, load, variants

ROUNDS = 3  # turns of each side
SAMPLE = 200  # games of OpenSpiel whose length is taken
ROOT = Path(__file__).parent.parent

# OpenSpiel's name of a game, with our options filled in, and the settings under which it is the same game.
PEERS: dict[str, tuple[str, dict[str, Any]]] = {
    "tic_tac_toe": ("tic_tac_toe", {}),
    "connect_four": ("connect_four", {}),
    "othello": ("othello", {"size": 8}),
    "nim": ("nim(pile_sizes=3;5;{most},is_misere=false)", {}),
    "chess": ("chess", {}),
    "checkers": ("checkers", {}),
    "go": ("go(board_size={size},komi={komi})", {}),
    "backgammon": ("backgammon", {"start": "standard"}),
    "dots_and_boxes": ("dots_and_boxes(num_rows={rows},num_cols={cols})", {"players": 2}),
}

Run = Callable[[int], object]  # does so many units of work


@dataclass(frozen=True)
class Row:
    """One game's numbers; None where there is no peer."""

    game: str
    bytes: int
    plies: float
    games_per_second: float
    peer: str | None
    peer_plies: float | None
    peer_games_per_second: float | None
    perft_depth: int
    perft_per_second: float
    perft_peer: str | None
    perft_peer_per_second: float | None
    cold_seconds: float
    warm_seconds: float


def main(argv: Sequence[str]) -> int:
    parser = Arguments(description=__doc__)
    parser.add_argument(
        "games", nargs="*", metavar="GAME", help="a game with options, or a file; none: the whole folder"
    )
    parser.add_argument("--seconds", type=positive, default=1.0, metavar="S", help="length of one turn")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of the table")
    options = parser.parse_args(argv)
    playable = set(variants())  # a tree needs a file: it has no options by default
    games = [load(name) for name in options.games or builtin_games() if options.games or name in playable]
    with one_core() as pinned:
        where = machine(pinned)
        if options.json:
            rows = [asdict(measure(game, options.seconds)) for game in games]
            how = {"seconds": options.seconds, "rounds": ROUNDS, "shown": "best"}
            print(json.dumps({"machine": where, "versions": versions(), "measured": how, "games": rows}, indent=2))
            return 0
        named = ", ".join(f"{name} {number}" for name, number in versions().items())
        print(f"{where}; {named}; best of {ROUNDS} turns of {options.seconds:g} s, sides alternating\n")
        width = max(len(game.name) for game in games)
        print(header(width), flush=True)
        for game in games:
            print(line(measure(game, options.seconds), width), flush=True)
    return 0


def positive(text: str) -> float:
    number = float(text) if text.replace(".", "", 1).isdigit() else math.nan
    if not 0.001 <= number <= 3600:
        raise argparse.ArgumentTypeError(f"expected seconds from 0.001 to 3600, got {text!r}")
    return number


# ── measuring ──


def measure(game: Game, seconds: float) -> Row:
    peer = open_spiel(game)
    plies = game.random_games(1000, seed=1)[1]
    runs: list[Run] = [lambda n: game.random_games(n, seed=2)]
    games_per_second = best_rates([*runs, peer.play] if peer else runs, seconds)

    depth, nodes = perft_depth(game, seconds)
    perft_per_second = nodes * best_rates([lambda n: [game.perft(depth) for _ in range(n)]], seconds)[0]
    beside = perft_peer(game.name)
    peer_perft = None
    if beside:
        peer_depth, peer_nodes = depth_for(beside[1], depth, seconds)
        peer_perft = peer_nodes * best_rates([lambda n: [beside[1](peer_depth) for _ in range(n)]], seconds)[0]

    cold, warm = starts(game)
    return Row(
        game=game.name,
        bytes=game.rules.State.itemsize,
        plies=round(plies, 1),
        games_per_second=games_per_second[0],
        peer=peer.spec if peer else None,
        peer_plies=round(peer.mean_plies(), 1) if peer else None,
        peer_games_per_second=games_per_second[1] if peer else None,
        perft_depth=depth,
        perft_per_second=perft_per_second,
        perft_peer=beside[0] if beside else None,
        perft_peer_per_second=peer_perft,
        cold_seconds=round(cold, 2),
        warm_seconds=round(warm, 2),
    )


def best_rates(runs: Sequence[Run], seconds: float) -> list[float]:
    """Units per second of each run: A B A B A B, and the best turn of each."""
    units = [units_for(run, seconds) for run in runs]
    best = [0.0] * len(runs)
    for _ in range(ROUNDS):
        for i, run in enumerate(runs):
            best[i] = max(best[i], units[i] / timed(run, units[i]))
    return best


def units_for(run: Run, seconds: float) -> int:
    """How many units take about that long; the first ones warm up."""
    units = 1
    while (took := timed(run, units)) < seconds / 8:
        units *= 2
    return max(1, round(units * seconds / took))


def timed(run: Run, units: int) -> float:
    """Seconds of the processor, so that time given to other programs does not count."""
    start = time.process_time()
    run(units)
    return max(time.process_time() - start, 1e-9)


def perft_depth(game: Game, seconds: float) -> tuple[int, int]:
    game.perft(1)  # compiles
    return depth_for(game.perft, game.rules.max_plies, seconds)


def depth_for(perft: Callable[[int], int], deepest: int, seconds: float) -> tuple[int, int]:
    """The greatest depth that takes no longer, going by how much the last one added, and its count; none where games run out."""
    depth, nodes = 1, perft(1)
    while depth < deepest:
        start = time.process_time()
        deeper = perft(depth + 1)
        took = time.process_time() - start
        if deeper < nodes:
            break
        growth, depth, nodes = deeper / nodes, depth + 1, deeper
        if took * growth > seconds:
            break
    return depth, nodes


def starts(game: Game) -> tuple[float, float]:
    """Seconds of a cold and of a warm start, the best of two pairs."""
    script = "import sys; from games import load; g = load(sys.argv[1]); g.random_games(1, 1); g.perft(3)"
    command = [sys.executable, "-c", script, game.spec]
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    cold: list[float] = []
    warm: list[float] = []
    for _ in range(2):
        with tempfile.TemporaryDirectory() as cache:
            environment = os.environ | {"ZERMELO_CACHE": cache, "PYTHONPATH": path}
            for times in (cold, warm):
                start = time.perf_counter()
                subprocess.run(command, env=environment, check=True, stderr=subprocess.DEVNULL)
                times.append(time.perf_counter() - start)
    return min(cold), min(warm)


# ── peers ──


class OpenSpiel:
    """Random games of one of OpenSpiel's games, in its C++."""

    def __init__(self, spiel: Any, spec: str) -> None:
        self.spec, self._spiel, self._game = spec, spiel, spiel.load_game(spec)
        self._start = self._game.new_initial_state()
        while self._start.is_chance_node():  # its search can't begin at one
            self._start.apply_action(self._start.legal_actions()[0])

    def play(self, games: int) -> None:
        evaluator = self._spiel.RandomRolloutEvaluator(games, 1)
        bot = self._spiel.MCTSBot(
            self._game, evaluator, uct_c=1.0, max_simulations=1, max_memory_mb=1000, solve=False, seed=1, verbose=False
        )
        assert bot.mcts_search(self._start).explore_count == 1

    def mean_plies(self) -> float:
        rng = np.random.default_rng(1)
        plies = 0
        for _ in range(SAMPLE):
            state = self._game.new_initial_state()
            while not state.is_terminal():
                if state.is_chance_node():
                    actions, odds = zip(*state.chance_outcomes(), strict=True)
                    action = int(rng.choice(actions, p=odds))
                else:
                    legal = state.legal_actions()
                    action = legal[int(rng.integers(len(legal)))]
                state.apply_action(action)
                plies += 1
        return plies / SAMPLE


def open_spiel(game: Game) -> OpenSpiel | None:
    """The same game in OpenSpiel, where it has it and is installed."""
    spec, settings = PEERS.get(game.name.partition(":")[0], ("", {}))
    if not spec or any(game.options.get(option, value) != value for option, value in settings.items()):
        return None
    try:
        import pyspiel
    except ImportError:
        return None
    return OpenSpiel(pyspiel, spec.format(**game.options))


def perft_peer(name: str) -> tuple[str, Callable[[int], int]] | None:
    """Whose perft of the game there is, and that perft, with the last ply in bulk."""
    if name.partition(":")[0] != "chess":
        return None
    try:
        import chess
    except ImportError:
        return None
    board = chess.Board()

    def perft(depth: int) -> int:
        if depth == 1:
            return board.legal_moves.count()
        total = 0
        for move in board.legal_moves:
            board.push(move)
            total += perft(depth - 1)
            board.pop()
        return total

    return "python-chess", perft


# ── the machine, the table ──


@contextmanager
def one_core() -> Iterator[bool]:
    """Pins this process, and what it starts, to one core; False where the system has no means to."""
    if sys.platform != "linux":
        yield False
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(before)})
    try:
        yield True
    finally:
        os.sched_setaffinity(0, before)


def machine(pinned: bool) -> str:
    cpu = platform.processor() or platform.machine()
    about = Path("/proc/cpuinfo")
    if about.is_file():
        models = [text.partition(":")[2].strip() for text in about.read_text().splitlines() if "model name" in text]
        cpu = models[0] if models else cpu
    return f"{cpu}, {'one' if pinned else 'not pinned, any'} of {os.cpu_count()} cores, {platform.system()}"


def versions() -> dict[str, str]:
    found = {"Python": platform.python_version()}
    for name in ("numba", "numpy", "open_spiel", "chess"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "-"
    return found


COLUMNS = {
    "bytes": 6,
    "plies": 14,
    "games/s": 9,
    "OpenSpiel": 11,
    "ratio": 7,
    "perft/s": 10,
    "depth": 7,
    "peer": 9,
    "ratio ": 7,
    "cold s": 8,
    "warm s": 8,
}


def header(width: int) -> str:
    return f"{'game':{width}}" + "".join(f"{name:>{room}}" for name, room in COLUMNS.items())


def line(row: Row, width: int) -> str:
    cells = [
        str(row.bytes),
        f"{row.plies:g} / {'-' if row.peer_plies is None else f'{row.peer_plies:g}'}",
        short(row.games_per_second),
        short(row.peer_games_per_second),
        ratio(row.games_per_second, row.peer_games_per_second),
        short(row.perft_per_second),
        str(row.perft_depth),
        short(row.perft_peer_per_second),
        ratio(row.perft_per_second, row.perft_peer_per_second),
        f"{row.cold_seconds:.2f}",
        f"{row.warm_seconds:.2f}",
    ]
    return f"{row.game:{width}}" + "".join(
        f"{cell:>{room}}" for cell, room in zip(cells, COLUMNS.values(), strict=True)
    )


def short(number: float | None) -> str:
    """Three digits: 1.38 M, 155 k, 913."""
    if number is None:
        return "-"
    size, unit = next(
        (pair for pair in ((1e9, " G"), (1e6, " M"), (1e3, " k")) if number >= 0.9995 * pair[0]), (1.0, "")
    )
    scaled = number / size
    return f"{scaled:.{0 if scaled >= 99.95 else 1 if scaled >= 9.995 else 2}f}{unit}"


def ratio(ours: float, theirs: float | None) -> str:
    if theirs is None:
        return "-"
    return f"{ours / theirs:.{0 if ours >= 10 * theirs else 1}f}×"


if __name__ == "__main__":
    run_command(main)
