"""An installed wheel works without the folder it was built from: every command runs in an empty folder."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PACKAGES = [name for name in PROJECT["tool"]["setuptools"]["packages"]["find"]["include"] if "*" not in name]
OFFLINE = ("--no-deps", "--no-index", "--disable-pip-version-check", "--quiet")
TINY_RUN = (
    "--games 8 --workers 0 --set games=8 --set net=mlp:1x8 --set evaluation.reference_games=1 --set evaluation.games=2"
)

COMMANDS = {
    "train": [
        f"tic_tac_toe --run first {TINY_RUN} --set selfplay.simulations=4 --set window.constant=40",
        "report first",
        "tic_tac_toe --eval-only --records first",
    ],
    "arena": [
        "players",
        "ladder tic_tac_toe --games 2 --workers 0",
        "match tic_tac_toe net:first,sims=4 net:tic_tac_toe/best,sims=4 --games 2 --workers 0",
    ],
    "arena.released_positions": ["nim --count 5 --workers 0 --out set.jsonl"],
    "games": ["list", "show tree:two_ply.json"],
    "games.formats": ["tic_tac_toe runs/first/games"],
    "selfplay": ["inspect runs/first/games"],
    "cluster": ["shared --minutes 0"],
    "checkpoints": ["list", "released", "show first"],
    "classical.book": ["build tic_tac_toe runs/first/games --out book"],
    "classical.tables": ["tic_tac_toe"],
    "classical.alphabeta.probcut": ["tic_tac_toe --positions 20 --depth 3 --random 3 --out probcut.json"],
    "classical.eval": ["chess --export mine.eval.json", "chess --eval mine.eval.json --moves e4"],
    "mcts.ucb1": ["60/79 1/10 2/11"],
    "monitor.metrics": [""],
    "train.keys": [""],
    "zermelo": ["--help", "games list"],
}
"""By module; the run of the first one is there for the others."""


def pip(*words: object, cwd: Path) -> None:
    done = subprocess.run([sys.executable, "-m", "pip", *map(str, words)], cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def files_of_packages(root: Path) -> set[str]:
    """All files of the packages but byte code, relative to the root."""
    return {
        path.relative_to(root).as_posix()
        for name in PACKAGES
        for path in (root / name).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built offline, of a copy: setuptools leaves a folder `build` beside its sources."""
    source: Path = tmp_path_factory.mktemp("source")
    for name in PACKAGES:
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    pip("wheel", *OFFLINE, "--no-build-isolation", "--wheel-dir", "out", ".", cwd=source)
    (found,) = (source / "out").glob("*.whl")
    return found


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target: Path = tmp_path_factory.mktemp("installed")
    pip("install", *OFFLINE, "--target", target, wheel, cwd=target)
    return target


def test_every_file_of_the_packages_is_in_the_wheel(wheel):
    inside = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert inside == files_of_packages(ROOT)


def test_every_entry_point_is_run_below():
    entries = {
        name.removesuffix(".py").removesuffix("/__main__").replace("/", ".")
        for name in files_of_packages(ROOT)
        if name.endswith(".py") and re.search(r"^    run_command\(", (ROOT / name).read_text(), re.MULTILINE)
    }
    assert entries == COMMANDS.keys()


def test_every_entry_point_runs_in_an_empty_folder(installed, tmp_path):
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    env |= {"PYTHONPATH": str(installed), "PYTHONDONTWRITEBYTECODE": "1"}
    at = subprocess.run(
        [sys.executable, "-c", "import base; print(base.__file__)"],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
    )
    assert at.stdout.startswith(str(installed))
    for module, lines in COMMANDS.items():
        for line in lines:
            words = [sys.executable, "-m", module, *shlex.split(line)]
            done = subprocess.run(words, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
            assert done.returncode == 0, f"{module} {line}: {done.stderr}"
            assert done.stdout
    assert files_of_packages(installed) == files_of_packages(ROOT)  # and nothing was written there
