"""Othello, on 8×8 or 6×6. Actions are squares, `a1` top left, and `pass`, which is legal where nothing else is.

Black (player 0) moves first; the start has black on d5 and e4, white on d4 and e5. The game ends after two passes or on a full board;
the player with more discs wins. Bitboards: square (row, column) is bit row·size + column.
"""

from typing import Literal

import numpy as np

from base.bits import ONE, ZERO, U, popcount
from base.bitsets import list_members, set_of
from base.seeds import mix
from games import Diagram, Rules, grid_symmetries
from games.types import Actions, Bits, Features, GameState, Planes

START_PRESERVING = ("half turn", "transpose", "anti-transpose")  # a mirror would exchange the colours of the start

VARIANTS = ("size=6",)


def game(size: Literal[6, 8] = 8) -> Rules:
    State = np.dtype([("discs", np.uint64, 2), ("mover", np.int8), ("passes", np.int8)])
    cells, PASS = size * size, size * size
    BOARD = U((1 << cells) - 1)

    def squares(*wanted: tuple[int, int]) -> Bits:
        return set_of((row % size) * size + column % size for row, column in wanted)

    def columns(first: int, last: int) -> Bits:
        return squares(*((row, column) for row in range(size) for column in range(first, last + 1)))

    # Eight directions as shifts; after a shift the mask drops what wrapped around the board's edge.
    SHIFTS = np.array([1, size - 1, size, size + 1], np.uint64)
    UP_MASKS = np.array([columns(1, size - 1), columns(0, size - 2), BOARD, columns(1, size - 1)], np.uint64)
    DOWN_MASKS = np.array([columns(0, size - 2), columns(1, size - 1), BOARD, columns(0, size - 2)], np.uint64)
    CORNERS = squares((0, 0), (0, -1), (-1, 0), (-1, -1))
    EDGES = (
        columns(0, 0) | columns(size - 1, size - 1) | squares(*((row, c) for row in (0, -1) for c in range(size)))
    ) & ~CORNERS
    CORNER = np.array([squares((row, column)) for row in (0, -1) for column in (0, -1)], np.uint64)
    DIAGONAL_TO = np.array([squares((row, column)) for row in (1, -2) for column in (1, -2)], np.uint64)
    BESIDE = np.array(
        [squares((r, d), (s, c)) for r, s in ((0, 1), (-1, -2)) for c, d in ((0, 1), (-1, -2))], np.uint64
    )

    def initial(state: GameState) -> None:
        half = size // 2
        state.discs[0] = (ONE << U(half * size + half - 1)) | (ONE << U((half - 1) * size + half))
        state.discs[1] = (ONE << U(half * size + half)) | (ONE << U((half - 1) * size + half - 1))

    def to_move(state: GameState) -> int:
        return state.mover

    def moves(own: Bits, other: Bits) -> Bits:
        """Where `own` may play: at the end of a run of `other` that begins beside a disc of `own`."""
        found = ZERO
        for i in range(4):
            shift = SHIFTS[i]
            up, down = other & UP_MASKS[i], other & DOWN_MASKS[i]
            crossable = (own << shift) & up
            for _ in range(size - 3):
                crossable |= (crossable << shift) & up
            found |= (crossable << shift) & UP_MASKS[i]
            crossable = (own >> shift) & down
            for _ in range(size - 3):
                crossable |= (crossable >> shift) & down
            found |= (crossable >> shift) & DOWN_MASKS[i]
        return found & BOARD & ~(own | other)

    def flips(own: Bits, other: Bits, cell: Bits) -> Bits:
        """What a disc of `own` on `cell` turns over: in each direction the run of `other`, where a disc of `own` closes it."""
        turned = ZERO
        for i in range(4):
            shift = SHIFTS[i]
            up, down = other & UP_MASKS[i], other & DOWN_MASKS[i]
            run = (cell << shift) & up
            for _ in range(size - 3):
                run |= (run << shift) & up
            if (run << shift) & UP_MASKS[i] & own:
                turned |= run
            run = (cell >> shift) & down
            for _ in range(size - 3):
                run |= (run >> shift) & down
            if (run >> shift) & DOWN_MASKS[i] & own:
                turned |= run
        return turned

    def legal_actions(state: GameState, actions: Actions) -> int:
        if is_terminal(state):
            return 0
        n = list_members(actions, 0, moves(state.discs[state.mover], state.discs[1 - state.mover]), 0)
        if n == 0:
            actions[0] = PASS
            n = 1
        return n

    def result(state: GameState, action: int) -> None:
        mover = state.mover
        if action == PASS:
            state.passes += 1
        else:
            cell = ONE << U(action)
            turned = flips(state.discs[mover], state.discs[1 - mover], cell)
            state.discs[mover] |= cell | turned
            state.discs[1 - mover] ^= turned
            state.passes = 0
        state.mover = 1 - mover

    def is_terminal(state: GameState) -> bool:
        return state.passes == 2 or (state.discs[0] | state.discs[1]) == BOARD

    def utility(state: GameState, player: int) -> float:
        own, other = popcount(state.discs[player]), popcount(state.discs[1 - player])
        return 1.0 if own > other else -1.0 if own < other else 0.0

    def key(state: GameState) -> Bits:
        return mix(mix(mix(state.discs[0]) ^ state.discs[1]) ^ U(2 * state.mover + 4 * state.passes))

    def gain(state: GameState, action: int) -> float:
        """Corners; taking the last disc."""
        if action == PASS:
            return 0.0
        cell = ONE << U(action)
        if cell & CORNERS:
            return 0.5
        other = state.discs[1 - state.mover]
        return 1.0 if flips(state.discs[state.mover], other, cell) == other else 0.0

    def ownership(state: GameState, player: int, planes: Planes) -> None:
        for seat in range(2):
            discs = state.discs[(player + seat) & 1]
            for row in range(size):
                for column in range(size):
                    planes[seat, row, column] = discs >> U(row * size + column) & ONE

    def score(state: GameState, player: int) -> float:
        """Discs."""
        return float(popcount(state.discs[player]))

    def observe(state: GameState, player: int, planes: Planes) -> None:
        ownership(state, player, planes)
        planes[2, :, :] = state.passes

    def around(discs: Bits) -> Bits:
        """The squares beside any of `discs`, in eight directions."""
        found = ZERO
        for i in range(4):
            found |= (discs << SHIFTS[i]) & UP_MASKS[i] | (discs >> SHIFTS[i]) & DOWN_MASKS[i]
        return found & BOARD

    def features(state: GameState, player: int, values: Features) -> None:
        empty = BOARD & ~(state.discs[0] | state.discs[1])
        for seat in range(2):
            sign = 1 if seat == player else -1
            own, other = state.discs[seat], state.discs[1 - seat]
            values[0] += sign * popcount(own & CORNERS)
            for i in range(4):
                if empty & CORNER[i]:
                    values[1] += sign * popcount(own & DIAGONAL_TO[i])
                    values[2] += sign * popcount(own & BESIDE[i])
            values[3] += sign * popcount(own & EDGES)
            values[4] += sign * popcount(moves(own, other))
            values[5] += sign * popcount(around(other) & empty)
            values[6] += sign * popcount(around(empty) & own)
            values[7] += sign * popcount(own)
            values[8] += sign * int(popcount(own) == 0)
        odd = popcount(empty) & 1
        last = state.mover if odd else 1 - state.mover
        values[9] = 1 if last == player else -1
        values[10] = 1 if state.mover == player else -1

    def disc(state: GameState, cell: int) -> str:
        return "X" if int(state.discs[0]) >> cell & 1 else "O" if int(state.discs[1]) >> cell & 1 else "."

    def lines(state: GameState) -> list[str]:
        return ["".join(disc(state, row * size + column) for column in range(size)) for row in range(size)]

    def counts(state: GameState) -> tuple[int, int]:
        return popcount(state.discs[0]), popcount(state.discs[1])

    def render(state: GameState) -> str:
        rows = [f"{row + 1} {' '.join(line)}" for row, line in enumerate(lines(state))]
        black, white = counts(state)
        return "\n".join(["  " + " ".join("abcdefgh"[:size]), *rows, f"discs: X {black}, O {white}"])

    def diagram(state: GameState) -> Diagram:
        black, white = counts(state)
        symbols = {"X": "black disc", "O": "white disc"}
        note = f"discs: black {black}, white {white}"
        return Diagram(lines(state), symbols, "green squares", "12345678"[:size], "abcdefgh"[:size], note=note)

    def text(state: GameState) -> str:
        return f"{'/'.join(lines(state))} {'xo'[state.mover]} {state.passes}".lower()

    def parse(state: GameState, text: str) -> None:
        words = text.lower().split()
        rows = words[0].split("/") if words else []
        if len(rows) != size or any(len(row) != size or set(row) - set("xo.") for row in rows):
            raise ValueError(f"expected {size} rows of {size} x, o or '.', separated by '/', got '{text}'")
        mover, passes = (words[1:] + ["x", "0"][len(words) - 1 :])[:2]
        if len(words) > 3 or mover not in ("x", "o") or passes not in ("0", "1", "2"):
            raise ValueError(
                f"expected x or o to move and 0, 1 or 2 passes behind the board, got '{' '.join(words[1:])}'"
            )
        marks = "".join(rows)
        for player, mark in enumerate("xo"):
            state.discs[player] = set_of(cell for cell in range(cells) if marks[cell] == mark)
        state.mover, state.passes = "xo".index(mover), int(passes)
        own, other = state.discs[state.mover], state.discs[1 - state.mover]
        if (state.passes >= 1 and moves(other, own)) or (state.passes == 2 and moves(own, other)):
            raise ValueError(f"expected passes only where there was no move, got {passes} passes")

    return Rules(
        State,
        initial,
        to_move,
        legal_actions,
        result,
        is_terminal,
        utility,
        players=2,
        actions=cells + 1,
        max_plies=2 * cells,
        observe=observe,
        observation=(3, size, size),
        symmetries=[turn for turn in grid_symmetries(3, size, size, extra=1) if turn.name in START_PRESERVING],
        policy_planes=1,
        ownership=ownership,
        score=score,
        largest_score=cells,
        key=key,
        gain=gain,
        features=features,
        feature_names=[
            "corners",
            "diagonal to an empty corner",
            "beside an empty corner",
            "edges",
            "mobility",
            "potential mobility",
            "frontier",
            "discs",
            "wiped out",
            "parity",
            "to move",
        ],
        feature_weights=[10.0, -5.0, -2.0, 1.0, 1.0, 0.4, -0.4, 0.0, -100.0, 1.0, 1.5],
        weight_unit=0.05,
        names=[column + str(row + 1) for row in range(size) for column in "abcdefgh"[:size]] + ["pass"],
        render=render,
        diagram=diagram,
        text=text,
        parse=parse,
    )
