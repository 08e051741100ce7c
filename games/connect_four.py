"""Connect four on seven columns and six rows. Actions are columns, `1` to `7`.

Bitboards: the cell in column c and row r (0 at the bottom) is bit 7c + r. The seventh bit of a column stays empty, so that lines
found by shifting never run from one column into the next.

     5 12 19 26 33 40 47
     .  .  .  .  .  .  .
     1  8 15 22 29 36 43
     0  7 14 21 28 35 42
"""

import numpy as np

from base.bits import ONE, ZERO, U, lowest_bit, popcount
from base.bitsets import set_of
from base.seeds import mix
from games import Diagram, Rules, symmetry
from games.types import Actions, Bits, Features, GameState, Planes

COLUMNS, ROWS, HEIGHT = 7, 6, 7
BOTTOM = set_of(HEIGHT * column for column in range(COLUMNS))
BOARD = set_of(HEIGHT * column + row for column in range(COLUMNS) for row in range(ROWS))
ODD_ROWS = set_of(HEIGHT * column + row for column in range(COLUMNS) for row in range(0, ROWS, 2))
EVEN_ROWS = BOARD ^ ODD_ROWS
COLUMN = np.array([((1 << ROWS) - 1) << HEIGHT * column for column in range(COLUMNS)], np.uint64)
LOWEST = np.array([1 << HEIGHT * column for column in range(COLUMNS)], np.uint64)
HIGHEST = np.array([1 << HEIGHT * column + ROWS - 1 for column in range(COLUMNS)], np.uint64)
FULL_COLUMN = U((1 << HEIGHT) - 1)
MIDDLE = FULL_COLUMN << U(HEIGHT * (COLUMNS // 2))
DIRECTIONS = np.array([1, HEIGHT - 1, HEIGHT, HEIGHT + 1], np.uint64)  # up, down right, right, up right
LINES = np.array(
    [
        set_of(HEIGHT * (column + i * dx) + row + i * dy for i in range(4))
        for dx, dy in ((0, 1), (1, -1), (1, 0), (1, 1))
        for column in range(COLUMNS)
        for row in range(ROWS)
        if column + 3 * dx < COLUMNS and 0 <= row + 3 * dy < ROWS
    ],
    np.uint64,
)


def has_four(stones: Bits) -> bool:
    for i in range(4):
        pairs = stones & (stones >> DIRECTIONS[i])
        if pairs & (pairs >> (DIRECTIONS[i] + DIRECTIONS[i])):
            return True
    return False


def threats(stones: Bits, occupied: Bits) -> Bits:
    """Empty cells that would complete a four."""
    found = (stones << U(1)) & (stones << U(2)) & (stones << U(3))  # three in a column: the cell above
    for i in range(1, 4):
        one = DIRECTIONS[i]
        two, three = one + one, one + one + one
        ahead, behind = (stones << one) & (stones << two), (stones >> one) & (stones >> two)
        found |= ahead & (stones << three) | behind & (stones >> three)  # ooo. and .ooo
        found |= ahead & (stones >> one) | behind & (stones << one)  # oo.o and o.oo
    return found & BOARD & ~occupied


def game() -> Rules:
    State = np.dtype([("stones", np.uint64, 2), ("plies", np.uint8), ("winner", np.int8)])

    def initial(state: GameState) -> None:
        state.winner = -1

    def to_move(state: GameState) -> int:
        return state.plies & 1

    def legal_actions(state: GameState, actions: Actions) -> int:
        n = 0
        if state.winner < 0:
            occupied = state.stones[0] | state.stones[1]
            for column in range(COLUMNS):
                if occupied & HIGHEST[column] == ZERO:
                    actions[n] = column
                    n += 1
        return n

    def landing(state: GameState, column: int) -> Bits:
        occupied = state.stones[0] | state.stones[1]
        return (occupied + LOWEST[column]) & COLUMN[column]

    def result(state: GameState, action: int) -> None:
        mover = state.plies & 1
        stones = state.stones[mover] | landing(state, action)
        state.stones[mover] = stones
        if has_four(stones):
            state.winner = mover
        state.plies += 1

    def is_terminal(state: GameState) -> bool:
        return state.winner >= 0 or state.plies == COLUMNS * ROWS

    def utility(state: GameState, player: int) -> float:
        if state.winner < 0:
            return 0.0
        return 1.0 if state.winner == player else -1.0

    def key(state: GameState) -> Bits:
        """Stones of the first player and one marker on top of each column: unique, then hashed."""
        occupied = state.stones[0] | state.stones[1]
        return mix(state.stones[0] + occupied + BOTTOM)

    def canonical_key(state: GameState) -> Bits:
        """Of a position and its mirror image the one with the smaller word."""
        word = state.stones[0] + (state.stones[0] | state.stones[1]) + BOTTOM
        mirrored = word & MIDDLE
        for i in range(COLUMNS // 2):
            apart = (U(COLUMNS - 1) - U(2) * U(i)) * U(HEIGHT)
            left = FULL_COLUMN << U(i * HEIGHT)
            mirrored |= ((word & left) << apart) | ((word >> apart) & left)
        return mix(min(word, mirrored))

    def sufficient_actions(state: GameState, actions: Actions) -> int:
        """One that wins; else one that prevents a win; else those that prepare none for the opponent; by threats, then centre."""
        mover = state.plies & 1
        own, other = state.stones[mover], state.stones[1 - mover]
        occupied = own | other
        playable = (occupied + BOTTOM) & BOARD
        wins = threats(own, occupied) & playable
        against = threats(other, occupied)
        forced = against & playable
        if wins:
            cells = wins & (ZERO - wins)
        elif forced:
            cells = forced & (ZERO - forced)  # of two, either loses
        else:
            cells = playable & ~(against >> ONE)
            if cells == ZERO:  # after each of them the opponent wins one cell above
                cells = playable & (ZERO - playable)
        if cells & (cells - ONE) == ZERO:
            actions[0] = lowest_bit(cells) // HEIGHT
            return 1
        n = 0
        while cells:
            cell = cells & (ZERO - cells)
            cells ^= cell
            column = lowest_bit(cell) // HEIGHT
            worth = 8 * popcount(threats(own | cell, occupied | cell)) - 2 * abs(column - COLUMNS // 2)
            at = n
            while at > 0 and actions[at - 1] < worth * 16:  # worth above, column in the low four bits
                actions[at] = actions[at - 1]
                at -= 1
            actions[at] = worth * 16 + column
            n += 1
        for i in range(n):
            actions[i] &= 15
        return n

    def utility_range(state: GameState, player: int) -> tuple[float, float]:
        """A player can win only if a four would be possible with a stone of theirs in every empty cell."""
        empty = BOARD & ~(state.stones[0] | state.stones[1])
        least = -1.0 if has_four(state.stones[1 - player] | empty) else 0.0
        return least, 1.0 if has_four(state.stones[player] | empty) else 0.0

    def gain(state: GameState, action: int) -> float:
        """Completing a four; preventing one."""
        mover = state.plies & 1
        cell = landing(state, action)
        if has_four(state.stones[mover] | cell):
            return 1.0
        return 0.5 if has_four(state.stones[1 - mover] | cell) else 0.0

    def observe(state: GameState, player: int, planes: Planes) -> None:
        for seat in range(2):
            stones = state.stones[(player + seat) & 1]
            for column in range(COLUMNS):
                for row in range(ROWS):
                    planes[seat, ROWS - 1 - row, column] = stones >> U(HEIGHT * column + row) & ONE

    def features(state: GameState, player: int, values: Features) -> None:
        occupied = state.stones[0] | state.stones[1]
        playable = (occupied + BOTTOM) & BOARD
        for seat in range(2):
            sign = 1 if seat == player else -1
            own, other = state.stones[seat], state.stones[1 - seat]
            for i in range(len(LINES)):
                if other & LINES[i] == ZERO:
                    held = popcount(own & LINES[i])
                    if held == 2 or held == 3:
                        values[held - 2] += sign
            for column in range(COLUMNS):
                distance = abs(column - COLUMNS // 2)
                if distance < 3:
                    values[2 + distance] += sign * popcount(own & COLUMN[column])
            wins = threats(own, occupied)
            values[5] += sign * popcount(wins & playable)
            values[6] += sign * popcount(wins & (ODD_ROWS if seat == 0 else EVEN_ROWS))
            values[7] += sign * popcount(wins & (EVEN_ROWS if seat == 0 else ODD_ROWS))
            values[8] += sign * popcount(wins & (wins >> ONE))
        values[9] = 1 if state.plies & 1 == player else -1

    def lines(state: GameState) -> list[str]:
        return ["".join(stone(state, column, row) for column in range(COLUMNS)) for row in range(ROWS - 1, -1, -1)]

    def render(state: GameState) -> str:
        return "\n".join(map(" ".join, ["1234567", *lines(state)]))

    def diagram(state: GameState) -> Diagram:
        return Diagram(lines(state), {"X": "red disc", "O": "yellow disc"}, "holes", top="1234567", in_a_row=4)

    def stone(state: GameState, column: int, row: int) -> str:
        bit = 1 << HEIGHT * column + row
        return "X" if int(state.stones[0]) & bit else "O" if int(state.stones[1]) & bit else "."

    def text(state: GameState) -> str:
        return "/".join(lines(state)).lower()

    def parse(state: GameState, text: str) -> None:
        rows = text.lower().split("/")
        if len(rows) != ROWS or any(len(row) != COLUMNS or set(row) - set("xo.") for row in rows):
            raise ValueError(f"expected six rows of seven x, o or '.', top first, separated by '/', got '{text}'")
        stones = [0, 0]
        for row, cells in enumerate(reversed(rows)):
            for column, mark in enumerate(cells):
                if mark != ".":
                    stones["xo".index(mark)] |= 1 << HEIGHT * column + row
                    if row and rows[ROWS - row][column] == ".":
                        raise ValueError(f"expected no stone above an empty cell, got one in column {column + 1}")
        first, second = (count.bit_count() for count in stones)
        if first - second not in (0, 1):
            raise ValueError(f"expected as many x as o or one more, got {first} and {second}")
        state.stones[:] = stones
        state.plies = first + second
        state.winner = -1
        for player in (0, 1):
            if has_four(state.stones[player]):
                if state.winner >= 0 or player == (state.plies & 1):
                    raise ValueError("expected no four, or one of the player who moved last")
                state.winner = player

    return Rules(
        State,
        initial,
        to_move,
        legal_actions,
        result,
        is_terminal,
        utility,
        players=2,
        actions=COLUMNS,
        max_plies=COLUMNS * ROWS,
        history=["plies", "winner"],
        observe=observe,
        observation=(2, ROWS, COLUMNS),
        symmetries=[
            symmetry(
                "mirror", (2, ROWS, COLUMNS), lambda row, column: (row, COLUMNS - 1 - column), range(COLUMNS)[::-1]
            )
        ],
        key=key,
        canonical_key=canonical_key,
        sufficient_actions=sufficient_actions,
        utility_range=utility_range,
        gain=gain,
        features=features,
        feature_names=[
            "open twos",
            "open threes",
            "centre column",
            "next to centre",
            "two from centre",
            "wins at hand",
            "threats of good parity",
            "threats of bad parity",
            "threats one above another",
            "to move",
        ],
        feature_weights=[0.25, 0.2, 0.3, 0.1, 0.05, 1.0, 1.2, 0.7, 1.0, 0.5],
        weight_unit=0.25,
        names=[str(column + 1) for column in range(COLUMNS)],
        render=render,
        diagram=diagram,
        text=text,
        parse=parse,
    )
