"""What a compiled function depends on: everything that it refers to, and a hash of that, the key of the cache (`base/compiler.py`).

`references(function)` is what the function reads from outside; `function_key(function, {})` a hash over its byte code and, of
everything that it reaches, the constants and values. Equal keys, equal code: names of files, lines and comments do not count.
"""

from __future__ import annotations

import dis
import functools
import hashlib
import inspect
import types
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numba.core.dispatcher import Dispatcher

from base import bits
from base.errors import UserError

_FOREIGN = {
    "numba",
    "numpy",
    "math",
    "builtins",
    "cmath",
    "operator",
}  # numba has its own implementations of these packages


def plain(function: Any) -> types.FunctionType:
    """The Python function itself, also of one that is decorated with numba's `njit`."""
    source = getattr(function, "py_func", function)
    if isinstance(function, Dispatcher):  # our own dispatchers keep the function as it was given
        source = getattr(function, "source", source)
    if not isinstance(source, types.FunctionType):
        raise UserError(f"expected a Python function to compile, got {function!r}")
    if source.__code__.co_kwonlyargcount or source.__code__.co_flags & inspect.CO_VARKEYWORDS:
        raise UserError(f"'{source.__name__}' has keyword arguments; expected plain ones ({where(source)})")
    return source


def is_plain(value: Any) -> bool:
    if isinstance(value, Dispatcher):
        return True
    return isinstance(value, types.FunctionType) and not _is_foreign(value.__module__)


def _is_foreign(module: str | None) -> bool:
    return module is None or module.partition(".")[0] in _FOREIGN or module == bits.__name__


def is_own_module(value: Any) -> bool:
    return isinstance(value, types.ModuleType) and not _is_foreign(value.__name__)


def kind_of(value: Any) -> str:
    return f"a {type(value).__name__}" + (f" of {value.dtype}" if isinstance(value, np.ndarray | np.generic) else "")


# ── references: what a function reads from outside ───────────────────────────────────────────────────────────────────────────────


def references(function: types.FunctionType) -> dict[tuple[str, ...], Any]:
    """What `function` (or a function inside it) refers to, by path: ("LINES",), or ("helper", "f") through a module of ours.

    Builtins and names without a value are left out; a module comes before what it holds.
    """
    found: dict[tuple[str, ...], Any] = {}
    scope = function.__globals__ | _closure(function)
    for root, *rest in _paths(function.__code__):
        if root in scope:
            path, value = [root], scope[root]
            found[root,] = value
            while rest and is_own_module(value) and hasattr(value, rest[0]):
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
            raise UserError(f"'{function.__name__}' uses '{name}' before it has a value ({where(function)})") from None
    return values


def where(function: types.FunctionType) -> str:
    return f"{Path(function.__code__.co_filename).name}, line {function.__code__.co_firstlineno}"


# ── the key: what the machine code depends on ─────────────────────────────────────────────────────────────────────────────────────


def hashed(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def function_key(function: types.FunctionType, known: dict[types.FunctionType, str]) -> str:
    """A hash over the code of `function` and over what it refers to; `known` collects those of the functions that it calls."""
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
        if is_plain(value):
            add("function", function_key(plain(value), known))
        elif isinstance(value, types.ModuleType):
            add("module", value.__name__)
        elif isinstance(value, tuple):
            add("tuple", type(value).__qualname__, getattr(value, "_fields", ()), len(value))
            for item in value:
                if is_plain(item):  # numba has them, slow and by address
                    raise UserError(
                        f"'{function.__name__}' refers to {name}, a tuple of functions; name each ({where(function)})"
                    )
                add_value(name, item)
        elif isinstance(value, np.ndarray) and not value.dtype.hasobject:
            add("array", *_dtype_key(value.dtype), value.shape, value.tobytes())
        elif isinstance(value, np.dtype):
            add("dtype", *_dtype_key(value))
        elif isinstance(value, np.generic):
            add("scalar", *_dtype_key(value.dtype), value.tobytes())
        elif isinstance(value, int) and not -(2**63) <= value < 2**64:  # numba would silently take the lowest 64 bits
            raise UserError(
                f"'{function.__name__}' refers to {name}, {value}; expected at most 64 bits ({where(function)})"
            )
        elif value is None or isinstance(value, bool | int | float | complex | str | bytes | numba.types.Type):
            add(type(value).__qualname__, value)
        elif isinstance(getattr(value, "content_key", None), str):  # an intrinsic with a key of its own
            add("intrinsic", value.content_key)
        elif _is_foreign(getattr(value, "__module__", "?")):
            add("foreign", value.__module__, getattr(value, "__qualname__", repr(value)))
        else:
            raise UserError(
                f"'{function.__name__}' refers to {name}, {kind_of(value)}; compiled functions can refer to numbers, text, "
                f"tuples, numpy arrays and dtypes of numbers, and functions ({where(function)})"
            )

    add("function", function.__name__)
    add_code(function.__code__)
    for path, value in references(function).items():
        add(path)
        add_value(f"'{'.'.join(path)}'", value)
    add_value("its default values", function.__defaults__)
    known[function] = digest.hexdigest()
    return known[function]


def _dtype_key(dtype: np.dtype[Any]) -> tuple[object, ...]:
    return dtype.type.__qualname__, dtype, dtype.itemsize, dtype.fields and dict(dtype.fields)
