"""What the page is sent of a table."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from arena.page.board import marks, picture
from arena.page.choosing import shown
from arena.page.judging import verdict
from arena.page.seeing import Sight
from arena.page.tree import Node
from classical.eval import default_eval
from games import Game
from games.types import GameState

if TYPE_CHECKING:
    from arena.page.table import Table


def table_data(table: Table, turned: bool = False) -> dict[str, Any]:
    """The table, `turned` as seen from the other side, without the moves of the position and without what the analysis finds."""
    with table.changed:
        at, game, sight = table.at, table.game, table.sight()
        state, before = sight.state(at), sight.before(at)
        nodes = [_node_data(game, sight, number, group) for number, group in enumerate(sight.groups)]
        busy = None if table.busy is None else {"seat": table.busy[0], "seconds": round(time.time() - table.busy[1], 1)}
        return {
            "game": game.name,
            "title": table.title,
            "players": game.players,
            "seats": [{"text": text, "shown": shown(text)} for text in table.seats],
            "names": table.names,
            "colours": table.colours,
            "is_sum_zero": game.players == 2 and game.rules.zero_sum,
            "scale": game.rules.payoff_scale,
            "has_dice": game.rules.chance is not None,
            "hides": game.hides_information,
            "seat": sight.seat,
            "at": sight.number(at),
            "mover": at.mover,
            "outcome": at.outcome,
            "ending": at.ending,
            "picture": picture(game.diagram(state), turned),
            "last": [] if before is None else marks(game, sight.state(before), state),
            "text": game.text(state),
            "nodes": nodes,
            "line": list(dict.fromkeys(sight.number(each) for each in table.tree.line(at))),
            "playing": table.is_playing,
            "busy": busy,
            "asks_dice": table.asks_dice,
            "hidden": table.is_hidden,
            "analyses": table.analyses,
            "analyst": table.analysis.text,
            "solves": table.solves,
            "eval": eval_data(game, at, state) if sight.is_own(at) else None,
            "target": None
            if at.target is None or sight.seat is not None
            else {str(action): share for action, share in at.target.items()},
            "trouble": table.trouble,
        }


def _node_data(game: Game, sight: Sight, number: int, group: list[Node]) -> list[Any]:
    """number, parent, name of the move, mover, utilities, exact utilities, verdict, outcome, hints, whether it was taken back"""
    node = group[0] if len(group) == 1 else sight.node(number)
    before = sight.before(node)
    known = node.outcome or node.exact or node.utilities if sight.seat is None else node.utilities
    return [
        number,
        None if before is None else sight.number(before),
        sight.name(group[0]),
        node.mover,
        _rounded(known if sight.is_own(node) else None),
        sight.seat is None and (node.outcome is not None or node.exact is not None),
        "" if before is None or not sight.is_own(before) else verdict(game, before, node),
        node.outcome is not None,
        node.hints,
        all(each.is_taken_back for each in group),
    ]


def eval_data(game: Game, node: Node, state: GameState) -> list[list[Any]] | None:
    """Of each feature its name, value, weight and product, from the view of the mover."""
    if not game.rules.feature_names or not node.is_choice:
        return None
    weights = default_eval(game)
    total = weights.value(game, state, int(node.mover or 0))
    rows = [list(each) for each in weights.contributions(game, state, int(node.mover or 0))]
    return [["", node.mover, 0.0, total], *rows]


def _rounded(values: Sequence[float] | None) -> list[float] | None:
    return None if values is None else [round(float(each), 4) for each in values]
