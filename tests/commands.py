"""Commands in processes of their own that have nothing left to import: a command takes its own time, not that of Python, numba, torch.

done = command("arena match tic_tac_toe random random --games 4", tmp_path)
done.returncode, done.stdout, done.stderr
"""

import functools
import multiprocessing
import os
import runpy
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from multiprocessing.context import ForkServerContext
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent


@functools.cache
def warm() -> ForkServerContext:
    """For processes that have imported everything, and compiled what a miniature run takes."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["warm_packages"])
    with pytest.MonkeyPatch.context() as patch:  # where the server that they fork from looks for that module
        patch.setenv("PYTHONPATH", os.pathsep.join([str(TESTS), str(TESTS.parent)]))
        process = context.Process(target=_was_warmed)
        process.start()
        process.join()
    assert process.exitcode == 0
    return context


def _was_warmed() -> None:
    assert "warm_packages" in sys.modules


def command(words: str | Sequence[str], folder: Path = Path(), given: str = "") -> "subprocess.CompletedProcess[str]":
    """`python -m WORDS` in `folder`, with `given` on standard input, and this process' environment."""
    listed = shlex.split(words) if isinstance(words, str) else list(words)
    with tempfile.TemporaryDirectory() as place:
        paths = [os.path.join(place, name) for name in ("in", "out", "err")]
        Path(paths[0]).write_text(given)
        process = warm().Process(target=_run, args=(listed, str(folder), dict(os.environ), paths))
        process.start()
        process.join()
        out, err = (Path(path).read_text() for path in paths[1:])
    assert process.exitcode is not None
    return subprocess.CompletedProcess(listed, process.exitcode, out, err)


def _run(words: list[str], folder: str, environment: dict[str, str], paths: list[str]) -> None:
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    for number, path in enumerate(paths):
        handle = os.open(path, os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(handle, number)
        os.close(handle)
    sys.stdin = os.fdopen(0, closefd=False)  # multiprocessing has closed it
    sys.path[0:0] = [""]
    sys.argv[1:] = words[1:]
    for name in (words[0], f"{words[0]}.__main__"):
        if not hasattr(sys.modules.get(name), "__path__"):
            sys.modules.pop(name, None)  # or runpy warns
    runpy.run_module(words[0], run_name="__main__", alter_sys=True)
