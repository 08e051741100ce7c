"""Who sees what: the information of a player, views of a position, and worlds that fit a view.

A game hides information if its file declares `seen`. What a player notices of an action is an *event*, a number:

    seen(state, action, player) -> the action itself where it is seen as it is; another number that stands for less, or for more
                                   (the action and what came of it); NOTHING where the player does not notice it

A player's *information* is the list of all events since the start, own actions included: perfect recall. The engine keeps it in the
position, in three fields that it adds to `State`, so that searches find it wherever they replay a path:

    events       [players, max_plies]    what each player has noticed, in order
    event_count  [players]
    information  [players]               64 bits of it: equal keys mean equal events, of the same player

A *view* is the position as one player sees it: the fields in `hidden`, and what other players have in `private` fields and as events,
are 0. It is a record of the same dtype, so everything that takes a position takes a view: legal actions, observation, drawing.

A *world* is a position that a player cannot tell from the real one: one path from the start after which the player has noticed the
same. `resampler` draws one by playing forward: chance by its probabilities, others uniformly, each time among the actions that the
player would notice as it was noticed. A path on which little else was possible gets its weight by rejection.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from base.bits import U, wrapping_add
from base.seeds import mix, uniform
from games.types import Actions, Bits, GameState, GameStates, Integer, Rng, Utilities

if TYPE_CHECKING:
    from games.engine.rules import Rules

NOTHING = -1
"""What a player notices of an action that stays unnoticed."""
TRACKED = ("information", "events", "event_count")
"""The fields that the engine adds to `State`."""
MOST_EVENTS = 1 << 15
TRIES = 100_000
"""Paths that a resampler begins before it gives up."""
WARM_UP = 16
"""Paths that it begins first, for the greatest weight."""

CHANCE = -1  # as in rules.py, which imports this file
_STEP = U(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class Information:
    """What one player has noticed since the start."""

    player: int
    key: int
    """64 bits; equal for equal events of one player."""
    events: tuple[int, ...]
    text: str
    """The events by name."""


# ── what the engine adds to rules ──


def tracked_state(rules: Rules) -> np.dtype[Any]:
    """State with the fields for what players have noticed."""
    fields = [(name, rules.State[name]) for name in rules.State.names or ()]
    players, most = rules.players, rules.max_plies
    added = [
        ("information", np.uint64, players),
        ("events", np.int16, (players, most)),
        ("event_count", np.int16, players),
    ]
    return np.dtype(fields + [(name, kind, shape) for name, kind, shape in added])


def tracked_initial(rules: Rules) -> Callable[[GameState], None]:
    start, players = rules.initial, rules.players

    def initial(state: GameState) -> None:
        start(state)
        for player in range(players):
            state.information[player] = U(player + 1)

    return initial


def folded(word: Bits, event: Integer) -> Bits:
    """The key of some events, and one more."""
    return mix(wrapping_add(word ^ U(event), _STEP))


def tracked_result(rules: Rules) -> Callable[[GameState, Integer], None]:
    """`result`, and what each player notices of it."""
    seen, play, players, most = rules.seen, rules.result, rules.players, rules.max_plies
    assert seen is not None
    notices = seen

    def result(state: GameState, action: Integer) -> None:
        for player in range(players):
            event = notices(state, action, player)
            count = int(state.event_count[player])
            if event != NOTHING and 0 <= count < most:  # beyond it in positions that are no positions of a game
                state.events[player, count] = event
                state.event_count[player] = count + 1
                state.information[player] = folded(state.information[player], event)
        play(state, action)

    return result


# ── views ──


def viewer(rules: Rules) -> Callable[[GameState, Integer], None]:
    """view(state, player) empties what the player does not see, in place."""

    def everything(state: GameState, player: Integer) -> None:
        return None

    view: Callable[[GameState, Integer], None] = everything
    for name in rules.hidden if rules.hides_information else ():
        view = _then(view, _emptied(name, rules.State[name]))
    for name in (*rules.private, *TRACKED) if rules.hides_information else ():
        view = _then(view, _emptied_of_others(name, rules.State[name], rules.players))
    return view


def _emptied(name: str, field: np.dtype[Any]) -> Callable[[GameState, Integer], None]:
    size = math.prod(field.shape)

    def array(state: GameState, player: Integer) -> None:
        for i in range(size):
            state[name].flat[i] = 0

    def number(state: GameState, player: Integer) -> None:
        state[name] = 0

    return array if field.shape else number


def _emptied_of_others(name: str, field: np.dtype[Any], players: int) -> Callable[[GameState, Integer], None]:
    size = math.prod(field.shape)
    each = size // players

    def others(state: GameState, player: Integer) -> None:
        for i in range(size):
            if i // each != player:
                state[name].flat[i] = 0

    return others


def _then(
    first: Callable[[GameState, Integer], None], second: Callable[[GameState, Integer], None]
) -> Callable[[GameState, Integer], None]:
    def both(state: GameState, player: Integer) -> None:
        first(state, player)
        second(state, player)

    return both


# ── worlds ──


def resampler(rules: Rules) -> Callable[..., int]:
    """A world that fits what `player` has noticed in the view states[0]; it is left in states[1].

    resample(states [3], actions [max_legal], path [max_plies], player, rng, largest [1]) -> plies of its path, -1 where none was
    found. states[2] is blank. `largest` is the greatest weight of a path so far, 0 at first; calls for the same view share it.
    """
    attempt = _own_attempt(rules) if rules.resample is not None else _forward_attempt(rules)

    def resample(states: GameStates, actions: Actions, path: Actions, player: int, rng: Rng, largest: Utilities) -> int:
        if largest[0] == 0.0:
            for _ in range(WARM_UP):
                states[1] = states[2]
                plies, weight = attempt(states[0], states[1], actions, path, player, rng)
                largest[0] = max(largest[0], weight)
        for _ in range(TRIES):
            states[1] = states[2]
            plies, weight = attempt(states[0], states[1], actions, path, player, rng)
            if plies < 0:
                continue
            largest[0] = max(largest[0], weight)
            if uniform(rng) * largest[0] < weight:
                return plies
        return -1

    return resample


def follows(rules: Rules) -> Callable[..., bool]:
    """A helper for kernels: whether the next event of a player in `world` is the one in `view`, were this action played."""
    assert rules.seen is not None
    seen = rules.seen

    def follows(view: GameState, world: GameState, action: Integer, player: Integer) -> bool:
        event, count = seen(world, action, player), int(world.event_count[player])
        return event == NOTHING or (count < view.event_count[player] and event == view.events[player, count])

    return follows


def _forward_attempt(rules: Rules) -> Callable[..., tuple[int, float]]:
    """One path played forward from the start, and its weight: the share of all paths that begins like it and fits no worse."""
    initial, result, to_move, is_terminal, legal_actions = (
        rules.initial,
        rules.result,
        rules.to_move,
        rules.is_terminal,
        rules.legal_actions,
    )
    fits, most = follows(rules), rules.max_plies
    probability = rules.chance or (lambda state, action: 0.0)

    def attempt(
        view: GameState, world: GameState, actions: Actions, path: Actions, player: Integer, rng: Rng
    ) -> tuple[int, float]:
        initial(world)
        weight, is_over = 1.0, is_terminal(view)
        mover_at_end = -2 if is_over else int(to_move(view))
        for ply in range(most + 1):
            over = is_terminal(world)
            mover = -2 if over else int(to_move(world))
            if world.information[player] == view.information[player] and mover == mover_at_end:
                return ply, weight
            if over or ply == most:
                return -1, 0.0
            n = legal_actions(world, actions)
            total = 0.0
            for i in range(n):
                if fits(view, world, actions[i], player):
                    total += probability(world, actions[i]) if mover == CHANCE else 1.0 / n
            left, chosen = uniform(rng) * total, -1
            for i in range(n):
                if left >= 0.0 and fits(view, world, actions[i], player):
                    chosen = int(actions[i])
                    left -= probability(world, actions[i]) if mover == CHANCE else 1.0 / n
            if chosen < 0:
                return -1, 0.0
            if mover != player:  # what the player did gives no evidence about the others
                weight *= total
            path[ply] = chosen
            result(world, chosen)
        return -1, 0.0

    return attempt


def _own_attempt(rules: Rules) -> Callable[..., tuple[int, float]]:
    """A path that the game's own function gives, checked by playing it."""
    initial, result, is_terminal, legal_actions, propose = (
        rules.initial,
        rules.result,
        rules.is_terminal,
        rules.legal_actions,
        rules.resample,
    )
    assert propose is not None
    proposed, fits, most = propose, follows(rules), rules.max_plies

    def attempt(
        view: GameState, world: GameState, actions: Actions, path: Actions, player: Integer, rng: Rng
    ) -> tuple[int, float]:
        plies = int(proposed(view, player, path, rng))
        initial(world)
        for ply in range(min(plies, most)):
            if is_terminal(world):
                return -1, 0.0
            is_legal = False
            for i in range(legal_actions(world, actions)):
                is_legal |= actions[i] == path[ply]
            if not is_legal or not fits(view, world, path[ply], player):
                return -1, 0.0
            result(world, path[ply])
        return (plies if world.information[player] == view.information[player] else -1), 1.0

    return attempt


# ── text ──


def text(rules: Rules, of_fields: Callable[[GameState], str]) -> Callable[[GameState], str]:
    """The fields of the game's file, and `events=3,4/5,4`: what each player has noticed."""
    players = rules.players

    def text(state: GameState) -> str:
        counts = np.clip(state.event_count, 0, rules.max_plies)
        lists = [",".join(map(str, state.events[player, : counts[player]].tolist())) for player in range(players)]
        return f"{of_fields(state)} events={'/'.join(lists)}"

    return text


def parse(rules: Rules, fields: Callable[[GameState, str], None]) -> Callable[[GameState, str], None]:
    """The inverse of `text`."""
    players, most = rules.players, rules.max_plies

    def parse(state: GameState, text: str) -> None:
        first, sign, last = text.rpartition(" events=")
        lists = last.split("/")
        if not sign or len(lists) != players:
            raise ValueError(f"expected '… events=' with the events of {players} players, got '{text}'")
        fields(state, first)
        for player, words in enumerate(lists):
            events = [
                int(word) if word.isdecimal() and len(word) < 6 else MOST_EVENTS for word in words.split(",") if words
            ]
            if len(events) > most or not all(event < MOST_EVENTS for event in events):
                raise ValueError(f"events: expected at most {most} numbers below {MOST_EVENTS}, got '{words}'")
            state.information[player] = U(player + 1)
            state.event_count[player] = len(events)
            for i, event in enumerate(events):
                state.events[player, i] = event
                state.information[player] = folded(state.information[player], event)

    return parse


def event_name(rules: Rules, event: int) -> str:
    """As players are shown it."""
    if event < rules.actions:
        return rules.names[event]
    number = event - rules.actions
    return rules.seen_names[number] if number < len(rules.seen_names) else f"#{event}"
