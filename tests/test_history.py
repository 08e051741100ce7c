"""The lines of a run belong to numbers of games: what was written beyond a state is taken back, a torn tail is dropped."""

from pathlib import Path

import numpy as np
import pytest

from classical.eval import judge
from monitor.history import History, Rows
from monitor.quality import calibration


def written(path: Path) -> History:
    history = History(path)
    for games in (8, 16, 24):
        history.add(games, {"loss/policy": games / 8, "elo/search": float("nan")})
    return history


def test_what_was_added_is_read_again(tmp_path: Path) -> None:
    history = written(tmp_path / "curves.jsonl")
    again = History(tmp_path / "curves.jsonl")
    assert again.rows == history.rows
    assert again.series("loss/policy") == ([8, 16, 24], [1.0, 2.0, 3.0])
    assert again.names() == ["loss/policy"] and again.last("loss/policy") == 3.0 and again.last("elo/search") is None
    assert again.has(16, "loss/policy") and not again.has(12, "loss/policy")


def test_going_on_takes_back_what_is_beyond(tmp_path: Path) -> None:
    written(tmp_path / "curves.jsonl")
    history = History(tmp_path / "curves.jsonl", games=16)
    history.add(24, {"loss/policy": 7})
    assert History(tmp_path / "curves.jsonl").series("loss/policy") == ([8, 16, 24], [1.0, 2.0, 7.0])


@pytest.mark.parametrize("cut", range(1, 40, 3))
def test_torn_line_is_dropped_and_the_next_one_is_whole(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "curves.jsonl"
    written(path)
    path.write_bytes(path.read_bytes()[:-cut])
    assert History(path).series("loss/policy")[0] == [8, 16]
    History(path, games=24).add(24, {"loss/policy": 3})
    assert History(path).series("loss/policy") == ([8, 16, 24], [1.0, 2.0, 3.0])


@pytest.mark.parametrize(
    "line", ['{"games": 9}', '{"games": 9, "curves": 1}', '{"games": 9, "curves": {"a": "b"}}', "[]"]
)
def test_line_without_curves_is_dropped(line: str, tmp_path: Path) -> None:
    History(tmp_path / "curves.jsonl", 0).add(8, {"a": 1.0})
    with open(tmp_path / "curves.jsonl", "a") as file:
        file.write(line + "\n")
    assert History(tmp_path / "curves.jsonl").series("a") == ([8], [1.0])


def test_reading_changes_nothing_on_disk(tmp_path: Path) -> None:
    path = tmp_path / "curves.jsonl"
    written(path)
    path.write_bytes(path.read_bytes()[:-5])
    before = path.read_bytes()
    Rows(path)
    assert path.read_bytes() == before


def test_perfect_guesses_are_judged_perfect_and_no_guess_knows_nothing() -> None:
    outcomes = np.array([1, -1, 1, -1, 1, -1.0])
    perfect, none = judge(outcomes, outcomes), judge(np.zeros(6), outcomes)
    assert perfect.loss < 0.01 and perfect.sign == 1 and perfect.brier == 0 and perfect.spread == 1
    assert none.loss == pytest.approx(np.log(2)) and none.sign == 0.5 and none.brier == 0.25 and none.spread == 0
    assert judge(-outcomes, outcomes).sign == 0
    assert np.isnan(judge(np.zeros(0), np.zeros(0)).loss)


def test_calibration_of_honest_guesses_lies_on_the_diagonal() -> None:
    rng = np.random.default_rng(1)
    guesses = rng.uniform(-1, 1, 20_000)
    outcomes = np.where(rng.uniform(size=20_000) < (1 + guesses) / 2, 1.0, -1.0)
    found = calibration(guesses, outcomes)
    assert sum(each.n for each in found) == 20_000
    assert all(abs(each.expected - each.outcome) < 4 * each.error for each in found)
    assert not all(abs(each.expected + each.outcome) < 4 * each.error for each in found)


@pytest.mark.parametrize(
    "line",
    [
        '{"games": 16, "curves": {"loss/policy": NaN}}',
        '{"games": 16, "curves": {"loss/policy": "1"}}',
        '{"games": 16, "curves": {"loss/policy": ' + "9" * 5000 + "}}",
        '{"games": 16, "curves": {"\\ud800": 1}}',
        '{"games": true, "curves": {}}',
        '{"games": -1, "curves": {}}',
        '{"games": 16, "curves": ' + "[" * 5000 + "]" * 5000 + "}",
        "null",
    ],
)
def test_a_damaged_line_is_dropped_and_the_run_resumes(line, tmp_path):
    path = tmp_path / "curves.jsonl"
    History(path, games=0).add(8, {"loss/policy": 1.0})
    with open(path, "a") as file:
        file.write(line + "\n")
    History(path, games=24).add(24, {"loss/policy": 2.0})
    assert History(path).series("loss/policy") == ([8, 24], [1.0, 2.0])
