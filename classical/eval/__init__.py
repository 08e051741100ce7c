"""The linear EVAL: a position's value as a weighted sum of the game's named features. In dependency order:

weights    weights, their file, and the compiled evaluation that searches call
rows       finished games as rows of features
fit        weights fitted to how games ended, with standard errors
measures   how well expected utilities match outcomes
table      weights side by side as text
"""

from classical.eval.fit import Fit, eval_of, expected, fit_rows
from classical.eval.measures import Judged, judge
from classical.eval.rows import GameArrays, Rows, game_arrays, positions
from classical.eval.table import beside_hand, study
from classical.eval.weights import INSIDE, LARGEST, Eval, Weights, default_eval, evaluator, scratch

__all__ = [
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
    "fit_rows",
    "game_arrays",
    "judge",
    "positions",
    "scratch",
    "study",
]
