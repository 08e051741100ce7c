"""The configuration of a run: frozen dataclasses, composed from TOML files and `--set`.

    configs/base.toml             for every game
    configs/hidden.toml           for every game that hides information
    configs/<game>.toml           for the game, where there is one
    --config FILE                 instead of that of the game
    --set search.c_init=1.5       last

A key is `section.name` as in the files. Each section's dataclass is next to what it configures, with a sentence and the papers'
value under each field. The result is written to `runs/NAME/config.toml`, and a run resumes with that configuration only. Keys that were
renamed (`RENAMED`) are accepted under their old names too, in files and in `--set`.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
import typing
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeVar

from base.errors import UserError, nearest, nearest_of, short
from base.options import split
from base.reading import toml_of
from base.user_code import is_file
from base.values import Misfit, checked
from games import Game
from mcts.methods import methods, settings_of
from mcts.puct import PUCT
from mcts.settings import MethodSettings
from selfplay.settings import SelfPlaySettings
from train.evaluation import EvaluationSettings
from train.learner import LearningSettings
from train.recorded import SupervisedSettings
from train.window import WindowSettings

FOLDER = Path(__file__).parent.parent / "configs"

T = TypeVar("T")

RENAMED = {
    "evaluation.rungs": "evaluation.reference_players",
    "evaluation.rung_games": "evaluation.reference_games",
    "search.glance": "search.immediate_wins",
}
"""Old key: the key that has its meaning now."""


@dataclass(frozen=True)
class Config:
    """Everything that a run's result depends on, except its length. The number of workers is not part of it: it changes nothing."""

    game: str
    """The game with its options, as `games.load` takes it."""
    net: str = "resnet:4x48"
    """The network, as `nets.make_net` takes it; `./my_net.py:…` is one from a file. AlphaZero: 20 blocks of 256 channels."""
    net_sha256: str = ""
    """SHA-256 of that file when the run began; it is filled in."""
    seed: int = 1
    """Everything random is derived from it."""
    games: int = 512
    """Games of an iteration: played by one network, then learned from. AlphaZero plays and learns at once."""
    precision: Literal["auto", "fp32", "bf16"] = "auto"
    """Of the network in self-play; auto: bf16 where it is faster on this processor."""
    device: str = "cpu"
    """Where the network runs and learns."""
    mixed: bool = False
    """Nodes of a cluster may differ in what decides the bits of a game; then the run cannot be repeated bit for bit."""
    keep: int = 10
    """The checkpoints of every Nth iteration are kept, and the three newest. 1: all are kept."""
    selfplay: SelfPlaySettings = field(default_factory=SelfPlaySettings)
    search: MethodSettings = field(default_factory=PUCT)
    window: WindowSettings = field(default_factory=WindowSettings)
    learning: LearningSettings = field(default_factory=LearningSettings)
    evaluation: EvaluationSettings = field(default_factory=EvaluationSettings)
    supervised: SupervisedSettings = field(default_factory=SupervisedSettings)

    def __post_init__(self) -> None:
        for name in ("games", "keep"):
            if getattr(self, name) < 1:
                raise UserError(f"{name}: expected at least 1, got {getattr(self, name)}")
        if not 0 <= self.seed < 1 << 63:
            raise UserError(f"seed: expected a whole number of 63 bits, got {self.seed}")


def compose(game: Game, file: str | None = None, changes: Iterable[str] = ()) -> Config:
    """From the files and from `key=value` texts, for one game."""
    own = FOLDER / f"{game.name.partition(':')[0]}.toml"
    common = [FOLDER / "base.toml", *([FOLDER / "hidden.toml"] if game.hides_information else [])]
    tables: list[tuple[str, dict[str, Any]]] = [(f"{each}: ", read(each)) for each in common]
    if file is not None:
        tables.append((f"{file}: ", read(Path(file))))
    elif own.is_file():
        tables.append((f"{own}: ", read(own)))
    tables += [("", _of_change(change)) for change in changes]
    tables = _of_one_method(tables)
    merged: dict[str, Any] = {}
    for _, table in tables:
        _merge(merged, table)
    if merged.get("game", game.spec) != game.spec:
        raise UserError(f"game: expected it on the command line alone, got '{merged['game']}' in the configuration")
    try:
        return with_file(of_table(merged | {"game": game.spec}))
    except UserError as error:
        raise UserError(f"{_source(tables)}{error}") from None


def _of_one_method(tables: list[tuple[str, dict[str, Any]]]) -> list[tuple[str, dict[str, Any]]]:
    """Where `--set` chooses another method of search than the files do, without their settings of the other one."""
    named = [(where, table["search"]["method"]) for where, table in tables if _has_method(table.get("search"))]
    before, chosen = [name for where, name in named if where], [name for where, name in named if not where]
    if not chosen or not before or chosen[-1] == before[-1]:
        return tables
    others = _keys(settings_of(before[-1]))
    found = []
    for where, table in tables:
        if where and isinstance(search := table.get("search"), dict):
            table = table | {"search": {key: value for key, value in search.items() if key not in others}}
        found.append((where, table))
    return found


def _has_method(section: Any) -> bool:
    return isinstance(section, dict) and "method" in section


def with_file(config: Config) -> Config:
    """With the absolute path and the hash of the file that defines the network, where one does. A file that changed is refused."""
    kind = split(config.net)[0]
    if not is_file(kind):
        return config
    path = os.path.abspath(kind)
    try:
        found = hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError as error:
        raise UserError(f"net: expected a file with a network, found {error.strerror}: {short(path)}") from None
    if config.net_sha256 not in ("", found):
        raise UserError(
            f"net: expected {short(path)} as it was when the run began, but the file was changed; another --run takes it"
        )
    return replace(config, net=path + config.net.strip()[len(kind) :], net_sha256=found)


def _source(tables: list[tuple[str, dict[str, Any]]]) -> str:
    """The one without which the others can be merged; else the first that can not be merged with those before it."""
    for k in reversed(range(len(tables))):
        if _is_sound(tables[:k] + tables[k + 1 :]):
            return tables[k][0]
    return next(tables[k][0] for k in range(len(tables)) if not _is_sound(tables[: k + 1]))


def _is_sound(tables: Iterable[tuple[str, Mapping[str, Any]]]) -> bool:
    merged: dict[str, Any] = {"game": ""}
    for _, table in tables:
        _merge(merged, table)
    try:
        of_table(merged)
    except UserError:
        return False
    return True


def changed(config: Config, changes: Iterable[str]) -> Config:
    """With other values for the keys in these `key=value` texts. Another method of search brings its own defaults."""
    table, given = dataclasses.asdict(config), dict[str, Any]()
    for change in changes:
        _merge(given, _of_change(change))
    search = given.get("search")
    if isinstance(search, dict) and search.get("method", config.search.method) != config.search.method:
        usual = dataclasses.asdict(type(config.search)())
        table["search"] = {key: value for key, value in table["search"].items() if value != usual[key]}
    _merge(table, given)
    return with_file(of_table(table))


def read(path: Path, stored: bool = False) -> dict[str, Any]:
    """A TOML file with today's names of its keys; `stored`: that of a run, which may be older than this program, and is checked."""
    try:
        table = toml_of(path.read_bytes(), path)
    except FileNotFoundError:
        raise UserError(f"{path}: expected a configuration in TOML, found no such file") from None
    if stored:
        table = _renewed(table)
    try:
        table = renamed(table)
        if stored:
            of_table({"game": ""} | table)
    except UserError as error:
        raise UserError(f"{path}: {error}") from None
    return table


def of_table(table: Mapping[str, Any]) -> Config:
    return _build(Config, table, "")


def _renewed(table: dict[str, Any]) -> dict[str, Any]:
    """A run's configuration as this program writes it: renamed keys, and no keys of other methods of search, which once had a value
    too."""
    search = dict(table.get("search", {}))
    known = _keys(settings_of(str(search.get("method", "puct"))))
    others = set().union(*(_keys(settings_of(each)) for each in methods())) - known
    return table | {"search": {key: value for key, value in search.items() if key not in others}}


def to_toml(config: Config) -> str:
    """The inverse of `read`, every key written out."""
    lines, sections = [], []
    for each in fields(config):
        value = getattr(config, each.name)
        if is_dataclass(value):
            sections += ["", f"[{each.name}]"]
            sections += [f"{inner.name} = {in_toml(getattr(value, inner.name))}" for inner in fields(value)]
        else:
            lines.append(f"{each.name} = {in_toml(value)}")
    return "\n".join(lines + sections) + "\n"


def settings(config: Config) -> dict[str, str]:
    """Every `section.key` with its value as TOML has it, which `--set` takes."""
    return {key: in_toml(value) for key, value in flat(dataclasses.asdict(config)).items()}


def differences(old: Config, new: Config) -> list[str]:
    """`key: old, now new` for every key that differs."""
    before, after = settings(old), settings(new)
    keys = dict.fromkeys((*before, *after))
    return [f"{key}: {before.get(key)}, now {after.get(key)}" for key in keys if before.get(key) != after.get(key)]


# ── inside ──


def _of_change(change: str) -> dict[str, Any]:
    """`search.c_init=1.5` as a table. A value that is not TOML is text: `net=resnet:3x32` needs no quotes."""
    key, equals, text = change.partition("=")
    names = key.strip().split(".")
    if not equals or not all(names):
        raise UserError(f"set: expected key=value, got '{short(change)}'")
    if len(names) > 2:
        raise UserError(f"unknown key '{short(key)}': expected section.name")
    try:
        given = toml_of(f"value = {text}", "set")
        value: Any = given["value"] if len(given) == 1 else text.strip()
    except UserError:
        value = text.strip()
    for name in reversed(names):
        value = {name: value}
    return renamed(value)


def renamed(table: Mapping[str, Any]) -> dict[str, Any]:
    """With today's names for old keys. An old key next to its new name is refused."""
    found = {key: dict(value) if isinstance(value, dict) else value for key, value in table.items()}
    for old, new in RENAMED.items():
        (section, before), (_, after) = old.split("."), new.split(".")
        inner = found.get(section)
        if isinstance(inner, dict) and before in inner:
            if after in inner:
                raise UserError(f"{old}: expected {new} alone, which is its new name, got both")
            inner[after] = inner.pop(before)
    return found


def _merge(into: dict[str, Any], table: Mapping[str, Any]) -> None:
    for key, value in table.items():
        if isinstance(value, dict) and isinstance(into.get(key), dict):
            _merge(into[key], value)
        else:
            into[key] = dict(value) if isinstance(value, dict) else value


def _build(kind: type[T], table: Mapping[str, Any], where: str) -> T:
    hints = typing.get_type_hints(kind)
    known = [each.name for each in fields(kind)]  # type: ignore[arg-type]
    given: dict[str, Any] = {}
    for key, value in table.items():
        if key not in known:
            near = _near(key, known, where) or "; python -m train GAME --show-config lists all"
            raise UserError(f"unknown key '{short(where + key)}'{near}")
        if is_dataclass(hints[key]):
            if not isinstance(value, dict):
                raise UserError(f"{where}{key}: expected a section, got {short(in_toml(value))}")
            section = _variant(value) if hints[key] is MethodSettings else hints[key]
            given[key] = _build(section, value, f"{where}{key}.")
        else:
            given[key] = _checked(hints[key], value, where + key)
    try:
        return kind(**given)
    except UserError as error:
        raise UserError(f"{where}{error}") from None


def _variant(table: Mapping[str, Any]) -> type[MethodSettings]:
    """The settings of the search's method; it brings its own defaults, and a key of another method is named."""
    method = str(table.get("method", "puct"))
    try:
        found = settings_of(method)
    except UserError as error:
        raise UserError(f"search.{error}") from None
    known = {each.name for each in fields(found)}
    for key in table:
        owner = next((each for each in methods() if key not in known and key in _keys(settings_of(each))), None)
        if owner is not None:
            raise UserError(f"search.{key}: a setting of method '{owner}', expected those of '{method}'")
    return found


def _keys(kind: type[MethodSettings]) -> set[str]:
    return {each.name for each in fields(kind)}


def _near(key: str, known: list[str], where: str) -> str:
    """A key without its section is found in the sections, those of every search method among them."""
    if where:
        return nearest(key, known)
    sections = [(name, kind) for name, kind in typing.get_type_hints(Config).items() if is_dataclass(kind)]
    sections += [("search", settings_of(name)) for name in methods()]
    inner = {each.name: f"{section}.{each.name}" for section, kind in sections for each in fields(kind)}
    return nearest(key, known) or nearest_of(key, inner)


def _checked(kind: Any, value: Any, where: str) -> Any:
    try:
        return checked(kind, value)
    except Misfit as wrong:
        raise UserError(f"{where}: expected {wrong.expected}, got {short(in_toml(wrong.got))}") from None


def in_toml(value: Any) -> str:
    """A value as TOML has it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        escaped = "".join(c if c.isprintable() and c not in '"\\' else f"\\U{ord(c):08x}" for c in value)
        return f'"{escaped}"'
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(in_toml, value))}]"
    return str(value)


def flat(table: Mapping[str, Any], where: str = "") -> dict[str, Any]:
    """Every `section.key` with its value."""
    found: dict[str, Any] = {}
    for key, value in table.items():
        found |= flat(value, f"{where}{key}.") if isinstance(value, dict) else {where + key: value}
    return found
