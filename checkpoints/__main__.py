"""The checkpoint store at the command line.

python -m checkpoints list                     # all runs and what is released; or: list runs/first
python -m checkpoints released                 # the nets that come with the program, as players are given them, with Elo
python -m checkpoints show first               # the card of a run's newest checkpoint; first/4000, first/best, a folder, a hash
python -m checkpoints verify runs/first        # undamaged, and as its card has it? exit code 1 if not
python -m checkpoints release first/best small # copy it to those that come with the program, as GAME/small
python -m checkpoints trust runs/first         # of another user, with a network of their own: its code may be executed
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from base.errors import Arguments, UserError, run_command
from base.options import split
from checkpoints import folders
from checkpoints.card import Card
from checkpoints.store import read_card, trust, verify
from games import Game, load
from games.engine.registry import builtin_games


def main(argv: Sequence[str]) -> int:
    options = parser().parse_args(argv)
    code: int = options.run(options)
    return code


def parser() -> Arguments:
    found = Arguments(description=__doc__)
    commands = found.add_subparsers(required=True, metavar="COMMAND")
    added = commands.add_parser("list", help="list checkpoints, a line each")
    added.set_defaults(run=run_list)
    added.add_argument("path", nargs="?", metavar="PATH", help="a run's name or folder; without it, everything")
    added.add_argument("--json", action="store_true", help="one JSON array")
    added = commands.add_parser("released", help="list the nets that come with the program")
    added.set_defaults(run=run_released)
    added.add_argument("--json", action="store_true", help="one JSON array")
    added = commands.add_parser("show", help="show one card")
    added.set_defaults(run=run_show)
    added.add_argument("path", metavar="PATH", help="a run, RUN/STEP, RUN/best, a checkpoint's folder, a hash")
    added.add_argument("--json", action="store_true", help="as JSON")
    added = commands.add_parser("verify", help="check that it is undamaged and fits its game; exit code 1 if not")
    added.set_defaults(run=run_verify)
    added.add_argument("path", metavar="PATH", help="a run's folder (all its checkpoints), or one checkpoint")
    added.add_argument("--game", metavar="GAME", help="the game, where it is a file of your own")
    added = commands.add_parser("release", help="copy a checkpoint to those that come with the program")
    added.set_defaults(run=run_release)
    added.add_argument("path", metavar="PATH", help="a run, RUN/STEP, RUN/best, a checkpoint's folder, a hash")
    added.add_argument("name", metavar="NAME", help="its new name; a checkpoint of that name is replaced")
    added.add_argument("--note", default="", metavar="TEXT", help="a note for its card")
    added = commands.add_parser("trust", help="let the code of a network from someone else's file be executed")
    added.set_defaults(run=run_trust)
    added.add_argument("path", metavar="PATH", help="a run's folder (all its checkpoints), or one checkpoint")
    return found


def run_list(options: argparse.Namespace) -> int:
    paths = _meant(options.path) if options.path is not None else list(folders.everything())
    return _print({str(path): path for path in paths}, options.json)


def run_released(options: argparse.Namespace) -> int:
    return _print({folders.called(path): path for path in folders.released()}, options.json)


def _print(paths: Mapping[str, Path], as_json: bool) -> int:
    """A line for each, under its name."""
    if as_json:
        print(json.dumps([{"name": name} | _as_object(path) for name, path in paths.items()], ensure_ascii=False))
        return 0
    if not paths:
        print("no checkpoints yet")
    width = max(map(len, paths), default=0)
    for name, path in paths.items():
        print(f"{name:{width}}  {_line(path)}")
    return 0


def run_show(options: argparse.Namespace) -> int:
    path = folders.resolve(options.path)
    card = read_card(path)
    if options.json:
        print(json.dumps({"path": str(path)} | card.to_json(), ensure_ascii=False))
        return 0
    print(f"{path}\n")
    shown = {
        "game": f"{card.game}, version {card.version}",
        "net": f"{card.net} ({card.parameters:,} parameters)",
        "weights": card.weights,
        "step": f"{card.step:,}",
        "games": f"{card.games:,}",
        "strength": card.strength_text() or "not measured",
        "seeds": ", ".join(f"{name} {seed}" for name, seed in card.seeds.items()),
        "commit": card.commit,
        "command": card.command,
        "note": card.note,
    }
    for name, text in shown.items():
        if text:
            print(f"{name + ':':9} {text}")
    if card.configuration:
        print(f"\n{json.dumps(card.configuration, indent=2, ensure_ascii=False)}")
    return 0


def run_verify(options: argparse.Namespace) -> int:
    given = load(options.game) if options.game else None
    paths, damaged = _meant(options.path), 0
    for path in paths:
        try:
            game = given or _game_of(read_card(path))
            card = verify(path, game)
        except UserError as error:
            damaged += 1
            print(error if str(error).startswith(str(path)) else f"{path}: {error}")
            continue
        unsure = "" if game else f"; whether it fits {card.game} needs --game"
        print(f"{path}: whole, {card.short}{unsure}")
    return 1 if damaged else 0


def run_release(options: argparse.Namespace) -> int:
    path = folders.resolve(options.path)
    card = read_card(path)
    game = _game_of(card)
    if game is None:
        raise UserError(f"{path}: expected a net for a game of the folder games/, got one for {card.game}")
    print(f"{folders.release(path, game, options.name, options.note)}: released, {_line(path)}")
    return 0


def run_trust(options: argparse.Namespace) -> int:
    for path in _meant(options.path):
        print(trust(path))
    return 0


def _meant(text: str) -> list[Path]:
    """All checkpoints of a run, or the one of that name."""
    for run in (folders.RUNS / text, Path(text)):
        if found := folders.all_of(run):
            return found
    return [Path(text)] if Path(text).is_dir() else [folders.resolve(text)]


def _game_of(card: Card) -> Game | None:
    """The card's game, where it is one of the folder: a card must not choose a file that would be run."""
    try:
        return load(card.game) if split(card.game)[0] in builtin_games() else None
    except UserError:
        return None


def _as_object(path: Path) -> dict[str, Any]:
    try:
        return {"path": str(path)} | read_card(path).to_json()
    except UserError as error:
        return {"path": str(path), "error": str(error)}


def _line(path: Path) -> str:
    try:
        card = read_card(path)
    except UserError as error:
        return f"damaged: {error}"
    strength = card.strength_text() or "Elo -"
    return f"{card.game}  {card.net}  step {card.step:,}  {card.games:,} games  {strength}  {card.short}"


if __name__ == "__main__":
    run_command(main)
