"""Runs drawn together: what is grouped, what a line shows, what is refused."""

import csv
from pathlib import Path

import pytest
from miniature import run, tiny

from base.errors import UserError
from base.files import write_text
from monitor.history import History
from monitor.report.compare import Group, grouped, line_of, main, name_of
from train.config import to_toml
from train.run_reader import find


def made(folder: Path, config: object, points: dict[int, dict[str, float]]) -> None:
    folder.mkdir(parents=True)
    write_text(folder / "config.toml", to_toml(config))  # type: ignore[arg-type]
    history = History(folder / "curves.jsonl")
    for games, values in points.items():
        history.add(games, values)


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two seeds of one configuration, one of another."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "runs"
    made(folder / "a_1", tiny("seed=1"), {8 * k: {"loss/value": 1.0 * k, "time/hours": 0.1 * k} for k in (1, 2, 3)})
    made(folder / "a_2", tiny("seed=2"), {8 * k: {"loss/value": 3.0 * k, "time/hours": 0.2 * k} for k in (1, 2, 3, 4)})
    elo = {"elo/search": 5.0, "elo/search low": 1.0, "elo/search high": 9.0, "time/hours": 0.5}
    made(folder / "b", tiny("seed=1", "net=mlp:2x16"), {8: {"loss/value": 7.0} | elo})
    return folder


def test_runs_that_differ_in_the_seed_alone_are_one_line_their_mean(runs: Path) -> None:
    one, other = grouped([find(name, None, True) for name in ("a_1", "b", "a_2")])
    assert (one.name, [run.name for run in one.runs], other.name) == ("a (2 seeds)", ["a_1", "a_2"], "b")
    line = one.line("loss/value", "games")
    assert line is not None and line.games == [8, 16, 24]  # as far as all of them are
    assert (line.values, line.low, line.high) == ([2, 4, 6], [1, 2, 3], [3, 6, 9])
    by_hours = one.line("loss/value", "hours")
    assert by_hours is not None and by_hours.games[0] == pytest.approx(0.2) and by_hours.games[-1] == pytest.approx(0.3)
    assert by_hours.low[0] == pytest.approx(2.0) or by_hours.high[0] == pytest.approx(3.0)


def test_a_run_alone_has_the_band_of_its_interval(runs: Path) -> None:
    line = Group("b", [find("b", None, True)]).line("elo/search", "games")
    assert line is not None and (line.values, line.low, line.high) == ([5], [1], [9])
    assert line_of(find("b", None, True), "elo/policy", "games") is None


def test_names_of_seeds_are_shortened_to_what_they_have_in_common() -> None:
    assert name_of(["first"]) == "first"
    assert name_of(["bf16_1", "bf16_2", "bf16_3"]) == "bf16 (3 seeds)"
    assert name_of(["x", "y"]) == "x (2 seeds)"


def test_page_picture_and_numbers_are_written(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["a_1", "a_2", "b", "--out", "out"], find) == 0
    shown = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in shown[1:4]] == ["a_1", "a_2", "b"]
    page = Path("out/compare.html").read_text(encoding="utf-8")
    assert "a (2 seeds)" in page and "mlp:2x16" in page and "http" not in page.replace("http://www.w3.org", "")
    assert Path("out/compare.png").read_bytes().startswith(b"\x89PNG")
    with open("out/compare.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    found = [row for row in rows if row["run"] == "a_2" and row["metric"] == "loss/value"]
    assert [(int(row["games"]), float(row["value"])) for row in found] == [(8, 3), (16, 6), (24, 9), (32, 12)]
    assert [float(row["hours"]) for row in found] == pytest.approx([0.2, 0.4, 0.6, 0.8])


def test_a_run_as_the_program_makes_it_can_be_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for seed in (1, 2):
        run(tmp_path / "runs" / f"tiny_{seed}", 16, config=tiny(f"seed={seed}"))
    assert main(["tiny_1", "tiny_2"], find) == 0
    assert (tmp_path / "runs/compared/compare.html").is_file()


def test_what_cannot_be_compared_is_refused_in_one_line(runs: Path) -> None:
    with pytest.raises(UserError, match="expected two runs or more, got b"):
        main(["b", "b"], find)
    with pytest.raises(UserError, match="unknown run 'c'"):
        main(["b", "c"], find)


def test_several_runs_in_one_report_are_referred_to_compare() -> None:
    from monitor.report.page import main as report

    with pytest.raises(UserError, match="expected one run, got 2; python -m train compare draws several together"):
        report(["first", "second"], find)
