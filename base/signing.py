"""What this user has made or trusted, told apart by a signature with this user's own key.

    runs/first/seal.json      "signature": sign("sha256:…")
    is_signed("sha256:…", signature)

The key is in the user's cache folder, which no other user can read.
"""

from __future__ import annotations

import hmac
import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path

from base.files import cache_folder

_KEY_BYTES = 32


def sign(text: str) -> str:
    """'' where this user can have no key."""
    try:
        key = _key()
    except OSError:
        return ""
    return hmac.new(key, text.encode(), "sha256").hexdigest()


def is_signed(text: str, signature: str) -> bool:
    """Whether `signature` is this user's, of that text."""
    wanted = sign(text)
    return bool(wanted) and hmac.compare_digest(wanted.encode(), signature.encode())


def _key() -> bytes:
    """This user's own, made when it is first needed."""
    path = cache_folder("keys") / "runs"
    with suppress(FileNotFoundError):
        found = _own_bytes(path)
        if found is not None:
            return found
        path.unlink()  # it was readable by others, or is damaged: what it signed is no longer this user's
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with open(handle, "wb") as file:
            file.write(secrets.token_bytes(_KEY_BYTES))
            file.flush()
            os.fsync(handle)
            with suppress(FileExistsError):  # another process was faster
                os.link(temporary, path)
    finally:
        temporary.unlink()
    found = _own_bytes(path)
    if found is None:
        raise PermissionError(f"{path} is not this user's alone")
    return found


def _own_bytes(path: Path) -> bytes | None:
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    with open(handle, "rb") as file:
        status = os.fstat(handle)
        found = file.read(_KEY_BYTES + 1)
    is_private = stat.S_ISREG(status.st_mode) and status.st_uid == os.getuid() and not status.st_mode & 0o077
    return found if is_private and len(found) == _KEY_BYTES else None
