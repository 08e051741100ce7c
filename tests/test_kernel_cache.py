"""Compiled rules on disk: never stale, never another game's, never in the way. Laws about processes are checked with processes."""

import contextlib
import errno
import gc
import hashlib
import os
import subprocess
import sys
import threading
import time
from collections import namedtuple
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compiling import PROJECT, ROOT, affine, define, end, hits, run, start, write

from base import compiler, kernel_cache
from base.compiler import compiled, content_key
from base.errors import UserError
from base.local_workers import run_jobs


@pytest.fixture(autouse=True)
def kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the test's own; the folder of its kernels."""
    monkeypatch.setenv("ZERMELO_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(kernel_cache, "_announced", set())
    return tmp_path / "cache" / "kernels"


# ── what the cache may never do: be stale ──


def test_an_edit_in_any_file_takes_effect_at_once_and_a_comment_compiles_nothing(tmp_path: Path) -> None:
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


def test_compiling_is_announced_once_per_label_and_not_by_workers(capfd: pytest.CaptureFixture[str]) -> None:
    for number, label in enumerate(["a game", "", "a game", "another"]):
        compiled(affine(100 + number), label=label)(1)
    said = ["compiling a game (first run only) …", "compiling another (first run only) …"]
    assert capfd.readouterr().err.splitlines() == said
    assert sorted(run_jobs(compile_in_worker, [7, 8], workers=1)) == [(0, affine(7)(1)), (1, affine(8)(1))]
    assert capfd.readouterr().err == ""


def test_whether_code_is_compiled_now_can_be_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    monkeypatch.setattr(kernel_cache, "_announce", lambda label, name: found.append(kernel_cache.is_compiling()))
    assert compiled(affine(311))(1) == affine(311)(1)
    assert found and all(found) and not kernel_cache.is_compiling()


def test_changes_between_two_compilations_in_one_process_take_effect() -> None:
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


def test_values_are_frozen_when_compiled_is_called() -> None:
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


def test_two_threads_may_compile_functions_that_share_a_helper(monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_recursion_works_from_the_cache_or_is_compiled_again(tmp_path: Path) -> None:
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


def test_rules_hit_the_cache_under_any_module_name_importable_or_not(tmp_path: Path) -> None:
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


def test_of_modules_that_import_each_other_only_the_used_names_are_read(tmp_path: Path) -> None:
    """Regression: following every attribute name into every module never ended, and met lists that were not used."""
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


def test_a_damaged_file_is_rebuilt_at_any_offset_of_the_damage(kernels: Path) -> None:
    compiled(affine(3))(1)
    (file,) = kernels.glob("*.kernel")
    whole = file.read_bytes()
    pickled = kernel_cache.pickle.dumps(("not", "a", "kernel"))
    sealed = [b"", b"\0" * 100, pickled, whole[49:-20]]  # damage that came before the checksum
    damaged = [kernel_cache.MAGIC + hashlib.sha256(payload).digest() + payload for payload in sealed]
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
    started = [start(tmp_path, "run.py", number // 2) for number in range(processes)]
    assert [end(process)[0] for process in started] == [str(56 + number // 2) for number in range(processes)]
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


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write everywhere")
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

    monkeypatch.setattr(kernel_cache, "write_bytes", full)
    with pytest.warns(UserWarning, match="compiled code is not kept: .*No space left"):
        assert compiled(affine(3))(7) == 21


def test_no_cache_folder_at_all_stops_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere(*parts: str) -> Path:
        raise FileNotFoundError(errno.ENOENT, "No usable temporary directory")

    monkeypatch.setattr(kernel_cache, "cache_folder", nowhere)
    with pytest.warns(UserWarning, match="compiled code is not kept: .*No usable temporary"):
        assert compiled(affine(3))(7) == 21


def test_a_kernel_of_another_user_is_used_and_not_removed(kernels: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Regression: a file whose time could not be set counted as damaged and was removed."""
    compiled(affine(3))(1)

    def refuse(*_: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "utime", refuse)
    entry = compiled(affine(3))
    assert (entry(7), hits(entry), len(list(kernels.iterdir()))) == (21, 1, 1)


def test_a_warning_raised_as_an_error_is_not_reported_as_a_mistake_in_the_source() -> None:
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
    compiled(affine(3))(1)
    (used,) = kernels.glob("*.kernel")
    size = used.stat().st_size
    monkeypatch.setattr(kernel_cache, "_MOST", 10 * size + size // 2)
    monkeypatch.setattr(kernel_cache, "_EVERY", 1)
    os.utime(used, (0, 0))  # the oldest …
    for age in range(20):
        (kernels / f"{age}.kernel").write_bytes(bytes(size))
        os.utime(kernels / f"{age}.kernel", (10**9 - age, 10**9 - age))
    compiled(affine(3))(1)  # … but used again
    (kernels / f".{used.name}.{0:016x}.tmp").write_bytes(b"its writer was killed")
    compiled(affine(4))(1)  # saving prunes
    kept = {file.name for file in kernels.iterdir()}
    assert len(kept) == 9 and used.name in kept and {f"{age}.kernel" for age in range(7)} < kept
