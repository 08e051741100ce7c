"""Compiled rules: never stale, never another game's, never in the way. Laws about processes are checked with processes."""

import contextlib
import errno
import gc
import hashlib
import os
import re
import subprocess
import sys
import textwrap
import threading
import time
import types
from collections import namedtuple
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

from base import compiler
from base.compiler import compiled, content_key
from base.errors import UserError
from base.pool import run_jobs
from base.seeds import below
from games import load

ROOT = Path(__file__).parents[1]


@pytest.fixture(autouse=True)
def kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the test's own; the folder of its kernels."""
    monkeypatch.setenv("ZERMELO_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(compiler, "_announced", set())
    return tmp_path / "cache" / "kernels"


# ── helpers ──


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


# ── what the cache may never do: be stale ──

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


def test_an_edit_takes_effect_at_once_wherever_it_stands_and_a_comment_costs_nothing(tmp_path: Path) -> None:
    write(tmp_path, **PROJECT)
    said = "compiling the rule (first run only) …\n"
    assert run(tmp_path, "run.py", 100) == (str(14 + 21 + 1 + 20 + 100), said)

    for file, old, new, value in [
        ("game", "+ option", "- option", 14 + 21 + 1 + 20 - 100),  # the rule itself
        ("helper", "2 * x", "4 * x", 28 + 21 + 1 + 20 - 100),  # from helper import twice
        ("helper", "* UNIT", "+ UNIT", 28 + 22 + 1 + 20 - 100),  # helper.thrice
        ("helper", "UNIT = 1", "UNIT = 2", 28 + 23 + 1 + 20 - 100),  # a constant of the helper
        ("deep", "return THREE", "return -THREE", 28 - 19 + 1 + 20 - 100),  # two levels down
        ("deep", "THREE = 3", "THREE = 5", 28 - 33 + 1 + 20 - 100),
        ("game", "STEP = 1", "STEP = 2", 28 - 33 + 2 + 20 - 100),
        ("game", "20, 30", "40, 30", 28 - 33 + 2 + 40 - 100),  # one number of a global array
    ]:
        path = tmp_path / f"{file}.py"
        path.write_text(path.read_text().replace(old, new))
        assert run(tmp_path, "run.py", 100) == (str(value), said), (file, new)

    assert run(tmp_path, "run.py", 200) == (str(28 - 33 + 2 + 40 - 200), said)  # an option
    for name in ("game", "helper", "deep"):
        path = tmp_path / f"{name}.py"
        path.write_text("# One more line.\n" + path.read_text().replace("):\n", "):  # and a word\n"))
    assert run(tmp_path, "run.py", 200) == (str(28 - 33 + 2 + 40 - 200), "")


def compile_in_worker(job: int) -> int:
    return compiled(affine(job), label=f"game {job}")(1)


def test_the_screen_says_once_what_is_compiled_and_workers_say_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    for number, label in enumerate(["a game", "", "a game", "another"]):
        compiled(affine(100 + number), label=label)(1)
    said = ["compiling a game (first run only) …", "compiling another (first run only) …"]
    assert capfd.readouterr().err.splitlines() == said
    assert sorted(run_jobs(compile_in_worker, [7, 8], workers=1)) == [(0, affine(7)(1)), (1, affine(8)(1))]
    assert capfd.readouterr().err == ""


def test_what_changes_between_two_compilations_in_one_process_is_seen() -> None:
    scope: dict[str, Any] = {"KOMI": 1, "TABLE": np.array([1, 2, 3])}
    helper = define("def helper(x): return KOMI * x + TABLE[0]", "helper", **scope)
    function = define("def f(x): return helper(x)", helper=helper)
    assert compiled(function)(10) == 11
    helper.__globals__["KOMI"] = 2
    assert compiled(function)(10) == 21
    helper.__globals__["TABLE"][0] = 5
    assert compiled(function)(10) == 25
    helper.__globals__["KOMI"], helper.__globals__["TABLE"][0] = 1, 1
    again = compiled(function)  # the first code, from the disk
    assert (again(10), hits(again)) == (11, 1)


def test_what_is_referred_to_is_frozen_when_compiled_is_called() -> None:
    table = np.array([1, 2, 3])
    function = define("def f(i): return T[i] + inner(i)", T=table, inner=define("def f(i): return T[i]", T=table))
    before = compiled(function)
    table[:] = 7
    assert before(0) == 2
    assert compiled(function)(0) == 14


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("def f(x): return x + 1", "def f(x): return x + 1.0"),
        ("def f(x): return x + 1", "def f(x): return x + True"),
        ("def f(x): return x + 0.0", "def f(x): return x + -0.0"),
        ("def f(x): return (1, 2)[x]", "def f(x): return (2, 1)[x]"),
        ("def f(x, y=1): return x + y", "def f(x, y=2): return x + y"),
        ("def f(x):\n y = lambda z: z + 1\n return y(x)", "def f(x):\n y = lambda z: z + 2\n return y(x)"),
        ("def f(x): return min(x, 3)", "def min(x, y): return 5\ndef f(x): return min(x, 3)"),
    ],
)
def test_functions_that_compute_different_things_have_different_keys(one: str, other: str) -> None:
    assert content_key(define(one)) == content_key(define("# Comment\n" + one, file="elsewhere.py"))
    assert content_key(define(one)) != content_key(define(other))


def test_two_threads_may_compile_what_shares_a_helper(monkeypatch: pytest.MonkeyPatch) -> None:
    helper, inside, fill = affine(3), threading.Event(), compiler._Translation.fill

    def fill_slowly(self: Any, copy: Any, function: Any, callers: Any) -> None:
        if function is helper:
            inside.set()
            time.sleep(1)
        fill(self, copy, function, callers)

    monkeypatch.setattr(compiler._Translation, "fill", fill_slowly)
    one, two = (define(f"def f(x): return helper(x) + {number}", helper=helper) for number in (1, 2))
    compiled(affine(2))(1)  # numba has been woken up
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(lambda: compiled(one)(5))
        assert inside.wait(60)
        assert compiled(two)(5) == 17
        assert first.result() == 16


def test_every_kind_of_value_counts_in_the_key() -> None:
    Two, Swapped = namedtuple("Two", "a b"), namedtuple("Two", "b a")  # type: ignore[name-match]
    square = np.arange(4, dtype=np.int32).reshape(2, 2)
    values = [
        *(None, True, 1, 1.0, 1j, "1", b"1", 2, -1, 0.0, -0.0, (1, 2), (1, (2,)), Two(1, 2), Swapped(1, 2)),
        *(np.int32(1), np.int64(1), np.float32(1), square, square.T, square.ravel(), square.astype(np.uint32)),
        *(np.dtype(np.int32), np.dtype(">i4"), np.dtype([("a", np.int8)]), np.dtype([("b", np.int8)])),
        *(np.dtype([("a", np.int8), ("b", np.int32)]), np.dtype([("a", np.int8), ("b", np.int32)], align=True)),
        *(np.dtype((np.record, [("a", np.int8)])), np.int32, np.sqrt, np.sin, np, affine(1), affine(2), affine(1, 1)),
    ]
    keys = [content_key(define("def f(): return value", value=value)) for value in values]
    assert len(set(keys)) == len(values)
    again = [content_key(define("def f(): return value", value=value)) for value in values]
    assert keys == again


def test_named_tuples_with_fields_in_another_order_have_code_of_their_own() -> None:
    def first(pair: Any) -> Any:
        return pair.a

    Pair, Riap = namedtuple("Pair", "a b"), namedtuple("Pair", "b a")  # type: ignore[name-match]
    assert [compiled(first)(Pair(1, 2)), compiled(first)(Riap(1, 2))] == [1, 2]


def test_checked_and_unchecked_code_do_not_share_a_key_nor_do_numba_s_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = {content_key(affine(1)), content_key(affine(1), checked=True)}
    monkeypatch.setattr(compiler.config, "BOUNDSCHECK", 1)
    keys.add(content_key(affine(1)))
    monkeypatch.setattr(compiler.config, "OPT", 1)
    assert len(keys | {content_key(affine(1))}) == 4


# ── … or another game's ──

SYMBOLS = """
    import itertools, os, sys
    from numba.core.bytecode import FunctionIdentity
    from base.compiler import compiled
    start, fork, *factors = map(int, sys.argv[1:])
    if start:
        FunctionIdentity._unique_ids = itertools.count(start)
    def factory(factor):
        def rule(n):  # its recursion is what LLVM does not inline
            return factor if n < 2 else rule(n - 1) + rule(n - 2)
        return rule
    if fork:
        for factor in factors:
            if os.fork() == 0:
                compiled(factory(factor))(10)
                os._exit(0)
            assert os.wait()[1] == 0
    else:
        print(*[compiled(factory(factor))(10) for factor in factors])
"""


@pytest.mark.parametrize("start_at", [0, 10**6], ids=["random start", "fixed start"])
def test_games_of_one_factory_cached_by_two_processes_play_by_their_own_rules_in_a_third(
    tmp_path: Path, start_at: int
) -> None:
    """The second half shows that the trap is one: with a counter that starts anywhere fixed, one game plays for both."""
    write(tmp_path, symbols=SYMBOLS)
    assert run(tmp_path, "symbols.py", start_at, 0, 3)[0] == "267"
    assert run(tmp_path, "symbols.py", start_at, 0, 5)[0] == "445"
    out, err = run(tmp_path, "symbols.py", start_at, 0, 3, 5)
    assert err == "" and (out == "267 445") == (start_at == 0)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_games_of_one_factory_cached_by_forked_children_play_by_their_own_rules(tmp_path: Path) -> None:
    write(tmp_path, symbols=SYMBOLS)
    run(tmp_path, "symbols.py", 0, 1, 3, 5)
    assert run(tmp_path, "symbols.py", 0, 0, 3, 5) == ("267 445", "")


def test_one_file_may_be_loaded_twice_and_forgotten_once() -> None:
    first, second = compiled(affine(3)), compiled(affine(3))
    assert (first(2), second(2), hits(second)) == (6, 6, 1)
    third = compiled(affine(3))
    assert third(2) == 6
    del first, second
    gc.collect()
    assert (third(5), compiled(affine(3))(7)) == (15, 21)


# ── recursion ──

RECURSION = """
    import sys, warnings
    import numpy as np
    from base.compiler import compiled
    def fib(n):
        return n if n < 2 else fib(n - 1) + fib(n - 2)
    def below(n):  # recursion beneath a cached entry
        return fib(n + 0) + 1000
    def cast(n):
        return fib(np.int64(n)) + 2000
    def last(n, k):
        return k if n == 0 else last(n - 1, 0) + k
    def constant(n):  # the same inside, where the function calls itself with one
        return last(n, 5) + 4000
    def narrow(n):  # called with 32 bits, it calls itself with 64
        return fib(np.int32(n)) + 3000
    def deep(board, level, counts):
        counts[level] += 1
        total = 1
        for i in range(2):
            if level + 1 < len(counts):
                board[level] = i
                total += deep(board, level + 1, counts)
        return total
    def search(board, counts):  # a constant does not make a second function of it
        return deep(board, 0, counts)
    counts = np.zeros(6, np.int64)
    print(compiled(fib)(20), compiled(fib)(np.int32(20)), compiled(below)(20), compiled(below)(np.int32(20)),
          compiled(cast)(np.int32(20)), compiled(search)(np.zeros(6, np.int8), counts), counts.sum(), compiled(constant)(3))
    print(compiled(narrow)(20))
"""


def test_recursion_survives_the_second_run_and_where_it_could_not_it_is_compiled_anew(tmp_path: Path) -> None:
    write(tmp_path, recursion=RECURSION)
    for attempt in range(3):
        out, err = run(tmp_path, "recursion.py")
        assert out == "6765 6765 7765 7765 8765 63 63 4005\n9765"
        assert "'narrow' compiles anew at each start: a function in it calls itself with other types" in err
        said = [line for line in err.splitlines() if line.startswith("compiling")]
        assert said == ["compiling narrow (first run only) …"] or attempt == 0


def test_functions_that_call_each_other_are_refused_in_one_sentence() -> None:
    text = """
        def even(n): return True if n == 0 else odd(n - 1)
        def odd(n): return False if n == 0 else even(n - 1)
        def f(n): return even(n)
    """
    expected = (
        r"^'even' and 'odd' call each other; expected functions that at most call themselves \(rules.py, line 3\)$"
    )
    for name in ("even", "f"):
        with pytest.raises(UserError, match=expected):
            compiled(define(text, name))
    with pytest.raises(UserError, match="'odd' and 'even' call each other"):  # after a refusal, too
        compiled(define(text, "odd"))


# ── modules ──


def test_rules_hit_the_cache_whatever_their_module_is_called_and_whether_it_can_be_imported(tmp_path: Path) -> None:
    """Regression: numba imports the module of what it loads; what could not be imported was compiled at each start."""
    write(
        tmp_path,
        run="""
            import sys
            from base.compiler import compiled
            scope = {"__name__": sys.argv[1]}
            exec(compile("def f(x): return g(x) + 1\\ndef g(x): return 2 * x", "f.py", "exec"), scope)
            print(compiled(scope["f"])(4))
        """,
    )
    assert run(tmp_path, "run.py", "my_game")[0] == "9"
    assert run(tmp_path, "run.py", "her_game") == ("9", "")


def test_modules_that_import_each_other_are_read_as_far_as_they_are_used(tmp_path: Path) -> None:
    """Regression: following every attribute name into every module never ended, and met lists that nobody used."""
    write(
        tmp_path,
        one="import two\nnames = ['a list']\ndef f(x):\n    return two.one.two.g(x) + two.LIMIT",
        two="import one\nnames = ['a list']\nLIMIT = 5\ndef g(x):\n    return x * one.two.LIMIT",
        run="""
            import numpy as np
            import one
            from base.compiler import compiled
            def f(state):
                return one.f(state.names)
            print(compiled(f)(np.zeros(1, np.dtype((np.record, [("names", np.int64)])))[0]))
        """,
    )
    assert run(tmp_path, "run.py")[0] == "5"
    assert run(tmp_path, "run.py") == ("5", "")


# ── damage ──


def test_a_damaged_file_is_rebuilt_wherever_the_damage_is(kernels: Path) -> None:
    compiled(affine(3))(1)
    (file,) = kernels.glob("*.kernel")
    whole = file.read_bytes()
    pickled = compiler.pickle.dumps(("not", "a", "kernel"))
    sealed = [b"", b"\0" * 100, pickled, whole[49:-20]]  # damage that came before the checksum
    damaged = [compiler._MAGIC + hashlib.sha256(payload).digest() + payload for payload in sealed]
    damaged += [
        b"",
        b"\0" * len(whole),
        bytes(range(256)) * 50,
        whole + b"x",
        whole[::-1],
        b"zermelo kernel 0\n" + whole[17:],
    ]
    for offset in [0, 1, 16, 17, 18, 48, 49, 50, *range(60, len(whole), len(whole) // 9), len(whole) - 1]:
        flipped = bytearray(whole)
        flipped[offset] ^= 1 << offset % 8
        damaged += [whole[:offset], bytes(flipped)]
    for data in damaged:
        file.write_bytes(data)
        entry = compiled(affine(3))
        assert (entry(7), hits(entry)) == (21, 0)
        again = compiled(affine(3))
        assert (again(7), hits(again)) == (21, 1)


# ── many processes ──


@pytest.mark.parametrize("processes", [2, 4])
def test_processes_that_start_cold_at_once_do_not_disturb_each_other(
    tmp_path: Path, kernels: Path, processes: int
) -> None:
    write(tmp_path, **PROJECT)
    crew = [start(tmp_path, "run.py", number // 2) for number in range(processes)]
    assert [end(process)[0] for process in crew] == [str(56 + number // 2) for number in range(processes)]
    assert [run(tmp_path, "run.py", number) for number in range(processes // 2)] == [
        (str(56 + number), "") for number in range(processes // 2)
    ]
    assert len(os.listdir(kernels)) == processes // 2  # and nothing else is left


def test_every_kernel_of_a_game_hits_the_cache_in_the_second_process(tmp_path: Path, kernels: Path) -> None:
    write(
        tmp_path,
        count="""
            from games.engine.registry import load
            game = load("nim:most=4")
            print(game.perft(2), *game.random_games(10, 1))
            entries = [*game._kernels.values(), *(value for name, value in vars(game).items() if hasattr(value, "stats"))]
            print(*[sum(sum(getattr(e.stats, kind).values()) for e in entries) for kind in ("cache_hits", "cache_misses")])
        """,
    )
    first, err = run(tmp_path, "count.py")
    assert err.count("compiling") == 1
    n = len(os.listdir(kernels))
    assert n >= 3 and first.endswith(f"\n0 {n}")
    second, err = run(tmp_path, "count.py")
    assert err == "" and second.endswith(f"\n{n} 0") and second.split("\n")[0] == first.split("\n")[0]
    assert len(os.listdir(kernels)) == n


# ── a cache that cannot be kept stops nothing ──


def test_a_file_in_the_place_of_the_cache_stops_nothing(tmp_path: Path) -> None:
    write(tmp_path, **PROJECT)
    (tmp_path / "occupied").write_text("mine")
    (tmp_path / "tmp").mkdir()
    for _ in range(2):
        out, err = run(tmp_path, "run.py", 0, ZERMELO_CACHE=str(tmp_path / "occupied"), TMPDIR=str(tmp_path / "tmp"))
        assert out == "56" and "occupied: cannot be written; the cache is in" in err
    assert "compiling" not in err  # the spare one served


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="the superuser may write everywhere")
def test_a_read_only_cache_stops_nothing(tmp_path: Path, kernels: Path) -> None:
    write(tmp_path, **PROJECT)
    kernels.mkdir(parents=True)
    kernels.chmod(0o500)
    (tmp_path / "tmp").mkdir()
    assert run(tmp_path, "run.py", 0, TMPDIR=str(tmp_path / "tmp"))[0] == "56"


def test_a_folder_in_the_place_of_a_kernel_stops_nothing(kernels: Path) -> None:
    compiled(affine(3))(1)
    (file,) = kernels.glob("*.kernel")
    file.unlink()
    file.mkdir()
    with pytest.warns(UserWarning, match="compiled code is not kept: .*Is a directory"):
        assert compiled(affine(3))(7) == 21


def test_a_full_disk_stops_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, data: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(compiler, "write_bytes", full)
    with pytest.warns(UserWarning, match="compiled code is not kept: .*No space left"):
        assert compiled(affine(3))(7) == 21


def test_nowhere_to_keep_anything_stops_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere(*parts: str) -> Path:
        raise FileNotFoundError(errno.ENOENT, "No usable temporary directory")

    monkeypatch.setattr(compiler, "cache_folder", nowhere)
    with pytest.warns(UserWarning, match="compiled code is not kept: .*No usable temporary"):
        assert compiled(affine(3))(7) == 21


def test_a_kernel_of_somebody_else_s_is_used_and_left_alone(kernels: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Regression: a file whose time could not be set was taken for damaged, and removed."""
    compiled(affine(3))(1)

    def refuse(*_: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "utime", refuse)
    entry = compiled(affine(3))
    assert (entry(7), hits(entry), len(list(kernels.iterdir()))) == (21, 1, 1)


def test_a_warning_made_an_error_is_not_taken_for_a_mistake_in_the_source() -> None:
    with pytest.raises(UserWarning, match="compiles anew at each start"):
        compiled(define("def f(i): return T[i]", T=np.zeros(200_000)))(0)


def test_a_closed_stderr_stops_nothing(tmp_path: Path) -> None:
    write(tmp_path, **PROJECT)
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "run.py", "0"]
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    with contextlib.closing(os.fdopen(writer, "w")) as closed:
        done = subprocess.run(
            command, cwd=tmp_path, env=env, stdout=subprocess.PIPE, stderr=closed, text=True, timeout=120
        )
    assert done.stdout == "56\n"


def test_pruning_keeps_the_most_recently_used(kernels: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler, "_KEEP", 10)
    compiled(affine(3))(1)
    (used,) = kernels.glob("*.kernel")
    os.utime(used, (0, 0))  # the oldest …
    for age in range(20):
        (kernels / f"{age}.kernel").write_bytes(b"old")
        os.utime(kernels / f"{age}.kernel", (10**9 - age, 10**9 - age))
    compiled(affine(3))(1)  # … but used again
    (kernels / f".{used.name}.{0:016x}.tmp").write_bytes(b"its writer was killed")
    compiled(affine(4))(1)  # saving prunes
    kept = {file.name for file in kernels.iterdir()}
    assert len(kept) == 9 and used.name in kept and {f"{age}.kernel" for age in range(7)} < kept


# ── three ways, one source ──

STATE = np.dtype(
    (
        np.record,
        [
            *((kind, kind) for kind in ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"]),
            *(("flag", np.bool_), ("row", np.int16, 3), ("grid", np.uint8, (2, 3)), ("place", [("x", np.int8), ("y", np.int32)])),
        ],
    )
)  # fmt: skip


def collatz(state: Any, board: Any, n: int) -> Any:
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        board[steps % len(board)] += n % 7 - 3
        steps += 1
    state.i4 += steps
    state.grid[1, 2] = steps % 200
    state.row[steps % 3] -= 1
    state.f8 = steps / 3
    state.flag = not state.flag
    return -steps // 7, steps % -5, state.f8 * 2


def test_interpreted_compiled_and_checked_agree() -> None:
    ways = [collatz, compiled(collatz), compiled(collatz, checked=True)]
    assert ways[1] is not collatz and hits(ways[1]) == 0
    for n in (1, 2, 7, 27, 97, 2**31 - 1):
        seen = []
        for way in ways:
            states, board = np.zeros(1, STATE), np.arange(5)
            answers = tuple(map(float, way(states[0], board, n)))
            seen.append((answers, states.tobytes(), board.tolist()))
        assert seen[0] == seen[1] == seen[2]


def test_fields_of_all_kinds_round_trip() -> None:
    def swap(a: Any, b: Any) -> None:
        a.i1, a.i2, a.i4, a.i8, a.u1, a.u2, a.u4, a.u8 = b.i1, b.i2, b.i4, b.i8, b.u1, b.u2, b.u4, b.u8
        a.f4, a.f8, a.flag = b.f4, b.f8, b.flag
        a.place.x, a.place.y = b.place.x, b.place.y
        for i in range(3):
            a.row[i] = b.row[i]
            for j in range(2):
                a.grid[j, i] = b.grid[j, i]

    rng = np.random.default_rng(5)
    fast = compiled(swap)
    for _ in range(50):
        given = np.frombuffer(rng.bytes(STATE.itemsize), STATE).copy()
        given["flag"] = rng.random() < 0.5
        got, interpreted = np.zeros(1, STATE), np.zeros(1, STATE)
        fast(got[0], given[0])
        swap(interpreted[0], given[0])
        assert got.tobytes() == given.tobytes() == interpreted.tobytes()


def test_a_dtype_is_a_closure_value() -> None:
    def sum_of(kind: Any, record: Any) -> Callable[[int], Any]:
        def total(n: int) -> Any:
            numbers, states = np.zeros(n, kind), np.zeros(n, record)
            for i in range(n):
                numbers[i] = 200 + i
                states[i].row[1] = i
            return numbers.sum() + states[n - 1].row[1]

        return total

    assert compiled(sum_of(np.dtype(np.uint8), STATE))(2) == compiled(sum_of(np.uint8, STATE))(2) == 402
    assert compiled(sum_of(np.dtype(np.int8), STATE))(2) == -56 - 55 + 1


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("def f(a, i): return a[i]", IndexError),
        ("def f(a, i): a[-i] = 1", IndexError),
        ("def f(a, i): return S[0].row[i]", IndexError),
        ("def f(a, i): return S[0].grid[1, i]", IndexError),
        ("def f(a, i): return g(a, i)\ndef g(a, i): return a[i]", IndexError),
        ("def f(a, i): return i // a[0]", ZeroDivisionError),
        ("def f(a, i): return i % a[0]", ZeroDivisionError),
        ("def f(a, i): return i / float(a[0])", ZeroDivisionError),
    ],
)
def test_checked_code_raises_where_unchecked_code_reads_on(text: str, error: type[Exception]) -> None:
    function = define(text, S=np.zeros(1, STATE))
    fast = compiled(function, checked=True)
    for _ in range(2):  # when it compiles, and when it is compiled
        with pytest.raises(error):
            fast(np.zeros(3, np.int64), 5)
    if error is ZeroDivisionError:
        compiled(function)(np.zeros(3, np.int64), 5)


def test_without_numba_s_compiler_everything_runs_as_python(tmp_path: Path, kernels: Path) -> None:
    write(tmp_path, **PROJECT)
    write(
        tmp_path,
        words="""
            from base.bits import U, popcount
            from base.compiler import compiled
            from base.seeds import below, generator
            def f(rng):
                return below(rng, 100) + popcount(U(7))
            rng, fast = generator(1, "x"), compiled(f)
            print([int(fast(rng)) for _ in range(5)])
        """,
    )
    assert run(tmp_path, "run.py", 0, NUMBA_DISABLE_JIT="1") == ("56", "")
    interpreted, err = run(tmp_path, "words.py", NUMBA_DISABLE_JIT="1")
    assert (err, kernels.exists()) == ("", False)
    assert run(tmp_path, "words.py")[0] == interpreted


def test_what_numba_can_do_stays_possible() -> None:
    text = """
        def f(x):
            square = lambda z: z * z
            def added(z): return z + x
            total = 0
            for i in numbers(x): total += i
            return square(added(total)) + jitted(x, y=2) + defaulted(x)
        def numbers(n):
            for i in range(n): yield i
        def jitted(x, y): return 10 * x + y
        def defaulted(x, y=5): return x + y
    """
    function = define(text)
    function.__globals__["jitted"] = numba.njit(function.__globals__["jitted"])
    assert function.__globals__["jitted"].py_func(4, 2) == 42
    assert compiled(function)(4) == (6 + 4) ** 2 + 42 + 9
    assert compiled(define("def f(x, y=5): return x + y"))(1) == 6
    assert (
        compiled(define("def f(x): return g((x, 0.5), 1)\ndef g(pair, i): return pair[i]"))(1) == 0.5
    )  # needs its constant
    entry = compiled(affine(2, 1))
    assert compiled(define("def f(x): return entry(x) + 1", entry=entry))(4) == 10  # an entry within another
    strided = compiled(define("def f(i): return T[i]", T=np.arange(20)[::2]))
    assert strided(3) == 6  # and without a warning that it can't be kept


# ── errors ──

MISTAKES = {
    "undefined name": (
        """
        def f(x):
            y = x
            return y + nonsense  # here
        """,
        "name 'nonsense' is not defined",
    ),
    "unknown function of a module": (
        """
        def f(x):
            y = x
            return np.nonsense(y)  # here
        """,
        "module 'numpy' has no attribute 'nonsense'",
    ),
    "unknown attribute": (
        """
        def f(x):
            y = x
            return y.foo  # here
        """,
        "Unknown attribute 'foo' of type int64",
    ),
    "missing field, read": (
        """
        def f(x):
            state = S[0]
            return state.rows  # here
        """,
        "no field 'rows' in a record of i1, .*, place; did you mean 'row'?",
    ),
    "missing field, written": (
        """
        def f(x):
            state = S[0]
            state.rows = x  # here
        """,
        "no field 'rows' in a record of ",
    ),
    "wrong types": (
        """
        def f(x):
            y = x
            return y + 'a'  # here
        """,
        r"no such operation for these types: add\(int64, 'a'\)",
    ),
    "wrong index": (
        """
        def f(x):
            y = 1.5
            return T[y]  # here
        """,
        r"no such operation for these types: getitem\(readonly array\(float64, 1d, C\), float64\)",
    ),
    "too few arguments": (
        """
        def f(x):
            y = g(x)  # here
            return y
        def g(a, b):
            return a + b
        """,
        r"the function called has the arguments \(a, b\): missing a required argument: 'b'",
    ),
    "too many arguments": (
        """
        def f(x):
            y = g(x, 1)  # here
            return y
        def g(a):
            return a
        """,
        r"the function called has the arguments \(a\): too many positional arguments",
    ),
    "in a function called": (
        """
        def f(x):
            return g(x) + 1
        def g(x):
            y = x
            return y.foo  # here
        """,
        "Unknown attribute 'foo' of type int64",
    ),
    "undefined name two calls down": (
        """
        def f(x):
            y = x
            return g(y) + 1
        def g(x):
            return h(x) + 1
        def h(x):
            y = x
            return y + nonsense  # here
        """,
        "name 'nonsense' is not defined",
    ),
    "missing in a function called": (
        """
        def f(x):
            return g(x) + 1
        def g(x):
            y = x
            return np.foo(y)  # here
        """,
        "module 'numpy' has no attribute 'foo'",
    ),
    "import": (
        """
        def f(x):
            y = x
            import math  # here
            return y
        """,
        r"such a statement has no compiled form \(IMPORT_NAME\)",
    ),
    "global": (
        """
        def f(x):
            global G
            G = x  # here
            return x
        """,
        r"such a statement has no compiled form \(STORE_GLOBAL\)",
    ),
    "with": (
        """
        def f(x):
            y = x
            with open('a') as file:  # here
                pass
            return y
        """,
        r"The 'with \(context manager\) as \(variable\):' construct is not supported",
    ),
    "except": (
        """
        def f(x):
            try:
                return 1 // x
            except ZeroDivisionError:  # here
                return 0
        """,
        "exceptions can be told apart only by `except Exception`",
    ),
    "several types": (
        """
        def f(x):
            if x > 0:
                return 1  # here
            return 'a'  # here
        """,
        "it returns values of several types: (1, 'a'|'a', 1)$",
    ),
    "a variable of two types": (
        """
        def f(x):
            y = 1
            if x > 0:
                y = 'a'
            return y  # here
        """,
        "'y' is of two types: 1 and 'a'",
    ),
    "an empty list": (
        """
        def f(x):
            found = []  # here
            return len(found)
        """,
        "what 'found' holds can't be told: nothing is ever put into it",
    ),
    "a generator expression": (
        """
        def f(x):
            y = x
            return any(i > y for i in range(9))  # here
        """,
        "a generator expression has no compiled form; a loop has",
    ),
    "a function that escapes": (
        """
        def f(x):
            def g(z): return z + x  # here
            return g
        """,
        "Cannot capture the non-constant value associated with variable 'x'",
    ),
    "a number called": (
        """
        def f(x):
            y = 3
            return y(x)  # here
        """,
        "3 is called, but it is no function",
    ),
    "an unsigned word that meets a signed number": (
        """
        def f(x):
            bits, n = np.uint64(x), 0
            while bits:
                bits &= bits - 1  # here
                n += 1
            return n
        """,
        r"no such operation for these types: iand.*float64\); what is a uint64 once and signed once becomes",
    ),
    "inside numba": (
        """
        def f(x):
            y = np.zeros((2, 2), np.int64)
            return y @ y  # here
        """,
        ".",
    ),
    "lambda": (
        """

        f = lambda x: x + nonsense  # here
        """,
        "name 'nonsense' is not defined",
    ),
    "a tuple unpacked": (
        """
        def f(x):
            a, b = x  # here
            return a
        """,
        "failed to unpack int64",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_told_in_two_lines_with_file_line_and_cause(
    mistake: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, cause = textwrap.dedent(MISTAKES[mistake][0]), MISTAKES[mistake][1]
    lines = [number for number, words in enumerate(text.split("\n"), 1) if "# here" in words]
    scope = {"np": np, "S": np.zeros(1, STATE), "T": np.zeros(3)}
    for file, shown in [(tmp_path / "my game.py", "my game.py"), (Path("/far/away.py"), "/far/away.py")]:
        monkeypatch.chdir(tmp_path)
        with pytest.raises(UserError) as caught:
            compiled(define(text, file=str(file), **scope))(1)
        first, second = str(caught.value).split("\n")
        assert first in [f"{shown}, line {line}: can't be compiled" for line in lines]
        assert re.match(cause, second), second
        assert len(second) < 150


def test_what_a_helper_of_the_house_was_handed_its_caller_is_told(tmp_path: Path) -> None:
    text = "def f(x):\n    y = x\n    return g(y)\ndef g(x):\n    return below(x, 3)  # here"
    with pytest.raises(UserError, match=r"my game\.py, line 5: can't be compiled\nno such operation for these types: "):
        compiled(define(text, file=str(tmp_path / "my game.py"), below=below))(1)


def test_what_two_files_handed_one_helper_each_is_told_of_its_own() -> None:
    """numba remembers what failed, with the places of the first failure."""
    texts = ["def f(x):\n    return below(x, 3)", "def f(x):\n    y = x\n    return below(y, 3)"]
    for text, file, line in [(texts[0], "one.py", 2), (texts[1], "two.py", 3), (texts[0], "three.py", 2)]:
        with pytest.raises(UserError, match=rf"^/games/{file}, line {line}: can't be compiled\nno such operation"):
            compiled(define(text, file=f"/games/{file}", below=below))(1)


@pytest.mark.parametrize("value", [{1: 2}, [1], {1}, object(), UserError], ids=lambda value: type(value).__name__)
def test_a_value_that_code_can_t_hold_is_named(value: Any) -> None:
    where = r"compiled functions can refer to numbers, .* \(rules.py, line 1\)$"
    with pytest.raises(UserError, match=f"^'f' refers to 'VALUE', a {type(value).__name__}; {where}"):
        compiled(define("def f(x): return x if VALUE else 1", VALUE=value))
    with pytest.raises(UserError, match=f"^'g' refers to its default values, a {type(value).__name__}; {where}"):
        compiled(define("def g(x, y=VALUE): return x\ndef f(x): return g(x)", VALUE=value))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def f(x, *, y=2): return x", "'f' has keyword arguments; expected plain ones (rules.py, line 1)"),
        ("def f(x): return g(x, y=1)\ndef g(x, *, y): return x", "'g' has keyword arguments; expected plain ones"),
        ("def f(**x): return 1", "'f' has keyword arguments; expected plain ones (rules.py, line 1)"),
        ("def f(x): return x + 1180591620717411303424", "'f' refers to a number, 1180591620717411303424; expected at most 64 bits"),
        ("BIG = 2**64\ndef f(x): return x + BIG", "'f' refers to 'BIG', 18446744073709551616; expected at most 64 bits"),
        ("def g(x): return x\nBOTH = g, g\ndef f(x): return BOTH[1](x)", "'f' refers to 'BOTH', a tuple of functions; name each"),
        ("class f: pass", "expected a Python function to compile, got <class 'rules.f'>"),
        ("f = None", "expected a Python function to compile, got None"),
    ],
)  # fmt: skip
def test_what_has_no_compiled_form_is_refused_when_compiled_is_called(text: str, message: str) -> None:
    with pytest.raises(UserError) as caught:
        compiled(define(text))
    assert str(caught.value).startswith(message)


def test_a_closure_that_is_not_complete_is_refused() -> None:
    def rule(x: Any) -> Any:
        return x + later

    with pytest.raises(UserError, match=r"^'rule' uses 'later' before it has a value \(test_compiler.py, line \d+\)$"):
        compiled(rule)
    later = 3
    assert compiled(rule)(1) == 4


@pytest.mark.parametrize(
    "value",
    [{1: 2}, object(), np.array([None]), affine(1), compiled(affine(1)), [].append],
    ids=lambda value: type(value).__name__ + getattr(value, "__name__", ""),
)
def test_an_argument_that_code_can_t_take_is_named(value: Any) -> None:
    with pytest.raises(
        UserError, match=rf"^'f' got a {type(value).__name__}( of object)? for 'b'; expected .* \(rules.py, line 1\)$"
    ):
        compiled(define("def f(a, b): return a"))(1, value)


def test_a_call_with_the_wrong_number_of_arguments_fails_as_python_s_does() -> None:
    for arguments in [(), (1, 2)]:
        with pytest.raises(TypeError, match=f"expected 1, got {len(arguments)}"):
            compiled(affine(1))(*arguments)


def test_a_corrected_mistake_compiles() -> None:
    function = define("def f(x): return g(x)\ndef g(x): return x + STEP")
    with pytest.raises(UserError, match="name 'STEP' is not defined"):
        compiled(function)(1)
    function.__globals__["STEP"] = 2
    assert compiled(function)(1) == 3


def test_an_array_over_a_megabyte_warns_and_works() -> None:
    def lookup(table: Any) -> Callable[[int], Any]:
        def rule(i: int) -> Any:
            return table[i]

        return rule

    small, large = np.arange(125_000), np.arange(125_001)
    assert compiled(lookup(small))(124_999) == 124_999
    for _ in range(2):
        with pytest.warns(
            UserWarning, match="'rule' compiles anew at each start: it holds an address .* array over 1 MB"
        ):
            assert compiled(lookup(large))(125_000) == 125_000


# ── reference counts ──

ALLOCATES = {
    "an array": ("def f(x):\n    y = np.zeros(x)\n    return y.sum() + x", 3.0),
    "a list": ("def f(x):\n    y = [1]\n    y.append(x)\n    return len(y)", 2),
    "in a function called": ("def f(x): return g(x)[1]\ndef g(x): return np.arange(x)", 1),
    "through a module and a tuple": ("def f(x): return m.g(x)[T[1]]", 2),
}


@pytest.mark.parametrize("case", ALLOCATES)
@pytest.mark.parametrize("checked", [False, True])
def test_what_allocates_compiles_too_and_the_next_process_does_not_try_without(
    case: str, checked: bool, kernels: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, expected = ALLOCATES[case]
    module = types.ModuleType("m")
    vars(module)["g"] = define("def f(x): return np.arange(x)", np=np)
    fast = [compiled(define(text, np=np, m=module, T=(1, 2)), checked=checked) for _ in range(2)]
    assert fast[0](3) == fast[0](3) == expected
    assert len(list(kernels.glob("*.kernel"))) == 2  # the code, and a note that it counts
    monkeypatch.setattr(compiler, "_announce", lambda *_: pytest.fail("compiled anew"))
    assert fast[1](3) == fast[1](3) == expected


def test_what_allocates_is_frozen_when_compiled_is_called_too() -> None:
    table, scope = np.arange(3), {"np": np}
    function = define("def f(x): return np.zeros(x).sum() + T[0] + g(x)\ndef g(x): return 1", T=table, **scope)
    fast = compiled(function)
    table[0] = 7
    function.__globals__["g"] = define("def f(x): return 5")
    assert fast(3) == 1.0


def test_a_kernel_of_a_game_counts_no_references(kernels: Path) -> None:
    """That costs a third of the speed: should a game's rules begin to allocate, this says so."""
    game = load("tic_tac_toe")
    game.perft(2)
    game.random_games(2, seed=1)
    assert not [path for path in kernels.glob("*.kernel") if path.read_bytes() == compiler._COUNTS]
