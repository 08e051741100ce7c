"""What a value may be, by the annotation of a parameter or field: options are parsed from text, configurations checked.

    int, float, str, bool            a whole number, a finite number, text, on or off
    Literal["puct", "gumbel"]        one of these
    Annotated[int, range(1, 65)]     from 1 to 64
    tuple[str, ...]                  a list (not as text)
    int | None                       as int; it may be left out

>>> parsed(Annotated[int, range(1, 65)], "12"), checked(float, 3)
(12, 3.0)
"""

from __future__ import annotations

import math
import types
import typing
from typing import Any, Literal, get_args, get_origin

from base.reading import LEAST, MOST, is_unicode

_SWITCH = {"on": True, "off": False, "true": True, "false": False, "1": True, "0": False}
_WORDS = {int: "a whole number", float: "a finite number", str: "text"}


class Misfit(ValueError):
    """`got` is not of the kind; `expected` is the kind in words."""

    def __init__(self, expected: str, got: object) -> None:
        super().__init__(f"expected {expected}, got {got!r}")
        self.expected, self.got = expected, got


def in_words(kind: Any, switch: str = "on or off") -> str:
    """`switch`: what a bool is called."""
    kind, limits = _plain(kind)
    if get_origin(kind) is Literal:
        return f"one of {', '.join(map(str, get_args(kind)))}"
    if limits is not None:
        return f"{limits[0]} to {limits[-1]}"
    return "a list" if get_origin(kind) is tuple else switch if kind is bool else _WORDS.get(kind, str(kind))


def parsed(kind: Any, text: str) -> Any:
    """The value that `text` stands for; else `Misfit`."""
    plain, _ = _plain(kind)
    misfit = Misfit(in_words(kind), text)
    if get_origin(plain) is Literal:
        found = {str(value): value for value in get_args(plain)}.get(text, misfit)
    elif plain is bool:
        found = _SWITCH.get(text.lower(), misfit)
    else:
        try:
            found = plain(text)
        except ValueError:
            found = misfit
    if found is misfit:
        raise misfit
    try:
        return checked(kind, found)
    except Misfit:
        raise misfit from None


def checked(kind: Any, value: Any) -> Any:
    """The value, where it is of this kind; else `Misfit`. A whole number may stand for a fraction, a list for a tuple."""
    plain, limits = _plain(kind)
    misfit = Misfit(in_words(kind, "true or false"), value)
    if get_origin(plain) is Literal:
        if value not in get_args(plain):
            raise misfit
        return value
    if get_origin(plain) is tuple:
        if not isinstance(value, list | tuple):
            raise misfit
        return tuple(checked(get_args(plain)[0], each) for each in value)
    if plain is float and type(value) is int and abs(value) <= MOST:
        value = float(value)
    if type(value) is not plain or (plain is float and not math.isfinite(value)):
        raise misfit
    if (plain is int and not LEAST <= value <= MOST) or (plain is str and not is_unicode(value)):
        raise misfit
    if limits is not None and value not in limits:
        raise misfit
    return value + 0.0 if plain is float else value  # -0 is 0


def _plain(kind: Any) -> tuple[Any, range | None]:
    """Without `| None`, and the limits apart."""
    if get_origin(kind) in (typing.Union, types.UnionType):
        (kind,) = (each for each in get_args(kind) if each is not type(None))
    if get_origin(kind) is typing.Annotated:
        kind, limits = get_args(kind)[:2]
        return kind, limits if isinstance(limits, range) else None
    return kind, None
