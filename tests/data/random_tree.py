"""A game that is nothing but a random tree, another one for every number: what searches are compared on, thousands at a time.

    load("tests/data/random_tree.py:players=3,chance=1").parse(position(17))

`position: number=17 …`; the shape, the movers (the same one may move twice) and the payoffs are hashes of the number and the path, so
all trees are one compiled game. Payoffs are tenths, so that many are equal, wins and losses among them.
"""

from typing import Annotated, Any

import numpy as np

from base.bits import U
from base.seeds import mix
from games import CHANCE, Rules

DEPTH, WIDTH = 6, 4
VALUES = [i / 10 for i in range(-10, 11)]


def position(number: int) -> str:
    """The text of the root of a tree, whose root is a decision."""
    return f"number={number} path=0 plies=0"


def game(
    players: Annotated[int, range(1, 5)] = 2,
    chance: Annotated[int, range(2)] = 0,
    zero_sum: Annotated[int, range(2)] = 1,
) -> Rules:
    State = np.dtype([("number", np.uint64), ("path", np.uint64), ("plies", np.uint8)])

    def draw(state: Any, purpose: int, n: int) -> int:
        """A number below n that belongs to the position."""
        word = mix(mix(U(state.number) ^ U(0x9E3779B97F4A7C15)) ^ U(state.path) + U(purpose))
        return np.int64(mix(word) >> U(33)) % n

    def initial(state: Any) -> None:
        state.number = 1

    def to_move(state: Any) -> int:
        if chance and state.plies > 0 and draw(state, 1, 3) == 0:
            return CHANCE
        return draw(state, 2, players)

    def legal_actions(state: Any, actions: Any) -> int:
        n = 1 + draw(state, 3, WIDTH)
        for i in range(n):
            actions[i] = (i + draw(state, 4, WIDTH)) % WIDTH
        return n

    def result(state: Any, action: int) -> None:
        state.path = state.path * U(WIDTH + 1) + U(action + 1)
        state.plies += 1

    def is_terminal(state: Any) -> bool:
        return state.plies == DEPTH or (state.plies > 1 and draw(state, 5, 8) == 0)

    def payoff(state: Any, player: int) -> int:
        return draw(state, 6 + player, 21) - 10

    def utility(state: Any, player: int) -> float:
        if not zero_sum:
            return payoff(state, player) / 10
        if players == 2:
            return payoff(state, 0) / 10 if player == 0 else -payoff(state, 0) / 10
        total = 0
        for other in range(players):
            total += payoff(state, other)
        return (players * payoff(state, player) - total) / (20 * (players - 1))

    def probability(state: Any, action: int) -> float:
        actions = np.zeros(WIDTH, np.int32)
        n = legal_actions(state, actions)
        total, own = 0, 0
        for i in range(n):
            weight = 1 + draw(state, 20 + actions[i], 5)
            total += weight
            if actions[i] == action:
                own = weight
        return own / total

    def features(state: Any, player: int, values: Any) -> None:
        if players == 2 and zero_sum:
            values[0] = (1 if player == 0 else -1) * (draw(state, 30, 41) - 20)
        else:
            values[0] = draw(state, 30 + player, 41) - 20

    return Rules(
        State,
        initial,
        to_move,
        legal_actions,
        result,
        is_terminal,
        utility,
        players=players,
        actions=WIDTH,
        max_plies=DEPTH,
        zero_sum=bool(zero_sum),
        values=VALUES if players == 2 or not zero_sum else [],
        chance=probability if chance else None,
        features=features,
        feature_names=["hunch"],
        feature_weights=[0.1],
    )
