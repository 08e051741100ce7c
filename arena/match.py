"""A match between two players: `python -m arena match GAME A B --games 200`.

    match = Match(game, "alphabeta:depth=4", "uct:sims=500", seed=1)
    tally = match.play(blocks=100, workers=2)            # arena/tally.py
    tally.score(), tally.elo(), print(tally.text())

A match is a sequence of blocks. A block is one opening in every arrangement of the two players: with two seats it is played from both
sides; with more, A takes each seat once against B in all others, then B against A in all others. All games of a block have the same
dice. A block is a function of (game, players, seed, its number, its opening) alone, unless players have a time limit. So workers play
blocks in any order, and the tally counts them by number.
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

from tqdm import tqdm

from arena.commands import add_common, bar, notice
from arena.elo import PAIRS, Sprt, count
from arena.match_folder import MatchFolder
from arena.openings import Opening, Openings
from arena.players import KeptPlayers, brief, make_player, pack_player
from arena.referee import play_game
from arena.tally import Tally
from base.errors import INTERRUPTED, UserError
from base.local_workers import run_jobs
from base.options import Options, split
from base.seeds import derive
from base.workers import Workers
from cluster.options import opened_workers
from games import Game, load
from games.engine.registry import files_of
from games.record import GameRecord, prepare_records


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
        packed = [pack_player(make_player(text, game)) for text in (a, b)]  # compiled before workers start
        self.players = (packed[0].text, packed[1].text)
        self.names = (packed[0].name, packed[1].name)
        self.play_block = functools.partial(play_block, KeptPlayers(game.spec, {each.text: each for each in packed}))
        """Job -> encoded records, for workers."""
        self.openings = Openings(game, openings, seed)
        next(iter(self.openings))  # an early error where there is none
        self.is_interrupted = False
        self.verdict: str | None = None
        """The accepted hypothesis, H0 or H1, of a sequential test that has ended."""

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of the match, from which every game can be played again."""
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
        """Number of games in a block."""
        return len(arrangements(self.game.players))

    def play(
        self,
        blocks: int,
        workers: Workers | int,
        folder: MatchFolder | None = None,
        sprt: Sprt | None = None,
        progress: Callable[[Tally, int], object] = lambda tally, games: None,
    ) -> Tally:
        """Play up to so many blocks, those in `folder` included. `progress` is called with the tally and the number of new games.

        Ctrl-C stops it: the tally has the blocks so far, and `is_interrupted` is set.
        """
        tally, test = Tally(self.game, self.players), Sequential(sprt)
        waiting: dict[int, list[GameRecord]] = dict(folder.blocks) if folder is not None else {}
        done = set(waiting)
        following = 0

        def take() -> bool:
            """Count waiting blocks in the order of their numbers; True once the test has ended."""
            nonlocal following
            while following in waiting and following < blocks and self.verdict is None:
                if tally.add(waiting.pop(following)):
                    self.verdict = test.add(tally.points[-1])
                following += 1
            return self.verdict is not None

        progress(tally, sum(number < blocks for number in done) * self.block_size)
        playing = run_jobs(self.play_block, self._jobs(blocks, done), workers, initializer=files_of(self.game).unpack)
        try:
            if take():
                return tally
            for _, frames in playing:
                block = [GameRecord.from_bytes(frame) for frame in frames]
                if folder is not None:
                    block = folder.add(block, frames)
                waiting[block[0].metadata["block"]] = block
                is_decided = take()
                progress(tally, self.block_size)
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
    """A sequential test that takes one pair at a time."""

    def __init__(self, sprt: Sprt | None) -> None:
        self.sprt, self.counts = sprt, count([], PAIRS)

    def add(self, points: float) -> str | None:
        """The verdict after one more pair, given A's points per game."""
        if self.sprt is None:
            return None
        self.counts += count([points], PAIRS)
        return self.sprt.verdict(self.counts)


def arrangements(players: int) -> list[tuple[int, ...]]:
    """The games of a block: for each seat 0 (A) or 1 (B)."""
    alone = [tuple(int(seat != who) for seat in range(players)) for who in range(players)]
    return alone if players == 2 else alone + [tuple(1 - side for side in seats) for seats in alone]


def play_block(players: KeptPlayers, job: Job) -> list[bytes]:
    """The encoded records of a block's games. For workers."""
    game = load(job.game)
    frames = []
    for number, sides in enumerate(arrangements(game.players)):
        texts = [job.players[side] for side in sides]
        seats = [players(text, texts[:seat].count(text)) for seat, text in enumerate(texts)]
        record = play_game(
            game,
            seats,
            job.opening,
            seed=derive(job.seed, "block", job.block, "game", number),
            luck=derive(job.seed, "block", job.block),
            metadata={"block": job.block, "game": number, "seats": list(sides)},
        )
        frames.append(record.to_bytes())
    return frames


# ── python -m arena match ────────────────────────────────────────────────────────────────────────────────────────────

REFRESH = 1.0  # seconds between updates of the score beside the progress bar


def add_match(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("game", metavar="GAME")
    parser.add_argument("--verbose", action="store_true", help="print the options of players that are defaults, too")
    parser.add_argument("a", metavar="A", help="a player, as in alphabeta:depth=6")
    parser.add_argument("b", metavar="B", help="the other player")
    parser.add_argument("--games", type=int, default=200, metavar="N", help="at most; rounded up to whole blocks")
    parser.add_argument(
        "--openings",
        metavar="FILE|plies=K",
        help="a file of openings, or random plies: plies=4, plies=2-6, plies=4+ (longer once all of 4 are used); "
        "default: plies=K+ with a K that suits the game",
    )
    parser.add_argument(
        "--sprt", metavar="elo0=0,elo1=50,alpha=0.05,beta=0.05", help="stop when this sequential test ends"
    )
    parser.add_argument("--records", metavar="DIR", help="store every game there")
    parser.add_argument("--resume", action="store_true", help="resume the match in DIR")
    add_common(parser)


def run_match(options: argparse.Namespace) -> int:
    if options.resume and not options.records:
        raise UserError("--resume: expected --records DIR, the match to resume")
    game = load(options.game)
    sprt = sprt_of(options.sprt)
    if sprt is not None and game.players != 2:
        raise UserError(f"--sprt: expected a game of two players, got {game.name} ({game.players} players)")
    match = Match(game, options.a, options.b, options.seed, options.openings or "")
    size = match.block_size
    blocks = -(-options.games // size)
    if blocks * size != options.games:
        notice(
            f"games: {options.games} is rounded up to {blocks * size}, so that every opening is played from all sides"
        )
    with ExitStack() as stack:
        folder = None
        if options.records:
            opened = MatchFolder(options.records, match.settings, game, size, options.resume, report=notice)
            folder = stack.enter_context(opened)
        workers = stack.enter_context(opened_workers(options))
        shown = stack.enter_context(bar(total=blocks * size, unit=" games"))
        tally = match.play(blocks, workers, folder, sprt, ScoreBar(shown))
    texts = zip(match.players, (options.a, options.b), strict=True)
    names = match.players if options.verbose else tuple(brief(text, given) for text, given in texts)
    report(match, tally, sprt, options.json, names)
    return INTERRUPTED if match.is_interrupted else 0


class ScoreBar:
    """A progress bar that also shows the score."""

    def __init__(self, shown: tqdm[None]) -> None:
        self.bar, self.next = shown, time.monotonic() + REFRESH

    def __call__(self, tally: Tally, games: int) -> None:
        self.bar.update(games)
        if not self.bar.disable and time.monotonic() > self.next:
            self.bar.set_postfix_str(tally.brief())
            self.next = time.monotonic() + REFRESH


def report(match: Match, tally: Tally, sprt: Sprt | None, as_json: bool, names: Sequence[str] | None = None) -> None:
    """Print the result, with the players' names as they are to be shown."""
    if match.openings.notes:
        notice(match.openings.notes)
    repeated = match.openings.distinct
    if repeated is not None and repeated * match.block_size < tally.games:
        notice(f"openings: {match.openings.text} gives only {repeated} different openings, so some were played again")
    if match.is_interrupted:
        notice(f"interrupted after {tally.games} games")
    low, high = sprt.bounds if sprt is not None else (0.0, 0.0)
    ratio = float(sprt.ratio(tally.counts)) if sprt is not None and tally.pairs else 0.0
    if as_json:
        found = tally.as_json()
        if sprt is not None:
            found["sprt"] = {
                "verdict": match.verdict,
                "llr": round(ratio, 6),
                "bounds": [round(low, 6), round(high, 6)],
            }
        print(json.dumps(found))
        return
    print(tally.text(names))
    if sprt is not None:
        elos = {"H0": (sprt.elo0, sprt.elo1), "H1": (sprt.elo1, sprt.elo0)}.get(match.verdict or "")
        verdict = f"{match.verdict} accepted, Elo {elos[0]:g} rather than {elos[1]:g}" if elos else "undecided"
        print(f"SPRT       {verdict} (log-likelihood ratio {ratio:+.2f} in [{low:.2f}, {high:.2f}])")


def sprt_of(text: str | None) -> Sprt | None:
    """The test that `elo0=0,elo1=50,alpha=0.05,beta=0.05` describes; these are the defaults."""
    if text is None:
        return None
    options = Options("sprt", Sprt)
    return Sprt(**options.resolve(split(f"sprt:{text}")[1]))
