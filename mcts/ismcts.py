"""Tree search in games that hide information: one tree per player, whose nodes are the player's information sets.

    search = ISMCTS(load("kuhn_poker"), ISMCTSSettings(simulations=1000))
    search.policy(view)                         # the probability of each action; `choose` draws from it

A simulation plays one path in a world that the searching player cannot tell from the real one. Each mover chooses by the node of what
it has noticed there, so no player uses what it does not see; the first node that a tree lacks is added, and a random game follows.
A node's actions are the same in all its worlds, so an action has been available as often as its node was visited.

Where worlds come from decides what is learned:

    worlds=uniform   worlds of the view: chance by its probabilities, the others' past actions uniformly. What the others did then
                     carries no evidence, and more simulations do not help: in Kuhn poker play stays exploitable by 1/6 of a chip.
    worlds=policy    paths from the start, on which all players play their current strategies; a share of them is led to the view, by
                     what the viewer noticed. Each path counts by its probability over that of drawing it.

and how a mover chooses decides what it is:

    select=regret    by regret matching; the result is the average strategy. With worlds=policy this is Online Outcome Sampling, whose
                     average approaches an equilibrium of a two-player zero-sum game as simulations grow. Two changes: a baseline lowers
                     the variance; and no regret falls below 0, as in CFR+, which measured better, without a proof for samples.
    select=ucb       by UCB1; the result is the share of visits. With worlds=uniform this is information set Monte Carlo tree search.

Cowling, Powley and Whitehouse, "Information set Monte Carlo tree search" (2012); Lisý, Lanctot and Bowling, "Online Monte Carlo
counterfactual regret minimization for search in imperfect information games" (2015); Schmid et al., "Variance reduction in Monte Carlo
counterfactual regret minimization" (2019).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from base.errors import UserError
from base.seeds import below, derive, generator, uniform
from base.threads import interruptible
from games import CHANCE, Game, Rules
from games.choice import Candidate, Choice
from games.engine.information import follows, resampler
from games.engine.kernels import sampler
from games.types import Actions, Array, Counts, GameState, GameStates, Records, Rng, Utilities
from mcts.policy import drawn

NODE = np.dtype([("key", np.uint64), ("first", np.int32), ("count", np.int32), ("visits", np.int64)])
EDGE = np.dtype(
    [
        ("action", np.int32),
        ("visits", np.int64),  # regret: as an action of the updated player
        ("value", np.float64),  # UCB1: sum of the mover's utilities; regret: mean of sampled values, the baseline
        ("regret", np.float64),
        ("total", np.float64),  # of the strategies so far
    ]
)
STEP = np.dtype(
    [
        ("mover", np.int64),
        ("node", np.int64),  # -1: chance
        ("chosen", np.int64),  # which of the actions
        ("share", np.float64),  # its probability by the strategy, or by chance
        ("own", np.float64),  # the mover's own part in the probability of the path up to here
        ("others", np.float64),  # everybody else's
        ("before", np.float64),  # the probability of drawing the path up to here
        ("after", np.float64),  # and one action further
    ]
)
NODES, EDGES = range(2)  # of `used`
NONE = -1  # instead of a node
FINE, NO_WORLD = 0, -1


@dataclass(frozen=True)
class ISMCTSSettings:
    """Of one search."""

    simulations: int = 1000
    worlds: Literal["policy", "uniform"] | None = None
    """None: policy, in games that give their own `resample` uniform."""
    select: Literal["regret", "ucb"] = "regret"
    c: float = 2.0
    """Exploration of UCB1."""
    targeted: float = 0.5
    """The share of paths that are led to the view, with worlds=policy."""
    explored: float = 0.4
    """The share of an updated player's actions that are uniform, with select=regret (Online Outcome Sampling: 0.4)."""


class Trees(NamedTuple):
    """Of all players together: information sets of different players have different keys."""

    table: Actions
    """Hash table: the number of a node, or -1."""
    nodes: Records
    edges: Records
    used: Counts
    """[2]: how many nodes and edges there are."""


class Scratch(NamedTuple):
    """Of one simulation."""

    states: GameStates
    """[3]: the view that is searched, the position reached, a blank one."""
    actions: Actions
    """[max_legal]"""
    path: Actions
    """[max_plies]"""
    steps: Records
    """[max_plies + 1]"""
    shares: Array
    """[max_plies + 2, max_legal]: the strategy at each step; in the last row the one that actions are drawn from."""
    reach: Utilities
    """[players + 1]: each player's part in the probability of the path, chance's last."""
    utilities: Utilities
    """[players]"""
    stop: Counts
    """[1]: 1 ends the search."""


class How(NamedTuple):
    """The settings, as the kernel takes them."""

    is_uniform: bool
    is_regret: bool
    c: float
    targeted: float
    explored: float


class ISMCTS:
    """A search of one game. Its strategy in a view depends on the view and the seed alone: nothing is kept from move to move."""

    def __init__(self, game: Game, settings: ISMCTSSettings | None = None, seed: int = 0) -> None:
        if not game.hides_information:
            raise UserError(f"ismcts: expected a game that hides information, got {game.name}")
        settings = settings or ISMCTSSettings()
        rules, is_forward = game.rules, game.rules.resample is None
        worlds = settings.worlds or ("policy" if is_forward and settings.select == "regret" else "uniform")
        if worlds == "policy" and not is_forward:
            raise UserError(
                f"ismcts: worlds: expected uniform in {game.name}, whose file draws worlds itself, got policy"
            )
        if worlds == "policy" and settings.select == "ucb":
            raise UserError("ismcts: select: expected regret with worlds=policy, got ucb")
        self.game, self.settings, self.seed = game, settings, seed
        self.is_regret = settings.select == "regret"
        targeted = settings.targeted if worlds == "policy" else 0.0
        self._how = How(
            worlds == "uniform", self.is_regret, float(settings.c), float(targeted), float(settings.explored)
        )
        size = settings.simulations + 2
        self._trees = Trees(
            table=np.full(1 << math.ceil(math.log2(2 * size)), NONE, np.int32),
            nodes=np.zeros(size, NODE),
            edges=np.zeros(min(size * rules.max_legal, 1 << 30), EDGE),
            used=np.zeros(2, np.int64),
        )
        self._scratch = Scratch(
            states=game.blanks(3),
            actions=np.zeros(rules.max_legal, np.int32),
            path=np.zeros(rules.max_plies, np.int32),
            steps=np.zeros(rules.max_plies + 1, STEP),
            shares=np.zeros((rules.max_plies + 2, rules.max_legal)),
            reach=np.zeros(rules.players + 1),
            utilities=np.zeros(rules.players),
            stop=np.zeros(1, np.int64),
        )
        self.new_game()

    def new_game(self) -> None:
        self.rng = generator(self.seed, "ismcts player")

    def prepare(self) -> None:
        """Compile."""
        state, rng = self.game.initial(), generator(0, "ismcts compiles")
        while self.game.to_move(state) == CHANCE:
            legal = self.game.legal_actions(state)
            state = self.game.result(state, legal[below(rng, len(legal))])
        mover = self.game.to_move(state)
        if mover is not None:
            self._run(self.game.view(state, mover), mover, 1)

    def policy(self, view: GameState) -> dict[int, float]:
        """The probability of each action."""
        return {each.action: float(each.prior or 0.0) for each in self._searched(view)}

    def choose(self, view: GameState) -> Choice:
        """An action drawn from `policy`."""
        start = time.perf_counter()
        candidates = self._searched(view)
        left, action = uniform(self.rng), candidates[-1].action
        for each in candidates:
            left -= each.prior or 0.0
            if left < 0.0:
                action = each.action
                break
        value = next(each.value for each in candidates if each.action == action)
        ranked = tuple(sorted(candidates, key=lambda each: -(each.prior or 0.0)))
        seconds = time.perf_counter() - start
        return Choice(
            action, value or 0.0, pv=(action,), nodes=self.settings.simulations, seconds=seconds, actions=ranked
        )

    def _searched(self, view: GameState) -> list[Candidate]:
        """The actions of the view's node."""
        mover = self.game.to_move(view)
        if mover is None or mover == CHANCE:
            raise UserError(f"ismcts: expected a view of {self.game.name} with a move to choose, got none")
        self._run(view, mover, self.settings.simulations)
        nodes = self._trees.nodes[: self._trees.used[NODES]]
        nodes = nodes[(nodes["key"] == view.information[mover]) & (nodes["visits"] > 0)]
        legal = self.game.legal_actions(view)
        if not len(nodes):
            return [Candidate(action, prior=1 / len(legal)) for action in legal]
        edges = self._trees.edges[nodes["first"][0] : nodes["first"][0] + nodes["count"][0]]
        weights = edges["total"] if self.is_regret else edges["visits"].astype(np.float64)
        shares = weights / weights.sum() if weights.sum() > 0 else np.full(len(edges), 1 / len(edges))
        values = edges["value"] if self.is_regret else edges["value"] / np.maximum(edges["visits"], 1)
        return [
            Candidate(
                int(edge["action"]),
                value=float(np.clip(value, -1, 1)) if edge["visits"] else None,
                visits=None if self.is_regret else int(edge["visits"]),
                prior=float(share),
            )
            for edge, share, value in zip(edges, shares, values, strict=True)
        ]

    def _run(self, view: GameState, mover: int, simulations: int) -> None:
        trees, scratch = self._trees, self._scratch
        trees.table.fill(NONE)
        trees.used.fill(0)
        scratch.stop.fill(0)
        scratch.states[0], scratch.states[2] = view, self.game.blank()
        rng = generator(derive(self.seed, "ismcts", int(view.information[mover])), "simulations")
        kernel = self.game.kernel(simulator)
        fault = interruptible(
            lambda: kernel(trees, scratch, self._how, mover, simulations, rng),
            stop=lambda: scratch.stop.fill(1),
        )
        if fault == NO_WORLD:
            raise UserError(f"ismcts: no world of {self.game.name} found that fits what player {mover} has noticed")


def simulator(rules: Rules) -> Callable[..., int]:
    """simulate(trees, scratch, how, viewer, simulations, rng) -> FINE or NO_WORLD; what was found is in the trees."""
    initial, result, to_move, is_terminal, legal_actions, utility, players, most = (
        rules.initial,
        rules.result,
        rules.to_move,
        rules.is_terminal,
        rules.legal_actions,
        rules.utility,
        rules.players,
        rules.max_plies,
    )
    draw_world, fits, at_random = resampler(rules), follows(rules), sampler(rules)
    probability = rules.chance or (lambda state, action: 0.0)

    # ── nodes ──

    def place_of(table: Actions, nodes: Records, key: np.uint64) -> int:
        """Where the node of a key is in the table, or has to be put."""
        at = np.int64(key & np.uint64(len(table) - 1))
        while table[at] >= 0 and nodes[table[at]].key != key:
            at = (at + 1) & (len(table) - 1)
        return int(at)

    def add_node(
        table: Actions, nodes: Records, edges: Records, used: Counts, at: int, key: np.uint64, actions: Actions, n: int
    ) -> int:
        """NONE where there is no room."""
        node = int(used[NODES])
        if node == len(nodes) or used[EDGES] + n > len(edges):
            return NONE
        table[at] = node
        nodes[node].key, nodes[node].first, nodes[node].count, nodes[node].visits = key, used[EDGES], n, 0
        for i in range(n):
            edge = edges[used[EDGES] + i]
            edge.action, edge.visits, edge.value, edge.regret, edge.total = actions[i], 0, 0.0, 0.0, 0.0
        used[NODES] += 1
        used[EDGES] += n
        return node

    # ── how a mover chooses: `strategy` is what counts, `base` what actions are drawn from ──

    def by_chance(state: GameState, actions: Actions, n: int, strategy: Utilities, base: Utilities) -> None:
        for i in range(n):
            strategy[i] = probability(state, actions[i])
            base[i] = strategy[i]

    def by_regrets(edges: Records, first: int, n: int, explored: float, strategy: Utilities, base: Utilities) -> None:
        total = 0.0
        for i in range(n):
            total += max(edges[first + i].regret, 0.0)
        for i in range(n):
            strategy[i] = max(edges[first + i].regret, 0.0) / total if total > 0.0 else 1.0 / n
            base[i] = (1.0 - explored) * strategy[i] + explored / n if explored > 0.0 else strategy[i]

    def by_ucb1(
        edges: Records, first: int, n: int, visits: int, c: float, strategy: Utilities, base: Utilities, rng: Rng
    ) -> None:
        best = ucb1(edges, first, n, visits, c, rng)
        for i in range(n):
            strategy[i] = 1.0 if i == best else 0.0
            base[i] = strategy[i]

    def ucb1(edges: Records, first: int, n: int, visits: int, c: float, rng: Rng) -> int:
        offset, best, best_score = below(rng, n), 0, -np.inf  # which of equal ones is random
        for j in range(n):
            i = (j + offset) % n
            edge = edges[first + i]
            if edge.visits == 0:
                return i
            score = edge.value / edge.visits + c * math.sqrt(math.log(visits) / edge.visits)
            if score > best_score:
                best, best_score = i, score
        return best

    # ── paths that are led to the view ──

    def fitting_mass(
        view: GameState, state: GameState, viewer: int, actions: Actions, n: int, base: Utilities
    ) -> float:
        """The probability of an action that fits what the viewer has noticed."""
        mass = 0.0
        for i in range(n):
            if fits(view, state, actions[i], viewer):
                mass += base[i]
        return mass

    def draw_fitting(
        view: GameState, state: GameState, viewer: int, actions: Actions, n: int, base: Utilities, mass: float, rng: Rng
    ) -> int:
        left, chosen = uniform(rng) * mass, -1
        for i in range(n):
            if left >= 0.0 and base[i] > 0.0 and fits(view, state, actions[i], viewer):
                chosen = i
                left -= base[i]
        return chosen

    # ── simulations ──

    def simulate(trees: Trees, scratch: Scratch, how: How, viewer: int, simulations: int, rng: Rng) -> int:
        table, nodes, edges, used = trees
        states, actions, path, steps, shares, reach, utilities, stop = scratch
        view, state, base = states[0], states[1], shares[most + 1]
        largest = utilities[:1].copy()
        largest[0] = 0.0
        for number in range(simulations):
            if stop[0]:
                break
            updated = number % players
            if how.is_uniform:
                if draw_world(states, actions, path, viewer, rng, largest) < 0:
                    return NO_WORLD
            else:
                states[1] = states[2]
                initial(state)
            is_led = uniform(rng) < how.targeted
            by_target, by_policy = 1.0, 1.0  # the probabilities of drawing this path, led to the view or not
            is_before, is_on = not how.is_uniform, True  # before the view; on a path that leads to it or through it
            reach[:] = 1.0
            plies, has_grown, is_dead_end = 0, False, False
            while plies < most and not is_terminal(state):  # through the trees, one node beyond them
                mover = int(to_move(state))
                n = int(legal_actions(state, actions))
                if is_before and mover == viewer and state.information[viewer] == view.information[viewer]:
                    is_before = False
                node, strategy = NONE, shares[plies]
                if mover == CHANCE:
                    by_chance(state, actions, n, strategy, base)
                else:
                    key = state.information[mover]
                    at = place_of(table, nodes, key)
                    node = int(table[at])
                    if node < 0 and not has_grown:
                        node, has_grown = add_node(table, nodes, edges, used, at, key, actions, n), True
                    if node < 0:
                        break
                    first = int(nodes[node].first)
                    if how.is_regret:
                        explored = how.explored if mover == updated else 0.0
                        by_regrets(edges, first, n, explored, strategy, base)
                    else:
                        by_ucb1(edges, first, n, int(nodes[node].visits), how.c, strategy, base, rng)
                mass = fitting_mass(view, state, viewer, actions, n, base) if is_before and is_on else 1.0
                if is_led and mass <= 0.0:
                    is_dead_end = True
                    break
                if is_led and is_before:
                    chosen = draw_fitting(view, state, viewer, actions, n, base, mass, rng)
                else:
                    chosen = drawn(base, n, rng)
                step, seat = steps[plies], players if mover == CHANCE else mover
                step.mover, step.node, step.chosen, step.share = mover, node, chosen, strategy[chosen]
                step.own, step.others = reach[seat], 1.0
                for each in range(players + 1):
                    if each != seat:
                        step.others *= reach[each]
                step.before = how.targeted * by_target + (1.0 - how.targeted) * by_policy
                if is_on and is_before and not fits(view, state, actions[chosen], viewer):
                    by_target, is_on = 0.0, False
                if is_on:
                    by_target *= base[chosen] / mass
                by_policy *= base[chosen]
                step.after = how.targeted * by_target + (1.0 - how.targeted) * by_policy
                reach[seat] *= strategy[chosen]
                plies += 1
                result(state, actions[chosen])
            if is_dead_end:  # it has a probability, and counts nothing
                continue
            count = plies
            while plies < 2 * most and not is_terminal(state):
                result(state, at_random(state, actions, rng))
                plies += 1
            for player in range(players):
                utilities[player] = utility(state, player)
            if how.is_regret:
                back_up_regrets(nodes, edges, steps, shares, count, updated, utilities[updated], float(number + 1))
            else:
                back_up_utilities(nodes, edges, steps, count, utilities)
        return FINE

    def back_up_utilities(nodes: Records, edges: Records, steps: Records, count: int, utilities: Utilities) -> None:
        for t in range(count):
            node = int(steps[t].node)
            if node >= 0:
                edge = edges[nodes[node].first + steps[t].chosen]
                edge.visits += 1
                edge.value += utilities[steps[t].mover]
                nodes[node].visits += 1

    def back_up_regrets(
        nodes: Records,
        edges: Records,
        steps: Records,
        shares: Array,
        count: int,
        updated: int,
        utility: float,
        weight: float,
    ) -> None:
        """The updated player's regrets, and the other players' strategies: of the value of each step, as an estimate whose mean is
        right whatever was drawn."""
        value = utility
        for t in range(count - 1, -1, -1):
            step, strategy = steps[t], shares[t]
            drawn_with = step.after / step.before
            if step.node < 0:
                value *= step.share / drawn_with
                continue
            node = nodes[step.node]
            node.visits += 1
            first, n = int(node.first), int(node.count)
            if step.mover != updated:
                for i in range(n):
                    edges[first + i].total += weight * strategy[i] * step.own / step.before
                value *= step.share / drawn_with
                continue
            edge = edges[first + step.chosen]
            edge.visits += 1
            sampled = edge.value + (value - edge.value) / drawn_with
            mean = strategy[step.chosen] * sampled
            for i in range(n):
                if i != step.chosen:
                    mean += strategy[i] * edges[first + i].value
            for i in range(n):
                found = sampled if i == step.chosen else edges[first + i].value
                regret = edges[first + i].regret + step.others / step.before * (found - mean)
                edges[first + i].regret = max(regret, 0.0)
            edge.value += (value - edge.value) / edge.visits
            value = mean

    return simulate
