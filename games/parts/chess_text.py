"""Chess as text: names of moves as in UCI, the board, FEN with errors that name what is wrong."""

import re

import numpy as np

from base.bits import ONE, U, popcount
from games.engine.diagram import Diagram
from games.parts.chess_board import (
    ACTIONS,
    BLACK,
    FIFTY_MOVES,
    KING,
    KNIGHT,
    LAST_NUMBER,
    LAST_RANKS,
    LETTERS,
    LIGHT,
    LINE,
    MOVE,
    OFFSET,
    PAWN,
    PAWN_CAPTURES,
    PLANES,
    PROMOTED,
    SQUARES,
    WHITE,
    in_check,
    is_attacked,
    kind_on,
    king_of,
    may_take_passing,
    threats,
    whole_key,
)
from games.types import GameState

KINDS = {"K": "king", "Q": "queen", "R": "rook", "B": "bishop", "N": "knight", "P": "pawn"}
SYMBOLS = {letter: f"white {kind}" for letter, kind in KINDS.items()} | {
    letter.lower(): f"black {kind}" for letter, kind in KINDS.items()
}


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


def piece_on(state: GameState, square: int) -> str:
    if not int(state.colours[0] | state.colours[1]) >> square & 1:
        return "."
    letter = LETTERS[kind_on(state, square)]
    return letter if int(state.colours[WHITE]) >> square & 1 else letter.lower()


def rights_text(state: GameState) -> str:
    return "".join(letter for i, letter in enumerate("KQkq") if int(state.castling) >> i & 1) or "-"


def ranks_of(state: GameState) -> list[str]:
    """The eighth first."""
    return ["".join(piece_on(state, 8 * rank + file) for file in range(8)) for rank in range(7, -1, -1)]


def summary(state: GameState) -> str:
    passing = f", en passant on {SQUARES[state.en_passant]}" if state.en_passant else ""
    mover = "black" if state.mover else "white"
    return f"move {state.move}, {mover} to move, castling {rights_text(state)}{passing}"


def render(state: GameState) -> str:
    rows = [f"{8 - i}  {' '.join(pieces)}" for i, pieces in enumerate(ranks_of(state))]
    return "\n".join([*rows, "", "   a b c d e f g h", summary(state)])


def diagram(state: GameState) -> Diagram:
    king = king_of(state, int(state.mover)) if state.kinds[KING] & state.colours[state.mover] else -1
    with np.errstate(over="ignore"):  # bits wrap around, as in compiled code
        marked = [(7 - king // 8, king % 8)] if king >= 0 and in_check(state, int(state.mover)) else []
    return Diagram(
        ranks_of(state), SYMBOLS, "checkered", "87654321", bottom="abcdefgh", marked=marked, note=summary(state)
    )


def text(state: GameState) -> str:
    """FEN."""
    ranks = [re.sub(r"\.+", lambda empty: str(len(empty[0])), pieces) for pieces in ranks_of(state)]
    passing = SQUARES[state.en_passant] if state.en_passant else "-"
    return f"{'/'.join(ranks)} {'wb'[state.mover]} {rights_text(state)} {passing} {state.clock} {state.move}"


def parse(state: GameState, text: str) -> None:
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


def parse_board(state: GameState, board: str) -> None:
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


def refuse_impossible_check(state: GameState) -> None:
    """One move gives at most two checks, one by a slider that it uncovers, and never from both sides along one line."""
    king = king_of(state, int(state.mover))
    checkers = threats(state, king, int(state.mover))[0]
    squares = [square for square in range(64) if int(checkers) >> square & 1]
    sliders = checkers & ~(state.kinds[PAWN] | state.kinds[KNIGHT])
    if len(squares) < 2 or (len(squares) == 2 and sliders and not LINE[squares[0], squares[1]] >> U(king) & ONE):
        return
    raise ValueError(f"expected a check that one move can give, got one from {', '.join(SQUARES[s] for s in squares)}")


def parse_castling(state: GameState, rights: str) -> None:
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


def parse_en_passant(state: GameState, passing: str) -> None:
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
