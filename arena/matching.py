"""`python -m arena match`: its options, its progress bar, its report."""

from __future__ import annotations

import argparse
import json
import sys
import time
from contextlib import ExitStack

from tqdm import tqdm

from arena.match import Match
from arena.results import Results
from arena.statistics import Sprt
from arena.tally import Tally
from base.errors import INTERRUPTED, UserError
from base.local_workers import cores
from base.options import Options, split
from games import load

GLANCE = 1.0  # seconds between looks at the score so far


def add_match(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument("game", metavar="GAME")
    parser.add_argument("a", metavar="A", help="a player, as in alphabeta:depth=6")
    parser.add_argument("b", metavar="B", help="the other one")
    parser.add_argument("--games", type=int, default=200, metavar="N", help="at most; rounded up to whole pairs")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="of openings, dice and players")
    parser.add_argument(
        "--openings",
        metavar="FILE|plies=K",
        help="lines of moves; or random plies: plies=4, plies=2-6, plies=4+ (more when there are no others); default: as fits",
    )
    parser.add_argument(
        "--sprt", metavar="elo0=0,elo1=50,alpha=0.05,beta=0.05", help="stop as soon as this test is decided"
    )
    parser.add_argument("--records", metavar="DIR", help="keep every game there")
    parser.add_argument("--resume", action="store_true", help="go on with the match in DIR")
    parser.add_argument("--json", action="store_true", help="one line of JSON at the end")
    parser.add_argument("--workers", type=int, default=cores(), metavar="N", help="processes; 0: this one alone")


def run_match(options: argparse.Namespace) -> int:
    for name, least in (("games", 1), ("workers", 0)):
        if getattr(options, name) < least:
            raise UserError(f"{name}: expected {least} or more, got {getattr(options, name)}")
    if options.resume and not options.records:
        raise UserError("--resume: expected --records DIR, the match to go on with")
    game = load(options.game)
    sprt = sprt_of(options.sprt)
    if sprt is not None and game.players != 2:
        raise UserError(f"--sprt: expected a game of two players, got {game.name} ({game.players} players)")
    match = Match(game, options.a, options.b, options.seed, options.openings or "")
    size = match.block_size
    blocks = -(-options.games // size)
    if blocks * size != options.games:
        tell(f"games: {options.games} is rounded up to {blocks * size}, so that every opening is played from all sides")
    with ExitStack() as stack:
        results = None
        if options.records:
            found = Results(options.records, match.settings, game, size, options.resume, report=tell)
            results = stack.enter_context(found)
        bar = stack.enter_context(tqdm(total=blocks * size, unit=" games", disable=None, smoothing=0.1))
        tally = match.play(blocks, options.workers, results, sprt, Watch(bar))
    report(match, tally, sprt, options.json)
    return INTERRUPTED if match.is_interrupted else 0


class Watch:
    """Moves the bar on, and shows the score from time to time."""

    def __init__(self, bar: tqdm[None]) -> None:
        self.bar, self.next = bar, time.monotonic() + GLANCE

    def __call__(self, tally: Tally, games: int) -> None:
        self.bar.update(games)
        if not self.bar.disable and time.monotonic() > self.next:
            self.bar.set_postfix_str(tally.brief())
            self.next = time.monotonic() + GLANCE


def report(match: Match, tally: Tally, sprt: Sprt | None, as_json: bool) -> None:
    """What it came to."""
    if match.openings.notes:
        tell(match.openings.notes)
    repeated = match.openings.distinct
    if repeated is not None and repeated * match.block_size < tally.games:
        tell(f"openings: {match.openings.text} gives {repeated} different ones; they were played again")
    if match.is_interrupted:
        tell(f"interrupted after {tally.games} games")
    low, high = sprt.bounds if sprt is not None else (0.0, 0.0)
    ratio = float(sprt.ratio(tally.counts)) if sprt is not None and tally.pairs else 0.0
    if as_json:
        found = tally.as_json()
        if sprt is not None:
            found["sprt"] = {
                "verdict": match.verdict,
                "llr": round(ratio, 6),
                "bounds": [round(low, 6), round(high, 6)],
            }
        print(json.dumps(found))
        return
    print(tally.text())
    if sprt is not None:
        elos = {"H0": (sprt.elo0, sprt.elo1), "H1": (sprt.elo1, sprt.elo0)}.get(match.verdict or "")
        verdict = f"{match.verdict} accepted, Elo {elos[0]:g} rather than {elos[1]:g}" if elos else "not decided"
        print(f"SPRT       {verdict} (log-likelihood ratio {ratio:+.2f} in [{low:.2f}, {high:.2f}])")


def sprt_of(text: str | None) -> Sprt | None:
    """`elo0=0,elo1=50,alpha=0.05,beta=0.05`; what is left out is as here."""
    if text is None:
        return None
    options = Options("sprt", Sprt)
    return Sprt(**options.resolve(split(f"sprt:{text}")[1]))


def tell(text: str) -> None:
    """Aside from the report."""
    print(text, file=sys.stderr)
