"""A sample of a game's positions whose best moves are known (arena/oracle.py), the same for everyone who asks for the same.

    solved = oracle_sample(load("connect_four"), 500, seed=1)      # minutes the first time, then from the cache

One half comes from random games, the other from games of a shallow alpha-beta (max^n where alpha-beta does not know the game) in which
every fourth move is a random one; an equal share from each fifth of the game, whose length is that of the longest of a hundred random
games. No two positions are mirror images of each other, and in each some move gives value away: so nobody is lost in them, unless there
is worse than lost. The earliest positions are too hard for the solver, so the first fifth is made of its later plies.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from arena.openings import canonical, rolled
from arena.oracle import (
    STAGES,
    Answer,
    Job,
    Keep,
    Progress,
    Sample,
    Solved,
    cached,
    longest_length,
    solve,
    solved_of,
    stage_of,
)
from arena.players import Player, make_player
from base.errors import UserError
from base.local_workers import run_jobs
from base.seeds import generator, uniform
from base.sent_files import SentFiles
from base.workers import Workers
from classical.solvable import LATE, require
from games import CHANCE, Game
from games.engine.registry import files_of

SOURCES = ("random", "shallow search")
RANDOM_SHARE = 0.25  # of the moves of the shallow search's games
DRY = 500  # games in a row without a new position: there are no more
TRIES = 200  # games for each position wanted
BANDS = 40  # parts of a game, eight to a fifth, that are given up as too hard one by one:
HARD, HARD_PER_SOLVED = 4, 4  # after so many unsolved positions, and so many more for each solved one
HOPELESS = 8  # unsolved positions of the last fifth, and none solved: the game is too hard
IDLE, IDLE_PER_FOUND = 100, 50  # the same of positions in which every move keeps the value


def oracle_sample(game: Game, count: int, seed: int = 1, workers: Workers | int = 0) -> list[Solved]:
    """`count` positions of a game, or as many as there are."""
    return make_sample(game, count, seed, workers).positions


def make_sample(
    game: Game,
    count: int,
    seed: int,
    workers: Workers | int,
    progress: Progress = lambda done, total: None,
    first_stage: int = 0,
) -> Sample:
    """The same with what was left out; `progress(done, total)` is called now and then. `first_stage`: no earlier fifth of the game."""
    if count < 1:
        raise UserError(f"sample: expected at least 1 position, got {count}")

    def make(known: dict[str, Answer], keep: Keep) -> Sample:
        require(game, LATE)
        return _Making(game, count, seed, first_stage).run(workers, known, keep, progress)

    return cached(game, ["sample", count, seed, *([first_stage] if first_stage else [])], make)


@dataclass(frozen=True)
class Candidate:
    """A position that may come into the sample."""

    cell: int
    plies: int
    line: str
    identity: bytes


class _Making:
    """A sample being made. Its cells, a fifth of the game and a source each, are filled one after the other, the last fifth first.

    Candidates are a function of game, seed and cell; what is taken of them depends on their order, never on who solves them when.
    What is too hard at some point of the game is taken to be so before it: `horizon` is the band up to which nothing is tried any more.
    """

    def __init__(self, game: Game, count: int, seed: int, first_stage: int) -> None:
        self.game, self.count, self.seed = game, count, seed
        self.length = longest_length(game)
        self.cells = [
            (stage, source) for stage in reversed(range(first_stage, STAGES)) for source in range(len(SOURCES))
        ]
        self.wanted = [(count + cell) // len(self.cells) for cell in range(len(self.cells))]
        self.found: list[list[Solved]] = [[] for _ in self.cells]
        self.idle = [0] * len(self.cells)  # in which every move keeps the value
        self.solved, self.unsolved = [0] * BANDS, [0] * BANDS
        self.horizon = -1
        self.sample = Sample()
        self.taken: set[bytes] = set()
        self.closed = [not wanted for wanted in self.wanted]

    def run(self, workers: Workers | int, known: dict[str, Answer], keep: Keep, progress: Progress) -> Sample:
        given: list[Candidate] = []

        def jobs() -> Iterator[Job]:
            for candidate in self.candidates():
                given.append(candidate)
                yield self.game.spec, candidate.line, known.get(candidate.line)

        arrived: dict[int, Answer] = {}
        turn = 0
        for number, answer in run_jobs(solve, jobs(), workers, initializer=SentFiles.of(files_of(self.game)).unpack):
            keep(given[number].line, answer)
            arrived[number] = answer
            while turn in arrived:
                self.take(given[turn], arrived.pop(turn))
                turn += 1
            progress(sum(map(len, self.found)), self.count)
        self.sample.positions = [each for cell in reversed(self.found) for each in cell]
        self.sample.missing = self.count - len(self.sample.positions)
        if not self.sample.positions:
            hard = self.sample.unsolved
            why = (
                f"{hard} positions of {hard} were too hard"
                if hard
                else "no position was found with good moves and bad ones"
            )
            raise UserError(f"sample: expected a game that the solver can do, got {self.game.name}: {why}")
        return self.sample

    def candidates(self) -> Iterator[Candidate]:
        """All cells' candidates in order, each cell's until it is closed or nothing new comes up."""
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
                    if self.band(candidate) > self.horizon:  # else `take` would refuse it, now or later
                        yield candidate

    def candidate(self, cell: int, attempt: int, player: Player | None) -> Candidate | None:
        """A random position with a choice from the cell's fifth of one game, where the game comes so far."""
        game, rng = self.game, generator(self.seed, "oracle sample", cell, attempt)
        moves: list[int] = []
        there: list[tuple[int, Any]] = []
        state = game.initial()
        if player is not None:
            player.new_game()
        while not game.is_terminal(state):
            stage = stage_of(len(moves), self.length)
            if stage > self.cells[cell][0]:
                break
            if stage == self.cells[cell][0] and game.to_move(state) != CHANCE and len(game.legal_actions(state)) > 1:
                there.append((len(moves), state))
            if player is None or game.to_move(state) == CHANCE or uniform(rng) < RANDOM_SHARE:
                action = rolled(game, state, rng)
            else:
                action = player.choose(state).action
            moves.append(action)
            state = game.result(state, action)
        if not there:
            return None
        plies, chosen = there[int(uniform(rng) * len(there))]
        return Candidate(cell, plies, " ".join(game.names[action] for action in moves[:plies]), canonical(game, chosen))

    def take(self, candidate: Candidate, answer: Answer) -> None:
        """The next candidate in order, and what the solver says of it."""
        cell, band = candidate.cell, self.band(candidate)
        if self.closed[cell] or band <= self.horizon or candidate.identity in self.taken:
            return
        stage, source = self.cells[cell]
        solved = solved_of(self.game, candidate.line, answer, stage, SOURCES[source])
        if solved is None:
            self.unsolved[band] += 1
            self.sample.unsolved += 1
            if self.unsolved[band] >= HARD + HARD_PER_SOLVED * self.solved[band]:
                self.horizon = band
            if sum(self.unsolved) == HOPELESS and not any(self.solved):
                self.horizon = BANDS
        else:
            self.solved[band] += 1
            if solved.has_choice:
                self.taken.add(candidate.identity)
                self.found[cell].append(solved)
            else:
                self.idle[cell] += 1
        for each, (stage, _) in enumerate(self.cells):
            found = len(self.found[each])
            is_full = found == self.wanted[each] or self.idle[each] >= IDLE + IDLE_PER_FOUND * found
            self.closed[each] = is_full or (stage + 1) * BANDS // STAGES <= self.horizon + 1

    def band(self, candidate: Candidate) -> int:
        return min(BANDS * candidate.plies // max(self.length, 1), BANDS - 1)


def shallow_player(game: Game) -> Player:
    """Who plays three quarters of the moves in one half of the games."""
    is_for_alphabeta = game.players == 2 and game.rules.zero_sum and game.rules.chance is None
    return make_player("alphabeta:depth=2,tt_mb=1" if is_for_alphabeta else "maxn:depth=1", game)
