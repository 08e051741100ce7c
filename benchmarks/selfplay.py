"""Simulations per second of whole self-play: search, network, targets, moves, records.

    python -m benchmarks.selfplay                                   # connect four, a net of 5×64, one core and two
    python -m benchmarks.selfplay go:size=9 --net resnet:3x32 --seconds 30 --precision fp32
    python -m benchmarks.selfplay --networks compiled torch         # the compiled network beside torch in batches

| column      | what                                                                                                     |
|-------------|----------------------------------------------------------------------------------------------------------|
| simulations | per second, as made: those saved by proofs are not counted                                               |
| evaluations | positions per second evaluated by the network, without empty rows of batches                             |
| games       | per second                                                                                               |
| outside     | the share of the time that is not spent in compiled code or the network: records, queues, Python          |
| scaling     | simulations per second relative to one worker                                                            |

The net has random weights, as at the start of a run. The cache of evaluations is off unless --cache is given, so every simulation that
does not reach an end is an evaluation. All workers start counting together; each is a process of one thread.

For connect four, a resnet and fp32, mctx with pgx is measured in the same run on one core, where it is installed
(`benchmarks/mctx_peer.py`), with equally many and with four times as many games side by side, all searches full ones. Each line ends
with the speed of one worker here relative to it.
"""

from __future__ import annotations

import multiprocessing
import os
import re
import signal
import time
from collections.abc import Callable, Sequence
from multiprocessing.synchronize import Barrier
from typing import Any, NamedTuple

from base.errors import Arguments, run_command
from base.local_workers import cores
from benchmarks import mctx_peer
from games import load
from mcts.puct import PUCT
from mcts.search import Search
from selfplay.play import BatchedGames, CompiledGames, GameQueue
from selfplay.settings import SelfPlaySettings


class Measurement(NamedTuple):
    game: str
    net: str
    precision: str
    network: str
    """`compiled` or `torch`"""
    settings: SelfPlaySettings
    seconds: float


class Done(NamedTuple):
    simulations: int
    evaluations: int
    games: int
    outside: float
    """Seconds."""
    seconds: float


def main(argv: Sequence[str]) -> int:
    parser = Arguments(description=__doc__)
    parser.add_argument("game", nargs="?", default="connect_four", metavar="GAME", help="with options, or a file.py")
    parser.add_argument("--net", default="resnet:5x64", metavar="NET", help="as nets.make_net takes it")
    parser.add_argument(
        "--precision", nargs="+", default=["fp32", "auto"], choices=["fp32", "bf16", "auto"], metavar="P"
    )
    parser.add_argument("--networks", nargs="+", default=["compiled"], choices=["compiled", "torch"], metavar="N")
    parser.add_argument("--slots", type=int, default=64, metavar="N", help="games side by side in each worker")
    parser.add_argument("--seconds", type=float, default=15.0, metavar="S", help="of each measurement")
    parser.add_argument("--cache", type=float, default=0.0, metavar="MB", help="of evaluations; 0: off")
    parser.add_argument("--workers", type=int, nargs="+", default=sorted({1, cores()}), metavar="K")
    options = parser.parse_args(argv)
    game = load(options.game)
    settings = SelfPlaySettings(slots=options.slots, cache_mb=options.cache)
    how = f"searches of {settings.simulations} and {settings.fast_simulations} simulations, {options.slots} games in torch's batches"
    print(f"{game.name}, {options.net}, {how}\n")
    titles = (
        ("network", 10),
        ("precision", 10),
        ("workers", 8),
        ("simulations/s", 15),
        ("evaluations/s", 15),
        ("games/s", 9),
    )
    print("".join(f"{title:>{width}}" for title, width in (*titles, ("outside", 9), ("scaling", 9))))
    for network in options.networks:
        for precision in options.precision:
            alone = 0.0
            for workers in options.workers:
                measurement = Measurement(game.spec, options.net, precision, network, settings, options.seconds)
                found = measured(measurement, workers)
                rates = [sum(each[i] / each.seconds for each in found) for i in range(3)]
                outside = sum(each.outside for each in found) / sum(each.seconds for each in found)
                alone = alone or rates[0] / workers
                row = f"{network:>10}{precision:>10}{workers:>8}{rates[0]:>15,.0f}{rates[1]:>15,.0f}{rates[2]:>9.1f}"
                print(f"{row}{outside:>9.1%}{rates[0] / alone:>8.2f}×", flush=True)
            if precision == "fp32" and game.name == "connect_four":
                show_peer(options.net, settings, options.seconds, alone)
    return 0


def show_peer(net: str, settings: SelfPlaySettings, seconds: float, alone: float) -> None:
    """The same by mctx and pgx, or one line that gives the reason why not."""
    size = re.fullmatch(r"resnet:(\d+)x(\d+)", net)
    absent = mctx_peer.missing()
    if absent or size is None:
        why = f"not installed: {', '.join(absent)}" if absent else f"not of {net}, only of resnet:BLOCKSxCHANNELS"
        print(f"{'mctx+pgx':>10}  {why}", flush=True)
        return
    for slots in (settings.slots, 4 * settings.slots):
        found = mctx_peer.measured(int(size[1]), int(size[2]), slots, settings.simulations, seconds)
        print(f"{'mctx+pgx':>10}{1:>9}{found:>15,.0f}{'':>24}  {slots} games; here {alone / found:.2f}×", flush=True)


def measured(measurement: Measurement, workers: int) -> list[Done]:
    context = multiprocessing.get_context("spawn")
    results, barrier = context.Queue(), context.Barrier(workers)
    processes = [
        context.Process(target=play, args=(measurement, barrier, results), daemon=True) for _ in range(workers)
    ]
    for process in processes:
        process.start()
    found = [results.get() for _ in processes]
    for process in processes:
        process.join()
    return found


def play(measurement: Measurement, barrier: Barrier, results: Any) -> None:
    """One worker: warms up for a few games, then counts."""
    os.environ["OMP_NUM_THREADS"] = "1"
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # as workers have it
    from nets import CompiledNet, Inference, make_net

    game, slots = load(measurement.game), measurement.settings.slots
    net, precision = make_net(measurement.net, game, 1), measurement.precision
    network: Any
    if measurement.network == "compiled":
        network = CompiledNet.of_net(net, game, precision)  # type: ignore[arg-type]
    else:
        network = Inference(net, slots, precision=precision)  # type: ignore[arg-type]
    queue = GameQueue(game, measurement.settings, PUCT(), os.getpid())
    queue.use(network, "random")
    inside = [0.0]
    count_inside(inside)
    for number in range(slots * 2):
        queue.add(number)
    for _ in range(4 if measurement.network == "compiled" else 100):
        queue.step()
    barrier.wait()
    before, games, number = queue.work, 0, slots * 2
    began, inside[0] = time.perf_counter(), 0.0
    while (seconds := time.perf_counter() - began) < measurement.seconds:
        for _ in queue.step():
            queue.add(number)
            games, number = games + 1, number + 1
    done = queue.work.minus(before)
    results.put(Done(done.simulations, done.evaluations, games, seconds - inside[0], seconds))


def count_inside(seconds: list[float]) -> None:
    """Adds up the time in what plays and searches: a compiled game, or a batch with the moves that follow it."""
    for owner, name in ((CompiledGames, "_played"), (Search, "step"), (BatchedGames, "_turn")):
        setattr(owner, name, timed(getattr(owner, name), seconds))


def timed(function: Callable[..., Any], seconds: list[float]) -> Callable[..., Any]:
    def call(*arguments: Any) -> Any:
        start = time.perf_counter()
        found = function(*arguments)
        seconds[0] += time.perf_counter() - start
        return found

    return call


if __name__ == "__main__":
    run_command(main)
