"""The bytes of a game record: framing, checksum, types. `games/record.py` documents the fields.

    bytes    MAGIC, u32 CRC-32 of all that follows, u32 length of the header, header (JSON), arrays one behind the other (zlib)
    header   FIELDS, and "arrays": {name: [dtype, length]} in the order in which they follow

Integers are little-endian, in the smallest type that holds them. Damaged bytes are refused with one line. No pickles.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

import numpy as np

from base.errors import UserError
from base.json_values import is_count, is_number, is_text
from base.reading import checked_data, json_of
from games.types import Array

FORMAT = 1
MAGIC = b"zgame\x00\x01\n"
FIELDS = ("game", "version", "outcome", "ending", "seed", "players", "start", "metadata")
ARRAYS = {  # the type in memory; the types on disk, of which the first that holds the numbers is taken
    "moves": (np.int32, ("|u1", "<u2", "<i4")),
    "searched": (np.uint8, ("|u1",)),
    "utilities": (np.float32, ("<f4",)),
    "policy_counts": (np.int32, ("|u1", "<u2", "<i4")),
    "policy_actions": (np.int32, ("|u1", "<u2", "<i4")),
    "probabilities": (np.float32, ("<f4",)),
    "visits": (np.int64, ("|u1", "<u2", "<u4", "<i8")),
}
_HEAD = struct.Struct("<II")
_LENGTH = struct.Struct("<I")
_MOST_BYTES = 1 << 30  # of a record's arrays, unpacked: more is damage


def encode(fields: Mapping[str, Any], arrays: Mapping[str, Array]) -> bytes:
    """Equal records give equal bytes. `arrays` are flat."""
    packed = {name: _packed(name, arrays[name]) for name in ARRAYS}
    described = {name: [array.dtype.str, len(array)] for name, array in packed.items()}
    header = {"format": FORMAT, **{name: fields[name] for name in FIELDS}, "arrays": described}
    try:
        checked_data(fields["metadata"], "metadata")
        text = json.dumps(header, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except (TypeError, ValueError) as error:
        raise UserError(f"game record: expected finite numbers and plain metadata: {error}") from None
    checked = _LENGTH.pack(len(text)) + text + zlib.compress(b"".join(array.tobytes() for array in packed.values()), 6)
    return MAGIC + _LENGTH.pack(zlib.crc32(checked)) + checked


def decode(data: bytes) -> tuple[dict[str, Any], dict[str, Array]]:
    """The inverse: fields as JSON has them, and flat arrays in their types in memory."""
    if not data.startswith(MAGIC):
        refuse(f"bytes that begin with {MAGIC!r}", repr(data[: len(MAGIC)]))
    if len(data) < len(MAGIC) + _HEAD.size:
        refuse("a whole record", f"{len(data)} bytes")
    checksum, length = _HEAD.unpack_from(data, len(MAGIC))
    if zlib.crc32(data[len(MAGIC) + _LENGTH.size :]) != checksum:
        refuse("a whole record", "damaged bytes")
    body = data[len(MAGIC) + _HEAD.size :]
    header = _header(body[:length])
    return header, _unpacked(body[length:], header["arrays"])


def refuse(expected: str, got: object) -> NoReturn:
    raise UserError(f"game record: expected {expected}, got {got}")


def _packed(name: str, array: Array) -> Array:
    """In the smallest type that holds the numbers."""
    for text in ARRAYS[name][1]:
        kind = np.dtype(text)
        if kind.kind == "f" or not len(array) or 0 <= array.min() <= array.max() <= np.iinfo(kind).max:
            return array.astype(kind)
    refuse(f"{name} from 0 to {np.iinfo(kind).max}", f"{array.min()} to {array.max()}")


def _unpacked(body: bytes, described: Any) -> dict[str, Array]:
    """The arrays of a record, in their types in memory."""
    if not isinstance(described, dict) or list(described) != list(ARRAYS):
        refuse(f"the arrays {', '.join(ARRAYS)}", described)
    sizes = []
    for name, pair in described.items():
        is_pair = isinstance(pair, list) and len(pair) == 2 and pair[0] in ARRAYS[name][1] and is_count(pair[1])
        if not is_pair:
            refuse(f"{name}: a type of {', '.join(ARRAYS[name][1])} and a length", pair)
        sizes.append(np.dtype(pair[0]).itemsize * pair[1])
    total = sum(sizes)
    if total > _MOST_BYTES:
        refuse(f"arrays of at most {_MOST_BYTES} bytes", total)
    unpacker = zlib.decompressobj()
    try:
        data = unpacker.decompress(body, total + 1)
    except zlib.error as error:
        refuse("compressed arrays", error)
    if len(data) != total or not unpacker.eof or unpacker.unused_data:
        refuse(f"arrays of {total} bytes", "others")
    found, at = {}, 0
    for (name, (text, _)), size in zip(described.items(), sizes, strict=True):
        found[name] = np.frombuffer(data[at : at + size], text).astype(ARRAYS[name][0])
        at += size
    return found


def _header(text: bytes) -> dict[str, Any]:
    """The fields of a record that are no arrays, each of its type."""
    header = json_of(text, "game record")
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        refuse(f"a record of format {FORMAT}", header.get("format") if isinstance(header, dict) else header)
    kinds: dict[str, Callable[[Any], bool]] = {
        "game": is_text,
        "version": is_count,
        "outcome": lambda value: value is None or (isinstance(value, list) and all(map(is_number, value))),
        "ending": is_text,
        "seed": lambda value: value is None or is_count(value),
        "players": lambda value: isinstance(value, list) and all(map(is_text, value)),
        "start": lambda value: value is None or is_text(value),
        "metadata": lambda value: isinstance(value, dict),
    }
    if set(header) != {"format", *FIELDS, "arrays"}:
        refuse(f"the fields {', '.join(FIELDS)}", ", ".join(header))
    for name, is_right in kinds.items():
        if not is_right(header[name]):
            refuse(f"{name} of its type", repr(header[name])[:40])
    return header
