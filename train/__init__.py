"""Training runs. `loop.py` is where to begin reading; docs/design.md says what each file is."""

import base  # noqa: F401  (first of all, for Ctrl-C)
