"""Training runs. `loop.py` is where to begin reading; docs/design.md lists the files."""

import base  # first: Ctrl-C during the other imports
