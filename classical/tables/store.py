"""Files of tables in the user's cache folder, one per game, version and content of the rules, and one more for each class on request.

    file    MAGIC, u32 length of the header, header (JSON), zeros up to a multiple of 64, then the array
    header  origin ("game", "version", "part", "key"), contents ("dtype", "entries") and checksum of the array ("crc32")

A file is written under a temporary name and renamed, and mapped into memory for reading. A damaged or mismatched file is built again.
`part` is "" for a complete table, and for all classes that are not on request; else the name of the class.
Of two processes that build the same table, the second waits for the first.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import struct
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from base.compiler import content_key
from base.files import cache_folder, file_lock, remove_leftovers, write_bytes
from base.reading import json_of
from classical.tables import graph
from classical.tables.complete import build_complete, explorer
from classical.tables.endgames import build_class, deciding, linker, spans
from classical.tables.probe import empty_table, has_endgames
from classical.types import Codes
from games import Game

MAGIC = b"zermelo table 1\n"
_LENGTH = struct.Struct("<I")
_ALIGN = 64
_KEEP = 3  # tables of one game, of other versions of its rules

Report = Callable[[str, int], object]


def table_path(game: Game, part: str = "") -> Path:
    """Where the table of this game is, or will be."""
    slug = re.sub(r"[^A-Za-z0-9_.=-]+", "_", f"{game.name}-{part}" if part else game.name)[:60]
    return cache_folder("tables") / f"{slug}-{_key(game)[:32]}.table"


def names_in(game: Game, part: str) -> list[str]:
    """The classes of a part, in order."""
    return [name for name in spans(game) if (name == part if part else name not in game.rules.endgames_on_request)]


def stored(game: Game, part: str = "") -> Codes | None:
    """The table as an array mapped into memory; None if there is no valid file."""
    path = table_path(game, part)
    try:
        with open(path, "rb") as file:
            head = file.read(len(MAGIC) + _LENGTH.size)
            if len(head) < len(MAGIC) + _LENGTH.size or not head.startswith(MAGIC):
                return None
            (length,) = _LENGTH.unpack(head[len(MAGIC) :])
            header = json_of(file.read(min(length, 1 << 16)), path)
        entries, wanted = int(header["entries"]), empty_table(game.rules).dtype
        if header != _header(game, part, entries, header["crc32"]):
            return None
        # Copy on write: kernels take it like any array, and the file cannot be written to.
        mapped = np.asarray(np.memmap(path, wanted, "c", _start(length), (entries,)))
        return mapped if zlib.crc32(mapped.view(np.uint8).data) == header["crc32"] else None
    except (OSError, ValueError, KeyError, TypeError, OverflowError):
        return None


def built(game: Game, report: Report, rebuild: bool = False, part: str = "", table: Codes | None = None) -> Codes:
    """The table, from its file or else built and stored. `table` has the codes of the classes that a part leads to, by index."""
    path = table_path(game, part)
    with file_lock(path.with_name(f".{path.stem}.lock")):
        found = None if rebuild else stored(game, part)  # another process may have built it in the meantime
        if found is None:
            _write(
                path, game, part, build_complete(game, report) if table is None else _build(game, report, part, table)
            )
            _prune(path)
            found = stored(game, part)
            assert found is not None, f"{path} does not read back"
    return found


def _build(game: Game, report: Report, part: str, table: Codes) -> Codes:
    codes = []
    for name in names_in(game, part):
        first, last = spans(game)[name]
        table[first:last] = build_class(game, table, name, report)
        codes.append(table[first:last])
    return np.concatenate(codes)


def _write(path: Path, game: Game, part: str, array: Codes) -> None:
    data = array.tobytes()
    header = json.dumps(_header(game, part, len(array), zlib.crc32(data))).encode()
    head = MAGIC + _LENGTH.pack(len(header)) + header
    write_bytes(path, head.ljust(_start(len(header)), b"\0") + data)


def _start(length: int) -> int:
    """Offset of the array after a header of that length."""
    return -(-(len(MAGIC) + _LENGTH.size + length) // _ALIGN) * _ALIGN


def _header(game: Game, part: str, entries: int, checksum: int) -> dict[str, Any]:
    dtype = [
        [name, game_type.str] for name, (game_type, *_) in sorted((empty_table(game.rules).dtype.fields or {}).items())
    ]
    return {
        "game": game.name,
        "version": game.version,
        "part": part,
        "key": _key(game),
        "dtype": dtype or empty_table(game.rules).dtype.str,
        "entries": entries,
        "crc32": checksum,
    }


def _key(game: Game) -> str:
    """A hash of everything that determines the table's contents."""
    rules = game.rules
    kernels = [
        linker(rules) if has_endgames(rules) else explorer(rules),
        deciding(rules) if rules.endgame_predecessors else graph.decider(graph.stored_predecessors),
    ]
    parts = (game.name, game.version, list(rules.endgames), *(content_key(each) for each in kernels))
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def _prune(path: Path) -> None:
    """Delete tables of other versions except the newest few, and temporary files of killed builders."""
    with suppress(OSError):
        remove_leftovers(path.parent)
    stem = path.stem[: -len("-") - 32]
    others = []
    for other in path.parent.glob("*.table"):
        if other != path and other.stem[: -len("-") - 32] == stem:
            with suppress(OSError):
                others.append((other.stat().st_mtime, other))
    for _, other in sorted(others)[: -_KEEP or None]:
        with suppress(OSError):
            os.unlink(other)
