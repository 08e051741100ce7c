"""A search's thinking for people: `python -m arena explain`. The board, the moves ranked, the line it expects, what each organ did."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from games import CHANCE, Game
from games.choice import Candidate, Choice

BOUNDS = {"exact": "", "upper": "at most ", "lower": "at least ", "estimate": "about "}
MOST = 12  # actions that are listed


def explanation(game: Game, state: Any, choice: Choice, who: str) -> str:
    """All of it, as text."""
    mover = game.to_move(state)
    sections = [
        f"{game.name}, player {mover} to move; {who}\n\n{game.render(state)}",
        verdict(game, choice),
        ranking(game, choice),
        line(game, state, choice),
        work(choice),
    ]
    return "\n\n".join(section for section in sections if section)


def verdict(game: Game, choice: Choice) -> str:
    how = "proven" if choice.proven else "estimated"
    return f"plays {game.names[choice.action]}: {choice.value:+.3f} for the mover, {how} (1 wins, -1 loses)"


def ranking(game: Game, choice: Choice) -> str:
    """The actions at the root, best first, in columns; only those that say something."""
    if not choice.actions:
        return ""
    shown = choice.actions[:MOST]
    rows = [["move", "value", "visits", "prior"], *([game.names[each.action], *_row(each)] for each in shown)]
    filled = [column for column in zip(*rows, strict=True) if any(column[1:])]
    widths = [max(map(len, column)) for column in filled]
    lines = [
        "  ".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True))
        for row in zip(*filled, strict=True)
    ]
    left = len(choice.actions) - len(shown)
    return "\n".join([*lines, f"… and {left} more"] if left else lines)


def _row(candidate: Candidate) -> list[str]:
    value = "" if candidate.value is None else f"{BOUNDS[candidate.bound]}{candidate.value:+.3f}"
    visits = "" if candidate.visits is None else f"{candidate.visits:,}"
    return [value, visits, "" if candidate.prior is None else f"{candidate.prior:.3f}"]


def line(game: Game, state: Any, choice: Choice) -> str:
    """The principal variation: its moves, and the position it leads to drawn."""
    if len(choice.pv) < 2:
        return ""
    words, last = [], state
    for player, action, after in along(game, state, choice.pv):
        words.append(f"{player}:{game.names[action]}")
        last = after
    return f"expects {' '.join(words)}\n\n{game.render(last)}"


def along(game: Game, state: Any, actions: tuple[int, ...]) -> Iterator[tuple[str, int, Any]]:
    """Who plays what, and the position after it."""
    for action in actions:
        mover = game.to_move(state)
        state = game.result(state, action)
        yield "chance" if mover == CHANCE else str(mover), action, state


def work(choice: Choice) -> str:
    """How much was searched, and what each part of the search did."""
    rate = f", {choice.nodes / choice.seconds:,.0f} a second" if choice.nodes > 1000 and choice.seconds > 0 else ""
    head = f"depth {choice.depth}, {choice.nodes:,} nodes in {choice.seconds:.3f} s{rate}"
    counters = [(name.replace("_", " "), count) for name, count in choice.counters.items() if count]
    width = max((len(name) for name, _ in counters), default=0)
    return "\n".join([head, *(f"  {name:<{width}}  {count:,}" for name, count in counters)])
