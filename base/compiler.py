"""Plain Python functions at machine speed: `fast = compiled(function)`, with a cache on disk that is never stale.

A function and everything plain that it refers to (closure variables, globals, recursively) are compiled together by numba, without
the GIL. Nobody writes a decorator, so one source serves three ways of running:

- `function` itself, interpreted: slow, exact, debuggable;
- `compiled(function)`: machine code, calls inlined;
- `compiled(function, checked=True)`: machine code that raises where an index leaves its array or a number is divided by zero.

**The cache.** numba's own disk cache never hits for closures over other compiled functions and is silently stale for functions of
another file. Ours is keyed by content: a hash over the byte code, the constants and the referenced values of every function
reached, with the versions and the CPU. So an edited rule takes effect at once wherever it stands, options frozen into closures
get code of their own, and an edited comment costs nothing. One file per key and signature; a damaged one is deleted and rebuilt.

Three things a caller must know. An entry point compiles once per combination of argument types, so hand it the same dtypes and
layouts each time. A function may call itself, but two functions may not call each other. Arrays that a function refers to are
constants: they are frozen into the code, and changing them later changes nothing.
"""

from __future__ import annotations

import contextlib
import dis
import hashlib
import itertools
import os
import pickle
import re
import secrets
import sys
import traceback
import types
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import numba
import numpy as np
from numba.core import config
from numba.core.bytecode import FunctionIdentity
from numba.core.caching import CompileResultCacheImpl, _Cache
from numba.core.codegen import RuntimeLinker
from numba.core.compiler import CompileResult
from numba.core.dispatcher import Dispatcher
from numba.core.errors import NumbaError
from numba.core.ir import Loc
from numba.core.registry import CPUDispatcher
from numba.core.serialize import dumps

from base import bits
from base.errors import UserError
from base.files import cache_folder, write_bytes

F = TypeVar("F", bound=Callable[..., Any])

_MAGIC = b"zermelo kernel 1\n"
_KEEP = 2000  # kernels kept on disk; beyond that the least recently used go
_FOREIGN = {"numba", "numpy", "math", "builtins", "cmath", "operator"}  # numba itself knows what these packages hold


def compiled(function: F, *, checked: bool = False, label: str = "") -> F:
    """`function` as machine code, to be called from Python. `label` is what the screen says is being compiled, where it must be.

    A mistake in the compiled source is a `UserError` at the first call: file, line and cause.
    """
    if config.DISABLE_JIT:
        return function
    return _Entry(function, checked, label)


# ── translation: plain functions become dispatchers ──────────────────────────────────────────────────────────────────────────────


class _Entry(CPUDispatcher):  # type: ignore[misc]
    """A compiled function as Python calls it: cached on disk, errors explained.

    It is a dispatcher apart from the one that other compiled functions inline (`_inner`), because code that comes from the
    disk can be called but no longer inlined.
    """

    def __init__(self, function: Callable[..., Any], checked: bool, label: str) -> None:
        source = _plain(function)
        copy = _empty_copy(source)
        super().__init__(copy, targetoptions=_options(checked))
        _fill(copy, source, checked, ())
        self._cache = _ContentCache(source, checked, label or source.__name__)

    def _compile_for_args(self, *arguments: Any, **keywords: Any) -> Any:
        try:
            return super()._compile_for_args(*arguments, **keywords)
        except UserError:
            raise
        except Exception as error:  # numba lets some errors of its own pass bare; all are about the source
            raise UserError(_explained(error)) from error


_inner_dispatchers: WeakKeyDictionary[Callable[..., Any], dict[bool, Dispatcher]] = WeakKeyDictionary()


def _inner(function: types.FunctionType, checked: bool, callers: tuple[types.FunctionType, ...]) -> Dispatcher:
    """The dispatcher of `function` as other compiled functions see it; one per function, so that each compiles once a process."""
    known = _inner_dispatchers.setdefault(function, {})
    if checked not in known:
        copy = _empty_copy(function)
        known[checked] = CPUDispatcher(copy, targetoptions=_options(checked))  # before it is filled: it may call itself
        try:
            _fill(copy, function, checked, callers)
        except BaseException:
            del known[checked]
            raise
    return known[checked]


def _empty_copy(function: types.FunctionType) -> types.FunctionType:
    """`function` with globals and closure of its own, still without values."""
    cells = tuple(types.CellType() for _ in function.__code__.co_freevars)
    scope = {"__builtins__": __builtins__, "__name__": function.__module__}
    copy = types.FunctionType(function.__code__, scope, function.__name__, function.__defaults__, cells)
    copy.__qualname__, copy.__module__ = function.__qualname__, function.__module__
    return copy


def _fill(
    copy: types.FunctionType, function: types.FunctionType, checked: bool, callers: tuple[types.FunctionType, ...]
) -> None:
    """Give `copy` what `function` refers to, with dispatchers in the place of plain functions."""

    def translated(value: Any) -> Any:
        if _is_plain(value):
            callee = _plain(value)
            if callee is not function and callee in callers:
                raise UserError(
                    f"'{callee.__name__}' and '{function.__name__}' call each other; "
                    f"expected functions that at most call themselves ({_where(function)})"
                )
            return _inner(callee, checked, (*callers, function))
        if isinstance(value, types.ModuleType) and not _is_foreign(value.__name__):
            proxy = types.ModuleType(value.__name__)
            for attribute in _attributes(function.__code__) & vars(value).keys():
                setattr(proxy, attribute, translated(getattr(value, attribute)))
            return proxy
        return value

    copy.__globals__.update((name, translated(value)) for name, value in _globals(function).items())
    for cell, value in zip(copy.__closure__ or (), _closure(function).values(), strict=True):
        cell.cell_contents = translated(value)


def _options(checked: bool) -> dict[str, Any]:
    model = "python" if checked else "numpy"  # numpy's: division by zero is not looked for
    return {"nopython": True, "nogil": True, "boundscheck": checked, "error_model": model}


def _plain(function: Any) -> types.FunctionType:
    """The Python source of a function, also of one that somebody has decorated with numba's own `njit`."""
    source = getattr(function, "py_func", function)
    if not isinstance(source, types.FunctionType):
        raise UserError(f"expected a Python function to compile, got {function!r}")
    return source


def _is_plain(value: Any) -> bool:
    if isinstance(value, Dispatcher):
        return True
    return isinstance(value, types.FunctionType) and not _is_foreign(value.__module__)


def _is_foreign(module: str | None) -> bool:
    return module is None or module.partition(".")[0] in _FOREIGN or module == bits.__name__


def _globals(function: types.FunctionType) -> dict[str, Any]:
    """The global names that `function` (or a function inside it) reads and their values, builtins left out."""
    names = sorted(
        {
            i.argval
            for code in _codes(function.__code__)
            for i in dis.get_instructions(code)
            if i.opname == "LOAD_GLOBAL"
        }
    )
    return {name: function.__globals__[name] for name in names if name in function.__globals__}


def _closure(function: types.FunctionType) -> dict[str, Any]:
    values = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            values[name] = cell.cell_contents
        except ValueError:
            raise UserError(f"'{function.__name__}' uses '{name}' before it has a value ({_where(function)})") from None
    return values


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def _attributes(code: types.CodeType) -> set[str]:
    return {name for part in _codes(code) for name in part.co_names}


def _where(function: types.FunctionType) -> str:
    return f"{Path(function.__code__.co_filename).name}, line {function.__code__.co_firstlineno}"


# ── the key: what the machine code depends on ────────────────────────────────────────────────────────────────────────────────────


def content_key(function: Callable[..., Any], checked: bool = False) -> str:
    """A hash over everything that decides what `function` computes: equal keys, equal code."""
    digest = hashlib.sha256()
    seen: dict[Any, int] = {}

    def add(*parts: object) -> None:
        for part in parts:
            data = part if isinstance(part, bytes) else repr(part).encode()
            digest.update(len(data).to_bytes(8, "little") + data)

    def add_code(code: types.CodeType) -> None:
        add(
            code.co_code,
            code.co_names,
            code.co_varnames,
            code.co_freevars,
            code.co_cellvars,
            code.co_argcount,
            code.co_flags,
        )
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                add_code(constant)
            else:
                add(sorted(map(repr, constant)) if isinstance(constant, frozenset) else constant)

    def add_function(function: types.FunctionType) -> None:
        if function in seen:
            add("seen", seen[function])
            return
        seen[function] = len(seen)
        add("function", function.__name__)
        add_code(function.__code__)
        for name, value in (_globals(function) | _closure(function)).items():
            add(name)
            add_value(function, name, value)
        add_value(function, "default values", function.__defaults__)

    def add_value(owner: types.FunctionType, name: str, value: Any) -> None:
        if _is_plain(value):
            add_function(_plain(value))
        elif isinstance(value, types.ModuleType):
            add("module", value.__name__)
            if not _is_foreign(value.__name__):
                for attribute in sorted(_attributes(owner.__code__) & vars(value).keys()):
                    add_value(owner, f"{name}.{attribute}", getattr(value, attribute))
        elif isinstance(value, tuple):
            add("tuple", type(value).__qualname__, len(value))
            for item in value:
                add_value(owner, name, item)
        elif isinstance(value, np.ndarray):
            add("array", value.dtype, value.shape, value.strides, value.tobytes())
        elif isinstance(value, np.dtype):
            add("dtype", value.type.__qualname__, value, value.itemsize, value.fields and dict(value.fields))
        elif isinstance(value, np.generic):
            add("scalar", value.dtype, value.tobytes())
        elif value is None or isinstance(value, bool | int | float | complex | str | bytes | numba.types.Type):
            add(type(value).__qualname__, value)
        elif _is_foreign(getattr(value, "__module__", "?")):
            add("foreign", value.__module__, getattr(value, "__qualname__", repr(value)))
        else:
            raise UserError(
                f"'{owner.__name__}' refers to '{name}', a {type(value).__name__}; compiled functions can refer to numbers, text, "
                f"tuples, numpy arrays and dtypes, and functions ({_where(owner)})"
            )

    add(
        sys.version_info[:3],
        numba.__version__,
        np.__version__,
        config.OPT,
        Path(bits.__file__).read_bytes(),
        _options(checked),
    )
    add_function(_plain(function))
    return digest.hexdigest()


# ── the cache ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────


class _ContentCache(_Cache):  # type: ignore[misc]
    """What numba asks of a cache, with one checksummed file per content key and signature, and no index to share."""

    def __init__(self, function: types.FunctionType, checked: bool, label: str) -> None:
        self._function, self._checked, self._label = function, checked, label
        self._key = content_key(function, checked)

    @property
    def cache_path(self) -> str:
        return str(cache_folder("kernels"))

    def _path(self, signature: Any, target: Any) -> Path:
        key = hashlib.sha256(repr((self._key, str(signature), target.codegen().magic_tuple())).encode()).hexdigest()
        return cache_folder("kernels") / f"{self._function.__name__}-{key[:40]}.kernel"

    def load_overload(self, signature: Any, target: Any) -> CompileResult | None:
        target.refresh()
        path = self._path(signature, target)
        try:
            data = path.read_bytes()
            payload = data[len(_MAGIC) + 32 :]
            if (
                data[: len(_MAGIC)] != _MAGIC
                or hashlib.sha256(payload).digest() != data[len(_MAGIC) : len(_MAGIC) + 32]
            ):
                raise ValueError("damaged")
            result = CompileResult._rebuild(target, *pickle.loads(payload))
            os.utime(path)
            return result
        except FileNotFoundError:
            pass
        except Exception:  # damaged in whatever way: the source is at hand, so build it again
            with contextlib.suppress(OSError):
                path.unlink()
        _announce(self._label)
        return None

    def save_overload(self, signature: Any, result: Any) -> None:
        if reason := _uncachable(result.library):
            warnings.warn(f"'{self._function.__name__}' compiles anew at each start: {reason}", stacklevel=2)
            return
        payload = dumps(CompileResultCacheImpl.reduce(self, result))
        path = self._path(signature, result.target_context)
        try:
            write_bytes(path, _MAGIC + hashlib.sha256(payload).digest() + payload)
            _prune(path.parent)
        except OSError as error:  # a full disk must not stop a search
            warnings.warn(f"compiled code is not kept: {error}", stacklevel=2)

    def enable(self) -> None:
        """Part of numba's protocol; this cache is always on."""

    def disable(self) -> None:
        """Part of numba's protocol; this cache is always on."""

    def flush(self) -> None:
        """Part of numba's protocol; content keys never go stale."""


def _uncachable(library: Any) -> str:
    """Why the machine code means nothing outside this process; empty where it does."""
    if library.has_dynamic_globals:
        return "it refers to an array over 1 MB"
    for variable in library._final_module.global_variables:
        if variable.name.startswith(
            RuntimeLinker.PREFIX
        ):  # an address that only this process fills in: a crash in the next
            return "a function in it calls itself with other types than it was called with; cast the arguments of its first call"
    return ""


def _prune(folder: Path) -> None:
    files = list(folder.glob("*.kernel"))
    if len(files) <= _KEEP:
        return
    used = []
    for file in files:
        with contextlib.suppress(OSError):  # another process may prune too
            used.append((file.stat().st_mtime, file))
    for _, file in sorted(used)[: len(used) - _KEEP * 9 // 10]:
        with contextlib.suppress(OSError):
            file.unlink()


_announced: set[str] = set()


def _announce(label: str) -> None:
    if label not in _announced:
        _announced.add(label)
        print(f"compiling {label} (first run only) …", file=sys.stderr, flush=True)


def _start_symbols_at_random() -> None:
    """Symbols are qualified name + a per-process counter + types: two games of one factory, cached by two processes, would share
    one, and the first to be loaded would silently play for both. A random start keeps them apart."""
    FunctionIdentity._unique_ids = itertools.count(secrets.randbits(40))


_start_symbols_at_random()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_symbols_at_random)


# ── errors ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

_PLACE = re.compile(r'File "(?P<file>[^"<]+)", line (?P<line>\d+)')
_NOISE = re.compile(
    r"Failed in|During:|File |\^|There (is|are) |Overload |Enable |Rejected |All templates|raised from|>>>"
)


def _explained(error: Exception) -> str:
    """Two lines out of numba's forty: file and line, and the cause."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", str(error))
    named = _PLACE.search(text)  # the innermost comes first
    place = f"{named['file']}, line {named['line']}" if named else _place_of(error)
    causes = [line.strip() for line in text.splitlines() if line.strip() and not _NOISE.match(line.strip())]
    cause = causes[0] if causes else ""
    if "No implementation of function" in cause:  # the call it failed on stands three lines below
        called = next((line for line in text.splitlines() if line.strip().startswith(">>>")), "")
        cause = f"no such operation for these types: {called.replace('>>>', '').strip()}"
    if not isinstance(error, NumbaError):
        cause = f"{type(error).__name__}: {cause}"
    return f"{place}: can't be compiled\n{cause}"


def _place_of(error: Exception) -> str:
    """Where the source stands that numba was looking at when it failed: the innermost location in the stack of its own functions."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    for frame in reversed(frames):
        for value in frame.f_locals.values():
            place = value if isinstance(value, Loc) else getattr(value, "loc", None)
            if isinstance(place, Loc) and place.line and not place.filename.startswith("<"):
                return f"{place.filename}, line {place.line}"
    return "compiled function"
