"""Python files of the user's own: where they failed, in the user's words, and modules of one file by its content.

module = module_of(path.read_bytes(), path)          # the same module for the same content; UserError with file and line
"""

from __future__ import annotations

import hashlib
import linecache
import sys
import traceback
from pathlib import Path
from types import ModuleType

from base.errors import UserError


def is_file(name: str) -> bool:
    """Whether the name of a game or network is the path of a file."""
    return name.endswith(".py") or "/" in name


def failure(name: str, file: str, error: BaseException) -> UserError:
    """`name` could not be loaded: file and line in the folder of `file`, then the cause."""
    if isinstance(error, SyntaxError):
        return UserError(f"{error.filename or file}, line {error.lineno or 1}: not Python\n{error.msg}")
    own = str(Path(file).parent)
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename.startswith(own)]
    place = f"{frames[-1].filename}, line {frames[-1].lineno}" if frames else name
    return UserError(f"{place}: can't be loaded\n{type(error).__name__}: {error}")


def module_of(source: bytes, path: Path) -> ModuleType:
    """The module of a file that holds `source`, executed once in a process. `path` need not exist any more; messages name it."""
    name = f"zermelo_code_{hashlib.sha256(source).hexdigest()[:16]}"
    if name in sys.modules:
        return sys.modules[name]
    module = ModuleType(name)
    module.__file__ = str(path)
    lines = source.decode("utf-8", "replace").splitlines(keepends=True)
    linecache.cache[str(path)] = (len(source), None, lines, str(path))  # for messages, where the file is elsewhere
    sys.modules[name] = module  # dataclasses look their module up
    try:
        exec(compile(source, str(path), "exec"), module.__dict__)
    except UserError:
        del sys.modules[name]
        raise
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise failure(str(path), str(path), error) from error
    return module
