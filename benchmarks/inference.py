"""Positions a second that a network evaluates: compiled, by torch's `Inference`, and in plain torch, in the same run.

    python -m benchmarks.inference                                          # connect four: resnet:5x64, resnet:3x32
    python -m benchmarks.inference go:size=9 --nets "resnet:5x64,pool=on"

| column    | what                                                                                                  |
|-----------|-------------------------------------------------------------------------------------------------------|
| torch     | positions/s of the network as it is trained, in eval and inference mode                                 |
| inference | of `nets.Inference`: normalization folded, oneDNN's fused convolutions                                  |
| compiled  | of `nets.CompiledNet`: one compiled kernel, without torch                                               |
| ratio     | compiled ÷ inference                                                                                    |
| logits    | largest error of a compiled logit against torch                                                         |
| utility   | largest error of a compiled utility against torch                                                       |
| top       | share of positions with the same most likely action as in torch                                         |

One core; sides take turns and the best turn of each is shown; rates are per second of processor time. Errors are over 256 boards of
random planes; the weights are as they are drawn at the start of training.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from base.errors import Arguments, run_command
from benchmarks.games import ROUNDS, machine, one_core, ratio, short, timed
from games import Game, load
from nets import CompiledNet, Inference, Net, make_net
from nets.compiled.instructions import choose, has_bf16
from nets.inference import cpu_has_bf16
from nets.names import Precision

NETS = ("resnet:5x64", "resnet:3x32")
BATCHES = (1, 64)
POSITIONS = 1024  # evaluated in a turn
COMPARED = 256  # positions that errors are taken over
TITLES = ("batch", "torch", "inference", "compiled", "ratio", "logits", "utility", "top")


def main(argv: Sequence[str]) -> int:
    parser = Arguments(description=__doc__)
    parser.add_argument("game", nargs="?", metavar="GAME", default="connect_four", help="with options, or a file")
    parser.add_argument("--nets", nargs="+", metavar="NET", default=list(NETS), help="kinds with sizes")
    options = parser.parse_args(argv)
    game = load(options.game)
    nets = [make_net(text, game) for text in options.nets]
    precisions: list[Precision] = ["fp32", "bf16"] if cpu_has_bf16() else ["fp32"]
    with one_core() as pinned:
        torch.set_num_threads(1)
        print(f"{machine(pinned)}; {choose().name}; torch {torch.__version__}; {game.name}; best of {ROUNDS} turns\n")
        width = max(len(net.text) for net in nets)
        print(f"{'net':{width}}      " + "".join(f"{title:>10}" for title in TITLES), flush=True)
        for net in nets:
            for precision in precisions:
                for batch in BATCHES:
                    cells = row(game, net, precision, batch, POSITIONS)
                    print(f"{net.text:{width}}  {precision}" + "".join(f"{cell:>10}" for cell in cells), flush=True)
    return 0


def row(game: Game, net: Net, precision: Precision, batch: int, positions: int) -> list[str]:
    """The cells of one line, as in `TITLES`."""
    compiled = None if precision == "bf16" and not has_bf16(choose()) else CompiledNet.of_net(net, game, precision)
    observations = planes(game, batch)
    inputs = torch.from_numpy(observations)
    net.eval()

    def plain() -> None:
        with torch.inference_mode():
            logits, values = net(inputs)
            logits.numpy(), net.outcome.utilities(values).numpy()

    inference = Inference(net, batch, precision=precision)
    calls = max(1, positions // batch)
    sides: list[Callable[[], Any]] = [plain, lambda: inference(observations)]
    if compiled is not None:
        sides.append(lambda: compiled(observations))
    torchs, by_inference, *by_compiled = [calls * batch / seconds for seconds in best_times(sides, calls)]
    cells = [str(batch), short(torchs), short(by_inference)]
    if compiled is None:
        return [*cells, *["-"] * 5]
    return [*cells, short(by_compiled[0]), ratio(by_compiled[0], by_inference), *errors(game, net, compiled)]


def best_times(sides: Sequence[Callable[[], Any]], calls: int) -> list[float]:
    """Seconds that so many calls of each side take."""

    def repeated(side: Callable[[], Any]) -> Callable[[int], None]:
        def run(turn: int) -> None:
            for _ in range(calls):
                side()

        return run

    best = [np.inf] * len(sides)
    for turn in range(1 + ROUNDS):  # the first one warms up
        for i, side in enumerate(sides):
            took = timed(repeated(side), turn)
            if turn:
                best[i] = min(best[i], took)
    return best


def errors(game: Game, net: Net, compiled: CompiledNet) -> list[str]:
    """Largest errors of logits and utilities, share of equal most likely actions."""
    observations = planes(game, COMPARED)
    with torch.inference_mode():
        outputs, values = net(torch.from_numpy(observations))
        utilities = net.outcome.utilities(values).numpy()
    expected = outputs.numpy()
    logits, found = compiled(observations)
    same = (logits.argmax(1) == expected.argmax(1)).mean()
    return [f"{np.abs(logits - expected).max():.0e}", f"{np.abs(found - utilities).max():.0e}", f"{same:.1%}"]


def planes(game: Game, count: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    shape = count, *game.rules.observation
    return np.random.default_rng(0).integers(0, 2, shape).astype(np.float32)


if __name__ == "__main__":
    run_command(main)
