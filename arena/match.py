"""A match between two players: `python -m arena match GAME A B --games 200`.

    match = Match(game, "alphabeta:depth=4", "uct:sims=500", seed=1)
    tally = match.play(blocks=100, workers=2)            # arena/tally.py
    tally.score(), tally.elo(), print(tally.text())

A match is a row of blocks. A block is one opening in every arrangement of the two players: with two seats it is played from both
sides; with more, A takes each seat once against B in all others, and then B against A in all others. The games of a block see the same
dice. A block is a function of (game, players, seed, its number, its opening) alone, unless players go by the clock: so workers play
blocks in any order, and the tally takes them by number.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from arena.openings import Opening, Openings
from arena.players import Player, files_of, make_player
from arena.playing import play_game
from arena.results import Results
from arena.statistics import PAIRS, Sprt, count
from arena.tally import Tally
from base.errors import UserError
from base.local_workers import run_jobs
from base.seeds import derive
from base.workers import Workers
from games import Game, load
from games.record import GameRecord, prepare_records

KEPT = 8  # players of a worker: their tables take memory


class Job(NamedTuple):
    """One block, for a worker process."""

    game: str
    players: tuple[str, str]
    seed: int
    block: int
    opening: Opening


class Match:
    """Two players of one game, a seed and a source of openings (arena/openings.py)."""

    def __init__(self, game: Game, a: str, b: str, seed: int = 0, openings: str = "") -> None:
        if game.players < 2:
            raise UserError(f"match: expected a game of two players or more, got {game.name}")
        self.game, self.seed = game, seed
        prepare_records(game)
        made = make_player(a, game), make_player(b, game)  # compiles, before workers start
        self.players = (made[0].text, made[1].text)
        self.names = (made[0].name, made[1].name)
        self.openings = Openings(game, openings, seed)
        next(iter(self.openings))  # or there is nothing to play
        self.is_interrupted = False
        self.verdict: str | None = None
        """Of a sequential test, where one was asked for and came to an end."""

    @property
    def settings(self) -> dict[str, Any]:
        """What makes the match: with it every game can be played again."""
        path = Path(self.openings.text)
        digest = {} if self.openings.is_random else {"openings_hash": hashlib.sha256(path.read_bytes()).hexdigest()}
        return {
            "game": self.game.name,
            "version": self.game.version,
            "A": self.names[0],
            "B": self.names[1],
            "seed": self.seed,
            "openings": self.openings.text,
        } | digest

    @property
    def block_size(self) -> int:
        """Games of a block."""
        return len(arrangements(self.game.players))

    def play(
        self,
        blocks: int,
        workers: Workers | int,
        results: Results | None = None,
        sprt: Sprt | None = None,
        watch: Callable[[Tally, int], object] = lambda tally, games: None,
    ) -> Tally:
        """Play up to so many blocks; what `results` holds already is taken from there. `watch` hears of every block that comes in.

        Ctrl-C ends it with what was played, and `is_interrupted` set.
        """
        tally, test = Tally(self.game, self.players), Sequential(sprt)
        waiting: dict[int, list[GameRecord]] = dict(results.blocks) if results is not None else {}
        done = set(waiting)
        following = 0

        def take() -> bool:
            """Count what has come, by number; True as soon as the test is decided."""
            nonlocal following
            while following in waiting and following < blocks and self.verdict is None:
                if tally.add(waiting.pop(following)):
                    self.verdict = test.add(tally.points[-1])
                following += 1
            return self.verdict is not None

        watch(tally, sum(number < blocks for number in done) * self.block_size)
        playing = run_jobs(
            play_block, self._jobs(blocks, done), workers, initializer=files_of(self.game, *self.players).unpack
        )
        try:
            if take():
                return tally
            for _, frames in playing:
                block = [GameRecord.from_bytes(frame) for frame in frames]
                if results is not None:
                    block = results.add(block, frames)
                waiting[block[0].metadata["block"]] = block
                is_decided = take()
                watch(tally, self.block_size)
                if is_decided:
                    return tally
        except KeyboardInterrupt:
            self.is_interrupted = True
            for number in sorted(number for number in waiting if number < blocks):
                tally.add(waiting[number])
        finally:
            playing.close()
        return tally

    def _jobs(self, blocks: int, done: set[int]) -> Iterator[Job]:
        for number, opening in zip(range(blocks), self.openings, strict=False):
            if number not in done:
                yield Job(self.game.spec, self.players, self.seed, number, opening)


class Sequential:
    """A sequential test fed one pair at a time."""

    def __init__(self, sprt: Sprt | None) -> None:
        self.sprt, self.counts = sprt, count([], PAIRS)

    def add(self, points: float) -> str | None:
        """The verdict after a pair in which A made so many points a game."""
        if self.sprt is None:
            return None
        self.counts += count([points], PAIRS)
        return self.sprt.verdict(self.counts)


def arrangements(players: int) -> list[tuple[int, ...]]:
    """Who sits where in the games of a block: for each seat 0 (A) or 1 (B)."""
    alone = [tuple(int(seat != who) for seat in range(players)) for who in range(players)]
    return alone if players == 2 else alone + [tuple(1 - side for side in seats) for seats in alone]


def play_block(job: Job) -> list[bytes]:
    """The records of a block's games. For worker processes: each keeps the game and the players that it last used."""
    game = _game(job.game)
    frames = []
    for number, sides in enumerate(arrangements(game.players)):
        texts = [job.players[side] for side in sides]
        players = [_player(job.game, text, texts[:seat].count(text)) for seat, text in enumerate(texts)]
        record = play_game(
            game,
            players,
            job.opening,
            seed=derive(job.seed, "block", job.block, "game", number),
            luck=derive(job.seed, "block", job.block),
            metadata={"block": job.block, "game": number, "seats": list(sides)},
        )
        frames.append(record.to_bytes())
    return frames


@functools.lru_cache(maxsize=1)
def _game(text: str) -> Game:
    return load(text)


@functools.lru_cache(maxsize=KEPT)
def _player(game: str, text: str, copy: int) -> Player:
    """Of one text there are as many as sit at the board at once. Kept: a ladder comes back to the same few."""
    return make_player(text, _game(game))
