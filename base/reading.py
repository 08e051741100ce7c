"""JSON and TOML that come from outside, read within bounds: whatever the text is, the result can be used, or there is a one-line error.

    json_of(data, "card.json")              # where it is from, for the error
    toml_of(data, "config.toml")
    checked_data(value, "game record")      # the same bounds for what was made here, before it is written

Both give text, whole numbers of 64 bits, finite numbers, lists and objects of at most DEEPEST levels, and each key of an object once.
Without these bounds a number of 5,000 digits, NaN, half a character or 5,000 levels are accepted and fail much later.
"""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Callable
from datetime import date, datetime, time
from typing import Any, NoReturn

from base.errors import UserError, short

DEEPEST = 200  # levels of lists and objects
LONGEST = 1 << 26  # bytes
LONGEST_TOML = 1 << 20  # its reader is in Python, and slow
LEAST, MOST = -(1 << 63), (1 << 64) - 1  # a whole number fits 64 bits, with a sign or without
_DIGITS = 20


def json_of(data: bytes | str, where: object) -> Any:
    """The value that is written as JSON. `where` begins the message of an error."""

    def refuse(number: str) -> NoReturn:
        raise UserError(f"{where}: expected finite numbers, got {short(number)}")

    def finite(number: str) -> float:
        return float(number) if math.isfinite(float(number)) else refuse(number)

    def whole(number: str) -> int:
        if len(number.lstrip("-")) > _DIGITS or not LEAST <= int(number) <= MOST:
            raise UserError(f"{where}: expected whole numbers of 64 bits, got {short(number)}")
        return int(number)

    def once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            seen: set[str] = set()
            twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
            raise UserError(f"{where}: expected different keys in an object, got {short(twice)!r} twice")
        return found

    text = _text(data, where, "JSON", LONGEST)
    try:
        found = json.loads(
            text, parse_constant=refuse, parse_float=finite, parse_int=whole, object_pairs_hook=once_each
        )
    except RecursionError:
        _refuse_levels(where, "JSON")
    except json.JSONDecodeError as error:
        raise UserError(f"{where}:{error.lineno}: expected JSON: {error.msg} (column {error.colno})") from None
    # Numbers were checked as they were read. This is most of what is read, so it is looked at no more than it needs.
    if text.isascii() and "\\u" not in text and text.count("[") + text.count("{") < DEEPEST:
        return found
    return checked_data(found, where, "JSON")


def toml_of(data: bytes | str, where: object) -> dict[str, Any]:
    """The table that is written as TOML."""
    text = _text(data, where, "TOML", LONGEST_TOML)
    try:
        found = tomllib.loads(text)
    except RecursionError:
        _refuse_levels(where, "TOML")
    except ValueError as error:  # tomllib's own, and Python's about numbers of thousands of digits
        raise UserError(f"{where}: expected TOML: {short(error)}") from None
    table: dict[str, Any] = checked_data(found, where, "TOML")
    return table


def checked_data(value: Any, where: object, form: str = "JSON") -> Any:
    """The value itself, where it is within the bounds; else a UserError."""
    level, deeper = [("", value)], list[tuple[str, Any]]()
    for depth in range(DEEPEST + 1):
        for at, each in level:
            if depth == DEEPEST and isinstance(each, dict | list | tuple):
                _refuse_levels(where, form)
            if isinstance(each, dict):
                for key, inner in each.items():
                    _check(key, f"{at}.{key}", where)
                    deeper.append((f"{at}.{key}" if len(at) < 60 else at, inner))
            elif isinstance(each, list | tuple):
                deeper += [(f"{at}[{i}]" if len(at) < 60 else at, inner) for i, inner in enumerate(each)]
            else:
                _check(each, at, where)
        if not deeper:
            return value
        level, deeper = deeper, []
    raise AssertionError("below the deepest level there is nothing")


_KINDS: tuple[tuple[type | tuple[type, ...], Callable[[Any], bool], str], ...] = (
    (str, lambda value: value.isascii() or is_unicode(value), "text in Unicode"),
    (bool, lambda value: True, ""),
    (int, lambda value: LEAST <= value <= MOST, "whole numbers of 64 bits"),
    (float, math.isfinite, "finite numbers"),
    (
        (type(None), date, time, datetime),
        lambda value: True,
        "",
    ),  # of a date each reader says that it has no use for one
)


def _check(value: Any, at: str, where: object) -> None:
    for kind, fits, words in _KINDS:
        if isinstance(value, kind):
            if not fits(value):
                raise UserError(
                    f"{where}: expected {words}, got {_shown(value)} at {_shown(at.lstrip('.')) or 'the top'}"
                )
            return
    raise UserError(f"{where}: expected text, numbers, lists and objects, got {_shown(type(value).__name__)}")


def is_unicode(text: str) -> bool:
    """Whether it can be written: bytes that are no UTF-8, and half characters in JSON, become text that cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _shown(value: Any) -> str:
    if isinstance(value, int) and value.bit_length() > 64:
        return f"one of {value.bit_length()} bits"
    return short(value).encode("ascii", "backslashreplace").decode()


def _text(data: bytes | str, where: object, form: str, most: int) -> str:
    if len(data) > most:
        raise UserError(f"{where}: expected {form} of at most {most} bytes, got {len(data)}")
    if isinstance(data, str):
        return data
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UserError(f"{where}:{line}: expected {form} in UTF-8: {error.reason}") from None


def _refuse_levels(where: object, form: str) -> NoReturn:
    raise UserError(f"{where}: expected {form} of fewer levels")
