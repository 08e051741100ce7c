"""Games that hide information beside OpenSpiel's C++ in the same run: the table `equilibrium` of `benchmarks.search`.

| column    | what                                                                                              |
|-----------|---------------------------------------------------------------------------------------------------|
| CFR+      | iterations/s over the whole game, each an update of every player                                   |
| OpenSpiel | the same of its CFRPlusSolver                                                                      |
| ratio     | how many times faster                                                                              |
| chips     | exploitability after 100 iterations, in payoffs: ours / theirs, each by its own best response      |
| ISMCTS    | simulations/s of information set MCTS with UCB1 and uniform worlds, from the first decision        |
| theirs    | the same of its ISMCTSBot with one random game per evaluation                                      |
| faster    | how many times                                                                                     |

--simulations in each search. The sides alternate, and the best turn of each is shown; the games' trees are listed before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.games import ROUNDS, short, timed
from benchmarks.rollouts import times
from benchmarks.tables import Column, Options, Row, Table, first_position
from classical.equilibrium import CFR, measure, unfold
from games import Game
from mcts.ismcts import ISMCTS, ISMCTSSettings

PEERS = {"kuhn_poker": "kuhn_poker", "leduc_poker": "leduc_poker", "liars_dice": "liars_dice"}
NODES = 2_000_000
"""Of the game's tree, walked in a turn of ours; a tenth of that in one of theirs."""
MEASURED = 100


def rows(game: Game, options: Options) -> Iterator[Row]:
    tree, simulations = unfold(game), options.simulations
    start = first_position(game)
    view = game.view(start, game.to_move(start) or 0)
    many = max(10, NODES // tree.nodes)
    few = max(1, many // 10)

    def ours(turn: int) -> None:
        CFR(tree).run(many)

    def search(turn: int) -> None:
        ISMCTS(game, ISMCTSSettings(simulations, "uniform", "ucb"), turn).policy(view)

    runs: list[Callable[[int], object]] = [ours, search]
    peer = open_spiel(game)
    if peer is not None:
        pyspiel, theirs = peer
        state = theirs.new_initial_state()
        while state.is_chance_node():
            state.apply_action(state.legal_actions()[0])

        def their_iterations(turn: int) -> None:
            iterated(pyspiel, theirs, few)

        def their_search(turn: int) -> None:
            evaluator = pyspiel.RandomRolloutEvaluator(1, turn)
            pyspiel.ISMCTSBot(turn, evaluator, 2.0, simulations).get_policy(state)

        runs += [their_iterations, their_search]
    best = [np.inf] * len(runs)
    for turn in range(1 + ROUNDS):  # the first one compiles
        for i, run in enumerate(runs):
            took = timed(run, turn)
            if turn:
                best[i] = min(best[i], took)
    solver = CFR(tree)
    solver.run(MEASURED)
    chips = [measure(tree, solver.average()).exploitability * game.rules.payoff_scale]
    rates = [many / best[0], simulations / best[1]]
    found: Row = {"CFR+": rates[0], "ISMCTS": rates[1], "chips": chips}
    if peer is not None:
        if tree.nodes < NODES // 10:
            kept = iterated(pyspiel, theirs, MEASURED)  # its policy points into it
            chips.append(pyspiel.exploitability(theirs, kept.average_policy()))
        found |= {"OpenSpiel": few / best[2], "theirs": simulations / best[3]}
        found |= {"ratio": rates[0] / found["OpenSpiel"], "faster": rates[1] / found["theirs"]}
    yield found


def iterated(pyspiel: Any, game: Any, iterations: int) -> Any:
    """OpenSpiel's solver after so many iterations."""
    solver = pyspiel.CFRPlusSolver(game)
    for _ in range(iterations):
        solver.evaluate_and_update_policy()
    return solver


def open_spiel(game: Game) -> tuple[Any, Any] | None:
    """OpenSpiel and the same game in it, where it is installed and has it by default."""
    name = game.name.partition(":")[0]
    if name not in PEERS or game.options.get("players", 2) != 2 or game.options.get("faces", 6) != 6:
        return None
    try:
        import pyspiel
    except ImportError:
        return None
    return pyspiel, pyspiel.load_game(PEERS[name])


TABLE = Table(
    about="CFR+ and information set MCTS, beside OpenSpiel's",
    games=("kuhn_poker", "leduc_poker"),
    columns={
        "CFR+": Column(9, short),
        "OpenSpiel": Column(11, short),
        "ratio": Column(8, times),
        "chips": Column(18, lambda found: " / ".join(f"{each:.4f}" for each in found)),
        "ISMCTS": Column(9, short),
        "theirs": Column(9, short),
        "faster": Column(8, times),
    },
    rows=rows,
    takes=lambda game: game.hides_information,
)
