"""Games played by a search against itself, written down as records."""
