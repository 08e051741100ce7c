"""Alpha-beta and its enhancements, for two players and zero sum. In dependency order:

settings   limits and switches, one per enhancement
workspace  everything a search writes, in one record
table      the transposition table
beam       ordering by EVAL of the children; beam (off by default)
ordering   which action first: gains, killers, history
quiescence beyond the horizon
futility   pruning near the horizon by EVAL
late_moves reductions of late quiet actions
null_move  pruning by passing (off by default)
probcut    pruning by shallow searches (off by default)
singular   extension of singular actions (off by default)
tree_log   the searched tree, where requested
search     the search itself, in numbered steps
root       the root's actions and iterations
player     limits, deepening, aspiration windows; the result
"""

from classical.alphabeta.player import AlphaBeta
from classical.alphabeta.settings import AlphaBetaSettings

__all__ = ["AlphaBeta", "AlphaBetaSettings"]
