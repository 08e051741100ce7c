"""A run's folder: its files, who may write to it, and the configuration that it resumes with.

runs/NAME/config.toml                     the configuration, every key
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

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from base.errors import UserError
from base.files import file_lock, make_folder, read_json, remove_leftovers, write_json, write_text
from monitor.history import METRICS
from train.budget import Budget
from train.config import Config, differences, of_table, read, settings, to_toml
from train.names import folder_of as folder_of
from train.names import name_for as name_for

MADE = ("games", "state", "checkpoints", METRICS)
"""What depends on the configuration: until one of these exists, the configuration may change."""
BY_FILES = ("supervised.files", "supervised.sha256")  # of the configuration, set by --from-games


@dataclass(frozen=True)
class Run:
    name: str
    folder: Path
    config: Config
    budget: Budget

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
    path = folder / "config.toml"
    if not path.is_file():
        return None
    table = read(path, stored=True)
    if "game" not in table:
        raise UserError(f"{path}: expected the configuration of a run, found no game in it")
    return of_table(table)


@contextmanager
def opened(name: str, config: Config, budget: Budget | None, report: Callable[[str], object]) -> Iterator[Run]:
    """A run under this name, new or resumed, locked for other processes meanwhile. A configuration other than the run's own is refused
    once it has made something."""
    folder = folder_of(name)
    make_folder(folder)
    with _sole_writer(folder):
        remove_leftovers(folder)
        before = stored(folder)
        if before is None:
            write_text(folder / "config.toml", to_toml(config))
        elif changed := differences(before, config):
            words = "; ".join(changed)
            if any((folder / name).exists() for name in MADE):
                raise UserError(
                    f"{folder}: expected the configuration it began with, got {words}; another --run takes it"
                )
            report(f"{folder}: nothing is made yet, so the configuration may change, {words}")
            write_text(folder / "config.toml", to_toml(config))
        yield Run(name, folder, config, _settled(folder, budget, report))


@contextmanager
def _sole_writer(folder: Path) -> Iterator[None]:
    try:
        lock = file_lock(folder / ".lock", wait=False)
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
        try:
            before = Budget(**read_json(path))
        except TypeError:
            raise UserError(f"{path}: expected games and minutes") from None
    found = budget or before or Budget()
    if found != before:
        if before is not None:
            report(f"the budget was {before}, now {found}")
        write_json(path, asdict(found))
    return found
