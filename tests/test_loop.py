"""The whole loop in miniature: it learns, it is killed and resumes to the same bits, and damage costs no more than it has to."""

import math
import os
import re
import shlex
import shutil
import signal
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import miniature
import numpy as np
import pytest
from commands import warm
from miniature import GAME, TINY, moments, run, tiny, weights

from base.errors import UserError
from base.framed_log import LogWriter
from base.workers import InProcess
from checkpoints import all_of, load, verify
from games.record import read_records
from monitor.log import Lines, RunLog
from selfplay.workers import play_games
from train import loop
from train.__main__ import parser
from train.budget import Budget
from train.config import compose
from train.evaluation import Evaluation
from train.learner import Learner
from train.run import opened
from train.state import newest

GAMES = 32  # four iterations


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that nothing interrupted."""
    folder = tmp_path_factory.mktemp("whole") / "run"
    run(folder, GAMES)
    return folder


@pytest.fixture(scope="module")
def forks() -> Any:
    """Processes that begin with everything imported and compiled."""
    return warm()


def games_on_disk(folder: Path) -> dict[int, bytes]:
    return {record.metadata["number"]: record.to_bytes() for record in read_records(folder / "games", GAME)}


def assert_same(folder: Path, other: Path) -> None:
    assert weights(folder) == weights(other)
    assert games_on_disk(folder) == games_on_disk(other)


# ── it runs ──


def test_loop_plays_learns_and_saves_checkpoints(whole: Path) -> None:
    records = games_on_disk(whole)
    assert sorted(records) == list(range(GAMES))
    _, card = load(all_of(whole)[-1], GAME)
    assert (card.games, card.step, card.game) == (GAMES, GAMES, "tic_tac_toe")
    assert card.configuration["selfplay"]["simulations"] == 6
    assert [int(path.name) for path in all_of(whole)] == [0, 16, 24, 32]  # of every second iteration, and the newest
    assert len({verify(path).weights for path in all_of(whole)}) == 4
    assert [path.name for path in sorted((whole / "state").iterdir())] == ["000003", "000004"]


def test_old_checkpoints_go_but_every_so_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("train.loop.RECENT", 1)
    run(tmp_path / "run", GAMES)
    assert [int(path.name) for path in all_of(tmp_path / "run")] == [0, 16, 32]  # of every second iteration


def test_command_on_a_card_makes_the_same_configuration_and_budget(whole: Path) -> None:
    words = shlex.split(load(all_of(whole)[1], GAME)[1].command)
    options = parser().parse_args(words[3:])
    assert words[:3] == ["python", "-m", "train"] and options.game == GAME.spec
    assert compose(GAME, None, options.set) == TINY and options.games == GAMES


def test_games_of_an_iteration_are_played_by_its_checkpoint(tmp_path: Path) -> None:
    run(tmp_path / "run", GAMES, config=tiny("keep=1"))
    nets = {int(path.name): verify(path).short for path in all_of(tmp_path / "run")}
    for record in read_records(tmp_path / "run" / "games", GAME):
        assert record.metadata["net"] == nets[record.metadata["number"] // 8 * 8]


def test_complete_run_says_so_and_changes_nothing(whole: Path) -> None:
    before, said = weights(whole), []
    progress = run(whole, GAMES, said=said)
    assert progress.games == GAMES
    assert any("complete, 32 games" in line for line in said)
    assert weights(whole) == before


def test_longer_budget_resumes_from_there(tmp_path: Path) -> None:
    said: list[str] = []
    run(tmp_path / "run", 8)
    progress = run(tmp_path / "run", 20, said=said)
    assert "the budget was 8 games, now 20 games" in said
    assert progress.games == 24  # whole iterations
    assert progress.iterations == 3


def test_each_new_position_is_drawn_as_often_as_configured(whole: Path) -> None:
    progress = run(whole, GAMES)
    assert progress.steps == int(progress.made[-1] * TINY.window.samples / TINY.learning.batch)


def test_new_games_are_compared_with_each_searchs_own_value_whatever_the_horizon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A target over the horizon has a part of the outcome, which it would be compared with."""
    found: list[Any] = []
    monkeypatch.setattr("monitor.observer.Observer.validated", lambda self, each: found.append(each.searched))
    run(tmp_path / "run", 8, config=tiny("window.horizon=5", "selfplay.full=1.0"))
    records = list(read_records(tmp_path / "run" / "games", GAME))
    movers = [[GAME.to_move(state) for state, _ in record.replay(GAME)] for record in records]
    own = [
        record.utilities[ply, movers[number][ply]]
        for number, record in enumerate(records)
        for ply in np.flatnonzero(record.searched)
    ]
    np.testing.assert_array_equal(np.sort(found[0]), np.sort(own))


def test_evaluations_are_made_once_at_their_time(tmp_path: Path) -> None:
    asked = []

    def evaluate(game: Any, checkpoint: Path, seed: int, log: Any) -> Evaluation:
        asked.append(int(checkpoint.name))
        return Evaluation("Elo 12", {"elo": 12.0})

    said: list[str] = []
    for games in (GAMES, GAMES, 40):
        run(tmp_path / "run", games, config=tiny("evaluation.every=2"), said=said, evaluate=evaluate)
    assert asked == [0, 16, 32, 40]
    measured = [line for line in said if re.fullmatch(r" *\d+ games: Elo 12", line)]
    assert len(measured) == 4
    assert sum("Elo 12" in line for line in said) > 3  # the lines of iterations repeat the last one


# ── the same bits ──


def test_two_workers_give_the_weights_of_one_process(whole: Path, tmp_path: Path) -> None:
    run(tmp_path / "run", GAMES, workers=2)
    assert_same(tmp_path / "run", whole)


def test_killed_ten_times_and_resumed_is_bit_for_bit_uninterrupted(whole: Path, tmp_path: Path, forks: Any) -> None:
    began = time.monotonic()
    first = forks.Process(target=run, args=(tmp_path / "timed", GAMES))
    first.start()
    first.join()
    longest = time.monotonic() - began
    kills, runs, folder = 0, 0, tmp_path / "run0"
    for moment in moments(200, longest):
        process = forks.Process(target=run, args=(folder, GAMES))
        process.start()
        process.join(moment)
        if process.is_alive():
            os.kill(process.pid, signal.SIGKILL)
            kills += 1
        process.join()
        if process.exitcode == 0:
            assert_same(folder, whole)
            runs += 1
            folder = tmp_path / f"run{runs}"
            if kills >= 10 and runs >= 2:
                break
    assert kills >= 10 and runs >= 2


# ── damage ──


def flip(path: Path, at: float = 0.5) -> None:
    data = bytearray(path.read_bytes())
    data[int(len(data) * at)] ^= 0xFF
    path.write_bytes(data)


def half(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


DAMAGE = [
    ("state/000002/tensors.safetensors", flip, "resuming from the state before it"),
    ("state/000002/state.json", half, "resuming from the state before it"),
    ("checkpoints/00000016/weights.safetensors", flip, "written again"),
    ("checkpoints/00000016/card.json", half, "written again"),
]


@pytest.mark.parametrize(("name", "damage", "words"), DAMAGE)
def test_damaged_state_or_checkpoint_is_one_message_and_nothing_is_lost(
    name: str, damage: Any, words: str, whole: Path, tmp_path: Path
) -> None:
    folder, said = tmp_path / "run", []
    run(folder, 16)
    damage(folder / name)
    run(folder, GAMES, said=said)
    assert [line for line in said if words in line and name.split("/")[1] in line] != []
    assert_budget_free_equal(folder, tmp_path)


def assert_budget_free_equal(folder: Path, tmp_path: Path) -> None:
    """The budget steers the rate, so the run to compare with got it in the same two pieces."""
    run(tmp_path / "other", 16)
    run(tmp_path / "other", GAMES)
    assert_same(folder, tmp_path / "other")


def test_games_and_state_lost_together_are_made_again_by_a_checkpoint_that_was_dropped(
    whole: Path, tmp_path: Path
) -> None:
    """Of iteration 3 the state is damaged and a game is gone; the checkpoint that played it was not one to keep."""
    folder = tmp_path / "run"
    shutil.copytree(whole, folder)
    (folder / "state" / "000004" / "tensors.safetensors").write_bytes(b"")
    log = folder / "games" / "000003.log"
    log.write_bytes(log.read_bytes()[:-20])
    shutil.rmtree(folder / "checkpoints" / "00000024")
    run(folder, GAMES)
    assert_same(folder, whole)


def test_configuration_without_a_game_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("")
    with pytest.raises(UserError, match="expected the configuration of a run, found no game in it"):
        run(tmp_path)


def test_all_states_lost_the_run_is_made_again_from_its_games(tmp_path: Path) -> None:
    folder, said = tmp_path / "run", []
    run(folder, 16)
    before, games = weights(folder), games_on_disk(folder)
    for path in (folder / "state").iterdir():
        half(path / "tensors.safetensors")
    run(folder, 16, said=said)
    assert sum("resuming from the state before it" in line for line in said) == 2
    assert (weights(folder), games_on_disk(folder)) == (before, games)


@pytest.mark.parametrize("torn", [True, False])
def test_torn_or_damaged_log_costs_only_the_games_in_it(torn: bool, whole: Path, tmp_path: Path, forks: Any) -> None:
    folder, said = tmp_path / "run", []
    run(folder, GAMES)
    newest = folder / "games" / "000003.log"
    for path in (folder / "state/000004", folder / "checkpoints/00000032"):  # as if killed while learning
        for file in path.iterdir():
            file.unlink()
        path.rmdir()
    if torn:
        newest.write_bytes(newest.read_bytes()[:-10])
    else:
        flip(newest)
    run(folder, GAMES, said=said)
    assert sum("dropped" in line if torn else "can be read" in line for line in said) == 1
    assert_same(folder, whole)


def test_a_sound_frame_that_holds_no_game_is_passed_over_like_a_damaged_one(whole: Path, tmp_path: Path) -> None:
    folder, said = tmp_path / "run", []
    run(folder, 16)
    with LogWriter(folder / "games" / "000001.log") as log:
        log.append(b"no game")
    run(folder, GAMES, said=said)
    assert [line for line in said if "game record: expected bytes that begin with" in line and "can be read" in line]
    assert_budget_free_equal(folder, tmp_path)


@pytest.mark.parametrize("size", [400, 3000, 6000])
def test_full_disk_is_an_error_and_the_run_resumes_when_there_is_room(
    size: int, whole: Path, tmp_path: Path, forks: Any
) -> None:
    process = forks.Process(target=miniature.run_with_disk_of, args=(size, tmp_path / "run", GAMES))
    process.start()
    process.join()
    assert process.exitcode == 3
    run(tmp_path / "run", GAMES)
    assert_same(tmp_path / "run", whole)


# ── refusals ──


def test_changed_configuration_is_refused_with_the_difference(whole: Path) -> None:
    with pytest.raises(UserError, match=r"window\.alpha: 0\.75, now 0\.5; another --run takes it"):
        run(whole, GAMES, config=tiny("window.alpha=0.5"))


def test_mistake_in_the_configuration_can_be_mended_until_something_is_made(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="unknown net 'mlq'"):
        run(tmp_path / "run", 8, config=tiny("net=mlq:1x16"))
    said: list[str] = []
    run(tmp_path / "run", 8, said=said)
    assert said[0].endswith('so the configuration may change, net: "mlq:1x16", now "mlp:1x16"')
    with pytest.raises(UserError, match="expected the configuration it began with"):
        run(tmp_path / "run", 8, config=tiny("net=mlp:1x8"))


def test_two_processes_at_one_run_are_refused(tmp_path: Path) -> None:
    folder = str(tmp_path / "run")
    with opened(folder, TINY, None, print), pytest.raises(UserError, match="expected this process alone"):  # noqa: SIM117
        with opened(folder, TINY, None, print):
            pass


def test_games_of_other_weights_are_not_learned_from(whole: Path, tmp_path: Path) -> None:
    said: list[str] = []
    run(tmp_path / "other", 8, config=tiny("seed=2"))
    run(tmp_path / "run", 8)
    (tmp_path / "run/games/000001.log").write_bytes((tmp_path / "other/games/000000.log").read_bytes())
    run(tmp_path / "run", GAMES, said=said)
    assert any("passed over 8 games of other weights" in line for line in said)
    numbers = [record.metadata["number"] for record in read_records(tmp_path / "run/games", GAME)]
    assert sorted(set(numbers)) == list(range(GAMES))
    assert np.unique(numbers).size == GAMES


# ── a budget in minutes ──


class SlowGames:
    """Stands for games that take long: each result of self-play comes after so many seconds."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self.closed = seconds, 0

    def __call__(self, setup: Any, network: Any, numbers: Any, workers: Any) -> Any:
        try:
            for played in play_games(setup, network, numbers, workers):
                time.sleep(self.seconds)
                yield played
        finally:
            self.closed += 1


@pytest.mark.parametrize(("seconds", "iterations"), [(0.4, 1), (60.0, 0)])
def test_a_budget_in_minutes_holds_within_seconds_for_games_of_any_length(
    seconds: float, iterations: int, tmp_path: Path, monkeypatch: Any
) -> None:
    run(tmp_path / "warm", 8)  # compiles
    slow = SlowGames(seconds)
    monkeypatch.setattr(loop, "play_games", slow)
    config = replace(tiny(), games=64)
    began = time.monotonic()
    beginning = opened(str(tmp_path / "run"), config, Budget(minutes=0.1), lambda text: None)
    with beginning as made, RunLog(made.folder, 0, quiet=True) as log:
        progress = loop.train(made, log, InProcess())
    assert time.monotonic() - began < 6 + 14  # all games take 26 s or an hour
    assert progress.iterations >= iterations and (progress.games > 0) == (iterations > 0)
    assert slow.closed >= 1
    kept = newest(made.states, print)
    assert kept is not None and kept[0].seconds > 2  # the time of self-play counts, whatever was finished
    monkeypatch.undo()
    wanted = progress.games + 8
    assert run(tmp_path / "run", wanted, config=config).games >= wanted  # a longer budget resumes it
    numbers = [record.metadata["number"] for record in read_records(tmp_path / "run/games", GAME)]
    assert len(set(numbers)) == len(numbers)


def test_a_spent_budget_in_minutes_stays_spent_though_its_last_evaluation_was_long(tmp_path: Path) -> None:
    def evaluate(game: Any, checkpoint: Path, seed: int, log: Any) -> Evaluation:
        time.sleep(1.2)
        return Evaluation("Elo 12", {"elo": 12.0})

    first = run(tmp_path / "run", config=tiny("evaluation.every=1"), evaluate=evaluate, minutes=0.1)
    said: list[str] = []
    again = run(tmp_path / "run", config=tiny("evaluation.every=1"), evaluate=evaluate, minutes=0.1, said=said)
    assert again.games == first.games > 0 and any("complete" in line for line in said)


def test_by_the_clock_the_rate_falls_while_the_last_iteration_learns(tmp_path: Path, monkeypatch: Any) -> None:
    rates: list[float] = []
    step = Learner._step
    monkeypatch.setattr(
        Learner, "_step", lambda self, batch, rate, gradient: (rates.append(rate), step(self, batch, rate, gradient))[1]
    )
    config = replace(tiny("window.samples=200", "learning.warmup=0", "learning.cooldown=1"), games=64)
    run(tmp_path / "run", config=config, minutes=0.05)
    assert len(rates) > 20 and rates == sorted(rates, reverse=True) and rates[-1] < rates[0] / 4


def test_blocks_adapt_to_the_time_of_games() -> None:
    budget = Budget(minutes=8)
    assert budget.block(0, 1.0) == 60
    assert budget.block(400, 1.0) == 40  # and as much to learn
    assert budget.block(400, 0.0) == 60
    assert Budget(games=9).block(1e9, 1.0) == math.inf


def test_progress_without_a_terminal_is_a_line_now_and_then(tmp_path: Path, capsys: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(Lines, "EVERY", 0.0)
    with RunLog(tmp_path, 0) as log:
        assert list(log.bar("abc", 4, "self-play", "game", 1)) == list("abc")
        with log.progress("solving", "position") as progress:
            progress(5, 10)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 4
    assert re.fullmatch(f"{re.escape(str(tmp_path))}: self-play, 2 of 4 games, .* a second", lines[0])
    assert "solving, 5 of 10 positions" in lines[3]
