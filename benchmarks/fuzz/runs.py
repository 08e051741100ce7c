"""A run's folder: what is resumed from, and what its report reads."""

from __future__ import annotations

import functools
import json
import shutil
from pathlib import Path
from typing import Any

from base.local_workers import opened as opened_workers
from base.reading import json_of
from benchmarks.fuzz.positions import game_of
from benchmarks.fuzz.values import Rng, Wrong, damaged, damaged_text, spoiled_json, written


@functools.cache
def tiny_run(home: Path) -> Path:
    """A finished run of two iterations, made once."""
    from monitor.log import RunLog
    from train.budget import Budget
    from train.config import compose
    from train.loop import train
    from train.run import opened

    folder = home / "tiny"
    changes = [
        "net=mlp:1x16",
        "games=8",
        "selfplay.simulations=4",
        "selfplay.slots=4",
        "learning.batch=8",
        "learning.threads=1",
    ]
    config = compose(game_of("tic_tac_toe"), None, [*changes, "evaluation.every=0"])
    with (
        opened(str(folder), config, Budget(games=16), str) as run,
        RunLog(folder, 0, quiet=True) as log,
        opened_workers(0) as workers,
    ):
        train(run, log, workers)
    return folder


def copied_run(folder: Path) -> Path:
    shutil.copytree(tiny_run(folder.parent), folder / "run", ignore=shutil.ignore_patterns("tb"))
    return folder / "run"


STATE_FILES = ("state/000002/state.json", "state/000002/tensors.safetensors", "state/000001/state.json")


def states(rng: Rng, folder: Path) -> bool:
    """The newest state of a run, its budget, its configuration: what is resumed from is what was written, or nothing."""
    from train.run import opened, read_budget, stored
    from train.seal import hash_of_configuration
    from train.state import newest

    run = copied_run(folder)
    configuration = hash_of_configuration(run)
    sound = {newest(run / "state", str)[0], _older(run)}  # type: ignore[index]
    budget, config = read_budget(run / "budget.json"), stored(run)
    path = run / rng.choice((*STATE_FILES, "budget.json", "config.toml", "seal.json"))
    data = path.read_bytes()
    if path.suffix == ".json" and rng.random() < 0.7:
        path.write_bytes(written(spoiled_json(json.loads(data), rng)))
    elif path.suffix == ".toml" and rng.random() < 0.7:
        path.write_bytes(written(damaged_text(data.decode(), rng)))
    else:
        path.write_bytes(damaged(data, rng))
    found = newest(run / "state", str, configuration)
    if found is not None and found[0] not in sound:
        raise Wrong(f"a state that no run wrote: {found[0]}")
    before = stored(run)
    assert before is not None
    with opened(str(run), before, None, str) as begun:
        if begun.config != config:
            raise Wrong("another configuration")
        if begun.budget != budget and "checksum" in json_of(data, path):
            raise Wrong(f"another budget: {begun.budget}")
    return bool(path.read_bytes() == data)


def _older(run: Path) -> Any:
    from train.state import read_progress

    return read_progress(run / "state/000001/state.json")


def runs(rng: Rng, folder: Path) -> bool:
    """A run's folder, made elsewhere: its report, and resuming. Nothing in it is executed."""
    from monitor.report.page import SECTIONS, page
    from train.run import opened, stored
    from train.run_reader import find

    run = copied_run(folder)
    mark = folder / "EXECUTED"
    if rng.random() < 0.3:
        (run / "seal.json").unlink()
        rules = folder / "rules.py"
        rules.write_text(f"from pathlib import Path\nPath({str(mark)!r}).touch()\nfrom games.tic_tac_toe import game\n")
        text = (run / "config.toml").read_text()
        if rng.random() < 0.5:
            text = text.replace('game = "tic_tac_toe"', f'game = "{rules}"')
        else:
            engine = json.dumps(f'uci:"touch {mark}",ms=5')
            text = text.replace("reference_players = [", f"reference_players = [{engine}, ")
        (run / "config.toml").write_text(text)
    else:
        files = [
            path
            for path in run.rglob("*")
            if path.is_file() and path.name != ".lock" and "safetensors" not in path.name
        ]
        for path in rng.sample(files, rng.choice((1, 1, 2, 4))):
            data = path.read_bytes()
            lines = data.decode(errors="replace").split("\n")
            if path.suffix == ".json" and rng.random() < 0.7:
                path.write_bytes(written(spoiled_json(json.loads(data), rng)))
            elif path.suffix == ".jsonl" and rng.random() < 0.7:
                lines[0] = spoiled_json(json.loads(lines[0]), rng)
                path.write_bytes(written("\n".join(lines)))
            else:
                path.write_bytes(damaged(data, rng))
    try:
        data_of = find(str(run))
        page(data_of, [section(data_of) for section in SECTIONS]).encode()
        before = stored(run)
        if before is not None:
            with opened(str(run), before, None, str):
                pass
    finally:
        if mark.exists():
            raise Wrong("what a run names was executed")
    return True
