"""Alpha-beta: exact switches keep minimax's value in every combination; limits; what is answered.

The reference is a negamax of ten lines over the same rules and the same EVAL, with nothing else in common.
"""

import itertools
import json
import signal
import threading
import time
from typing import Any

import numpy as np
import pytest

from base.errors import UserError
from classical.alphabeta import AlphaBeta, AlphaBetaSettings
from classical.alphabeta.player import Search
from classical.alphabeta.table import action_of, bound_of, depth_of, find, new_table, store, stored_score
from classical.alphabeta.workspace import COUNTERS, END, FILLED, LEAF, LOWER, PRUNED, workspace
from classical.eval import Eval, evaluator, scratch
from classical.scores import UNIT, WIN, score_of, utility_of
from games import Game, Rules, load

ENHANCEMENTS = ("iterative", "pvs", "aspiration", "tt", "ordering", "killers", "history")
GAMES = {  # deepest search, fewest and most random plies before it, positions
    "tic_tac_toe": (9, 0, 8, 120),
    "connect_four": (6, 0, 40, 120),
    "othello:size=6": (4, 0, 34, 120),
    "checkers": (5, 0, 120, 150),
    "dots_and_boxes:rows=2,cols=2": (4, 0, 11, 120),
    "dots_and_boxes": (3, 12, 23, 100),
    "nim": (6, 0, 8, 100),
    "go:size=3,komi=0": (3, 0, 40, 100),
    "chess": (4, 0, 60, 40),
}


def some_eval(game: Game, seed: int = 1) -> Eval:
    """Weights at random: with the game's own zeros every EVAL would be equal."""
    rng = np.random.default_rng(seed)
    weights = {name: float(rng.normal() * 0.1) for name in game.rules.feature_names}
    return Eval(game.name, game.version, weights)


def some_position(game: Game, rng: np.random.Generator, fewest: int, most: int) -> Any:
    """After random play; never a finished game."""
    while True:
        state = game.initial()
        for _ in range(int(rng.integers(fewest, most + 1))):
            legal = game.legal_actions(state)
            if not legal:
                break
            state = game.result(state, int(rng.choice(legal)))
        if game.legal_actions(state):
            return state


def reference(rules: Rules) -> Any:
    """Plain negamax: (states, actions, weights, values, depth) -> score of the mover at states[0]."""
    legal_actions, result, to_move = rules.legal_actions, rules.result, rules.to_move
    is_terminal, utility, evaluate = rules.is_terminal, rules.utility, evaluator(rules)

    def value_of(
        states: Any, actions: Any, weights: Any, values: Any, ply: Any, depth: Any, player: Any, goes_on: Any
    ) -> Any:
        state = states[ply]
        if depth <= 0 and goes_on == 0:
            return np.int64(np.rint(evaluate(state, player, weights, values) * UNIT))
        best = np.int64(-WIN - 1)
        for i in range(legal_actions(state, actions[ply])):
            states[ply + 1] = state
            child = states[ply + 1]
            result(child, actions[ply, i])
            if is_terminal(child):
                score = np.int64(score_of(utility(child, player), ply + 1))
            elif to_move(child) == player:
                score = value_of(
                    states, actions, weights, values, ply + 1, max(depth - 1, np.int64(0)), player, np.int64(1)
                )
            else:
                score = -value_of(
                    states,
                    actions,
                    weights,
                    values,
                    ply + 1,
                    max(depth - 1, np.int64(0)),
                    np.int64(1 - player),
                    np.int64(0),
                )
            best = max(best, score)
        return best

    def minimax(states: Any, actions: Any, weights: Any, values: Any, depth: int) -> Any:
        mover = np.int64(to_move(states[0]))
        return value_of(states, actions, weights, values, np.int64(0), np.int64(depth), mover, np.int64(1))

    return minimax


def minimax(game: Game, state: Any, depth: int, weights: Eval) -> int:
    levels = depth + 80
    actions = np.zeros((levels, game.rules.max_legal), np.int32)
    kernel = game.kernel(reference)
    return int(kernel(game.scratch(state, levels), actions, weights.array(game), scratch(game.rules), depth))


def searched(player: AlphaBeta, state: Any) -> Search:
    search = Search(player, player._workspace, state)
    search.run(time.perf_counter())
    return search


def some_enhancements(rng: np.random.Generator) -> dict[str, Any]:
    switches: dict[str, Any] = {name: bool(rng.integers(2)) for name in ENHANCEMENTS}
    return switches | {"presort": int(rng.integers(4)), "tt_mb": 1}


# ── exactness ──


@pytest.mark.parametrize("name", GAMES)
def test_exact_enhancements_keep_minimaxs_value_in_every_combination(name: str) -> None:
    game, rng = load(name), np.random.default_rng(7)
    deepest, fewest, most, positions = GAMES[name]
    weights = some_eval(game)
    players: dict[str, AlphaBeta] = {}
    for _ in range(positions):
        state = some_position(game, rng, fewest, most)
        depth = int(rng.integers(1, deepest + 1))
        expected = minimax(game, state, depth, weights)
        for _ in range(3):
            switches = some_enhancements(rng)
            settings = AlphaBetaSettings(depth=depth, exact=True, **switches)
            player = players.setdefault(repr(settings), AlphaBeta(game, settings, weights))  # its table has seen others
            search = searched(player, state)
            assert search.score == expected, (game.text(state), settings)
            choice = search.choice(0.0)
            assert choice.value == utility_of(expected)
            if switches["pvs"] or not switches["tt"]:
                assert value_at_the_end(game, state, choice.pv, search.depth, weights) == expected, settings


def value_at_the_end(game: Game, state: Any, line: tuple[int, ...], depth: int, weights: Eval) -> int:
    """Plays the line, which must be complete and legal; the value at its end for the first mover."""
    viewer = game.to_move(state)
    assert viewer is not None
    before = None
    for action in line:
        before = game.to_move(state)
        state = game.result(state, action)  # refuses what is illegal
    if game.is_terminal(state):
        return int(score_of(game.utility(state)[viewer], len(line)))
    assert len(line) >= depth and game.to_move(state) != before
    return round(weights.value(game, state, viewer) * UNIT)


@pytest.mark.parametrize("name", ["connect_four", "othello:size=6", "checkers", "dots_and_boxes:rows=2,cols=2"])
def test_every_combination_of_switches_agrees_on_one_position(name: str) -> None:
    game, rng = load(name), np.random.default_rng(3)
    depth, fewest, most, _ = GAMES[name]
    depth = min(depth, 4)
    state, weights = some_position(game, rng, fewest, most // 2), some_eval(game)
    expected = minimax(game, state, depth, weights)
    for switches in itertools.product([False, True], repeat=len(ENHANCEMENTS)):
        settings = AlphaBetaSettings(depth=depth, exact=True, tt_mb=1, **dict(zip(ENHANCEMENTS, switches, strict=True)))
        assert searched(AlphaBeta(game, settings, weights), state).score == expected, settings


def random_tree(rng: np.random.Generator, depth: int) -> Any:
    if depth == 0 or rng.random() < 0.15:
        return float(rng.choice([-10, -7, -3, 0, 0, 3, 7, 10]))
    actions = {letter: random_tree(rng, depth - 1) for letter in "abcd"[: int(rng.integers(1, 5))]}
    return {"player": int(rng.integers(2)), "actions": actions}


def tree_game(tmp_path: Any, tree: Any, name: str = "tree.json") -> Game:
    path = tmp_path / name
    path.write_text(json.dumps({"players": 2, "scale": 10, "tree": tree}))
    return load(f'tree:"{path}"')


def test_trees_of_any_shape_and_any_movers_have_minimaxs_value(tmp_path: Any) -> None:
    rng = np.random.default_rng(5)
    for i in range(1):
        game = tree_game(tmp_path, {"player": 0, "actions": {x: random_tree(rng, 7) for x in "abc"}}, f"{i}.json")
        weights = some_eval(game)
        for depth in range(1, 9):
            expected = minimax(game, game.initial(), depth, weights)
            for _ in range(20):
                settings = AlphaBetaSettings(depth=depth, exact=True, **some_enhancements(rng))
                assert searched(AlphaBeta(game, settings, weights), game.initial()).score == expected


@pytest.mark.parametrize("name", ["connect_four", "othello:size=6", "checkers", "dots_and_boxes:rows=2,cols=2"])
def test_multipv_all_gives_every_action_its_minimax_value(name: str) -> None:
    game, rng = load(name), np.random.default_rng(11)
    deepest, fewest, most, _ = GAMES[name]
    weights = some_eval(game)
    for _ in range(30):
        state, depth = some_position(game, rng, fewest, most), int(rng.integers(1, min(deepest, 4) + 1))
        settings = AlphaBetaSettings(depth=depth, exact=True, multipv="all", **some_enhancements(rng))
        choice = AlphaBeta(game, settings, weights).choose(state)
        mover = game.to_move(state)
        assert sorted(one.action for one in choice.actions) == sorted(game.legal_actions(state))
        for one in choice.actions:
            after = game.result(state, one.action)
            if game.is_terminal(after):
                expected = game.utility(after)[mover]
            elif game.to_move(after) == mover:
                continue  # in the middle of a turn the child's own value is of another depth
            elif depth == 1:
                expected = weights.value(game, after, mover)
            else:
                expected = utility_of(-minimax(game, after, depth - 1, weights))
            assert one.bound == "exact"
            assert one.value == pytest.approx(expected, abs=1e-6)


def test_other_root_actions_carry_upper_bounds_that_hold() -> None:
    game, rng = load("connect_four"), np.random.default_rng(2)
    weights = some_eval(game)
    kinds = set()
    for _ in range(40):
        state = some_position(game, rng, 0, 30)
        choice = AlphaBeta(game, AlphaBetaSettings(depth=5, exact=True, tt_mb=1), weights).choose(state)
        exact = AlphaBetaSettings(depth=choice.depth, exact=True, multipv="all", tt_mb=1)
        values = {one.action: one.value for one in AlphaBeta(game, exact, weights).choose(state).actions}
        assert choice.actions[0].action == choice.action and choice.actions[0].bound == "exact"
        for one in choice.actions:
            kinds.add(one.bound)
            assert one.value is not None and values[one.action] is not None
            assert one.value >= values[one.action] if one.bound == "upper" else one.value == values[one.action]
    assert kinds == {"exact", "upper"}


# ── what textbooks say of alpha-beta ──


def test_the_two_ply_tree_prunes_exactly_the_leaves_4_and_6() -> None:
    game = load("tree:two_ply.json")
    player = AlphaBeta(game, AlphaBetaSettings.plain(depth=2), log=True)
    choice = player.choose(game.initial())
    assert (choice.value, choice.proven, [game.names[action] for action in choice.pv]) == (3 / 16, True, ["a1", "b1"])
    log = player.log()
    assert [game.names[edge["action"]] for edge in log if edge["kind"] == PRUNED] == ["c2", "c3"]
    seen = [game.names[edge["action"]] for edge in log if edge["kind"] != PRUNED]
    assert seen == ["a1", "b1", "b2", "b3", "a2", "c1", "a3", "d1", "d2", "d3"]
    assert [game.names[edge["action"]] for edge in log if edge["leads"] == END] == [
        "b1",
        "b2",
        "b3",
        "c1",
        "d1",
        "d2",
        "d3",
    ]
    parents = {game.names[edge["action"]]: edge["parent"] for edge in log}
    assert (parents["a2"], parents["c3"]) == (-1, seen.index("a2"))


def test_without_an_eval_futility_cuts_nothing() -> None:
    """EVAL is zero everywhere there and bounds nothing: a2 is worth 2/16."""
    game = load("tree:two_ply.json")
    choice = AlphaBeta(game, AlphaBetaSettings(depth=2)).choose(game.initial())
    assert choice.proven and choice.counters.get("futility_prunes", 0) == 0
    upper = {game.names[each.action]: each.value for each in choice.actions}
    assert upper == {"a1": 3 / 16, "a2": 2 / 16, "a3": 2 / 16}


def uniform_tree(branching: int, depth: int, value: int = 0) -> Any:
    """Perfectly ordered: the first action of every node is a best one."""
    if depth == 0:
        return value
    player = uniform_tree.height - depth & 1  # type: ignore[attr-defined]
    worse = -1 if player == 0 else 1
    return {
        "player": player,
        "actions": {f"m{i}": uniform_tree(branching, depth - 1, value + worse * i) for i in range(branching)},
    }


@pytest.mark.parametrize(("branching", "depth"), [(2, 6), (3, 5), (5, 4)])
def test_a_perfectly_ordered_uniform_tree_has_knuth_and_moores_leaves(
    tmp_path: Any, branching: int, depth: int
) -> None:
    uniform_tree.height = depth  # type: ignore[attr-defined]
    path = tmp_path / "uniform.json"
    path.write_text(json.dumps({"players": 2, "scale": 100, "tree": uniform_tree(branching, depth)}))
    game = load(f'tree:"{path}"')
    choice = AlphaBeta(game, AlphaBetaSettings.plain(depth=depth)).choose(game.initial())
    assert choice.counters["ends"] == branching ** ((depth + 1) // 2) + branching ** (depth // 2) - 1
    assert choice.counters["leaves"] == choice.counters["evaluations"] == 0


# ── limits ──


@pytest.mark.parametrize("name", ["tic_tac_toe", "connect_four", "othello:size=6", "checkers", "dots_and_boxes", "nim"])
def test_there_is_a_legal_action_under_any_limit(name: str) -> None:
    game, rng = load(name), np.random.default_rng(1)
    limits: list[dict[str, Any]] = [{"nodes": 1}, {"nodes": 50}, {"nodes": 20_000}, {"ms": 1}, {"ms": 5}, {"depth": 1}]
    for limit in limits:
        player = AlphaBeta(game, AlphaBetaSettings(tt_mb=1, **limit), some_eval(game))
        for _ in range(5):
            state = some_position(game, rng, 0, 30)
            choice = player.choose(state)
            assert choice.action in game.legal_actions(state)
            assert choice.pv[0] == choice.action == choice.actions[0].action
            assert choice.depth >= 1 or choice.nodes > 10_000
            if "nodes" in limit:
                assert choice.nodes <= max(limit["nodes"], 10_000) + 2


def test_a_depth_of_one_is_reached_at_least() -> None:
    game = load("othello")
    choice = AlphaBeta(game, AlphaBetaSettings(nodes=1, tt_mb=1)).choose(game.initial())
    assert choice.depth == 1 and all(one.value is not None for one in choice.actions)


def test_moves_are_returned_within_the_time_limit() -> None:
    game, rng = load("othello"), np.random.default_rng(8)
    player = AlphaBeta(game, AlphaBetaSettings(ms=30, tt_mb=1), some_eval(game))
    player.choose(game.initial())  # compiles
    over = []
    for _ in range(20):
        state = some_position(game, rng, 0, 40)
        start = time.perf_counter()
        player.choose(state)
        over.append(time.perf_counter() - start - 0.030)
    assert sorted(over)[len(over) // 2] < 0.02  # the median: a busy machine stops whole processes for longer


def test_an_interrupted_search_stops_at_once_and_can_search_again() -> None:
    game = load("connect_four")
    player = AlphaBeta(game, AlphaBetaSettings(depth=40, tt_mb=1), some_eval(game))
    player.prepare()
    interrupt = threading.Timer(0.3, signal.raise_signal, [signal.SIGINT])
    start = time.perf_counter()
    interrupt.start()
    with pytest.raises(KeyboardInterrupt):
        player.choose(game.initial())
    assert time.perf_counter() - start < 5
    assert all(each.name != "alphabeta" for each in threading.enumerate())
    player.new_game()
    assert player.choose(game.play("4 1 4 1 4 1")).proven


@pytest.mark.parametrize("nodes", [2_000, 500_000])
def test_a_new_game_starts_with_an_empty_table(nodes: int) -> None:
    """However much was stored: slots that are known are emptied one by one, too many of them all at once."""
    game = load("connect_four")
    player = AlphaBeta(game, AlphaBetaSettings(nodes=nodes, exact=True))
    first = player.choose(game.initial())
    is_much = int(player._workspace["filled_count"][0]) > FILLED
    assert np.count_nonzero(player.table["word"]) == player._workspace["filled_count"][0] and is_much == (
        nodes > 100_000
    )
    player.new_game()
    assert not player.table.view(np.uint8).any()
    again = player.choose(game.initial())
    assert (again.action, again.value, again.pv, again.nodes) == (first.action, first.value, first.pv, first.nodes)


def test_a_stopped_iteration_counts_only_if_it_beats_the_last_best() -> None:
    game, rng = load("connect_four"), np.random.default_rng(4)
    weights = some_eval(game)
    for _ in range(60):
        state = some_position(game, rng, 0, 20)
        nodes = int(rng.integers(10_001, 60_000))
        settings = AlphaBetaSettings(nodes=nodes, exact=True, tt_mb=1)
        choice = AlphaBeta(game, settings, weights).choose(state)
        best = max(one.value for one in choice.actions if one.bound == "exact" and one.value is not None)
        assert choice.actions[0].value == best or choice.actions[0].bound == "exact"
        assert choice.actions[0].value == choice.value


# ── what is answered ──


@pytest.mark.parametrize("name", ["connect_four", "othello:size=6", "checkers"])
def test_the_same_position_gives_the_same_search(name: str) -> None:
    game, rng = load(name), np.random.default_rng(21)
    for settings in (
        AlphaBetaSettings(depth=5, tt_mb=1),
        AlphaBetaSettings(depth=6, tt_mb=1, null=True, lmr=True, futility=True, singular=True),
        AlphaBetaSettings(nodes=5000, tt_mb=1, beam=3),
    ):
        states = [some_position(game, rng, 0, 25) for _ in range(5)]
        first, second = (AlphaBeta(game, settings, some_eval(game)) for _ in range(2))
        for state in states:
            one, other = first.choose(state), second.choose(state)
            assert (one.nodes, one.value, one.pv, one.counters) == (other.nodes, other.value, other.pv, other.counters)
        first.new_game()
        assert first.choose(states[0]).nodes == AlphaBeta(game, settings, some_eval(game)).choose(states[0]).nodes


@pytest.mark.parametrize("name", ["connect_four", "othello:size=6", "checkers", "tic_tac_toe"])
def test_counters_make_sense(name: str) -> None:
    game, rng = load(name), np.random.default_rng(6)
    everything = {"null": True, "lmr": True, "futility": True, "singular": True, "beam": 6}
    for switches in ({}, {"exact": True}, everything):
        player = AlphaBeta(game, AlphaBetaSettings(depth=6, tt_mb=1, **switches), some_eval(game))  # type: ignore[arg-type]
        for _ in range(10):
            choice = player.choose(some_position(game, rng, 0, 30))
            of = choice.counters
            assert set(of) == set(COUNTERS) - {"nodes"}
            assert of["leaves"] + of["ends"] <= choice.nodes
            assert of["first_cutoffs"] <= of["cutoffs"] and of["killer_cutoffs"] <= of["cutoffs"]
            assert of["table_cutoffs"] <= of["table_hits"] <= of["table_probes"] <= choice.nodes
            assert of["null_cutoffs"] <= of["null_tries"]
            assert of["reduction_researches"] <= of["reductions"]
            assert of["quiet_nodes"] < choice.nodes
            if "exact" in switches:
                off = [
                    "quiet_nodes",
                    "null_tries",
                    "reductions",
                    "futility_prunes",
                    "beam_prunes",
                    "probcut_tries",
                    "extensions",
                ]
                assert [of[name] for name in off] == [0] * len(off)
                assert of["path_values"] == 0


def test_a_counter_of_enhancements_that_are_off_stays_zero() -> None:
    game = load("connect_four")
    of = AlphaBeta(game, AlphaBetaSettings.plain(depth=5), some_eval(game)).choose(game.initial()).counters
    assert {name for name, count in of.items() if count} == {"evaluations", "leaves", "cutoffs", "first_cutoffs"}


def test_faster_wins_and_slower_losses_are_preferred() -> None:
    game = load("connect_four")
    player = AlphaBeta(game, AlphaBetaSettings(depth=9, exact=True, tt_mb=1))
    win = player.choose(game.play("4 1 4 1 4 1"))
    assert (game.names[win.action], win.value, win.proven, len(win.pv), win.depth) == ("4", 1.0, True, 1, 1)
    double = player.choose(game.play("4 4 3 3"))  # two open ends follow on the bottom row
    assert (double.value, double.proven, len(double.pv)) == (1.0, True, 3)
    loss = player.choose(game.play("4 4 3 3 5"))
    assert (loss.value, loss.proven, len(loss.pv)) == (-1.0, True, 2)


def test_a_draw_is_proven_only_without_eval() -> None:
    game = load("tic_tac_toe")
    assert not AlphaBeta(game, AlphaBetaSettings(depth=4)).choose(game.initial()).proven
    whole = AlphaBeta(game, AlphaBetaSettings(depth=30, exact=True)).choose(game.initial())
    assert (whole.value, whole.proven, whole.depth) == (0.0, True, 9)
    pruned = AlphaBeta(game, AlphaBetaSettings(depth=30)).choose(
        game.initial()
    )  # guesses near the horizon: it lies further on
    assert (pruned.value, pruned.proven) == (0.0, True) and 9 < pruned.depth < 30


def test_what_is_proven_is_true() -> None:
    """Every enhancement on: a value called proven is the game's, by plain minimax to the end."""
    game, rng, found = load("tic_tac_toe"), np.random.default_rng(12), 0
    weights = some_eval(game)
    switches = {"lmr": True, "futility": True, "singular": True, "null": True, "beam": 2}
    for _ in range(150):
        state = some_position(game, rng, 0, 6)
        settings = AlphaBetaSettings(depth=int(rng.integers(1, 9)), tt_mb=1, **switches)  # type: ignore[arg-type]
        choice = AlphaBeta(game, settings, weights).choose(state)
        if choice.proven:
            found += 1
            assert choice.value == utility_of(minimax(game, state, 9, weights))
    assert found > 50


def test_a_draw_by_counter_is_not_stored_in_the_table() -> None:
    game = load("checkers")
    board = "B:BK1,K10,K19:WK29"
    for switches in ({}, {"exact": True}):
        player = AlphaBeta(game, AlphaBetaSettings(depth=6, tt_mb=1, **switches))  # type: ignore[arg-type]
        nearly_drawn = player.choose(game.parse(f"{board} 77"))
        assert nearly_drawn.value == 0.0
        assert switches or nearly_drawn.counters["path_ends"] > 0
        after = player.choose(game.parse(board))
        fresh = AlphaBeta(game, AlphaBetaSettings(depth=6, tt_mb=1, **switches)).choose(game.parse(board))  # type: ignore[arg-type]
        assert after.value == pytest.approx(fresh.value, abs=0.1) and after.value > 0.3


def test_a_value_that_may_belong_to_another_path_is_not_proven() -> None:
    game = load("checkers")
    player = AlphaBeta(game, AlphaBetaSettings(depth=6, tt_mb=1))
    winning = game.parse("B:BK15:WK18")  # takes the last piece
    assert player.choose(winning).proven
    player.choose(game.parse("B:BK1,K10,K19:WK29 77"))
    assert not player.choose(winning).proven
    player.new_game()
    assert player.choose(winning).proven


# ── refusals ──


@pytest.mark.parametrize(
    ("name", "kind"),
    [("backgammon", "chance"), ("dots_and_boxes:players=3", "3 players"), ("tree:cooperation.json", "general sum")],
)
def test_other_games_are_refused(name: str, kind: str) -> None:
    with pytest.raises(UserError, match=rf"expected two players, zero sum and no chance, got .*\({kind}\)"):
        AlphaBeta(load(name), AlphaBetaSettings(depth=1))


def test_a_finished_game_is_refused() -> None:
    game = load("connect_four")
    with pytest.raises(UserError, match="expected a position of connect_four with a move to choose"):
        AlphaBeta(game, AlphaBetaSettings(depth=1)).choose(game.play("1 2 1 2 1 2 1"))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "expected a limit: depth, nodes or ms"),
        ({"depth": 0}, "depth: expected 1 to 100, got 0"),
        ({"nodes": 0}, "nodes: expected 1 to "),
        ({"ms": 0}, "ms: expected 1 to "),
        ({"depth": 1, "tt_mb": 0}, "tt_mb: expected 1 to "),
        ({"depth": 1, "beam": -1}, "beam: expected 0 to "),
        ({"ms": 5, "iterative": False}, "expected one where iterative is off"),
        ({"depth": 1, "multipv": "some"}, "multipv: expected best or all, got some"),
    ],
)
def test_invalid_settings_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        AlphaBetaSettings(**settings)


def test_the_log_ends_with_leaves_and_stops_when_full() -> None:
    game = load("connect_four")
    player = AlphaBeta(game, AlphaBetaSettings.plain(depth=3), some_eval(game), log=True)
    choice = player.choose(game.initial())
    log = player.log()
    visited = log[log["kind"] != PRUNED]
    assert len(visited) == choice.nodes - 1
    assert (visited["leads"] == LEAF).sum() == choice.counters["leaves"]
    assert (log["kind"] == LOWER).any()
    full = AlphaBeta(game, AlphaBetaSettings.plain(depth=9), some_eval(game), log=True)
    full.choose(game.initial())
    assert len(full.log()) == 20_000


# ── threads ──


def test_threads_prove_the_value_that_one_thread_proves() -> None:
    game, rng = load("connect_four"), np.random.default_rng(1)
    settings = {"depth": 30, "futility": False, "lmr": False, "quiescence": False}
    alone = AlphaBeta(game, AlphaBetaSettings(**settings))  # type: ignore[arg-type]
    shared = AlphaBeta(game, AlphaBetaSettings(**settings, threads=3))  # type: ignore[arg-type]
    proven = 0
    while proven < 12:
        state = game.initial()
        for _ in range(22):
            if not game.is_terminal(state):
                state = game.result(state, int(rng.choice(game.legal_actions(state))))
        if game.is_terminal(state):
            continue
        choices = []
        for player in (alone, shared):
            player.new_game()
            choices.append(player.choose(state))
        assert all(choice.proven for choice in choices)
        assert np.sign(choices[0].value) == np.sign(choices[1].value)  # type: ignore[arg-type]
        proven += 1


def test_threads_keep_the_time_and_count_all_nodes() -> None:
    game = load("othello")
    player = AlphaBeta(game, AlphaBetaSettings(ms=500, threads=2))
    player.prepare()
    start = time.perf_counter()
    choice = player.choose(game.initial())
    assert time.perf_counter() - start < 5 and choice.action in game.legal_actions(game.initial())
    assert choice.nodes == sum(int(each[0]["nodes"]) for each in (player._workspace, *player._helpers))
    assert all(int(each[0]["nodes"]) > 0 for each in (player._workspace, *player._helpers))
    player.new_game()
    assert not player.table["word"].any()


def test_entries_half_written_by_another_thread_are_none() -> None:
    table, ws = new_table(1).view(np.recarray), np.zeros(1, np.dtype((np.record, workspace(load("nim").rules))))[0]
    key = np.uint64(0x0123456789ABCDEF)
    with np.errstate(over="ignore"):  # hashes wrap around
        store(ws, table, key, 0, 1234, 3, 7, LOWER, True)
        found = find(table, key)
    assert (stored_score(found, 0), action_of(found), depth_of(found), bound_of(found)) == (1234, 3, 7, LOWER)
    slot = int(np.flatnonzero(table["word"])[0])
    table["word"][slot] ^= np.uint64(1 << 40)
    with np.errstate(over="ignore"):
        assert find(table, key) == 0


def test_threads_need_a_table_to_share() -> None:
    for wrong in ({"tt": False}, {"exact": True}, {"iterative": False}):
        with pytest.raises(
            UserError, match="threads: more than 1 needs exact=off, bare=off, tt=on and iterative=on, got 2"
        ):
            AlphaBetaSettings(depth=3, threads=2, **wrong)  # type: ignore[arg-type]
