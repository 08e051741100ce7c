"""An independent reading of a search tree: walks the arrays from the root in plain Python and checks every law they declare."""

from typing import Any

import numpy as np
import pytest

from games import CHANCE, Game
from mcts.search import Search
from mcts.tree import NONE, OVER


def walk(search: Search, slot: int = 0) -> dict[int, Any]:
    """Every node's number with its position, after checking the tree's laws."""
    game, tree = search.game, search.tree
    about, nodes, edges = tree.slots[slot], tree.nodes[slot], tree.edges[slot]
    full = about.refused > 0
    positions: dict[int, Any] = {}
    edges_seen = np.zeros(about.edges, np.int64)
    pending: list[tuple[int, Any]] = [(0, search.roots[slot].copy())] if about.nodes else []
    while pending:
        number, state = pending.pop()
        assert number not in positions, "a node with two parents"
        positions[number] = state
        node = nodes[number]
        assert node.flight == 0
        over = game.is_terminal(state)
        assert node.mover == (OVER if over else game.to_move(state))
        children = edges[node.edges : node.edges + node.count]
        edges_seen[node.edges : node.edges + node.count] += 1
        if over:
            assert node.count == 0 and node.proven
            assert tuple(node.utility) == game.utility(state)
            np.testing.assert_allclose(node.sums, node.visits * node.utility)
            continue
        assert np.all(np.abs(node.sums) <= node.visits + 1e-9)
        below = int(children["visits"].sum())
        if node.mover == CHANCE or (search.variant.has_policy and node.count == 1):
            assert node.count
            assert node.visits == below or (node.proven and node.visits > below)
        elif full or node.proven:
            assert node.visits >= 1 + below
        else:
            assert node.visits == 1 + below
        if node.mover == CHANCE:
            np.testing.assert_allclose(children["value"], [game.chance(state, int(e.action)) for e in children])
        if node.count:
            assert sorted(children["action"].tolist()) == sorted(game.legal_actions(state))
        if node.mover >= 0 and not node.proven and not full and node.visits:
            assert node.sums[node.mover] == pytest.approx(node.utility[node.mover] + children["value"].sum())
        if node.proven:
            assert_proof(game, nodes, node, children, search)
        for edge in children:
            assert edge.flight == 0
            if edge.child == NONE:
                assert not edge.proven
                assert full or edge.visits == 0
                continue
            child = nodes[edge.child]
            assert edge.child > number, "a child before its parent"
            assert (child.visits == edge.visits) or (full and child.visits <= edge.visits)
            if not edge.proven and node.mover >= 0 and not full:
                assert child.sums[node.mover] == pytest.approx(edge.value)
            if edge.proven:
                assert child.proven
            elif search.settings.solve:
                assert not child.proven
            pending.append((int(edge.child), game.result(state, int(edge.action))))
    assert len(positions) == about.nodes, "rows in use that no path reaches"
    assert np.all(edges_seen == 1), "edges in use that no node or two nodes have"
    assert about.nodes <= len(nodes) and about.edges <= len(edges)
    return positions


def assert_proof(game: Game, nodes: Any, node: Any, children: Any, search: Search) -> None:
    """The node's proof follows from its children's."""
    assert search.settings.solve
    known = {int(e.action): nodes[e.child].utility for e in children if e.proven}
    if node.mover == CHANCE:
        assert len(known) == len(children)
        mean = sum(e.value * nodes[e.child].utility for e in children)
        np.testing.assert_allclose(node.utility, mean)
        return
    most = max(float(utility[node.mover]) for utility in known.values())
    assert node.utility[node.mover] == pytest.approx(most)
    assert len(known) == len(children) or most == pytest.approx(max(game.rules.values, default=1.0))
    assert any(np.array_equal(node.utility, utility) for utility in known.values())


def max_n(game: Game, state: Any, memory: dict[bytes, tuple[float, ...]] | None = None) -> tuple[float, ...]:
    """The exact utilities, by the definition; among equals the lowest action id. Positions are distinguished by their bytes."""
    memory = {} if memory is None else memory
    key = state.tobytes()
    if key not in memory:
        memory[key] = _max_n(game, state, memory)
    return memory[key]


def _max_n(game: Game, state: Any, memory: dict[bytes, tuple[float, ...]]) -> tuple[float, ...]:
    if game.is_terminal(state):
        return game.utility(state)
    mover = game.to_move(state)
    actions = sorted(game.legal_actions(state))
    values = [max_n(game, game.result(state, action), memory) for action in actions]
    if mover == CHANCE:
        odds = [game.chance(state, action) for action in actions]
        return tuple(sum(p * value[i] for p, value in zip(odds, values, strict=True)) for i in range(game.players))
    assert mover is not None
    return max(values, key=lambda value: value[mover])
