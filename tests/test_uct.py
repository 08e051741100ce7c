"""UCT as a player: what it chooses, limits, reuse."""

import time
from functools import cache
from typing import Any

import numpy as np
import pytest
from tree_walker import max_n, walk

from arena.players import make_player
from base.errors import UserError
from base.seeds import generator
from games import CHANCE, Game, load
from games.choice import Choice
from mcts.player import TreePlayer
from mcts.root import ranked
from mcts.search import Search
from mcts.ucb1 import UCB1, main


def choose(game: Game, text: str = "", simulations: int = 1000, **options: Any) -> Choice:
    return TreePlayer(game, simulations=simulations, **options).choose(game.play(text))


def without_time(choice: Choice) -> Any:
    return choice.action, choice.value, choice.pv, choice.nodes, choice.actions, choice.counters


def test_most_visited_move_is_chosen() -> None:
    choice = choose(load("connect_four"))
    assert choice.action == choice.actions[0].action == choice.pv[0]
    visits = [each.visits or 0 for each in choice.actions]
    assert visits == sorted(visits, reverse=True)
    assert sum(visits) == 999
    assert choice.nodes == 1000 and not choice.proven
    assert choice.value == choice.actions[0].value


def test_proven_win_beats_most_visited() -> None:
    game = load("connect_four")
    player = TreePlayer(game, simulations=50, seed=5)
    state = game.play("1 2 1 2 1 3")
    choice = player.choose(state)
    assert choice.proven and choice.value == 1.0 and game.names[choice.action] == "1"
    tree = player.search.tree
    edges = tree.children(tree.root())
    edges["visits"][edges["action"] != choice.action] += 1000
    again = [edge.action for edge in edges if edge.proven]
    assert ranked(tree, tree.root())[0].action == choice.action
    assert choice.action in again


def test_proven_loss_is_avoided() -> None:
    game = load("connect_four")
    choice = choose(game, "2 1 2 1 7 1", 20_000)
    assert game.names[choice.action] == "1"
    others = [each for each in choice.actions if each.action != choice.action]
    assert all(each.bound == "exact" and each.value == -1.0 for each in others)


def test_proven_loss_is_not_preferred_to_an_action_never_tried() -> None:
    game = load("connect_four")
    from mcts.root import ranked

    search = Search(game, nodes=100)
    search.begin(0, game.play("2 1 2 1 7 1"), generator(0))
    search.run(2)
    tree = search.tree
    edges = tree.children(tree.root())
    tried = edges[edges["visits"] == 1]
    tried["proven"] = 1
    edges["proven"] = edges["visits"]
    tree.nodes[0, tried[0]["child"]].utility[:] = (-1.0, 1.0)
    assert ranked(tree, tree.root())[0].visits == 0


@pytest.mark.parametrize(
    ("file", "action", "value"),
    [("two_ply", "a1", 3 / 16), ("cooperation", "cooperate", 1000 / 1024), ("chance", "a1", 0.525)],
)
def test_textbook_trees(file: str, action: str, value: float) -> None:
    game = load(f"tree:{file}.json")
    choice = choose(game, "", 3000)
    assert choice.proven and game.names[choice.action] == action
    assert choice.value == pytest.approx(value, abs=1e-12)


@cache
def tic_tac_toe() -> tuple[Game, dict[bytes, tuple[float, ...]]]:
    return load("tic_tac_toe"), {}


@pytest.mark.parametrize("seat", [0, 1])
def test_never_loses_tic_tac_toe_to_a_perfect_player(seat: int) -> None:
    game, memory = tic_tac_toe()
    for seed in range(12):
        player, rng = TreePlayer(game, simulations=2000, seed=seed), np.random.default_rng(seed)
        state = game.initial()
        while not game.is_terminal(state):
            if game.to_move(state) == seat:
                action = player.choose(state).action
            else:
                legal = game.legal_actions(state)
                values = [max_n(game, game.result(state, action), memory)[1 - seat] for action in legal]
                action = int(rng.choice([a for a, value in zip(legal, values, strict=True) if value == max(values)]))
            player.advance(action)
            state = game.result(state, action)
        assert game.utility(state)[seat] == 0.0


@pytest.mark.parametrize("name", ["connect_four", "backgammon:start=hyper", "dots_and_boxes:rows=2,cols=2,players=3"])
def test_whole_games_with_reuse_are_the_same_for_the_same_seed(name: str) -> None:
    def game_of(seed: int) -> list[Any]:
        game = load(name)
        player, rng = TreePlayer(game, simulations=200, seed=seed), np.random.default_rng(3)
        state, found = game.initial(), []
        for _ in range(40):
            if game.is_terminal(state):
                break
            if game.to_move(state) == CHANCE:
                action = int(rng.choice(game.legal_actions(state)))
            else:
                choice = player.choose(state)
                walk(player.search)
                found.append(without_time(choice))
                action = choice.action
            player.advance(action)
            state = game.result(state, action)
        return found

    first = game_of(1)
    assert first == game_of(1)
    assert any(each[-1]["visits kept"] > 0 for each in first)
    assert first != game_of(2)


def test_searched_twice_without_a_move_is_the_same_search() -> None:
    game = load("connect_four")
    player = TreePlayer(game, simulations=500)
    assert without_time(player.choose(game.initial())) == without_time(player.choose(game.initial()))


@pytest.mark.parametrize("name", ["connect_four", "go"])
def test_kept_visits_are_the_moves_visits(name: str) -> None:
    game = load(name)
    player = TreePlayer(game, simulations=3000)
    state = game.initial()
    choice = player.choose(state)
    player.advance(choice.action)
    state = game.result(state, choice.action)
    assert player.choose(state).counters["visits kept"] == choice.actions[0].visits


def test_reuse_only_of_the_game_that_was_followed() -> None:
    game = load("connect_four")
    for reuse, follow, kept in ((True, "4", True), (False, "4", False), (True, "3", False)):
        player = TreePlayer(game, simulations=500, reuse=reuse)
        player.choose(game.initial())
        player.advance(game.action(game.initial(), "4"))
        assert (player.choose(game.play(follow)).counters["visits kept"] > 0) == kept
    player.choose(game.initial())
    player.advance(3)
    player.new_game()
    assert player.choose(game.play("4")).counters["visits kept"] == 0


def test_game_may_end_under_it_and_begin_again() -> None:
    game = load("connect_four")
    player = TreePlayer(game, simulations=100)
    player.choose(game.play("1 2 1 2 1 2"))
    player.advance(0)
    assert player.choose(game.initial()).counters["visits kept"] == 0


def test_clock_is_kept() -> None:
    player = TreePlayer(load("connect_four"), ms=50)
    player.prepare()
    times = []
    for _ in range(10):
        start = time.perf_counter()
        choice = player.choose(player.game.initial())
        times.append(time.perf_counter() - start)
        assert choice.nodes > 1000
    assert sorted(times)[5] < 0.1
    assert min(times) > 0.045


def test_there_is_a_move_however_short_the_time() -> None:
    for options in ({"ms": 1e-6}, {"simulations": 1}):
        choice = TreePlayer(load("go"), **options).choose(load("go").initial())
        assert choice.action in load("go").legal_actions(load("go").initial())
        assert choice.actions[0].visits


def test_memory_is_bounded() -> None:
    player = TreePlayer(load("connect_four"), simulations=50_000, memory_mb=1)
    choice = player.choose(player.game.initial())
    tree = player.search.tree
    assert tree.nodes.nbytes + tree.edges.nbytes <= 2**20
    assert choice.counters["expansions refused"] > 0
    assert player.game.names[choice.action] == "4"


def material(rules: Any) -> Any:
    """The game's own features, weighed."""
    features = rules.features

    def evaluate(state: Any, player: Any, weights: Any, values: Any) -> float:
        values[:] = 0
        features(state, player, values)
        total = 0.0
        for i in range(len(weights)):
            total += weights[i] * values[i]
        return float(np.tanh(total))

    return evaluate


@pytest.mark.parametrize("rollout", [0.0, 0.5])
def test_eval_may_stand_for_rollouts_or_be_mixed_with_them(rollout: float) -> None:
    game = load("othello:size=6")
    weights = np.zeros(len(game.rules.feature_names), np.float32)
    weights[list(game.rules.feature_names).index("corners")] = 0.5
    how = UCB1(rollout=rollout)
    choice = choose(game, "", 2000, settings=how, evaluator=material, weights=weights)
    assert choice.nodes == 2000
    assert choice != choose(game, "", 2000)


def test_stronger_with_more_simulations() -> None:
    game = load("connect_four")
    points = 0.0
    for number in range(20):
        players = [TreePlayer(game, simulations=n, seed=number) for n in (2000, 50)]
        seats = players if number % 2 == 0 else players[::-1]
        state = game.initial()
        while not game.is_terminal(state):
            action = seats[game.to_move(state) or 0].choose(state).action
            for player in players:
                player.advance(action)
            state = game.result(state, action)
        points += game.utility(state)[number % 2]
    assert points > 10


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "expected a limit, sims or ms"),
        ({"simulations": 0}, "sims: expected 1 to"),
        ({"ms": 0}, "ms: expected milliseconds above 0"),
        ({"simulations": 1, "memory_mb": 0}, "memory_mb: expected room for 2 positions"),
    ],
)
def test_limits_that_mean_nothing_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(UserError, match=words):
        TreePlayer(load("connect_four"), **options)


def test_positions_without_a_choice_are_refused() -> None:
    game = load("connect_four")
    with pytest.raises(UserError, match="expected an unfinished game"):
        choose(game, "1 2 1 2 1 2 1")
    backgammon = load("backgammon")
    with pytest.raises(UserError, match="got a roll of the dice"):
        choose(backgammon)


def test_a_rollout_cut_early_is_worth_eval_where_it_ends():
    """An EVAL of zeros: what no rollout decides within its plies is worth 0."""
    game = load("connect_four")
    cut = make_player("uct:sims=8,rollout_plies=1,seed=3", game)
    cut.thinker.search.weights[:] = 0
    assert {each.value for each in cut.choose(game.initial()).actions} == {0.0}
    whole = {each.value for each in make_player("uct:sims=8,seed=3", game).choose(game.initial()).actions}
    assert whole <= {-1.0, 0.0, 1.0} and whole != {0.0}


def test_the_textbooks_ucb1_prefers_the_best_move_or_the_least_known_by_c(capsys):
    counts = ["60/79", "1/10", "2/11"]
    for c, first in (("1.4", "60/79"), ("1.5", "2/11")):
        assert main([*counts, "--c", c]) == 0
        (line,) = (line for line in capsys.readouterr().out.splitlines() if "selected next" in line)
        assert line.split()[0] == first
    with pytest.raises(UserError, match="got '3/2'"):
        main(["3/2"])
