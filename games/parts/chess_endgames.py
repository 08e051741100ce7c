"""Chess's endgame classes: which material, positions as numbers, and the moves that lead to a position.

A class is named by its pieces, the stronger side first: KBNK, KQKR. Positions that differ only by colours or by a symmetry of the board
have one number; there the stronger side is white. Without pawns its king stands in the triangle a1-d1-d4, and the other king on or
below the diagonal where that one stands on it: 462 pairs of kings (Ströhlein 1970 has this numbering). Where both stand on it, the
smaller of the two numbers counts; of two equal pieces, the one on the lower square comes first. A pawn stands on one of files a to d.

    number = ((who moves · pairs of kings + pair) · 64 + first piece) · 64 + second piece        0: the stronger side moves
    number = ((who moves · 24 + pawn) · 64 + its king) · 64 + the other king
"""

import itertools

import numpy as np

from base.bits import ONE, ZERO, U, lowest_bit
from games.parts.chess_board import (
    BLACK,
    DISTANCE,
    KING,
    KING_MOVES,
    KNIGHT,
    LETTERS,
    PAWN,
    WHITE,
    in_check,
    kind_on,
    king_of,
    piece_attacks,
    whole_key,
)
from games.types import Array, Bits, GameState, Integer

# A class may lead to those before it.
NAMES = ("KNK", "KBK", "KRK", "KQK", "KPK", "KBBK", "KBNK", "KQKR")
ON_REQUEST = ("KBBK", "KBNK", "KQKR")
PAWN_SQUARES = np.array([8 * rank + file for rank in range(1, 7) for file in range(4)])
PAWN_NUMBER = np.full(64, -1)
PAWN_NUMBER[PAWN_SQUARES] = range(24)

# ── the symmetries of the board: transposed or not, files turned or not, ranks turned or not ──

_FILES, _RANKS = np.arange(64) % 8, np.arange(64) // 8
TURNED = np.array(
    [
        8 * (_FILES if transposed else _RANKS) + (_RANKS if transposed else _FILES) ^ mirror
        for transposed in (False, True)
        for mirror in (0, 7, 56, 63)
    ]
)
"""[8, 64]: where each square goes."""
DIAGONAL = 4  # mirrored at a1-h8


def _kings() -> tuple[list[list[int]], list[list[int]], list[tuple[int, int]]]:
    """Of two kings the number of the pair, -1 if they touch, and the symmetry that leads there; the pairs themselves."""
    pair, turn = [[-1] * 64 for _ in range(64)], [[0] * 64 for _ in range(64)]
    pairs: list[tuple[int, int]] = []
    triangle = [square for square in range(64) if square // 8 <= square % 8 < 4]
    for own, other in itertools.product(triangle, range(64)):
        if DISTANCE[own, other] < 2 or (own % 9 == 0 and other // 8 > other % 8):
            continue
        for symmetry in range(7, -1, -1):
            back = TURNED[symmetry].tolist()
            pair[back.index(own)][back.index(other)] = len(pairs)
            turn[back.index(own)][back.index(other)] = symmetry
        pairs.append((own, other))
    return pair, turn, pairs


_pair, _turn, _pairs = _kings()
PAIR, TURN, KINGS = np.array(_pair), np.array(_turn), np.array(_pairs)
PAIRS = len(KINGS)
"""462."""

# ── the classes ──


def _pieces(name: str) -> list[tuple[int, int]]:
    """(kind, side) of the pieces besides the kings; side 0 is the stronger one."""
    strong, weak = name[1:].split("K")
    return [(LETTERS.index(letter), side) for side, letters in enumerate((strong, weak)) for letter in letters]


_classes = [_pieces(name) for name in NAMES]
_sizes = [2 * 24 * 64**2 if pieces[0][0] == PAWN else 2 * PAIRS * 64 ** len(pieces) for pieces in _classes]
CLASSES = list(zip(NAMES, _sizes, strict=True))
STARTS = np.cumsum([0, *_sizes])
KIND = np.array([[pieces[i][0] if i < len(pieces) else -1 for i in range(2)] for pieces in _classes])
SIDE = np.array([[pieces[i][1] if i < len(pieces) else -1 for i in range(2)] for pieces in _classes])
# [code of one piece, of another or 0], a code being 1 + kind + 5 · colour: the class or -1, the colour of the stronger side, whether
# the second piece comes first.
CLASS, STRONG, SWAPPED = np.full((11, 11), -1), np.zeros((11, 11), np.int64), np.zeros((11, 11), np.int64)
for _which, _found in enumerate(_classes):
    for _colour in range(2):
        _codes = [1 + kind + 5 * (side ^ _colour) for kind, side in _found] + [0] * (2 - len(_found))
        for _swapped in range(2 if len(_found) == 2 else 1):
            _a, _b = _codes[_swapped], _codes[1 - _swapped]
            CLASS[_a, _b], STRONG[_a, _b], SWAPPED[_a, _b] = _which, _colour, int(_swapped and _a != _b)


def endgame_index(state: GameState) -> int:
    others = (state.colours[0] | state.colours[1]) & ~state.kinds[KING]
    rest = others & (others - ONE)
    if others == ZERO or rest & (rest - ONE) or state.castling:
        return -1
    first, second = lowest_bit(others), lowest_bit(rest)
    a = 1 + kind_on(state, first) + (5 if others & ~rest & state.colours[BLACK] else 0)
    b = 0 if rest == ZERO else 1 + kind_on(state, second) + (5 if rest & state.colours[BLACK] else 0)
    which = int(CLASS[a, b])
    if which < 0:
        return -1
    strong = int(STRONG[a, b])
    own, other = king_of(state, strong), king_of(state, 1 - strong)
    moves = int(state.mover) ^ strong
    if KIND[which, 0] == PAWN:
        turn = (56 if strong == BLACK else 0) ^ (7 if first & 7 > 3 else 0)
        pawn = int(PAWN_NUMBER[first ^ turn])
        return int(STARTS[which]) + ((moves * 24 + pawn) * 64 + (own ^ turn)) * 64 + (other ^ turn)
    pair, turn = int(PAIR[own, other]), int(TURN[own, other])
    if pair < 0:
        return -1
    if SWAPPED[a, b]:
        first, second = second, first
    first, second = int(TURNED[turn, first]), int(TURNED[turn, second & 63])
    number = squares_number(which, first, second)
    if KINGS[pair, 0] % 9 == 0 and KINGS[pair, 1] % 9 == 0:
        number = min(number, squares_number(which, int(TURNED[DIAGONAL, first]), int(TURNED[DIAGONAL, second])))
    count = 64 if rest == ZERO else 4096
    return int(STARTS[which]) + (moves * PAIRS + pair) * count + number


def squares_number(which: int, first: int, second: int) -> int:
    """Of one piece or two, on squares that are turned already."""
    if KIND[which, 1] < 0:
        return first
    if first > second and KIND[which, 0] == KIND[which, 1] and SIDE[which, 0] == SIDE[which, 1]:
        return second * 64 + first
    return first * 64 + second


def endgame_position(state: GameState, index: Integer) -> bool:
    which = 0
    while which < len(NAMES) and index >= STARTS[which + 1]:
        which += 1
    if index < 0 or which == len(NAMES):
        return False
    number = index - STARTS[which]
    if KIND[which, 0] == PAWN:
        other, own = number & 63, number >> 6 & 63
        first, second, moves = int(PAWN_SQUARES[(number >> 12) % 24]), -1, (number >> 12) // 24
        if DISTANCE[own, other] < 2:
            return False
    else:
        second = -1
        if KIND[which, 1] >= 0:
            second, number = number & 63, number >> 6
        first, number = number & 63, number >> 6
        moves = number // PAIRS
        own, other = int(KINGS[number % PAIRS, 0]), int(KINGS[number % PAIRS, 1])
    state.kinds[KING] = (ONE << U(own)) | (ONE << U(other))
    state.colours[WHITE], state.colours[BLACK] = ONE << U(own), ONE << U(other)
    if not put(state, which, 0, first) or (second >= 0 and not put(state, which, 1, second)):
        return False
    state.mover = moves
    state.move = 1
    state.key = whole_key(state)
    return endgame_index(state) == index and not in_check(state, 1 - int(moves))


def put(state: GameState, which: int, place: int, square: int) -> bool:
    """Put a piece of the class on an empty square."""
    bit = ONE << U(square)
    if (state.colours[0] | state.colours[1]) & bit:
        return False
    state.kinds[KIND[which, place]] |= bit
    state.colours[SIDE[which, place]] |= bit
    return True


def endgame_predecessors(state: GameState, indices: Array) -> int:
    """Takes back each move that captures and promotes nothing. Those that come from an illegal position do not matter."""
    mover, last = int(state.mover), 1 - int(state.mover)
    occupied, found = state.colours[0] | state.colours[1], 0
    state.mover = last
    pieces = state.colours[last]
    while pieces:
        square = lowest_bit(pieces)
        bit = ONE << U(square)
        pieces &= pieces - ONE
        kind = kind_on(state, square)
        origins = origins_of(kind, square, last, occupied)
        while origins:
            origin = origins & (~origins + ONE)
            origins &= origins - ONE
            state.kinds[kind] ^= bit | origin
            state.colours[last] ^= bit | origin
            index = endgame_index(state)
            state.kinds[kind] ^= bit | origin
            state.colours[last] ^= bit | origin
            if index >= 0 and is_new(index, indices, found):
                indices[found] = index
                found += 1
    state.mover = mover
    return found


def origins_of(kind: int, square: int, colour: int, occupied: Bits) -> Bits:
    """Whence a piece can have come to a square that was empty."""
    if kind == KING:
        return KING_MOVES[square] & ~occupied
    if kind >= KNIGHT:
        return piece_attacks(kind, square, occupied) & ~occupied
    back, rank = (-8 if colour == WHITE else 8), (square >> 3 if colour == WHITE else 7 - (square >> 3))
    if rank < 2 or occupied >> U(square + back) & ONE:
        return ZERO
    origins = ONE << U(square + back)
    if rank == 3 and not occupied >> U(square + 2 * back) & ONE:
        origins |= ONE << U(square + 2 * back)
    return origins


def is_new(index: int, indices: Array, found: int) -> bool:
    for i in range(found):
        if indices[i] == index:
            return False
    return True
