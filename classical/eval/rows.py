"""Games as arrays, and their positions as rows of features: the data that a linear EVAL is fitted to.

A position of two players with zero sum is one row, from the mover's point of view: features are antisymmetric, so the opponent's row
would add nothing. Otherwise it is one row per player. Chance nodes have no row.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from classical.types import Kernel, Positions
from games import CHANCE, Game, Rules
from games.record import GameRecord, finished
from games.types import Array, Counts


class GameArrays(NamedTuple):
    """G finished games, one after the other, of n plies together."""

    firsts: Array
    """Positions [G]."""
    starts: Array
    """int64 [G + 1]: where each game's moves begin in `moves`"""
    moves: Array
    """int32 [n]"""
    outcomes: Array
    """float32 [G, P]: absolute, column p is player p's."""

    def __len__(self) -> int:
        return len(self.outcomes)

    def same(self) -> Array:
        """[G]: a number for each game, the same for games of equal moves: deterministic players repeat games."""
        numbers: dict[bytes, int] = {}
        found = np.zeros(len(self), np.int64)
        for i in range(len(self)):
            moves = self.moves[self.starts[i] : self.starts[i + 1]]
            found[i] = numbers.setdefault(self.firsts[i].tobytes() + moves.tobytes(), len(numbers))
        return found


class Rows(NamedTuple):
    """n rows, ordered by game and ply."""

    features: Array
    """float32 [n, F], from the viewer's point of view"""
    outcomes: Array
    """float32 [n]: the viewer's utility at the end of the game"""
    games: Array
    """int64 [n]: the number of the game, the same for equal games"""
    plies: Array
    """int64 [n]: counted through all games"""
    is_quiet: Array
    """bool [n]: see `quiet`"""
    is_mover: Array
    """bool [n]: the viewer is to move"""

    def __len__(self) -> int:
        return len(self.outcomes)

    def where(self, chosen: Array | slice) -> Rows:
        return Rows(*(column[chosen] for column in tuple(self)))

    def quiet(self) -> Rows:
        """Positions in which quiescence search would stop: not in check, and the move played captures nothing. In the middle of an
        exchange EVAL is never used, and pieces about to be captured would count as material. Positions past the median length of the
        games are left out too: in a game that drags on, an advantage was not converted, and material would seem worth little."""
        return self.where(self.is_quiet)


def game_arrays(game: Game, records: Iterable[GameRecord]) -> GameArrays:
    """The finished games among the records, checked by replaying them."""
    records = list(finished(records))
    firsts = game.blanks(len(records))
    for i, record in enumerate(records):
        record.positions(game)  # refuses a record that does not follow the rules
        firsts[i] = record.first_position(game)
    starts = np.cumsum([0, *map(len, records)], dtype=np.int64)
    moves = np.concatenate([np.zeros(0, np.int32), *(record.moves for record in records)])
    outcomes = np.array([record.outcome for record in records], np.float32).reshape(-1, game.players)
    return GameArrays(firsts, starts, moves, outcomes)


def positions(game: Game, games: GameArrays, most: int | None = None) -> Rows:
    """Every position; with `most`, those of the newest games that have at most so many plies together."""
    first = 0 if most is None else int(np.searchsorted(games.starts, games.starts[-1] - most))
    if first:
        games = GameArrays(games.firsts[first:], games.starts[first:], games.moves, games.outcomes[first:])
    n = int(games.starts[-1] - games.starts[0]) * viewers_of(game.rules)
    rows = Rows(
        features=np.zeros((n, len(game.rules.feature_names)), np.float32),
        outcomes=np.zeros(n, np.float32),
        games=np.zeros(n, np.int64),
        plies=np.zeros(n, np.int64),
        is_quiet=np.zeros(n, np.bool_),
        is_mover=np.zeros(n, np.bool_),
    )
    median = float(np.median(np.diff(games.starts))) if len(games) else 0.0
    written = game.kernel(tabulator)(games, games.same(), median, game.blanks(1), rows)
    return rows.where(slice(written))


def viewers_of(rules: Rules) -> int:
    """Rows per position."""
    return 1 if rules.players == 2 and rules.zero_sum else rules.players


def tabulator(rules: Rules) -> Kernel:
    """tabulate(games, numbers, median, states [1], rows) -> how many rows it wrote, replaying the games. `features` starts as zeros."""
    result, to_move, players = rules.result, rules.to_move, rules.players
    features = rules.features or (lambda state, player, values: None)
    gain = rules.gain or (lambda state, action: 0.0)
    in_check = rules.in_check or (lambda state: False)
    viewers = viewers_of(rules)

    def tabulate(games: GameArrays, numbers: Counts, median: float, states: Positions, rows: Rows) -> int:
        n, state = 0, states[0]
        for game in range(len(games.firsts)):
            start = games.starts[game]
            states[0] = games.firsts[game]
            for ply in range(start, games.starts[game + 1]):
                action, mover = games.moves[ply], to_move(state)
                if mover != CHANCE:
                    is_quiet = ply - start < median and gain(state, action) <= 0.0 and not in_check(state)
                    for viewer in range(viewers):
                        player = (mover + viewer) % players
                        features(state, player, rows.features[n])
                        rows.outcomes[n] = games.outcomes[game, player]
                        rows.games[n], rows.plies[n] = numbers[game], ply
                        rows.is_quiet[n], rows.is_mover[n] = is_quiet, viewer == 0
                        n += 1
                result(state, action)
        return n

    return tabulate
