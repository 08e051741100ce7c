"""Positions to be looked at again and again: the same in all runs of a game."""

from __future__ import annotations

from typing import Any

import numpy as np

from base.seeds import below, derive, generator
from games import CHANCE, Game
from games.engine.kernels import sampler

TRIES = 200  # games from which a sample position is taken
APART = 10  # plies at most between sample positions: random games are long, and their ends are like no other game's


def samples(game: Game, count: int) -> list[Any]:
    """Positions to be looked at again and again, the same for every run: the start, and some of random games, from their beginning to
    near their end, in which there is a choice and, where that can be, nothing to be taken at once."""
    length = max(2, len(_random_game(game, 0)))
    found: list[Any] = []
    for number in range(count):
        ply = number * max(1, min(APART, 2 * length // (3 * count)))
        found.append(_sample(game, ply, number) if number else _settled(game, game.initial(), 0))
    return [state for state in found if state is not None]


def _sample(game: Game, ply: int, number: int) -> Any:
    fallback = None
    for attempt in range(TRIES):
        states = _random_game(game, number * TRIES + attempt)
        state = states[ply] if ply < len(states) else None
        if state is None or game.to_move(state) == CHANCE or len(actions := game.legal_actions(state)) < 2:
            continue
        if _is_quiet(game, state, actions):
            return state
        fallback = state if fallback is None else fallback
    return fallback


def _is_quiet(game: Game, state: Any, actions: list[int]) -> bool:
    gain = game.rules.gain
    with np.errstate(over="ignore"):  # bit tricks, which plain Python warns of
        return gain is None or all(gain(state, action) < 0.25 for action in actions)


def _random_game(game: Game, number: int) -> list[Any]:
    """Its positions without the last one."""
    rng, states = generator(derive(number, "sample positions"), "moves"), []
    state = game.initial()
    while not game.is_terminal(state):
        states.append(state)
        state = game.result(state, _drawn(game, state, rng))
    return states


def _drawn(game: Game, state: Any, rng: Any) -> int:
    if game.to_move(state) == CHANCE:
        return int(game.kernel(sampler)(state, np.zeros(game.rules.max_legal, np.int32), rng))
    actions = game.legal_actions(state)
    return int(actions[below(rng, len(actions))])


def _settled(game: Game, state: Any, number: int) -> Any:
    """After chance had its turn."""
    rng = generator(derive(number, "sample positions"), "chance")
    while not game.is_terminal(state) and game.to_move(state) == CHANCE:
        state = game.result(state, _drawn(game, state, rng))
    return state
