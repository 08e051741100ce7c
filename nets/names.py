"""Names of networks, without torch: the kinds in the folder, and the size in a network's text."""

from __future__ import annotations

import functools
import re
from pathlib import Path

from base.errors import UserError

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
    """`3x32` as two numbers; `meaning` says of what."""
    found = re.fullmatch(r"([1-9]\d{0,3})x([1-9]\d{0,3})", text)
    if found is None:
        raise UserError(f"{kind}: expected {meaning}, as in {kind}:3x32, got '{text}'")
    return int(found[1]), int(found[2])
