"""How much memory a run may take, said before it begins; how much it takes, measured as it goes on.

What grows is bounded by settings: the window by `window.most` positions, a worker's trees by its slots and simulations, its cache by
`selfplay.cache_mb`. What a process takes for its code is measured as the run begins: all of them load the same. Whether it holds,
`benchmarks/memory.py` looks.
"""

from __future__ import annotations

import multiprocessing
import os
from pathlib import Path

import numpy as np

from base.workers import Workers
from games import Game
from selfplay.play import bytes_of_games
from train.config import Config

COPIES = 8
"""Of the network's weights: itself, its mean, gradient, AdamW's two moments, a state being saved, an evaluator, its folded layers."""

LATER = 30.0
"""Megabytes that a process takes on beyond its code as it begins to work: TensorBoard, torch's workspaces, pages once touched."""


def forecast(config: Config, game: Game, parameters: int, workers: Workers) -> str:
    """One line: what the run takes at most, and what for."""
    mega = 1e6
    window = bytes_of_window(config, game) / mega
    lanes, net = bytes_of_games(game, config.selfplay) / mega, COPIES * 4 * parameters / mega
    program = resident([os.getpid()]) + LATER
    size, processes = workers.size, workers.processes + 1
    each = f"{size} × {lanes:,.0f}" if size > 1 else f"{lanes:,.0f}"
    programs = f"{processes} × {program:,.0f}" if processes > 1 else f"{program:,.0f}"
    total = window + size * lanes + net + processes * program
    return (
        f"memory: at most about {total:,.0f} MB: the window {window:,.0f}, trees and evaluations {each}, the network {net:,.0f}, "
        f"the program {programs}"
    )


def bytes_of_window(config: Config, game: Game) -> int:
    """Of a full one, every position with as many legal actions as there can be; the longest game may stand half outside."""
    useful = 1.0 if config.window.fast else config.selfplay.full
    plies = int(config.window.most / useful) + game.rules.max_plies
    move, marks, count, numbers = 4, 2, 8, 16  # the window's arrays of a row per ply
    policy = 8 * game.rules.max_legal
    return plies * (move + marks + count + numbers + 4 * game.players + policy)


def resident(processes: list[int] | None = None) -> float:
    """Megabytes that processes keep in memory, pages that they share counted once; without a list, this one and those it has
    started. NaN where the system does not tell."""
    children = (child.pid for child in multiprocessing.active_children())
    wanted = processes or [os.getpid(), *(pid for pid in children if pid)]
    found = [_kilobytes(pid) for pid in wanted]
    return float(np.sum(found)) / 1e3


def _kilobytes(pid: int) -> float:
    """Its proportional set size: a page shared by n processes counts as 1/n in each."""
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return float(line.split()[1]) * 1.024
    except OSError:
        return float("nan")
    return float("nan")
