"""The page in a real browser: clicks, drag, reload, a phone's width. Skipped where Chromium is missing (`apt-get install chromium`)."""

import os
import re
import shutil
import threading
import time

import playwright.sync_api as playwright
import pytest
from documents import ROOT

from arena.page.server import PageServer
from base.seeds import below, generator
from benchmarks.page import serving
from games import CHANCE

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed"),
    pytest.mark.filterwarnings("default"),  # playwright's own
]

LONGEST = 60_000  # milliseconds that a test waits for what should come within one second


@pytest.fixture(scope="module")
def server():
    with serving() as made:
        yield made


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as tools:
        found = tools.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture
def page(browser):
    """With `faults`: what the console and the page's scripts complained of."""
    context = browser.new_context(viewport={"width": 1300, "height": 850})
    found = context.new_page()
    found.set_default_timeout(LONGEST)
    found.faults = []
    found.on("console", lambda message: found.faults.append(message.text) if message.type == "error" else None)
    found.on("response", lambda answer: refused(answer, found.faults))
    found.on("pageerror", lambda error: found.faults.append(str(error)))
    found.on("dialog", lambda dialog: dialog.dismiss())
    yield found
    context.close()
    assert found.faults == []


def refused(answer, faults):
    """The fault is there at once: its text comes when the test may already have dropped the faults that it provoked."""
    if answer.status >= 400:
        fault = [answer.url]
        faults.append(fault)
        fault.append(answer.text())


def until(page, expression, argument=None):
    """The expression holds. (Playwright's own waits evaluate strings, which the page's security policy forbids.)"""
    end = time.monotonic() + LONGEST / 1000
    while not page.evaluate(expression, argument):
        assert time.monotonic() < end, expression
        page.wait_for_timeout(30)


def begin(server, page, game, seats=None, analyse=False):
    answer = server.new_table({"game": game, "analyse": analyse} | ({"seats": seats} if seats else {}))
    page.goto(f"{server.url}#{answer['table']}")
    page.reload()
    page.wait_for_selector("main:not([hidden])")
    return server.tables[answer["table"]]


def click(page, *places):
    for place in places:
        page.locator(f'[data-place="{place}"]').first.click()


def until_ply(page, table, ply):
    end = time.monotonic() + LONGEST / 1000
    while table.at.ply < ply or page.locator("#moves a.at").count() != (ply > 0):
        assert time.monotonic() < end, table.at.ply
        page.wait_for_timeout(20)


def test_a_game_begins_in_the_dialog_and_is_won_by_clicks(server, page):
    page.goto(server.url)
    page.locator("dialog select[aria-label=game]").select_option("tic_tac_toe")
    page.locator("dialog select[aria-label='player 1']").select_option("human")
    page.locator("dialog button.first").click()
    for ply, place in enumerate(["0,0", "1,0", "0,1", "1,1", "0,2"]):
        page.wait_for_selector(f'#board[data-node="{ply}"]', state="attached")  # it has the moves of this position
        click(page, place)
        until(page, f"document.querySelectorAll('#moves a').length === {ply + 1}")
    until(page, "document.querySelector('#status').textContent.includes('blue wins')")


def test_the_players_of_the_game_chosen_last_are_shown_whichever_answer_comes_last(server, page, monkeypatch):
    may_answer, players = threading.Event(), server.choosing.players
    monkeypatch.setattr(
        server.choosing,
        "players",
        lambda game: (game.name != "connect_four" or may_answer.wait(LONGEST / 1000)) and players(game),
    )
    page.goto(server.url)
    page.locator("dialog select[aria-label=game]").select_option("tic_tac_toe")
    page.locator("dialog select[aria-label='player 1']").select_option("human")
    with page.expect_response(lambda answer: "players?game=connect_four" in answer.url):
        may_answer.set()
    page.locator("dialog button.first").click()
    page.wait_for_selector('#board[data-node="0"]', state="attached")
    assert server.tables[page.url.split("#")[1]].seats == ["human", "human"]


def play_by_clicks(page, table, rng):
    """Random legal moves to the end of the game, each as a person clicks it; dice roll by themselves."""
    while table.at.outcome is None:
        node = table.at
        if node.mover == CHANCE:
            page.wait_for_timeout(5)
            continue
        page.wait_for_selector(f'#board[data-node="{node.number}"]', state="attached")
        moves = table.choices(node.number)["moves"]
        move = moves[below(rng, len(moves))]
        if move["paths"]:
            click(page, *move["paths"][below(rng, len(move["paths"]))])
            several = page.locator("#pick:not([hidden]) button", has_text=re.compile(f"^{re.escape(move['name'])}$"))
            if several.count():
                several.click()
        else:
            page.locator("#buttons button", has_text=re.compile(f"^{re.escape(move['name'])}$")).click()
        end = time.monotonic() + LONGEST / 1000
        while table.at is node:
            assert time.monotonic() < end, (move, node.name)
            page.wait_for_timeout(5)
        assert table.tree.nodes[node.number + 1].action == move["action"], (move, node.name)


GAMES = {
    "connect_four": "",
    "go:size=5": "",
    "othello:size=6": "",
    "checkers": "",
    "backgammon": "BwAA8E8kBigAAA:1:2",
    "dots_and_boxes:players=3,rows=2,cols=2": "",
    "chess": "7k/P7/8/8/8/8/1p6/3K4 w - - 0 1",
    str(ROOT / "docs" / "pop_three.py"): "",
}


@pytest.mark.parametrize("game", GAMES)
def test_a_game_of_each_kind_is_played_to_its_end_by_clicks(game, page):
    with serving(GAMES) as made:
        answer = made.new_table({"game": game, "seed": 3} | ({"position": GAMES[game]} if GAMES[game] else {}))
        page.goto(f"{made.url}#{answer['table']}")
        page.wait_for_selector("main:not([hidden])")
        table = made.tables[answer["table"]]
        play_by_clicks(page, table, generator(1, "by clicks", game))
        until(page, "/ win|draw/.test(document.querySelector('#status').textContent)")
        page.goto("about:blank")


def test_pieces_are_dragged_or_clicked_from_square_to_square(server, page):
    table = begin(server, page, "chess", ["human", "human"])
    click(page, "6,4", "4,4")
    until_ply(page, table, 1)
    start, end = (page.locator(f'[data-place="{place}"]').first.bounding_box() for place in ("1,4", "1,4"))
    page.mouse.move(start["x"] + 20, start["y"] + 20)
    page.mouse.down()
    page.mouse.move(end["x"] + 20, end["y"] + end["height"] + 20, steps=4)
    page.mouse.move(end["x"] + 20, end["y"] + 2 * end["height"] + 20, steps=4)
    page.mouse.up()
    until_ply(page, table, 2)
    assert [node.name for node in table.tree.nodes] == ["", "e4", "e5"]


def test_a_reload_in_the_middle_and_a_second_tab_show_the_same_game(server, page, browser):
    table = begin(server, page, "connect_four", ["human", "human"])
    click(page, "0,3")
    until_ply(page, table, 1)
    page.reload()
    page.wait_for_selector("#moves a.at")
    other = page.context.new_page()
    other.goto(page.url)
    other.wait_for_selector("#moves a.at")
    page.bring_to_front()
    page.wait_for_selector('[data-place="0,2"]')
    click(page, "0,2")
    until_ply(page, table, 2)
    other.bring_to_front()
    until(other, "document.querySelectorAll('#moves a').length === 2")


def test_two_persons_at_one_page_see_their_own_cards_one_after_the_other(server, page):
    table = begin(server, page, "kuhn_poker", ["human", "human"])
    for mover in (0, 1):
        page.locator("#status button", has_text="ready").click()
        page.locator("#buttons button", has_text="pass").wait_for()
        assert page.locator("#moves a.roll").all_inner_texts()[1 - mover] == "dealt"
        assert page.locator("#save").is_hidden()
        page.locator("#buttons button", has_text="pass").click()
        until(page, f"document.querySelectorAll('#moves a').length === {0 if mover == 0 else 4}")
    assert "dealt" not in page.locator("#moves").inner_text() and table.at.outcome is not None


def test_an_answer_that_comes_after_its_table_was_left_changes_nothing(server, page, monkeypatch):
    may_answer, players = threading.Event(), server.choosing.players
    monkeypatch.setattr(server.choosing, "players", lambda game: may_answer.wait(LONGEST / 1000) and players(game))
    begin(server, page, "tic_tac_toe")
    page.evaluate("location.hash = '00000000'")  # a table that is not there: its state never comes
    page.wait_for_selector("#banner:not([hidden])")
    page.faults.clear()  # that it is not there
    may_answer.set()
    page.wait_for_timeout(300)


def test_candidates_are_shown_while_the_search_runs_and_a_line_on_hover(server, page):
    begin(server, page, "connect_four", analyse=True)
    page.wait_for_selector("#candidates tbody tr.best")
    before = page.locator("#found").inner_text()
    until(page, "(before) => document.querySelector('#found').textContent !== before", before)
    page.locator("#candidates tbody tr.best").hover()
    page.wait_for_selector(".step")
    page.mouse.move(5, 5)
    until(page, "document.querySelectorAll('.step').length === 0")


def test_random_clicks_leave_no_error(server, page):
    table = begin(server, page, "checkers", ["human", "random"])
    rng = generator(0, "clicks")
    box = page.locator("main").bounding_box()
    for _ in range(200):
        x, y = below(rng, int(box["width"])), below(rng, int(box["height"]))
        page.mouse.click(box["x"] + x, min(box["y"] + y, 840))
        page.keyboard.press("Escape")
    assert table.data()


def test_a_telephone_shows_it_without_scrolling_aside(server, page):
    page.set_viewport_size({"width": 390, "height": 844})
    for game in ("chess", "backgammon", "dots_and_boxes:players=3"):
        begin(server, page, game)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        board = page.locator("#board").bounding_box()
        assert board["width"] > 300 and board["y"] + board["height"] < 844


def test_a_server_that_is_gone_is_named_and_found_again(page):
    first = PageServer(0)
    threading.Thread(target=first.serve_forever, args=(0.05,), daemon=True).start()
    table = begin(first, page, "tic_tac_toe")
    first.shutdown()
    first.server_close()
    assert table.is_closed
    page.wait_for_selector("#banner:not([hidden])")
    assert page.locator("#banner").inner_text()
    page.faults.clear()  # the browser's, of connections that are refused
    again = PageServer(first.port)
    threading.Thread(target=again.serve_forever, args=(0.05,), daemon=True).start()
    page.reload()
    until(page, "document.querySelector('#banner').textContent.includes('not at th')")
    page.goto("about:blank")
    page.faults.clear()
    again.shutdown()
    again.server_close()
