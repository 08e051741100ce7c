"""What TensorBoard shows of a run beside its metrics, every few iterations: pictures, histograms, a game.

    maker = MediaMaker(game, config.search, simulations=100)
    log.show(games, maker.media(View(...)))                        # whenever there was an evaluation

A few positions, the same in all runs of a game, are shown with the network's policy and the search's visits; one of them with the
tree of that search. Nothing here changes what is learned.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from base.seeds import generator
from classical.eval import Eval
from games import CHANCE, Game
from games.record import GameRecord
from mcts.policy import PolicyPlayer
from mcts.search import Search
from mcts.settings import MethodSettings, SearchSettings
from mcts.tree import NONE, OVER, ROOT
from monitor import pictures
from monitor.history import History
from monitor.quality import Bin
from monitor.samples import samples
from monitor.tensorboard import Media
from nets import Inference, Net
from selfplay.inspection import shown

Array = np.ndarray[Any, Any]

POSITIONS, TREE = 4, 2
"""How many, and of which of them the tree is drawn."""
NODES, DEEP, WIDE = 16, 4, 4  # of the tree that is drawn: edges, its depth, children of a node
LONGEST = 60_000  # letters of a game that is shown


@dataclass(frozen=True)
class View:
    """What there is to show after an iteration."""

    net: Net
    """The network that learns, with its gradients."""
    mean: Net
    """The mean of its weights, which plays."""
    games: Sequence[GameRecord]
    """Of the last iteration."""
    weights: Eval | None
    """Of the linear EVAL."""


class MediaMaker:
    def __init__(self, game: Game, search: MethodSettings, simulations: int, device: str = "cpu") -> None:
        """`simulations`: of the searches that are shown."""
        self.game, self.search, self.simulations, self.device = game, search, simulations, device
        self._positions: list[Any] | None = None

    def media(self, view: View, calibration: Mapping[str, Sequence[Bin]], history: History) -> Media:
        records = [record for record in view.games if len(record)]
        texts = {}
        if records:
            texts["about/game"] = as_code(shown(self.game, records[0])[:LONGEST])
        return Media(histograms(view.net, records), self.pictures(view, calibration, history), texts)

    def pictures(self, view: View, calibration: Mapping[str, Sequence[Bin]], history: History) -> dict[str, Array]:
        found = self._searched(view.mean)
        if calibration:
            found["look/calibration"] = pictures.pixels(pictures.calibration(calibration))
        if ended := results_of(history):
            found["look/results"] = pictures.pixels(pictures.results(ended))
        if view.weights is not None:
            by_hand = dict(zip(self.game.rules.feature_names, self.game.rules.feature_weights, strict=False))
            games = "" if view.weights.games is None else f", {view.weights.games:,} games"
            figure = pictures.weights(view.weights, by_hand, f"Linear EVAL, fitted to the window{games}")
            found["look/EVAL weights"] = pictures.pixels(figure)
        return found

    def _searched(self, net: Net) -> dict[str, Array]:
        """The sample positions, and a tree."""
        if self._positions is None:
            self._positions = samples(self.game, POSITIONS)
        states = self._positions
        if not states:
            return {}
        if not isinstance(self.search, SearchSettings):
            return self._mixed(net, states)
        settings = replace(self.search, rollout=0.0)
        search = Search(self.game, settings, slots=len(states), nodes=2 * self.simulations + 64)
        for slot, state in enumerate(states):
            search.begin(slot, state, generator(slot, "gallery"))
            search.start(slot, self.simulations)
        evaluator = Inference(net, len(states), self.device, "fp32")
        while search.step(evaluator):
            pass
        found = {}
        for slot, state in enumerate(states):
            figure = self._position(search, slot, state)
            found[f"look/position {slot + 1}"] = pictures.pixels(figure)
        slot = min(TREE, len(states) - 1)
        title = f"Position {slot + 1}: lines most visited of {self.simulations}, value for player 0"
        found["look/search tree"] = pictures.pixels(pictures.tree(outline(search, slot), self.game.players, title))
        return found

    def _mixed(self, net: Net, states: list[Any]) -> dict[str, Array]:
        """The sample positions as their movers see them, with the policy."""
        player, found = PolicyPlayer(self.game, Inference(net, 1, self.device, "fp32")), {}
        for number, state in enumerate(states):
            mover = self.game.to_move(state)
            assert mover is not None
            view = self.game.view(state, mover)
            choice = player.choose(view)
            policy = {each.action: float(each.prior or 0.0) for each in choice.actions}
            title = f"Player {mover} to move; the network expects {choice.value:+.2f} for it"
            figure = pictures.position(self.game, view, {"policy": policy}, title)
            found[f"look/position {number + 1}"] = pictures.pixels(figure)
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


def results_of(history: History) -> list[pictures.Results]:
    """Against each reference player that was met at two points at least."""
    found = []
    wins = re.compile(r"against/(.+) wins")
    for player in [match[1] for name in history.names() if (match := wins.fullmatch(name))]:
        series = [history.series(f"against/{player} {word}") for word in ("wins", "draws", "losses")]
        games = series[0][0]
        if len(games) > 1 and all(each[0] == games for each in series):
            shares = list(zip(*(values for _, values in series), strict=True))
            found.append(pictures.Results(player, games, shares))
    return found


def outline(search: Search, slot: int) -> pictures.Node:
    """The most visited part of a search tree, for the picture."""
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


def histograms(net: Net, records: Sequence[GameRecord]) -> dict[str, Array]:
    found: dict[str, Array] = {}
    for name, weight in net.named_parameters():
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
    """In nats, of the policy targets."""
    shares = record.probabilities.astype(np.float64)
    parts = -shares * np.log(np.maximum(shares, 1e-12))
    plies = np.repeat(np.arange(len(record)), record.policy_counts)
    found: Array = np.bincount(plies, parts, len(record))[record.searched == 1]
    return found


def as_code(text: str) -> str:
    """Verbatim, in Markdown."""
    return "\n".join(f"    {line}" for line in text.splitlines())
