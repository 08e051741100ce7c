"""Matches: openings, games between players, blocks, records, repetition, resuming, the command."""

import copy
import json
import os
import signal
import subprocess
import sys
import time
import weakref

import numpy as np
import pytest
from commands import command

from arena import players
from arena.__main__ import main
from arena.elo import Sprt
from arena.match import Match, arrangements
from arena.match_folder import MatchFolder
from arena.openings import Opening, Openings, canonical, decider
from arena.players import Forfeit, make_player
from arena.referee import play_game
from base.errors import UserError, run_command
from base.framed_log import frame_end, read_log
from base.workers import InProcess
from classical.eval import default_eval
from games import load
from games.choice import Choice
from games.record import GameRecord, read_records


def games_of(tally):
    return tally.games, tally.distinct_games, tally.points, tally.results.tolist()


def played(folder, game):
    """Every game by block and number, without the clock's part."""
    records = read_records(folder / "games.log", game)
    return {
        (record.metadata["block"], record.metadata["game"]): (
            record.moves.tolist(),
            record.outcome,
            record.players,
            record.seed,
            record.metadata["seats"],
        )
        for record in records
    }


# ── openings ──


@pytest.mark.parametrize(
    "name", ["connect_four", "othello:size=6", "chess", "backgammon", "dots_and_boxes:players=3", "go:size=9"]
)
def test_openings_are_distinct_up_to_symmetry_and_undecided(name):
    game = load(name)
    source, is_decided = Openings(game, seed=3), decider(game)
    found = [opening for opening, _ in zip(source, range(40), strict=False)]
    states = [opening.state(game) for opening in found]
    assert len({canonical(game, state) for state in states}) == 40
    assert not any(game.is_terminal(state) or is_decided(state) for state in states)
    again = [opening for opening, _ in zip(Openings(game, seed=3), range(40), strict=False)]
    other = [opening for opening, _ in zip(Openings(game, seed=4), range(40), strict=False)]
    assert found == again != other


def test_no_opening_of_go_can_be_won_by_passing(tmp_path):
    """White, who has komi, would win by a pass that answers one."""
    lines = tmp_path / "openings.txt"
    lines.write_text("E5 pass\nE5 C3 pass\nE5 C3\n")
    game = load("go:size=9,komi=7.5")
    source = Openings(game, str(lines))
    next(iter(source))
    assert [game.text(each.state(game)) for each in source._found] == [game.text(game.play("E5 C3"))]


def test_mirror_images_are_one_opening():
    game = load("tic_tac_toe")
    corners = [game.play(text) for text in ("a1 b2", "a3 b2", "c1 b2", "c3 b2")]
    assert len({canonical(game, state) for state in corners}) == 1
    assert canonical(game, game.play("a2 b2")) != canonical(game, corners[0])


def test_openings_repeat_when_there_are_no_others():
    source = Openings(load("tic_tac_toe"), "plies=1", seed=1)
    found = [opening for opening, _ in zip(source, range(7), strict=False)]
    assert source.distinct == 3 == len(set(found)) and found[:3] == found[3:6]


def test_openings_grow_longer_where_there_are_no_others():
    """The nine first moves are three but for symmetry; the fourth opening has two plies, up to half a game."""
    source = Openings(load("tic_tac_toe"), "plies=1+", seed=1)
    found = [opening for opening, _ in zip(source, range(60), strict=False)]
    lengths = [len(opening.actions) for opening in found[: source.distinct]]
    assert lengths == sorted(lengths) and lengths[:4] == [1, 1, 1, 2] and lengths[-1] == 3
    assert Openings(load("connect_four")).text == "plies=4+"


def test_decided_openings_are_played_where_there_are_no_others(tmp_path):
    source = Openings(load("tic_tac_toe"), "plies=5", seed=1)
    assert not any(decider(load("tic_tac_toe"))(next(iter(source)).state(source.game)) for _ in range(3))
    path = tmp_path / "openings.txt"
    path.write_text("a1 a2 b1 b2\n")  # the mover has three in a row
    source = Openings(load("tic_tac_toe"), str(path))
    assert len(next(iter(source)).actions) == 4 and "already won for one side" in source.notes


def test_a_file_gives_openings_by_moves_or_position(tmp_path):
    path = tmp_path / "openings.txt"
    game = load("tic_tac_toe")
    path.write_text(f"# two, one twice\na1 b2\n\nposition:{game.text(game.play('b2'))}\nc3 b2\n")
    source = Openings(game, str(path))
    first, second, third = (opening for opening, _ in zip(source, range(3), strict=False))
    assert first == third and source.distinct == 2 and "left out 1 of 3" in source.notes
    assert game.text(second.state(game)) == game.text(game.play("b2"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a1 a1\n", r"openings\.txt:1: ply 1: illegal action 'a1'"),
        ("a1\nz9\n", r"openings\.txt:2: ply 0: unknown action 'z9'"),
        ("position:nonsense\n", r"openings\.txt:1: position of tic_tac_toe"),
        ("\n# nothing\n", r"openings\.txt: expected one opening per line, got none"),
        ("a1 b1 a2 b2 a3\n", r"expected unfinished positions of tic_tac_toe, got none"),
    ],
)
def test_unreadable_openings_are_one_line(tmp_path, text, expected):
    path = tmp_path / "openings.txt"
    path.write_text(text)
    with pytest.raises(UserError, match=expected):
        next(iter(Openings(load("tic_tac_toe"), str(path))))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plies=9", "openings: expected plies up to 8"),
        ("plies=4-2", "openings: expected plies up to 8"),
        ("plies=four", r"openings: expected plies=K, plies=K-L, plies=K\+ or a file, got plies=four"),
    ],
)
def test_impossible_plies_are_one_line(text, expected):
    with pytest.raises(UserError, match=expected):
        Openings(load("tic_tac_toe"), text)


# ── one game ──


class Faulty:
    """Plays the first legal move, and at its third does something else."""

    def __init__(self, game, how):
        self.game, self.how = game, how
        self.new_game()

    def new_game(self):
        self.moves = 0

    def choose(self, state):
        self.moves += 1
        if self.moves == 3:
            if self.how == "forfeit":
                raise Forfeit("the engine ended with exit code 1")
            if self.how == "illegal":
                return Choice(
                    self.game.actions - 1 if self.game.actions - 1 not in self.game.legal_actions(state) else 0, 0.0
                )
            time.sleep(0.06)
        return Choice(self.game.legal_actions(state)[0], 0.0)


@pytest.fixture
def faulty(monkeypatch):
    def make_faulty(game, /, how: str = "forfeit", ms: int | None = None):
        """for tests"""
        return Faulty(game, how)

    monkeypatch.setitem(players.kinds(), "faulty", make_faulty)


def test_a_player_that_fails_loses_with_the_reason(faulty):
    game = load("connect_four")
    table = [make_player("faulty", game), make_player("random", game)]
    record = play_game(game, table, Opening((3,)), seed=1)
    assert record.outcome == (-1.0, 1.0) and record.ending == "player 0 forfeits: the engine ended with exit code 1"
    assert len(record) == 1 + 2 * 2 + 1 and not record.metadata["late"][0]
    record.positions(game)


def test_a_player_that_forfeits_in_the_opponents_turn_loses(faulty):
    """An engine may die while it receives the opponent's move."""
    game = load("tic_tac_toe")
    table = [make_player("random", game), make_player("faulty", game)]
    table[1].thinker.advance = lambda action: table[1].thinker.choose(game.initial())
    record = play_game(game, table, Opening((4, 0, 1)), seed=1)
    assert record.outcome == (1.0, -1.0) and record.ending.startswith("player 1 forfeits") and len(record) == 3


def test_an_illegal_move_loses(faulty):
    game = load("tic_tac_toe")
    record = play_game(game, [make_player("random", game), make_player("faulty:how=illegal", game)], Opening(), seed=5)
    assert (
        record.outcome == (1.0, -1.0) and "player 1 forfeits: expected a legal action of tic_tac_toe" in record.ending
    )


def test_only_moves_over_the_limit_are_late(faulty):
    game = load("connect_four")
    table = [make_player("faulty:how=slow,ms=5", game), make_player("random", game)]
    notes = play_game(game, table, Opening(), seed=1).metadata
    assert notes["late"] == [1, 0] and notes["timed"] == [len(notes["times"][0]), 0]
    assert notes["times"][0][2] > 55 and all(spent < 25 for spent in notes["times"][0][:2])


def test_a_game_depends_on_its_seeds_alone():
    game = load("backgammon")
    table = [make_player("random", game), make_player("uct:sims=2", game)]
    first = play_game(game, table, Opening(), seed=1, luck=2)
    play_game(game, table[::-1], Opening(), seed=7, luck=9)
    again = play_game(game, table, Opening(), seed=1, luck=2)
    assert first.moves.tolist() == again.moves.tolist()
    assert first.moves.tolist() != play_game(game, table, Opening(), seed=2, luck=2).moves.tolist()
    assert first.moves[0] == play_game(game, table, Opening(), seed=2, luck=2).moves[0]  # the same dice
    assert len(first.visits) and first.searched.any()


@pytest.mark.parametrize("name", ["connect_four", "dots_and_boxes:rows=1,cols=2,players=3"])
def test_a_record_has_the_value_of_each_search_and_none_where_nothing_was_searched(name):
    game = load(name)
    searching = "alphabeta:depth=2" if game.players == 2 else "maxn:depth=2"
    table = [make_player("random", game), *(make_player(searching, game) for _ in range(game.players - 1))]
    record = play_game(game, table, Opening(tuple(game.legal_actions(game.initial())[:1])), seed=3)
    again = make_player(searching, game)
    for state, ply in list(record.replay(game))[:-1]:
        if ply == 0 or (mover := game.to_move(state)) == 0:
            assert np.isnan(record.utilities[ply]).all()
        else:
            again.new_game()
            assert record.utilities[ply, mover] == pytest.approx(again.choose(state).value)
            assert record.utilities[ply].sum() == pytest.approx(0, abs=1e-6)


# ── blocks ──


def test_a_block_gives_both_players_the_same_seats():
    assert arrangements(2) == [(0, 1), (1, 0)]
    assert arrangements(3) == [(0, 1, 1), (1, 0, 1), (1, 1, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]
    for n in (2, 3, 4):
        assert np.all(np.sum(arrangements(n), axis=0) * 2 == len(arrangements(n)))


def test_workers_play_the_same_match_as_one_process():
    game = load("tic_tac_toe")
    by_two = Match(game, "uct:sims=20", "random", seed=4).play(12, workers=2)
    alone = Match(game, "uct:sims=20", "random", seed=4).play(12, workers=0)
    other = Match(game, "uct:sims=20", "random", seed=5).play(12, workers=0)
    assert games_of(by_two) == games_of(alone) != games_of(other)


class Elsewhere(InProcess):
    """Workers on a machine without one file of this one."""

    def __init__(self, file):
        self.file = file

    def run(self, task, jobs, *, ordered=False):
        self.file.unlink(missing_ok=True)
        return super().run(copy.deepcopy(task), jobs, ordered=ordered)  # without the players made here


def test_workers_need_no_file_of_this_machine(tmp_path, monkeypatch):
    game, path, cache = load("tic_tac_toe"), tmp_path / "mine.eval.json", tmp_path / "cache"
    cache.mkdir()
    default_eval(game).save(path)
    match = Match(game, f'alphabeta:depth=2,eval="{path}"', "random", seed=3)
    here = match.play(4, workers=0)
    monkeypatch.setattr(players, "cache_folder", lambda *parts: cache)
    assert games_of(match.play(4, Elsewhere(path))) == games_of(here) and not path.exists()


def test_a_worker_keeps_the_players_of_its_task_alone():
    game, made = load("tic_tac_toe"), []
    texts = ["random", *(f"random:seed={seed}" for seed in range(1, players.KEPT + 2))]
    kept = players.KeptPlayers("tic_tac_toe", {text: players.pack_player(make_player(text, game)) for text in texts})
    for text in texts:
        assert kept(text) is kept(text)
        made.append(weakref.ref(kept(text)))
    assert kept(texts[0], copy=1) is not kept(texts[0])
    alive = [each() is not None for each in made]
    assert sum(alive) < len(texts)  # those used least recently are gone
    assert alive[-1]
    assert copy.deepcopy(kept)._made == {}
    del kept
    assert not any(each() for each in made)  # freed at once: no cycle holds them


def test_random_players_do_not_repeat_themselves():
    tally = Match(load("connect_four"), "random", "random", seed=1).play(100, workers=0)
    assert tally.distinct_games == tally.games == 200


def test_games_that_repeat_count_once():
    """Deterministic players on three openings: 40 games, of which 6 say something."""
    game = load("tic_tac_toe")
    tally = Match(game, "alphabeta:depth=1", "minimax:depth=1", openings="plies=1").play(20, workers=0)
    assert tally.games == 40 and tally.pairs == 3 and tally.distinct_games <= 6
    once = Match(game, "alphabeta:depth=1", "minimax:depth=1", openings="plies=1").play(3, workers=0)
    assert once.points == tally.points and once.score() == tally.score() and once.elo() == tally.elo()


def test_equal_players_score_a_half_exactly():
    tally = Match(load("connect_four"), "alphabeta:depth=2", "alphabeta:depth=2").play(10, workers=0)
    assert tally.points == [0.5] * 10 and tally.score().value == 0.5 and tally.distinct_games == 10
    assert tally.superiority() == 0.5 and tally.elo().value == 0


def test_matches_of_three_seats_have_utilities():
    game = load("dots_and_boxes:rows=1,cols=2,players=3")
    tally = Match(game, "maxn:depth=7", "random").play(20, workers=0)
    assert tally.games == 120 and tally.elo().value is None
    ours, theirs = tally.utility(0), tally.utility(1)
    assert ours.low > theirs.high and tally.superiority() > 0.99 and tally.score().low > 0.5
    found = tally.as_json()
    assert found["elo"] is None and found["utility"] == [round(ours.value, 6), round(theirs.value, 6)]
    assert "utility A" in tally.text()


def test_the_report_of_a_known_match():
    """A wins every game of 8 pairs: no upper bound, and a lower one above zero."""
    tally = Match(load("connect_four"), "alphabeta:depth=4", "random").play(8, workers=0)
    found = tally.as_json()
    names = "games distinct_games wins draws losses score score_interval elo elo_interval los pairs over_limit"
    assert " ".join(found) == names
    assert (found["games"], found["wins"], found["draws"], found["losses"], found["score"]) == (16, 16, 0, 0, 1.0)
    assert found["elo"] is None and found["elo_interval"][1] is None and found["elo_interval"][0] > 0
    assert found["los"] > 0.97 and found["pairs"] == 8 and found["over_limit"] == 0
    assert "+∞" in tally.text() and "moving first   +8 =0 -0" in tally.text()


@pytest.mark.parametrize(("winner", "elo"), [("A", "+∞ [-∞, +∞]"), ("B", "-∞ [-∞, +∞]")])
def test_a_sweep_of_one_pair_is_infinite_on_the_side_of_its_winner(winner, elo):
    """So few games have no bound on either side: the sign is the score's."""
    sides = ("alphabeta:depth=4", "random") if winner == "A" else ("random", "alphabeta:depth=4")
    tally = Match(load("connect_four"), *sides).play(1, workers=0)
    assert tally.score().value == (1.0 if winner == "A" else 0.0)
    assert f"Elo        {elo}\n" in tally.text() and tally.brief().endswith(f"Elo {elo}")


def test_a_sequential_test_stops_the_match():
    sprt = Sprt(elo0=0, elo1=50)
    match = Match(load("connect_four"), "alphabeta:depth=4", "random")
    tally = match.play(1000, workers=0, sprt=sprt)
    assert match.verdict == "H1" and tally.games < 100 and sprt.ratio(tally.counts) >= sprt.bounds[1]
    match = Match(load("connect_four"), "random", "alphabeta:depth=4")
    match.play(1000, workers=0, sprt=sprt)
    assert match.verdict == "H0"


# ── records ──


def open_results(folder, match, resume=False):
    return MatchFolder(folder, match.settings, match.game, match.block_size, resume)


def test_every_game_is_recorded_twice_alike(tmp_path):
    game = load("backgammon")
    match = Match(game, "random", "uct:sims=2", seed=2)
    with open_results(tmp_path, match) as results:
        tally = match.play(3, 0, results)
    lines = [json.loads(line) for line in (tmp_path / "games.jsonl").read_text().splitlines()]
    records = list(read_records(tmp_path / "games.log", game))
    assert len(lines) == len(records) == tally.games == 6
    for line, record in zip(lines, records, strict=True):
        assert game.utility(game.play(line["moves"])) == tuple(line["result"]) == record.outcome
        assert line["moves"] == record.move_names(game) and line["seed"] == record.seed
        assert line["players"] == list(record.players) and line["versions"][game.name] == game.version
        assert sum(map(len, line["times"])) <= len(record) - line["opening"]
        record.positions(game)
    assert [line["seats"] for line in lines[:2]] == [["A", "B"], ["B", "A"]]


@pytest.mark.parametrize("cut", [0, 1, 2, 5])
def test_a_killed_match_resumes_where_it_stopped(tmp_path, cut):
    """Killed after `cut` whole games and a piece of the next: the same games in the end, and those that were there are kept."""
    game = load("tic_tac_toe")
    match = Match(game, "uct:sims=10", "random", seed=6)
    with open_results(tmp_path / "whole", match) as results:
        whole = match.play(4, 0, results)
    with open_results(tmp_path / "cut", match) as results:
        match.play(4, 0, results)
    log = tmp_path / "cut" / "games.log"
    ends = [frame_end(offset, payload) for offset, payload in read_log(log)]
    os.truncate(log, ([12, *ends])[cut] + 7)
    (tmp_path / "cut" / "games.jsonl").write_text('{"torn')
    with pytest.warns(UserWarning, match="dropped 7 bytes"):
        results = open_results(tmp_path / "cut", match, resume=True)
    with results:
        assert len(results.blocks) == cut // 2
        again = match.play(4, 0, results)
    assert games_of(again) == games_of(whole)
    assert played(tmp_path / "cut", game) == played(tmp_path / "whole", game)
    assert len((tmp_path / "cut" / "games.jsonl").read_text().splitlines()) == 8


def test_a_match_can_be_made_longer(tmp_path):
    game = load("tic_tac_toe")
    match = Match(game, "random", "random", seed=6)
    with open_results(tmp_path, match) as results:
        match.play(2, 0, results)
    with open_results(tmp_path, match, resume=True) as results:
        longer = match.play(5, 0, results)
    assert games_of(longer) == games_of(Match(game, "random", "random", seed=6).play(5, 0))


def test_the_folder_of_another_match_is_refused(tmp_path):
    match = Match(load("tic_tac_toe"), "random", "random", seed=6)
    open_results(tmp_path, match).close()
    with pytest.raises(UserError, match="expected a new folder, or --resume for the match in it"):
        open_results(tmp_path, match)
    other = Match(load("tic_tac_toe"), "random", "random", seed=7)
    with pytest.raises(UserError, match=r"match\.json: expected seed 7, got 6 in the existing match"):
        open_results(tmp_path, other, resume=True)
    for text, expected in (
        ("uct:sims=9", "A uct:sims=9,"),
        ("random:seed=3", "A random:seed=3, got .*random:seed=0"),
    ):
        with pytest.raises(UserError, match=rf"match\.json: expected {expected}"):
            open_results(tmp_path, Match(load("tic_tac_toe"), text, "random", seed=6), resume=True)


def test_a_changed_file_of_openings_is_another_match(tmp_path):
    path = tmp_path / "openings.txt"
    path.write_text("a1\n")
    open_results(tmp_path / "match", Match(load("tic_tac_toe"), "random", "random", openings=str(path))).close()
    path.write_text("b1\n")
    with pytest.raises(UserError, match="expected openings_hash"):
        open_results(
            tmp_path / "match", Match(load("tic_tac_toe"), "random", "random", openings=str(path)), resume=True
        )


# ── the command ──


def arena(*words):
    return command(["arena", *words])


def test_the_match_command_plays_and_reports(tmp_path):
    done = arena("match", "tic_tac_toe", "solver", "random", "--games", "7", "--json", "--records", str(tmp_path / "m"))
    found = json.loads(done.stdout.splitlines()[-1])
    assert done.returncode == 0 and found["games"] == 8 and found["losses"] == 0
    assert "games: 7 is rounded up to 8" in done.stderr
    words = [
        "match",
        "tic_tac_toe",
        "solver",
        "random",
        "--games",
        "12",
        "--records",
        str(tmp_path / "m"),
        "--resume",
        "--workers",
        "0",
    ]
    done = arena(*words, "--sprt", "elo0=0,elo1=400")
    assert done.returncode == 0 and "SPRT" in done.stdout and "log-likelihood ratio" in done.stdout


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["random", "random", "--games", "0"], "games: expected 1 or more, got 0"),
        (["random", "random", "--workers", "-1"], "workers: expected 0 to "),
        (["random", "randum"], "unknown player 'randum'"),
        (["random", "random", "--openings", "nowhere.txt"], "No such file or directory: nowhere.txt"),
        (["random", "random", "--resume"], "--resume: expected --records DIR"),
        (["random", "random", "--sprt", "elo2=3"], "sprt: unknown option 'elo2'"),
        (["random", "random", "--sprt", "elo0=9,elo1=3"], "sprt: expected elo0 below elo1, got 9 and 3"),
    ],
)
def test_a_wrong_command_is_one_line(words, expected, capsys):
    with pytest.raises(SystemExit) as left:
        run_command(main, ["match", "tic_tac_toe", *words])
    out, errors = capsys.readouterr()
    assert left.value.code == 2 and expected in errors and errors.count("\n") == 1 and not out


def test_a_test_of_three_players_is_refused():
    with pytest.raises(UserError, match="--sprt: expected a game of two players"):
        main(["match", "dots_and_boxes:players=3", "random", "random", "--sprt", "elo1=50"])


def test_ctrl_c_keeps_what_was_played(tmp_path):
    words = [
        "match",
        "connect_four",
        "random",
        "uct:sims=50",
        "--games",
        "100000",
        "--json",
        "--records",
        str(tmp_path / "m"),
    ]
    running = subprocess.Popen(
        [sys.executable, "-m", "arena", *words, "--workers", "1"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    log, deadline = tmp_path / "m" / "games.log", time.monotonic() + 60
    while not (log.exists() and log.stat().st_size > 5000):
        assert running.poll() is None and time.monotonic() < deadline
        time.sleep(0.02)
    os.killpg(running.pid, signal.SIGINT)
    out, errors = running.communicate(timeout=30)
    found = json.loads(out.splitlines()[-1])
    assert running.returncode == 130 and "Traceback" not in errors and "interrupted after" in errors
    kept = len(
        list(read_records(log, load("connect_four")))
    )  # the interrupt may have come in the middle of writing a pair
    assert 0 < found["games"] <= kept <= found["games"] + 2


def test_a_block_is_what_its_records_say():
    """What a worker sends is the record as it is stored."""
    game = load("tic_tac_toe")
    match = Match(game, "random", "uct:sims=5", seed=9)
    job = next(match._jobs(1, set()))
    records = [GameRecord.from_bytes(frame, game) for frame in match.play_block(job)]
    assert [record.metadata["seats"] for record in records] == [[0, 1], [1, 0]]
    assert [record.players for record in records] == [match.players, match.players[::-1]]
    assert all(tuple(record.moves[: len(job.opening.actions)]) == job.opening.actions for record in records)


def test_players_are_shown_with_what_was_given_or_is_no_default(capsys):
    words = ["match", "nim", "alphabeta:depth=1,tt=on", "uct:sims=2,c=1", "--games", "2", "--workers", "0"]
    assert main(words) == 0
    assert capsys.readouterr().out.splitlines()[:2] == ["A  alphabeta:depth=1,tt=on", "B  uct:sims=2,c=1"]
    assert main([*words, "--verbose"]) == 0
    assert "killers=on" in capsys.readouterr().out.splitlines()[0]


def test_equal_hands_of_a_card_game_are_as_many_samples():
    game = load("kuhn_poker")
    match = Match(game, "cfr:iterations=100", "random", seed=4)
    tally = match.play(100, workers=0)
    assert tally.pairs == 100 and tally.distinct_games < 60
    assert tally.elo().value is None and tally.utility(0).low < 0.07 < tally.utility(0).high  # of 4,000 games
    assert "payoff A" in tally.text() and "Elo" not in tally.text()
