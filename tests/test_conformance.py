"""Every game of the folder, under every setting that its file names, holds to the doctor's laws."""

import pytest

from games import load, variants
from games.engine.doctor import examine

PLIES = 3_000
"""Of random games, at most: the laws look at some thousand positions. `python -m games doctor GAME` plays a thousand games."""

SECONDS = 0.2
"""Of each law, which `python -m games doctor GAME` gives longer."""


@pytest.mark.parametrize("name", variants())
def test_every_game_holds_to_the_laws(name):
    game = load(name)
    count = max(4, min(40, PLIES // game.rules.max_plies))
    assert [str(finding) for finding in examine(game, count=count, seconds=SECONDS)] == []
