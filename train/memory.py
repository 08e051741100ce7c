"""How much memory a run may take, computed before it begins.

What grows is bounded by settings: the window by `window.most` positions, a worker's trees by its slots and simulations, its cache by
`selfplay.cache_mb`. What a process takes for its code is measured when the run begins: all processes load the same.
`benchmarks/memory.py` compares the forecast with a run.
"""

from __future__ import annotations

import os

from base.workers import Workers
from games import Game
from monitor.usage import resident
from selfplay.play import bytes_of_games
from train.config import Config

COPIES = 8
"""Of the network's weights: itself, its mean, gradient, AdamW's two moments, a state being saved, an evaluator, its folded layers."""

LATER = 30.0
"""Megabytes that a process takes beyond its code once it works: TensorBoard, torch's workspaces, pages once touched."""


def forecast(config: Config, game: Game, parameters: int, workers: Workers) -> str:
    """One line: the most memory the run takes, part by part."""
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
    """Of a full window, every position with as many legal actions as there can be; the longest game may lie half outside."""
    useful = 1.0 if config.window.fast else config.selfplay.full
    plies = int(config.window.most / useful) + game.rules.max_plies
    move, marks, count, numbers = 4, 3, 8, 16  # the window's arrays of a row per ply
    policy = 8 * game.rules.max_legal
    return plies * (move + marks + count + numbers + 4 * game.players + policy)
