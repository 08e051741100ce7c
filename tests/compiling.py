"""What the tests of the compiler share: processes of their own, and functions as they would stand in a file."""

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]


def start(folder: Path, script: str, *arguments: object, **env: str) -> subprocess.Popen[str]:
    """A process of its own that runs `script` in `folder`, with the test's cache."""
    # Without .pyc files: those of Python itself do not notice an edit within one second that keeps the size.
    env = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"} | env
    command = [sys.executable, script, *map(str, arguments)]
    return subprocess.Popen(command, cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def end(process: subprocess.Popen[str]) -> tuple[str, str]:
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return out.strip(), err


def run(folder: Path, script: str, *arguments: object, **env: str) -> tuple[str, str]:
    return end(start(folder, script, *arguments, **env))


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        (folder / f"{name}.py").write_text(textwrap.dedent(text))


def define(text: str, name: str = "f", file: str = "rules.py", **scope: Any) -> Any:
    """A function as it would stand in a file of its own."""
    scope["__name__"] = "rules"
    exec(compile(textwrap.dedent(text), file, "exec"), scope)
    return scope[name]


def hits(entry: Any) -> int:
    return sum(entry.stats.cache_hits.values())


def affine(factor: int, shift: int = 0) -> Callable[[Any], Any]:
    def scaled(x: Any) -> Any:
        return factor * x

    def rule(x: Any) -> Any:
        return scaled(x) + shift

    return rule


# A rule that needs a helper, which needs a helper: run.py prints what it gives for 7.
PROJECT = {
    "run": """
        import sys
        from base.compiler import compiled
        from game import make
        print(compiled(make(int(sys.argv[1])), label="the rule")(7))
    """,
    "game": """
        import numpy as np
        import helper
        from helper import twice
        STEP = 1
        TABLE = np.array([10, 20, 30])
        def make(option):
            def rule(x):
                return twice(x) + helper.thrice(x) + STEP + TABLE[1] + option
            return rule
    """,
    "helper": """
        import deep
        UNIT = 1
        def twice(x):
            return 2 * x
        def thrice(x):
            return deep.three() * x * UNIT
    """,
    "deep": """
        THREE = 3
        def three():
            return THREE
    """,
}
