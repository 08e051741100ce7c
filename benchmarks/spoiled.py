"""Runs spoiled on purpose: do the diagnostics find what is wrong with each, and nothing in a healthy one?

    python -m benchmarks.spoiled                        # all of them, three minutes each, two at a time
    python -m benchmarks.spoiled --only rate frozen --minutes 2 --game tic_tac_toe

| name    | what is wrong                                                                                                 |
|---------|-----------------------------------------------------------------------------------------------------------------|
| healthy | nothing                                                                                                         |
| sign    | the sign of the value that is learned is flipped                                                                |
| view    | the network's output reaches the search with its sign flipped                                                   |
| noise   | nothing is random: no noise, no openings from the policy, temperature 0                                          |
| target  | the move temperature is applied to the policy target as well                                                    |
| rate    | the learning rate is a hundred times the default                                                                |
| frozen  | the replay window takes no games after the first two iterations                                                 |
| opening | all games begin with the same four moves                                                                        |
| resign  | a player resigns as soon as it expects a little less than a draw                                                |

What no setting can spoil is patched into the code of the run's own process; the diagnostics read the same metrics as in any run. Each
run has a folder of its own, which stays with `--keep`. Exit code 1 where a problem was not found, or a healthy run got a warning.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from base.errors import Arguments, UserError, run_command
from monitor.history import Rows

COMMON = (
    "evaluation.every=0",
    "learning.threads=1",
)
GAMES: dict[str, tuple[str, ...]] = {
    "connect_four": ("net=resnet:1x16", "games=64", "selfplay.simulations=32", "selfplay.fast_simulations=8"),
    "tic_tac_toe": ("net=mlp:2x64", "games=64"),
}
"""Small networks and iterations, so that three minutes of half a core are about twenty iterations."""


def nothing() -> None:
    """A healthy run."""


def flip_targets() -> None:
    from train.window import Batch, Window

    positions = Window.positions

    def flipped(self: Window, plies: Any) -> Batch:
        batch = positions(self, plies)
        return batch._replace(outcomes=-batch.outcomes, searched=-batch.searched)

    Window.positions = flipped  # type: ignore[method-assign]


def flip_answers() -> None:
    from selfplay import workers

    made = workers.network_of

    def flipped(*setup: Any) -> Any:
        network, name = made(*setup)

        def answer(observations: Any) -> Any:
            logits, utilities = network(observations)  # type: ignore[operator, misc]
            return logits, -utilities

        return answer, name

    workers.network_of = flipped  # type: ignore[assignment]


def temper_targets() -> None:
    from games.record import GameRecord
    from mcts.settings import temperature_at
    from selfplay.play import SearchedGames

    finish = SearchedGames.finish

    def tempered(self: Any, s: int, status: int) -> GameRecord:
        record = finish(self, s, status)
        shares = record.probabilities.astype(np.float64)
        for ply in range(len(record)):
            first = int(record.policy_counts[:ply].sum())
            entries = slice(first, first + int(record.policy_counts[ply]))
            sharp = shares[entries] ** (1 / temperature_at(self.search.settings, ply))
            shares[entries] = sharp / max(sharp.sum(), 1e-300)
        return replace(record, probabilities=shares.astype(np.float32))

    SearchedGames.finish = tempered  # type: ignore[method-assign]


def freeze_window() -> None:
    from train.window import Window

    extend, calls = Window.extend, "_calls"

    def frozen(self: Any, games: Any) -> int:
        setattr(self, calls, getattr(self, calls, 0) + 1)
        if getattr(self, calls) <= 2:
            return extend(self, games)
        new = len(Window.of(self.game, games, self.settings))
        self.made += new
        return new

    Window.extend = frozen  # type: ignore[method-assign]


def force_opening() -> None:
    """Openings from the policy, all with the same random numbers."""
    from base.seeds import Rng, generator
    from selfplay import play

    def alike(seed: int, *purpose: str | int) -> Rng:
        return generator(1 if purpose == ("moves",) else seed, *purpose)

    vars(play)["generator"] = alike


@dataclass(frozen=True)
class Spoil:
    wrong: str
    named: tuple[str, ...]
    """Warnings of which any one names the fault."""
    patch: Callable[[], None] = nothing
    changes: tuple[str, ...] = ()
    game: str = "tic_tac_toe"
    """The game in which it shows."""


SPOILS = {
    "healthy": Spoil("nothing", ()),
    "sign": Spoil("sign of the value flipped, in what is learned", ("value inverted",), flip_targets),
    "view": Spoil("sign of the value flipped, in the search", ("value inverted",), flip_answers),
    "noise": Spoil(
        "no noise, no openings, temperature 0",
        ("games all alike",),
        changes=("search.noise=0", "selfplay.openings=0", "search.temperature=0", "search.temperature_end=0"),
    ),
    "target": Spoil("temperature in the target", ("target not the search's",), temper_targets),
    "rate": Spoil(
        "learning rate × 100", ("learning rate too high", "learning diverges"), changes=("learning.rate=0.2",)
    ),
    "frozen": Spoil("replay window frozen", ("window stale",), freeze_window),
    "opening": Spoil(
        "one opening only", ("one opening only",), force_opening, ("selfplay.openings=1.0", "selfplay.opening_plies=8")
    ),
    "resign": Spoil("resigns below -0.05", ("resigned too early",), changes=("selfplay.resign=0.05",)),
}


def main(argv: Sequence[str]) -> int:
    parser = Arguments(description=__doc__)
    parser.add_argument("--minutes", type=float, default=3.0, metavar="M", help="of each run")
    parser.add_argument(
        "--game", choices=sorted(GAMES), help="of all runs; without it, each in the game where it shows"
    )
    parser.add_argument("--only", nargs="+", default=list(SPOILS), choices=list(SPOILS), metavar="NAME")
    parser.add_argument("--together", type=int, default=2, metavar="K", help="runs at a time, each a process")
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="of the runs")
    parser.add_argument("--keep", metavar="FOLDER", help="where the runs stay; without it, nowhere")
    parser.add_argument("--inside", metavar="NAME", help="(in the process of a run) how it is spoiled")
    options = parser.parse_args(argv)
    if options.together < 1 or not options.minutes > 0:
        raise UserError(f"expected a run at a time and some minutes, got {options.together} and {options.minutes:g}")
    if options.inside:
        return spoiled_run(options.inside, options.game, options.minutes, options.seed, options.keep)
    with tempfile.TemporaryDirectory(prefix="spoiled-") as passing:
        home = Path(options.keep or passing)
        with ThreadPoolExecutor(options.together) as pool:
            found = list(pool.map(lambda name: watched(name, options, home), options.only))
    print(table(found))
    return 0 if all(each.is_right for each in found) else 1


def spoiled_run(name: str, game: str, minutes: float, seed: int, folder: str) -> int:
    """The run in one process that also plays the games, so that a patch applies to all of it."""
    from train.__main__ import main as train

    spoil = SPOILS[name]
    spoil.patch()
    changes = [*COMMON, f"seed={seed}", *GAMES[game], *spoil.changes]
    words = [word for change in changes for word in ("--set", change)]
    return train([game, "--run", folder, "--workers", "0", "--minutes", str(minutes), *words])


@dataclass(frozen=True)
class Watched:
    name: str
    game: str
    games: int
    raised: dict[str, int]
    """Warnings, and the number of games at which each came first."""
    ending: str
    """The last line of output of a run that failed."""

    @property
    def is_right(self) -> bool:
        wanted = SPOILS[self.name].named
        return any(each in self.raised for each in wanted) if wanted else not self.raised and not self.ending


def watched(name: str, options: Any, home: Path) -> Watched:
    game = options.game or SPOILS[name].game
    folder = home / name
    command = [sys.executable, "-m", "benchmarks.spoiled", "--inside", name, "--game", game, "--keep", str(folder)]
    command += ["--minutes", str(options.minutes), "--seed", str(options.seed)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = [line for line in (ended.stdout + ended.stderr).splitlines() if line.strip()]
    raised: dict[str, int] = {}
    for row in Rows(folder / "warnings.jsonl").rows:
        if "name" in row:
            raised.setdefault(row["name"], row["games"])
    rows = Rows(folder / "curves.jsonl").rows
    found = Watched(name, game, rows[-1]["games"] if rows else 0, raised, lines[-1] if ended.returncode else "")
    print(f"{name}: {found.games} games, {', '.join(raised) or 'no warning'}", file=sys.stderr, flush=True)
    return found


def table(found: Sequence[Watched]) -> str:
    """The results as Markdown."""
    lines = ["| spoiled | game | games | warnings, after so many games | named |", "|---|---|---|---|---|"]
    for each in found:
        named = ", ".join(f"{name} ({games})" for name, games in each.raised.items()) or "none"
        ending = f"; ended: {each.ending}" if each.ending else ""
        wanted = "yes" if each.is_right else "**no**"
        lines.append(f"| {SPOILS[each.name].wrong} | {each.game} | {each.games} | {named}{ending} | {wanted} |")
    return "\n".join(lines)


if __name__ == "__main__":
    run_command(main)
