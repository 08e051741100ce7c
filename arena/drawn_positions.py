"""Samples of positions drawn from games and solved, on which accuracy is measured.

    sample = draw_positions(load("connect_four"), 500, seed=1, workers=2)          # takes minutes the first time
    sample.positions[0].value, sample.positions[0].keep

Half of a sample comes from random games, the other half from games of a shallow alpha-beta (max^n where alpha-beta does not apply) in
which every fourth move is random. Each fifth of the game has an equal share, by the length of the longest of a hundred random games. No
two positions are mirror images of each other. In each some move gives value away, so the mover is not yet lost (unless utilities differ
among losses). The earliest positions are too costly for the solver, so those of the first fifth are from its later plies.

A quarter of each fifth and source is hard (`Solved.is_hard`), as far as such positions are found; towards the end of a game there are
none. Where alpha-beta does not apply, no position is classified.

A sample is a function of game, count, seed and first fifth. It is stored in the cache folder (arena/solved_positions.py).
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from arena.commands import Progress
from arena.openings import canonical, random_action
from arena.players import Player, make_player
from arena.solved_positions import (
    STAGES,
    Answer,
    Job,
    Keep,
    Sample,
    Solved,
    cached,
    is_for_alphabeta,
    longest_length,
    solve,
    solved_of,
    stage_of,
)
from base.errors import UserError
from base.local_workers import run_jobs
from base.seeds import generator, uniform
from base.workers import Workers
from classical.solvable import LATE, require
from games import CHANCE, Game
from games.engine.registry import files_of

SOURCES = ("random", "shallow search")
HARD_SHARE = 0.25  # of the positions of each fifth and source
RANDOM_SHARE = 0.25  # of the moves of the shallow search's games
DRY = 500  # games in a row without a new position before the supply counts as exhausted
TRIES = 200  # games for each position wanted
BANDS = 40  # parts of a game, eight per fifth; a part counts as too costly
COSTLY, COSTLY_PER_SOLVED = 4, 4  # after this many unsolved positions, plus this many for each solved one
HOPELESS = 8  # unsolved positions of the last fifth without a solved one: the game is too costly
IDLE, IDLE_PER_FOUND = (
    100,
    50,
)  # the same limits for positions in which every move keeps the value, and for superfluous easy ones


def draw_positions(
    game: Game,
    count: int,
    seed: int = 1,
    workers: Workers | int = 0,
    progress: Progress = lambda done, total: None,
    first_stage: int = 0,
) -> Sample:
    """A sample of `count` positions, or as many as there are, from the fifths of the game from `first_stage` on."""
    if count < 1:
        raise UserError(f"sample: expected at least 1 position, got {count}")

    def make(known: dict[str, Answer], keep: Keep) -> Sample:
        require(game, LATE)
        return _Drawing(game, count, seed, first_stage).run(workers, known, keep, progress)

    return cached(game, ["sample", count, seed, *([first_stage] if first_stage else [])], make)


Found = dict[bytes, Solved]
"""By identity: mirror images have the same."""


@dataclass(frozen=True)
class Candidate:
    """A position that may be added to the sample."""

    cell: int
    plies: int
    line: str
    identity: bytes


class _Drawing:
    """A sample in the making. A cell is a fifth of the game and a source; cells are filled one after the other, the last fifth first.

    Candidates are a function of game, seed and cell. Which of them are added depends on their order, not on the order of solving.
    Where a part of the game is too costly, all earlier parts count as too costly: up to band `horizon` nothing is tried. A cell gets
    other positions in place of hard ones that are not found.
    """

    def __init__(self, game: Game, count: int, seed: int, first_stage: int) -> None:
        self.game, self.count, self.seed = game, count, seed
        self.length = longest_length(game)
        self.cells = [
            (stage, source) for stage in reversed(range(first_stage, STAGES)) for source in range(len(SOURCES))
        ]
        self.wanted = [(count + cell) // len(self.cells) for cell in range(len(self.cells))]
        share = HARD_SHARE if is_for_alphabeta(game) else 0.0
        self.wanted_hard = [round(share * wanted) for wanted in self.wanted]
        self.hard: list[Found] = [{} for _ in self.cells]
        self.others: list[Found] = [{} for _ in self.cells]
        self.idle = [0] * len(self.cells)  # in which every move keeps the value
        self.solved, self.unsolved = [0] * BANDS, [0] * BANDS
        self.horizon = -1
        self.sample = Sample()
        self.settled = 0  # cells that get nothing more
        self.taken: set[bytes] = set()  # by them
        self.closed = [not wanted for wanted in self.wanted]

    def run(self, workers: Workers | int, known: dict[str, Answer], keep: Keep, progress: Progress) -> Sample:
        given: list[Candidate] = []

        def jobs() -> Iterator[Job]:
            for candidate in self.candidates():
                given.append(candidate)
                enough = (
                    len(self.others[candidate.cell]) >= self.wanted[candidate.cell]
                )  # easy ones: these are not chosen
                yield self.game.spec, candidate.line, known.get(candidate.line), "hard" if enough else "choice"

        arrived: dict[int, Answer] = {}
        turn = 0
        for number, answer in run_jobs(solve, jobs(), workers, initializer=files_of(self.game).unpack):
            keep(given[number].line, answer)
            arrived[number] = answer
            while turn in arrived:
                self.take(given[turn], arrived.pop(turn))
                turn += 1
            progress(sum(map(self.chosen_count, range(len(self.cells)))), self.count)
        self.sample.positions = [
            each for cell in reversed(range(len(self.cells))) for each in self.chosen(cell).values()
        ]
        self.sample.missing = self.count - len(self.sample.positions)
        if not self.sample.positions:
            hard = self.sample.unsolved
            why = f"{hard} positions of {hard} were too hard" if hard else "no position has both good and bad moves"
            raise UserError(f"sample: expected a game that the solver can solve, got {self.game.name}: {why}")
        return self.sample

    def candidates(self) -> Iterator[Candidate]:
        """The candidates of all cells in order, of each cell until it is closed or yields nothing new."""
        shallow = functools.cache(lambda: shallow_player(self.game))
        for cell, (_, source) in enumerate(self.cells):
            seen: set[bytes] = set()
            attempt = dry = 0
            while not self.closed[cell] and dry < DRY and attempt < TRIES * self.wanted[cell] + DRY:
                candidate = self.candidate(cell, attempt, shallow() if SOURCES[source] != "random" else None)
                attempt, dry = attempt + 1, dry + 1
                if candidate is not None and candidate.identity not in seen:
                    seen.add(candidate.identity)
                    dry = 0
                    if self.band(candidate) > self.horizon:  # otherwise `take` would refuse it
                        yield candidate

    def candidate(self, cell: int, attempt: int, player: Player | None) -> Candidate | None:
        """A random position with several moves from the cell's fifth of one game; None where the game is shorter."""
        game, rng = self.game, generator(self.seed, "oracle sample", cell, attempt)
        moves: list[int] = []
        there: list[tuple[int, Any]] = []
        state = game.initial()
        if player is not None:
            player.new_game()
        while len(moves) < game.rules.max_plies and not game.is_terminal(state):
            stage = stage_of(len(moves), self.length)
            if stage > self.cells[cell][0]:
                break
            if stage == self.cells[cell][0] and game.to_move(state) != CHANCE and len(game.legal_actions(state)) > 1:
                there.append((len(moves), state))
            if player is None or game.to_move(state) == CHANCE or uniform(rng) < RANDOM_SHARE:
                action = random_action(game, state, rng)
            else:
                action = player.choose(state).action
            moves.append(action)
            state = game.result(state, action)
        if not there:
            return None
        plies, chosen = there[int(uniform(rng) * len(there))]
        return Candidate(cell, plies, " ".join(game.names[action] for action in moves[:plies]), canonical(game, chosen))

    def take(self, candidate: Candidate, answer: Answer) -> None:
        """Add the next candidate in order, given the solver's answer."""
        cell, band = candidate.cell, self.band(candidate)
        while self.settled < cell:
            self.taken |= self.chosen(self.settled).keys()
            self.settled += 1
        if self.closed[cell] or band <= self.horizon or candidate.identity in self.taken:
            return
        stage, source = self.cells[cell]
        solved = solved_of(self.game, candidate.line, answer, stage, SOURCES[source])
        if solved is None:
            self.unsolved[band] += 1
            self.sample.unsolved += 1
            if self.unsolved[band] >= COSTLY + COSTLY_PER_SOLVED * self.solved[band]:
                self.horizon = band
            if sum(self.unsolved) == HOPELESS and not any(self.solved):
                self.horizon = BANDS
        else:
            self.solved[band] += 1
            if solved.has_choice:
                (self.hard if solved.is_hard else self.others)[cell][candidate.identity] = solved
            else:
                self.idle[cell] += 1
        for each, (stage, _) in enumerate(self.cells):
            self.closed[each] = self.is_full(each) or (stage + 1) * BANDS // STAGES <= self.horizon + 1

    def is_full(self, cell: int) -> bool:
        """Enough is found, or further looking is in vain."""
        hard, others, wanted = len(self.hard[cell]), len(self.others[cell]), self.wanted[cell]
        if hard + others < wanted:
            return self.idle[cell] >= IDLE + IDLE_PER_FOUND * (hard + others)
        return hard >= self.wanted_hard[cell] or others >= IDLE + IDLE_PER_FOUND * hard

    def chosen(self, cell: int) -> Found:
        """The cell's part of the sample: hard positions first."""
        wanted = self.wanted[cell]
        hard = list(self.hard[cell].items())[: max(self.wanted_hard[cell], wanted - len(self.others[cell]))]
        return dict(hard + list(self.others[cell].items())[: wanted - len(hard)])

    def chosen_count(self, cell: int) -> int:
        return min(len(self.hard[cell]) + len(self.others[cell]), self.wanted[cell])

    def band(self, candidate: Candidate) -> int:
        return min(BANDS * candidate.plies // max(self.length, 1), BANDS - 1)


def shallow_player(game: Game) -> Player:
    """The player of three quarters of the moves in the games of the second source."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it is to err, with features or without
        return make_player("alphabeta:depth=2,tt_mb=1" if is_for_alphabeta(game) else "maxn:depth=1", game)
