"""The linear EVAL: a position's value as a weighted sum of the game's named features. In dependency order:

weights    weights, their file, and the compiled evaluation that searches call
rows       finished games as rows of features
fit        weights fitted to how games ended, with standard errors
measures   how well expected utilities match outcomes
table      weights side by side as text

>>> from games import load
>>> from games.record import make_record
>>> game = load("tic_tac_toe")
>>> records = [make_record(game, moves) for moves in ([4, 0, 2, 8, 6], [0, 4, 8, 2, 1, 6])]
>>> rows = positions(game, game_arrays(game, records))      # every position, replayed in compiled code
>>> fit = fit_rows(rows.quiet())                            # those like the leaves of a search, where EVAL is used
>>> weights = eval_of(game, fit, "two games")               # to be saved, loaded, played with: alphabeta:eval=FILE
>>> print(beside_hand(game, weights))
             by hand           fitted
lone marks     0.200    0.161 ± 0.598
open twos      2.000    0.763 ± 0.398
centre         0.000    2.243 ± 0.886
corners        0.500   -1.471 ± 0.845
edges          0.100       never seen
forks          1.000    0.006 ± 0.292
to move        2.000    0.133 ± 1.291
>>> found = judge(expected(fit.theta, rows), rows.outcomes)
>>> found.n, round(found.sign, 2)
(11, 0.91)
"""

from classical.eval.fit import Fit, eval_of, expected, fit_rows
from classical.eval.measures import Judged, judge
from classical.eval.rows import GameArrays, Rows, game_arrays, positions
from classical.eval.table import beside_hand, study
from classical.eval.weights import (
    FITTED,
    INSIDE,
    LARGEST,
    Eval,
    Weights,
    default_eval,
    evaluator,
    file_text,
    scratch,
    shipped,
)

__all__ = [
    "FITTED",
    "INSIDE",
    "LARGEST",
    "Eval",
    "Fit",
    "GameArrays",
    "Judged",
    "Rows",
    "Weights",
    "beside_hand",
    "default_eval",
    "eval_of",
    "evaluator",
    "expected",
    "file_text",
    "fit_rows",
    "game_arrays",
    "judge",
    "positions",
    "scratch",
    "shipped",
    "study",
]
