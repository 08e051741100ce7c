"""Examines the rules of a game: `python -m games doctor ./my_game.py`.

Plays random games in three ways (interpreted, compiled, compiled with checks), keeps their positions, and checks the laws of `laws.py`.
What it finds is a `Finding`: the law, the function to look at, what was seen, and the position with the actions that lead there. The
conformance tests of the project are this same examination, for every game in the folder.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable

from base.errors import UserError
from base.threads import Overtime, within
from games.engine.game import Game
from games.engine.game_under_test import SECONDS, Finding, GameUnderTest
from games.engine.laws import LAWS
from games.engine.quick_laws import Breach
from games.engine.trial import place_of, seen_of

PATIENCE_PER_LAW = 600.0  # seconds


def examine(
    game: Game,
    count: int = 1000,
    seed: int = 1,
    seconds: float = SECONDS,
    report: Callable[[str], None] = lambda line: None,
) -> list[Finding]:
    """Checks all laws with `count` random games, interpreted for `seconds` of them. `report` gets a line for each law."""
    if count < 1:
        raise UserError(f"games: expected at least 1, got {count}")
    test = GameUnderTest(game, count, seed, seconds)
    findings: list[Finding] = []
    for law in LAWS:
        start, breach = time.perf_counter(), None
        try:
            checked = within(PATIENCE_PER_LAW, functools.partial(law.check, test))
        except Breach as error:
            breach, checked = error, error.checked
        except Overtime as error:
            breach, checked = Breach(place_of(error), seen_of(error)), ""
        about = ", ".join(filter(None, [checked, f"{time.perf_counter() - start:.1f} s"]))
        report(f"{'FAILS' if breach else 'holds'}  {law.sentence} ({about})")
        if breach:
            findings.append(test.finding(law.sentence, breach))
            if law.is_required:
                report("(the other laws need a game that can be played)")
                break
    return findings
