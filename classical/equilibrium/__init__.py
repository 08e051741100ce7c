"""Games with hidden information, solved: counterfactual regret minimization, best responses, exploitability.

tree = unfold(load("leduc_poker"))            # every path of the game, as arrays
solver = CFR(tree, plus=True)
solver.run(1000)
measure(tree, solver.average()).exploitability
"""

from classical.equilibrium.best_response import Measure, action_values, measure
from classical.equilibrium.cfr import CFR
from classical.equilibrium.game_tree import GameTree, unfold

__all__ = ["CFR", "GameTree", "Measure", "action_values", "measure", "unfold"]
