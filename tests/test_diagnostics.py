"""Diagnostics: each problem of a spoiled run is found under its name, and none in healthy runs."""

import dataclasses
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from miniature import GAME, run, tiny

from games import Game, load
from mcts.gumbel import Gumbel
from monitor import diagnostics
from monitor.checks import RunMetrics
from monitor.diagnostics import DIAGNOSTICS, Diagnostic, Finding, diagnose
from monitor.history import History, Rows
from monitor.warning_log import WarningLog, spells
from train.config import Config, compose

ROOT = Path(__file__).parents[1]
HEALTHY = ROOT / "tests/data/healthy"
WINDOW = ("window.constant=20000", "window.beta=0.4")
RUNS = {
    "tic_tac_toe": ("tic_tac_toe", ()),
    "connect_four": ("connect_four", ("games=64", *WINDOW)),
    "backgammon": ("backgammon", ("games=64", *WINDOW)),
    "dots_and_boxes": ("dots_and_boxes:players=3", ()),
}
"""Whose curves are kept, and how they were configured."""

Change = float | Callable[[int], float] | None


def history(rows: list[dict[str, Any]]) -> History:
    found = History(ROOT / "nowhere.jsonl")
    found.rows = rows
    return found


def healthy(name: str = "tic_tac_toe") -> list[dict[str, Any]]:
    return History(HEALTHY / f"{name}.jsonl").rows


def config(*changes: str) -> Config:
    return compose(GAME, None, changes)


def sick(changes: Mapping[str, Change]) -> list[dict[str, Any]]:
    """A healthy run with some of its curves changed: to a number, by the iteration, or left out."""
    rows = []
    for i, row in enumerate(healthy()):
        curves = dict(row["curves"])
        for name, change in changes.items():
            curves.pop(name, None)
            if change is not None:
                curves[name] = change(i) if callable(change) else change
        rows.append({"games": row["games"], "curves": curves})
    return rows


def evaluated(elo: Callable[[int], float]) -> dict[str, Change]:
    return {"elo/search": elo, "elo/search low": lambda i: elo(i) - 60, "accuracy/search": None}


SICK: dict[str, tuple[dict[str, Change], tuple[str, ...]]] = {
    "value inverted": ({"fresh/value correlation": -0.4}, ()),
    "value collapse": ({"fresh/value spread": 0.01, "fresh/value brier": 0.2}, ()),
    "policy collapse": ({"fresh/policy entropy": 0.01, "fresh/policy loss": 3.0, "loss/policy": 3.0}, ()),
    "policy not learning": ({"fresh/policy explained": 0.01}, ()),
    "target not the search's": ({"selfplay/target exponent": 1.3}, ()),
    "learning rate too high": ({"learning/update": 0.5}, ()),
    "learning diverges": ({"fresh/policy explained": -0.5}, ()),
    "loss rises": ({"loss/total": lambda i: 0.2 + i / 20}, ()),
    "gradients always clipped": ({"learning/gradient": 20.0}, ()),
    "games all alike": ({"selfplay/duplicates": 0.8}, ()),
    "one opening only": ({"selfplay/same start": 1.0}, ()),
    "one player always wins": ({"selfplay/utility of player 1": 0.97}, ()),
    "resigned too early": (
        {"selfplay/resigned": 0.4, "selfplay/wrong resignations": 0.4},
        ("selfplay.resign=0.1",),
    ),
    "resignations unchecked": ({"selfplay/resigned": 0.4}, ("selfplay.resign=0.9", "selfplay.played_out=0")),
    "window stale": ({"window/positions": 500.0}, ()),
    "overfitting": ({"fresh/policy loss": 2.0}, ()),
    "no learning steps": ({"learning/steps": 900.0, "learning/update": None}, ()),
    "drawn too often": ({"window/samples": 40.0}, ()),
    "Elo not rising": (evaluated(lambda i: 100 + i % 2), ()),
    "self-play has become slow": ({"speed/positions per second": lambda i: 3000.0 if i < 20 else 300.0}, ()),
}


def findings(
    rows: list[dict[str, Any]], settings: Config, game: Game = GAME, games: int | None = None
) -> list[Finding]:
    return diagnose(RunMetrics(history(rows), settings, game.players, games))


def names(rows: list[dict[str, Any]], how: Config) -> list[str]:
    return [finding.name for finding in findings(rows, how)]


def test_every_rule_has_a_sick_run() -> None:
    assert sorted(SICK) == sorted(rule.name for rule in DIAGNOSTICS)


@pytest.mark.parametrize("name", SICK)
def test_sick_run_is_named_and_nothing_else_is(name: str) -> None:
    changes, settings = SICK[name]
    assert names(sick(changes), config(*settings)) == [name]


@pytest.mark.parametrize("name", SICK)
def test_young_run_says_nothing(name: str) -> None:
    changes, settings = SICK[name]
    assert names(sick(changes)[:2], config(*settings)) == []


@pytest.mark.parametrize("name", SICK)
def test_missing_curve_is_not_judged(name: str) -> None:
    changes, settings = SICK[name]
    for missing in changes:
        found = names(sick(changes | {missing: None}), config(*settings))
        assert set(found) <= {name} and (len(changes) > 1 or not found)


def test_run_of_which_little_is_known_has_no_troubles() -> None:
    kept = {"selfplay/length", "learning/steps"}
    bare = [
        {"games": row["games"], "curves": {k: v for k, v in row["curves"].items() if k in kept}} for row in sick({})
    ]
    assert names(bare, config()) == []


@pytest.mark.parametrize("run_of", RUNS)
def test_healthy_run_is_left_alone_from_beginning_to_end(run_of: str) -> None:
    spec, changes = RUNS[run_of]
    game, rows = load(spec), healthy(run_of)
    how = compose(game, None, changes)
    assert len(rows) >= 16
    for row in rows:
        assert findings(rows, how, game, row["games"]) == []


def test_flat_targets_and_searches_the_wrong_way_round_are_named_too() -> None:
    assert names(sick({"selfplay/target exponent": 0.5}), config()) == ["target not the search's"]
    assert names(sick({"selfplay/search correlation": -0.4}), config()) == ["value inverted"]


def test_rising_elo_is_no_trouble_and_a_solved_game_is_none() -> None:
    assert names(sick(evaluated(lambda i: 40.0 * i)), config()) == []
    flat = evaluated(lambda i: 100.0) | {"accuracy/search": 0.99}
    assert names(sick(flat), config()) == []


def test_resignations_that_are_right_are_no_trouble() -> None:
    curves: dict[str, Change] = {"selfplay/resigned": 0.6, "selfplay/wrong resignations": 0.03}
    assert names(sick(curves), config("selfplay.resign=0.9")) == []


def test_gumbel_learns_something_else_than_visits() -> None:
    how = dataclasses.replace(config(), search=Gumbel())
    assert names(sick({"selfplay/target exponent": 2.0}), how) == []


def test_search_without_noise_can_have_games_all_alike() -> None:
    settings = dataclasses.replace(config(), search=Gumbel())
    (finding,) = findings(sick({"selfplay/duplicates": 0.8}), settings)
    assert finding.name == "games all alike" and "search.temperature=" in finding.seen
    advice = " ".join(finding.advice)
    assert "search.temperature=" in advice and "search.noise" not in advice  # which this search does not have


# ── the words ──


@pytest.mark.parametrize("rule", DIAGNOSTICS, ids=lambda rule: rule.name)
def test_every_warning_has_a_number_causes_and_advice(rule: Diagnostic) -> None:
    changes, settings = SICK[rule.name]
    (finding,) = findings(sick(changes), config(*settings))
    assert re.search(r"\d", finding.seen) and finding.causes and finding.advice
    for words in (finding.text(), finding.markdown()):
        assert all(each in words for each in (finding.name, finding.seen, *finding.causes, *finding.advice))


@pytest.mark.parametrize("rule", DIAGNOSTICS, ids=lambda rule: rule.name)
def test_every_key_that_is_named_exists(rule: Diagnostic) -> None:
    words = " ".join((*rule.causes, *rule.advice))
    for change in re.findall(r"--set (\S+?=[^\s;,]+)", words):
        assert compose(GAME, None, [change])
    sections = {each.name: getattr(config(), each.name) for each in dataclasses.fields(Config)}
    for section, key in re.findall(r"\b([a-z]+)\.([a-z_]+)\b", words):
        if section in sections and dataclasses.is_dataclass(sections[section]):
            assert hasattr(sections[section], key)


def test_page_explains_every_warning_and_no_other() -> None:
    page = (ROOT / "docs/diagnostics.md").read_text()
    assert re.findall(r"^### (.+)$", page, re.MULTILINE) == [rule.name for rule in DIAGNOSTICS]


# ── when it is said ──

ILL = Diagnostic(
    "ill", lambda run: f"{run.iterations} iterations" if run.iterations >= 2 else None, ("a cause",), ("a cure",)
)


@pytest.fixture
def ill(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diagnostics, "DIAGNOSTICS", (ILL,))


@pytest.mark.usefixtures("ill")
def test_warning_is_said_once_also_by_a_run_that_goes_on(tmp_path: Path) -> None:
    said: list[str] = []
    for games in (24, 40):
        run(tmp_path / "run", games, said=said)
    assert [line.split(":")[0] for line in said if "WARNING" in line] == ["WARNING  ill"]
    log = Rows(tmp_path / "run/warnings.jsonl")
    assert [(row["games"], row["name"], row["seen"]) for row in log.rows] == [(16, "ill", "2 iterations")]
    assert log.rows[0]["causes"] == ["a cause"] and log.rows[0]["advice"] == ["a cure"]


@pytest.mark.usefixtures("ill")
def test_warning_beyond_the_state_is_taken_back_and_said_again(tmp_path: Path) -> None:
    rows = [{"games": games, "curves": {"selfplay/length": 8.0}} for games in (8, 16)]
    path = tmp_path / "warnings.jsonl"
    for state in (8, 8, 16):  # twice killed before the state at 16 was saved
        log = WarningLog(tiny(), GAME.players, history(rows), Rows(path, state))
        assert [finding.name for finding in log.update(16)] == (["ill"] if state == 8 else [])
    assert len(Rows(path).rows) == 1


def test_trouble_that_comes_back_is_told_again_and_one_that_flickers_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def see(run: RunMetrics) -> str | None:
        return "it" if run.last("ill", 1)[0] else None

    monkeypatch.setattr(diagnostics, "DIAGNOSTICS", (Diagnostic("ill", see, ("a cause",), ("a cure",)),))
    told, rows = [], []
    log = Rows(tmp_path / "warnings.jsonl")
    states = "0110110000011"
    for i, state in enumerate(states):
        rows.append({"games": i, "curves": {"selfplay/length": 8.0, "ill": float(state)}})
        told += [i] * len(WarningLog(tiny(), GAME.players, history(rows), log).update(i))
    assert told == [1, states.rindex("011") + 1]
    assert [row["gone"] for row in log.rows if "gone" in row] == ["ill"]
    first, again = spells(log.rows)["ill"]
    assert [first.row["games"], again.row["games"]] == told and told[0] < first.gone < told[1] and not again.gone


def test_trouble_that_says_less_is_left_out() -> None:
    both: dict[str, Change] = {"selfplay/duplicates": 0.9, "selfplay/same start": 1.0}
    assert names(sick(both), config()) == ["games all alike"]


def test_trouble_is_plain_data(tmp_path: Path) -> None:
    finding = Finding("ill", "2 iterations", ("a cause",), ("a cure",))
    log = Rows(tmp_path / "warnings.jsonl")
    log.add(8, dataclasses.asdict(finding))
    assert Rows(tmp_path / "warnings.jsonl").rows == [
        {"games": 8, "name": "ill", "seen": "2 iterations", "causes": ["a cause"], "advice": ["a cure"]}
    ]


def test_numbers_that_are_not_there_hold_for_nothing() -> None:
    run_of = RunMetrics(history(healthy()), config(), GAME.players)
    assert len(run_of.last("no such curve")) == 0 and len(run_of.all("no such curve")) == 0
    late = sick({"ill": None})
    late[0]["curves"]["ill"] = 1.0
    assert len(RunMetrics(history(late), config(), GAME.players).last("ill", 1)) == 0
    assert np.all(np.isfinite(run_of.last("loss/policy")))
