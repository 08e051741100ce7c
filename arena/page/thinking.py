"""A search in the background, shown while it runs.

    for found in progress(text, game, state): ...        # ten times a second; closing the generator ends the search

Tree search and alpha-beta are watched; other players answer once. `Analysis` is the thread that follows a position of a table.

Engine protocols have another one, `arena.analysis`: their reports come from the search itself, at points where it writes nothing; in
alpha-beta that is once an iteration. Here a report is due ten times a second, also within an iteration of minutes, and a search is
broken off for the next position without waiting for its result.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from arena.drawing import searched_tree, svg, thinned
from arena.players import Player, make_player, parse_player
from base.errors import UserError
from classical.alphabeta import AlphaBeta
from classical.alphabeta.player import Search
from classical.alphabeta.settings import MAX_DEPTH
from games import CHANCE, Game
from games.choice import Choice, shared, utilities_of
from games.formats.words import written
from games.types import GameState
from mcts.player import TreePlayer
from mcts.root import principal_variation

EVERY = 0.1  # seconds between two reports
FIRST = 0.03  # seconds to the first one
LINES = 8  # candidates with a line


@dataclass(frozen=True)
class Found:
    """What a search has found so far."""

    choice: Choice
    lines: dict[int, tuple[int, ...]] = field(default_factory=dict)
    """The expected line behind each of the best candidates, the candidate first."""
    is_to_the_end: bool = True
    """Values called exact are those of the game; else those of a search to some depth."""


def analyst(text: str, game: Game) -> Player:
    """The player without the limits of a move, where its search can be watched."""
    kind, options, resolved = parse_player(text)
    if kind == "alphabeta":
        changed = {"depth": MAX_DEPTH, "ms": None, "nodes": None, "multipv": "all"}
        return make_player(kind + options.text(resolved | changed), game)
    if kind == "uct" or (kind == "net" and resolved.get("sims") != 0):
        changed = {"sims": None, "ms": int(1000 * EVERY)}
        try:
            return make_player(kind + options.text(resolved | changed), game)
        except UserError:  # a method that shares out a known number of simulations
            return make_player(kind + options.text(resolved | changed | {"method": "puct"}), game)
    return make_player(text, game)


TREES = {
    "alphabeta": {"depth": 3, "ms": None, "nodes": None, "quiescence": False},
    "uct": {"sims": 400, "ms": None},
    "net": {"sims": 400, "ms": None},
}
LEVELS, WIDEST = 3, 4  # of a drawing


def tree_picture(text: str, game: Game, state: GameState) -> str:
    """A small search by the player, as SVG: its best moves, a few levels deep."""
    kind, options, resolved = parse_player(text)
    if kind not in TREES:
        raise UserError(f"tree: expected a player of kind {', '.join(TREES)}, whose search is drawn, got {text}")
    player = make_player(kind + options.text(resolved | TREES[kind]), game)
    player.new_game()
    _, drawing = searched_tree(player, state)
    return svg(replace(drawing, root=thinned(drawing.root, LEVELS, WIDEST)))


def progress(player: Player, state: GameState) -> Iterator[Found]:
    """Reports of one search, to its end or until it is closed."""
    thinker = player.thinker
    player.new_game()
    if isinstance(thinker, TreePlayer) and thinker.ms is not None:
        yield from _simulating(thinker, state)
    elif isinstance(thinker, AlphaBeta):
        yield from _deepening(thinker, state)
    else:
        choice = player.choose(state)
        yield Found(choice, {choice.action: choice.pv})


def _simulating(thinker: TreePlayer, state: GameState) -> Iterator[Found]:
    start, before = time.perf_counter(), -1
    thinker.ms = 1000 * FIRST
    while True:
        choice = thinker.choose(state)
        thinker.ms = 1000 * EVERY
        visits = sum(each.visits or 0 for each in choice.actions)
        tree, worst = thinker.search.tree, thinker.search.worst
        edges = thinker.search.ranked()[:LINES]
        lines = {
            int(edge.action): principal_variation(tree, worst=worst, first=edge) for edge in edges if edge.visits > 0
        }
        choice = _as_of(choice, visits, time.perf_counter() - start)
        yield Found(choice, lines)
        if choice.proven or visits == before:
            return
        before = visits
        thinker.resume()


def _as_of(choice: Choice, nodes: int, seconds: float) -> Choice:
    return Choice(**{**choice.__dict__, "nodes": nodes, "seconds": seconds})


def _deepening(thinker: AlphaBeta, state: GameState) -> Iterator[Found]:
    search, start = Search(thinker, thinker._workspace, state), time.perf_counter()
    thread = threading.Thread(target=search.deepen, daemon=True)
    thread.start()
    try:
        wait = FIRST
        while wait:
            thread.join(wait)
            wait = EVERY if thread.is_alive() else 0
            if search.roots:
                choice = search.choice(time.perf_counter() - start)
                yield Found(choice, {choice.action: choice.pv}, is_to_the_end=False)
    finally:
        search.stop()
        thread.join()


@dataclass(frozen=True)
class Order:
    """A position to analyse."""

    node: int
    state: GameState
    seconds: float


class Analysis:
    """One thread, which analyses what it was last asked to."""

    def __init__(
        self, game: Game, report: Callable[[int, Found, bool], None], fail: Callable[[str], None], text: str
    ) -> None:
        """`report(node, found, is_over)` and `fail(message)` are called from the thread."""
        self.game, self.report, self.fail, self.text = game, report, fail, text
        self.is_ready = False
        self._orders: list[Order] = []
        self._changed = threading.Condition()
        self._version = 0
        self._closed = False
        self._player: tuple[str, Player] | None = None
        self._thread: threading.Thread | None = None

    def ask(self, orders: list[Order], text: str | None = None) -> None:
        """Forget what was asked before; none: rest."""
        with self._changed:
            self._orders, self.text = list(orders), text or self.text
            self._version += 1
            if self._thread is None and orders:
                self._thread = threading.Thread(target=self._work, daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def close(self) -> None:
        self._closed = True
        self._version += 1
        with self._changed:
            self._changed.notify_all()

    def _work(self) -> None:
        while True:
            with self._changed:
                while not self._orders and not self._closed:
                    self._changed.wait()
                if self._closed:
                    return
                order, text, version = self._orders.pop(0), self.text, self._version
            try:
                self._analyse(order, text, version)
            except Exception as error:
                message = str(error) if isinstance(error, UserError) else f"{type(error).__name__}: {error}"
                with self._changed:
                    self._orders = []
                self.fail(f"{text}: {message}")

    def _analyse(self, order: Order, text: str, version: int) -> None:
        mover = self.game.to_move(order.state)
        if mover is None or mover == CHANCE:
            return
        if self._player is None or self._player[0] != text:
            self.is_ready = False
            self._player = None  # its memory goes before the next one's comes
            self._player = text, analyst(text, self.game)
            self.is_ready = True
        if version != self._version:
            return
        until, last = time.perf_counter() + order.seconds, None
        searching = progress(self._player[1], order.state)
        try:
            for found in searching:
                if version != self._version:
                    return
                last = found
                if time.perf_counter() >= until:
                    break
                self.report(order.node, found, False)
        finally:
            searching.close()  # type: ignore[attr-defined]
        if last is not None:
            self.report(order.node, last, True)


def as_data(game: Game, state: GameState, found: Found) -> dict[str, Any]:
    """For the page: candidates best first, with every player's utilities where they are known."""
    choice, mover = found.choice, game.to_move(state)
    assert mover is not None
    whole = utilities_of(game, mover, choice)
    rows = []
    for each in choice.actions:
        rows.append(
            {
                "action": each.action,
                "name": written(game, state, [each.action])[0],
                "value": each.value,
                "utilities": each.utilities or shared(game, mover, each.value),
                "bound": each.bound,
                "proven": each.bound == "exact"
                and (
                    found.is_to_the_end or (choice.proven and (each is choice.actions[0] or abs(each.value or 0) == 1))
                ),
                "visits": each.visits,
                "prior": each.prior,
                "line": list(found.lines.get(each.action, ())),
                "names": written(game, state, found.lines.get(each.action, ())),
            }
        )
    return {
        "mover": mover,
        "action": choice.action,
        "utilities": whole,
        "proven": choice.proven,
        "depth": choice.depth,
        "nodes": choice.nodes,
        "seconds": round(choice.seconds, 2),
        "candidates": rows,
    }
