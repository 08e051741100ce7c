"""Positions whose best moves are known: what accuracy is measured on.

    solved = oracle_sample(load("connect_four"), 500, seed=1)      # minutes the first time, then from the cache
    solved = read_positions(load("connect_four"), "positions.txt")

One half of a sample comes from random games, the other from games of a shallow alpha-beta (max^n where alpha-beta does not know the
game) in which every fourth move is a random one; an equal share from each fifth of the game, whose length is that of the longest of a
hundred random games. No two positions are mirror images of each other, and in each some move gives value away. Only what the
solver does within LIMIT nodes is in it, so early positions are rarer than others; how many were passed over is counted. Nodes and not
seconds, so that a sample depends on nothing but the game, the count and the seed.

Samples are kept in the cache folder, as JSON lines with a checksum. While one is being made, a framed log beside it takes every
solved position as it comes: what was interrupted goes on there.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from arena.choosing import POSITION, state_of
from arena.openings import canonical, rolled
from arena.players import Player, make_player
from base.compiler import content_key
from base.errors import UserError
from base.files import StrPath, cache_folder, file_lock, write_text
from base.log import LogWriter, read_log
from base.pool import run_jobs
from base.seeds import generator, uniform
from classical.solver import Solver, Unsolved
from games import CHANCE, Game, load
from games.engine.kernels import trace

FORMAT = 1
STAGES = 5
SOURCES = ("random", "shallow search")
RANDOM_SHARE = 0.25  # of the moves of the shallow search's games
LIMIT = 10_000_000  # nodes for the best moves of a position, and as many for their distances: a second or two
DRY = 500  # games in a row without a new position: there are no more
TRIES = 200  # games for each position wanted
BANDS = 40  # parts of a game, eight to a fifth, that are given up as too hard one by one:
HARD, HARD_PER_SOLVED = 4, 4  # after so many unsolved positions, and so many more for each solved one
HOPELESS = 8  # unsolved positions of the last fifth, and none solved: the game is too hard
IDLE, IDLE_PER_FOUND = 100, 50  # the same of positions in which every move keeps the value

Answer = dict[
    str, Any
]  # what is stored of one position: the fields of `Solved` that the solver gives, or {"unsolved": true}
Progress = Callable[[int, int], object]
Keep = Callable[[str, Answer], object]


@dataclass(frozen=True)
class Solved:
    """A position and its best moves."""

    line: str
    """How to get there, as `python -m arena choose` reads it."""
    value: float
    """The mover's utility under best play."""
    legal: int
    """How many legal actions there are."""
    keep: tuple[int, ...]
    """The actions that keep `value`."""
    quickest: tuple[int, ...] = ()
    """Those of them that win soonest or lose latest; empty in a draw, and where the solver gives no distances."""
    stage: int | None = None
    """Which fifth of the game, from 0; None where the plies are not known."""
    source: str = ""
    """`random` or `shallow search`; empty for positions from elsewhere."""

    @property
    def has_choice(self) -> bool:
        """Some action gives value away."""
        return len(self.keep) < self.legal


@dataclass
class Sample:
    """Solved positions, and what is not among them."""

    positions: list[Solved] = field(default_factory=list)
    unsolved: int = 0
    """Positions that the solver did not do within the limit."""
    missing: int = 0
    """Positions that were asked for and not found."""


def oracle_sample(game: Game, count: int, seed: int = 1, workers: int = 0) -> list[Solved]:
    """`count` positions of a game, or as many as there are."""
    return make_sample(game, count, seed, workers).positions


def make_sample(
    game: Game, count: int, seed: int, workers: int, progress: Progress = lambda done, total: None
) -> Sample:
    """The same with what was left out; `progress(done, total)` is called now and then."""
    if count < 1:
        raise UserError(f"sample: expected at least 1 position, got {count}")

    def make(known: dict[str, Answer], keep: Keep) -> Sample:
        return _Making(game, count, seed).run(workers, known, keep, progress)

    return _cached(game, ["sample", count, seed], make)


def read_positions(
    game: Game, path: StrPath, workers: int = 0, progress: Progress = lambda done, total: None
) -> Sample:
    """The positions of a file, solved: a line each, as `python -m arena choose` reads it.

    Empty lines and lines with # are passed over.
    """
    lines = []
    with open(path, encoding="utf-8", errors="replace") as file:
        for number, text in enumerate(file, 1):
            line = text.strip()
            if line and not line.startswith("#"):
                try:
                    mover = game.to_move(state_of(game, line))
                except UserError as error:
                    raise UserError(f"{path}:{number}: {error}") from None
                if mover is None or mover == CHANCE:
                    what = "a finished game" if mover is None else "a roll of the dice"
                    raise UserError(f"{path}:{number}: expected a position with a move to choose, got {what}")
                lines.append(line)
    if not lines:
        raise UserError(f"{path}: expected positions, one a line, got none")

    def make(known: dict[str, Answer], keep: Keep) -> Sample:
        return _all_of(game, lines, workers, known, keep, progress)

    return _cached(game, ["positions", lines], make)


# ── finding positions ────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Candidate:
    """A position that may come into the sample."""

    cell: int
    plies: int
    line: str
    identity: bytes


class _Making:
    """A sample being made. Its ten cells, a fifth of the game and a source each, are filled one after the other, the last fifth first.

    Candidates are a function of game, seed and cell; what is taken of them depends on their order, never on who solves them when.
    What is too hard at some point of the game is taken to be so before it: `horizon` is the band up to which nothing is tried any more.
    """

    def __init__(self, game: Game, count: int, seed: int) -> None:
        self.game, self.count, self.seed = game, count, seed
        self.length = length_of(game)
        self.cells = [(stage, source) for stage in reversed(range(STAGES)) for source in range(len(SOURCES))]
        self.wanted = [(count + cell) // len(self.cells) for cell in range(len(self.cells))]
        self.found: list[list[Solved]] = [[] for _ in self.cells]
        self.idle = [0] * len(self.cells)  # in which every move keeps the value
        self.solved, self.unsolved = [0] * BANDS, [0] * BANDS
        self.horizon = -1
        self.sample = Sample()
        self.taken: set[bytes] = set()
        self.closed = [not wanted for wanted in self.wanted]

    def run(self, workers: int, known: dict[str, Answer], keep: Keep, progress: Progress) -> Sample:
        given: list[Candidate] = []

        def jobs() -> Iterator[Job]:
            for candidate in self.candidates():
                given.append(candidate)
                yield self.game.spec, candidate.line, known.get(candidate.line)

        arrived: dict[int, Answer] = {}
        turn = 0
        for number, answer in run_jobs(solve, jobs(), workers):
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
        solved = _solved(self.game, candidate.line, answer, stage, SOURCES[source])
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


def length_of(game: Game) -> int:
    """Plies of the longest of a hundred random games."""
    longest = 0
    for number in range(100):
        state, rng, plies = game.initial(), generator(0, "length of a game", number), 0
        while not game.is_terminal(state):
            state = game.result(state, rolled(game, state, rng))
            plies += 1
        longest = max(longest, plies)
    return longest


def stage_of(plies: int, length: int) -> int:
    """The fifth of a game in which a position lies."""
    return min(STAGES * plies // max(length, 1), STAGES - 1)


# ── solving them ─────────────────────────────────────────────────────────────────────────────────────────────────────

Job = tuple[str, str, Answer | None]


def solve(job: Job) -> Answer:
    """(game, line, answer if it is known) -> answer. For worker processes."""
    spec, line, known = job
    if known is not None:
        return known
    game, solver, timer = _solvers(spec)
    state = state_of(game, line)
    solver.forget()  # what counts against the limit depends on the position alone
    try:
        found = solver.solve(state, "optimal")
    except Unsolved:
        return {"unsolved": True}
    quickest: list[int] = []
    if timer is not None and found.value != 0:
        timer.forget()
        with suppress(Unsolved):
            distances = timer.solve(state, "optimal").distances
            plies = {action: distance for action in found.actions if (distance := distances.get(action)) is not None}
            best = (min if found.value > 0 else max)(plies.values())
            quickest = [action for action, distance in plies.items() if distance == best]
    return {
        "value": found.value,
        "legal": len(found.candidates),
        "keep": [game.names[action] for action in sorted(found.actions)],
        "quickest": [game.names[action] for action in sorted(quickest)],
    }


@functools.lru_cache(maxsize=1)
def _solvers(spec: str) -> tuple[Game, Solver, Solver | None]:
    """The game, its solver, and one that gives distances, where there can be one."""
    game = load(spec)
    try:
        timer = Solver(game, nodes=LIMIT, distance=True)
    except UserError:
        timer = None
    return game, Solver(game, nodes=LIMIT), timer


def _solved(game: Game, line: str, answer: Answer, stage: int | None, source: str) -> Solved | None:
    """None where it is not solved."""
    if "unsolved" in answer:
        return None
    keep, quickest = (tuple(_id(game, name) for name in answer[which]) for which in ("keep", "quickest"))
    return Solved(line, answer["value"], answer["legal"], keep, quickest, stage, source)


def _id(game: Game, name: str) -> int:
    action = game.id_of(name)
    if action is None:
        raise UserError(f"expected an action of {game.name}, got '{name}'")
    return action


def _all_of(
    game: Game, lines: list[str], workers: int, known: dict[str, Answer], keep: Keep, progress: Progress
) -> Sample:
    """Every position of a file."""
    length, sample = length_of(game), Sample()
    answers: list[Answer] = [{}] * len(lines)
    jobs = [(game.spec, line, known.get(line)) for line in lines]
    for done, (number, answer) in enumerate(run_jobs(solve, jobs, workers), 1):
        keep(lines[number], answer)
        answers[number] = answer
        progress(done, len(lines))
    for line, answer in zip(lines, answers, strict=True):
        stage = None if line.startswith(POSITION) else stage_of(len(line.split()), length)
        solved = _solved(game, line, answer, stage, "")
        if solved is None:
            sample.unsolved += 1
        else:
            sample.positions.append(solved)
    return sample


# ── the cache ────────────────────────────────────────────────────────────────────────────────────────────────────────


def sample_path(game: Game, what: Sequence[Any]) -> Path:
    """Where a sample is kept: by the rules' content, and by what was asked for."""
    parts = [FORMAT, LIMIT, game.name, game.version, content_key(trace(game.rules)), *what]
    digest = hashlib.sha256(json.dumps(parts).encode()).hexdigest()
    slug = re.sub(r"[^A-Za-z0-9_.=-]+", "_", game.name)[:60]
    return cache_folder("oracle") / f"{slug}-{digest[:32]}.jsonl"


def _cached(game: Game, what: Sequence[Any], make: Callable[[dict[str, Answer], Keep], Sample]) -> Sample:
    """From the cache, or made and put there. `make(known, keep)` is told what an interrupted run solved, and tells what it solves."""
    path = sample_path(game, what)
    sample = _read(path, game)
    if sample is None:
        with file_lock(path.with_name(f".{path.stem}.lock")):
            sample = _read(path, game)  # perhaps somebody else made it while this process waited
            if sample is None:
                part = path.with_suffix(".part")
                known = _known(part)
                with LogWriter(part, report=lambda message: None) as log:

                    def keep(line: str, answer: Answer) -> None:
                        if line not in known:
                            log.append(json.dumps([line, answer]).encode())

                    sample = make(known, keep)
                _write(path, game, sample)
                part.unlink()
    return sample


def _known(part: Path) -> dict[str, Answer]:
    """What an interrupted run has solved. A damaged log is begun anew."""
    try:
        return {line: answer for _, payload in read_log(part) for line, answer in [json.loads(payload)]}
    except FileNotFoundError:
        return {}
    except ValueError:
        part.unlink()
        return {}


def _write(path: Path, game: Game, sample: Sample) -> None:
    lines = "".join(json.dumps(_as_json(game, each), ensure_ascii=False) + "\n" for each in sample.positions)
    header = {
        "game": game.name,
        "version": game.version,
        "positions": len(sample.positions),
        "unsolved": sample.unsolved,
        "missing": sample.missing,
        "sha256": hashlib.sha256(lines.encode()).hexdigest(),
    }
    write_text(path, json.dumps(header, ensure_ascii=False) + "\n" + lines)


def _read(path: Path, game: Game) -> Sample | None:
    """None where there is none, or none that is whole."""
    try:
        head, lines = path.read_bytes().decode().split("\n", 1)
        header = json.loads(head)
        if header["sha256"] != hashlib.sha256(lines.encode()).hexdigest():
            return None
        sample = Sample(unsolved=header["unsolved"], missing=header["missing"])
        for each in map(json.loads, lines.splitlines()):
            solved = _solved(game, each["line"], each, each["stage"], each["source"])
            assert solved is not None
            sample.positions.append(solved)
        return sample
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _as_json(game: Game, solved: Solved) -> dict[str, Any]:
    return {
        **asdict(solved),
        "keep": [game.names[action] for action in solved.keep],
        "quickest": [game.names[action] for action in solved.quickest],
    }
