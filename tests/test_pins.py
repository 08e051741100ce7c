"""What is computed did not change: a commit that changes it says so, with `python -m benchmarks.pins --write`."""

import pytest

from base.files import read_json
from benchmarks.pins import STORED, processor, run_pins, selfplay_pins


def test_selfplay_without_a_network_plays_the_stored_games() -> None:
    assert selfplay_pins() == read_json(STORED)["selfplay"]


def test_tiny_runs_play_the_stored_games_and_learn_the_stored_weights() -> None:
    known = read_json(STORED)["runs"]
    if processor() not in known:
        pytest.skip(f"no hashes are stored for a processor with {processor()}")
    assert run_pins() == known[processor()]
