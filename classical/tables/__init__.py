"""Endgame tables, and complete tables of tiny games, by retrograde analysis.

    tables = load_tables(load("checkers"))            # built at the first call and kept in the cache folder
    tables.code(state), tables.choose(state)          # from Python
    probe = prober(rules); probe(table, state)        # in kernels, with tables.array as `table`

    python -m classical.tables checkers               # build, and report sizes, counts and the longest wins

codes.py      value and distance of a position as one number
graph.py      retrograde analysis of any graph of positions
endgames.py   the graphs of a game's endgame classes        complete.py   the graph of a whole tiny game
probe.py      look-up in kernels                            check.py      every value against its successors'
store.py      files in the cache folder                     tables.py     the interface for players and programs
"""

from classical.tables.codes import DRAW, NONE, loss_in, plies_of, value_of, win_in
from classical.tables.probe import empty_table, has_endgames, prober
from classical.tables.tables import Tables, load_tables

__all__ = [
    "DRAW",
    "NONE",
    "Tables",
    "empty_table",
    "has_endgames",
    "load_tables",
    "loss_in",
    "plies_of",
    "prober",
    "value_of",
    "win_in",
]
