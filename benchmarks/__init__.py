"""Measurements of speed: each claim is a ratio against a peer, taken in one run."""

import base  # noqa: F401  (first of all, for Ctrl-C)
