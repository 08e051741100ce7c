"""`--workers`, `--cluster` and `--mixed`, for every command that spreads its work.

    add_workers(parser)
    options = parser.parse_args()
    with opened_workers(options) as workers: ...        # any `Workers`; of a cluster, or processes of this machine

| `--cluster`     | nodes                                                                                    |
|-----------------|------------------------------------------------------------------------------------------|
| `auto`          | of the Ray cluster that this machine belongs to                                          |
| `HOST:PORT`     | of the one whose head node that is                                                       |
| `local:N`       | N nodes with one worker each, of a Ray cluster on this machine that ends with the command |
| `folder:PATH`   | those that `python -m cluster PATH` runs on, on any machine that shares the folder        |
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from base.errors import UserError, short
from base.local_workers import check_workers as check_count
from base.local_workers import cores, opened
from base.workers import Workers

if TYPE_CHECKING:
    from cluster.coordinator import Coordinator


def add_workers(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--workers",
        type=int,
        metavar="K",
        help=f"processes that do the work (default: {cores()}); 0: this one alone; of a Ray cluster, on each node (default: all cores)",
    )
    parser.add_argument(
        "--cluster",
        metavar="auto|HOST:PORT|local:N|folder:PATH",
        help="spread the work over a Ray cluster, over N nodes on this machine to try that, or over machines that share a folder",
    )
    parser.add_argument(
        "--mixed", action="store_true", help="with --cluster: allow nodes whose results may differ in their bits"
    )


@contextmanager
def opened_workers(options: argparse.Namespace, mixed: bool | None = None) -> Iterator[Workers]:
    """Those that the options name, for the block. `mixed` replaces the option of that name."""
    check_workers(options)
    is_mixed = options.mixed if mixed is None else mixed
    if options.cluster is None:
        with opened(cores() if options.workers is None else options.workers) as local:
            yield local
        return
    with opened_cluster(options.cluster, options.workers, is_mixed) as workers:
        yield workers


def check_workers(options: argparse.Namespace) -> None:
    """Refuse options that do not go together."""
    if options.workers is not None and options.cluster is None:
        check_count(options.workers)
    elif options.workers is not None and options.workers < 1:
        raise UserError(f"workers: expected 1 or more, got {options.workers}")
    if options.mixed and options.cluster is None:
        raise UserError("--mixed: expected --cluster with it")


@contextmanager
def opened_cluster(address: str, workers: int | None = None, mixed: bool = False) -> Iterator[Coordinator]:
    """The cluster that an address names, as in the table above."""
    from cluster.coordinator import Coordinator

    kind, _, rest = address.partition(":")
    with ExitStack() as stack:
        if kind == "folder":
            from cluster.folder import FolderNodes

            if workers is not None:
                raise UserError("--workers: expected none with --cluster folder:PATH, where each node has its own")
            yield stack.enter_context(Coordinator(FolderNodes(rest), mixed))
            return
        from cluster.private import PrivateCluster
        from cluster.ray_nodes import RayNodes

        if kind == "local":
            if not rest.isdecimal() or not 1 <= int(rest) <= 64:
                raise UserError(f"--cluster: expected local:N with N from 1 to 64, got {short(address)!r}")
            address = stack.enter_context(PrivateCluster(int(rest))).address
        yield stack.enter_context(Coordinator(RayNodes(address, workers), mixed))
