"""Is self-play healthy? Metrics of an iteration's games for the diagnostics (monitor/checks.py).

    values |= health(game, records, movers)

| tag                         | meaning                                                                       |
|-----------------------------|-------------------------------------------------------------------------------|
| selfplay/same start         | share of games that begin with the commonest first moves, forced ones ignored |
| selfplay/target exponent    | e where the policy targets are visits^e: 1, unless something changed them     |
| selfplay/search correlation | of what searches expected with how the games ended; below 0: a sign is wrong  |

What is unknown is NaN, which no chart shows. How good the network is on these games is measured in monitor/quality.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from games import Game
from games.record import GameRecord
from monitor.quality import ENOUGH, Array, correlation

CHOICES = 2
"""The first so many moves of a game where there was a choice: games are expected to differ in them."""


def health(game: Game, records: Sequence[GameRecord], movers: Sequence[Array]) -> dict[str, float]:
    """Of the games of an iteration; `movers`: of each game, who moves at each ply."""
    expected, ended = _expectations(records, movers)
    return {
        "selfplay/same start": same_start(game, records),
        "selfplay/target exponent": target_exponent(records),
        "selfplay/search correlation": correlation(expected, ended),
    }


def same_start(game: Game, records: Sequence[GameRecord], choices: int = CHOICES) -> float:
    """By following the commonest move from the initial position. Games that start elsewhere are ignored."""
    here = [record for record in records if record.start is None]
    if len(here) < 2:
        return float("nan")
    total, state, ply, made = len(here), game.initial(), 0, 0
    while made < choices and not game.is_terminal(state):
        moves = Counter(int(record.moves[ply]) for record in here if len(record) > ply)
        if not moves:
            break
        made += len(game.legal_actions(state)) > 1
        move, _ = moves.most_common(1)[0]
        here = [record for record in here if len(record) > ply and record.moves[ply] == move]
        state, ply = game.result(state, move), ply + 1
    return len(here) / total


def target_exponent(records: Sequence[GameRecord]) -> float:
    """From the two likeliest moves of each search: log(p/p') / log(v/v'), the lower quartile over positions.

    Taking out the visits that were forced makes some of these ratios larger than 1, but leaves far more than a quarter at exactly 1.
    """
    found = []
    for record in records:
        for _, shares, visits, utilities in _searches(record):
            if len(shares) < 2 or np.any(np.abs(utilities) >= 1 - 1e-6) or not utilities.any():
                continue  # proven, as far as that can be seen: then the target is among the best moves alone
            second, first = np.argsort(shares, kind="stable")[-2:]
            if shares[second] > 0 and visits[second] >= 3 and visits[first] != visits[second] and visits[first] >= 1:
                found.append(np.log(shares[first] / shares[second]) / np.log(visits[first] / visits[second]))
    return float(np.quantile(found, 0.25)) if len(found) >= ENOUGH else float("nan")


# ── inside ──


def _searches(record: GameRecord) -> Iterator[tuple[int, Array, Array, Array]]:
    """(ply, probabilities, visits, utilities) of each full search."""
    starts = np.concatenate([[0], np.cumsum(record.policy_counts)])
    for ply in np.flatnonzero(record.searched).tolist():
        here = slice(starts[ply], starts[ply + 1])
        yield ply, record.probabilities[here].astype(np.float64), record.visits[here], record.utilities[ply]


def _expectations(records: Sequence[GameRecord], movers: Sequence[Array]) -> tuple[Array, Array]:
    """What full searches expected for their movers, and how the game ended; searches that ended in a proof are left out."""
    expected: list[Any] = []
    ended: list[Any] = []
    for record, seats in zip(records, movers, strict=True):
        if record.outcome is None:
            continue
        for ply, _, _, utilities in _searches(record):
            if np.all(np.abs(utilities) < 1 - 1e-6) and utilities.any():
                expected.append(utilities[seats[ply]])
                ended.append(record.outcome[seats[ply]])
    return np.array(expected), np.array(ended)
