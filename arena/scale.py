"""The scale of a game, and a player's place on it: what `python -m arena rate` measures, and every evaluation of a training run.

    with Store(default_file(game), game) as store:
        scale = Scale(game, standard_rungs(game), store)
        scale.lay(100, workers=2)                        # the rungs' own games, where the store lacks them
        place = scale.place("uct:sims=300", 200, workers=2)
        place.row.elo, place.row.low, place.row.high, print(place)

The rungs that play may be a few of the standard ones (`opponents`), as where there is little time. What the store knows of the others
counts for the ratings all the same, so that there is one scale, whoever asks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from arena.ladder import Goal, Ladder, Made
from arena.rungs import Rungs
from arena.standings import Row, Standings, brief
from arena.store import Store
from base.workers import Workers
from games import Game

Watch = Callable[[int, int], object]
"""Told of games played and games to be played."""
LEAST = 4  # no rung has fewer than one in so many of the games that rungs have in the mean


@dataclass(frozen=True)
class Place:
    """Where a player stands. `str` is one line."""

    player: str
    """The name under which its results are stored."""
    ladder: Ladder
    standings: Standings

    @property
    def row(self) -> Row:
        return next(row for row in self.standings.rows if row.player == self.player)

    def as_json(self) -> dict[str, Any]:
        """The line that `rate --json` ends with."""
        everybody = self.standings.as_json()
        found: dict[str, Any] = next(each for each in everybody["players"] if each["player"] == self.player)
        met = []
        for each in everybody["players"]:
            points, games = self.standings.against(self.player, each["player"])
            if games:
                met.append(
                    {"player": each["player"], "elo": each["elo"], "games": games, "score": round(points / games, 6)}
                )
        about = {key: everybody[key] for key in ("game", "version", "anchor")}
        return about | found | {"rungs": met}

    def elo(self) -> str:
        """`+905 ± 31 [+876, +938]`"""
        row = self.row
        if row.elo is None or row.low is None or row.high is None:
            return "unknown"
        return f"{row.elo:+.0f} ± {(row.high - row.low) / 2:.0f} [{row.low:+.0f}, {row.high:+.0f}]"

    def __str__(self) -> str:
        """`othello:size=8 alphabeta:depth=4: Elo +905 ± 31 [+876, +938], 200 games against 6 rungs, random = 0`"""
        rungs = sum(self.standings.against(self.player, row.player)[1] > 0 for row in self.standings.rows)
        name, zero = self.standings.game.name, brief(self.standings.anchor)
        against = f"{self.row.games} games against {rungs} rungs"
        return f"{name} {brief(self.player)}: Elo {self.elo()}, {against}, {zero} = 0"


class Scale:
    """The rungs of one game, their results in a store."""

    def __init__(
        self, game: Game, rungs: Rungs, store: Store, seed: int = 0, opponents: Sequence[str] | None = None
    ) -> None:
        """`opponents`: who plays, where it is not all of the rungs; the anchor always does. Others than the rungs may be among them."""
        self.game, self.rungs, self.store, self.seed = game, rungs, store, seed
        playing = rungs.players if opponents is None else opponents
        self.players = tuple(dict.fromkeys([rungs.anchor, *playing]))
        self._made: dict[str, Made] = {}
        self.ladder = self._ladder([])
        self._made |= {text: Made.of(text, game) for text in rungs.players if text not in self._made}
        self.names = sorted({player.name for player in self._made.values()})
        """The names of all rungs, playing or not."""

    def missing(self, games: int) -> int:
        """How many the rungs lack, until each has played so many against the others in the mean."""
        if self.ladder.choose(self.ladder.pairs()) is None:
            return 0
        short = sum(self.ladder.missing(goal) for goal in self._least(games))
        return 2 * max(self.ladder.missing(Goal(games)), short)

    def lay(self, games: int, workers: Workers | int, watch: Watch = lambda done, total: None) -> None:
        """The rungs' own games, where the store lacks them. `ladder.is_interrupted` after Ctrl-C."""
        total = self.missing(games)
        done = 0

        def heard(blocks: int) -> None:
            nonlocal done
            done += 2 * blocks
            watch(min(done, total), total)

        for goal in [Goal(games), *self._least(games)]:
            if self.ladder.missing(goal) and not self.ladder.is_interrupted:
                self.ladder.play(goal, workers, heard)

    def place(self, player: str, games: int, workers: Workers | int, watch: Watch = lambda done, total: None) -> Place:
        """So many games of a player, those in the store included, against the rungs that tell most."""
        ladder = self._ladder([player])
        name = ladder.texts[player]
        goal = Goal(games, of=name)
        done, total = 0, 2 * ladder.missing(goal)

        def heard(blocks: int) -> None:
            nonlocal done
            done += 2 * blocks
            watch(done, total)

        if total:
            ladder.play(goal, workers, heard)
        return Place(name, ladder, self._standings(ladder, [name], {}))

    def standings(self, labels: Mapping[str, str]) -> Standings:
        """The rungs, and these players (under which words), by what was played so far."""
        ladder = self._ladder(list(labels))
        named = {ladder.texts[text]: words for text, words in labels.items()}
        return self._standings(ladder, list(named), named)

    def _standings(self, ladder: Ladder, players: Sequence[str], labels: Mapping[str, str]) -> Standings:
        """Without rungs that nobody has met yet."""
        known = {player for pair in ladder.counts for player in pair}
        shown = {*players, *ladder.players, *(name for name in self.names if name in known)}
        return Standings(self.game, ladder.ratings(sorted(shown)), ladder.counts, labels)

    def _least(self, games: int) -> list[Goal]:
        """For a store in which some of the rungs have played much, and others nothing."""
        return [Goal(-(-games // LEAST), of=name) for name in self.ladder.players]

    def _ladder(self, players: Sequence[str]) -> Ladder:
        """The rungs that play, and these."""
        ladder = Ladder(
            self.game,
            [*self.players, *players],
            self.store,
            self.rungs.anchor,
            openings=self.rungs.openings,
            seed=self.seed,
            made=self._made,
        )
        self._made |= {text: ladder.made[text] for text in self.players}  # a run goes on: another checkpoint, later
        return ladder
