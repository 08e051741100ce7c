"""What the run has made and what it is made of: the linear EVAL, a game, its configuration, the command that makes it again."""

from __future__ import annotations

import os
import platform
import shlex
from html import escape
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from selfplay.inspection import blocks
from train.config import settings, to_toml
from train.report.charts import Weight, figure, weights
from train.report.found import Found
from train.report.parts import Section, table
from train.run import command_for

LONGEST = 200_000  # characters of the sample game
PACKAGES = ("zermelo", "numpy", "numba", "torch")


def linear(found: Found) -> Section:
    return Section("eval", "What does the linear EVAL say?", _weighs(found), _weights(found))


def _weighs(found: Found) -> str:
    eval_ = found.weights
    if eval_ is None:
        return "No linear EVAL was fitted in this run."
    n = "" if eval_.games is None else f" to {eval_.games:,} games"
    told = f"Fitted{n}"
    if eval_.errors is not None:
        sure = [name for name, weight in eval_.weights.items() if abs(weight) > 2 * eval_.errors[name] > 0]
        told += f", {len(sure)} of {len(eval_.weights)} weights are more than two standard errors from 0"
    value, line = found.last("fresh/value loss"), found.last("fresh/eval loss")
    if value is not None and line is not None:
        better = "better" if value < line else "no better"
        told += f"; on new positions the network's value is {better} than it ({value:.3f} against {line:.3f} nats)"
    return told + "."


def _weights(found: Found) -> str:
    eval_, hand = found.weights, found.by_hand
    if eval_ is None:
        return ""
    errors = eval_.errors or {}
    by_hand = hand.weights if hand is not None and any(hand.weights.values()) else {}
    rows = [Weight(name, value, errors.get(name), by_hand.get(name)) for name, value in eval_.weights.items()]
    cells = []
    for row in rows:
        error = "" if row.error is None else f"{row.error:.3f}" if row.error else "never seen"
        cells.append([row.name, f"{row.value:.3f}", error, "" if row.by_hand is None else f"{row.by_hand:.3f}"])
    unit = f"weight; EVAL = tanh({eval_.unit:.3g} · w·f)"
    note = (
        "Bars with their 95% intervals; upright strokes: the weights set by hand." if by_hand else "With 95% intervals."
    )
    listed = table("Weights", ["feature", "weight", "± s.e.", "by hand"], cells)
    origin = f"<p><small>{escape(eval_.note)}</small></p>" if eval_.note else ""
    return f'<div class="charts">{figure("Weights of the features", weights(rows, unit), note)}<div>{listed}{origin}</div></div>'


def game(found: Found) -> Section:
    return Section("game", "What does a game look like?", _played(found), _game(found))


def _sample(found: Found) -> Any:
    finished = [record for record in found.records if record.outcome is not None and not record.ending]
    return next(iter(finished or found.records), None)


def _played(found: Found) -> str:
    record = _sample(found)
    if record is None or found.game is None:
        return "No game can be shown: the records, or the game's rules, are not there."
    number = record.metadata.get("number", 0)
    told = "is unfinished" if record.outcome is None else f"ended {' '.join(f'{each:+g}' for each in record.outcome)}"
    ending = f" ({record.ending})" if record.ending else ""
    return (
        f"Game {number} of self-play, from iteration {found.iteration + 1}, {told}{ending} after {len(record)} plies."
    )


def _game(found: Found) -> str:
    record = _sample(found)
    if record is None or found.game is None:
        return ""
    about, *positions = blocks(found.game, record)
    shown: list[str] = []
    size = 0
    for each in positions:
        size += len(each)
        if size > LONGEST:
            shown.append(f"<p>… {len(positions) - len(shown)} positions more</p>")
            break
        shown.append(f"<pre>{escape(each)}</pre>")
    names = escape(record.move_names(found.game))
    return (
        f'<p class="moves">{names}</p><div class="positions"><pre>{escape(positions[-1])}</pre></div>'
        f"<details><summary>Move by move, with what the search made of it</summary><p><small>{escape(about)}</small></p>"
        f'<div class="positions">{"".join(shown)}</div></details>'
    )


def configuration(found: Found) -> Section:
    changed = _changed(found)
    if changed:
        few = "One setting is" if len(changed) == 1 else f"{len(changed)} settings are"
        told = f"{few} not as usual for {found.config.game}, by the program that made this page."
    else:
        told = f"Everything is as usual for {found.config.game}, by the program that made this page."
    body = table("", ["key", "this run", "usual"], changed, left=(0, 1, 2)) if changed else ""
    whole = f"<details><summary>All settings</summary><pre>{escape(to_toml(found.config))}</pre></details>"
    return Section("configuration", "How was it configured?", told, body + whole)


def _changed(found: Found) -> list[tuple[str, str, str]]:
    """(key, the run's value, the usual one), as TOML has them."""
    usual = settings(found.usual)
    return [(key, value, usual[key]) for key, value in settings(found.config).items() if value != usual[key]]


def again(found: Found) -> Section:
    rows = [("command", command(found))]
    if found.card is not None:
        rows += [("commit", found.card.commit or "unknown"), ("weights", found.card.weights)]
        rows.append(("rules", f"{found.card.game}, version {found.card.version}"))
    rows += [("budget", str(found.budget)), ("page made with", ", ".join(_versions())), ("on", machine())]
    told = (
        "This command makes the run again, to the bit on a machine of the same type."
        if found.budget.games
        else "This command makes such a run again; only a budget in games gives the same bits, and this one was by the clock."
    )
    body = "".join(f'<dt>{name}</dt><dd><pre class="wrap">{escape(text)}</pre></dd>' for name, text in rows)
    return Section("again", "How is it made again?", told, f"<dl>{body}</dl>")


def command(found: Found) -> str:
    """Under another name, so that it does not go on with the run."""
    return shlex.join(command_for(f"{found.name}-again", found.config, found.usual, found.budget, found.games))


def machine() -> str:
    """What this page was made on: processor, cores, system."""
    about, name = Path("/proc/cpuinfo"), platform.processor() or platform.machine()
    if about.is_file():
        lines = [
            line.partition(":")[2].strip() for line in about.read_text().splitlines() if line.startswith("model name")
        ]
        name = lines[0] if lines else name
    return f"{name}, {os.cpu_count()} cores, {platform.system()}"


def _versions() -> list[str]:
    found = [f"Python {platform.python_version()}"]
    for name in PACKAGES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return found
