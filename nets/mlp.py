"""`mlp:LAYERSxWIDTH`: fully connected layers, for games whose board has no structure worth a convolution.

mlp:2x64                    two hidden layers of 64
"""

from __future__ import annotations

from torch import Tensor, nn

from games import Game
from nets.layers import Normed, linear
from nets.names import parse_size
from nets.net import Net


def net(game: Game, size: str, /) -> Net:
    """Hidden layers × width."""
    layers, width = parse_size("mlp", size, "LAYERSxWIDTH")
    return MLP(game, layers, width)


class MLP(Net):
    def __init__(self, game: Game, layers: int, width: int) -> None:
        super().__init__(game)
        channels, rows, columns = game.rules.observation
        widths = [channels * rows * columns] + [width] * layers
        self.hidden = nn.Sequential(*[Normed(linear(widths[i], widths[i + 1])) for i in range(layers)])
        self.policy, self.value = nn.Linear(width, game.actions), nn.Linear(width, self.outcome.size)

    def features(self, observations: Tensor) -> Tensor:
        return self.hidden(observations.flatten(1))  # type: ignore[no-any-return]
