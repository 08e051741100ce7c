"""Plain Python functions at machine speed: `fast = compiled(function)`, with a cache on disk that is never stale.

A function and everything plain that it refers to (closure variables, globals, recursively) are compiled together by numba, without
the GIL. Nobody writes a decorator, so one source serves three ways of running:

- `function` itself, interpreted: slow, exact, debuggable;
- `compiled(function)`: machine code, calls inlined;
- `compiled(function, checked=True)`: machine code that raises where an index leaves its array or a number is divided by zero.

**The cache.** numba's own disk cache never hits for closures over other compiled functions and is silently stale for functions of
another file. Ours is keyed by content: a hash over the byte code, the constants and the referenced values of every function
reached, with the versions and the CPU. So an edited rule takes effect at once wherever it stands, options frozen into closures
get code of their own, and an edited comment costs nothing. One file per key and signature; a damaged one is deleted and rebuilt, and
where nothing can be kept, every process compiles for itself.

Three things a caller must know. An entry point compiles once per combination of argument types, so hand it the same dtypes and
layouts each time. A function may call itself, but two functions may not call each other. What a function refers to is read when
`compiled` is called and frozen into the code, arrays of up to a megabyte included: changing it later changes nothing.
"""

from __future__ import annotations

import contextlib
import dis
import functools
import hashlib
import inspect
import itertools
import multiprocessing
import os
import pickle
import secrets
import sys
import threading
import types
import warnings
from collections.abc import Callable
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
from numba.core.errors import NumbaError, NumbaTypeSafetyWarning
from numba.core.registry import CPUDispatcher
from numba.core.serialize import dumps

from base import bits
from base.errors import UserError
from base.explaining import begin, explained, note
from base.files import cache_folder, remove_leftovers, write_bytes

F = TypeVar("F", bound=Callable[..., Any])

_MAGIC = b"zermelo kernel 1\n"
_COUNTS = b"zermelo kernel that allocates\n"
_KEEP = 2000  # kernels kept on disk; beyond that the least recently used go
_MOST_FROZEN = 10**6  # bytes; numba refers to a larger array by its address
_BITS = Path(bits.__file__).read_bytes()  # its code reaches numba by a way of its own
_FOREIGN = {"numba", "numpy", "math", "builtins", "cmath", "operator"}  # numba itself knows what these packages hold

# Its lines about a uint64 that meets an int64 name numba's own variables, and stand before an error that says more.
warnings.filterwarnings("ignore", category=NumbaTypeSafetyWarning)


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

    It is a dispatcher apart from the one that other compiled functions inline (`_Inner`), because code that comes from the disk
    can be called but no longer inlined.

    It is compiled without numba's reference counts, which cost kernels a third of their speed although they have nothing to count.
    What allocates has no such form: then the same is compiled with them.
    """

    def __init__(self, function: Callable[..., Any], checked: bool, label: str) -> None:
        self.source = source = _plain(function)
        translation = _Translation(checked)
        copy = _empty_copy(source)
        super().__init__(copy, targetoptions=_options(checked))
        self._counting: _Counting | None = None
        # A dispatcher is known before it is filled, and must not be taken by another thread until then.
        with _translating:
            self._cache = _ContentCache(source, translation.key(source), label)
            translation.fill(copy, source, ())

    def _compile_for_args(self, *arguments: Any, **keywords: Any) -> Any:
        _check_arguments(self.source, arguments)
        try:
            return super()._compile_for_args(*arguments, **keywords)
        except (UserError, Warning):
            raise
        except Exception:
            return self._compile_counting(arguments, keywords)

    def _compile_counting(self, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        if self._counting is None:
            with _translating:
                self._counting = _Counting(self)
        begin()
        _forget_failures()
        try:
            entry = self._counting._compile_for_args(*arguments, **keywords)
        except (UserError, Warning):
            raise
        except Exception as error:  # numba lets some errors of its own pass bare; all are about the source
            raise UserError(explained(error, self.source)) from error
        for kinds, result in self._counting.overloads.items():
            if kinds not in self.overloads:
                self.add_overload(result)
                self._cache.note_counting(kinds, self.targetctx)
        return entry


class _Counting(CPUDispatcher):  # type: ignore[misc]
    """The same entry with reference counts."""

    def __init__(self, entry: _Entry) -> None:
        copy = _empty_copy(entry.source)
        super().__init__(copy, targetoptions=entry.targetoptions | {"_nrt": True})
        self._cache = entry._cache.of_counting()
        _fill_counting(copy, entry.py_func)


class _Inner(CPUDispatcher):  # type: ignore[misc]
    """A compiled function as other compiled functions call it: once per types of its arguments.

    numba would compile anew for every constant given. That is slow, and a `count(states, 0)` that calls `count(states, level + 1)`
    would be one of two overloads, the other unknown to the cache. Only where nothing else works is a constant a type of its own.
    """

    _counting: _Inner | None = None

    def counting(self) -> _Inner:
        """The same with reference counts, and so all that it calls: numbers of references are kept by all or none."""
        if self._counting is None:
            copy = _empty_copy(self.py_func)
            self._counting = _Inner(copy, targetoptions=self.targetoptions | {"_nrt": True})
            _fill_counting(copy, self.py_func)
        return self._counting

    def get_call_template(self, args: Any, kws: Any) -> Any:
        with contextlib.suppress(NumbaError):
            return super().get_call_template(*_without_constants(args, kws))
        try:
            return super().get_call_template(args, kws)
        except Exception as error:
            note(error)
            raise

    def fold_argument_types(self, args: Any, kws: Any) -> Any:  # of a call of itself
        return super().fold_argument_types(*_without_constants(args, kws))


def _without_constants(args: Any, kws: Any) -> tuple[list[Any], dict[str, Any]]:
    return [numba.types.unliteral(kind) for kind in args], {name: numba.types.unliteral(kws[name]) for name in kws}


class _Translation:
    """What becomes of a function and all that it calls, as they are at this moment: later changes change nothing, or the code
    would not be what its key says."""

    def __init__(self, checked: bool) -> None:
        self.checked = checked
        self._keys: dict[types.FunctionType, str] = {}

    def key(self, function: types.FunctionType) -> str:
        """A hash over everything that decides what `function` computes."""
        versions = sys.version_info[:3], numba.__version__, np.__version__, _BITS, config.OPT, config.BOUNDSCHECK
        return _hash(versions, _options(self.checked), _function_key(function, self._keys))

    def inner(self, function: types.FunctionType, callers: tuple[types.FunctionType, ...]) -> _Inner:
        """The dispatcher of `function` as other compiled functions see it; one per content, so that each compiles once a process."""
        known = _inner_dispatchers.setdefault(function, {})
        key = self.checked, _function_key(function, self._keys)
        if key not in known:
            copy = _empty_copy(function)
            known[key] = _Inner(copy, targetoptions=_options(self.checked))  # not yet filled: it may call itself
            try:
                self.fill(copy, function, callers)
            except BaseException:
                del known[key]
                raise
        return known[key]

    def fill(
        self, copy: types.FunctionType, function: types.FunctionType, callers: tuple[types.FunctionType, ...]
    ) -> None:
        """Give `copy` what `function` refers to, with dispatchers in the place of plain functions."""
        scope: dict[str, Any] = {}
        for (*modules, name), value in _references(function).items():
            holder = scope
            for module in modules:  # one of our own, which numba is to find the dispatchers in
                holder = vars(holder[module])
            holder[name] = self._translated(value, function, callers)
        for name, cell in zip(copy.__code__.co_freevars, copy.__closure__ or (), strict=True):
            cell.cell_contents = scope[name]
        copy.__globals__.update(scope)

    def _translated(self, value: Any, function: types.FunctionType, callers: tuple[types.FunctionType, ...]) -> Any:
        if _is_plain(value):
            callee = _plain(value)
            if callee is not function and callee in callers:
                raise UserError(
                    f"'{callee.__name__}' and '{function.__name__}' call each other; "
                    f"expected functions that at most call themselves ({_where(function)})"
                )
            return self.inner(callee, (*callers, function))
        if isinstance(value, tuple):  # which may hold arrays
            items = [self._translated(item, function, callers) for item in value]
            return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
        if isinstance(value, np.ndarray) and value.nbytes <= _MOST_FROZEN:
            return value.copy()
        return types.ModuleType(value.__name__) if _is_own_module(value) else value


def _fill_counting(copy: types.FunctionType, function: types.FunctionType) -> None:
    """Give `copy` what `function`, which is filled, refers to, with the counting dispatchers."""

    def counting(value: Any) -> Any:
        if isinstance(value, _Inner):
            return value.counting()
        if isinstance(value, tuple):
            items = [counting(item) for item in value]
            return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
        if _is_own_module(value):
            module = types.ModuleType(value.__name__)
            vars(module).update({name: counting(item) for name, item in vars(value).items()})
            return module
        return value

    copy.__globals__.update(
        {name: counting(value) for name, value in function.__globals__.items() if name not in copy.__globals__}
    )
    for cell, old in zip(copy.__closure__ or (), function.__closure__ or (), strict=True):
        cell.cell_contents = counting(old.cell_contents)


_inner_dispatchers: WeakKeyDictionary[Callable[..., Any], dict[tuple[bool, str], _Inner]] = WeakKeyDictionary()
_translating = threading.Lock()


def _forget_failures() -> None:
    """numba remembers what failed to compile and raises it again, with the places of the first time: where two games share a helper,
    the second would be told of the first one's file. Within one compilation that memory saves trying everything twice."""
    with _translating:
        for known in _inner_dispatchers.values():
            for inner in known.values():
                if inner._counting is not None:
                    inner._counting._compiler._failed_cache.clear()


def _empty_copy(function: types.FunctionType) -> types.FunctionType:
    """`function` with globals and closure of its own, still without values."""
    cells = tuple(types.CellType() for _ in function.__code__.co_freevars)
    scope = {"__builtins__": __builtins__, "__name__": __name__}
    copy = types.FunctionType(function.__code__, scope, function.__name__, function.__defaults__, cells)
    copy.__qualname__ = function.__qualname__
    # numba imports the module of code from the disk. The rules' own may have another name then, or not be there.
    copy.__module__ = __name__
    return copy


def _options(checked: bool) -> dict[str, Any]:
    model = "python" if checked else "numpy"  # numpy's: division by zero is not looked for
    return {"nopython": True, "nogil": True, "boundscheck": checked, "error_model": model, "_nrt": False}


def _plain(function: Any) -> types.FunctionType:
    """The Python source of a function, also of one that somebody has decorated with numba's own `njit`."""
    source = function.source if isinstance(function, _Entry) else getattr(function, "py_func", function)
    if not isinstance(source, types.FunctionType):
        raise UserError(f"expected a Python function to compile, got {function!r}")
    if source.__code__.co_kwonlyargcount or source.__code__.co_flags & inspect.CO_VARKEYWORDS:
        raise UserError(f"'{source.__name__}' has keyword arguments; expected plain ones ({_where(source)})")
    return source


def _check_arguments(function: types.FunctionType, arguments: tuple[Any, ...]) -> None:
    for name, value in zip(function.__code__.co_varnames, arguments, strict=False):
        try:
            kind = numba.typeof(value)
        except ValueError:
            kind = None
        # A function is a type of its own, by address: its code would fit no other one.
        if kind is None or not kind.is_precise() or isinstance(kind, numba.types.Callable):
            raise UserError(
                f"'{function.__name__}' got {_kind(value)} for '{name}'; "
                f"expected a number, an array or a record of numbers, a tuple or a text ({_where(function)})"
            )


def _kind(value: Any) -> str:
    return f"a {type(value).__name__}" + (f" of {value.dtype}" if isinstance(value, np.ndarray | np.generic) else "")


def _is_plain(value: Any) -> bool:
    if isinstance(value, Dispatcher):
        return True
    return isinstance(value, types.FunctionType) and not _is_foreign(value.__module__)


def _is_foreign(module: str | None) -> bool:
    return module is None or module.partition(".")[0] in _FOREIGN or module == bits.__name__


def _is_own_module(value: Any) -> bool:
    return isinstance(value, types.ModuleType) and not _is_foreign(value.__name__)


# ── references: what a function reads from outside ───────────────────────────────────────────────────────────────────────────────


def _references(function: types.FunctionType) -> dict[tuple[str, ...], Any]:
    """What `function` (or a function inside it) refers to, by path: ("LINES",), or ("helper", "f") through a module of ours.

    Builtins and names without a value are left out; a module comes before what it holds.
    """
    found: dict[tuple[str, ...], Any] = {}
    scope = function.__globals__ | _closure(function)
    for root, *rest in _paths(function.__code__):
        if root in scope:
            path, value = [root], scope[root]
            found[root,] = value
            while rest and _is_own_module(value) and hasattr(value, rest[0]):
                path.append(rest.pop(0))
                value = getattr(value, path[-1])
                found[tuple(path)] = value
    return found


@functools.cache
def _paths(code: types.CodeType) -> list[tuple[str, ...]]:
    """The names that `code` reads from outside, each with the attributes that it reads from there on."""
    found: set[tuple[str, ...]] = {(name,) for name in code.co_freevars}
    path: tuple[str, ...] = ()
    for instruction in dis.get_instructions(code):
        if instruction.opname == "LOAD_GLOBAL" or (
            instruction.opname == "LOAD_DEREF" and instruction.argval in code.co_freevars
        ):
            path = (instruction.argval,)
        elif instruction.opname in ("LOAD_ATTR", "LOAD_METHOD") and path:
            path = (*path, instruction.argval)
        else:
            path = ()
        if path:
            found.add(path)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found.update(path for path in _paths(constant) if path[0] not in code.co_cellvars)
    return sorted(found)


def _closure(function: types.FunctionType) -> dict[str, Any]:
    values = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            values[name] = cell.cell_contents
        except ValueError:
            raise UserError(f"'{function.__name__}' uses '{name}' before it has a value ({_where(function)})") from None
    return values


def _where(function: types.FunctionType) -> str:
    return f"{Path(function.__code__.co_filename).name}, line {function.__code__.co_firstlineno}"


# ── the key: what the machine code depends on ────────────────────────────────────────────────────────────────────────────────────


def content_key(function: Callable[..., Any], checked: bool = False) -> str:
    """A hash over everything that decides what `function` computes: equal keys, equal code."""
    return _Translation(checked).key(_plain(function))


def _hash(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def _function_key(function: types.FunctionType, known: dict[types.FunctionType, str]) -> str:
    """A hash over the code of `function` and over what it refers to; `known` keeps those of functions met on the way."""
    if function in known:
        return known[function]
    known[function] = "itself"
    digest = hashlib.sha256()

    def add(*parts: object) -> None:
        for part in parts:
            data = part if isinstance(part, bytes) else repr(part).encode()
            digest.update(len(data).to_bytes(8, "little") + data)

    def add_code(code: types.CodeType) -> None:
        add("code", code.co_code, code.co_exceptiontable, code.co_names, code.co_varnames, code.co_freevars)
        add(code.co_cellvars, code.co_argcount, code.co_posonlyargcount, code.co_flags, len(code.co_consts))
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                add_code(constant)
            elif isinstance(constant, int):
                add_value("a number", constant)
            else:
                add(sorted(map(repr, constant)) if isinstance(constant, frozenset) else constant)

    def add_value(name: str, value: Any) -> None:
        if _is_plain(value):
            add("function", _function_key(_plain(value), known))
        elif isinstance(value, types.ModuleType):
            add("module", value.__name__)
        elif isinstance(value, tuple):
            add("tuple", type(value).__qualname__, getattr(value, "_fields", ()), len(value))
            for item in value:
                if _is_plain(item):  # numba has them, slow and by address
                    raise UserError(
                        f"'{function.__name__}' refers to {name}, a tuple of functions; name each ({_where(function)})"
                    )
                add_value(name, item)
        elif isinstance(value, np.ndarray) and not value.dtype.hasobject:
            add("array", *_dtype_key(value.dtype), value.shape, value.tobytes())
        elif isinstance(value, np.dtype):
            add("dtype", *_dtype_key(value))
        elif isinstance(value, np.generic):
            add("scalar", *_dtype_key(value.dtype), value.tobytes())
        elif (
            isinstance(value, int) and not -(2**63) <= value < 2**64
        ):  # numba would take the lowest 64 bits, and say nothing
            raise UserError(
                f"'{function.__name__}' refers to {name}, {value}; expected at most 64 bits ({_where(function)})"
            )
        elif value is None or isinstance(value, bool | int | float | complex | str | bytes | numba.types.Type):
            add(type(value).__qualname__, value)
        elif _is_foreign(getattr(value, "__module__", "?")):
            add("foreign", value.__module__, getattr(value, "__qualname__", repr(value)))
        else:
            raise UserError(
                f"'{function.__name__}' refers to {name}, {_kind(value)}; compiled functions can refer to numbers, text, "
                f"tuples, numpy arrays and dtypes of numbers, and functions ({_where(function)})"
            )

    add("function", function.__name__)
    add_code(function.__code__)
    for path, value in _references(function).items():
        add(path)
        add_value(f"'{'.'.join(path)}'", value)
    add_value("its default values", function.__defaults__)
    known[function] = digest.hexdigest()
    return known[function]


def _dtype_key(dtype: np.dtype[Any]) -> tuple[object, ...]:
    return dtype.type.__qualname__, dtype, dtype.itemsize, dtype.fields and dict(dtype.fields)


# ── the cache ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────


class _ContentCache(_Cache):  # type: ignore[misc]
    """What numba asks of a cache, with one checksummed file per content key and signature, and no index to share."""

    def __init__(self, function: types.FunctionType, key: str, label: str) -> None:
        self._function, self._key, self._label = function, key, label

    @property
    def cache_path(self) -> str:
        return str(cache_folder("kernels"))

    def _path(self, signature: Any, target: Any) -> Path:
        key = _hash(self._key, [_spelled(kind) for kind in signature], target.codegen().magic_tuple())
        return cache_folder("kernels") / f"{self._function.__name__.strip('<>')}-{key[:40]}.kernel"

    def load_overload(self, signature: Any, target: Any) -> CompileResult | None:
        target.refresh()
        with contextlib.suppress(OSError):  # nothing is kept here, or there is nowhere to keep it
            path = self._path(signature, target)
            data = path.read_bytes()
            if data == _COUNTS:
                raise _Allocates
            try:
                result = CompileResult._rebuild(target, *pickle.loads(_payload(data)))
            except Exception:  # damaged in whatever way: the source is at hand, so build it again
                path.unlink()
            else:
                with contextlib.suppress(OSError):  # somebody else's file
                    os.utime(path)
                return result
        _announce(self._label, self._function.__name__)
        return None

    def of_counting(self) -> _ContentCache:
        """The cache of the same code with reference counts."""
        return _ContentCache(self._function, _hash(self._key, "counting"), self._label)

    def note_counting(self, signature: Any, target: Any) -> None:
        """So that the next process does not try in vain to do without."""
        with contextlib.suppress(OSError):
            write_bytes(self._path(signature, target), _COUNTS)

    def save_overload(self, signature: Any, result: Any) -> None:
        if reason := _uncachable(result.library):
            warnings.warn(f"'{self._function.__name__}' compiles anew at each start: {reason}", stacklevel=2)
            return
        try:
            payload = dumps(CompileResultCacheImpl.reduce(self, result))
            path = self._path(signature, result.target_context)
            write_bytes(path, _MAGIC + hashlib.sha256(payload).digest() + payload)
            _prune(path.parent)
        except Exception as error:  # a full disk, for one, must not stop a search: what was compiled works
            warnings.warn(f"compiled code is not kept: {error}", stacklevel=2)

    def enable(self) -> None:
        """Part of numba's protocol; this cache is always on."""

    def disable(self) -> None:
        """Part of numba's protocol; this cache is always on."""

    def flush(self) -> None:
        """Part of numba's protocol; content keys never go stale."""


class _Allocates(Exception):
    """Inside: known not to compile without reference counts."""


def _payload(data: bytes) -> bytes:
    head, checksum, payload = data[: len(_MAGIC)], data[len(_MAGIC) : len(_MAGIC) + 32], data[len(_MAGIC) + 32 :]
    if head != _MAGIC or checksum != hashlib.sha256(payload).digest():
        raise ValueError("damaged")
    return payload


def _spelled(kind: Any) -> object:
    """A type as text that says all; numba's own leaves out what the fields of a NamedTuple are called."""
    if isinstance(kind, numba.types.BaseTuple):
        return type(kind).__name__, getattr(kind, "fields", ()), [_spelled(item) for item in kind.types]
    return str(kind)


def _uncachable(library: Any) -> str:
    """Why the machine code means nothing outside this process; empty where it does."""
    if library.has_dynamic_globals:
        return "it holds an address of this process, as of an array over 1 MB"
    for variable in library._final_module.global_variables:
        if variable.name.startswith(RuntimeLinker.PREFIX):  # filled in by this process only: a crash in the next
            return "a function in it calls itself with other types than it was called with; cast the arguments of its first call"
    return ""


def _prune(folder: Path) -> None:
    remove_leftovers(folder)
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


def _announce(label: str, name: str) -> None:
    """Once per label; of what has none only where nothing was said yet. A worker leaves it to the command that started it."""
    if label in _announced or (_announced and not label) or multiprocessing.parent_process() is not None:
        return
    _announced.add(label)
    with contextlib.suppress(OSError):  # nobody reads it any more
        print(f"compiling {label or name} (first run only) …", file=sys.stderr, flush=True)


def _start_symbols_at_random() -> None:
    """Symbols are qualified name + a per-process counter + types: two games of one factory, cached by two processes, would share
    one, and the first to be loaded would silently play for both. A random start keeps them apart."""
    FunctionIdentity._unique_ids = itertools.count(secrets.randbits(40))


def _start_anew_in_child() -> None:
    global _translating
    _translating = threading.Lock()  # another thread of the parent may have held it
    _start_symbols_at_random()


_start_symbols_at_random()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_anew_in_child)
