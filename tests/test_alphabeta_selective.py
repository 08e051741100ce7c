"""Selective organs of alpha-beta: each with positions on which the search fails without it and succeeds with it.

The small ones are drawn. A node shows what EVAL says there to MAX, who moves first; `!` marks a tactical action.
"""

from typing import Any

import numpy as np
import pytest

from base.bits import U
from base.errors import UserError
from base.seeds import mix
from classical.alphabeta import AlphaBeta, AlphaBetaSettings
from classical.evaluation import Eval
from games import Game, Rules, load
from games.choice import Choice

Node = tuple[int, float, dict[str, Any]]  # mover, EVAL for player 0 before tanh, actions; no actions: utility instead


ROOM, MOST = 100, 3  # nodes, actions of one node
NAMES = [
    *("a", "b", "on", "wait", "rest", "take!", "back!!", "lure", "must!", "both!!", "offer", "gives", "no", "delay"),
    *("answer", "go", "accept", "win", "hold", "slip", "fall", "enter", "stay", "safe", "give", "x", "y", "looks"),
    *("mate", "holds"),
]
GAINS = np.array([float(name.count("!")) for name in NAMES])


def blank_drawing() -> Game:
    """A game whose positions carry the whole tree along, so that all trees are one compiled game."""

    def legal_actions(state: Any, actions: Any) -> int:
        for i in range(state.counts[state.node]):
            actions[i] = state.names[state.node, i]
        return int(state.counts[state.node])

    def result(state: Any, action: int) -> None:
        for i in range(state.counts[state.node]):
            if state.names[state.node, i] == action:
                state.node = state.children[state.node, i]
                break

    def view(state: Any, player: int) -> float:
        return float(state.guesses[state.node] if player == 0 else -state.guesses[state.node])

    def features(state: Any, player: int, values: Any) -> None:
        values[0] = view(state, player)

    tree: list[Any] = [("counts", np.int32, ROOM), ("movers", np.int8, ROOM), ("guesses", np.float64, ROOM)]
    edges: list[Any] = [("names", np.int32, (ROOM, MOST)), ("children", np.int32, (ROOM, MOST))]
    rules = Rules(
        np.dtype([("node", np.int32), *tree, *edges]),
        initial=lambda state: None,
        to_move=lambda state: state.movers[state.node],
        legal_actions=legal_actions,
        result=result,
        is_terminal=lambda state: state.counts[state.node] == 0,
        utility=view,
        players=2,
        actions=len(NAMES),
        max_plies=ROOM,
        max_legal=MOST,
        values=(),
        key=lambda state: mix(U(state.node) + U(1)),
        gain=lambda state, action: GAINS[action],
        features=features,
        feature_names=["guess"],
        names=NAMES,
    )
    return Game(rules, "drawn", "drawn", {})


BLANK = blank_drawing()


def drawn(root: Node) -> Any:
    """The tree as a position. An action's name ends with as many ! as it gains."""
    nodes, state = [root], BLANK.initial()
    for node, (mover, guess, actions) in enumerate(nodes):  # grows while it is gone through
        state.movers[node], state.guesses[node], state.counts[node] = mover, guess, len(actions)
        for i, (name, child) in enumerate(actions.items()):
            state.names[node, i], state.children[node, i] = NAMES.index(name), len(nodes)
            nodes.append(child)
    return state


END: dict[str, Any] = {}
OFF: dict[str, Any] = {"null": False, "lmr": False, "futility": False}  # so that each organ is seen alone


def best(tree: Any, **settings: Any) -> str:
    return BLANK.names[chosen(tree, **settings).action]


def chosen(tree: Any, **settings: Any) -> Choice:
    settings = OFF | {"quiescence": False, "tt_mb": 1} | settings
    return AlphaBeta(BLANK, AlphaBetaSettings(**settings), Eval("drawn", 1, {"guess": 1.0})).choose(tree)


def test_quiescence_sees_that_what_was_taken_is_taken_back() -> None:
    #              MAX
    #       take! /   \ wait
    #       MIN +0.5   MIN +0.1
    #  back!! / \ wait    | wait
    #     -0.6   +0.5    +0.1
    tree = drawn(
        (
            0,
            0.0,
            {
                "take!": (
                    1,
                    0.5,
                    {"back!!": (0, -0.6, {"on": (1, -0.6, END)}), "wait": (0, 0.5, {"on": (1, 0.5, END)})},
                ),
                "wait": (1, 0.1, {"wait": (0, 0.1, {"on": (1, 0.1, END)})}),
            },
        )
    )
    assert best(tree, depth=1) == "take!"
    assert best(tree, depth=1, quiescence=True) == "wait"
    assert best(tree, depth=2) == "wait"


def test_nobody_stands_pat_where_the_rules_force_the_taking() -> None:
    # As in checkers: after "lure" MIN must take, and MAX takes back twice. Standing pat MIN would keep +0.1 away.
    tree = drawn(
        (
            0,
            0.0,
            {
                "wait": (1, 0.2, {"wait": (0, 0.2, {"on": (1, 0.2, END)})}),
                "lure": (1, -0.5, {"must!": (0, -0.8, {"both!!": (1, 0.7, {"on": (0, 0.7, END)})})}),
            },
        )
    )
    assert best(tree, depth=1) == "wait"
    assert best(tree, depth=1, quiescence=True) == "lure"


def test_quiescence_asks_no_eval_amid_a_turn() -> None:
    # MIN takes once and must move on: whatever it does next, it is worse off. EVAL amid the turn (-0.9) is not to be believed.
    tree = drawn(
        (
            0,
            0.0,
            {
                "wait": (1, -0.1, {"wait": (0, -0.1, {"on": (1, -0.1, END)})}),
                "offer": (
                    1,
                    0.3,
                    {
                        "take!": (1, -0.9, {"gives": (0, 0.8, {"on": (1, 0.8, END)})}),
                        "no": (0, 0.3, {"on": (1, 0.3, END)}),
                    },
                ),
            },
        )
    )
    assert best(tree, depth=1, quiescence=True) == "offer"


def test_singular_extension_sees_behind_a_delay() -> None:
    # The horizon effect: MAX's loss of something is certain, but "delay" and a forced answer push it out of sight.
    #
    #              MAX
    #       delay /   \ accept
    #          MIN     MIN -0.3
    #           | answer   (the only one)
    #          MAX +0.2             <- the horizon at depth 2
    #           | go       (the only one)
    #          MIN
    #     win /   \ wait
    #      -0.9    +0.2
    ends: dict[str, Any] = {"win": (0, -0.9, {"on": (1, -0.9, END)}), "wait": (0, 0.2, {"on": (1, 0.2, END)})}
    tree = drawn(
        (
            0,
            0.0,
            {
                "delay": (1, 0.2, {"answer": (0, 0.2, {"go": (1, 0.2, ends)})}),
                "accept": (
                    1,
                    -0.3,
                    {"wait": (0, -0.3, {"on": (1, -0.3, END)}), "rest": (0, -0.2, {"on": (1, -0.2, END)})},
                ),
            },
        )
    )
    assert best(tree, depth=2) == "delay"
    assert best(tree, depth=2, singular=True) == "accept"


def test_an_action_much_better_than_all_others_is_searched_deeper() -> None:
    """At every ply of one line a single action holds, the others lose much: with singular extension its end is seen."""

    def line(mover: int, plies: int) -> Node:
        if plies == 0:
            return (mover, -0.9, {"on": (1 - mover, -0.9, END), "rest": (1 - mover, -0.9, END)})
        bad = 0.7 if mover else -0.7
        seen = 0.2
        other: Node = (1 - mover, bad, {"a": (mover, bad, END), "b": (mover, bad, END)})
        return (mover, seen, {"hold": line(1 - mover, plies - 1), "slip": other, "fall": other})

    quiet: Node = (1, -0.1, {"a": (0, -0.1, {"on": (1, -0.1, END)}), "b": (0, -0.1, {"on": (1, -0.1, END)})})
    tree = drawn((0, 0.0, {"enter": line(1, 7), "stay": quiet}))
    assert best(tree, depth=7) == "enter"
    assert best(tree, depth=7, singular=True) == "stay"
    assert best(tree, depth=9) == "stay"


def test_a_beam_of_one_misses_a_sacrifice_and_all_that_lose_are_not_all() -> None:
    deep = {"win": (1, 1.0, END), "b": (1, 0.0, {"on": (0, 0.0, END)})}
    tree = drawn(
        (
            0,
            0.0,
            {
                "safe": (1, 0.3, {"a": (0, 0.1, {"on": (1, 0.1, END)})}),
                "give": (1, -0.8, {"a": (0, -0.8, deep)}),
            },
        )
    )
    assert best(tree, depth=3) == "give"
    # MIN sees one good reply and one that looks bad; the good one loses at once, so the beam has to widen
    trap = drawn(
        (
            0,
            0.0,
            {
                "x": (1, 0.0, {"looks": (0, -0.9, {"mate": (1, 1.0, END)}), "holds": (0, 0.5, {"on": (1, -0.5, END)})}),
                "y": (1, 0.1, {"a": (0, 0.1, {"on": (1, 0.1, END)})}),
            },
        )
    )
    choice = chosen(trap, depth=4, beam=1)
    assert BLANK.names[choice.action] == "y" and choice.value < 1.0


# ── the organs that save nodes: the same nodes reach further ──

ORGANS: dict[str, tuple[str, dict[str, Any]]] = {
    "null": ("checkers", {"null": True}),
    "lmr": ("othello:size=6", {"lmr": True}),
    "futility": ("checkers", {"futility": True}),
    "beam": ("othello:size=6", {"beam": 4}),
}


def played(game: Game, rng: np.random.Generator, plies: int) -> Any:
    while True:
        state = game.initial()
        for _ in range(plies):
            if legal := game.legal_actions(state):
                state = game.result(state, int(rng.choice(legal)))
        if len(game.legal_actions(state)) > 2:
            return state


def some_eval(game: Game) -> Eval:
    fixed = {
        "checkers": {"men": 0.2, "kings": 0.35, "advancement": 0.01, "back row": 0.03, "mobility": 0.01},
        "othello:size=6": {
            "corners": 0.5,
            "mobility": 0.06,
            "potential mobility": 0.02,
            "beside an empty corner": -0.1,
        },
    }[game.name]
    return Eval(game.name, game.version, {name: fixed.get(name, 0.0) for name in game.rules.feature_names})


@pytest.mark.parametrize("organ", ORGANS)
def test_with_the_same_nodes_an_organ_finds_what_is_not_found_without_it(organ: str) -> None:
    name, switches = ORGANS[organ]
    game, rng = load(name), np.random.default_rng(17)
    weights = some_eval(game)

    def player(**settings: Any) -> AlphaBeta:
        return AlphaBeta(game, AlphaBetaSettings(tt_mb=1, **(OFF | settings)), weights)

    found = deeper = 0
    budget = 12_000
    for _ in range(60):
        state = played(game, rng, 14)
        deep = player(nodes=40 * budget).choose(state)
        without, with_it = player(nodes=budget).choose(state), player(nodes=budget, **switches).choose(state)
        deeper += with_it.depth - without.depth
        right = deep.action
        found += without.action != right and with_it.action == right
    assert deeper > 0
    assert found > 0


def test_organs_need_fewer_nodes_to_the_same_depth() -> None:
    for organ, (name, switches) in ORGANS.items():
        game, rng = load(name), np.random.default_rng(3)
        weights, counts = some_eval(game), {False: 0, True: 0}
        for _ in range(10):
            state = played(game, rng, 12)
            for on in (False, True):
                settings = AlphaBetaSettings(depth=8, tt_mb=1, **(OFF | switches if on else OFF))
                counts[on] += AlphaBeta(game, settings, weights).choose(state).nodes
        assert counts[True] < counts[False], organ


# ── ProbCut ──


def test_probcut_reaches_deeper_on_othello_and_counts_what_it_did() -> None:
    game, rng = load("othello"), np.random.default_rng(5)
    nodes = {False: 0, True: 0}
    cuts = 0
    for _ in range(6):
        state = played(game, rng, 20)
        for on in (False, True):
            choice = AlphaBeta(game, AlphaBetaSettings(depth=9, tt_mb=1, probcut=on, **OFF)).choose(state)
            nodes[on] += choice.nodes
            cuts += choice.counters["probcut_cutoffs"]
            assert choice.counters["probcut_cutoffs"] <= choice.counters["probcut_tries"]
    assert cuts > 0 and nodes[True] < nodes[False]


def test_probcut_is_refused_where_errors_were_not_measured() -> None:
    with pytest.raises(UserError, match="expected a game whose errors were measured, got connect_four"):
        AlphaBeta(load("connect_four"), AlphaBetaSettings(depth=4, probcut=True))


def test_exact_turns_every_selective_organ_off() -> None:
    everything = {"quiescence": True, "singular": True, "null": True, "lmr": True, "futility": True, "beam": 2}
    for name in ("checkers", "othello:size=6"):
        game, rng = load(name), np.random.default_rng(9)
        for _ in range(10):
            state = played(game, rng, 10)
            exact, plain = (
                AlphaBeta(game, AlphaBetaSettings(depth=5, exact=True, tt_mb=1, **organs), some_eval(game)).choose(
                    state
                )
                for organs in (everything, dict.fromkeys(everything, False))
            )
            assert (exact.value, exact.nodes) == (plain.value, plain.nodes)
