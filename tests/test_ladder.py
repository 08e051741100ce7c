"""The ladder: results that are never lost nor counted twice, pairings that tell, one scale, reports that stand alone."""

import contextlib
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
import tomllib
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import arena.ladder.reference_players
from arena.__main__ import main
from arena.ladder.ladder import OVERHEAD, Goal, Ladder
from arena.ladder.names import series_of
from arena.ladder.reference_players import ReferencePlayers, read_reference_players, reference_players, with_programs
from arena.ladder.results import Counts, LadderResults, default_file, result_of
from arena.ladder.scale import Scale, checkpoints_of
from arena.ladder.standings import Standings
from arena.match import Job, play_block
from arena.openings import Opening
from arena.players import KeptPlayers, brief, make_player, options_of, pack_player
from base.errors import UserError
from base.local_workers import run_jobs
from base.options import split
from base.workers import WorkerDied
from checkpoints import Card, all_of, folder_of, read_card, resolve, save
from games import load
from games.record import GameRecord
from nets import make_net

NIM = load("nim")
RANDOM, OTHER = "random:seed=0", "random:seed=1"
PLAYERS = ["random", "minimax:depth=1", "solver"]


@pytest.fixture
def ladder_file(tmp_path):
    with LadderResults(tmp_path / "nim.sqlite", NIM) as opened:
        yield opened


def kept(*texts):
    return KeptPlayers("nim", {text: pack_player(make_player(text, NIM)) for text in texts})


def block(number, players=(RANDOM, OTHER), seed=0):
    frames = play_block(kept(*players), Job("nim", players, seed, number, Opening()))
    return [GameRecord.from_bytes(frame) for frame in frames]


def add(ladder_file, times=1):
    for _ in range(times):
        number = ladder_file.take(RANDOM, OTHER)
        ladder_file.add(RANDOM, OTHER, number, 0, Opening(), block(number))
    return times


def rows(ladder_file, what="a, b, number"):
    with sqlite3.connect(ladder_file.path) as base:
        return base.execute(f"SELECT {what} FROM blocks ORDER BY a, b, number").fetchall()


# ── the results file ──


def test_added_results_are_there_when_the_file_is_opened_again(ladder_file):
    add(ladder_file, 5)
    before = ladder_file.counts()[RANDOM, OTHER]
    ladder_file.close()
    with LadderResults(ladder_file.path, NIM) as again:
        after = again.counts()[RANDOM, OTHER]
        assert again.players() == [RANDOM, OTHER]
        assert again.take(RANDOM, OTHER) == 5
    assert after.blocks == 5 and after.results.tolist() == before.results.tolist()


def test_a_stored_block_can_be_played_again(ladder_file):
    ladder = Ladder(NIM, ["random", "random:seed=1"], ladder_file, seed=3)
    ladder.play(Goal(games=8), workers=0)
    found = rows(ladder_file, "number, seed, opening, result, plies")
    assert len({opening for _, _, opening, _, _ in found}) > 1
    for number, seed, opening, result, plies in found:
        actions = tuple(NIM.id_of(word) for word in opening.split())
        frames = play_block(kept(RANDOM, OTHER), Job("nim", (RANDOM, OTHER), int(seed), number, Opening(actions)))
        again = [GameRecord.from_bytes(frame) for frame in frames]
        assert (result_of(again), sum(map(len, again))) == (result, plies)


def test_the_nine_results_are_those_of_the_first_player_in_either_seat(ladder_file):
    seen = Counter()
    for number in range(30):
        games = block(number)
        first, second = (games[0].outcome[0], games[1].outcome[1])  # a's seat in either game
        assert result_of(games) == 3 * (first < 0) * 2 + (second < 0) * 2
        seen[result_of(games)] += 1
    assert set(seen) == {0, 2, 6, 8}  # Nim has no draws


def test_repeated_games_are_kept_but_count_once(ladder_file):
    games = block(0)
    assert ladder_file.add(RANDOM, OTHER, ladder_file.take(RANDOM, OTHER), 0, Opening(), games) is True
    assert ladder_file.add(RANDOM, OTHER, ladder_file.take(RANDOM, OTHER), 0, Opening(), games) is False
    counts = ladder_file.counts()[RANDOM, OTHER]
    assert counts.blocks == 2 and counts.results.sum() == 1 and not counts.is_exhausted
    assert Counts(np.eye(9)[0] * 3, 13).is_exhausted


def adds_many(path):
    with LadderResults(path, NIM) as opened:
        return add(opened, 25)


def test_two_processes_at_once_lose_nothing_and_play_nothing_twice(tmp_path):
    path = tmp_path / "nim.sqlite"
    assert [done for _, done in run_jobs(adds_many, [path, path], 2)] == [25, 25]
    with LadderResults(path, NIM) as opened:
        assert opened.counts()[RANDOM, OTHER].blocks == 50
        assert [number for _, _, number in rows(opened)] == list(range(50))


def adds_and_dies(path):
    opened = LadderResults(path, NIM)
    add(opened, 7)
    opened.take(RANDOM, OTHER)  # a block that it never plays
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_killed_process_loses_nothing_that_was_added(tmp_path):
    path = tmp_path / "nim.sqlite"
    with pytest.raises(WorkerDied):
        list(run_jobs(adds_and_dies, [path], 1))
    with LadderResults(path, NIM) as opened:
        assert opened.counts()[RANDOM, OTHER].blocks == 7
        assert opened.take(RANDOM, OTHER) == 8


def test_results_of_another_process_are_noticed(ladder_file):
    assert ladder_file.has_news()  # it has not looked yet
    add(ladder_file)
    assert not ladder_file.has_news()
    with LadderResults(ladder_file.path, NIM) as other:
        add(other)
    assert ladder_file.has_news() and not ladder_file.has_news()


def spoil(path, how):
    if how == "text":
        path.write_text("these are not the results you are looking for\n" * 100)
    elif how == "other database":
        with sqlite3.connect(path) as base:
            base.execute("CREATE TABLE t (x)")
    elif how == "torn":
        with LadderResults(path, NIM) as opened:
            add(opened, 3)
        path.write_bytes(path.read_bytes()[:5000])
    elif how == "other game":
        LadderResults(path, load("tic_tac_toe")).close()
    elif how == "other version":
        LadderResults(path, NIM).close()
        with sqlite3.connect(path) as base:
            base.execute("UPDATE about SET version = 99")
    elif how == "later format":
        LadderResults(path, NIM).close()
        with sqlite3.connect(path) as base:
            base.execute("PRAGMA user_version = 2")
    elif how == "folder":
        path.mkdir()


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("text", "file is not a database"),
        ("other database", "got a database of something else"),
        ("torn", "malformed"),
        ("other game", "expected results of nim:most=7, version 1, got tic_tac_toe, version 1"),
        ("other version", "got nim:most=7, version 99"),
        ("later format", r"expected a ladder's results \(format 1\), got format 2"),
        ("folder", "unable to open"),
    ],
)
def test_a_file_that_is_no_ladder_of_the_game_is_one_line(tmp_path, how, words):
    path = tmp_path / "nim.sqlite"
    spoil(path, how)
    before = path.read_bytes() if path.is_file() else b""
    with pytest.raises(UserError, match=words) as told, LadderResults(path, NIM) as opened:
        opened.counts()
    assert "\n" not in str(told.value) and str(path) in str(told.value)
    assert not path.is_file() or path.read_bytes() == before


def changed(path, statement, *values):
    """As someone else, or a damaged byte, could change it."""
    with contextlib.closing(sqlite3.connect(path)) as base, base:
        base.execute("PRAGMA ignore_check_constraints = ON")
        base.execute(statement, values)


@pytest.mark.parametrize(
    ("statement", "values", "words"),
    [
        ("UPDATE blocks SET result = -1", (), r"got a row of blocks with number, result, is_new = \(0, -1, 1\)"),
        ("UPDATE blocks SET result = 99", (), r"got a row of blocks with .* = \(0, 99, 1\)"),
        ("UPDATE blocks SET result = 'x'", (), r"got a row of blocks with .* = \(0, 'x', 1\)"),
        ("UPDATE blocks SET result = 1.5", (), "got a row of blocks"),
        ("UPDATE blocks SET is_new = 2", (), "got a row of blocks"),
        ("UPDATE blocks SET a = 77", (), "got a row of blocks"),
        ("UPDATE pairs SET given = 'many'", (), "got a row of pairs"),
        ("UPDATE players SET text = ? WHERE id = 1", (b"\xff\xfe",), "got a row of players"),
        (
            "UPDATE players SET text = text || char(27) || '[31m'",
            (),
            r"expected players' texts on one line, got '.*x1b\[31m'",
        ),
        ("CREATE VIEW v AS SELECT 1", (), "got a view among its tables"),
        ("CREATE TRIGGER t AFTER INSERT ON blocks BEGIN SELECT 1; END", (), "got a trigger among its tables"),
    ],
)
def test_a_file_whose_content_was_changed_is_one_line(ladder_file, statement, values, words):
    add(ladder_file)
    changed(ladder_file.path, statement, *values)
    with pytest.raises(UserError, match=words) as told:
        LadderResults(ladder_file.path, NIM)
    assert "\n" not in str(told.value) and str(ladder_file.path) in str(told.value)


@pytest.mark.parametrize("name", ["<img src=x>", "a`b", "``", "a|b", "[x](javascript:1)", "a\nb"])
def test_a_players_name_is_text_in_the_markdown(name, ladder_file):
    add(ladder_file)
    ladder = Ladder(NIM, ["random", "uct:sims=10"], ladder_file)
    shown = Standings(NIM, ladder.ratings(), ladder.counts, dict.fromkeys(ladder.players, name)).markdown()
    (row, *_) = [line for line in shown.splitlines() if line.startswith("| 1 |")]
    cell = re.split(r"(?<!\\)\|", row)[2].strip()
    fence = re.match("`+", cell)[0]
    inner = cell[len(fence) : -len(fence)]
    assert cell.endswith(fence) and fence not in re.findall("`+", inner)
    assert inner.replace("\\|", "|").strip() == " ".join(name.split())


def test_the_default_file_is_named_after_the_game_and_its_options():
    assert default_file(load("othello:size=6")) == Path("runs/ladders/othello-size=6.sqlite")


# ── the ladder ──


def test_a_ladder_plays_what_is_missing_and_no_more(ladder_file):
    for goal, players in ((12, PLAYERS[:2]), (12, PLAYERS[:2]), (12, PLAYERS)):
        before = rows(ladder_file)
        ladder = Ladder(NIM, players, ladder_file)
        ladder.play(Goal(games=goal), workers=0)
        after = rows(ladder_file)
        assert set(before) <= set(after)
        assert len(after) == goal * len(players) / 4
        assert ladder.ratings().games.sum() <= 2 * 2 * len(after)


def test_a_ladder_orders_players_by_strength(ladder_file):
    ladder = Ladder(NIM, ["solver", "random", "minimax:depth=1"], ladder_file, pairing="round-robin")
    ladder.play(Goal(games=60), workers=0)
    found = ladder.ratings()
    by_name = dict(zip(map(brief, found.players), zip(found.elo, found.low, strict=True), strict=True))
    assert by_name["random"][0] == 0
    assert by_name["solver"][1] > 100
    assert by_name["solver"][0] > by_name["minimax:depth=1"][0] > 0


def test_round_robin_is_even(ladder_file):
    ladder = Ladder(
        NIM, ["random", "random:seed=1", "random:seed=2", "random:seed=3"], ladder_file, pairing="round-robin"
    )
    ladder.play(Goal(games=18), workers=0)
    assert sorted(counts.blocks for counts in ladder.counts.values()) == [3] * 6


def test_adaptive_pairing_avoids_one_sided_games(ladder_file):
    """Weak, middling and strong: the weak one hardly ever makes a point against the strong one, so they need not meet."""
    weak, middling, strong = (f"random:seed={seed}" for seed in range(3))
    ladder = Ladder(NIM, [weak, middling, strong], ladder_file)
    for pair, lost in (((weak, middling), 3), ((middling, strong), 3), ((weak, strong), 0)):
        counts = np.zeros(9)
        counts[8], counts[0] = 30 - lost, lost
        ladder.counts[pair] = Counts(counts, 30)
    ladder_file.has_news()  # or the ladder would read the empty file
    chosen, under_way = [], Counter()
    for _ in range(12):
        chosen.append(ladder.choose(ladder.pairs(), under_way))
        under_way[chosen[-1]] += 1
    assert set(chosen) == {(weak, middling), (middling, strong)}


def test_pairing_per_second_plays_the_quick_pair_until_the_slow_one_tells_more_for_its_time(ladder_file, monkeypatch):
    quick, slow, other = players = [f"random:seed={seed}" for seed in range(3)]
    chosen = {}
    for pairing in ("adaptive", "per-second"):
        ladder = Ladder(NIM, players, ladder_file, pairing=pairing)
        monkeypatch.setattr(ladder, "seconds", lambda *pair: 9.0 if slow in pair else 1.0)
        for pair in ladder.pairs():
            ladder.counts[pair] = Counts(np.ones(9), 9)
        ladder_file.has_news()  # or the ladder would read the empty file
        under_way = Counter()
        for _ in range(60):
            under_way[ladder.choose(ladder.pairs(), under_way)] += 1
        chosen[pairing] = under_way[quick, other], under_way.total()
    assert chosen["adaptive"] == (20, 60)
    assert 30 < chosen["per-second"][0] < 60


def test_seconds_of_a_block_are_those_of_both_players_moves(ladder_file):
    ladder, before = Ladder(NIM, PLAYERS, ladder_file), time.perf_counter()
    ladder.play(Goal(games=12), workers=0)
    passed = time.perf_counter() - before
    moves = sum(counts.blocks * (ladder.seconds(*pair) - OVERHEAD) for pair, counts in ladder.counts.items())
    assert 0 < moves < passed


def test_a_new_player_plays_first(ladder_file):
    Ladder(NIM, PLAYERS, ladder_file, pairing="round-robin").play(Goal(games=24), workers=0)
    ladder = Ladder(NIM, [*PLAYERS, "random:seed=5"], ladder_file)
    for _ in range(3):
        assert "random:seed=5" in ladder.choose(ladder.pairs())


def test_a_goal_of_one_player_plays_only_its_games(ladder_file):
    ladder = Ladder(NIM, [*PLAYERS, "random:seed=5"], ladder_file)
    Ladder(NIM, PLAYERS, ladder_file).play(Goal(games=10), workers=0)
    before = rows(ladder_file)
    ladder.play(Goal(games=20, of="random:seed=5"), workers=0)
    players = {text: number for number, text in sqlite3.connect(ladder_file.path).execute("SELECT * FROM players")}
    new = set(rows(ladder_file)) - set(before)
    assert len(new) == 10 and all(players["random:seed=5"] in pair[:2] for pair in new)


def test_an_interval_can_be_the_goal(ladder_file):
    ladder = Ladder(NIM, ["random", "random:seed=1", "random:seed=2"], ladder_file)
    ladder.play(Goal(interval=70), workers=0)
    assert ladder.ratings().interval_of() <= 70
    assert 30 < ladder.blocks() < 1000


def test_ctrl_c_keeps_all_results_and_the_same_ladder_resumes(ladder_file):
    ladder, calls = Ladder(NIM, PLAYERS, ladder_file), []

    def progress(done, total):
        calls.append((done, total))
        if len(calls) == 4:
            raise KeyboardInterrupt

    ladder.play(Goal(games=20), 0, progress)
    assert calls == [(2, 30), (4, 30), (6, 30), (8, 30)]
    assert ladder.is_interrupted and len(rows(ladder_file)) == 4
    Ladder(NIM, PLAYERS, ladder_file).play(Goal(games=20), workers=0)
    assert len(rows(ladder_file)) == 15


def test_workers_play_the_same_blocks(ladder_file, tmp_path):
    found = []
    for workers in (0, 2):
        with LadderResults(tmp_path / f"{workers}.sqlite", NIM) as opened:
            Ladder(NIM, PLAYERS, opened, pairing="round-robin").play(Goal(games=8), workers)
            found.append(sorted(rows(opened, "seed, number, opening, result, digest")))
    assert found[0] == found[1]


def test_players_that_only_repeat_their_games_end_a_ladder(ladder_file):
    ladder = Ladder(NIM, ["minimax:depth=1", "minimax:depth=2"], ladder_file, openings="plies=1")
    ladder.play(Goal(interval=1e-6), workers=0)
    (counts,) = ladder.counts.values()
    assert ladder.has_only_repetitions and counts.results.sum() < counts.blocks < 100


@pytest.mark.parametrize(
    ("players", "anchor", "words"),
    [
        (["random"], None, "expected two different players or more, got random"),
        (["random", "random:seed=0"], None, "expected two different players"),
        (["random", "solver"], "minimax:depth=1", "anchor: expected one of the players, got minimax:depth=1"),
        (["random", "sover"], None, "unknown player 'sover'.*did you mean 'solver'"),
    ],
)
def test_impossible_ladders_are_one_line(ladder_file, players, anchor, words):
    with pytest.raises(UserError, match=words):
        Ladder(NIM, players, ladder_file, anchor)


def test_games_of_three_players_have_no_ladder(tmp_path):
    game = load("dots_and_boxes:rows=1,cols=1,players=3")
    with (
        LadderResults(tmp_path / "three.sqlite", game) as opened,
        pytest.raises(UserError, match=r"two players, got .*\(3 players\)"),
    ):
        Ladder(game, PLAYERS, opened)


# ── the reference players ──


@pytest.mark.parametrize(
    "path", sorted(arena.ladder.reference_players.FOLDER.glob("*.toml")), ids=lambda path: path.stem
)
def test_reference_players_are_players_of_their_game(path):
    game, reference = load(path.stem), read_reference_players(path)
    assert reference_players(game) == reference
    assert reference.anchor == "random" and len(set(reference.players)) == len(reference.players)
    assert set(reference.programs) <= {game.name}
    for text in [*reference.players, *reference.programs.get(game.name, ())]:
        kind, given = split(text)
        options_of(kind).resolve(given)
        assert game.rules.chance is None or kind not in ("alphabeta", "minimax", "solver")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("players = [", "expected TOML"),
        (
            'anchor = "random"\nplayer = []',
            "expected anchor, players, openings, programs, got 'player'; did you mean 'players'",
        ),
        ('anchor = "random"\nplayers = ["random"]', "expected a list of two players or more"),
        ('anchor = "randm"\nplayers = ["random", "solver"]', "anchor: expected one of the players, got 'randm'"),
        ('anchor = "random"\nplayers = ["random", "solver"]\nopenings = 3', "openings: expected text, got 3"),
        (
            'anchor = "random"\nplayers = ["random", "solver"]\nprograms = ["gnugo"]',
            "programs: expected a table of games",
        ),
    ],
)
def test_a_file_of_reference_players_that_cannot_be_read_is_one_line(tmp_path, text, words):
    path = tmp_path / "nim.toml"
    path.write_text(text)
    with pytest.raises(UserError, match=words):
        read_reference_players(path)


def test_a_file_with_the_old_key_rungs_is_read(tmp_path):
    path = tmp_path / "nim.toml"
    path.write_text('anchor = "random"\nrungs = ["random", "solver"]\nopenings = "plies=2"\n')
    assert read_reference_players(path) == ReferencePlayers(("random", "solver"), "random", "plies=2")


def test_programs_stand_on_the_ladder_of_their_game_where_they_are_installed(tmp_path, monkeypatch, capsys):
    here, absent = f'gtp:"{sys.executable} -m engine"', 'gtp:"no-such-program --mode gtp"'
    programs = f"[programs]\n\"go:size=5,komi=0.5\" = ['{here}', '{absent}', '{absent},ms=50']\n"
    (tmp_path / "go.toml").write_text(f'anchor = "random"\nplayers = ["random", "uct:sims=10"]\n{programs}')
    monkeypatch.setattr(arena.ladder.reference_players, "FOLDER", tmp_path)
    other, game = load("go:size=3,komi=0"), load("go:size=5,komi=0.5")
    assert with_programs(reference_players(other), other).players == ("random", "uct:sims=10")
    assert capsys.readouterr().err == ""
    assert with_programs(reference_players(game), game).players == ("random", "uct:sims=10", here)
    assert capsys.readouterr().err == "not installed, so not among the reference players: no-such-program\n"


def test_a_game_without_reference_players_is_refused_with_those_that_have_them():
    with pytest.raises(UserError, match=r"nim:most=7: expected a game with reference players .*othello"):
        reference_players(NIM)


# ── reports ──


@pytest.fixture
def standings(ladder_file):
    ladder = Ladder(NIM, PLAYERS, ladder_file)
    ladder.play(Goal(games=16), workers=0)
    return Standings(NIM, ladder.ratings(), ladder.counts)


class Balance(HTMLParser):
    """What is open; what lies outside of the page."""

    def __init__(self):
        super().__init__()
        self.open, self.links = [], []

    def handle_starttag(self, tag, attrs):
        self.links += [value for name, value in attrs if name in ("src", "href", "xlink:href")]
        if tag not in ("meta", "!doctype"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_startendtag(self, tag, attrs):
        pass


def test_the_report_is_three_files_and_the_page_needs_nothing_else(standings, tmp_path):
    markdown, picture, page = standings.write(tmp_path / "report")
    assert all(f"`{brief(row.player)}`" in markdown.read_text() for row in standings.rows)
    assert picture.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    parser = Balance()
    parser.feed(page.read_text())
    assert not parser.open and not parser.links and "http" not in page.read_text() and "url(" not in page.read_text()


def test_points_of_a_pair_add_up(standings):
    for row in standings.rows:
        for other in standings.rows:
            points, games = standings.against(row.player, other.player)
            assert points + standings.against(other.player, row.player)[0] == games
    assert sum(row.games for row in standings.rows) == 2 * standings.as_json()["games"]


def test_names_are_brief_but_mean_the_same():
    for text in ("random", "alphabeta:depth=3,tt=off", "uct:sims=10,c=0.5", "solver", "random:seed=4"):
        resolved = make_player(text, NIM).text
        assert brief(resolved) == text and make_player(brief(resolved), NIM).text == resolved
    assert brief("oracle:of=Delphi") == "oracle:of=Delphi"


def test_unconnected_players_are_listed_as_not_rated(ladder_file, tmp_path):
    ladder = Ladder(NIM, ["random", "random:seed=1"], ladder_file)
    ladder.play(Goal(games=4), workers=0)
    found = Standings(NIM, ladder.ratings([RANDOM, OTHER, "solver:mb=256,distance=off"]), ladder.counts)
    assert found.rows[-1].elo is None and found.as_json()["players"][-1]["elo"] is None
    assert "not rated, since no chain of results connects them with random: solver" in found.text()
    markdown, _, _ = found.write(tmp_path / "report")
    assert "| 3 | `solver` | ? | ? | 0 |  |" in markdown.read_text()


# ── the commands ──


def test_matplotlib_is_loaded_only_for_a_picture():
    code = "import sys, arena.__main__; sys.exit('matplotlib' in sys.modules or 'torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parent.parent, check=False).returncode == 0


@pytest.fixture
def reference_players_of_nim(tmp_path, monkeypatch):
    """A scale for Nim, in a folder of its own, where the commands also leave their results."""
    (tmp_path / "nim.toml").write_text(f'anchor = "random"\nplayers = {json.dumps(PLAYERS)}\n')
    assert tomllib.loads((tmp_path / "nim.toml").read_text())
    monkeypatch.setattr(arena.ladder.reference_players, "FOLDER", tmp_path)
    monkeypatch.chdir(tmp_path)


def test_the_ladder_command(reference_players_of_nim, capsys):
    assert main(["ladder", "nim", "--games", "8", "--workers", "0", "--json", "--report", "report"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["game"] == "nim:most=7" and {brief(each["player"]) for each in found["players"]} == set(PLAYERS)
    assert Path("runs/ladders/nim-most=7.sqlite").is_file() and Path("report/ladder.html").is_file()
    assert main(["ladder", "nim", "random", "random:seed=1", "--games", "4", "--workers", "0"]) == 0
    assert "random:seed=1" in (shown := capsys.readouterr().out) and "solver" not in shown
    assert main(["ladder", "nim", "random", "random:seed=1", "--games", "4", "--workers", "0", "--everyone"]) == 0
    assert "solver" in capsys.readouterr().out


def test_rate_prints_one_line_and_plays_missing_reference_games_first(reference_players_of_nim, capsys):
    assert main(["rate", "nim", "random:seed=7", "--games", "20", "--reference-games", "20", "--workers", "0"]) == 0
    printed = capsys.readouterr()
    assert re.fullmatch(
        r"nim:most=7 random:seed=7: Elo \S+ ± \d+ \[\S+, \S+\], \d+ games against \d reference players, random = 0\n",
        printed.out,
    )
    assert "30 games among the reference players of nim:most=7 are missing; they are played first" in printed.err
    assert (
        main(["rate", "nim", "random:seed=7", "--games", "20", "--rung-games", "20", "--workers", "0", "--json"]) == 0
    )
    printed = capsys.readouterr()
    found = json.loads(printed.out)
    low, high = found["elo_interval"]
    assert "missing" not in printed.err and low <= found["elo"] <= high
    assert sum(each["games"] for each in found["opponents"]) == found["games"]


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("ladder nim random solver --games 0", "games: expected 1 or more, got 0"),
        ("ladder nim random solver --workers -1", "workers: expected 0 to "),
        ("ladder nim random solver --until-interval 0", "until-interval: expected more than 0 Elo, got 0"),
        ("ladder nim random solver --until-interval nan", "until-interval: expected more than 0 Elo, got nan"),
        ("ladder nim random", "two different players"),
        ("ladder nim random human", "human: expected a program"),
        ("ladder nim random solver --file nim.toml", "file is not a database"),
        ("rate nim random --games 4 --reference-games 4", "expected another player than random, whose Elo is 0"),
        ("rate nim solver --reference-games 0", "reference-games: expected 1 or more, got 0"),
        ("rate nim solver --sims -1", "sims: expected 0 or more, got -1"),
        ("rate nim solvr --reference-games 4", "unknown player 'solvr'.*did you mean 'solver'"),
    ],
)
def test_a_wrong_ladder_command_is_one_line(reference_players_of_nim, command, words):
    with pytest.raises(UserError, match=words):
        main([*command.split(), *([] if "--workers" in command else ["--workers", "0"])])


def test_a_run_is_recognised_by_its_checkpoints(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for step in ("00000200", "00001000"):
        (tmp_path / "runs" / "first" / "checkpoints" / step).mkdir(parents=True)
    shutil.copytree("runs/first", "elsewhere")
    assert list(checkpoints_of("first")) == list(checkpoints_of("elsewhere")) == [200, 1000]
    assert checkpoints_of("alphabeta:depth=4") == checkpoints_of("x" * 5000) == checkpoints_of("a\0b") == {}


def test_torch_is_not_loaded_for_a_player_that_is_no_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    program = "import sys; from arena.ladder.scale import checkpoints_of; "
    program += (
        "assert checkpoints_of('alphabeta:depth=4') == checkpoints_of('first') == {} and 'torch' not in sys.modules"
    )
    (tmp_path / "first").mkdir()
    subprocess.run(
        [sys.executable, "-c", program], env=os.environ | {"PYTHONPATH": str(Path(__file__).parent.parent)}, check=True
    )


def test_the_checkpoints_of_a_run_are_stored_by_their_weights(reference_players_of_nim, capsys):
    for step in (1, 20):
        net = make_net("mlp:1x8", NIM, seed=step)
        save(folder_of("runs/first", step), net, Card(NIM.name, NIM.version, net.text, step=step))
    command = "rate nim first --sims 0 --games 12 --reference-games 8 --workers 0"
    assert main(command.split()) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["step", "1", "20"]
    assert main([*command.split(), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [each["step"] for each in found["checkpoints"]] == [1, 20]
    for path, each in zip(all_of("runs/first"), found["checkpoints"], strict=True):
        assert each["player"].startswith(f"net:{read_card(path).short},sims=0")
        assert 0 < sum(met["games"] for met in each["opponents"]) <= 12
    assert [each["name"] for each in found["checkpoints"]] == ["net:first@1,sims=0", "net:first@20,sims=0"]
    # by these names they are shown wherever the file is, and found again
    for path in all_of("runs/first"):
        assert resolve(f"first@{int(path.name)}", NIM).samefile(path)
    assert main(["ladder", "nim", "--everyone", "--games", "1", "--report", "report", "--workers", "0"]) == 0
    assert "net:first@20,sims=0" in capsys.readouterr().out
    table = Path("report/ladder.md").read_text(encoding="utf-8")
    assert f"| `{read_card(path).short}` |" in table and "`net:first@20,sims=0`" in table
    assert "Checkpoints of a run" in Path("report/ladder.html").read_text(encoding="utf-8")


def test_checkpoints_of_a_run_that_search_alike_are_a_series():
    assert series_of("net:first@2560,sims=100") == ("net:first,sims=100", 2560)
    assert series_of("net:a-run@0") == ("net:a-run", 0)
    assert [series_of(name) for name in ("net:connect_four/small,sims=1", "uct:sims=100", "random")] == [None] * 3


def test_reference_players_are_made_once_however_many_players_are_placed(ladder_file, monkeypatch):
    made = Counter()

    def counted(text, game):
        made[text] += 1
        return make_player(text, game)

    monkeypatch.setattr("arena.ladder.ladder.make_player", counted)
    monkeypatch.setattr("arena.ladder.scale.make_player", counted)
    scale = Scale(
        NIM,
        ReferencePlayers(("random", "minimax:depth=1", "minimax:depth=2"), "random"),
        ladder_file,
        opponents=["minimax:depth=1"],
    )
    assert scale.names == sorted(make_player(text, NIM).name for text in scale.reference.players)
    places = [scale.place(text, 4, 0) for text in ("random:seed=1", "random:seed=2")]
    assert [place.row.games for place in places] == [4, 4]
    assert made == dict.fromkeys([*scale.reference.players, "random:seed=1", "random:seed=2"], 1)
