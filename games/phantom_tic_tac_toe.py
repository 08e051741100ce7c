"""Phantom tic-tac-toe: three in a row on a board that shows each player only their own stones.

A move to a cell that the opponent holds places nothing: the player learns that the cell is taken and moves again. The opponent notices
that a stone was placed, not where, and nothing of a move that failed. Cells are named as in chess, a1 below on the left.
"""

import numpy as np

from games import Diagram, Rules
from games.types import Actions, GameState

CELLS = 9
TAKEN, PLACED, WON = CELLS, 2 * CELLS, 2 * CELLS + 1
# What is noticed: one's own move to that cell failed; the opponent placed a stone; the opponent placed a stone and won.
LINES = np.array(
    [[0, 1, 2], [3, 4, 5], [6, 7, 8], [0, 3, 6], [1, 4, 7], [2, 5, 8], [0, 4, 8], [2, 4, 6]], np.int64
)  # cells row by row, from above
NAMES = [f"{column}{row}" for row in (3, 2, 1) for column in "abc"]


def game() -> Rules:
    State = np.dtype(
        [
            ("board", np.uint8, (3, 3)),  # player + 1
            ("known", np.uint8, (2, 3, 3)),  # what each player has found out of it
            ("stones", np.uint8),
            ("mover", np.int8),
            ("winner", np.int8),
        ]
    )

    def initial(state: GameState) -> None:
        state.winner = -1

    def to_move(state: GameState) -> int:
        return int(state.mover)

    def legal_actions(state: GameState, actions: Actions) -> int:
        n = 0
        if is_terminal(state):
            return n
        for cell in range(CELLS):
            if state.known[state.mover, cell // 3, cell % 3] == 0:
                actions[n] = cell
                n += 1
        return n

    def completes_line(state: GameState, action: int) -> bool:
        for i in range(len(LINES)):
            own = 0
            for j in range(3):
                cell = LINES[i, j]
                own += cell == action or state.board[cell // 3, cell % 3] == state.mover + 1
            if own == 3 and (LINES[i] == action).any():
                return True
        return False

    def result(state: GameState, action: int) -> None:
        mover, row, column = int(state.mover), action // 3, action % 3
        if state.board[row, column] == 0:
            if completes_line(state, action):
                state.winner = mover
            state.board[row, column] = mover + 1
            state.stones += 1
            state.mover = 1 - mover
        state.known[mover, row, column] = state.board[row, column]

    def is_terminal(state: GameState) -> bool:
        return state.winner >= 0 or state.stones == CELLS

    def utility(state: GameState, player: int) -> float:
        if state.winner < 0:
            return 0.0
        return 1.0 if state.winner == player else -1.0

    def seen(state: GameState, action: int, player: int) -> int:
        is_free = state.board[action // 3, action % 3] == 0
        if player == state.mover:
            return action if is_free else TAKEN + action
        if not is_free:
            return -1
        return WON if completes_line(state, action) else PLACED

    def stones(state: GameState) -> list[str]:
        cells = np.maximum(state.board, np.maximum(state.known[0], state.known[1])).tolist()
        return ["".join(".XO"[cell] for cell in row) for row in cells]

    def diagram(state: GameState) -> Diagram:
        symbols, note = {"X": "blue cross", "O": "orange ring"}, f"stones placed: {state.stones}"
        return Diagram(stones(state), symbols, left="321", bottom="abc", in_a_row=3, note=note)

    def render(state: GameState) -> str:
        rows = [f"{3 - row} {' '.join(cells)}" for row, cells in enumerate(stones(state))]
        return "\n".join([*rows, "  a b c", f"stones: {state.stones}"])

    return Rules(
        State,
        initial,
        to_move,
        legal_actions,
        result,
        is_terminal,
        utility,
        players=2,
        actions=CELLS,
        max_plies=2 * CELLS - 1,
        seen=seen,
        seen_names=[*(f"{name}-taken" for name in NAMES), "placed", "placed-and-won"],
        hidden=["board"],
        private=["known"],
        seats=["mover", "winner"],
        names=NAMES,
        render=render,
        diagram=diagram,
    )
