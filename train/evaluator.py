"""Evaluates each checkpoint once, whatever kills the run meanwhile.

    evaluator = Evaluator(run, game, log, evaluate)
    found, is_new = evaluator.evaluate(games)       # the checkpoint after so many games

What the arena measured is stored in runs/NAME/eval. Where it is there already, only what a kill prevented is made up for: strength on
the checkpoint's card, the metrics.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path

from base.errors import UserError
from base.files import write_json
from base.seeds import derive
from checkpoints import Elo, read_card, write_card
from games import Game
from monitor.log import RunLog
from train.evaluation import EXPLOITABILITY, Evaluate, Evaluation, read_evaluation
from train.run import Run


class Evaluator:
    def __init__(self, run: Run, game: Game, log: RunLog, evaluate: Evaluate) -> None:
        self.run, self.game, self.log, self._evaluate = run, game, log, evaluate

    def evaluate(self, games: int) -> tuple[Evaluation, bool]:
        """What was measured, and whether that was just now."""
        path, checkpoint = self.run.evaluation(games), self.run.checkpoint(games)
        if path.exists():
            with suppress(UserError, TypeError):
                found = read_evaluation(path)
                note_strength(checkpoint, found)  # perhaps it was killed before, or the checkpoint written again
                return found, False
        found = self._evaluate(self.game, checkpoint, derive(self.run.config.seed, "evaluation", games), self.log)
        write_json(path, asdict(found))
        note_strength(checkpoint, found)
        return found, True


def note_strength(checkpoint: Path, found: Evaluation) -> None:
    """On the checkpoint's card: Elo and exploitability, as far as they were measured."""
    card = read_card(checkpoint)
    elo = Elo(*found.elo) if found.elo else card.elo
    noted = replace(card, elo=elo, exploitability=found.metrics.get(EXPLOITABILITY, card.exploitability))
    if noted != card:
        write_card(checkpoint, noted)
