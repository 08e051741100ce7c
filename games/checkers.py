"""Checkers (English draughts). Black (player 0) begins. Actions are `11-15`, a step, and `15x22`, one jump.

Squares are numbered as in print: black's men start on 1 to 12, white's on 21 to 32. On bitboards, row r and column c,
counted from the top left, are bit 8r + c. Only dark squares are used, so that a diagonal shift over a side of the board
ends on a light square, where a mask drops it.

        1     2     3     4        .  1  .  3  .  5  .  7
     5     6     7     8           8  . 10  . 12  . 14  .
        9    10    11    12        . 17  . 19  . 21  . 23
    13    14    15    16          24  . 26  . 28  . 30  .
       17    18    19    20        . 33  . 35  . 37  . 39
    21    22    23    24          40  . 42  . 44  . 46  .
       25    26    27    28        . 49  . 51  . 53  . 55
    29    30    31    32          56  . 58  . 60  . 62  .

Men step and jump forward, kings also backward, never further than to the next free square. A player who can jump
must, and continues with the same piece as long as it can jump; each jump is a separate action. A piece that is jumped over
leaves the board at once. A man that reaches the last row becomes a king and ends the turn, even where a king could jump.

A player who can't move has lost. The game is drawn after 80 plies in a row that were neither jumps nor moves of men,
and when a position stands for the third time with the same player to move. Only steps of kings can be taken back, and
each is a whole turn: positions are compared at the start of turns, as far back as the last jump or move of a man.

Action ids are 64·plane + cell of departure. The planes are steps up left, up right, down left and down right, and then
jumps likewise. White sees the board turned by half, so that every viewer's men start in the upper rows. Networks see the
dark squares alone, 8 rows of 4.

Positions are written as in PDN, `B:W21,22,K30:B1,2,K3`: who moves, then each side's squares, with K for kings. ` x15`
behind it means that the piece on 15 has jumped and must jump again; a number counts the plies since the last jump or
move of a man. Earlier positions are not written: repetitions are counted from there.
"""

import re
from math import comb

import numpy as np

from base.bits import ONE, ZERO, U, lowest_bit, popcount
from base.bitsets import list_members, nth_member, set_of
from base.seeds import below, mix
from games import Diagram, Rules
from games.types import Actions, Bits, Features, GameState, Planes, Rng

LIMIT = 80  # plies without a jump or a move of a man that draw the game
JUMPS = 256  # the first action id that is a jump
DIRECTIONS = 4  # up left, up right, down left, down right: direction 3 - d is opposite to d
STEPS = np.array([-9, -7, 7, 9])
CELLS = [8 * row + column for row in range(8) for column in range(8) if (row + column) % 2]  # of squares 1 to 32
CELL = np.array(CELLS)


def squares(*wanted: int) -> Bits:
    return set_of(CELLS[square - 1] for square in wanted)


DARK = set_of(CELLS)
ROWS = np.array([set_of(cell for cell in CELLS if cell // 8 == row) for row in range(8)], np.uint64)
HOME, NEXT_TO_LAST, LAST = ROWS[[0, 7]], ROWS[[6, 1]], ROWS[[7, 0]]  # by player
EDGE = set_of(cell for cell in CELLS if cell % 8 in (0, 7))
CENTRE = squares(10, 11, 14, 15, 18, 19, 22, 23)
LONG_DIAGONAL = squares(4, 8, 11, 15, 18, 22, 25, 29)
BRIDGE = np.array([squares(1, 3), squares(30, 32)], np.uint64)
HOLE, CORK = np.array([squares(28), squares(5)], np.uint64), np.array([squares(32), squares(1)], np.uint64)
FILES = np.array([ROWS[::2].sum(), ROWS[1::2].sum()], np.uint64)  # those that begin in the player's home row
STEP_MASK = np.array(  # departure and arrival of steps 0 to 255
    [
        set_of((cell, cell + step)) if cell in CELLS and cell + step in CELLS else ZERO
        for step in STEPS.tolist()
        for cell in range(64)
    ],
    np.uint64,
)


def action_name(action: int) -> str:
    cell, step = action % 64, int(STEPS[action // 64 % DIRECTIONS])
    over, to = cell + step, cell + 2 * step if action >= JUMPS else cell + step
    if not {cell, over, to} <= set(CELLS):
        return ""
    return f"{CELLS.index(cell) + 1}{'x' if action >= JUMPS else '-'}{CELLS.index(to) + 1}"


def policy_entry(action: int, player: int) -> int:
    """On 16 planes of the dark squares as that player sees them. The last 8 are for departures from light squares, never legal."""
    plane, cell = divmod(action, 64)
    if player == 1:
        plane, cell = plane ^ 3, 63 - cell
    return 32 * (plane if cell in CELLS else 8 + plane) + cell // 2


# ── moves ──


def shifted(mask: Bits, direction: int) -> Bits:
    """All squares of `mask`, moved one step."""
    if direction == 0:
        return mask >> U(9) & DARK
    if direction == 1:
        return mask >> U(7) & DARK
    if direction == 2:
        return mask << U(7) & DARK
    return mask << U(9) & DARK


def empty(state: GameState) -> Bits:
    return DARK & ~(state.pieces[0] | state.pieces[1])


def movers(state: GameState, player: int, direction: int) -> Bits:
    """The pieces that may move that way: men only forward, which is down for black (0) and up for white (1)."""
    own = state.pieces[player]
    return own if direction >> 1 != player else own & state.kings


def steppers(state: GameState, player: int, direction: int) -> Bits:
    """The pieces that can step that way."""
    return movers(state, player, direction) & shifted(empty(state), 3 - direction)


def jumpers(state: GameState, player: int, direction: int) -> Bits:
    """The pieces that can jump that way."""
    over = state.pieces[1 - player] & shifted(empty(state), 3 - direction)
    return movers(state, player, direction) & shifted(over, 3 - direction)


def all_steppers(state: GameState, player: int) -> Bits:
    found = ZERO
    for direction in range(DIRECTIONS):
        found |= steppers(state, player, direction)
    return found


def all_jumpers(state: GameState, player: int) -> Bits:
    found = ZERO
    for direction in range(DIRECTIONS):
        found |= jumpers(state, player, direction)
    return found


def can_move(state: GameState) -> bool:
    return all_steppers(state, state.mover) | all_jumpers(state, state.mover) != ZERO


# ── endgames: at most three pieces in all, numbered by where the pieces of each kind stand ──

KINDS = 4  # black men, black kings, white men, white kings
PLACES = np.array([28, 32, 28, 32])  # squares that a kind may stand on: men never stand on their last row
FIRST_PLACE = np.array([0, 0, 4, 0])  # the first of them, counted from 0
WAYS = np.array([[comb(int(places), count) for count in range(3)] for places in PLACES])  # [kind, count]
COUNTS = np.array(  # [class, kind], fewer pieces first, then fewer men: jumps and crownings lead to earlier ones
    sorted(
        [
            counts
            for counts in np.ndindex(3, 3, 3, 3)
            if sum(counts) <= 3 and counts[0] + counts[1] > 0 and counts[2] + counts[3] > 0
        ],
        key=lambda counts: (sum(counts), counts[0] + counts[2], counts),
    )
)
SIZES = [2 * int(np.prod([WAYS[kind, count] for kind, count in enumerate(counts)])) for counts in COUNTS.tolist()]
STARTS = np.cumsum([0, *SIZES])  # the first index of each class, and the end
CLASS_OF = np.full(3**KINDS, -1)  # by the counts as digits to the base 3
for _class, _counts in enumerate(COUNTS.tolist()):
    CLASS_OF[sum(count * 3 ** (KINDS - 1 - kind) for kind, count in enumerate(_counts))] = _class
CLASS_NAMES = [f"{'K' * bk}{'M' * bm} v {'K' * wk}{'M' * wm}" for bm, bk, wm, wk in COUNTS.tolist()]


# ── text ──

FORM = re.compile(r"([BW]):([BW])([K0-9,]*):([BW])([K0-9,]*)\.?(?: X([0-9]{1,2}))?(?: ([0-9]{1,2}))?")
SQUARE = re.compile(r"(K?)([1-9][0-9]?)")
COLOURS = ("black", "white")


def placed(colour: str, words: str) -> tuple[int, int]:
    """Pieces and kings of one side as bitboards, from `1,2,K3`."""
    player = "BW".index(colour)
    pieces = kings = 0
    for word in words.split(",") if words else []:
        match = SQUARE.fullmatch(word)
        if match is None or int(match[2]) > 32:
            raise ValueError(f"expected squares from 1 to 32, with K for kings, got '{word}' in '{colour}{words}'")
        bit = 1 << CELLS[int(match[2]) - 1]
        if pieces & bit:
            raise ValueError(f"expected each square once, got {match[2]} twice")
        if not match[1] and bit & int(LAST[player]):
            raise ValueError(f"expected only kings on the last row, got a {COLOURS[player]} man on {match[2]}")
        pieces |= bit
        kings |= bit if match[1] else 0
    if pieces.bit_count() > 12:
        raise ValueError(f"expected at most 12 {COLOURS[player]} pieces, got {pieces.bit_count()}")
    return pieces, kings


def game() -> Rules:
    State = np.dtype(
        [
            ("pieces", np.uint64, 2),  # men and kings of each player
            ("kings", np.uint64),  # of both
            ("mover", np.int8),
            ("jumper", np.int8),  # the cell of the piece that must jump again, or -1
            ("quiet", np.uint8),  # plies since the last jump or move of a man, up to LIMIT
            ("repeated", np.uint8),  # whether the position stands for the third time
            ("recorded", np.uint8),  # how much of `trail` is in use
            ("trail", np.uint8, LIMIT),  # the steps of kings since the last action that was something else
        ]
    )

    def initial(state: GameState) -> None:
        state.pieces[0] = ROWS[0] | ROWS[1] | ROWS[2]
        state.pieces[1] = ROWS[5] | ROWS[6] | ROWS[7]
        state.jumper = -1

    def to_move(state: GameState) -> int:
        return state.mover

    def able(state: GameState, plane: int) -> Bits:
        """The mover's pieces that can step (planes 0 to 3) or jump (4 to 7) that way; between jumps of one turn only one can."""
        if plane < DIRECTIONS:
            return steppers(state, state.mover, plane)
        found = jumpers(state, state.mover, plane - DIRECTIONS)
        return found if state.jumper < 0 else found & (ONE << U(state.jumper))

    def jump_actions(state: GameState, actions: Actions) -> int:
        n = 0
        for plane in range(DIRECTIONS, 2 * DIRECTIONS):
            n = list_members(actions, n, able(state, plane), 64 * plane)
        return n

    def legal_actions(state: GameState, actions: Actions) -> int:
        n = jump_actions(state, actions)
        if n == 0:
            for plane in range(DIRECTIONS):
                n = list_members(actions, n, able(state, plane), 64 * plane)
        return n

    def random_action(state: GameState, actions: Actions, rng: Rng) -> int:
        """Counts the pieces of each plane instead of listing their actions."""
        plane, n = DIRECTIONS, 0
        for jump in range(DIRECTIONS, 2 * DIRECTIONS):
            n += popcount(able(state, jump))
        if n == 0:
            plane = 0
            for step in range(DIRECTIONS):
                n += popcount(able(state, step))
        left = np.int64(below(rng, n))
        found = able(state, plane)
        while left >= popcount(found):
            left -= popcount(found)
            plane += 1
            found = able(state, plane)
        return 64 * plane + nth_member(found, left)

    def result(state: GameState, action: int) -> None:
        mover, cell, step = state.mover, action & 63, STEPS[action >> 6 & 3]
        origin, target = ONE << U(cell), ONE << U(cell + step)
        is_jump, is_king = action >= JUMPS, state.kings & origin != ZERO
        if is_jump:
            state.pieces[1 - mover] ^= target
            state.kings &= ~target
            target = ONE << U(cell + 2 * step)
        is_crowned = not is_king and target & LAST[mover] != ZERO
        state.pieces[mover] ^= origin | target
        if is_king:
            state.kings ^= origin | target
        elif is_crowned:
            state.kings |= target

        if is_king and not is_jump:
            if state.quiet < LIMIT:  # only perft plays beyond; nothing is counted there
                state.trail[state.recorded] = action
                state.recorded += 1
                state.quiet += 1
            state.repeated = stood_earlier(state, int(state.recorded), 2) == 2
        else:
            state.quiet = state.recorded = state.repeated = 0
        state.jumper = -1
        if is_jump and not is_crowned and all_jumpers(state, mover) & target:
            state.jumper = cell + 2 * step
        else:
            state.mover = 1 - mover

    def stood_earlier(state: GameState, ply: int, enough: int) -> int:
        """How often the position behind the trail's first `ply` steps stood earlier on it, up to `enough`.

        Goes back along the trail: a position is the same where each side's steps from there on cancel out.
        """
        found = 0
        latest, earlier = ZERO, ZERO  # of the side that moved last, of the other
        while ply >= 2 and found < enough:
            latest ^= STEP_MASK[state.trail[ply - 1]]
            earlier ^= STEP_MASK[state.trail[ply - 2]]
            ply -= 2
            if latest | earlier == ZERO:
                found += 1
        return found

    def plies_to_draw(state: GameState) -> int:
        """None where a position on the trail has stood twice."""
        for last in range(int(state.recorded), 3, -1):
            if stood_earlier(state, last, 1):
                return 0
        return LIMIT - int(state.quiet)

    def is_terminal(state: GameState) -> bool:
        return state.quiet >= LIMIT or state.repeated != 0 or not can_move(state)

    def utility(state: GameState, player: int) -> float:
        if can_move(state):
            return 0.0
        return -1.0 if player == state.mover else 1.0

    def key(state: GameState) -> Bits:
        turn = U(2 * (int(state.jumper) + 1) + int(state.mover))
        return mix(mix(mix(mix(state.pieces[0]) ^ state.pieces[1]) ^ state.kings) ^ turn)

    def gain(state: GameState, action: int) -> float:
        """Men taken count 1, kings 1.5, crowning 0.5."""
        cell, step = action & 63, STEPS[action >> 6 & 3]
        value, to = 0.0, cell + step
        if action >= JUMPS:
            value = 1.5 if state.kings & (ONE << U(to)) else 1.0
            to += step
        is_man = state.kings & (ONE << U(cell)) == ZERO
        return value + 0.5 if is_man and LAST[state.mover] & (ONE << U(to)) else value

    def tactical_actions(state: GameState, actions: Actions) -> int:
        n = jump_actions(state, actions)
        if n == 0:
            men = ~state.kings & NEXT_TO_LAST[state.mover]
            for plane in range(DIRECTIONS):
                n = list_members(actions, n, able(state, plane) & men, 64 * plane)
        return n

    def null_result(state: GameState) -> bool:
        """Where nothing is to be taken and the other side can move. Repetitions don't reach back across a pass."""
        if all_jumpers(state, state.mover):
            return False
        state.mover = 1 - state.mover
        if not can_move(state):
            state.mover = 1 - state.mover
            return False
        state.recorded = state.repeated = 0
        return True

    def observe(state: GameState, player: int, planes: Planes) -> None:
        """The last plane marks every other row: where the neighbours of a square lie depends on its row."""
        for cell in CELL:
            bit = ONE << U(cell)
            seen = cell if player == 0 else 63 - cell
            row, column = seen >> 3, (seen & 7) >> 1
            is_king = int(state.kings & bit != ZERO)
            if state.pieces[player] & bit:
                planes[is_king, row, column] = 1
            elif state.pieces[1 - player] & bit:
                planes[2 + is_king, row, column] = 1
            if cell == state.jumper:
                planes[4, row, column] = 1
        planes[5, :, :] = int(state.quiet) / LIMIT
        planes[6, ::2, :] = 1

    def features(state: GameState, player: int, values: Features) -> None:
        kings, free = state.kings, empty(state)
        for seat in range(2):
            sign = 1 if seat == player else -1
            own, other = state.pieces[seat], state.pieces[1 - seat]
            own_kings, men, other_men = own & kings, own & ~kings, other & ~kings
            forward = 2 if seat == 0 else 0  # that direction and the next
            values[0] += sign * popcount(men)
            values[1] += sign * popcount(own_kings)
            values[2] += sign * popcount(men & HOME[seat])
            values[3] += sign * int(men & BRIDGE[seat] == BRIDGE[seat])
            values[4] += sign * int(men & HOLE[seat] != ZERO and other_men & CORK[seat] != ZERO)
            values[5] += sign * popcount(men & CENTRE)
            values[6] += sign * popcount(own_kings & CENTRE)
            values[7] += sign * popcount(own & EDGE)
            values[8] += sign * popcount(own_kings & LONG_DIAGONAL)
            for row in range(1, 7):
                values[9] += sign * popcount(men & ROWS[row]) * (row if seat == 0 else 7 - row)
            movable, exposed, beside = ZERO, ZERO, ZERO
            for direction in range(DIRECTIONS):
                ready = steppers(state, seat, direction)
                values[10] += sign * popcount(ready)
                movable |= ready | jumpers(state, seat, direction)
                attacked = shifted(movers(state, 1 - seat, direction), direction)
                exposed |= own & attacked & shifted(free, 3 - direction)
                beside |= shifted(other, direction)
            values[11] += sign * popcount(men & ~movable)
            values[12] += sign * popcount(exposed)
            values[13] += sign * popcount(men & (shifted(own, forward) | shifted(own, forward + 1)))
            way = free & LAST[seat]
            for _ in range(6):  # free squares on which nothing can take a man before it is crowned
                way |= free & ~beside & (shifted(way, 3 - forward) | shifted(way, 2 - forward))
            values[14] += sign * popcount(men & (shifted(way, 3 - forward) | shifted(way, 2 - forward)))
        mover = state.mover
        holder = mover if popcount(FILES[mover] & ~free) & 1 else 1 - mover
        values[15] = 1 if holder == player else -1
        values[16] = 1 if mover == player else -1

    def endgame_index(state: GameState) -> int:
        if state.jumper >= 0 or popcount(state.pieces[0] | state.pieces[1]) > 3:
            return -1
        code, number = 0, 0
        for kind in range(KINDS):
            mask = state.pieces[kind >> 1] & (state.kings if kind & 1 else ~state.kings)
            count = popcount(mask)
            if count > 2:
                return -1
            rank = 0
            for nth in range(count):
                place = (lowest_bit(mask) >> 1) - FIRST_PLACE[kind]
                rank += place if nth == 0 else place * (place - 1) // 2
                mask &= mask - ONE
            code = 3 * code + count
            number = number * WAYS[kind, count] + rank
        which = CLASS_OF[code]
        return STARTS[which] + 2 * number + state.mover if which >= 0 else -1

    def endgame_position(state: GameState, index: int) -> bool:
        if index < 0 or index >= STARTS[len(STARTS) - 1]:
            return False
        which = 0
        while index >= STARTS[which + 1]:
            which += 1
        number = (index - STARTS[which]) >> 1
        for kind in range(KINDS - 1, -1, -1):
            count = COUNTS[which, kind]
            rank = number % WAYS[kind, count]
            number //= WAYS[kind, count]
            for nth in range(count, 0, -1):
                place = rank
                if nth == 2:
                    place = 1
                    while place * (place + 1) // 2 <= rank:
                        place += 1
                    rank -= place * (place - 1) // 2
                bit = ONE << U(CELL[place + FIRST_PLACE[kind]])
                if (state.pieces[0] | state.pieces[1]) & bit:
                    return False
                state.pieces[kind >> 1] |= bit
                if kind & 1:
                    state.kings |= bit
        state.mover = (index - STARTS[which]) & 1
        state.jumper = -1
        return True

    def mark(state: GameState, square: int) -> str:
        """Of a square from 0: b, w, B and W (kings), or ''."""
        bit = 1 << CELLS[square]
        player = next((player for player in (0, 1) if int(state.pieces[player]) & bit), None)
        return "" if player is None else ("BW" if int(state.kings) & bit else "bw")[player]

    def turn(state: GameState) -> str:
        mover = COLOURS[state.mover]
        words = f"{mover} jumps on from {CELLS.index(state.jumper) + 1}" if state.jumper >= 0 else f"{mover} to move"
        return f"{words}, {state.quiet} of {LIMIT} plies to a draw" if state.quiet else words

    def diagram(state: GameState) -> Diagram:
        cells = [[""] * 8 for _ in range(8)]
        for square, cell in enumerate(CELLS):
            cells[cell // 8][cell % 8] = mark(state, square)
        symbols = {"b": "black disc", "B": "black crowned disc", "w": "white disc", "W": "white crowned disc"}
        numbers = [str(4 * row + 1) for row in range(8)]  # of each row's first square
        return Diagram(cells, symbols, "checkered", numbers, note=turn(state))

    def render(state: GameState) -> str:
        lines = []
        for row in range(8):
            marks = ["  "] * 8
            for square in range(4 * row, 4 * row + 4):
                marks[CELLS[square] % 8] = f"{mark(state, square) or square + 1!s:>2}"
            lines.append(f"{' '.join(marks)}   {4 * row + 1}-{4 * row + 4}")
        return "\n".join([*lines, turn(state)])

    def text(state: GameState) -> str:
        sides = []
        for player in (1, 0):
            held, kings = int(state.pieces[player]), int(state.kings)
            names = [f"{'K' if kings >> CELLS[i] & 1 else ''}{i + 1}" for i in range(32) if held >> CELLS[i] & 1]
            sides.append("BW"[player] + ",".join(names))
        jump = f" x{CELLS.index(state.jumper) + 1}" if state.jumper >= 0 else ""
        return f"{'BW'[state.mover]}:{':'.join(sides)}{jump}{f' {state.quiet}' if state.quiet else ''}"

    def parse(state: GameState, text: str) -> None:
        match = FORM.fullmatch(text.upper())
        if match is None:
            raise ValueError(
                "expected who moves and each side's squares, as in B:W21,22,K30:B1,2,K3 (then ' x15' for a piece on 15 that must jump "
                f"on, or ' 12' for so many plies without a jump or a move of a man), got '{text}'"
            )
        if match[2] == match[4]:
            raise ValueError(
                f"expected white's squares (W…) and black's (B…), got {COLOURS['BW'.index(match[2])]}'s twice"
            )
        sides = {match[2]: placed(match[2], match[3]), match[4]: placed(match[4], match[5])}
        (black, black_kings), (white, white_kings) = sides["B"], sides["W"]
        if black & white:
            both = (square for square, cell in enumerate(CELLS, 1) if (black & white) >> cell & 1)
            raise ValueError(f"expected each square once, got {next(both)} for black and for white")
        mover = "BW".index(match[1])
        if not (black, white)[1 - mover]:
            last = COLOURS[1 - mover]
            raise ValueError(
                f"expected at least one {last} piece, for {COLOURS[mover]} is to move and {last} moved last, got none"
            )
        kings = black_kings | white_kings
        quiet = int(match[7] or 0)
        without = "plies without a jump or a move of a man"
        if quiet > LIMIT:
            raise ValueError(f"expected at most {LIMIT} {without}, which draw the game, got {quiet}")
        if quiet and not kings:
            raise ValueError(f"expected a king, the only piece that can have made {quiet} {without}, got none")
        if quiet and match[6]:
            raise ValueError(
                f"expected x{match[6]} or {quiet} behind the squares, not both: who has just jumped begins the count anew"
            )
        state.pieces[0], state.pieces[1], state.kings = U(black), U(white), U(kings)
        state.mover, state.jumper, state.quiet = mover, -1, quiet
        if match[6]:
            square = int(match[6])
            bit = U(1 << CELLS[square - 1]) if 1 <= square <= 32 else ZERO
            arrived = ZERO
            for direction in range(DIRECTIONS):
                way = shifted(shifted(empty(state), direction) & empty(state), direction)
                arrived |= movers(state, mover, direction) & way
            why = ""
            if not state.pieces[mover] & bit:
                why = f"no {COLOURS[mover]} piece stands there"
            elif popcount(state.pieces[1 - mover]) == 12:
                why = f"no {COLOURS[1 - mover]} piece has been taken"
            elif not all_jumpers(state, mover) & bit:
                why = "it has nothing to jump over"
            elif not arrived & bit:
                why = "it can't have come there by a jump"
            if why:
                raise ValueError(
                    f"expected a {COLOURS[mover]} piece that has jumped and can jump on, got {square}: {why}"
                )
            state.jumper = CELLS[square - 1]

    return Rules(
        State,
        initial,
        to_move,
        legal_actions,
        result,
        is_terminal,
        utility,
        players=2,
        actions=8 * 64,
        # The men of a side have 4·7 + 4·6 + 4·5 rows to go and at most 23 pieces are taken: 167 jumps and moves of men
        # at most. One of them comes first; up to 79 other plies follow each, 80 the last.
        max_plies=167 * LIMIT + 1,
        max_legal=42,  # twelve kings with room to step; jumps are fewer
        history=["quiet", "repeated", "recorded", "trail"],
        observe=observe,
        observation=(7, 8, 4),
        action_view=np.array([[policy_entry(action, player) for action in range(8 * 64)] for player in range(2)]),
        policy_planes=16,
        key=key,
        gain=gain,
        tactical_actions=tactical_actions,
        null_result=null_result,
        random_action=random_action,
        features=features,
        feature_names=[
            "men",
            "kings",
            "back row",
            "bridge",
            "dog hole",
            "men in the centre",
            "kings in the centre",
            "edge",
            "kings on the long diagonal",
            "advancement",
            "mobility",
            "stuck men",
            "exposed",
            "supported men",
            "runaway men",
            "the move",
            "to move",
        ],
        feature_weights=[1.0, 1.7, 0.2, 0.3, -0.4, 0.0, 0.3, -0.1, 0.2, 0.06, 0.01, 0.0, -0.5, 0.0, 0.3, 0.0, 0.15],
        weight_unit=0.35,
        material=["men", "kings"],
        endgames=list(zip(CLASS_NAMES, SIZES, strict=True)),
        endgame_index=endgame_index,
        endgame_position=endgame_position,
        plies_to_draw=plies_to_draw,
        names=[action_name(action) for action in range(8 * 64)],
        render=render,
        diagram=diagram,
        text=text,
        parse=parse,
    )
