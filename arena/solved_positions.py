"""Positions with their best moves by the exact solver, on which accuracy is measured. They are kept in the cache folder.

    sample = draw_positions(load("connect_four"), 500, seed=1, workers=2)          # takes minutes the first time
    sample = read_positions(load("connect_four"), "positions.txt", workers=2)
    sample.positions[0].value, sample.positions[0].keep

Half of a drawn sample comes from random games, the other half from games of a shallow alpha-beta (max^n where alpha-beta does not
apply) in which every fourth move is random. Each fifth of the game has an equal share, by the length of the longest of a hundred random
games. No two positions are mirror images of each other. In each some move gives value away, so the mover is not yet lost (unless
utilities differ among losses). The earliest positions are too hard for the solver, so those of the first fifth are from its later
plies.

A position that takes more than LIMIT nodes is left out and counted: nodes, not seconds, so that the sample is the same on every
machine. A finished sample is a file of JSON lines with a checksum; a damaged file is made again. While a sample is made, a framed log
stores each answer of the solver, and an interrupted run resumes from it.
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

from arena.choose import POSITION, state_of
from arena.commands import Progress
from arena.openings import canonical, random_action
from arena.players import Player, make_player
from base.compiler import content_key
from base.errors import UserError
from base.files import StrPath, cache_folder, file_lock, write_text
from base.framed_log import LogWriter, read_log
from base.local_workers import run_jobs
from base.reading import json_of
from base.seeds import generator, uniform
from base.workers import Workers
from classical.solvable import LATE, require
from classical.solver import Solver, Unsolved
from games import CHANCE, Game, load
from games.engine.kernels import trace
from games.engine.registry import files_of

FORMAT = 1  # changes whenever the content of samples changes
STAGES = 5
LIMIT = 10_000_000  # nodes for the best moves of a position, and as many for their distances: a second or two

Answer = dict[str, Any]
"""What is stored of one position: the fields of `Solved` that the solver gives, or {"unsolved": true}."""
Job = tuple[str, str, Answer | None]
Keep = Callable[[str, Answer], object]


@dataclass(frozen=True)
class Solved:
    """A position and its best moves."""

    line: str
    """The position, as in `python -m arena choose`."""
    value: float
    """The mover's utility under best play."""
    legal: int
    """The number of legal actions."""
    keep: tuple[int, ...]
    """The actions that keep `value`."""
    quickest: tuple[int, ...] = ()
    """Those of `keep` that win soonest or lose latest; empty in a draw, and where the solver gives no distances."""
    stage: int | None = None
    """The fifth of the game, from 0; None where the number of plies is unknown."""
    source: str = ""
    """`random` or `shallow search`; empty for positions from a file."""

    @property
    def has_choice(self) -> bool:
        """Some action gives value away."""
        return len(self.keep) < self.legal


@dataclass
class Sample:
    """Solved positions, and the numbers of positions that are not among them."""

    positions: list[Solved] = field(default_factory=list)
    unsolved: int = 0
    """Positions that the solver did not solve within the limit."""
    missing: int = 0
    """Positions that were wanted and not found."""


# ── positions from a file ────────────────────────────────────────────────────────────────────────────────────────────


def read_positions(
    game: Game, path: StrPath, workers: Workers | int = 0, progress: Progress = lambda done, total: None
) -> Sample:
    """The positions of a file, solved: a line each as in `python -m arena choose`. Empty lines and lines with # are ignored."""
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
        raise UserError(f"{path}: expected one position per line, got none")

    def make(known: dict[str, Answer], keep: Keep) -> Sample:
        return _solve_lines(game, lines, workers, known, keep, progress)

    return cached(game, ["positions", lines], make)


def _solve_lines(
    game: Game, lines: list[str], workers: Workers | int, known: dict[str, Answer], keep: Keep, progress: Progress
) -> Sample:
    length, sample = longest_length(game), Sample()
    answers: list[Answer] = [{}] * len(lines)
    jobs = [(game.spec, line, known.get(line)) for line in lines]
    for done, (number, answer) in enumerate(run_jobs(solve, jobs, workers, initializer=files_of(game).unpack), 1):
        keep(lines[number], answer)
        answers[number] = answer
        progress(done, len(lines))
    for line, answer in zip(lines, answers, strict=True):
        stage = None if line.startswith(POSITION) else stage_of(len(line.split()), length)
        solved = solved_of(game, line, answer, stage, "")
        if solved is None:
            sample.unsolved += 1
        else:
            sample.positions.append(solved)
    return sample


def longest_length(game: Game) -> int:
    """The number of plies of the longest of a hundred random games."""
    longest = 0
    for number in range(100):
        state, rng, plies = game.initial(), generator(0, "length of a game", number), 0
        while plies < game.rules.max_plies and not game.is_terminal(state):
            state = game.result(state, random_action(game, state, rng))
            plies += 1
        longest = max(longest, plies)
    return longest


def stage_of(plies: int, length: int) -> int:
    """The fifth of a game in which a position lies."""
    return min(STAGES * plies // max(length, 1), STAGES - 1)


# ── solving them ─────────────────────────────────────────────────────────────────────────────────────────────────────


def solve(job: Job) -> Answer:
    """(game, line, known answer or None) -> answer. For worker processes."""
    spec, line, known = job
    if known is not None:
        return known
    game = load(spec)
    solver, timer = _solvers(game)
    state = state_of(game, line)
    solver.forget()  # the nodes of a position must not depend on earlier ones
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
def _solvers(game: Game) -> tuple[Solver, Solver | None]:
    """A game's solver, and one that gives distances where the game allows it."""
    try:
        timer = Solver(game, nodes=LIMIT, distance=True)
    except UserError:
        timer = None
    return Solver(game, nodes=LIMIT), timer


def solved_of(game: Game, line: str, answer: Answer, stage: int | None, source: str) -> Solved | None:
    """The solved position of an answer; None where it is not solved."""
    if "unsolved" in answer:
        return None
    keep, quickest = (tuple(_id(game, name) for name in answer[which]) for which in ("keep", "quickest"))
    return Solved(line, answer["value"], answer["legal"], keep, quickest, stage, source)


def _id(game: Game, name: str) -> int:
    action = game.id_of(name)
    if action is None:
        raise UserError(f"expected an action of {game.name}, got '{name}'")
    return action


# ── the cache ────────────────────────────────────────────────────────────────────────────────────────────────────────


def sample_path(game: Game, what: Sequence[Any]) -> Path:
    """The file of a sample, by the content of the rules and the sample's settings."""
    parts = [FORMAT, LIMIT, game.name, game.version, content_key(trace(game.rules)), *what]
    digest = hashlib.sha256(json.dumps(parts).encode()).hexdigest()
    slug = re.sub(r"[^A-Za-z0-9_.=-]+", "_", game.name)[:60]
    return cache_folder("oracle") / f"{slug}-{digest[:32]}.jsonl"


def cached(game: Game, what: Sequence[Any], make: Callable[[dict[str, Answer], Keep], Sample]) -> Sample:
    """The sample from the cache, or made and stored there. `make(known, keep)`: answers of an interrupted run; stores an answer."""
    path = sample_path(game, what)
    sample = _read(path, game)
    if sample is None:
        with file_lock(path.with_name(f".{path.stem}.lock")):
            sample = _read(path, game)  # another process may have made it meanwhile
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
    """The answers of an interrupted run. A damaged log is deleted."""
    try:
        return {line: answer for _, payload in read_log(part) for line, answer in [json_of(payload, part)]}
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
    """A stored sample; None where it is missing or damaged."""
    try:
        head, lines = path.read_bytes().decode().split("\n", 1)
        header = json_of(head, path)
        if header["sha256"] != hashlib.sha256(lines.encode()).hexdigest():
            return None
        sample = Sample(unsolved=header["unsolved"], missing=header["missing"])
        for each in (json_of(line, path) for line in lines.splitlines()):
            solved = solved_of(game, each["line"], each, each["stage"], each["source"])
            if solved is None:
                return None
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


SOURCES = ("random", "shallow search")
RANDOM_SHARE = 0.25  # of the moves of the shallow search's games
DRY = 500  # games in a row without a new position before the supply counts as exhausted
TRIES = 200  # games for each position wanted
BANDS = 40  # parts of a game, eight per fifth; a part counts as too hard
HARD, HARD_PER_SOLVED = 4, 4  # after this many unsolved positions, plus this many for each solved one
HOPELESS = 8  # unsolved positions of the last fifth without a solved one: the game is too hard
IDLE, IDLE_PER_FOUND = 100, 50  # the same limits for positions in which every move keeps the value


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
    Where a part of the game is too hard, all earlier parts count as too hard: up to band `horizon` nothing is tried.
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
        for number, answer in run_jobs(solve, jobs(), workers, initializer=files_of(self.game).unpack):
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
    """The player of three quarters of the moves in the games of the second source."""
    is_for_alphabeta = game.players == 2 and game.rules.zero_sum and game.rules.chance is None
    return make_player("alphabeta:depth=2,tt_mb=1" if is_for_alphabeta else "maxn:depth=1", game)
