"""`python -m arena accuracy GAME PLAYER`: draws the sample, asks the player, reports (arena/sample.py, arena/accuracy.py)."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from contextlib import contextmanager

from tqdm import tqdm

from arena.accuracy import Accuracy, Share, asked, summary
from arena.oracle import Progress, read_positions
from arena.players import files_of, make_player
from arena.sample import make_sample
from base.errors import UserError
from base.local_workers import cores, run_jobs
from games import load


def add_accuracy(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("game", metavar="GAME")
    parser.add_argument("player", metavar="PLAYER", help="who is measured, as in uct:sims=1000")
    parser.add_argument(
        "--positions", metavar="FILE", help="a position per line, as `choose` reads them, instead of a sample"
    )
    parser.add_argument("--sample", type=int, default=500, metavar="N", help="positions to draw")
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="of the sample")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    parser.add_argument("--workers", type=int, default=cores(), metavar="N", help="processes; 0: this one alone")


def run_accuracy(options: argparse.Namespace) -> int:
    """`python -m arena accuracy`."""
    if options.workers < 0:
        raise UserError(f"workers: expected 0 or more, got {options.workers}")
    game = load(options.game)
    player = make_player(options.player, game)  # says what is wrong with it, and compiles before the workers start
    with _bar("solving") as progress:
        if options.positions is not None:
            sample = read_positions(game, options.positions, options.workers, progress)
        else:
            sample = make_sample(game, options.sample, options.seed, options.workers, progress)
    if not sample.positions:
        raise UserError(
            f"{options.positions}: expected positions that the solver can do, got {sample.unsolved} too hard"
        )
    answers = []
    with _bar(options.player) as progress:
        jobs, sent = [(game.spec, player.text, solved.line) for solved in sample.positions], files_of(game, player.text)
        for _, answer in run_jobs(asked, jobs, options.workers, initializer=sent.unpack, ordered=True):
            answers.append(answer)
            progress(len(answers), len(jobs))
    found = summary(game, player.text, sample.positions, answers)
    if options.json:
        left_out = {"unsolved": sample.unsolved, "missing": sample.missing}
        print(json.dumps(found.as_json() | left_out, ensure_ascii=False))
    else:
        print(report(found, options.player, sample.unsolved, sample.missing))
    return 0


@contextmanager
def _bar(what: str) -> Iterator[Progress]:
    """Progress on a terminal; silent elsewhere."""
    with tqdm(desc=what, unit="position", disable=None, leave=False) as bar:

        def progress(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        yield progress


def report(found: Accuracy, who: str, unsolved: int, missing: int) -> str:
    """A page about it."""
    rows = [("keeps the value", found.kept)]
    rows += [(f"  {name} of the game", each) for name, each in found.by_stage.items()]
    rows += [(f"  in a {name}", each) for name, each in found.by_value.items()]
    rows += [(f"  from games of {name}", each) for name, each in found.by_source.items() if name != "file"]
    rows += [("and is quickest", found.quickest or Share(0, 0)), ("value of the right sign", found.sign)]
    lines = [f"{found.game}: {who}", f"{found.brier.of} positions, {1000 * found.seconds:.1f} ms a move", ""]
    lines += [f"{name:<32}{_words(each)}" for name, each in rows]
    low, high = found.brier.interval
    lines += [f"{'Brier score':32}{found.brier.mean:.4f}  [{low:.4f}, {high:.4f}]", ""]
    lines += [f"{'value said':>16}{'positions':>11}{'said':>8}{'true':>8}   (the mover's: 1 wins, -1 loses)"]
    for each in found.bins:
        lines.append(f"{each.least:+7.1f} … {each.most:+.1f}{each.of:11}{each.said:+8.2f}{each.true:+8.2f}")
    if unsolved:
        lines.append(f"\n{unsolved} positions were too hard for the solver, and are not among these")
    if missing:
        lines.append(f"\n{missing} positions fewer than were asked for: no more were found")
    return "\n".join(lines)


def _words(share: Share) -> str:
    if share.interval is None:
        return "n/a"
    low, high = share.interval
    return f"{share.hits / share.of:6.1%}  [{low:.1%}, {high:.1%}]  {share.hits} of {share.of}"
