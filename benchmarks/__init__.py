"""Measurements of speed: each claim is a ratio against a peer, taken in one run."""
