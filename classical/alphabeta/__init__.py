"""Alpha-beta and its organs, for two players and zero sum. In dependency order:

settings   which organs, which limits
workspace  everything a search writes, in one record
table      the transposition table
ordering   which action first
quiescence beyond the horizon
selective  how much the selective organs dare
search     the search itself, in numbered steps
root       the root's actions and iterations
probcut    what shallow searches foretell, fitted by `fit_probcut`
player     limits, deepening, and the answer
"""

from classical.alphabeta.player import AlphaBeta
from classical.alphabeta.settings import AlphaBetaSettings

__all__ = ["AlphaBeta", "AlphaBetaSettings"]
