"""The nets that come with the program: whole, small, described, and as good as a network that has learned."""

from pathlib import Path

import pytest

from arena.accuracy import measure
from arena.exploit import exploit
from arena.match import Match
from arena.players import make_player
from arena.released_positions import evenly, released
from base.options import split
from checkpoints import called, folders, read_card, verify
from games import CHANCE, load

EXPLOITABILITY = {"kuhn_poker": 0.0046, "leduc_poker": 0.0152, "liars_dice": 0.069}
"""In utilities, at most, of the best net of a game that hides information: 0.009 and 0.2 chips, and 0.069 games."""
NETS = {called(path): path for path in folders.released()}
LARGEST = 5 * 2**20  # bytes


@pytest.mark.parametrize("name", NETS)
def test_a_released_net_is_whole_small_and_says_how_it_was_made(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folders, "RUNS", tmp_path)  # a run comes before a released network of its name
    path = NETS[name]
    game = load(read_card(path).game)
    card = verify(path, game)
    assert folders.game_folder(game) == path.parent and called(path) == name
    assert sorted(each.name for each in path.iterdir()) == ["card.json", "weights.safetensors"]
    assert sum(file.stat().st_size for file in path.iterdir()) < LARGEST
    learned_from = card.games or card.configuration["supervised"]["files"]
    assert card.configuration and card.commit and learned_from and (card.strength is not None or card.note)
    assert card.command and "/" not in card.command  # nobody's folders
    for text in (name, path.name, card.short):
        assert folders.resolve(text, game) == path


def test_networks_are_released() -> None:
    assert NETS


@pytest.mark.parametrize("name", NETS)
def test_a_released_net_plays_legal_moves(name: str) -> None:
    game = load(read_card(NETS[name]).game)
    state = game.initial()
    while (mover := game.to_move(state)) == CHANCE:
        state = game.result(state, game.legal_actions(state)[0])
    assert mover is not None
    seen = game.view(state, mover) if game.hides_information else state
    for sims in (0,) if game.hides_information else (0, 8):
        player = make_player(f"net:{name},sims={sims}", game)
        player.new_game()
        assert player.choose(seen).action in game.legal_actions(state)


@pytest.mark.parametrize("name", NETS)
def test_a_released_net_keeps_the_value_of_known_positions_or_is_hard_to_exploit_or_beats_random(name: str) -> None:
    game = load(read_card(NETS[name]).game)
    if game.hides_information:
        found = exploit(game, make_player(f"net:{name}", game)).found.exploitability
        assert found < EXPLOITABILITY[split(game.name)[0]]
        return
    sample = released(game)
    if sample is None:
        share, *_ = Match(game, f"net:{name},sims=50", "random").play(10, 0).score()
        assert share is not None and share > 0.9
        return
    found = measure(game, make_player(f"net:{name},sims=50", game), evenly(sample, 100).positions, 0)
    assert found.kept.share is not None and found.kept.share >= 0.85
