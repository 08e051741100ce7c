"""Hostile input for every reader: records, positions, runs, state, TOML, JSON, books, metrics, ladders, the cache, engines, requests.

    python -m benchmarks.fuzz                                   # ten minutes for all readers together
    python -m benchmarks.fuzz --minutes 10 --what starts,runs   # ten minutes for each of these
    python -m benchmarks.fuzz --what records --case 1234        # one case again, with its traceback

A case is a function of the reader, the seed and its number (`readers.py`). Cases run in a process of their own. Where it
dies, native code crashed. A case that takes longer than HANG is a hang. The cases behind it follow in a new process. To refuse the
input in one line is right, to accept it where it is sound. Exit code 1 after a traceback, a hang, a wrong acceptance or a crash.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from select import select

from base.errors import Arguments, UserError, nearest, run_command
from benchmarks.fuzz.positions import GAMES, game_of, use
from benchmarks.fuzz.readers import READERS
from benchmarks.fuzz.values import Case, Rng, Wrong

HANG = 2.0  # seconds of a case, without those for which it waited for a processor
STUCK = 20.0  # seconds after which a case is given up
START = 180.0  # seconds for a process to import, to compile, and to make what its cases change
FAULTS = ("traceback", "hang", "wrong", "crash")
OUTCOMES = ("refused", "accepted", *FAULTS)


def main(argv: Sequence[str]) -> int:
    parser = Arguments(description=__doc__)
    parser.add_argument(
        "--minutes", type=float, metavar="M", help="for each reader that is named; or 10 for all together"
    )
    parser.add_argument("--what", default="all", metavar="NAMES", help="readers, separated by commas")
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="of the cases")
    parser.add_argument("--case", type=int, metavar="N", help="only this one, in this process")
    parser.add_argument("--child", type=int, metavar="N", help="used by the program itself: cases from N on, as lines")
    options = parser.parse_args(argv)
    names = list(READERS) if options.what == "all" else options.what.split(",")
    for name in names:
        if name not in READERS:
            raise UserError(f"what: expected some of {', '.join(READERS)}, got {name!r}{nearest(name, READERS)}")
    if options.child is not None:
        return serve(names[0], options.seed, options.child)
    if options.case is not None:
        with home() as folder:
            print(tried(READERS[names[0]], names[0], options.seed, options.case, folder, print))
        return 0
    seconds = 60 * (options.minutes or 10 / len(names))
    faults = 0
    print(f"{'':10}{'cases':>8}" + "".join(f"{outcome:>11}" for outcome in OUTCOMES) + f"{'slowest':>11}")
    for name in names:
        counts, slowest = attack(name, options.seed, seconds)
        faults += sum(counts[outcome] for outcome in FAULTS)
        columns = "".join(f"{counts[outcome]:>11,}" for outcome in OUTCOMES)
        print(f"{name:10}{counts.total():>8,}{columns}{slowest:>9.2f} s", flush=True)
    return 1 if faults else 0


def tried(
    read: Case,
    name: str,
    seed: int,
    case: int,
    folder: Path,
    note: Callable[[str], object],
) -> str:
    """The outcome of one case. `note` gets the traceback of a fault."""
    place = folder / "case"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return "accepted" if read(Rng(abs(seed), name, case, int(seed < 0)), place) else "refused"
    except UserError:
        return "refused"
    except OSError as error:
        if error.filename is not None:  # shown in one line by every command
            return "refused"
        note(traceback.format_exc())
        return "traceback"
    except Wrong:
        note(traceback.format_exc())
        return "wrong"
    except Exception:
        note(traceback.format_exc())
        return "traceback"


# ── the process that runs the cases ──


class home:
    """A folder that is gone at the end."""

    def __enter__(self) -> Path:
        self.path = Path(tempfile.mkdtemp(prefix="fuzz-"))
        return self.path

    def __exit__(self, *failure: object) -> None:
        shutil.rmtree(self.path, ignore_errors=True)


def serve(name: str, seed: int, first: int) -> int:
    """Writes a line before and behind each case."""
    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    with home() as folder:
        prepare(name, folder)
        number = first
        while True:
            print(json.dumps(["begin", number]), file=out)
            notes: list[str] = []
            began, waited = time.perf_counter(), seconds_waited()
            outcome = tried(READERS[name], name, seed, number, folder, notes.append)
            took = time.perf_counter() - began - (seconds_waited() - waited)
            print(json.dumps([outcome, took, "\n".join(notes)]), file=out)
            number += 1


def seconds_waited() -> float:
    """For which this thread could have run and had no processor, since it began: where other programs run, that is not the reader's
    time. 0 where the system does not count it."""
    try:
        return int(Path("/proc/thread-self/schedstat").read_text(encoding="ascii").split()[1]) / 1e9
    except (OSError, IndexError, ValueError):
        return 0.0


def prepare(name: str, folder: Path) -> None:
    """What takes long once: cases of another seed, until none compiles any more."""
    if name in ("starts", "positions"):
        for each in GAMES:
            use(game_of(each), game_of(each).initial())
    for case in range(40):
        tried(READERS[name], name, -1, case, folder, lambda text: None)


# ── the process that watches it ──


def attack(name: str, seed: int, seconds: float, most: int | None = None) -> tuple[Counter[str], float]:
    """How often each outcome came, and the seconds of the slowest case that ended. Faults are shown on standard error."""
    counts: Counter[str] = Counter()
    slowest, number, until = 0.0, 0, None
    while (until is None or time.monotonic() < until) and (most is None or number < most):
        child = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.fuzz", "--what", name, "--seed", str(seed), "--child", str(number)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            for kind, took, note in lines_of(child):
                if kind == "begin":
                    until = until or time.monotonic() + seconds
                    continue
                counts[kind] += 1
                slowest = max(slowest, took)
                if kind in FAULTS:
                    print(f"{name} {number}: {kind}\n{note}", file=sys.stderr, flush=True)
                number += 1
                if time.monotonic() > until or (most is not None and number >= most):  # type: ignore[operator]
                    break
        finally:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
            assert child.stdout is not None
            child.stdout.close()
    return counts, slowest


def lines_of(child: subprocess.Popen[bytes]) -> Iterator[tuple[str, float, str]]:
    """What the process reports: ("begin", …) and outcomes. A hang and a crash end it."""
    assert child.stdout is not None
    handle, rest, is_begun = child.stdout.fileno(), b"", False
    deadline = time.monotonic() + START
    while True:
        if not select([handle], [], [], max(0.0, deadline - time.monotonic()))[0]:
            if not is_begun:
                raise UserError(f"expected the process to be ready within {START:g} s")
            yield "hang", 0.0, f"longer than {STUCK:g} s"
            return
        data = os.read(handle, 1 << 16)
        if not data:
            if not is_begun:
                raise UserError(f"expected the process to be ready, but it ended with {child.wait()}")
            yield "crash", 0.0, f"exit code {child.wait()}"
            return
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            found = json.loads(line)
            is_begun = True
            deadline = time.monotonic() + STUCK
            if found[0] == "begin":
                yield "begin", 0.0, ""
            else:
                outcome = "hang" if found[1] > HANG and found[0] not in FAULTS else found[0]
                yield outcome, found[1], found[2] or f"{found[1]:.1f} s"


if __name__ == "__main__":
    run_command(main)
