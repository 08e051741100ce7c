"""A run's folder: its files, who may write to it, and the configuration that it resumes with.

runs/NAME/config.toml                     the configuration, every key
         seal.json                        its hash, signed by the user who made the run (`train/seal.py`)
         budget.json                      how long it runs
         games/000012.log                 the games of an iteration (`train/games.py`)
         state/000012/                    counters and tensors to resume from (`train/state.py`)
         checkpoints/00006144/            the network after so many games, with its card
         eval/00006144.arena.json         what the arena measured of it
         eval/00006144.eval.json          the linear EVAL fitted to the window it learned from (`train/baseline.py`)
         curves.jsonl                     every metric (`monitor/history.py`)
         warnings.jsonl                   what was wrong with it (`monitor/warning_log.py`)
         calibration.jsonl                expected utilities against outcomes, of each iteration's games (`monitor/observer.py`)
         tb/                              the metrics for TensorBoard
         report.html                      the report, where `python -m train report` made one (`monitor/report/`)
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from base.errors import UserError, short
from base.files import file_lock, make_folder, read_sealed_json, remove_leftovers, write_sealed_json, write_text
from base.json_values import is_count, is_number
from monitor.history import METRICS
from train.budget import Budget
from train.config import Config, differences, of_table, read, settings, to_toml
from train.names import folder_of as folder_of
from train.names import name_for as name_for
from train.seal import CONFIGURATION, check_seal, check_trust, hash_of_configuration, seal

MADE = ("games", "state", "checkpoints", METRICS)
"""What depends on the configuration: until one of these exists, the configuration may change."""
LOCK = ".lock"
BY_FILES = ("supervised.files", "supervised.sha256", "net_sha256")  # of the configuration, filled in


@dataclass(frozen=True)
class Run:
    name: str
    folder: Path
    config: Config
    budget: Budget
    sealed: str
    """The hash of the configuration's file."""

    @property
    def games(self) -> Path:
        return self.folder / "games"

    @property
    def states(self) -> Path:
        return self.folder / "state"

    @property
    def board(self) -> Path:
        """TensorBoard's folder."""
        return self.folder / "tb"

    def checkpoint(self, games: int) -> Path:
        """The network after so many games."""
        return self.folder / "checkpoints" / f"{games:08}"

    def evaluation(self, games: int) -> Path:
        """What the arena measured of that network."""
        return self.folder / "eval" / f"{games:08}.arena.json"

    def eval(self, games: int) -> Path:
        """EVAL's weights after so many games, as `alphabeta:eval=PATH` takes them."""
        return self.folder / "eval" / f"{games:08}.eval.json"


def command_for(name: str, config: Config, usual: Config, budget: Budget, games: int) -> list[str]:
    """The words of the command that makes such a run under this name. `usual`: the default configuration of the game; `games`:
    how many, where the budget has no end."""
    words = ["python", "-m", "train", config.game, "--run", name]
    if budget.games or not budget.minutes:
        words += ["--games", str(budget.games or games)]
    else:
        words += ["--minutes", f"{budget.minutes:g}"]
    before = settings(usual)
    for key, value in settings(config).items():
        if value != before.get(key) and key not in BY_FILES:
            words += ["--set", f"{key}={value}"]
    return words + (["--from-games", *config.supervised.files] if config.supervised.files else [])


def stored(folder: Path) -> Config | None:
    """The configuration that a run began with; None where there is no run."""
    path = folder / CONFIGURATION
    if not path.is_file():
        return None
    table = read(path, stored=True)
    if "game" not in table:
        raise UserError(f"{path}: expected the configuration of a run, found no game in it")
    return of_table(table)


@contextmanager
def opened(
    name: str, config: Config, budget: Budget | None, report: Callable[[str], object], trust: bool = False
) -> Iterator[Run]:
    """A run under this name, new or resumed, locked for other processes meanwhile. A configuration other than the run's own is refused
    once it has made something; so are, without `trust`, external programs in the run of another user."""
    folder = folder_of(name)
    _refuse_other_folders(folder)
    make_folder(folder)
    with _sole_writer(folder):
        remove_leftovers(folder)
        before = stored(folder)
        is_begun = any((folder / name).exists() for name in MADE)
        if before is not None and is_begun:
            check_seal(folder)
        if before is not None and not trust:
            check_trust(folder, config, names_rules=True)
        if before is None:
            write_text(folder / CONFIGURATION, to_toml(config))
        elif changed := differences(before, config):
            words = "; ".join(changed)
            if is_begun:
                raise UserError(
                    f"{folder}: expected the configuration it began with, got {words}; another --run takes it"
                )
            report(f"{folder}: nothing is made yet, so the configuration may change, {words}")
            write_text(folder / CONFIGURATION, to_toml(config))
        seal(folder)
        yield Run(name, folder, config, _settled(folder, budget, report), hash_of_configuration(folder))


def _refuse_other_folders(folder: Path) -> None:
    """A folder without a configuration is a run's only where it is new, or its first process was killed at once."""
    if not os.path.lexists(folder) or (folder / CONFIGURATION).is_file():
        return
    others = [
        path.name for path in folder.iterdir() if path.name != LOCK and not path.name.startswith(f".{CONFIGURATION}.")
    ]
    if others:
        raise UserError(f"{folder}: expected a run, or a new or empty folder for one; it holds {short(min(others))!r}")


@contextmanager
def _sole_writer(folder: Path) -> Iterator[None]:
    try:
        lock = file_lock(folder / LOCK, wait=False)
        lock.__enter__()
    except UserError:
        raise UserError(f"{folder}: expected this process alone, but another one has this run open") from None
    try:
        yield
    finally:
        lock.__exit__(None, None, None)


def _settled(folder: Path, budget: Budget | None, report: Callable[[str], object]) -> Budget:
    """The given budget, else the run's own."""
    path = folder / "budget.json"
    before = None
    if path.is_file():
        before = read_budget(path)
    found = budget or before or Budget()
    if found != before:
        if before is not None:
            report(f"the budget was {before}, now {found}")
        write_sealed_json(path, asdict(found))
    return found


def read_budget(path: Path) -> Budget:
    found = read_sealed_json(path, is_older=lambda table: True)
    if set(found) != {"games", "minutes"} or not is_count(found["games"]) or not is_number(found["minutes"]):
        raise UserError(f"{path}: expected games and minutes")
    try:
        return Budget(found["games"], float(found["minutes"]))
    except UserError as error:
        raise UserError(f"{path}: {error}") from None
