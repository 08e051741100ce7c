"""Files that are sent along with work: a job may name files of this machine, and its workers may be where these are not.

    sent = SentFiles.of([game_file, checkpoint])                    # files, and folders with the files directly in them
    run_jobs(play, jobs, workers, initializer=sent.unpack)          # pickled with what they hold
    data = here(path).read_bytes()                                  # in the worker: the file itself, or its copy

Jobs keep the path as the name; what reads a file that a job may name opens `here(path)`.
"""

from __future__ import annotations

import functools
import os
import tempfile
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from base.files import StrPath


@dataclass(frozen=True)
class SentFiles:
    """What files hold, by absolute path."""

    contents: Mapping[str, bytes] = field(default_factory=dict)
    folder: str = field(default_factory=os.getcwd)
    """That of the sender, in which a path that is not absolute is meant."""

    @classmethod
    def of(cls, paths: Iterable[StrPath]) -> SentFiles:
        found = {}
        for path in map(_absolute, paths):
            for file in sorted(path.iterdir()) if path.is_dir() else [path]:
                if file.is_file():
                    found[str(file)] = file.read_bytes()
        return cls(found)

    def unpack(self) -> None:
        """In a worker: files that are not here, or hold something else, are copied; `here` finds the copies."""
        for name, data in self.contents.items():
            path = Path(name)
            with suppress(OSError):
                if path.read_bytes() == data:
                    continue
            global _folder
            _folder = self.folder
            copy = _copy_of(path)
            copy.parent.mkdir(parents=True, exist_ok=True)
            temporary = copy.with_name(f".{copy.name}.{os.getpid()}")
            temporary.write_bytes(data)
            temporary.replace(copy)


def here(path: StrPath) -> Path:
    """The copy of a file or folder that was sent; without one the path itself."""
    if not _folder:
        return Path(path)
    copy = _copy_of(_absolute(path))
    return copy if copy.exists() else Path(path)


_folder = ""  # the sender's; empty where nothing had to be copied


def _absolute(path: StrPath) -> Path:
    return Path(os.path.abspath(os.path.join(_folder, path)))


def _copy_of(path: Path) -> Path:
    return Path(_copies().name, *path.parts[1:])


@functools.cache
def _copies() -> tempfile.TemporaryDirectory[str]:
    """Copies under their whole paths, so that neighbours stay neighbours; removed when this process ends."""
    return tempfile.TemporaryDirectory(prefix="zermelo-files-")
