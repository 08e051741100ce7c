"""How strong a checkpoint is, measured every few iterations: its Elo on the game's standard scale, and its accuracy against the solver;
where information is hidden, its exploitability, and its utility against other players.

    evaluate = ArenaEvaluation(settings, workers)
    evaluate.prepare(game, log)                     # games between reference players and solved positions, where they are missing
    found = evaluate(game, checkpoint, seed, log)   # found.line, found.metrics, found.elo
    print(evaluate.table(game, {checkpoint: "the last one"}))

The scale is that of `python -m arena rate` (arena/ladder/scale.py): the same reference players, openings and results, in
runs/ladders/GAME.sqlite. So results of runs count there, and the other way round. A game of two without reference players gets
a scale from the players of the configuration, with the random player as 0. Where more than two play, or players do not see everything,
there is no Elo: a match against each of them. Elo counts games won, and a game of hidden cards is played for what is won.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from arena.accuracy import measure
from arena.commands import Progress
from arena.drawn_positions import draw_positions
from arena.exploit import exploit, shown
from arena.ladder.reference_players import ReferencePlayers, has_reference_players, reference_players, standard_openings
from arena.ladder.results import LadderResults, default_file
from arena.ladder.scale import Place, Scale
from arena.ladder.standings import signed
from arena.match import Match
from arena.players import brief, make_player
from arena.released_positions import evenly, released
from arena.solved_positions import Solved
from arena.tally import Estimate
from base.errors import UserError, require
from base.files import read_json
from base.json_values import is_number
from base.options import written
from base.workers import Workers
from classical.equilibrium import GameTree, unfold
from games import Game
from monitor.log import RunLog

ANCHOR = "random"  # of a game without standard reference players
FIRST_STAGE = 1  # drawn positions are of later fifths of a game than the first, which takes minutes


EXPLOITABILITY = "exploitability/utility"
"""The tag of the exploitability in utilities."""


@dataclass(frozen=True)
class EvaluationSettings:
    """What the arena measures. Nothing here changes what is learned."""

    every: int = 10
    """Iterations between evaluations; the untrained network and the last checkpoint are always evaluated. 0: never."""
    reference_players: tuple[str, ...] = ("random", "uct:sims=10", "uct:sims=30", "uct:sims=100", "uct:sims=1000")
    """Opponents of the checkpoint: the quick ones of the standard scale, or others, as `python -m arena players` lists them."""
    reference_games: int = 60
    """Mean number of games of a reference player against the others; played once for all runs, before a checkpoint is measured."""
    games: int = 50
    """Of the checkpoint each time, and as many of its policy alone, against the reference players nearest in strength. Where
    there is no Elo: of the checkpoint, against all of them evenly, in whole blocks."""
    simulations: int = 100
    """Of the checkpoint's own search, each move; none where information is hidden."""
    sample: int = 0
    """Solved positions on which its moves are checked, at most: evenly out of the game's released set; of a game without one, drawn
    from the last four fifths of games and solved. 0: none."""

    def __post_init__(self) -> None:
        require(self, "0 or more", lambda n: n >= 0, "every", "sample")
        require(self, "at least 1", lambda n: n >= 1, "reference_games", "games", "simulations")
        if not self.reference_players:
            raise UserError("reference_players: expected one player at least, got none")


@dataclass(frozen=True)
class Evaluation:
    """What was measured of one checkpoint."""

    line: str
    """For the screen."""
    metrics: Mapping[str, float] = field(default_factory=dict)
    """By tag."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """Of the place on the scale, of each match and of each accuracy, as `--json` gives them."""
    elo: tuple[float, ...] = ()
    """Of the search on the game's scale, and the ends of its interval of 95 %; empty where there is none."""


def read_evaluation(path: Path) -> Evaluation:
    """A file of runs/NAME/eval. Older ones have `curves` for `metrics`."""
    table = read_json(path)
    if isinstance(table, dict) and "curves" in table:
        table["metrics"] = table.pop("curves")
    is_sound = isinstance(table, dict) and set(table) <= {"line", "metrics", "details", "elo"}
    if is_sound:
        line, metrics, details, elo = (table.get(name, usual) for name, usual in _USUAL.items())
        is_sound = isinstance(line, str) and isinstance(metrics, dict) and isinstance(details, dict)
        is_sound = is_sound and isinstance(elo, list) and len(elo) in (0, 3) and all(map(is_number, elo))
        is_sound = is_sound and all(map(is_number, metrics.values()))
    if not is_sound:
        raise UserError(f"{path}: expected an evaluation: a line, metrics, details and an elo")
    return Evaluation(line, metrics, details, tuple(elo))


_USUAL: dict[str, Any] = {"line": "", "metrics": {}, "details": {}, "elo": []}


class Evaluate(Protocol):
    """What the loop calls to measure a checkpoint."""

    def __call__(self, game: Game, checkpoint: Path, seed: int, log: RunLog, /) -> Evaluation: ...


class ArenaEvaluation:
    """Measures as `python -m arena` does."""

    def __init__(self, settings: EvaluationSettings, workers: Workers | int, file: Path | None = None) -> None:
        """`file`: where the ladder's results are; without it, where `python -m arena rate` has them."""
        self.settings, self.workers, self.file = settings, workers, file
        self._tree: GameTree | None = None  # of a game that hides information
        self._is_too_large = False

    def player(self, game: Game, checkpoint: Path) -> str:
        """The player that is measured."""
        return f"net:{written(str(checkpoint))},sims={simulations_of(game, self.settings)}"

    def players(self, game: Game, checkpoint: Path) -> dict[str, str]:
        """The checkpoint's search, and its policy alone."""
        return {"search": self.player(game, checkpoint), "policy": f"net:{written(str(checkpoint))},sims=0"}

    def check(self, game: Game) -> None:
        """Refuse players that can't play this game, before anything slow begins."""
        texts = self.settings.reference_players
        if has_elo(game):
            texts = (*players_of(game, self.settings).players, *texts)
        for text in dict.fromkeys(texts):
            make_player(text, game, ready=False)

    def prepare(self, game: Game, log: RunLog) -> None:
        """What is done once for all runs: solved positions, which a game may be too large for, and games between reference players."""
        settings = self.settings
        if settings.sample:
            with log.progress("solving", "position") as progress:
                self._solved(game, progress)
        if has_elo(game):
            with self._scale(game) as scale:
                if missing := scale.missing(settings.reference_games):
                    log.say(
                        f"{missing} games between the reference players of {game.name} are missing: they are played first, once, "
                        "and no budget counts them (--set evaluation.every=0 measures nothing)"
                    )
                    with log.progress("reference players", "game") as progress:
                        scale.prepare(settings.reference_games, self.workers, progress)
                    if scale.ladder.is_interrupted:
                        raise KeyboardInterrupt

    def __call__(self, game: Game, checkpoint: Path, seed: int, log: RunLog, /) -> Evaluation:
        ways = self._exploitability(game, checkpoint) if game.hides_information else []
        ways += self._places(game, checkpoint, log) if has_elo(game) else self._matches(game, checkpoint, seed, log)
        if self.settings.sample:
            ways.append(self._accuracy(game, checkpoint, log))
        values = {name: value for each in ways for name, value in each.metrics.items()}
        details = {name: value for each in ways for name, value in each.details.items()}
        return Evaluation(", ".join(each.line for each in ways), values, details, ways[0].elo)

    def table(self, game: Game, checkpoints: Mapping[Path, str]) -> str:
        """These among the reference players, under the given names; '' where there is no ladder."""
        if not has_elo(game):
            return ""
        with self._scale(game) as scale:
            return scale.standings({self.player(game, path): words for path, words in checkpoints.items()}).text()

    @contextmanager
    def _scale(self, game: Game) -> Iterator[Scale]:
        players, chosen = players_of(game, self.settings), self.settings.reference_players
        with LadderResults(self.file or default_file(game), game) as store:
            yield Scale(game, players, store, opponents=chosen)

    def _places(self, game: Game, checkpoint: Path, log: RunLog) -> list[Evaluation]:
        """Of the search, and of the policy alone."""
        found = []
        with self._scale(game) as scale:
            for name, player in self.players(game, checkpoint).items():
                with log.progress(f"Elo, {name}", "game") as progress:
                    place = scale.place(player, self.settings.games, self.workers, progress)
                if place.ladder.is_interrupted:
                    raise KeyboardInterrupt
                row, details, words = place.row, {name: place.as_json()}, "Elo" if name == "search" else name
                met = _met(place) if name == "search" else {}
                if row.elo is None or row.low is None or row.high is None:  # no chain of results leads to the anchor
                    found.append(Evaluation(f"{words} unknown", met, details))
                else:
                    elo = (row.elo, row.low, row.high)
                    line = f"{words} {signed(row.elo)} {row.interval}"
                    found.append(Evaluation(line, _interval(f"elo/{name}", Estimate(*elo)) | met, details, elo))
        return found

    def _matches(self, game: Game, checkpoint: Path, seed: int, log: RunLog) -> list[Evaluation]:
        """One against each reference player."""
        found = []
        for opponent in self.settings.reference_players:
            match = Match(game, self.player(game, checkpoint), opponent, seed)
            blocks = max(1, round(self.settings.games / len(self.settings.reference_players) / match.block_size))
            total = blocks * match.block_size
            with log.progress(f"against {opponent}", "game") as progress:
                tally = match.play(blocks, self.workers, progress=lambda so_far, _: progress(so_far.games, total))  # noqa: B023
            if match.is_interrupted:
                raise KeyboardInterrupt
            utility = tally.utility(0)
            values = _shares(opponent, tally.results.sum(0)) | _interval(f"against/{opponent} utility", utility)
            found.append(Evaluation(_utility(utility, opponent), values, {opponent: tally.as_json()}))
        return found

    def _exploitability(self, game: Game, checkpoint: Path) -> list[Evaluation]:
        """Of a game whose paths can all be listed."""
        if self._tree is None and not self._is_too_large:
            try:
                self._tree = unfold(game)
            except UserError:
                self._is_too_large = True
        if self._tree is None:
            return []
        found = exploit(game, make_player(self.player(game, checkpoint), game), self._tree)
        values = {EXPLOITABILITY: found.found.exploitability}
        if game.has_payoffs:
            values["exploitability/payoff"] = found.found.exploitability * game.rules.payoff_scale
        line = f"exploitability {shown(game, found.found.exploitability)}"
        return [Evaluation(line, values, {"exploitability": found.as_json()})]

    def _solved(self, game: Game, progress: Progress = lambda done, total: None) -> list[Solved]:
        """The positions of an accuracy: the same for all runs of a game."""
        count, whole = self.settings.sample, released(game)
        if whole is not None:
            return evenly(whole, count).positions
        return draw_positions(game, count, 1, self.workers, progress, FIRST_STAGE).positions

    def _accuracy(self, game: Game, checkpoint: Path, log: RunLog) -> Evaluation:
        """Of the search, and of the policy alone."""
        sample = self._solved(game)
        words: list[str] = []
        values: dict[str, float] = {}
        details: dict[str, Any] = {}
        for name, player in self.players(game, checkpoint).items():
            with log.progress(f"accuracy, {name}", "move") as progress:
                found = measure(game, make_player(player, game), sample, self.workers, progress)
            share = found.kept.share or 0.0
            words.append(f"{name} keeps {share:.1%}")
            values |= {f"accuracy/{name}": share, f"brier/{name}": found.brier.mean}
            for stratum, kept in found.by_stratum.items():
                values[f"accuracy/{name} {stratum}"] = kept.share or 0.0
            for stage, kept in found.stages.items() if name == "search" else ():
                values[f"accuracy/search stage {stage}"] = kept.share or 0.0
            details[f"accuracy/{name}"] = found.as_json()
        return Evaluation(", ".join(words), values, details)


def has_elo(game: Game) -> bool:
    """Whether strength is an Elo: where the games won are what counts."""
    return game.players == 2 and not game.hides_information


def simulations_of(game: Game, settings: EvaluationSettings) -> int:
    """Of the checkpoint's search."""
    return 0 if game.hides_information else settings.simulations


def players_of(game: Game, settings: EvaluationSettings) -> ReferencePlayers:
    """The scale of a game of two."""
    if has_reference_players(game):
        return reference_players(game)
    return ReferencePlayers(
        tuple(dict.fromkeys([ANCHOR, *settings.reference_players])), ANCHOR, standard_openings(game)
    )


def _met(place: Place) -> dict[str, float]:
    """Of each reference player: its own Elo, and how the games against it ended."""
    found: dict[str, float] = {}
    for row in place.standings.rows:
        if row.elo is not None and row.player in place.ladder.players and row.player != place.player:
            found[f"against/{brief(row.player)} Elo"] = row.elo
        found |= _shares(brief(row.player), place.standings.outcomes(place.player, row.player))
    return found


def _shares(opponent: str, outcomes: Iterable[int]) -> dict[str, float]:
    """Wins, draws and losses."""
    counts = [int(each) for each in outcomes]
    words = ("wins", "draws", "losses")
    return {f"against/{opponent} {word}": n / sum(counts) for word, n in zip(words, counts, strict=True) if sum(counts)}


def _utility(found: Estimate, opponent: str) -> str:
    value, low, high = (0.0 if each is None else each for each in found)
    return f"utility {value:+.2f} [{low:+.2f}, {high:+.2f}] against {opponent}"


def _interval(name: str, found: Estimate) -> dict[str, float]:
    ends = zip((name, f"{name} low", f"{name} high"), found, strict=True)
    return {each: value for each, value in ends if value is not None}
