"""How many positions a second a network judges, next to the same network in plain torch in the same run.

    python -m benchmarks.inference                                          # connect four: resnet:5x64, resnet:3x32
    python -m benchmarks.inference go:size=9 --nets "resnet:5x64,pool=on"

| column | what                                                                                            |
|--------|-------------------------------------------------------------------------------------------------|
| torch  | positions/s of the network as it is trained, in eval and inference mode                          |
| fp32   | of `nets.Inference`: numpy to numpy, normalization folded, oneDNN's fused convolutions; and ratio |
| bf16   | the same with 16-bit numbers, where the processor computes with them; and ratio                  |

One core; sides take turns and the best turn of each is shown; rates are per second of processor time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from base.errors import Arguments, run_command
from benchmarks.games import ROUNDS, machine, one_core, ratio, short, timed
from games import Game, load
from nets import Inference, Net, make_net
from nets.inference import cpu_has_bf16

NETS = ("resnet:5x64", "resnet:3x32")
BATCHES = (1, 32, 64, 256)
POSITIONS = 2048  # judged in a turn


def main(argv: Sequence[str]) -> int:
    parser = Arguments(description=__doc__)
    parser.add_argument("game", nargs="?", metavar="GAME", default="connect_four", help="with options, or a file")
    parser.add_argument("--nets", nargs="+", metavar="NET", default=list(NETS), help="kinds with sizes")
    options = parser.parse_args(argv)
    game = load(options.game)
    nets = [make_net(text, game) for text in options.nets]
    with one_core() as pinned:
        torch.set_num_threads(1)
        print(f"{machine(pinned)}; torch {torch.__version__}; {game.name}; best of {ROUNDS} turns, sides alternating\n")
        width = max(len(net.text) for net in nets)
        titles = ("batch", "torch", "fp32", "ratio", "bf16", "ratio")
        print(f"{'net':{width}}" + "".join(f"{title:>10}" for title in titles), flush=True)
        for net in nets:
            for batch in BATCHES:
                cells = row(game, net, batch, POSITIONS)
                print(f"{net.text:{width}}" + "".join(f"{cell:>10}" for cell in cells), flush=True)
    return 0


def row(game: Game, net: Net, batch: int, positions: int) -> list[str]:
    calls = max(1, positions // batch)
    observations = np.random.default_rng(0).integers(0, 2, (batch, *game.rules.observation)).astype(np.float32)
    planes = torch.from_numpy(observations)
    net.eval()

    def plain(turn: int) -> None:
        with torch.inference_mode():
            for _ in range(calls):
                logits, values = net(planes)
                logits.numpy(), net.outcome.utilities(values).numpy()

    def folded(evaluate: Inference) -> Callable[[int], None]:
        def run(turn: int) -> None:
            for _ in range(calls):
                evaluate(observations)

        return run

    runs: list[Any] = [plain, folded(Inference(net, batch, precision="fp32"))]
    if cpu_has_bf16():
        runs.append(folded(Inference(net, batch, precision="bf16")))
    best = [np.inf] * len(runs)
    for turn in range(1 + ROUNDS):  # the first one warms up
        for i, run in enumerate(runs):
            took = timed(run, turn)
            if turn:
                best[i] = min(best[i], took)
    torchs, fp32, *rest = [calls * batch / seconds for seconds in best]
    bf16 = rest[0] if rest else None
    return [
        str(batch),
        short(torchs),
        short(fp32),
        ratio(fp32, torchs),
        short(bf16),
        "-" if bf16 is None else ratio(bf16, torchs),
    ]


if __name__ == "__main__":
    run_command(main)
