"""Tic-tac-toe. Actions are squares, `a1` top left.

Names and numbers:

a1 b1 c1      0 1 2
a2 b2 c2      3 4 5
a3 b3 c3      6 7 8
"""

import numpy as np

from games import Diagram, Rules, grid_symmetries
from games.types import Actions, Features, GameState

LINES = np.array([[0, 1, 2], [3, 4, 5], [6, 7, 8], [0, 3, 6], [1, 4, 7], [2, 5, 8], [0, 4, 8], [2, 4, 6]])
NAMES = [column + row for row in "123" for column in "abc"]


def game() -> Rules:
    State = np.dtype([("marks", np.uint8, (2, 9)), ("plies", np.uint8), ("winner", np.int8)])

    def initial(state: GameState) -> None:
        state.winner = -1

    def to_move(state: GameState) -> int:
        return state.plies % 2

    def legal_actions(state: GameState, actions: Actions) -> int:
        n = 0
        if state.winner < 0:
            for cell in range(9):
                if state.marks[0, cell] + state.marks[1, cell] == 0:
                    actions[n] = cell
                    n += 1
        return n

    def completes_line(state: GameState, player: int, cell: int) -> bool:
        for line in range(8):
            held, through = 0, False
            for i in range(3):
                held += state.marks[player, LINES[line, i]]
                through |= LINES[line, i] == cell
            if through and held + (1 - state.marks[player, cell]) == 3:
                return True
        return False

    def result(state: GameState, action: int) -> None:
        mover = state.plies % 2
        state.marks[mover, action] = 1
        if completes_line(state, mover, action):
            state.winner = mover
        state.plies += 1

    def is_terminal(state: GameState) -> bool:
        return state.winner >= 0 or state.plies == 9

    def utility(state: GameState, player: int) -> float:
        if state.winner < 0:
            return 0.0
        return 1.0 if state.winner == player else -1.0

    def gain(state: GameState, action: int) -> float:
        return 1.0 if completes_line(state, state.plies % 2, action) else 0.0

    def features(state: GameState, player: int, values: Features) -> None:
        forks = np.zeros((2, 9), np.int64)  # lines through a square that hold marks of this player alone
        for line in range(8):
            held = np.zeros(2, np.int64)
            for i in range(3):
                for seat in range(2):
                    held[seat] += state.marks[seat, LINES[line, i]]
            for seat in range(2):
                if held[seat] > 0 and held[1 - seat] == 0:
                    sign = 1 if seat == player else -1
                    if held[seat] < 3:
                        values[held[seat] - 1] += sign
                    for i in range(3):
                        forks[seat, LINES[line, i]] += 1 - state.marks[seat, LINES[line, i]]
        for cell in range(9):
            held_here = np.int64(state.marks[player, cell]) - np.int64(state.marks[1 - player, cell])
            values[2 if cell == 4 else 3 if cell % 2 == 0 else 4] += held_here
            values[5] += int(forks[player, cell] > 1) - int(forks[1 - player, cell] > 1)
        values[6] = 1 if state.plies % 2 == player else -1

    def rows(state: GameState) -> list[str]:
        cells = "".join("X" if state.marks[0, i] else "O" if state.marks[1, i] else "." for i in range(9))
        return [cells[i : i + 3] for i in (0, 3, 6)]

    def render(state: GameState) -> str:
        return "\n".join(["  a b c", *(f"{number} {' '.join(row)}" for number, row in enumerate(rows(state), 1))])

    def diagram(state: GameState) -> Diagram:
        return Diagram(rows(state), {"X": "blue cross", "O": "orange ring"}, left="123", top="abc", in_a_row=3)

    def text(state: GameState) -> str:
        return "/".join(rows(state)).lower()

    def parse(state: GameState, text: str) -> None:
        cells = text.replace("/", "").lower()
        if len(cells) != 9 or set(cells) - set("xo.") or text.count("/") not in (0, 2):
            raise ValueError(f"expected three rows of x, o and '.', as in x.o/.x./..o, got '{text}'")
        counts = cells.count("x"), cells.count("o")
        if counts[0] - counts[1] not in (0, 1):
            raise ValueError(f"expected as many x as o or one more, got {counts[0]} and {counts[1]}")
        state.winner = -1
        state.plies = sum(counts)
        for cell, mark in enumerate(cells):
            if mark != ".":
                state.marks["xo".index(mark), cell] = 1
        won = [player for player in (0, 1) if any(state.marks[player, line].all() for line in LINES)]
        if won:
            state.winner = won[0]
            if won != [(state.plies - 1) % 2]:
                raise ValueError(f"expected no line, or one by the player who moved last, got '{text}'")

    return Rules(
        State,
        initial,
        to_move,
        legal_actions,
        result,
        is_terminal,
        utility,
        players=2,
        actions=9,
        max_plies=9,
        board=(3, 3),
        owned=["marks"],
        history=["plies", "winner"],
        policy_planes=1,
        symmetries=grid_symmetries(2, 3, 3),
        gain=gain,
        features=features,
        feature_names=["lone marks", "open twos", "centre", "corners", "edges", "forks", "to move"],
        feature_weights=[0.2, 2.0, 0.0, 0.5, 0.1, 1.0, 2.0],
        weight_unit=0.3,
        names=NAMES,
        render=render,
        diagram=diagram,
        text=text,
        parse=parse,
    )
