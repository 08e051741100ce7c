"""What engine protocols share: the player, loaded in the background; its options; the game so far; the search under way.

A protocol is a subclass of `Protocol` with `answer(line)`. Lines are answered in their order. A line has to wait (`has_to_wait`) where
it needs the player and that is still loading, or where it needs the search to be over.

    limits of a move     those that the other program sends. Where it sends none of a kind, those of the player's text hold, except
                         in an endless search
"""

from __future__ import annotations

import gc
import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from arena.protocols.clock import Clock
from arena.protocols.declared import declared
from base.errors import UserError, nearest, short
from base.options import split, written

if TYPE_CHECKING:
    from arena.analysis import Analysis, Analyst
    from arena.protocols.service import Service
    from games import Game
    from games.choice import Choice, Limits

NAME, AUTHOR = "zermelo", "the zermelo developers"


@dataclass(frozen=True)
class Position:
    """A game so far."""

    start: Any
    actions: tuple[int, ...]
    state: Any
    """Where they lead."""

    def then(self, game: Game, action: int) -> Position:
        return Position(self.start, (*self.actions, action), game.result(self.state, action))


@dataclass
class Going:
    """A search, from the request to the answer."""

    position: Position
    purpose: str
    """What the protocol does with the result."""
    analysis: Analysis | None = None
    """None: there was nothing to search."""
    began: float = field(default_factory=time.perf_counter)
    planned: float | None = None
    """Seconds."""
    is_held: bool = False
    """The answer waits for a request."""
    is_over: bool = False
    found: Choice | Exception | None = None
    latest: Choice | None = None
    """The latest report."""


class Protocol(ABC):
    """One conversation. Everything happens on one thread (`service.py`)."""

    service: Service

    def __init__(self, spec: str, text: str) -> None:
        """`spec` names the game, `text` the player."""
        self.spec, self.text = spec, text
        self.clock = Clock()
        self.analyst: Analyst | None = None
        self.going: Going | None = None
        self.position: Position | None = None
        self.failure = ""
        """Why the player could not be loaded at all."""
        self._loaded: tuple[str, str] | None = None  # the game and the player that are loaded
        self._is_loading = False
        self._waiting: deque[str] = deque()
        self._has_ended = False

    # ── of a protocol ──

    @abstractmethod
    def check(self, game: Game) -> None:
        """Raises UserError where the protocol does not have this game. Called on another thread."""

    @abstractmethod
    def answer(self, line: str) -> None:
        """Handle a line whose turn it is."""

    @abstractmethod
    def has_to_wait(self, line: str) -> bool:
        """Whether this line has to wait now. May stop a search, so that it need not wait long."""

    @abstractmethod
    def complain(self, message: str) -> None:
        """A mistake of the other program, or of the user, that belongs to no answer."""

    @abstractmethod
    def reported(self, going: Going, choice: Choice) -> None:
        """What the search under way has found so far."""

    @abstractmethod
    def conclude(self, going: Going) -> None:
        """A search is over, and its answer is wanted: `going.found`."""

    def ended(self) -> None:
        """The input has ended, and all its lines are answered, but for the search under way."""
        if self.going is None:
            self.service.leave()
        else:
            self.stop()

    # ── the conversation ──

    def begin(self, service: Service) -> None:
        self.service = service
        self.load()

    def handle(self, line: str) -> None:
        if self._waiting or self.has_to_wait(line):
            if self.is_urgent(line):
                self.answer(line)
            else:
                self._waiting.append(line)
        else:
            self.answer(line)

    def is_urgent(self, line: str) -> bool:
        """Whether it may be answered before others that wait."""
        return False

    def proceed(self) -> None:
        """Answer what has waited, as far as it need not wait any longer."""
        while self._waiting and not self.has_to_wait(self._waiting[0]):
            self.answer(self._waiting.popleft())
        if self._has_ended and not self._waiting:
            self.ended()

    def end_of_input(self) -> None:
        self._has_ended = True
        self.proceed()

    def close(self) -> None:
        if self.going is not None and self.going.analysis is not None:
            self.going.analysis.stop()

    @property
    def is_at_work(self) -> bool:
        """Another thread loads or searches."""
        return self._is_loading or self.going is not None

    # ── the player ──

    @property
    def game(self) -> Game:
        assert self.analyst is not None
        return self.analyst.game

    @property
    def is_ready(self) -> bool:
        """The player that the options describe is loaded. Where it is not, loading begins."""
        if not self._is_loading and self._loaded != (self.spec, self.text):
            self.load()
        return not self._is_loading

    def load(self) -> None:
        self._is_loading = True
        threading.Thread(target=self._load, args=(self.spec, self.text), daemon=True).start()

    def _load(self, spec: str, text: str) -> None:
        found: Analyst | Exception
        try:
            found = loaded(spec, text, self.check)
        except Exception as error:
            found = error
        self.service.post(partial(self._take, spec, text, found))

    def _take(self, spec: str, text: str, found: Analyst | Exception) -> None:
        self._is_loading = False
        if not isinstance(found, Exception):
            old = None if self.analyst is None else self.game
            self.analyst, self._loaded = found, (spec, text)
            if old is None or old.name != found.game.name:
                self.position = None
            self.loaded()
        elif self._loaded is None:
            self.failure = describe(found)
            self.complain(self.failure)
            self.service.leave(2)
            return
        else:
            self.spec, self.text = self._loaded
            self.refused(describe(found))
        self.proceed()

    def loaded(self) -> None:  # noqa: B027  most protocols need not know
        """Another player is loaded."""

    def refused(self, message: str) -> None:
        """The game or the player that was requested cannot be loaded; the old one stays."""
        self.complain(message)

    def set_option(self, name: str, value: str) -> None:
        """An option of the player, as in its text. Takes effect before the next line that needs the player."""
        kind, given = split(self.text)
        known = {each.lower(): each for each in self.options()}
        key = known.get(name.lower())
        if key is None:
            raise UserError(f"{kind} has no option '{short(name)}'{nearest(name, known)}")
        rest = [(old, text) for old, text in given if old != key]
        if value not in ("", "<empty>"):
            value = {"true": "on", "false": "off"}.get(value, value)
            rest.append((key, value))
        words = [written(text) if old is None else f"{old}={written(text)}" for old, text in rest]
        self.text = kind + (":" + ",".join(words) if words else "")

    def options(self) -> dict[str, str]:
        """The names of the player's options, and their values as far as the text has them."""
        kind, given = split(self.text)
        known = {name: each.default for name, each in declared(kind).items()} | {"book": ""}
        return known | {key: value for key, value in given if key is not None}

    # ── searches ──

    def the_position(self) -> Position:
        """That of the game; at first its beginning."""
        if self.position is None:
            start = self.game.initial()
            self.position = Position(start, (), start)
        return self.position

    def go(
        self, purpose: str, limits: Limits, seconds: float | None, *, is_held: bool = False, with_book: bool = False
    ) -> Going:
        """Begin a search of the position. Without seconds, those of the player's text hold unless the search is endless."""
        assert self.analyst is not None
        if seconds is None and not limits.is_endless and limits.depth is None and limits.nodes is None:
            own = self.analyst.player.ms
            seconds = None if own is None else self.clock.fixed(own / 1000)
        here = self.the_position()
        going = self.going = Going(here, purpose, planned=seconds, is_held=is_held)
        if self.game.is_terminal(here.state):
            self._done(going, None)
            return going
        going.analysis = self.analyst.search(
            here.state,
            here.start,
            here.actions,
            limits,
            lambda choice: self.service.post(partial(self._report, going, choice)),
            lambda found: self.service.post(partial(self._done, going, found)),
            seconds=seconds,
            with_book=with_book,
        )
        return going

    def stop(self) -> None:
        """The search under way ends soon, and its answer follows."""
        if self.going is None:
            return
        self.going.is_held = False
        if self.going.analysis is not None:
            self.going.analysis.stop()
        self._answer_if_over(self.going)

    def _report(self, going: Going, choice: Choice) -> None:
        last, going.latest = going.latest, choice
        is_new = last is None or (last.depth, last.nodes, last.pv) != (choice.depth, choice.nodes, choice.pv)
        if is_new and going is self.going:
            self.reported(going, choice)

    def _done(self, going: Going, found: Choice | Exception | None) -> None:
        going.is_over, going.found = True, found
        if isinstance(found, Exception):
            self.complain(describe(found))
        elif found is not None:
            self._report(going, found)
        self._answer_if_over(going)

    def _answer_if_over(self, going: Going) -> None:
        if going is not self.going or not going.is_over or going.is_held:
            return
        self.going = None
        self.conclude(going)
        if going.planned is not None:
            self.clock.took(going.planned, time.perf_counter() - going.began)
        self.proceed()

    def action_of(self, going: Going) -> int | None:
        """What to play: what the search chose; where it failed, the best known, or any legal action; None where there is none."""
        for each in (going.found, going.latest):
            if each is not None and not isinstance(each, Exception):
                return each.action
        legal: Sequence[int] = self.game.legal_actions(going.position.state)
        return legal[0] if legal else None


def loaded(spec: str, text: str, check: Callable[[Game], object]) -> Analyst:
    """The player with everything compiled, if `check` lets its game pass. This imports what is heavy."""
    from arena.analysis import Analyst
    from arena.players import make_player
    from games import load

    game = load(spec)
    game.must_be_open("engine")
    check(game)
    analyst = Analyst(make_player(text, game))
    analyst.prepare()
    # Compilers leave a million objects: to look for cycles among them takes a tenth of a second, out of some move's time.
    gc.collect()
    gc.freeze()
    return analyst


def describe(error: Exception) -> str:
    """In one line."""
    if isinstance(error, OSError) and error.filename is not None:
        text = f"{error.filename}: {error.strerror}"
    else:
        text = str(error) if isinstance(error, UserError | OSError) else f"{type(error).__name__}: {error}"
    return " ".join(text.split())[:1000]
