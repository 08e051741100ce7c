"""From a game's text to the game: `load("othello:size=6")`, `load("./my_game.py")`, `load("tree:two_ply.json")`.

A file in `games/` that defines a function `game` *is* a game, called like the file; a file anywhere else works wherever a name does.
The function's parameters are the game's options, its annotations what they may be:

    def game(size: Literal[6, 8] = 8) -> Rules: ...                       # one of these
    def game(size: Annotated[int, range(2, 20)] = 9, komi: float = 7.5)   # from 2 to 19; any number
    def game(file: str, /) -> Rules: ...                                  # given without its name: tree:two_ply.json

An option is written `key=value`; values with commas or equal signs are quoted. A game's resolved name has all its options.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import importlib.util
import inspect
import linecache
import math
import os
import re
import sys
import traceback
import typing
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, get_args, get_origin

from base.errors import UserError, nearest
from games.engine.game import Game
from games.engine.rules import Rules

FOLDER = Path(__file__).parent.parent
_WORD = re.compile(r"""\s*(?:(?P<key>[A-Za-z_]\w*)\s*=)?\s*(?:"(?P<quoted>[^"]*)"|(?P<plain>[^,="]*))\s*(?:,|$)""")


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
        parameters = inspect.signature(module.game).parameters.values()
        if all(parameter.default is not parameter.empty for parameter in parameters):
            found.append(name)
        found += [f"{name}:{options}" for options in getattr(module, "VARIANTS", ())]
    return found


def options_of(name: str) -> dict[str, str]:
    """The options of a game of the folder: name and what may be given, in words."""
    factory = _module(name).game
    kinds = typing.get_type_hints(factory, include_extras=True)
    return {
        option: _in_words(kinds.get(option, str))
        + ("" if parameter.default is parameter.empty else f", default {parameter.default}")
        for option, parameter in _parameters(factory).items()
    }


def summary_of(name: str) -> str:
    """The first line of a game's file."""
    return (_module(name).__doc__ or "").strip().splitlines()[0]


def load(text: str) -> Game:
    """The game that `text` names."""
    if not text.isprintable():
        raise UserError(f"unknown game {text!r}")
    where, options = split(text)
    files = [value for _, value in options]
    stamps = tuple(
        os.stat(path).st_mtime_ns for path in files if os.path.isfile(path)
    )  # an edited tree is another game
    return _load(_module(where), where, tuple(options), stamps)


def split(text: str) -> tuple[str, list[tuple[str | None, str]]]:
    """`NAME:key=value,…` into the name and the options; an option given without key has None."""
    where, _, rest = text.strip().partition(".py:") if ".py:" in text else text.strip().partition(":")
    where += ".py" if ".py:" in text else ""
    options: list[tuple[str | None, str]] = []
    at = 0
    while at < len(rest):
        match = _WORD.match(rest, at)
        if match is None:
            raise UserError(f"options: expected key=value,key=value after '{where}:', got '{rest}'")
        value = match["quoted"] if match["quoted"] is not None else match["plain"].strip()
        options.append((match["key"], value))
        at = match.end()
    return where, options


@functools.lru_cache(maxsize=64)
def _load(module: ModuleType, where: str, options: tuple[tuple[str | None, str], ...], stamps: tuple[int, ...]) -> Game:
    factory = getattr(module, "game", None)
    if not callable(factory):
        raise UserError(f"{where}: expected a function 'game(...) -> Rules' in this file, found none")
    resolved = _resolved(where, factory, options)
    positional = [
        resolved[name]
        for name, parameter in _parameters(factory).items()
        if parameter.kind is parameter.POSITIONAL_ONLY
    ]
    named = {
        name: value
        for name, value in resolved.items()
        if _parameters(factory)[name].kind is not inspect.Parameter.POSITIONAL_ONLY
    }
    try:
        rules = factory(*positional, **named)
    except UserError as error:
        raise UserError(f"{where}: {error}") from None
    except Exception as error:
        raise UserError(_where_it_failed(where, module, error)) from error
    if not isinstance(rules, Rules):
        raise UserError(f"{where}: expected game(...) to return Rules, got {type(rules).__name__}")
    words = [_written(value) for value in positional] + [f"{name}={_written(value)}" for name, value in named.items()]
    tail = ":" + ",".join(words) if words else ""
    is_file = _is_file(where)
    name = Path(where).name if is_file else where
    spec = str(Path(where).resolve()) if is_file else where
    return Game(rules, name + tail, spec + tail, resolved)


def _is_file(where: str) -> bool:
    return where.endswith(".py") or "/" in where


def _module(where: str) -> ModuleType:
    if not _is_file(where):
        if where not in builtin_games():
            known = ", ".join(builtin_games())
            raise UserError(
                f"unknown game '{where}': expected one of {known}, or a file.py{nearest(where, builtin_games())}"
            )
        return importlib.import_module(f"games.{where}")
    path = Path(where).resolve()
    if not path.is_file():
        raise UserError(f"{where}: expected a file with a game's rules, found no such file")
    return _imported(where, path, hashlib.sha256(path.read_bytes()).hexdigest())


@functools.lru_cache(maxsize=64)
def _imported(where: str, path: Path, content: str) -> ModuleType:
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))  # so that it can import its neighbours
    name = f"zermelo_game_{path.stem}_{hashlib.sha256(str(path).encode()).hexdigest()[:8]}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UserError(f"{where}: expected a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    linecache.checkcache(str(path))
    try:
        spec.loader.exec_module(module)
    except UserError:
        raise
    except SyntaxError as error:
        raise UserError(f"{error.filename}, line {error.lineno}: not Python\n{error.msg}") from error
    except Exception as error:
        raise UserError(_where_it_failed(where, module, error)) from error
    return module


def _where_it_failed(where: str, module: ModuleType, error: Exception) -> str:
    """File and line in the user's own folder, then the cause."""
    own = str(Path(module.__file__ or "").parent)
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename.startswith(own)]
    place = f"{frames[-1].filename}, line {frames[-1].lineno}" if frames else where
    return f"{place}: can't be loaded\n{type(error).__name__}: {error}"


# ── options ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _parameters(factory: Any) -> dict[str, inspect.Parameter]:
    return dict(inspect.signature(factory).parameters)


def _resolved(where: str, factory: Any, options: tuple[tuple[str | None, str], ...]) -> dict[str, Any]:
    parameters = _parameters(factory)
    kinds = typing.get_type_hints(factory, include_extras=True)
    unnamed = [name for name, parameter in parameters.items() if parameter.kind is parameter.POSITIONAL_ONLY]
    given: dict[str, Any] = {}
    for key, text in options:
        name = key if key is not None else next((name for name in unnamed if name not in given), None)
        if name is None:
            raise UserError(f"{where}: expected key=value, got '{text}'; {_allowed(parameters)}")
        if name not in parameters:
            raise UserError(f"{where}: unknown option '{name}'; {_allowed(parameters)}{nearest(name, parameters)}")
        if name in given:
            raise UserError(f"{where}: option '{name}' is given twice")
        given[name] = _value(where, name, kinds.get(name, str), text)
    for name, parameter in parameters.items():
        if name not in given and parameter.default is parameter.empty:
            raise UserError(
                f"{where}: expected a value for '{name}', as in {where}:{name if name not in unnamed else ''}…"
            )
    return {name: given.get(name, parameter.default) for name, parameter in parameters.items()}


def _allowed(parameters: dict[str, inspect.Parameter]) -> str:
    return f"options are {', '.join(parameters)}" if parameters else "it has no options"


def _value(where: str, name: str, kind: Any, text: str) -> Any:
    refusal = UserError(f"{where}: {name}: expected {_in_words(kind)}, got '{text}'")
    if get_origin(kind) is Literal:
        by_text = {str(value): value for value in get_args(kind)}
        if text not in by_text:
            raise refusal
        return by_text[text]
    limits = None
    if get_origin(kind) is typing.Annotated:
        kind, limits = get_args(kind)[:2]
    try:
        value = kind(text) + 0.0 if kind is float else kind(text)  # -0 is 0
    except ValueError:
        raise refusal from None
    if (isinstance(value, float) and not math.isfinite(value)) or (isinstance(limits, range) and value not in limits):
        raise refusal
    return value


def _in_words(kind: Any) -> str:
    if get_origin(kind) is Literal:
        return f"one of {', '.join(map(str, get_args(kind)))}"
    if get_origin(kind) is typing.Annotated:
        limits = get_args(kind)[1]
        return f"{limits[0]} to {limits[-1]}" if isinstance(limits, range) else _in_words(get_args(kind)[0])
    return {int: "a whole number", float: "a finite number", str: "text"}.get(kind, str(kind))


def _written(value: Any) -> str:
    short = f"{value:g}" if isinstance(value, float) else str(value)
    text = repr(value) if isinstance(value, float) and float(short) != value else short
    return f'"{text}"' if re.search(r"""[,="\s]""", text) else text
