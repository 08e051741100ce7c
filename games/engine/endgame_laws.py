"""The laws of endgame classes (see `laws.py`): how positions are numbered, and when history can draw a game."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from base.compiler import compiled
from base.seeds import Rng, below
from games.engine.game_under_test import GameUnderTest
from games.engine.quick_laws import Breach, law
from games.types import GameState


def draw_endgames(test: GameUnderTest, rng: Rng, times: int) -> Iterator[tuple[int, int, int, GameState]]:
    """From each class, that many draws of an index: class, draw, index, position. Indices without a position are left out."""
    assert test.rules.endgame_position is not None
    starts = [0, *itertools.accumulate(size for _, size in test.rules.endgames)]
    for which, (start, end) in enumerate(itertools.pairwise(starts)):
        for draw in range(times):
            index, state = start + int(below(rng, end - start)), test.game.blank()
            if test.rules.endgame_position(state, index):
                yield which, draw, index, state


@law("endgame_position and endgame_index are inverse, and play leads from a class to itself or an earlier one")
def endgames_are_numbered(test: GameUnderTest) -> str:
    rules, game = test.rules, test.game
    index_of = rules.endgame_index
    if index_of is None:
        return "it has none"
    ends = list(itertools.accumulate(size for _, size in rules.endgames))
    found = 0

    def class_of(index: int) -> int:
        return next(number for number, end in enumerate(ends) if index < end)

    with np.errstate(over="ignore"):
        for which, _, index, state in draw_endgames(test, test.rng(0), 150):
            found += 1
            name = rules.endgames[which][0]
            back = int(index_of(state))
            if back != index:
                seen = f"index {index} of class {name} gives a position of index {back}"
                raise Breach("endgame_index or endgame_position", seen, test.alone(state))
            for action in game.legal_actions(state):
                after = game.result(state, action)
                if game.is_terminal(after) or game.to_move(after) == game.to_move(state):
                    continue
                following = int(index_of(after))
                if following < 0 or class_of(following) > which:
                    seen = f"{game.names[action]} leads from class {name} to a later one or to none"
                    raise Breach("endgames or endgame_index", seen, test.alone(state))
    return f"{found} positions"


@law("endgame_predecessors are the positions of the same class from which one action leads here, each once")
def predecessors_are_complete(test: GameUnderTest) -> str:
    rules, game = test.rules, test.game
    index_of, position_of, predecessors_of = rules.endgame_index, rules.endgame_position, rules.endgame_predecessors
    if predecessors_of is None:
        return "it has none"
    assert index_of is not None and position_of is not None
    ends, found = list(itertools.accumulate(size for _, size in rules.endgames)), 0
    room = np.zeros(rules.max_legal, np.int64)

    def before(state: GameState) -> list[int]:
        kept = state.copy()
        listed = [int(index) for index in room[: predecessors_of(state, room)]]
        if state != kept or len(set(listed)) < len(listed):
            seen = "changes the position" if state != kept else "lists an index twice"
            raise Breach("endgame_predecessors", seen, test.alone(kept))
        return listed

    def after(state: GameState, which: int) -> dict[int, GameState]:
        """Successors in the class that are not finished."""
        following = (game.result(state, action) for action in game.legal_actions(state))
        numbered = {int(index_of(each)): each for each in following if not game.is_terminal(each)}
        first = ends[which] - rules.endgames[which][1]
        return {index: each for index, each in numbered.items() if first <= index < ends[which]}

    with np.errstate(over="ignore"):
        for which, _, index, state in draw_endgames(test, test.rng(2), 20):
            if game.is_terminal(state):
                continue
            found += 1
            for number in itertools.islice(after(state, which), 4):
                following = game.blank()
                position_of(following, number)
                if index not in before(following):
                    seen = f"index {index}, from which an action leads to {number}, is not among its predecessors"
                    raise Breach("endgame_predecessors", seen, test.alone(state))
            for number in before(state)[:4]:
                earlier = game.blank()
                if not position_of(earlier, number) or game.is_terminal(earlier):
                    continue
                if index not in after(earlier, which):
                    seen = f"index {number} is among those of {index}, but no action leads from there"
                    raise Breach("endgame_predecessors", seen, test.alone(state))
    return f"{found} positions"


@law("no counter and no repetition draws an endgame sooner than plies_to_draw promises")
def history_draws_no_sooner(test: GameUnderTest) -> str:
    rules, game, rng, drawn = test.rules, test.game, test.rng(1), 0
    position_of = rules.endgame_position
    if position_of is None:
        return "it has no endgames"
    plies_left = rules.plies_to_draw and compiled(rules.plies_to_draw, label=game.name)
    with np.errstate(over="ignore"):
        for _, draw, _, first in draw_endgames(test, rng, 16):
            states, indices = play_endgame(test, first, rng, tries=8 if draw % 2 else 1)
            last, plies, fresh = states[-1], len(states) - 1, game.blank()
            if not (game.is_terminal(last) and indices[-1] >= 0 and position_of(fresh, indices[-1])):
                continue
            if game.is_terminal(fresh):
                continue  # over because of the position itself, not of its history
            drawn += 1
            if plies_left is None:
                seen = f"is None, but {game.text(last)} was drawn by its history"
                raise Breach("plies_to_draw", seen, test.alone(first))
            for ply in range(plies - 1, -1, -1):
                if len(set(indices[ply:])) < len(indices[ply:]):
                    break  # a position occurs twice from here on
                promised = int(plies_left(states[ply]))
                if plies - ply < promised:
                    seen = f"{promised} for {game.text(states[ply])}, but {plies - ply} plies later it was drawn"
                    raise Breach("plies_to_draw", seen, test.alone(first))
    return f"{drawn} games drawn by their history"


def play_endgame(test: GameUnderTest, start: GameState, rng: Rng, tries: int) -> tuple[list[GameState], list[int]]:
    """A random game from an endgame: its positions and their indices. With several tries it seldom repeats a position."""
    rules, game = test.rules, test.game
    assert rules.endgame_index is not None
    states, indices = [start], [int(rules.endgame_index(start))]
    while not game.is_terminal(states[-1]) and len(states) < 400:
        legal = game.legal_actions(states[-1])
        for _ in range(tries):
            after = game.result(states[-1], legal[int(below(rng, len(legal)))])
            index = int(rules.endgame_index(after))
            if index >= 0 and index not in indices:
                break
        states.append(after)
        indices.append(index)
    return states, indices
