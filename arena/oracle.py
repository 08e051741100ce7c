"""Positions and their best moves, from the exact solver, kept in the cache folder: what accuracy is measured on.

    sample = read_positions(load("connect_four"), "positions.txt", workers=2)
    sample.positions[0].value, sample.positions[0].keep

What takes more than LIMIT nodes is passed over and counted: nodes and not seconds, so that it is the same on every machine. A finished
sample is a file of JSON lines with a checksum, made again where it is damaged. While one is being made, a framed log beside it takes
every answer of the solver as it comes: what was interrupted goes on there.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from arena.choosing import POSITION, state_of
from arena.openings import rolled
from base.compiler import content_key
from base.errors import UserError
from base.files import StrPath, cache_folder, file_lock, write_text
from base.framed_log import LogWriter, read_log
from base.local_workers import run_jobs
from base.seeds import generator
from base.sent_files import SentFiles
from base.workers import Workers
from classical.solver import Solver, Unsolved
from games import CHANCE, Game, load
from games.engine.kernels import trace
from games.engine.registry import files_of

FORMAT = 1  # changed with whatever changes what is in a sample
STAGES = 5
LIMIT = 10_000_000  # nodes for the best moves of a position, and as many for their distances: a second or two

Answer = dict[str, Any]
"""What is stored of one position: the fields of `Solved` that the solver gives, or {"unsolved": true}."""
Job = tuple[str, str, Answer | None]
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


# ── positions from a file ────────────────────────────────────────────────────────────────────────────────────────────


def read_positions(
    game: Game, path: StrPath, workers: Workers | int = 0, progress: Progress = lambda done, total: None
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

    return cached(game, ["positions", lines], make)


def _all_of(
    game: Game, lines: list[str], workers: Workers | int, known: dict[str, Answer], keep: Keep, progress: Progress
) -> Sample:
    """Every position of a file."""
    length, sample = longest_length(game), Sample()
    answers: list[Answer] = [{}] * len(lines)
    jobs = [(game.spec, line, known.get(line)) for line in lines]
    sent = SentFiles.of(files_of(game))
    for done, (number, answer) in enumerate(run_jobs(solve, jobs, workers, initializer=sent.unpack), 1):
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


def solve(job: Job) -> Answer:
    """(game, line, answer if it is known) -> answer. For worker processes."""
    spec, line, known = job
    if known is not None:
        return known
    game = load(spec)
    solver, timer = _solvers(game)
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
def _solvers(game: Game) -> tuple[Solver, Solver | None]:
    """A game's solver, and one that gives distances, where there can be one."""
    try:
        timer = Solver(game, nodes=LIMIT, distance=True)
    except UserError:
        timer = None
    return Solver(game, nodes=LIMIT), timer


def solved_of(game: Game, line: str, answer: Answer, stage: int | None, source: str) -> Solved | None:
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


# ── the cache ────────────────────────────────────────────────────────────────────────────────────────────────────────


def sample_path(game: Game, what: Sequence[Any]) -> Path:
    """Where a sample is kept: by the rules' content, and by what was asked for."""
    parts = [FORMAT, LIMIT, game.name, game.version, content_key(trace(game.rules)), *what]
    digest = hashlib.sha256(json.dumps(parts).encode()).hexdigest()
    slug = re.sub(r"[^A-Za-z0-9_.=-]+", "_", game.name)[:60]
    return cache_folder("oracle") / f"{slug}-{digest[:32]}.jsonl"


def cached(game: Game, what: Sequence[Any], make: Callable[[dict[str, Answer], Keep], Sample]) -> Sample:
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
            solved = solved_of(game, each["line"], each, each["stage"], each["source"])
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
