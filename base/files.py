"""Durable files: what is written here is there whole or not at all, whatever kills the process or the machine.

    write_json(run / "card.json", card)                 # temporary name, write, fsync, rename, fsync of the folder
    with durable_folder(run / "checkpoints/000100") as folder:
        ...                                             # write into `folder`; it takes its name when the block ends
    remove_leftovers(run)                               # what killed writers left behind; live ones are not harmed

A temporary is called `.NAME.RANDOM.tmp` and stays locked by its writer until it has its name: where the lock is free, the writer is
dead.
"""

import fcntl
import functools
import hashlib
import json
import os
import pwd
import re
import secrets
import shutil
import stat
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from base.errors import UserError
from base.reading import LONGEST, checked_data, json_of

StrPath = str | os.PathLike[str]

CHECKSUM = "checksum"

# .tmp: not yet under its name. .old: a folder that is being replaced.
_LEFTOVER = re.compile(r"\.(?P<name>.+)\.[0-9a-f]{16}\.(?P<kind>tmp|old)")


def write_bytes(path: StrPath, data: bytes) -> None:
    """Make `path` hold exactly `data`, durably; until then it holds what it held. Missing parent folders are made."""
    path = Path(path)
    make_folder(path.parent)
    temporary, handle = _claim(path, folder=False)
    try:
        with open(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(handle)
            os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def write_text(path: StrPath, text: str) -> None:
    """`write_bytes` of UTF-8, newlines as they are."""
    write_bytes(path, text.encode())


def write_json(path: StrPath, obj: object) -> None:
    """Equal objects give equal bytes: keys in their own order, two spaces of indent, a newline at the end, nothing that `read_json`
    refuses."""
    checked_data(obj, path)
    write_text(path, json.dumps(obj, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def read_json(path: StrPath) -> Any:
    """What `write_json` wrote. A file that is not JSON, or names a key of an object twice, is a UserError with its name."""

    with open(path, "rb") as file:
        return json_of(file.read(LONGEST + 1), path)


def write_sealed_json(path: StrPath, table: Mapping[str, Any]) -> None:
    """`write_json` of an object and its checksum, for what must not be changed by hand."""
    write_json(path, {**table, CHECKSUM: _checksum(table)})


def read_sealed_json(path: StrPath, is_older: Callable[[dict[str, Any]], bool] = lambda table: False) -> dict[str, Any]:
    """The object that `write_sealed_json` wrote, unchanged. `is_older`: whether an older version may have written it, without a
    checksum."""
    found = read_json(path)
    if not isinstance(found, dict):
        raise UserError(f"{path}: expected an object")
    given = found.pop(CHECKSUM, None)
    if given != _checksum(found) and not (given is None and is_older(found)):
        raise UserError(f"{path}: expected the checksum of its content; the file was changed or damaged")
    return found


def _checksum(table: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(table, sort_keys=True, allow_nan=False).encode()).hexdigest()


@contextmanager
def durable_folder(path: StrPath, *, replace: bool = False) -> Iterator[Path]:
    """A temporary folder that gets the name `path` when the block ends, and is removed where the block raises.

    An existing `path` is refused, or with `replace` replaced. That takes two renames; a process killed between them
    leaves the old folder, whole, as `.NAME.RANDOM.old`, and `remove_leftovers` restores it.
    """
    path = Path(path)
    refusal = UserError(f"{path}: expected a folder to be made, but it exists already")
    exists = os.path.lexists(path)
    if exists and not (replace and path.is_dir() and not path.is_symlink()):
        raise refusal
    make_folder(path.parent)
    temporary, handle = _claim(path, folder=True)
    try:
        yield temporary
        _sync_tree(temporary)
        try:
            if replace and path.is_dir():
                _exchange(temporary, path)
            else:
                os.rename(temporary, path)
        except OSError as error:
            if not replace and os.path.lexists(path):  # another writer was faster
                raise refusal from error
            raise
        sync_folder(path.parent)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        os.close(handle)


def remove_leftovers(folder: StrPath) -> list[Path]:
    """Remove the temporaries of dead writers directly in `folder`, restore a folder whose replacement was cut short, and return the
    paths of both."""
    handled = []
    for path in sorted(Path(folder).iterdir()):
        found = _LEFTOVER.fullmatch(path.name)
        if found is None:
            continue
        with suppress(OSError):  # its writer is alive and has just renamed it, or this user may not remove it
            handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
            try:
                if take_lock(handle, wait=False):
                    target = path.with_name(found["name"])
                    if found["kind"] == "old" and not os.path.lexists(target):
                        os.rename(path, target)
                    elif path.is_dir():
                        shutil.rmtree(path)
                    else:
                        path.unlink()
                    handled.append(path)
            finally:
                os.close(handle)
    return handled


@contextmanager
def file_lock(path: StrPath, *, wait: bool = True) -> Iterator[None]:
    """Hold the lock named by the file `path`, across processes and threads; it is free again when its holder dies.

    The file stays: removing it would let two holders lock two files of one name.
    """
    make_folder(Path(path).parent)
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        if not take_lock(handle, wait=wait):
            raise UserError(f"{path}: expected a free lock, but another process holds it")
        yield
    finally:
        drop_lock(handle)
        os.close(handle)


def take_lock(handle: int, *, wait: bool) -> bool:
    """Lock the open file `handle`; False where another holder has the lock and `wait` is off."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    return True


def drop_lock(handle: int) -> None:
    """Free it even where forked children share the open file; closing alone would not."""
    fcntl.flock(handle, fcntl.LOCK_UN)


def make_folder(path: Path) -> None:
    """`mkdir -p`, durably."""
    if not path.is_dir():
        make_folder(path.parent)
        path.mkdir(exist_ok=True)
        sync_folder(path.parent)


def sync_folder(path: Path) -> None:
    """Make the names in a folder durable."""
    handle = _open_folder(path)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def cache_folder(*parts: str) -> Path:
    """$ZERMELO_CACHE, or $XDG_CACHE_HOME/zermelo, or ~/.cache/zermelo; joined with `parts`, made, and writable by this user alone.

    A cache holds code that is run: a folder that another user made or can write to is not used. Where there is none of one's own, it is
    a folder of this user's in the temporary folder, with one warning.
    """
    home = os.environ.get("XDG_CACHE_HOME", "")
    home = home if os.path.isabs(home) else os.path.join(_home(), ".cache")  # XDG: relative paths are to be ignored
    root = Path(os.path.expanduser(os.environ.get("ZERMELO_CACHE", "")) or os.path.join(home, "zermelo"))
    folder = root.joinpath(*parts)
    try:
        if not root.is_dir():
            root.parent.mkdir(parents=True, exist_ok=True)
        _make_own(root, parts)
        if os.access(folder, os.W_OK | os.X_OK):
            wrong = next((each for each in _levels(root, parts) if not _is_own(each)), None)
            if wrong is None:
                return folder
            trouble = f"{wrong}: expected a folder of this user that nobody else can write to (chmod go-w)"
        else:
            trouble = f"{root}: cannot be written"
    except OSError:
        trouble = f"{root}: cannot be written"
    spare = _spare_cache(root, trouble)
    _make_own(spare, parts)
    return spare.joinpath(*parts)


def _levels(root: Path, parts: tuple[str, ...]) -> list[Path]:
    """The root and the folders below it, down to the one that the parts name."""
    return [root.joinpath(*parts[:i]) for i in range(len(parts) + 1)]


def _make_own(root: Path, parts: tuple[str, ...]) -> None:
    for each in _levels(root, parts):
        with suppress(FileExistsError):
            each.mkdir(mode=0o700)


def _is_own(folder: Path) -> bool:
    """Whether this user alone can have put something into it."""
    status = folder.stat()
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid() and not status.st_mode & 0o022


def _home() -> str:
    """The user's folder. An empty $HOME counts as none, although `expanduser` takes it for the root folder."""
    if os.environ.get("HOME") == "":
        with suppress(KeyError):  # a user without an entry
            return pwd.getpwuid(os.getuid()).pw_dir
        return os.devnull
    return os.path.expanduser("~")


@functools.cache
def _spare_cache(root: Path, trouble: str) -> Path:
    spare = Path(tempfile.gettempdir(), f"zermelo-{os.getuid()}")
    with suppress(FileExistsError):
        spare.mkdir(mode=0o700)
    if spare.is_symlink() or not _is_own(spare):
        spare = Path(tempfile.mkdtemp(prefix="zermelo-"))
    warnings.warn(f"{trouble}; the cache is in {spare} instead", stacklevel=3)
    return spare


def _claim(target: Path, *, folder: bool) -> tuple[Path, int]:
    """A new temporary beside `target`, and the open handle that holds its lock."""
    while True:
        path = target.with_name(f".{target.name}.{secrets.token_hex(8)}.tmp")
        try:
            if folder:
                path.mkdir()
                handle = _open_folder(path)
            else:
                handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
            with suppress(OSError):  # a file system without locks: there remove_leftovers removes nothing
                take_lock(handle, wait=True)
            with suppress(FileNotFoundError):
                if os.path.samestat(path.stat(), os.fstat(handle)):
                    return path, handle
            os.close(handle)
        except FileNotFoundError:
            if not target.parent.is_dir():
                raise
        # remove_leftovers came between making and locking: try again


def _open_folder(path: Path) -> int:
    return os.open(path, os.O_RDONLY)


def _exchange(new: Path, path: Path) -> None:
    """Give `new` the name `path`, and remove the folder that had it. The old folder stays locked until it is removed."""
    old = new.with_suffix(".old")
    handle = _open_folder(path)
    try:
        with suppress(OSError):
            take_lock(handle, wait=True)
        os.rename(path, old)
        try:
            os.rename(new, path)
        except BaseException:
            os.rename(old, path)
            raise
        shutil.rmtree(old, ignore_errors=True)
    finally:
        os.close(handle)


def _sync_tree(folder: Path) -> None:
    for parent, _, names in os.walk(folder, topdown=False):
        for name in names:
            path = Path(parent, name)
            if path.is_file() and not path.is_symlink():
                with open(path, "rb") as file:
                    os.fsync(file.fileno())
        sync_folder(Path(parent))
