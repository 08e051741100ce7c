"""A network of one's own in one file, here a small transformer over the board's cells:

    python -m train tic_tac_toe --games 3000 --run attention --set net=./examples/my_net.py:layers=2,width=32
    python -m arena match tic_tac_toe net:attention,sims=20 uct:sims=20

`net(game, ...)` returns the network; its parameters after `game` are the options in the text. The checkpoints keep a copy of this file,
so they can be used when it has changed.
"""

from typing import Annotated

import torch
from torch import Tensor, nn

from games import Game
from nets import Net
from nets.heads import PolicyHead, ValueHead


def net(game: Game, layers: Annotated[int, range(1, 33)] = 2, width: Annotated[int, range(8, 1025, 8)] = 32) -> Net:
    return Attention(game, layers, width)


class Attention(Net):
    def __init__(self, game: Game, layers: int, width: int) -> None:
        super().__init__(game)
        channels, rows, columns = game.rules.observation
        self.shape = width, rows, columns
        self.embedding = nn.Linear(channels, width)
        self.place = nn.Parameter(0.02 * torch.randn(rows * columns, width))
        self.blocks = nn.ModuleList(
            nn.TransformerEncoderLayer(width, 4, 2 * width, dropout=0.0, batch_first=True, norm_first=True)
            for _ in range(layers)
        )
        self.policy, self.value = PolicyHead(game.rules, width), ValueHead(game.rules, width)

    def features(self, observations: Tensor) -> Tensor:
        """[B, channels, rows, columns] -> [B, width, rows, columns], which the two heads read."""
        cells = self.embedding(observations.flatten(2).transpose(1, 2)) + self.place
        for block in self.blocks:
            cells = block(cells)
        return cells.transpose(1, 2).reshape(-1, *self.shape)
