"""What chess moves and positions are worth: the gain of tactical moves, and the features of a linear EVAL with weights in pawns."""

import numpy as np

from base.bits import ONE, ZERO, U, lowest_bit, popcount
from games.parts.chess_board import (
    BISHOP,
    BISHOP_LINES,
    CENTRE,
    DISTANCE,
    EIGHT,
    FROM_CENTRE,
    KING,
    KING_MOVES,
    KNIGHT,
    KNIGHT_MOVES,
    LIGHT,
    NOT_A,
    NOT_H,
    PAWN,
    PAWN_CAPTURES,
    PROMOTED,
    QUEEN,
    RANK,
    ROOK,
    ROOK_LINES,
    WHITE,
    bishop_attacks,
    captures_left,
    captures_right,
    forward,
    is_attacked,
    kind_on,
    king_of,
    piece_attacks,
    rook_attacks,
)
from games.parts.chess_moves import castling_checks, legal_actions, target
from games.types import Actions, Bits, Features, GameState

WORTH = np.array([1.0, 3.0, 3.0, 5.0, 9.0, 10.0])  # the king's counts only as an attacker


def gain(state: GameState, action: int) -> float:
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


def is_guarded(state: GameState, mover: int, origin: int, to: int) -> bool:
    """Could the other side take back, pins apart, what the mover plays from `origin` to `to`?"""
    theirs = state.colours[1 - mover] & ~(ONE << U(to))
    occupied = (state.colours[0] | state.colours[1]) & ~(ONE << U(origin))
    return is_attacked(state, to, mover, theirs, occupied)


def is_quiet_check(state: GameState, mover: int, kind: int, origin: int, to: int) -> bool:
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


def tactical_actions(state: GameState, actions: Actions) -> int:
    listed = legal_actions(state, actions, True)
    n = 0
    for i in range(listed):
        action = int(actions[i])
        if gain(state, action) > 0.0:
            actions[n] = action
            n += 1
    return n


# ── EVAL ──

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


def fill(pawns: Bits, colour: int) -> Bits:
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


def beside(squares: Bits) -> Bits:
    return (squares & NOT_A) >> ONE | (squares & NOT_H) << ONE


def features(state: GameState, player: int, values: Features) -> None:
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
