"""A game as Python sees it: the textbook's pure functions over positions, checked and named.

>>> game = load("othello:size=6")
>>> state = game.initial()
>>> state = game.result(state, game.action(state, "d3"))
>>> game.legal_actions(state), game.is_terminal(state), game.utility(state)

A position is a numpy record of the game's dtype (`state.mover`, `state.heaps[0]`); nothing here changes one that it was given.
"""

from __future__ import annotations

import functools
import math
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from base.compiler import compiled
from base.errors import UserError, echoing, short
from base.seeds import Rng, generator
from base.threads import Overtime, interruptible, within
from games.engine import kernels
from games.engine.diagram import Diagram
from games.engine.information import NOTHING, Information, event_name, resampler, viewer
from games.engine.quick_laws import Breach
from games.engine.rules import CHANCE, Rules
from games.engine.trial import PATIENCE, seen_of, try_out, walk
from games.types import GameState, GameStates, Kernel, Planes

MOST_SCRATCH = 1 << 29  # bytes
LONGEST_POSITION = 100_000  # characters: no position of a game that fits a record is longer
TRIED_PLIES, TRIED_PLIES_AFTER = 200, 20  # of a game that a position is tried out with; of one behind each first action
TRIED_ACTIONS, TRIED_GAMES = 200, 300
FOREIGN = 1.5  # seconds for the text of a position from outside, and for reading it back

Factory = Callable[[Rules], Kernel]


class Game:
    """Rules with a name. `name` is stored in records and checkpoints; `spec` is the text that loads the game again."""

    def __init__(self, rules: Rules, name: str, spec: str, options: dict[str, Any], is_tried: bool = True) -> None:
        self.rules, self.name, self.spec, self.options, self.is_tried = rules, name, spec, options, is_tried
        self.version, self.players, self.actions = rules.version, rules.players, rules.actions
        self.names = tuple(rules.names)
        self._ids = {name: action for action, name in enumerate(self.names) if name}
        self._kernels: dict[tuple[Factory, bool], Kernel] = {}
        self._restored = functools.lru_cache(maxsize=256)(self._restore)

    def __repr__(self) -> str:
        return f"load({self.spec!r})"

    # ── the textbook's functions ──

    def initial(self) -> GameState:
        """The starting position."""
        state = self.blank()
        self._initial(state)
        return state

    def to_move(self, state: GameState) -> int | None:
        """Whose move it is: 0 … players-1, CHANCE (-1), or None when the game is over."""
        return None if self.is_terminal(state) else int(self._to_move(state))

    def legal_actions(self, state: GameState) -> list[int]:
        """The legal action ids; none when the game is over."""
        return [] if self.is_terminal(state) else self.movements(state)

    def movements(self, state: GameState) -> list[int]:
        """The actions that the rules of movement allow, even where a draw by counter, repetition or material has ended the game."""
        actions = np.zeros(self.rules.max_legal, np.int32)
        found = [int(action) for action in actions[: self._legal_actions(state, actions)]]
        wrong = next((action for action in found if not 0 <= action < self.actions), None)
        if wrong is not None:
            raise UserError(
                f"legal_actions of {self.name}: expected ids from 0 to {self.actions - 1}, got {wrong}; see the doctor"
            )
        return found

    def result(self, state: GameState, action: int) -> GameState:
        """The position after `action`; `state` stays as it is."""
        legal = self.legal_actions(state)
        if action not in legal:
            name = self.names[action] if 0 <= action < self.actions else action
            raise UserError(f"expected a legal action of {self.name}, got {name} ({self._choices(legal)})")
        after = state.copy()
        self._result(after, int(action))
        return after

    def is_terminal(self, state: GameState) -> bool:
        return bool(self._is_terminal(state))

    def utility(self, state: GameState, stopped: bool = False) -> tuple[float, ...]:
        """Of a finished game, or one `stopped` by max_plies: one number per player, in [-1, 1]."""
        if not stopped and not self.is_terminal(state):
            raise UserError(f"expected a finished game of {self.name}, got an unfinished one")
        return tuple(float(self._utility(state, player)) for player in range(self.players))

    def chance(self, state: GameState, action: int) -> float:
        """The probability of an outcome where chance is to move."""
        if self.rules.chance is None or self.to_move(state) != CHANCE:
            raise UserError(f"expected a position of {self.name} where chance is to move")
        return float(self._chance(state, action))

    # ── for learners and searches ──

    def observe(self, state: GameState, player: int | None = None) -> Planes:
        """The position as planes, from the view of `player` (the mover if None)."""
        planes = np.zeros(self.rules.observation, np.float32)
        self._observe(state, self._viewer(state, player), planes)
        return planes

    def features(self, state: GameState, player: int | None = None) -> dict[str, float]:
        """The features of a linear EVAL, by name, from the view of `player` (the mover if None)."""
        if self.rules.features is None:
            raise UserError(f"{self.name} has no features")
        values = np.zeros(len(self.rules.feature_names), np.float32)
        self._features(state, self._viewer(state, player), values)
        return dict(zip(self.rules.feature_names, values.tolist(), strict=True))

    def ownership(self, state: GameState, player: int) -> Planes:
        """Whose each cell of a finished game is, from the view of `player`: [players, rows, columns]."""
        if self.rules.ownership is None:
            raise UserError(f"{self.name} does not declare ownership")
        planes = np.zeros((self.players, *self.rules.observation[1:]), np.float32)
        self._ownership(state, player, planes)
        return planes

    def scores(self, state: GameState) -> tuple[float, ...]:
        """Of a finished game, by player."""
        if self.rules.score is None:
            raise UserError(f"{self.name} does not declare scores")
        return tuple(float(self._score(state, player)) for player in range(self.players))

    def key(self, state: GameState) -> int:
        """64 bits; equal for equal positions."""
        return int(self._key(state))

    def kernel(self, factory: Factory, checked: bool = False) -> Kernel:
        """`factory(rules)` as machine code, compiled once."""
        found = self._kernels.get((factory, checked))
        if found is None:
            self._trusted()
            found = compiled(factory(self.rules), checked=checked, label=self.name)
            self._kernels[factory, checked] = found
        return found

    # ── who sees what ──

    @property
    def hides_information(self) -> bool:
        """Whether players see less than everything: the game's file declares `seen`."""
        return self.rules.hides_information

    def view(self, state: GameState, player: int) -> GameState:
        """The position as `player` sees it, with 0 for what is not seen; the same position where nothing is hidden."""
        if not self.hides_information:
            return state
        found = state.copy()
        self._view(found, player)
        return found

    def information(self, state: GameState, player: int) -> Information:
        """What `player` has noticed since the start of the game."""
        self._must_hide_information()
        count = min(max(int(state.event_count[player]), 0), self.rules.max_plies)
        events = tuple(state.events[player, :count].tolist())
        text = " ".join(event_name(self.rules, event) for event in events)
        return Information(player, int(state.information[player]), events, text)

    def event(self, state: GameState, action: int, player: int) -> str:
        """What `player` notices of a legal action, by name; empty where that is nothing."""
        if self.rules.seen is None:
            return self.names[action]
        event = int(self._seen(state, action, player))
        return "" if event == NOTHING else event_name(self.rules, event)

    def resample(self, state: GameState, player: int, rng: Rng) -> GameState:
        """A world: a position that `player` cannot tell from this one, or from the one that this is a view of."""
        return next(self.worlds(state, player, rng))

    def worlds(self, state: GameState, player: int, rng: Rng) -> Iterator[GameState]:
        """Worlds without end."""
        self._must_hide_information()
        states, largest = self.blanks(3), np.zeros(1)
        states[0] = self.view(state, player)
        actions, path = np.zeros(self.rules.max_legal, np.int32), np.zeros(self.rules.max_plies, np.int32)
        draw = self.kernel(resampler)
        while True:
            if interruptible(lambda: draw(states, actions, path, player, rng, largest)) < 0:
                raise UserError(f"resample of {self.name}: no path found that fits what player {player} has noticed")
            yield states[1].copy()

    @cached_property
    def opened(self) -> Game:
        """The same game, and the same positions, with everything seen by all: what a search of one world plays."""
        if not self.hides_information:
            return self
        rules = replace(self.rules, seen=None, seen_names=(), private=(), hidden=(), resample=None)
        return Game(rules, self.name, self.spec, self.options, self.is_tried)

    def must_be_open(self, who: str) -> None:
        """Refuse a game that hides information, in the name of a search that would see everything."""
        if self.hides_information:
            raise UserError(f"{who}: expected a game in which players see everything, got {self.name}")

    def _must_hide_information(self) -> None:
        if not self.hides_information:
            raise UserError(f"expected a game that hides information, got {self.name}")

    # ── scratch space ──

    def blank(self) -> GameState:
        """A record of zeros, to be filled in."""
        return self.blanks(1)[0]

    def blanks(self, n: int) -> GameStates:
        """n records of zeros."""
        return np.zeros(n, self.rules.State)

    def scratch(self, state: GameState, n: int) -> GameStates:
        """n records, the first a copy of `state`: scratch space for kernels."""
        states = self.blanks(n)
        states[0] = state
        return states

    # ── names and text ──

    def name_of(self, action: int) -> str:
        if not 0 <= action < self.actions:
            raise UserError(f"action: expected 0 to {self.actions - 1}, got {action}")
        return self.names[action]

    def id_of(self, text: str) -> int | None:
        """The action of that name, legal or not; capitals matter only where two names differ by them."""
        found = self._ids.get(text)
        return found if found is not None else self._folded_ids.get(text.casefold())

    @cached_property
    def _folded_ids(self) -> dict[str, int]:
        counts = Counter(name.casefold() for name in self._ids)
        return {name.casefold(): action for name, action in self._ids.items() if counts[name.casefold()] == 1}

    def action(self, state: GameState, text: str) -> int:
        """The legal action of that name."""
        return self._action(text, self.legal_actions(state))

    def _action(self, text: str, legal: Sequence[int]) -> int:
        found = self.id_of(text)
        if found is not None and found in legal:
            return found
        what = "illegal" if found is not None else "unknown"
        raise UserError(
            f"{what} action '{short(text)}' in {self.name}: {self._choices(legal)}{self._alike(text, legal)}"
        )

    def _alike(self, text: str, legal: Sequence[int]) -> str:
        """A hint where a legal action has the same letters and digits in its name."""

        def bare(name: str) -> str:
            return "".join(filter(str.isalnum, name)).casefold()

        names = [self.names[action] for action in legal if bare(self.names[action]) == bare(text)]
        return f"; did you mean '{names[0]}'?" if len(names) == 1 and bare(text) else ""

    def play(self, text: str, start: GameState | None = None) -> GameState:
        """The position after actions given by name, separated by spaces, from `start` or the beginning."""
        if not isinstance(text, str):
            raise UserError(f"moves: expected their names as one text, got {type(text).__name__}")
        state = self.initial() if start is None else start
        for ply, word in enumerate(text.split()):
            legal = self.legal_actions(state)
            try:
                action = self._action(word, legal)
            except UserError as error:
                raise UserError(f"ply {ply}: {error}") from None
            state = state.copy()
            self._result(state, action)
        return state

    def render(self, state: GameState) -> str:
        try:
            return self.rules.render(state)
        except Exception as error:
            raise UserError(f"render of {self.name} fails: {type(error).__name__}: {error}; see the doctor") from error

    def diagram(self, state: GameState) -> Diagram:
        """The board as data for pictures: `games.drawing`."""
        try:
            found = self.rules.diagram(state)
        except UserError as error:
            raise UserError(f"{self.name}: {error}") from error
        except Exception as error:
            raise UserError(f"diagram of {self.name} fails: {type(error).__name__}: {error}; see the doctor") from error
        if not isinstance(found, Diagram):
            raise UserError(f"diagram of {self.name}: expected a Diagram, got {short(repr(found))}")
        return found

    def text(self, state: GameState) -> str:
        """The position in one line."""
        return self.rules.text(state)

    def parse(self, text: str, trusted: bool = False) -> GameState:
        """The position of that text. Where only the types of its fields were checked, it is tried out, unless `trusted`."""
        if len(text) > LONGEST_POSITION:
            raise UserError(
                f"position of {self.name}: expected at most {LONGEST_POSITION} characters, got {len(text)}: '{short(text)}'"
            )
        state = self.blank()
        try:
            self.rules.parse(state, text.strip())
        except ValueError as error:
            raise UserError(f"position of {self.name}: {echoing(str(error), text.strip())}") from None
        if "parse" in self.rules.derived and not trusted:
            self._try_position(state, text)
        return state

    def restored(self, data: bytes) -> GameState:
        """The position in bytes that come from outside, without what its text omits of its history.

        Compiled rules follow every number of a position without a check, so the bytes count only as far as the game's own text and
        parser give them back.
        """
        state: GameState = self._restored(data).copy()
        return state

    # ── utilities for people ──

    @property
    def has_payoffs(self) -> bool:
        """People are shown payoffs, in the units of the game's file, instead of utilities."""
        return self.rules.payoff_scale != 1

    def shown(self, utility: float) -> str:
        """A utility for people: `+0.188`, or the payoff that it stands for, `3`."""
        if not self.has_payoffs:
            return f"{utility:+.3f}"
        scale = self.rules.payoff_scale
        digits = min(max(5 - math.ceil(math.log10(scale)), 0), 3)  # scores are rounded to a millionth of a utility
        text = f"{utility * scale + 0.0:.{digits}f}"
        text = text.rstrip("0").rstrip(".") if "." in text else text
        return "0" if text == "-0" else text

    def shown_all(self, utilities: Sequence[float]) -> str:
        """Every player's: `(1, 2, 6)`."""
        return f"({', '.join(map(self.shown, utilities))})"

    @property
    def needs_vectors(self) -> bool:
        """One player's utility does not give the others'."""
        return self.players > 2 or (self.players == 2 and not self.rules.zero_sum)

    # ── counting and playing ──

    def perft(self, depth: int, state: GameState | None = None, turns: bool = False) -> int:
        """Number of action sequences of exactly `depth` actions (or whole turns). A finished position has none, of any depth; an
        unfinished one has one of depth 0, the empty one."""
        state = self._counted_from(depth, state)
        return 0 if self.is_terminal(state) else self._count(state, depth, turns)

    def divide(self, depth: int, state: GameState | None = None, turns: bool = False) -> dict[str, int]:
        """Perft split by the first action, by name."""
        state = self._counted_from(depth, state)
        found = {}
        for action in self.legal_actions(state) if depth > 0 else []:
            after = state.copy()
            self._result(after, action)
            is_whole = not turns or not self.movements(after) or self._to_move(after) != self._to_move(state)
            left = depth - 1 if is_whole else depth
            found[self.names[action]] = self._count(after, left, turns)
        return dict(sorted(found.items()))

    def _counted_from(self, depth: int, state: GameState | None) -> GameState:
        if depth < 0:
            raise UserError(f"depth: expected 0 or more, got {depth}")
        return self.initial() if state is None else state

    def _count(self, state: GameState, depth: int, turns: bool) -> int:
        levels = depth + 1
        while True:
            if levels * (self.rules.State.itemsize + 4 * self.rules.max_legal) > MOST_SCRATCH:
                raise UserError(
                    f"depth: expected one that {MOST_SCRATCH >> 20} MB of scratch space suffice for, got {depth}"
                )
            kernel = self.kernel(kernels.perft_turns if turns else kernels.perft)
            actions, states = np.zeros((levels, self.rules.max_legal), np.int32), self.scratch(state, levels)
            found = int(interruptible(functools.partial(kernel, states, actions, depth)))
            if found >= 0:
                return found
            levels *= 2  # turns of several actions reached deeper than there was room

    def random_games(self, count: int, seed: int, state: GameState | None = None) -> tuple[tuple[float, ...], float]:
        """Plays at random; mean utilities and mean number of plies."""
        if count < 1:
            raise UserError(f"count: expected at least 1, got {count}")
        totals = np.zeros(self.players)
        states = self.scratch(self.initial() if state is None else state, 2)
        actions = np.zeros(self.rules.max_legal, np.int32)
        play, rng = self.kernel(kernels.playouts), generator(seed, "random games")
        plies = interruptible(lambda: play(states, actions, rng, count, totals))
        return tuple((totals / count).tolist()), plies / count

    # ── inside ──

    def _viewer(self, state: GameState, player: int | None) -> int:
        viewer = self.to_move(state) if player is None else player
        if viewer is None or not 0 <= viewer < self.players:
            came = f"{player}" if player is not None else "none where no player is to move"
            raise UserError(f"player: expected 0 to {self.players - 1}, got {came}")
        return viewer

    def _choices(self, legal: Sequence[int]) -> str:
        names = sorted(self.names[action] for action in legal)
        if not names:
            return "the game is over"
        shown = " ".join(names[:12]) + (f" … ({len(names)} in all)" if len(names) > 12 else "")
        return f"legal are {shown}"

    def _restore(self, data: bytes) -> GameState:
        what, size = f"expected a position of {self.name}", self.rules.State.itemsize
        if len(data) != size:
            raise UserError(f"{what} in {size} bytes, got {len(data)} bytes")
        given = np.frombuffer(data, self.rules.State).copy()[0]
        try:
            with np.errstate(all="ignore"):
                text = within(FOREIGN, lambda: self.text(given))
                found = within(FOREIGN, lambda: self.parse(text, trusted=True))
            if "parse" in self.rules.derived:  # not within FOREIGN: the first time, it compiles
                self._try_position(found, text)
        except UserError as error:
            raise UserError(f"{what}, got bytes that are none: {error}") from None
        except (Exception, Overtime) as error:  # whatever rules do with numbers that they never write
            raise UserError(f"{what}, got bytes that are none: {seen_of(error)}") from None
        for name in self.rules.State.names or ():
            if name not in self.rules.history and found[name].tobytes() != given[name].tobytes():
                raise UserError(f"{what}, got bytes that are none: {name} is impossible")
        return found

    def _try_position(self, state: GameState, text: str) -> None:
        """Refuse a position in which the game's own rules fail: interpreted by every first action, then in many games with checks."""
        rules = self.rules

        def play_on() -> None:
            most = min(rules.max_plies, TRIED_PLIES)
            walk(rules, state.copy(), generator(0, "position"), most, call_all=True)
            for action in [] if rules.is_terminal(state) else self._first_actions(state):
                after = state.copy()
                rules.result(after, action)
                walk(rules, after, generator(action, "position"), TRIED_PLIES_AFTER)

        try:
            with np.errstate(over="ignore"):
                within(PATIENCE, play_on)
            if not CHANCE <= self._mover_at_the_end(state) < rules.players:
                raise Breach("to_move", "an impossible player")
            self.play_with_checks(state)
        except (Exception, Overtime):  # anything that the rules raise
            raise UserError(f"position of {self.name}: the game can't be played on from '{short(text)}'") from None

    def _first_actions(self, state: GameState) -> list[int]:
        actions = np.zeros(self.rules.max_legal, np.int32)
        return [int(action) for action in actions[: self.rules.legal_actions(state, actions)]][:TRIED_ACTIONS]

    def play_with_checks(self, state: GameState, games: int = TRIED_GAMES, seconds: float = 0.3) -> None:
        """Random games from `state`, compiled with a check of every index. Raises IndexError where the rules would leave their memory,
        and `Overtime` where a call does not end."""
        rules, most = self.rules, min(self.rules.max_plies, TRIED_PLIES)
        play = self.kernel(kernels.recorded_game, checked=True)
        states, moves = self.scratch(state, most + 2), np.zeros(most, np.int32)
        digests = np.zeros((most + 1, len(kernels.ANSWERS)), np.uint64)
        buffers = kernels.recording_buffers(rules)

        def play_games() -> None:
            until = time.perf_counter() + seconds
            for number in range(games):
                play(states, moves, digests, generator(number, "checks"), buffers, most)
                if time.perf_counter() > until:
                    return

        play(states, moves, digests, generator(0, "checks"), buffers, 0)  # compiles
        interruptible(play_games, deadline=time.perf_counter() + PATIENCE)

    def _mover_at_the_end(self, state: GameState) -> int:
        """The answer of `to_move`, which in a finished game has no meaning and may fail."""
        with suppress(Exception):
            return int(self.rules.to_move(state.copy()))
        return CHANCE

    def _trusted(self) -> None:
        """Tries out the rules of a file before anything compiled runs."""
        if not self.is_tried:
            try_out(self)
            self.is_tried = True

    def _compiled(self, name: str) -> Kernel:
        self._trusted()
        function: Kernel = getattr(self.rules, name)
        return compiled(function, label=self.name)

    _initial = cached_property(lambda self: self._compiled("initial"))
    _to_move = cached_property(lambda self: self._compiled("to_move"))
    _legal_actions = cached_property(lambda self: self._compiled("legal_actions"))
    _result = cached_property(lambda self: self._compiled("result"))
    _is_terminal = cached_property(lambda self: self._compiled("is_terminal"))
    _utility = cached_property(lambda self: self._compiled("utility"))
    _chance = cached_property(lambda self: self._compiled("chance"))
    _observe = cached_property(lambda self: self._compiled("observe"))
    _features = cached_property(lambda self: self._compiled("features"))
    _ownership = cached_property(lambda self: self._compiled("ownership"))
    _score = cached_property(lambda self: self._compiled("score"))
    _key = cached_property(lambda self: self._compiled("key"))
    _seen = cached_property(lambda self: self._compiled("seen"))
    _view = cached_property(lambda self: self.kernel(viewer))
