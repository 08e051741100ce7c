"""The replay window: the newest games, in the order of their numbers, and batches of their positions.

    window = Window(game, settings)
    window.extend(check(game, records))             # of one iteration, by number
    batch = window.batch(rng, 256)                  # drawn; arrays, ready for torch.from_numpy

    window = Window.of(game, check(game, records))  # of these games, all of them
    batch = window.positions(window.evenly(2048))   # at equal distances, not turned

Games are kept as moves and targets, never as planes; a batch replays each of its positions from the first move, in compiled code (a
microsecond a ply), and turns it by a symmetry drawn at random. What is in the window depends on the games alone, not on when
they came or whether the run was interrupted.

The window grows as KataGo's does (Wu 2019, section 3.3): of n positions made so far it holds the newest

    c (1 + β ((n/c)^α - 1) / α)        all of them while n ≤ c; never more than `most`

so that early games, of weak networks, are dropped quickly, and late ones stay longer. A position is learned from where it was searched:
fully, and its policy is a target too; or fast, and it trains the value alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from base.errors import UserError, require
from classical.eval import GameArrays
from games import Game, Rules
from games.engine.kernels import finals
from games.record import MAX_PLIES, GameRecord, finished
from games.types import Actions, GameStates
from nets import Symmetries

if TYPE_CHECKING:
    from train.auxiliary import Auxiliary

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class WindowSettings:
    """Each field has the papers' value behind it."""

    constant: int = 20_000
    """c: up to so many positions none is dropped. KataGo: 250,000."""
    alpha: float = 0.75
    """α: the power with which the window grows. KataGo: 0.75."""
    beta: float = 0.4
    """β: the share of a new position by which the window grows at n = c. KataGo: 0.4."""
    most: int = 1_000_000
    """Positions at most: with it, memory is bounded. AlphaZero: the newest million games."""
    samples: float = 4.0
    """Each new position is drawn so many times on average. KataGo: at most 4."""
    fast: bool = False
    """Positions searched fast train the value. KataGo: they are left out."""
    horizon: float = 0.0
    """The search's part of the value target is a mean over this search and those that follow in the game, so many plies ahead on
    average, with weights that fall exponentially; the outcome stands for the plies after the end. 0: this search alone. KataGo:
    auxiliary targets of some 6 to 50 plies."""

    def __post_init__(self) -> None:
        require(self, "at least 1", lambda n: n >= 1, "constant", "most")
        require(self, "more than 0 and at most 1", lambda x: 0 < x <= 1, "alpha")
        require(self, "0 to 1", lambda x: 0 <= x <= 1, "beta")
        require(self, "more than 0", lambda x: x > 0, "samples")
        require(self, "0 to 10,000", lambda x: 0 <= x <= 10_000, "horizon")

    def size(self, n: int) -> int:
        """Positions in the window when n have been made."""
        c = self.constant
        grown = n if n <= c else int(c * (1 + self.beta * ((n / c) ** self.alpha - 1) / self.alpha))
        return min(n, grown, self.most)


class Batch(NamedTuple):
    """B positions, each in its mover's eyes."""

    observations: Array
    """float32 [B, channels, rows, columns]"""
    policies: Array
    """float32 [B, A]: the distribution to learn; all zeros where the position has none."""
    legal: Array
    """bool [B, A]"""
    outcomes: Array
    """float32 [B, P]: how the game ended, relative: 0 = mover."""
    searched: Array
    """float32 [B, P]: what the search expects, over the window's `horizon`, relative."""
    auxiliary: Mapping[str, Array] = MappingProxyType({})
    """float32 [B, …] by name: the auxiliary targets of train/auxiliary.py."""


class Checked(NamedTuple):
    """Games that were replayed by the rules once."""

    records: list[GameRecord]
    movers: list[Array]
    """Who moves at each ply, `CHANCE` where chance does; empty for an unfinished game."""
    ends: list[GameStates]
    """The position after the last ply, one each; none for an unfinished game and for one that was broken off."""


def check(game: Game, records: Iterable[GameRecord]) -> Checked:
    """Refuses records that are not games of these rules. Unfinished ones are not replayed."""
    found = Checked(list(records), [], [])
    for record in found.records:
        is_finished = record.outcome is not None and len(record) > 0
        states = record.positions(game) if is_finished else game.blanks(0)
        movers = np.zeros(max(len(states) - 1, 0), np.int8)
        game.kernel(_mover_lister)(states[:-1], movers)
        found.movers.append(movers)
        found.ends.append(states[-1:].copy() if record.ending in ("", MAX_PLIES) else game.blanks(0))
    return found


def _mover_lister(rules: Rules) -> Callable[..., None]:
    to_move = rules.to_move

    def movers(states: Any, seats: Any) -> None:
        for ply in range(len(states)):
            seats[ply] = to_move(states[ply])

    return movers


def _look_ahead(rules: Rules) -> Callable[..., None]:
    players = rules.players

    def look_ahead(utilities: Array, ahead: Array, decay: float) -> None:
        """`ahead` is the outcome, float64. Plies without a search are passed over."""
        for ply in range(len(utilities) - 1, -1, -1):
            if np.isnan(utilities[ply, 0]):
                continue
            for player in range(players):
                ahead[player] = (1.0 - decay) * utilities[ply, player] + decay * ahead[player]
                utilities[ply, player] = ahead[player]

    return look_ahead


class Window:
    """The newest games. Arrays of one row per game, per ply and per entry of a policy, each ordered by game number."""

    def __init__(self, game: Game, settings: WindowSettings) -> None:
        self.game, self.settings = game, settings
        self.made = 0
        """Positions to learn from in all games ever given."""
        self.recorded = 0
        """Of these, positions of recorded games that the run began with."""
        players = game.players
        self._firsts = game.blanks(0)
        self._plies = np.zeros(0, np.int64)  # of each game
        self._entries = np.zeros(0, np.int64)  # of each game's policies
        self._outcomes = np.zeros((0, players), np.float32)
        board = game.rules.observation[1:] if game.rules.ownership is not None else (0, 0)
        self._shares = np.zeros((0, players, players, *board), np.float32)  # of cells at the end, in each player's view
        self._scores = np.zeros((0, players), np.float32)
        self._moves = np.zeros(0, np.int32)
        self._movers = np.zeros(0, np.int8)
        self._useful = np.zeros(0, bool)  # a position to learn from
        self._taught = np.zeros(0, bool)  # its policy is a target
        self._counts = np.zeros(0, np.int64)  # of the entries of each ply's policy
        self._utilities = np.zeros((0, players), np.float32)
        self._actions = np.zeros(0, np.int32)
        self._probabilities = np.zeros(0, np.float32)
        self._index()
        self._symmetries = Symmetries(game.rules)
        self.views = _views(game)
        """[P, A]: the policy entry under which each player has an action."""
        self._fill = game.kernel(filler)

    @classmethod
    def of(cls, game: Game, games: Checked, settings: WindowSettings | None = None) -> Window:
        """All of these games; the settings' size does not count."""
        found = cls(game, replace(settings or WindowSettings(), constant=1 << 40, most=1 << 40))
        found.extend(games)
        return found

    @property
    def games(self) -> int:
        return len(self._plies)

    def __len__(self) -> int:
        """Positions to learn from."""
        return len(self._samples)

    def bytes(self) -> int:
        return sum(value.nbytes for value in vars(self).values() if isinstance(value, np.ndarray))

    def begin_with(self, games: Checked) -> None:
        """Recorded games, the oldest of all. They are learned from before the run's own, so `window.samples` does not count them."""
        self.recorded = self.extend(games)

    def extend(self, games: Checked) -> int:
        """Add finished games, in the order of their numbers, and drop the oldest. How many positions to learn from were added."""
        before = self.made
        records = list(finished(games.records))
        known = [~np.isnan(record.utilities).any(1) for record in records]
        taught = [record.searched.astype(bool) for record in records]
        useful = [seen if self.settings.fast else seen & full for seen, full in zip(known, taught, strict=True)]
        self.made += sum(int(each.sum()) for each in useful)
        if records:
            firsts = self.game.blanks(len(records))
            for i, record in enumerate(records):
                firsts[i] = record.first_position(self.game)
            self._firsts = np.concatenate([self._firsts, firsts])
            self._plies = _joined(self._plies, [len(record) for record in records])
            self._entries = _joined(self._entries, [len(record.visits) for record in records])
            self._outcomes = _joined(self._outcomes, [record.outcome for record in records])
            shares, scores = self._finals(
                [end for end, movers in zip(games.ends, games.movers, strict=True) if len(movers)]
            )
            self._shares, self._scores = np.concatenate([self._shares, shares]), np.concatenate([self._scores, scores])
            self._moves = _joined(self._moves, *(record.moves for record in records))
            self._movers = _joined(self._movers, *(movers for movers in games.movers if len(movers)))
            self._useful = _joined(self._useful, *useful)
            self._taught = _joined(self._taught, *taught)
            self._counts = _joined(self._counts, *(record.policy_counts for record in records))
            self._utilities = _joined(self._utilities, *(self._expected(record) for record in records))
            self._actions = _joined(self._actions, *(record.policy_actions for record in records))
            self._probabilities = _joined(self._probabilities, *(record.probabilities for record in records))
        self._forget()
        self._index()
        return self.made - before

    def _expected(self, record: GameRecord) -> Array:
        """float32 [n, P]: what the searches of a game expect, over the horizon."""
        if not self.settings.horizon:
            return record.utilities
        found = record.utilities.copy()
        decay = self.settings.horizon / (1 + self.settings.horizon)
        self.game.kernel(_look_ahead)(found, np.array(record.outcome, np.float64), decay)
        return found

    def _finals(self, ends: list[GameStates]) -> tuple[Array, Array]:
        """Ownership [n, viewers, P, rows, columns] and scores [n, P] of the games that end there; NaN for those broken off."""
        rules = self.game.rules
        shares, scores = (
            np.full((len(ends), *each.shape[1:]), np.nan, np.float32) for each in (self._shares, self._scores)
        )
        if rules.ownership is not None or rules.score is not None:
            known = np.array([len(each) > 0 for each in ends], np.bool_)
            states = np.concatenate([self.game.blanks(0), *ends])
            found = [np.zeros((len(states), *each.shape[1:]), np.float32) for each in (shares, scores)]
            self.game.kernel(finals)(states, *found)
            shares[known], scores[known] = found
        return shares, scores

    def _forget(self) -> None:
        """Drop the oldest games as long as enough positions remain without them."""
        ends = np.cumsum(self._plies)
        useful = np.concatenate([[0], np.cumsum(self._useful)])
        left = useful[-1] - useful[ends]  # positions behind each game
        games = int(np.searchsorted(-left, -self.settings.size(self.made), side="right"))
        if games:
            plies, entries = int(ends[games - 1]), int(self._entries[:games].sum())
            for name in ("_firsts", "_plies", "_entries", "_outcomes", "_shares", "_scores"):
                setattr(self, name, getattr(self, name)[games:].copy())
            for name in ("_moves", "_movers", "_useful", "_taught", "_counts", "_utilities"):
                setattr(self, name, getattr(self, name)[plies:].copy())
            for name in ("_actions", "_probabilities"):
                setattr(self, name, getattr(self, name)[entries:].copy())

    def _index(self) -> None:
        self._samples = np.flatnonzero(self._useful)
        """[n]: their plies, counted through all games."""
        self._starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(self._plies)])
        self._policies = np.concatenate([np.zeros(1, np.int64), np.cumsum(self._counts)])

    def batch(
        self, rng: np.random.Generator, size: int, extra: Mapping[str, Auxiliary] = MappingProxyType({})
    ) -> Batch:
        """Positions drawn uniformly, each turned by a symmetry drawn uniformly. `extra`: auxiliary targets by name."""
        if not len(self):
            raise UserError("window: expected positions to learn from, there are none")
        plies = self._samples[rng.integers(len(self), size=size)]
        batch = self.positions(plies)
        which = rng.integers(self._symmetries.count, size=size)
        observations, policies, legal = self._symmetries.turn(which, *batch[:3])
        further = {}
        for name, kind in extra.items():
            target = kind.target(self, plies)
            if kind.turns_as == "policy":
                _, target = self._symmetries.turn(which, batch.observations, target)
            elif kind.turns_as == "planes":
                target = self._symmetries.turn_planes(which, target)
            further[name] = target
        return batch._replace(observations=observations, policies=policies, legal=legal, auxiliary=further)

    def evenly(self, most: int) -> Array:
        """Plies of positions to learn from, counted through all games: all, or `most` of them at equal distances."""
        count = min(len(self), most)
        return self._samples[np.arange(count) * len(self) // max(count, 1)]

    def stages(self, plies: Array, parts: int) -> Array:
        """[n]: in which part of its game each of these plies is, from 0; all parts of a game are of equal length."""
        games = self._games_of(plies)
        found: Array = (plies - self._starts[games]) * parts // self._plies[games]
        return found

    def ends(self, plies: Array) -> Array:
        """[n]: behind the last ply of each one's game."""
        found: Array = self._starts[self._games_of(plies) + 1]
        return found

    def movers(self, plies: Array) -> Array:
        """[n]: who moves, `CHANCE` where chance does."""
        found: Array = self._movers[plies]
        return found

    def ownership(self, plies: Array) -> Array:
        """float32 [n, P, rows, columns]: whose each cell is at the end, relative: 0 = mover; NaN where the game was broken off."""
        found: Array = self._shares[self._games_of(plies), self.movers(plies)]
        return found

    def scores(self, plies: Array) -> Array:
        """float32 [n, P]: at the end, as shares of the largest score, relative: 0 = mover; NaN where the game was broken off."""
        seats = (self.movers(plies)[:, None] + np.arange(self.game.players)) % self.game.players
        found: Array = np.take_along_axis(self._scores[self._games_of(plies)], seats, 1) / self.game.rules.largest_score
        return found.astype(np.float32)

    def has_policy(self, plies: Array) -> Array:
        """bool [n]: there is a policy target."""
        found: Array = self._taught[plies]
        return found

    def age(self) -> float:
        """How many games came after a position's own, in the mean over the positions to learn from."""
        return float((self.games - 1 - self._games_of(self._samples)).mean()) if len(self) else float("nan")

    def _games_of(self, plies: Array) -> Array:
        found: Array = np.searchsorted(self._starts, plies, side="right") - 1
        return found

    def metrics(self, draws: int) -> dict[str, float]:
        """`draws`: positions drawn from it so far."""
        return {
            "window/positions": float(len(self)),
            "window/made": float(self.made),
            "window/games": float(self.games),
            "window/megabytes": self.bytes() / 1e6,
            "window/age": self.age(),
            "window/samples": draws / max(self.made - self.recorded, 1),
        }

    def arrays(self) -> GameArrays:
        """Its games, move by move."""
        return GameArrays(self._firsts, self._starts, self._moves, self._outcomes)

    def positions(self, plies: Array) -> Batch:
        """The positions of these plies, counted through all games, as they are."""
        rules, size = self.game.rules, len(plies)
        batch = Batch(
            np.zeros((size, *rules.observation), np.float32),
            np.zeros((size, rules.actions), np.float32),
            np.zeros((size, rules.actions), np.bool_),
            np.zeros((size, rules.players), np.float32),
            np.zeros((size, rules.players), np.float32),
        )
        stored = Stored(
            self._firsts, self._starts, self._moves, self._policies, self._actions, self._probabilities,
            self._outcomes, self._utilities, self._taught,
        )  # fmt: skip
        legal_actions = np.zeros(rules.max_legal, np.int32)
        self._fill(stored, self._games_of(plies), plies, self.views, self.game.blanks(1), legal_actions, *batch[:5])
        return batch


def _joined(old: Array, *new: Any) -> Array:
    return np.concatenate([old, *(np.asarray(each, old.dtype) for each in new)])


def _views(game: Game) -> Array:
    views = game.rules.action_view
    return np.array([np.arange(game.actions)] * game.players if views is None else views, np.int32)


class Stored(NamedTuple):
    """The arrays of a window with G games, n plies and k entries of policies, as `fill` takes them."""

    firsts: Array
    """[G]: the position that each game begins from."""
    starts: Array
    """int64 [G + 1]: each game's first ply."""
    moves: Array
    """int32 [n]"""
    policies: Array
    """int64 [n + 1]: each ply's first entry."""
    actions: Array
    """int32 [k]"""
    probabilities: Array
    """float32 [k]"""
    outcomes: Array
    """float32 [G, P]: absolute."""
    utilities: Array
    """float32 [n, P]: of the searched roots, absolute."""
    taught: Array
    """bool [n]: the policy is a target."""


def filler(rules: Rules) -> Callable[..., None]:
    """Replays the positions of a batch and writes their observations and targets."""
    result, to_move, observe, legal_actions = rules.result, rules.to_move, rules.observe, rules.legal_actions
    players = rules.players

    def fill(
        stored: Stored, games: Array, plies: Array, views: Array, states: GameStates, actions: Actions,
        observations: Array, policies: Array, legal: Array, outcomes: Array, searched: Array,
    ) -> None:  # fmt: skip
        state = states[0]
        for i in range(len(plies)):
            game, last = games[i], plies[i]
            states[0] = stored.firsts[game]
            for ply in range(stored.starts[game], last):
                result(state, stored.moves[ply])
            mover = to_move(state)
            view = views[mover]
            observe(state, mover, observations[i])
            for n in range(legal_actions(state, actions)):
                legal[i, view[actions[n]]] = True
            if stored.taught[last]:
                for entry in range(stored.policies[last], stored.policies[last + 1]):
                    policies[i, view[stored.actions[entry]]] = stored.probabilities[entry]
            for seat in range(players):
                outcomes[i, seat] = stored.outcomes[game, (mover + seat) % players]
                searched[i, seat] = stored.utilities[last, (mover + seat) % players]

    return fill
