"""What rules are used for without a search: perft, random games, replay of moves. Closures that compile per game.

Each factory takes from the rules, in its first line, what its kernel uses. The plain function that it returns runs interpreted;
`Game.kernel(factory)` is the same function as machine code. Kernels take scratch space from their caller: `states` are records,
the first one the position to start from.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from base.bits import U
from base.seeds import below, mix, uniform
from games.engine.rules import CHANCE, Rules
from games.types import Actions, Array, Bits, Counts, Features, GameState, GameStates, Planes, Rng, Utilities, Words


def perft(rules: Rules) -> Callable[..., int]:
    """Number of action sequences of a given length: perft(states [depth+1], actions [depth+1, max_legal], depth)."""
    legal_actions, result = rules.legal_actions, rules.result

    # Entered with np.int64, since a literal 0 is of another type in compiled code.
    def count(states: GameStates, actions: Actions, level: np.int64, depth: np.int64) -> int:
        n = legal_actions(states[level], actions[level])
        if depth == 1:
            return n
        total = 0
        for i in range(n):
            states[level + 1] = states[level]
            result(states[level + 1], actions[level, i])
            total += count(states, actions, level + 1, depth - 1)
        return total

    def perft(states: GameStates, actions: Actions, depth: int) -> int:
        return count(states, actions, np.int64(0), np.int64(depth)) if depth > 0 else 1

    return perft


def perft_turns(rules: Rules) -> Callable[..., int]:
    """The same by whole turns, a turn being a longest run of actions by one player; a turn that ends the game is whole.

    Scratch: states [levels], actions [levels, max_legal] for the longest sequence of actions; levels too few give -1.
    """
    legal_actions, result, to_move = rules.legal_actions, rules.result, rules.to_move

    def count(states: GameStates, actions: Actions, level: np.int64, turns: np.int64) -> int:
        if level + 1 == len(states):
            return -1
        total = 0
        mover = to_move(states[level])
        n = legal_actions(states[level], actions[level])
        for i in range(n):
            states[level + 1] = states[level]
            result(states[level + 1], actions[level, i])
            is_over = legal_actions(states[level + 1], actions[level + 1]) == 0
            is_whole = is_over or to_move(states[level + 1]) != mover
            left = turns - 1 if is_whole else turns
            if left == 0:
                total += 1
            elif not is_over:
                below = count(states, actions, level + 1, left)
                if below < 0:
                    return below
                total += below
        return total

    def perft_turns(states: GameStates, actions: Actions, turns: int) -> int:
        return count(states, actions, np.int64(0), np.int64(turns)) if turns > 0 else 1

    return perft_turns


def sampler(rules: Rules) -> Callable[[GameState, Actions, Rng], int]:
    """A helper for kernels: one action at random, uniform where a player moves, by its probability where chance does."""
    legal_actions, random_action, to_move, chance = (
        rules.legal_actions,
        rules.random_action,
        rules.to_move,
        rules.chance,
    )
    if chance is None:
        return random_action
    probability = chance

    def sample(state: GameState, actions: Actions, rng: Rng) -> int:
        if to_move(state) != CHANCE:
            return random_action(state, actions, rng)
        n = legal_actions(state, actions)
        left = uniform(rng)
        for i in range(n - 1):
            left -= probability(state, actions[i])
            if left < 0.0:
                return int(actions[i])
        return int(actions[n - 1])

    return sample


def playouts(rules: Rules) -> Callable[..., int]:
    """Random games from states[0]: playouts(states [2], actions [max_legal], rng, count, totals [players]) -> plies.

    Adds every game's utilities to `totals`. Each is stopped after max_plies.
    """
    result, is_terminal, utility, players, sample = (
        rules.result,
        rules.is_terminal,
        rules.utility,
        rules.players,
        sampler(rules),
    )
    most = rules.max_plies

    def playouts(states: GameStates, actions: Actions, rng: Rng, count: int, totals: Utilities) -> int:
        plies = 0
        for _ in range(count):
            states[1] = states[0]
            last = plies + most
            while plies < last and not is_terminal(states[1]):
                result(states[1], sample(states[1], actions, rng))
                plies += 1
            for player in range(players):
                totals[player] += utility(states[1], player)
        return plies

    return playouts


def trace(rules: Rules) -> Callable[..., int]:
    """Replays `moves` from states[0] and lists the legal actions and the mover at each ply.

    trace(states [2], moves [k], legal [k+1, max_legal], counts [k+1], movers [k+1], utilities [players]) -> plies played.
    Fewer than k: the move at that ply is illegal. Otherwise counts[k] = 0 means that the game is over, with `utilities`.
    states[1] ends as the last position.
    """
    legal_actions, result, is_terminal, to_move, utility = (
        rules.legal_actions,
        rules.result,
        rules.is_terminal,
        rules.to_move,
        rules.utility,
    )
    players = rules.players

    def trace(
        states: GameStates, moves: Actions, legal: Actions, counts: Counts, movers: Counts, utilities: Utilities
    ) -> int:
        states[1] = states[0]
        for ply in range(len(moves) + 1):
            if is_terminal(states[1]):
                counts[ply] = 0
                for player in range(players):
                    utilities[player] = utility(states[1], player)
                return ply
            counts[ply] = legal_actions(states[1], legal[ply])
            movers[ply] = to_move(states[1])
            if ply == len(moves):
                break
            is_legal = False
            for i in range(counts[ply]):
                is_legal |= legal[ply, i] == moves[ply]
            if not is_legal:
                return ply
            result(states[1], moves[ply])
        return len(moves)

    return trace


ANSWERS = (
    "to_move",
    "legal_actions",
    "is_terminal",
    "utility",
    "chance",
    "key",
    "observe",
    "features",
    "gain",
    "tactical_actions",
    "ownership",
    "score",
)
TO_MOVE, LEGAL, TERMINAL, UTILITY, ODDS, KEY, OBSERVE, FEATURES, GAIN, TACTICAL, OWNERSHIP, SCORE = range(len(ANSWERS))


def recording_buffers(rules: Rules) -> tuple[Actions, Planes, Planes, Features]:
    """What `recorded_game` writes answers into."""
    return (
        np.zeros(rules.max_legal, np.int32),
        np.zeros(rules.observation, np.float32),
        np.zeros((rules.players, *rules.observation[1:]), np.float32),
        np.zeros(max(1, len(rules.feature_names)), np.float32),
    )


def recorded_game(rules: Rules) -> Callable[..., int]:
    """One random game in which every function is called at every ply, so that the doctor can compare the answers.

    recorded_game(states [most+2], moves [most], digests [most+1, len(ANSWERS)], rng, recording_buffers, most) -> plies.
    `states` keeps all positions (and needs one more), `digests` a hash of each function's answers, in the order of ANSWERS. Stops
    after `most` plies, and where an unfinished position has no legal action or too many.
    """
    legal_actions, result, is_terminal, to_move, utility, key, observe, tactical_actions = (
        rules.legal_actions,
        rules.result,
        rules.is_terminal,
        rules.to_move,
        rules.utility,
        rules.key,
        rules.observe,
        rules.tactical_actions,
    )
    features = rules.features or (lambda state, player, values: None)
    gain = rules.gain or (lambda state, action: 0.0)
    chance = rules.chance or (lambda state, action: 0.0)
    ownership = rules.ownership or (lambda state, player, planes: None)
    score = rules.score or (lambda state, player: 0.0)
    sample, players, max_legal = sampler(rules), rules.players, rules.max_legal

    def number(value: float | np.float32) -> Bits:
        return U(np.int64(np.floor(value * 1048576.0)))

    def fold(word: Bits, value: Any) -> Bits:
        return mix(word ^ mix(U(value)))

    def recorded_game(
        states: GameStates,
        moves: Actions,
        digests: Words,
        rng: Rng,
        buffers: tuple[Actions, Planes, Planes, Features],
        most: int,
    ) -> int:
        actions, planes, shares, values = buffers
        for ply in range(most + 1):
            states[most + 1] = states[ply]  # a copy, in case that a function changes it
            state = states[most + 1]
            digest = digests[ply]
            digest[:] = U(0)
            over = is_terminal(state)
            digest[TERMINAL] = U(1) if over else U(2)
            digest[KEY] = U(key(state))
            for player in range(players):
                planes[:, :, :] = 0
                observe(state, player, planes)
                for entry in planes.flat:
                    digest[OBSERVE] = fold(digest[OBSERVE], number(entry))
                values[:] = 0
                features(state, player, values)
                for entry in values:
                    digest[FEATURES] = fold(digest[FEATURES], number(entry))
            if over:
                for player in range(players):
                    digest[UTILITY] = fold(digest[UTILITY], number(utility(state, player)))
                    digest[SCORE] = fold(digest[SCORE], number(score(state, player)))
                    shares[:, :, :] = 0
                    ownership(state, player, shares)
                    for entry in shares.flat:
                        digest[OWNERSHIP] = fold(digest[OWNERSHIP], number(entry))
                return ply
            digest[TO_MOVE] = U(to_move(state) + 2)
            n = legal_actions(state, actions)
            for i in range(n):
                digest[LEGAL] = fold(digest[LEGAL], actions[i])
                digest[GAIN] = fold(digest[GAIN], number(gain(state, actions[i])))
                if to_move(state) == CHANCE:
                    digest[ODDS] = fold(digest[ODDS], number(chance(state, actions[i])))
            for i in range(tactical_actions(state, actions)):
                digest[TACTICAL] = fold(digest[TACTICAL], actions[i])
            if n <= 0 or n > max_legal or ply == most:
                return ply
            states[most + 1] = states[ply]
            moves[ply] = sample(state, actions, rng)
            states[ply + 1] = states[ply]
            result(states[ply + 1], moves[ply])
        return most

    return recorded_game


FIRST, LAST, NO_END = range(3)
"""Players that do not play at random: the first legal action, the last, or one that does not end the game."""


def one_sided_game(rules: Rules) -> Callable[..., int]:
    """A game in which all play in one of these ways; chance rolls.

    one_sided_game(states [most+2], moves [most], rng, actions, way, most) -> plies. `states` keeps all positions (and needs one more).
    """
    legal_actions, result, is_terminal, to_move = rules.legal_actions, rules.result, rules.is_terminal, rules.to_move
    sample = sampler(rules)

    def one_sided_game(states: GameStates, moves: Actions, rng: Rng, actions: Actions, way: int, most: int) -> int:
        for ply in range(most):
            if is_terminal(states[ply]):
                return ply
            if to_move(states[ply]) == CHANCE:
                move = int(sample(states[ply], actions, rng))
            else:
                n = legal_actions(states[ply], actions)
                move = int(actions[n - 1] if way == LAST else actions[0])
                first = below(rng, n) if way == NO_END else n
                for i in range(first, first + n if way == NO_END else n):
                    states[most + 1] = states[ply]
                    result(states[most + 1], actions[i % n])
                    if not is_terminal(states[most + 1]):
                        move = int(actions[i % n])
                        break
            states[ply + 1] = states[ply]
            result(states[ply + 1], move)
            moves[ply] = move
        return most

    return one_sided_game


def finals(rules: Rules) -> Callable[..., None]:
    """What finished games are scored by: finals(states [n], shares [n, viewers, players, rows, columns], scores [n, players])."""
    ownership = rules.ownership or (lambda state, player, planes: None)
    score = rules.score or (lambda state, player: 0.0)
    players = rules.players

    def finals(states: GameStates, shares: Array, scores: Array) -> None:
        for i in range(len(states)):
            for player in range(players):
                ownership(states[i], player, shares[i, player])
                scores[i, player] = score(states[i], player)

    return finals


def draws(rules: Rules) -> Callable[..., None]:
    """Counts what random_action gives: draws(states [1], actions [max_legal], rng, n, times [actions])."""
    random_action = rules.random_action

    def draws(states: GameStates, actions: Actions, rng: Rng, n: int, times: Counts) -> None:
        for _ in range(n):
            times[random_action(states[0], actions, rng)] += 1

    return draws
