"""Ladders: many players of one game on one Elo scale, and the standard scale of a game, made of its reference players."""
