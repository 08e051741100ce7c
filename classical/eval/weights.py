"""Weights of the linear EVAL, their file, and its compiled computation.

    EVAL(s, p) = 0.999 · tanh(unit · w·f(s, p))                       strictly between a loss and a win

Features of two players are antisymmetric, so EVAL is too: EVAL(s, 0) = -EVAL(s, 1), to the last bit. Compiled searches close over
`evaluator(rules)` and take weights as an argument: one compiled search serves all weights. The weighted sum of features is Shannon's,
"Programming a Computer for Playing Chess" (1950).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from base.errors import UserError, nearest
from base.files import StrPath, read_json, write_json
from base.json_values import is_count, is_name, is_number, is_text, is_whole, shown
from games import Game, Rules
from games.types import Features, GameState, Integer

SHIPPED = Path(__file__).parent / "fitted"
"""Weights fitted to games, which come with the program: a file for each game that has some."""
FITTED = "fitted"
"""What stands for the file of these weights in a player's text."""

INSIDE = 0.999  # the largest size of EVAL; a win is 1
LARGEST = 1e6  # of unit · weight, so that float32 sums stay finite
MOST_GAMES = 10**15  # a larger number of games is a typing error

Weights = NDArray[np.float32]  # [features]: weights times unit


Evaluate = Callable[[GameState, Integer, Weights, Features], float]


def evaluator(rules: Rules) -> Evaluate:
    """evaluate(state, player, weights, values) -> EVAL from the point of view of `player`, for kernels.

    `weights` from `Eval.array`, `values` from `scratch`. The game must not be finished.
    """
    if rules.features is None:

        def zero(state: GameState, player: Integer, weights: Weights, values: Features) -> float:
            return 0.0

        return zero
    features = rules.features

    def evaluate(state: GameState, player: Integer, weights: Weights, values: Features) -> float:
        values[:] = 0
        features(state, player, values)
        total = 0.0
        for i in range(len(weights)):
            total += np.float64(weights[i]) * np.float64(
                values[i]
            )  # exact products, so that EVAL is antisymmetric to the last bit
        return INSIDE * math.tanh(total)

    return evaluate


def _evaluator(rules: Rules) -> Evaluate:
    """The same, compiled as an entry point for Python."""
    return evaluator(rules)


def scratch(rules: Rules) -> Features:
    """Scratch space for the features that `evaluate` writes."""
    return np.zeros(max(1, len(rules.feature_names)), np.float32)


@dataclass(frozen=True)
class Eval:
    """Weights of a game's features, and their origin."""

    game: str
    """The game's resolved name: `othello:size=8`."""
    version: int
    """The game's version."""
    weights: Mapping[str, float]
    """By the feature's name, in the game's own unit. A feature without a weight counts nothing."""
    unit: float = 1.0
    """The value of one such unit: EVAL = tanh(unit · w·f)."""
    note: str = ""
    """The origin of the weights, as text."""
    errors: Mapping[str, float] | None = None
    """Standard errors of fitted weights."""
    games: int | None = None
    """Number of games of the fit."""

    def __post_init__(self) -> None:
        if not is_name(self.game):
            raise UserError(f"game: expected a game's name, got {shown(self.game)}")
        if not is_whole(self.version):
            raise UserError(f"version: expected a whole number, got {shown(self.version)}")
        if not is_number(self.unit) or not 0 < self.unit <= LARGEST:
            raise UserError(f"unit: expected a number above 0, up to {LARGEST:g}, got {shown(self.unit)}")
        if not is_text(self.note):
            raise UserError(f"note: expected text, got {shown(self.note)}")
        if self.games is not None and not (is_count(self.games) and self.games <= MOST_GAMES):
            raise UserError(f"games: expected a whole number of at least 0, got {shown(self.games)}")
        self._check_numbers("weights", self.weights, least=-math.inf)
        for name, weight in self.weights.items():
            if abs(weight) * self.unit > LARGEST:
                raise UserError(
                    f"weights: expected at most {LARGEST:g} in size times the unit, got {weight:g} for {name!r}"
                )
        if self.errors is not None:
            self._check_numbers("standard_errors", self.errors, least=0)
            self._check_names("standard_errors", self.errors, self.weights)

    @staticmethod
    def _check_numbers(what: str, numbers: Any, least: float) -> None:
        if not isinstance(numbers, Mapping) or not all(isinstance(name, str) for name in numbers):
            raise UserError(f"{what}: expected a number for each feature, by name, got {shown(numbers)}")
        for name, number in numbers.items():
            if not is_number(number) or number < least:
                kind = "a finite number" if least < 0 else f"a number not below {least:g}"
                raise UserError(f"{what}: expected {kind} for {name!r}, got {shown(number)}")

    @staticmethod
    def _check_names(what: str, given: Mapping[str, float], expected: Mapping[str, float] | tuple[str, ...]) -> None:
        unknown = [name for name in given if name not in expected]
        missing = [name for name in expected if name not in given]
        if unknown:
            near = nearest(unknown[0], missing or expected) if expected else "; the game has none"
            raise UserError(f"{what}: unknown feature {unknown[0]!r}{near}")
        if missing:
            raise UserError(f"{what}: expected a number for each feature, got none for {missing[0]!r}")

    # ── use ──

    def check(self, game: Game) -> None:
        """Refuse another game or version."""
        if (self.game, self.version) != (game.name, game.version):
            raise UserError(
                f"expected weights for {game.name} (version {game.version}), got some for {self.game} (version {self.version})"
            )
        known = tuple(game.rules.feature_names)
        missing = [name for name in known if name not in self.weights]
        for name in self.weights:
            if name not in known:
                near = nearest(name, missing or known) if known else "; the game has none"
                raise UserError(f"weights: unknown feature {name!r}{near}")

    def array(self, game: Game) -> Weights:
        """Weights times unit in the order of the game's features, for kernels."""
        self.check(game)  # a feature that is not named weighs nothing
        return np.array([self.weights.get(name, 0.0) * self.unit for name in game.rules.feature_names], np.float32)

    def value(self, game: Game, state: GameState, player: int) -> float:
        """EVAL of an unfinished position: the expected utility of `player`."""
        if not 0 <= player < game.players:
            raise UserError(f"player: expected 0 to {game.players - 1}, got {player}")
        return float(game.kernel(_evaluator)(state, player, self.array(game), scratch(game.rules)))

    def contributions(self, game: Game, state: GameState, player: int) -> list[tuple[str, float, float, float]]:
        """Of each feature its name, its value from that player's side, its weight, and their product."""
        values = game.features(state, player)
        return [
            (name, value, self.weights.get(name, 0.0), self.weights.get(name, 0.0) * value + 0.0)
            for name, value in values.items()
        ]

    def __str__(self) -> str:
        width = max(map(len, self.weights), default=0)
        lines = [f"{self.game}, version {self.version}: EVAL = tanh({self.unit:g} · w·f)"]
        for name, weight in self.weights.items():
            error = f" ± {self.errors[name]:.3f}" if self.errors is not None else ""
            lines.append(f"  {name:<{width}}  {weight:>9.3f}{error}")
        origin = [self.note] if self.note else []
        if self.games is not None:
            origin.append(f"fitted on {self.games:,} games")
        return "\n".join([*lines, *origin])

    # ── files ──

    def save(self, path: StrPath) -> None:
        """Write `*.eval.json`, durably."""
        data: dict[str, Any] = {"game": self.game, "version": self.version, "unit": self.unit, "note": self.note}
        if self.games is not None:
            data["games"] = self.games
        data["weights"] = dict(self.weights)
        if self.errors is not None:
            data["standard_errors"] = dict(self.errors)
        write_json(path, data)

    @classmethod
    def load(cls, path: StrPath, game: Game | None = None) -> Eval:
        """A file written by `save` or by hand; with `game`, it must be for that game."""
        data = read_json(path)
        try:
            if not isinstance(data, dict):
                raise UserError(f"expected an object with {', '.join(_KEYS)}, got {shown(data)}")
            unknown = [key for key in data if key not in _KEYS]
            if unknown:
                raise UserError(f"unknown key {unknown[0]!r}: expected {', '.join(_KEYS)}{nearest(unknown[0], _KEYS)}")
            missing = [key for key in ("game", "version", "weights") if key not in data]
            if missing:
                raise UserError(f"expected a '{missing[0]}', got {shown(list(data))}")
            found = cls(**{_KEYS[key]: value for key, value in data.items()})
            if game is not None:
                found.check(game)
        except UserError as error:
            raise UserError(f"{path}: {error}") from None
        return found


_KEYS = {key: key for key in ("game", "version", "unit", "note", "games", "weights")} | {"standard_errors": "errors"}


def shipped(game: Game) -> Path:
    """The file of the fitted weights that come with the program."""
    files = {str(read_json(path)["game"]): path for path in sorted(SHIPPED.glob("*.eval.json"))}
    if game.name not in files:
        raise UserError(f"eval={FITTED}: expected one of {', '.join(files)}, got {game.name}")
    return files[game.name]


def file_text(path: str) -> str:
    """What names a file in a player's text: `fitted` for one of these, else its path."""
    return FITTED if Path(path).parent == SHIPPED else path


def default_eval(game: Game) -> Eval:
    """The weights of the game's file; all zero where it has none."""
    names, weights = game.rules.feature_names, game.rules.feature_weights
    by_name = {name: float(weight) for name, weight in zip(names, weights or [0.0] * len(names), strict=True)}
    note = "set by hand in the game's file" if weights else "no weights in the game's file"
    return Eval(game.name, game.version, by_name, float(game.rules.weight_unit), note)
