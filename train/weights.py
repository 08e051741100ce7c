"""A fitted EVAL as a table that a person understands: beside the weights set by hand, and beside material alone.

found = study(game, rows, "runs/first")
print(found.text(game))
found.weights.save(path)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from classical.evaluation import Eval, default_eval
from games import Game
from train.linear import Fit, eval_of, expected, fit_rows
from train.measures import Judged, judge
from train.positions import Rows

Array = np.ndarray[Any, Any]

HAND, FITTED, MATERIAL = "by hand", "fitted", "material alone"


@dataclass(frozen=True)
class Study:
    weights: Eval
    columns: dict[str, Eval]
    """What stands side by side."""
    judged: dict[str, Judged]
    """How good each is on the same positions, of games that it was not fitted to."""
    seen: dict[str, Array]
    """[F]: which features occurred."""
    total: int
    """Games, equal ones counted each."""

    def text(self, game: Game) -> str:
        names = list(game.rules.feature_names)
        width = max(len("share of the right sign"), *map(len, names))
        heads = {name: (10 if name == HAND else 18) for name in self.columns}
        header = f"{'':{width}}" + "".join(f"  {name:>{wide}}" for name, wide in heads.items())
        fitted = self.weights
        lines = [f"{game.name}: EVAL = tanh({fitted.unit:.4g} · w·f); by hand, tanh({self.columns[HAND].unit:g} · w·f)"]
        lines.append(f"{fitted.note}; {self.total:,} games, {fitted.games:,} different")
        lines += ["", header]
        for i, name in enumerate(names):
            cells = [self._cell(column, i, name).rjust(wide) for column, wide in heads.items()]
            lines.append(f"{name:{width}}  " + "  ".join(cells))
        lines += ["", header]
        measures = {"loss": "{:.4f}", "sign": "{:.1%}", "brier": "{:.4f}"}
        told = {"loss": "cross-entropy", "sign": "share of the right sign", "brier": "Brier score"}
        for measure, form in measures.items():
            cells = [form.format(getattr(self.judged[column], measure)).rjust(wide) for column, wide in heads.items()]
            lines.append(f"{told[measure]:{width}}  " + "  ".join(cells))
        lines.append(
            f"({self.judged[FITTED].n:,} positions, each judged by weights fitted to other games; ± is one standard error)"
        )
        return "\n".join(lines)

    def _cell(self, column: str, i: int, name: str) -> str:
        weights = self.columns[column]
        if weights.errors is None:
            return f"{weights.weights[name]:.3f}"
        if not self.seen[column][i]:
            return "never seen" if column == FITTED else ""
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
    return Study(columns[FITTED], columns, judged, {name: fit.seen for name, fit in fits.items()}, total)
