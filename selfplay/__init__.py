"""Games played by a search against itself, written down as records."""

import base  # noqa: F401  (first of all, for Ctrl-C)
