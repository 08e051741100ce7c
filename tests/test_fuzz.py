"""A seeded share of `python -m benchmarks.fuzz`: hostile input is refused in one line, or accepted where it is sound."""

import subprocess
import sys
from pathlib import Path

import pytest

from base.errors import UserError
from benchmarks.fuzz import __main__ as fuzz
from benchmarks.fuzz.readers import READERS
from benchmarks.fuzz.values import Case, Rng, Wrong

ROOT = Path(__file__).parents[1]
SHARE = {"starts": 40, "positions": 60, "records": 60, "logs": 8, "jsons": 30, "states": 10, "runs": 5, "ladders": 8}
OTHERS = 60


@pytest.mark.parametrize("name", READERS)
def test_a_reader_refuses_or_accepts_what_is_sound(name: str, tmp_path: Path) -> None:
    notes: list[str] = []
    for case in range(SHARE.get(name, OTHERS)):
        outcome = fuzz.tried(READERS[name], name, 1, case, tmp_path, notes.append)
        assert outcome in ("refused", "accepted"), (name, case, outcome, *notes)


def wrong(rng: Rng, folder: Path) -> bool:
    raise Wrong("it has three legs")


def bug(rng: Rng, folder: Path) -> bool:
    return bool({}["leg"])


def refusal(rng: Rng, folder: Path) -> bool:
    raise UserError("expected four legs, got three")


@pytest.mark.parametrize(
    ("read", "outcome"),
    [(wrong, "wrong"), (bug, "traceback"), (refusal, "refused"), (lambda rng, folder: True, "accepted")],
)
def test_an_outcome_is_named(read: Case, outcome: str, tmp_path: Path) -> None:
    assert fuzz.tried(read, "x", 1, 0, tmp_path, str) == outcome


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        ("print('[\"begin\", 0]', flush=True); time.sleep(60)", ["begin", "hang"]),
        ("print('[\"begin\", 0]', flush=True); os.abort()", ["begin", "crash"]),
        (
            'print(\'["begin", 0]\'); print(\'["refused", 0.1, ""]\'); print(\'["accepted", 9.0, ""]\')',
            ["begin", "refused", "hang", "crash"],
        ),
    ],
)
def test_a_process_that_hangs_or_dies_is_noticed(lines: str, found: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuzz, "HANG", 0.5)
    monkeypatch.setattr(fuzz, "STUCK", 1.0)
    child = subprocess.Popen([sys.executable, "-c", f"import os, time; {lines}"], stdout=subprocess.PIPE, cwd=ROOT)
    try:
        assert [kind for kind, _, _ in fuzz.lines_of(child)] == found
    finally:
        child.kill()
        child.communicate()


def test_an_unknown_reader_is_one_line() -> None:
    with pytest.raises(UserError, match=r"what: expected some of starts, .*, got 'start'; did you mean 'starts'"):
        fuzz.main(["--what", "start"])
