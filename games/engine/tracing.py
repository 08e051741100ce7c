"""Replays games given by action names: what could be played before each move, and how it ended. `python -m games trace GAME`."""

from __future__ import annotations

from typing import Any

import numpy as np

from base.errors import short
from games.engine import kernels
from games.engine.game import Game
from games.engine.rules import CHANCE
from games.types import Actions


class Tracer:
    """Traces many games of one kind; each line is independent, and nothing grows."""

    def __init__(self, game: Game) -> None:
        self.game = game
        self._run = game.kernel(kernels.trace)
        self._start = game.initial()
        by_name = sorted(range(game.actions), key=lambda action: game.names[action])
        self._sorted_names = [game.names[action] for action in by_name]
        self._rank = np.argsort(np.array(by_name))  # where an action's name stands among the sorted ones

    def trace(self, line: str) -> dict[str, Any]:
        """The answer to one line of action names: lists with one entry before each move and one after the last, or an error."""
        words = line.split()
        ids = [self.game.id_of(word) for word in words[: self.game.rules.max_plies + 1]]
        unknown = next((ply for ply, action in enumerate(ids) if action is None), len(ids))
        moves = np.array(ids[:unknown], np.int32)
        legal = np.zeros((unknown + 1, self.game.rules.max_legal), np.int32)
        counts, movers = np.zeros(unknown + 1, np.int64), np.zeros(unknown + 1, np.int64)
        utilities = np.zeros(self.game.players)
        played = int(self._run(self.game.scratch(self._start, 2), moves, legal, counts, movers, utilities))
        if played < len(words):
            if counts[played] == 0:
                error = f"the game is over before '{short(words[played])}'"
            else:
                choices = " ".join(self._names(legal[played, : counts[played]])[:20])
                error = f"{'unknown' if ids[played] is None else 'illegal'} action '{short(words[played])}'; legal are {choices}"
            return {"error": error, "ply": played}
        is_over = counts[played] == 0
        to_move: list[int | str | None] = ["chance" if mover == CHANCE else mover for mover in movers.tolist()]
        if is_over:
            to_move[-1] = None
        return {
            "to_move": to_move,
            "legal": [self._names(legal[ply, : counts[ply]]) for ply in range(len(words) + 1)],
            "terminal": bool(is_over),
            "utilities": utilities.tolist() if is_over else None,
        }

    def _names(self, actions: Actions) -> list[str]:
        return [self._sorted_names[rank] for rank in np.sort(self._rank[actions]).tolist()]
