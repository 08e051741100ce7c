"""Which checkpoints there are: of a run, released, by name.

runs/NAME/checkpoints/STEP/                     a run's, numbered by its own unit
checkpoints/released/GAME/NAME/                 those that come with the program
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from base.errors import UserError, nearest
from base.files import StrPath, remove_leftovers
from base.options import split
from checkpoints.card import Card
from checkpoints.store import CARD, load, read_card, save, verify
from games import Game

RUNS = Path("runs")
RELEASED = Path(__file__).parent / "released"
FOLDER = "checkpoints"  # of a run
_HASH = re.compile(r"[0-9a-f]{8,64}")


def folder_of(run: StrPath, step: int) -> Path:
    """Where the run in the folder `run` keeps the checkpoint of a step."""
    return Path(run) / FOLDER / f"{step:08d}"


def all_of(run: StrPath) -> list[Path]:
    """The checkpoints in a run's folder, by step."""
    folder = Path(run) / FOLDER
    found = [each for each in folder.iterdir() if each.name.isdecimal()] if folder.is_dir() else []
    return sorted(found, key=lambda path: int(path.name))


def latest(run: StrPath) -> Path:
    """The newest checkpoint in a run's folder."""
    found = all_of(run)
    if not found:
        raise UserError(f"{run}: expected a run with checkpoints, found none in {Path(run) / FOLDER}")
    return found[-1]


def newest_whole(run: StrPath, game: Game, say: Callable[[str], None]) -> Path | None:
    """The newest checkpoint that can be loaded, or None; each damaged one before it is named with `say`."""
    for path in reversed(all_of(run)):
        try:
            verify(path, game)
            return path
        except (UserError, OSError) as error:
            say(str(error))
    return None


def best(run: StrPath) -> Path:
    """The checkpoint of the highest measured Elo in a run's folder, or of the least exploitability, the newer of equals; the first one,
    which has learned from no game, only where no other is measured: in a small game a search alone may be as strong."""
    rated = [(int(path.name), card.strength, path) for path, card in _cards(run) if card.strength is not None]
    if not rated:
        raise UserError(f"{run}: expected a run with checkpoints that have an Elo or an exploitability, found none")
    return max(rated, key=lambda each: (each[0] > 0, each[1], each[0]))[2]


def keep_every(run: StrPath, n: int, current: Path | None = None, recent: int = 1) -> list[Path]:
    """Remove a run's checkpoints but the first one at or beyond each multiple of n, the `recent` newest, the best and `current`; gives
    the removed."""
    if n < 1:
        raise UserError(f"keep_every: expected 1 or more, got {n}")
    found = all_of(run)
    rated = [path for path, card in _cards(run) if card.strength is not None]
    kept = {*found[-recent:], best(run) if rated else None, current}
    steps = [int(path.name) for path in found]
    passed = [step % n == 0 or (k > 0 and step // n > steps[k - 1] // n) for k, step in enumerate(steps)]
    gone = [path for path, is_first in zip(found, passed, strict=True) if not is_first and path not in kept]
    for path in gone:
        doomed = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")  # never half a checkpoint under its name
        os.rename(path, doomed)
        shutil.rmtree(doomed)
    if found:
        remove_leftovers(found[0].parent)
    return gone


def resolve(text: str, game: Game | None = None) -> Path:
    """The checkpoint folder that `text` stands for:

    | text                  | which                                                             |
    |-----------------------|-------------------------------------------------------------------|
    | NAME                  | the newest of the run `runs/NAME`                                 |
    | NAME/4000, NAME/best  | of that run, by step; the strongest, by Elo or exploitability     |
    | NAME@4000             | the same, as tables have it                                       |
    | a folder              | a checkpoint, or the newest of a run                              |
    | NAME, GAME/NAME       | released for the game, which may be given without its options     |
    | 8 to 64 digits        | by the hash of its weights, among the runs and the released ones  |
    """
    text = text.strip()
    name, _, which = text.rpartition("/")
    run, _, step = text.rpartition("@")
    ways: list[Callable[[], Path | None]] = [
        lambda: _of_run(RUNS / text, "latest") if text else None,
        lambda: _of_run(RUNS / name, which) if name else None,
        lambda: _of_run(RUNS / run, step) if run else None,
        lambda: _as_folder(Path(text)) if text else None,
        lambda: _of_run(Path(name), which) if name else None,
        lambda: _released(text, game),
        lambda: _by_hash(text, game) if _HASH.fullmatch(text) else None,
    ]
    for way in ways:
        try:
            found = way()
        except OSError as error:  # a name that no folder can have
            raise UserError(f"unknown checkpoint '{text}': {error.strerror}") from None
        if found is not None:
            return found
    known = names(game)
    about = f"; known are {', '.join(known[:12])}" if known else "; there are none yet"
    raise UserError(
        f"unknown checkpoint '{text}': expected a run, RUN@STEP, RUN/best, or a checkpoint's folder{about}{nearest(text, known)}"
    )


def called(path: Path) -> str:
    """A short name of a checkpoint's folder: `first@2560` of a run, `connect_four/small` of a released one, else its folder's."""
    path = path.absolute()
    if path.parent.name == FOLDER and path.name.isdecimal():
        return f"{path.parent.parent.name}@{int(path.name)}"
    return f"{path.parent.name}/{path.name}" if path.parent.parent == RELEASED else path.name


def text_of(path: Path) -> str:
    """What names it in a player's text: `first@2560`, `connect_four/small`, else its folder."""
    absolute = path.absolute()
    is_known = absolute.parent.parent.parent == RUNS.absolute() or absolute.parent.parent == RELEASED
    return called(path) if is_known else str(path)


def names(game: Game | None = None) -> list[str]:
    """The names that `resolve` takes: runs with checkpoints, and the nets released (for `game`)."""
    runs = sorted(path.name for path in RUNS.iterdir() if all_of(path)) if RUNS.is_dir() else []
    games = [game_folder(game)] if game is not None else sorted(RELEASED.glob("*"))
    released = [path for folder in games for path in sorted(folder.glob("*")) if _is_checkpoint(path)]
    return runs + [path.name if game is not None else f"{path.parent.name}/{path.name}" for path in released]


def everything() -> Iterator[Path]:
    """Every checkpoint under `runs/` and every released one."""
    for run in sorted(RUNS.iterdir()) if RUNS.is_dir() else []:
        yield from all_of(run)
    yield from released()


def released() -> list[Path]:
    """Those that come with the program."""
    return [path for path in sorted(RELEASED.glob("*/*")) if _is_checkpoint(path)]


def release(path: Path, game: Game, name: str, note: str = "") -> Path:
    """Copy a whole checkpoint to those that come with the program, for `game` and under `name`; one of that name is exchanged."""
    if not re.fullmatch(r"[\w+-][\w.+-]*", name):
        raise UserError(f"name: expected letters, digits, and . + - _ between, got '{name}'")
    net, card = load(path, game)
    if net.source:
        raise UserError(
            f"{path}: expected a network of the folder nets/, got one from a file, {card.net}; add the file there first"
        )
    return save(game_folder(game) / name, net, replace(card, note=note or card.note), overwrite=True)


def game_folder(game: Game) -> Path:
    """Where the nets released for a game are: its name, with `-` for what folders should not be called."""
    return RELEASED / re.sub(r"[^\w.+-]", "-", game.name)


def _cards(run: StrPath) -> Iterator[tuple[Path, Card]]:
    """The checkpoints of a run whose cards can be read."""
    for path in all_of(run):
        try:
            yield path, read_card(path)
        except UserError:
            continue


def _is_checkpoint(path: Path) -> bool:
    return (path / CARD).is_file()


def _of_run(run: Path, which: str) -> Path | None:
    if not all_of(run):
        return None
    if which in ("latest", "best"):
        return latest(run) if which == "latest" else best(run)
    if not which.isdecimal():
        return None
    steps = {int(path.name): path for path in all_of(run)}
    if int(which) not in steps:
        near = min(steps, key=lambda step: abs(step - int(which)))
        raise UserError(f"{run}: expected the step of a checkpoint, got {which}; the nearest is {near}")
    return steps[int(which)]


def _as_folder(path: Path) -> Path | None:
    if _is_checkpoint(path):
        return path
    return _of_run(path, "latest")


def _released(text: str, game: Game | None) -> Path | None:
    if not re.fullmatch(r"[\w.+-]+(/[\w.+-]+)?", text) or ".." in text.split("/"):
        return None
    kind, _, name = text.rpartition("/")
    paths = [RELEASED / text] if kind else []
    if game is not None and kind in ("", split(game.name)[0]):  # `othello/best` for othello:size=8
        paths.append(game_folder(game) / name)
    return next(filter(_is_checkpoint, paths), None)


def _by_hash(text: str, game: Game | None) -> Path | None:
    found = []
    for path in everything():
        try:
            card = read_card(path)
        except UserError:
            continue
        if card.weights.startswith(f"sha256:{text}") and (game is None or card.game == game.name):
            found.append((card.weights, path))
    if len({weights for weights, _ in found}) > 1:
        raise UserError(f"checkpoint '{text}': expected enough digits to name one, but {len(found)} begin so")
    return found[0][1] if found else None
