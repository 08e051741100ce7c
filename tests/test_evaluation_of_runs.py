"""Checkpoints on the scale of their game: the card, the curve, the table at the end; rungs play once for all runs."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from miniature import GAME, Told, run, tiny

from arena.store import default_file
from checkpoints import all_of, best, latest, read_card, verify, write_card
from train.budget import Budget
from train.evaluation import Arena, EvaluationSettings
from train.loop import train
from train.run import opened
from train.start import farewell

RUNGS = ("random", "uct:sims=10", "alphabeta:depth=1")
QUICK = EvaluationSettings(every=2, rungs=RUNGS, rung_games=8, games=8, simulations=8)
ON = ("evaluation.every=2", *(f"evaluation.{key}=8" for key in ("rung_games", "games", "simulations")))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: Any) -> Path:
    """Runs and ladders go to a folder of their own."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def measured(folder: Path, games: int, said: list[str]) -> str:
    """A run with evaluations, and what it says at its end."""
    rungs = ", ".join(f'"{rung}"' for rung in RUNGS)
    with opened(str(folder), tiny(*ON, f"evaluation.rungs=[{rungs}]"), Budget(games=games), said.append) as begun:
        with Told(begun.board, said) as log:
            arena = Arena(begun.config.evaluation, 0)
            arena.prepare(GAME, log)
            progress = train(begun, log, 0, arena)
        return farewell(GAME, begun, progress, arena)


def blocks(file: Path) -> list[tuple[str, str, int]]:
    """What was played: both players, and the block's number."""
    with closing(sqlite3.connect(file)) as base:
        return base.execute(
            "SELECT first.text, second.text, number FROM blocks "
            "JOIN players AS first ON first.id = a JOIN players AS second ON second.id = b"
        ).fetchall()


def test_checkpoints_of_a_run_get_their_elo_and_rungs_play_once(here: Path) -> None:
    folder, said = here / "runs/first", []
    measured(folder, 16, said)
    assert sum("lack 12 games among themselves" in line for line in said) == 1
    cards = {path.name: read_card(path).elo for path in all_of(folder)}
    assert list(cards) == ["00000000", "00000016"] and cards["00000000"] is None
    elo = cards["00000016"]
    assert elo is not None and elo.low < elo.value < elo.high
    assert any(f"Elo {elo}" in line for line in said)
    before, said = blocks(default_file(GAME)), []

    text = measured(folder, 32, said)
    after = blocks(default_file(GAME))
    new = set(after) - set(before)
    assert not any("lack" in line for line in said)
    assert set(before) < set(after) and len(new) == 4
    assert all(any(name.startswith("net:") for name in pair[:2]) for pair in new)
    assert read_card(latest(folder)).elo is not None and verify(latest(folder)).elo is not None
    assert f"first after {int(best(folder).name)} games (best" in text.replace(str(here), "")
    assert "last)" in text and "random" in text and "python -m arena rate tic_tac_toe" in text


def test_evaluations_change_nothing_that_is_learned(here: Path) -> None:
    measured(here / "measured", 16, [])
    run(here / "plain", 16)
    assert verify(latest(here / "measured")).weights == verify(latest(here / "plain")).weights


def test_card_that_lost_its_elo_gets_it_back_without_a_game(here: Path) -> None:
    folder = here / "run"
    measured(folder, 16, [])
    card = read_card(latest(folder))
    write_card(latest(folder), type(card)(**{**vars(card), "elo": None}))
    before = blocks(default_file(GAME))
    measured(folder, 16, [])
    assert read_card(latest(folder)).elo == card.elo
    assert blocks(default_file(GAME)) == before
