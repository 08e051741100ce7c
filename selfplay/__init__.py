"""Games played by a search against itself, written down as records."""

import base  # first: Ctrl-C during the other imports
