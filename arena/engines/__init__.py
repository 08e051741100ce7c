"""Players that are programs of other projects, one file per protocol, and players of your own.

A file of this folder that defines `player(game, /, option: Kind = default) -> Thinker` is a kind of player, named after the file: its
parameters are the options, its docstring is the line that `python -m arena players` prints. arena/engines/engine.py has what protocols
share.
"""
