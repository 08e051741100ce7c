"""A node of a cluster without Ray: it works for commands with `--cluster folder:PATH`, on any machine that shares the folder.

python -m cluster /shared/zermelo                  # with a worker for each processor; Ctrl-C ends it
python -m cluster /shared/zermelo --workers 4
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

from base.errors import Arguments, UserError, run_command
from base.local_workers import cores
from cluster.folder import serve


def main(argv: Sequence[str]) -> int:
    parser = Arguments(description=__doc__)
    parser.add_argument(
        "path", metavar="PATH", help="a folder that all machines share and this user alone can write to"
    )
    parser.add_argument("--workers", type=int, metavar="K", help=f"worker processes (default: {cores()})")
    parser.add_argument("--minutes", type=float, metavar="M", help="how long it works (default: until Ctrl-C)")
    options = parser.parse_args(argv)
    if options.workers is not None and options.workers < 1:
        raise UserError(f"workers: expected 1 or more, got {options.workers}")
    end = None if options.minutes is None else time.monotonic() + 60 * options.minutes
    serve(options.path, options.workers, _say, lambda: end is not None and time.monotonic() > end)
    return 0


def _say(text: str) -> None:
    print(text, file=sys.stdout, flush=True)


if __name__ == "__main__":
    run_command(main)
