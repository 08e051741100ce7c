"""Syzygy endgame tables of chess as a player: `syzygy:FOLDER`, where python-chess is installed. No other player loads it.

A folder has files such as KQvK.rtbw (who wins) and KQvK.rtbz (how soon a capture or a pawn move comes, DTZ); what captures lead to has
to be there as well. The values include the fifty-move rule. Of the moves that keep the value, it plays the win whose next capture or
pawn move is nearest, and the loss where it is farthest; so the way to mate is sure and not always the shortest. A win that the counter
might reach first counts as a draw, because the files' distances may be one ply too short.

The tables: Ronald de Man, 2013.
"""

from __future__ import annotations

import struct
import time
from pathlib import Path
from typing import TYPE_CHECKING

from arena.players import Forfeit, Thinker
from base.errors import UserError
from games import Game
from games.choice import Candidate, Choice
from games.types import GameState

if TYPE_CHECKING:
    import chess

MAGIC = {".rtbw": b"\x71\xe8\x23\x5d", ".rtbz": b"\xd7\x66\x0c\xa5"}
FIFTY_MOVES = 100  # plies
MOST_PIECES = 7
FAR = 10_000  # plies; no table has such a distance
WIN, CURSED = 2, 1  # of the tables: a cursed win is a draw by the fifty-move rule


def player(game: Game, folder: str, /) -> Thinker:
    """looks moves up in the Syzygy tables of a folder, through python-chess where it is installed; it forfeits positions outside"""
    if game.name != "chess":
        raise UserError(f"syzygy: expected the game of chess, got {game.name}")
    return Syzygy(game, Path(folder))


class Syzygy:
    """The tables of one folder."""

    def __init__(self, game: Game, folder: Path) -> None:
        try:
            import chess.syzygy
        except ImportError:
            raise UserError("syzygy: expected python-chess to read the tables, found none; install `chess`") from None
        self.game, self.folder = game, folder
        files = [file for file in sorted(folder.iterdir()) if file.suffix in MAGIC] if folder.is_dir() else []
        if not files:
            found = "found none" if folder.is_dir() else "found no such folder"
            raise UserError(f"syzygy: {folder}: expected a folder of tables (.rtbw, .rtbz), {found}")
        for file in files:
            with open(file, "rb") as opened:
                if opened.read(4) != MAGIC[file.suffix]:
                    raise UserError(f"syzygy: {file}: expected a Syzygy table, got another file")
        self._board, self._missing = chess.Board, chess.syzygy.MissingTableError
        self._tables = chess.syzygy.open_tablebase(str(folder))

    def choose(self, state: GameState) -> Choice:
        """The best move by the tables; a position outside them is forfeited."""
        start = time.perf_counter()
        board = self._board(self.game.text(state))
        if board.castling_rights or len(board.piece_map()) > MOST_PIECES:
            raise Forfeit(f"syzygy: expected at most {MOST_PIECES} pieces and no castling, got {board.fen()}")
        try:
            judged = [(action, *self._judged(state, board, action)) for action in self.game.legal_actions(state)]
        except self._missing as missing:
            raise Forfeit(f"syzygy: {self.folder}: {missing.args[0]}") from None
        except (OSError, ValueError, LookupError, struct.error) as wrong:
            raise Forfeit(f"syzygy: {self.folder}: a table cannot be read: {wrong}") from None
        judged.sort(key=lambda each: each[2], reverse=True)
        actions = tuple(Candidate(action, value, "exact") for action, value, _ in judged)
        action, value, _ = judged[0]
        seconds = time.perf_counter() - start
        return Choice(action, value, True, (action,), 1, len(judged), seconds, actions, {"table hits": 1})

    def _judged(self, state: GameState, board: chess.Board, action: int) -> tuple[float, tuple[int, int]]:
        """The mover's utility if `action` is played, and a rank, higher for better moves."""
        game, mover, after = self.game, self.game.to_move(state), self.game.result(state, action)
        if game.is_terminal(after):
            value = game.utility(after)[mover or 0]
            return value, (int(WIN * value), FAR + 1 if value > 0 else 0)
        board.push_uci(game.name_of(action))
        try:
            outcome = -self._tables.probe_wdl(board)
            plies = 0 if after.clock == 0 else abs(self._tables.probe_dtz(board))
        finally:
            board.pop()
        if abs(outcome) == WIN and after.clock and int(after.clock) + plies >= FIFTY_MOVES:
            outcome = CURSED if outcome > 0 else -CURSED
        distance = 0 if outcome == 0 else FAR - plies if outcome > 0 else plies
        return {WIN: 1.0, -WIN: -1.0}.get(outcome, 0.0), (outcome, distance)
