"""Kills training runs at random moments and checks that their results are bit for bit those of an uninterrupted run.

    python -m benchmarks.kill                           # a thousand kills
    python -m benchmarks.kill --kills 50 --workers 2 --games 64

Two tiny runs of tic-tac-toe, one of them with evaluation, are made once without interruption. Then runs of the same configurations are
started in turns from the command line, with worker processes, and killed with SIGKILL (the parent; its workers must end by themselves)
after a uniformly random time, up to the duration of a whole run and a little more after each kill, and resumed until they are complete.
Each must end with the same weights, the same games and the same results of evaluation, and no process may be left. Exit code 1 at the
first difference, with the folder that has it.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tqdm import tqdm

from base.errors import Arguments, UserError, run_command
from base.seeds import generator, uniform
from checkpoints import latest, read_card
from games import load
from games.record import read_records
from monitor.history import METRICS, History

TINY = (
    "net=mlp:1x16",
    "games=16",
    "selfplay.simulations=8",
    "selfplay.fast_simulations=2",
    "selfplay.slots=8",
    "learning.batch=16",
    "learning.threads=1",
)
EVALUATION = (
    ("evaluation.every=0",),
    (
        "evaluation.every=2",
        'evaluation.reference_players=["random","alphabeta:depth=1"]',
        "evaluation.reference_games=4",
        "evaluation.games=4",
        "evaluation.simulations=8",
        "evaluation.sample=20",
    ),
)
"""Of every other run."""
MEASURED = ("against/", "accuracy/")
"""Results of evaluation that depend on the run alone; an Elo counts what earlier runs played, too."""


def main(argv: Sequence[str]) -> int:
    parser = Arguments(description=__doc__)
    parser.add_argument("--kills", type=int, default=1000, metavar="N", help="how many")
    parser.add_argument("--games", type=int, default=128, metavar="N", help="of each run")
    parser.add_argument("--workers", type=int, default=2, metavar="K", help="of each run")
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="of the moments")
    options = parser.parse_args(argv)
    if options.kills < 1 or options.games < 1:
        raise UserError(f"expected at least 1 kill and 1 game, got {options.kills} and {options.games}")
    home = Path(tempfile.mkdtemp(prefix="kill-"))
    command = [sys.executable, "-m", "train", "tic_tac_toe"]
    command += ["--games", str(options.games), "--workers", str(options.workers)]
    commands = [
        [*command, *(word for change in TINY + changes for word in ("--set", change))] for changes in EVALUATION
    ]
    wanted, longest = [], []
    for kind, words in enumerate(commands):
        began = time.monotonic()
        ended(start([*words, "--run", f"whole{kind}"], home))
        longest.append(time.monotonic() - began)
        wanted.append(outcome(home / "runs" / f"whole{kind}"))
    assert wanted[1].results and not wanted[0].results, "the second run alone is evaluated"
    rng = generator(options.seed, "kills")
    kills = runs = 0
    print(f"uninterrupted runs take {longest[0]:.1f} s, with evaluation {longest[1]:.1f} s; {home}", flush=True)
    with tqdm(total=options.kills, unit="kill", disable=None) as bar:
        while kills < options.kills:
            name, kind, killed = f"run{runs}", runs % len(commands), 0
            folder = home / "runs" / name
            while True:
                process = start([*commands[kind], "--run", name], home)
                try:
                    # The time grows, so that a run ends on a busy machine too.
                    ended(process, longest[kind] * uniform(rng) * (1 + killed / 20))
                    break
                except subprocess.TimeoutExpired:
                    process.send_signal(signal.SIGKILL)
                    process.wait()
                    killed += 1
                    bar.update()
            if outcome(folder) != wanted[kind]:
                print(f"{folder}: after {killed} kills not the result of the uninterrupted run, whole{kind}")
                return 1
            shutil.rmtree(folder)
            kills, runs = kills + killed, runs + 1
            print(f"run {runs}: {killed} kills, the same bits; {kills} kills so far", flush=True)
    if left := left_over(home):
        print(f"processes left over: {left}")
        return 1
    shutil.rmtree(home)
    print(
        f"{kills} kills in {runs} runs of {options.games} games on {options.workers} workers: all ended with the same bits"
    )
    return 0


def start(command: list[str], home: Path) -> subprocess.Popen[bytes]:
    """In `home`, with that in its environment, by which `left_over` finds its processes."""
    environment = os.environ | {"ZERMELO_KILL": str(home), "PYTHONPATH": str(Path(__file__).resolve().parent.parent)}
    with open(home / "output.txt", "ab") as output:
        return subprocess.Popen(command, stdout=output, stderr=output, env=environment, cwd=home)


def ended(process: subprocess.Popen[bytes], most: float | None = None) -> None:
    if process.wait(most) != 0:
        raise UserError(f"expected a run to end with exit code 0, got {process.returncode}: {process.args!r}")


class Outcome(NamedTuple):
    weights: str
    games: dict[int, bytes]
    results: list[dict[str, float]]


def outcome(folder: Path) -> Outcome:
    """The last weights, all games, and the results of evaluation."""
    records = read_records(folder / "games", load("tic_tac_toe"))
    results = [
        {
            name: value
            for name, value in row["curves"].items()
            if name.startswith(MEASURED) and not name.endswith(" Elo")
        }
        for row in History(folder / METRICS).rows
    ]
    return Outcome(
        read_card(latest(folder)).weights,
        {record.metadata["number"]: record.to_bytes() for record in records},
        [each for each in results if each],
    )


def left_over(home: Path, patience: float = 20.0) -> list[int]:
    """Processes started by this program that still run after `patience` seconds."""
    mark = f"ZERMELO_KILL={home}".encode()
    deadline = time.monotonic() + patience
    while True:
        found = []
        for entry in Path("/proc").glob("[0-9]*/environ"):
            try:
                if mark in entry.read_bytes():
                    found.append(int(entry.parent.name))
            except OSError:
                continue
        if not found or time.monotonic() > deadline:
            return found
        time.sleep(0.2)


if __name__ == "__main__":
    run_command(main)
