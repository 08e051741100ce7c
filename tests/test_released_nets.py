"""The nets that come with the program: whole, small, described, and as good as a network that has learned."""

from pathlib import Path

import pytest

from arena.accuracy import measure
from arena.match import Match
from arena.players import make_player
from arena.released_positions import evenly, released
from checkpoints import called, folders, read_card, verify
from games import load

NETS = {called(path): path for path in folders.released()}
LARGEST = 5 * 2**20  # bytes


@pytest.mark.parametrize("name", NETS)
def test_a_released_net_is_whole_small_and_says_how_it_was_made(name: str) -> None:
    game = load(read_card(NETS[name]).game)
    card = verify(NETS[name], game)
    assert card.command and card.configuration and card.games > 0 and (card.elo is not None or card.note)
    assert sum(file.stat().st_size for file in Path(NETS[name]).iterdir()) < LARGEST


@pytest.mark.parametrize("name", NETS)
def test_a_released_net_keeps_the_value_of_known_positions_or_beats_random(name: str) -> None:
    game = load(read_card(NETS[name]).game)
    sample = released(game)
    if sample is None:
        share, *_ = Match(game, f"net:{name},sims=50", "random").play(10, 0).score()
        assert share is not None and share > 0.9
        return
    found = measure(game, make_player(f"net:{name},sims=50", game), evenly(sample, 100).positions, 0)
    assert found.kept.share is not None and found.kept.share >= 0.85
