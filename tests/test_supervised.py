"""A run that begins with recorded games: it learns from them, to the same bits whatever stops it, and from no others."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from miniature import GAME, run, tiny, weights

from arena.__main__ import main as arena
from arena.accuracy import measure
from arena.players import make_player
from arena.released_positions import released
from base.errors import UserError
from base.framed_log import LogWriter
from benchmarks import supervised
from checkpoints import Card, all_of, save, verify
from games import load
from games.record import GameRecord, make_record, read_records
from monitor.history import METRICS, History
from nets import make_net
from train.config import Config
from train.learner import Learner
from train.loop import Loop
from train.recorded import SupervisedSettings, hash_of, recorded, with_games
from train.supervised import is_held_back, judged_on, learn_from_games, lessons, teaching
from train.window import Window, check

LEARNER = ("net=mlp:1x32", "learning.batch=32", "learning.rate=1e-2", "learning.warmup=10", "supervised.epochs=12")


CENTRE_AND_CORNERS = (4, 0, 2, 6, 8)


def sensible_games(game: Any, count: int, seed: int = 0) -> list[str]:
    """Games of players who, after three plies at random, win, else take the centre, else a corner: something that can be learned,
    however the board is turned."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        state, names = game.initial(), []
        while legal := game.legal_actions(state):
            if len(names) < 3:
                action = int(rng.choice(legal))
            else:
                worth = [
                    game.rules.gain(state, each) + 0.1 * (each in CENTRE_AND_CORNERS) + 0.1 * (each == 4)
                    for each in legal
                ]
                action = legal[int(np.argmax(np.array(worth) + 0.01 * rng.random(len(legal))))]
            names.append(game.name_of(action))
            state = game.result(state, action)
        found.append(" ".join(names))
    return found


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recorded")
    (folder / "games.txt").write_text("\n".join(sensible_games(GAME, 400)) + "\n")
    return folder


def beginning_with(files: Path, *changes: str) -> Config:
    return with_games(tiny(*LEARNER, *changes), [str(files)], GAME)


class Silent:
    """A log without output."""

    def counter(self, total: int, what: str, unit: str) -> Any:
        from contextlib import nullcontext

        return nullcontext(lambda: None)


def test_policy_of_games_held_back_is_learned(files: Path) -> None:
    config = beginning_with(files, "supervised.held_back=0.3")
    learner = Learner(GAME, make_net(config.net, GAME, 1), config.learning)
    result = learn_from_games(GAME, learner, lessons(GAME, config.supervised), config.supervised, 1, Silent())  # type: ignore[arg-type]
    assert result.held_back >= 5 and result.judged.n >= 30
    assert result.top > 0.35 and result.top > result.before + 8 * result.error
    assert 0 < result.error < 0.1
    assert f"{result.top:.1%}" in str(result) and f"{result.held_back} games held back" in str(result)


def test_killed_and_resumed_is_the_uninterrupted_run(files: Path, tmp_path: Path, monkeypatch: Any) -> None:
    config, said = beginning_with(files), []
    run(tmp_path / "whole", 16, config=config, said=said)
    assert any("learned from" in line for line in said)
    whole = Loop.save

    def killed(loop: Loop) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:  # before the stage is saved: it is done again
        patch.setattr(Loop, "save", killed)
        with pytest.raises(KeyboardInterrupt):
            run(tmp_path / "run", 16, config=config)

    def killed_later(loop: Loop) -> None:
        whole(loop)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:  # behind it: it is not done again
        patch.setattr(Loop, "save", killed_later)
        with pytest.raises(KeyboardInterrupt):
            run(tmp_path / "run", 16, config=config)
    again: list[str] = []
    run(tmp_path / "run", 16, config=config, said=again)
    assert not any("learned from" in line for line in again)
    assert weights(tmp_path / "run") == weights(tmp_path / "whole")
    assert History(tmp_path / "run" / METRICS).series("supervised/top-1")[0] == [0]
    plain = tmp_path / "plain"
    run(plain, 8, config=tiny(*LEARNER))
    first = {verify(all_of(folder)[0]).weights for folder in (plain, tmp_path / "whole", tmp_path / "run")}
    assert len(first) == 2  # the first checkpoint is what the games taught


def test_recorded_games_stay_in_the_window_until_newer_ones_take_their_place(files: Path, tmp_path: Path) -> None:
    config = beginning_with(files, "window.constant=500", "window.most=500", "supervised.epochs=1")
    loops: list[Loop] = []

    class Kept(Loop):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            loops.append(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("train.loop.Loop", Kept)
        for games in (8, 16, 160):
            steps = run(tmp_path / "run", games, config=config).steps
            window = loops[-1].window
            own = loops[-1].progress.made[-1] - window.recorded
            assert steps == int(own * config.window.samples / config.learning.batch)  # none are due for recorded games
            assert 500 <= len(window) < 520
            again = Kept(loops[-1].run, loops[-1].log, loops[-1].workers, None, None)
            again.restore()
            for name, value in vars(window).items():
                if isinstance(value, np.ndarray | int):
                    np.testing.assert_array_equal(getattr(again.window, name), value, err_msg=name)
            if games == 160:
                assert own > 500  # nothing recorded is left
            else:
                assert own < 500 < window.recorded


def test_changed_files_are_refused(files: Path, tmp_path: Path) -> None:
    copy = tmp_path / "games.txt"
    copy.write_text((files / "games.txt").read_text())
    config = with_games(tiny(*LEARNER), [str(copy)], GAME)
    assert with_games(config, [str(files)], GAME) == config  # the same games elsewhere
    copy.write_text(copy.read_text() + sensible_games(GAME, 1, 9)[0] + "\n")
    with pytest.raises(
        UserError, match=r"--from-games: expected what .*games.txt held when the run began .*another --run"
    ):
        recorded(GAME, config.supervised)
    run(tmp_path / "run", 8, config=beginning_with(files))
    with pytest.raises(UserError, match=r"expected the configuration it began with, got supervised\.files"):
        run(tmp_path / "run", 16, config=with_games(beginning_with(files), [str(copy)], GAME))


def test_search_that_is_in_the_record_is_learned_else_the_move(tmp_path: Path) -> None:
    moves = [0, 4, 8]
    record = make_record(
        GAME, moves, policies=[None, {4: 0.75, 2: 0.25}, None], outcome=(1.0, -1.0), ending="adjudicated"
    )
    taught = teaching(GAME, record)
    assert [taught.policy(ply)[0].tolist() for ply in range(3)] == [[0], [2, 4], [8]]
    assert taught.policy(1)[1].tolist() == [0.25, 0.75]
    assert taught.utilities.tolist() == [[1.0, -1.0]] * 3


def test_the_opening_that_a_match_gave_its_players_teaches_nothing(tmp_path: Path) -> None:
    players, folder = ["random", "minimax:depth=2"], str(tmp_path / "match")
    assert (
        arena(
            [
                "match",
                GAME.name,
                *players,
                "--games",
                "8",
                "--openings",
                "plies=2-3",
                "--records",
                folder,
                "--workers",
                "0",
            ]
        )
        == 0
    )
    records = list(read_records(folder, GAME))
    assert len(records) == 8
    for record in records:
        given = record.metadata["opening"]
        taught = teaching(GAME, record)
        assert given in (2, 3)
        assert taught.searched.tolist() == [0] * given + [1] * (len(record) - given)
        assert np.isnan(taught.utilities[:given]).all() and not np.isnan(taught.utilities[given:]).any()


def test_chance_teaches_nothing() -> None:
    game = load("backgammon")
    rng, state, moves, rolls = np.random.default_rng(0), game.initial(), [], []
    for _ in range(40):
        rolls.append(game.to_move(state) == -1)
        moves.append(int(rng.choice(game.legal_actions(state))))
        state = game.result(state, moves[-1])
    record = make_record(game, moves, outcome=(1.0, -1.0), ending="adjudicated")
    assert teaching(game, record).searched.tolist() == [not each for each in rolls]
    window = Window(game, tiny().window)
    window.extend(check(game, [teaching(game, record)]))
    assert len(window) == 40 - sum(rolls)


def test_games_are_held_back_by_what_was_played(files: Path) -> None:
    records = recorded(GAME, beginning_with(files).supervised)
    held = [record for record in records if is_held_back(record, 0.3)]
    assert len({record.moves.tobytes() for record in records}) == len(records)
    assert 0.1 < len(held) / len(records) < 0.5
    assert not any(is_held_back(record, 0.0) for record in records)
    window = Window(GAME, tiny().window)
    learner = Learner(GAME, make_net("mlp:1x8", GAME, 1), tiny().learning)
    assert judged_on(window, learner)[0].n == 0  # nothing held back, nothing judged


def test_games_without_an_end_are_refused(tmp_path: Path) -> None:
    (tmp_path / "games.txt").write_text("a1 b2\n")
    files = [tmp_path / "games.txt"]
    settings = SupervisedSettings((str(files[0]),), hash_of(files, GAME))
    with pytest.raises(UserError, match=r"--from-games: expected finished games of tic_tac_toe in .*, found none"):
        recorded(GAME, settings)


def test_games_all_held_back_are_refused(files: Path) -> None:
    settings = SupervisedSettings((str(files),), hash_of([files], GAME), held_back=0.9999)
    learner = Learner(GAME, make_net("mlp:1x8", GAME, 1), tiny().learning)
    with pytest.raises(UserError, match=r"--from-games: expected games to learn from, all .* are held back"):
        learn_from_games(GAME, learner, lessons(GAME, settings), settings, 1, Silent())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("supervised.epochs=0", "supervised.epochs: expected more than 0, got 0"),
        ("supervised.held_back=1", "supervised.held_back: expected at least 0 and below 1, got 1"),
        ("supervised.files=['x']", "supervised.files: expected them from the command line, with --from-games FILES"),
    ],
)
def test_wrong_settings_are_one_line(change: str, words: str) -> None:
    with pytest.raises(UserError, match=words):
        tiny(change)


def test_selfplay_logs_and_checkpoints_follow(files: Path, tmp_path: Path) -> None:
    """What a run has played can begin another."""
    run(tmp_path / "first", 16)
    config = with_games(tiny(*LEARNER), [str(tmp_path / "first" / "games")], GAME)
    run(tmp_path / "second", 8, config=config)
    assert len(all_of(tmp_path / "second")) == 2
    records: list[GameRecord] = list(read_records(tmp_path / "first" / "games", GAME))
    with LogWriter(tmp_path / "other.log") as log:
        for record in records:
            log.append(record.to_bytes())
    assert hash_of([tmp_path / "other.log"], GAME) != config.supervised.sha256


# ── benchmarks.supervised ──


def test_accuracy_of_a_network_that_learns_is_that_of_the_policy_as_a_player(tmp_path: Path) -> None:
    config = tiny()
    learner = Learner(GAME, make_net("mlp:1x32", GAME, 3), config.learning)
    card = Card(GAME.name, GAME.version, learner.mean.text, step=0, games=0)
    path = save(tmp_path / "net", learner.mean, card)
    sample = released(GAME)
    assert sample is not None
    found = measure(GAME, make_player(f"net:{path},sims=0", GAME), sample.positions)
    assert supervised.accuracy(learner, GAME) == pytest.approx(found.kept.share)


def test_networks_are_measured_on_games_that_they_have_not_learned_from(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(tmp_path / "run", 64)
    games = str(tmp_path / "run" / "games")
    assert supervised.main(["tic_tac_toe", games, "--nets", "mlp:1x8", "mlp:1x16", "--minutes", "0.001"]) == 0
    title, _, header, *lines = capsys.readouterr().out.splitlines()
    learned, held = (int(number) for number in re.findall(r"(\d+)(?: games;| others)", title))
    assert learned + held == 64 and min(learned, held) > 0
    assert [line.split()[-1] for line in lines] == ["mlp:1x8", "mlp:1x16"] and header.split()[-1] == "network"
