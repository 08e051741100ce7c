"""Chess moves in standard algebraic notation: `san_of(game, state, action)`, `action_of_san(game, state, "Nbd2")`.

Written as in the PGN standard: the least disambiguation, `x`, `=Q`, `+`, `#`, `O-O`. Read leniently: with or without `x`, `+`, `=`;
`0-0`; more disambiguation than needed; long forms such as `Ng1-f3` and `e7e8q`; `!?` and `e.p.` behind a move. A whole game is read
by one compiled call (`resolver`), for files of millions.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence

import numpy as np

from base.bits import U
from base.errors import UserError
from games.engine.game import Game
from games.engine.rules import Rules
from games.parts.chess_board import KING, LETTERS, OFFSET, PAWN, PROMOTED, SQUARES, in_check, kind_on
from games.parts.chess_moves import can_move
from games.types import Actions, Array, GameState, GameStates

ANY = -1
Wish = tuple[int, int, int, int, int, int]
"""What a word specifies of a move: kind, from file, from rank, to, promotion (as in PROMOTED), castling side; ANY where nothing."""

_MOVE = re.compile(r"([PNBRQK]?)([a-h]?)([1-8]?)[x:-]?([a-h][1-8])(?:[=/(]?([NBRQnbrq])\)?)?")
_CASTLING = re.compile(r"[Oo0]-?[Oo0](-?[Oo0])?")
_TAIL = re.compile(r"(?:\s*(?:e\.p\.|ep|[+#!?]|†|‡))+$")

FINE, OVER, ILLEGAL, AMBIGUOUS = 0, 1, 2, 3


@functools.lru_cache(maxsize=1 << 16)
def wish_of(word: str) -> Wish | None:
    """A word parsed; None where it is no move. Cached, since most words of a file repeat."""
    word = _TAIL.sub("", word)
    if castling := _CASTLING.fullmatch(word):
        return KING, ANY, ANY, ANY, ANY, 1 if castling[1] else 0
    found = _MOVE.fullmatch(word)
    if found is None:
        return None
    piece, file, rank, to, promotion = found.groups()
    kind = LETTERS.index(piece) if piece else ANY if file and rank else PAWN
    chosen = PROMOTED.tolist().index(LETTERS.index(promotion.upper())) if promotion else ANY
    return (
        kind,
        "abcdefgh".index(file) if file else ANY,
        int(rank) - 1 if rank else ANY,
        SQUARES.index(to),
        chosen,
        ANY,
    )


def resolve(game: Game, start: GameState, wishes: Sequence[Wish]) -> tuple[list[int], int, GameState]:
    """The actions that the wishes stand for, up to the first that can't be played; the fault, or FINE; the position after them."""
    states, found = game.scratch(start, 1), np.zeros(len(wishes), np.int32)
    actions = np.zeros(game.rules.max_legal, np.int32)
    wanted = np.array(wishes, np.int64).reshape(len(wishes), 6)
    plies, fault = game.kernel(resolver)(states, actions, wanted, found)
    return found[:plies].tolist(), fault, states[0]


def action_of_san(game: Game, state: GameState, word: str) -> int:
    """The legal action that `word` means in this position."""
    wish = wish_of(word)
    if wish is None:
        raise UserError(f"expected a chess move such as e4, Nbd2, exd5, e8=Q or O-O, got '{word}'")
    moves, fault, _ = resolve(game, state, [wish])
    if fault != FINE:
        raise UserError(refusal(game, state, word, fault))
    return moves[0]


def refusal(game: Game, state: GameState, word: str, fault: int) -> str:
    """Why `word` can't be played in this position."""
    if fault == OVER:
        return f"expected the game to be over here, got '{word}'"
    if fault == AMBIGUOUS:
        return f"expected one move, got '{word}', which may be several in {game.text(state)}"
    return f"expected a legal move, got '{word}' in {game.text(state)}"


def san_of(game: Game, state: GameState, action: int) -> str:
    """A legal action as the standard writes it."""
    return san_line(game, state, [action])[0]


def san_line(game: Game, start: GameState, moves: Sequence[int]) -> list[str]:
    """Legal actions, one behind the other, as the standard writes it."""
    states, actions = game.scratch(start, 1), np.zeros(game.rules.max_legal, np.int32)
    facts = np.zeros((len(moves), 5), np.int64)
    game.kernel(describer)(states, actions, np.array(moves, np.int64), facts)
    return [_word(*row) for row in facts.tolist()]


def _word(action: int, kind: int, to: int, marks: int, check: int) -> str:
    """From one row of `describer`."""
    origin = SQUARES[action & 63]
    tail = ("", "+", "#")[check]
    if kind == KING and abs(to - (action & 63)) == 2:
        return ("O-O" if to > action & 63 else "O-O-O") + tail
    letter = "" if kind == PAWN else LETTERS[kind]
    capture = "x" if marks & CAPTURE else ""
    exact = (origin[0] if marks & BY_FILE else "") + (origin[1] if marks & BY_RANK else "")
    promotion = "=" + LETTERS[PROMOTED[(action >> 6) & 3]] if action >= 64 * 64 else ""
    return f"{letter}{exact}{capture}{SQUARES[to]}{promotion}{tail}"


# ── kernels ──

CAPTURE, BY_FILE, BY_RANK = 1, 2, 4


def resolver(rules: Rules) -> Callable[..., tuple[int, int]]:
    """Finds the one legal action for each wish and plays it.

    resolve(states [1], actions [max_legal], wishes [n, 6], moves [n]) -> (plies, fault). `states[0]` is played forward.
    """
    legal_actions, result, is_terminal = rules.legal_actions, rules.result, rules.is_terminal

    def resolve(states: GameStates, actions: Actions, wishes: Array, moves: Actions) -> tuple[int, int]:
        state = states[0]
        for ply in range(len(moves)):
            if is_terminal(state):
                return ply, OVER
            kind, file, rank, to, promotion, side = wishes[ply]
            if side != ANY:
                file, rank = 4, 7 * int(state.mover)
                to = 56 * int(state.mover) + (6 if side == 0 else 2)
            matches, found = 0, -1
            for i in range(legal_actions(state, actions)):
                action = int(actions[i])
                origin = action & 63
                fits = origin + OFFSET[state.mover, action >> 6] == to
                fits &= (file == ANY or origin & 7 == file) and (rank == ANY or origin >> 3 == rank)
                fits &= (promotion == ANY) == (action < 64 * 64)
                if fits and action >= 64 * 64:
                    fits = (action >> 6) & 3 == promotion
                if fits and (kind == ANY or kind_on(state, origin) == kind):
                    matches += 1
                    found = action
            if matches != 1:
                return ply, AMBIGUOUS if matches else ILLEGAL
            moves[ply] = found
            result(state, found)
        return len(moves), FINE

    return resolve


def describer(rules: Rules) -> Callable[..., None]:
    """Plays legal moves and collects what is written of each: action, kind, to, marks, and 0, 1 or 2: check, mate.

    describe(states [1], actions [max_legal], moves [n], facts [n, 5]). `states[0]` is played forward.
    """
    legal_actions, result = rules.legal_actions, rules.result

    def describe(states: GameStates, actions: Actions, moves: Actions, facts: Array) -> None:
        state = states[0]
        for ply in range(len(moves)):
            move = int(moves[ply])
            origin, colour = move & 63, int(state.mover)
            to, kind = origin + OFFSET[colour, move >> 6], kind_on(state, origin)
            takes = (state.colours[1 - colour] >> U(to)) & U(1) != U(0)
            marks = CAPTURE if takes or (kind == PAWN and (to - origin) & 7 != 0) else 0
            if kind == PAWN and marks:
                marks |= BY_FILE
            elif kind != PAWN and kind != KING:
                others, same_file, same_rank = 0, 0, 0
                for i in range(legal_actions(state, actions)):
                    action = int(actions[i])
                    other = action & 63
                    if other != origin and other + OFFSET[colour, action >> 6] == to and kind_on(state, other) == kind:
                        others += 1
                        same_file += other & 7 == origin & 7
                        same_rank += other >> 3 == origin >> 3
                if others and same_file == 0:
                    marks |= BY_FILE
                elif others and same_rank == 0:
                    marks |= BY_RANK
                elif others:
                    marks |= BY_FILE | BY_RANK
            result(state, move)
            check = 0
            if in_check(state, int(state.mover)):
                check = 1 if can_move(state) else 2
            facts[ply, 0], facts[ply, 1], facts[ply, 2], facts[ply, 3], facts[ply, 4] = move, kind, to, marks, check

    return describe
