"""`python -m train report`: one page that needs nothing else, whose numbers are those of the history, for any run that has metrics."""

import json
import re
import shlex
import shutil
from collections.abc import Iterator
from dataclasses import asdict
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from miniature import GAME, TINY, run, tiny

from base.errors import UserError, run_command
from base.files import write_json, write_text
from classical.eval import Eval, default_eval
from games import load
from monitor.history import CalibrationRows, History, Rows
from monitor.quality import FEWEST
from monitor.report.charts import APART, MOST, Curve, shares, shortened, spread, thinned, ticks
from monitor.report.page import NAMED
from train.__main__ import main
from train.__main__ import parser as parser_of_runs
from train.budget import Budget
from train.config import Config, compose, to_toml
from train.evaluation import Evaluation
from train.recorded import with_games
from train.run import opened
from train.run_reader import find

ANCHORS = ["strength", "learning", "health", "speed", "eval", "game", "configuration", "again"]
VOID = {"meta", "br", "hr", "img", "link", "input"}


class Page(HTMLParser):
    """Elements must nest; whatever could load something is kept."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[str] = []
        self.sections: list[str] = []
        self.references: list[str] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == [], "elements that are not closed"

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)
        found = dict(attrs)
        self.references += [value for name, value in attrs if name in ("href", "src", "srcset", "action", "data")]
        if tag == "section":
            self.sections.append(found["id"])
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)
        self.references += [value for name, value in attrs if name in ("href", "src", "srcset", "xlink:href")]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def report(folder: Path, out: Path) -> Page:
    assert main(["report", str(folder), "--out", str(out)]) == 0
    return Page(out.read_text(encoding="utf-8"))


def begun(folder: Path, config: Config = TINY, budget: Budget | None = None) -> History:
    """A run's folder with a configuration, and no metrics yet."""
    folder.mkdir(parents=True)
    write_text(folder / "config.toml", to_toml(config))
    write_json(folder / "budget.json", asdict(budget or Budget(games=64)))
    return History(folder / "curves.jsonl")


def elo(at: float, half: float) -> dict[str, float]:
    found = {"elo/search": at, "elo/search low": at - half, "elo/search high": at + half}
    return found | {"against/random wins": 0.75, "against/random draws": 0.2, "against/random losses": 0.05}


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A real run, small, without evaluations."""
    folder = tmp_path_factory.mktemp("report") / "first"
    run(folder, 24)
    return folder


@pytest.fixture
def copied(trained: Path, tmp_path: Path) -> Path:
    shutil.copytree(trained, tmp_path / "first")
    return tmp_path / "first"


def state_of(folder: Path) -> dict[str, tuple[int, bytes]]:
    return {
        str(path): (path.stat().st_mtime_ns, path.read_bytes() if path.is_file() else b"") for path in folder.rglob("*")
    }


# ── the page ──


def test_page_has_every_section_in_its_order_and_asks_for_nothing_outside(trained: Path, tmp_path: Path) -> None:
    page = report(trained, tmp_path / "page.html")
    assert page.sections == ANCHORS
    assert [each for each in page.references if not each.startswith(("#", "data:"))] == []
    assert {each[1:] for each in page.references} == set(ANCHORS)
    assert not {"script", "link", "img", "iframe", "object"} & set(page.tags)
    source = (tmp_path / "page.html").read_text()
    assert not re.search(r"url\(|@import|https?:|//[a-z]", source)
    assert "tic_tac_toe" in page.text and "24 games of self-play" in page.text
    assert "Its strength was not measured" in page.text
    assert page.tags.count("svg") >= 6


def test_without_a_word_the_page_lies_in_the_run(copied: Path, monkeypatch: Any, capsys: Any) -> None:
    shutil.copytree(copied, copied.parent / "runs/first")
    monkeypatch.chdir(copied.parent)
    assert main(["report", "first"]) == 0
    assert capsys.readouterr().out.endswith("runs/first/report.html\n")
    assert Page(Path("runs/first/report.html").read_text()).sections == ANCHORS


def test_numbers_on_the_page_are_those_of_the_history(trained: Path, tmp_path: Path) -> None:
    source = report(trained, tmp_path / "page.html").text
    history = History(trained / "curves.jsonl")
    for name, label in (("loss/policy", "policy"), ("fresh/top-1", "agreement"), ("selfplay/length", "mean")):
        points = list(zip(*history.series(name), strict=True))
        assert len(points) == 3
        for games, value in points:
            told = f"{100 * value:.3g}%" if name == "fresh/top-1" else f"{value:.3g}"
            assert f"{label} after {games} games: {told}" in source
    found = find(str(trained))
    assert "Game 16 of self-play, from iteration 3" in source and found.records[0].move_names(GAME) in source


def test_conclusions_follow_from_the_metrics(tmp_path: Path) -> None:
    history = begun(tmp_path / "run", tiny("evaluation.every=1"))
    history.add(8, {"loss/policy": 2.0, "loss/entropy": 1.5, "fresh/top-1": 0.25, "fresh/value sign": 0.5})
    history.add(8, elo(100, 40))
    history.add(16, {"loss/policy": 1.6, "loss/entropy": 1.4, "fresh/top-1": 0.5, "fresh/value sign": 0.75})
    history.add(16, elo(300, 50) | {"fresh/eval sign": 0.625})
    text = report(tmp_path / "run", tmp_path / "page.html").text
    assert "After 16 games it stands at Elo +300 [+250, +350] with 100 simulations a move" in text
    assert "it has gained 200 since 8 games, more than the error" in text
    assert "The policy's loss is 0.20 nats above the entropy of its targets (at first 0.50)" in text
    assert (
        "in 50% of new positions (at first 25%)" in text
        and "in 75% of them (at first 50%), the linear EVAL has 62%" in text
    )
    assert "No linear EVAL was fitted" in text
    history.add(24, elo(310, 50))
    history.add(32, elo(90, 50))
    assert "the change since 16 games, -210" not in report(tmp_path / "run", tmp_path / "page.html").text
    assert "it has lost 210 since 16 games" in report(tmp_path / "run", tmp_path / "page.html").text
    history.add(40, elo(120, 50))
    history.add(48, elo(320, 50))
    assert (
        "the change since 24 games, +10, is within the error" in report(tmp_path / "run", tmp_path / "page.html").text
    )


def test_reference_players_stand_where_the_evaluation_found_them(tmp_path: Path) -> None:
    begun(tmp_path / "run", tiny("evaluation.every=1")).add(8, elo(150, 50))
    rungs = [
        {"player": "random:seed=0", "elo": 0.0, "games": 10, "score": 0.9},
        {"player": "uct:sims=30", "elo": 400.0, "games": 20, "score": 0.25},
    ]
    search = {"elo": 150.0, "elo_interval": [100.0, 200.0], "games": 30, "score": 0.5, "rungs": rungs}
    evaluation = Evaluation("", {}, {"search": search}, (150.0, 100.0, 200.0))
    write_json(tmp_path / "run/eval/00000008.arena.json", asdict(evaluation))
    text = report(tmp_path / "run", tmp_path / "page.html").text
    assert "above random (0) and below uct:sims=30 (+400); it was measured once, so there is no trend yet." in text
    assert "uct:sims=30 +400 20 25%" in text and "this run, 100 simulations +150 [+100, +200] 30 50%" in text
    assert text.index("uct:sims=30 +400 20") < text.index("this run, 100") < text.index("random 0 10 90%")


def test_warnings_are_shown_with_their_advice_and_counted(copied: Path, tmp_path: Path) -> None:
    assert "No warning was raised" in report(copied, tmp_path / "page.html").text
    journal = Rows(copied / "warnings.jsonl")
    for games in (8, 24):
        journal.add(
            games,
            {"name": "alike", "seen": f"{games}% repeat", "causes": ["no noise", "luck"], "advice": ["noise=0.25"]},
        )
        journal.add(games + 8, {"gone": "alike"})
    text = report(copied, tmp_path / "page.html").text
    assert "There were warnings, now gone: alike;" in text and "0 warnings stand" in text
    assert (
        "alike 8 to 16 games, 24 to 32 games Seen 24% repeat Likely causes no noise; luck What to try noise=0.25"
        in text
    )
    journal.add(40, {"name": "value collapse", "seen": "0.01", "causes": [], "advice": ["rest"]})
    text = report(copied, tmp_path / "page.html").text
    assert "There are warnings: value collapse;" in text and "1 warning stands" in text
    assert "value collapse since 40 games Seen 0.01 What to try rest" in text


def test_weights_of_eval_stand_beside_their_errors_and_those_set_by_hand(copied: Path, tmp_path: Path) -> None:
    hand = default_eval(GAME)
    names = list(hand.weights)
    fitted = {name: hand.weights[name] + 0.125 * (i + 1) for i, name in enumerate(names)}
    errors = dict.fromkeys(names, 0.01)
    Eval(hand.game, hand.version, fitted, hand.unit, "of 9 games", errors, 9).save(copied / "eval/00000024.eval.json")
    text = report(copied, tmp_path / "page.html").text
    assert f"Fitted to 9 games, {len(names)} of {len(names)} weights are more than two standard errors from 0" in text
    for name in names:
        assert f"{name} {fitted[name]:.3f} 0.010 {hand.weights[name]:.3f}" in text


def test_calibration_on_the_page_is_the_one_that_the_run_measured(copied: Path, tmp_path: Path) -> None:
    rows = Rows(copied / "calibration.jsonl").rows
    assert [row["games"] for row in rows] == [8, 16, 24] and "EVAL" not in rows[0]["calibration"]
    found = find(str(copied)).calibration
    assert {name: [list(each) for each in bins] for name, bins in found.items()} == rows[-1]["calibration"]
    assert list(found) == ["value", "search", "EVAL"]
    assert "Do games end as expected?" not in report(copied, tmp_path / "page.html").text, "bins of a few positions"
    enough = {name: [[FEWEST, -0.5, -0.4, 0.1], [FEWEST - 1, 0.5, 0.4, 0.1]] for name in found}
    CalibrationRows(copied / "calibration.jsonl").add(24, {"calibration": enough})
    page = report(copied, tmp_path / "page.html").text
    assert "Do games end as expected?" in page
    assert re.findall(r"EVAL: (\d+) positions, expected (\S+),", page) == [(str(FEWEST), "-0.50")]
    (copied / "calibration.jsonl").unlink()
    assert "Do games end as expected?" not in report(copied, tmp_path / "page.html").text


def test_what_others_have_written_is_text_and_not_markup(copied: Path, tmp_path: Path) -> None:
    evil = "<script>alert('x')</script><img src=x onerror=y>"
    Rows(copied / "warnings.jsonl").add(8, {"name": evil, "seen": evil, "causes": [evil], "advice": evil})
    History(copied / "curves.jsonl").add(24, {f"against/{evil} {word}": 0.5 for word in ("wins", "losses", "utility")})
    folder = copied.rename(tmp_path / "<b>&amp;")
    page = report(folder, tmp_path / "page.html")
    assert not {"script", "img", "b>&amp;"} & set(page.tags) and page.references
    assert page.text.count("<script>") >= 4 and "<b>&amp;: tic_tac_toe" in page.text


# ── every kind of run ──


def test_run_under_way_is_read_and_neither_locked_nor_touched(copied: Path, tmp_path: Path) -> None:
    with opened(str(copied), TINY, None, print):
        for torn in ("curves.jsonl", "games/000002.log"):
            (copied / torn).write_bytes((copied / torn).read_bytes()[:-7])
        before = state_of(copied)
        page = report(copied, tmp_path / "page.html")
        assert state_of(copied) == before
    assert page.sections == ANCHORS and "16 games of self-play" in page.text


def test_run_of_one_iteration_has_a_page(tmp_path: Path) -> None:
    run(tmp_path / "one", 8)
    page = report(tmp_path / "one", tmp_path / "page.html")
    assert page.sections == ANCHORS and "at first" not in page.text
    assert "What does a game look like? Game 0 of self-play, from iteration 1" in page.text


def test_run_before_its_first_evaluation_says_when_it_comes(tmp_path: Path) -> None:
    begun(tmp_path / "run", tiny("evaluation.every=10")).add(8, {"loss/policy": 1.0, "loss/entropy": 0.5})
    text = report(tmp_path / "run", tmp_path / "page.html").text
    assert "has not been measured yet: the next evaluation is due after 80 games" in text


def test_the_policy_s_accuracy_leads_where_elo_shows_no_gain_beyond_its_error(tmp_path: Path) -> None:
    for name, gain in (("level", 20.0), ("rising", 500.0)):
        log = begun(tmp_path / name, tiny("evaluation.every=1"))
        for games, elo, kept in ((0, 900.0, 0.5), (16, 900.0 + gain, 0.75)):
            interval = {"elo/search": elo, "elo/search low": elo - 90, "elo/search high": elo + 90}
            log.add(games, interval | {"accuracy/policy": kept, "accuracy/search": 1.0})
        text = report(tmp_path / name, tmp_path / f"{name}.html").text
        accuracy, elo_words = (
            "The policy alone keeps the value in 75% of the solved positions (50% after 0 games)",
            "it stands at Elo",
        )
        assert accuracy in text and (text.index(accuracy) < text.index(elo_words)) == (name == "level")


def test_a_chart_of_one_point_says_so(tmp_path: Path) -> None:
    log = begun(tmp_path / "run", tiny())
    log.add(8, {"elo/search": 12.0})
    assert "One point: measured once, after 8 games." in report(tmp_path / "run", tmp_path / "page.html").text
    log.add(16, {"elo/search": 13.0})
    assert "One point" not in report(tmp_path / "run", tmp_path / "page.html").text


def test_three_players_are_measured_by_utilities(tmp_path: Path) -> None:
    game = load("dots_and_boxes:rows=2,cols=2,players=3")
    history = begun(tmp_path / "run", compose(game, None, ["evaluation.every=1"]))
    for games in (8, 16):
        outcomes = {f"selfplay/wins of player {player}": 0.3 for player in range(3)} | {"selfplay/draws": 0.1}
        rungs = {"against/random utility": 0.5, "against/random utility low": 0.4, "against/random utility high": 0.6}
        ends = {"against/uct:sims=30 utility low": -0.5, "against/uct:sims=30 utility high": 0.0}
        history.add(games, outcomes | rungs | ends | {"against/uct:sims=30 utility": -0.25})
    tally = {
        "games": 12,
        "wins": 7,
        "draws": 2,
        "losses": 3,
        "utility": [0.5, -0.25],
        "utility_interval": [[0.4, 0.6], [-0.3, -0.2]],
    }
    write_json(tmp_path / "run/eval/00000016.arena.json", asdict(Evaluation("", {}, {"random": tally})))
    text = report(tmp_path / "run", tmp_path / "page.html").text
    assert (
        "mean utility against uct:sims=30, the hardest of 2 reference players, is -0.25 [-0.50, +0.00]: below the 0 of an equal player"
        in text
    )
    assert "random 12 7 / 2 / 3 +0.50 [+0.40, +0.60]" in text and "16 games: player 2 30.0%" in text
    assert "player 0 wins 30%, player 1 wins 30%, player 2 wins 30%, 10% are drawn" in text


def test_run_whose_rules_are_gone_has_a_page_that_says_so(tmp_path: Path) -> None:
    rules = tmp_path / "nim.py"
    shutil.copy(Path(__file__).parent.parent / "games/nim.py", rules)
    config = compose(load(str(rules)), None, [])
    begun(tmp_path / "run", config).add(8, {"loss/policy": 1.0})
    rules.unlink()
    text = report(tmp_path / "run", tmp_path / "page.html").text
    assert "No game can be shown" in text and "Left out, since it could not be read" in text and "nim.py" in text


def test_damaged_parts_are_left_out_and_named(copied: Path, tmp_path: Path) -> None:
    write_text(copied / "eval/00000024.arena.json", "{")
    write_text(copied / "eval/00000024.eval.json", '{"weights": 1}')
    for path in copied.glob("state/*/state.json"):
        write_text(path, "[]")
    text = report(copied, tmp_path / "page.html").text
    assert "00000024.arena.json" in text and "00000024.eval.json" in text and "games took" not in text


def test_much_that_is_damaged_is_not_all_named(copied: Path, tmp_path: Path) -> None:
    for games in range(1, 24):
        write_text(copied / f"eval/{games:08}.arena.json", "{")
    text = report(copied, tmp_path / "page.html").text
    assert text.count("could not be read") == NAMED and f"and {23 - NAMED} things more" in text


def test_runs_without_metrics_are_refused_in_one_line(copied: Path, tmp_path: Path) -> None:
    begun(tmp_path / "begun")
    with pytest.raises(UserError, match=r"begun: expected a run with curves\.jsonl, .*first iteration is not finished"):
        main(["report", str(tmp_path / "begun")])
    (copied / "curves.jsonl").unlink()
    with pytest.raises(UserError, match=r"first: expected a run with curves\.jsonl, .*older version"):
        main(["report", str(copied)])
    assert not (copied / "report.html").exists()


def test_unknown_run_is_one_line_with_the_nearest_name_and_exit_code_2(
    tmp_path: Path, monkeypatch: Any, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=r"unknown run 'frist': .*there is none yet"):
        main(["report", "frist"])
    begun(tmp_path / "runs/first")
    begun(tmp_path / "runs/othello")
    with pytest.raises(SystemExit) as left:
        run_command(main, ["report", "frist"])
    said = capsys.readouterr().err
    assert left.value.code == 2 and said.count("\n") == 1
    assert "there are first, othello; did you mean 'first'?" in said


# ── the command that makes it again ──


def test_command_makes_the_same_configuration(tmp_path: Path) -> None:
    config = compose(
        GAME,
        None,
        ["net=mlp:2x32", "search.c_init=1.5", 'evaluation.reference_players=["random", "uct:sims=7"]', "seed=5"],
    )
    begun(tmp_path / "run", config, Budget(games=4096)).add(8, {"loss/policy": 1.0})
    words = shlex.split(find(str(tmp_path / "run")).command)
    assert words[:3] == ["python", "-m", "train"]
    options = parser_of_runs().parse_args(words[3:])
    assert compose(load(options.game), options.config, options.set) == config
    assert options.games == 4096 and options.run == "run-again"
    text = report(tmp_path / "run", tmp_path / "page.html").text
    assert (
        "4 settings are not the default" in text
        and 'net "mlp:2x32" "mlp:3x128"' in text
        and "search.c_init 1.5 1.25" in text
    )


def test_command_names_the_recorded_games_that_the_run_began_with(tmp_path: Path) -> None:
    write_text(tmp_path / "games.txt", "a1 b1 a2 b2 a3\n")
    config = with_games(TINY, [str(tmp_path / "games.txt")], GAME)
    history = begun(tmp_path / "run", config)
    history.add(0, {"supervised/top-1": 0.375, "supervised/top-1 before": 0.125})
    words = shlex.split(find(str(tmp_path / "run")).command)
    options = parser_of_runs().parse_args(words[3:])
    composed = compose(load(options.game), options.config, options.set)
    assert with_games(composed, options.from_games, GAME) == config
    text = report(tmp_path / "run", tmp_path / "page.html").text
    assert "After learning from recorded games it predicted the move in 38% of those held back, 12% before." in text


# ── drawings ──


@given(st.lists(st.floats(0, 240), min_size=1, max_size=12))
def test_names_lie_apart_in_the_order_of_what_they_name(places: list[float]) -> None:
    found = spread(places, 0, 240)
    order = sorted(range(len(places)), key=lambda i: places[i])
    gaps = [found[b] - found[a] for a, b in pairwise(order)]
    assert all(gap >= APART - 1e-6 for gap in gaps)
    assert min(found) >= -1e-6 and max(found) <= 240 + 1e-6
    if all(places[b] - places[a] >= APART for a, b in pairwise(order)):
        assert found == pytest.approx(places)


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6), st.integers(2, 8))
def test_ticks_are_round_and_inside(low: float, size: float, wanted: int) -> None:
    found = ticks(low, low + size, wanted)
    assert 1 <= len(found) <= 2.5 * wanted + 2
    assert all(low - 1e-6 * size <= tick <= low + size * (1 + 1e-6) for tick in found)


@given(st.integers(1, 2000))
def test_thinned_curve_keeps_its_ends_and_its_mean(n: int) -> None:
    curve = Curve("x", range(n), [float(i % 7) for i in range(n)], low=[0.0] * n, high=[9.0] * n)
    found = thinned(curve)
    assert len(found.games) == len(found.values) == len(found.low) == len(found.high) <= MOST
    assert found.games[-1] == n - 1 and found.values[-1] == curve.values[-1]
    assert list(found.games) == sorted(set(found.games)) and min(found.values) >= 0 and max(found.values) <= 6


@given(st.sampled_from(["alphabeta:depth=4", "uct:sims=1000", "a name without a colon"]), st.integers(4, 30))
def test_shortened_names_fit_and_keep_their_end(name: str, room: int) -> None:
    found = shortened(name, room)
    assert len(found) <= room and found[-3:] == name[-3:] and (found == name or "…" in found)


def columns(svg: str) -> Iterator[float]:
    """The height of each column, its parts together."""
    heights: dict[str, float] = {}
    for x, height in re.findall(r'<rect[^>]* x="([\d.]+)"[^>]* height="([\d.]+)"', svg):
        heights[x] = heights.get(x, 0.0) + float(height)
    yield from heights.values()


def test_parts_of_a_whole_fill_their_column() -> None:
    parts = {"wins": [0.5, 0.25, 1.0], "draws": [0.25, 0.25, 0.0], "losses": [0.25, 0.5, 0.0]}
    found = list(columns(shares([8, 16, 24], parts)))
    assert len(found) == 3 and max(found) - min(found) < 0.3 and min(found) > 100


def test_long_run_stays_a_small_page(copied: Path, tmp_path: Path) -> None:
    history = History(copied / "curves.jsonl")
    names = history.names() + [f"against/rung {k} {word}" for k in range(8) for word in ("wins", "draws", "losses")]
    rows = [{"games": 24 + 8 * k, "curves": dict.fromkeys(names, 0.1 + k / 10000.0)} for k in range(1, 2000)]
    write_text(copied / "curves.jsonl", "".join(f"{json.dumps(row)}\n" for row in rows))
    out = tmp_path / "page.html"
    assert report(copied, out).sections == ANCHORS
    assert out.stat().st_size < 1_500_000
