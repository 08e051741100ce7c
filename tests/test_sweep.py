"""`python -m train sweep FILE`: every combination with every seed, the same results however it was interrupted."""

import os
import signal
import time
from pathlib import Path

import pytest
from commands import command, warm
from miniature import CHANGES, weights

from base.errors import UserError
from train import sweep
from train.config import settings

SETTINGS = "\n".join(
    f'{key} = "{value}"' if key == "net" else f"{key} = {value}"
    for key, value in (each.split("=") for each in CHANGES)
    if key not in ("net", "selfplay.simulations")
)
FILE = f"""
game = "tic_tac_toe"
seeds = 2
games = 16

[grid]
selfplay.simulations = [4, 6]

[set]
net = "mlp:1x8"
{SETTINGS}
"""
NAMES = [f"small-simulations_{simulations}-{seed}" for simulations in (4, 6) for seed in (1, 2)]


def written(folder: Path, text: str = FILE) -> Path:
    path = folder / "small.toml"
    path.write_text(text)
    return path


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sweep")
    done = command(f"train sweep {written(folder)} --at-once 2", folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"4 runs: {', '.join(NAMES)}\n1 of 4: small-")
    assert done.stdout.endswith("\nruns/compared/small/compare.html, compare.png, compare.csv\n")
    return folder


def test_every_combination_has_every_seed(whole: Path) -> None:
    runs = sweep.planned(whole / "small.toml")
    assert [each.name for each in runs] == NAMES
    assert sorted(path.name for path in (whole / "runs").iterdir() if path.name != "compared") == sorted(NAMES)
    assert len({weights(whole / "runs" / name) for name in NAMES}) == 4
    table = (whole / "runs" / "compared" / "small" / "compare.csv").read_text()
    assert all(name in table for name in NAMES) and "small-simulations_4 (2 seeds)" in table


def test_a_grid_has_every_combination(tmp_path: Path) -> None:
    grid = 'net = ["mlp:1x8", "mlp:1x16"]\nselfplay.simulations = [4, 6, 8]'
    path = written(tmp_path, f'game = "tic_tac_toe"\nseeds = [7, 3]\nminutes = 2\nset.games = 8\n[grid]\n{grid}')
    found = [settings(each.config) for each in sweep.planned(path)]
    chosen = [(each["net"], each["selfplay.simulations"], each["seed"]) for each in found]
    nets, simulations, seeds = ('"mlp:1x8"', '"mlp:1x16"'), "468", "73"
    assert chosen == [(net, sims, seed) for net in nets for sims in simulations for seed in seeds]
    assert {each["games"] for each in found} == {"8"}


def test_a_budget_that_is_no_whole_number_of_iterations_is_named(tmp_path: Path) -> None:
    assert sweep.rounded(sweep.planned(written(tmp_path))) == []
    (line,) = sweep.rounded(sweep.planned(written(tmp_path, FILE.replace("games = 16", "games = 20"))))
    assert "of 8 games each, 24 instead of 20" in line


def test_killed_and_resumed_one_by_one_it_has_the_same_results(whole: Path, tmp_path: Path) -> None:
    written(tmp_path)
    process = warm().Process(target=_sweep, args=(str(tmp_path),))
    process.start()
    third = tmp_path / "runs" / NAMES[2] / "games"
    while process.is_alive() and not third.exists():
        time.sleep(0.01)
    os.kill(process.pid or 0, signal.SIGKILL)
    process.join()
    assert process.exitcode == -signal.SIGKILL and not (tmp_path / "runs" / NAMES[-1]).exists()
    assert command("train sweep small.toml", tmp_path).returncode == 0
    for name in NAMES:
        assert weights(tmp_path / "runs" / name) == weights(whole / "runs" / name)


def _sweep(folder: str) -> None:
    os.chdir(folder)
    sweep.main(["small.toml"])


WRONG = {
    'seeds = "x"': 'seeds: expected how many, or a list of different whole numbers, got "x"',
    "seeds = [1, 1]": "seeds: expected how many, or a list of different whole numbers, got [1, 1]",
    "seeds = 0": "seeds: expected how many",
    "minutes = 1": "expected one of games and minutes, the length of each run",
    "sedes = 2": "unknown key 'sedes': expected game, seeds",
    "grid = 3": "grid: expected a section, got 3",
    "grid.seed = [1, 2]": "seed: expected seeds = N beside game, got it as a setting",
    "grid.window.samples = 3.0": "grid.window.samples: expected a list of values, got 3.0",
    "grid.net = []": "grid.net: expected a list of values, got []",
    'grid.net = ["mlp:1x8", "mlp:1"]': "mlp: expected LAYERSxWIDTH",
    'grid.net = ["mlp:1x8", "mpl:1x8"]': "unknown net 'mpl'",
    "grid.games = [8, 8]": "grid: expected values that give different names, got 'small-games_8-1' twice",
    "set.games = 8\ngrid.games = [8]": "grid.games: expected it in one of grid and set, got it in both",
    "set.gams = 8": "unknown key 'gams'",
    "seeds = 1001": "seeds: expected how many",
    "seeds = 1000\ngrid.games = [8, 16]": "expected 1000 runs at most, got 2000",
}


@pytest.mark.parametrize("text", WRONG)
def test_a_wrong_file_is_one_line_before_anything_begins(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = written(tmp_path, f'game = "tic_tac_toe"\ngames = 16\n{text}\n')
    with pytest.raises(UserError) as refused:
        sweep.main([str(path)])
    assert WRONG[text] in str(refused.value) and "\n" not in str(refused.value)
    assert not (tmp_path / "runs").exists()


def test_files_that_are_none_are_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "half.toml").write_text("game = ")
    for words, expected in (
        (f"{tmp_path / 'none.toml'}", "none.toml: expected the TOML file of a sweep, found No such file or directory"),
        (f"{tmp_path / 'half.toml'}", "half.toml: "),
        (f"{tmp_path}", "expected the TOML file of a sweep, found Is a directory"),
        (f"{written(tmp_path)} --at-once 0", "--at-once: expected 1 or more, got 0"),
    ):
        with pytest.raises(UserError) as refused:
            sweep.main(words.split())
        assert expected in str(refused.value) and "\n" not in str(refused.value)


def test_a_run_of_another_configuration_is_not_taken(whole: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(whole)
    other = written(whole, FILE.replace("window.most=60", "").replace("learning.batch = 8", "learning.batch = 16"))
    try:
        with pytest.raises(
            UserError, match=r"expected a run of this sweep, got another one, learning\.batch: 8, now 16;"
        ):
            sweep.main([str(other)])
    finally:
        written(whole)
