"""Event files have the tags that the table of metrics has, in steps that never repeat, whatever killed the process."""

import importlib
import os
import re
import signal
from contextlib import chdir, suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import warm
from miniature import GAME, Quiet, moments, tiny
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.backend.event_processing.event_file_loader import EventFileLoader
from tensorboard.plugins.custom_scalar.layout_pb2 import Layout

from base.local_workers import opened as opened_workers
from monitor.dashboard import MOST, LineNumbers, layout, prefixed
from monitor.history import CALIBRATION, History, Rows
from monitor.log import RunLog
from monitor.media import MediaMaker, View, results_of
from monitor.metrics import CHARTS, PART, by_tag, documented, pattern
from monitor.pictures import calibration, pixels, results
from monitor.quality import FEWEST, Bin, drawable
from monitor.samples import samples
from monitor.tensorboard import COMPARED, Media, take_back
from train.budget import Budget
from train.evaluation import ArenaEvaluation
from train.loop import train
from train.run import opened
from train.start import about, compared
from train.state import newest

ELSEWHERE = {
    *(f"against/PLAYER utility{end}" for end in ("", " low", " high")),  # where more than two play
    *(f"supervised/{name}" for name in ("top-1", "top-1 before")),  # with recorded games
    *(f"supervised/value {name}" for name in ("loss", "sign", "brier", "spread")),
    *(f"accuracy/{name} hard" for name in ("search", "policy")),  # in games in which a shallow search errs
    *(f"exploitability/{name}" for name in ("utility", "payoff")),  # where information is hidden
    "about/warnings",  # where something is wrong
    "speed/batch fill",  # with networks that have no compiled form
    "loss/auxiliary NAME",  # with auxiliary targets
    *(f"cluster/{name}" for name in ("NODE games per second", "NODE idle", "duplicates", "leases expired", "workers")),
    "selfplay/target exponent",  # where there are games enough to say so
}
GAMES = 96
SETTINGS = (
    "games=48",
    "selfplay.full=0.6",
    "window.constant=4000",
    "window.most=4000",
    "window.samples=1",
    "selfplay.resign=0.02",
    "selfplay.played_out=0.5",
    "evaluation.every=1",
    "evaluation.games=4",
    "evaluation.reference_games=4",
    "evaluation.simulations=8",
    "evaluation.sample=10",
    'evaluation.reference_players=["random", "uct:sims=10"]',
)
ALL: dict[str, Any] = {"size_guidance": dict.fromkeys(["scalars", "images", "histograms", "tensors"], 0)}


def run(folder: Path, games: int) -> None:
    """As `python -m train` does it, with everything that it shows."""
    with chdir(folder.parent), opened(str(folder), tiny(*SETTINGS), Budget(games=games), str) as begun:
        found = newest(begun.states, str)
        with RunLog(folder, found[0].games if found else 0, quiet=True, game=GAME.name) as log:
            arena = ArenaEvaluation(begun.config.evaluation, 0)
            media = MediaMaker(GAME, begun.config.search, begun.config.evaluation.simulations)
            arena.prepare(GAME, log)
            log.introduce(about(begun, GAME), compared(begun, GAME))
            with opened_workers(0) as workers:
                train(begun, log, workers, arena, media)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole") / "run"
    run(folder, GAMES)
    return folder


def events(folder: Path) -> EventAccumulator:
    """Of the run's own folder of events."""
    return accumulated(folder / "tb")


def accumulated(folder: Path) -> EventAccumulator:
    found = EventAccumulator(str(folder), **ALL)
    found.Reload()
    return found


def lines(folder: Path) -> dict[str, tuple[str, list[Any]]]:
    """By metric, the folder that holds it, and its points."""
    found: dict[str, tuple[str, list[Any]]] = {}
    for place in (folder / "tb", *sorted(each for each in (folder / "tb").iterdir() if each.is_dir())):
        each = accumulated(place)
        for tag in each.Tags()["scalars"]:
            name = tag.removeprefix(f"{GAME.name} ")
            assert name not in found, "a metric is in one folder"
            found[name] = place.name, each.Scalars(tag)
    return found


def steps(folder: Path) -> dict[str, list[int]]:
    """Of every tag of every kind, in the order in which they are read."""
    found, tags = events(folder), events(folder).Tags()
    kinds = {"images": found.Images, "histograms": found.Histograms, "tensors": found.Tensors}
    return {name: [event.step for event in points] for name, (_, points) in lines(folder).items()} | {
        tag.removeprefix(f"{GAME.name} "): [event.step for event in read(tag)]
        for kind, read in kinds.items()
        for tag in tags[kind]
    }


def charted(found: EventAccumulator) -> Layout:
    last = found.Tensors("custom_scalars__config__")[-1]
    made = Layout()
    made.ParseFromString(last.tensor_proto.string_val[0])
    return made


def test_every_tag_of_the_table_is_written_and_every_tag_is_in_the_table(whole: Path) -> None:
    written = {tag.removesuffix("/text_summary") for tag in steps(whole)} - {"custom_scalars__config__"}
    tags = {tag for metric in documented() for tag in metric.tags}
    missing = {tag for tag in tags if not any(re.fullmatch(pattern(tag), each) for each in written)}
    assert ELSEWHERE - {"selfplay/target exponent"} <= missing <= ELSEWHERE
    unknown = {each for each in written if not any(re.fullmatch(pattern(tag), each) for tag in tags)}
    assert unknown == set()


def test_table_has_each_tag_once() -> None:
    tags = [tag for metric in documented() for tag in metric.tags]
    assert len(tags) == len(set(tags)) > 70


def test_page_of_tensorboard_holds_the_table() -> None:
    assert PART.path.read_text() == PART.page(), "python -m monitor.metrics --write"


@pytest.mark.parametrize("source", sorted({metric.source for metric in documented()}))
def test_source_of_a_metric_exists(source: str) -> None:
    names = source.split(".")
    for length in range(len(names) - 1, 0, -1):
        with suppress(ModuleNotFoundError):
            found: Any = importlib.import_module(".".join(names[:length]))
            for name in names[length:]:
                found = getattr(found, name)
            return
    raise AssertionError(source)


def test_charts_draw_metrics_of_the_table_beside_their_own() -> None:
    assert {tag for chart in CHARTS for tag in chart.beside} <= set(by_tag())


def test_calibration_is_stored_with_each_iteration_and_counts_each_position_once(whole: Path) -> None:
    rows = Rows(whole / CALIBRATION).rows
    assert [row["games"] for row in rows] == [48, 96]
    assert set(rows[0]["calibration"]) == {"value", "search"} and set(rows[1]["calibration"]) > {"EVAL"}
    for row in rows:
        counts = {name: sum(each[0] for each in bins) for name, bins in row["calibration"].items()}
        assert len(set(counts.values())) == 1 and 0 < counts["value"] <= 2048


def test_scalars_are_those_of_the_history(whole: Path) -> None:
    found, history = lines(whole), History(whole / "curves.jsonl")
    assert set(found) == set(history.names())
    for name in history.names():
        games, values = history.series(name)
        assert [event.step for event in found[name][1]] == games
        np.testing.assert_allclose([event.value for event in found[name][1]], values, rtol=1e-6)


def check_layout(folder: Path) -> None:
    """It names only tags that exist, every one of them; those of a chart of lines are in different folders, so in different colours;
    those of a band in one."""
    found = events(folder)
    where = {f"{GAME.name} {name}": place for name, (place, _) in lines(folder).items()}
    categories = charted(found).category
    assert [category.title.removeprefix(f"{GAME.name}: ")[0] for category in categories] == ["1", "1", "2", "3", "4"]
    shown = set()
    for chart in (chart for category in categories for chart in category.chart):
        band = [tag for s in chart.margin.series for tag in (s.value, s.lower, s.upper)]
        assert {where[tag] for tag in band} <= {"tb"}
        tags = []
        for each in chart.multiline.tag:
            matches = [name for name in where if re.match(each, name)]
            assert len(matches) == 1, each
            tags += matches
        assert len({where[tag] for tag in tags}) == len(tags) <= MOST, chart.title
        shown |= {*band, *tags}
    assert set(where) == shown


def test_numbers_of_lines_depend_on_the_order_of_the_tags_alone() -> None:
    tags = [
        "against/b Elo",
        "against/a wins",
        "against/c Elo",
        "against/a losses",
        "against/a Elo",
        "loss/entropy",
        "elo/search",
    ]
    first, again = LineNumbers(), LineNumbers()
    numbers = {tag: first.of(tag) for tag in tags}
    assert {tag: again.of(tag) for tag in tags} == numbers == {tag: first.of(tag) for tag in reversed(tags)}
    assert [numbers[tag] for tag in tags] == [1, 0, 2, 1, 3, 1, 0]  # elo/search, beside the Elo of others, has 0
    many = [f"against/{number} Elo" for number in range(9)]
    charts = layout([*many, "elo/search"], numbers=first)["1. … against which players, and how accurate is it?"]
    for _, found in charts.values():
        assert len({first.of(re.sub(r"[\\\\^$]", "", str(tag))) for tag in found}) == len(found) <= MOST  # type: ignore[arg-type]
    assert len(charts) == 2


def test_tags_of_different_games_are_different_and_are_no_folders_of_a_path() -> None:
    tags = {prefixed(game, "elo/search") for game in ("nim:most=7", "nim:most=9", "./nim.py", "")}
    assert tags == {"nim:most=7 elo/search", "nim:most=9 elo/search", "._nim.py elo/search", "elo/search"}


def test_settings_of_a_run_are_on_the_page_of_hyperparameters(whole: Path) -> None:
    from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData

    found: dict[str, Any] = {}
    for path in (whole / "tb").glob("events*"):
        for event in EventFileLoader(str(path)).Load():
            for value in event.summary.value:
                if value.metadata.plugin_data.plugin_name == "hparams":
                    made = HParamsPluginData()
                    made.ParseFromString(value.metadata.plugin_data.content)
                    found[value.tag] = made
    settings = found["_hparams_/session_start_info"].session_start_info.hparams
    assert settings["game"].string_value == GAME.spec and settings["games"].number_value == 48
    assert settings["selfplay.resign"].number_value == 0.02
    assert not {"selfplay.openings", "evaluation.every"} & set(settings), (
        "a default, and what changes nothing of what is learned"
    )
    metrics = {info.name.tag for info in found["_hparams_/experiment"].experiment.metric_infos}
    assert metrics == {f"{GAME.name} {tag}" for tag in COMPARED}
    assert metrics <= set(events(whole).Tags()["scalars"]), "the page looks for them in the run's own folder"


def test_results_are_drawn_where_a_player_was_met_twice() -> None:
    history = History(Path("nowhere"))
    for games, wins in ((8, 0.25), (16, 1.0)):
        values = {
            f"against/uct:sims=10 {word}": share
            for word, share in zip(("wins", "draws", "losses"), (wins, 0, 1 - wins), strict=True)
        }
        history.rows.append({"games": games, "curves": values | ({"against/random wins": 1.0} if games == 8 else {})})
    [found] = results_of(history)
    assert (found.player, found.games, found.shares) == ("uct:sims=10", [8, 16], [(0.25, 0, 0.75), (1.0, 0, 0.0)])
    picture = pixels(results([found])).astype(int)
    lost = ((picture[..., 0] - picture[..., 2]) > 150).sum()
    won = ((picture[..., 2] - picture[..., 0]) > 100).sum()
    assert won > 1.3 * lost > 1000


def test_calibration_leaves_out_points_of_few_positions() -> None:
    few, enough = Bin(FEWEST - 1, -0.5, 1.0, 0.1), Bin(FEWEST, 0.5, 0.4, 0.1)
    assert drawable({"value": [few, enough], "search": [few]}) == {"value": [enough]}
    axes = calibration({"value": [few, enough], "search": [few]}).axes[0]
    assert [list(line.get_xdata()) for line in axes.get_lines()[1::3]] == [[0.5], []]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["as expected", "value", "search"]


def test_hours_left_fall_to_none_as_hours_rise(whole: Path) -> None:
    history = History(whole / "curves.jsonl")
    left, spent = history.series("time/hours left")[1], history.series("time/hours")[1]
    assert left[-1] == 0 < left[0] and list(spent) == sorted(spent) and spent[0] > 0


def test_lines_of_a_chart_have_different_colours_and_the_layout_names_only_tags_that_exist(whole: Path) -> None:
    check_layout(whole)


def test_charts_without_metrics_are_left_out() -> None:
    assert layout([]) == {}
    assert layout(["loss/value"]) == {
        "2. Is it learning?": {"Loss of the value, and all losses": ["Multiline", ["^loss/value$"]]}
    }
    assert layout(["loss/value"], "nim:most=7") == {
        "nim:most=7: 2. Is it learning?": {
            "Loss of the value, and all losses": ["Multiline", ["^nim:most=7\\ loss/value$"]]
        }
    }
    assert layout(["elo/search", "elo/search low"]) == {}  # no band without both ends


@pytest.fixture(scope="module")
def forks() -> Any:
    """Processes that begin with everything imported and compiled."""
    return warm()


def test_killed_and_resumed_there_is_no_step_twice_and_none_missing(whole: Path, tmp_path: Path, forks: Any) -> None:
    folder, kills = tmp_path / "run", 0
    for moment in moments(40, 3.0):
        process = forks.Process(target=run, args=(folder, GAMES))
        process.start()
        process.join(0.4 + moment)
        if process.is_alive() and kills < 2:
            os.kill(process.pid, signal.SIGKILL)
            kills += 1
        process.join()
        if process.exitcode == 0:
            break
    assert process.exitcode == 0 and kills >= 1
    expected, found = steps(whole), steps(folder)
    for tag, came in found.items():
        assert all(a < b for a, b in pairwise(came)), (tag, came)
    for tag in expected:  # whom the arena lets a checkpoint meet depends on the games already played
        if not tag.startswith(("about/co", "against/", "custom", "gradients", "speed/")):
            assert found[tag] == expected[tag], tag
    check_layout(folder)


def test_resuming_writes_again_what_the_history_has_of_that_point(tmp_path: Path) -> None:
    with RunLog(tmp_path, 0, quiet=True) as log:
        log.metrics(8, {"loss/policy": 1.0})
        log.metrics(8, {"elo/search": 5.0})
        log.show(8, Media(texts={"about/game": "first"}))
        log.metrics(16, {"loss/policy": 0.5})
    for _ in range(2):
        with RunLog(tmp_path, 8, quiet=True) as log:
            log.show(8, Media(texts={"about/game": "again"}))
    found = events(tmp_path)
    assert [(each.step, each.value) for each in found.Scalars("loss/policy")] == [(8, 1.0)]
    assert [(each.step, each.value) for each in found.Scalars("elo/search")] == [(8, 5.0)]
    game = found.Tensors("about/game/text_summary")
    assert [(each.step, each.tensor_proto.string_val[0]) for each in game] == [(8, b"again")]


def test_torn_event_is_removed(tmp_path: Path) -> None:
    with RunLog(tmp_path, 0, quiet=True) as log:
        log.metrics(8, {"loss/policy": 1.0})
        log.metrics(16, {"loss/policy": 0.5})
    [path] = (tmp_path / "tb").iterdir()
    whole = path.read_bytes()
    for cut in (1, 5, 20):
        path.write_bytes(whole[:-cut])
        take_back(tmp_path / "tb", 17)
        assert whole.startswith(path.read_bytes()) and len(path.read_bytes()) < len(whole) - cut
        assert [each.value for each in events(tmp_path).Scalars("loss/policy")] == [1.0]


def test_what_follows_a_damaged_event_is_removed_and_the_values_are_those_of_the_history(tmp_path: Path) -> None:
    with RunLog(tmp_path, 0, quiet=True) as log:
        for games in (8, 16):
            log.metrics(games, {"loss/policy": games})
    (path,) = (tmp_path / "tb").glob("events*")
    whole = path.read_bytes()
    at = whole.index(b"loss/policy") - 1  # the length of the first event's tag, which is now longer than the event
    path.write_bytes(whole[:at] + b"\x7f" + whole[at + 1 :])
    with RunLog(tmp_path, 16, quiet=True) as log:
        log.metrics(24, {"loss/policy": 24})
    assert [each.value for each in events(tmp_path).Scalars("loss/policy")] == [16.0, 24.0]


def test_numbers_that_are_none_stay_out_of_histograms(tmp_path: Path) -> None:
    with RunLog(tmp_path, 0, quiet=True) as log:
        log.show(8, Media(histograms={"a": np.array([1.0, np.nan, 2.0]), "b": np.array([np.nan])}))
    found = events(tmp_path)
    assert found.Tags()["histograms"] == ["a"]
    assert found.Histograms("a")[0].histogram_value.num == 2


class Broken(MediaMaker):
    def media(self, view: View, calibration: Any, history: History) -> Media:
        raise ValueError("no pencil")


def test_failure_to_draw_is_one_line_and_does_not_end_the_run(tmp_path: Path) -> None:
    said: list[str] = []
    with (
        opened(str(tmp_path / "run"), tiny("evaluation.every=1"), Budget(games=16), str) as begun,
        Quiet(begun, said) as log,
    ):
        media = Broken(GAME, begun.config.search, 8)
        with opened_workers(0) as workers:
            assert train(begun, log, workers, None, media).games == 16
    assert [line for line in said if line.startswith("no pictures")] == [
        f"no pictures after {games} games: ValueError: no pencil" for games in (8, 16)
    ]


def test_sample_positions_are_always_the_same() -> None:
    first, again = samples(GAME, 4), samples(GAME, 4)
    assert [GAME.text(state) for state in first] == [GAME.text(state) for state in again]
    assert len({GAME.text(state) for state in first}) == 4 and GAME.text(first[0]) == GAME.text(GAME.initial())
