"""Players by name, and what `python -m arena choose | explain` does with them."""

import json
import re
import resource
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from commands import command
from documents import ROOT
from hypothesis import given, settings
from hypothesis import strategies as st

import games
from arena.choose import rounded
from arena.players import AFTER_GUMBEL, brief, kinds, make_player, pack_player, parse_player, unpack_player
from base.errors import UserError
from checkpoints import Card, save
from classical.eval import Eval, default_eval
from classical.eval.weights import SHIPPED
from games import load
from mcts.gumbel import Gumbel
from mcts.puct import PUCT

SMALL = ["random", "minimax:depth=2", "maxn:depth=2", "alphabeta:depth=2", "uct:sims=50", "solver:mb=1"]
SMALL += ["uct:sims=50,rollout=0", "alphabeta:depth=2,tt=off,killers=off,quiescence=off"]


@pytest.mark.parametrize("text", SMALL)
def test_every_kind_of_player_plays_a_game_to_its_end(text):
    game = load("tic_tac_toe")
    player, state = make_player(text, game), game.initial()
    player.new_game()
    while not game.is_terminal(state):
        choice = player.choose(state)
        assert choice.action in game.legal_actions(state)
        assert -1 <= choice.value <= 1
        player.advance(choice.action)
        state = game.result(state, choice.action)


def test_games_with_dice_or_many_players_have_players():
    game = load("backgammon")
    state = game.play("31")
    assert make_player("expectiminimax:depth=1", game).choose(state).action in game.legal_actions(state)
    game = load("dots_and_boxes:rows=1,cols=2,players=3")
    assert make_player("maxn:depth=2", game).choose(game.initial()).action in game.legal_actions(game.initial())


@pytest.mark.parametrize("text", SMALL)
def test_a_resolved_text_names_the_same_player(text):
    game = load("tic_tac_toe")
    player = make_player(text, game)
    assert make_player(player.text, game).text == player.text


def test_a_player_with_a_seed_repeats_itself():
    game = load("connect_four")
    for text in ("uct:sims=200,seed=3", "random:seed=3", "alphabeta:depth=5"):
        player, choices = make_player(text, game), []
        for _ in range(2):
            player.new_game()
            choice = player.choose(game.play("4 4 3"))
            choices.append((choice.action, choice.value, choice.nodes, choice.actions))
        assert choices[0] == choices[1]


@pytest.mark.parametrize(
    ("text", "game", "expected"),
    [
        (
            "alphabetta:depth=3",
            "othello",
            r"unknown player 'alphabetta': expected one of .*; did you mean 'alphabeta'\?",
        ),
        ("alphabeta", "othello", "alphabeta: expected a limit: depth, nodes or ms"),
        ("alphabeta:dept=3", "othello", r"alphabeta: unknown option 'dept'; .*; did you mean 'depth'\?"),
        ("alphabeta:depth=3,tt=maybe", "othello", "alphabeta: tt: expected on or off, got 'maybe'"),
        (
            "alphabeta:depth=3",
            "backgammon",
            r"alphabeta: expected two players, zero sum and no chance, .*; expectiminimax, maxn and uct play it",
        ),
        ("minimax:depth=0", "othello", "minimax: depth: expected 1 to 100, got '0'"),
        ("minimax", "othello", "minimax: expected a value for 'depth', as in minimax:depth=…"),
        ("uct", "othello", "expected a limit, sims or ms, got none"),
        ("uct:sims=10,eval=x.json", "othello", "uct: eval: expected rollout below 1"),
        ("random:book=nowhere.jsonl", "othello", "nowhere.jsonl"),
    ],
)
def test_a_wrong_player_is_one_line(text, game, expected):
    with pytest.raises((UserError, OSError), match=expected) as caught:
        make_player(text, load(game))
    assert "\n" not in str(caught.value)


@settings(max_examples=200)
@given(text=st.text(st.sampled_from('abcdehilmnoprstux:=,019" '), max_size=20), kind=st.sampled_from(["", *kinds()]))
def test_any_text_is_a_player_or_one_line(text, kind):
    try:
        make_player(f"{kind}:{text}" if kind else text, load("tic_tac_toe"))
    except (UserError, OSError) as error:
        assert "\n" not in str(error)


def test_a_network_without_a_limit_searches_with_200_simulations():
    game = load("tic_tac_toe")
    one, other = (make_player(f"net:tic_tac_toe/best{rest}", game).choose(game.initial()) for rest in ("", ",sims=200"))
    assert (one.action, one.value, one.nodes) == (other.action, other.value, other.nodes)


def arena(*words, given=""):
    return command(["arena", *words], given=given)


@pytest.mark.parametrize("workers", ["0", "2"])
def test_choose_answers_each_line_in_order(workers):
    game = load("tic_tac_toe")
    lines = ["a1 b2", "", "position:x.o/.../...", "a1 a1", "a1 b1 a2 b2 a3"]
    words = ["choose", "tic_tac_toe", "--player", "alphabeta:depth=9,exact=on", "--workers", workers]
    done = arena(*words, given="\n".join(lines))
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 1 and len(answers) == len(lines)
    for answer in answers[:3]:
        assert list(answer) == ["action", "value", "proven", "pv", "depth", "nodes", "seconds", "actions"]
        assert answer["action"] == answer["pv"][0] and answer["action"] in game.names and answer["seconds"] < 5
    assert answers[1]["value"] == 0 and answers[1]["proven"]
    assert "illegal action 'a1'" in answers[3]["error"] and "finished game" in answers[4]["error"]


def test_explain_shows_the_search():
    done = arena("explain", "tic_tac_toe", "--player", "solver", "--moves", "a1 b1")
    assert done.returncode == 0 and "plays" in done.stdout and "proven" in done.stdout


def test_explain_has_the_solvers_value_of_every_move_and_its_line_to_the_end():
    game = load("tic_tac_toe")
    for moves in ("", "a1 b2", "a1 b1 a2", "a1 b2 c3"):
        state = game.play(moves)
        choice = make_player("solver", game).explain(state)
        for each in choice.actions:
            after = game.result(state, each.action)
            other = -make_player("solver", game).choose(after).value if not game.is_terminal(after) else each.value
            assert each.bound == "exact" and each.value == other
        for action in choice.pv:
            state = game.result(state, action)
        assert game.is_terminal(state) and game.utility(state)[game.to_move(game.play(moves))] == choice.value


def test_explain_refuses_options_of_a_drawing_without_one():
    for option in ("--depth 3", "--top 2", "--order"):
        done = arena("explain", "tic_tac_toe", "--player", "minimax:depth=2", *option.split())
        assert done.returncode == 2 and f"{option.split()[0]}: expected --tree FILE with it" in done.stderr


def test_a_number_that_is_too_long_is_refused_as_that():
    with pytest.raises(UserError, match=r"depth: expected a whole number of at most 18 digits, got '9{20}"):
        make_player(f"alphabeta:depth={'9' * 40}", load("connect_four"))


def test_a_checkpoint_is_named_as_it_can_be_given(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    released = ROOT / "checkpoints" / "released" / "connect_four" / "small"
    shutil.copytree(released, tmp_path / "runs" / "first" / "checkpoints" / "00000512")
    shutil.copytree(released, tmp_path / "mine")
    game = load("connect_four")
    for text, named in (
        ("first@512", "first@512"),
        ("first", "first@512"),
        ("small", "connect_four/small"),
        ("./mine", "mine"),
    ):
        resolved = make_player(f"net:{text},sims=3", game).text
        assert brief(resolved) == f"net:{named},sims=3"
        assert make_player(brief(resolved), game).text == resolved


def test_the_name_of_a_player_follows_the_content_of_its_files(tmp_path):
    game = load("othello")
    path = tmp_path / "mine.eval.json"
    default_eval(game).save(path)
    text = f'alphabeta:depth=2,eval="{path}"'
    before = make_player(text, game)
    edited = dict(default_eval(game).weights)
    edited[next(iter(edited))] += 1
    replace(default_eval(game), weights=edited).save(path)
    after = make_player(text, game)
    assert before.text == after.text
    assert before.name != after.name
    assert make_player("alphabeta:depth=2", game).name == make_player("alphabeta:depth=2", game).text


@pytest.mark.parametrize("text", ["alphabeta:depth=1,tt_mb=256", "solver:mb=256"])
def test_tables_are_allocated_before_the_first_move(text):
    """The first write to a page of memory takes time. After `make_player` every page was written."""
    thinker = make_player(text, load("tic_tac_toe")).thinker
    table = (thinker._prover if text.startswith("solver") else thinker).table.view(np.uint8)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    table[::4096] = 0
    fetched = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
    assert fetched < len(table) / (4 << 20)  # pages have 2 MB at most


def test_numbers_for_json_have_six_digits_however_deep_they_are():
    given = {
        "one": 1 / 3,
        "many": [2 / 3, None, [1e-9]],
        "inside": {"deep": 10 / 3},
        "count": 7,
        "is": True,
        "text": "0.123456789",
    }
    found = {
        "one": 0.333333,
        "many": [0.666667, None, [0.0]],
        "inside": {"deep": 3.333333},
        "count": 7,
        "is": True,
        "text": "0.123456789",
    }
    assert rounded(given) == found


def cache_in(folder):
    """A cache folder of its own for files of players; compiled code stays where it is."""

    def cache_folder(*parts):
        path = folder.joinpath("cache", *parts)
        path.mkdir(parents=True, exist_ok=True)
        return path

    return cache_folder


@pytest.mark.parametrize("path", sorted(SHIPPED.glob("*.eval.json")), ids=lambda path: path.name)
def test_the_fitted_weights_of_a_game_are_a_player_with_one_name_everywhere(path, tmp_path, monkeypatch):
    weights = Eval.load(path)
    game = load(weights.game)
    weights.check(game)
    assert weights.games >= 2000 and weights.weights != default_eval(game).weights
    player = make_player("alphabeta:depth=1,eval=fitted", game, ready=False)
    assert "eval=fitted#" in player.name and brief(player.text) == "alphabeta:depth=1,eval=fitted"
    elsewhere = tmp_path / "fitted"
    shutil.copytree(SHIPPED, elsewhere)
    monkeypatch.setattr("classical.eval.weights.SHIPPED", elsewhere)
    assert make_player("alphabeta:depth=1,eval=fitted", game, ready=False).name == player.name
    assert make_player(f"alphabeta:depth=1,eval={path}", game, ready=False).name != player.name
    with pytest.raises(UserError, match=r"eval=fitted: expected one of .*chess.*, got tic_tac_toe"):
        make_player("alphabeta:depth=1,eval=fitted", load("tic_tac_toe"))


def test_a_packed_player_can_be_made_without_its_files(tmp_path, monkeypatch):
    monkeypatch.setattr("arena.players.cache_folder", cache_in(tmp_path))
    game, path = load("othello"), tmp_path / "mine.eval.json"
    weights = dict(default_eval(game).weights)
    weights[next(iter(weights))] += 1
    replace(default_eval(game), weights=weights).save(path)
    player = make_player(f'alphabeta:depth=2,eval="{path}"', game)
    packed = pack_player(player)
    choice = player.choose(game.initial())
    for content in (None, "{}"):  # the file is missing, or another one
        path.unlink()
        if content is not None:
            path.write_text(content)
        again = unpack_player(packed, game)
        assert (again.text, again.name) == (player.text, player.name)
        assert replace(again.choose(game.initial()), seconds=0) == replace(choice, seconds=0)
        path.touch()


def test_a_packed_network_can_be_made_without_its_checkpoint(tmp_path, monkeypatch):
    monkeypatch.setattr("arena.players.cache_folder", cache_in(tmp_path))
    game = load("tic_tac_toe")
    released = make_player("net:best,sims=16", game)
    folder = shutil.copytree(Path(parse_player(released.text)[2]["checkpoint"]), tmp_path / "copy")
    player = make_player(f"net:{folder},sims=16", game)
    packed, choice = pack_player(player), player.choose(game.initial())
    shutil.rmtree(folder)
    again = unpack_player(packed, game)
    assert (again.text, again.name) == (player.text, player.name) and again.name == released.name
    assert replace(again.choose(game.initial()), seconds=0) == replace(choice, seconds=0)


# ── a network searches as its run did ──


@pytest.fixture
def trained(tmp_path):
    """make(search) -> a checkpoint of a run with these settings of search."""
    from nets import make_net

    def make(**search):
        game = load("tic_tac_toe")
        net = make_net("mlp:1x8", game, seed=1)
        card = Card(game.name, game.version, net.text, configuration={"search": search})
        return save(tmp_path / f"net{len(list(tmp_path.iterdir()))}", net, card)

    return make


@pytest.mark.parametrize(
    ("stored", "text", "expected"),
    [
        ({}, "", PUCT()),
        ({"method": "puct", "c_init": 2.5, "fpu": 0.2}, "", PUCT(c_init=2.5)),
        ({"method": "puct", "c_init": 2.5, "fpu": 0.3}, ",fpu=0.1,solve=off", PUCT(c_init=2.5, fpu=0.1, solve=False)),
        ({"method": "puct", "c_init": 2.5}, ",c_init=1.25", PUCT()),
        ({"method": "gumbel", "considered": 3}, "", Gumbel(considered=3)),
        ({"method": "gumbel", "considered": 3}, ",method=puct", PUCT(**AFTER_GUMBEL)),
        ({"method": "gumbel"}, ",method=puct,prior_temperature=1,c_init=1.25", PUCT()),
        ({"method": "puct", "c_init": 2.5}, ",method=gumbel,considered=5", Gumbel(considered=5)),
        ({"method": "puct", "rollout": 0.25, "key of older programs": 1}, "", PUCT(rollout=0.25)),
    ],
)
def test_a_network_searches_by_the_settings_of_its_run_and_the_text_changes_them(stored, text, expected, trained):
    game, path = load("tic_tac_toe"), trained(**stored)
    player = make_player(f'net:"{path}",sims=5{text}', game, ready=False)
    assert player.thinker.search.settings == expected.resolved(game)
    again = make_player(player.text, game, ready=False)
    assert (again.text, again.name) == (player.text, player.name)
    packed = pack_player(player)
    assert unpack_player(packed, game).thinker.search.settings == expected.resolved(game)


def test_by_the_clock_a_network_searches_with_puct_where_its_method_shares_out_a_known_number(trained):
    game, path = load("tic_tac_toe"), trained(method="gumbel", considered=3)
    player = make_player(f'net:"{path}",ms=5', game)
    assert player.thinker.search.settings == PUCT(**AFTER_GUMBEL).resolved(game) and "method=puct" in player.text
    assert player.choose(game.initial()).nodes > 0
    with pytest.raises(UserError, match="ms: expected a limit in sims alone with method 'gumbel'"):
        make_player(f'net:"{path}",ms=5,method=gumbel', game)


@pytest.mark.parametrize(
    ("stored", "text", "words"),
    [
        ({}, ",c_int=2", r"net: unknown option 'c_int'; options are checkpoint, .*c_init.*; did you mean 'c_init'\?"),
        ({}, ",considered=2", "net: unknown option 'considered'"),
        ({}, ",c_init=x", "net: c_init: expected a finite number, got 'x'"),
        ({}, ",method=gumble", r"method: expected one of .*, got 'gumble'; did you mean 'gumbel'\?"),
        ({"c_init": "much"}, "", "search.c_init: expected a finite number, got 'much'"),
    ],
)
def test_a_wrong_setting_of_search_is_one_line(stored, text, words, trained):
    with pytest.raises(UserError, match=words):
        make_player(f'net:"{trained(**stored)}",sims=5{text}', load("tic_tac_toe"), ready=False)


WITHOUT_EVAL = ["alphabeta:depth=3", "alphabeta:ms=5", "minimax:depth=2", "maxn:depth=2", "uct:sims=9,rollout=0.5"]


@pytest.fixture
def nim_without(tmp_path):
    """Nim from a file, without its features or without their weights."""
    source = (Path(games.__file__).parent / "nim.py").read_text()

    def made(*what):
        text = source
        for each in what:
            text = re.sub(rf"{each}=(\[.*?\] \* \d+|\[[^]]*\]|\w+),\s*", "", text)
            assert f"{each}=" not in text
        path = tmp_path / f"nim_without_{len(what)}.py"
        path.write_text(text)
        return load(str(path))

    return made


@pytest.mark.parametrize("text", WITHOUT_EVAL)
def test_a_player_warns_where_eval_matters_and_is_zero_everywhere(text, nim_without):
    kind = text.split(":")[0]
    with pytest.warns(UserWarning, match=rf"has no features, so EVAL is 0 at every leaf of {kind} .*; write features "):
        make_player(text, nim_without("features", "feature_names", "feature_weights"), ready=False)
    with pytest.warns(UserWarning, match=r"has no feature_weights, .* name a file with eval="):
        make_player(text, nim_without("feature_weights"), ready=False)
    make_player(text, load("nim"), ready=False)  # no warning, which would be an error here


def test_a_worker_does_not_repeat_the_warning(nim_without):
    game = nim_without("features", "feature_names", "feature_weights")
    with pytest.warns(UserWarning, match="has no features"):
        player = make_player("minimax:depth=2", game, ready=False)
    unpack_player(pack_player(player), game)


@pytest.mark.parametrize("text", ["alphabeta:depth=15", "uct:sims=9", "random", "solver"])
def test_a_player_that_needs_no_eval_does_not_warn(text, nim_without):
    make_player(text, nim_without("features", "feature_names", "feature_weights"), ready=False)
