"""Policy and value of a position, by a trained network."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from arena.players import make_player
from base.options import written
from games import Game


@dataclass(frozen=True)
class Evaluation:
    """What a network expects of a position, without search."""

    policy: Mapping[int, float]
    """The probability of each legal action, the most probable first."""
    utilities: tuple[float, ...]
    """The expected utility of each player, in [-1, 1]."""
    value: float
    """That of the player to move."""


class Net:
    """A network of one game; `load_net` makes it."""

    def __init__(self, name: str, game: Game) -> None:
        self.game = game
        self._player = make_player(f"net:{written(name)},sims=0", game)
        self.text = self._player.text

    def evaluate(self, state: Any) -> Evaluation:
        """Of a position in which a player is to move."""
        self._player.new_game()
        choice = self._player.choose(state)
        assert choice.utilities is not None
        return Evaluation(
            {each.action: float(each.prior or 0.0) for each in choice.actions}, choice.utilities, choice.value
        )

    def __repr__(self) -> str:
        return f"<Net of {self.game.name}: {self.text}>"


def load_net(name: str, game: Game) -> Net:
    """The network that `name` stands for: a run (its newest checkpoint), `run@5120`, a released net (`connect_four/best`) or a
    checkpoint's folder."""
    return Net(name, game)
