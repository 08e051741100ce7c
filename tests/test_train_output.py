"""The output of a run: metrics without doubled steps, evaluations by the arena, commands at the end."""

import errno
import multiprocessing
import os
from pathlib import Path
from typing import Any

import pytest
from miniature import GAME, run, tiny
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from arena.players import make_player
from base.errors import UserError
from games.record import read_records
from monitor.history import History
from monitor.log import RunLog, compact
from selfplay.workers import play_games
from train import loop
from train.__main__ import parser
from train.start import forgotten_where_refused, start


def curve(folder: Path, name: str) -> list[tuple[int, float]]:
    events = EventAccumulator(str(folder), size_guidance={"scalars": 0})
    events.Reload()
    return [(event.step, event.value) for event in events.Scalars(name)]


def test_metrics_of_a_resumed_run_have_no_step_twice(tmp_path: Path) -> None:
    with RunLog(tmp_path, 0, quiet=True) as log:
        for games in (8, 16, 24):
            log.metrics(games, {"loss/policy": 1.0})
    with RunLog(tmp_path, 16, quiet=True) as log:  # killed before the state at 24 was saved
        for games in (24, 32):
            log.metrics(games, {"loss/policy": 2.0})
    wanted = [(8, 1.0), (16, 1.0), (24, 2.0), (32, 2.0)]
    assert sorted(curve(tmp_path / "tb", "loss/policy")) == wanted  # files of one second are read in any order
    assert list(zip(*History(tmp_path / "curves.jsonl").series("loss/policy"), strict=True)) == wanted


def test_net_is_a_player_by_the_name_of_its_run(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    run(Path("runs/first"), 8)
    player = make_player("net:first,sims=10", GAME)
    assert player.text.startswith("net:runs/first/checkpoints/00000008,sims=10")
    choice = player.choose(GAME.initial())
    assert choice.nodes == 10 and all(each.prior is not None for each in choice.actions)
    assert make_player(player.text, GAME).text == player.text
    policy = make_player("net:first,sims=0", GAME).choose(GAME.initial())
    assert policy.action == max(policy.actions, key=lambda each: each.prior or 0).action


def test_command_ends_with_further_commands_and_a_complete_run_is_reported(
    tmp_path: Path, monkeypatch: Any, capsys: Any
) -> None:
    from train.__main__ import parser

    monkeypatch.chdir(tmp_path)
    words = ["tic_tac_toe", "--games", "8", "--run", "first", "--workers", "0"]
    changes = [
        "games=8",
        "net=mlp:1x8",
        "selfplay.simulations=4",
        "learning.batch=8",
        "evaluation.every=0",
        "window.samples=1",
    ]
    options = parser().parse_args(words + [word for change in changes for word in ("--set", change)])
    assert start(options) == 0
    said = capsys.readouterr().out
    assert "8 games, loss" in said
    for word in ("python -m arena play", "python -m arena match", "tensorboard --logdir runs/first/tb", "00000008"):
        assert word in said
    assert curve(tmp_path / "runs/first/tb", "tic_tac_toe learning/steps")[0][0] == 8
    assert start(parser().parse_args(["tic_tac_toe", "--run", "first", "--workers", "0"])) == 0
    said = capsys.readouterr().out
    assert (
        "complete, 8 games are played and learned from; its 8 games are spent, and a larger budget resumes it" in said
    )


def test_lost_worker_is_one_line_and_loses_nothing(tmp_path: Path, monkeypatch: Any) -> None:
    def killing(setup: Any, network: Any, numbers: Any, workers: Any) -> Any:
        for i, played in enumerate(play_games(setup, network, numbers, workers)):
            yield played
            if i == 2:
                multiprocessing.active_children()[0].kill()

    words = ["tic_tac_toe", "--games", "16", "--run", str(tmp_path / "run"), "--workers", "1"]
    changes = [
        "games=16",
        "net=mlp:1x8",
        "selfplay.slots=2",
        "learning.batch=8",
        "evaluation.every=0",
        "window.samples=1",
    ]
    options = parser().parse_args(words + [word for change in changes for word in ("--set", change)])
    with monkeypatch.context() as patch:
        patch.setattr(loop, "play_games", killing)
        with pytest.raises(UserError, match=r"run: worker was killed by SIGKILL .*the same command resumes the run"):
            start(options)
    kept = [record.metadata["number"] for record in read_records(tmp_path / "run/games", GAME)]
    assert len(kept) >= 3
    options.workers = 0
    assert start(options) == 0
    assert sorted(record.metadata["number"] for record in read_records(tmp_path / "run/games", GAME)) == list(range(16))


def test_full_disk_names_the_run_and_how_to_resume(tmp_path: Path, monkeypatch: Any) -> None:
    def full(*_: Any) -> Any:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    options = parser().parse_args(["tic_tac_toe", "--run", str(tmp_path / "run"), "--set", "evaluation.every=0"])
    monkeypatch.setattr("train.start.train", full)
    with pytest.raises(
        UserError, match="run: No space left on device; nothing is lost, the same command resumes the run"
    ):
        start(options)


def test_changed_evaluation_is_a_changed_configuration() -> None:
    assert tiny("evaluation.games=3") != tiny()


def test_large_numbers_are_short() -> None:
    assert [compact(number) for number in (3.14159, 1234, 56789, 1.5e7)] == ["3.14", "1.23k", "56.8k", "15M"]


REFUSED = {
    "net=resnt:1x8": "unknown net 'resnt'",
    "net=mlp:1x8,foo=1": "mlp: unknown option 'foo'",
    "device=nosuch": "device: expected one that torch can use here",
    "selfplay.resign=2": "selfplay.resign: expected 0 to 1",
    'learning.auxiliary=["abc=3"]': "learning.auxiliary: expected NAME=WEIGHT",
    'evaluation.reference_players=["uct:simz=3","random"]': "uct: unknown option 'simz'",
    'evaluation.reference_players=["net:nosuch","random"]': "unknown checkpoint 'nosuch'",
}


@pytest.mark.parametrize("change", REFUSED)
def test_what_can_be_refused_is_refused_before_anything_slow_and_leaves_no_run(
    change: str, tmp_path: Path, monkeypatch: Any
) -> None:
    def slow(*_: Any) -> Any:
        raise AssertionError("something slow began")

    monkeypatch.chdir(tmp_path)
    for what in ("arena.ladder.scale.Scale.prepare", "train.evaluation.draw_positions", "train.start.train"):
        monkeypatch.setattr(what, slow)
    options = parser().parse_args(["tic_tac_toe", "--workers", "0", "--set", change])
    with pytest.raises(UserError, match=REFUSED[change]):
        start(options)
    assert not list(tmp_path.iterdir())


def test_a_new_run_that_is_refused_late_leaves_no_folder_but_one_with_games_stays(
    tmp_path: Path, monkeypatch: Any
) -> None:
    def refusing(run: Any, *_: Any) -> Any:
        raise UserError("too large")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("train.start.train", refusing)
    options = parser().parse_args(["tic_tac_toe", "--run", "first", "--workers", "0", "--set", "evaluation.every=0"])
    with pytest.raises(UserError, match="too large"):
        start(options)
    assert not (tmp_path / "runs" / "first").exists()
    folder = tmp_path / "runs" / "first"
    (folder / "games").mkdir(parents=True)
    with pytest.raises(UserError, match="too large"), forgotten_where_refused(folder, is_new=True):
        raise UserError("too large")
    assert (folder / "games").exists()
