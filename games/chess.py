"""Chess. Actions are written as in UCI: `e2e4`, `e1g1` (castling), `e7e8q` (promotion).

White is player 0. Checkmate wins. Drawn are stalemate, 100 plies without capture or pawn move (unless the last one
mates), a position that occurs for the third time, and material that cannot mate: bare kings, one knight or bishop
against a bare king, and bishops that all stand on squares of one colour. All draws are automatic, without a claim.

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
it change the possible moves, by which repetitions are defined. FEN holds no earlier positions: one that is read from
text is its own first occurrence.

Five parts are in `games/parts/`: the board and its attacks, the moves, the values, the endgame classes, the text.
"""

import numpy as np

from base.bits import ONE, ZERO, U, lowest_bit
from games import Rules
from games.parts.chess_board import (
    ACTIONS,
    BISHOP,
    BLACK,
    BLACK_KEY,
    EN_PASSANT_KEY,
    FIFTY_MOVES,
    KING,
    KNIGHT,
    LAST_NUMBER,
    LIGHT,
    PAWN,
    PLANES,
    QUEEN,
    RANK,
    ROOK,
    WHITE,
    State,
    in_check,
    whole_key,
)
from games.parts.chess_endgames import CLASSES, ON_REQUEST, endgame_index, endgame_position, endgame_predecessors
from games.parts.chess_moves import can_move, legal_actions, result
from games.parts.chess_text import action_names, diagram, parse, render, text
from games.parts.chess_values import FEATURES, WEIGHTS, features, gain, tactical_actions
from games.types import Array, Bits, GameState, Planes


def initial(state: GameState) -> None:
    for file, kind in enumerate((ROOK, KNIGHT, BISHOP, QUEEN, KING, BISHOP, KNIGHT, ROOK)):
        state.kinds[kind] |= (ONE << U(file)) | (ONE << U(56 + file))
    state.kinds[PAWN] = RANK[1] | RANK[6]
    state.colours[WHITE], state.colours[BLACK] = RANK[0] | RANK[1], RANK[6] | RANK[7]
    state.castling = 15
    state.move = 1
    state.key = whole_key(state)


def to_move(state: GameState) -> int:
    return int(state.mover)


# ── the end ──


def is_dead(state: GameState) -> bool:
    """Material with which neither player can mate."""
    if state.kinds[PAWN] | state.kinds[ROOK] | state.kinds[QUEEN]:
        return False
    knights, bishops = state.kinds[KNIGHT], state.kinds[BISHOP]
    minors = knights | bishops
    if minors & (minors - ONE) == ZERO:
        return True
    return knights == ZERO and (bishops & LIGHT == ZERO or bishops & ~LIGHT == ZERO)


def is_terminal(state: GameState) -> bool:
    return state.clock >= FIFTY_MOVES or state.repetitions >= 2 or is_dead(state) or not can_move(state)


def utility(state: GameState, player: int) -> float:
    if can_move(state) or not in_check(state, int(state.mover)):
        return 0.0
    return -1.0 if player == state.mover else 1.0


# ── for search ──


def key(state: GameState) -> Bits:
    return state.key


def mover_in_check(state: GameState) -> bool:
    return in_check(state, int(state.mover))


def null_result(state: GameState) -> bool:
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


def plies_to_draw(state: GameState) -> int:
    """None where a position that can occur again has stood twice."""
    clock, first = int(state.clock), int(state.first)
    for later in range(clock, first + 3, -1):
        key = state.key if later == clock else state.keys[later]
        for earlier in range(later - 4, first - 1, -2):
            if state.keys[earlier] == key:
                return 0
    return FIFTY_MOVES - clock


# ── for the learner ──

OBSERVATION = (19, 8, 8)


def observe(state: GameState, player: int, planes: Planes) -> None:
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


def upside_down() -> Array:
    """[players, actions]: black's actions on the board turned to face it."""
    planes = [7 * ((4 - direction) % 8) + distance for direction in range(8) for distance in range(7)]
    planes += [56 + (3 - jump) % 8 for jump in range(8)]
    planes += range(64, PLANES)
    flipped = [64 * planes[action >> 6] + (action & 63 ^ 56) for action in range(ACTIONS)]
    return np.array([range(ACTIONS), flipped])


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
        material=FEATURES[:5],
        endgames=CLASSES,
        endgames_on_request=ON_REQUEST,
        endgame_index=endgame_index,
        endgame_position=endgame_position,
        endgame_predecessors=endgame_predecessors,
        plies_to_draw=plies_to_draw,
        names=action_names(),
        render=render,
        diagram=diagram,
        text=text,
        parse=parse,
    )
