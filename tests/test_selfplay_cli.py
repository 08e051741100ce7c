"""`python -m selfplay`: records alone, on any number of workers, gone on with; and a look into them."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from base.errors import UserError
from base.framed_log import LogWriter
from checkpoints import Card, save
from games import load
from games.record import make_record, read_records
from nets import make_net
from selfplay.__main__ import main
from selfplay.self_player import self_player

GAME = load("tic_tac_toe")


def generate(out: Path, games: int, player: str = "uniform:sims=8,fast=2,slots=4", *more: str) -> int:
    words = ["tic_tac_toe", "--player", player, "--games", str(games), "--out", str(out), "--workers", "0", *more]
    return main(words)


def games_in(folder: Path) -> dict[int, bytes]:
    return {record.metadata["number"]: record.to_bytes() for record in read_records(folder, GAME)}


def test_the_same_again_plays_what_is_missing(tmp_path: Path, capsys: Any) -> None:
    generate(tmp_path / "whole", 12)
    assert "12 games" in capsys.readouterr().out
    for games in (5, 12, 12):
        generate(tmp_path / "parts", games)
    assert games_in(tmp_path / "parts") == games_in(tmp_path / "whole")
    with pytest.raises(UserError, match="expected games of this player and seed"):
        generate(tmp_path / "parts", 12, "uniform:sims=8,fast=2,slots=4", "--seed", "2")


def test_network_and_rollouts_play(tmp_path: Path) -> None:
    net = make_net("mlp:1x8", GAME, 1)
    save(tmp_path / "net", net, Card(GAME.name, GAME.version, net.text))
    generate(tmp_path / "one", 4, f"net:{tmp_path / 'net'},sims=4,fast=2,slots=2")
    generate(tmp_path / "two", 4, "rollouts:sims=20,slots=2")
    assert len(games_in(tmp_path / "one")) == len(games_in(tmp_path / "two")) == 4
    assert all(record.searched.sum() > 2 for record in read_records(tmp_path / "two", GAME))


def test_where_information_is_hidden_a_networks_policy_plays(tmp_path: Path, capsys: Any) -> None:
    poker = load("kuhn_poker")
    net = make_net("mlp:1x8", poker, 1)
    path = save(tmp_path / "net", net, Card(poker.name, poker.version, net.text))
    logs = []
    for workers, player in (("0", f"net:{path},playouts=3"), ("1", f"net:{path},playouts=3"), ("0", f"net:{path}")):
        out = tmp_path / f"{len(logs)}"
        words = ["kuhn_poker", "--player", player, "--games", "8", "--out", str(out), "--workers", workers]
        assert main(words) == 0
        logs.append({record.metadata["number"]: record for record in read_records(out, poker)})
    assert logs[0] == logs[1] != logs[2] and sorted(logs[0]) == list(range(8))
    assert all(set(record.visits) == {3} for record in logs[0].values())
    assert main(["inspect", str(tmp_path / "0"), "--game", "7"]) == 0
    assert "8 games" in capsys.readouterr().out
    with pytest.raises(UserError, match=r"player: expected net for kuhn_poker:players=2 .*, got 'uniform'"):
        main(["kuhn_poker", "--player", "uniform", "--games", "8", "--out", str(tmp_path / "0")])


def test_how_often_resigning_would_be_wrong_is_told(tmp_path: Path, capsys: Any) -> None:
    net = make_net("mlp:1x8", GAME, 1)
    path = save(tmp_path / "net", net, Card(GAME.name, GAME.version, net.text))
    generate(tmp_path / "out", 30, f"net:{path},sims=6,fast=4,slots=8,resign=0.05,played_out=1")
    said = capsys.readouterr().out
    tried = [
        record.metadata["resigns"] for record in read_records(tmp_path / "out", GAME) if "resigns" in record.metadata
    ]
    wrong = sum(each["wrong"] for each in tried)
    assert len(tried) > 5
    assert (
        f"resigned: 0; played out as a check: {len(tried)}, of which resigning would have been wrong: {wrong / len(tried):.1%}"
        in said
    )
    with pytest.raises(UserError, match="resign: expected 0 to 1, got 2"):
        generate(tmp_path / "no", 1, f"net:{path},resign=2")


def test_inspection_draws_every_position_with_its_targets(tmp_path: Path, capsys: Any) -> None:
    generate(tmp_path, 6)
    capsys.readouterr()
    assert main(["inspect", str(tmp_path)]) == 0
    assert "6 games" in capsys.readouterr().out
    main(["inspect", str(tmp_path), "--game", "3"])
    shown = capsys.readouterr().out
    record = next(record for record in read_records(tmp_path, GAME) if record.metadata["number"] == 3)
    assert shown.count("a b c") == len(record) + 1
    assert shown.count("full search, its policy is a target") == record.searched.sum()
    forced = [ply for state, ply in record.replay(GAME) if len(GAME.legal_actions(state)) == 1]
    assert shown.count("the only legal action") == len(forced)
    assert "outcome" in shown
    with pytest.raises(UserError, match="game: expected 0 to 5, got 6"):
        main(["inspect", str(tmp_path), "--game", "6"])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["tic_tac_toe", "--player", "alphabeta", "--games", "1", "--out", "x"],
            "expected one of net, uniform, rollouts",
        ),
        (["tic_tac_toe", "--player", "uniform", "--games", "0", "--out", "x"], "games: expected at least 1, got 0"),
        (["tic_tac_toe", "--player", "uniform:sim=1", "--games", "1", "--out", "x"], "did you mean 'sims'"),
    ],
)
def test_mistakes_are_one_line(words: list[str], message: str) -> None:
    with pytest.raises(UserError, match=message):
        main(words)


def test_a_record_names_no_file_that_would_be_run(tmp_path: Path) -> None:
    file = tmp_path / "own.py"
    file.write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    record = make_record(GAME, [0], ending="broken off")
    with LogWriter(tmp_path / "games.log") as log:
        log.append(replace(record, game=str(file)).to_bytes())
    with pytest.raises(UserError, match="expected --rules FILE with it, for these are games of "):
        main(["inspect", str(tmp_path)])
    assert not (tmp_path / "ran").exists()


def test_empty_folder_has_no_games_to_show(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="expected records of games, found none"):
        main(["inspect", str(tmp_path)])


def test_resolved_text_makes_the_same_player() -> None:
    player = self_player("rollouts:sims=7", GAME)
    assert self_player(player.text, GAME) == player
