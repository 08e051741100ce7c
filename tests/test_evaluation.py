"""Linear EVAL: its bounds, its symmetry, its file."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from base.errors import UserError
from classical.eval import INSIDE, Eval, default_eval
from classical.eval.__main__ import main
from classical.minimax import Minimax
from games import load, variants
from games.formats.words import played

WITH_FEATURES = [name for name in variants() if load(name).rules.features is not None]


def random_positions(game, n, seed=0):
    """Unfinished positions on the paths of random games."""
    rng = np.random.default_rng(seed)
    found, state = [], game.initial()
    while len(found) < n:
        state = game.initial() if game.is_terminal(state) else state
        actions = game.legal_actions(state)
        found.append(state)
        state = game.result(state, int(rng.choice(actions)))
    return found


@pytest.mark.parametrize("name", WITH_FEATURES)
def test_eval_is_strictly_between_loss_and_win_and_antisymmetric_to_the_last_bit(name):
    game = load(name)
    large = {feature: 1e3 * (-1) ** i for i, feature in enumerate(game.rules.feature_names)}
    for weights in (default_eval(game), Eval(game.name, game.version, large)):
        for state in random_positions(game, 100):
            values = [weights.value(game, state, player) for player in range(game.players)]
            assert all(abs(value) < 1 for value in values)
            if game.players == 2:
                assert values[0] == -values[1]


@pytest.mark.parametrize("name", ["othello", "backgammon", "dots_and_boxes:players=3"])
def test_eval_is_the_squashed_weighted_sum_of_the_named_features(name):
    game = load(name)
    weights = default_eval(game)
    for state in random_positions(game, 50):
        for player in range(game.players):
            total = sum(weights.weights[key] * value for key, value in game.features(state, player).items())
            expected = INSIDE * math.tanh(weights.unit * total)
            assert weights.value(game, state, player) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("name", WITH_FEATURES)
def test_every_game_with_features_has_weights(name):
    weights = default_eval(load(name))
    assert any(weights.weights.values())
    assert weights.array(load(name)).dtype == np.float32


def test_a_game_without_features_has_an_eval_of_zero():
    game = load("tree:two_ply.json")
    assert default_eval(game).value(game, game.initial(), 0) == 0.0
    assert default_eval(game).array(game).shape == (0,)


@pytest.mark.parametrize(
    ("name", "opening", "games", "least"),
    [
        ("tic_tac_toe", 2, 200, 0.15),
        ("nim", 1, 40, 0.7),
        ("connect_four", 4, 40, 0.6),
        ("othello:size=6", 6, 30, 0.6),
        ("dots_and_boxes", 4, 30, 0.6),
        ("go:size=5,komi=0.5", 4, 16, 0.6),
    ],
)
def test_hand_set_weights_beat_none_at_depth_2(name, opening, games, least):
    """In pairs of games from one random opening with colours exchanged. Who has no weights takes any of its equal moves."""
    game = load(name)
    hand = default_eval(game)
    nothing = Eval(game.name, game.version, dict.fromkeys(hand.weights, 0.0))
    players = Minimax(game, 2, hand), Minimax(game, 2, nothing)
    total = 0.0
    for number in range(games):
        rng = np.random.default_rng(number // 2)
        state, ply = game.initial(), 0
        while not game.is_terminal(state):
            moves = game.legal_actions(state)
            if ply >= opening:
                choice = players[game.to_move(state) ^ number & 1].choose(state)
                moves = [one.action for one in choice.actions if one.value == choice.value]
            state = game.result(state, int(rng.choice(moves)))
            ply += 1
        total += game.utility(state)[number & 1]
    assert total / games >= least


# ── the file ──


def fitted():
    return Eval(
        "nim:most=7", 1, {f"odd {2**bit}s": 1.5 - bit for bit in range(6)}, 0.25, "by hand", dict.fromkeys(
            (f"odd {2**bit}s" for bit in range(6)), 0.125), 1200,
    )  # fmt: skip


def test_the_file_is_small_and_readable(tmp_path):
    path = tmp_path / "nim.eval.json"
    default_eval(load("nim")).save(path)
    assert path.read_text() == (
        '{\n  "game": "nim:most=7",\n  "version": 1,\n  "unit": 1.0,\n  "note": "set by hand in the game\'s file",\n'
        '  "weights": {\n    "odd 1s": 1.0,\n    "odd 2s": 1.0,\n    "odd 4s": 1.0,\n    "odd 8s": 1.0,\n'
        '    "odd 16s": 1.0,\n    "odd 32s": 1.0\n  }\n}\n'
    )


FINITE = st.floats(-1e3, 1e3)
NAMES = st.text(min_size=1, max_size=8)


@given(
    weights=st.dictionaries(NAMES, FINITE | st.integers(-100, 100), max_size=6),
    unit=st.floats(1e-3, 100),
    note=st.text(max_size=20),
    games=st.none() | st.integers(0, 10**9),
    error=st.none() | st.floats(0, 10),
)
def test_what_is_saved_is_loaded(weights, unit, note, games, error, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "round.eval.json"
    errors = None if error is None else dict.fromkeys(weights, error)
    saved = Eval("a game", 3, weights, unit, note, errors, games)
    saved.save(path)
    assert Eval.load(path) == saved


def test_it_is_printed_as_a_table():
    lines = str(fitted()).splitlines()
    assert lines[0] == "nim:most=7, version 1: EVAL = tanh(0.25 · w·f)"
    assert lines[1] == "  odd 1s       1.500 ± 0.125"
    assert lines[-1] == "fitted on 1,200 games" and lines[-2] == "by hand"


def changed(**changes):
    data = {"game": "nim:most=7", "version": 1, "weights": {f"odd {2**bit}s": 1 for bit in range(6)}} | changes
    return {key: value for key, value in data.items() if value is not ...}


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ([], r"expected an object with game, version, .*, got \[\]"),
        (changed(wieghts={}), "unknown key 'wieghts': .*; did you mean 'weights'\\?"),
        (changed(weights=...), r"expected a 'weights', got \['game', 'version'\]"),
        (changed(game=7), "game: expected a game's name, got 7"),
        (changed(game="othello:size=8"), r"expected weights for nim:most=7 \(version 1\), got some for othello:size=8"),
        (changed(version=2), r"expected weights for .*, got some for nim:most=7 \(version 2\)"),
        (changed(version=True), "version: expected a whole number, got True"),
        (changed(unit=0), "unit: expected a number above 0"),
        (changed(unit="1"), "unit: expected a number above 0, up to 1e\\+06, got '1'"),
        (changed(note=3), "note: expected text, got 3"),
        (changed(games=-1), "games: expected a whole number of at least 0, got -1"),
        (changed(weights=[1]), r"weights: expected a number for each feature, by name, got \[1\]"),
        (changed(weights={"odd 1s": None}), "weights: expected a finite number for 'odd 1s', got None"),
        (changed(weights={"odd 1s": 10**400}), "expected whole numbers of 64 bits, got 1000"),
        (changed(weights={"odd 1s": 1e7}), r"weights: expected at most 1e\+06 in size .*, got 1e\+07 for 'odd 1s'"),
        (
            changed(weights={("odd 3s" if bit == 1 else f"odd {2**bit}s"): 1 for bit in range(6)}),
            "weights: unknown feature 'odd 3s'; did you mean 'odd 2s'\\?",
        ),
        (
            changed(standard_errors={"odd 1s": -1}),
            "standard_errors: expected a number not below 0 for 'odd 1s', got -1",
        ),
        (changed(standard_errors={"odd 1s": 1}), "standard_errors: expected a number for each feature, got none"),
    ],
)
def test_a_file_that_does_not_fit_is_refused_in_one_line(data, expected, tmp_path):
    path = tmp_path / "x.eval.json"
    path.write_text(json.dumps(data))
    with pytest.raises(UserError, match=f"x.eval.json: {expected}") as refusal:
        Eval.load(path, load("nim"))
    assert "\n" not in str(refusal.value)


def test_a_nonexistent_player_has_no_eval():
    game = load("nim")
    with pytest.raises(UserError, match="player: expected 0 to 1, got 2"):
        default_eval(game).value(game, game.initial(), 2)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
KEYS = st.sampled_from(["game", "version", "unit", "note", "games", "weights", "standard_errors", "odd 1s", "odd 2s"])


@settings(max_examples=200)
@given(changes=st.dictionaries(KEYS, JSON, max_size=3), weights=st.dictionaries(KEYS | NAMES, JSON, max_size=3))
def test_any_json_is_weights_or_one_line(changes, weights, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "fuzz.eval.json"
    data = changed(**changes)
    if isinstance(data.get("weights"), dict):
        data["weights"] |= weights
    path.write_text(json.dumps(data))
    try:
        found = Eval.load(path)
        str(found)
        found.array(load("nim"))
    except UserError as error:
        assert "\n" not in str(error)


def test_a_feature_that_a_file_does_not_name_counts_nothing(tmp_path):
    path = tmp_path / "material.eval.json"
    path.write_text(json.dumps({"game": "chess", "version": 1, "unit": 0.25, "weights": {"pawns": 1, "rooks": 5}}))
    game = load("chess")
    state = played(game, "1. e4 d5 2. exd5 c6 3. dxc6")
    assert Eval.load(path, game).value(game, state, 0) == pytest.approx(0.999 * math.tanh(0.25 * 2))
    with pytest.raises(UserError, match="unknown feature 'pawn'; did you mean 'pawns'"):
        Eval("chess", 1, {"pawn": 1}).array(game)


def test_an_exported_file_is_the_games_own_eval(tmp_path, capsys):
    path = tmp_path / "mine.eval.json"
    assert main(["chess", "--export", str(path)]) == 0
    with pytest.raises(UserError, match="--export: expected a new file"):  # it may have been edited
        main(["chess", "--export", str(path)])
    assert Eval.load(path, load("chess")) == default_eval(load("chess"))
    with pytest.raises(UserError, match="expected a game with features"):
        main(["tree:two_ply.json"])


def test_products_of_features_and_weights_sum_to_eval(capsys):
    game = load("chess")
    moves = "1. e4 e5 2. Nf3 Nc6 3. Bb5 Nf6 4. Bxc6"
    assert main(["chess", "--moves", moves]) == 0
    lines = capsys.readouterr().out.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("feature"))
    products = [float(line.split()[-1]) for line in lines[start + 1 : -2]]
    total = float(lines[-2].split()[-1])
    assert len(products) == len(game.rules.feature_names)
    assert sum(products) == pytest.approx(total, abs=0.02)
    found = default_eval(game).value(game, played(game, moves), 1)
    assert lines[-1].endswith(f"= {found:+.3f}") and found < -0.5
