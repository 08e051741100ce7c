"""Players by name, matches, Elo, SPRT, ladders, accuracy against an oracle, playing at the terminal."""

import base  # noqa: F401  (first of all, for Ctrl-C)
