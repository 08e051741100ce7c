"""A game tree given as data, `tree:two_ply.json`: every figure of a textbook is a game that every search can play.

The file is looked for on disk, then among the trees that come with this package (`games/trees/`). It is JSON:

    {"about": "…", "players": 2, "zero_sum": true, "scale": 16, "tree": NODE}

    NODE = {"player": 0, "actions": {"a1": NODE, "a2": NODE}}            a decision
         | {"chance": {"heads": [0.5, NODE], "tails": [0.5, NODE]}}      a roll of the dice
         | [3, -3]                                                       an end: one payoff per player
         | 3                                                             the same for two players and zero sum: player 0's payoff

People are shown payoffs. Searches compare utilities, payoffs divided by `scale` (left out: the largest payoff in size). A node's
actions are named differently from each other; the same name at different nodes is the same action. A position's text is the path to it:
`a1 b2`, or `root`.
"""

import json
import os
import zlib
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from base.errors import UserError, short
from base.files import read_json
from base.json_values import is_number, is_whole
from games import CHANCE, Rules
from games.types import Actions, GameState, Planes

TREES = Path(__file__).parent / "trees"
VARIANTS = tuple(sorted(path.name for path in TREES.glob("*.json")))

END = -2
FEW = 16  # as many different utilities are declared


def game(file: str, /) -> Rules:
    source = Path(file) if os.path.isfile(file) else TREES / file
    if not os.path.isfile(source):
        raise UserError(f"expected a file, or one of {', '.join(VARIANTS)}; got '{short(file)}'")
    tree = _Tree(source)
    State = np.dtype([("node", np.int32)])
    players, count = tree.players, len(tree.movers)
    movers, firsts = np.array(tree.movers, np.int32), np.array(tree.firsts, np.int32)
    edge_actions, edge_nodes = np.array(tree.edge_actions, np.int32), np.array(tree.edge_nodes, np.int32)
    odds, payoffs = np.array(tree.odds), np.array(tree.payoffs) / tree.scale

    def initial(state: GameState) -> None:
        state.node = 0

    def to_move(state: GameState) -> int:
        return movers[state.node]

    def legal_actions(state: GameState, actions: Actions) -> int:
        first, last = firsts[state.node], firsts[state.node + 1]
        for edge in range(first, last):
            actions[edge - first] = edge_actions[edge]
        return last - first

    def edge_of(state: GameState, action: int) -> int:
        edge = firsts[state.node]
        while edge_actions[edge] != action:
            edge += 1
        return edge

    def result(state: GameState, action: int) -> None:
        state.node = edge_nodes[edge_of(state, action)]

    def is_terminal(state: GameState) -> bool:
        return movers[state.node] == END

    def utility(state: GameState, player: int) -> float:
        return payoffs[state.node, player]

    def chance(state: GameState, action: int) -> float:
        return odds[edge_of(state, action)]

    def observe(state: GameState, player: int, planes: Planes) -> None:
        planes[state.node, 0, 0] = 1  # which node; and who looks at it, for a node looks different to different players
        planes[count + player, 0, 0] = 1

    def render(state: GameState) -> str:
        return tree.drawn(int(state.node))

    def text(state: GameState) -> str:
        return " ".join(tree.paths[int(state.node)]) or "root"

    def parse(state: GameState, text: str) -> None:
        path = tuple(() if text == "root" else text.split())
        if not text or path not in tree.paths:
            raise ValueError(f"expected 'root' or the actions from the root, got '{text}'")
        state.node = tree.paths.index(path)

    ends = [payoffs[node].tolist() for node in range(count) if movers[node] == END]
    values = sorted({value for end in ends for value in end})
    return Rules(
        State,
        initial,
        to_move,
        legal_actions,
        result,
        is_terminal,
        utility,
        version=tree.version,
        players=players,
        actions=len(tree.names),
        max_plies=max(map(len, tree.paths)),
        max_legal=max(last - first for first, last in pairwise(tree.firsts)),
        zero_sum=tree.zero_sum,
        values=values if len(values) <= FEW else (),
        payoff_scale=float(tree.scale),
        chance=chance if CHANCE in tree.movers else None,
        observe=observe,
        observation=(count + players, 1, 1),
        names=tree.names,
        render=render,
        text=text,
        parse=parse,
    )


class _Tree:
    """The tree as arrays, nodes numbered breadth first, children of a node side by side."""

    def __init__(self, source: Path) -> None:
        self.source = source
        data = read_json(source)
        if not isinstance(data, dict) or "tree" not in data:
            raise self._broken("the top", 'an object with "tree"', data)
        unknown = set(data) - {"about", "source", "players", "zero_sum", "scale", "tree"}
        if unknown:
            raise self._broken("the top", "the keys about, source, players, zero_sum, scale, tree", sorted(unknown)[0])
        self.about = str(data.get("about", ""))
        self.version = zlib.crc32(source.read_bytes())  # another tree under the same name is another game
        self.players, self.zero_sum = data.get("players", 2), data.get("zero_sum", True)
        if not (is_whole(self.players) and 1 <= self.players <= 16) or not isinstance(self.zero_sum, bool):
            raise self._broken(
                "the top", "players from 1 to 16 and zero_sum true or false", [self.players, self.zero_sum]
            )
        self.names: list[str] = []
        self.paths: list[tuple[str, ...]] = [()]
        self.movers: list[int] = []
        self.firsts: list[int] = [0]
        self.edge_actions: list[int] = []
        self.edge_nodes: list[int] = []
        self.odds: list[float] = []
        self.payoffs: list[list[float]] = []
        nodes = [data["tree"]]
        ids: dict[str, int] = {}
        for number, path in enumerate(self.paths):  # the list grows during the loop
            mover, payoffs, edges = self._read(nodes[number], path)
            self.movers.append(mover)
            self.payoffs.append(payoffs)
            for name, probability, child in edges:
                self.edge_actions.append(ids.setdefault(name, len(ids)))
                self.edge_nodes.append(len(nodes))
                self.odds.append(probability)
                self.paths.append((*path, name))
                nodes.append(child)
            self.firsts.append(len(self.edge_actions))
        self.names = list(ids) or ["-"]
        largest = max((abs(payoff) for payoffs in self.payoffs for payoff in payoffs), default=1.0)
        self.scale = data.get("scale", largest or 1.0)
        if not is_number(self.scale) or self.scale < largest or self.scale <= 0:
            raise self._broken("the top", f"a scale of at least {largest:g}, the largest payoff", self.scale)
        if self.movers[0] == END:
            raise self._broken("the root", "a decision or chance, for there is nothing to play at an end", data["tree"])

    def _read(self, node: Any, path: tuple[str, ...]) -> tuple[int, list[float], list[tuple[str, float, Any]]]:
        """Mover, payoffs and edges of one node."""
        where = " ".join(path) or "the root"
        if isinstance(node, dict) and set(node) == {"player", "actions"}:
            player = node["player"]
            if not is_whole(player) or not 0 <= player < self.players:
                raise self._broken(where, f"a player from 0 to {self.players - 1}", player)
            return (
                player,
                [0.0] * self.players,
                [(name, 0.0, child) for name, child in self._children(node["actions"], where)],
            )
        if isinstance(node, dict) and set(node) == {"chance"}:
            edges = []
            for name, pair in self._children(node["chance"], where):
                if not (isinstance(pair, list) and len(pair) == 2 and is_number(pair[0]) and 0 < pair[0] <= 1):
                    raise self._broken(f"{where}, {name}", "[probability, node]", pair)
                edges.append((name, float(pair[0]), pair[1]))
            if abs(sum(probability for _, probability, _ in edges) - 1) > 1e-9:
                raise self._broken(
                    where, "probabilities that sum to 1", sum(probability for _, probability, _ in edges)
                )
            return CHANCE, [0.0] * self.players, edges
        if is_number(node) and self.players == 2 and self.zero_sum:
            return END, [float(node), -float(node)], []
        if isinstance(node, list) and len(node) == self.players and all(map(is_number, node)):
            if self.zero_sum and abs(sum(node)) > 1e-9:
                raise self._broken(where, "payoffs that sum to zero (or zero_sum false)", node)
            return END, [float(payoff) for payoff in node], []
        raise self._broken(where, f'"player" with "actions", "chance", or {self.players} payoffs', node)

    def _children(self, children: Any, where: str) -> list[tuple[str, Any]]:
        if not isinstance(children, dict) or not children:
            raise self._broken(where, "one or more named actions", children)
        for name in children:
            if len(name.split()) != 1:
                raise self._broken(where, "action names of one word", name)
        return list(children.items())

    def _broken(self, where: str, expected: str, got: Any) -> UserError:
        try:
            text = json.dumps(got)
        except RecursionError:
            text = f"{str(got)[:20]}…"
        return UserError(f"{self.source}: {short(where)}: expected {expected}, got {short(text)}")

    def drawn(self, here: int) -> str:
        """The tree with its nodes indented by depth, in the order of a book, and an arrow at the position."""
        lines = [self.about] if self.about else []

        def draw(node: int) -> None:
            mover = self.movers[node]
            what = "chance" if mover == CHANCE else f"player {mover}"
            if mover == END:
                given = self.payoffs[node][:1] if self.players == 2 and self.zero_sum else self.payoffs[node]
                what = " ".join(f"{payoff:g}" for payoff in given)  # as the file has it
            label = self.paths[node][-1] if self.paths[node] else "root"
            lines.append(f"{'->' if node == here else '  '} {'  ' * len(self.paths[node])}{label}: {what}")
            for edge in range(self.firsts[node], self.firsts[node + 1]):
                draw(self.edge_nodes[edge])

        if len(self.movers) <= 200:
            draw(0)
        else:
            lines.append(f"at {' '.join(self.paths[here]) or 'the root'} of a tree of {len(self.movers)} nodes")
        return "\n".join(lines)
