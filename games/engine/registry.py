"""From a game's text to the game: `load("othello:size=6")`, `load("./my_game.py")`, `load("tree:two_ply.json")`.

A file in `games/` that defines a function `game` is a game, named like the file; the path of any other file works wherever a name does.
The function's parameters are the game's options, their annotations what they may be (`base/options.py`). A game's resolved name has
all its options.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import importlib.util
import linecache
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import Any

from base.errors import UserError, nearest, short
from base.options import Options, split
from base.sent_files import SentFiles, here
from base.user_code import failure, is_file
from games.engine.game import Game
from games.engine.rules import Rules

FOLDER = Path(__file__).parent.parent


@functools.cache
def builtin_games() -> tuple[str, ...]:
    """Names of the games in the folder."""
    files = sorted(FOLDER.glob("*.py"))
    return tuple(
        file.stem for file in files if re.search(r"^def game\(", file.read_text(encoding="utf-8"), re.MULTILINE)
    )


def variants() -> list[str]:
    """Every game of the folder, by default and under the other settings that its file names in `VARIANTS`."""
    found = []
    for name in builtin_games():
        module = _module(name)
        if all(each.default is not each.empty for each in Options(name, module.game).parameters.values()):
            found.append(name)
        found += [f"{name}:{options}" for options in getattr(module, "VARIANTS", ())]
    return found


def options_of(name: str) -> dict[str, str]:
    """The options of a game of the folder: name and what may be given, in words."""
    return Options(name, _module(name).game).words()


def summary_of(name: str) -> str:
    """The first line of a game's file."""
    return (_module(name).__doc__ or "").strip().splitlines()[0]


def load(text: str) -> Game:
    """The game that `text` names."""
    if not isinstance(text, str):
        raise UserError(f"game: expected its name as text, got {type(text).__name__}")
    if not text.isprintable():
        raise UserError(f"unknown game {short(text)!r}")
    where, options = split(text)
    files = [value for _, value in options]
    stamps = tuple(
        os.stat(here(path)).st_mtime_ns for path in files if _names_file(path)
    )  # an edited tree is another game
    return _load(_module(where), where, tuple(options), stamps)


def files_of(game: Game) -> SentFiles:
    """For workers: the rules of a game that is not one of the folder's, what they import from beside them, and files in its options."""
    where, options = split(game.spec)
    own = [Path(where), *sorted(_neighbours.get(Path(where), ()))] if is_file(where) else []
    return SentFiles.of(own + [Path(value) for _, value in options if _names_file(value)])


@functools.lru_cache(maxsize=64)
def _load(module: ModuleType, where: str, given: tuple[tuple[str | None, str], ...], stamps: tuple[int, ...]) -> Game:
    factory = getattr(module, "game", None)
    if not callable(factory):
        raise UserError(f"{where}: expected a function 'game(...) -> Rules' in this file, found none")
    options = Options(where, factory)
    resolved = options.resolve(list(given))
    try:
        with _beside(Path(module.__file__ or where)):  # the function may import, too
            rules = options.call(
                factory, {key: str(here(value)) if _names_file(value) else value for key, value in resolved.items()}
            )
    except UserError as error:
        raise UserError(f"{where}: {error}") from None
    except (Exception, SystemExit) as error:
        raise failure(where, module.__file__ or where, error) from error
    if not isinstance(rules, Rules):
        raise UserError(f"{where}: expected game(...) to return Rules, got {type(rules).__name__}")
    of_file = is_file(where)
    name = Path(where).name if of_file else where
    spec = str(Path(where).resolve()) if of_file else where
    found_anywhere = {key: os.path.abspath(value) if _names_file(value) else value for key, value in resolved.items()}
    return Game(
        rules, name + options.text(resolved), spec + options.text(found_anywhere), resolved, is_tried=not of_file
    )


def _names_file(value: Any) -> bool:
    return isinstance(value, str) and os.path.isfile(here(value))


def _module(where: str) -> ModuleType:
    if not is_file(where):
        if where not in builtin_games():
            known = ", ".join(builtin_games())
            raise UserError(
                f"unknown game '{short(where)}': expected one of {known}, or a file.py{nearest(where, builtin_games())}"
            )
        return importlib.import_module(f"games.{where}")
    path = here(Path(where).resolve())
    if not path.is_file():
        found = "a folder" if path.is_dir() else "no such file"
        raise UserError(f"{short(where)}: expected a file with a game's rules, found {found}")
    content, module = _modules.get((where, path), ("", None))
    if module is None or content != _content(path):
        module = _imported(where, path)
        _modules[where, path] = _content(path), module
    return module


_modules: dict[tuple[str, Path], tuple[str, ModuleType]] = {}
_neighbours: dict[Path, set[Path]] = {}  # which files of its folder a game's file has imported


def _content(path: Path) -> str:
    """A hash of a game's file and of those that it imports from beside it."""
    digest = hashlib.sha256()
    for file in (path, *sorted(_neighbours.get(path, ()))):
        with suppress(OSError):
            digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()


@contextmanager
def _beside(path: Path) -> Iterator[None]:
    """Let a game's file import its neighbours. Neither they nor the folder stay where another game's imports would find them."""
    folder, before, writing = str(path.parent), set(sys.modules), sys.dont_write_bytecode
    sys.path.append(folder)
    sys.dont_write_bytecode = True  # byte code is dated in seconds: a file edited twice within one would be stale
    importlib.invalidate_caches()
    try:
        yield
    finally:
        sys.dont_write_bytecode = writing
        sys.path.remove(folder)
        for name in set(sys.modules) - before:
            file = Path(getattr(sys.modules[name], "__file__", None) or "/")
            is_ours = (FOLDER.parent / name.partition(".")[0] / "__init__.py").is_file()
            if file.is_relative_to(folder) and "site-packages" not in file.parts and not is_ours and file != path:
                _neighbours.setdefault(path, set()).add(file)
                del sys.modules[name]


def _imported(where: str, path: Path) -> ModuleType:
    name = f"zermelo_game_{path.stem}_{hashlib.sha256(str(path).encode()).hexdigest()[:8]}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UserError(f"{where}: expected a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    linecache.checkcache(str(path))
    try:
        with _beside(path):
            spec.loader.exec_module(module)
    except UserError:
        raise
    except (Exception, SystemExit) as error:
        raise failure(where, str(path), error) from error
    return module
