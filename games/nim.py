"""Nim: three heaps; take as many as you like from one of them; the player who takes the last one wins."""

from typing import Annotated

import numpy as np

from games import Rules


def game(most: Annotated[int, range(1, 60)] = 7) -> Rules:
    """Heaps of 3, 5 and `most`."""
    State = np.dtype([("heaps", np.uint8, 3), ("mover", np.int8)])
    largest = max(5, most)

    def initial(state):
        state.heaps[0], state.heaps[1], state.heaps[2] = 3, 5, most

    def to_move(state):
        return state.mover

    def legal_actions(state, actions):
        n = 0
        for heap in range(3):
            for count in range(1, state.heaps[heap] + 1):
                actions[n] = heap * largest + count - 1
                n += 1
        return n

    def result(state, action):
        state.heaps[action // largest] -= action % largest + 1
        state.mover = 1 - state.mover

    def is_terminal(state):
        return state.heaps.sum() == 0

    def utility(state, player):
        return 1.0 if player != state.mover else -1.0  # the mover found nothing left to take

    def gain(state, action):
        return 1.0 if state.heaps.sum() == action % largest + 1 else 0.0  # takes the last

    def features(state, player, values):
        for bit in range(6):
            odd = int(state.heaps[0] ^ state.heaps[1] ^ state.heaps[2]) >> bit & 1
            values[bit] = odd if player == state.mover else -odd

    names = [f"{heap}-{count}" for heap in "abc" for count in range(1, largest + 1)]
    return Rules(
        State, initial, to_move, legal_actions, result, is_terminal, utility,
        players=2, actions=3 * largest, max_plies=8 + most, values=(-1, 1), seats=["mover"], names=names,
        gain=gain, features=features, feature_names=[f"odd {2**bit}s" for bit in range(6)], feature_weights=[1] * 6,
    )  # fmt: skip
