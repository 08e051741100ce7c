"""Files of tables in the user's cache folder, one per game, version and content of the rules.

    file    MAGIC, u32 length of the header, header (JSON), zeros up to a multiple of 64, then the array
    header  origin ("game", "version", "key"), contents ("dtype", "entries") and checksum of the array ("crc32")

A file is written under a temporary name and renamed, and mapped into memory for reading. A damaged or mismatched file is built again.
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
from classical.tables.endgames import build_endgames, linker
from classical.tables.probe import empty_table, has_endgames
from classical.types import Codes
from games import Game

MAGIC = b"zermelo table 1\n"
_LENGTH = struct.Struct("<I")
_ALIGN = 64
_KEEP = 3  # tables of one game, of other versions of its rules

Report = Callable[[str, int], object]


def table_path(game: Game) -> Path:
    """Where the table of this game is, or will be."""
    slug = re.sub(r"[^A-Za-z0-9_.=-]+", "_", game.name)[:60]
    return cache_folder("tables") / f"{slug}-{_key(game)[:32]}.table"


def stored(game: Game) -> Codes | None:
    """The table as an array mapped into memory; None if there is no valid file."""
    path = table_path(game)
    try:
        with open(path, "rb") as file:
            head = file.read(len(MAGIC) + _LENGTH.size)
            if len(head) < len(MAGIC) + _LENGTH.size or not head.startswith(MAGIC):
                return None
            (length,) = _LENGTH.unpack(head[len(MAGIC) :])
            header = json_of(file.read(min(length, 1 << 16)), path)
        entries, wanted = int(header["entries"]), empty_table(game.rules).dtype
        if header != _header(game, entries, header["crc32"]):
            return None
        # Copy on write: kernels take it like any array, and the file cannot be written to.
        mapped = np.asarray(np.memmap(path, wanted, "c", _start(length), (entries,)))
        return mapped if zlib.crc32(mapped.view(np.uint8).data) == header["crc32"] else None
    except (OSError, ValueError, KeyError, TypeError, OverflowError):
        return None


def built(game: Game, report: Report, rebuild: bool = False) -> Codes:
    """The table, from its file or else built and stored."""
    path = table_path(game)
    with file_lock(path.with_name(f".{path.stem}.lock")):
        found = None if rebuild else stored(game)  # another process may have built it in the meantime
        if found is None:
            build = build_endgames if has_endgames(game.rules) else build_complete
            _write(path, game, build(game, report))
            _prune(path)
            found = stored(game)
            assert found is not None, f"{path} does not read back"
    return found


def _write(path: Path, game: Game, array: Codes) -> None:
    data = array.tobytes()
    header = json.dumps(_header(game, len(array), zlib.crc32(data))).encode()
    head = MAGIC + _LENGTH.pack(len(header)) + header
    write_bytes(path, head.ljust(_start(len(header)), b"\0") + data)


def _start(length: int) -> int:
    """Offset of the array after a header of that length."""
    return -(-(len(MAGIC) + _LENGTH.size + length) // _ALIGN) * _ALIGN


def _header(game: Game, entries: int, checksum: int) -> dict[str, Any]:
    dtype = [
        [name, game_type.str] for name, (game_type, *_) in sorted((empty_table(game.rules).dtype.fields or {}).items())
    ]
    return {
        "game": game.name,
        "version": game.version,
        "key": _key(game),
        "dtype": dtype or empty_table(game.rules).dtype.str,
        "entries": entries,
        "crc32": checksum,
    }


def _key(game: Game) -> str:
    """A hash of everything that determines the table's contents."""
    factory = linker if has_endgames(game.rules) else explorer
    parts = (
        game.name,
        game.version,
        list(game.rules.endgames),
        content_key(factory(game.rules)),
        content_key(graph.decide),
    )
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
