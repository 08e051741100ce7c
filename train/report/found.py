"""What there is to say of a run, read from its folder: nothing is locked, changed or repaired, so it may be under way.

    found = find("first")                       # or a path; another name is refused, with the nearest one
    found.history.last("elo/search"), found.evaluations, found.warnings, found.records

What cannot be read is left out and named in `found.unreadable`; only a folder without a configuration or without curves is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from base.errors import UserError, nearest
from base.files import read_json
from checkpoints import Card, all_of, read_card
from classical.eval import Eval, default_eval
from games import Game, load
from games.record import GameRecord
from train.budget import Budget
from train.config import Config, compose
from train.evaluation import Evaluation
from train.games import in_order
from train.journal import History, Journal
from train.names import RUNS, folder_of
from train.run import stored
from train.state import Progress

T = TypeVar("T")


@dataclass
class Found:
    name: str
    folder: Path
    config: Config
    usual: Config
    """What the game's runs are configured like where nobody says anything."""
    history: History
    game: Game | None = None
    """None where its rules are not to be had any more."""
    budget: Budget = field(default_factory=Budget)
    progress: Progress | None = None
    """As of the last saved state."""
    card: Card | None = None
    """Of the newest checkpoint."""
    evaluations: list[tuple[int, Evaluation]] = field(default_factory=list)
    """After how many games, what the arena measured."""
    warnings: list[dict[str, Any]] = field(default_factory=list)
    """Lines of the watch, the oldest first: what it warned of, and what was gone again."""
    weights: Eval | None = None
    """The newest fitted EVAL."""
    by_hand: Eval | None = None
    """The EVAL of the game's file."""
    records: list[GameRecord] = field(default_factory=list)
    """Games of the newest iteration that is whole."""
    iteration: int = 0
    """Its number."""
    earlier: Eval | None = None
    """The EVAL that was fitted before these games were played."""
    unreadable: list[str] = field(default_factory=list)

    @property
    def games(self) -> int:
        """How many have been played and learned from."""
        return max((row["games"] for row in self.history.rows), default=0)

    def last(self, name: str) -> float | None:
        return self.history.last(name)


def find(name: str) -> Found:
    folder = folder_of(name)
    config = stored(folder)
    if config is None:
        known = runs()
        about = f"; there are {', '.join(known[:12])}" if known else "; there is none yet"
        raise UserError(f"unknown run '{name}': expected a run of {RUNS}/ or its folder{about}{nearest(name, known)}")
    history = History(folder / "curves.jsonl")
    if not any(row["curves"] for row in history.rows):
        made = (
            "an older version of the program made it"
            if history_is_missing(folder)
            else "its first iteration is not finished"
        )
        raise UserError(f"{folder}: expected a run with curves.jsonl, found no curves; {made}")
    found = Found(folder.resolve().name, folder, config, Config(config.game), history)
    reader = _Reader(found)
    reader.read()
    return found


def runs() -> list[str]:
    """Those in `runs/`, by name."""
    return sorted(path.parent.name for path in RUNS.glob("*/config.toml")) if RUNS.is_dir() else []


def history_is_missing(folder: Path) -> bool:
    """Of a run that has saved a state: since there are curves, they are written first."""
    return not (folder / "curves.jsonl").is_file() and any((folder / "state").glob("*/state.json"))


class _Reader:
    """Fills in what a folder holds beside its configuration and curves."""

    def __init__(self, found: Found) -> None:
        self.found, self.folder = found, found.folder

    def read(self) -> None:
        found = self.found
        found.game = self._try(lambda: load(found.config.game))
        if found.game is not None:
            game = found.game
            found.usual = self._try(lambda: compose(game)) or found.usual
            found.by_hand = default_eval(game) if game.rules.feature_names else None
        if (self.folder / "budget.json").is_file():
            found.budget = self._try(lambda: Budget(**read_json(self.folder / "budget.json"))) or found.budget
        found.progress = self._newest("state/*/state.json", _progress)
        found.card = self._card()
        found.evaluations = self._evaluations()
        found.warnings = Journal(self.folder / "warnings.jsonl").rows
        found.weights = self._newest("eval/*.eval.json", Eval.load)
        if found.game is not None:
            self._records(found.game)
            before = self.folder / "eval" / f"{found.iteration * found.config.games:08}.eval.json"
            found.earlier = self._try(lambda: Eval.load(before, found.game))

    def _try(self, read: Callable[[], T]) -> T | None:
        try:
            return read()
        except FileNotFoundError:  # dropped meanwhile by whoever writes
            return None
        except (UserError, OSError, TypeError, KeyError, ValueError) as error:
            self.found.unreadable.append(str(error))
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

    def _evaluations(self) -> list[tuple[int, Evaluation]]:
        found = []
        for path in sorted(self.folder.glob("eval/*.arena.json")):
            games = path.name.partition(".")[0]
            evaluation = self._try(lambda path=path: Evaluation(**read_json(path)))  # type: ignore[misc]
            if evaluation is not None and games.isdecimal() and int(games) <= self.found.games:
                found.append((int(games), evaluation))
        return found

    def _records(self, game: Game) -> None:
        """Of the newest iteration whose games are all there; while the first one is played, what there is."""
        for path in sorted((self.folder / "games").glob("*.log"), reverse=True):
            records = self._try(lambda path=path: in_order(path, game, on_damage="skip")) or []  # type: ignore[misc]
            if len(records) > len(self.found.records):
                self.found.records, self.found.iteration = records, int(path.stem) if path.stem.isdecimal() else 0
            if len(records) >= self.found.config.games:
                break


def _progress(path: Path) -> Progress:
    about = read_json(path)
    return Progress(**{name: about[name] for name in ("iterations", "games", "plies", "steps", "seconds")})
