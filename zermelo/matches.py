"""Players and matches."""

from __future__ import annotations

from collections.abc import Callable

from arena.match import Match
from arena.players import Player, make_player
from arena.tally import Tally
from base.errors import UserError
from base.local_workers import cores
from base.workers import Workers
from games import Game


def load_player(text: str, game: Game) -> Player:
    """The player that `text` describes, as in `alphabeta:depth=6,tt=off`; `python -m arena players` lists kinds and options.
    `player.choose(state)` is its move in a position, with what the search found."""
    return make_player(text, game)


def play_match(
    game: Game,
    a: str,
    b: str,
    games: int = 200,
    seed: int = 0,
    openings: str = "",
    workers: Workers | int | None = None,
    progress: Callable[[Tally, int], object] = lambda tally, new: None,
) -> Tally:
    """Two players, each opening from all sides: the same games and statistics as `python -m arena match`. `games` is rounded up to
    whole openings; `workers`: processes, by default one for each core, 0 for this process alone. `progress` is called with the tally
    so far and the number of new games."""
    if games < 1:
        raise UserError(f"games: expected at least 1, got {games}")
    match = Match(game, a, b, seed, openings)
    tally = match.play(-(-games // match.block_size), cores() if workers is None else workers, progress=progress)
    if match.is_interrupted:
        raise KeyboardInterrupt
    return tally
