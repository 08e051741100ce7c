"""Positions with the exact value of every move, on which accuracy is measured.

    sample = read_positions(load("connect_four"), "positions.txt", workers=2)
    sample.positions[0].value, sample.positions[0].keep

Samples that are drawn: arena/drawn_positions.py; sets that come with the program: arena/released_positions.py.

A position is *hard* where `alphabeta:depth=6` gives value away. A position that takes more than LIMIT nodes is left out and counted:
nodes, not seconds, so that a sample is the same on every machine. A finished sample is a file of JSON lines with a checksum in the
cache folder; a damaged file is made again. While a sample is made, a framed log stores each answer of the solver, and an interrupted
run resumes from it.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from arena.choose import POSITION, state_of
from arena.commands import Progress
from arena.openings import random_action
from arena.players import Player, make_player
from base.compiler import content_key
from base.errors import UserError
from base.files import StrPath, cache_folder, file_lock, write_text
from base.framed_log import LogWriter, read_log
from base.local_workers import run_jobs
from base.reading import json_of
from base.seeds import derive, generator
from base.workers import Workers
from classical.solver import Solver, Unsolved
from games import CHANCE, Game, load
from games.choice import Choice
from games.engine.kernels import trace
from games.engine.registry import files_of

FORMAT = 2  # changes whenever the content of samples changes
STAGES = 5
LIMIT = 10_000_000  # nodes for the values of a position's moves, and as many for their distances: a second or two

HARD_FOR = "alphabeta:depth=6"
"""The player that gives value away in hard positions."""
EQUAL = 1e-9  # values nearer than this are the same

Answer = dict[str, Any]
"""What is stored of one position: the fields of `Solved` that the solver gives, or {"unsolved": true}."""
Timed = Literal["all", "choice", "hard"]
"""The positions for which `quickest` is of use: all, those in which some move gives value away, hard ones."""
Job = tuple[str, str, Answer | None, Timed]
Keep = Callable[[str, Answer], object]


@dataclass(frozen=True)
class Solved:
    """A position and its best moves."""

    line: str
    """The position, as in `python -m arena choose`."""
    values: Mapping[int, float]
    """Of every legal action: the mover's utility if it is played, under best play from there on."""
    quickest: tuple[int, ...] = ()
    """Those of `keep` that win soonest or lose latest; empty in a draw, and where the solver gives no distances."""
    stage: int | None = None
    """The fifth of the game, from 0; None where the number of plies is unknown."""
    source: str = ""
    """`random` or `shallow search`; empty for positions from a file."""
    is_hard: bool | None = None
    """Whether `HARD_FOR` gives value away; None where it does not play the game."""

    @property
    def value(self) -> float:
        """The mover's utility under best play."""
        return max(self.values.values())

    @property
    def keep(self) -> tuple[int, ...]:
        """The actions that keep `value`."""
        return tuple(action for action in sorted(self.values) if self.given_away(action) == 0)

    @property
    def has_choice(self) -> bool:
        """Some action gives value away."""
        return len(self.keep) < len(self.values)

    def given_away(self, action: int) -> float:
        """How much less than `value` the action is worth."""
        less = self.value - self.values[action]
        return less if less > EQUAL else 0.0


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
    jobs: list[Job] = [(game.spec, line, known.get(line), "all") for line in lines]
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
    """(game, line, known answer or None, for which `quickest` is computed) -> answer. For worker processes."""
    spec, line, known, timed = job
    if known is not None:
        return known
    game = load(spec)
    solver, timer = _solvers(game)
    state = state_of(game, line)
    solver.forget()  # the nodes of a position must not depend on earlier ones
    try:
        found = solver.solve(state, "all")
    except Unsolved:
        return {"unsolved": True}
    has_choice = Solved(line, found.values).has_choice
    player, is_hard = _hard_for(game), None
    if player is not None:
        is_hard = has_choice and choice_in(game, player, line).action not in found.actions
    quickest: list[int] = []
    is_timed = {"all": True, "choice": has_choice, "hard": is_hard}[timed]
    if timer is not None and found.value != 0 and is_timed:
        timer.forget()
        with suppress(Unsolved):
            distances = timer.solve(state, "optimal").distances
            plies = {action: distance for action in found.actions if (distance := distances.get(action)) is not None}
            best = (min if found.value > 0 else max)(plies.values())
            quickest = [action for action, distance in plies.items() if distance == best]
    return {
        "values": {game.names[action]: value for action, value in sorted(found.values.items())},
        "quickest": [game.names[action] for action in sorted(quickest)],
        "hard": is_hard,
    }


def choice_in(game: Game, player: Player, line: str) -> Choice:
    """The player's choice in one position: a function of the position alone, whose text seeds the player."""
    player.new_game(derive(0, "accuracy", line))
    return player.choose(state_of(game, line))


@functools.lru_cache(maxsize=1)
def _solvers(game: Game) -> tuple[Solver, Solver | None]:
    """A game's solver, and one that gives distances where the game allows it."""
    try:
        timer = Solver(game, nodes=LIMIT, distance=True)
    except UserError:
        timer = None
    return Solver(game, nodes=LIMIT), timer


@functools.lru_cache(maxsize=1)
def _hard_for(game: Game) -> Player | None:
    return make_player(HARD_FOR, game) if is_for_alphabeta(game) else None


def is_for_alphabeta(game: Game) -> bool:
    return game.players == 2 and game.rules.zero_sum and game.rules.chance is None


def solved_of(game: Game, line: str, answer: Answer, stage: int | None, source: str) -> Solved | None:
    """The solved position of an answer; None where it is not solved."""
    if "unsolved" in answer:
        return None
    values = {_id(game, name): float(value) for name, value in answer["values"].items()}
    quickest = tuple(_id(game, name) for name in answer["quickest"])
    return Solved(line, values, quickest, stage, source, answer["hard"])


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
    sample = read_sample(path, game)
    if sample is None:
        with file_lock(path.with_name(f".{path.stem}.lock")):
            sample = read_sample(path, game)  # another process may have made it meanwhile
            if sample is None:
                part = path.with_suffix(".part")
                known = _known(part)
                with LogWriter(part, report=lambda message: None) as log:

                    def keep(line: str, answer: Answer) -> None:
                        if line not in known:
                            log.append(json.dumps([line, answer]).encode())

                    sample = make(known, keep)
                write_sample(path, game, sample)
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


def write_sample(path: Path, game: Game, sample: Sample, about: Mapping[str, Any] = MappingProxyType({})) -> None:
    """A header, and a line of JSON for each position. `about`: further fields of the header."""
    lines = "".join(_written(_as_json(game, each)) + "\n" for each in sample.positions)
    header = {
        "game": game.name,
        "version": game.version,
        **about,
        "positions": len(sample.positions),
        "unsolved": sample.unsolved,
        "missing": sample.missing,
        "sha256": hashlib.sha256(lines.encode()).hexdigest(),
    }
    write_text(path, _written(header) + "\n" + lines)


def read_sample(path: Path, game: Game) -> Sample | None:
    """A stored sample; None where it is missing, damaged, or of another version of the game."""
    try:
        head, lines = path.read_bytes().decode().split("\n", 1)
        header = json_of(head, path)
        if (header["game"], header["version"]) != (game.name, game.version):
            return None
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
        "line": solved.line,
        "values": {game.names[action]: _number(value) for action, value in solved.values.items()},
        "quickest": [game.names[action] for action in solved.quickest],
        "stage": solved.stage,
        "source": solved.source,
        "hard": solved.is_hard,
    }


def _number(value: float) -> float:
    """As short as JSON can have it."""
    return int(value) if value == int(value) else value


def _written(found: Mapping[str, Any]) -> str:
    return json.dumps(found, ensure_ascii=False, separators=(",", ":"))
