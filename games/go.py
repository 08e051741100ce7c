"""Go, on boards of 2×2 to 19×19. Actions are points, `A1` bottom left (the letter I is left out), and `pass`.

Area scoring (Tromp and Taylor): the player with more stones and surrounded empty points wins, after white (player 1)
is given `komi`. A play captures the opponent's chains that it leaves without a liberty. It is illegal where it would leave
its own chain without one (no suicide) or recreate an earlier board, with either player to move (positional superko).
Passing is always legal; two passes in a row end the game. So do 6·size² plies: the board is then scored as it stands.
On 9×9:

    9   72 73 74 75 76 77 78 79 80
    8   63 64 65 66 67 68 69 70 71
    .    .  .  .  .  .  .  .  .  .
    1    0  1  2  3  4  5  6  7  8      pass = 81
         A  B  C  D  E  F  G  H  J

A chain of connected stones is a ring (`next`); its number is that of one of its points (`chain`). `liberties` counts
a chain's borders with empty points: a point that two of its stones touch counts twice, which is cheap to keep and still
zero where none is left. The point after the last one stands for the outside of the board.

Position text: rows from the top, who is to move, how many passes came just before, and the points that superko forbids
at this moment, as in `.xo./x.xo/.xo./.... o 0 B3`. Earlier boards that could only be recreated later are not in the
text and are forgotten.
"""

from collections.abc import Sequence
from typing import Annotated

import numpy as np

from base.bits import ONE, ZERO, U
from base.errors import UserError
from base.seeds import below, derive, mix
from games import Diagram, Rules, grid_symmetries
from games.types import Actions, Array, Bits, Features, GameState, Planes, Rng

LETTERS = "ABCDEFGHJKLMNOPQRST"
EMPTY, BLACK, WHITE, EDGE = 0, 1, 2, 3
MARKS = ".xo"

VARIANTS = ("size=5,komi=0.5", "size=19", "size=3,komi=0", "size=2,komi=0.5")

FEATURES = (
    "stones",
    "area",
    "influence",
    "chains",
    "chains in atari",
    "chains with two liberties",
    "liberties",
    "stones in atari",
    "captures at hand",
    "eyes",
    "solid links",
    "diagonal links",
    "first line",
    "second line",
    "third line",
    "komi",
    "to move",
)

WEIGHTS = [1.0, 0.25, 0.25, -1.5, -0.6, -0.25, 0.5, -1.0, 0.3, 0.0, -0.5, 0.2, 0.0, -0.2, 0.4, 1.0, 2.0]


MOST_KOMI = 19 * 19


def game(size: Annotated[int, range(2, 20)] = 9, komi: float = 7.5) -> Rules:
    if abs(komi) > MOST_KOMI:
        raise UserError(f"komi: expected {-MOST_KOMI} to {MOST_KOMI} points, got {komi:g}")
    cells = PASS = OUTSIDE = size * size
    MAX_PLIES = 6 * cells
    FILTER = 1 << (4 * MAX_PLIES - 1).bit_length()  # bits of a Bloom filter: one in four is set at most
    FILTER_WORD = U(FILTER // 64 - 1)
    POINT = np.uint8 if cells < 256 else np.uint16

    State = np.dtype(
        [
            ("board", np.int8, cells + 1),  # EMPTY, BLACK or WHITE; EDGE at OUTSIDE
            ("mover", np.int8),
            ("passes", np.int8),  # just before this position
            ("plies", np.int16),
            ("prisoners", np.int16, 2),  # taken by each player
            ("chain", POINT, cells + 1),  # the chain on a point; OUTSIDE where there is none
            ("next", POINT, cells),  # the next stone of the same chain, in a ring
            ("liberties", np.int16, cells + 1),  # of each chain; those of OUTSIDE are meaningless
            ("emptied", np.uint8, (2, cells)),  # where each colour has ever been captured
            ("hash", np.uint64),  # of the board
            ("boards", np.int64),  # how many have occurred, this one included
            ("filter", np.uint64, FILTER // 64),  # a Bloom filter of their hashes
            ("earlier", np.uint64, MAX_PLIES + 1),  # their hashes
        ],
        align=True,
    )

    def beside(row: int, column: int) -> int:
        return row * size + column if 0 <= row < size and 0 <= column < size else OUTSIDE

    points = [(row, column) for row in range(size) for column in range(size)]
    AROUND = ((0, 1), (1, 0), (0, -1), (-1, 0))
    NEIGHBOURS = np.array([[beside(r + up, c + right) for up, right in AROUND] for r, c in points], np.uint16)
    DIAGONALS = np.array([[beside(r + 1, c + 1), beside(r + 1, c - 1)] for r, c in points], np.uint16)
    LINE = np.array([min(r, c, size - 1 - r, size - 1 - c) for r, c in points])
    ZOBRIST = np.array([[derive(0, "go", colour, point) for point in range(cells)] for colour in range(2)], np.uint64)
    KOMI = float(komi)
    names = [LETTERS[column] + str(row + 1) for row, column in points] + ["pass"]

    # ── the board ──

    def clear(state: GameState) -> None:
        state.board[OUTSIDE] = EDGE
        state.chain[:] = OUTSIDE
        remember(state, ZERO)

    def remember(state: GameState, board: Bits) -> None:
        """Record the hash of a board. There is room for one each ply; only perft plays beyond the last."""
        if state.boards <= MAX_PLIES:
            state.earlier[state.boards] = board
            state.boards += 1
            state.filter[(board >> U(6)) & FILTER_WORD] |= ONE << (board & U(63))

    def was_there(state: GameState, board: Bits) -> bool:
        if (state.filter[(board >> U(6)) & FILTER_WORD] >> (board & U(63))) & ONE == ZERO:
            return False
        for i in range(state.boards - 1, -1, -1):  # most repetitions are recent
            if state.earlier[i] == board:
                return True
        return False

    def add_stone(state: GameState, point: int, player: int) -> None:
        """Put a stone on an empty point and join it to its neighbours; chains left without liberties stay for now."""
        colour, borders = player + 1, 0
        state.board[point] = colour
        state.hash ^= ZOBRIST[player, point]
        for i in range(4):
            near = NEIGHBOURS[point, i]
            state.liberties[state.chain[near]] -= 1
            borders += state.board[near] == EMPTY
        for i in range(4):
            near = NEIGHBOURS[point, i]
            if state.board[near] == colour and state.chain[near] != state.chain[point]:
                if state.chain[point] == OUTSIDE:
                    state.chain[point] = state.chain[near]
                    state.next[point] = state.next[near]
                    state.next[near] = point
                else:
                    join(state, point, near)
        if state.chain[point] == OUTSIDE:
            state.chain[point] = state.next[point] = point
            state.liberties[point] = 0
        state.liberties[state.chain[point]] += borders
        state.liberties[OUTSIDE] = 0

    def join(state: GameState, one: int, other: int) -> None:
        """The chain of `other` becomes part of the chain of `one`: renamed, and the two rings spliced."""
        into = state.chain[one]
        state.liberties[into] += state.liberties[state.chain[other]]
        stone = other
        while state.chain[stone] != into:
            state.chain[stone] = into
            stone = state.next[stone]
        state.next[one], state.next[other] = state.next[other], state.next[one]

    def remove_chain(state: GameState, point: int, player: int) -> None:
        """Take the chain on `point`, one of `player`'s, off the board."""
        stone = point
        while state.board[stone] != EMPTY:
            state.board[stone] = EMPTY
            state.chain[stone] = OUTSIDE
            state.hash ^= ZOBRIST[player, stone]
            state.emptied[player, stone] = 1
            state.prisoners[1 - player] += 1
            for i in range(4):
                state.liberties[state.chain[NEIGHBOURS[stone, i]]] += 1
            stone = state.next[stone]

    # ── what may be played ──

    def is_last_liberty(state: GameState, point: int, chain: int) -> bool:
        """Whether an empty point beside a chain is its only liberty."""
        borders = 0
        for i in range(4):
            borders += state.chain[NEIGHBOURS[point, i]] == chain
        return state.liberties[chain] == borders

    def can_stand(state: GameState, point: int) -> bool:
        """Whether the mover's stone on this empty point has a liberty, joins a chain that keeps one, or captures."""
        colour = state.mover + 1
        for i in range(4):
            near = NEIGHBOURS[point, i]
            found = state.board[near]
            if found == EMPTY:
                return True
            if found != EDGE and is_last_liberty(state, point, state.chain[near]) == (found != colour):
                return True
        return False

    def aftermath(state: GameState, point: int) -> tuple[int, Bits]:
        """How many stones a play on this empty point takes, and the hash of the board that it leaves."""
        mover = state.mover
        taken, board = 0, state.hash ^ ZOBRIST[mover, point]
        for i in range(4):
            near = NEIGHBOURS[point, i]
            chain = state.chain[near]
            is_first = state.board[near] == 2 - mover
            for j in range(i):
                is_first &= state.chain[NEIGHBOURS[point, j]] != chain
            if is_first and is_last_liberty(state, point, chain):
                stone = near
                while True:
                    taken += 1
                    board ^= ZOBRIST[1 - mover, stone]
                    stone = state.next[stone]
                    if stone == near:
                        break
        return taken, board

    def is_repetition(state: GameState, point: int) -> bool:
        """Whether a play on this empty point recreates an earlier board. That board had a stone of the mover's here,
        and now there is none: so only points where one has been captured need a look."""
        return state.emptied[state.mover, point] == 1 and was_there(state, aftermath(state, point)[1])

    def is_playable(state: GameState, point: int) -> bool:
        return state.board[point] == EMPTY and can_stand(state, point) and not is_repetition(state, point)

    # ── the textbook's functions ──

    def initial(state: GameState) -> None:
        clear(state)

    def to_move(state: GameState) -> int:
        return state.mover

    def legal_actions(state: GameState, actions: Actions) -> int:
        if state.passes >= 2:
            return 0
        n = 0
        for point in range(cells):
            if is_playable(state, point):
                actions[n] = point
                n += 1
        actions[n] = PASS
        return n + 1

    def result(state: GameState, action: int) -> None:
        mover = state.mover
        state.mover = 1 - mover
        state.plies += 1
        if action == PASS:
            state.passes += 1
            return
        state.passes = 0
        add_stone(state, action, mover)
        for i in range(4):
            near = NEIGHBOURS[action, i]
            if state.board[near] == 2 - mover and state.liberties[state.chain[near]] == 0:
                remove_chain(state, near, 1 - mover)
        remember(state, state.hash)

    def is_terminal(state: GameState) -> bool:
        return state.passes >= 2 or state.plies >= MAX_PLIES

    def margin(state: GameState) -> int:
        """Black's stones and surrounded points less white's."""
        return area(state, np.empty(cells, np.int8))

    def area(state: GameState, owners: Array) -> int:
        """Writes the owner of each point, BLACK, WHITE or EMPTY for none; black's points less white's."""
        lead = 0
        board = state.board
        pending = np.empty(cells, np.int64)
        known = np.zeros(cells, np.bool_)
        for point in range(cells):
            colour = board[point]
            if colour != EMPTY:
                owners[point] = colour
                lead += 1 if colour == BLACK else -1
            elif not known[point]:
                known[point] = True
                pending[0] = point
                done, found, borders = 0, 1, 0
                while done < found:
                    for i in range(4):
                        near = NEIGHBOURS[pending[done], i]
                        colour = board[near]
                        if colour != EMPTY:
                            borders |= colour % EDGE  # BLACK is bit 0, WHITE bit 1, EDGE none
                        elif not known[near]:
                            known[near] = True
                            pending[found] = near
                            found += 1
                    done += 1
                lead += found if borders == BLACK else -found if borders == WHITE else 0
                for i in range(found):
                    owners[pending[i]] = borders if borders == BLACK or borders == WHITE else EMPTY
        return lead

    def utility(state: GameState, player: int) -> float:
        lead = margin(state) - KOMI
        if lead == 0.0:
            return 0.0
        return 1.0 if (lead > 0.0) == (player == 0) else -1.0

    # ── for search ──

    def key(state: GameState) -> Bits:
        return mix(state.hash ^ mix(U(1 + state.mover + 2 * state.passes)))

    def gain(state: GameState, action: int) -> float:
        """Captures: the share of the board taken."""
        return aftermath(state, action)[0] / cells if action != PASS else 0.0

    def tactical_actions(state: GameState, actions: Actions) -> int:
        n = 0
        if state.passes < 2:
            for point in range(cells):
                if state.board[point] == EMPTY and aftermath(state, point)[0] > 0 and not is_repetition(state, point):
                    actions[n] = point
                    n += 1
        return n

    def random_action(state: GameState, actions: Actions, rng: Rng) -> int:
        """Draws among all points and the pass until one is legal: no legal action is likelier than another."""
        while True:
            action = below(rng, cells + 1)
            if action == PASS or is_playable(state, action):
                return action

    # ── for the learner ──

    def ownership(state: GameState, player: int, planes: Planes) -> None:
        owners = np.empty(cells, np.int8)
        area(state, owners)
        for point in range(cells):
            if owners[point] != EMPTY:
                planes[(owners[point] - 1) ^ player, point // size, point % size] = 1

    def score(state: GameState, player: int) -> float:
        """Points of area; white's komi among them."""
        owners = np.empty(cells, np.int8)
        area(state, owners)
        points = 0
        for point in range(cells):
            points += owners[point] == player + 1
        return points + (KOMI if player == 1 else 0.0)

    def chain_liberties(state: GameState) -> Array:
        """[cells + 1]: of each chain, by its number; each liberty counted once."""
        liberties = np.zeros(cells + 1, np.int64)
        for point in range(cells):
            if state.board[point] == EMPTY:
                for i in range(4):
                    chain = state.chain[NEIGHBOURS[point, i]]
                    is_first = True
                    for j in range(i):
                        is_first &= state.chain[NEIGHBOURS[point, j]] != chain
                    liberties[chain] += is_first
        return liberties

    def observe(state: GameState, player: int, planes: Planes) -> None:
        """Own stones, the other's, what superko forbids to the mover, whether the viewer is white, passes, and stones of chains with
        one, two and three liberties."""
        liberties = chain_liberties(state)
        for row in range(size):
            for column in range(size):
                point = row * size + column
                colour = state.board[point]
                if colour != EMPTY:
                    planes[(colour - 1) ^ player, row, column] = 1
                    count = liberties[state.chain[point]]
                    if count <= 3:
                        planes[4 + count, row, column] = 1
                elif is_repetition(state, point) and can_stand(state, point):
                    planes[2, row, column] = 1
        planes[3, :, :] = player
        planes[4, :, :] = state.passes

    def influence(state: GameState) -> int:
        """Empty points that are nearer to a black stone than to any white one, less those nearer to white."""
        nearest, distance = np.zeros(cells, np.int64), np.zeros(cells, np.int64)  # colours as bits
        pending = np.empty(cells, np.int64)
        found = 0
        for point in range(cells):
            nearest[point] = state.board[point]
            if nearest[point] != EMPTY:
                pending[found] = point
                found += 1
        stones, done = found, 0
        while done < found:
            point = pending[done]
            for i in range(4):
                near = NEIGHBOURS[point, i]
                if near != OUTSIDE and nearest[near] == EMPTY:
                    distance[near] = distance[point] + 1
                    pending[found] = near
                    found += 1
                if near != OUTSIDE and distance[near] == distance[point] + 1:
                    nearest[near] |= nearest[point]
            done += 1
        lead = 0
        for i in range(stones, found):
            colours = nearest[pending[i]]
            lead += 1 if colours == BLACK else -1 if colours == WHITE else 0
        return lead

    def features(state: GameState, player: int, values: Features) -> None:
        mover = state.mover
        liberties, length = chain_liberties(state), np.zeros(cells + 1, np.int64)  # of chains
        for point in range(cells):
            colour = state.board[point]
            length[state.chain[point]] += 1
            if colour == EMPTY:
                colours = 0
                for i in range(4):
                    near = NEIGHBOURS[point, i]
                    colours |= 4 if state.board[near] == EMPTY else state.board[near] % EDGE
                if colours in (BLACK, WHITE):
                    values[9] += 1 if colours == player + 1 else -1
            else:
                sign = 1 if colour == player + 1 else -1
                values[0] += sign
                for i in range(2):
                    values[10] += sign * (state.board[NEIGHBOURS[point, i]] == colour)
                    values[11] += sign * (state.board[DIAGONALS[point, i]] == colour)
                if LINE[point] < 3:
                    values[12 + LINE[point]] += sign
        for chain in range(cells):
            if state.chain[chain] == chain:
                seat = state.board[chain] - 1
                sign = 1 if seat == player else -1
                values[3] += sign
                values[6] += sign * liberties[chain]
                if liberties[chain] == 1:
                    values[4] += sign
                    values[7] += sign * length[chain]
                    if mover != seat:
                        values[8] -= sign * length[chain]
                elif liberties[chain] == 2:
                    values[5] += sign
        for_black = 1 if player == 0 else -1
        values[1] = for_black * margin(state)
        values[2] = for_black * influence(state)
        values[15] = -for_black * KOMI
        values[16] = 1 if mover == player else -1

    # ── for people ──

    edge, middle = 2 if size < 12 else 3, size // 2
    star_lines = (edge, middle, size - 1 - edge) if size >= 9 and size % 2 else ()
    stars = {(r, c) for r in star_lines for c in star_lines if size >= 15 or (r == middle) == (c == middle)}

    def mark(colour: int, row: int, column: int) -> str:
        found = MARKS[colour].upper()
        return "+" if found == "." and (row, column) in stars else found

    def lines(state: GameState) -> list[str]:
        """From the top."""
        rows = state.board[:cells].reshape(size, size).tolist()
        return [
            "".join(mark(rows[row][column], row, column) for column in range(size)) for row in range(size - 1, -1, -1)
        ]

    def summary(state: GameState, names: Sequence[str]) -> str:
        lead = margin(state) - KOMI
        score = f"{names[int(lead < 0)]} leads by {abs(lead):g}" if lead else "even"
        captured = f"captured: {names[0]} {state.prisoners[0]}, {names[1]} {state.prisoners[1]}"
        return f"{captured}; area with komi {KOMI:g}: {score}"

    def render(state: GameState) -> str:
        letters = "   " + " ".join(LETTERS[:size])
        drawn = [f"{size - i:2} {' '.join(line)} {size - i}" for i, line in enumerate(lines(state))]
        return "\n".join([letters, *drawn, letters, summary(state, "XO")])

    def diagram(state: GameState) -> Diagram:
        symbols = {"X": "black disc", "O": "white disc", "+": "black star"}
        rows = [str(row) for row in range(size, 0, -1)]
        return Diagram(lines(state), symbols, "lines", rows, LETTERS[:size], note=summary(state, ("black", "white")))

    def text(state: GameState) -> str:
        marks = [MARKS[colour] for colour in state.board[:cells]]
        rows = ["".join(marks[row * size : (row + 1) * size]) for row in range(size - 1, -1, -1)]
        empty = [point for point in range(cells) if state.board[point] == EMPTY]
        forbidden = [names[point] for point in empty if is_repetition(state, point) and can_stand(state, point)]
        return f"{'/'.join(rows)} {MARKS[state.mover + 1]} {state.passes} {','.join(forbidden)}".rstrip()

    def parse(state: GameState, text: str) -> None:
        words = text.split()
        rows = words[0].lower().split("/") if words else []
        if len(rows) != size or any(len(row) != size or set(row) - set(MARKS) for row in rows):
            raise ValueError(f"expected {size} rows of {size} x, o or '.', top first, separated by '/', got '{text}'")
        mover, passes, forbidden = (words[1:] + ["x", "0", ""][len(words) - 1 :])[:3]
        if len(words) > 4 or mover.lower() not in ("x", "o") or passes not in ("0", "1", "2"):
            found = " ".join(words[1:])
            raise ValueError(f"expected x or o to move, 0 to 2 passes and points forbidden by superko, got '{found}'")
        clear(state)
        for point, mark in enumerate("".join(reversed(rows))):
            if mark != ".":
                add_stone(state, point, MARKS.index(mark) - 1)
        for point in range(cells):
            if state.board[point] != EMPTY and state.liberties[state.chain[point]] == 0:
                raise ValueError(f"expected a liberty for every chain, got none for the one on {names[point]}")
        state.mover, state.passes = MARKS.index(mover.lower()) - 1, int(passes)
        if not was_there(state, state.hash):
            remember(state, state.hash)
        points = forbidden.upper().split(",") if forbidden else []
        if len(points) > cells:
            raise ValueError(f"expected at most {cells} points forbidden by superko, got {len(points)}")
        for name in points:
            point = names.index(name) if name in names[:cells] else OUTSIDE
            if state.board[point] != EMPTY or not can_stand(state, point):
                raise ValueError(f"expected superko to forbid points that can be played otherwise, got '{name}'")
            state.emptied[state.mover, point] = 1
            remember(state, aftermath(state, point)[1])
        state.plies = state.boards - 1  # at the least: each board but the empty one took a ply

    can_be_drawn = KOMI.is_integer() and abs(KOMI) <= cells
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
        max_plies=MAX_PLIES,
        values=(-1, 0, 1) if can_be_drawn else (-1, 1),
        history=["plies", "prisoners", "chain", "next", "liberties", "emptied", "hash", "boards", "filter", "earlier"],
        observe=observe,
        observation=(8, size, size),
        symmetries=grid_symmetries(8, size, size, extra=1),
        policy_planes=1,
        ownership=ownership,
        score=score,
        largest_score=cells + abs(KOMI),
        key=key,
        gain=gain,
        tactical_actions=tactical_actions,
        random_action=random_action,
        features=features,
        feature_names=FEATURES,
        feature_weights=WEIGHTS,
        weight_unit=0.07,
        names=names,
        render=render,
        diagram=diagram,
        text=text,
        parse=parse,
    )
