"""Players by name, matches, Elo, SPRT, ladders, accuracy against an oracle, playing at the terminal."""

import base  # first: Ctrl-C during the other imports
