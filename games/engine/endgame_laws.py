"""The laws of endgame classes (see `laws.py`): how positions are numbered, and when the past draws."""

from __future__ import annotations

import itertools

import numpy as np

from base.compiler import compiled
from base.seeds import below
from games.engine.patient import Patient, Played, Position, Verdict, name_of
from games.types import GameState, Rng


def endgames_are_numbered(patient: Patient) -> Verdict:
    """endgame_position and endgame_index are inverse, and play leads from a class to itself or an earlier one"""
    law = name_of(endgames_are_numbered)
    rules, game = patient.rules, patient.game
    index_of, position_of = rules.endgame_index, rules.endgame_position
    if index_of is None or position_of is None:
        return None, "it has none"
    ends = list(itertools.accumulate(size for _, size in rules.endgames))
    rng, found = patient.rng(0), 0

    def class_of(index: int) -> int:
        return next(number for number, end in enumerate(ends) if index < end)

    with np.errstate(over="ignore"):
        for which, end in enumerate(ends):
            first = ends[which - 1] if which else 0
            for _ in range(150):
                index = first + int(below(rng, end - first))
                state = game.blank()
                if not position_of(state, index):
                    continue
                found += 1
                record = game.blanks(1)
                record[0] = state
                position = Position(Played(0, record, np.zeros(0, np.int32), np.zeros((0, 0), np.uint64)), 0)
                back = int(index_of(state))
                if back != index:
                    seen = f"index {index} of class {rules.endgames[which][0]} gives a position of index {back}"
                    return patient.finding(law, "endgame_index or endgame_position", seen, position), ""
                for action in game.legal_actions(state):
                    after = game.result(state, action)
                    if game.is_terminal(after) or game.to_move(after) == game.to_move(state):
                        continue
                    following = int(index_of(after))
                    if following < 0 or class_of(following) > which:
                        seen = f"{game.names[action]} leads from class {rules.endgames[which][0]} to no earlier one"
                        return patient.finding(law, "endgames or endgame_index", seen, position), ""
    return None, f"{found} positions"


def the_past_draws_in_time(patient: Patient) -> Verdict:
    """no counter and no repetition draws an endgame sooner than plies_to_draw says"""
    law = name_of(the_past_draws_in_time)
    rules, game, rng, drawn = patient.rules, patient.game, patient.rng(1), 0
    index_of, position_of = rules.endgame_index, rules.endgame_position
    if index_of is None or position_of is None:
        return None, "it has no endgames"
    plies_left = rules.plies_to_draw and compiled(rules.plies_to_draw, label=game.name)
    starts = [0, *itertools.accumulate(size for _, size in rules.endgames)]
    with np.errstate(over="ignore"):
        for start, end in itertools.pairwise(starts):
            for attempt in range(16):
                first, fresh = game.blank(), game.blank()
                if not position_of(first, start + int(below(rng, end - start))):
                    continue
                played, indices = wandering(patient, first, rng, tries=8 if attempt % 2 else 1)
                last, plies = played[-1], len(played) - 1
                if not (game.is_terminal(last) and indices[-1] >= 0 and position_of(fresh, indices[-1])):
                    continue
                if game.is_terminal(fresh):
                    continue  # over for what it is, not for its past
                drawn += 1
                record = game.scratch(first, 1)
                position = Position(Played(0, record, np.zeros(0, np.int32), np.zeros((0, 0), np.uint64)), 0)
                if plies_left is None:
                    seen = f"is None, but {game.text(last)} was drawn by its past"
                    return patient.finding(law, "plies_to_draw", seen, position), ""
                for ply in range(plies - 1, -1, -1):
                    if len(set(indices[ply:])) < len(indices[ply:]):
                        break  # from here on a position came twice
                    promised = int(plies_left(played[ply]))
                    if plies - ply < promised:
                        seen = f"{promised} for {game.text(played[ply])}, but {plies - ply} plies later it was drawn"
                        return patient.finding(law, "plies_to_draw", seen, position), ""
    return None, f"{drawn} games that the past drew"


def wandering(patient: Patient, start: GameState, rng: Rng, tries: int) -> tuple[list[GameState], list[int]]:
    """A random game from an endgame: its positions and their indices. With several tries it seldom comes where it has been."""
    rules, game = patient.rules, patient.game
    assert rules.endgame_index is not None
    played, indices = [start], [int(rules.endgame_index(start))]
    while not game.is_terminal(played[-1]) and len(played) < 400:
        legal = game.legal_actions(played[-1])
        for _ in range(tries):
            after = game.result(played[-1], legal[int(below(rng, len(legal)))])
            index = int(rules.endgame_index(after))
            if index >= 0 and index not in indices:
                break
        played.append(after)
        indices.append(index)
    return played, indices
