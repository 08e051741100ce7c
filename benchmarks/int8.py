"""What a trained network loses in int8: its outputs and its playing strength, beside bf16, against fp32.

    python -m benchmarks.int8 connect_four checkpoints/released/connect_four/small --games 200
    python -m benchmarks.int8 othello:size=8 runs/othello_8x8/checkpoints/00065536 --sims 400

| row   | what                                                                                                              |
|-------|-------------------------------------------------------------------------------------------------------------------|
| KL    | mean divergence of the policy over the legal moves from that of fp32                                              |
| top   | share of positions with the same most likely legal move                                                           |
| value | mean distance of the utility                                                                                      |
| match | int8 against fp32, both with `--sims` simulations a move, each opening from both sides                             |

Int8 is simulated, to the digit: weights have one scale for each output channel, a layer's input has one, from its largest value over
one half of the positions; sums are exact. The last layers of the heads stay in fp32. Positions are those of games in which moves are
drawn from the network's policy; those of the other half are compared. It is not a test of speed: simulating is slow.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from tqdm import tqdm

from arena.openings import Openings, random_action
from arena.players import Player
from arena.referee import play_game
from arena.tally import Tally
from base.errors import Arguments, run_command
from base.seeds import Rng, derive, generator, uniform
from checkpoints import load as load_checkpoint
from games import CHANCE, Game, load
from mcts.player import TreePlayer
from mcts.variant import settings_class
from nets import Inference
from nets.inference import Folded
from nets.layers import Normed
from nets.net import Net

Floats = np.ndarray[Any, np.dtype[np.float32]]
LEVELS = 127  # of a signed byte


class Quantized(nn.Module):
    """A folded layer whose weights and input are rounded to int8. Until `scale` is set, it takes its input's range."""

    def __init__(self, module: Normed) -> None:
        super().__init__()
        weight, bias = module.folded()
        steps = weight.flatten(1).abs().amax(1).clamp_min(1e-12).view(-1, *[1] * (weight.dim() - 1)) / LEVELS
        self.plain = Folded(module.layer, weight, bias, module.relu, fuse=False)
        self.rounded = Folded(module.layer, torch.round(weight / steps) * steps, bias, module.relu, fuse=False)
        self.largest, self.is_calibrated = 0.0, False

    def forward(self, x: Tensor, add: Tensor | None = None) -> Tensor:
        if not self.is_calibrated:
            self.largest = max(self.largest, float(x.abs().max()))
            return self.plain(x, add)  # type: ignore[no-any-return]
        step = self.largest / LEVELS
        return self.rounded(torch.clamp(torch.round(x / step), -LEVELS, LEVELS) * step, add)  # type: ignore[no-any-return]


class Int8:
    """A network that answers one position at a time as in int8: what `TreePlayer` takes for batches of one."""

    batch = 1

    def __init__(self, net: Net, observations: Floats) -> None:
        """The ranges of the layers' inputs are those over `observations`."""
        self.shape = (1, *net.observation)
        self._net, self._outcome = copy.deepcopy(net).eval().requires_grad_(False), net.outcome
        for parent in list(self._net.modules()):
            for name, child in list(parent.named_children()):
                if isinstance(child, Normed):
                    setattr(parent, name, Quantized(child))
        self(observations)
        for module in self._net.modules():
            if isinstance(module, Quantized):
                module.is_calibrated = True

    def __call__(self, observations: Floats, /) -> tuple[Floats, Floats]:
        with torch.inference_mode():
            logits, values = self._net(torch.from_numpy(np.ascontiguousarray(observations)))
            return logits.numpy(), self._outcome.utilities(values).numpy()


def positions(game: Game, net: Net, count: int) -> tuple[Floats, list[list[int]]]:
    """Observations of so many positions of games by the policy, and their legal actions in the mover's numbers."""
    evaluate = Inference(net, 1, precision="fp32")
    observations: list[Floats] = []
    legal: list[list[int]] = []
    for number in itertools.count():
        state, rng = game.initial(), generator(number, "positions")
        while not game.is_terminal(state):
            if game.to_move(state) == CHANCE:
                state = game.result(state, random_action(game, state, rng))
                continue
            observations.append(np.asarray(game.observe(state), np.float32))
            actions = game.legal_actions(state)
            view = game.rules.action_view
            legal.append(actions if view is None else [int(view[game.to_move(state), action]) for action in actions])
            if len(legal) == count:
                return np.stack(observations), legal
            shares = policy(evaluate(observations[-1][None])[0][0], legal[-1])
            state = game.result(state, actions[drawn(rng, shares)])
    raise AssertionError("games are endless")


def policy(logits: Floats, legal: list[int]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Shares of the legal actions."""
    found = np.exp(logits[legal].astype(np.float64) - logits[legal].max())
    return found / found.sum()  # type: ignore[no-any-return]


def drawn(rng: Rng, shares: np.ndarray[Any, np.dtype[np.float64]]) -> int:
    return min(int(np.searchsorted(np.cumsum(shares), uniform(rng))), len(shares) - 1)


def compare(outputs: tuple[Floats, Floats], expected: tuple[Floats, Floats], legal: list[list[int]]) -> str:
    """The cells of a row: KL, top, value."""
    divergence, same = [], []
    for logits, wanted, actions in zip(outputs[0], expected[0], legal, strict=True):
        p, q = policy(wanted, actions), policy(logits, actions)
        divergence.append(float((p * (np.log(p) - np.log(q))).sum()))
        same.append(p.argmax() == q.argmax())
    distance = np.abs(outputs[1] - expected[1]).mean()
    return f"{np.mean(divergence):9.1e} {np.mean(same):9.2%} {distance:9.4f}"


def play(game: Game, net: Net, observations: Floats, games: int, sims: int) -> Tally:
    """Int8 against fp32, each opening from both sides."""
    settings = settings_class("puct")(rollout=0.0)
    networks: dict[str, Any] = {"int8": Int8(net, observations), "fp32": Inference(net, 1, precision="fp32")}
    players = [
        Player(name, game, TreePlayer(game, settings, network=network, simulations=sims), name=name)
        for name, network in networks.items()
    ]
    tally, openings = Tally(game, ("int8", "fp32")), iter(Openings(game, "", 1))
    for block in tqdm(range(games // 2), unit="pair"):
        opening = next(openings)
        tally.add(
            [
                play_game(game, [players[side] for side in sides], opening, derive(1, block), metadata={"seats": sides})
                for sides in ([0, 1], [1, 0])
            ]
        )
    return tally


def main(argv: Sequence[str]) -> int:
    parser = Arguments(description=__doc__)
    parser.add_argument("game", metavar="GAME", help="with options, or a file")
    parser.add_argument("checkpoint", metavar="FOLDER", help="of a trained network")
    parser.add_argument("--positions", type=int, default=4000, metavar="N", help="half of them for the ranges")
    parser.add_argument("--games", type=int, default=200, metavar="N", help="0: no match")
    parser.add_argument("--sims", type=int, default=100, metavar="N")
    options = parser.parse_args(argv)
    game = load(options.game)
    net, _ = load_checkpoint(options.checkpoint, game)
    torch.set_num_threads(1)
    observations, legal = positions(game, net, options.positions)
    ranges, compared, legal = observations[::2], observations[1::2], legal[1::2]

    def outputs(network: Any) -> tuple[Floats, Floats]:
        found = [network(each[None]) for each in compared]
        return np.concatenate([each[0] for each in found]), np.concatenate([each[1] for each in found])

    expected = outputs(Inference(net, 1, precision="fp32"))
    print(f"{game.name}, {net.text}, {len(compared):,} positions\n\n             KL       top     value")
    print("bf16 ", compare(outputs(Inference(net, 1, precision="bf16")), expected, legal))
    print("int8 ", compare(outputs(Int8(net, ranges)), expected, legal), flush=True)
    if options.games:
        print("\n" + play(game, net, ranges, options.games, options.sims).text())
    return 0


if __name__ == "__main__":
    run_command(main)
