"""How fast the tree search is, next to OpenSpiel's C++ MCTS in the same run.

    python -m benchmarks.mcts                       # connect four, othello, go 9×9, backgammon, dots and boxes
    python -m benchmarks.mcts go --simulations 5000

| column   | what                                                                                                  |
|----------|-------------------------------------------------------------------------------------------------------|
| rollouts | simulations/s of UCT from the start, one random game each: select, expand, rollout, backup             |
| OpenSpiel| the same of its MCTSBot with one rollout per evaluation, as many simulations, proofs on, as here         |
| ratio    | how many times faster                                                                                 |
| trees    | simulations/s of PUCT over 64 trees whose leaves are all worth 0: the tree alone                        |
| bytes    | of tree memory per simulation, nodes and edges in use, with rollouts / over 64 trees                    |
| steps    | simulations/s over 64 trees in batches of 64, observations written, an evaluator of zeros answering      |

One core; sides take turns and the best turn of each is shown; rates are per second of processor time. A position reached by chance at
the start of a game is rolled once, the same for both sides.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import numpy as np

from base.errors import Arguments, run_command
from base.seeds import generator
from benchmarks.games import ROUNDS, machine, one_core, open_spiel, ratio, short, timed, versions
from games import CHANCE, Game, load
from mcts.search import Search, Settings
from mcts.tree import EDGE, node_dtype

GAMES = ("connect_four", "othello", "go", "backgammon", "dots_and_boxes")
TREES = 64


def main(argv: Sequence[str]) -> int:
    parser = Arguments(description=__doc__)
    parser.add_argument("games", nargs="*", metavar="GAME", default=list(GAMES), help="games with options, or files")
    parser.add_argument("--simulations", type=positive, default=20_000, metavar="N", help="a search of UCT's")
    parser.add_argument("--each", type=positive, default=400, metavar="N", help=f"in each of the {TREES} trees")
    options = parser.parse_args(argv)
    games = [load(name) for name in options.games]
    with one_core() as pinned:
        named = ", ".join(f"{name} {number}" for name, number in versions().items())
        print(f"{machine(pinned)}; {named}; best of {ROUNDS} turns, sides alternating\n")
        width = max(len(game.name) for game in games)
        titles = ("rollouts", "OpenSpiel", "ratio", "trees", "steps", "bytes")
        print(f"{'game':{width}}" + "".join(f"{title:>11}" for title in titles), flush=True)
        for game in games:
            print(
                f"{game.name:{width}}" + "".join(f"{cell:>11}" for cell in row(game, options.simulations, options.each))
            )
    return 0


def positive(text: str) -> int:
    if not text.isdigit() or not 1 <= int(text) <= 10_000_000:
        raise argparse.ArgumentTypeError(f"expected a whole number from 1 to 10000000, got {text!r}")
    return int(text)


def row(game: Game, simulations: int, each: int) -> list[str]:
    start = game.initial()
    while game.to_move(start) == CHANCE:
        start = game.result(start, game.legal_actions(start)[0])
    uct = Search(game, Settings(), nodes=2 * simulations)
    trees = Search(game, Settings(rule="puct", rollout=0.0), slots=TREES, nodes=2 * each)
    zeros = np.zeros((TREES, game.actions), np.float32), np.zeros((TREES, game.players), np.float32)

    def rollouts(turn: int) -> None:
        uct.begin(0, start, generator(turn, "uct"))
        uct.run(simulations)

    def side_by_side(turn: int) -> None:
        for slot in range(TREES):
            trees.begin(slot, start, generator(turn, "trees", slot))
        trees.run(each)

    def in_batches(turn: int) -> None:
        for slot in range(TREES):
            trees.begin(slot, start, generator(turn, "trees", slot))
        trees.add(each)
        while trees.step(lambda observations: zeros):
            pass

    peer = peer_search(game, simulations)
    runs: list[Any] = [rollouts, side_by_side, in_batches, *([peer] if peer else [])]
    best = [np.inf] * len(runs)
    for turn in range(1 + ROUNDS):  # the first one compiles
        for i, run in enumerate(runs):
            took = timed(run, turn)
            if turn:
                best[i] = min(best[i], took)
    total = TREES * each
    theirs = simulations / best[3] if peer else None
    mine = simulations / best[0]
    sizes = f"{bytes_used(uct) / simulations:.0f} / {bytes_used(trees) / total:.0f}"
    rates = short(mine), short(theirs), ratio(mine, theirs), short(total / best[1]), short(total / best[2])
    return [*rates, sizes]


def bytes_used(search: Search) -> int:
    slots = search.tree.slots
    return (
        int(slots["nodes"].sum()) * node_dtype(search.game.players).itemsize + int(slots["edges"].sum()) * EDGE.itemsize
    )


def peer_search(game: Game, simulations: int) -> Any:
    """The same search in OpenSpiel, where it has the game and is installed."""
    peer = open_spiel(game)
    if peer is None:
        return None
    import pyspiel

    theirs = pyspiel.load_game(peer.spec)
    start = theirs.new_initial_state()
    while start.is_chance_node():
        start.apply_action(start.legal_actions()[0])

    def search(turn: int) -> None:
        bot = pyspiel.MCTSBot(
            theirs,
            pyspiel.RandomRolloutEvaluator(1, turn),
            uct_c=2.0,
            max_simulations=simulations,
            max_memory_mb=2000,
            solve=True,
            seed=turn,
            verbose=False,
        )
        assert bot.mcts_search(start).explore_count <= simulations

    return search


if __name__ == "__main__":
    run_command(main)
