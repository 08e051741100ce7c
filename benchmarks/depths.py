"""The value of one more ply in Elo: the table `depths` of `benchmarks.search`.

Alpha-beta to depth n plays a match of --pairs pairs of games against alpha-beta to depth n-1 (`arena.match`): random openings
from --seed, each played from both sides. There are no time limits, so a busy machine only takes longer. Elo with its 95 % interval;
the sum is relative to depth 1. Both players are deterministic, so only distinct games count.
"""

from __future__ import annotations

from collections.abc import Iterator

from arena.match import Match
from arena.tally import Estimate
from benchmarks.tables import Column, Options, Row, Table
from games import Game

DEEPEST = 8
PLAYER = "alphabeta:depth={depth},tt_mb=8"


def rows(game: Game, options: Options) -> Iterator[Row]:
    total: float | None = 0.0
    for depth in range(2, (options.depth or DEEPEST) + 1):
        a, b = (PLAYER.format(depth=each) for each in (depth, depth - 1))
        match = Match(game, a, b, seed=options.seed)
        tally = match.play(blocks=options.pairs, workers=options.workers)
        if match.is_interrupted:
            raise KeyboardInterrupt
        elo = tally.elo()
        total = None if total is None or elo.value is None else total + elo.value
        wins, draws, losses = tally.results.sum(axis=0).tolist()
        yield {
            "depths": f"{depth} / {depth - 1}",
            "games": tally.games,
            "distinct": tally.distinct_games,
            "won": wins,
            "drawn": draws,
            "lost": losses,
            "score": tally.score(),
            "Elo": elo,
            "sum": total,
        }


def percent(score: Estimate) -> str:
    return "-" if score.value is None else f"{score.value:.1%}"


def interval(elo: Estimate) -> str:
    low, high = (("-∞", "+∞")[i] if end is None else f"{end:+.0f}" for i, end in enumerate((elo.low, elo.high)))
    sweep = "+∞" if elo.low is not None else "-∞"
    return f"{sweep if elo.value is None else format(elo.value, '+.0f')} [{low}, {high}]"


def signed(value: float) -> str:
    return f"{value:+.0f}"


TABLE = Table(
    about="Elo of alpha-beta to depth n against depth n-1",
    games=("connect_four", "othello", "checkers", "chess"),
    columns={
        "depths": Column(8),
        "games": Column(7),
        "distinct": Column(10),
        "won": Column(6),
        "drawn": Column(7),
        "lost": Column(6),
        "score": Column(8, percent),
        "Elo": Column(22, interval),
        "sum": Column(7, signed),
    },
    rows=rows,
    takes=lambda game: (
        not game.hides_information and game.players == 2 and game.rules.zero_sum and game.rules.chance is None
    ),
    on_one_core=False,
)
