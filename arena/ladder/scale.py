"""The standard Elo scale of a game, and the place of a player on it: `python -m arena rate`, and every evaluation of a training run.

    with LadderResults(default_file(game), game) as results:
        scale = Scale(game, reference_players(game), results)
        scale.prepare(100, workers=2)                    # missing games among the reference players
        place = scale.place("uct:sims=300", 200, workers=2)
        place.row.elo, place.row.low, place.row.high, print(place)

    python -m arena rate connect_four alphabeta:depth=5,tt=off         one line: Elo ± interval
    python -m arena rate connect_four RUN                              a training run: Elo of each checkpoint

A player may meet only some of the reference players (`opponents`), to save time. Stored results of the others count all the same, so
all measurements of a game share one scale.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arena.commands import Progress, add_common, notice, progress_bar
from arena.ladder.ladder import GAMES, Goal, Ladder, add_file, notice_end
from arena.ladder.reference_players import ReferencePlayers, reference_players, with_programs
from arena.ladder.results import FOLDER, LadderResults, default_file
from arena.ladder.standings import Row, Standings
from arena.players import PackedPlayer, brief, make_player, pack_player
from base.errors import INTERRUPTED, UserError
from base.options import written
from base.workers import Workers
from checkpoints import all_of
from cluster.options import opened_workers
from games import Game, load

REFERENCE_GAMES = 100  # default of --reference-games
SHARE = 4  # each reference player has at least 1/SHARE of the games that they have in the mean


@dataclass(frozen=True)
class Place:
    """The place of a player on the scale. `str` is one line."""

    player: str
    """The name that its results are stored under."""
    ladder: Ladder
    standings: Standings

    @property
    def row(self) -> Row:
        return next(row for row in self.standings.rows if row.player == self.player)

    def as_json(self) -> dict[str, Any]:
        """The object that `rate --json` prints."""
        table = self.standings.as_json()
        own: dict[str, Any] = next(each for each in table["players"] if each["player"] == self.player)
        opponents = []
        for each in table["players"]:
            points, games = self.standings.against(self.player, each["player"])
            if games:
                score = round(points / games, 6)
                opponents.append({"player": each["player"], "elo": each["elo"], "games": games, "score": score})
        return {key: table[key] for key in ("game", "version", "anchor")} | own | {"opponents": opponents}

    def elo(self) -> str:
        """`+905 ± 31 [+876, +938]`"""
        row = self.row
        if row.elo is None or row.low is None or row.high is None:
            return "unknown"
        return f"{row.elo:+.0f} ± {(row.high - row.low) / 2:.0f} [{row.low:+.0f}, {row.high:+.0f}]"

    def __str__(self) -> str:
        """`othello:size=8 alphabeta:depth=4: Elo +905 ± 31 [+876, +938], 200 games against 6 reference players, random = 0`"""
        opponents = sum(self.standings.against(self.player, row.player)[1] > 0 for row in self.standings.rows)
        name, anchor = self.standings.game.name, brief(self.standings.anchor)
        against = f"{self.row.games} games against {opponents} reference players"
        return f"{name} {self.row.name}: Elo {self.elo()}, {against}, {anchor} = 0"


class Scale:
    """The reference players of one game, with their results."""

    def __init__(
        self,
        game: Game,
        reference: ReferencePlayers,
        results: LadderResults,
        seed: int = 0,
        opponents: Sequence[str] | None = None,
    ) -> None:
        """`opponents`: who plays, default all reference players; the anchor always does. They may be other players, too."""
        self.game, self.reference, self.results, self.seed = game, reference, results, seed
        playing = reference.players if opponents is None else opponents
        self.players = tuple(dict.fromkeys([reference.anchor, *playing]))
        self._packed: dict[str, PackedPlayer] = {}
        self.ladder = self._ladder([])
        self._packed |= {
            text: pack_player(make_player(text, game)) for text in reference.players if text not in self._packed
        }
        self.names = sorted({each.name for each in self._packed.values()})
        """The names of all reference players and opponents."""

    def missing(self, games: int) -> int:
        """Games to play until the reference players have this mean number of games against each other."""
        if self.ladder.choose(self.ladder.pairs()) is None:
            return 0
        short = sum(self.ladder.missing(goal) for goal in self._least(games))
        return 2 * max(self.ladder.missing(Goal(games)), short)

    def prepare(self, games: int, workers: Workers | int, progress: Progress = lambda done, total: None) -> None:
        """Play the missing games among the reference players. `ladder.is_interrupted` is set after Ctrl-C."""
        total, before = self.missing(games), self.ladder.blocks()

        def forward(done: int, of_goal: int) -> None:
            progress(min(2 * (self.ladder.blocks() - before), total), total)

        for goal in [Goal(games), *self._least(games)]:
            if self.ladder.missing(goal) and not self.ladder.is_interrupted:
                self.ladder.play(goal, workers, forward)

    def place(
        self, player: str, games: int, workers: Workers | int, progress: Progress = lambda done, total: None
    ) -> Place:
        """Play until the player has this number of games, stored ones included, against the most informative opponents."""
        ladder = self._ladder([player])
        name = ladder.packed[player].name
        goal = Goal(games, of=name)
        if ladder.missing(goal):
            ladder.play(goal, workers, progress)
        return Place(name, ladder, self._standings(ladder, [name], {}))

    def standings(self, labels: Mapping[str, str]) -> Standings:
        """The reference players and the players of `labels` (text: label), by the games played so far."""
        ladder = self._ladder(list(labels))
        by_name = {ladder.packed[text].name: label for text, label in labels.items()}
        return self._standings(ladder, list(by_name), by_name)

    def _standings(self, ladder: Ladder, players: Sequence[str], labels: Mapping[str, str]) -> Standings:
        """Without reference players that have no games."""
        known = {player for pair in ladder.counts for player in pair}
        shown = {*players, *ladder.players, *(name for name in self.names if name in known)}
        return Standings(self.game, ladder.ratings(sorted(shown)), ladder.counts, self.results.names() | dict(labels))

    def _least(self, games: int) -> list[Goal]:
        """Goals of single players, for results in which some have many games and others none."""
        return [Goal(-(-games // SHARE), of=name) for name in self.ladder.players]

    def _ladder(self, players: Sequence[str]) -> Ladder:
        """A ladder of the opponents and these players."""
        ladder = Ladder(
            self.game,
            [*self.players, *players],
            self.results,
            self.reference.anchor,
            openings=self.reference.openings,
            seed=self.seed,
            packed=self._packed,
        )
        # `players` are made anew each time: net:RUN is another checkpoint later
        self._packed |= {text: ladder.packed[text] for text in self.players}
        return ladder


# ── python -m arena rate ─────────────────────────────────────────────────────────────────────────────────────────────


def add_rate(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("game", metavar="GAME")
    parser.add_argument(
        "player", metavar="PLAYER", help="a player, or a training run: its name under runs/ or its folder"
    )
    parser.add_argument(
        "--games", type=int, default=GAMES, metavar="N", help="number of games of the player, stored ones included"
    )
    parser.add_argument(
        "--reference-games",
        "--rung-games",
        type=int,
        default=REFERENCE_GAMES,
        metavar="N",
        help="mean number of games per reference player against the others, played first where they are missing",
    )
    parser.add_argument(
        "--sims",
        type=int,
        default=200,
        metavar="N",
        help="simulations per move for the checkpoints of a run; 0: policy alone",
    )
    add_file(parser)
    add_common(parser)


def run_rate(options: argparse.Namespace) -> int:
    game = load(options.game)
    reference = with_programs(reference_players(game), game)
    steps = checkpoints_of(options.player)
    named: dict[int | None, str] = {
        step: f"net:{written(str(path))},sims={options.sims}" for step, path in steps.items()
    }
    players = named or {None: options.player}
    # the first one, so that an error comes before hours of games
    if make_player(next(iter(players.values())), game).text == make_player(reference.anchor, game).text:
        raise UserError(f"rate: expected another player than {reference.anchor}, whose Elo is 0 by definition")
    found: dict[int | None, Place] = {}
    file = options.file or default_file(game)
    with opened_workers(options) as workers, LadderResults(file, game) as results:
        scale = Scale(game, reference, results, options.seed)
        if missing := scale.missing(options.reference_games):
            notice(f"{missing} games among the reference players of {game.name} are missing; they are played first")
            with progress_bar("reference games") as progress:
                scale.prepare(options.reference_games, workers, progress)
        is_interrupted = scale.ladder.is_interrupted
        for step, player in players.items():
            if is_interrupted:
                break
            with progress_bar(player) as progress:
                found[step] = scale.place(player, options.games, workers, progress)
            notice_end(found[step].ladder)
            is_interrupted = found[step].ladder.is_interrupted
    if is_interrupted:
        notice("interrupted; the results are kept")
    if not steps:
        if found:
            print(json.dumps(found[None].as_json(), ensure_ascii=False) if options.json else found[None])
    elif options.json:
        rated = [{"step": step} | each.as_json() for step, each in found.items()]
        print(json.dumps({"game": game.name, "run": options.player, "checkpoints": rated}, ensure_ascii=False))
    else:
        print(checkpoint_table(found))
    return INTERRUPTED if is_interrupted else 0


def checkpoint_table(found: Mapping[int | None, Place]) -> str:
    """A line for each checkpoint."""
    lines = [f"{'step':>10}  {'Elo':<28}{'games':>7}"]
    lines += [f"{step:>10}  {each.elo():<28}{each.row.games:>7}" for step, each in found.items()]
    return "\n".join(lines)


def checkpoints_of(text: str) -> dict[int, Path]:
    """The checkpoints of a training run by step; none where the text is no run."""
    folders = [folder for folder in (FOLDER.parent / text, Path(text)) if os.path.isdir(folder)]
    if not folders:
        return {}
    return next(({int(path.name): path for path in found} for folder in folders if (found := all_of(folder))), {})
