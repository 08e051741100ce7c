"""Checks of values read from JSON, which may hold anything; and how a value is shown in a message."""

from __future__ import annotations

import math
from typing import Any


def is_text(value: Any) -> bool:
    return isinstance(value, str)


def is_name(value: Any) -> bool:
    """Printable text on one line, not empty."""
    return isinstance(value, str) and bool(value) and value.isprintable()


def is_whole(value: Any) -> bool:
    """A whole number; true and false are not numbers."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_count(value: Any) -> bool:
    return is_whole(value) and value >= 0


def is_number(value: Any) -> bool:
    """A finite number."""
    try:
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:  # a whole number of hundreds of digits
        return False


def shown(value: Any) -> str:
    """On one line and not too long."""
    text = " ".join(repr(value).split())
    return text if len(text) < 60 else text[:57] + "…"
