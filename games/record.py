"""The record of one game: its moves, what the search found at each, its outcome. Never planes, so an encoding may change.

    record = make_record(game, moves, players=["uct:sims=100", "random"], seed=7)
    with LogWriter("games.log") as log:                     # base/framed_log.py
        log.append(record.to_bytes())

    for record in read_records("runs/first/games", game):   # a log, move lists, PGN, SGF, or a folder of them
        for state, ply in record.replay(game):              # every position, the last one included
            actions, probabilities, visits = record.policy(ply)

A text file has one game per line, its actions by name as `python -m games trace` takes them; empty lines are skipped.

A record that is damaged, or of another game or version, is refused in one sentence. games/engine/record_codec.py defines the bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from base.errors import UserError, nearest, short
from base.files import StrPath
from base.framed_log import MAGIC as LOG_MAGIC
from base.framed_log import read_log
from base.json_values import is_count, shown
from games.engine.game import Game
from games.engine.record_codec import ARRAYS, FIELDS, decode, encode, refuse
from games.engine.rules import Rules
from games.types import Actions, Array, Counts, GameState, GameStates

MAX_PLIES = "max_plies"
"""The ending of a game that was stopped because it had as many plies as the rules allow."""


@dataclass(frozen=True, eq=False)
class GameRecord:
    """One game. n plies, chance's actions counted, P players, k entries of all its policies together."""

    game: str
    """The game's name with its options, as `Game.name` has it."""
    version: int
    """Of the game's rules."""
    moves: Array
    """Action ids [n], chance's included."""
    outcome: tuple[float, ...] | None = None
    """The utility of each player; None where the game was broken off."""
    ending: str = ""
    """Why the game ended, where it was not by its rules: `resigned`, `adjudicated`, `broken off`."""
    seed: int | None = None
    """With the players' settings it gives the game again."""
    players: tuple[str, ...] = ()
    """The text of each player, resolved; '' where it is unknown."""
    start: bytes | None = None
    """The record of the position that the game began from; None for the initial one."""
    searched: Array = field(default_factory=lambda: np.zeros(0, np.uint8))
    """[n]: 1 where the position was searched fully and its policy is a target to learn from."""
    utilities: Array = field(default_factory=lambda: np.zeros((0, 0), np.float32))
    """[n, P]: the root's utility of each player as the search ended; NaN where there was none. Absolute: column p is player p's."""
    policy_counts: Array = field(default_factory=lambda: np.zeros(0, np.int32))
    """[n]: entries of the policy of each ply; 0 where there is none."""
    policy_actions: Array = field(default_factory=lambda: np.zeros(0, np.int32))
    """[k]"""
    probabilities: Array = field(default_factory=lambda: np.zeros(0, np.float32))
    """[k]: the distribution to learn, each ply's sums to 1."""
    visits: Array = field(default_factory=lambda: np.zeros(0, np.int64))
    """[k]: simulations through each action."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """Anything else, as JSON."""

    def __post_init__(self) -> None:
        n = len(self.moves)
        wanted = {"searched": (n,), "utilities": (n, self._width()), "policy_counts": (n,)}
        if not len(self.searched):
            object.__setattr__(self, "searched", np.zeros(n, np.uint8))
        if not len(self.policy_counts):
            object.__setattr__(self, "policy_counts", np.zeros(n, np.int32))
        if not self.utilities.size:
            object.__setattr__(self, "utilities", np.full((n, self._width()), np.nan, np.float32))
        for name, shape in wanted.items():
            if getattr(self, name).shape != shape:
                refuse(f"{name} of shape {shape} for {n} plies", getattr(self, name).shape)
        k = int(self.policy_counts.sum())
        for name in ("policy_actions", "probabilities", "visits"):
            if getattr(self, name).shape != (k,):
                refuse(f"{name} of shape {(k,)} for {k} entries of policies", getattr(self, name).shape)
        for name, (dtype, _) in ARRAYS.items():
            object.__setattr__(self, name, np.array(getattr(self, name), dtype, order="C"))
        self._check_numbers()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GameRecord) and self.to_bytes() == other.to_bytes()

    __hash__ = None  # type: ignore[assignment]

    def __len__(self) -> int:
        """Plies."""
        return len(self.moves)

    def policy(self, ply: int) -> tuple[Array, Array, Array]:
        """Actions, probabilities and visits at a ply; of length 0 where there is no policy, as behind the last move."""
        if not 0 <= ply <= len(self):
            refuse(f"a ply from 0 to {len(self)}", ply)
        first = int(self.policy_counts[:ply].sum())
        last = first + int(self.policy_counts[ply : ply + 1].sum())
        return self.policy_actions[first:last], self.probabilities[first:last], self.visits[first:last]

    def noted(self, name: str, is_right: Callable[[Any], bool] = is_count) -> Any:
        """An entry of the metadata that its reader cannot do without."""
        value = self.metadata.get(name)
        if not is_right(value):
            refuse(f"{name} in the metadata", "none" if value is None else shown(value))
        return value

    def first_position(self, game: Game) -> GameState:
        """The position that the game began from."""
        if self.start is None:
            return game.initial()
        try:
            return game.restored(self.start)
        except UserError as error:
            raise UserError(f"game record: {error}") from None

    def replay(self, game: Game) -> Iterator[tuple[GameState, int]]:
        """Every position with its ply, from the first to the one after the last move. What does not fit is an error at once."""
        states = self.positions(game)
        return ((state, ply) for ply, state in enumerate(states))

    def positions(self, game: Game) -> Array:
        """All positions [n + 1]. Moves, policies and outcome are checked on the way."""
        states = self._replayed(game)
        last = states[len(self)]
        if game.is_terminal(last):
            if self.outcome != game.utility(last) or self.ending:
                by_rules = f"the outcome {game.utility(last)} that the rules give"
                refuse(by_rules, f"{self.outcome}{f' ({self.ending})' if self.ending else ''}")
        elif self.ending == MAX_PLIES:
            expected, got = (game.rules.max_plies, game.utility(last, stopped=True)), (len(self), self.outcome)
            if got != expected:
                refuse(f"{expected[0]} plies and the outcome {expected[1]}", f"{got[0]} plies and {got[1]}")
        elif self.outcome is not None and not self.ending:
            refuse("a finished game, or the reason why it ended", f"{len(self)} plies that do not finish it")
        return states

    def _replayed(self, game: Game) -> Array:
        self.check(game)
        states = game.blanks(len(self) + 1)
        states[0] = self.first_position(game)
        scratch = np.zeros(game.rules.max_legal, np.int32), np.zeros(game.actions, np.int32)
        is_doubtful = (
            self.start is not None and "parse" in game.rules.derived
        )  # its rules were only tried out from there
        replay = game.kernel(replayer, checked=is_doubtful)
        try:
            ply, fault = replay(states, *scratch, self.moves, self._starts(), self.policy_actions)
        except (IndexError, ZeroDivisionError) as error:
            refuse("a first position that can be played from", error)
        if fault == OVER:
            raise UserError(f"ply {ply}: expected the game to be over here, got '{game.name_of(int(self.moves[ply]))}'")
        if fault == ILLEGAL:
            try:
                game.result(states[ply], int(self.moves[ply]))
            except UserError as error:
                raise UserError(f"ply {ply}: {error}") from None
        if fault == ILLEGAL_POLICY:
            names = " ".join(game.name_of(int(action)) for action in self.policy(ply)[0][:12])
            raise UserError(f"ply {ply}: expected a policy over legal actions, got one over {names}")
        return states

    def _starts(self) -> Array:
        """[n + 1]: where each ply's policy begins."""
        return np.concatenate([np.zeros(1, np.int64), np.cumsum(self.policy_counts, dtype=np.int64)])

    def check(self, game: Game) -> None:
        """Checks what needs no replay."""
        if (self.game, self.version) != (game.name, game.version):
            refuse(f"a game of {game.name} (version {game.version})", f"one of {self.game} (version {self.version})")
        for name in ("moves", "policy_actions"):
            ids = getattr(self, name)
            if len(ids) and not 0 <= ids.min() <= ids.max() < game.actions:
                refuse(f"{name} from 0 to {game.actions - 1}", f"{ids.min()} to {ids.max()}")
        if len(self) > game.rules.max_plies:
            refuse(f"at most {game.rules.max_plies} plies (max_plies)", len(self))
        self.first_position(game)
        for name, values in (("players", self.players), ("outcome", self.outcome)):
            if values and len(values) != game.players:
                refuse(f"{name}: {game.players} of them", len(values))

    def move_names(self, game: Game) -> str:
        """The line of a text file: names of actions, separated by spaces."""
        return " ".join(game.name_of(int(action)) for action in self.moves)

    # ── bytes ──

    def to_bytes(self) -> bytes:
        """Equal records give equal bytes."""
        arrays = {name: np.ravel(getattr(self, name)) for name in ARRAYS}
        if np.isnan(self.utilities).all():
            arrays["utilities"] = arrays["utilities"][:0]
        fields = {name: getattr(self, name) for name in FIELDS}
        start = None if self.start is None else self.start.hex()
        return encode(fields | {"start": start, "metadata": dict(self.metadata)}, arrays)

    @classmethod
    def from_bytes(cls, data: bytes, game: Game | None = None) -> GameRecord:
        """The inverse. With `game`, a record of another game or version is refused."""
        header, arrays = decode(data)
        n, utilities = len(arrays["moves"]), arrays["utilities"]
        if len(utilities) and (not n or len(utilities) % n):
            refuse(f"utilities for each of {n} plies", len(utilities))
        if len(utilities):
            arrays["utilities"] = utilities.reshape(n, -1)
        fields: dict[str, Any] = {name: header[name] for name in FIELDS} | arrays
        fields["players"] = tuple(header["players"])
        if header["outcome"] is not None:
            fields["outcome"] = tuple(map(float, header["outcome"]))
        if header["start"] is not None:
            try:
                fields["start"] = bytes.fromhex(header["start"])
            except ValueError:
                refuse("a first position in hexadecimal", repr(header["start"][:20]))
        record = cls(**fields)
        if game is not None:
            record.check(game)
        return record

    # ── checks ──

    def _width(self) -> int:
        """P, as far as it can be seen from the record alone."""
        return len(self.outcome or self.players or ()) or (self.utilities.shape[1] if self.utilities.ndim == 2 else 0)

    def _check_numbers(self) -> None:
        if self.seed is not None and not 0 <= self.seed < 1 << 64:
            refuse("a seed of 64 bits", self.seed)
        if self.outcome is not None and not all(-1 <= value <= 1 for value in self.outcome):
            refuse("an outcome in [-1, 1]", self.outcome)
        if len(self.policy_counts) and self.policy_counts.min() < 0:
            refuse("counts of policy entries from 0 on", int(self.policy_counts.min()))
        if len(self.visits) and self.visits.min() < 0:
            refuse("visits from 0 on", int(self.visits.min()))
        if (np.abs(self.utilities) > 1 + 1e-5).any():  # NaN is not
            refuse("utilities in [-1, 1]", float(np.nanmax(np.abs(self.utilities))))
        if len(self.probabilities) and not self.probabilities.min() >= 0:  # NaN is neither
            refuse("probabilities from 0 on", float(self.probabilities.min()))
        has_policy = self.policy_counts > 0
        if len(self.probabilities):
            counts = self.policy_counts[has_policy]
            sums = np.add.reduceat(self.probabilities, np.cumsum(counts) - counts, dtype=np.float64)
            off = np.abs(sums - 1)
            if not off.max() < 1e-3:
                refuse("probabilities that sum to 1", float(sums[off.argmax()]))
        if (self.searched > has_policy).any():
            refuse("a policy at every ply that was searched fully", "one without")


# ── making them ──


def make_record(
    game: Game,
    moves: Sequence[int],
    *,
    policies: Sequence[Mapping[int, float] | None] = (),
    visits: Sequence[Mapping[int, int] | None] = (),
    utilities: ArrayLike | None = None,
    searched: Sequence[bool] = (),
    outcome: Sequence[float] | None = None,
    ending: str = "",
    seed: int | None = None,
    players: Sequence[str] = (),
    start: GameState | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> GameRecord:
    """The record of a game, checked by replaying it.

    What is given per ply (policies, visits, utilities, searched) has one entry for each move; None stands for none. The outcome is
    the rules' own where the game is finished. A policy left out is the share of visits, and by default a position was searched
    fully if it has a policy.
    """
    n = len(moves)
    for name, given in (("policies", policies), ("visits", visits), ("searched", searched)):
        if len(given) not in (0, n):
            refuse(f"{name} for each of {n} plies", len(given))
    counts, actions, shares, numbers = np.zeros(n, np.int32), [], [], []
    for ply in range(n):
        seen = dict((visits[ply] if visits else None) or {})
        target = dict((policies[ply] if policies else None) or {})
        if not target and sum(seen.values()) > 0:
            target = {action: count / sum(seen.values()) for action, count in seen.items()}
        support = sorted(target.keys() | seen.keys())
        counts[ply] = len(support)
        actions += support
        shares += [target.get(action, 0.0) for action in support]
        numbers += [seen.get(action, 0) for action in support]
    first = None if start is None else _bytes_of(game, game.restored(_bytes_of(game, start)))
    record = GameRecord(
        game.name,
        game.version,
        np.array(moves, np.int32),
        None if outcome is None else tuple(map(float, outcome)),
        ending,
        seed,
        tuple(players) or ("",) * game.players,
        first,
        np.array(searched, np.uint8) if len(searched) else (counts > 0).astype(np.uint8),
        np.full((n, game.players), np.nan, np.float32) if utilities is None else np.array(utilities, np.float32),
        counts,
        np.array(actions, np.int32),
        np.array(shares, np.float32),
        np.array(numbers, np.int64),
        metadata or {},
    )
    last = record._replayed(game)[-1]
    if outcome is None and not ending and game.is_terminal(last):
        record = replace(record, outcome=game.utility(last))
    record.positions(game)
    return record


def prepare_records(game: Game) -> None:
    """Compile what makes and checks records, before workers start."""
    make_record(game, [], ending="broken off")


def _bytes_of(game: Game, state: GameState) -> bytes:
    """Equal positions give equal bytes: the padding between the fields of an aligned dtype is zero here."""
    position = game.blank()
    for name in game.rules.State.names or ():
        position[name] = state[name]
    return bytes(position.tobytes())


# ── reading them ──


def finished(records: Iterable[GameRecord]) -> Iterator[GameRecord]:
    """Those that can be learned from: they have moves and an outcome."""
    return (record for record in records if record.outcome is not None and len(record))


def read_records(path: StrPath, game: Game) -> Iterator[GameRecord]:
    """The records of a log, of a text file of move lists, of a `.pgn` or `.sgf`; of all these in a folder and below, by name."""
    from games.formats.pgn import read_pgn  # which read into records themselves
    from games.formats.sgf import read_sgf

    path = Path(path)
    if path.is_dir():
        for file in files_of(path, game):
            yield from read_records(file, game)
        return
    if path.suffix.lower() in (".pgn", ".sgf"):
        yield from (read_pgn if path.suffix.lower() == ".pgn" else read_sgf)(path, game)
        return
    if not path.exists():
        raise UserError(f"{path}: expected recorded games, found no such file or folder")
    with open(path, "rb") as head:
        is_log = head.read(len(LOG_MAGIC)) == LOG_MAGIC
    if not is_log:
        yield from _read_text(path, game)
        return
    for offset, payload in read_log(path):
        try:
            record = GameRecord.from_bytes(payload, game)
        except UserError as error:
            raise UserError(f"{path}: frame at {offset}: {error}") from None
        yield record


def files_of(path: StrPath, game: Game) -> list[Path]:
    """The files that `read_records` reads: those of a folder and below, by name, or the one itself."""
    from games.formats.pgn import CHESS
    from games.formats.sgf import is_go

    path = Path(path)
    if not path.is_dir():
        return [path]
    wanted = {".log", ".txt"} | ({".pgn"} if game.name == CHESS else {".sgf"} if is_go(game) else set())
    return sorted(file for file in path.rglob("*") if file.suffix.lower() in wanted and file.is_file())


def _read_text(path: Path, game: Game) -> Iterator[GameRecord]:
    with open(path, encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                yield record_of_names(game, line)
            except UserError as error:
                raise UserError(f"{path}:{number}: {error}") from None


def record_of_names(game: Game, line: str) -> GameRecord:
    """The record of a game given by the names of its actions; it need not be finished."""
    moves = []
    for ply, word in enumerate(line.split()):
        action = game.id_of(word)
        if action is None:
            raise UserError(
                f"ply {ply}: expected the name of an action of {game.name}, got '{short(word)}'{nearest(word, game.names)}"
            )
        moves.append(action)
    return make_record(game, moves)


# ── inside ──

FINE, OVER, ILLEGAL, ILLEGAL_POLICY = 0, 1, 2, 3


def replayer(rules: Rules) -> Callable[..., tuple[int, int]]:
    """Plays moves from states[0] and checks that they, and the policies over them, are legal.

    replay(states [n + 1], actions [max_legal], marks [actions], moves [n], starts [n + 1], supported [k]) -> (ply, fault).
    `marks` arrives all zeros.
    """
    legal_actions, result, is_terminal = rules.legal_actions, rules.result, rules.is_terminal

    def replay(
        states: GameStates, actions: Actions, marks: Actions, moves: Actions, starts: Counts, supported: Actions
    ) -> tuple[int, int]:
        for ply in range(len(moves)):
            if is_terminal(states[ply]):
                return ply, OVER
            for i in range(legal_actions(states[ply], actions)):
                marks[actions[i]] = ply + 1
            if marks[moves[ply]] != ply + 1:
                return ply, ILLEGAL
            for i in range(starts[ply], starts[ply + 1]):
                if marks[supported[i]] != ply + 1:
                    return ply, ILLEGAL_POLICY
            states[ply + 1] = states[ply]
            result(states[ply + 1], moves[ply])
        return len(moves), FINE

    return replay
