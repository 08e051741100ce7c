"""The page's server: who is answered, what is refused, and that a table keeps the laws of its game."""

import base64
import contextlib
import http.client
import json
import math
import socket
import subprocess
import sys
import threading
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest

from arena.page.judging import verdict
from arena.page.server import MOST_TABLES, PageServer
from arena.page.table import Table
from arena.page.thinking import analyst, progress
from arena.page.tree import Score, Tree
from arena.players import make_player
from base.errors import UserError
from base.seeds import below, generator
from benchmarks.page import serving
from classical.eval import default_eval
from games import CHANCE, load
from games.engine.information import resampler
from games.formats import sgf
from games.formats.pgn import CHESS
from games.record import make_record, read_records

ROOT = Path(__file__).parent.parent
FIRST = "tic_tac_toe"
LONGEST = 60.0  # seconds that a test waits for what should come within one


@pytest.fixture(scope="module")
def server():
    with serving() as made:
        yield made


def request(server, method, path, body=None, headers=None, kind="application/json"):
    """Status, headers, content."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=LONGEST)
    given = {"Content-Type": kind} if method == "POST" else {}
    content = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    try:
        connection.request(method, path, content, given | (headers or {}))
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read()
    finally:
        connection.close()


def post(server, path, given):
    status, _, content = request(server, "POST", path, given)
    return status, json.loads(content)


def begin(server, game=FIRST, **given):
    status, answer = post(server, "/api/tables", {"game": game, **given})
    assert status == 200, answer
    return answer["table"], server.tables[answer["table"]]


def until(condition):
    end = time.monotonic() + LONGEST
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)


def events(server, table, count, path="events"):
    """So many events of a table: name and data."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=LONGEST)
    connection.request("GET", f"/api/tables/{table}/{path}")
    answer = connection.getresponse()
    assert answer.status == 200 and answer.getheader("Content-Type") == "text/event-stream"
    found = []
    while len(found) < count:
        line = answer.readline().decode()
        if line.startswith("event: "):
            found.append((line[7:].strip(), json.loads(answer.readline().decode()[6:])))
    connection.close()
    return found


# ── who is answered ──


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "0.0.0.0:{port}", ""]
)
@pytest.mark.parametrize(("method", "path"), [("GET", "/"), ("GET", "/api/games"), ("POST", "/api/tables")])
def test_a_request_under_another_host_is_refused(server, host, method, path):
    body = {"game": FIRST} if method == "POST" else None
    status, _, content = request(server, method, path, body, {"Host": host.format(port=server.port)})
    assert status == 403 and b"\n" not in content and json.loads(content)["error"].startswith("host: expected")


@pytest.mark.parametrize(
    "headers", [{"Origin": "http://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}]
)
def test_a_request_from_another_page_is_refused(server, headers):
    before = len(server.tables)
    for path in ("/api/tables", "/api/tables/00000000/undo"):
        status, _, content = request(server, "POST", path, {"game": FIRST}, headers)
        assert status == 403 and "expected" in json.loads(content)["error"]
    assert len(server.tables) == before


def test_a_request_from_this_page_is_answered_under_both_names(server):
    for name in ("127.0.0.1", "localhost"):
        own = {
            "Host": f"{name}:{server.port}",
            "Origin": f"http://{name}:{server.port}",
            "Sec-Fetch-Site": "same-origin",
        }
        assert request(server, "GET", "/api/games", headers=own)[0] == 200


def test_a_form_of_another_page_cannot_post(server):
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""):
        status, _, content = request(server, "POST", "/api/tables", {"game": FIRST}, kind=kind)
        assert status == 400 and "expected application/json" in json.loads(content)["error"]


def test_it_listens_to_this_machine_alone_and_answers_say_so(server):
    assert server.server_address[0] == "127.0.0.1"
    _, headers, _ = request(server, "GET", "/")
    assert "default-src 'self'" in headers["Content-Security-Policy"] and headers["X-Content-Type-Options"] == "nosniff"


# ── what is served ──


def test_the_page_and_its_parts_are_served_and_name_nothing_elsewhere(server):
    for path, (content, kind) in server.files.items():
        status, headers, found = request(server, "GET", path)
        assert (status, found) == (200, content) and headers["Content-Type"].startswith(kind)
        text = content.decode().replace("http://www.w3.org/2000/svg", "")
        assert "http://" not in text and "https://" not in text


@pytest.mark.parametrize(
    "path",
    ["/server.py", "/../server.py", "/..%2fserver.py", "/%2e%2e/server.py", "//etc/passwd", "/files/index.html", "/api",
     "/index.html/", "/api/tables/00000000/events",
     "/api/tables/../../x", "/api/tables/00000000/save/../../../x", "/.", "/%00", "/api/tables//save/log"],
)  # fmt: skip
def test_nothing_else_is_served(server, path):
    status, _, content = request(server, "GET", path)
    assert status in (400, 404) and b"\n" not in content and json.loads(content)["error"]


MALFORMED = [
    b"",
    b"{",
    b"[]",
    b"null",
    b'"text"',
    b"{}",
    b'{"game": 1}',
    b'{"game": "no_such_game"}',
    b'{"game": "tic_tac_toe", "seats": ["human"]}',
    b'{"game": "tic_tac_toe", "seats": [1, 2]}',
    b'{"game": "tic_tac_toe", "seats": ["human", "no_such_player"]}',
    b'{"game": "tic_tac_toe", "seed": -1}',
    b'{"game": "tic_tac_toe", "seed": true}',
    b'{"game": "tic_tac_toe", "position": "nonsense"}',
    b'{"game": "tic_tac_toe", "what": 1}',
    b'{"game": "tic_tac_toe", "file": {}}',
    b'{"game": "tic_tac_toe", "file": {"name": "x.txt", "content": "***"}}',
    b'{"game": "tic_tac_toe", "file": {"name": "x.exe", "content": ""}}',
    b'{"game": "tic_tac_toe", "file": {"name": "x.txt", "content": "YTkgYjkK"}}',
    b'{"game": "tic_tac_toe", "file": {"name": "x.log", "content": "AAAA"}}',
    b'{"game": "tic_tac_toe", "run": {"name": "../..", "number": 0}}',
    b'{"game": "tic_tac_toe", "run": {"name": "no", "number": -1}}',
    b'{"game": "tic_tac_toe", "game": "chess"}',
    b'{"game": "\\ud800"}',
    b'{"seed": NaN}',
    b"[" * 5000,
    b"\xff\xfe",
]


@pytest.mark.parametrize("body", MALFORMED, ids=range(len(MALFORMED)))
def test_what_is_wrong_with_a_request_is_one_line_and_a_4xx(server, body, capfd):
    status, _, content = request(server, "POST", "/api/tables", body)
    error = json.loads(content)["error"]
    assert 400 <= status < 500 and error and "\n" not in error and "Traceback" not in error
    assert capfd.readouterr() == ("", "")


COMMANDS = [
    "play",
    "undo",
    "go",
    "seat",
    "dice",
    "hide",
    "analyse",
    "analyst",
    "solve",
    "line",
    "no_such",
    "close",
    "data",
]
VALUES = [
    None,
    True,
    -1,
    10**6,
    2**63,
    1.5,
    "x",
    "human",
    "[",
    [],
    {},
    [1, 2],
    [10**9],
    ["x"],
    "uct:sims=-1",
    "\u202e" * 3,
    "y" * 5000,
]


def test_random_commands_are_refused_or_carried_out_and_leave_the_table_sound(server, capfd):
    name, table = begin(server, seats=["human", "human"])
    rng = generator(0, "commands")
    keys = ["node", "action", "actions", "seat", "player", "asks", "hidden", "on", "other"]
    statuses = set()
    for _ in range(1500):
        command = COMMANDS[below(rng, len(COMMANDS))]
        given = {keys[below(rng, len(keys))]: VALUES[below(rng, len(VALUES))] for _ in range(below(rng, 3))}
        status, answer = post(server, f"/api/tables/{name}/{command}", given)
        statuses.add(status)
        assert status in (200, 400, 404), (command, given, answer)
        assert status == 200 or "\n" not in answer["error"]
    assert 400 in statuses
    assert json.dumps(table.data())
    assert capfd.readouterr().err == ""


def test_bytes_that_are_no_requests_end_their_connection_and_nothing_else(server, capfd):
    rng = generator(1, "bytes")
    heads = [
        b"",
        b"GET / HTTP/1.1\r\n",
        b"POST /api/tables HTTP/1.1\r\n",
        b"GET " + b"x" * 70_000,
        b"\x16\x03\x01\x02\x00",
        b"PUT / HTTP/1.1\r\nHost: x\r\n\r\n",
    ]
    tails = [
        b"\r\n\r\n",
        b"Content-Length: -1\r\n\r\n",
        b"Content-Length: 99999999999\r\n\r\n",
        b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"Host: a\r\nHost: b\r\n\r\n",
    ]
    for _ in range(300):
        noise = bytes(below(rng, 256) for _ in range(below(rng, 200)))
        data = heads[below(rng, len(heads))] + noise[: below(rng, 2) * 200] + tails[below(rng, len(tails))]
        with (
            socket.create_connection(("127.0.0.1", server.port), timeout=LONGEST) as connection,
            contextlib.suppress(OSError),
        ):
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            answer = connection.recv(1 << 16)
            assert not answer or b" 200 " not in answer.split(b"\r\n")[0]
    assert request(server, "GET", "/")[0] == 200
    assert capfd.readouterr().err == ""


# ── what the page may name ──


@pytest.mark.parametrize(
    "text",
    ["uci:stockfish", 'gtp:"gnugo --mode gtp"', "syzygy:/tmp", "alphabeta:depth=2,eval=/etc/passwd",
     "alphabeta:depth=2,book=/etc/passwd", "net:/etc",
     "net:../x,sims=2", "net:no_such,sims=2", "human:x=1", "x" * 400, "alphabeta:depth=2\n"],
)  # fmt: skip
def test_programs_and_files_are_named_on_the_command_line_alone(server, text):
    status, answer = post(server, "/api/tables", {"game": FIRST, "seats": ["human", text]})
    assert status == 400 and "\n" not in answer["error"]
    name, _ = begin(server)
    for command, given in (("seat", {"seat": 0, "player": text}), ("analyst", {"player": text})):
        assert post(server, f"/api/tables/{name}/{command}", given)[0] == 400


@pytest.mark.parametrize(
    "text", ["./x.py", "/etc/passwd", "tree:/etc/passwd", "tree:x.json", "../games/nim.py", "", "x" * 400]
)
def test_games_are_the_programs_own_or_named_on_the_command_line(server, text):
    status, answer = post(server, "/api/tables", {"game": text})
    assert status == 400 and answer["error"]


def test_a_game_and_a_player_of_the_command_line_can_be_chosen(tmp_path):
    path = tmp_path / "own.py"
    path.write_text((ROOT / "games" / "nim.py").read_text())
    made = PageServer(0, (str(path),), ("uct:sims=7,seed=3",))
    try:
        assert made.choosing.games()[0]["text"] == str(path)
        game = made.choosing.game(str(path))
        assert made.choosing.check("uct:sims=7,seed=3", game)
        assert made.choosing.analyst(game) == "uct:sims=7,seed=3"
    finally:
        made.server_close()


def test_tables_are_bounded_and_the_oldest_is_closed(server):
    first, table = begin(server)
    table.used = -1.0
    for _ in range(MOST_TABLES):
        begin(server)
    assert len(server.tables) <= MOST_TABLES and table.is_closed
    assert post(server, f"/api/tables/{first}/undo", {})[0] == 404


# ── a table ──


def test_a_game_is_played_to_its_end_and_each_page_is_sent_the_same(server):
    name, table = begin(server, seats=["human", "random"], seed=3)
    until(lambda: table.tree.root.exact is not None or table.tree.root.unsolved)
    table.command("solve", {"on": False})
    while table.at.outcome is None:
        until(lambda: table.at.mover == 0 or table.at.outcome is not None)
        if table.at.outcome is None:
            action = table.choices(table.at.number)["moves"][0]["action"]
            assert post(server, f"/api/tables/{name}/play", {"node": table.at.number, "action": action}) == (200, {})
    first, second = (dict(events(server, name, 4)) for _ in range(2))
    assert first == second and first["state"]["outcome"] == list(table.at.outcome) and first["moves"]["moves"] == []


def test_a_move_for_a_position_that_is_no_longer_shown_is_dropped(server):
    name, table = begin(server, seats=["human", "human"])
    assert post(server, f"/api/tables/{name}/play", {"node": 0, "action": 4})[0] == 200
    status, answer = post(server, f"/api/tables/{name}/play", {"node": 0, "action": 0})
    assert status == 200 and "changed" in answer["dropped"] and table.at.ply == 1
    assert post(server, f"/api/tables/{name}/play", {"node": table.at.number, "action": 4})[0] == 400


def test_a_move_is_typed_by_its_name_or_as_in_books(server):
    _, table = begin(server, CHESS, seats=["human", "human"])
    for word in ("e2e4", "e5", "Nf3"):
        table.command("type", {"node": table.at.number, "word": word})
    assert [row[2] for row in table.data()["nodes"]] == ["", "e4", "e5", "Nf3"]
    with pytest.raises(UserError, match="Ke4"):
        table.command("type", {"node": table.at.number, "word": "Ke4"})


def test_taking_back_takes_the_answer_too_and_the_variation_stays(server):
    _, table = begin(server, seats=["human", "random"], seed=1)
    table.command("play", {"node": 0, "action": 4})
    until(lambda: table.at.ply == 2)
    table.command("undo", {})
    assert table.at is table.tree.root and len(table.tree.nodes) == 3
    table.command("play", {"node": 0, "action": 0})
    until(lambda: table.at.ply == 2)
    assert [child.action for child in table.tree.root.children] == [4, 0]
    assert [node.action for node in table.tree.line(table.at)[1:2]] == [0]
    assert [row[9] for row in table.data()["nodes"] if row[1] == 0] == [True, False]


def test_players_wait_where_a_person_looks_back_and_go_on_from_there(server):
    _, table = begin(server, seats=["random", "random"], seed=2)
    until(lambda: table.at.outcome is not None)
    end = table.at
    table.command("go", {"node": 2})
    time.sleep(0.2)
    assert table.at.number == 2 and not table.is_playing
    table.command("resume", {})
    until(lambda: table.at.outcome is not None)
    assert table.at.ply >= 5 and table.tree.nodes[end.number] is end


def test_what_a_player_answers_after_the_position_changed_is_dropped(server, monkeypatch):
    _, table = begin(server, seats=["human", "random"], seed=1)
    may_answer, asked = threading.Event(), threading.Event()

    class Slow:
        def choose(self, state):
            asked.set()
            may_answer.wait(LONGEST)
            raise UserError("too late to matter")

        def new_game(self, seed=None):
            pass

        def advance(self, action):
            pass

    made = []

    def make(text, game):
        made.append(make_player(text, game) if made else Slow())
        return made[-1]

    monkeypatch.setattr("arena.page.table.make_player", make)
    table.command("play", {"node": 0, "action": 4})
    assert asked.wait(LONGEST)
    assert table.data()["busy"]["seat"] == 1
    with pytest.raises(UserError, match="a player is choosing"):
        table.command("play", {"node": table.at.number, "action": 0})
    table.command("undo", {})
    assert table.at is table.tree.root and table.busy is None
    table.command("play", {"node": 0, "action": 4})
    until(lambda: table.at.ply == 2)  # by another player, without waiting for the slow one
    reached = table.at
    may_answer.set()
    time.sleep(0.2)
    assert table.at is reached and not table.trouble and len(made) == 2


def test_a_player_that_fails_is_named_and_the_game_waits(server):
    _, table = begin(server, "connect_four", seats=["human", "solver:nodes=1"])
    table.command("play", {"node": 0, "action": 3})
    until(lambda: table.trouble)
    assert "solver:nodes=1 cannot move: " in table.trouble and not table.is_playing and table.at.ply == 1
    table.command("seat", {"seat": 1, "player": "random"})
    table.command("resume", {})
    until(lambda: table.at.ply == 2)
    assert not table.trouble


def test_dice_are_rolled_equally_after_taking_back_or_entered(server):
    _, table = begin(server, "backgammon", seats=["human", "human"], seed=5)
    until(lambda: table.at.mover != CHANCE)
    rolled = table.at.action
    table.command("go", {"node": 0})
    time.sleep(0.1)
    assert table.at.mover == CHANCE
    table.command("resume", {})
    until(lambda: table.at.mover != CHANCE)
    assert table.at.action == rolled
    table.command("dice", {"asks": True})
    table.command("go", {"node": 0})
    table.command("resume", {})
    time.sleep(0.1)
    other = next(each for each in load("backgammon").legal_actions(table.at.state) if each != rolled)
    table.command("play", {"node": 0, "action": other})
    assert table.at.action == other


def test_resigning_loses(server):
    _, table = begin(server, "dots_and_boxes:players=3", seats=["human"] * 3)
    table.command("resign", {})
    assert table.data()["outcome"][0] == min(table.data()["outcome"]) < 0 and "resigns" in table.data()["ending"]
    with pytest.raises(UserError, match="over"):
        table.tree.play(table.at, 0)


# ── who sees what ──

HIDING = ["kuhn_poker", "leduc_poker", "liars_dice", "phantom_tic_tac_toe", "hearts:players=3,ranks=4"]


def seen_by(server, game, path, seat):
    """A table after these actions, of which `seat` is a person's and which sends that seat's view."""
    with pytest.MonkeyPatch.context() as patch:
        # no analysis, which would value the first position by the clock
        patch.setattr(Table, "_follow", lambda table: None)
        table = Table(server.choosing, game, ["random"] * game.players, analysed=True)
    table.seats[seat], table.is_open = "human", False
    table.command("analyse", {"on": False})
    for action in path:
        table._go(table.tree.play(table.at, action))
    table.close()
    return table


def another_world(game, state, seat, rng):
    """A path that the seat cannot tell from the one that led here."""
    states, path = game.blanks(3), np.zeros(game.rules.max_plies, np.int32)
    states[0] = game.view(state, seat)
    plies = game.kernel(resampler)(states, np.zeros(game.rules.max_legal, np.int32), path, seat, rng, np.zeros(1))
    return path[:plies].tolist()


@pytest.mark.parametrize("name", HIDING)
def test_what_is_sent_depends_on_what_the_seat_has_noticed_alone(server, name):
    game, rng, others = load(name), generator(1, "worlds", name), 0
    while others < 6:
        path, state = [], game.initial()
        while game.to_move(state) is not None:
            mover = game.to_move(state)
            if mover != CHANCE and below(rng, game.rules.max_plies) < 3:
                for seat in range(game.players):
                    world = another_world(game, state, seat, rng)
                    one, other = seen_by(server, game, path, seat), seen_by(server, game, world, seat)
                    assert one.seat == seat and json.dumps(one.data()) == json.dumps(other.data())
                    for each in range(len(one.data()["nodes"])):
                        assert one.choices(each) == other.choices(each)
                    at = one.data()["at"]
                    for each in (one, other):
                        with pytest.raises(UserError, match=f"from 0 to {len(one.data()['nodes']) - 1}, got 999"):
                            each.choices(999)
                    assert bool(one.choices(at)["moves"]) == (mover == seat)
                    others += world != path
            legal = game.legal_actions(state)
            path.append(legal[below(rng, len(legal))])
            state = game.result(state, path[-1])


def test_a_hidden_game_is_played_saved_and_shown_whole_only_when_it_is_over(server):
    name, table = begin(server, "kuhn_poker", seats=["human", "cfr:iterations=50"], seed=5)
    until(lambda: table.at.mover == 0)
    data = table.data()
    assert data["seat"] == 0 and [row[2] for row in data["nodes"]][1:] == [table.at.parent.name, "dealt"]
    assert request(server, "GET", f"/api/tables/{name}/save/log")[0] == 400
    table.command("analyst", {"player": "cfr:iterations=50"})
    until(lambda: table.found_data() is not None)
    assert sum(row["prior"] for row in table.found_data()["candidates"]) == pytest.approx(1)
    other = Table(server.choosing, table.game, ["cfr:iterations=50", "human"], seed=5)
    other.command("go", {"node": 0})
    for given in ({"node": 0, "action": 2}, {"node": 0, "action": 0}):
        with pytest.raises(UserError, match="another player"):
            other.command("play", given)
    with pytest.raises(UserError, match="of the player whose view"):
        other.line(0, [2])
    other.close()
    while table.at.outcome is None:
        until(lambda: table.at.mover == 0 or table.at.outcome is not None)
        if table.at.outcome is None:
            table.command("play", {"node": table.data()["at"], "action": 1})
    data = table.data()
    assert data["seat"] is None and data["outcome"] and "dealt" not in [row[2] for row in data["nodes"]]
    assert request(server, "GET", f"/api/tables/{name}/save/log")[0] == 200


def test_of_two_persons_nothing_is_shown_until_the_one_to_move_is_ready(server):
    _, table = begin(server, "kuhn_poker", seats=["human", "human"], seed=5)
    until(lambda: table.at.mover == 0)
    for mover in (0, 1):
        data = table.data()
        assert data["seat"] == -1 and len(data["nodes"]) == 1 and not table.choices(0)["moves"]
        assert "Q" not in json.dumps(data["picture"]) and "card=0,0" in data["text"]
        table.command("ready", {})
        data = table.data()
        assert data["seat"] == mover and [row[2] == "dealt" for row in data["nodes"][1:3]] == [mover == 1, mover == 0]
        table.command("play", {"node": data["at"], "action": 0})
    assert table.data()["seat"] is None


# ── values ──


@pytest.mark.parametrize(
    ("game", "text"),
    [(FIRST, "uct:sims=50"), (FIRST, "alphabeta:depth=2"), (FIRST, "net:tic_tac_toe/best,sims=8"), (FIRST, "solver")],
)
def test_an_analysis_grows_and_ends_when_it_is_closed(game, text):
    game = load(game)
    searching = progress(analyst(text, game), game.initial())
    nodes = []
    for found in searching:
        nodes.append(found.choice.nodes)
        assert found.choice.action in game.legal_actions(game.initial())
        assert all(line[0] == action for action, line in found.lines.items())
        if len(nodes) == 4:
            break
    searching.close()
    assert nodes and nodes == sorted(nodes) and nodes[0] > 0


def test_an_analysis_is_sent_recorded_and_follows_the_position(server):
    name, table = begin(server, "connect_four", analyse=True)
    until(lambda: table.found is not None)
    number, data, _ = table.found
    assert number == 0 and len(data["utilities"]) == 2 and data["candidates"][0]["line"]
    assert table.tree.root.utilities is not None
    table.command("play", {"node": 0, "action": 3})
    until(lambda: table.found is not None and table.found[0] == table.at.number)
    table.command("analyse", {"on": False})
    assert table.found is None
    assert any(event == "found" for event, _ in events(server, name, 4))


def test_a_hint_is_recorded_with_the_game(server):
    _, table = begin(server, seats=["human", "human"])
    table.command("hint", {})
    table.command("play", {"node": 0, "action": 4})
    table.command("analyse", {"on": False})
    assert table.record().metadata["hints"] == [1, 0]


def test_the_solver_names_the_move_that_gave_the_value_away(server):
    _, table = begin(server, seats=["human", "human"])
    game = load(FIRST)
    for word in ("a1", "b1"):  # a draw at best for a1; b1 loses to a well-known fork
        table.command("play", {"node": table.at.number, "action": game.action(table.at.state, word)})
    until(
        lambda: table.at.exact is not None and table.tree.root.exact is not None and table.at.parent.exact is not None
    )
    rows = table.data()["nodes"]
    assert [row[6] for row in rows] == ["", "", "gave the draw away"]
    assert rows[2][4] == [1.0, -1.0]


def test_a_mistake_is_measured_by_one_search_or_by_the_values_before_and_after():
    game = load(FIRST)
    tree = Tree(game)
    node, other = tree.play(tree.root, 4), tree.play(tree.root, 0)
    assert verdict(game, tree.root, node) == ""
    tree.root.utilities, tree.root.scores = (0.5, -0.5), {4: Score(0.5, 0.0), 1: Score(0.2, 0.0)}
    node.utilities = (-0.9, 0.9)  # by another search, of another depth: it does not count
    assert verdict(game, tree.root, node) == ""
    tree.root.scores = {4: Score(0.25, 0.0), 1: Score(0.5, 0.0)}
    assert verdict(game, tree.root, node) == "?"
    tree.root.scores[4] = Score(0.25, 0.1)  # few simulations: 0.25 below is no more than chance makes of 0.2
    assert verdict(game, tree.root, node) == ""
    other.utilities = (0.0, 0.0)
    assert verdict(game, tree.root, other) == "??"
    tree.root.error = 0.15
    assert verdict(game, tree.root, other) == "?"
    tree.root.exact, other.exact = (0.0, 0.0), (0.0, 0.0)
    assert verdict(game, tree.root, other) == ""
    other.exact = (-1.0, 1.0)
    assert verdict(game, tree.root, other) == "gave the draw away"


def test_eval_is_shown_feature_by_feature_and_adds_up(server):
    _, table = begin(server, "connect_four", seats=["human", "human"])
    (_, mover, _, total), *rows = table.data()["eval"]
    unit = default_eval(table.game).unit
    assert mover == 0 and total == pytest.approx(0.999 * math.tanh(unit * sum(row[3] for row in rows)), abs=1e-6)
    assert all(row[3] == pytest.approx(row[1] * row[2]) for row in rows)


def test_a_line_is_shown_without_changing_the_table(server):
    name, table = begin(server, "connect_four", seats=["human", "human"])
    before = table.data()
    status, answer = post(server, f"/api/tables/{name}/line", {"node": 0, "actions": [3, 3, 2]})
    assert status == 200 and answer["steps"] == [["5,3"], ["4,3"], ["5,2"]]
    assert table.data() == before
    assert post(server, f"/api/tables/{name}/line", {"node": 0, "actions": [3] * 7})[0] == 400


@pytest.mark.parametrize("text", ["uct:sims=50", "alphabeta:depth=2", "net:tic_tac_toe/best,sims=8"])
def test_a_searched_tree_is_drawn(server, text):
    name, table = begin(server)
    table.command("analyst", {"player": text})
    table.command("analyse", {"on": False})
    status, answer = post(server, f"/api/tables/{name}/tree", {"node": 0})
    assert status == 200 and ElementTree.fromstring(answer["svg"]).tag.endswith("svg")
    table.command("analyst", {"player": "random"})
    assert post(server, f"/api/tables/{name}/tree", {"node": 0})[0] == 400


# ── files ──


def test_a_file_of_several_games_is_listed(server):
    content = base64.b64encode(b"b2 a1 c3\na1 b2\n").decode()
    status, answer = post(
        server, "/api/tables", {"game": FIRST, "file": {"name": "two.txt", "content": content, "number": 1}}
    )
    assert status == 200 and len(answer["games"]) == 2
    assert [node.name for node in server.tables[answer["table"]].tree.nodes] == ["", "a1", "b2"]


@pytest.mark.parametrize(
    ("name", "form", "text"),
    [
        (FIRST, "txt", "b2 a1 c3"),
        (FIRST, "log", "b2 a1 c3"),
        (CHESS, "pgn", "e2e4 e7e5 g1f3"),
        ("go:size=5,komi=0.5", "sgf", "c3 b2"),
    ],
)
def test_a_game_is_saved_and_opened_again(server, tmp_path, name, form, text):
    table_name, table = begin(server, name)
    table.command("analyse", {"on": False})
    game = table.game
    for word in text.split():
        table.command("play", {"node": table.at.number, "action": game.action(table.at.state, word)})
    status, headers, content = request(server, "GET", f"/api/tables/{table_name}/save/{form}")
    assert status == 200 and f".{form}" in headers["Content-Disposition"]
    path = tmp_path / f"saved.{form}"
    path.write_bytes(content)
    (record,) = read_records(path, game)
    assert record.move_names(game) == " ".join(game.names[action] for action in table.tree.actions(table.at))
    given = {"name": path.name, "content": base64.b64encode(content).decode(), "number": 0}
    _, opened = begin(server, {"pgn": FIRST, "sgf": "go:size=6,komi=1.5"}.get(form, name), file=given)
    assert opened.game.name == game.name  # PGN and SGF name their game, board and komi
    assert [node.action for node in opened.tree.line(opened.at)[1:]] == table.tree.actions(table.at)


def test_a_pgn_that_is_opened_and_saved_keeps_its_tags_and_comments(server):
    text = '[Event "a cup"]\n[White "A"]\n[ECO "C20"]\n\n1. e4 {good} (1. d4) e5 2. Nf3 {better} *\n'
    file = {"name": "a.pgn", "content": base64.b64encode(text.encode()).decode(), "number": 0}
    name, table = begin(server, file=file)
    saved = request(server, "GET", f"/api/tables/{name}/save/pgn")[2].decode()
    for words in ('[Event "a cup"]', '[ECO "C20"]', '[White "A"]', "1. e4 {good} (1. d4) 1... e5 2. Nf3 {better} *"):
        assert words in saved
    table.command("go", {"node": 2})
    table.command("type", {"node": 2, "word": "Bc4"})
    assert "1. e4 {good} (1. d4) 1... e5 2. Bc4 *" in request(server, "GET", f"/api/tables/{name}/save/pgn")[2].decode()


@pytest.mark.parametrize(
    ("head", "name"),
    [("SZ[5]KM[0,5]", "go:size=5,komi=0.5"), ("SZ[6:6]KM[1.5]", "go:size=6,komi=1.5"), ("SZ[5]", "go:size=5,komi=7.5")],
)
def test_an_sgf_names_its_board_and_komi(head, name):
    (text,) = sgf.games_of([(1, f"(;{head};B[aa])")], 100)
    game = load(sgf.spec_of(text))
    assert game.name == name and len(sgf.record_of(text, game)) == 1


@pytest.mark.parametrize(
    ("head", "message"),
    [
        ("SZ[9:13]", "SZ: expected a square board, got 9:13"),
        ("SZ[40]", "size: expected 2 to 19"),
        ("KM[x]", "KM: expected a number"),
    ],
)
def test_an_sgf_of_a_board_that_go_has_not_is_refused(server, head, message):
    content = base64.b64encode(f"(;{head};B[aa])".encode()).decode()
    status, answer = post(server, "/api/tables", {"game": FIRST, "file": {"name": "a.sgf", "content": content}})
    assert status == 400 and message in answer["error"]


def test_a_recorded_game_has_its_targets_and_values(server):
    game = load(FIRST)
    moves = [4, 0, 8]
    record = make_record(
        game, moves, policies=[{4: 0.75, 0: 0.25}, None, None], utilities=[[0.5, -0.5]] * 3, players=["a", "b"]
    )
    table = Table(server.choosing, game, ["human", "human"], analysed=True)
    table.show_record(record, "a record")
    table.command("analyse", {"on": False})
    data = table.data()
    assert data["target"] == {"0": 0.25, "4": 0.75} and data["names"] == ("a", "b") and data["title"] == "a record"
    assert data["nodes"][2][4] is not None
    table.close()


# ── the command ──


def test_the_command_prints_its_address_and_ends_by_a_signal():
    command = [sys.executable, "-m", "arena", "serve", FIRST, "--no-browser", "--port", "0"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline().strip()
        connection = http.client.HTTPConnection(line.removeprefix("http://").strip("/"), timeout=LONGEST)
        connection.request("GET", "/")
        assert b"<title>zermelo" in connection.getresponse().read()
        connection.close()
        process.send_signal(2)
        out, err = process.communicate(timeout=LONGEST)
    assert process.returncode == 130 and "bye" in out and "Traceback" not in err


def test_a_port_that_is_taken_is_one_line(server):
    command = [sys.executable, "-m", "arena", "serve", "--no-browser", "--port", str(server.port)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 2 and "expected one that is free" in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("game", "player"),
    [("kuhn_poker", "alphabeta:depth=2"), ("connect_four", "cfr"), ("dots_and_boxes:players=3", "alphabeta")],
)
def test_a_player_that_cannot_play_the_game_is_refused_before_it_begins(server, game, player):
    seats = [player] + ["human"] * (load(game).players - 1)
    status, answer = post(server, "/api/tables", {"game": game, "seats": seats})
    assert status == 400 and ": expected " in answer["error"]
