"""`python -m arena explain`: a player's search of one position, as text and, for a small search, as a drawing.

The text has the board, the moves ranked, the principal variation and the search's counters. The drawing (`--tree FILE.svg`, or `.dot`
for Graphviz) shows the searched tree the way textbooks draw it (`arena/drawing/`): triangles up for player 0 (MAX) and down for player
1 (MIN), circles for chance, windows [α, β], cut-off branches dashed; of tree search wins and visits. `--depth` and `--top` leave out
what is deeper or worse, `--order` numbers the visits.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from arena.choose import POSITION
from arena.drawing import Drawing, dot, searched_tree, svg, thinned
from arena.players import brief, make_player
from base.errors import UserError
from base.files import write_text
from games import CHANCE, Game, load
from games.choice import Candidate, Choice
from games.formats.words import played


def add_explain(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("game", metavar="GAME")
    parser.add_argument("--player", required=True, metavar="PLAYER", help="as in alphabeta:depth=6")
    parser.add_argument(
        "--moves",
        default="",
        metavar="TEXT",
        help="moves from the start or from --position, by name; in chess also SAN",
    )
    parser.add_argument("--position", metavar="TEXT", help="a position in the game's own notation")
    parser.add_argument("--verbose", action="store_true", help="print the options of the player that are defaults, too")
    parser.add_argument("--tree", metavar="FILE", help="draw the searched tree, as FILE.svg or FILE.dot")
    parser.add_argument("--depth", type=int, metavar="N", help="of the drawing: N levels below the root")
    parser.add_argument("--top", type=int, metavar="N", help="of the drawing: the N best moves of each position")
    parser.add_argument("--order", action="store_true", help="in the drawing: number the visits of a recursive search")


def run_explain(options: argparse.Namespace) -> int:
    game = load(options.game)
    given = [f"--{name}" for name in ("depth", "top", "order") if getattr(options, name)]
    if given and not options.tree:
        raise UserError(
            f"{given[0]}: expected --tree FILE with it, for it is of the drawing; that of a search is in the player, minimax:depth=4"
        )
    player = make_player(options.player, game)
    start = None if options.position is None else game.parse(options.position.removeprefix(POSITION))
    state = played(game, options.moves, start)
    if options.tree:
        form = form_of(options)
        choice, drawing = searched_tree(player, state)
        if options.order and all(node.order is None for node in drawing.root.walk()):
            raise UserError(
                f"--order: expected a search by recursion, whose visits have an order, got {options.player}"
            )
        write_text(options.tree, form(drawn(drawing, options.depth, options.top), options.order))
    else:
        choice = player.explain(state)
    print(explanation(game, state, choice, player.text if options.verbose else brief(player.text, options.player)))
    if options.tree:
        print(f"\nthe searched tree is drawn in {options.tree}")
    return 0


MOST_NODES = 400  # a larger drawing is unreadable
FORMS = {".svg": svg, ".dot": dot}


def form_of(options: argparse.Namespace) -> Callable[[Drawing, bool], str]:
    """What writes the drawing."""
    suffix = Path(options.tree).suffix
    if suffix not in FORMS:
        raise UserError(f"tree: expected a file named .svg or .dot, got '{options.tree}'")
    for name in ("depth", "top"):
        if getattr(options, name) is not None and getattr(options, name) < 1:
            raise UserError(f"--{name}: expected 1 or more, got {getattr(options, name)}")
    return FORMS[suffix]


def drawn(drawing: Drawing, depth: int | None, top: int | None) -> Drawing:
    """The part of a tree that the options select."""
    root = thinned(drawing.root, depth, top)
    if root.count > MOST_NODES:
        raise UserError(
            f"tree: expected at most {MOST_NODES} nodes to draw, got {root.count:,}; --depth and --top leave some out"
        )
    has_more = any(node.left_out for node in root.walk())
    return replace(
        drawing, root=root, legend=[*drawing.legend, *(["+n: n moves that are not drawn"] if has_more else [])]
    )


# ── text ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

BOUNDS = {"exact": "", "upper": "at most ", "lower": "at least ", "estimate": "about "}
MOST = 12  # actions that are listed


def explanation(game: Game, state: Any, choice: Choice, who: str) -> str:
    """The whole text."""
    mover = game.to_move(state)
    view = state if mover is None or mover == CHANCE else game.view(state, mover)
    sections = [
        f"{game.name}, player {mover} to move; {who}\n\n{game.render(view)}",
        verdict(game, choice),
        ranking(game, choice),
        line(game, state, choice),
        work(choice),
    ]
    return "\n\n".join(section for section in sections if section)


def verdict(game: Game, choice: Choice) -> str:
    how = "proven" if choice.proven else "estimated"
    value = f"{game.shown(choice.value)} for the mover"
    if game.needs_vectors and choice.utilities is not None:
        value = f"{game.shown_all(choice.utilities)} for the players, {value}"
    units = f"utility {choice.value:+.3f}" if game.has_payoffs else "1 wins, -1 loses"
    return f"plays {game.names[choice.action]}: {value}, {how} ({units})"


def ranking(game: Game, choice: Choice) -> str:
    """The actions at the root, best first, in columns; empty columns are left out."""
    if not choice.actions:
        return ""
    shown = choice.actions[:MOST]
    rows = [["move", "value", "visits", "prior"], *([game.names[each.action], *_row(game, each)] for each in shown)]
    filled = [column for column in zip(*rows, strict=True) if any(column[1:])]
    widths = [max(map(len, column)) for column in filled]
    lines = [
        "  ".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True))
        for row in zip(*filled, strict=True)
    ]
    left = len(choice.actions) - len(shown)
    return "\n".join([*lines, f"… and {left} more"] if left else lines)


def _row(game: Game, candidate: Candidate) -> list[str]:
    value = "" if candidate.value is None else f"{BOUNDS[candidate.bound]}{game.shown(candidate.value)}"
    if game.needs_vectors and candidate.utilities is not None:
        value = game.shown_all(candidate.utilities)
    visits = "" if candidate.visits is None else f"{candidate.visits:,}"
    return [value, visits, "" if candidate.prior is None else f"{candidate.prior:.3f}"]


def line(game: Game, state: Any, choice: Choice) -> str:
    """The principal variation and the position at its end."""
    if len(choice.pv) < 2:
        return ""
    words, last = [], state
    for player, action, after in along(game, state, choice.pv):
        words.append(f"{player}:{game.names[action]}")
        last = after
    return f"expects {' '.join(words)}\n\n{game.render(last)}"


def along(game: Game, state: Any, actions: tuple[int, ...]) -> Iterator[tuple[str, int, Any]]:
    """The player, the action and the position after it, action by action."""
    for action in actions:
        mover = game.to_move(state)
        state = game.result(state, action)
        yield "chance" if mover == CHANCE else str(mover), action, state


def work(choice: Choice) -> str:
    """The size of the search, and its counters."""
    rate = f", {choice.nodes / choice.seconds:,.0f} a second" if choice.nodes > 1000 and choice.seconds > 0 else ""
    head = f"depth {choice.depth}, {choice.nodes:,} nodes in {choice.seconds:.3f} s{rate}"
    counters = [(name.replace("_", " "), count) for name, count in choice.counters.items() if count]
    width = max((len(name) for name, _ in counters), default=0)
    return "\n".join([head, *(f"  {name:<{width}}  {count:,}" for name, count in counters)])
