"""Every value of a table against those of its successors: `inconsistencies(tables)` is (positions compared, first wrong or -1).

A second derivation, forward and by recursion through turns, of the values that graph.py derives backward. Decided positions must follow
from their successors, distance included; drawn positions must have no winning move, and one that does not lose. (That a drawn position
has no longer win is guaranteed by retrograde analysis itself.)
"""

from __future__ import annotations

import numpy as np

from base.errors import UserError
from classical.tables.codes import DRAW, NONE, loss_in, plies_of, value_of, win_in
from classical.tables.endgames import spans
from classical.tables.probe import has_endgames
from classical.tables.tables import Tables
from classical.types import Codes, Kernel, Positions
from games import Game, Rules
from games.types import Array, Counts, Integer

LEVELS = 64  # actions of one turn


def checker(rules: Rules) -> Kernel:
    """check(states [LEVELS], actions [LEVELS, max_legal], table, start, stop, counts [1]) -> the first wrong index, or -1.

    The last of `states` stays blank. counts[0] becomes the number of positions compared.
    """
    legal_actions, result, to_move, is_terminal = (
        rules.legal_actions,
        rules.result,
        rules.to_move,
        rules.is_terminal,
    )
    utility, index_of, position_of = rules.utility, rules.endgame_index, rules.endgame_position
    assert index_of is not None and position_of is not None

    def best(states: Positions, actions: Array, table: Codes, level: Integer) -> Integer:
        """The code of states[level], from the table's codes of its successors."""
        mover = to_move(states[level])
        win, loss, is_drawn = np.int64(1 << 30), np.int64(0), False
        for i in range(legal_actions(states[level], actions[level])):
            states[level + 1] = states[level]
            result(states[level + 1], actions[level, i])
            if is_terminal(states[level + 1]):
                value, plies = np.int64(np.rint(utility(states[level + 1], mover))), np.int64(0)
            else:
                is_same = to_move(states[level + 1]) == mover
                index = index_of(states[level + 1])
                code = np.int64(table[index]) if index >= 0 else best(states, actions, table, level + 1)
                value = np.int64(value_of(code)) * (1 if is_same else -1)
                plies = np.int64(plies_of(code))
            if value > 0:
                win = min(win, plies + 1)
            elif value < 0:
                loss = max(loss, plies + 1)
            else:
                is_drawn = True
        if win < 1 << 30:
            return np.int64(win_in(win))
        return np.int64(DRAW) if is_drawn else np.int64(loss_in(loss))

    def check(states: Positions, actions: Array, table: Codes, start: int, stop: int, counts: Counts) -> int:
        for index in range(start, stop):
            states[0] = states[len(states) - 1]
            is_one = position_of(states[0], index) and not is_terminal(states[0])
            counts[0] += int(is_one)
            wanted = best(states, actions, table, np.int64(0)) if is_one else np.int64(NONE)
            if table[index] != wanted:
                return index
        return -1

    return check


def inconsistencies(tables: Tables) -> tuple[int, int]:
    """Of endgame tables: how many positions were compared with their successors, and the index of the first that is wrong, or -1."""
    game = tables.game
    if not has_endgames(game.rules):
        raise UserError(
            f"{game.name}: expected a game with endgame classes to check; a complete table is checked by minimax"
        )
    count = 0
    for name in tables.classes():
        compared, wrong = inconsistent(game, tables.array, name)
        count += compared
        if wrong >= 0:
            return count, wrong
    return count, -1


def inconsistent(game: Game, table: Codes, name: str) -> tuple[int, int]:
    """The same of one class; `table` is `Tables.array`."""
    states, actions = game.blanks(LEVELS), np.zeros((LEVELS, game.rules.max_legal), np.int32)
    counts = np.zeros(1, np.int64)
    wrong = int(game.kernel(checker)(states, actions, table, *spans(game)[name], counts))
    return int(counts[0]), wrong
