"""The linear EVAL, a game, the configuration, and the command that makes the run again."""

from __future__ import annotations

import os
import platform
from html import escape
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from games import Game
from games.drawing import Cell, drawn, places, svg
from games.record import GameRecord
from games.types import GameState
from monitor.report.charts import Weight, figure, weights
from monitor.report.parts import Section, table
from monitor.report.run_data import RunData
from selfplay.inspection import about, findings

LONGEST = 1_000_000  # characters of the sample game, pictures included
SCALE, MARKED = 0.75, 0.35  # of the boards; how strongly the last move is marked
PACKAGES = ("zermelo", "numpy", "numba", "torch")


def linear(data: RunData) -> Section:
    return Section("eval", "What has the linear EVAL learned?", _weighs(data), _weights(data))


def _weighs(data: RunData) -> str:
    eval_ = data.weights
    if eval_ is None:
        return "No linear EVAL was fitted in this run."
    n = "" if eval_.games is None else f" to {eval_.games:,} games"
    words = f"Fitted{n}"
    if eval_.errors is not None:
        sure = [name for name, weight in eval_.weights.items() if abs(weight) > 2 * eval_.errors[name] > 0]
        words += f", {len(sure)} of {len(eval_.weights)} weights are more than two standard errors from 0"
    value, line = data.last("fresh/value loss"), data.last("fresh/eval loss")
    if value is not None and line is not None:
        better = "better" if value < line else "no better"
        words += f"; on new positions the network's value is {better} than it ({value:.3f} against {line:.3f} nats)"
    return words + "."


def _weights(data: RunData) -> str:
    eval_, hand = data.weights, data.by_hand
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


def game(data: RunData) -> Section:
    return Section("game", "What does a game look like?", _played(data), _game(data))


def _sample(data: RunData) -> Any:
    finished = [record for record in data.records if record.outcome is not None and not record.ending]
    return next(iter(finished or data.records), None)


def _played(data: RunData) -> str:
    record = _sample(data)
    if record is None or data.game is None:
        return "No game can be shown: the records, or the game's rules, are missing."
    number = record.metadata.get("number", 0)
    words = "is unfinished" if record.outcome is None else f"ended {' '.join(f'{each:+g}' for each in record.outcome)}"
    ending = f" ({record.ending})" if record.ending else ""
    return (
        f"Game {number} of self-play, from iteration {data.iteration + 1}, {words}{ending} after {len(record)} plies."
    )


def _game(data: RunData) -> str:
    record = _sample(data)
    if record is None or data.game is None:
        return ""
    positions = _positions(data.game, record)
    shown: list[str] = []
    size = 0
    for each in positions:
        size += len(each)
        if size > LONGEST:
            shown.append(f"<p>… {len(positions) - len(shown)} positions more</p>")
            break
        shown.append(each)
    names = escape(record.move_names(data.game))
    who = escape(about(data.game, record))
    return (
        f'<p class="moves">{names}</p><div class="positions">{positions[-1]}</div>'
        f"<details><summary>Move by move, with the search's results</summary><p><small>{who}</small></p>"
        f'<div class="positions">{"".join(shown)}</div></details>'
    )


def _positions(game: Game, record: GameRecord) -> list[str]:
    """The board with the last move marked, then what the search found there."""
    found: list[str] = []
    before: GameState | None = None
    for state, ply in record.replay(game):
        diagram = game.diagram(state)
        marked: dict[Cell, float] = {}
        if before is not None and diagram.surface not in ("table", "text"):
            [cells] = places(game, before, [int(record.moves[ply - 1])])
            marked = dict.fromkeys(cells, MARKED)
        board = svg(drawn(diagram, marked, has_numbers=False), f"After {ply} plies: {game.text(state)}", SCALE)
        words = "\n".join(filter(None, [diagram.note, findings(game, record, state, ply)]))
        found.append(f"<figure>{board}<pre>{escape(words)}</pre></figure>")
        before = state.copy()
    return found


def configuration(data: RunData) -> Section:
    changed = _changed(data)
    if changed:
        few = "One setting is" if len(changed) == 1 else f"{len(changed)} settings are"
        words = f"{few} not the default of {data.game_spec} in the version that made this page."
    else:
        words = f"Everything is the default of {data.game_spec} in the version that made this page."
    body = table("", ["key", "this run", "default"], changed, left=(0, 1, 2)) if changed else ""
    whole = f"<details><summary>All settings</summary><pre>{escape(data.toml)}</pre></details>"
    return Section("configuration", "How was it configured?", words, body + whole)


def _changed(data: RunData) -> list[tuple[str, str, str]]:
    """(key, the run's value, the default), as TOML has them; `–` for a key of another method of search than the default."""
    usual = {key: data.usual.get(key, "–") for key in data.settings}
    return [(key, value, usual[key]) for key, value in data.settings.items() if value != usual[key]]


def again(data: RunData) -> Section:
    rows = [("command", data.command)]
    if data.card is not None:
        rows += [("commit", data.card.commit or "unknown"), ("weights", data.card.weights)]
        rows.append(("rules", f"{data.card.game}, version {data.card.version}"))
    rows += [("budget", data.budget), ("page made with", ", ".join(_versions())), ("on", machine())]
    words = (
        "This command makes the run again, to the bit on a machine of the same type."
        if data.is_by_games
        else "This command makes such a run again; only a budget in games gives the same bits, and this one was in minutes."
    )
    body = "".join(f'<dt>{name}</dt><dd><pre class="wrap">{escape(text)}</pre></dd>' for name, text in rows)
    return Section("again", "How is it reproduced?", words, f"<dl>{body}</dl>")


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
