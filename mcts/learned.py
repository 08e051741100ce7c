"""Search with a network: PUCT or Gumbel AlphaZero over many games side by side, for self-play and for matches.

A driver of self-play owns the games and the loop; this is all that it needs of the search:

>>> search = LearnedSearch(game, LearnedSettings(), slots=64, nodes=2000, cache_mb=64)
>>> for slot in range(64):
...     search.begin(slot, game.initial(), generator(seed, "game", slot))
...     search.start(slot, 600, explore=True)                # a full search; start(slot, 100) is a fast one, without noise
>>> while search.step(evaluator):                            # one padded batch
...     for slot in filter(search.is_done, range(64)):
...         found = search.target(slot)                      # for the record: actions, visits, probabilities, utilities
...         action = search.choose(slot, search.how.temperature_at(ply[slot]))
...         search.advance(slot, action)                     # keeps the subtree; rolls of the dice are advanced over, too
...         search.start(slot, 600, explore=True)            # or begin() where the game is over

**What is deterministic.** A slot's tree, target and choice are a function of the evaluator, the settings, the state and the random
stream given to `begin`, and of the calls made for this slot since; never of its neighbours, of the number of slots, or of the cache.
That holds as long as the answer to an observation depends on that observation alone (fixed batch size) and `leaves` is 1.

**The target** is what the network is to learn at a root: with PUCT the shares of visits, forced ones taken out; with Gumbel the
improved policy. The temperature is for choosing and never touches it. Actions proven to lose get nothing while there are others.
Where the root is proven: the shares among the actions proven to be worth as much as the root, and its exact utilities.

Silver et al. 2018 (AlphaZero); Wu 2019 (KataGo); Danihelka et al. 2022 (Gumbel).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from base.compiler import compiled
from base.errors import UserError, require
from base.seeds import Rng, uniform
from games import Game
from mcts.gumbel import improved_policy, leader
from mcts.noise import pruned
from mcts.phases import TIE
from mcts.root import ranked
from mcts.search import Search, Settings
from mcts.selection import GUMBEL, PUCT, exploration

__all__ = ["LearnedSearch", "LearnedSettings", "Target"]

LONGEST_HALFLIFE = 19.0
"""Plies: KataGo's on the full board, where games take hundreds."""

_COLD = 0.01  # a temperature below is taken for 0


@dataclass(frozen=True)
class LearnedSettings:
    """How to search with a network's judgement. What the papers used stands behind; `gumbel()` gives Gumbel's defaults."""

    method: Literal["puct", "gumbel"] = "puct"
    """PUCT, or Gumbel AlphaZero for small budgets (`mcts/gumbel.py`)."""
    c_init: float = 1.25
    """PUCT: exploration at the start. AlphaZero: 1.25."""
    c_base: float = 19652.0
    """PUCT: visits at which exploration begins to grow. AlphaZero: 19652."""
    fpu: float = 0.2
    """PUCT: by how much an action never tried is thought worse than its node, once all others have been tried. KataGo: 0.2."""
    rollout: float = 0.0
    """λ: a leaf is worth (1-λ) v + λ z, z the outcome of a random game. AlphaGo: 0.5; AlphaZero: 0."""
    rollout_plies: int = 0
    """A random game is cut after so many plies and judged by the estimate there; 0: played to its end."""
    solve: bool = True
    """Carry proven utilities up the tree: a proven win is played, a proven loss avoided, a proven root searched no further."""
    glance: bool = True
    """With it: where the search first goes beyond a position, it looks for an action that wins at once, and takes it, however
    unlikely the policy finds it. It costs a trial of every action there: little beside a network's judgement."""

    # ── where a search explores (`start(explore=True)`), at the root alone ──
    fpu_root: float = 0.0
    """PUCT: fpu there. KataGo: 0 where there is noise."""
    noise: float = 0.25
    """PUCT: share of Dirichlet noise in the priors. AlphaZero: 0.25."""
    noise_total: float = 10.83
    """PUCT: sum of the noise's parameters α over the legal actions. KataGo: 10.83, which is 0.03 on 361 points."""
    policy_temperature: float = 1.1
    """PUCT: priors are flattened to P^(1/T). KataGo: 1.1."""
    forced: float = 2.0
    """PUCT: an action once tried is given √(k P N) visits at least; the target is pruned of them. 0: neither. KataGo: 2."""

    # ── choosing the move in self-play; never in the target ──
    temperature: float = 0.8
    """PUCT: at ply 0. AlphaZero: 1; KataGo: 0.8."""
    temperature_end: float = 0.2
    """PUCT: what it comes down to. AlphaZero: 0; KataGo: 0.2."""
    temperature_halflife: float = 0.0
    """PUCT: plies in which it goes half the way; 0: a quarter of the game's longest, 19 at most. KataGo: the side of the board, 19."""

    # ── Gumbel ──
    considered: int = 16
    """Gumbel: how many actions race at the root. Danihelka et al.: 16."""
    c_visit: float = 50.0
    """Gumbel: σ(q) = (c_visit + most visits) c_scale q, q in [0, 1]. Danihelka et al.: 50."""
    c_scale: float = 1.0
    """Gumbel: the same. Danihelka et al.: 1 for board games."""

    @classmethod
    def gumbel(cls, **options: Any) -> LearnedSettings:
        """With what makes no sense there switched off."""
        return cls(**(_OFF | {"method": "gumbel"} | options))

    def __post_init__(self) -> None:
        if self.method not in ("puct", "gumbel"):
            raise UserError(f"method: expected 'puct' or 'gumbel', got {self.method!r}")
        for_choosing = ("temperature", "temperature_end", "temperature_halflife")
        least = ("fpu_root", "forced", *for_choosing, "c_visit", "c_scale")
        require(self, "a number of at least 0", lambda x: 0 <= x < math.inf, *least)
        require(self, "a number above 0", lambda x: 0 < x < math.inf, "noise_total", "policy_temperature")
        require(self, "the share of noise in the priors, 0 to 1", lambda x: 0 <= x <= 1, "noise")
        require(self, "1 action or more", lambda n: n >= 1, "considered")
        self.tree()
        for name, off in _OFF.items() if self.method == "gumbel" else ():
            if getattr(self, name) != off:
                raise UserError(
                    f"{name}: expected {off} with method 'gumbel' ({_WHY[name]}), got {getattr(self, name)}"
                )

    def tree(self) -> Settings:
        """What holds everywhere in the tree."""
        return Settings(
            rule="puct",
            c_init=self.c_init,
            c_base=self.c_base,
            fpu=self.fpu,
            rollout=self.rollout,
            rollout_plies=self.rollout_plies,
            solve=self.solve,
            glance=self.glance,
        )

    def settled(self, game: Game) -> LearnedSettings:
        """For this game: what depends on it is filled in."""
        return replace(
            self, temperature_halflife=self.temperature_halflife or min(game.rules.max_plies / 4, LONGEST_HALFLIFE)
        )

    def temperature_at(self, ply: int) -> float:
        """For choosing the move at a ply of a game of self-play, once `settled`."""
        share = math.exp2(-ply / self.temperature_halflife)
        return self.temperature_end + (self.temperature - self.temperature_end) * share


_WHY = {
    "noise": "it samples the root's actions itself",
    "policy_temperature": "it samples the root's actions itself",
    "forced": "every action in the race gets its visits",
    "temperature": "the action to play is the race's winner",
    "temperature_end": "the action to play is the race's winner",
}
_OFF: dict[str, Any] = dict.fromkeys(_WHY, 0.0) | {"policy_temperature": 1.0}


@dataclass(frozen=True)
class Target:
    """What a searched root says, for the record and for learning. k legal actions, ascending."""

    actions: np.ndarray[Any, np.dtype[np.int32]]
    """[k]"""
    visits: np.ndarray[Any, np.dtype[np.int64]]
    """[k]: as searched, forced ones included."""
    probabilities: np.ndarray[Any, np.dtype[np.float32]]
    """[k]: the distribution to learn."""
    utilities: np.ndarray[Any, np.dtype[np.float64]]
    """[P]: the root's, absolute: component p is player p's. The mean of its simulations, exact where proven."""
    proven: bool


class LearnedSearch(Search):
    """Trees under a `BatchEvaluator`, one per game. `nodes` is each tree's memory, the subtree kept from move to move included."""

    def __init__(self, game: Game, how: LearnedSettings | None = None, **options: Any) -> None:
        """`options` are those of `Search`: slots, nodes, leaves, cache_mb, symmetry."""
        self.how = (how or LearnedSettings()).settled(game)
        super().__init__(game, self.how.tree(), **options)
        record = self._settings
        record.rule = GUMBEL if self.how.method == "gumbel" else PUCT
        for name in ("fpu_root", "noise", "noise_total", "policy_temperature", "forced"):
            record[name] = getattr(self.how, name)
        for name in ("c_visit", "c_scale", "considered"):
            record[name] = getattr(self.how, name)
        self.worst = min(game.rules.values, default=-1.0)
        self._improved_policy = compiled(improved_policy, label="the search tree")
        self._leader = compiled(leader, label="the search tree")

    def begin(self, slot: int, state: Any, rng: Rng) -> None:
        """Forget a tree and start one at `state`, drawing from `rng` (copied). Then `start`."""
        super().begin(slot, state, rng)

    def start(self, slot: int, simulations: int, explore: bool = False) -> None:
        """So many new simulations from the root; to `explore` means noise, forced visits and the rest that self-play needs.

        Noise is drawn once per root: searching on from the same one keeps what it has. With Gumbel every search is a race of its own.
        """
        if simulations < 1:
            raise UserError(f"simulations: expected 1 or more, got {simulations}")
        about = self.tree.slots[slot]
        if self._is_gumbel and about.nodes:
            self.begin(slot, self.roots[slot], about.rng.copy())
        if explore and not about.explore:
            about.prepared = 0
        about.explore = explore
        about.simulations = about.depth = about.refused = 0
        self.add(simulations, slot)

    def advance(self, slot: int, action: int) -> bool:
        """Play an action at the root; False where no subtree was kept (Gumbel keeps none). Then `start`, or `roll` first."""
        kept = super().advance(slot, action)
        about, root = self.tree.slots[slot], self.tree.root(slot)
        about.explore = 0
        if kept and (self._is_gumbel or (root.count == 0 and not self.game.is_terminal(self.roots[slot]))):
            self.tree.clear(slot, about.rng.copy())  # expanded where there was no memory, it has no priors
            kept = False
        return kept

    def choose(self, slot: int, temperature: float = 0.0) -> int:
        """The action to play: the best one, or drawn from the target sharpened to p^(1/temperature) by the tree's own stream."""
        if temperature < _COLD:
            return int(self.best(slot).action)
        if self._is_gumbel:
            raise UserError(f"temperature: expected 0 with method 'gumbel' ({_WHY['temperature']}), got {temperature}")
        found = self.target(slot)
        with np.errstate(divide="ignore"):
            logs = np.log(found.probabilities.astype(np.float64)) / temperature
        weights = np.exp(logs - logs.max())
        drawn = uniform(self.tree.slots[slot].rng) * weights.sum()
        return int(found.actions[min(np.searchsorted(np.cumsum(weights), drawn, side="right"), len(weights) - 1)])

    # ── what the root says ──

    def best(self, slot: int = 0) -> Any:
        """The root's edge to play. Before any was walked: the likeliest."""
        tree, root = self.tree, self.tree.root(slot)
        if not self._is_gumbel or root.proven:
            return ranked(tree, root, slot, self.worst)[0]
        most = int(tree.children(root, slot)["visits"].max())
        number = self._leader(tree.slots[slot], root, tree.nodes[slot], tree.edges[slot], self._settings, most)
        winner = tree.edges[slot, number]
        if winner.proven and tree.nodes[slot, winner.child].utility[root.mover] <= self.worst:
            found = self.target(slot)  # all that were left in the race are lost: the likeliest of the others
            hope = int(found.actions[found.probabilities.argmax()])
            return next(edge for edge in tree.children(root, slot) if edge.action == hope)
        return winner

    def ranked(self, slot: int = 0) -> list[Any]:
        """The root's edges, the one to play first, the others by visits."""
        first = int(self.best(slot).action)
        edges = ranked(self.tree, self.tree.root(slot), slot, self.worst)
        return sorted(edges, key=lambda edge: int(edge.action) != first)

    def utilities(self, slot: int = 0) -> np.ndarray[Any, np.dtype[np.float64]]:
        """[P]: the root's, absolute."""
        root = self.tree.root(slot)
        return np.array(root.utility if root.proven else root.sums / max(int(root.visits), 1), np.float64)

    def target(self, slot: int = 0) -> Target:
        """What there is to learn from the root, once it has been searched."""
        root, edges = self.tree.root(slot), self.tree.children(self.tree.root(slot), slot)
        if self.tree.slots[slot].nodes == 0 or root.count == 0 or root.mover < 0:
            raise UserError("target: expected a root that has been searched and where a player is to move, got none")
        known = np.full(len(edges), np.nan)
        for i in np.flatnonzero(edges["proven"]):
            known[i] = self.tree.nodes[slot, edges[i]["child"]]["utility"][root.mover]
        if root.proven:
            weights = np.where(known >= root.utility[root.mover] - TIE, edges["visits"], 0).astype(np.float64)
        else:
            weights = self._improved(slot) if self._is_gumbel else self._wanted(slot, edges)
            hopeful = np.where(known <= self.worst, 0.0, weights)
            weights = hopeful if hopeful.sum() > 0 else weights
        order = np.argsort(edges["action"])
        return Target(
            edges["action"][order].astype(np.int32),
            edges["visits"][order].astype(np.int64),
            (weights / weights.sum())[order].astype(np.float32),
            self.utilities(slot),
            bool(root.proven),
        )

    def _wanted(self, slot: int, edges: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Visits, forced ones taken out; the priors where there are none."""
        if not edges["visits"].any():
            return np.array(edges["prior"], np.float64)
        forced = self.how.forced if self.tree.slots[slot].explore else 0.0
        visits = int(self.tree.root(slot).visits)
        return pruned(edges, forced, exploration(PUCT, self.how.c_init, self.how.c_base, visits))

    def _improved(self, slot: int) -> np.ndarray[Any, np.dtype[np.float64]]:
        tree = self.tree
        policy = np.zeros(int(tree.root(slot).count))
        self._improved_policy(tree.root(slot), tree.nodes[slot], tree.edges[slot], self._settings, policy)
        return policy

    @property
    def _is_gumbel(self) -> bool:
        return self.how.method == "gumbel"
