"""Where tables are kept: the user's cache folder, one file per game, version and content of the rules.

    file    MAGIC, u32 length of the header, header (JSON), zeros up to a multiple of 64, then the array
    header  what the file is of ("game", "version", "key"), what is in it ("dtype", "entries"), and "crc32" of the array

It is written whole under a temporary name and renamed, and mapped into memory when it is read. A file that is damaged or of something
else is built again. Of two processes that want one table, the second waits for the first.
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
from classical.tables import graph
from classical.tables.complete import build_complete, explorer
from classical.tables.endgames import build_endgames, linker
from classical.tables.probe import empty_table, has_endgames
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


def stored(game: Game) -> Any | None:
    """The table as an array that is mapped into memory, or None where there is none that is sound."""
    path = table_path(game)
    try:
        with open(path, "rb") as file:
            head = file.read(len(MAGIC) + _LENGTH.size)
            if len(head) < len(MAGIC) + _LENGTH.size or not head.startswith(MAGIC):
                return None
            (length,) = _LENGTH.unpack(head[len(MAGIC) :])
            header = json.loads(file.read(min(length, 1 << 16)).decode())
        entries, wanted = int(header["entries"]), empty_table(game.rules).dtype
        if header != _header(game, entries, header["crc32"]):
            return None
        # Copy on write: kernels then take it as they take any array, and nobody can write into the file.
        mapped = np.asarray(np.memmap(path, wanted, "c", _start(length), (entries,)))
        return mapped if zlib.crc32(mapped.view(np.uint8).data) == header["crc32"] else None
    except (OSError, ValueError, KeyError, TypeError, OverflowError):
        return None


def built(game: Game, report: Report, rebuild: bool = False) -> Any:
    """The table, from the file or else built and written into it."""
    path = table_path(game)
    with file_lock(path.with_name(f".{path.stem}.lock")):
        found = None if rebuild else stored(game)  # perhaps somebody else built it while this process waited
        if found is None:
            build = build_endgames if has_endgames(game.rules) else build_complete
            _write(path, game, build(game, report))
            _prune(path)
            found = stored(game)
            assert found is not None, f"{path} does not read back"
    return found


def _write(path: Path, game: Game, array: Any) -> None:
    data = array.tobytes()
    header = json.dumps(_header(game, len(array), zlib.crc32(data))).encode()
    head = MAGIC + _LENGTH.pack(len(header)) + header
    write_bytes(path, head.ljust(_start(len(header)), b"\0") + data)


def _start(length: int) -> int:
    """Where the array begins, behind a header of that length."""
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
    """A hash over everything that decides what is in the table."""
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
    """Tables of other versions go, but for the latest, and so does what killed builders left."""
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
