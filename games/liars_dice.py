"""Liar's dice: bid on what all dice show together, or call the last bid a lie. Two players.

Each player rolls `dice` dice of `faces` faces under a cup. A bid such as `2x5` claims that at least two of all dice show a five; the
highest face counts as every face. Bids rise: more dice, or as many of a higher face. Who doubts the last bid calls `liar`: the cups
are lifted, and the bidder wins if the bid is true.
"""

import itertools
from math import factorial
from typing import Annotated

import numpy as np

from games import CHANCE, Diagram, Rules
from games.types import Actions, GameState

VARIANTS = ("dice=2,faces=3",)


def game(dice: Annotated[int, range(1, 4)] = 1, faces: Annotated[int, range(2, 7)] = 6) -> Rules:
    rolls = list(itertools.combinations_with_replacement(range(faces), dice))
    counts = np.array([[roll.count(face) for face in range(faces)] for roll in rolls], np.uint8)
    orders = [factorial(dice) // int(np.prod([factorial(roll.count(face)) for face in range(faces)])) for roll in rolls]
    odds = np.array(orders) / faces**dice
    bids = 2 * dice * faces
    LIAR, ROLLS = bids, bids + 1  # actions: bids by number, then face; liar; rolls
    actions = ROLLS + len(rolls)
    ROLLED = actions  # the other player has rolled

    State = np.dtype(
        [
            ("hand", np.uint8, (2, faces)),  # how many dice show each face
            ("bidder", np.int8, bids),  # of each bid, -1: not made
            ("rolled", np.uint8),
            ("last", np.uint8),  # the number of the last bid, from 1; 0: none
            ("mover", np.int8),
            ("called", np.uint8),
        ]
    )

    def initial(state: GameState) -> None:
        for bid in range(bids):
            state.bidder[bid] = -1

    def to_move(state: GameState) -> int:
        return CHANCE if state.rolled < 2 else int(state.mover)

    def legal_actions(state: GameState, actions: Actions) -> int:
        n = 0
        if state.called:
            return n
        if state.rolled < 2:
            for roll in range(len(odds)):
                actions[n] = ROLLS + roll
                n += 1
            return n
        for bid in range(state.last, bids):
            actions[n] = bid
            n += 1
        if state.last:
            actions[n] = LIAR
            n += 1
        return n

    def result(state: GameState, action: int) -> None:
        if state.rolled < 2:
            for face in range(faces):
                state.hand[state.rolled, face] = counts[action - ROLLS, face]
            state.rolled += 1
        elif action == LIAR:
            state.called = 1
        else:
            state.bidder[action] = state.mover
            state.last = action + 1
            state.mover = 1 - state.mover

    def is_terminal(state: GameState) -> bool:
        return state.called > 0

    def utility(state: GameState, player: int) -> float:
        number, face = (int(state.last) - 1) // faces + 1, (int(state.last) - 1) % faces
        found = 0
        for each in range(2):
            found += int(state.hand[each, face])
            if face != faces - 1:
                found += int(state.hand[each, faces - 1])
        is_bidder = player != state.mover
        return 1.0 if is_bidder == (found >= number) else -1.0

    def chance(state: GameState, action: int) -> float:
        return float(odds[action - ROLLS])

    def seen(state: GameState, action: int, player: int) -> int:
        return ROLLED if state.rolled < 2 and state.rolled != player else action

    def render(state: GameState) -> str:
        def dice_of(player: int) -> str:
            shown = "".join(str(face + 1) * int(state.hand[player, face]) for face in range(faces))
            return shown or ("?" * dice if player < state.rolled else "-")

        made = [f"{names[bid]} by player {state.bidder[bid]}" for bid in range(bids) if state.bidder[bid] >= 0]
        rows = [f"player {player}: {dice_of(player)}" for player in range(2)]
        return "\n".join([*rows, f"bids: {', '.join(made) or 'none'}{', called a lie' if state.called else ''}"])

    def diagram(state: GameState) -> Diagram:
        """The dice of each player; below them the bids, each made one in the colour of its player."""
        columns = max(dice, faces)
        cells = [[""] * columns for _ in range(2)]
        for player in range(2):
            shown = [str(face + 1) for face in range(faces) for _ in range(int(state.hand[player, face]))]
            for column in range(dice if player < state.rolled else 0):
                cells[player][column] = f"d{shown[column]}" if shown else "c"
        for first in range(0, bids, faces):
            row = [(names[bid], int(state.bidder[bid])) for bid in range(first, first + faces)]
            cells.append([word if by < 0 else "bo"[by] + word for word, by in row] + [""] * (columns - faces))
        left = ["player 0", "player 1", "bids", *[""] * (2 * dice - 1)]
        symbols = {"d": "white die", "c": "purple die", "b": "blue disc", "o": "orange disc"}
        note = "the last bid is called a lie" if state.called else ""
        return Diagram(cells, symbols, "cards", left=left, note=note)

    names = [f"{number + 1}x{face + 1}" for number in range(2 * dice) for face in range(faces)]
    names += ["liar", *("".join(str(face + 1) for face in roll) for roll in rolls)]
    return Rules(
        State,
        initial,
        to_move,
        legal_actions,
        result,
        is_terminal,
        utility,
        players=2,
        actions=actions,
        max_plies=2 + bids + 1,
        values=(-1, 1),
        chance=chance,
        seen=seen,
        seen_names=["rolled"],
        private=["hand"],
        seats=["bidder", "mover"],
        names=names,
        render=render,
        diagram=diagram,
    )
