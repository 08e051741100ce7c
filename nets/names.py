"""Names around networks, without torch: the kinds in the folder, the size in a network's text, precisions."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import Literal

from base.errors import UserError, nearest

Precision = Literal["auto", "fp32", "bf16"]
PRECISIONS = ("auto", "fp32", "bf16")

FOLDER = Path(__file__).parent


@functools.cache
def kinds() -> tuple[str, ...]:
    """Names of the kinds of networks: files of this folder that define a function `net`."""
    return _files_with("net", FOLDER)


@functools.cache
def compiled_kinds() -> tuple[str, ...]:
    """Those that have a compiled form: a file of the same name in `compiled/` that defines a function `form`."""
    return _files_with("form", FOLDER / "compiled")


def _files_with(function: str, folder: Path) -> tuple[str, ...]:
    defined = re.compile(rf"^def {function}\(", re.MULTILINE)
    return tuple(file.stem for file in sorted(folder.glob("*.py")) if defined.search(file.read_text(encoding="utf-8")))


def parse_size(kind: str, text: str, meaning: str) -> tuple[int, int]:
    """`3x32` as two numbers; `meaning`: what they count."""
    found = re.fullmatch(r"([1-9]\d{0,3})x([1-9]\d{0,3})", text)
    if found is None:
        raise UserError(f"{kind}: expected {meaning}, as in {kind}:3x32, got '{text}'")
    return int(found[1]), int(found[2])


def choose_precision(precision: str, prefers_bf16: bool) -> str:
    """`fp32` or `bf16`; auto is bf16 where `prefers_bf16`."""
    if precision not in PRECISIONS:
        raise UserError(
            f"precision: expected one of {', '.join(PRECISIONS)}, got '{precision}'{nearest(precision, PRECISIONS)}"
        )
    return ("bf16" if prefers_bf16 else "fp32") if precision == "auto" else precision
