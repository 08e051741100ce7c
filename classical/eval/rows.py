"""Games as arrays, and their positions as rows of features: what a linear EVAL is fitted to.

    games = game_arrays(game, records)                   # or Window.played()
    rows = positions(game, games)                   # every position, replayed once in compiled code
    rows.quiet()                                    # those of which EVAL is asked

A position is one row, in its mover's eyes; among three players, or where utilities need not sum to zero, one in the eyes of each.
(Between two with antisymmetric features the other one's row would say the same again.) Where chance is to move there is none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np

from games import CHANCE, Game, Rules
from games.record import GameRecord, finished

Array = np.ndarray[Any, Any]


class GameArrays(NamedTuple):
    """Finished games, one after the other. G games of n plies together."""

    firsts: Array
    """Positions [G]."""
    starts: Array
    """int64 [G + 1]: where each game's moves begin in"""
    moves: Array
    """int32 [n]"""
    outcomes: Array
    """float32 [G, P]: absolute, column p is player p's."""

    def __len__(self) -> int:
        return len(self.outcomes)

    def same(self) -> Array:
        """[G]: a number for each game, equal for games that are equal move for move: deterministic players repeat themselves."""
        numbers: dict[bytes, int] = {}
        found = np.zeros(len(self), np.int64)
        for i in range(len(self)):
            moves = self.moves[self.starts[i] : self.starts[i + 1]]
            found[i] = numbers.setdefault(self.firsts[i].tobytes() + moves.tobytes(), len(numbers))
        return found


@dataclass(frozen=True)
class Rows:
    """n rows, ordered by game and ply."""

    features: Array
    """float32 [n, F], in the eyes of the row's viewer"""
    outcomes: Array
    """float32 [n]: how the game ended for the viewer"""
    games: Array
    """int64 [n]: which game, of equal games the same"""
    plies: Array
    """int64 [n]: counted through all games"""
    is_quiet: Array
    """bool [n]: see `quiet`"""
    is_mover: Array
    """bool [n]: the viewer is to move"""

    def __len__(self) -> int:
        return len(self.outcomes)

    def where(self, chosen: Array) -> Rows:
        return Rows(*(getattr(self, each.name)[chosen] for each in fields(self)))

    def quiet(self) -> Rows:
        """Positions that quiescence would leave alone: no check to meet, and the move that was played takes nothing. Amid an exchange
        EVAL is not asked, and what hangs would be counted as what is there. And none past the median length of the games: where a game
        drags on, what should have won did not, and a rook more seems worth little."""
        return self.where(self.is_quiet)


def game_arrays(game: Game, records: Iterable[GameRecord]) -> GameArrays:
    """The finished games among these, checked by replaying them; the others are left out."""
    records = list(finished(records))
    firsts = game.blanks(len(records))
    for i, record in enumerate(records):
        record.positions(game)  # refuses what is not a game of these rules
        firsts[i] = record.first_position(game)
    starts = np.cumsum([0, *map(len, records)], dtype=np.int64)
    moves = np.concatenate([np.zeros(0, np.int32), *(record.moves for record in records)])
    outcomes = np.array([record.outcome for record in records], np.float32).reshape(-1, game.players)
    return GameArrays(firsts, starts, moves, outcomes)


def positions(game: Game, games: GameArrays, most: int | None = None) -> Rows:
    """All of them; `most`: of the newest games alone, that have no more plies together."""
    first = 0 if most is None else int(np.searchsorted(games.starts, games.starts[-1] - most))
    if first:
        later = GameArrays(games.firsts[first:], games.starts[first:], games.moves, games.outcomes[first:])
        return positions(game, later)
    viewers = viewers_of(game.rules)
    count = int(games.starts[-1] - games.starts[0]) * viewers
    names = len(game.rules.feature_names)
    rows = np.zeros((count, names), np.float32), np.zeros(count, np.float32), np.zeros(count, np.int64)
    about = np.zeros(count, np.int64), np.zeros(count, np.bool_), np.zeros(count, np.bool_)
    scratch = game.blanks(1), np.zeros(game.rules.max_legal, np.int32)
    median = float(np.median(np.diff(games.starts))) if len(games) else 0.0
    n = game.kernel(tabulator)(*games, games.same(), median, *scratch, *rows, *about)
    return Rows(*(each[:n] for each in (*rows, *about)))


def viewers_of(rules: Rules) -> int:
    """Rows of a position."""
    return 1 if rules.players == 2 and rules.zero_sum else rules.players


def tabulator(rules: Rules) -> Callable[..., int]:
    """Replays games and writes a row for each position (`Rows`) -> how many there are. `features` arrive all zeros."""
    result, to_move, players = rules.result, rules.to_move, rules.players
    features = rules.features or (lambda state, player, values: None)
    gain = rules.gain or (lambda state, action: 0.0)
    in_check = rules.in_check or (lambda state: False)
    viewers = viewers_of(rules)

    def tabulate(
        firsts: Any,
        starts: Any,
        moves: Any,
        outcomes: Any,
        same: Any,
        median: float,
        states: Any,
        actions: Any,
        values: Any,
        ends: Any,
        games: Any,
        plies: Any,
        quiet: Any,
        movers: Any,
    ) -> int:
        n, state = 0, states[0]
        for game in range(len(firsts)):
            states[0] = firsts[game]
            for ply in range(starts[game], starts[game + 1]):
                mover = to_move(state)
                if mover != CHANCE:
                    is_early = ply - starts[game] < median
                    is_quiet = is_early and gain(state, moves[ply]) <= 0.0 and not in_check(state)
                    for viewer in range(viewers):
                        player = (mover + viewer) % players
                        features(state, player, values[n])
                        ends[n] = outcomes[game, player]
                        games[n], plies[n] = same[game], ply
                        quiet[n], movers[n] = is_quiet, viewer == 0
                        n += 1
                result(state, moves[ply])
        return n

    return tabulate
