"""Hostile requests to the page's server: bodies that its own page never sends."""

from __future__ import annotations

import base64
import json
from functools import cache
from pathlib import Path
from typing import Any

from arena.page.server import PageServer
from benchmarks.fuzz.values import Rng, Wrong, spoiled_json

GAME = "tic_tac_toe"
TABLES: tuple[dict[str, Any], ...] = (
    {"game": GAME, "seats": ["human", "human"], "seed": 1, "analyse": False, "position": "x../.o./..."},
    {"game": GAME, "file": {"name": "x.txt", "content": base64.b64encode(b"b2 a1 c3").decode(), "number": 0}},
    {"game": GAME, "run": {"name": "first", "number": 0}},
)
COMMANDS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("play", {"node": 0, "action": 4}),
    ("type", {"node": 0, "word": "b2"}),
    ("undo", {}),
    ("go", {"node": 0}),
    ("stop", {}),
    ("seat", {"seat": 1, "player": "human"}),
    ("dice", {"asks": True}),
    ("hide", {"hidden": True}),
    ("line", {"node": 0, "actions": [4, 0], "turned": False}),
    ("tree", {"node": 0}),
    ("resign", {}),
)


@cache
def _server() -> tuple[PageServer, str]:
    """A server that nothing connects to, and a table."""
    server = PageServer(0)
    return server, server.new_table({"game": GAME})["table"]


def requests(rng: Rng, folder: Path) -> bool:
    server, name = _server()
    if rng.random() < 0.4:
        path, given = "/api/tables", rng.choice(TABLES)
    else:
        command, given = rng.choice(COMMANDS)
        path = f"/api/tables/{name}/{command}"
    body = spoiled_json(given, rng).encode("utf-8", "surrogatepass")
    answer = server.posted(path, body)
    table = server.tables.get(answer.get("table", name)) or server.tables[name]
    if table.game.name != GAME:
        raise Wrong(f"a table of {table.game.name}")
    json.dumps(table.data(), allow_nan=False)
    table.used = float("inf") if answer.get("table", name) == name else 0.0  # others are closed first
    return True
