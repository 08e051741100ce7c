"""Kills training runs at random moments and checks that their results are bit for bit those of an uninterrupted run.

    python -m benchmarks.kill                           # a thousand kills
    python -m benchmarks.kill --kills 50 --workers 2 --games 64

A tiny run of tic-tac-toe is made once without interruption. Then runs of the same configuration are started from the command line, with
worker processes, and killed with SIGKILL (the parent; its workers must end by themselves) after a uniformly random time, up to the
duration of a whole run and a little more after each kill, and resumed until they are complete. Each must end with the same weights and
the same games, and no process may be left. Exit code 1 at the first difference, with the folder that has it.
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

from tqdm import tqdm

from base.errors import Arguments, UserError, run_command
from base.seeds import generator, uniform
from checkpoints import latest, read_card
from games import load
from games.record import read_records

TINY = (
    "net=mlp:1x16",
    "games=16",
    "selfplay.simulations=8",
    "selfplay.fast_simulations=2",
    "selfplay.slots=8",
    "learning.batch=16",
    "learning.threads=1",
    "evaluation.every=0",
)


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
    command = [
        sys.executable,
        "-m",
        "train",
        "tic_tac_toe",
        "--games",
        str(options.games),
        "--workers",
        str(options.workers),
    ]
    command += [word for change in TINY for word in ("--set", change)]
    began = time.monotonic()
    ended(start([*command, "--run", str(home / "whole")], home))
    longest = time.monotonic() - began
    wanted = outcome(home / "whole")
    rng = generator(options.seed, "kills")
    kills = runs = 0
    print(f"an uninterrupted run takes {longest:.1f} s; {home}", flush=True)
    with tqdm(total=options.kills, unit="kill", disable=None) as bar:
        while kills < options.kills:
            folder = home / f"run{runs}"
            killed = 0
            while True:
                process = start([*command, "--run", str(folder)], home)
                try:
                    ended(
                        process, longest * uniform(rng) * (1 + killed / 20)
                    )  # grows, so that a run ends on a busy machine too
                    break
                except subprocess.TimeoutExpired:
                    process.send_signal(signal.SIGKILL)
                    process.wait()
                    killed += 1
                    bar.update()
            if outcome(folder) != wanted:
                print(f"{folder}: after {killed} kills not the result of the uninterrupted run, {home / 'whole'}")
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
    """With `home` in its environment, by which `left_over` finds its processes."""
    environment = os.environ | {"ZERMELO_KILL": str(home)}
    with open(home / "output.txt", "ab") as output:
        return subprocess.Popen(command, stdout=output, stderr=output, env=environment)


def ended(process: subprocess.Popen[bytes], most: float | None = None) -> None:
    if process.wait(most) != 0:
        raise UserError(f"expected a run to end with exit code 0, got {process.returncode}: {process.args!r}")


def outcome(folder: Path) -> tuple[str, dict[int, bytes]]:
    """The last weights and all games."""
    records = read_records(folder / "games", load("tic_tac_toe"))
    return read_card(latest(folder)).weights, {record.metadata["number"]: record.to_bytes() for record in records}


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
