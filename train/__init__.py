"""Training runs. `loop.py` is where to begin reading; docs/design.md says what each file is."""

import base  # first: Ctrl-C during the other imports
