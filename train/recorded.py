"""Recorded games that a run begins with: which files, and that they are still the same. train/supervised.py learns from them.

config.supervised.files, config.supervised.sha256        # set by `--from-games FILES`
records = recorded(game, config.supervised)              # refused where the files have changed since
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from base.errors import UserError
from games import Game
from games.record import GameRecord, files_of, finished, read_records

if TYPE_CHECKING:
    from train.config import Config  # which holds these settings


@dataclass(frozen=True)
class SupervisedSettings:
    """A run without files begins with random weights. AlphaGo's policy began with 160,000 recorded games (Silver et al. 2016)."""

    files: tuple[str, ...] = ()
    """Recorded games, set by --from-games."""
    sha256: str = ""
    """Of what these files held when the run began."""
    epochs: float = 4.0
    """How often each position is drawn on average."""
    held_back: float = 0.1
    """The share of the games that is not learned from: on these the network is measured afterwards."""

    def __post_init__(self) -> None:
        if bool(self.files) != bool(self.sha256):
            raise UserError("files: expected them from the command line, with --from-games FILES")
        if not self.epochs > 0:
            raise UserError(f"epochs: expected more than 0, got {self.epochs}")
        if not 0 <= self.held_back < 1:
            raise UserError(f"held_back: expected at least 0 and below 1, got {self.held_back}")


def with_games(config: Config, files: Sequence[str], game: Game) -> Config:
    """The configuration of a run that begins with these. The same games elsewhere on disk are the same."""
    found = hash_of(existing(files), game)
    if found == config.supervised.sha256:
        return config
    return replace(config, supervised=replace(config.supervised, files=tuple(files), sha256=found))


def existing(files: Iterable[str]) -> list[Path]:
    for name in files:
        if not Path(name).exists():
            raise UserError(f"--from-games: expected files or folders of games, found no {name}")
    return [Path(name) for name in files]


def hash_of(files: Iterable[Path], game: Game) -> str:
    """Of all that is read of them."""
    found = hashlib.sha256()
    for path in files:
        for file in files_of(path, game):
            with open(file, "rb") as content:
                found.update(hashlib.file_digest(content, "sha256").digest())
    return found.hexdigest()


def recorded(game: Game, settings: SupervisedSettings) -> list[GameRecord]:
    """The finished games among them, games that are equal move for move once."""
    files = existing(settings.files)
    if (now := hash_of(files, game)) != settings.sha256:
        raise UserError(
            f"--from-games: expected what {', '.join(settings.files)} held when the run began ({settings.sha256[:12]}…), "
            f"got other games ({now[:12]}…); another --run takes them"
        )
    found: dict[bytes, GameRecord] = {}
    for path in files:
        for record in finished(read_records(path, game)):
            found.setdefault(hash_of_moves(record), record)
    if not found:
        raise UserError(
            f"--from-games: expected finished games of {game.name} in {', '.join(settings.files)}, found none"
        )
    return list(found.values())


def hash_of_moves(record: GameRecord) -> bytes:
    """Equal for games that are equal move for move."""
    return hashlib.sha256((record.start or b"") + record.moves.tobytes()).digest()
