"""The measurements themselves: they run, find their peers, and do without them."""

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import games as benchmark


def test_exact_play_is_measured_from_an_empty_table() -> None:
    game = load("connect_four")
    row = solver_benchmark.measure(Solver(game, megabytes=1), 30, positions=3, seed=1)
    assert (row.ply, row.positions) == (30, 3)
    assert 0 < row.seconds <= row.slowest and row.seconds <= row.all_moves and row.nodes >= 1
    header = "".join(f"{title:>{room}}" for title, room in solver_benchmark.COLUMNS.items())
    assert len(solver_benchmark.line(row)) == len(header)
    state = solver_benchmark.random_position(game, 12, 3)
    assert state.plies == 12 and not game.is_terminal(state)
