"""HTTP for the page, by the standard library: what is served, to whom.

    GET  /  /page.js  …                 the files of `files/`, read once at the start; no path from outside is ever opened
    GET  /api/games                     games, and runs with their checkpoints
    GET  /api/players?game=…            suggestions for a game's seats
    POST /api/tables                    a new table: {game, seats, …}; or from a file or a run
    POST /api/tables/ID/COMMAND         a command of `arena.page.table`
    POST /api/tables/ID/line            the board behind a line
    POST /api/tables/ID/tree            a small searched tree of a position, as SVG
    GET  /api/tables/ID/events          server-sent events: `state`, `moves`, `found`
    GET  /api/tables/ID/save/FORM       the game as a file

Requests count only if they name this server as their host, and come from this page: other pages in the same browser, and other names
for this address, are refused. Bodies are JSON within bounds. What is wrong with a request is one line and a 4xx.
"""

from __future__ import annotations

import json
import re
import secrets
import sys
import threading
import time
from collections.abc import Callable, Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from arena.page.choosing import Choosing
from arena.page.files import MOST_BYTES, forms, of_run, read, saved
from arena.page.table import Stale, Table
from base.errors import UserError, short
from base.kernel_cache import is_compiling
from base.reading import json_of
from checkpoints import folders
from games import Game

FILES = Path(__file__).parent / "files"
TYPES = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
MOST_BODY = 2 * MOST_BYTES
MOST_TABLES = 8
ALIVE = 15.0  # seconds between two events at most
SOON = 0.5  # where a player or the analysis has nothing to show yet
EVERY = 0.1  # between two events of an analysis
HEADERS = {
    "Content-Security-Policy": "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Missing(UserError):
    """There is nothing under this address."""


class Forbidden(UserError):
    """The request is not from this page."""


class PageServer(ThreadingHTTPServer):
    """The tables of one process. `url` is where the page is."""

    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 64

    def __init__(self, port: int = 0, games: tuple[str, ...] = (), players: tuple[str, ...] = ()) -> None:
        self.choosing = Choosing(games, players)
        self.tables: dict[str, Table] = {}
        self.lock = threading.Lock()
        self.files = {f"/{path.name}": (path.read_bytes(), TYPES[path.suffix]) for path in sorted(FILES.iterdir())}
        self.files["/"] = self.files["/index.html"]
        super().__init__(("127.0.0.1", port), Handler)
        self.port = int(self.server_address[1])
        self.hosts = {f"{name}:{self.port}" for name in ("127.0.0.1", "localhost")}
        if self.port == 80:
            self.hosts |= {"127.0.0.1", "localhost"}

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def add(self, table: Table) -> str:
        """Its name. Of many tables the one that was not used for longest is closed."""
        with self.lock:
            while len(self.tables) >= MOST_TABLES:
                oldest = min(self.tables, key=lambda name: self.tables[name].used)
                self.tables.pop(oldest).close()
            name = secrets.token_hex(4)
            self.tables[name] = table
            return name

    def table(self, name: str) -> Table:
        found = self.tables.get(name)
        if found is None:
            raise Missing("this game is not at this server any more; begin another")
        return found

    def server_close(self) -> None:
        for table in list(self.tables.values()):
            table.close()
        super().server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A connection that broke is the other side's affair; anything else is a bug, and one line."""
        error = sys.exc_info()[1]
        if not isinstance(error, OSError):
            print(f"arena serve: {type(error).__name__}: {error}", file=sys.stderr, flush=True)

    # ── answers ──

    def posted(self, path: str, body: bytes) -> dict[str, Any]:
        """What a request did."""
        given = json_of(body, "request")
        if not isinstance(given, dict):
            raise UserError("expected a JSON object")
        if path == "/api/tables":
            return self.new_table(given)
        match = re.fullmatch(r"/api/tables/([0-9a-f]{8})/([a-z]{1,12})", path)
        if match is None:
            raise Missing(f"nothing at {short(unquote(path))}")
        table, node = self.table(match[1]), given.get("node")
        if match[2] == "tree" and type(node) is int:
            return {"svg": table.tree_picture(node)}
        if match[2] == "line":
            actions = given.get("actions")
            if type(node) is not int or type(actions) is not list:
                raise UserError("line: expected node and actions")
            return table.line(node, actions, given.get("turned") is True)
        try:
            table.command(match[2], given)
        except Stale as dropped:
            return {"dropped": str(dropped)}
        return {}

    def new_table(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """From a game's name and its seats; `file` {name, content, number}, or `run` {name, number}: a recorded game."""
        kinds = {"game": str, "seats": list, "seed": int, "analyse": bool, "position": str, "file": dict, "run": dict}
        for key, value in given.items():
            if key not in kinds or type(value) is not kinds[key]:
                raise UserError(f"tables: expected {', '.join(kinds)}, got {short(repr(key))}: {short(repr(value))}")
        game = self.choosing.game(given.get("game", ""))
        seats = given.get("seats", ["human"] * game.players)
        if not all(type(each) is str for each in seats):
            raise UserError("seats: expected texts")
        records: list[Any] = []
        title, number = "", 0
        if "file" in given or "run" in given:
            records, title, number = self._recorded(game, given)
        start = game.parse(given["position"]) if given.get("position") else None
        seed = given.get("seed", secrets.randbits(31))
        if not 0 <= seed < 2**63:
            raise UserError(f"seed: expected 0 or more, got {seed}")
        if records:
            record = records[number]
            game = self.choosing.game(record.game) if record.game != game.name else game
            seats = ["human"] * game.players
            start = None if record.start is None else record.first_position(game)
        table = Table(self.choosing, game, seats, start, seed, bool(given.get("analyse", False)) or bool(records))
        if records:
            table.show_record(records[number], title)
        listed = [f"{index + 1}. {' – '.join(filter(None, each.players))}" for index, each in enumerate(records)]
        return {"table": self.add(table), "games": listed if len(records) > 1 else []}

    def _recorded(self, game: Game, given: Mapping[str, Any]) -> tuple[list[Any], str, int]:
        source = given.get("file") or given.get("run") or {}
        name, number = source.get("name"), source.get("number", 0)
        if type(name) is not str or type(number) is not int or not 0 <= number < 10**9:
            raise UserError("tables: expected a name, and a number from 0")
        if "file" in given:
            content = source.get("content")
            if type(content) is not str:
                raise UserError("tables: expected the file's content in base64")
            records = read(name, content, game, self.choosing.game)
            if number >= len(records):
                raise UserError(f"{short(name)}: expected game 1 to {len(records)}, got {number + 1}")
            return records, short(name), number
        if name not in {each["name"] for each in self.choosing.runs()}:
            raise Missing(f"unknown run '{short(name)}'")
        return [of_run(folders.RUNS / name / "games", game, number)], f"{name}, game {number}", 0


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    server: PageServer
    protocol_version = "HTTP/1.1"
    server_version = "zermelo"
    sys_version = ""
    timeout = 60
    error_message_format = "%(code)d: %(message)s\n"  # of what is no request; the others are answered by `_answer`
    error_content_type = "text/plain"

    def do_GET(self) -> None:
        self._answer(self._get)

    def do_POST(self) -> None:
        self._answer(self._post)

    def log_message(self, *arguments: Any) -> None:
        """Nothing: the terminal is for what goes wrong."""

    def _answer(self, answer: Callable[[str], None]) -> None:
        try:
            self._check_caller()
            answer(urlsplit(self.path).path)
        except (BrokenPipeError, ConnectionResetError, TimeoutError):
            self.close_connection = True
        except UserError as error:
            code = 404 if isinstance(error, Missing) else 403 if isinstance(error, Forbidden) else 400
            self._send_json({"error": str(error)[:1000]}, code)
        except OSError as error:
            self._send_json({"error": f"{error.strerror or error}"[:1000]}, 400)
        except Exception as error:  # a bug: the page gets an answer, and the terminal one line
            print(f"arena serve: {self.path[:80]!r}: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
            self._send_json({"error": f"the server failed: {type(error).__name__}"}, 500)

    def _check_caller(self) -> None:
        """This server by its own name, and this page: another name may be another page's way here (DNS rebinding)."""
        hosts = self.headers.get_all("Host") or []
        if len(hosts) != 1 or hosts[0].lower() not in self.server.hosts:
            self.close_connection = True
            raise Forbidden(f"host: expected {self.server.url}, got {short(repr(hosts))}")
        for origin in self.headers.get_all("Origin") or []:
            if origin not in {f"http://{host}" for host in self.server.hosts}:
                self.close_connection = True
                raise Forbidden(f"origin: expected this page, got {short(repr(origin))}")
        if self.headers.get("Sec-Fetch-Site", "same-origin") not in ("same-origin", "none"):
            self.close_connection = True
            raise Forbidden("expected a request from this page, got one from another")

    # ── GET ──

    def _get(self, path: str) -> None:
        if path in self.server.files:
            content, kind = self.server.files[path]
            self._send(content, f"{kind}; charset=utf-8")
        elif path == "/favicon.ico":
            self._send(b"", "image/x-icon", HTTPStatus.NO_CONTENT)
        elif path == "/api/games":
            self._send_json({"games": self.server.choosing.games(), "runs": self.server.choosing.runs()})
        elif path == "/api/players":
            game = self.server.choosing.game(parse_qs(urlsplit(self.path).query).get("game", [""])[0])
            choosing = self.server.choosing
            self._send_json(
                {"players": choosing.players(game), "seats": game.players, "analyst": choosing.analyst(game)}
            )
        elif match := re.fullmatch(r"/api/tables/([0-9a-f]{8})/events", path):
            self._send_events(self.server.table(match[1]), urlsplit(self.path).query == "turned")
        elif match := re.fullmatch(r"/api/tables/([0-9a-f]{8})/save/([a-z]{1,8})", path):
            table = self.server.table(match[1])
            name = re.sub(r"[^\w.-]+", "-", table.game.name)
            content = saved(table.record(), table.game, match[2])
            more = {"Content-Disposition": f'attachment; filename="{name}.{match[2]}"'}
            self._send(content, "application/octet-stream", more=more)
        else:
            raise Missing(f"nothing at {short(unquote(path))}")

    def _send_events(self, table: Table, turned: bool) -> None:
        """What is new, until the page leaves: nothing is queued, so a slow page gets less and takes no memory."""
        self.close_connection = True
        self.send_response(200)
        for name, value in {**HEADERS, "Content-Type": "text/event-stream", "Connection": "close"}.items():
            self.send_header(name, value)
        self.end_headers()
        version = found_version = -1
        shown: tuple[Any, Any] = (None, None)
        sent: dict[str, Any] | None = (
            None  # of a table that hides information: what a seat does not notice makes no event
        )
        was_compiling = False
        self._event("forms", {"forms": list(forms(table.game))})
        while not table.is_closed:
            with table.changed:
                if table.version == version and table.found_version == found_version:
                    table.changed.wait(SOON if table.is_waited_for else ALIVE)
                state = table.data(turned) if table.version != version else None
                is_new = table.found_version != found_version
                found = table.found_data() if is_new else None
                version, found_version = table.version, table.found_version
            if state is not None:
                before, sent = sent, state | {"busy": (state["busy"] or {}).get("seat")}
                if table.seat is not None and sent == before:
                    state, is_new = None, is_new and found is not None
            if state is not None:
                self._event("state", state)
                if (state["at"], state["seat"]) != shown:
                    shown = state["at"], state["seat"]
                    self._event("moves", table.choices(state["at"]))
            if is_new:
                self._event("found", found)
            if was_compiling != (compiles := is_compiling() and table.is_waited_for):
                was_compiling = compiles
                self._event("compiling", compiles)
            if state is None and not is_new:
                self.wfile.write(b": alive\n\n")
                self.wfile.flush()
            if found is not None:
                time.sleep(EVERY / 2)
        self._event("closed", None)

    def _event(self, name: str, data: Any) -> None:
        text = json.dumps(data, separators=(",", ":"), allow_nan=False)
        self.wfile.write(f"event: {name}\ndata: {text}\n\n".encode())
        self.wfile.flush()

    # ── POST ──

    def _post(self, path: str) -> None:
        self._send_json(self.server.posted(path, self._body()))

    def _body(self) -> bytes:
        kind = self.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        length = self.headers.get("Content-Length", "")
        if not re.fullmatch(r"\d{1,9}", length) or int(length) > MOST_BODY or self.headers.get("Transfer-Encoding"):
            self.close_connection = True
            raise UserError(f"expected a body of at most {MOST_BODY} bytes with its length, got {short(repr(length))}")
        body = self.rfile.read(int(length))
        if kind != "application/json":
            raise UserError(f"expected application/json, got {short(repr(kind))}")
        if len(body) < int(length):
            self.close_connection = True
            raise UserError(f"expected {length} bytes, got {len(body)}")
        return body

    # ── sending ──

    def _send_json(self, data: Any, code: int = 200) -> None:
        if code >= 400 and self.command == "POST" and not self._has_read_all():
            self.close_connection = True
        self._send(json.dumps(data, allow_nan=False).encode(), "application/json", code)

    def _has_read_all(self) -> bool:
        """Whether the next request of this connection begins where the reader is."""
        return not self.close_connection

    def _send(self, content: bytes, kind: str, code: int = 200, more: Mapping[str, str] | None = None) -> None:
        self.send_response(code)
        fields = {**HEADERS, "Content-Type": kind, "Content-Length": str(len(content)), **(more or {})}
        if self.close_connection:
            fields["Connection"] = "close"
        for name, value in fields.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)
