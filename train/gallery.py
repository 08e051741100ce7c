"""What TensorBoard shows of a run beside its curves, every few iterations: pictures, histograms, a game.

    gallery = Gallery(run)
    log.introduce(gallery.about())                                 # once: configuration and commands
    log.show(games, gallery.exhibits(View(...)))                   # whenever there was an evaluation

A few positions, the same in all runs of a game, are shown with the network's policy and the search's visits; one of them with the
tree of that search. Nothing here changes what is learned.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from base.options import split
from base.seeds import generator
from classical.eval import Eval
from games import CHANCE, Game, builtin_games
from games.record import GameRecord
from mcts.search import Search
from mcts.tree import NONE, OVER, ROOT
from nets import Inference
from selfplay.inspection import shown
from train import pictures
from train.boards import samples
from train.config import to_toml
from train.learner import Learner
from train.log import Exhibits
from train.run import Run

Array = np.ndarray[Any, Any]
Guess = tuple[Array, Array]
"""(expected, outcomes) of positions, in the mover's eyes."""

POSITIONS, TREE = 4, 2
"""How many, and of which of them the tree is drawn."""
NODES, DEEP, WIDE = 16, 4, 4  # of the tree that is drawn: edges, how many one below the other, how many below one node
LONGEST = 60_000  # letters of a game that is shown


@dataclass(frozen=True)
class View:
    """What the loop has at hand when it is time to show something."""

    learner: Learner
    games: Sequence[GameRecord]
    """Of the last iteration."""
    guesses: Mapping[str, Guess]
    """By name, of who judged these games before learning from them; none where a run goes on that has just been killed."""
    weights: Eval | None
    """Of the linear EVAL."""


class Gallery:
    def __init__(self, run: Run, game: Game) -> None:
        self.run, self.config, self.game = run, run.config, game
        self._positions: list[Any] | None = None

    # ── texts ──

    def about(self) -> dict[str, str]:
        return {
            "about/configuration": _code(f"# what {self.run.folder}/config.toml says\n{to_toml(self.config)}"),
            "about/commands": _code("\n\n".join(f"# {what}\n{command}" for what, command in self.commands())),
        }

    def commands(self) -> list[tuple[str, str]]:
        spec, name, folder = shlex.quote(self.game.spec), shlex.quote(self.run.name), shlex.quote(str(self.run.folder))
        net = shlex.quote(f"net:{self.run.name},sims={self.config.evaluation.simulations}")
        rules = "" if split(self.game.spec)[0] in builtin_games() else f" --rules {spec}"
        found = [
            ("goes on, or says that it is complete", f"python -m train {spec} --run {name}"),
            ("play against the newest checkpoint", f"python -m arena play {spec} human {net}"),
            ("measure it", f"python -m arena match {spec} {net} uct:sims=1000 --games 200"),
            ("its games", f"python -m selfplay inspect {folder}/games{rules}"),
            ("its checkpoints", f"python -m checkpoints list {folder}"),
            ("all of this as one page", f"python -m train report {name}"),
        ]
        if self.game.rules.features is not None:
            found.append(("the linear EVAL of its games", f"python -m train {spec} --eval-only --records {name}"))
        return found

    # ── now and then ──

    def exhibits(self, view: View) -> Exhibits:
        records = [record for record in view.games if len(record)]
        texts = {}
        if records:
            texts["about/game"] = _code(shown(self.game, records[0])[:LONGEST])
        return Exhibits(_histograms(view.learner, records), self.pictures(view), texts)

    def pictures(self, view: View) -> dict[str, Array]:
        found = self._searched(view.learner)
        if view.guesses:
            figure = pictures.values(view.guesses, "Can their word be taken? The newest games")
            found["look/calibration"] = pictures.pixels(figure)
        if view.weights is not None:
            by_hand = dict(zip(self.game.rules.feature_names, self.game.rules.feature_weights, strict=False))
            games = "" if view.weights.games is None else f", {view.weights.games:,} games"
            figure = pictures.weights(view.weights, by_hand, f"Linear EVAL, fitted to the window{games}")
            found["look/EVAL weights"] = pictures.pixels(figure)
        return found

    def _searched(self, learner: Learner) -> dict[str, Array]:
        """The sample positions, and a tree."""
        if self._positions is None:
            self._positions = samples(self.game, POSITIONS)
        states, simulations = self._positions, self.config.evaluation.simulations
        if not states:
            return {}
        how = replace(self.config.search, rollout=0.0)
        search = Search(self.game, how, slots=len(states), nodes=2 * simulations + 64)
        for slot, state in enumerate(states):
            search.begin(slot, state, generator(slot, "gallery"))
            search.start(slot, simulations)
        evaluator = Inference(learner.mean, len(states), self.config.device, "fp32")
        while search.step(evaluator):
            pass
        found = {}
        for slot, state in enumerate(states):
            figure = self._position(search, slot, state)
            found[f"look/position {slot + 1}"] = pictures.pixels(figure)
        slot = min(TREE, len(states) - 1)
        title = f"Position {slot + 1}: lines most visited of {simulations}, value for player 0"
        found["look/search tree"] = pictures.pixels(pictures.tree(outline(search, slot), self.game.players, title))
        return found

    def _position(self, search: Search, slot: int, state: Any) -> Any:
        edges, target = search.tree.children(search.tree.root(slot), slot), search.target(slot)
        policy = {int(edge.action): float(edge.prior) for edge in edges}
        visited = max(int(target.visits.sum()), 1)
        visits = {int(a): int(n) / visited for a, n in zip(target.actions, target.visits, strict=True)}
        mover = int(search.tree.root(slot).mover)
        word = "proves" if target.proven else "expects"
        title = f"Player {mover} to move; the search {word} {float(target.utilities[mover]):+.2f} for it"
        return pictures.position(self.game, state, {"policy": policy, "visits": visits}, title)


def outline(search: Search, slot: int) -> pictures.Node:
    """Of a searched tree the most visited part, as it is drawn."""
    tree, game = search.tree, search.game
    root = _node(tree.nodes[slot, ROOT], "")
    open_edges = [(edge, root, 1) for edge in tree.children(tree.root(slot), slot)]
    for _ in range(NODES):
        open_edges = [
            each for each in open_edges if each[0].visits > 0 and each[0].child != NONE and len(each[1].children) < WIDE
        ]
        if not open_edges:
            break
        best = max(range(len(open_edges)), key=lambda i: (int(open_edges[i][0].visits), -open_edges[i][2]))
        edge, parent, depth = open_edges.pop(best)
        below = tree.nodes[slot, edge.child]
        node = _node(below, game.name_of(int(edge.action)))
        parent.children.append(node)
        if depth < DEEP:
            open_edges += [(each, node, depth + 1) for each in tree.children(below, slot)]
    return root


def _node(node: Any, action: str) -> pictures.Node:
    visits = int(node.visits)
    proven = bool(node.proven) or int(node.mover) == OVER
    utility = float(node.utility[0]) if proven else float(node.sums[0]) / max(visits, 1)
    mover = int(node.mover)
    return pictures.Node(action, CHANCE if mover < 0 else mover, visits, utility, proven)


def _histograms(learner: Learner, records: Sequence[GameRecord]) -> dict[str, Array]:
    found: dict[str, Array] = {}
    for name, weight in learner.net.named_parameters():
        if weight.dim() > 1:
            found[f"weights/{name}"] = _numbers(weight)
            if weight.grad is not None:
                found[f"gradients/{name}"] = _numbers(weight.grad)
    if records:
        found["selfplay/lengths"] = np.array([len(record) for record in records], np.float64)
        found["selfplay/root values"] = np.concatenate(
            [record.utilities[record.searched == 1, 0] for record in records]
        )
        found["selfplay/target entropies"] = np.concatenate([_entropies(record) for record in records])
    return found


def _numbers(tensor: torch.Tensor) -> Array:
    found: Array = tensor.detach().float().cpu().numpy()
    return found


def _entropies(record: GameRecord) -> Array:
    """In nats, of the policies to learn."""
    shares = record.probabilities.astype(np.float64)
    parts = -shares * np.log(np.maximum(shares, 1e-12))
    plies = np.repeat(np.arange(len(record)), record.policy_counts)
    found: Array = np.bincount(plies, parts, len(record))[record.searched == 1]
    return found


def _code(text: str) -> str:
    """As it is, in Markdown."""
    return "\n".join(f"    {line}" for line in text.splitlines())
