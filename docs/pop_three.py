"""Pop three: stones fall into four columns of four; a player may also pop an own stone out of the bottom of a column.

Three in a line win, also where a pop made them; where one pop makes a line for both sides, the player who
popped wins. After 40 plies the game is drawn.
Actions 1 to 4 drop into a column, p1 to p4 pop out of it.
"""

import numpy as np

from games import Diagram, Rules

SIDE, LINE, MOST = 4, 3, 40


def game() -> Rules:
    """4×4."""
    State = np.dtype([("cells", np.int8, SIDE * SIDE), ("mover", np.int8), ("winner", np.int8), ("plies", np.uint8)])

    def initial(state):
        state.cells[:] = -1
        state.winner = -1

    def to_move(state):
        return state.mover

    def legal_actions(state, actions):
        n = 0
        if state.winner < 0:
            for column in range(SIDE):
                if state.cells[(SIDE - 1) * SIDE + column] < 0:
                    actions[n] = column
                    n += 1
            for column in range(SIDE):
                if state.cells[column] == state.mover:
                    actions[n] = SIDE + column
                    n += 1
        return n

    def has_line(state, player):
        for row in range(SIDE):
            for column in range(SIDE):
                for dr, dc in ((0, 1), (1, 0), (1, 1), (1, -1)):
                    length = 0
                    r, c = row, column
                    while length < LINE and 0 <= r < SIDE and 0 <= c < SIDE and state.cells[r * SIDE + c] == player:
                        length += 1
                        r += dr
                        c += dc
                    if length == LINE:
                        return True
        return False

    def result(state, action):
        column = action % SIDE
        if action < SIDE:
            row = 0
            while state.cells[row * SIDE + column] >= 0:
                row += 1
            state.cells[row * SIDE + column] = state.mover
        else:
            for row in range(SIDE - 1):
                state.cells[row * SIDE + column] = state.cells[(row + 1) * SIDE + column]
            state.cells[(SIDE - 1) * SIDE + column] = -1
        if has_line(state, state.mover):
            state.winner = state.mover
        elif has_line(state, 1 - state.mover):
            state.winner = 1 - state.mover
        state.mover = 1 - state.mover
        state.plies += 1

    def is_terminal(state):
        if state.winner >= 0 or state.plies >= MOST:
            return True
        for column in range(SIDE):
            if state.cells[(SIDE - 1) * SIDE + column] < 0 or state.cells[column] == state.mover:
                return False
        return True

    def utility(state, player):
        return 0.0 if state.winner < 0 else 1.0 if state.winner == player else -1.0

    def rows(state):
        marks = {-1: ".", 0: "x", 1: "o"}
        return ["".join(marks[int(state.cells[r * SIDE + c])] for c in range(SIDE)) for r in reversed(range(SIDE))]

    def render(state):
        return "\n".join([*rows(state), "1234"])

    def diagram(state):
        return Diagram(rows(state), {"x": "red disc", "o": "yellow disc"}, "holes", bottom="1234")

    names = [*map(str, range(1, SIDE + 1)), *(f"p{column}" for column in range(1, SIDE + 1))]
    return Rules(
        State, initial, to_move, legal_actions, result, is_terminal, utility,
        players=2, actions=2 * SIDE, max_plies=MOST, seats=["cells", "mover", "winner"], names=names, board=(SIDE, SIDE), render=render,
        diagram=diagram,
    )  # fmt: skip
