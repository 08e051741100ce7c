"""`resnet:BLOCKSxCHANNELS`: a tower of residual blocks (He et al. 2016) under a policy and a value head, as in AlphaZero.

resnet:3x32                 three blocks of 32 channels
resnet:10x128,pool=on       with global pooling in every other block (KataGo, Wu 2019), for games such as go where distant cells matter
"""

from __future__ import annotations

from torch import Tensor, nn

from games import Game
from nets.compiled.resnet import pooling
from nets.heads import PolicyHead, ValueHead
from nets.layers import Normed, convolution, pooled
from nets.names import parse_size
from nets.net import Net


def net(game: Game, size: str, /, pool: bool = False) -> Net:
    """Residual blocks × channels; `pool`: global pooling in every other block."""
    blocks, channels = parse_size("resnet", size, "BLOCKSxCHANNELS")
    return ResNet(game, blocks, channels, pool)


class ResNet(Net):
    def __init__(self, game: Game, blocks: int, channels: int, pool: bool) -> None:
        super().__init__(game)
        planes, *board = game.rules.observation
        self.stem = Normed(convolution(planes, channels, (board[0], board[1])))
        self.tower = nn.Sequential(*[Block(channels, (board[0], board[1]), each) for each in pooling(blocks, pool)])
        self.policy, self.value = PolicyHead(game.rules, channels), ValueHead(game.rules, channels)

    def features(self, observations: Tensor) -> Tensor:
        return self.tower(self.stem(observations))  # type: ignore[no-any-return]


class Block(nn.Module):
    """x + two convolutions of x. With pooling, a quarter of the channels, pooled over the board, is added to all channels."""

    def __init__(self, channels: int, board: tuple[int, int], pool: bool) -> None:
        super().__init__()
        self.first, self.second = (
            Normed(convolution(channels, channels, board)),
            Normed(convolution(channels, channels, board)),
        )
        self.pooled = max(1, channels // 4) if pool else 0
        self.tell = nn.Linear(2 * self.pooled, channels) if pool else None  # this name is in checkpoints

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.first(x)
        if self.tell is not None:
            hidden = hidden + self.tell(pooled(hidden[:, : self.pooled]))[:, :, None, None]
        return self.second(hidden, x)  # type: ignore[no-any-return]
