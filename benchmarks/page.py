"""The page in a browser: how fast it answers, what an hour of analysis costs, what random clicks and malformed requests do.

    python -m benchmarks.page latency                    # click to drawn move, search to shown candidates, beside a search
    python -m benchmarks.page memory --minutes 60        # of server and tab, analysing position after position
    python -m benchmarks.page clicks --count 1000        # at random, in several games, with keys between
    python -m benchmarks.page requests --count 10000     # malformed: each is answered by a line, with 400 to 499, or 501, 505

Clicks are timed in the browser, from the press to the first frame that shows the move. A candidate is late by the time between the
search's report in the server and the frame that shows it. It takes Chromium and playwright. Exit code 1 where a law is broken: an error
in the browser's console, another answer, a server that no longer answers.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import socket
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from arena.page.server import PageServer
from arena.page.table import Table
from base.errors import Arguments, UserError, run_command
from base.seeds import Rng, below, generator
from benchmarks.screenshot import BROWSERS

GAMES = ("chess", "go:size=9,komi=7.5", "checkers", "backgammon", "dots_and_boxes:players=3", "connect_four")
KEYS = ("ArrowLeft", "ArrowRight", "Escape", "h", "f", "u", "Enter", "Tab")

TIMED = """
() => {
  window.clicked = 0; window.drawn = []; window.shown = [];
  document.addEventListener("pointerdown", () => { clicked = performance.now(); }, true);
  const frame = (then) => requestAnimationFrame(() => setTimeout(then, 0));
  new MutationObserver(() => {
    const from = clicked;
    clicked = 0;
    if (from) frame(() => drawn.push(performance.now() - from));
  }).observe(document.querySelector("#board .cells"), { childList: true, subtree: true });
  new MutationObserver(() => {
    const text = document.querySelector("#found").textContent;
    frame(() => shown.push([text, Date.now()]));
  }).observe(document.querySelector("#found"), { childList: true, characterData: true, subtree: true });
}
"""


@contextmanager
def serving(games: Iterable[str] = ()) -> Iterator[PageServer]:
    """The page's server on a thread of its own; `games` as on the command line."""
    server = PageServer(0, tuple(games))
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def browsing(faults: list[str]) -> Iterator[Any]:
    """A page of a browser; `faults` collects what its console and its requests complain of."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        raise UserError("expected playwright, found none: pip install playwright") from None
    program = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if program is None:
        raise UserError(f"expected one of {', '.join(BROWSERS)}, found none")
    with sync_playwright() as tools:
        browser = tools.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1300, "height": 850})
        page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("dialog", lambda dialog: dialog.dismiss())
        yield page
        browser.close()


def begin(server: PageServer, page: Any, game: str, seats: Sequence[str] = (), analyse: bool = False) -> Table:
    given = {"game": game, "analyse": analyse, "seed": 1} | ({"seats": list(seats)} if seats else {})
    name = server.new_table(given)["table"]
    page.goto(f"{server.url}#{name}")
    page.reload()
    page.wait_for_selector("main:not([hidden])", timeout=300_000)
    return server.tables[name]


def in_words(what: str, milliseconds: Sequence[float]) -> str:
    times = sorted(milliseconds)
    middle, late = times[len(times) // 2], times[len(times) * 95 // 100]
    return f"{what}: median {middle:.0f} ms, 95 % {late:.0f}, most {times[-1]:.0f} ({len(times)} times)"


def run_latency(options: argparse.Namespace) -> list[str]:
    faults: list[str] = []
    with serving() as server, browsing(faults) as page:
        for game, analyse in (("othello", False), ("othello", True), ("go:size=9,komi=7.5", True)):
            table = begin(server, page, game, analyse=analyse)
            if analyse:
                page.wait_for_selector("#candidates tbody tr.best", timeout=300_000)
            page.evaluate(TIMED)
            reports: dict[str, float] = {}
            _recorded(table, reports)
            rng = generator(options.seed, "latency", game)
            for _ in range(options.count):
                if table.at.outcome is not None:
                    break
                node = table.at
                page.wait_for_selector(f'#board[data-node="{node.number}"]', state="attached", timeout=300_000)
                _click(page, table, rng)
                while table.at is node:
                    page.wait_for_timeout(2)
                page.wait_for_timeout(700 if analyse else 100)
            beside = "beside its analysis" if analyse else "alone"
            print(in_words(f"{game}, {beside}: click to drawn move", page.evaluate("drawn")), flush=True)
            if analyse:
                late = [
                    when - 1000 * reports[words]
                    for text, when in page.evaluate("shown")
                    if (words := _count(text)) in reports
                ]
                print(in_words(f"{game}: report of the search to shown candidates", late), flush=True)
            page.goto("about:blank")
    return faults


def _recorded(table: Table, reports: dict[str, float]) -> None:
    """When each report of the analysis came, by its number of simulations as the page writes it."""
    report = table.analysis.report

    def noted(node: int, found: Any, is_over: bool) -> None:
        reports.setdefault(f"{found.choice.nodes:,}", time.time())
        report(node, found, is_over)

    table.analysis.report = noted


def _count(text: str) -> str:
    return text.partition(" ")[0]


def _click(page: Any, table: Table, rng: Rng) -> None:
    """A random legal move of the position, as a person clicks it."""
    moves = [move for move in table.choices(table.at.number)["moves"] if move["paths"]]
    if not moves:
        page.locator("#buttons button").first.click()
        return
    for place in moves[below(rng, len(moves))]["paths"][0]:
        page.locator(f'[data-place="{place}"]').first.click()


def run_memory(options: argparse.Namespace) -> list[str]:
    faults: list[str] = []
    with serving() as server, browsing(faults) as page:
        session = page.context.new_cdp_session(page)
        until, following = time.monotonic() + 60 * options.minutes, 0.0
        tables = [begin(server, page, game, analyse=True) for game in ("connect_four", "chess")]
        rng, visited = generator(options.seed, "memory"), 0
        while time.monotonic() < until:
            for table in tables:
                if table.at.outcome is not None:
                    table.command("go", {"node": 0})
                legal = table.game.legal_actions(table.at.state)
                table.command("play", {"node": table.at.number, "action": int(legal[below(rng, len(legal))])})
                visited += 1
            page.wait_for_timeout(1000 * options.seconds)
            if time.monotonic() >= following:
                following = time.monotonic() + 60 * options.minutes / 20
                session.send("HeapProfiler.collectGarbage")
                heap = page.evaluate("performance.memory.usedJSHeapSize") / 2**20
                print(
                    f"{time.strftime('%H:%M:%S')} {visited} positions: server {_resident():.0f} MB, tab {heap:.1f} MB",
                    flush=True,
                )
    return faults


def _resident() -> float:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def run_clicks(options: argparse.Namespace) -> list[str]:
    faults: list[str] = []
    rng = generator(options.seed, "clicks")
    with serving() as server, browsing(faults) as page:
        for game in GAMES:
            page.goto("about:blank")
            table = begin(
                server, page, game, ["human"] + ["random"] * (server.choosing.game(game).players - 1), analyse=True
            )
            width, height = (page.viewport_size[side] for side in ("width", "height"))
            for _ in range(options.count // len(GAMES) + 1):
                page.mouse.click(below(rng, width), below(rng, height))
                if below(rng, 4) == 0:
                    page.keyboard.press(KEYS[below(rng, len(KEYS))])
                if not page.url.startswith(server.url):
                    page.goto(server.url)
            print(
                f"{game}: {options.count // len(GAMES) + 1} clicks, {len(table.tree.nodes)} positions, {len(faults)} faults",
                flush=True,
            )
    return faults


METHODS = (*6 * [b"GET"], *12 * [b"POST"], *b"PUT DELETE HEAD OPTIONS get".split(), b"")
PATHS = (
    *b"/ /page.js /api/tables /api/players?game=chess /api/tables/0/events /api/tables/0/play /api/runs *".split(),
    *b"/../base/files.py /%2e%2e/%2e%2e/etc/passwd //127.0.0.1/page.js".split(),
    b"/" + 70_000 * b"x",
    b"",
)
BODIES = (
    *b'{ [] null {"game":3} {"game":"../x.py"} {"game":"tic_tac_toe","seats":[1e999]}'.split(),
    *b'{"game":"tic_tac_toe","seed":-1} {"game":"chess","position":"\xff"}'.split(),
    b'{"node":1' + 400 * b"0" + b"}",
    5000 * b"[",
    b"",
)


def run_requests(options: argparse.Namespace) -> list[str]:
    faults: list[str] = []
    rng = generator(options.seed, "requests")
    counts: dict[str, int] = {}
    with serving() as server:
        for number in range(options.count):
            sent = _malformed(rng, server.port)
            status, body = _answered(server.port, sent)
            counts[status] = counts.get(status, 0) + 1
            if (status.startswith("5") and status not in ("501", "505")) or b"Traceback" in body:
                faults.append(f"request {number}: {sent[:100]!r}: {status} {body[:100]!r}")
        answer = server.new_table({"game": "tic_tac_toe"})
        json.dumps(server.tables[answer["table"]].data(), allow_nan=False)
    print(f"{options.count:,} requests, answers by status: {dict(sorted(counts.items()))}")
    return faults


def _malformed(rng: Rng, port: int) -> bytes:
    if below(rng, 10) == 0:
        return bytes(below(rng, 256) for _ in range(1 + below(rng, 300))) + b"\r\n\r\n"

    def one(*choices: bytes) -> bytes:
        return choices[below(rng, len(choices))]

    own, body = b"127.0.0.1:%d" % port, one(*BODIES)
    length = one(b"%d" % len(body), b"%d" % len(body), b"-1", b"x", b"99999999999999999999", b"%d" % (len(body) // 2))
    lines = [one(*METHODS) + b" " + one(*PATHS) + b" " + one(*9 * [b"HTTP/1.1"], b"HTTP/9.9", b"FTP", b"")]
    lines.append(b"Host: " + one(*9 * [own], b"elsewhere", b""))
    lines.append(b"Origin: " + one(*9 * [b"http://" + own], b"http://elsewhere", b"null"))
    lines.append(b"Content-Type: " + one(*9 * [b"application/json"], b"text/plain", b"\x00"))
    lines.append(b"Content-Length: " + length)
    if below(rng, 8) == 0:
        lines.append(b"Transfer-Encoding: chunked")
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def _answered(port: int, sent: bytes) -> tuple[str, bytes]:
    """The status of the answer, or 'closed'. Where more is announced than sent, our end closes and the server has to bear it."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        try:
            connection.sendall(sent)
            connection.shutdown(socket.SHUT_WR)
            answer = connection.recv(65_536)
        except OSError:
            return "closed", b""
    if not answer.startswith(b"HTTP/1"):
        return ("without a status" if answer else "closed"), answer  # as HTTP 0.9 has it
    return answer.split(b" ", 2)[1].decode("ascii"), answer


def main(argv: Sequence[str]) -> int:
    options = parser().parse_args(argv)
    faults: list[str] = options.run(options)
    for fault in faults[:20]:
        print(f"fault: {fault}")
    return 1 if faults else 0


def parser() -> Arguments:
    found = Arguments(description=__doc__)
    commands = found.add_subparsers(required=True, metavar="COMMAND")
    for name, run, count in (
        ("latency", run_latency, 30),
        ("memory", run_memory, 0),
        ("clicks", run_clicks, 1000),
        ("requests", run_requests, 10_000),
    ):
        added = commands.add_parser(name)
        added.set_defaults(run=run)
        added.add_argument("--seed", type=int, default=1)
        if count:
            added.add_argument("--count", type=int, default=count)
        else:
            added.add_argument("--minutes", type=float, default=60.0)
            added.add_argument("--seconds", type=float, default=3.0, help="for each position")
    return found


if __name__ == "__main__":
    run_command(main)
