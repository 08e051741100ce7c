"""One game between players: `play_game(game, players, opening, seed)` -> its record.

Every player is told of every action, the opening's included. A move is timed from the question to the answer, and nothing else is: what
compiles or loads has done so in `make_player`. A player who fails (`arena.forfeit.Forfeit`: a crash, an illegal move, silence) loses
the game, with the reason in the record's `ending`.

The record's metadata: `opening`, how many plies were given; and for each seat `times`, the milliseconds of every move that its player
chose; `timed`, how many of them had a limit by the clock; `late`, how many took longer than it by more than GRACE.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from time import perf_counter
from typing import Any, TypeVar

from arena.forfeit import Forfeit
from arena.openings import Opening, rolled
from arena.players import Player
from base.errors import UserError
from base.seeds import derive, generator
from games import CHANCE, Game
from games.choice import Choice
from games.record import GameRecord, make_record

T = TypeVar("T")

GRACE = 20.0  # milliseconds


def play_game(
    game: Game,
    players: Sequence[Player],
    opening: Opening,
    seed: int,
    luck: int | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> GameRecord:
    """One player for each seat. `seed` sets their random choices, `luck` the dice: two games of one luck see the same rolls."""
    dice = generator(seed if luck is None else luck, "chance")
    start = state = opening.start(game)
    moves: list[int] = []
    visits: list[dict[int, int]] = []
    times: list[list[float]] = [[] for _ in players]
    timed, late = [0] * game.players, [0] * game.players
    outcome, ending = None, ""

    def follow(action: int, after: Any, seen: dict[int, int]) -> Any:
        moves.append(int(action))
        visits.append(seen)
        for seat, player in enumerate(players):
            asked(seat, player.advance, int(action))
        return after

    try:
        for seat, player in enumerate(players):
            asked(seat, player.new_game, derive(seed, "seat", seat))
        for action in opening.actions:
            state = follow(action, game.result(state, action), {})
        while (mover := game.to_move(state)) is not None:
            if mover == CHANCE:
                action = rolled(game, state, dice)
                state = follow(action, game.result(state, action), {})
                continue
            player, before = players[mover], perf_counter()
            choice = asked(mover, player.choose, state)
            spent = 1000 * (perf_counter() - before)
            times[mover].append(round(spent, 3))
            if player.ms is not None:
                timed[mover] += 1
                late[mover] += spent > player.ms + GRACE
            try:
                after = game.result(state, choice.action)
            except UserError as error:
                raise Failure(mover, str(error)) from None
            state = follow(choice.action, after, visits_of(choice))
    except Failure as failure:
        outcome, ending = forfeited(game, failure.seat), f"player {failure.seat} forfeits: {failure.reason}"
    notes = {"opening": min(len(opening.actions), len(moves)), "times": times, "timed": timed, "late": late}
    return make_record(
        game,
        moves,
        visits=visits if any(visits) else (),
        outcome=outcome,
        ending=ending,
        seed=seed,
        players=[player.name for player in players],
        start=None if opening.position is None else start,
        metadata={**(metadata or {}), **notes},
    )


class Failure(Exception):
    """The player in this seat loses without being beaten at the board."""

    def __init__(self, seat: int, reason: str) -> None:
        super().__init__(seat, reason)
        self.seat, self.reason = seat, reason


def asked(seat: int, call: Callable[..., T], *words: Any) -> T:
    """What a player answers; a forfeit is that of whoever was asked."""
    try:
        return call(*words)
    except Forfeit as forfeit:
        raise Failure(seat, forfeit.reason) from None


def visits_of(choice: Choice) -> dict[int, int]:
    """Simulations through each action: a policy to learn from, where the search counts them."""
    return {each.action: each.visits for each in choice.actions if each.visits}


def forfeited(game: Game, loser: int) -> tuple[float, ...]:
    """The worst utility that the game knows for the loser; the others share what it costs."""
    worst = min(game.rules.values, default=-1.0)
    return tuple(worst if seat == loser else -worst / (game.players - 1) for seat in range(game.players))
