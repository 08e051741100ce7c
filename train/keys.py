"""Every key of the configuration with its sentence, read from the dataclasses: `--show-config` and docs/configuration.md.

python -m train GAME --show-config                 # the values of a run, as TOML that --config takes
python -m train.keys --write                       # renews docs/configuration.md
"""

from __future__ import annotations

import ast
import inspect
import textwrap
import typing
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from base.errors import run_command
from base.generated import GeneratedPart
from mcts.methods import methods, settings_of
from mcts.settings import MethodSettings
from train.config import FOLDER, Config, flat, in_toml, read

WIDTH = 120


def sentences(kind: type[Any]) -> dict[str, str]:
    """Of each field of a dataclass, those that it inherits included: what stands under it in the source."""
    found: dict[str, str] = {}
    for each in reversed(kind.__mro__):
        if not is_dataclass(each):
            continue
        (body,) = ast.parse(textwrap.dedent(inspect.getsource(each))).body
        assert isinstance(body, ast.ClassDef)
        for field, text in zip(body.body, body.body[1:], strict=False):
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(text, ast.Expr):
                assert isinstance(text.value, ast.Constant)
                found[field.target.id] = " ".join(str(text.value.value).split())
    return found


def shown(config: Config) -> str:
    """As TOML, each key with its sentence as a comment; `train.config.read` takes it back."""
    lines: list[str] = []
    sections: list[str] = []
    for each in fields(config):
        value = getattr(config, each.name)
        if is_dataclass(value):
            sections += ["", f"[{each.name}]"]
            for inner in fields(value):
                sections += _commented(inner.name, getattr(value, inner.name), sentences(type(value))[inner.name])
        else:
            lines += _commented(each.name, value, sentences(Config)[each.name])
    return "\n".join(lines + sections)


def _commented(key: str, value: Any, sentence: str) -> list[str]:
    return [*textwrap.wrap(sentence, WIDTH, initial_indent="# ", subsequent_indent="# "), f"{key} = {in_toml(value)}"]


# ── docs/configuration.md ──


def sections() -> dict[str, tuple[type[Any], str]]:
    """Title: the dataclass of its keys, and what stands before the name of a key."""
    hints = typing.get_type_hints(Config)
    found: dict[str, tuple[type[Any], str]] = {"The run": (Config, "")}
    for name, kind in hints.items():
        if kind is MethodSettings:
            for method in methods():
                found[f'`search`, with `method = "{method}"`'] = settings_of(method), f"{name}."
        elif is_dataclass(kind):
            found[f"`{name}`"] = typing.cast("type[Any]", kind), f"{name}."
    return found


def tables() -> str:
    """Markdown: the keys with their values for a game without a file, then what the files of games change."""
    usual = flat(read(FOLDER / "base.toml"))
    blocks: list[str] = []
    for title, (kind, where) in sections().items():
        made = kind("") if kind is Config else kind()
        rows = [f"## {title}", "", "| key | by default | |", "|---|---|---|"]
        for each in fields(kind):
            value = getattr(made, each.name)
            if not is_dataclass(value) and each.name != "game":
                value = usual.get(where + each.name, value)
                rows.append(f"| `{where}{each.name}` | `{in_toml(value)}` | {_cell(sentences(kind)[each.name])} |")
        blocks.append("\n".join(rows))
    games = ["## What the files of games change", "", "| game | |", "|---|---|"]
    for file in sorted(FOLDER.glob("*.toml")):
        if file.stem != "base":
            changes = ", ".join(f"`{key}={in_toml(value)}`" for key, value in flat(read(file)).items())
            which = "those that hide information" if file.stem == "hidden" else f"`{file.stem}`"
            games.append(f"| {which} | {_cell(changes)} |")
    return "\n\n".join([*blocks, "\n".join(games)]) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", r"\|")


PART = GeneratedPart("train.keys", Path(__file__).parent.parent / "docs" / "configuration.md", tables, __doc__)

if __name__ == "__main__":
    run_command(PART.main)
