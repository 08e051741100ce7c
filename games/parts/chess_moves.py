"""Chess's moves: the legal ones, those of them that take, promote or check, and what a move does.

An action id is 64·plane + the square that is left; the planes are listed in `games/chess.py`.
"""

from base.bits import ONE, ZERO, U, lowest_bit
from base.bitsets import list_members
from games.parts.chess_board import (
    ALL,
    BETWEEN,
    BLACK,
    BLACK_KEY,
    CAPTURE_LEFT,
    CAPTURE_RIGHT,
    CASTLING_KEY,
    DOUBLE_PUSH,
    EN_PASSANT_KEY,
    FIFTY_MOVES,
    FILE,
    KING,
    KING_MOVES,
    KNIGHT,
    LAST_NUMBER,
    LAST_RANKS,
    LEFT_STEP,
    LINE,
    MOVE,
    OFFSET,
    PAWN,
    PAWN_CAPTURES,
    PIECE_KEY,
    PROMOTED,
    PUSH,
    RANK,
    RIGHT_STEP,
    RIGHTS_KEPT,
    ROOK,
    WHITE,
    captures_left,
    captures_right,
    forward,
    is_attacked,
    kind_on,
    king_of,
    may_take_passing,
    piece_attacks,
    rook_attacks,
    screens,
    threats,
)
from games.types import Actions, Bits, GameState


def list_promotions(actions: Actions, n: int, targets: Bits, step: int, side: int) -> int:
    while targets:
        origin = lowest_bit(targets) - step
        targets &= targets - ONE
        for i in range(4):
            actions[n] = (64 + 4 * side + i) * 64 + origin
            n += 1
    return n


def list_pawns(
    actions: Actions, n: int, colour: int, pawns: Bits, empty: Bits, theirs: Bits, singles: Bits, doubles: Bits
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
    n = list_members(actions, n, left, CAPTURE_LEFT[colour] - left_step)
    n = list_members(actions, n, right, CAPTURE_RIGHT[colour] - right_step)
    n = list_members(actions, n, one, PUSH[colour] - step)
    return list_members(actions, n, two, DOUBLE_PUSH[colour] - 2 * step)


def may_castle(state: GameState, colour: int, side: int, occupied: Bits) -> bool:
    """`side` 0: the king's, 1: the queen's. Whether the king is in check is left to the caller."""
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


def castling_checks(colour: int, side: int, their_king: int, occupied: Bits) -> bool:
    """Does the rook attack the other king after castling?"""
    home = 56 * colour
    gone, rook = (U(0x90), home + 5) if side == 0 else (U(0x11), home + 3)
    left = occupied & ~(gone << U(home))
    king = ONE << U(home + (6 if side == 0 else 2))
    return (rook_attacks(rook, left | king) >> U(their_king)) & ONE != ZERO


def legal_actions(state: GameState, actions: Actions, tactical: bool = False) -> int:
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


def can_move(state: GameState) -> bool:
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


def pawn_targets(pawns: Bits, colour: int, occupied: Bits, theirs: Bits) -> Bits:
    """Squares that pawns can step to or capture on, en passant apart."""
    one = forward(pawns, colour) & ~occupied
    two = forward(one & (RANK[2] if colour == WHITE else RANK[5]), colour) & ~occupied
    return one | two | (captures_left(pawns, colour) | captures_right(pawns, colour)) & theirs


def target(state: GameState, action: int) -> int:
    return (action & 63) + OFFSET[state.mover, action >> 6]


def result(state: GameState, action: int) -> None:
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
