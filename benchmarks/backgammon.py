"""How much equity do players of backgammon give away, by the estimates of GNU Backgammon (Debian's package gnubg)?

    python -m benchmarks.backgammon random expectiminimax:depth=1 uct:sims=1000 --games 20
    python -m benchmarks.backgammon net:backgammon/best,sims=0 net:backgammon/best,sims=100 --games 20 --plies 2

The positions are those of games of `gnubg:plies=N` against itself, both sides, wherever a turn can end in different positions. Each
player plays the turn to its end. What it loses is the best equity of all these ends less that of its own, in points of a money game
without a cube, as gnubg estimates them. Every player gets the same positions, and every position is a new game for it.

| column | what                                                                              |
|--------|-----------------------------------------------------------------------------------|
| lost   | a turn, the mean, with the 95 % interval, clustered by game                       |
| best   | the share of turns in which it loses nothing                                      |
| 0.1    | the share of turns in which it loses a tenth of a point or more                   |
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from arena.engines.gnubg import GnuBackgammon
from arena.openings import random_action
from arena.players import make_player
from base.errors import Arguments, run_command
from base.local_workers import cores, run_jobs
from base.seeds import derive, generator
from benchmarks.tables import count
from games import CHANCE, Game, load

BLUNDER = 0.1  # points
Z = 1.959964  # of 95 %


def main(argv: Sequence[str]) -> int:
    parser = Arguments(description=__doc__)
    parser.add_argument("players", nargs="+", metavar="PLAYER")
    parser.add_argument("--game", default="backgammon", metavar="GAME", help="backgammon, from one of its starts")
    parser.add_argument("--games", type=count, default=20, metavar="N", help="from which the positions are")
    parser.add_argument("--plies", type=int, choices=range(4), default=0, help="of gnubg's estimates")
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="of the dice and the players")
    parser.add_argument("--workers", type=int, default=cores(), metavar="N", help="processes; 0: this one")
    parser.add_argument("--json", action="store_true", help="one JSON array")
    options = parser.parse_args(argv)
    game = load(options.game)
    GnuBackgammon(game, options.plies).prepare()  # refused before anything is played
    texts = [make_player(text, game).text for text in options.players]
    play = functools.partial(losses, game.spec, texts, options.plies, options.seed)
    found: dict[int, list[list[float]]] = {}
    for number, lost in run_jobs(play, list(range(options.games)), options.workers):
        found[number] = lost
    games = [np.array(found[number]) for number in sorted(found)]
    rows = [row(text, [each[i] for each in games]) for i, text in enumerate(texts)]
    if options.json:
        print(json.dumps(rows))
        return 0
    print(f"{game.name}: {rows[0]['turns']:,} turns of {len(games)} games, judged by gnubg:plies={options.plies}\n")
    print(f"{'lost a turn':>12}{'95 %':>20}{'best':>9}{'0.1':>9}   player")
    for each in rows:
        interval = f"[{each['low']:.4f}, {each['high']:.4f}]"
        print(f"{each['lost']:12.4f}{interval:>20}{each['best']:9.1%}{each['blunders']:9.1%}   {each['player']}")
    return 0


def row(player: str, games: Sequence[np.ndarray[Any, Any]]) -> dict[str, Any]:
    """Of one player, from what it lost in each turn of each game."""
    lost = np.concatenate(games)
    mean = float(lost.mean())
    error = math.sqrt(sum(float((each - mean).sum()) ** 2 for each in games)) / len(lost)
    return {
        "player": player,
        "turns": len(lost),
        "lost": mean,
        "low": mean - Z * error,
        "high": mean + Z * error,
        "best": float((lost == 0).mean()),
        "blunders": float((lost >= BLUNDER).mean()),
    }


def losses(spec: str, texts: Sequence[str], plies: int, seed: int, number: int) -> list[list[float]]:
    """What each player loses in each turn of one game."""
    game = load(spec)
    judge = GnuBackgammon(game, plies)
    players = [make_player(text, game) for text in texts]
    dice = generator(seed, "dice", number)
    found: list[list[float]] = [[] for _ in texts]
    state, turn = game.initial(), 0
    while not game.is_terminal(state):
        if game.to_move(state) == CHANCE:
            state = game.result(state, random_action(game, state, dice))
            continue
        ends = judge.judged(state)
        if len(ends) > 1:
            equity = {game.text(end.state): end.equity for end in ends}
            for lost, player in zip(found, players, strict=True):
                player.new_game(derive(seed, "backgammon", number, turn))
                lost.append(ends[0].equity - equity[game.text(played(game, player, state))])
        state, turn = ends[0].state, turn + 1
    return found


def played(game: Game, player: Any, state: Any) -> Any:
    """The position after the player's turn."""
    mover = game.to_move(state)
    while not game.is_terminal(state) and game.to_move(state) == mover:
        action = player.choose(state).action
        player.advance(action)
        state = game.result(state, action)
    return state


if __name__ == "__main__":
    run_command(main)
