"""Players by name, matches, ladders and Elo, accuracy against the solver, play at the terminal, external engines."""

import base  # noqa: F401  (first of all, for Ctrl-C)
