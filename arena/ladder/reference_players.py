"""The reference players of a game, which make its standard Elo scale: `configs/ladders/GAME.toml`.

    anchor = "random"                          # its Elo is 0
    players = ["random", "uct:sims=100", …]    # as everywhere
    openings = "plies=8"                       # as in a match; without it, the default of the game

    [programs]                                 # on the scale too, where they are installed
    chess = ['uci:"stockfish",nodes=100']      # only for this game: a program may play one size of board

Neighbours on the scale must be near enough to take points from each other. In connect four without UCT at 10 simulations, the random
player lost 124 of 124 games, and its distance from the other players depended on the prior alone.

A file is for all sizes of its game: `othello:size=6` has its own scale with the reference players of othello.
Other programs put a scale where others know it: GNU Go, Stockfish held to an Elo, GNU Backgammon.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from arena.commands import notice
from arena.players import parse_player
from base.errors import UserError, nearest
from base.reading import toml_of
from base.subprocesses import missing_program
from games import Game

FOLDER = Path(__file__).resolve().parent.parent.parent / "configs" / "ladders"
_KEYS = ("anchor", "players", "openings", "programs")
_OLD_KEYS = {"rungs": "players"}


@dataclass(frozen=True)
class ReferencePlayers:
    """The content of a file."""

    players: tuple[str, ...]
    anchor: str
    openings: str = ""
    programs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Players that need another program, by the game's name."""


def standard_openings(game: Game) -> str:
    """The openings of a game's file, '' without one: results of other players are then comparable."""
    return reference_players(game).openings if has_reference_players(game) else ""


def has_reference_players(game: Game) -> bool:
    return _file_of(game).exists()


def _file_of(game: Game) -> Path:
    return FOLDER / f"{game.name.partition(':')[0]}.toml"


def reference_players(game: Game) -> ReferencePlayers:
    """The reference players of a game that has a file."""
    known = sorted(path.stem for path in FOLDER.glob("*.toml"))
    name = _file_of(game).stem
    if name not in known:
        raise UserError(
            f"{game.name}: expected a game with reference players ({', '.join(known)}){nearest(name, known)}; "
            "for other games name the players: python -m arena ladder GAME PLAYER PLAYER…"
        )
    return read_reference_players(_file_of(game))


def with_programs(reference: ReferencePlayers, game: Game) -> ReferencePlayers:
    """With the players of other programs that are installed. Says which are not."""
    missing = {text: missing_program(_command_of(text)) for text in reference.programs.get(game.name, ())}
    if lacking := sorted({name for name in missing.values() if name is not None}):
        notice(f"not installed, so not among the reference players: {', '.join(lacking)}")
    installed = [text for text, name in missing.items() if name is None]
    return replace(reference, players=(*reference.players, *installed))


def _command_of(text: str) -> str:
    """What starts the program of a player; gnubg is called as its kind of player."""
    kind, _, options = parse_player(text)
    return str(options.get("command", kind))


def read_reference_players(path: Path) -> ReferencePlayers:
    read = toml_of(path.read_bytes(), path)
    found = {_OLD_KEYS.get(key, key): value for key, value in read.items()}
    for key in found:
        if key not in _KEYS:
            raise UserError(f"{path}: expected {', '.join(_KEYS)}, got {key!r}{nearest(key, _KEYS)}")
    players, anchor, openings = found.get("players"), found.get("anchor", ""), found.get("openings", "")
    if not isinstance(players, list) or len(players) < 2 or not _is_list_of_texts(players):
        raise UserError(f"{path}: players: expected a list of two players or more, got {players!r:.80}")
    if anchor not in players:
        raise UserError(f"{path}: anchor: expected one of the players, got {anchor!r}")
    if not isinstance(openings, str):
        raise UserError(f"{path}: openings: expected text, got {openings!r:.80}")
    programs = found.get("programs", {})
    if not isinstance(programs, dict) or not all(map(_is_list_of_texts, programs.values())):
        raise UserError(
            f"{path}: programs: expected a table of games, each with a list of players, got {programs!r:.80}"
        )
    return ReferencePlayers(tuple(players), anchor, openings, {game: tuple(each) for game, each in programs.items()})


def _is_list_of_texts(found: object) -> bool:
    return isinstance(found, list) and all(isinstance(each, str) for each in found)
