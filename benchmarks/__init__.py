"""Measurements of speed: each claim is a ratio against a peer, taken in one run."""

import base  # first: Ctrl-C during the other imports
