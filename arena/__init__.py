"""Players by name, matches, ladders and Elo, accuracy against the solver, play at the terminal, external engines."""

import base  # first: Ctrl-C during the other imports
