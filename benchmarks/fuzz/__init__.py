"""Hostile input for every reader: `python -m benchmarks.fuzz` (`__main__.py`)."""
