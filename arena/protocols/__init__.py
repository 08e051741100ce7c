"""Our players as engines for other people's programs, one file per protocol: UCI, GTP, UGI.

`python -m arena engine GAME PLAYER` answers before anything heavy is loaded. So the modules here import, at their top, nothing but the
standard library and what is as light; games, numba, players and networks are loaded in the background (`Protocol.load`).

service     lines in and out, and the one thread that handles everything that happens
protocol    what the protocols share: loading, the player's options, searches
uci, ugi    chess; every other game of two players without dice
gtp         go
clock       how long a move may take
scores      values as centipawns, distances to mate, win-draw-loss
declared    the options of a kind of player, read from its source
"""
