"""Mate in so many moves by brute force: every move of the attacker's, every answer, and nothing else. What searches are held to.

kernel = game.kernel(mate_solver)
kernel(states [2·moves + 1], actions [2·moves + 1, max_legal], np.int64(0), np.int64(moves)) -> can the mover of states[0] force it?
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from games import Game, Rules


def mate_solver(rules: Rules) -> Callable[..., Any]:
    legal_actions, result, is_terminal = rules.legal_actions, rules.result, rules.is_terminal
    to_move, utility = rules.to_move, rules.utility

    def mates(states: Any, actions: Any, ply: Any, moves: Any) -> Any:
        attacker = to_move(states[ply])
        for i in range(legal_actions(states[ply], actions[ply])):
            states[ply + 1] = states[ply]
            result(states[ply + 1], actions[ply, i])
            if is_terminal(states[ply + 1]):
                if utility(states[ply + 1], attacker) == 1.0:
                    return True
                continue
            if moves == 1:
                continue
            holds = False
            for j in range(legal_actions(states[ply + 1], actions[ply + 1])):
                states[ply + 2] = states[ply + 1]
                result(states[ply + 2], actions[ply + 1, j])
                if is_terminal(states[ply + 2]) or not mates(states, actions, ply + 2, moves - 1):
                    holds = True
                    break
            if not holds:
                return True
        return False

    return mates


def can_mate(game: Game, state: Any, moves: int) -> bool:
    levels = 2 * moves + 1
    actions = np.zeros((levels, game.rules.max_legal), np.int32)
    return bool(game.kernel(mate_solver)(game.scratch(state, levels), actions, np.int64(0), np.int64(moves)))


def keys(game: Game, state: Any, moves: int) -> list[str]:
    """The first moves that mate in so many."""
    found = []
    for action in game.legal_actions(state):
        after = game.result(state, action)
        if game.is_terminal(after):
            works = game.utility(after)[game.to_move(state) or 0] == 1.0
        else:
            replies = [game.result(after, reply) for reply in game.legal_actions(after)]
            works = moves > 1 and all(
                not game.is_terminal(reply) and can_mate(game, reply, moves - 1) for reply in replies
            )
        if works:
            found.append(game.names[action])
    return found
