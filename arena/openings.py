"""Openings of a match: distinct positions that are not yet decided, from a seed or from a file.

    plies=4           four random plies
    plies=2-6         two to six
    plies=4+          four; once all of those are used, five, and so on up to half a random game
    FILE              a line of moves each, or `position:` and the game's own notation; empty lines and lines with # are ignored
    FILE.pgn, .sgf    games of chess or go, each an opening of all its moves
    (nothing)         plies=K+ with the K that gives a thousand openings, at most a third of a random game; none (plies=0) where
                      information is hidden: what players notice of random plies would not be theirs

Two openings are the same if they lead to the same position or, where the game declares symmetries, to mirror images of one position.
In games of two players with zero sum and no dice, an opening is left out if alpha-beta proves a win within CHECK positions; where a
game has too many moves to reach two plies within them, if a move wins at once, as the pass that answers a pass in go. If nothing
else is found, as in small games without draws, decided openings are used: both sides play them. When there are no further ones, they
repeat from the first.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arena.choose import POSITION, state_of
from base.errors import UserError
from base.seeds import Rng, below, generator, uniform
from classical.alphabeta import AlphaBeta, AlphaBetaSettings
from games import CHANCE, Game
from games.record import read_records

PLENTY = 1000  # number of openings that the default provides
WALKS = 32  # random games from which that number is estimated
SUFFIXES = (".pgn", ".sgf")
TRIES = 300  # random openings in a row without a new one before the supply counts as exhausted
CHECK = 1000  # positions


@dataclass(frozen=True)
class Opening:
    """Actions from the start, or from a position in the game's notation."""

    actions: tuple[int, ...] = ()
    position: str | None = None

    def start(self, game: Game) -> Any:
        """The position before the actions."""
        return game.initial() if self.position is None else game.parse(self.position)

    def state(self, game: Game) -> Any:
        """The position after them."""
        state = self.start(game)
        for action in self.actions:
            state = game.result(state, action)
        return state


class Openings:
    """An endless iterable of openings. `text` is their resolved source; `notes` describes openings that were left out."""

    def __init__(self, game: Game, source: str = "", seed: int = 0) -> None:
        self.game, self.seed, self.notes = game, seed, ""
        self._found: list[Opening] = []
        self._decided: list[Opening] = []
        self._seen: set[bytes] = set()
        self._is_decided = decider(game)
        self._is_exhausted = False
        source = source or ("plies=0" if game.hides_information else f"plies={default_plies(game)}+")
        plies = re.fullmatch(r"plies=(\d+)(?:-(\d+)|(\+))?", source)
        self.text, self.is_random = source, plies is not None
        if plies is None:
            if source.startswith("plies="):
                raise UserError(f"openings: expected plies=K, plies=K-L, plies=K+ or a file, got {source}")
            self._read(Path(source))
        else:
            few, many = int(plies[1]), int(plies[2] or plies[1])
            if not few <= many < game.rules.max_plies:
                raise UserError(
                    f"openings: expected plies up to {game.rules.max_plies - 1}, the fewer first, got {source}"
                )
            self._plies = few, many
            self._most = max(few, int(mean_length(game) / 2)) if plies[3] else many
            self._rng = generator(seed, "openings")

    def __iter__(self) -> Iterator[Opening]:
        for number in itertools.count():  # each iteration starts from the first
            if number >= len(self._found) and not self._is_exhausted:
                self._is_exhausted = not self._find()
            if not self._found:
                self._found = self._take_decided()
            yield self._found[number % len(self._found)]

    @property
    def distinct(self) -> int | None:
        """The number of distinct openings, once it is known; None where games have no opening."""
        return len(self._found) if self._is_exhausted and self.text != "plies=0" else None

    def _find(self) -> bool:
        """Add one more opening; False where there is none."""
        known = -1
        while True:
            few, many = self._plies
            if len(self._seen) == known:
                if many == self._most:
                    return False
                self._plies = few, many = few + 1, many + 1
            known = len(self._seen)
            for _ in range(TRIES):
                actions = walk(self.game, self._rng, few + below(self._rng, many - few + 1))
                opening = Opening(tuple(actions))
                if self._add(opening, opening.state(self.game)):
                    return True

    def _take_decided(self) -> list[Opening]:
        if not self._decided:
            raise UserError(f"openings: expected unfinished positions of {self.game.name}, got none by {self.text}")
        self.notes = f"all {len(self._decided)} openings of {self.text} are already won for one side"
        return self._decided

    def _add(self, opening: Opening, state: Any) -> bool:
        if self.game.is_terminal(state):
            return False
        identity = canonical(self.game, state)
        if identity in self._seen:
            return False
        self._seen.add(identity)
        if self._is_decided(state):
            self._decided.append(opening)
            return False
        self._found.append(opening)
        return True

    def _read(self, path: Path) -> None:
        count = 0
        for opening in self._written(path):
            count += 1
            self._add(opening, opening.state(self.game))
        self._is_exhausted = True
        if not count:
            raise UserError(f"{path}: expected one opening per line, got none")
        if self._found and len(self._found) < count:
            self.notes = (
                f"{path}: left out {count - len(self._found)} of {count} openings: finished, already won, or repeated"
            )

    def _written(self, path: Path) -> Iterator[Opening]:
        """The openings in a file. A game of PGN or SGF is an opening of all its moves."""
        game = self.game
        if path.suffix.lower() in SUFFIXES:
            for record in read_records(path, game):
                position = None if record.start is None else game.text(record.first_position(game))
                yield Opening(tuple(record.moves.tolist()), position)
            return
        with open(path, encoding="utf-8", errors="replace") as file:
            for number, line in enumerate(file, 1):
                text = line.strip()
                if not text or text.startswith("#"):
                    continue
                try:
                    state_of(game, text)
                except UserError as error:
                    raise UserError(f"{path}:{number}: {error}") from None
                position = text.removeprefix(POSITION).strip() if text.startswith(POSITION) else None
                words = () if position is not None else text.split()
                yield Opening(tuple(game.id_of(word) for word in words), position)  # type: ignore[misc]


def walk(game: Game, rng: Rng, plies: int) -> list[int]:
    """Up to so many random actions from the start, fewer where the game ends."""
    state = game.initial()
    actions: list[int] = []
    while len(actions) < plies and not game.is_terminal(state):
        actions.append(random_action(game, state, rng))
        state = game.result(state, actions[-1])
    return actions


def random_action(game: Game, state: Any, rng: Rng) -> int:
    """A random action: uniform where a player moves, by its probability where chance does."""
    legal = game.legal_actions(state)
    if game.to_move(state) != CHANCE:
        return legal[below(rng, len(legal))]
    left = uniform(rng)
    for action in legal[:-1]:
        left -= game.chance(state, action)
        if left < 0:
            return action
    return legal[-1]


def mean_length(game: Game) -> float:
    """The mean number of plies of a random game."""
    return game.random_games(WALKS, 0)[1]


def default_plies(game: Game) -> int:
    """The fewest random plies that give PLENTY of openings, at most a third of a random game.

    The number of openings is Knuth's (1975) estimate: the mean product of the numbers of choices along random walks.
    """
    rng = generator(0, "plies of an opening")
    length = mean_length(game)
    states, products = [game.initial() for _ in range(WALKS)], [1.0] * WALKS
    for plies in range(1, max(2, int(length / 3))):
        for i, state in enumerate(states):
            if not game.is_terminal(state):
                products[i] *= len(game.legal_actions(state))
                states[i] = game.result(state, random_action(game, state, rng))
        if sum(products) >= PLENTY * WALKS * (1 + len(game.rules.symmetries)):
            return plies
    return max(1, min(int(length / 3), game.rules.max_plies - 1))


def canonical(game: Game, state: Any) -> bytes:
    """Equal for positions that are equal or mirror images: the least image of the mover's observation under the symmetries."""
    if game.hides_information:
        return bytes(state.tobytes())
    mover = game.to_move(state)
    viewer = mover if mover is not None and mover != CHANCE else 0
    planes = game.observe(state, viewer).ravel()
    images = [planes.tobytes(), *(planes[each.observation].tobytes() for each in game.rules.symmetries)]
    least: bytes = min(images)
    return bytes([viewer, mover == CHANCE]) + least


def decider(game: Game) -> Callable[[Any], bool]:
    """is_decided(state): whether a short search proves a win for one side."""
    rules = game.rules
    if game.hides_information or game.players != 2 or not rules.zero_sum or rules.chance is not None:
        return lambda state: False
    if rules.max_legal**2 > 4 * CHECK:
        return lambda state: _wins_at_once(game, state)
    search = AlphaBeta(game, AlphaBetaSettings(nodes=CHECK, tt_mb=1))
    search.prepare()

    def is_decided(state: Any) -> bool:
        search.new_game()
        choice = search.choose(state)
        return choice.proven and choice.value != 0

    return is_decided


def _wins_at_once(game: Game, state: Any) -> bool:
    mover = game.to_move(state)
    assert mover is not None  # the game is not over
    after = [game.result(state, action) for action in game.legal_actions(state)]
    return any(game.is_terminal(each) and game.utility(each)[mover] > 0 for each in after)
