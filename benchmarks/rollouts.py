"""The speed of tree search beside OpenSpiel's C++ MCTS in the same run: the table `rollouts` of `benchmarks.search`.

| column    | what                                                                                                 |
|-----------|------------------------------------------------------------------------------------------------------|
| rollouts  | simulations/s of UCT from the start, one random game each: select, expand, rollout, backup            |
| OpenSpiel | the same of its MCTSBot with one rollout per evaluation, equally many simulations, solver on         |
| ratio     | how many times faster                                                                                |
| trees     | simulations/s of PUCT over 64 trees whose leaves are all worth 0: the cost of the tree alone         |
| steps     | simulations/s over 64 trees in batches of 64, with observations, by an evaluator that returns zeros  |
| bytes     | of tree memory per simulation, nodes and edges in use, with rollouts / over 64 trees                   |

--simulations in the one tree of UCT, --each in each of the 64. The sides alternate, and the best turn of each is shown. Dice at the
start of a game are fixed, the same for both sides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from base.seeds import generator
from benchmarks.games import ROUNDS, open_spiel, short, timed
from benchmarks.tables import Column, Options, Row, Table, first_position
from games import Game
from mcts.puct import PUCT
from mcts.search import Search
from mcts.tree import EDGE, node_dtype
from mcts.ucb1 import UCB1

TREES = 64


def rows(game: Game, options: Options) -> Iterator[Row]:
    start, simulations, each = first_position(game), options.simulations, options.each
    uct = Search(game, UCB1(), nodes=2 * simulations)
    trees = Search(game, PUCT(immediate_wins=False), slots=TREES, nodes=2 * each)
    zeros = np.zeros((TREES, game.actions), np.float32), np.zeros((TREES, game.players), np.float32)

    def rollouts(turn: int) -> None:
        uct.begin(0, start, generator(turn, "uct", options.seed))
        uct.run(simulations)

    def side_by_side(turn: int) -> None:
        for slot in range(TREES):
            trees.begin(slot, start, generator(turn, "trees", options.seed, slot))
        trees.run(each)

    def in_batches(turn: int) -> None:
        for slot in range(TREES):
            trees.begin(slot, start, generator(turn, "trees", options.seed, slot))
        trees.add(each)
        while trees.step(lambda observations: zeros):
            pass

    peer = peer_search(game, simulations)
    runs: list[Callable[[int], object]] = [rollouts, side_by_side, in_batches, *([peer] if peer else [])]
    best = [np.inf] * len(runs)
    for turn in range(1 + ROUNDS):  # the first one compiles
        for i, run in enumerate(runs):
            took = timed(run, turn)
            if turn:
                best[i] = min(best[i], took)
    total = TREES * each
    theirs = simulations / best[3] if peer else None
    yield {
        "rollouts": simulations / best[0],
        "OpenSpiel": theirs,
        "ratio": simulations / best[0] / theirs if theirs else None,
        "trees": total / best[1],
        "steps": total / best[2],
        "bytes": [bytes_used(uct) / simulations, bytes_used(trees) / total],
    }


def bytes_used(search: Search) -> int:
    slots = search.tree.slots
    return (
        int(slots["nodes"].sum()) * node_dtype(search.game.players).itemsize + int(slots["edges"].sum()) * EDGE.itemsize
    )


def peer_search(game: Game, simulations: int) -> Callable[[int], object] | None:
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


def times(ratio: float) -> str:
    return f"{ratio:.1f}×"


TABLE = Table(
    about="simulations per second of tree search, beside OpenSpiel's",
    games=("connect_four", "othello", "go", "chess", "backgammon", "dots_and_boxes"),
    columns={
        "rollouts": Column(10, short),
        "OpenSpiel": Column(11, short),
        "ratio": Column(8, times),
        "trees": Column(9, short),
        "steps": Column(9, short),
        "bytes": Column(12, lambda sizes: " / ".join(f"{size:.0f}" for size in sizes)),
    },
    rows=rows,
    takes=lambda game: not game.hides_information,
)
