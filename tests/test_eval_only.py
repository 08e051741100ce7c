"""EVAL beside the network in a run, and alone: `python -m train GAME --eval-only`."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from miniature import GAME, run
from test_linear import random_games

from arena.players import make_player
from base.errors import UserError
from base.framed_log import LogWriter
from classical.eval import Eval
from games import load
from games.record import GameRecord, finished
from monitor.history import METRICS, History
from train.__main__ import main
from train.config import compose
from train.fitting import enough
from train.loop import Loop


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole") / "run"
    run(folder, 32)
    return folder


def test_every_iteration_leaves_weights_that_play(whole: Path) -> None:
    files = sorted((whole / "eval").glob("*.eval.json"))
    assert [path.name for path in files] == [f"{games:08}.eval.json" for games in (8, 16, 24, 32)]
    for path in files:
        assert Eval.load(path, GAME).errors is not None
    for text in (f"alphabeta:depth=3,eval={files[-1]}", f"uct:sims=1000,eval={files[-1]},rollout=0"):
        assert make_player(text, GAME).choose(GAME.initial()).action in range(9)
    assert len({path.read_bytes() for path in files}) == 4


def test_network_and_eval_are_judged_on_the_same_new_games(whole: Path) -> None:
    history = History(whole / METRICS)
    for measure in ("loss", "sign", "brier"):
        assert history.series(f"fresh/value {measure}")[0] == [8, 16, 24, 32]
        assert history.series(f"fresh/eval {measure}")[0] == [16, 24, 32]  # at first nothing was fitted yet
    assert all(0 <= value <= 1 for value in history.series("fresh/eval sign")[1])


def test_killed_and_resumed_leaves_the_same_weights(whole: Path, tmp_path: Path, monkeypatch: Any) -> None:
    calls = []

    def killed(loop: Loop) -> None:
        calls.append(loop.progress.games)
        if loop.progress.games == 24:
            raise KeyboardInterrupt
        checkpoint(loop)

    checkpoint = Loop.checkpoint
    with monkeypatch.context() as patch:
        patch.setattr(Loop, "checkpoint", killed)
        with pytest.raises(KeyboardInterrupt):
            run(tmp_path / "run", 32)
    for path in (tmp_path / "run" / "eval").iterdir():
        path.unlink()  # they are made of the window, not of one another
    run(tmp_path / "run", 32)
    for games in (24, 32):
        name = f"eval/{games:08}.eval.json"
        assert (tmp_path / "run" / name).read_bytes() == (whole / name).read_bytes()
    assert History(tmp_path / "run" / METRICS).series("fresh/eval loss") == History(whole / METRICS).series(
        "fresh/eval loss"
    )


def test_game_without_features_is_learned_without_eval(tmp_path: Path) -> None:
    game = load("tree:two_ply.json")
    changes = (
        "net=mlp:1x8",
        "games=4",
        "selfplay.simulations=4",
        "selfplay.slots=2",
        "learning.batch=4",
        "evaluation.every=0",
    )
    said: list[str] = []
    run(tmp_path / "run", 8, config=compose(game, None, [*changes, "learning.threads=1"]), said=said)
    assert not (tmp_path / "run" / "eval").exists()
    assert sum("has no features, so no EVAL is fitted" in line for line in said) == 1


# ── alone ──


def test_fitted_alone_from_all_kinds_of_files(tmp_path: Path, capsys: Any) -> None:
    records = random_games(GAME, 60)
    (tmp_path / "games.txt").write_text("".join(record.move_names(GAME) + "\n" for record in records[:30]) + "a1 b2\n")
    with LogWriter(tmp_path / "games.log") as log:
        for record in records[30:]:
            log.append(record.to_bytes())
    out = tmp_path / "out.eval.json"
    names = [str(tmp_path / "games.txt"), str(tmp_path / "games.log")]
    assert main(["tic_tac_toe", "--eval-only", "--from-games", *names, "--out", str(out)]) == 0
    said, found = capsys.readouterr().out, Eval.load(out, GAME)
    assert found.games == 60 and "60 games, 60 different" in said
    for name, weight in found.weights.items():
        assert name in said and found.errors is not None
        assert f"{weight:.3f} ± {found.errors[name]:.3f}" in said or "never seen" in said
    assert "by hand" in said and f"alphabeta:depth=5,eval={out}" in said
    assert main(["tic_tac_toe", "--eval-only", "--from-games", str(tmp_path), "--out", str(out)]) == 0
    assert Eval.load(out, GAME).weights == pytest.approx(found.weights, abs=1e-6)  # of the folder, in another order


def test_fitted_alone_from_a_run_and_by_its_name(whole: Path, tmp_path: Path, monkeypatch: Any, capsys: Any) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs/first").symlink_to(whole)
    for words in (
        ["--records", "first"],
        ["--run", "first"],
        ["--records", str(whole)],
        ["--records", str(whole / "games")],
    ):
        assert main(["tic_tac_toe", "--eval-only", *words]) == 0
        assert Eval.load(tmp_path / "runs/tic_tac_toe.eval.json", GAME).note.startswith("fitted to ")
    assert "32 games" in capsys.readouterr().out


def test_material_alone_is_a_column_in_chess(tmp_path: Path, capsys: Any) -> None:
    game = load("chess")
    (tmp_path / "games.pgn").write_text('[Result "1-0"]\n\n1. e4 e5 2. Bc4 Nc6 3. Qh5 Nf6 4. Qxf7# 1-0\n' * 2)
    assert main(["chess", "--eval-only", "--from-games", str(tmp_path), "--out", str(tmp_path / "x.json")]) == 0
    said = capsys.readouterr().out
    assert "material alone" in said and "2 games, 1 different" in said and "never seen" in said
    assert set(Eval.load(tmp_path / "x.json", game).weights) == set(game.rules.feature_names)


def test_no_more_games_than_fit(capsys: Any, monkeypatch: Any) -> None:
    records = random_games(GAME, 10)
    monkeypatch.setattr("train.fitting.MOST", sum(map(len, records[:4])))
    assert len(list(enough(iter(records)))) == 4
    assert "the first 4 games are taken" in capsys.readouterr().out


def test_games_without_an_outcome_or_without_a_move_are_not_learned_from() -> None:
    whole, other = random_games(GAME, 2)
    empty = GameRecord(GAME.name, GAME.version, whole.moves[:0], (0.0, 0.0), "adjudicated")
    assert list(finished([whole, replace(other, outcome=None), empty, other])) == [whole, other]


def test_no_torch_is_needed() -> None:
    script = "import sys, train.__main__, train.fitting; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], check=True, cwd=Path(__file__).parent.parent)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (
            ["tree:two_ply.json", "--eval-only"],
            "--eval-only: expected a game with features, tree:two_ply.json has none",
        ),
        (
            ["tic_tac_toe", "--eval-only", "--records", "nowhere"],
            "--eval-only: expected --from-games FILES, or --records with",
        ),
        (
            ["tic_tac_toe", "--eval-only", "--from-games", "nowhere"],
            "--from-games: expected files or folders of games, found no",
        ),
        (
            ["tic_tac_toe", "--from-games", "nowhere"],
            "--from-games: expected files or folders of games, found no nowhere",
        ),
        (
            ["tic_tac_toe", "--eval-only", "--from-games", "x", "--records", "y"],
            "expected --from-games or --records, got both",
        ),
        (["tic_tac_toe", "--out", "x"], "--out: expected --eval-only with it"),
        (["tic_tac_toe", "--records", "x"], "--records: expected --eval-only with it"),
    ],
)
def test_refusals_are_one_line(words: list[str], expected: str, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError) as refusal:
        main(words)
    assert expected in str(refusal.value) and "\n" not in str(refusal.value)


def test_games_without_an_end_are_refused(tmp_path: Path) -> None:
    (tmp_path / "games.txt").write_text("a1 b2\n")
    with pytest.raises(UserError, match=r"--eval-only: expected finished games of tic_tac_toe in .*, found none"):
        main(["tic_tac_toe", "--eval-only", "--from-games", str(tmp_path)])
