"""The state of a run: counters and tensors, saved whole after every iteration, with no pickles.

    runs/NAME/state/000012/state.json            counters, the hash of the configuration, the checksum of all of it, and the hash of
    runs/NAME/state/000012/tensors.safetensors   net, mean, optimizer (`Learner.tensors`)

The newest two are kept. One that cannot be read is skipped with one message, and the one before it is used: what is between them is
learned again, from the games on disk, to the same bits. Everything random in an iteration is derived from the run's seed and the
iteration's number, so the counters are the random state too.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load as tensors_of_bytes
from safetensors.torch import save as bytes_of_tensors
from torch import Tensor

from base.errors import UserError, short
from base.files import durable_folder, read_sealed_json, remove_leftovers, write_bytes, write_sealed_json
from base.json_values import is_count, is_number

KEPT = 2
FORMAT = 3
ADDED = {"configuration": 2, "recorded": 3}
"""Entries that older formats do not have. In 1 only the tensors had a hash; in 2 recorded games did not stay in the window."""


@dataclass(frozen=True)
class Progress:
    """Counters of a run. An iteration is finished when its games are played and learned from."""

    iterations: int = 0
    games: int = 0
    plies: int = 0
    steps: int = 0
    """Of the optimizer."""
    seconds: float = 0.0
    """Spent so far, by all processes of the run."""
    made: tuple[int, ...] = ()
    """Positions to learn from that had been made when each iteration was finished, `recorded` included."""
    recorded: int = 0
    """Positions of the recorded games that the run began with, which the window holds as its oldest."""


def save(folder: Path, progress: Progress, tensors: dict[str, Tensor], configuration: str) -> None:
    """Add a state of a run with a configuration of that hash, and drop those that are no longer needed."""
    data = bytes_of_tensors(tensors)
    with durable_folder(folder / f"{progress.iterations:06}", replace=True) as new:
        write_bytes(new / "tensors.safetensors", data)
        about = {"format": FORMAT, "sha256": hashlib.sha256(data).hexdigest(), "configuration": configuration}
        write_sealed_json(new / "state.json", about | asdict(progress))
    for old in _all(folder)[:-KEPT]:
        shutil.rmtree(old, ignore_errors=True)


def newest(
    folder: Path, report: Callable[[str], object], configuration: str | None = None
) -> tuple[Progress, dict[str, Tensor]] | None:
    """The last state that can be read; None where there is none. One of a configuration with another hash is refused."""
    if not folder.is_dir():
        return None
    remove_leftovers(folder)
    for path in reversed(_all(folder)):
        try:
            progress, tensors, of = _load(path)
            if None not in (of, configuration) and of != configuration:
                break
            return progress, tensors
        except (UserError, OSError) as error:
            report(f"{_named(error, path)}; resuming from the state before it")
    else:
        return None
    raise UserError(f"{path}: expected a state of this configuration, got one of another; config.toml was changed")


def _all(folder: Path) -> list[Path]:
    """Oldest first."""
    return sorted(path for path in folder.iterdir() if path.name.isdigit() and path.is_dir())


def _load(path: Path) -> tuple[Progress, dict[str, Tensor], str | None]:
    """Counters, tensors, and the hash of the configuration, which the oldest format does not have."""
    about = _about(path / "state.json")
    progress = _progress(about, path / "state.json")
    if path.name != f"{progress.iterations:06}":
        raise UserError(f"{path / 'state.json'}: expected the counters after {int(path.name)} iterations, got others")
    data = (path / "tensors.safetensors").read_bytes()
    if hashlib.sha256(data).hexdigest() != about["sha256"]:
        raise UserError(
            f"{path / 'tensors.safetensors'}: expected the hash {short(about['sha256'])[:12]}…, the file is damaged"
        )
    try:
        tensors = tensors_of_bytes(data)
    except (SafetensorError, TypeError, ValueError) as error:
        raise UserError(f"{path}: expected a state: {error}") from None
    return progress, tensors, about.get("configuration")


def read_progress(path: Path) -> Progress:
    """The counters in a `state.json`."""
    return _progress(_about(path), path)


def _about(path: Path) -> dict[str, Any]:
    about = read_sealed_json(path, is_older=lambda table: table.get("format") == 1)
    names = {"format", "sha256", "configuration", *(each.name for each in fields(Progress))}
    version: Any = about.get("format")
    is_known = is_count(version) and 1 <= version <= FORMAT
    if not is_known or set(about) != {name for name in names if ADDED.get(name, 1) <= version}:
        raise UserError(f"{path}: expected the counters of a run in format {FORMAT}")
    return about


def _progress(about: dict[str, Any], path: Path) -> Progress:
    about = {"recorded": 0} | about
    made, seconds = about["made"], about["seconds"]
    are_counts = all(is_count(about[name]) for name in ("iterations", "games", "plies", "steps"))
    rising: list[Any] = [about["recorded"], *made] if isinstance(made, list) else [None]
    is_rising = all(map(is_count, rising)) and rising == sorted(rising)
    if not are_counts or not is_rising or not is_number(seconds) or seconds < 0 or len(made) != about["iterations"]:
        raise UserError(f"{path}: expected counters from 0 on, and the positions made by each iteration")
    counters = {each.name: about[each.name] for each in fields(Progress)}
    return Progress(**counters | {"made": tuple(made)})


def _named(error: Exception, path: Path) -> str:
    text = str(error)
    return text if str(path) in text else f"{path}: {text}"
