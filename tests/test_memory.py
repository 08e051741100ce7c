"""The estimate of a run's memory: bounds that hold, and the size that its processes really have."""

import mmap
import multiprocessing
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from miniature import GAME, Quiet, run, tiny

from base.local_workers import Processes
from base.workers import InProcess
from mcts.puct import PUCT
from mcts.search import Search
from selfplay.play import bytes_of_games, nodes_of
from train.loop import Loop
from train.memory import bytes_of_window, forecast, resident

linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has /proc")


def test_window_keeps_below_its_bound_and_near_it(tmp_path: Path, monkeypatch: Any) -> None:
    config = tiny("window.most=60", "selfplay.full=1.0", "selfplay.openings=0")
    loops, begin = [], Loop.__init__
    monkeypatch.setattr(Loop, "__init__", lambda loop, *given: (loops.append(loop), begin(loop, *given))[1])
    run(tmp_path / "run", 40, config=config)
    window = loops[0].window
    assert 60 <= len(window) < 60 + GAME.rules.max_plies and window.made > 150
    assert bytes_of_window(config, GAME) / 3 < window.bytes() <= bytes_of_window(config, GAME)


def test_trees_and_cache_take_what_was_said() -> None:
    config = tiny("selfplay.cache_mb=1")
    how = config.selfplay
    search = Search(GAME, PUCT(), slots=how.slots, nodes=nodes_of(how), cache_mb=how.cache_mb)
    took = search.tree.nodes.nbytes + search.tree.edges.nbytes + search.cache.entries.nbytes
    assert took <= bytes_of_games(GAME, config.selfplay) < 1.01 * took


def _hold(megabytes: int, pipe: Any) -> None:
    held = np.ones(megabytes * 125_000)
    pipe.send(int(held.sum()))
    pipe.recv()


@linux
def test_resident_size_is_that_of_all_processes() -> None:
    before = resident()
    held = mmap.mmap(-1, 100 * 10**6)  # new pages: malloc may have some that are free, and in memory
    held.write(b"1" * len(held))
    assert 90 < resident() - before < 130
    held.close()
    context = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_hold, args=(200, theirs), daemon=True)
    process.start()
    assert ours.recv() == 200 * 125_000
    assert resident() - before > 180
    ours.send(None)
    process.join()
    assert resident() - before < 100


@linux
def test_run_says_what_it_will_take_at_most_and_measures_what_it_takes(tmp_path: Path, monkeypatch: Any) -> None:
    said: list[str] = []
    curves: list[tuple[int, Any]] = []
    monkeypatch.setattr(Quiet, "metrics", lambda log, games, values: curves.append((games, values)))
    run(tmp_path / "run", 8, workers=0, said=said)
    assert sum("memory: at most about" in line for line in said) == 1
    alone, several = (forecast(tiny(), GAME, 1000, workers) for workers in (InProcess(), Processes(3)))
    assert "×" not in alone and "trees and evaluations 3 × " in several and "the program 4 × " in several
    assert [(games, values["memory/megabytes"] > 100) for games, values in curves] == [(8, True)]
