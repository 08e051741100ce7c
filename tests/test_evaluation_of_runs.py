"""Checkpoints on the scale of their game: the card, the metrics, the table at the end; reference players play once for all runs."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from miniature import GAME, Quiet, run, tiny

from arena import drawn_positions
from arena.drawn_positions import draw_positions
from arena.ladder.reference_players import ReferencePlayers, reference_players
from arena.ladder.results import LadderResults, default_file
from arena.ladder.scale import Scale
from arena.released_positions import released
from base.errors import UserError
from base.local_workers import opened as opened_workers
from checkpoints import Card, all_of, best, latest, read_card, save, verify, write_card
from games import Game, load
from monitor.log import RunLog
from nets import make_net
from train.budget import Budget
from train.config import FOLDER, compose
from train.evaluation import ArenaEvaluation, EvaluationSettings, players_of
from train.loop import train
from train.run import opened
from train.start import farewell

PLAYERS = ("random", "uct:sims=10", "alphabeta:depth=1")
QUICK = EvaluationSettings(every=2, reference_players=PLAYERS, reference_games=8, games=8, simulations=8)
ON = ("evaluation.every=2", *(f"evaluation.{key}=8" for key in ("reference_games", "games", "simulations")))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: Any) -> Path:
    """Runs and ladders go to a folder of their own."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def measured(folder: Path, games: int, said: list[str]) -> str:
    """A run with evaluations, and its last words on screen."""
    players = ", ".join(f'"{player}"' for player in PLAYERS)
    with opened(
        str(folder), tiny(*ON, f"evaluation.reference_players=[{players}]"), Budget(games=games), said.append
    ) as begun:
        with Quiet(begun, said) as log:
            arena = ArenaEvaluation(begun.config.evaluation, 0)
            arena.prepare(GAME, log)
            with opened_workers(0) as workers:
                progress = train(begun, log, workers, arena)
        return farewell(GAME, begun, progress, arena)


def blocks(file: Path) -> list[tuple[str, str, int]]:
    """What was played: both players, and the block's number."""
    with closing(sqlite3.connect(file)) as base:
        return base.execute(
            "SELECT first.text, second.text, number FROM blocks "
            "JOIN players AS first ON first.id = a JOIN players AS second ON second.id = b"
        ).fetchall()


def test_checkpoints_of_a_run_get_their_elo_and_reference_players_play_once(here: Path) -> None:
    folder, said = here / "runs/first", []
    measured(folder, 16, said)
    assert sum(line.startswith("12 games between the reference players") for line in said) == 1
    cards = {path.name: read_card(path).elo for path in all_of(folder)}
    assert list(cards) == ["00000000", "00000008", "00000016"] and cards["00000000"] is not None
    elo = cards["00000016"]
    assert elo is not None and elo.low < elo.value < elo.high
    assert any(f"Elo {elo}" in line for line in said)
    before, said = blocks(default_file(GAME)), []

    text = measured(folder, 32, said)
    after = blocks(default_file(GAME))
    new = set(after) - set(before)
    assert not any("are missing" in line for line in said)
    assert set(before) < set(after) and len(new) == 8
    assert all(any(name.startswith("net:") for name in pair[:2]) for pair in new)
    assert read_card(latest(folder)).elo is not None and verify(latest(folder)).elo is not None
    assert f"first after {int(best(folder).name)} games, sims=8 (best" in text
    assert "last)" in text and "random" in text and "python -m arena rate tic_tac_toe" in text


def test_evaluations_change_nothing_that_is_learned(here: Path) -> None:
    measured(here / "measured", 16, [])
    run(here / "plain", 16)
    assert verify(latest(here / "measured")).weights == verify(latest(here / "plain")).weights


def test_card_that_lost_its_elo_gets_it_back_without_a_game(here: Path) -> None:
    folder = here / "run"
    measured(folder, 16, [])
    card = read_card(latest(folder))
    write_card(latest(folder), replace(card, elo=None))
    before = blocks(default_file(GAME))
    measured(folder, 16, [])
    assert read_card(latest(folder)).elo == card.elo
    assert blocks(default_file(GAME)) == before


def saved(folder: Path, game: Game, net: str = "mlp:1x8") -> Path:
    """A checkpoint that has learned nothing."""
    made = make_net(net, game, seed=1)
    return save(folder / "checkpoints" / "00000008", made, Card(game.name, game.version, made.text, step=8, games=8))


def test_evaluation_equals_the_standard_scale(tmp_path: Path) -> None:
    """All standard reference players, with the few games that there are, put the player where the few of them put it."""
    log, file, how = RunLog(tmp_path, 0, quiet=True), tmp_path / "ladder.sqlite", replace(QUICK, sample=20)
    checkpoint = saved(tmp_path, GAME)
    arena = ArenaEvaluation(how, 0, file)
    arena.prepare(GAME, log)
    found = arena(GAME, checkpoint, 1, log)
    assert found.metrics == arena(GAME, checkpoint, 2, log).metrics  # nothing is played twice
    assert found.metrics["elo/search"] > found.metrics["elo/policy low"]
    kept = found.details["accuracy/search"]["kept"]
    assert kept["share"] == found.metrics["accuracy/search"] > 0 and "policy keeps" in found.line
    before = blocks(file)
    with LadderResults(file, GAME) as store:
        place = Scale(GAME, reference_players(GAME), store).place(arena.player(GAME, checkpoint), how.games, 0)
    assert found.elo == (place.row.elo, place.row.low, place.row.high)
    assert found.details["search"] == place.as_json() and blocks(file) == before


def test_reference_player_without_games_plays_whatever_the_others_have_played(tmp_path: Path) -> None:
    with LadderResults(tmp_path / "ladder.sqlite", GAME) as store:
        Scale(GAME, ReferencePlayers(PLAYERS[:2], "random"), store).prepare(40, 0)
        scale = Scale(GAME, ReferencePlayers(PLAYERS, "random"), store)
        assert scale.missing(20) == 6  # 40 games for 3 players are more than 20 for each in the mean
        scale.prepare(20, 0)
        assert scale.missing(20) == 0
        assert len(scale.ladder.ratings().unconnected) == 0


def test_a_game_of_ones_own_gets_a_scale_from_the_players_of_the_configuration(tmp_path: Path) -> None:
    game, log = load("nim"), RunLog(tmp_path, 0, quiet=True)
    arena = ArenaEvaluation(replace(QUICK, reference_players=("uct:sims=10",)), 0, tmp_path / "ladder.sqlite")
    assert players_of(game, arena.settings).players == ("random", "uct:sims=10")
    arena.prepare(game, log)
    checkpoint = saved(tmp_path, game)
    found = arena(game, checkpoint, 1, log)
    assert found.elo[1] < found.elo[0] < found.elo[2]
    table = arena.table(game, {checkpoint: "mine"}).splitlines()
    assert any("mine" in line and f"{found.elo[0]:+.0f}" in line for line in table)
    assert any("random" in line and "anchor" in line for line in table)


def test_three_players_are_measured_by_utility(tmp_path: Path) -> None:
    game, log = load("dots_and_boxes:rows=2,cols=2,players=3"), RunLog(tmp_path, 0, quiet=True)
    arena = ArenaEvaluation(
        replace(QUICK, reference_players=("random", "uct:sims=10"), games=24), 0, tmp_path / "ladder.sqlite"
    )
    arena.prepare(game, log)
    checkpoint = saved(tmp_path, game)
    found = arena(game, checkpoint, 1, log)
    assert (
        found.elo == () and arena.table(game, {checkpoint: "mine"}) == "" and not (tmp_path / "ladder.sqlite").exists()
    )
    for player in ("random", "uct:sims=10"):
        ends = [found.metrics[f"against/{player} utility{end}"] for end in (" low", "", " high")]
        assert ends == sorted(ends) and found.details[player]["games"] == 12


class Impatient(RunLog):
    """Ctrl-C at the first sign of progress."""

    @contextmanager
    def progress(self, what: str, unit: str) -> Iterator[Any]:
        def stop(done: int, total: int) -> None:
            raise KeyboardInterrupt

        yield stop


def test_ctrl_c_in_an_evaluation_stops_the_run_and_keeps_what_was_played(tmp_path: Path) -> None:
    file = tmp_path / "ladder.sqlite"
    arena, checkpoint, log = (
        ArenaEvaluation(QUICK, 0, file),
        saved(tmp_path, GAME),
        Impatient(tmp_path, 0, quiet=True),
    )
    with pytest.raises(KeyboardInterrupt):
        arena.prepare(GAME, log)
    with pytest.raises(KeyboardInterrupt):
        arena(GAME, checkpoint, 1, log)
    assert len(blocks(file)) == 2


def test_drawn_positions_of_an_evaluation_are_not_of_the_first_fifth(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawn_positions, "DRY", 25)  # games without anything new, before no more is looked for
    stages = [
        {solved.stage for solved in draw_positions(GAME, 40, 1, 0, first_stage=first).positions} for first in (0, 1)
    ]
    assert stages[0] - stages[1] == {0}


def test_an_evaluation_takes_positions_of_the_released_set_as_they_are(tmp_path: Path) -> None:
    arena = ArenaEvaluation(replace(QUICK, sample=30), 0, tmp_path / "ladder.sqlite")
    game = load("connect_four")
    solved, whole = arena._solved(game), released(game)
    assert whole is not None and len(solved) == 30
    assert all(each in whole.positions for each in solved) and any(each.is_hard for each in solved)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"reference_players": ("utc:sims=5",)}, "unknown player 'utc'"),
        ({"reference_players": ()}, "reference_players: expected one player at least, got none"),
        ({"games": 0}, "games: expected at least 1, got 0"),
        ({"reference_games": 0}, "reference_games: expected at least 1, got 0"),
    ],
)
def test_what_cannot_be_measured_is_refused_before_the_run_begins(
    changes: dict[str, Any], words: str, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match=words):
        ArenaEvaluation(replace(QUICK, **changes), 0, tmp_path / "l.sqlite").prepare(
            GAME, RunLog(tmp_path, 0, quiet=True)
        )


def test_configured_reference_players_are_quick_and_on_the_standard_scale() -> None:
    for path in sorted(FOLDER.glob("*.toml")):
        if path.stem not in ("base", "hidden"):
            game = load(path.stem)
            if game.hides_information:  # no scale, and nothing but its own players
                continue
            players = compose(game).evaluation.reference_players
            assert set(players) <= set(reference_players(game).players)
            assert not any(":ms=" in player or player == "solver" for player in players)
