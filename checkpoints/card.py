"""The description of a checkpoint: `card.json`."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from base.errors import UserError, nearest
from base.json_values import is_count, is_name, is_number, is_text, is_whole, shown

ROOT = Path(__file__).resolve().parent.parent
HASH = re.compile(r"sha256:[0-9a-f]{64}")
_LARGEST = 2**63 - 1


@dataclass(frozen=True)
class Elo:
    """A rating on the arena's scale, with its interval of 95 %."""

    value: float
    low: float
    high: float

    def __post_init__(self) -> None:
        if not all(is_number(each) for each in (self.value, self.low, self.high)):
            raise UserError(f"elo: expected three numbers, got {shown([self.value, self.low, self.high])}")
        if not self.low <= self.value <= self.high:
            raise UserError(f"elo: expected low ≤ value ≤ high, got {self.low:g}, {self.value:g}, {self.high:g}")

    def __str__(self) -> str:
        return f"{self.value:+.0f} [{self.low:+.0f}, {self.high:+.0f}]"


@dataclass(frozen=True)
class Card:
    """The game that a network is for, and how it was made. `save` fills in `weights` and `parameters`."""

    game: str
    """The game's resolved name: `othello:size=8`."""
    version: int
    """Of the game's rules."""
    net: str
    """The net's resolved text: `resnet:3x32,pool=off`; the file's name where it is defined by one: `my_net.py:channels=32`."""
    weights: str = ""
    """The hash of weights.safetensors: `sha256:` and 64 digits."""
    parameters: int = 0
    """How many numbers were fitted."""
    source: str = ""
    """The hash of net.py, the file that defines the network; '' where the program has the network."""
    signature: str = ""
    """Of `source`, by the user who may execute it (`base/signing.py`)."""
    step: int = 0
    """How far its run had come, in the run's own unit."""
    games: int = 0
    """How many games it learned from."""
    configuration: Mapping[str, Any] = field(default_factory=dict)
    """The run's, resolved."""
    commit: str = ""
    """Of the program, followed by `-dirty` where files were changed; '' where unknown."""
    seeds: Mapping[str, int] = field(default_factory=dict)
    """By what they were for."""
    elo: Elo | None = None
    """None until it has been measured."""
    exploitability: float | None = None
    """In utilities, of games that hide information and are small enough (`arena/exploit.py`); None elsewhere, and until it has been
    measured."""
    command: str = ""
    """What reproduces it."""
    note: str = ""
    """Whatever else, in words."""

    def __post_init__(self) -> None:
        for name, (fits, words) in _EXPECTED.items():
            if not fits(getattr(self, name)):
                raise UserError(f"{name}: expected {words}, got {shown(getattr(self, name))}")

    @property
    def strength(self) -> float | None:
        """What orders the checkpoints of a run: the more, the stronger. None until it has been measured."""
        if self.elo is not None:
            return self.elo.value
        return None if self.exploitability is None else -self.exploitability

    def strength_text(self) -> str:
        """`Elo +104 [+57, +151]`, `exploitability 0.01`; empty until it has been measured."""
        if self.elo is not None:
            return f"Elo {self.elo}"
        return "" if self.exploitability is None else f"exploitability {self.exploitability:.4g}"

    @property
    def short(self) -> str:
        """The hash's first twelve digits: a name for these weights and no others."""
        return self.weights.removeprefix("sha256:")[:12]

    def to_json(self) -> dict[str, Any]:
        """An object for `base.files.write_json`; `from_json` takes it back."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Any) -> Card:
        """The inverse of `to_json`. What is missing has its default; what is unknown is refused."""
        if not isinstance(data, dict):
            raise UserError(f"expected an object with {', '.join(_KEYS)}, got {shown(data)}")
        _check_keys("", data, _KEYS, _KEYS[:3])
        elo = data.get("elo")
        if elo is not None:
            if not isinstance(elo, dict):
                raise UserError(f"elo: expected an object with value, low, high, got {shown(elo)}")
            _check_keys("elo: ", elo, ("value", "low", "high"), ("value", "low", "high"))
            data = data | {"elo": Elo(**elo)}
        return cls(**data)


def commit() -> str:
    """The commit of the program that runs, for cards and records; '' where it is not known."""
    if not (ROOT / ".git").exists():
        return ""
    command = [
        "git",
        "--no-optional-locks",
        "-C",
        str(ROOT),
        "describe",
        "--always",
        "--dirty",
        "--abbrev=40",
        "--exclude=*",
    ]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def _check_keys(where: str, data: Mapping[str, Any], known: tuple[str, ...], needed: tuple[str, ...]) -> None:
    unknown = next((key for key in data if key not in known), None)
    if unknown is not None:
        raise UserError(f"{where}unknown key {unknown!r}: expected {', '.join(known)}{nearest(unknown, known)}")
    missing = next((key for key in needed if key not in data), None)
    if missing is not None:
        raise UserError(f"{where}expected a '{missing}', got {shown(list(data))}")


def _is_count(value: Any) -> bool:
    return is_count(value) and value <= _LARGEST


def _is_hash(value: Any) -> bool:
    return isinstance(value, str) and (value == "" or HASH.fullmatch(value) is not None)


def _is_object(value: Any) -> bool:
    return isinstance(value, Mapping) and all(isinstance(key, str) for key in value)


def _is_seeds(value: Any) -> bool:
    return _is_object(value) and all(is_whole(each) for each in value.values())


_EXPECTED: dict[str, tuple[Callable[[Any], bool], str]] = {
    "game": (is_name, "a game's name"),
    "version": (is_whole, "a whole number"),
    "net": (is_name, "a net's text"),
    "weights": (_is_hash, "'sha256:' and 64 hexadecimal digits"),
    "parameters": (_is_count, "a whole number of at least 0"),
    "source": (_is_hash, "'sha256:' and 64 hexadecimal digits"),
    "signature": (is_text, "text"),
    "step": (_is_count, "a whole number of at least 0"),
    "games": (_is_count, "a whole number of at least 0"),
    "configuration": (_is_object, "an object"),
    "commit": (is_text, "text"),
    "seeds": (_is_seeds, "a whole number for each purpose"),
    "elo": (lambda value: value is None or isinstance(value, Elo), "an Elo or nothing"),
    "exploitability": (
        lambda value: value is None or (is_number(value) and 0 <= value <= 1e9),
        "a number of at least 0, or nothing",
    ),
    "command": (is_text, "text"),
    "note": (is_text, "text"),
}
_KEYS = tuple(each.name for each in fields(Card))
