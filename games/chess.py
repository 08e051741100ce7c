"""Chess. Actions are written as in UCI: `e2e4`, `e1g1` (castling), `e7e8q` (promotion).

White is player 0. Checkmate wins. Drawn are stalemate, 100 plies without capture or pawn move (unless the last one
mates), a position that occurs for the third time, and material that cannot mate: bare kings, one knight or bishop
against a bare king, and bishops that all stand on squares of one colour. All draws are automatic; nobody has to claim.

Bitboards: square (file, rank) is bit 8·rank + file.

    8  56 57 58 59 60 61 62 63
    7  48 49 50 51 52 53 54 55
    6  40 41 42 43 44 45 46 47
    5  32 33 34 35 36 37 38 39
    4  24 25 26 27 28 29 30 31
    3  16 17 18 19 20 21 22 23
    2   8  9 10 11 12 13 14 15
    1   0  1  2  3  4  5  6  7
        a  b  c  d  e  f  g  h

An action id is 64·plane + the square that is left:

    planes  0-55   7·direction + distance - 1, as a queen moves: N NE E SE S SW W NW, 1 to 7 squares (castling: two)
    planes 56-63   the knight's jumps, clockwise from one file right and two ranks up
    planes 64-75   promotions: 64 + 4·(file step + 1) + (queen, rook, bishop, knight: 0 to 3)

Black sees the board upside down, and its policy the actions with it, so that both players' pawns move up.

Positions are written in FEN. The en passant square is there only where an en passant capture is legal: only then does
it make a difference to the possible moves, which is what repetition is about. FEN knows no earlier positions: one that
is read from text counts as its own first occurrence.
"""

import re
from typing import Any

import numpy as np

from base.bits import U, highest_bit, lowest_bit, popcount
from base.seeds import mix
from games import Rules

WHITE, BLACK = 0, 1
PAWN, KNIGHT, BISHOP, ROOK, QUEEN, KING = range(6)
LETTERS = "PNBRQK"
SQUARES = [file + rank for rank in "12345678" for file in "abcdefgh"]
FIFTY_MOVES = 100  # plies

State = np.dtype(
    [
        ("kinds", np.uint64, 6),  # pawns, knights, bishops, rooks, queens, kings of both colours
        ("colours", np.uint64, 2),  # white's, black's
        ("key", np.uint64),  # kept up to date move by move
        ("mover", np.uint8),
        ("castling", np.uint8),  # 1, 2: white may still castle to the king's, queen's side; 4, 8: black
        ("en_passant", np.uint8),  # where a pawn may be captured in passing, if it legally may; else 0
        ("clock", np.uint8),  # plies since the last capture or pawn move; stays at FIFTY_MOVES
        ("first", np.uint8),  # keys[first:clock] are the earlier positions that can still occur again
        ("repetitions", np.uint8),  # earlier occurrences of this position
        ("move", np.uint16),  # FEN's number of the move
        ("keys", np.uint64, FIFTY_MOVES),
    ]
)
LAST_NUMBER = 9999  # `move` stays there; no game from the start gets near

# ── the board's geometry, as tables ──────────────────────────────────────────────────────────────────────────────────

ZERO, ONE, EIGHT, ALL = U(0), U(1), U(8), U(0xFFFFFFFFFFFFFFFF)
COMPASS = ((0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1), (-1, 0), (-1, 1))
JUMPS = ((1, 2), (2, 1), (2, -1), (1, -2), (-1, -2), (-2, -1), (-2, 1), (-1, 2))


def walk(square: int, step: tuple[int, int], most: int = 7) -> list[int]:
    """The squares that repeated steps lead to, as far as the board goes."""
    file, rank = square % 8, square // 8
    found = []
    for distance in range(1, most + 1):
        to_file, to_rank = file + distance * step[0], rank + distance * step[1]
        if 0 <= to_file < 8 and 0 <= to_rank < 8:
            found.append(8 * to_rank + to_file)
    return found


def board_of(squares: Any) -> int:
    return sum(1 << square for square in squares)


def leaps(steps: Any) -> Any:
    """[64]: the squares one step away."""
    return np.array([board_of(to for step in steps for to in walk(square, step, 1)) for square in range(64)], np.uint64)


FILE = np.array([0x0101010101010101 << file for file in range(8)], np.uint64)
RANK = np.array([0xFF << 8 * rank for rank in range(8)], np.uint64)
NOT_A, NOT_H = ~FILE[0], ~FILE[7]
LAST_RANKS = RANK[0] | RANK[7]
LIGHT = U(0x55AA55AA55AA55AA)
CENTRE = U(board_of(SQUARES.index(name) for name in ("d4", "e4", "d5", "e5")))
KING_MOVES, KNIGHT_MOVES = leaps(COMPASS), leaps(JUMPS)
PAWN_CAPTURES = np.array([leaps([(-1, 1), (1, 1)]), leaps([(-1, -1), (1, -1)])])  # [colour, square]

# RAYS[square, axis, 0 and 1]: the squares below and above on a file, rank, diagonal, antidiagonal.
AXES = (((0, -1), (0, 1)), ((-1, 0), (1, 0)), ((-1, -1), (1, 1)), ((1, -1), (-1, 1)))
RAYS = np.array([[[board_of(walk(s, step)) for step in axis] for axis in AXES] for s in range(64)], np.uint64)
ROOK_LINES, BISHOP_LINES = (np.bitwise_or.reduce(RAYS[:, axes], axis=(1, 2)) for axes in ((0, 1), (2, 3)))

BETWEEN = np.zeros((64, 64), np.uint64)  # squares strictly between two on one line, else none
LINE = np.zeros((64, 64), np.uint64)  # the whole line through two squares, else none
MOVE = np.full((64, 64), -1, np.int32)  # the action from one square to another, promotions apart
for _square in range(64):
    for _direction, _step in enumerate(COMPASS):
        _path = walk(_square, _step)
        for _distance, _to in enumerate(_path):
            BETWEEN[_square, _to] = board_of(_path[:_distance])
            LINE[_square, _to] = board_of([*_path, _square, *walk(_square, (-_step[0], -_step[1]))])
            MOVE[_square, _to] = (7 * _direction + _distance) * 64 + _square
    for _jump, _step in enumerate(JUMPS):
        for _to in walk(_square, _step, 1):
            MOVE[_square, _to] = (56 + _jump) * 64 + _square
FROM_CENTRE = np.array([max(abs(2 * (s % 8) - 7), abs(2 * (s // 8) - 7)) // 2 for s in range(64)])  # 0 to 3
DISTANCE = np.array([[max(abs(a % 8 - b % 8), abs(a // 8 - b // 8)) for b in range(64)] for a in range(64)], np.int64)

PLANES, ACTIONS = 76, 76 * 64
PROMOTED = np.array([QUEEN, ROOK, BISHOP, KNIGHT])
# OFFSET[colour, plane]: from the square that is left to the one that is reached.
OFFSET = np.array(
    [
        [distance * (8 * rank + file) for file, rank in COMPASS for distance in range(1, 8)]
        + [8 * rank + file for file, rank in JUMPS]
        + [forward + file for file in (-1, 0, 1) for _ in PROMOTED]
        for forward in (8, -8)
    ]
)
# The planes of pawns' steps, as ids, and the steps of their captures, by colour.
PUSH, DOUBLE_PUSH = np.array([0, 28]) * 64, np.array([1, 29]) * 64
CAPTURE_LEFT, CAPTURE_RIGHT = np.array([49, 35]) * 64, np.array([7, 21]) * 64
LEFT_STEP, RIGHT_STEP = np.array([7, -9]), np.array([9, -7])

RIGHTS_KEPT = np.full(64, 15, np.uint8)  # what a move from or to a square leaves of the castling rights
for _name, _rights in (("a1", 2), ("e1", 3), ("h1", 1), ("a8", 8), ("e8", 12), ("h8", 4)):
    RIGHTS_KEPT[SQUARES.index(_name)] = 15 - _rights

with np.errstate(over="ignore"):
    _words = mix(np.arange(1, 12 * 64 + 16 + 64 + 2, dtype=np.uint64) * U(0x9E3779B97F4A7C15))
PIECE_KEY = _words[: 12 * 64].reshape(2, 6, 64)
CASTLING_KEY = _words[12 * 64 : 12 * 64 + 16]
EN_PASSANT_KEY = _words[12 * 64 + 16 : 12 * 64 + 80].copy()
EN_PASSANT_KEY[0] = 0
BLACK_KEY = _words[-1]


# ── attacks ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def slide(square: int, axis: int, occupied: Any) -> Any:
    """Where a slider gets to on one line: up to the nearest obstruction on either side, that one included."""
    below, above = RAYS[square, axis, 0], RAYS[square, axis, 1]
    ahead = above & occupied
    behind = (below & occupied) | ONE
    return (below | above) & (ahead ^ (ahead - ONE)) & (ALL << U(highest_bit(behind)))


def rook_attacks(square: int, occupied: Any) -> Any:
    return slide(square, 0, occupied) | slide(square, 1, occupied)


def bishop_attacks(square: int, occupied: Any) -> Any:
    return slide(square, 2, occupied) | slide(square, 3, occupied)


def piece_attacks(kind: int, square: int, occupied: Any) -> Any:
    """Of a knight, bishop, rook or queen."""
    if kind == KNIGHT:
        return KNIGHT_MOVES[square]
    if kind == BISHOP:
        return bishop_attacks(square, occupied)
    straight = rook_attacks(square, occupied)
    return straight if kind == ROOK else straight | bishop_attacks(square, occupied)


def forward(squares: Any, colour: int) -> Any:
    return squares << EIGHT if colour == WHITE else squares >> EIGHT


def captures_left(pawns: Any, colour: int) -> Any:
    return (pawns & NOT_A) << U(7) if colour == WHITE else (pawns & NOT_A) >> U(9)


def captures_right(pawns: Any, colour: int) -> Any:
    return (pawns & NOT_H) << U(9) if colour == WHITE else (pawns & NOT_H) >> U(7)


def is_attacked(state: Any, square: int, colour: int, attackers: Any, occupied: Any) -> bool:
    """Could any of `attackers` take a piece of `colour` on `square`, were the board occupied so?"""
    leapers = PAWN_CAPTURES[colour, square] & state.kinds[PAWN] | KNIGHT_MOVES[square] & state.kinds[KNIGHT]
    if attackers & (leapers | KING_MOVES[square] & state.kinds[KING]):
        return True
    diagonal = attackers & (state.kinds[BISHOP] | state.kinds[QUEEN])
    if BISHOP_LINES[square] & diagonal and bishop_attacks(square, occupied) & diagonal:
        return True
    straight = attackers & (state.kinds[ROOK] | state.kinds[QUEEN])
    return (ROOK_LINES[square] & straight) != ZERO and (rook_attacks(square, occupied) & straight) != ZERO


def king_of(state: Any, colour: int) -> int:
    return lowest_bit(state.kinds[KING] & state.colours[colour])


def in_check(state: Any, colour: int) -> bool:
    own, theirs = state.colours[colour], state.colours[1 - colour]
    return is_attacked(state, king_of(state, colour), colour, theirs, own | theirs)


def screens(state: Any, king: int, attackers: Any, occupied: Any) -> tuple[Any, Any]:
    """The sliders among `attackers` that attack the king's square, and the pieces that alone keep one from it."""
    diagonal, straight = state.kinds[BISHOP] | state.kinds[QUEEN], state.kinds[ROOK] | state.kinds[QUEEN]
    snipers = attackers & (BISHOP_LINES[king] & diagonal | ROOK_LINES[king] & straight)
    checkers, blockers = ZERO, ZERO
    while snipers:
        sniper = lowest_bit(snipers)
        snipers &= snipers - ONE
        between = BETWEEN[king, sniper] & occupied
        if between == ZERO:
            checkers |= ONE << U(sniper)
        elif between & (between - ONE) == ZERO:
            blockers |= between
    return checkers, blockers


def threats(state: Any, king: int, colour: int) -> tuple[Any, Any]:
    """Who gives check to the king of `colour`, and which pieces of either colour alone keep a slider from doing so."""
    attackers = state.colours[1 - colour]
    checkers, blockers = screens(state, king, attackers, state.colours[0] | state.colours[1])
    leapers = KNIGHT_MOVES[king] & state.kinds[KNIGHT] | PAWN_CAPTURES[colour, king] & state.kinds[PAWN]
    return checkers | leapers & attackers, blockers


def may_take_passing(state: Any, origin: int, square: int) -> bool:
    """May the pawn on `origin` take en passant on `square`? Two pawns leave their rank, which may uncover the king."""
    mover = int(state.mover)
    taken = ONE << U(square ^ 8)
    occupied = (state.colours[0] | state.colours[1]) ^ (ONE << U(origin)) ^ (ONE << U(square)) ^ taken
    return not is_attacked(state, king_of(state, mover), mover, state.colours[1 - mover] ^ taken, occupied)


# ── moves ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def list_steps(actions: Any, n: int, targets: Any, base: int) -> int:
    """Pawns that all make the same step: `base` + target is the action."""
    while targets:
        actions[n] = base + lowest_bit(targets)
        targets &= targets - ONE
        n += 1
    return n


def list_promotions(actions: Any, n: int, targets: Any, step: int, side: int) -> int:
    while targets:
        origin = lowest_bit(targets) - step
        targets &= targets - ONE
        for i in range(4):
            actions[n] = (64 + 4 * side + i) * 64 + origin
            n += 1
    return n


def list_pawns(
    actions: Any, n: int, colour: int, pawns: Any, empty: Any, theirs: Any, singles: Any, doubles: Any
) -> int:
    """`theirs`: what may be captured; `singles`, `doubles`: where one and two steps may lead. En passant apart."""
    step = 8 if colour == WHITE else -8
    one = forward(pawns, colour) & empty
    two = forward(one & (RANK[2] if colour == WHITE else RANK[5]), colour) & empty & doubles
    one &= singles
    left, right = captures_left(pawns, colour) & theirs, captures_right(pawns, colour) & theirs
    left_step, right_step = LEFT_STEP[colour], RIGHT_STEP[colour]
    if (one | left | right) & LAST_RANKS:
        n = list_promotions(actions, n, left & LAST_RANKS, left_step, 0)
        n = list_promotions(actions, n, one & LAST_RANKS, step, 1)
        n = list_promotions(actions, n, right & LAST_RANKS, right_step, 2)
        one, left, right = one & ~LAST_RANKS, left & ~LAST_RANKS, right & ~LAST_RANKS
    n = list_steps(actions, n, left, CAPTURE_LEFT[colour] - left_step)
    n = list_steps(actions, n, right, CAPTURE_RIGHT[colour] - right_step)
    n = list_steps(actions, n, one, PUSH[colour] - step)
    return list_steps(actions, n, two, DOUBLE_PUSH[colour] - 2 * step)


def may_castle(state: Any, colour: int, side: int, occupied: Any) -> bool:
    """`side` 0: the king's, 1: the queen's. The king's own square is not looked at."""
    if int(state.castling) >> (2 * colour + side) & 1 == 0:
        return False
    home = 56 * colour
    path = U(0x60 if side == 0 else 0x0E) << U(home)
    if occupied & path:
        return False
    theirs = state.colours[1 - colour]
    over, to = (home + 5, home + 6) if side == 0 else (home + 3, home + 2)
    over_attacked = is_attacked(state, over, colour, theirs, occupied)
    return not over_attacked and not is_attacked(state, to, colour, theirs, occupied)


def castling_checks(colour: int, side: int, their_king: int, occupied: Any) -> bool:
    """Does the rook attack the other king after castling?"""
    home = 56 * colour
    gone, rook = (U(0x90), home + 5) if side == 0 else (U(0x11), home + 3)
    left = occupied & ~(gone << U(home))
    king = ONE << U(home + (6 if side == 0 else 2))
    return (rook_attacks(rook, left | king) >> U(their_king)) & ONE != ZERO


def legal_actions(state: Any, actions: Any, tactical: bool = False) -> int:
    """All legal moves, or of these the captures, promotions and checks."""
    mover = int(state.mover)
    own, theirs = state.colours[mover], state.colours[1 - mover]
    occupied = own | theirs
    king, their_king = king_of(state, mover), king_of(state, 1 - mover)
    checkers, blockers = threats(state, king, mover)
    pinned = blockers & own
    discoverers = (
        screens(state, their_king, own, occupied)[1] & own if tactical else ZERO
    )  # check by leaving their line

    n = 0
    left = KING_MOVES[king] & ~own
    without_king = occupied ^ (ONE << U(king))
    if tactical:
        left &= theirs | (~LINE[their_king, king] if discoverers >> U(king) & ONE else ZERO)
    while left:
        to = lowest_bit(left)
        left &= left - ONE
        if not is_attacked(state, to, mover, theirs, without_king):
            actions[n] = MOVE[king, to]
            n += 1
    targets = ~own
    if checkers & (checkers - ONE):
        targets = ZERO  # double check: only the king moves
    elif checkers:
        targets = checkers | BETWEEN[king, lowest_bit(checkers)]
    elif state.castling:
        for side in range(2):
            is_wanted = not tactical or castling_checks(mover, side, their_king, occupied)
            if is_wanted and may_castle(state, mover, side, occupied):
                actions[n] = MOVE[king, king + (2 if side == 0 else -2)]
                n += 1

    pawns = own & state.kinds[PAWN]
    for kind in range(KNIGHT, KING):
        wanted = theirs | piece_attacks(kind, their_king, occupied) if tactical else ALL
        pieces = own & state.kinds[kind]
        while pieces:
            square = lowest_bit(pieces)
            piece = ONE << U(square)
            pieces ^= piece
            reach = piece_attacks(kind, square, occupied) & targets
            if piece & pinned:
                reach &= LINE[king, square]
            reach &= wanted | ~LINE[their_king, square] if piece & discoverers else wanted
            while reach:
                actions[n] = MOVE[square, lowest_bit(reach)]
                reach &= reach - ONE
                n += 1

    singles, doubles = targets, targets
    if tactical:
        off_file = forward(discoverers & pawns & ~FILE[their_king & 7], mover)
        singles &= PAWN_CAPTURES[1 - mover, their_king] | off_file | LAST_RANKS
        doubles &= PAWN_CAPTURES[1 - mover, their_king] | forward(off_file, mover)
    n = list_pawns(actions, n, mover, pawns & ~pinned, ~occupied, theirs & targets, singles, doubles)
    pieces = pawns & pinned
    while pieces:
        square = lowest_bit(pieces)
        pieces &= pieces - ONE
        line = targets & LINE[king, square]
        n = list_pawns(actions, n, mover, ONE << U(square), ~occupied, theirs & line, singles & line, doubles & line)
    if state.en_passant:
        to = int(state.en_passant)
        pieces = pawns & PAWN_CAPTURES[1 - mover, to]
        while pieces:
            square = lowest_bit(pieces)
            pieces &= pieces - ONE
            if may_take_passing(state, square, to):
                actions[n] = MOVE[square, to]
                n += 1
    return n


def tactical_actions(state: Any, actions: Any) -> int:
    listed = legal_actions(state, actions, True)
    n = 0
    for i in range(listed):
        action = int(actions[i])
        if gain(state, action) > 0.0:
            actions[n] = action
            n += 1
    return n


def kind_on(state: Any, square: int) -> int:
    """The kind of the piece that stands there."""
    found = ZERO
    for kind in range(KNIGHT, KING + 1):  # added up rather than looked for: no branch to mispredict
        found += (state.kinds[kind] >> U(square) & ONE) * U(kind)
    return int(found)


def target(state: Any, action: int) -> int:
    return (action & 63) + OFFSET[state.mover, action >> 6]


def result(state: Any, action: int) -> None:
    mover = int(state.mover)
    other = 1 - mover
    origin, to = int(action) & 63, target(state, int(action))
    kind, clock, was = kind_on(state, origin), int(state.clock), int(state.en_passant)
    leaves, arrives = ONE << U(origin), ONE << U(to)
    key = state.key ^ BLACK_KEY ^ EN_PASSANT_KEY[was] ^ CASTLING_KEY[state.castling]
    if clock < FIFTY_MOVES:
        state.keys[clock] = state.key
        clock += 1

    if state.colours[other] & arrives:
        victim = kind_on(state, to)
        state.kinds[victim] ^= arrives
        state.colours[other] ^= arrives
        key ^= PIECE_KEY[other, victim, to]
        clock = 0
    state.kinds[kind] ^= leaves | arrives
    state.colours[mover] ^= leaves | arrives
    key ^= PIECE_KEY[mover, kind, origin] ^ PIECE_KEY[mover, kind, to]
    rights = int(state.castling) & int(RIGHTS_KEPT[origin]) & int(RIGHTS_KEPT[to])
    first = int(state.first)
    if rights != int(state.castling):
        first = clock
    state.castling = rights
    state.en_passant = 0
    state.mover = other
    state.repetitions = 0
    if mover == BLACK and state.move < LAST_NUMBER:
        state.move += 1

    if kind == PAWN:
        clock = 0
        if action >= 64 * 64:
            promoted = PROMOTED[(action >> 6) & 3]
            state.kinds[PAWN] ^= arrives
            state.kinds[promoted] ^= arrives
            key ^= PIECE_KEY[mover, PAWN, to] ^ PIECE_KEY[mover, promoted, to]
        elif was and to == was:
            state.kinds[PAWN] ^= ONE << U(to ^ 8)
            state.colours[other] ^= ONE << U(to ^ 8)
            key ^= PIECE_KEY[other, PAWN, to ^ 8]
        elif to ^ origin == 16:
            passed = (origin + to) // 2
            takers = PAWN_CAPTURES[mover, passed] & state.kinds[PAWN] & state.colours[other]
            while takers:
                if may_take_passing(state, lowest_bit(takers), passed):
                    state.en_passant = passed
                takers &= takers - ONE
    elif kind == KING and abs(to - origin) == 2:
        rook_from, rook_to = (to + 1, to - 1) if to > origin else (to - 2, to + 1)
        rook = (ONE << U(rook_from)) | (ONE << U(rook_to))
        state.kinds[ROOK] ^= rook
        state.colours[mover] ^= rook
        key ^= PIECE_KEY[mover, ROOK, rook_from] ^ PIECE_KEY[mover, ROOK, rook_to]

    key ^= EN_PASSANT_KEY[state.en_passant] ^ CASTLING_KEY[rights]
    state.key = key
    first = min(first, clock)
    state.clock, state.first = clock, first
    earlier = clock - 4
    while earlier >= first:
        if state.keys[earlier] == key:
            state.repetitions += 1
        earlier -= 2


def initial(state: Any) -> None:
    for file, kind in enumerate((ROOK, KNIGHT, BISHOP, QUEEN, KING, BISHOP, KNIGHT, ROOK)):
        state.kinds[kind] |= (ONE << U(file)) | (ONE << U(56 + file))
    state.kinds[PAWN] = RANK[1] | RANK[6]
    state.colours[WHITE], state.colours[BLACK] = RANK[0] | RANK[1], RANK[6] | RANK[7]
    state.castling = 15
    state.move = 1
    state.key = whole_key(state)


def to_move(state: Any) -> int:
    return int(state.mover)


# ── the end ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def can_move(state: Any) -> bool:
    """Is there a legal move? Castling need not be tried: where it is legal, so is the king's step to the same side."""
    mover = int(state.mover)
    own, theirs = state.colours[mover], state.colours[1 - mover]
    occupied = own | theirs
    king = king_of(state, mover)
    checkers, blockers = threats(state, king, mover)
    pinned = blockers & own
    if state.en_passant:
        return True
    if checkers & (checkers - ONE) == ZERO:
        targets = ~own
        if checkers:
            targets = checkers | BETWEEN[king, lowest_bit(checkers)]
        pawns = own & state.kinds[PAWN]
        if pawn_targets(pawns & ~pinned, mover, occupied, theirs) & targets:
            return True
        for kind in range(KNIGHT, KING):
            pieces = own & state.kinds[kind]
            while pieces:
                square = lowest_bit(pieces)
                line = LINE[king, square] if pinned >> U(square) & ONE else ALL
                pieces &= pieces - ONE
                if piece_attacks(kind, square, occupied) & targets & line:
                    return True
        pieces = pawns & pinned
        while pieces:
            square = lowest_bit(pieces)
            pieces &= pieces - ONE
            if pawn_targets(ONE << U(square), mover, occupied, theirs) & targets & LINE[king, square]:
                return True
    left = KING_MOVES[king] & ~own
    without_king = occupied ^ (ONE << U(king))
    while left:
        if not is_attacked(state, lowest_bit(left), mover, theirs, without_king):
            return True
        left &= left - ONE
    return False


def pawn_targets(pawns: Any, colour: int, occupied: Any, theirs: Any) -> Any:
    """Squares that pawns can step to or capture on, en passant apart."""
    one = forward(pawns, colour) & ~occupied
    two = forward(one & (RANK[2] if colour == WHITE else RANK[5]), colour) & ~occupied
    return one | two | (captures_left(pawns, colour) | captures_right(pawns, colour)) & theirs


def is_dead(state: Any) -> bool:
    """Material with which nobody can mate."""
    if state.kinds[PAWN] | state.kinds[ROOK] | state.kinds[QUEEN]:
        return False
    knights, bishops = state.kinds[KNIGHT], state.kinds[BISHOP]
    minors = knights | bishops
    if minors & (minors - ONE) == ZERO:
        return True
    return knights == ZERO and (bishops & LIGHT == ZERO or bishops & ~LIGHT == ZERO)


def is_terminal(state: Any) -> bool:
    return state.clock >= FIFTY_MOVES or state.repetitions >= 2 or is_dead(state) or not can_move(state)


def utility(state: Any, player: int) -> float:
    if can_move(state) or not in_check(state, int(state.mover)):
        return 0.0
    return -1.0 if player == state.mover else 1.0


# ── for search ───────────────────────────────────────────────────────────────────────────────────────────────────────


def key(state: Any) -> Any:
    return state.key


def whole_key(state: Any) -> Any:
    """The key from scratch."""
    found = CASTLING_KEY[state.castling] ^ EN_PASSANT_KEY[state.en_passant]
    if state.mover == BLACK:
        found ^= BLACK_KEY
    for colour in range(2):
        for kind in range(6):
            left = state.kinds[kind] & state.colours[colour]
            while left:
                found ^= PIECE_KEY[colour, kind, lowest_bit(left)]
                left &= left - ONE
    return found


WORTH = np.array([1.0, 3.0, 3.0, 5.0, 9.0, 10.0])  # the king's counts only as an attacker


def gain(state: Any, action: int) -> float:
    """In pawns: what is captured, less a bit of what captures; what a promotion adds; a tenth for a check that neither captures nor
    promotes. Nothing for a capture of less than what captures, on a square that is guarded: mostly it loses material."""
    mover = int(state.mover)
    origin, to = int(action) & 63, target(state, int(action))
    kind = kind_on(state, origin)
    value = 0.0
    if (state.colours[1 - mover] >> U(to)) & ONE:
        worth = WORTH[kind_on(state, to)]
        if worth < WORTH[kind] and kind != KING and is_guarded(state, mover, origin, to):
            return 0.1 if is_quiet_check(state, mover, kind, origin, to) else 0.0
        value = worth - WORTH[kind] / 20
    elif kind == PAWN and (to - origin) & 7 and action < 64 * 64:
        value = 0.95  # en passant
    if action >= 64 * 64:
        value += WORTH[PROMOTED[(int(action) >> 6) & 3]] - 1.0
    if value > 0.0:
        return value
    return 0.1 if is_quiet_check(state, mover, kind, origin, to) else 0.0


def is_guarded(state: Any, mover: int, origin: int, to: int) -> bool:
    """Could the other side take back, pins apart, what the mover plays from `origin` to `to`?"""
    theirs = state.colours[1 - mover] & ~(ONE << U(to))
    occupied = (state.colours[0] | state.colours[1]) & ~(ONE << U(origin))
    return is_attacked(state, to, mover, theirs, occupied)


def is_quiet_check(state: Any, mover: int, kind: int, origin: int, to: int) -> bool:
    """Does a move that promotes nothing, and takes nothing in passing, give check?"""
    their_king = king_of(state, 1 - mover)
    occupied = state.colours[0] | state.colours[1]
    if kind == KING and abs(to - origin) == 2:
        return castling_checks(mover, 0 if to > origin else 1, their_king, occupied)
    arrives = ONE << U(to)
    if kind == PAWN and PAWN_CAPTURES[1 - mover, their_king] & arrives:
        return True
    if kind == KNIGHT and KNIGHT_MOVES[their_king] & arrives:
        return True
    occupied = occupied & ~(ONE << U(origin)) | arrives
    stay = state.colours[mover] & ~(ONE << U(origin))
    diagonal = (state.kinds[BISHOP] | state.kinds[QUEEN]) & stay
    straight = (state.kinds[ROOK] | state.kinds[QUEEN]) & stay
    if kind == BISHOP or kind == QUEEN:
        diagonal |= arrives
    if kind == ROOK or kind == QUEEN:
        straight |= arrives
    if BISHOP_LINES[their_king] & diagonal and bishop_attacks(their_king, occupied) & diagonal:
        return True
    return (ROOK_LINES[their_king] & straight) != ZERO and (rook_attacks(their_king, occupied) & straight) != ZERO


def mover_in_check(state: Any) -> bool:
    return in_check(state, int(state.mover))


def null_result(state: Any) -> bool:
    """Passing is sound out of check, with a piece besides pawns, and where it neither stalemates nor fills the clock.
    No position before it can then occur again."""
    mover, passing = int(state.mover), int(state.en_passant)
    if state.colours[mover] & ~(state.kinds[PAWN] | state.kinds[KING]) == ZERO or in_check(state, mover):
        return False
    if state.clock >= FIFTY_MOVES - 1:
        return False
    state.en_passant = 0
    state.mover = 1 - mover
    if not can_move(state):
        state.en_passant, state.mover = passing, mover
        return False
    state.key ^= BLACK_KEY ^ EN_PASSANT_KEY[passing]
    state.clock += 1
    state.first = state.clock
    state.repetitions = 0
    if mover == BLACK and state.move < LAST_NUMBER:
        state.move += 1
    return True


# ── for the learner ──────────────────────────────────────────────────────────────────────────────────────────────────

OBSERVATION = (19, 8, 8)


def observe(state: Any, player: int, planes: Any) -> None:
    """Own pieces by kind, the other's, castling rights, the en passant square, the clock in [0, 1], seen before."""
    turn = 56 * player
    for seat in range(2):
        colour = seat ^ player
        for kind in range(6):
            left = state.kinds[kind] & state.colours[colour]
            while left:
                square = lowest_bit(left) ^ turn
                left &= left - ONE
                planes[6 * seat + kind, square >> 3, square & 7] = 1
        for side in range(2):
            planes[12 + 2 * seat + side, :, :] = int(state.castling) >> (2 * colour + side) & 1
    if state.en_passant:
        square = int(state.en_passant) ^ turn
        planes[16, square >> 3, square & 7] = 1
    planes[17, :, :] = state.clock / FIFTY_MOVES
    planes[18, :, :] = 1 if state.repetitions else 0


FEATURES = (
    "pawns",
    "knights",
    "bishops",
    "rooks",
    "queens",
    "bishop pair",
    "knight mobility",
    "bishop mobility",
    "rook mobility",
    "queen mobility",
    "centre control",
    "attacks beside their king",
    "pieces near their king",
    "pawn shield",
    "king in the centre",
    "doubled pawns",
    "isolated pawns",
    "passed pawns",
    "passed pawns' advance",
    "rooks on open files",
    "rooks on half-open files",
    "rooks on the seventh",
    "pawn threats",
    "castling rights",
    "to move",
)
MATERIAL_WEIGHTS = (1.0, 3.2, 3.3, 5.0, 9.3, 0.4)
MOBILITY_WEIGHTS = (0.05, 0.05, 0.03, 0.01)
KING_WEIGHTS = (0.03, 0.08, 0.01, 0.1, -0.1)  # centre control, attacks, nearness, shield, king in the centre
PAWN_WEIGHTS = (-0.15, -0.15, 0.2, 0.02)
OTHER_WEIGHTS = (0.25, 0.12, 0.2, 0.3, 0.1, 0.1)
WEIGHTS = (*MATERIAL_WEIGHTS, *MOBILITY_WEIGHTS, *KING_WEIGHTS, *PAWN_WEIGHTS, *OTHER_WEIGHTS)  # in pawns


def fill(pawns: Any, colour: int) -> Any:
    """The squares in front of any pawn, on its file."""
    if colour == WHITE:
        found = pawns << EIGHT
        found |= found << EIGHT
        found |= found << U(16)
        return found | found << U(32)
    found = pawns >> EIGHT
    found |= found >> EIGHT
    found |= found >> U(16)
    return found | found >> U(32)


def beside(squares: Any) -> Any:
    return (squares & NOT_A) >> ONE | (squares & NOT_H) << ONE


def features(state: Any, player: int, values: Any) -> None:
    occupied = state.colours[0] | state.colours[1]
    for colour in range(2):
        sign = 1 if colour == player else -1
        own, theirs = state.colours[colour], state.colours[1 - colour]
        pawns, their_pawns = own & state.kinds[PAWN], theirs & state.kinds[PAWN]
        king, their_king = king_of(state, colour), king_of(state, 1 - colour)
        pawn_attacks = captures_left(pawns, colour) | captures_right(pawns, colour)
        guarded = captures_left(their_pawns, 1 - colour) | captures_right(their_pawns, 1 - colour)
        free, zone = ~own & ~guarded, KING_MOVES[their_king]
        for kind in range(5):
            values[kind] += sign * popcount(own & state.kinds[kind])
        bishops = own & state.kinds[BISHOP]
        if bishops & LIGHT and bishops & ~LIGHT:
            values[5] += sign

        centre = popcount(pawn_attacks & CENTRE) + popcount(pawns & CENTRE)
        assault, nearness = popcount(pawn_attacks & zone), 0
        for kind in range(KNIGHT, KING):
            left = own & state.kinds[kind]
            reach = 0
            while left:
                square = lowest_bit(left)
                left &= left - ONE
                attacks = piece_attacks(kind, square, occupied)
                reach += popcount(attacks & free)
                centre += popcount(attacks & CENTRE)
                assault += popcount(attacks & zone)
                nearness += 7 - DISTANCE[square, their_king]
            values[5 + kind] += sign * reach
        values[10] += sign * centre
        values[11] += sign * assault
        values[12] += sign * nearness

        wall = forward(KING_MOVES[king] | ONE << U(king), colour)
        values[13] += sign * popcount(pawns & wall)
        values[14] += sign * (3 - FROM_CENTRE[king])
        ahead, behind = fill(pawns, colour), fill(pawns, 1 - colour)
        values[15] += sign * popcount(pawns & behind)
        values[16] += sign * popcount(pawns & ~beside(ahead | behind | pawns))
        their_way = fill(their_pawns, 1 - colour)
        passed = pawns & ~(their_way | beside(their_way))
        values[17] += sign * popcount(passed)
        while passed:
            steps = abs((lowest_bit(passed) >> 3) - 7 * colour) - 1
            values[18] += sign * steps * steps
            passed &= passed - ONE
        rooks = own & state.kinds[ROOK] & ~(ahead | behind | pawns)
        closed = their_way | fill(their_pawns, colour) | their_pawns
        values[19] += sign * popcount(rooks & ~closed)
        values[20] += sign * popcount(rooks & closed)
        values[21] += sign * popcount(own & state.kinds[ROOK] & RANK[6 - 5 * colour])
        values[22] += sign * popcount(pawn_attacks & theirs & ~their_pawns)
        values[23] += sign * popcount(U(int(state.castling) >> (2 * colour) & 3))
    values[24] = 1 if player == state.mover else -1


# ── for endgame tables ───────────────────────────────────────────────────────────────────────────────────────────────

# Kings and one piece. Within a class: the piece's colour, who moves, white's king, black's king, the piece's square.
ENDGAME_KINDS = np.array([KNIGHT, BISHOP, ROOK, QUEEN, PAWN])
CLASS_SIZE = 2 * 2 * 64**3


def endgame_index(state: Any) -> int:
    others = (state.colours[0] | state.colours[1]) & ~state.kinds[KING]
    if others == ZERO or others & (others - ONE) or state.castling:
        return -1
    square = lowest_bit(others)
    kind = kind_on(state, square)
    which = 4 if kind == PAWN else kind - 1
    colour = 0 if others & state.colours[WHITE] else 1
    kings = king_of(state, WHITE) * 64 + king_of(state, BLACK)
    return (((which * 2 + colour) * 2 + int(state.mover)) * 4096 + kings) * 64 + square


def endgame_position(state: Any, index: int) -> bool:
    square, black_king, white_king = index & 63, index >> 6 & 63, index >> 12 & 63
    mover, colour, kind = index >> 18 & 1, index >> 19 & 1, ENDGAME_KINDS[index >> 20]
    piece = ONE << U(square)
    kings = (ONE << U(white_king)) | (ONE << U(black_king))
    if white_king == black_king or piece & kings or (KING_MOVES[white_king] >> U(black_king)) & ONE:
        return False
    if kind == PAWN and piece & LAST_RANKS:
        return False
    state.kinds[KING] = kings
    state.kinds[kind] = piece
    state.colours[WHITE], state.colours[BLACK] = ONE << U(white_king), ONE << U(black_king)
    state.colours[colour] |= piece
    state.mover = mover
    state.move = 1
    state.key = whole_key(state)
    return not in_check(state, 1 - mover)


def plies_to_draw(state: Any) -> int:
    """None where a position that can occur again has stood twice."""
    clock, first = int(state.clock), int(state.first)
    for later in range(clock, first + 3, -1):
        key = state.key if later == clock else state.keys[later]
        for earlier in range(later - 4, first - 1, -2):
            if state.keys[earlier] == key:
                return 0
    return FIFTY_MOVES - clock


# ── for people ───────────────────────────────────────────────────────────────────────────────────────────────────────


def action_names() -> list[str]:
    names = [""] * ACTIONS
    for square in range(64):
        for to in range(64):
            if MOVE[square, to] >= 0:
                names[MOVE[square, to]] = SQUARES[square] + SQUARES[to]
    for colour, rank in enumerate((6, 1)):
        for origin in range(8 * rank, 8 * rank + 8):
            for plane in range(64, PLANES):
                to = origin + OFFSET[colour, plane]
                if PAWN_CAPTURES[colour, origin] >> U(to) & ONE or (plane - 64) // 4 == 1:
                    names[64 * plane + origin] = SQUARES[origin] + SQUARES[to] + LETTERS[PROMOTED[plane & 3]].lower()
    return names


def upside_down() -> Any:
    """[players, actions]: black's actions on the board turned to face it."""
    planes = [7 * ((4 - direction) % 8) + distance for direction in range(8) for distance in range(7)]
    planes += [56 + (3 - jump) % 8 for jump in range(8)]
    planes += range(64, PLANES)
    flipped = [64 * planes[action >> 6] + (action & 63 ^ 56) for action in range(ACTIONS)]
    return np.array([range(ACTIONS), flipped])


def piece_on(state: Any, square: int) -> str:
    if not int(state.colours[0] | state.colours[1]) >> square & 1:
        return "."
    letter = LETTERS[kind_on(state, square)]
    return letter if int(state.colours[WHITE]) >> square & 1 else letter.lower()


def rights_text(state: Any) -> str:
    return "".join(letter for i, letter in enumerate("KQkq") if int(state.castling) >> i & 1) or "-"


def render(state: Any) -> str:
    rows = []
    for rank in range(7, -1, -1):
        rows.append(f"{rank + 1}  {' '.join(piece_on(state, 8 * rank + file) for file in range(8))}")
    passing = f", en passant on {SQUARES[state.en_passant]}" if state.en_passant else ""
    mover = "black" if state.mover else "white"
    rows += ["", "   a b c d e f g h", f"move {state.move}, {mover} to move, castling {rights_text(state)}{passing}"]
    return "\n".join(rows)


def text(state: Any) -> str:
    """FEN."""
    ranks = []
    for rank in range(7, -1, -1):
        pieces = "".join(piece_on(state, 8 * rank + file) for file in range(8))
        ranks.append(re.sub(r"\.+", lambda empty: str(len(empty[0])), pieces))
    passing = SQUARES[state.en_passant] if state.en_passant else "-"
    return f"{'/'.join(ranks)} {'wb'[state.mover]} {rights_text(state)} {passing} {state.clock} {state.move}"


def parse(state: Any, text: str) -> None:
    """FEN; the last two fields may be left out together."""
    words = text.split()
    if len(words) not in (4, 6):
        raise ValueError(
            f"expected FEN's fields (board, mover, castling, en passant, clock, move; or four), got '{text}'"
        )
    board, mover, rights, passing = words[:4]
    with np.errstate(over="ignore"):
        parse_board(state, board)
        if mover not in ("w", "b"):
            raise ValueError(f"expected w or b to move, got '{mover}'")
        state.mover = "wb".index(mover)
        if in_check(state, 1 - int(state.mover)):
            raise ValueError(f"expected the side that is not to move out of check, got '{board} {mover}'")
        refuse_impossible_check(state)
        parse_castling(state, rights)
        clock, move = words[4:] or ("0", "1")
        state.clock = state.first = counter("clock", clock, 0, FIFTY_MOVES)
        state.move = counter("move", move, 1, LAST_NUMBER)
        parse_en_passant(state, passing)
        state.key = whole_key(state)


def counter(name: str, word: str, least: int, most: int) -> int:
    if not re.fullmatch("[0-9]{1,5}", word) or not least <= int(word) <= most:
        raise ValueError(f"{name}: expected a number from {least} to {most}, got '{word}'")
    return int(word)


def parse_board(state: Any, board: str) -> None:
    ranks = board.split("/")
    cells = [re.sub("[1-8]", lambda digit: "." * int(digit[0]), rank) for rank in ranks]
    is_full = len(cells) == 8 and all(re.fullmatch("[.PNBRQKpnbrqk]{8}", row) for row in cells)
    if not is_full or re.search("[1-8]{2}|[.]", board):
        raise ValueError(
            f"expected eight ranks of PNBRQKpnbrqk and numbers of empty squares, split by '/', got '{board}'"
        )
    for square, piece in enumerate("".join(reversed(cells))):
        if piece != ".":
            state.kinds[LETTERS.index(piece.upper())] |= ONE << U(square)
            state.colours[WHITE if piece.isupper() else BLACK] |= ONE << U(square)
    for colour, name in enumerate(("white", "black")):
        pawns, knights, bishops, rooks, queens, kings = (state.kinds[kind] & state.colours[colour] for kind in range(6))
        if popcount(kings) != 1:
            raise ValueError(f"expected one {name} king, got {popcount(kings)}")
        if pawns & LAST_RANKS:
            raise ValueError(f"expected no {name} pawn on the first or the last rank, got '{board}'")
        at_first = ((knights, 2), (bishops & LIGHT, 1), (bishops & ~LIGHT, 1), (rooks, 2), (queens, 1))
        count = popcount(pawns) + sum(max(popcount(pieces) - number, 0) for pieces, number in at_first)
        if count > 8:
            raise ValueError(f"expected at most eight {name} pawns and promoted pieces, got {count}")


def refuse_impossible_check(state: Any) -> None:
    """One move gives at most two checks, one by a slider that it uncovers, and never from both sides along one line."""
    king = king_of(state, int(state.mover))
    checkers = threats(state, king, int(state.mover))[0]
    squares = [square for square in range(64) if int(checkers) >> square & 1]
    sliders = checkers & ~(state.kinds[PAWN] | state.kinds[KNIGHT])
    if len(squares) < 2 or (len(squares) == 2 and sliders and not LINE[squares[0], squares[1]] >> U(king) & ONE):
        return
    raise ValueError(f"expected a check that one move can give, got one from {', '.join(SQUARES[s] for s in squares)}")


def parse_castling(state: Any, rights: str) -> None:
    if rights != "-" and (not rights or "".join(letter for letter in "KQkq" if letter in rights) != rights):
        raise ValueError(f"expected castling rights of K, Q, k, q in this order or '-', got '{rights}'")
    for i, letter in enumerate("KQkq"):
        if letter in rights:
            home, rook = 56 * (i // 2) + 4, 56 * (i // 2) + (0 if i % 2 else 7)
            if piece_on(state, home) + piece_on(state, rook) != ("KR" if i < 2 else "kr"):
                raise ValueError(
                    f"expected king and rook on {SQUARES[home]} and {SQUARES[rook]} for castling '{letter}'"
                )
            state.castling |= 1 << i


def parse_en_passant(state: Any, passing: str) -> None:
    """Keeps the square if a capture there is legal. The double step must be one that could just have been made."""
    if passing == "-":
        return
    mover = int(state.mover)
    square = SQUARES.index(passing) if passing in SQUARES else 0
    if square >> 3 != 5 - 3 * mover:
        raise ValueError(f"expected an en passant square on rank {3 if mover else 6} or '-', got '{passing}'")
    origin, to = square + (8 - 16 * mover), square - (8 - 16 * mover)
    behind, pawn = piece_on(state, square) + piece_on(state, origin), piece_on(state, to)
    before = (state.colours[0] | state.colours[1]) ^ (ONE << U(origin)) ^ (ONE << U(to))
    others = state.colours[1 - mover] ^ (ONE << U(to))
    if behind != ".." or pawn != "pP"[mover] or is_attacked(state, king_of(state, mover), mover, others, before):
        raise ValueError(f"expected an en passant square that a pawn has just passed, got '{passing}'")
    if state.clock:
        raise ValueError(f"clock: expected 0 after a pawn's double step, got {state.clock}")
    takers = int(PAWN_CAPTURES[1 - mover, square] & state.kinds[PAWN] & state.colours[mover])
    if any(takers >> taker & 1 and may_take_passing(state, taker, square) for taker in range(64)):
        state.en_passant = square


def game() -> Rules:
    return Rules(
        State,
        initial,
        to_move,
        legal_actions,
        result,
        is_terminal,
        utility,
        players=2,
        actions=ACTIONS,
        # There are at most 96 pawn moves and 30 captures, each at most FIFTY_MOVES plies after the one before, and as
        # many plies after the last; but the 30th capture leaves bare kings.
        max_plies=(96 + 30) * FIFTY_MOVES,
        max_legal=218,  # more is impossible with at most eight promoted pieces a side
        history=["key", "clock", "first", "repetitions", "move", "keys"],
        observe=observe,
        observation=OBSERVATION,
        action_view=upside_down(),
        policy_planes=PLANES,
        key=key,
        gain=gain,
        tactical_actions=tactical_actions,
        null_result=null_result,
        in_check=mover_in_check,
        features=features,
        feature_names=FEATURES,
        feature_weights=WEIGHTS,
        weight_unit=0.25,
        endgames=[(name, CLASS_SIZE) for name in ("KNK", "KBK", "KRK", "KQK", "KPK")],
        endgame_index=endgame_index,
        endgame_position=endgame_position,
        plies_to_draw=plies_to_draw,
        names=action_names(),
        render=render,
        text=text,
        parse=parse,
    )
