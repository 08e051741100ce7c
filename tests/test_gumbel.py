"""Gumbel AlphaZero: the race at the root, completed values, the improved policy."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hunches import Even, Hunch
from test_learned import searched
from test_mcts import random_position
from tree_walker import max_n, walk

from base.seeds import generator
from games import Game, load
from mcts.gumbel import Gumbel, choose, mixed_value
from mcts.search import Search

HOW = Gumbel()
UNSOLVED = Gumbel(solve=False)


def edges_of(search: Search, slot: int = 0) -> Any:
    return search.tree.children(search.tree.root(slot), slot)


# ── the race ──


def halving(simulations: int, considered: int) -> list[int]:
    """Visits at the end, most first, by the paper's words: every phase gives the actions left equal shares, then half of them go."""
    considered, found = min(considered, 7), [0] * min(considered, 7)
    phases, left, budget = max(1, math.ceil(math.log2(considered))), considered, simulations
    while True:
        for _ in range(max(1, simulations // (phases * left))):
            for i in range(left):
                if budget == 0:
                    return sorted(found, reverse=True)
                found[i] += 1
                budget -= 1
        left = min(left, max(2, left // 2))


@pytest.mark.parametrize("considered", [1, 2, 3, 4, 16])
def test_race_is_sequential_halving_and_uses_its_budget_exactly(considered: int) -> None:
    game = load("connect_four")
    how = Gumbel(considered=considered)
    search, evaluator = Search(game, how, slots=64, nodes=70), Hunch(game)
    for slot in range(64):
        search.begin(slot, game.initial(), generator(slot))
        search.start(slot, 1 + slot, explore=True)
    while search.step(evaluator):
        pass
    for slot in range(64):
        walk(search, slot)
        assert search.tree.root(slot).visits == 1 + slot
        visits = sorted(edges_of(search, slot)["visits"].tolist(), reverse=True)
        assert visits[: min(considered, 7)] == halving(slot, considered)
        assert sum(visits) == slot


def test_actions_considered_are_the_best_by_gumbel_and_logits() -> None:
    game = load("othello:size=6")
    how = Gumbel(considered=4)
    for seed in range(8):
        search = searched(game, 9, how, random_position(game, 8, 3), True, evaluator=Hunch(game, 2, 2.0), seed=seed)
        edges, about = edges_of(search), search.tree.slots[0]
        assert len(edges) > 4
        scores = about.draws[: len(edges)] + np.log(edges["prior"])
        assert set(np.argsort(-scores)[:4]) == set(np.flatnonzero(edges["visits"]))


def test_first_action_drawn_is_a_sample_of_the_policy() -> None:
    game, n = load("connect_four"), 4000
    search = searched(game, 2, HOW, game.play("4 4"), True, slots=n, nodes=4, evaluator=Hunch(game, 1, 3.0))
    visits = sum(edges_of(search, slot)["visits"] for slot in range(n))
    expected = edges_of(search)["prior"].astype(float) * n
    assert visits.sum() == n
    assert ((visits - expected) ** 2 / expected).sum() < 30  # 6 degrees of freedom


def test_without_exploring_nothing_is_random() -> None:
    game = load("connect_four")
    trees = [searched(game, 50, HOW, evaluator=Hunch(game), seed=seed) for seed in (1, 2)]
    assert np.array_equal(edges_of(trees[0])["visits"], edges_of(trees[1])["visits"])
    assert np.array_equal(trees[0].target().probabilities, trees[1].target().probabilities)


def test_winner_has_most_visits_and_the_best_score_of_those() -> None:
    game = load("connect_four")
    for seed in range(10):
        search = searched(game, 40, HOW, None, True, evaluator=Hunch(game, seed), seed=seed)
        edges, about = edges_of(search), search.tree.slots[0]
        most = edges["visits"] == edges["visits"].max()
        sharp = 50 + edges["visits"].max()
        scores = about.draws[: len(edges)] + np.log(edges["prior"])
        scores = scores + sharp * (1 + edges["value"] / np.maximum(edges["visits"], 1)) / 2
        assert search.choose(0) == edges["action"][np.where(most, scores, -np.inf).argmax()]


# ── completed values and the improved policy ──


def completed(search: Search, node: Any) -> tuple[Any, float]:
    """Values of all actions and v_mix, from the formulae."""
    edges = search.tree.children(node)
    visits, prior = edges["visits"].astype(float), edges["prior"].astype(float)
    seen = visits > 0
    values = np.zeros(len(edges))
    values[seen] = edges["value"][seen] / visits[seen]
    v = float(node.utility[node.mover])
    if seen.any():
        v = (v + visits.sum() * (prior * values)[seen].sum() / prior[seen].sum()) / (1 + visits.sum())
    values[~seen] = v
    return values, v


def policy_of(search: Search, node: Any) -> Any:
    edges = search.tree.children(node)
    scores = np.log(edges["prior"].astype(float))
    scores += (50 + edges["visits"].max()) * (1 + completed(search, node)[0]) / 2
    weights = np.exp(scores - scores.max())
    return weights / weights.sum()


@pytest.mark.parametrize("name", ["connect_four", "backgammon:start=hyper", "dots_and_boxes:rows=2,cols=2,players=3"])
def test_values_policy_and_rule_are_the_papers(name: str) -> None:
    game = load(name)
    search = searched(game, 120, UNSOLVED, explore=True, evaluator=Hunch(game))
    nodes, edges = search.tree.nodes[0], search.tree.edges[0]
    compared = 0
    for number in walk(search):
        node = nodes[number]
        if node.mover < 0 or not node.count:
            continue
        policy = policy_of(search, node)
        assert mixed_value(node, nodes, edges) == pytest.approx(completed(search, node)[1], abs=1e-6)
        scores = policy - edges["visits"][node.edges : node.edges + node.count] / node.visits
        chosen = choose(search.tree.slots[0], node, nodes, edges, search.record, search.table) - node.edges
        assert scores[chosen] == pytest.approx(scores.max())
        compared += 1
    assert compared > 50
    order = np.argsort(edges_of(search)["action"])
    np.testing.assert_allclose(search.target().probabilities, policy_of(search, nodes[0])[order], rtol=1e-4, atol=1e-9)


class Walker(Hunch):
    """A random policy for tic-tac-toe, with the exact values of playing by it to the end."""

    def __init__(self, game: Game, seed: int) -> None:
        super().__init__(game, seed, 1.5)
        self.game, self.known = game, dict[bytes, Any]()

    def priors(self, state: Any) -> Any:
        legal = sorted(self.game.legal_actions(state))
        logits = (self.game.observe(state).ravel() @ self.policy)[legal]
        weights = np.exp(logits - logits.max())
        return dict(zip(legal, weights / weights.sum(), strict=True))

    def worth(self, state: Any) -> float:
        """Player 0's."""
        if self.game.is_terminal(state):
            return self.game.utility(state)[0]
        key = state.tobytes()
        if key not in self.known:
            parts = [p * self.worth(self.game.result(state, action)) for action, p in self.priors(state).items()]
            self.known[key] = sum(parts)
        return self.known[key]


def evaluator_of(walker: Walker) -> Any:
    """The walker knows positions, the evaluator sees observations: own stones, then the other's."""
    game = walker.game

    def answer(row: Any) -> tuple[Any, Any]:
        own, other = row[:9], row[9:18]
        first, second = (own, other) if own.sum() == other.sum() else (other, own)
        cells = "".join("x" if a else "o" if b else "." for a, b in zip(first, second, strict=True))
        state = game.parse(f"{cells[:3]}/{cells[3:6]}/{cells[6:]}")
        value = walker.worth(state) * (1 if game.to_move(state) == 0 else -1)
        return row @ walker.policy, np.array([value, -value])

    def evaluator(observations: Any) -> tuple[Any, Any]:
        answers = [answer(row.ravel()) if row.any() else (np.zeros(9), np.zeros(2)) for row in observations]
        return np.stack([a for a, _ in answers]), np.stack([u for _, u in answers])

    return evaluator


@pytest.mark.parametrize("simulations", [1, 2, 3, 5, 8, 10, 16, 33, 64])
def test_policy_is_improved_whatever_the_budget(simulations: int) -> None:
    """By exact values: those of the policy itself where every action was looked at once at most, those of best play beyond."""
    game = load("tic_tac_toe")
    memory: dict[bytes, tuple[float, ...]] = {}
    gains, plays = [], []
    for seed in range(3):
        walker = Walker(game, seed)
        search, evaluator = Search(game, UNSOLVED, slots=20, nodes=100), evaluator_of(walker)
        states = [random_position(game, 1 + slot % 4, 100 * seed + slot) for slot in range(20)]
        for slot, state in enumerate(states):
            search.begin(slot, state, generator(slot, "test"))
            search.start(slot, simulations, explore=True)
        while search.step(evaluator):
            pass
        for slot, state in enumerate(states):
            sign = 1 - 2 * int(game.to_move(state) or 0)
            target, priors = search.target(slot), walker.priors(state)
            after = {action: game.result(state, action) for action in priors}
            is_shallow = simulations <= 1 + len(priors)
            worth = {a: sign * (walker.worth(s) if is_shallow else max_n(game, s, memory)[0]) for a, s in after.items()}
            before = sum(p * worth[action] for action, p in priors.items())
            now = sum(float(p) * worth[int(a)] for a, p in zip(target.actions, target.probabilities, strict=True))
            gains.append(now - before)
            plays.append(worth[search.choose(slot)] - before)
            if simulations == 1 + len(priors):
                assert now >= before - 1e-6  # all values known: a theorem
                assert worth[search.choose(slot)] >= before - 1e-6
    if simulations == 1:
        assert np.abs(gains).max() < 1e-6
    else:
        assert np.mean(gains) > 0.01
    if simulations > 2:
        assert np.mean(plays) > 0.01


# ── bandits ──


@pytest.mark.parametrize("solve", [True, False])
def test_best_arm_of_a_bandit_is_found(solve: bool, tmp_path: Path) -> None:
    """Sixteen arms that win with probabilities from 0.1 to 0.85; nothing is known of them."""
    odds = [0.1 + 0.05 * (7 * arm % 16) for arm in range(16)]
    arms = {f"arm{i}": {"chance": {f"w{i}": [p, 1], f"l{i}": [1 - p, -1]}} for i, p in enumerate(odds)}
    path = tmp_path / "bandit.json"
    path.write_text(json.dumps({"tree": {"player": 0, "actions": arms}}))
    game = load(f"tree:{path}")
    n = 200
    search = searched(game, 257, Gumbel(solve=solve), None, True, slots=n, nodes=100, evaluator=Even(game))
    found = [odds[int(game.names[search.choose(slot)][3:])] for slot in range(n)]
    if solve:
        assert np.mean(np.array(found) == max(odds)) > 0.95  # both outcomes seen, an arm is proven
    assert np.mean(found) > 0.75
    few = searched(game, 9, Gumbel(solve=False), None, True, slots=n, nodes=100, evaluator=Even(game))
    assert np.mean([odds[int(game.names[few.choose(slot)][3:])] for slot in range(n)]) > 0.475 + 0.08
