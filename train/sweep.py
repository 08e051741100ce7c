"""A grid of training runs: every combination of some settings, each with several seeds.

    python -m train sweep width.toml                   # one run after the other, each on all cores
    python -m train sweep width.toml --at-once 4       # four runs at once, each in one process

    game = "tic_tac_toe"
    seeds = 3                                          # 1, 2, 3; or a list
    games = 2048                                       # of each run, in whole iterations; or minutes = 10

    [grid]                                             # every combination of these
    net = ["mlp:1x16", "mlp:2x64"]
    selfplay.simulations = [8, 32]

    [set]                                              # what all runs have in common
    evaluation.every = 2

The runs are runs/width-net_mlp_1x16-simulations_8-1 and so on, like any others. At the end they are drawn together as by `python -m
train compare`. The same command resumes what was interrupted, and the results are the same then. With more seeds or another grid in the
file it adds runs.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from base.errors import Arguments, UserError, short
from base.json_values import is_count, is_number
from base.local_workers import cores, opened, run_jobs
from base.reading import toml_of
from games import load
from train.budget import Budget
from train.config import Config, compose, differences, flat, in_toml

KEYS = ("game", "seeds", "games", "minutes", "config", "grid", "set")
MOST = 1000
"""Runs of a sweep."""


@dataclass(frozen=True)
class Planned:
    """One run of a sweep."""

    name: str
    config: Config
    budget: Budget


def main(argv: Sequence[str]) -> int:
    options = parser().parse_args(argv)
    if options.at_once < 1:
        raise UserError(f"--at-once: expected 1 or more, got {options.at_once}")
    runs = planned(Path(options.file))
    _check(runs)
    print(f"{len(runs)} runs: {', '.join(each.name for each in runs[:4])}{', …' if len(runs) > 4 else ''}", flush=True)
    for line in rounded(runs):
        print(line, flush=True)
    alone = options.at_once == 1
    make = functools.partial(made, workers=cores() if alone else 0, quiet=not alone)
    for count, (number, games) in enumerate(run_jobs(make, runs, 0 if alone else options.at_once), 1):
        print(f"{count} of {len(runs)}: {runs[number].name}, {games:,} games", flush=True)
    return _compared(runs, Path(options.file).stem)


def rounded(runs: Sequence[Planned]) -> list[str]:
    """Where a run plays more games than its budget, since it plays whole iterations: a line for each length of an iteration."""
    found = dict[int, str]()
    for each in runs:
        size, iterations = each.config.games, each.budget.iterations(each.config.games)
        if iterations is not None and iterations * size != each.budget.games:
            found[size] = (
                f"games: a run plays whole iterations: of {size} games each, {iterations * size} instead of {each.budget.games} "
                "(games in [set] is the length of an iteration)"
            )
    return list(found.values())


def planned(path: Path) -> list[Planned]:
    """The runs of a sweep's file; UserError with the key where it can't be one."""
    try:
        return list(_planned(path.stem, toml_of(path.read_bytes(), path)))
    except OSError as error:
        raise UserError(f"{path}: expected the TOML file of a sweep, found {error.strerror}") from None
    except UserError as error:
        where = "" if str(error).startswith(str(path)) else f"{path}: "
        raise UserError(f"{where}{error}") from None


def _planned(name: str, table: dict[str, Any]) -> Iterator[Planned]:
    unknown = next((key for key in table if key not in KEYS), None)
    if unknown is not None:
        raise UserError(f"unknown key '{short(unknown)}': expected {', '.join(KEYS)}")
    for key in ("grid", "set"):
        if not isinstance(table.setdefault(key, {}), dict):
            raise UserError(f"{key}: expected a section, got {short(in_toml(table[key]))}")
    for key in ("game", "config"):
        if not isinstance(table.get(key, ""), str):
            raise UserError(f"{key}: expected text, got {short(in_toml(table[key]))}")
    if "game" not in table:
        raise UserError("game: expected the name of a game, got none")
    game, budget, grid, common = load(table["game"]), _budget(table), flat(table["grid"]), flat(table["set"])
    for key, values in grid.items():
        if not isinstance(values, list) or not values:
            raise UserError(f"grid.{key}: expected a list of values, got {short(in_toml(values))}")
        if key in common:
            raise UserError(f"grid.{key}: expected it in one of grid and set, got it in both")
    seeds = _seeds(table.get("seeds", 1))
    if "seed" in common or "seed" in grid:
        raise UserError("seed: expected seeds = N beside game, got it as a setting")
    combinations = list(itertools.product(*grid.values()))
    if len(combinations) * len(seeds) > MOST:
        raise UserError(f"expected {MOST} runs at most, got {len(combinations) * len(seeds)}")
    for values in combinations:
        chosen = dict(zip(grid, values, strict=True))
        words = [name, *(f"{key.rpartition('.')[2]}_{_word(value)}" for key, value in chosen.items())]
        for seed in seeds:
            changes = [f"{key}={in_toml(value)}" for key, value in (common | chosen | {"seed": seed}).items()]
            yield Planned("-".join([*words, str(seed)]), compose(game, table.get("config"), changes), budget)


def _budget(table: dict[str, Any]) -> Budget:
    if ("games" in table) == ("minutes" in table):
        raise UserError("expected one of games and minutes, the length of each run")
    if "games" in table:
        if not is_count(table["games"]) or not 0 < table["games"] < 1 << 60:
            raise UserError(f"games: expected a whole number above 0, got {short(in_toml(table['games']))}")
        return Budget(games=table["games"])
    if not is_number(table["minutes"]) or not 0 < table["minutes"] < 1e9:
        raise UserError(f"minutes: expected a number above 0, got {short(in_toml(table['minutes']))}")
    return Budget(minutes=float(table["minutes"]))


def _seeds(given: Any) -> list[int]:
    seeds = list(range(1, given + 1)) if is_count(given) and given <= MOST else given
    if not isinstance(seeds, list) or not seeds or not all(map(is_count, seeds)) or len(set(seeds)) < len(seeds):
        raise UserError(f"seeds: expected how many, or a list of different whole numbers, got {short(in_toml(given))}")
    return seeds


def _word(value: Any) -> str:
    """A value in the name of a run."""
    return re.sub(r"[^\w.+]+", "_", str(value)).strip("._") or "none"


def _check(runs: Sequence[Planned]) -> None:
    """Refuse what can be refused before the first run begins."""
    from train.run import folder_of, stored
    from train.start import check

    names = [each.name for each in runs]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise UserError(f"grid: expected values that give different names, got '{short(twice)}' twice")
    seen = list[Config]()
    for each in runs:
        before = stored(folder_of(each.name))
        if before is not None and (changed := differences(before, each.config)):
            raise UserError(
                f"{folder_of(each.name)}: expected a run of this sweep, got another one, {'; '.join(changed)}; "
                "a file of another name begins other runs"
            )
        if (unseeded := replace(each.config, seed=0)) not in seen:
            check(each.config, load(each.config.game))
            seen.append(unseeded)


def made(run: Planned, workers: int, quiet: bool) -> int:
    """Begin the run, or resume it, to the end of its budget; the number of its games."""
    from train.start import launch

    _, progress, _ = launch(run.name, run.config, run.budget, functools.partial(opened, workers), quiet=quiet)
    return progress.games


def _compared(runs: Sequence[Planned], name: str) -> int:
    from monitor.report.compare import compare
    from train.run_reader import find

    compare([find(each.name) for each in runs], Path("runs/compared") / name)
    return 0


def parser() -> Arguments:
    found = Arguments(prog="python -m train sweep", description=__doc__)
    found.add_argument("file", metavar="FILE", help="TOML: the game, the budget of a run, seeds, grid")
    found.add_argument(
        "--at-once", type=int, default=1, metavar="N", help="runs at once, each in one process (1: one on all cores)"
    )
    return found
