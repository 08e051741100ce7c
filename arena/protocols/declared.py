"""The options of a kind of player, read from its source: importing it would load numba first.

>>> declared("alphabeta")["pvs"]
Declared('pvs', True, 'True')
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PLAYERS, ENGINES = ROOT / "arena/players.py", ROOT / "arena/engines"
ALPHABETA = ROOT / "classical/alphabeta/settings.py"


@dataclass(frozen=True)
class Declared:
    """One option."""

    name: str
    is_switch: bool
    """`on` or `off`."""
    default: str
    """As in the source; empty where there is none, or None."""


def declared(kind: str) -> dict[str, Declared]:
    """By name; empty for an unknown kind."""
    found: dict[str, Declared] = {}
    if kind == "alphabeta":
        for each in ast.walk(ast.parse(ALPHABETA.read_text("utf-8"))):
            if isinstance(each, ast.ClassDef) and each.name == "AlphaBetaSettings":
                fields = [line for line in each.body if isinstance(line, ast.AnnAssign)]
                found |= _options([(ast.unparse(line.target), line.annotation, line.value) for line in fields])
    file = ENGINES / f"{kind}.py"
    name, source = ("player", file) if kind.isidentifier() and file.is_file() else (f"make_{kind}", PLAYERS)
    for each in ast.parse(source.read_text("utf-8")).body:
        if isinstance(each, ast.FunctionDef) and each.name == name:
            given = [*each.args.args, *each.args.kwonlyargs]
            defaults = [None] * (len(each.args.args) - len(each.args.defaults)) + [
                *each.args.defaults,
                *each.args.kw_defaults,
            ]
            found |= _options([(one.arg, one.annotation, value) for one, value in zip(given, defaults, strict=False)])
    return found


def _options(parts: list[tuple[str, ast.expr | None, ast.expr | None]]) -> dict[str, Declared]:
    found = {}
    for name, annotation, value in parts:
        default = value.value if isinstance(value, ast.Constant) else None
        is_switch = annotation is not None and ast.unparse(annotation) == "bool"
        text = "" if default is None else ("on" if default else "off") if is_switch else str(default)
        found[name] = Declared(name, is_switch, text)
    return found
