"""A fitted EVAL as a table that a person understands: beside the weights set by hand, and beside material alone.

found = study(game, rows, "runs/first")
print(found.text(game))
found.weights.save(path)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from classical.eval.fit import Fit, eval_of, expected, fit_rows
from classical.eval.measures import Judged, judge
from classical.eval.rows import Rows
from classical.eval.weights import Eval, default_eval
from games import Game

Array = np.ndarray[Any, Any]

HAND, FITTED, MATERIAL = "by hand", "fitted", "material alone"


@dataclass(frozen=True)
class Study:
    weights: Eval
    columns: dict[str, Eval]
    """What stands side by side."""
    judged: dict[str, Judged]
    """How good each is on the same positions, of games that it was not fitted to."""
    fits: dict[str, Fit]
    total: int
    """Games, equal ones counted each."""

    def text(self, game: Game) -> str:
        fitted, hand = self.weights, self.columns[HAND]
        told = {"loss": "cross-entropy", "sign": "share of the right sign", "brier": "Brier score"}
        form = {"loss": "{:.4f}", "sign": "{:.1%}", "brier": "{:.4f}"}
        measures = {
            words: [form[name].format(getattr(self.judged[column], name)) for column in self.columns]
            for name, words in told.items()
        }
        lines = [
            f"{game.name}: EVAL = tanh({fitted.unit:.4g} · w·f); by hand, tanh({hand.unit:g} · w·f)",
            f"{fitted.note}; {self.total:,} games, {fitted.games:,} different",
            "",
            table(game, self.columns, self.fits, measures),
            f"({self.judged[FITTED].n:,} positions, each judged by weights fitted to other games; ± is one standard error)",
        ]
        return "\n".join(lines)


def table(
    game: Game,
    columns: Mapping[str, Eval],
    fits: Mapping[str, Fit],
    below: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> str:
    """Weights side by side, a line for each feature; and further lines `below`, with a cell for each column."""
    names, unit = list(game.rules.feature_names), "".join(game.rules.material[:1])
    lines = {
        name: [_cell(each, fits.get(column), i, name, unit) for column, each in columns.items()]
        for i, name in enumerate(names)
    }
    wide = [max(map(len, cells)) for cells in zip(columns, *lines.values(), *below.values(), strict=True)]
    width = max(map(len, [*lines, *below]))

    def line(head: str, cells: Iterable[str]) -> str:
        aligned = (cell.rjust(most) for cell, most in zip(cells, wide, strict=True))
        return f"{head:{width}}   {'   '.join(aligned)}".rstrip()

    found = [line("", columns), *(line(*each) for each in lines.items())]
    if below:
        found += ["", *(line(*each) for each in below.items())]
    return "\n".join(found)


def beside_hand(game: Game, weights: Eval) -> str:
    """A fitted EVAL beside the one set by hand."""
    return table(game, {HAND: default_eval(game), FITTED: weights}, {})


def _cell(weights: Eval, fit: Fit | None, i: int, name: str, unit: str) -> str:
    if weights.errors is None:
        return f"{weights.weights[name]:.3f}"
    if fit is not None and not fit.chosen[i]:
        return ""
    if weights.errors[name] == 0 and name != unit:  # only of what never occurred is nothing learned
        return "never seen"
    return f"{weights.weights[name]:.3f} ± {weights.errors[name]:.3f}"


def study(game: Game, rows: Rows, source: str, total: int) -> Study:
    """Fits all features, and where the game names its material, that alone; judges both by turns: either half of the games with weights
    of the other half."""
    names = list(game.rules.feature_names)
    hand = default_eval(game)
    subsets: dict[str, list[int] | None] = {FITTED: None}
    if game.rules.material:
        subsets[MATERIAL] = [names.index(name) for name in game.rules.material]
    fits: dict[str, Fit] = {name: fit_rows(rows, only) for name, only in subsets.items()}
    columns = {HAND: hand} | {name: eval_of(game, fit, source) for name, fit in fits.items()}
    theta = hand.array(game).astype(np.float64)
    judged = {HAND: judge(expected(theta, rows), rows.outcomes)}
    for name, only in subsets.items():
        guesses = np.zeros(len(rows))
        for half in range(2):
            asked = rows.games % 2 == half
            if asked.any() and not asked.all():
                guesses[asked] = expected(fit_rows(rows.where(~asked), only).theta, rows.where(asked))
        judged[name] = judge(guesses, rows.outcomes)
    return Study(columns[FITTED], columns, judged, fits, total)
