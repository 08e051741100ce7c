"""Plain Python functions as machine code: `fast = compiled(function)`, with a cache on disk that is never stale.

A function and everything plain that it refers to (closure variables, globals, recursively) are compiled together by numba, without
the GIL. There are no decorators, so the same source runs in three ways:

- `function` itself, interpreted: slow, exact, debuggable;
- `compiled(function)`: machine code, calls inlined;
- `compiled(function, checked=True)`: machine code that raises where an index leaves its array or a number is divided by zero.

**The cache.** numba's own disk cache never hits for closures over other compiled functions and is silently stale for functions of
another file. Ours is keyed by content: a hash over the byte code, the constants and the referenced values of every function
reached, with the versions and the CPU. So an edited rule takes effect at once in whatever file it is, options frozen into closures
get code of their own, and an edited comment compiles nothing. One file per key and signature; a damaged one is deleted and rebuilt,
and where nothing can be written, every process compiles for itself.

Three rules for callers. An entry point compiles once per combination of argument types, so pass the same dtypes and layouts each
time. A function may call itself, but two functions may not call each other. What a function refers to is read when `compiled` is called
and frozen into the code, arrays of up to a megabyte included: changing it later has no effect.

A content key in a subclass of numba's `FunctionCache` would not be enough:

- plain functions have to become dispatchers, recursively, with checked and unchecked code side by side;
- code from the disk can be called but not inlined, so an entry point and a function inside others are different dispatchers;
- kernels run a third faster without reference counts, which functions that allocate cannot do without;
- numba's index file is shared by all processes, its symbols are the same in different processes, and a damaged file stops each start;
- a mistake in the source is an error of forty lines, some of them without a place (`base/compile_errors.py`).
"""

from __future__ import annotations

import itertools
import os
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
from numba.core.codegen import JITCodeLibrary, RuntimeLinker
from numba.core.compiler import Compiler
from numba.core.errors import NumbaError, NumbaTypeSafetyWarning
from numba.core.registry import CPUDispatcher
from numba.core.typing.templates import make_concrete_template

from base import bits
from base.compile_errors import begin, explained, note
from base.content import function_key, hashed, is_own_module, is_plain, kind_of, plain, references, where
from base.errors import UserError
from base.kernel_cache import ContentCache, Progress

F = TypeVar("F", bound=Callable[..., Any])

_MOST_FROZEN = 10**6  # bytes; numba refers to a larger array by its address
_BITS = Path(bits.__file__).read_bytes()  # numba has intrinsics of its own for it

# About a uint64 that meets an int64: it names numba's own variables, and an error with the cause follows.
warnings.filterwarnings("ignore", category=NumbaTypeSafetyWarning)


def compiled(function: F, *, checked: bool = False, label: str = "") -> F:
    """`function` as machine code, to be called from Python. `label` is for the message on the screen while it compiles.

    A mistake in the source is a `UserError` at the first call: file, line and cause.
    """
    if config.DISABLE_JIT:
        return function
    return _Entry(function, checked, label)


def content_key(function: Callable[..., Any], checked: bool = False) -> str:
    """A hash of everything that determines what `function` computes: equal keys, equal code."""
    return _Translation(checked).key(plain(function))


# ── translation: plain functions become dispatchers ──────────────────────────────────────────────────────────────────────────────


class _Entry(CPUDispatcher):  # type: ignore[misc]
    """A compiled function as Python calls it: cached on disk, with errors of two lines.

    Other compiled functions inline another dispatcher (`_Inner`), because code from the disk can be called but not inlined.

    It is compiled without numba's reference counts, which cost kernels a third of their speed although they count nothing. A function
    that allocates needs them; it is compiled again with them.
    """

    def __init__(self, function: Callable[..., Any], checked: bool, label: str) -> None:
        self.source = source = plain(function)
        translation = _Translation(checked)
        copy = _empty_copy(source)
        super().__init__(copy, targetoptions=_options(checked))
        self._counting: dict[bool, _Counting] = {}
        # A dispatcher is registered before it is filled, and no other thread may use it until then.
        with _translating:
            self._cache = ContentCache(source, translation.key(source), label)
            translation.fill(copy, source, ())
            self._progress = Progress(label, source.__name__, translation.inners(source))

    def _compile_for_args(self, *arguments: Any, **keywords: Any) -> Any:
        _check_arguments(self.source, arguments)
        self._progress.begin()
        try:
            return super()._compile_for_args(*arguments, **keywords)
        except (UserError, Warning):
            raise
        except Exception:
            return self._compile_counting(arguments, keywords)
        finally:
            self._progress.end()

    def add_overload(self, result: Any) -> None:
        super().add_overload(result)
        # Of the functions in it; those of code from the disk are set by numba itself.
        for environment in result._find_referenced_environments():
            result.library.codegen.set_env(environment.env_name, environment)

    def _compile_counting(self, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """With reference counts: its functions as parts, or whole where a part is refused."""
        for whole in (False, True):
            with _translating:
                if whole not in self._counting:
                    self._counting[whole] = _Counting(self, whole)
                counting = self._counting[whole]
            refused = _Part.refused
            begin()
            _forget_failures()
            try:
                entry = counting._compile_for_args(*arguments, **keywords)
            except (UserError, Warning):
                raise
            except Exception as error:  # not all of numba's errors are wrapped; all are about the source
                if whole or _Part.refused == refused:
                    raise UserError(explained(error, self.source)) from error
            else:
                break
        for kinds, result in counting.overloads.items():
            if kinds not in self.overloads:
                self.add_overload(result)
                self._cache.note_counting(kinds, self.targetctx)
        return entry


class _Counting(CPUDispatcher):  # type: ignore[misc]
    """The same entry with reference counts."""

    def __init__(self, entry: _Entry, whole: bool) -> None:
        copy = _empty_copy(entry.source)
        super().__init__(copy, targetoptions=entry.targetoptions | {"_nrt": True})
        self._cache = entry._cache.of_counting()
        _fill_counting(copy, entry.py_func, whole)


class _Part(JITCodeLibrary):  # type: ignore[misc]
    """The LLVM code of one inner function and of all that it calls, linked and otherwise as it was written.

    numba would optimize it, translate it to machine code and load that, although only an entry point's is ever called; the functions
    of a search are nested six deep, so each would be optimized six times. The entry point optimizes all of its parts at once.
    """

    refused = 0
    """How often one could not be made: of a function that is called by its address in this process."""

    def finalize(self) -> None:
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        if any(each.name.startswith(RuntimeLinker.PREFIX) for each in self._final_module.global_variables):
            _Part.refused += 1
            raise TypeError("a function that calls itself with other types is called by its address in this process")
        self._finalized = True


class _PartCompiler(Compiler):  # type: ignore[misc]
    """numba's compiler as far as LLVM code, without the wrappers through which Python and C would call the function."""

    def compile_extra(self, function: Any) -> Any:
        context, flags = self.state.targetctx, self.state.flags
        self.state.library = _Part(context.codegen(), function.__qualname__)
        flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
        result = super().compile_extra(function)
        entry = object()  # in the place of the function for Python: callers find the code by it
        context.insert_user_function(entry, result.fndesc, [result.library])
        return result._replace(entry_point=entry)


class _Inner(CPUDispatcher):  # type: ignore[misc]
    """A compiled function as other compiled functions call it: once per types of its arguments.

    numba would compile again for every constant argument. That is slow, and a `count(states, 0)` that calls `count(states, level + 1)`
    would be two overloads, one of them unknown to the cache. So a constant is a type of its own only where nothing else compiles.
    """

    def __init__(self, function: types.FunctionType, targetoptions: dict[str, Any], whole: bool = False) -> None:
        self._whole, self._counting = whole, dict[bool, _Inner]()
        super().__init__(function, targetoptions=targetoptions, pipeline_class=Compiler if whole else _PartCompiler)

    def add_overload(self, result: Any) -> None:
        """numba would also make it callable from Python."""
        if self._whole:
            super().add_overload(result)
        else:
            self.overloads[tuple(result.signature.args)] = result
        Progress.step()

    def is_compiled(self) -> bool:
        return bool(self.overloads) or any(each.is_compiled() for each in self._counting.values())

    def counting(self, whole: bool) -> _Inner:
        """The same with reference counts, and so are all functions that it calls: either all count or none."""
        if whole not in self._counting:
            copy = _empty_copy(self.py_func)
            self._counting[whole] = _Inner(copy, self.targetoptions | {"_nrt": True}, whole)
            _fill_counting(copy, self.py_func, whole)
        return self._counting[whole]

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """What these types compile to, and nothing else: numba would also try what was compiled for other types, and take a record that
        begins with the fields of another one, which two games may well have, for an extension of it, with a warning."""
        try:
            template, signature, types, rest = super().get_call_template(*_without_constants(args, kws))
        except NumbaError:
            try:
                template, signature, types, rest = super().get_call_template(args, kws)
            except Exception as error:
                note(error)
                raise
        if (found := self.overloads.get(tuple(types))) is not None:  # none yet where it calls itself
            template = make_concrete_template(template.__name__, template.key, [found.signature])
        return template, signature, types, rest

    def fold_argument_types(self, args: Any, kws: Any) -> Any:  # for a call of itself
        return super().fold_argument_types(*_without_constants(args, kws))


def _without_constants(args: Any, kws: Any) -> tuple[list[Any], dict[str, Any]]:
    return [numba.types.unliteral(kind) for kind in args], {name: numba.types.unliteral(kws[name]) for name in kws}


class _Translation:
    """A function and all that it calls become dispatchers, with the values of this moment: the code must be that of its key."""

    def __init__(self, checked: bool) -> None:
        self.checked = checked
        self._keys: dict[types.FunctionType, str] = {}

    def key(self, function: types.FunctionType) -> str:
        """A hash over everything that decides what `function` computes."""
        versions = sys.version_info[:3], numba.__version__, np.__version__, _BITS, config.OPT, config.BOUNDSCHECK
        return hashed(versions, _options(self.checked), function_key(function, self._keys))

    def inner(self, function: types.FunctionType, callers: tuple[types.FunctionType, ...]) -> _Inner:
        """The dispatcher of `function` as other compiled functions call it; one per content, so that each compiles once per process."""
        known = _inner_dispatchers.setdefault(function, {})
        key = self.checked, function_key(function, self._keys)
        if key not in known:
            copy = _empty_copy(function)
            known[key] = _Inner(copy, targetoptions=_options(self.checked))  # not yet filled: it may call itself
            try:
                self.fill(copy, function, callers)
            except BaseException:
                del known[key]
                raise
        return known[key]

    def inners(self, function: types.FunctionType) -> list[_Inner]:
        """The dispatchers of all functions that `function` calls, and those call; for the count on the screen."""
        return [
            known[key]
            for each, content in self._keys.items()
            if each is not function
            and (known := _inner_dispatchers.get(each)) is not None
            and (key := (self.checked, content)) in known
        ]

    def fill(
        self, copy: types.FunctionType, function: types.FunctionType, callers: tuple[types.FunctionType, ...]
    ) -> None:
        """Give `copy` what `function` refers to, with dispatchers in the place of plain functions."""
        scope: dict[str, Any] = {}
        for (*modules, name), value in references(function).items():
            holder = scope
            for module in modules:  # one of our own: numba has to find the dispatchers in it
                holder = vars(holder[module])
            holder[name] = self._translated(value, function, callers)
        for name, cell in zip(copy.__code__.co_freevars, copy.__closure__ or (), strict=True):
            cell.cell_contents = scope[name]
        copy.__globals__.update(scope)

    def _translated(self, value: Any, function: types.FunctionType, callers: tuple[types.FunctionType, ...]) -> Any:
        if is_plain(value):
            callee = plain(value)
            if callee is not function and callee in callers:
                raise UserError(
                    f"'{callee.__name__}' and '{function.__name__}' call each other; "
                    f"expected functions that at most call themselves ({where(function)})"
                )
            return self.inner(callee, (*callers, function))
        if isinstance(value, tuple):  # may hold arrays
            items = [self._translated(item, function, callers) for item in value]
            return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
        if isinstance(value, np.ndarray) and value.nbytes <= _MOST_FROZEN:
            return value.copy()
        return types.ModuleType(value.__name__) if is_own_module(value) else value


def _fill_counting(copy: types.FunctionType, function: types.FunctionType, whole: bool) -> None:
    """Give `copy` what `function`, which is filled, refers to, with the counting dispatchers."""

    def counting(value: Any) -> Any:
        if isinstance(value, _Inner):
            return value.counting(whole)
        if isinstance(value, tuple):
            items = [counting(item) for item in value]
            return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
        if is_own_module(value):
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
    """numba stores what failed to compile and raises it again with the places of the first time: where two games share a helper, the
    error of the second would name the file of the first. Within one compilation this saves trying everything twice."""
    with _translating:
        for known in _inner_dispatchers.values():
            for inner in known.values():
                for counting in inner._counting.values():
                    counting._compiler._failed_cache.clear()


def _empty_copy(function: types.FunctionType) -> types.FunctionType:
    """`function` with globals and closure of its own, still without values."""
    cells = tuple(types.CellType() for _ in function.__code__.co_freevars)
    scope = {"__builtins__": __builtins__, "__name__": __name__}
    copy = types.FunctionType(function.__code__, scope, function.__name__, function.__defaults__, cells)
    copy.__qualname__ = function.__qualname__
    # numba imports the module of code from the disk. That of the rules may have another name then, or be missing.
    copy.__module__ = __name__
    return copy


def _options(checked: bool) -> dict[str, Any]:
    model = "python" if checked else "numpy"  # numpy's: no check for division by zero
    return {"nopython": True, "nogil": True, "boundscheck": checked, "error_model": model, "_nrt": False}


def _check_arguments(function: types.FunctionType, arguments: tuple[Any, ...]) -> None:
    for name, value in zip(function.__code__.co_varnames, arguments, strict=False):
        try:
            kind = numba.typeof(value)
        except ValueError:
            kind = None
        # A function is a type of its own, by address: the code would be for this function alone.
        if kind is None or not kind.is_precise() or isinstance(kind, numba.types.Callable):
            raise UserError(
                f"'{function.__name__}' got {kind_of(value)} for '{name}'; "
                f"expected a number, an array or a record of numbers, a tuple or a text ({where(function)})"
            )


# ── symbols ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _start_symbols_at_random() -> None:
    """Symbols are qualified name + a per-process counter + types: two games of one factory, cached by two processes, would share
    one, and the code of the first to be loaded would silently run for both. A random start prevents that."""
    FunctionIdentity._unique_ids = itertools.count(secrets.randbits(40))


def _start_anew_in_child() -> None:
    global _translating
    _translating = threading.Lock()  # another thread of the parent may have held it
    _start_symbols_at_random()


_start_symbols_at_random()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_anew_in_child)
