"""`NAME:key=value,key=value`: the grammar of the names of games, players and networks, and how a name becomes a call.

A function's parameters are the options of what it makes, its annotations their allowed values:

    def game(size: Literal[6, 8] = 8) -> Rules: ...                       one of these
    def game(size: Annotated[int, range(2, 20)] = 9, komi: float = 7.5)   from 2 to 19; any finite number
    def alphabeta(depth: int | None = None, tt: bool = True)              optional; on or off
    def game(file: str, /) -> Rules: ...                                  given without a key: tree:two_ply.json

    def uci(command: str, /, **options: str)              any other options, as text

Values with commas, equal signs or spaces are quoted. A resolved text contains all options that have a value.
"""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Callable, Iterable
from typing import Any

from base.errors import UserError, nearest, short
from base.values import Misfit, in_words, parsed

Given = list[tuple[str | None, str]]

_WORD = re.compile(r"""\s*(?:(?P<key>[A-Za-z_]\w*)\s*=)?\s*(?:"(?P<quoted>[^"]*)"|(?P<plain>[^,="]*))\s*(?:,|$)""")


def split(text: str) -> tuple[str, Given]:
    """The name and the options as given; an option without a key has None. A name may end in `.py`."""
    text = text.strip()
    file = re.match(
        r"(?!\w\w+:).*?\.py(?=:|$)", text
    )  # a path may contain colons, but not after its first word: `gtp:./go.py`
    where, rest = (file[0], text[file.end() + 1 :]) if file else (text.partition(":")[0], text.partition(":")[2])
    options: Given = []
    at = 0
    while at < len(rest):
        match = _WORD.match(rest, at)
        if match is None:
            raise UserError(f"options: expected key=value,key=value after '{where}:', got '{short(rest)}'")
        value = match["quoted"] if match["quoted"] is not None else match["plain"].strip()
        options.append((match["key"], value))
        at = match.end()
    return where, options


class Options:
    """The options of one function or several, from their signatures; `skip` names parameters that are not options."""

    def __init__(self, where: str, *functions: Callable[..., Any], skip: Iterable[str] = ()) -> None:
        self.where = where
        self.parameters: dict[str, inspect.Parameter] = {}
        self._kinds: dict[str, Any] = {}
        self.is_open = False
        for function in functions:
            found = {
                name: each for name, each in inspect.signature(function).parameters.items() if name not in set(skip)
            }
            open_ended = [name for name, each in found.items() if each.kind is each.VAR_KEYWORD]
            self.is_open |= bool(open_ended)
            self.parameters |= {name: each for name, each in found.items() if name not in open_ended}
            self._kinds |= typing.get_type_hints(function, include_extras=True)
        self.unnamed = [name for name, each in self.parameters.items() if each.kind is each.POSITIONAL_ONLY]

    @property
    def texts(self) -> list[str]:
        """Those whose value is any text: a command, a path."""
        return [name for name in self.parameters if self._kinds.get(name) in (str, str | None)]

    def resolve(self, given: Given) -> dict[str, Any]:
        """A value for every option: as given, or the default."""
        found: dict[str, Any] = {}
        for key, text in given:
            name = key if key is not None else next((name for name in self.unnamed if name not in found), None)
            if name is None:
                raise UserError(f"{self.where}: expected key=value, got '{short(text)}'; {self._allowed()}")
            if name not in self.parameters and not self.is_open:
                near = nearest(name, self.parameters)
                raise UserError(f"{self.where}: unknown option '{name}'; {self._allowed()}{near}")
            if name in found:
                raise UserError(f"{self.where}: option '{name}' is given twice")
            found[name] = self._value(name, text) if name in self.parameters else text
        for name, parameter in self.parameters.items():
            if name not in found and parameter.default is parameter.empty:
                example = name + "=" if name not in self.unnamed else ""
                raise UserError(f"{self.where}: expected a value for '{name}', as in {self.where}:{example}…")
        defaults = {name: parameter.default for name, parameter in self.parameters.items()}
        return defaults | {name: found[name] for name in sorted(found, key=[*defaults, *found].index)}

    def words(self) -> dict[str, str]:
        """The allowed values of each option, in words."""
        found = {}
        for name, parameter in self.parameters.items():
            default = "" if parameter.default in (parameter.empty, None) else f", default {written(parameter.default)}"
            found[name] = in_words(self._kind(name)) + default
        if self.is_open:
            found["…"] = "any other option, under its own name"
        return found

    def text(self, resolved: dict[str, Any]) -> str:
        """`:key=value,…`, the inverse of `resolve`; empty where there are no options."""
        words = [
            written(value) if name in self.unnamed else f"{name}={written(value)}"
            for name, value in resolved.items()
            if value is not None
        ]
        return ":" + ",".join(words) if words else ""

    def call(self, function: Callable[..., Any], resolved: dict[str, Any], *first: Any) -> Any:
        """`function` with the options in their places."""
        positional = [resolved[name] for name in self.unnamed]
        named = {name: value for name, value in resolved.items() if name not in self.unnamed}
        return function(*first, *positional, **named)

    def _kind(self, name: str) -> Any:
        return self._kinds.get(name, str)

    def _allowed(self) -> str:
        return f"options are {', '.join(self.parameters)}" if self.parameters else "it has no options"

    def _value(self, name: str, text: str) -> Any:
        kind = self._kind(name)
        try:
            return parsed(kind, text)
        except Misfit:
            is_long = re.fullmatch(r"[+-]?\d{19,}", text.strip()) is not None
            expected = in_words(kind)
            if is_long and expected == "a whole number":
                expected += " of at most 18 digits"
            raise UserError(f"{self.where}: {name}: expected {expected}, got '{short(text)}'") from None


def written(value: Any) -> str:
    """A value as an option is written; the inverse of reading it."""
    if isinstance(value, bool):
        return "on" if value else "off"
    short = f"{value:g}" if isinstance(value, float) else str(value)
    text = repr(value) if isinstance(value, float) and float(short) != value else short
    return f'"{text}"' if re.search(r"""[,="\s]""", text) else text
