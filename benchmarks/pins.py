"""Hashes of what a restructuring must not change: records of self-play, and weights after a tiny run.

    python -m benchmarks.pins            # the hashes, as JSON
    python -m benchmarks.pins --write    # keeps them in tests/data/pins.json, which a test compares

Each case is a command that a user could type. The hashes cover everything in a record except the names of players and networks. A
commit that changes one of them on purpose names it and the reason. The last bits of a network differ between types of processor, so the
pins of training runs are kept per type; those of self-play without a network hold everywhere, and where these change, what was kept of
other types is dropped. The signature of alpha-beta is `benchmarks.signature`.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from base.errors import Arguments, run_command
from base.files import read_json, write_json
from base.framed_log import read_log
from games import load
from games.record import GameRecord

STORED = Path(__file__).parent.parent / "tests" / "data" / "pins.json"

SELFPLAY = {
    "connect_four uniform": ("connect_four", "uniform:sims=32,fast=8,slots=4", 6),
    "othello 6x6 rollouts": ("othello:size=6", "rollouts:sims=24,slots=4", 4),
    "three players rollouts": ("dots_and_boxes:rows=2,cols=2,players=3", "rollouts:sims=16,slots=4", 6),
    "dice rollouts": ("backgammon", "rollouts:sims=4,slots=2", 2),
}
"""name: (game, player, games)"""

COMMON = """net = "resnet:1x16"
games = {games}
precision = "fp32"
[selfplay]
slots = 4
simulations = {full}
fast_simulations = {fast}
full = 0.25
openings = 0.5
[window]
constant = 20000
beta = 0.4
samples = 4.0
[learning]
batch = 16
precision = "fp32"
mean = 0.99
[evaluation]
every = 0
"""
PUCT = """[search]
method = "puct"
"""
GUMBEL = PUCT.replace("puct", "gumbel")
RUNS = {
    "puct": ("tic_tac_toe", 8, 12, 4, PUCT),
    "gumbel": ("tic_tac_toe", 8, 12, 4, GUMBEL),
    "three players": ("dots_and_boxes:rows=2,cols=2,players=3", 8, 12, 4, PUCT),
    "dice": ("backgammon", 2, 2, 2, PUCT),
}
"""name: (game, games of an iteration, simulations of a full and of a fast search, more settings); two iterations each"""


def main(argv: Sequence[str]) -> int:
    parser = Arguments(description=__doc__)
    parser.add_argument("--write", action="store_true", help="keep them for the test")
    options = parser.parse_args(argv)
    selfplay, runs = selfplay_pins(), {processor(): run_pins()}
    if options.write:
        kept: dict[str, Any] = read_json(STORED) if STORED.exists() else {}
        others = kept["runs"] if kept.get("selfplay") == selfplay else {}
        write_json(STORED, {"selfplay": selfplay, "runs": {**others, **runs}})
    print(json.dumps({"selfplay": selfplay, "runs": runs}, indent=1))
    return 0


def selfplay_pins() -> dict[str, str]:
    with tempfile.TemporaryDirectory() as folder:
        outs = {name: Path(folder) / name for name in SELFPLAY}
        _call(
            folder,
            "selfplay",
            [
                [game, "--player", player, "--games", str(games), "--out", str(outs[name]), "--workers", "0"]
                for name, (game, player, games) in SELFPLAY.items()
            ],
        )
        return {name: of_records(SELFPLAY[name][0], [out / "games.log"]) for name, out in outs.items()}


def run_pins() -> dict[str, dict[str, str]]:
    with tempfile.TemporaryDirectory() as folder:
        commands, found = [], {}
        for name, (game, games, full, fast, more) in RUNS.items():
            config = Path(folder) / f"{_run(name)}.toml"
            config.write_text(COMMON.format(games=games, full=full, fast=fast) + more, encoding="utf-8")
            words = [game, "--run", _run(name), "--config", str(config), "--games", str(2 * games), "--workers", "0"]
            commands.append(words)
        _call(folder, "train", commands)
        for name, (game, *_) in RUNS.items():
            run = Path(folder) / "runs" / _run(name)
            last = max((run / "checkpoints").iterdir())
            found[name] = {
                "records": of_records(game, sorted((run / "games").glob("*.log"))),
                "weights": hashlib.sha256((last / "weights.safetensors").read_bytes()).hexdigest()[:16],
            }
        return found


def _run(name: str) -> str:
    return name.replace(" ", "_")


def of_records(game: str, logs: Iterable[Path]) -> str:
    """A hash of the games in the order of their numbers, without the names of players and nets."""
    rules = load(game)
    records = [GameRecord.from_bytes(payload, rules) for log in logs for _, payload in read_log(log)]
    digest = hashlib.sha256()
    for record in sorted(records, key=lambda each: int(each.metadata["number"])):
        for array in (record.moves, record.searched, record.utilities, record.policy_counts):
            digest.update(array.tobytes())
        for array in (record.policy_actions, record.probabilities, record.visits):
            digest.update(array.tobytes())
        digest.update(repr((record.outcome, record.ending, record.seed)).encode())
    return digest.hexdigest()[:16]


def processor() -> str:
    """What decides the bits of a network: the instructions that its kernels are compiled for."""
    if not Path("/proc/cpuinfo").exists():
        return platform.machine()
    flags = re.search(r"^flags\s*:(.*)$", Path("/proc/cpuinfo").read_text(encoding="ascii"), re.MULTILINE)
    known = flags[1].split() if flags else []
    return " ".join(
        [platform.machine(), *(each for each in ("avx2", "avx512f", "avx512_bf16", "amx_bf16") if each in known)]
    )


def _call(folder: str, package: str, commands: list[list[str]]) -> None:
    """The commands one after the other, in one process: to import torch takes longer than such a run."""
    script = f"import json, sys; from {package}.__main__ import main; [main(each) for each in json.loads(sys.argv[1])]"
    root = str(Path(__file__).parent.parent)
    command = [sys.executable, "-c", script, json.dumps(commands)]
    done = subprocess.run(command, cwd=folder, env=os.environ | {"PYTHONPATH": root}, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr[-2000:]}")


if __name__ == "__main__":
    run_command(main)
