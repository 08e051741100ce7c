"""Has each checkpoint measured once and shown once, whatever kills the run meanwhile.

    examiner = Examiner(run, game, log, evaluate, gallery)
    examiner.examine(games, View(...))              # the checkpoint after so many games
    examiner.last.line                              # what was measured of the newest one

What the arena measured stands in runs/NAME/eval; where it is there already, only what a kill has left undone is made up for: Elo on
the checkpoint's card, the curves.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path

from base.errors import UserError
from base.files import read_json, write_json
from base.seeds import derive
from checkpoints import Elo, read_card, write_card
from games import Game
from train.evaluation import Evaluate, Evaluation
from train.gallery import Gallery, View
from train.log import RunLog
from train.run import Run


class Examiner:
    def __init__(self, run: Run, game: Game, log: RunLog, evaluate: Evaluate | None, gallery: Gallery | None) -> None:
        """Without `evaluate` nothing is measured, without `gallery` nothing shown."""
        self.run, self.game, self.log, self.evaluate, self.gallery = run, game, log, evaluate, gallery
        self.last: Evaluation | None = None
        self._shown = 0  # the games after which the gallery was last shown

    def examine(self, games: int, view: View) -> None:
        if self.evaluate is not None:
            self._measure(games, self.evaluate)
        if self.gallery is not None and self._shown != games:
            self._shown = games
            self._show(games, self.gallery, view)

    def _measure(self, games: int, evaluate: Evaluate) -> None:
        path, checkpoint = self.run.evaluation(games), self.run.checkpoint(games)
        if path.exists():
            with suppress(UserError, TypeError):
                self.last = Evaluation(**read_json(path))
                note_elo(checkpoint, self.last.elo)  # perhaps it was killed before, or the checkpoint written again
                if not all(self.log.history.has(games, name) for name in self.last.curves):
                    self.log.curves(games, self.last.curves)
                return
        self.last = evaluate(self.game, checkpoint, derive(self.run.config.seed, "evaluation", games), self.log)
        write_json(path, asdict(self.last))
        note_elo(checkpoint, self.last.elo)
        self.log.say(f"{games:>7} games: {self.last.line}")
        self.log.curves(games, self.last.curves)

    def _show(self, games: int, gallery: Gallery, view: View) -> None:
        """What cannot be drawn is said; no run ends for that."""
        try:
            exhibits = gallery.exhibits(view)
        except Exception as error:  # of a game of somebody's own, perhaps, which was never drawn before
            self.log.say(f"no pictures after {games} games: {type(error).__name__}: {error}")
        else:
            self.log.show(games, exhibits)


def note_elo(checkpoint: Path, found: Sequence[float]) -> None:
    """On the checkpoint's card: value, low, high."""
    card = read_card(checkpoint)
    if found and card.elo != (elo := Elo(*found)):
        write_card(checkpoint, replace(card, elo=elo))
