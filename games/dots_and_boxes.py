"""Dots and boxes, on 1×1 to 8×8 boxes, for two to four players. An action draws a line between two neighbouring dots.

A line is named by its two dots, the upper or left one first; dots are columns `a` … from the left and rows `1` … from
the top. On 2×2 boxes the lines are

         a         b         c
     1   o  a1b1   o  b1c1   o
        a1a2      b1b2      c1c2
     2   o  a2b2   o  b2c2   o
        a2a3      b2b3      c2c3
     3   o  a3b3   o  b3c3   o

A player who draws the fourth side of a box, or of two at once, takes them and moves again; otherwise the next player
moves. The game ends when all lines are drawn. With two players, the one with more boxes wins; with more, a player who
took a share s of the boxes gets (players·s - 1) / (players - 1). Players are shown as A, B, C and D.

Lines are numbered row by row, and the number of a box is that of its top line. On 2×2 boxes:

     o  0 o  1 o
     2    3    4
     o  5 o  6 o
     7    8    9
     o 10 o 11 o

so the other sides of a box are always cols, cols + 1 and 2·cols + 1 further on, and sets of boxes are bitboards like
sets of lines. Action ids are cells of the grid on which every dot, line and box is a cell; only lines' are used.

The chains of `features` are those of Berlekamp, "The Dots and Boxes Game" (2000).
"""

from typing import Annotated

import numpy as np

from base.bits import ONE, ZERO, U, lowest_bit, popcount
from base.bitsets import nth_member
from base.seeds import below, mix
from games import Diagram, Rules, grid_symmetries
from games.types import Actions, Bits, Features, GameState, Planes, Rng, Words

WORD = U(64)
COLUMNS, MARKS = "abcdefghi", "ABCD"
FEW_VALUES = 17  # up to 4×4 boxes the utilities of three or four players are listed
LONG = 3  # a chain of so many boxes or more is long: giving back two of them costs less than moving first elsewhere

VARIANTS = ("players=3", "rows=2,cols=2,players=4", "rows=1,cols=4", "rows=5,cols=5", "rows=6,cols=5")


def game(
    rows: Annotated[int, range(1, 9)] = 3,
    cols: Annotated[int, range(1, 9)] = 3,
    players: Annotated[int, range(2, 5)] = 2,
) -> Rules:
    height, width = 2 * rows + 1, 2 * cols + 1
    boxes = rows * cols
    lines = [cell for cell in range(height * width) if cell % 2]  # their cells: width is odd, so rows alternate
    WORDS = (len(lines) + 63) // 64
    State = np.dtype(
        [
            ("lines", np.uint64, WORDS),  # drawn
            ("taken", np.uint64, (players, WORDS)),  # boxes, by player: only for text, drawing and `ownership`
            ("boxes", np.uint8, players),  # how many each has taken
            ("mover", np.int8),
        ]
    )

    def words(numbers: list[int]) -> Words:
        whole = sum(1 << number for number in numbers)
        return np.array([whole >> 64 * word & (1 << 64) - 1 for word in range(WORDS)], np.uint64)

    CELL = np.array(lines, np.int32)
    LINE = np.full(height * width, -1, np.int32)
    LINE[CELL] = np.arange(len(lines))
    ALL = words(list(range(len(lines))))
    BOX = LINE.reshape(height, width)[:-1:2, 1::2].ravel().copy()  # box number -> its name among lines
    BOXES = words(BOX.tolist())
    LEFT, RIGHT, BOTTOM = U(cols), U(cols + 1), U(2 * cols + 1)
    SIDES = np.array([0, cols, cols + 1, 2 * cols + 1], np.int32)
    ACROSS = np.full((len(lines), 4), -1, np.int32)  # [box, side]: the box on the other side, -1 for the outside
    BESIDE = np.full((len(lines), 2), -1, np.int32)  # [line]: the boxes that it is a side of
    for box in BOX.tolist():
        for line in (box + SIDES).tolist():
            BESIDE[line, int(BESIDE[line, 0] >= 0)] = box
    for box in BOX.tolist():
        for side, line in enumerate((box + SIDES).tolist()):
            ACROSS[box, side] = next((other for other in BESIDE[line].tolist() if other != box), -1)

    def initial(state: GameState) -> None:
        state.mover = 0

    def to_move(state: GameState) -> int:
        return state.mover

    # ── sets of lines and boxes, one word of them at a time ──

    def ahead(bits: Words, word: int, distance: Bits) -> Bits:
        """Bit i is set where i + distance is in the set."""
        found = bits[word] >> distance
        if word + 1 < WORDS:
            found |= bits[word + 1] << (WORD - distance)
        return found

    def closed(drawn: Words, word: int) -> Bits:
        """Boxes with four sides."""
        left, right, bottom = ahead(drawn, word, LEFT), ahead(drawn, word, RIGHT), ahead(drawn, word, BOTTOM)
        return drawn[word] & left & right & bottom & BOXES[word]

    def three_sided(drawn: Words, word: int) -> Bits:
        top, left = drawn[word], ahead(drawn, word, LEFT)
        right, bottom = ahead(drawn, word, RIGHT), ahead(drawn, word, BOTTOM)
        return ((top & bottom & (left ^ right)) | ((top ^ bottom) & left & right)) & BOXES[word]

    def two_sided(drawn: Words, word: int) -> Bits:
        top, left = drawn[word], ahead(drawn, word, LEFT)
        right, bottom = ahead(drawn, word, RIGHT), ahead(drawn, word, BOTTOM)
        opposite = (top & bottom & ~(left | right)) | (left & right & ~(top | bottom))
        return (opposite | ((top ^ bottom) & (left ^ right))) & BOXES[word]

    def around(here: Bits, before: Bits) -> Bits:
        """The sides of the boxes in a word; `before` is the word of boxes before it, whose sides reach into it."""
        sides = here | (here << LEFT) | (here << RIGHT) | (here << BOTTOM)
        return sides | (before >> (WORD - LEFT)) | (before >> (WORD - RIGHT)) | (before >> (WORD - BOTTOM))

    def has(bits: Words, number: int) -> bool:
        return bool((bits[number >> 6] >> U(number & 63)) & ONE)

    # ── the rules ──

    def listed(left: Bits, word: int, actions: Actions, n: int) -> int:
        """Writes the lines in `left` behind n actions."""
        while left:
            actions[n] = CELL[64 * word + lowest_bit(left)]
            left &= left - ONE
            n += 1
        return n

    def legal_actions(state: GameState, actions: Actions) -> int:
        n = 0
        for word in range(WORDS):
            n = listed(ALL[word] & ~state.lines[word], word, actions, n)
        return n

    def result(state: GameState, action: int) -> None:
        mover, line = state.mover, LINE[action]
        state.lines[line >> 6] |= ONE << U(line & 63)
        taken = 0
        for word in range(WORDS):
            fresh = closed(state.lines, word)
            for player in range(players):
                fresh &= ~state.taken[player, word]
            state.taken[mover, word] |= fresh
            taken += popcount(fresh)
        if taken:
            state.boxes[mover] += taken
        else:
            state.mover = (mover + 1) % players

    def is_terminal(state: GameState) -> bool:
        for word in range(WORDS):
            if state.lines[word] != ALL[word]:
                return False
        return True

    def utility(state: GameState, player: int) -> float:
        own = np.int64(state.boxes[player])
        if players == 2:
            return float(np.sign(2 * own - boxes))
        return (players * own - boxes) / (boxes * (players - 1))

    # ── for search ──

    def key(state: GameState) -> Bits:
        word = U(state.mover)
        for player in range(players):
            word = (word << U(8)) | U(state.boxes[player])
        for i in range(WORDS):
            word = mix(mix(word) ^ state.lines[i])
        return word

    def canonical_key(state: GameState) -> Bits:
        """Lines, and how many boxes the mover has and the other one: who has which does not matter any more."""
        word = (U(state.boxes[state.mover]) << U(8)) | U(state.boxes[1 - state.mover])
        for i in range(WORDS):
            word = mix(mix(word) ^ state.lines[i])
        return word

    def utility_range(state: GameState, player: int) -> tuple[float, float]:
        """A player with more than half of the boxes has won."""
        least = 1.0 if 2 * np.int64(state.boxes[player]) > boxes else -1.0
        return least, -1.0 if 2 * np.int64(state.boxes[1 - player]) > boxes else 1.0

    def gain(state: GameState, action: int) -> float:
        """The number of boxes taken."""
        taken = 0
        for i in range(2):
            box = BESIDE[LINE[action], i]
            taken += int(box >= 0 and has_three_sides(state.lines, box))
        return float(taken)

    def has_three_sides(drawn: Words, box: int) -> bool:
        sides = 0
        for side in range(4):
            sides += int(has(drawn, box + SIDES[side]))
        return sides == 3

    def tactical_actions(state: GameState, actions: Actions) -> int:
        n = 0
        before = ZERO
        for word in range(WORDS):
            takeable = three_sided(state.lines, word)
            n = listed(around(takeable, before) & ~state.lines[word], word, actions, n)
            before = takeable
        return n

    def random_action(state: GameState, actions: Actions, rng: Rng) -> int:
        undrawn = 0
        for word in range(WORDS):
            undrawn += popcount(ALL[word] & ~state.lines[word])
        skip = np.int64(below(rng, undrawn))
        for word in range(WORDS):
            left = ALL[word] & ~state.lines[word]
            here = popcount(left)
            if skip < here:
                return int(CELL[64 * word + nth_member(left, skip)])
            skip -= here
        return -1  # no line is left: never called there

    # ── for the learner ──

    def observe(state: GameState, player: int, planes: Planes) -> None:
        """Lines drawn, lines not drawn, boxes with three sides, boxes closed, then each player's share of the boxes."""
        for line in range(len(CELL)):
            cell = CELL[line]
            planes[0 if has(state.lines, line) else 1, cell // width, cell % width] = 1
        for word in range(WORDS):
            mark(planes[2], three_sided(state.lines, word), word)
            mark(planes[3], closed(state.lines, word), word)
        for seat in range(players):
            planes[4 + seat, :, :] = state.boxes[(player + seat) % players] / boxes

    def ownership(state: GameState, player: int, planes: Planes) -> None:
        for seat in range(players):
            for word in range(WORDS):
                mark(planes[seat], state.taken[(player + seat) % players, word], word)

    def score(state: GameState, player: int) -> float:
        """Boxes."""
        return float(state.boxes[player])

    def mark(plane: Planes, left: Bits, word: int) -> None:
        while left:
            top = CELL[64 * word + lowest_bit(left)]
            plane[top // width + 1, top % width] = 1
            left &= left - ONE

    def next_in_chain(drawn: Words, chained: Words, box: int, previous: int) -> int:
        """The neighbour in a chain, beyond an undrawn side, that is not the previous box; -1 at the end."""
        for side in range(4):
            other = ACROSS[box, side]
            if other >= 0 and other != previous and has(chained, other) and not has(drawn, box + SIDES[side]):
                return int(other)
        return -1

    def follow(drawn: Words, chained: Words, left: Words, start: int) -> tuple[int, int, bool]:
        """Along a chain from `start`, taking its boxes out of `left`: the last box, how many, whether it is a loop."""
        box, previous, length = start, -1, 0
        while True:
            left[box >> 6] &= ~(ONE << U(box & 63))
            length += 1
            following = next_in_chain(drawn, chained, box, previous)
            if following < 0 or following == start:
                return box, length, following == start
            previous, box = box, following

    def features(state: GameState, player: int, values: Features) -> None:
        """What a position offers counts for the mover, and against all others together.

        A chain is a row of boxes with two or three sides, connected through their undrawn ones; where a box of it has
        three, all of it can be taken. The long chain rule: the player who makes the last turn has the advantage. Each
        line that takes no box ends a turn, so the turns before the last are as many as lines less boxes, plus the lines
        that take two boxes: one for each pair with a single line left, one for each long chain but the last (two of its
        boxes are given back), and two for each loop, or one for the last.
        """
        sets = np.zeros((3, WORDS), np.uint64)
        chained, left, takeable = sets[0], sets[1], sets[2]
        safe, twos, threes, undrawn = 0, 0, 0, 0
        before = ZERO
        for word in range(WORDS):
            two, takeable[word] = two_sided(state.lines, word), three_sided(state.lines, word)
            chained[word] = two | takeable[word]
            left[word] = chained[word]
            twos += popcount(two)
            threes += popcount(takeable[word])
            free = ALL[word] & ~state.lines[word]
            undrawn += popcount(free)
            safe += popcount(free & ~around(chained[word], before))
            before = chained[word]
        ready, short_chains, long_chains, long_boxes, loops = 0, 0, 0, 0, 0
        all_long, all_loops, pairs = 0, 0, 0  # those that are ready to be taken among them
        for word in range(WORDS):
            while left[word]:
                end, _, _ = follow(state.lines, chained, left, 64 * word + lowest_bit(left[word]))
                other_end, length, is_loop = follow(state.lines, chained, left, end)
                ready_ends = int(has(takeable, end)) + int(has(takeable, other_end))
                if is_loop or (ready_ends == 2 and length > LONG):  # a loop, or one that was opened
                    all_loops += 1
                elif ready_ends == 2 and length > 1:
                    pairs += 1
                elif length >= LONG:
                    all_long += 1
                if ready_ends:
                    ready += length
                elif is_loop:
                    loops += 1
                elif length < LONG:
                    short_chains += 1
                else:
                    long_chains += 1
                    long_boxes += length
        unclosed = np.int64(boxes)
        for seat in range(players):
            unclosed -= state.boxes[seat]
        turns_before_last = undrawn - unclosed + pairs
        if all_long + all_loops:
            turns_before_last += all_long - 1
        own = np.int64(state.boxes[player])
        values[0] = own - (boxes - unclosed - own) / (players - 1)
        side = 1.0 if state.mover == player else -1.0 / (players - 1)
        values[1] = side * threes
        values[2] = side * ready
        values[3] = side * twos
        values[4] = side * short_chains
        values[5] = side * long_chains
        values[6] = side * long_boxes
        values[7] = side * loops
        values[8] = side * safe
        values[9] = side * (1 if safe % 2 else -1)
        values[10] = side * (-1 if turns_before_last % 2 else 1)
        values[11] = side

    # ── for people ──

    def owner(state: GameState, box: int) -> str:
        """The mark of the player who took a box, given by its number; '' where none has."""
        return next((MARKS[player] for player in range(players) if has(state.taken[player], int(BOX[box]))), "")

    def is_drawn(state: GameState, row: int, column: int) -> bool:
        return has(state.lines, int(LINE[row * width + column]))

    def render(state: GameState) -> str:
        shown = ["    " + "   ".join(COLUMNS[: cols + 1])]
        for row in range(height):
            if row % 2 == 0:
                across = "".join("o---" if is_drawn(state, row, 2 * column + 1) else "o   " for column in range(cols))
                shown.append(f"{row // 2 + 1:>2}  {across}o")
            else:
                cells = [
                    ("|" if is_drawn(state, row, 2 * column) else " ")
                    + (f" {owner(state, row // 2 * cols + column) or ' '} " if column < cols else "")
                    for column in range(cols + 1)
                ]
                shown.append(("    " + "".join(cells)).rstrip())
        return "\n".join([*shown, summary(state)])

    def summary(state: GameState) -> str:
        counts = ", ".join(f"{MARKS[player]} {state.boxes[player]}" for player in range(players))
        whose = "over" if is_terminal(state) else f"{MARKS[state.mover]} to move"
        return f"boxes: {counts}; {whose}"

    def diagram(state: GameState) -> Diagram:
        cells = [[""] * width for _ in range(height)]
        for row, column in (divmod(cell, width) for cell in lines):
            cells[row][column] = "-" if is_drawn(state, row, column) else ""
        for box in range(boxes):
            mark = owner(state, box)
            cells[box // cols * 2 + 1][box % cols * 2 + 1] = 2 * mark  # the colour, and the letter upon it
        symbols = {
            mark: f"{colour} fill" for mark, colour in zip(MARKS, ("blue", "orange", "green", "purple"), strict=True)
        }
        dots = ["" if row % 2 else str(row // 2 + 1) for row in range(height)]
        letters = ["" if column % 2 else COLUMNS[column // 2] for column in range(width)]
        return Diagram(cells, {**symbols, "-": "black line"}, "dots", dots, letters, note=summary(state))

    def text(state: GameState) -> str:
        """Rows of horizontal lines, as in `--.`, and between them rows of boxes, as in `|A|..`; then who moves."""
        shown = []
        for row in range(height):
            if row % 2 == 0:
                shown.append("".join("-" if is_drawn(state, row, column) else "." for column in range(1, width, 2)))
            else:
                marks = [
                    owner(state, row // 2 * cols + column // 2) if column % 2 else "|" * is_drawn(state, row, column)
                    for column in range(width)
                ]
                shown.append("".join(mark or "." for mark in marks))
        return f"{'/'.join(shown)} {MARKS[state.mover]}"

    def parse(state: GameState, text: str) -> None:
        """Refuses what counting shows to be impossible: a closed box without owner, the reverse, a wrong mover."""
        whose = f"one of {', '.join(MARKS[:players])}"
        parts = text.upper().split()
        if len(parts) != 2 or parts[1] not in list(MARKS[:players]):
            raise ValueError(f"expected the board and the player to move, {whose}, separated by a space, got '{text}'")
        grid, mover = parts[0].split("/"), MARKS.index(parts[1])
        if len(grid) != height:
            raise ValueError(f"expected {height} rows separated by '/', got {len(grid)}")
        for row, marks in enumerate(grid):
            if row % 2 == 0 and (len(marks) != cols or set(marks) - set("-.")):
                raise ValueError(f"row {row + 1}: expected {cols} horizontal lines, each - or '.', got '{marks}'")
            wrong = set(marks[::2]) - set("|.") or set(marks[1::2]) - set(MARKS[:players] + ".")
            if row % 2 and (len(marks) != width or wrong):
                expected = f"{width} marks, in turn vertical lines (| or '.') and boxes ({whose} or '.')"
                raise ValueError(f"row {row + 1}: expected {expected}, got '{marks}'")
        for row, marks in enumerate(grid):
            for i, line in enumerate(marks if row % 2 == 0 else marks[::2]):
                if line != ".":
                    number = int(LINE[row * width + 2 * i + 1 - row % 2])
                    state.lines[number >> 6] |= ONE << U(number & 63)
        owners = "".join(marks[1::2] for marks in grid[1::2])
        for i, number in enumerate(BOX.tolist()):
            if has(np.array([closed(state.lines, word) for word in range(WORDS)]), number) != (owners[i] != "."):
                where = f"row {i // cols + 1}, column {i % cols + 1}"
                raise ValueError(f"expected owners in just the boxes with four sides, got '{owners[i]}' in {where}")
            if owners[i] != ".":
                player = MARKS.index(owners[i])
                state.taken[player, number >> 6] |= ONE << U(number & 63)
                state.boxes[player] += 1
        check_mover(state, mover, owners)
        state.mover = mover

    def check_mover(state: GameState, mover: int, owners: str) -> None:
        """Every line that took no box passed the move on; one that took two left two neighbours with one owner."""
        drawn = sum(popcount(word) for word in state.lines)
        taken = boxes - owners.count(".")
        pairs = sum(
            owners[i] == owners[j] != "."
            for i in range(boxes)
            for j in {i + 1, i + cols}
            if j < boxes and (j == i + cols or j % cols)
        )
        possible = sorted({(drawn - taken + twice) % players for twice in range(min(pairs, players - 1) + 1)})
        if is_terminal(state):
            possible = [player for player in possible if state.boxes[player]]  # the last line always takes a box
        if mover not in possible:
            expected = " or ".join(MARKS[player] for player in possible) or "an owner of a box"
            raise ValueError(f"expected {expected} to move after {drawn} lines and {taken} boxes, got {MARKS[mover]}")

    shares = [(players * own - boxes) / (boxes * (players - 1)) for own in range(boxes + 1)]
    values = ([-1, 1] if boxes % 2 else [-1, 0, 1]) if players == 2 else shares if len(shares) <= FEW_VALUES else []
    dots = [COLUMNS[column] + str(row + 1) for row in range(rows + 1) for column in range(cols + 1)]
    names = [""] * (height * width)
    for cell in lines:
        row, column = divmod(cell, width)
        ends = ((row, column - 1), (row, column + 1)) if row % 2 == 0 else ((row - 1, column), (row + 1, column))
        names[cell] = "".join(dots[y // 2 * (cols + 1) + x // 2] for y, x in ends)

    return Rules(
        State,
        initial,
        to_move,
        legal_actions,
        result,
        is_terminal,
        utility,
        players=players,
        actions=height * width,
        max_plies=len(lines),
        max_legal=len(lines),
        values=values,
        history=["taken"],
        observe=observe,
        observation=(4 + players, height, width),
        symmetries=grid_symmetries(4 + players, height, width),
        policy_planes=1,
        ownership=ownership,
        score=score,
        largest_score=boxes,
        key=key,
        canonical_key=canonical_key if players == 2 else None,
        utility_range=utility_range if players == 2 else None,
        gain=gain,
        tactical_actions=tactical_actions,
        random_action=random_action,
        features=features,
        feature_names=[
            "boxes",
            "three-sided boxes",
            "boxes ready to take",
            "two-sided boxes",
            "short chains",
            "long chains",
            "boxes in long chains",
            "loops",
            "safe lines",
            "safe lines odd",
            "long chain rule",
            "to move",
        ],
        feature_weights=[1.0, 0.0, 0.8, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.3, 1.0, 0.0],
        weight_unit=0.3,
        names=names,
        render=render,
        diagram=diagram,
        text=text,
        parse=parse,
    )
