"""Reads a run's folder for the report. Nothing is locked, changed or repaired, so the run may be under way.

    data = find("first")                        # or a path; an unknown name is refused, with the nearest one
    data.history.last("elo/search"), data.evaluations, data.warnings, data.records

What cannot be read is left out and named in `data.unreadable`; only a folder without a configuration or without metrics is refused.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from base.errors import UserError, nearest
from base.options import split
from checkpoints import Card, all_of, read_card
from classical.eval import Eval, default_eval
from games import Game, load
from monitor.history import CALIBRATION, METRICS, WARNINGS, CalibrationRows, History, WarningRows
from monitor.quality import Bin
from monitor.report.run_data import RunData
from train.budget import Budget
from train.config import Config, compose, settings, to_toml
from train.evaluation import EvaluationSettings, read_evaluation
from train.games import in_order
from train.names import RUNS, folder_of
from train.run import command_for, read_budget, stored
from train.seal import check_trust
from train.state import read_progress

T = TypeVar("T")


def find(name: str, rules: str | None = None, trust: bool = False) -> RunData:
    """`rules`: the game's file. It, or `trust`, is needed where the run of another user names one, which would be executed."""
    folder = folder_of(name)
    config = stored(folder)
    if config is None:
        known = runs()
        about = f"; there are {', '.join(known[:12])}" if known else "; there is none yet"
        raise UserError(f"unknown run '{name}': expected a run of {RUNS}/ or its folder{about}{nearest(name, known)}")
    history = History(folder / METRICS)
    if not any(row["curves"] for row in history.rows):
        made = (
            "an older version of the program made it"
            if history_is_missing(folder)
            else "its first iteration is not finished"
        )
        raise UserError(f"{folder}: expected a run with {METRICS}, found no metrics; {made}")
    if rules is None and not trust:
        check_trust(folder, replace(config, evaluation=EvaluationSettings()))  # the report plays no games
    return _Reader(folder, config, history, rules).read()


def runs() -> list[str]:
    """Those in `runs/`, by name."""
    return sorted(path.parent.name for path in RUNS.glob("*/config.toml")) if RUNS.is_dir() else []


def history_is_missing(folder: Path) -> bool:
    """Of a run that has saved a state, before which metrics are written."""
    return not (folder / METRICS).is_file() and any((folder / "state").glob("*/state.json"))


class _Reader:
    def __init__(self, folder: Path, config: Config, history: History, rules: str | None) -> None:
        self.folder, self.config, self.rules = folder, config, rules
        every = config.evaluation.every * config.games
        self.data = RunData(
            folder.resolve().name,
            folder,
            history,
            config.game,
            config.net,
            settings(config),
            settings(Config(config.game)),
            to_toml(config),
            config.evaluation.simulations,
            every,
        )

    def read(self) -> RunData:
        data, usual, budget = self.data, Config(self.config.game), Budget()
        data.game = self._given(self.rules) if self.rules else self._try(lambda: load(self.config.game))
        if data.game is not None:
            game = data.game
            usual = self._try(lambda: compose(game)) or usual
            data.by_hand = default_eval(game) if game.rules.feature_names else None
        if (self.folder / "budget.json").is_file():
            budget = self._try(lambda: read_budget(self.folder / "budget.json")) or budget
        data.usual, data.budget, data.is_by_games = settings(usual), str(budget), bool(budget.games)
        # under another name, so that the command does not resume this run
        words = command_for(f"{data.name}-again", self.config, usual, budget, data.games)
        data.command = shlex.join(words)
        data.seconds, data.saved_games = self._newest("state/*/state.json", _progress) or (0.0, 0)
        data.card = self._card()
        data.evaluations = self._evaluations()
        data.warnings = WarningRows(self.folder / WARNINGS).rows
        data.calibration = self._calibration()
        data.weights = self._newest("eval/*.eval.json", Eval.load)
        if data.game is not None:
            self._records(data.game)
        return data

    def _given(self, rules: str) -> Game:
        where, options = split(self.config.game)
        game, wanted = load(rules), Path(where).name
        if (Path(split(game.spec)[0]).name, split(game.spec)[1]) != (wanted, options):
            raise UserError(f"--rules: expected {self.config.game}, got {game.name}")
        return game

    def _try(self, read: Callable[[], T]) -> T | None:
        try:
            return read()
        except FileNotFoundError:  # deleted meanwhile by the run
            return None
        except (UserError, OSError, TypeError, KeyError, ValueError) as error:
            self.data.unreadable.append(str(error))
            return None

    def _newest(self, pattern: str, read: Callable[[Path], T]) -> T | None:
        for path in sorted(self.folder.glob(pattern), reverse=True):
            value = self._try(lambda path=path: read(path))  # type: ignore[misc]
            if value is not None:
                return value
        return None

    def _card(self) -> Card | None:
        for path in reversed(all_of(self.folder)):
            card = self._try(lambda path=path: read_card(path))  # type: ignore[misc]
            if card is not None:
                return card
        return None

    def _evaluations(self) -> list[tuple[int, Mapping[str, Any]]]:
        found = []
        for path in sorted(self.folder.glob("eval/*.arena.json")):
            games = path.name.partition(".")[0]
            evaluation = self._try(lambda path=path: read_evaluation(path))  # type: ignore[misc]
            if evaluation is not None and games.isdecimal() and int(games) <= self.data.games:
                found.append((int(games), evaluation.details))
        return found

    def _calibration(self) -> dict[str, list[Bin]]:
        rows = CalibrationRows(self.folder / CALIBRATION).rows
        if not rows:
            return {}
        read = lambda: {name: [Bin(*each) for each in bins] for name, bins in rows[-1]["calibration"].items()}  # noqa: E731
        return self._try(read) or {}

    def _records(self, game: Game) -> None:
        """Of the newest iteration whose games are all there; while the first one is played, what there is."""
        for path in sorted((self.folder / "games").glob("*.log"), reverse=True):
            records = self._try(lambda path=path: in_order(path, game, on_damage="skip")) or []  # type: ignore[misc]
            if len(records) > len(self.data.records):
                self.data.records, self.data.iteration = records, int(path.stem) if path.stem.isdecimal() else 0
            if len(records) >= self.config.games:
                break


def _progress(path: Path) -> tuple[float, int]:
    """Seconds and games."""
    found = read_progress(path)
    return found.seconds, found.games
