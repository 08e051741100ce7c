"""What the commands of `python -m arena` share: common options and their limits, progress bars, notices on standard error."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from tqdm import tqdm

from base.errors import UserError
from base.local_workers import check_workers, cores
from cluster.options import add_workers

Progress = Callable[[int, int], object]
"""Called with how much is done and the total; a total of 0 is unknown."""

LEAST = {"games": 1, "reference_games": 1, "sims": 0}
"""The least values of options that are numbers, whatever the command."""

bar = partial(tqdm, disable=None, smoothing=0.1)
"""A progress bar on a terminal, nothing elsewhere."""


def add_common(parser: argparse.ArgumentParser) -> None:
    """`--seed`, `--json`, and what does the work."""
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="of openings, dice and players")
    parser.add_argument("--json", action="store_true", help="print the result as one line of JSON")
    add_workers(parser)


def add_threads(parser: argparse.ArgumentParser, kind: str) -> None:
    parser.add_argument(
        "--workers", type=int, default=cores(), metavar="N", help=f"number of {kind}; 0: run in this process"
    )


def check_numbers(options: argparse.Namespace) -> None:
    """Refuse numbers below the least value of their option."""
    for name, least in LEAST.items():
        value = getattr(options, name, None)
        if value is not None and value < least:
            raise UserError(f"{name.replace('_', '-')}: expected {least} or more, got {value}")
    if getattr(options, "workers", None) is not None and getattr(options, "cluster", None) is None:
        check_workers(options.workers)


@contextmanager
def progress_bar(what: str, unit: str = "game") -> Iterator[Progress]:
    with bar(desc=what, unit=f" {unit}s") as shown:

        def progress(done: int, total: int) -> None:
            shown.total = total or None
            shown.update(done - shown.n)

        yield progress


def notice(text: str) -> None:
    """Print to standard error: standard output holds the result alone."""
    print(text, file=sys.stderr)
