"""A lock for compiled code: threads that share memory for a microsecond at a time.

>>> lock = new_lock()
>>> acquire(lock)            # in compiled code without the GIL
>>> ...
>>> release(lock)

Waiting threads try again and again, and let others run in between, so the lock is for short sections only. What a thread writes before
`release` is seen by the next one after `acquire`. It is not re-entrant.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from base.content import hashed

Lock = np.ndarray[Any, np.dtype[np.int64]]

_TRIES = 64  # before other threads are let run
_KEY = hashed(Path(__file__).read_bytes())
_WORD = ir.IntType(64)


def new_lock() -> Lock:
    """Free; alone in its cache line."""
    return np.zeros(16, np.int64)[8:9]


def _lock_type(arguments: Any, emit: Callable[[Any, Any], Any], result: Any) -> Any:
    """An intrinsic's signature and code: `emit(builder, pointer)` to the lock's word."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        pointer = context.make_array(signature.args[0])(context, builder, values[0]).data
        return emit(builder, pointer) or context.get_dummy_value()

    return result(arguments), generate


@intrinsic  # type: ignore[untyped-decorator]
def try_acquire(_typing: Any, lock: Any) -> Any:
    """Whether it was free; then it is taken."""

    def emit(builder: Any, pointer: Any) -> Any:
        before = builder.atomic_rmw("xchg", pointer, ir.Constant(_WORD, 1), "seq_cst")
        return builder.icmp_signed("==", before, ir.Constant(_WORD, 0))

    return _lock_type(lock, emit, types.boolean)


@intrinsic  # type: ignore[untyped-decorator]
def let_others_run(_typing: Any, lock: Any) -> Any:
    def emit(builder: Any, pointer: Any) -> None:
        function = ir.FunctionType(ir.IntType(32), [])
        builder.call(cgutils.get_or_insert_function(builder.module, function, "sched_yield"), [])

    return _lock_type(lock, emit, types.none)


@intrinsic  # type: ignore[untyped-decorator]
def release(_typing: Any, lock: Any) -> Any:
    def emit(builder: Any, pointer: Any) -> None:
        builder.atomic_rmw("xchg", pointer, ir.Constant(_WORD, 0), "seq_cst")

    return _lock_type(lock, emit, types.none)


try_acquire.content_key = let_others_run.content_key = release.content_key = _KEY


def acquire(lock: Lock) -> None:
    """Wait until it is free, and take it."""
    tries = 0
    while not try_acquire(lock):
        tries += 1
        if tries % _TRIES == 0:
            let_others_run(lock)
