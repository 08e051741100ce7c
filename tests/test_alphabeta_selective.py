"""Selective switches of alpha-beta: each with positions on which the search fails without it and succeeds with it.

The small ones are drawn. A node shows EVAL for MAX, who moves first; `!` marks a tactical action.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from base.bits import U
from base.errors import UserError
from base.seeds import mix
from classical.alphabeta import AlphaBeta, AlphaBetaSettings
from classical.alphabeta.probcut.__main__ import main as fit_probcut
from classical.eval import Eval, default_eval
from games import Game, Rules, load
from games.choice import Choice

Node = tuple[int, float, dict[str, Any]]  # mover, EVAL for player 0 before tanh, actions; no actions: utility instead


ROOM, MOST = 1400, 5  # nodes, actions of one node
DEEPEST = 30
NAMES = [
    *("a", "b", "on", "wait", "rest", "take!", "back!!", "lure", "must!", "both!!", "offer", "gives", "no", "delay"),
    *("answer", "go", "accept", "win", "hold", "slip", "fall", "enter", "stay", "safe", "give", "x", "y", "looks"),
    *("mate", "holds", "pass"),
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

    def null_result(state: Any) -> bool:
        if state.passes[state.node] == 0:
            return False
        state.node = state.passes[state.node]
        return True

    def view(state: Any, player: int) -> float:
        return float(state.guesses[state.node] if player == 0 else -state.guesses[state.node])

    def features(state: Any, player: int, values: Any) -> None:
        values[0] = view(state, player)

    tree: list[Any] = [("counts", np.int32, ROOM), ("movers", np.int8, ROOM), ("guesses", np.float64, ROOM)]
    tree.append(("passes", np.int16, ROOM))
    edges: list[Any] = [("names", np.int8, (ROOM, MOST)), ("children", np.int16, (ROOM, MOST))]
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
        max_plies=DEEPEST,
        max_legal=MOST,
        values=(),
        key=lambda state: mix(U(state.node) + U(1)),
        gain=lambda state, action: GAINS[action],
        null_result=null_result,
        features=features,
        feature_names=["guess"],
        names=NAMES,
    )
    return Game(rules, "drawn", "drawn", {})


BLANK = blank_drawing()


def drawn(root: Node) -> Any:
    """The tree as a position. An action's name ends with as many ! as it gains; "pass" is none, but where a pass leads."""
    nodes, state = [root], BLANK.initial()
    for node, (mover, guess, actions) in enumerate(nodes):  # grows while it is gone through
        state.movers[node], state.guesses[node] = mover, guess
        for name, child in actions.items():
            if name == "pass":
                state.passes[node] = len(nodes)
            else:
                i = state.counts[node]
                state.names[node, i], state.children[node, i] = NAMES.index(name), len(nodes)
                state.counts[node] += 1
            nodes.append(child)
    return state


END: dict[str, Any] = {}
OFF: dict[str, Any] = {"null": False, "lmr": False, "futility": False}  # so that each enhancement is seen alone


def best(tree: Any, **settings: Any) -> str:
    return BLANK.names[chosen(tree, **settings).action]


def chosen(tree: Any, **settings: Any) -> Choice:
    settings = OFF | {"quiescence": False, "tt_mb": 1} | settings
    return AlphaBeta(BLANK, AlphaBetaSettings(**settings), Eval("drawn", 1, {"guess": 1.0})).choose(tree)


def test_quiescence_finds_the_recapture() -> None:
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


def test_no_stand_pat_where_the_rules_force_a_capture() -> None:
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


def test_quiescence_uses_no_eval_in_the_middle_of_a_turn() -> None:
    # MIN takes once and must move on: every continuation is worse. EVAL in the middle of the turn (-0.9) must not count.
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


def test_singular_extension_finds_a_loss_beyond_a_delaying_move() -> None:
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


def test_a_beam_of_one_misses_a_sacrifice_but_widens_where_all_lose() -> None:
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


# ── the switches that save nodes: drawn, the same answer from far fewer ──


def bush(mover: int, guess: float, plies: int, width: int = 3) -> Node:
    """A quiet tree in which everything is worth about the same, a little more with every action, so that the worst come first."""
    if plies == 0:
        return (mover, guess, {"on": (1 - mover, guess, END)})
    better = 0.01 if mover == 0 else -0.01
    children = [bush(1 - mover, guess + better * (i - 1), plies - 1, width) for i in range(width)]
    return (mover, guess, dict(zip(("a", "b", "x", "y", "rest"), children, strict=False)))


def saving(tree: Any, depth: int, counter: str, **switches: Any) -> float:
    """By which factor an enhancement reduces the nodes of one iteration; the answer is the same, and the enhancement was at work."""
    alone: dict[str, Any] = {"depth": depth, "iterative": False, "tt": False}
    without, with_it = chosen(tree, **alone), chosen(tree, **alone, **switches)
    assert with_it.action == without.action
    assert with_it.counters[counter] > without.counters[counter] == 0
    return without.nodes / with_it.nodes


def test_futility_prunes_positions_far_outside_the_window() -> None:
    #           MAX
    #   stay  / give  \\  lure
    #  0.0   MIN   MIN -0.9: nothing that happens in three plies makes up for it
    hopeless = bush(1, -0.9, 3, 5)
    tree = drawn((0, 0.0, {"stay": bush(1, 0.0, 3, 1), "give": hopeless, "lure": hopeless}))
    assert saving(tree, 4, "futility_prunes", futility=True) > 3


def test_a_null_move_refutes_an_empty_threat() -> None:
    #           MAX
    #   stay  / give  \\  lure
    #  0.0   MIN   MIN -0.5: even if it passes, MAX finds nothing better than -0.4
    threat = bush(1, -0.5, 3, 5)
    threat[2]["pass"] = bush(0, -0.45, 1)
    tree = drawn((0, 0.0, {"stay": bush(1, 0.0, 3, 1), "give": threat, "lure": threat}))
    assert saving(tree, 4, "null_cutoffs", null=True) > 2


def test_a_pass_that_loses_cuts_nothing_off() -> None:
    """Passing, MIN loses all: then it has to be searched, and is found to be lost."""
    forced: Node = (1, -0.5, {"gives": bush(0, 0.6, 3), "pass": bush(0, 0.6, 1)})
    tree = drawn((0, 0.0, {"stay": bush(1, 0.0, 3, 1), "lure": forced}))
    assert best(tree, depth=5, null=True) == best(tree, depth=5) == "lure"


def test_late_actions_are_searched_less_deep() -> None:
    # MIN has five quiet actions, and the best comes first: the last two are only looked at.
    few, many = bush(0, 0.2, 4, 1), bush(0, 0.3, 4, 4)
    replies = {"a": bush(0, 0.1, 4, 1), "b": few, "x": few, "y": many, "rest": many}
    tree = drawn((0, 0.0, {"enter": (1, 0.1, replies), "stay": (1, -0.2, {"on": bush(0, -0.2, 1)})}))
    assert saving(tree, 6, "reductions", lmr=True) > 1.5


def test_late_actions_above_alpha_are_searched_in_full() -> None:
    """The last of MIN's actions refutes, and shows it at the reduced depth too: it is searched again, and counts."""
    replies = dict(zip(("a", "b", "x", "y"), (bush(0, 0.1, 3) for _ in range(4)), strict=True))
    tree = drawn((0, 0.0, {"enter": (1, 0.1, replies | {"rest": bush(0, -0.6, 3)}), "stay": bush(1, -0.2, 3, 2)}))
    choice = chosen(tree, depth=5, lmr=True, iterative=False, tt=False)
    assert BLANK.names[choice.action] == "stay" and choice.counters["reduction_researches"] > 0


def test_a_beam_keeps_the_best_actions_by_eval() -> None:
    tree = drawn((0, 0.0, {"enter": bush(1, 0.1, 4), "stay": bush(1, -0.1, 4)}))
    assert saving(tree, 5, "beam_prunes", beam=1) > 3


# ── the same nodes reach further ──

ENHANCEMENTS: dict[str, tuple[str, dict[str, Any]]] = {
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


@pytest.mark.parametrize("enhancement", ENHANCEMENTS)
def test_with_the_same_nodes_an_enhancement_finds_what_is_not_found_without_it(enhancement: str) -> None:
    name, switches = ENHANCEMENTS[enhancement]
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
        if found > 0 and deeper > 0:
            break
    assert deeper > 0
    assert found > 0


def test_enhancements_need_fewer_nodes_to_the_same_depth() -> None:
    for enhancement, (name, switches) in ENHANCEMENTS.items():
        game, rng = load(name), np.random.default_rng(3)
        weights, counts = some_eval(game), {False: 0, True: 0}
        for _ in range(10):
            state = played(game, rng, 12)
            for on in (False, True):
                settings = AlphaBetaSettings(depth=8, tt_mb=1, **(OFF | switches if on else OFF))
                counts[on] += AlphaBeta(game, settings, weights).choose(state).nodes
        assert counts[True] < counts[False], enhancement


# ── ProbCut ──


def test_probcut_reaches_deeper_on_othello_and_counts_its_cutoffs() -> None:
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


def test_probcut_is_for_the_eval_whose_errors_were_measured(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZERMELO_CACHE", str(tmp_path))
    game = load("othello")
    own = default_eval(game)
    other = replace(own, weights={**own.weights, "corners": 7.0})
    settings = AlphaBetaSettings(depth=4, probcut=True, tt_mb=1)
    AlphaBeta(game, settings, own)
    with pytest.raises(UserError, match=r"expected the EVAL whose errors were measured \(\w+\), got another \(\w+\)"):
        AlphaBeta(game, settings, other)
    other.save(tmp_path / "other.eval.json")
    assert (
        fit_probcut(["othello", "--positions", "40", "--depth", "3", "--eval", str(tmp_path / "other.eval.json")]) == 0
    )
    fitted = AlphaBeta(game, settings, other)._workspace[0]["pairs"]
    assert fitted[3, 0]["shallow"] == 1 and fitted[3, 0]["error"] > 0


def test_probcut_is_refused_where_errors_were_not_measured() -> None:
    with pytest.raises(UserError, match="expected a game whose errors were measured, got connect_four"):
        AlphaBeta(load("connect_four"), AlphaBetaSettings(depth=4, probcut=True))


def test_exact_turns_every_selective_enhancement_off() -> None:
    everything = {"quiescence": True, "singular": True, "null": True, "lmr": True, "futility": True, "beam": 2}
    for name in ("checkers", "othello:size=6"):
        game, rng = load(name), np.random.default_rng(9)
        for _ in range(10):
            state = played(game, rng, 10)
            exact, plain = (
                AlphaBeta(game, AlphaBetaSettings(depth=5, exact=True, tt_mb=1, **switches), some_eval(game)).choose(
                    state
                )
                for switches in (everything, dict.fromkeys(everything, False))
            )
            assert (exact.value, exact.nodes) == (plain.value, plain.nodes)
