"""Compiled rules compute what the interpreted source computes; a mistake in them is an error of two lines."""

import re
import textwrap
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from compiling import PROJECT, affine, define, hits, run, write
from numba.core.codegen import JITCodeLibrary

from base import kernel_cache
from base.compiler import compiled
from base.errors import UserError
from base.seeds import below
from games import load


@pytest.fixture(autouse=True)
def kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the test's own; the folder of its kernels."""
    monkeypatch.setenv("ZERMELO_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(kernel_cache, "_announced", set())
    return tmp_path / "cache" / "kernels"


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


def test_machine_code_is_made_once_of_the_entry_point_with_all_that_it_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    monkeypatch.setattr(
        JITCodeLibrary,
        "_finalize_specific",
        lambda library, finalize=JITCodeLibrary._finalize_specific: (made.append(library.name), finalize(library)),
    )
    rule = affine(3, 5)
    assert compiled(lambda x: rule(x) + rule(x + 1))(7) == 3 * 7 + 5 + 3 * 8 + 5
    assert [name for name in made if "affine" in name or "lambda" in name] == [made[-1]] and "lambda" in made[-1]


def test_a_function_within_a_kernel_raises_its_own_error() -> None:
    scope = define(
        """
        def inner(x):
            if x > 3:
                raise ValueError("too large", x)
            return x
        def f(x):
            return inner(x) + inner(x + 1)
        """,
        "f",
    )
    for each in (compiled(scope), compiled(scope)):  # compiled, and from the disk
        assert each(1) == 3
        with pytest.raises(ValueError, match="too large") as error:
            each(3)
        assert error.value.args == ("too large", 4)


def test_a_long_compilation_is_counted_on_the_screen(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Functions done, of those that are to be compiled, and seconds: a line now and then, none for what takes no time."""
    assert compiled(affine(3, 5), label="short")(7) == 26
    assert capfd.readouterr().err == "compiling short (first run only) …\n"
    monkeypatch.setattr(kernel_cache, "PROGRESS", 0.0)
    rule, shared = affine(3, 6), affine(3, 5)
    assert compiled(lambda x: rule(x) + shared(x), label="long")(7) == 27 + 26
    lines = capfd.readouterr().err.splitlines()
    assert lines[0] == "compiling long (first run only) …"
    counted = [re.fullmatch(r"compiling long: <lambda>, (\d) of (\d) functions, \d+ s …", line) for line in lines[1:]]
    assert [(found[1], found[2]) for found in counted if found] == [(str(i), "4") for i in range(1, 5)]
    assert compiled(lambda x: rule(x) + shared(x), label="long")(7) == 27 + 26  # from the disk
    assert capfd.readouterr().err == ""


def test_nested_functions_generators_defaults_and_njit_still_compile() -> None:
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
        "exceptions can be caught only by `except Exception`",
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
        "what 'found' holds is unknown: nothing is ever put into it",
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
def test_a_mistake_is_two_lines_with_file_line_and_cause(
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


def test_a_wrong_argument_of_a_helper_in_base_is_a_mistake_of_its_caller(tmp_path: Path) -> None:
    text = "def f(x):\n    y = x\n    return g(y)\ndef g(x):\n    return below(x, 3)  # here"
    with pytest.raises(UserError, match=r"my game\.py, line 5: can't be compiled\nno such operation for these types: "):
        compiled(define(text, file=str(tmp_path / "my game.py"), below=below))(1)


def test_mistakes_of_two_files_in_calls_of_one_helper_name_each_its_own_file() -> None:
    """numba stores failures with the places of the first one."""
    texts = ["def f(x):\n    return below(x, 3)", "def f(x):\n    y = x\n    return below(y, 3)"]
    for text, file, line in [(texts[0], "one.py", 2), (texts[1], "two.py", 3), (texts[0], "three.py", 2)]:
        with pytest.raises(UserError, match=rf"^/games/{file}, line {line}: can't be compiled\nno such operation"):
            compiled(define(text, file=f"/games/{file}", below=below))(1)


@pytest.mark.parametrize("value", [{1: 2}, [1], {1}, object(), UserError], ids=lambda value: type(value).__name__)
def test_a_value_that_compiled_code_cannot_refer_to_is_named(value: Any) -> None:
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
def test_functions_without_a_compiled_form_are_refused_when_compiled_is_called(text: str, message: str) -> None:
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
def test_an_argument_that_compiled_code_cannot_take_is_named(value: Any) -> None:
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


def test_a_helper_compiled_for_a_record_takes_a_longer_one_that_begins_alike_without_a_warning() -> None:
    """Two games in one process may well have such states; numba took the second for an extension of the first."""

    def node_of(state: Any) -> Any:
        return state.node

    def entry(states: Any) -> Any:
        return node_of(states[0])

    short = np.dtype((np.record, np.dtype([("node", np.int32)], align=True)))
    long = np.dtype((np.record, np.dtype([("node", np.int32), ("counts", np.int32, 3)], align=True)))
    assert [compiled(entry)(np.ones(1, kind)) for kind in (short, long, short)] == [1, 1, 1]


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
def test_a_function_that_allocates_compiles_too_and_the_next_process_does_not_try_without_counts(
    case: str, checked: bool, kernels: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, expected = ALLOCATES[case]
    module = types.ModuleType("m")
    vars(module)["g"] = define("def f(x): return np.arange(x)", np=np)
    fast = [compiled(define(text, np=np, m=module, T=(1, 2)), checked=checked) for _ in range(2)]
    assert fast[0](3) == fast[0](3) == expected
    assert len(list(kernels.glob("*.kernel"))) == 2  # the code, and a note that it counts
    monkeypatch.setattr(kernel_cache, "_announce", lambda *_: pytest.fail("compiled anew"))
    assert fast[1](3) == fast[1](3) == expected


def test_values_of_a_function_that_allocates_are_frozen_when_compiled_is_called() -> None:
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
    assert not [path for path in kernels.glob("*.kernel") if path.read_bytes() == kernel_cache.COUNTS]
