"""A fitted EVAL as a table: beside the weights set by hand, and beside those of material alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from classical.eval.fit import Fit, eval_of, expected, fit_rows
from classical.eval.measures import Judged, judge
from classical.eval.rows import Rows
from classical.eval.weights import Eval, default_eval
from games import Game

HAND, FITTED, MATERIAL = "by hand", "fitted", "material alone"


@dataclass(frozen=True)
class Study:
    weights: Eval
    columns: dict[str, Eval]
    """The columns of the table."""
    judged: dict[str, Judged]
    """The quality of each on the same positions, of games that it was not fitted to."""
    fits: dict[str, Fit]
    total: int
    """Number of games, repeated ones included."""

    def text(self, game: Game) -> str:
        fitted, hand = self.weights, self.columns[HAND]
        names = {"loss": "cross-entropy", "sign": "share of the right sign", "brier": "Brier score"}
        form = {"loss": "{:.4f}", "sign": "{:.1%}", "brier": "{:.4f}"}
        measures = {
            words: [form[name].format(getattr(self.judged[column], name)) for column in self.columns]
            for name, words in names.items()
        }
        lines = [
            f"{game.name}: EVAL = tanh({fitted.unit:.4g} · w·f); by hand, tanh({hand.unit:g} · w·f)",
            f"{fitted.note}; {self.total:,} games, {fitted.games:,} different",
            "",
            table(game, self.columns, self.fits, measures),
            f"({self.judged[FITTED].n:,} positions, each evaluated with weights fitted to other games; ± is one standard error)",
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
    if weights.errors[name] == 0 and name != unit:  # only a feature that never occurred has no error
        return "never seen"
    return f"{weights.weights[name]:.3f} ± {weights.errors[name]:.3f}"


def study(game: Game, rows: Rows, source: str, total: int) -> Study:
    """Fit all features and, if the game names its material, that alone. Both are cross-validated: each half of the games is evaluated
    with weights fitted to the other half."""
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
            held_out = rows.games % 2 == half
            if held_out.any() and not held_out.all():
                guesses[held_out] = expected(fit_rows(rows.where(~held_out), only).theta, rows.where(held_out))
        judged[name] = judge(guesses, rows.outcomes)
    return Study(columns[FITTED], columns, judged, fits, total)
