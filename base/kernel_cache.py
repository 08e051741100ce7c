"""Machine code on disk, behind numba's cache protocol: one checksummed file per content key and signature, no shared index.

A damaged file is deleted and rebuilt. Where nothing can be written, every process compiles for itself. Used by `base/compiler.py`.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import multiprocessing
import os
import pickle
import sys
import threading
import time
import types
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import CompileResultCacheImpl, _Cache
from numba.core.codegen import RuntimeLinker
from numba.core.compiler import CompileResult
from numba.core.runtime import rtsys
from numba.core.serialize import dumps
from numba.cpython import hashing as _hashing  # noqa: F401  machine code may name its symbols

from base.content import hashed
from base.files import cache_folder, remove_leftovers, write_bytes

MAGIC = b"zermelo kernel 1\n"
COUNTS = b"zermelo kernel that allocates\n"
_MOST = 1 << 30  # bytes kept on disk, some 10,000 kernels; beyond that the least recently used go
_EVERY = 50  # a process looks at its first new kernel and at each of so many whether there are more


class ContentCache(_Cache):  # type: ignore[misc]
    """numba's cache protocol. `key` covers everything that the code depends on except the types of the arguments."""

    def __init__(self, function: types.FunctionType, key: str, label: str) -> None:
        self._function, self._key, self._label = function, key, label

    @property
    def cache_path(self) -> str:
        return str(cache_folder("kernels"))

    def _path(self, signature: Any, target: Any) -> Path:
        key = hashed(self._key, [_spelled(kind) for kind in signature], target.codegen().magic_tuple())
        return cache_folder("kernels") / f"{self._function.__name__.strip('<>')}-{key[:40]}.kernel"

    def load_overload(self, signature: Any, target: Any) -> CompileResult | None:
        # Instead of `target.refresh()`, which imports all that compiling may take and costs more than the rest of a start.
        rtsys.initialize(target)
        with contextlib.suppress(OSError):  # no such file, or no folder
            path = self._path(signature, target)
            data = path.read_bytes()
            if data == COUNTS:
                raise Allocates
            try:
                result = CompileResult._rebuild(target, *pickle.loads(_payload(data)))
            except Exception:  # damaged in any way: it is compiled again
                path.unlink()
            else:
                with contextlib.suppress(OSError):  # another user's file
                    os.utime(path)
                return result
        _compiling.add(threading.get_ident())
        _announce(self._label, self._function.__name__)
        return None

    def of_counting(self) -> ContentCache:
        """The cache of the same code with reference counts."""
        return ContentCache(self._function, hashed(self._key, "counting"), self._label)

    def note_counting(self, signature: Any, target: Any) -> None:
        """So that the next process does not try to compile without them first."""
        with contextlib.suppress(OSError):
            write_bytes(self._path(signature, target), COUNTS)

    def save_overload(self, signature: Any, result: Any) -> None:
        if reason := _uncachable(result.library):
            warnings.warn(f"'{self._function.__name__}' compiles anew at each start: {reason}", stacklevel=2)
            return
        try:
            payload = dumps(CompileResultCacheImpl.reduce(self, result))
            path = self._path(signature, result.target_context)
            write_bytes(path, MAGIC + hashlib.sha256(payload).digest() + payload)
            if next(_saved) % _EVERY == 0:
                _prune(path.parent)
        except Exception as error:  # a full disk, for example, must not stop a search
            warnings.warn(f"compiled code is not kept: {error}", stacklevel=2)

    def enable(self) -> None:
        """Part of numba's protocol; this cache is always on."""

    def disable(self) -> None:
        """Part of numba's protocol; this cache is always on."""

    def flush(self) -> None:
        """Part of numba's protocol; content keys never go stale."""


class Allocates(Exception):
    """Internal: the function is known not to compile without reference counts."""


def _payload(data: bytes) -> bytes:
    head, checksum, payload = data[: len(MAGIC)], data[len(MAGIC) : len(MAGIC) + 32], data[len(MAGIC) + 32 :]
    if head != MAGIC or checksum != hashlib.sha256(payload).digest():
        raise ValueError("damaged")
    return payload


def _spelled(kind: Any) -> object:
    """A type as text; numba's own text omits the field names of a NamedTuple."""
    if isinstance(kind, numba.types.BaseTuple):
        return type(kind).__name__, getattr(kind, "fields", ()), [_spelled(item) for item in kind.types]
    return str(kind)


def _uncachable(library: Any) -> str:
    """Why the machine code is valid in this process alone; empty where it is valid in others."""
    if library.has_dynamic_globals:
        return "it holds an address of this process, as of an array over 1 MB"
    for variable in library._final_module.global_variables:
        if variable.name.startswith(RuntimeLinker.PREFIX):  # filled in by this process alone; another one would crash
            return "a function in it calls itself with other types than it was called with; cast the arguments of its first call"
    return ""


_saved = itertools.count()


def _prune(folder: Path) -> None:
    remove_leftovers(folder)
    used = []
    for file in folder.glob("*.kernel"):
        with contextlib.suppress(OSError):  # another process may prune too
            about = file.stat()
            used.append((about.st_mtime, about.st_size, file))
    size = sum(each for _, each, _ in used)
    if size <= _MOST:
        return
    for _, freed, file in sorted(used):
        if size <= _MOST * 9 // 10:
            return
        with contextlib.suppress(OSError):
            file.unlink()
        size -= freed


PROGRESS = 10.0  # seconds between two lines about a compilation that takes long
_announced: set[str] = set()
_here = threading.local()
_compiling: set[int] = set()  # threads


class Progress:
    """Counts the functions of an entry point on the screen while they compile. `parts` are their dispatchers."""

    def __init__(self, label: str, name: str, parts: Sequence[Any]) -> None:
        self._label, self._name, self._parts = label, name, parts

    def begin(self) -> None:
        """What this thread compiles from now on is of this entry point."""
        self._to_do = [part for part in self._parts if not part.is_compiled()]
        self._start = self._shown = time.monotonic()
        _here.progress = self

    def end(self) -> None:
        """This thread has the entry point."""
        _compiling.discard(threading.get_ident())

    @staticmethod
    def step() -> None:
        """This thread has compiled a function."""
        progress = getattr(_here, "progress", None)
        if progress is not None:
            progress._step()

    def _step(self) -> None:
        now = time.monotonic()
        if now - self._shown < PROGRESS or _is_silent() or not self._label:
            return
        self._shown = now
        done = sum(part.is_compiled() for part in self._to_do)
        total, seconds = len(self._to_do), now - self._start
        _say(f"compiling {self._label}: {self._name}, {done} of {total} functions, {seconds:.0f} s …")


def is_compiling() -> bool:
    """Whether a thread of this process makes machine code now, for which others have to wait."""
    return bool(_compiling)


def _announce(label: str, name: str) -> None:
    """Once per label; without a label only as the first message."""
    if label in _announced or (_announced and not label) or _is_silent():
        return
    _announced.add(label)
    _say(f"compiling {label or name} (first run only) …")


def _is_silent() -> bool:
    """Workers print nothing: the command that started them does."""
    return multiprocessing.parent_process() is not None


def _say(line: str) -> None:
    with contextlib.suppress(OSError):  # stderr is closed
        print(line, file=sys.stderr, flush=True)
