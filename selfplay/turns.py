"""The moves of a game of self-play, in compiled code: what a searched root gives to play and to record, dice, forced moves,
resignation, the next search.

`turns(rules, variant)` makes two functions for a game. They share their arguments:

    s                  which tree; game s is played there, its position is the root
    games, logs        the games under way (`game_dtype`), and what of them goes into a record (`Logs`)
    trees, actions, settings, table       the search's own (`mcts/search.py`)
    how, weights       the record of the settings of self-play; float64 [max_legal]: scratch

A game is over with FINISHED, and with AT_MAX_PLIES, where it has as many plies as the rules allow. FULL: there is no room for another
policy in the log; the caller makes room and calls again.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from base.seeds import below, uniform
from games import CHANCE, Rules
from games.engine.kernels import sampler
from mcts.leaves import Memory, Views
from mcts.moves import draw, moves
from mcts.phases import Work, uniform_evaluator
from mcts.settings import temperature_at
from mcts.simulation import Network, simulation
from mcts.tree import ROOT, Trees
from mcts.variant import Variant

OPENING, FAST, FULL_SEARCH = 0, 1, 2
"""What the search under way is for."""

SEARCHING, FINISHED, FULL, AT_MAX_PLIES, STOPPED = 0, 1, 2, 3, 4
"""How a function left a game."""

RESIGNS_AFTER = 2
"""A player without hope resigns after so many searches in a row."""

NO_PLAYER = -1


def game_dtype(rules: Rules) -> np.dtype[Any]:
    fields = [
        ("rng", np.uint64, 1),  # of all that the search does not draw itself
        ("opening", np.int32),  # plies left to be drawn from the raw policy
        ("plays_out", np.int8),  # 1: resignations are noted, but not carried out
        ("kind", np.int8),  # of the search under way
        ("hopeless", np.int32, rules.players),  # searches in a row in which the player had no hope
        ("gave_up", np.int32),  # the first player who resigned, carried out or not
        ("gave_up_ply", np.int32),
        ("resigned", np.int32),  # the player whose resignation ended the game
        ("plies", np.int32),
        ("entries", np.int32),  # of all its policies together
        ("simulations", np.int64),  # of searches that have ended
    ]
    return np.dtype((np.record, np.dtype(fields, align=True)))


class Logs(NamedTuple):
    """Of G games: what a `GameRecord` holds. n: the longest game."""

    moves: Any
    """int32 [G, n]"""
    searched: Any
    """uint8 [G, n]"""
    utilities: Any
    """float32 [G, n, P]"""
    counts: Any
    """int32 [G, n]: entries of the policy of each ply"""
    actions: Any
    """int32 [G, k]"""
    probabilities: Any
    """float32 [G, k]"""
    visits: Any
    """int64 [G, k]"""


class Turns(NamedTuple):
    beginning: Callable[..., int]
    turn: Callable[..., int]


def turns(rules: Rules, variant: Variant) -> Turns:
    target, sample, start, advance = moves(rules, variant)
    is_terminal, to_move, legal_actions, players = rules.is_terminal, rules.to_move, rules.legal_actions, rules.players
    roll = sampler(rules)

    def beginning(s: int, games: Any, logs: Logs, trees: Trees, actions: Any, how: Any) -> int:
        """Game s, of which only `rng` is set, from the position at the root of its tree; then as `following`."""
        game = games[s]
        game.opening = 1 + below(game.rng, how.opening_plies) if uniform(game.rng) < how.openings else 0
        game.plays_out = 1 if uniform(game.rng) < how.played_out else 0
        game.hopeless[:] = 0
        game.gave_up = game.resigned = NO_PLAYER
        game.gave_up_ply = game.plies = game.entries = game.simulations = 0
        return following(s, games, logs, trees, actions, how)

    def following(s: int, games: Any, logs: Logs, trees: Trees, actions: Any, how: Any) -> int:
        """Rolls for chance, plays the only legal action where there is no other, then starts the search of the next decision."""
        game, slot, state = games[s], trees.slots[s], trees.roots[s]
        while not is_terminal(state):
            if game.plies == logs.moves.shape[1]:
                return AT_MAX_PLIES
            is_chance = to_move(state) == CHANCE
            if not is_chance and legal_actions(state, actions) > 1:
                if game.opening > 0:
                    game.kind = OPENING
                    start(slot, 1, False)
                elif uniform(game.rng) < how.full:
                    game.kind = FULL_SEARCH
                    start(slot, how.simulations, True)
                else:
                    game.kind = FAST
                    start(slot, how.fast_simulations, False)
                return SEARCHING
            note_nothing(s, game, logs)
            play(s, games, logs, trees, roll(state, actions, game.rng) if is_chance else actions[0])
        return FINISHED

    def play(s: int, games: Any, logs: Logs, trees: Trees, action: int) -> None:
        logs.moves[s, games[s].plies] = action
        games[s].plies += 1
        advance(trees.slots[s], trees.nodes[s], trees.edges[s], trees.roots[s], action, trees.marks)

    def note_nothing(s: int, game: Any, logs: Logs) -> None:
        """For a ply without a search."""
        logs.searched[s, game.plies] = logs.counts[s, game.plies] = 0
        for player in range(players):
            logs.utilities[s, game.plies, player] = np.nan

    def note_search(s: int, game: Any, logs: Logs, root: Any, edges: Any, weights: Any) -> None:
        """Policy and utilities of a searched root; the policy's entries in the order of their actions."""
        first = game.entries
        for i in range(root.count):
            edge, at = edges[root.edges + i], first + i
            while at > first and logs.actions[s, at - 1] > edge.action:
                logs.actions[s, at] = logs.actions[s, at - 1]
                logs.probabilities[s, at] = logs.probabilities[s, at - 1]
                logs.visits[s, at] = logs.visits[s, at - 1]
                at -= 1
            logs.actions[s, at], logs.probabilities[s, at], logs.visits[s, at] = edge.action, weights[i], edge.visits
        game.entries += root.count
        logs.counts[s, game.plies] = root.count
        logs.searched[s, game.plies] = 1 if game.kind == FULL_SEARCH else 0
        for player in range(players):
            logs.utilities[s, game.plies, player] = utility_of(root, player)

    def turn(
        s: int, games: Any, logs: Logs, trees: Trees, actions: Any, settings: Any, table: Any, how: Any, weights: Any
    ) -> int:
        """The search of game s has ended: plays what it found, then as `following`."""
        game, slot, nodes, edges = games[s], trees.slots[s], trees.nodes[s], trees.edges[s]
        root = nodes[ROOT]
        if game.entries + root.count > logs.actions.shape[1]:
            return FULL
        game.simulations += slot.simulations
        if game.kind == OPENING:
            game.opening -= 1
            for i in range(root.count):
                weights[i] = float(edges[root.edges + i].prior)
            action = edges[draw(root, edges, weights, how.opening_temperature, game.rng)].action
            note_nothing(s, game, logs)
        else:
            if resigns(game, root.mover, utility_of(root, root.mover), how):
                game.resigned = root.mover
                return FINISHED
            target(slot, nodes, edges, settings, table, weights)
            note_search(s, game, logs, root, edges, weights)
            action = edges[sample(slot, nodes, edges, settings, weights, temperature_at(settings, game.plies))].action
        play(s, games, logs, trees, action)
        return following(s, games, logs, trees, actions, how)

    return Turns(beginning, turn)


def utility_of(root: Any, player: int) -> float:
    """A searched root's, for one player."""
    return float(root.utility[player]) if root.proven else float(root.sums[player] / max(root.visits, 1))


def resigns(game: Any, mover: int, hope: float, how: Any) -> bool:
    """Whether the mover gives up; where the game is played out all the same, the resignation is noted."""
    game.hopeless[mover] = game.hopeless[mover] + 1 if hope < -how.resign else 0
    if game.hopeless[mover] < RESIGNS_AFTER or game.gave_up != NO_PLAYER:
        return False
    game.gave_up, game.gave_up_ply = mover, game.plies
    return bool(game.plays_out == 0)


# ── the kernels ──


@cache
def beginning_factory(variant: Variant) -> Callable[[Rules], Callable[..., int]]:
    return lambda rules: turns(rules, variant).beginning


@cache
def turn_factory(variant: Variant) -> Callable[[Rules], Callable[..., int]]:
    return lambda rules: turns(rules, variant).turn


@cache
def play_factory(variant: Variant, has_network: bool) -> Callable[[Rules], Callable[..., int]]:
    """A whole game; leaves by a compiled network, or without estimates."""

    def play(rules: Rules) -> Callable[..., int]:
        turn, simulate = turns(rules, variant).turn, simulation(rules, variant, uniform_evaluator, has_network)

        def play(
            games: Any,
            logs: Logs,
            trees: Trees,
            work: Work,
            memory: Memory,
            views: Views,
            settings: Any,
            table: Any,
            eval_weights: Any,
            network: Network,
            how: Any,
            weights: Any,
            stop: Any,
        ) -> int:
            """Game 0, from the search under way."""
            slot, status = trees.slots[0], SEARCHING
            while status == SEARCHING:
                while slot.simulations < slot.target:
                    if settings.solve and slot.nodes > 0 and trees.nodes[0, ROOT].proven:
                        break
                    if stop[0]:
                        return STOPPED
                    simulate(0, trees, work, memory, views, settings, table, eval_weights, network)
                status = turn(0, games, logs, trees, work.actions, settings, table, how, weights)
            return status

        return play

    return play
