"""What do networks learn from the same recorded games? For choosing a network, a batch or a rate without a whole run.

    python -m benchmarks.supervised connect_four runs/first/games --nets resnet:4x48 resnet:5x64 --minutes 5
    python -m benchmarks.supervised othello runs/first/games --nets resnet:4x48 --set learning.batch=128
    python -m benchmarks.supervised checkers runs/alphabeta --nets resnet:4x48      # of a match: the moves that were played

Each network learns for so many minutes of its process, with the settings of a run of the game (`--set` changes them) and the learning
rate of a whole run, on nine tenths of the games; then the running mean of its weights is measured.

| column   | what                                                                                                        |
|----------|--------------------------------------------------------------------------------------------------------------|
| steps    | as many as it took                                                                                            |
| policy   | loss on positions of the games held back: cross-entropy with the search's distribution                        |
| value    | the same, with how the game ended                                                                             |
| top-1    | the share of these positions in which its likeliest action is the search's                                    |
| accuracy | the share of the game's released positions whose value its likeliest action keeps; - where there are none     |
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from arena.choose import state_of
from arena.released_positions import released
from base.errors import Arguments, UserError, run_command
from base.seeds import derive
from benchmarks.tables import count
from games import Game, load
from games.record import GameRecord, finished, read_records
from games.types import GameState
from nets import make_net
from train.config import compose
from train.learner import Learner
from train.supervised import is_held_back, teaching
from train.window import Batch, Window, check

Array = np.ndarray[Any, Any]

HELD_BACK = 0.1
MEASURED = 20_000
"""Positions of games held back, at most."""
PIECE = 20
"""Steps between two looks at the clock."""


def main(argv: Sequence[str]) -> int:
    parser = Arguments(description=__doc__)
    parser.add_argument("game", metavar="GAME")
    parser.add_argument("games", nargs="+", metavar="GAMES", help="records: files or folders")
    parser.add_argument("--nets", nargs="+", default=["resnet:4x48"], metavar="NET")
    parser.add_argument("--newest", type=count, default=1_000_000, metavar="N", help="only the newest games")
    parser.add_argument("--minutes", type=float, default=5.0, metavar="M", help="processor time of each network")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="settings, as of a run")
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="of weights and batches")
    options = parser.parse_args(argv)
    if not 0 < options.minutes < 1e6:
        raise UserError(f"minutes: expected a number above 0, got {options.minutes:g}")
    game = load(options.game)
    config = compose(game, None, [f"seed={options.seed}", *options.set])
    taught, held = windows(game, (each for path in options.games for each in read_records(path, game)), options.newest)
    print(f"{game.name}: {len(taught):,} positions of {taught.games:,} games; measured on {held.games:,} others\n")
    print(f"{'steps':>8}{'policy':>9}{'value':>9}{'top-1':>8}{'accuracy':>10}   network")
    for net in options.nets:
        learner = Learner(game, make_net(net, game, options.seed), config.learning)
        learn(learner, taught, 60 * options.minutes, options.seed)
        policy, value, top = losses(learner, held)
        kept = accuracy(learner, game)
        share = "-" if kept is None else f"{kept:.1%}"
        print(f"{learner.steps:8,}{policy:9.3f}{value:9.3f}{top:8.1%}{share:>10}   {learner.net.text}", flush=True)
    return 0


def windows(game: Game, records: Iterable[GameRecord], newest: int) -> tuple[Window, Window]:
    """The games to learn from, and those held back."""
    parts: tuple[list[GameRecord], list[GameRecord]] = [], []
    for record in list(finished(records))[-newest:]:
        parts[is_held_back(record, HELD_BACK)].append(record if record.searched.any() else teaching(game, record))
    taught, held = (Window.of(game, check(game, each)) for each in parts)
    if not len(taught) or not len(held):
        raise UserError("expected games with searches to learn from, and others to measure on; found too few")
    return taught, held


def learn(learner: Learner, window: Window, seconds: float, seed: int) -> None:
    rng, began = np.random.default_rng(derive(seed, "supervised")), time.process_time()
    while (spent := time.process_time() - began) < seconds:
        learner.learn(window, PIECE, rng, spent / seconds)


def losses(learner: Learner, held: Window) -> tuple[float, float, float]:
    """Of policy and value, and top-1 agreement."""
    plies = held.evenly(MEASURED)
    batch = held.positions(plies[held.has_policy(plies)])
    policies, utilities = learner.guess(batch)
    policy = float(-(batch.policies * np.log(np.maximum(policies, 1e-12))).sum(1).mean())
    shares = np.clip((1 + utilities[:, 0]) / 2, 1e-6, 1 - 1e-6)
    won = (1 + batch.outcomes[:, 0]) / 2
    value = float(-(won * np.log(shares) + (1 - won) * np.log(1 - shares)).mean())
    return policy, value, float((policies.argmax(1) == batch.policies.argmax(1)).mean())


def accuracy(learner: Learner, game: Game) -> float | None:
    """Of the policy alone."""
    sample = released(game)
    if sample is None:
        return None
    states = [state_of(game, each.line) for each in sample.positions]
    views = [policy_entries(game, state) for state in states]
    legal = np.zeros((len(states), game.actions), np.bool_)
    for row, entries, solved in zip(legal, views, sample.positions, strict=True):
        row[entries[list(solved.values)]] = True
    observations = np.stack([game.observe(state) for state in states]).astype(np.float32)
    none = np.zeros((len(states), game.players), np.float32)
    policies, _ = learner.guess(Batch(observations, np.zeros(legal.shape, np.float32), legal, none, none))
    likeliest = [
        max(solved.values, key=row[entries].__getitem__)
        for row, entries, solved in zip(policies, views, sample.positions, strict=True)
    ]
    return float(np.mean([action in solved.keep for action, solved in zip(likeliest, sample.positions, strict=True)]))


def policy_entries(game: Game, state: GameState) -> Array:
    """[A]: the policy's entry of each action, for the mover."""
    views, mover = game.rules.action_view, game.to_move(state)
    return np.arange(game.actions) if views is None or mover is None else np.array(views)[mover]


if __name__ == "__main__":
    run_command(main)
