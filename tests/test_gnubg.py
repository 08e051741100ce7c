"""GNU Backgammon as a player and as a measure; where it is not installed, with a program in its place."""

import json
import os
import shutil
from pathlib import Path

import pytest

from arena.engines.gnubg import GnuBackgammon, turn_ends
from arena.match import Match
from arena.openings import random_action
from arena.players import Forfeit, make_player
from base.errors import UserError
from base.seeds import below, generator
from base.subprocesses import MORE_FOLDERS
from benchmarks import backgammon
from games import CHANCE, load
from games.backgammon import position_id

GAME = load("backgammon")
needs_gnubg = pytest.mark.skipif(
    not (shutil.which("gnubg") or shutil.which("gnubg", path=MORE_FOLDERS)), reason="gnubg is not installed"
)


def positions(seed, count):
    """Of random games, where a player is to move."""
    rng, state = generator(seed, "positions"), GAME.initial()
    while count:
        if GAME.is_terminal(state):
            state = GAME.initial()
        if GAME.to_move(state) == CHANCE:
            state = GAME.result(state, random_action(GAME, state, rng))
            continue
        count -= 1
        yield state
        legal = GAME.legal_actions(state)
        state = GAME.result(state, legal[below(rng, len(legal))])


def ends_by_recursion(state):
    if GAME.is_terminal(state) or GAME.to_move(state) == CHANCE:
        return {GAME.text(state)}
    return set().union(*(ends_by_recursion(GAME.result(state, action)) for action in GAME.legal_actions(state)))


def test_the_ends_of_a_turn_are_those_of_all_its_orders_and_their_paths_lead_there():
    for state in positions(1, 150):
        found = turn_ends(GAME, state)
        assert {GAME.text(end) for end, _ in found} == ends_by_recursion(state) and len(found) > 0
        for end, path in found:
            here = state
            for action in path:
                here = GAME.result(here, action)
            assert GAME.text(here) == GAME.text(end)


@needs_gnubg
@pytest.mark.parametrize(
    ("roll", "play"), [("31", "8/5 6/5"), ("61", "13/7 8/7"), ("42", "8/4 6/4"), ("65", "24/18 18/13")]
)
def test_it_opens_as_theory_has_it(roll, play):
    player, state = make_player("gnubg:plies=0", GAME), GAME.play(roll)
    choice = player.choose(state)
    assert sorted(GAME.name_of(action) for action in choice.pv) == sorted(play.split())
    assert choice.value == choice.actions[0].value == max(each.value for each in choice.actions)
    after = GAME.result(state, choice.action)  # within the turn, too
    assert player.choose(after).action == choice.pv[1]


@needs_gnubg
def test_its_estimate_of_the_first_position_is_the_published_one():
    engine = GnuBackgammon(GAME)
    engine.judged(GAME.play("31"))
    assert engine.equities([GAME.text(GAME.initial()).split(":")[0]]) == [pytest.approx(0.067, abs=0.002)]


@needs_gnubg
def test_equities_are_of_the_player_on_roll():
    almost_home, far_away = [1] + 24 * [0], [*22 * [0], 15, 0, 0]
    engine = GnuBackgammon(GAME)
    engine.judged(GAME.play("31"))
    lost, won = engine.equities([position_id(almost_home, far_away), position_id(far_away, almost_home)])
    assert (lost, won) == (pytest.approx(-3), pytest.approx(3))  # all of the loser's checkers are in the winner's home


@needs_gnubg
def test_it_beats_a_random_mover():
    payoff = Match(GAME, "gnubg:plies=0", "random").play(1, 0)
    assert payoff.score()[0] == 1.0


@needs_gnubg
def test_it_loses_nothing_by_its_own_estimates_and_a_random_mover_much(capsys):
    arguments = ["gnubg:plies=0", "random", "--games", "1", "--workers", "0", "--json"]
    assert backgammon.main(arguments) == 0
    own, random = json.loads(capsys.readouterr().out)
    assert own["lost"] == 0 and own["best"] == 1 and own["turns"] == random["turns"] > 10
    assert random["lost"] > 0.05 and random["blunders"] > 0.1
    assert random["low"] < random["lost"] < random["high"]


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    """A program called gnubg that answers every line with the one given; '': that ends at once."""

    def make(answer):
        program = tmp_path / "gnubg"
        program.write_text(
            f"#!/bin/sh\necho ready\nwhile read -r line; do echo '{answer}'; done\n" if answer else "#!/bin/sh\n"
        )
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
        return make_player("gnubg", GAME)

    return make


@pytest.mark.parametrize("answer", ["equities", "equities 1 2", "equities x", "equities " + "7 " * 100])
def test_answers_that_are_no_equities_forfeit(answer, stand_in):
    player = stand_in(answer)
    with pytest.raises(Forfeit, match=r"expected [0-9]+ equities of -3 to 3, got '"):
        player.choose(GAME.play("31"))


def test_a_program_that_is_not_gnubg_is_one_line(stand_in):
    with pytest.raises(UserError, match=r"gnubg: '.*' left with exit code 0 as it was started"):
        stand_in("")


@pytest.mark.parametrize("name", ["othello", "backgammon:start=hyper"])
def test_other_games_are_refused(name):
    with pytest.raises(UserError, match="gnubg: expected backgammon with 15 checkers a side, got"):
        make_player("gnubg", load(name))


def test_the_script_is_shipped():
    assert (Path(backgammon.__file__).parents[1] / "arena/engines/gnubg_script.py").is_file()
