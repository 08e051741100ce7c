"""Chess's board: pieces and squares as bits, who attacks what, and the numbers by which positions are hashed.

Square (file, rank) is bit 8·rank + file, as drawn in `games/chess.py`.
"""

from collections.abc import Iterable

import numpy as np

from base.bits import ONE, ZERO, U, highest_bit, lowest_bit
from base.bitsets import set_of
from base.seeds import mix
from games.types import Bits, GameState, Words

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

EIGHT, ALL = U(8), U(0xFFFFFFFFFFFFFFFF)
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


def leaps(steps: Iterable[tuple[int, int]]) -> Words:
    """[64]: the squares one step away."""
    return np.array([set_of(to for step in steps for to in walk(square, step, 1)) for square in range(64)], np.uint64)


FILE = np.array([0x0101010101010101 << file for file in range(8)], np.uint64)
RANK = np.array([0xFF << 8 * rank for rank in range(8)], np.uint64)
NOT_A, NOT_H = ~FILE[0], ~FILE[7]
LAST_RANKS = RANK[0] | RANK[7]
LIGHT = U(0x55AA55AA55AA55AA)
CENTRE = set_of(SQUARES.index(name) for name in ("d4", "e4", "d5", "e5"))
KING_MOVES, KNIGHT_MOVES = leaps(COMPASS), leaps(JUMPS)
PAWN_CAPTURES = np.array([leaps([(-1, 1), (1, 1)]), leaps([(-1, -1), (1, -1)])])  # [colour, square]

# RAYS[square, axis, 0 and 1]: the squares below and above on a file, rank, diagonal, antidiagonal.
AXES = (((0, -1), (0, 1)), ((-1, 0), (1, 0)), ((-1, -1), (1, 1)), ((1, -1), (-1, 1)))
RAYS = np.array([[[set_of(walk(s, step)) for step in axis] for axis in AXES] for s in range(64)], np.uint64)
ROOK_LINES, BISHOP_LINES = (np.bitwise_or.reduce(RAYS[:, axes], axis=(1, 2)) for axes in ((0, 1), (2, 3)))

BETWEEN = np.zeros((64, 64), np.uint64)  # squares strictly between two on one line, else none
LINE = np.zeros((64, 64), np.uint64)  # the whole line through two squares, else none
MOVE = np.full((64, 64), -1, np.int32)  # the action from one square to another, promotions apart
for _square in range(64):
    for _direction, _step in enumerate(COMPASS):
        _path = walk(_square, _step)
        for _distance, _to in enumerate(_path):
            BETWEEN[_square, _to] = set_of(_path[:_distance])
            LINE[_square, _to] = set_of([*_path, _square, *walk(_square, (-_step[0], -_step[1]))])
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


# ── attacks ──


def slide(square: int, axis: int, occupied: Bits) -> Bits:
    """The squares that a slider reaches on one line: up to the nearest obstruction on either side, that one included."""
    below, above = RAYS[square, axis, 0], RAYS[square, axis, 1]
    ahead = above & occupied
    behind = (below & occupied) | ONE
    return (below | above) & (ahead ^ (ahead - ONE)) & (ALL << U(highest_bit(behind)))


def rook_attacks(square: int, occupied: Bits) -> Bits:
    return slide(square, 0, occupied) | slide(square, 1, occupied)


def bishop_attacks(square: int, occupied: Bits) -> Bits:
    return slide(square, 2, occupied) | slide(square, 3, occupied)


def piece_attacks(kind: int, square: int, occupied: Bits) -> Bits:
    """Of a knight, bishop, rook or queen."""
    if kind == KNIGHT:
        return KNIGHT_MOVES[square]
    if kind == BISHOP:
        return bishop_attacks(square, occupied)
    straight = rook_attacks(square, occupied)
    return straight if kind == ROOK else straight | bishop_attacks(square, occupied)


def forward(squares: Bits, colour: int) -> Bits:
    return squares << EIGHT if colour == WHITE else squares >> EIGHT


def captures_left(pawns: Bits, colour: int) -> Bits:
    return (pawns & NOT_A) << U(7) if colour == WHITE else (pawns & NOT_A) >> U(9)


def captures_right(pawns: Bits, colour: int) -> Bits:
    return (pawns & NOT_H) << U(9) if colour == WHITE else (pawns & NOT_H) >> U(7)


# ── of positions ──


def kind_on(state: GameState, square: int) -> int:
    """The kind of the piece that stands there."""
    found = ZERO
    for kind in range(KNIGHT, KING + 1):  # a sum has no branch to mispredict
        found += (state.kinds[kind] >> U(square) & ONE) * U(kind)
    return int(found)


def king_of(state: GameState, colour: int) -> int:
    return lowest_bit(state.kinds[KING] & state.colours[colour])


def is_attacked(state: GameState, square: int, colour: int, attackers: Bits, occupied: Bits) -> bool:
    """Could any of `attackers` take a piece of `colour` on `square`, were the board occupied so?"""
    leapers = PAWN_CAPTURES[colour, square] & state.kinds[PAWN] | KNIGHT_MOVES[square] & state.kinds[KNIGHT]
    if attackers & (leapers | KING_MOVES[square] & state.kinds[KING]):
        return True
    diagonal = attackers & (state.kinds[BISHOP] | state.kinds[QUEEN])
    if BISHOP_LINES[square] & diagonal and bishop_attacks(square, occupied) & diagonal:
        return True
    straight = attackers & (state.kinds[ROOK] | state.kinds[QUEEN])
    return (ROOK_LINES[square] & straight) != ZERO and (rook_attacks(square, occupied) & straight) != ZERO


def in_check(state: GameState, colour: int) -> bool:
    own, theirs = state.colours[colour], state.colours[1 - colour]
    return is_attacked(state, king_of(state, colour), colour, theirs, own | theirs)


def screens(state: GameState, king: int, attackers: Bits, occupied: Bits) -> tuple[Bits, Bits]:
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


def threats(state: GameState, king: int, colour: int) -> tuple[Bits, Bits]:
    """Who gives check to the king of `colour`, and which pieces of either colour alone keep a slider from doing so."""
    attackers = state.colours[1 - colour]
    checkers, blockers = screens(state, king, attackers, state.colours[0] | state.colours[1])
    leapers = KNIGHT_MOVES[king] & state.kinds[KNIGHT] | PAWN_CAPTURES[colour, king] & state.kinds[PAWN]
    return checkers | leapers & attackers, blockers


def may_take_passing(state: GameState, origin: int, square: int) -> bool:
    """May the pawn on `origin` take en passant on `square`? Two pawns leave their rank, which may uncover the king."""
    mover = int(state.mover)
    taken = ONE << U(square ^ 8)
    occupied = (state.colours[0] | state.colours[1]) ^ (ONE << U(origin)) ^ (ONE << U(square)) ^ taken
    return not is_attacked(state, king_of(state, mover), mover, state.colours[1 - mover] ^ taken, occupied)


def whole_key(state: GameState) -> Bits:
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
