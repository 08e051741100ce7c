"""Examines a game the way a careful colleague would: `python -m games doctor ./my_game.py`.

Plays random games in three ways (interpreted, compiled, compiled with checks), keeps the positions, and holds the game to the laws of
`laws.py`. What it finds is a `Finding`: the law, the function to look at, what was seen, and the position with the actions that
lead there. The conformance tests of the project are this same examination, over every game in the folder.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable

from base.errors import UserError
from base.threads import Overtime, within
from games.engine.game import Game
from games.engine.laws import LAWS, seen_of
from games.engine.patient import SECONDS, Finding, Patient, name_of
from games.engine.trial import place_of

PATIENCE_PER_LAW = 600.0  # seconds


def examine(
    game: Game,
    games: int = 1000,
    seed: int = 1,
    seconds: float = SECONDS,
    say: Callable[[str], None] = lambda line: None,
) -> list[Finding]:
    """All laws over `games` random games, interpreted for `seconds` of them; `say` hears, law by law, how it went."""
    if games < 1:
        raise UserError(f"games: expected at least 1, got {games}")
    patient = Patient(game, games, seed, seconds)
    findings: list[Finding] = []
    for law in LAWS:
        start = time.perf_counter()
        try:
            finding, count = within(PATIENCE_PER_LAW, functools.partial(law, patient))
        except Overtime as error:
            finding, count = patient.finding(name_of(law), place_of(error), seen_of(error)), ""
        about = ", ".join(filter(None, [count, f"{time.perf_counter() - start:.1f} s"]))
        say(f"{'FAILS' if finding else 'holds'}  {name_of(law)} ({about})")
        if finding:
            findings.append(finding)
            if law in LAWS[:3]:  # rules that can't be played have no further properties
                say("(the other laws need a game that can be played)")
                break
    return findings
