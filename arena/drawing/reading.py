"""The tree that a player's search has walked, as nodes to draw.

Minimax, max^n, expectiminimax and alpha-beta log their edges in the order of visits; tree search keeps its tree. Values of two players
and zero sum are player 0's (MAX's), otherwise a node shows every player's; in the payoffs of the game's file where it has them. A node
of UCT shows wins and visits, as counted for the player whose action leads there.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from typing import Any

from arena.drawing.nodes import OVER, Drawing, Node
from arena.players import Player
from base.errors import UserError
from classical.alphabeta import AlphaBeta
from classical.alphabeta.workspace import INFINITY, LOGGED, LOWER, PRUNED, UPPER
from classical.expectiminimax import Expectiminimax
from classical.fixed_depth import FixedDepth
from classical.scores import utility_of
from games import CHANCE, Game
from games.choice import Choice
from mcts.player import TreePlayer
from mcts.root import ranked
from mcts.search import Search
from mcts.settings import SearchSettings
from mcts.tree import NONE
from mcts.ucb1 import UCB1
from mcts.variant import variant_of

DRAWN = "alphabeta, minimax, maxn, expectiminimax, uct or net"
MOST_NODES = 20_000  # of a tree that is read; far more than can be drawn


def searched_tree(player: Player, state: Any) -> tuple[Choice, Drawing]:
    """A choice, and the tree that was searched for it."""
    thinker, game = player.thinker, player.game
    if isinstance(thinker, TreePlayer):
        choice = thinker.choose(state)
        return choice, _of_simulations(game, state, thinker.search)
    if not isinstance(thinker, AlphaBeta | FixedDepth):
        raise UserError(f"tree: expected a player of kind {DRAWN}, whose search can be drawn, got {player.text}")
    thinker.keep_log(True)
    try:
        choice = thinker.choose(state)
        edges = thinker.log()
    finally:
        thinker.keep_log(False)
    if len(edges) >= LOGGED:
        raise UserError(f"tree: expected a search of fewer than {LOGGED:,} edges, got more; try a smaller depth")
    read = _alphabeta_edge if isinstance(thinker, AlphaBeta) else _fixed_depth_edge
    has_windows = isinstance(thinker, AlphaBeta) or (isinstance(thinker, Expectiminimax) and thinker.pruning)
    return choice, _of_log(game, state, edges, read, has_windows)


# ── searches by recursion ──

Read = Callable[[Game, Any, int], tuple[tuple[float, ...], str, tuple[float, float]]]
"""read(game, edge, mover at the root) -> every player's score, `≤` or `≥` where player 0's is a bound, player 0's window."""


def _alphabeta_edge(game: Game, edge: Any, first: int) -> tuple[tuple[float, ...], str, tuple[float, float]]:
    sign = 1 if edge["mover"] == 0 else -1
    score, kind = sign * int(edge["value"]), int(edge["kind"])
    bound = ""
    if kind in (LOWER, UPPER):
        bound = "≥" if (kind == LOWER) == (sign > 0) else "≤"
    low, high = sorted(sign * int(edge[name]) for name in ("alpha", "beta"))
    return (score, -score), bound, (_wide(low), _wide(high))


def _wide(score: int) -> float:
    return math.copysign(math.inf, score) if abs(score) >= INFINITY else float(score)


def _fixed_depth_edge(game: Game, edge: Any, first: int) -> tuple[tuple[float, ...], str, tuple[float, float]]:
    scores = tuple(edge["scores"].tolist())
    low, high, score = float(edge["alpha"]), float(edge["beta"]), scores[min(first, len(scores) - 1)]
    bound = "≤" if score <= low else "≥" if score >= high else ""
    if first == 1:
        low, high, bound = -high, -low, {"≤": "≥", "≥": "≤", "": ""}[bound]
    return scores, bound, (low, high)


def _of_log(game: Game, state: Any, edges: Any, read: Read, has_windows: bool) -> Drawing:
    """The logged edges as a tree. Where an edge was searched again with a wider window, the last search counts."""
    has_triangles = not game.needs_vectors and game.players == 2
    first = int(game.to_move(state) or 0)
    root, order = Node(mover=first, order=1), 1
    nodes: list[tuple[Node, Any]] = []  # with their positions
    scores: dict[int, tuple[float, ...]] = {}
    bounded: set[int] = set()
    for edge in edges:
        parent, position = nodes[int(edge["parent"])] if edge["parent"] >= 0 else (root, state)
        action = int(edge["action"])
        after = game.result(position, action)
        mover = game.to_move(after)
        node = Node(_label(game, position, action), OVER if mover is None else mover)
        found, bound, window = read(game, edge, first)
        is_pruned = edge["kind"] == PRUNED if "kind" in edges.dtype.names else bool(edge["pruned"])
        if is_pruned:
            node.kind, node.worth = "cut", -math.inf
        else:
            order += 1
            node.order, node.kind = order, "end" if mover is None else "leaf"
            is_exact = node.kind == "end" or not bound
            node.text = ("" if is_exact else bound) + _values(game, found)
            node.worth = found[parent.mover] if 0 <= parent.mover < len(found) else 0.0
            scores[id(node)] = found
            if not is_exact:
                bounded.add(id(node))
            if has_windows:
                node.notes.append(f"[{', '.join(_score(game, each) for each in window)}]")
        parent.kind = "inner"
        parent.children = [child for child in parent.children if child.action != node.action] + [node]
        nodes.append((node, after))
    for node in root.walk():
        if node.children and node.mover >= 0:
            _mark_best(node, scores, bounded)
        if node.kind != "inner" or node is root:
            node.notes = []  # windows matter where moves are compared
        if node.children and game.needs_vectors:
            node.notes.insert(0, "chance" if node.mover == CHANCE else f"player {node.mover}")
    best = next((child for child in root.children if child.is_best), None)
    if best is not None:
        root.text = best.text
    if root.mover == CHANCE:
        root.text = ""
    legend = [_whose(game)]
    if has_windows:
        legend.append("[α, β]: the window; red, dashed: cut off, never visited; ≤ ≥: a bound")
    return Drawing(root, legend, has_triangles)


def _whose(game: Game) -> str:
    what = "payoffs" if game.has_payoffs else "utilities"
    if game.needs_vectors:
        return f"({', '.join(f'player {player}' for player in range(game.players))}): {what}; green: what the mover prefers"
    chance = ", ● chance" if game.rules.chance is not None else ""
    return f"▲ player 0 (MAX), ▼ player 1 (MIN){chance}; {what} of player 0; green: what the mover prefers"


def _mark_best(node: Node, scores: dict[int, tuple[float, ...]], bounded: set[int]) -> None:
    """The child that the mover prefers: the first of equal ones whose value is exact."""
    known = [child for child in node.children if id(child) in scores and id(child) not in bounded]
    if known:
        max(known, key=lambda child: scores[id(child)][node.mover]).is_best = True


def _label(game: Game, position: Any, action: int) -> str:
    name = game.names[action]
    if game.to_move(position) != CHANCE:
        return name
    return f"{name} {game.chance(position, action):.3g}".replace(" 0.", " .")


def _values(game: Game, scores: tuple[float, ...]) -> str:
    if game.needs_vectors:
        return game.shown_all([utility_of(score) for score in scores])
    return _score(game, scores[0])


def _score(game: Game, score: float) -> str:
    if math.isinf(score) or abs(score) >= INFINITY:
        return "∞" if score > 0 else "-∞"
    return _shown(game, utility_of(score))


def _shown(game: Game, utility: float) -> str:
    if game.has_payoffs:
        return game.shown(utility)
    return f"{utility:.3f}".rstrip("0").rstrip(".").replace("-0.", "-.").replace("0.", ".", 1) or "0"


# ── searches by simulations ──


def _of_simulations(game: Game, state: Any, search: Search) -> Drawing:
    tree, settings = search.tree, search.settings
    score = variant_of(settings).score
    has_priors = variant_of(settings).has_policy
    counts_wins = settings.rollout == 1 and not game.needs_vectors and game.players == 2 and not game.has_payoffs
    top = tree.root()
    root = Node(mover=int(top.mover), text=_of_root(game, top, counts_wins))
    waiting, read = deque([(root, top, state)]), 1
    while waiting and read < MOST_NODES:
        node, row, position = waiting.popleft()
        mover = int(row.mover)
        if game.needs_vectors:
            node.notes.insert(0, "chance" if mover == CHANCE else f"player {mover}")
        edges = search.ranked() if node is root else ranked(tree, row, worst=search.worst) if mover >= 0 else []
        places = {int(edge.action): place for place, edge in enumerate(edges)}
        for edge in sorted(tree.children(row), key=lambda edge: int(edge.action)):
            if edge.visits == 0 and node is not root:
                continue
            child = None if edge.child == NONE else tree.nodes[0, edge.child]
            below = Node(
                _label(game, position, int(edge.action)),
                OVER if child is None else int(child.mover),
                _of_edge(game, mover, edge, child, counts_wins),
                kind="end" if child is not None and child.mover == OVER else "leaf",
                worth=float(-places.get(int(edge.action), -int(edge.visits))),
                is_best=places.get(int(edge.action)) == 0,
            )
            if has_priors and mover >= 0:
                below.notes.append(f"P {edge.prior:.2f}")
            if node is root and score is not None and not edge.proven:
                below.notes.append(_score_note(score(row, edge, settings), settings, counts_wins))
            if edge.proven:
                below.notes.append(
                    "proven" + (f" {_outcome(child, mover)}" if counts_wins and child is not None else "")
                )
            node.children.append(below)
            read += 1
            if child is not None and child.count:
                waiting.append((below, child, game.result(position, int(edge.action))))
        if node.children:
            node.kind = "inner"
    return Drawing(root, _legend(game, settings, counts_wins, has_priors), False)


def _score_note(found: float, settings: SearchSettings, counts_wins: bool) -> str:
    name = "UCB1" if settings.method == "ucb1" else settings.method.upper()
    return f"{name} ∞" if math.isinf(found) else f"{name} {(found + 1) / 2 if counts_wins else found:.3f}"


def _of_root(game: Game, row: Any, counts_wins: bool) -> str:
    visits = int(row.visits)
    if counts_wins:
        return _wins(float(row.sums[1 - int(row.mover)]), visits)
    found = row.utility if row.proven else row.sums / max(visits, 1)
    return f"{game.shown_all(found.tolist()) if game.needs_vectors else _shown(game, float(found[0]))}/{visits}"


def _of_edge(game: Game, mover: int, edge: Any, child: Any, counts_wins: bool) -> str:
    """`wins/visits` of the player who moved here, or value and visits."""
    visits = int(edge.visits)
    if counts_wins:
        return _wins(float(edge.value), visits)
    if visits == 0:
        return "-/0"
    if child is not None and (game.needs_vectors or mover == CHANCE or child.proven):
        found = child.utility if child.proven else child.sums / max(int(child.visits), 1)
        return f"{game.shown_all(found.tolist()) if game.needs_vectors else _shown(game, float(found[0]))}/{visits}"
    return f"{_shown(game, float(edge.value) / visits * (1 if mover == 0 else -1))}/{visits}"


def _outcome(child: Any, mover: int) -> str:
    """Of a proven position, for the player whose action leads there."""
    utility = float(child.utility[mover])
    return "win" if utility > 0 else "loss" if utility < 0 else "draw"


def _wins(utilities: float, visits: int) -> str:
    return f"{(utilities + visits) / 2:g}/{visits}"


def _legend(game: Game, settings: SearchSettings, counts_wins: bool, has_priors: bool) -> list[str]:
    if counts_wins:
        lines = ["wins/visits; the wins are those of the player whose action leads to the node, a draw is half a win"]
    else:
        whose = "every player's" if game.needs_vectors else "player 0's"
        lines = [f"{whose} mean {'payoff' if game.has_payoffs else 'utility'}/visits"]
    if isinstance(settings, UCB1):
        factor = "c" if counts_wins else "2c"
        lines.append(f"UCB1 of the root's moves: mean + {factor} √(ln N / n), c = {settings.c:.3g}")
    elif has_priors:
        named = (
            f"; {settings.method.upper()}: what the search maximizes at the root" if variant_of(settings).score else ""
        )
        lines.append(f"P: the prior{named}")
    movers = "" if game.needs_vectors else "white: player 0 moves, grey: player 1; "
    return [*lines, f"{movers}green: the move to play"]
