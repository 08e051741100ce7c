"""Where interpreted rules compute with a narrow integer, an int8 for example, beyond its range.

    overflows = Overflows()
    with overflows.noted():
        rules.result(state, action)
    overflows.found                 # a list of `Overflow`, one per place in the rules

Interpreted, such a number wraps around; compiled code computes in 64 bits and cuts off when the number is stored. Words of 64 bits are
not noted: hashes and sets of bits wrap around on purpose. numpy reports an overflow without its operands: they are computed once more
from the source of the line, where that has no side effects; an overflow whose operands stay unknown is not noted.
"""

from __future__ import annotations

import ast
import linecache
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np

import base
from base import bits

OUTSIDE = (
    str(Path(__file__).parent),
    str(Path(__file__).parents[1] / "types.py"),
    str(Path(base.__file__).parent),
    str(Path(np.__file__).parent),
)
"""Files and folders whose code is not part of a game's rules."""
PURE = {int, float, bool, abs, min, max, len, bits.popcount, bits.lowest_bit, bits.highest_bit}
READING = (
    ast.Name, ast.Load, ast.Constant, ast.Attribute, ast.Subscript, ast.Slice, ast.Tuple, ast.BinOp, ast.UnaryOp,
    ast.BoolOp, ast.Compare, ast.IfExp, ast.operator, ast.unaryop, ast.boolop, ast.cmpop,
)  # fmt: skip


@dataclass(frozen=True)
class Overflow:
    """One place in the rules where a narrow integer overflows."""

    place: str
    """function (file, line)"""
    seen: str
    """The operation, its result, and the cure."""


class Overflows:
    """The overflows in what ran within `noted()`."""

    def __init__(self) -> None:
        self.found: list[Overflow] = []
        self._known: set[tuple[CodeType, int]] = set()

    @contextmanager
    def noted(self) -> Iterator[None]:
        with np.errstate(over="call", call=self._note):
            yield

    def _note(self, _kind: str, _flag: int) -> None:
        frame = sys._getframe(1)
        place = frame.f_code, frame.f_lasti
        if place in self._known:
            return
        self._known.add(place)
        if frame.f_code.co_filename.startswith(OUTSIDE):
            return
        with np.errstate(all="ignore"):
            overflow = _overflow_in(frame)
        if overflow is not None:
            self.found.append(overflow)


def _overflow_in(frame: FrameType) -> Overflow | None:
    operation = _operation(frame)
    if operation is None:
        return None
    operands, sign = _operands(operation)
    try:
        values = [_value(operand, frame) for operand in operands]
    except Exception:  # anything that the expressions raise
        return None
    kind = np.result_type(*values)
    if kind.kind not in "iu" or kind.itemsize == 8:
        return None
    words = f" {sign} ".join(str(int(value)) for value in values) if len(values) == 2 else f"{sign}{int(values[0])}"
    limits = np.iinfo(kind)
    place = f"{frame.f_code.co_name} ({Path(frame.f_code.co_filename).name}, line {frame.f_lineno})"
    seen = f"{ast.unparse(operation)}: {words} is not within {kind}, {limits.min} to {limits.max}"
    return Overflow(place, f"{seen}; {_cure(operation, operands, values, sign)}")


def _operation(frame: FrameType) -> ast.AST | None:
    """The operation that the frame is at, from its source."""
    where = list(frame.f_code.co_positions())[frame.f_lasti // 2]
    if None in where:
        return None
    first, last, start, end = where
    lines = [linecache.getline(frame.f_code.co_filename, line).encode() for line in range(first or 0, (last or 0) + 1)]
    lines[-1] = lines[-1][:end]
    lines[0] = lines[0][start:]
    text = b"".join(lines).decode("utf-8", "replace")
    for form in (f"({text})", text):
        try:
            (statement,) = ast.parse(form).body
        except (SyntaxError, ValueError):
            continue
        return statement.value if isinstance(statement, ast.Expr) else statement
    return None


def _operands(operation: ast.AST) -> tuple[list[ast.expr], str]:
    """Of what, and its sign as written; none for what is no operation with one or two numbers."""
    match operation:
        case ast.BinOp(left, op, right) | ast.AugAssign(left, op, right):
            sign = ast.unparse(ast.BinOp(ast.Name("a"), op, ast.Name("b")))[2:-2]
            target = ast.parse(ast.unparse(left), mode="eval").body  # a target is of another kind than an expression
            return [target, right], sign
        case ast.UnaryOp(ast.USub(), operand):
            return [operand], "-"
        case ast.Call(ast.Name("abs"), [operand]):
            return [operand], "abs "
    return [], ""


def _value(expression: ast.expr, frame: FrameType) -> Any:
    """Computed in the frame. ValueError where that could have a side effect."""
    scope = frame.f_globals | frame.f_locals

    def compute(part: ast.expr) -> Any:
        return eval(compile(ast.fix_missing_locations(ast.Expression(part)), "<operand>", "eval"), scope)

    for part in ast.walk(expression):
        if isinstance(part, ast.Call):
            if any(isinstance(each, ast.Call) for each in ast.walk(part.func)) or not _is_pure(compute(part.func)):
                raise ValueError("a call")
        elif not isinstance(part, READING):
            raise ValueError("more than reading")
    return compute(expression)


def _is_pure(function: Callable[..., Any]) -> bool:
    return function in PURE or (isinstance(function, type) and issubclass(function, np.generic))


def _cure(operation: ast.AST, operands: list[ast.expr], values: list[Any], sign: str) -> str:
    if isinstance(operation, ast.AugAssign) and not isinstance(operation.target, ast.Name):
        field = operands[0]
        while isinstance(field, ast.Subscript):
            field = field.value
        return f"give {ast.unparse(field)} a wider type"
    written = [
        f"int({ast.unparse(each)})" if isinstance(value, np.generic) else ast.unparse(each)
        for each, value in zip(operands, values, strict=True)
    ]
    whole = f" {sign} ".join(written) if len(written) == 2 else f"{sign.strip()}({written[0]})"
    return f"write {ast.unparse(operands[0])} = {whole}" if isinstance(operation, ast.AugAssign) else f"write {whole}"
