"""Every game of the folder, under every setting that its file names, holds to the doctor's laws."""

import pytest

from games import load, variants
from games.engine.doctor import examine


@pytest.mark.parametrize("name", variants())
def test_every_game_holds_to_the_laws(name):
    assert [str(finding) for finding in examine(load(name), count=200, seconds=2)] == []
