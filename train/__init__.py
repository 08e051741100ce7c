"""Training runs. Start reading with `loop.py`; docs/design.md lists the files."""

import base  # first: Ctrl-C during the other imports
