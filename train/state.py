"""The state of a run: counters and tensors, saved whole after every iteration, with no pickles.

    runs/NAME/state/000012/state.json            counters, and the hash of
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

from safetensors import SafetensorError
from safetensors.torch import load as tensors_of_bytes
from safetensors.torch import save as bytes_of_tensors
from torch import Tensor

from base.errors import UserError
from base.files import durable_folder, read_json, remove_leftovers, write_bytes, write_json

KEPT = 2
FORMAT = 1


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
    """Positions to learn from that had been made when each iteration was finished."""

    @property
    def positions(self) -> int:
        return self.made[-1] if self.made else 0


def save(folder: Path, progress: Progress, tensors: dict[str, Tensor]) -> None:
    """Add a state, and drop those that are no longer needed."""
    data = bytes_of_tensors(tensors)
    with durable_folder(folder / f"{progress.iterations:06}", replace=True) as new:
        write_bytes(new / "tensors.safetensors", data)
        about = {"format": FORMAT, "sha256": hashlib.sha256(data).hexdigest(), **asdict(progress)}
        write_json(new / "state.json", about)
    for old in _all(folder)[:-KEPT]:
        shutil.rmtree(old, ignore_errors=True)


def newest(folder: Path, report: Callable[[str], object]) -> tuple[Progress, dict[str, Tensor]] | None:
    """The last state that can be read; None where there is none."""
    if not folder.is_dir():
        return None
    remove_leftovers(folder)
    for path in reversed(_all(folder)):
        try:
            return _load(path)
        except (UserError, OSError) as error:
            report(f"{_named(error, path)}; resuming from the state before it")
    return None


def _all(folder: Path) -> list[Path]:
    """Oldest first."""
    return sorted(path for path in folder.iterdir() if path.name.isdigit() and path.is_dir())


def _load(path: Path) -> tuple[Progress, dict[str, Tensor]]:
    about = read_json(path / "state.json")
    names = {each.name for each in fields(Progress)}
    if not isinstance(about, dict) or set(about) != names | {"format", "sha256"} or about["format"] != FORMAT:
        raise UserError(f"{path / 'state.json'}: expected the counters of a run in format {FORMAT}")
    data = (path / "tensors.safetensors").read_bytes()
    if hashlib.sha256(data).hexdigest() != about["sha256"]:
        raise UserError(
            f"{path / 'tensors.safetensors'}: expected the hash {about['sha256'][:12]}…, the file is damaged"
        )
    try:
        tensors = tensors_of_bytes(data)
        progress = Progress(**{name: about[name] for name in names} | {"made": tuple(about["made"])})
    except (SafetensorError, TypeError) as error:
        raise UserError(f"{path}: expected a state: {error}") from None
    return progress, tensors


def _named(error: Exception, path: Path) -> str:
    text = str(error)
    return text if str(path) in text else f"{path}: {text}"
