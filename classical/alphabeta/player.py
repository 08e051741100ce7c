"""Alpha-beta as a player: limits, iterative deepening, aspiration windows, and the result as a `Choice`.

    player = AlphaBeta(load("othello"), AlphaBetaSettings(depth=8))
    choice = player.choose(state)               # choice.action, .value, .pv, .actions, .counters
    player.log()                                # with log=True: the tree of the last search, edge by edge

The first iterations are short and run in the calling thread. The compiled search then continues in a thread of its own, without the
GIL, while the calling thread waits and keeps the time: so Ctrl-C works, and compiled code needs no clock. The table is kept from move
to move; `new_game()` empties it.

With `threads=N` other threads search the same position beside it, half of them one ply deeper, and all share the table: what one has
found, the others need not search. Only the first one's result is played. Which thread comes first differs from run to run, and so may
the move. ("Lazy SMP", as in Stockfish since 2014.)
"""

from __future__ import annotations

import math
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from base.errors import UserError
from base.threads import Stop, interruptible
from classical.alphabeta import probcut
from classical.alphabeta.root import line_after, root
from classical.alphabeta.settings import MAX_DEPTH, AlphaBetaSettings
from classical.alphabeta.table import AGES, empty, new_table, no_table
from classical.alphabeta.workspace import (
    COUNTERS,
    EXACT,
    HORIZON,
    INFINITY,
    LOGGED,
    LOWER,
    NONE,
    SETTINGS,
    UPPER,
    Workspace,
    workspace,
)
from classical.eval import Eval, default_eval
from classical.scores import UNIT, WIN, utility_of
from classical.tables import empty_table, load_tables
from classical.types import Codes
from games import CHANCE, Game
from games.choice import Bound, Candidate, Choice, Limits, Report
from games.types import Array, GameState

GRACE = 10_000  # nodes that the first iteration may visit regardless of limits: a few milliseconds, for a sensible move
WINDOW = 20_000  # half of the first aspiration window
WIDER = 4
NO_LIMIT = 1 << 62
NEVER = 1 << 40  # milliseconds: settings need a limit, and here it is the request to stop
SHORT = 0.0005  # seconds within which no thread is started for an iteration: it would cost more than the search
KINDS: dict[int, Bound] = {EXACT: "exact", UPPER: "upper", LOWER: "lower"}


class AlphaBeta:
    """A player of one game. Each thread needs its own."""

    def __init__(
        self,
        game: Game,
        settings: AlphaBetaSettings,
        eval: Eval | None = None,
        log: bool = False,
    ) -> None:
        game.must_be_open("alphabeta")
        rules = game.rules
        if game.players != 2 or not rules.zero_sum or rules.chance is not None:
            kind = f"{game.players} players" if game.players != 2 else "general sum" if not rules.zero_sum else "chance"
            fit = "expectiminimax, maxn and uct" if kind == "chance" else "maxn and uct"
            raise UserError(
                f"alphabeta: expected two players, zero sum and no chance, got {game.name} ({kind}); {fit} play it"
            )
        self.game, self.settings = game, (settings := settings.resolved())
        self.weights = (eval or default_eval(game)).array(game)
        self.table = new_table(settings.tt_mb) if settings.tt else no_table()
        self.endgames = endgames_of(game, settings.endgames) if settings.tables else empty_table(rules)
        self._age, self._paths_matter = 0, False
        self._workspace, *self._helpers = (np.zeros(1, workspace(rules)) for _ in range(settings.threads))
        self._set_up(self._workspace[0], settings, log)
        for helper in self._helpers:
            self._set_up(helper[0], settings, False)

    def _set_up(self, ws: Workspace, settings: AlphaBetaSettings, log: bool) -> None:
        rules = self.game.rules
        for name in SETTINGS:
            ws[name] = int(getattr(settings, name))
        ws["quiescence"] = int(settings.quiescence and rules.gain is not None)
        ws["futility"] = int(settings.futility and self.weights.any())  # an EVAL of zeros bounds nothing
        ws["multipv_all"] = int(settings.multipv == "all")
        ws["guessing"] = int(
            bool(ws["futility"]) or settings.probcut or (settings.null and rules.null_result is not None)
        )
        ordering = ("tt", "ordering", "killers", "history", "presort", "lmr", "futility", "beam")
        ws["ordered"] = int(any(getattr(settings, name) for name in ordering))
        ws["logging"] = LOGGED if log else 0
        ws["weights"][: len(self.weights)] = self.weights
        if settings.probcut:
            probcut.set_up(ws, self.game, self.weights)

    def prepare(self) -> None:
        """Compile, and touch the table's memory, so that no move is charged for either."""
        self.table.view(np.uint8).fill(0)
        search = Search(self, self._workspace, self.game.initial())
        search.ws["node_limit"] = search.ws["grace"] = 1
        search._iteration(1)
        self.new_game()

    def keep_log(self, on: bool) -> None:
        """Whether the next searches are logged (`log()`)."""
        self._workspace[0]["logging"] = LOGGED if on else 0

    def new_game(self) -> None:
        """Forget the results of the last one."""
        for each in (self._workspace, *self._helpers):
            empty(each[0], self.table)
        self._age, self._paths_matter = 0, False

    def choose(self, state: GameState) -> Choice:
        """The best action found within the limits; always a legal one."""
        mover = self.game.to_move(state)
        if mover is None or mover == CHANCE:
            raise UserError(
                f"alphabeta: expected a position of {self.game.name} with a move to choose, got a finished game"
            )
        start = time.perf_counter()
        self._age = (self._age + 1) % AGES
        search = Search(self, self._workspace, state)
        helpers = [Search(self, each, state) for each in self._helpers]
        if not search.deepen(start + SHORT):
            search.run(start, helpers)
        self._paths_matter |= any(bool(each.ws["path_ends"]) for each in (search, *helpers))
        return search.choice(time.perf_counter() - start, helpers)

    def analyse(self, state: GameState, limits: Limits, report: Report, stop: Stop) -> Choice:
        """The same under other limits, on this thread, until `stop`; with a report after each iteration.

        A search of some actions alone leaves values in the table that are not those of their positions, so that is emptied."""
        own = self.settings
        depth, nodes = (None, None) if limits.is_endless else (own.depth, own.nodes)
        if own.bare or not own.iterative:
            depth = own.depth
        settings = replace(
            own,
            depth=depth if limits.depth is None else min(limits.depth, MAX_DEPTH),
            nodes=nodes if limits.nodes is None else limits.nodes,
            ms=NEVER,
            multipv="all" if limits.lines > 1 else own.multipv,
        )
        start = time.perf_counter()
        self._age = (self._age + 1) % AGES
        search, *helpers = (Search(self, each, state, settings, limits.actions) for each in self._all)
        search.report = lambda: report(search.choice(time.perf_counter() - start, helpers, limits.lines))
        with stop.calling(search.stop):
            search.run(math.inf, helpers)
        self._paths_matter |= any(bool(each.ws["path_ends"]) for each in (search, *helpers))
        found = search.choice(time.perf_counter() - start, helpers, limits.lines)
        if limits.actions:
            self.new_game()
        return found

    @property
    def _all(self) -> list[Array]:
        return [self._workspace, *self._helpers]

    def log(self) -> Array:
        """The tree of the last search, if logged: one entry per edge (`workspace.LOG`), a parent before its children."""
        ws = self._workspace[0]
        found: Array = ws["log"][: int(ws["log_used"])].copy()
        return found


def endgames_of(game: Game, on_request: str | None) -> Codes:
    """The game's endgame tables, for kernels, with classes on request (KBNK+KQKR); a message precedes building them."""
    announced: list[str] = []

    def report(name: str, positions: int) -> None:
        if not announced:
            announced.append(name)
            print(f"building the tables of {game.name} (first time only) …", file=sys.stderr, flush=True)

    found: Codes = load_tables(game, report, endgames=on_request.split("+") if on_request else ()).array
    return found


class Search:
    """One thread's part of a call of `choose`, in a workspace of its own."""

    def __init__(
        self,
        player: AlphaBeta,
        workspaces: Array,
        state: GameState,
        settings: AlphaBetaSettings | None = None,
        actions: Sequence[int] = (),
    ) -> None:
        """`settings`: with other limits than the player's. `actions`: the only ones to search at the root; none: all."""
        self.player, self.settings, self.game = player, settings or player.settings, player.game
        self.workspaces, self.table = workspaces, player.table
        ws = self.ws = workspaces[0]
        self.counters = workspaces.view(np.int64)[: len(COUNTERS)]  # which come first in it
        self.counters[:] = 0
        ws["age"] = player._age
        ws["stop"] = ws["aborted"] = ws["depends"] = ws["log_used"] = 0
        ws["node_limit"] = self.settings.nodes or NO_LIMIT
        ws["states"][0] = state
        ws["multipv_all"] = int(self.settings.multipv == "all")
        ws["root_count"] = len(actions)
        ws["roots"]["action"][: len(actions)] = actions
        ws["roots"]["kind"][: len(actions)] = NONE
        self.report: Callable[[], object] = lambda: None
        """Called after each iteration."""
        self.root = self.game.kernel(root)
        self.depth, self.score, self.depends = 0, 0, HORIZON
        self.line: list[int] = []
        self.roots: list[tuple[int, int, int]] = []  # action, value, kind

    def run(self, start: float, helpers: Sequence[Search] = ()) -> None:
        """Search in another thread, and `helpers` in theirs, while the calling one keeps the time."""
        deadline = (
            start + self.settings.ms / 1000 if self.settings.ms is not None else math.inf
        )  # of an infinite start: none
        threads = [threading.Thread(target=each.help, args=(number,)) for number, each in enumerate(helpers)]
        for thread in threads:
            thread.start()
        try:
            interruptible(self.deepen, self.stop, deadline)
        finally:
            for each in helpers:
                each.stop()
            for thread in threads:
                thread.join()

    def help(self, number: int) -> None:
        """Deepen until it is stopped, every other helper one ply ahead of the rest."""
        ws, last = self.ws, min(self.settings.depth or MAX_DEPTH, MAX_DEPTH)
        ws["node_limit"] = NO_LIMIT
        for depth in range(1 + (number + 1) % 2, last + 1):
            if ws["stop"]:
                return
            ws["deepest"] = 2 * depth
            self.root(self.workspaces, self.table, self.player.endgames, depth, -INFINITY, INFINITY)

    def stop(self) -> None:
        """From another thread."""
        self.ws["stop"] = 1

    def deepen(self, until: float = math.inf) -> bool:
        """Iterative deepening. True when it is finished, False if the clock reached `until` first."""
        ws, settings = self.ws, self.settings
        if until < math.inf and (settings.ms is not None or not settings.iterative):
            return False
        last = min(settings.depth or MAX_DEPTH, MAX_DEPTH)
        for depth in range(self.depth + 1 if settings.iterative else last, last + 1):
            if time.perf_counter() >= until:
                return False
            ws["grace"] = GRACE if self.depth == 0 else 0
            ws["deepest"] = 2 * depth
            score = self._iteration(depth)
            if self.depth == 0:  # even if stopped, the first iteration has listed the actions
                self._take_roots()
            if score is None:
                return True
            self.depth, self.score, self.depends = depth, score, int(ws["depends"])
            self._take_roots()
            self._take_line()
            self.report()
            if self._is_settled(depth):
                return True
        return True

    def _iteration(self, depth: int) -> int | None:
        """The root's score, by aspiration windows that widen on failure; None if the search was stopped."""
        ws = self.ws
        low, high = -INFINITY, INFINITY
        if self.settings.aspiration and self.depth > 0 and self.settings.multipv == "best" and abs(self.score) < UNIT:
            low, high = self.score - WINDOW, self.score + WINDOW
        half = WINDOW
        while True:
            ws["log_used"] = 0
            score = int(self.root(self.workspaces, self.table, self.player.endgames, depth, low, high))
            if ws["aborted"]:
                if (
                    int(ws["roots_done"]) > 0 and score > low
                ):  # the previous best is tried first: an action that beats it counts
                    self.score = score
                    self._take_roots()
                    self._take_line()
                return None
            if low < score < high:
                return score
            ws["aspiration_researches"] += 1
            half *= WIDER
            if score <= low:
                low = score - half if score - half > -UNIT else -INFINITY
            else:
                high = score + half if score + half < UNIT else INFINITY

    def _is_settled(self, depth: int) -> bool:
        """No deeper search can change the value: it does not depend on EVAL, or it is an end within the depth."""
        is_near = self.settings.multipv == "best" and abs(self.score) > UNIT and WIN - abs(self.score) <= depth
        return is_near or self.depends & HORIZON == 0

    def _take_roots(self) -> None:
        entries = self.ws["roots"][: int(self.ws["root_count"])]
        self.roots = [(action, value, kind) for action, value, kind, _ in entries.tolist()]

    def _take_line(self) -> None:
        here = self.ws["plies"][0]
        self.line = here["line"][: int(here["line_length"])].tolist()

    def choice(self, seconds: float, helpers: Sequence[Search] = (), lines: int = 0) -> Choice:
        action = self.roots[0][0]
        value = utility_of(self.score)
        others = [
            Candidate(action, utility_of(score), KINDS[kind]) if kind != NONE else Candidate(action)
            for action, score, kind in self.roots
        ]
        others[1:] = sorted(others[1:], key=lambda one: -2.0 if one.value is None else -one.value)
        others[:lines] = [replace(each, pv=self._line_of(each, action)) for each in others[:lines]]
        sums = np.sum([each.counters for each in (self, *helpers)], axis=0)
        counters = dict(zip(COUNTERS, sums.tolist(), strict=True))
        return Choice(
            action=action,
            value=value,
            proven=self._is_proven(),
            pv=tuple(self.line) or (action,),
            depth=self.depth,
            nodes=counters.pop("nodes"),
            seconds=seconds,
            actions=tuple(others),
            counters=counters,
        )

    def _line_of(self, candidate: Candidate, best: int) -> tuple[int, ...]:
        """The line that begins with an action: for the best one that of the search, for others as far as the table has it."""
        if candidate.action == best:
            return tuple(self.line) or (best,)
        if candidate.value is None or not self.settings.tt:
            return (candidate.action,)
        length = self.game.kernel(line_after)(self.workspaces, self.table, candidate.action, max(self.depth, 1))
        return tuple(self.ws["plies"][0]["line"][:length].tolist())

    def _is_proven(self) -> bool:
        """No enhancement invents a win. But if a game ended by counter or repetition since the table was emptied, a win from the table
        may belong to another path; then only exact searches prove anything."""
        if self.depth == 0:
            return False
        by_other_paths = self.player._paths_matter and self.settings.tt and not self.settings.exact
        return not by_other_paths and (abs(self.score) > UNIT or self.depends & HORIZON == 0)
