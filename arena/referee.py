"""One game between players: `play_game(game, players, opening, seed)` -> its record.

Every player gets every action, the opening's included. Only `choose` is timed; compiling and loading happen in `make_player`. A player
that raises `Forfeit` (a crash, an illegal action, no answer in time) loses the game, and the record's `ending` has the reason.

The record has the value of each search, as its player gave it. Its metadata: `opening`, the number of plies given; and by seat
`times`, the milliseconds of each chosen move; `timed`, the number of moves with a time limit; `late`, the number of those that
exceeded it by more than TOLERANCE.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from time import perf_counter
from typing import Any, TypeVar

import numpy as np

from arena.openings import Opening, random_action
from arena.players import Forfeit, Player
from base.errors import UserError
from base.seeds import derive, generator
from games import CHANCE, Game
from games.choice import Choice, utilities_of
from games.record import MAX_PLIES, GameRecord, make_record

T = TypeVar("T")

TOLERANCE = 20.0  # milliseconds


def play_game(
    game: Game,
    players: Sequence[Player],
    opening: Opening,
    seed: int,
    luck: int | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> GameRecord:
    """One player per seat. `seed` determines their random numbers, `luck` the dice: games with equal `luck` have the same rolls."""
    dice = generator(seed if luck is None else luck, "chance")
    start = state = opening.start(game)
    moves: list[int] = []
    visits: list[dict[int, int]] = []
    values: list[tuple[float, ...]] = []
    unknown = (math.nan,) * game.players
    times: list[list[float]] = [[] for _ in players]
    timed, late = [0] * game.players, [0] * game.players
    outcome, ending = None, ""

    def follow(action: int, after: Any, seen: dict[int, int], value: tuple[float, ...] = unknown) -> Any:
        moves.append(int(action))
        visits.append(seen)
        values.append(value)
        for seat, player in enumerate(players):
            of_seat(seat, player.advance, int(action))
        return after

    try:
        for seat, player in enumerate(players):
            of_seat(seat, player.new_game, derive(seed, "seat", seat))
        for action in opening.actions:
            state = follow(action, game.result(state, action), {})
        while len(moves) < game.rules.max_plies and (mover := game.to_move(state)) is not None:
            if mover == CHANCE:
                action = random_action(game, state, dice)
                state = follow(action, game.result(state, action), {})
                continue
            player, before = players[mover], perf_counter()
            choice = of_seat(mover, player.choose, state)
            spent = 1000 * (perf_counter() - before)
            times[mover].append(round(spent, 3))
            if player.ms is not None:
                timed[mover] += 1
                late[mover] += spent > player.ms + TOLERANCE
            try:
                after = game.result(state, choice.action)
            except UserError as error:
                raise SeatForfeits(mover, str(error)) from None
            state = follow(choice.action, after, visits_of(choice), utilities_of(game, mover, choice) or unknown)
        if not game.is_terminal(state):
            outcome, ending = game.utility(state, stopped=True), MAX_PLIES
    except SeatForfeits as forfeit:
        outcome, ending = forfeit_utilities(game, forfeit.seat), f"player {forfeit.seat} forfeits: {forfeit.reason}"
    notes = {"opening": min(len(opening.actions), len(moves)), "times": times, "timed": timed, "late": late}
    return make_record(
        game,
        moves,
        visits=visits if any(visits) else (),
        utilities=np.clip(np.array(values, np.float32).reshape(len(moves), game.players), -1.0, 1.0),
        outcome=outcome,
        ending=ending,
        seed=seed,
        players=[player.name for player in players],
        start=None if opening.position is None else start,
        metadata={**(metadata or {}), **notes},
    )


class SeatForfeits(Exception):
    """The player in this seat forfeits the game."""

    def __init__(self, seat: int, reason: str) -> None:
        super().__init__(seat, reason)
        self.seat, self.reason = seat, reason


def of_seat(seat: int, call: Callable[..., T], *arguments: Any) -> T:
    """Call a player's method; its forfeit is that of the seat."""
    try:
        return call(*arguments)
    except Forfeit as forfeit:
        raise SeatForfeits(seat, forfeit.reason) from None


def visits_of(choice: Choice) -> dict[int, int]:
    """Visits of each action, a policy target; empty where the search has none."""
    return {each.action: each.visits for each in choice.actions if each.visits}


def forfeit_utilities(game: Game, loser: int) -> tuple[float, ...]:
    """The game's worst utility for the loser; the others share what the loser loses."""
    worst = min(game.rules.values, default=-1.0)
    return tuple(worst if seat == loser else -worst / (game.players - 1) for seat in range(game.players))
