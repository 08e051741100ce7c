"""Calling compiled code by its address, so that a kernel need not be compiled again for each function that it calls.

>>> address = address_of(judge, weights, scratch, observation, logits, utilities)      # compiles it for arguments of these types
>>> call_native(address, (weights, scratch, observation, logits, utilities))           # in compiled code only

A call costs some nanoseconds and is never inlined: worth it for a function that takes microseconds and takes seconds to compile, such
as a network's. The function returns nothing, and the arguments must have the types that it was compiled for.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from numba.core import cgutils, types
from numba.extending import intrinsic

from base.compiler import compiled
from base.content import hashed

_entries: list[Any] = []  # code stays in memory as long as its dispatcher


def address_of(function: Callable[..., None], *arguments: Any, label: str = "") -> int:
    """The address of `function`, compiled; it is called with the arguments once."""
    entry: Any = compiled(function, label=label)
    entry(*arguments)
    result = next(iter(entry.overloads.values()))
    _entries.append(entry)
    return int(result.library.get_pointer_to_function(result.fndesc.llvm_func_name))


@intrinsic  # type: ignore[untyped-decorator]
def call_native(_typing: Any, address: Any, arguments: Any) -> Any:
    """The function at `address`, with a tuple of arguments."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        kinds = tuple(signature.args[1])
        function_type = context.call_conv.get_function_type(types.none, kinds)
        pointer = builder.inttoptr(values[0], function_type.as_pointer())
        context.call_conv.call_function(builder, pointer, types.none, kinds, cgutils.unpack_tuple(builder, values[1]))
        return context.get_dummy_value()

    return types.none(types.int64, arguments), generate


call_native.content_key = hashed(Path(__file__).read_bytes())
