"""Accuracy against the oracle: the sample and its cache, what is counted, and `python -m arena accuracy`."""

import functools
import json
import math
import re

import numpy as np
import pytest

from arena import drawn_positions, released_positions, solved_positions
from arena.__main__ import main
from arena.accuracy import Answer, Share, measure, summary
from arena.choose import state_of
from arena.drawn_positions import draw_positions
from arena.openings import canonical
from arena.players import make_player
from arena.released_positions import evenly, file_of, released
from arena.solved_positions import (
    HARD_FOR,
    STAGES,
    Sample,
    Solved,
    choice_in,
    longest_length,
    read_positions,
    sample_path,
    stage_of,
)
from base.errors import UserError
from base.local_workers import run_jobs
from games import load


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """No test sees another's samples."""
    monkeypatch.setattr(solved_positions, "cache_folder", lambda *parts: tmp_path)
    monkeypatch.setattr(drawn_positions, "DRY", 8)  # games without anything new, before no more is looked for
    return tmp_path


def brute_force(game, state, player):
    """(utility of `player`, plies to the end) by the definition."""
    if game.is_terminal(state):
        return game.utility(state)[player], 0
    sign = 1 if game.to_move(state) == player else -1
    after = [brute_force(game, game.result(state, action), player) for action in game.legal_actions(state)]
    utility = sign * max(sign * each for each, _ in after)
    plies = [plies for each, plies in after if each == utility]
    return utility, 1 + (min(plies) if sign * utility > 0 else max(plies))


def test_a_sample_is_balanced_solved_and_distinct():
    game = load("tic_tac_toe")
    found = draw_positions(game, 30, seed=1, workers=0)
    positions, seen = found.positions, set()
    assert len(positions) + found.missing == 30 and found.unsolved == 0
    shares = {}
    for solved in positions:
        state = state_of(game, solved.line)
        mover, legal = game.to_move(state), game.legal_actions(state)
        after = {action: brute_force(game, game.result(state, action), mover) for action in legal}
        keep = {action for action, (value, _) in after.items() if value == solved.value}
        assert solved.values == {action: value for action, (value, _) in after.items()}
        assert set(solved.keep) == keep and len(keep) < len(legal)
        assert set(solved.quickest) == (
            {a for a in keep if after[a][1] == min(after[b][1] for b in keep)} if solved.value else set()
        )
        assert solved.stage == stage_of(len(solved.line.split()), 9)
        seen.add(canonical(game, state))
        shares[solved.stage, solved.source] = shares.get((solved.stage, solved.source), 0) + 1
    assert len(seen) == len(positions)  # mirror images are gone
    full = {(stage, source): 3 for stage in (1, 2, 3) for source in drawn_positions.SOURCES}
    assert full.items() <= shares.items() and sum(shares.values()) <= 21


def test_positions_from_a_file_may_be_lost(tmp_path):
    game = load("tic_tac_toe")
    line = "b2 b1 a1 c3 a3"  # two threats at once: a2 and c1
    (tmp_path / "lost.txt").write_text(f"# one\n\n{line}\nposition:{game.text(game.play(line))}\n")
    first, second = read_positions(game, tmp_path / "lost.txt").positions
    assert first.value == -1 and len(first.keep) == len(first.values) == 4 and not first.has_choice
    assert len(first.quickest) == 4  # each of them loses two plies later
    assert (first.quickest, first.keep) == (second.quickest, second.keep)
    assert (first.stage, second.stage) == (2, None)
    found = measure(game, make_player("solver:mb=1", game), [first, second])
    assert found.kept.of == 0 and found.sign == Share(2, 2) and found.brier.mean == 0


def scrambled(ahead):
    """`run_jobs` whose workers take so many jobs at once, and finish the last one first."""

    def run(function, jobs, workers, initializer):
        jobs, number, batch = iter(jobs), 0, []
        while True:
            while len(batch) < ahead and (job := next(jobs, None)) is not None:
                batch.append((number, job))
                number += 1
            if not batch:
                return
            for each, job in reversed(batch):
                yield each, function(job)
            batch = []

    return run


def test_a_sample_depends_on_its_seed_alone(monkeypatch):
    game = load("connect_four")
    monkeypatch.setattr(
        solved_positions, "LIMIT", 1000
    )  # many positions are too hard: which ones are passed over is settled too
    solved_positions._solvers.cache_clear()
    first = draw_positions(game, 20, seed=5, workers=0)
    sample_path(game, ["sample", 20, 5]).unlink()
    monkeypatch.setattr(drawn_positions, "run_jobs", scrambled(7))
    second = draw_positions(game, 20, seed=5, workers=0)
    assert second == first and first.unsolved > 5 and len(first.positions) > 5
    solved_positions._solvers.cache_clear()


def test_workers_give_the_same_sample():
    game = load("nim")
    alone = draw_positions(game, 20, 3).positions
    assert draw_positions(game, 20, 4).positions != alone
    sample_path(game, ["sample", 20, 3]).unlink()
    assert draw_positions(game, 20, 3, workers=2).positions == alone and len(alone) > 10


def test_an_interrupted_sample_resumes(monkeypatch, tmp_path):
    game, calls, solve = load("nim"), [], solved_positions.solve

    def counted(job):
        if job[2] is None:
            calls.append(job[1])
        return solve(job)

    def interrupted(function, jobs, workers, initializer):
        for number, answer in run_jobs(function, jobs, workers):
            yield number, answer
            if number == 9:
                raise KeyboardInterrupt

    monkeypatch.setattr(drawn_positions, "solve", counted)
    with monkeypatch.context() as patch:
        patch.setattr(drawn_positions, "run_jobs", interrupted)
        with pytest.raises(KeyboardInterrupt):
            draw_positions(game, 20, 3, 0)
    path = sample_path(game, ["sample", 20, 3])
    assert not path.exists() and len(calls) == 10
    with open(path.with_suffix(".part"), "ab") as part:
        part.write(b"\xf7\xa9\x0cFtorn")
    resumed = draw_positions(game, 20, 3, 0)
    assert len(calls) == len(set(calls)) and not path.with_suffix(".part").exists()
    path.unlink()
    assert draw_positions(game, 20, 3, 0) == resumed


def test_a_sample_is_solved_once_and_a_damaged_one_again(monkeypatch):
    game, seen, solve = load("nim"), [], solved_positions.solve
    first = draw_positions(game, 10, 1, 0)
    monkeypatch.setattr(drawn_positions, "solve", lambda job: seen.append(job) or solve(job))
    assert draw_positions(game, 10, 1, 0) == first and not seen
    path = sample_path(game, ["sample", 10, 1])
    data = path.read_bytes()
    flipped = bytearray(data)
    flipped[len(data) // 2] ^= 1
    for damaged in (data[:-1], bytes(flipped), b"", b"{}\n"):
        path.write_bytes(damaged)
        seen.clear()
        assert draw_positions(game, 10, 1, 0) == first and seen
        assert path.read_bytes() == data


def test_other_rules_under_the_same_name_have_samples_of_their_own(tmp_path):
    source = (solved_positions.Path(load.__globals__["FOLDER"]) / "nim.py").read_text()
    file = tmp_path / "mine.py"
    paths = set()
    for text in (
        source,
        source.replace("1.0 if player != state.mover else -1.0", "1.0 if player == state.mover else -1.0"),
    ):
        file.write_text(text)
        paths.add(sample_path(load(str(file)), ["sample", 10, 1]))
    assert len(paths) == 2


def test_the_solver_keeps_all_values_and_is_always_quickest():
    game = load("tic_tac_toe")
    found = measure(game, make_player("solver:distance=on,mb=1", game), draw_positions(game, 30).positions)
    assert found.kept.share == found.quickest.share == found.sign.share == 1 and found.brier.mean == 0
    assert found.kept.of == found.brier.of >= 15 and 0 < found.quickest.of < found.kept.of
    for shares in (found.by_stage, found.by_value, found.by_source):
        assert sum(each.of for each in shares.values()) == found.kept.of
    assert set(found.by_value) == {"win", "draw"}


def test_random_moves_keep_the_value_as_often_as_expected():
    game = load("connect_four")
    lines = {game.names[a] + " 4" for a in game.legal_actions(game.initial())}
    solved = [
        Solved(f"{line} {n} {m}", values(7, 3)) for line in sorted(lines) for n in (1, 2, 6, 7) for m in (1, 2, 6, 7)
    ]
    found = measure(game, make_player("random:seed=4", game), solved)
    expected = len(solved) / 7
    assert abs(found.kept.hits - expected) < 4 * math.sqrt(expected * 6 / 7)
    assert (
        measure(game, make_player("random:seed=4", game), solved[::-1]).kept == found.kept
    )  # each position for itself
    others = {measure(game, make_player(f"random:seed={seed}", game), solved).kept.hits for seed in range(4)}
    assert len(others) > 1


def values(legal, *keep):
    """Of moves of which these win and the others lose."""
    return {action: 1.0 if action in keep else -1.0 for action in range(legal)}


def test_the_numbers_of_an_accuracy():
    game = load("connect_four")
    win = Solved("", values(7, 3, 4), (3,), 0, "random", False)
    draw = Solved("4", {**dict.fromkeys(range(7), -1.0), 3: 0.0}, (), 0, "random", True)
    lost = Solved("4 4", {0: -1.0, 1: -1.0}, (1,), 4, "random", False)  # nothing to give away
    sample = [win, win, draw, lost]
    found = summary(game, "me", sample, [Answer(3, 1.0, 0), Answer(4, 0.5, 0), Answer(0, 0.0, 0), Answer(0, 0.5, 0)])
    assert found.kept == Share(2, 3) and found.quickest == Share(1, 2)
    assert found.by_value == {"win": Share(2, 2), "draw": Share(0, 1)} and found.by_stage == {"0-20 %": Share(2, 3)}
    assert found.by_stratum == {"hard": Share(0, 1), "easy": Share(2, 2)}
    assert found.given_away.mean == pytest.approx(1 / 3) and found.given_away.of == 3  # a draw lost
    assert found.sign == Share(2, 3)
    assert found.brier.mean == pytest.approx((0 + 0.25**2 + 0 + 0.75**2) / 4)
    assert [(each.of, each.predicted, each.true) for each in found.bins] == [(1, 0, 0), (2, 0.5, 0), (1, 1, 1)]
    none = summary(game, "me", [draw], [Answer(3, 0.0, 0)])
    assert none.quickest is None and none.sign.share is None and none.as_json()["sign"]["interval"] is None


def test_wilsons_interval():
    for hits, of, low, high in (
        (0, 10, 0, 0.2775),
        (5, 10, 0.2366, 0.7634),
        (10, 10, 0.7225, 1),
        (81, 263, 0.2553, 0.3662),
    ):
        assert Share(hits, of).interval == (pytest.approx(low, abs=1e-4), pytest.approx(high, abs=1e-4))
    rng = np.random.default_rng(1)
    covered = [low <= 0.9 <= high for low, high in (Share(int(k), 200).interval for k in rng.binomial(200, 0.9, 4000))]
    assert 0.93 < np.mean(covered) < 0.97


def test_the_length_of_the_longest_game():
    assert longest_length(load("tic_tac_toe")) == 9 and longest_length(load("dots_and_boxes:rows=2,cols=2")) == 12
    assert [stage_of(plies, 42) for plies in (0, 8, 9, 33, 34, 41, 42, 99)] == [0, 0, 1, 3, 4, 4, 4, 4]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "connect_four",
            r"expected a game that the solver can solve, got connect_four: (\d+) positions of \1 were too hard$",
        ),
        ("dots_and_boxes:rows=2,cols=2,players=3", "expected a game of at most 50 positions, or one of two players"),
    ],
)
def test_a_game_that_the_solver_cannot_solve_is_refused(name, expected, monkeypatch):
    monkeypatch.setattr(solved_positions, "LIMIT", 1)
    monkeypatch.setattr(solved_positions, "Solver", functools.partial(solved_positions.Solver, positions=50))
    solved_positions._solvers.cache_clear()
    with pytest.raises(UserError, match=expected) as caught:
        draw_positions(load(name), 10)
    assert "\n" not in str(caught.value)
    solved_positions._solvers.cache_clear()


def test_a_game_without_bad_moves_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(solved_positions, "_hard_for", lambda game: None)
    monkeypatch.setattr(
        drawn_positions, "shallow_player", lambda game: make_player("random", game)
    )  # no need to compile alpha-beta
    leaves = {"a1": {"player": 1, "actions": {"b1": 1, "b2": 1}}, "a2": {"player": 1, "actions": {"c1": 1, "c2": 5}}}
    file = tmp_path / "even.json"
    file.write_text(
        json.dumps({"about": "whatever", "players": 2, "scale": 8, "tree": {"player": 0, "actions": leaves}})
    )
    assert [each.line for each in draw_positions(load(f"tree:{file}"), 10).positions] == [
        "a2"
    ]  # c2 gives away what c1 keeps
    leaves["a2"]["actions"]["c2"] = 1
    file.write_text(
        json.dumps({"about": "whatever", "players": 2, "scale": 8, "tree": {"player": 0, "actions": leaves}})
    )
    with pytest.raises(UserError, match=r"got tree:.*: no position has both good and bad moves$"):
        draw_positions(load(f"tree:{file}"), 10)


def test_names_and_numbers_are_separated_in_the_report(capsys):
    """100.0% is the widest share there is."""
    assert main(["accuracy", "tic_tac_toe", "alphabeta:depth=9", "--sample", "20", "--workers", "0"]) == 0
    page = capsys.readouterr().out
    assert "100.0%" in page and not re.search(r"[a-z]\d+\.\d%", page)


def test_text_and_json_agree(capsys, tmp_path):
    words = ["accuracy", "tic_tac_toe", "alphabeta:depth=1", "--sample", "20", "--workers", "0"]
    assert main([*words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert main(words) == 0
    page = capsys.readouterr().out
    assert f"{found['kept']['hits']} of {found['kept']['of']}" in page and "Brier" in page
    assert found["positions"] == 20 - found["missing"] and found["unsolved"] == 0
    assert list(found)[:4] == ["game", "player", "positions", "kept"]
    (tmp_path / "positions.txt").write_text("a1\nposition:xo./.x./...\n")
    assert main([*words[:3], "--positions", str(tmp_path / "positions.txt"), "--workers", "0"]) == 0
    assert "2 positions" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--sample", "0"], "sample: expected at least 1 position, got 0"),
        (["--workers", "-1"], "workers: expected 0 to "),
        (["--positions", "bad.txt"], r"bad.txt:2: ply 1: illegal action 'a1'"),
        (["--positions", "over.txt"], r"over.txt:1: expected a position with a move to choose, got a finished game"),
        (["--positions", "empty.txt"], r"empty.txt: expected one position per line, got none"),
    ],
)
def test_a_mistake_is_one_line(words, expected, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in (("bad", "a1\na1 a1"), ("over", "a1 b1 a2 b2 a3"), ("empty", "# nothing\n")):
        (tmp_path / f"{name}.txt").write_text(text)
    with pytest.raises(UserError, match=expected):
        main(["accuracy", "tic_tac_toe", "random", *words])


# ── strata ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_hard_positions_are_those_in_which_the_shallow_search_gives_value_away():
    game = load("dots_and_boxes")
    sample = draw_positions(game, 32, seed=2, first_stage=1).positions
    player = make_player(HARD_FOR, game)
    for solved in sample:
        action = choice_in(game, player, solved.line).action
        assert solved.is_hard == (action not in solved.keep) == (solved.given_away(action) > 0)
    found = measure(game, player, sample)
    assert found.by_stratum["hard"].hits == 0 and found.by_stratum["easy"].share == 1
    assert found.by_stratum["hard"].of >= 3 and found.kept.hits == found.by_stratum["easy"].of


def test_a_quarter_of_each_cell_is_hard_and_easy_positions_take_the_place_of_those_not_found():
    def drawn(hard, easy):
        drawing = drawn_positions._Drawing(load("connect_four"), 80, 1, 0)  # 8 positions a cell, 2 of them hard
        drawing.hard[0] = {bytes([1, i]): Solved(f"hard {i}", values(2, 0), is_hard=True) for i in range(hard)}
        drawing.others[0] = {bytes([0, i]): Solved(f"easy {i}", values(2, 0), is_hard=False) for i in range(easy)}
        chosen = [each.line for each in drawing.chosen(0).values()]
        assert drawing.chosen_count(0) == len(chosen)
        assert len(set(chosen)) == len(chosen)
        return drawing.is_full(0), sum(line.startswith("hard") for line in chosen), len(chosen)

    assert drawn(2, 6) == (True, 2, 8)
    assert drawn(9, 30) == (True, 2, 8)
    assert drawn(0, 8) == (False, 0, 8)  # further looking may find hard ones
    assert drawn(0, drawn_positions.IDLE) == (True, 0, 8)  # they are too rare
    assert drawn(1, drawn_positions.IDLE) == (False, 1, 8)
    assert drawn(5, 3) == (True, 5, 8)
    assert drawn(3, 3) == (False, 3, 6)


def test_games_that_alpha_beta_does_not_play_have_no_strata():
    game = load("tree:chance.json")
    sample = draw_positions(game, 10).positions
    assert sample and all(each.is_hard is None for each in sample)
    assert measure(game, make_player("random", game), sample).by_stratum == {}


# ── released sets ────────────────────────────────────────────────────────────────────────────────────────────────────

RELEASED = {
    path.name: json.loads(path.read_text().split("\n", 1)[0]) for path in released_positions.FOLDER.glob("*.jsonl")
}


@pytest.mark.parametrize("file", sorted(RELEASED))
def test_a_released_set_is_whole_balanced_and_of_the_game_as_it_is(file):
    header = RELEASED[file]
    game = load(header["game"])
    assert file_of(game).name == file
    sample = released(game)
    positions = sample.positions
    assert len(positions) == header["positions"] and header["command"].startswith("python -m arena.released_positions ")
    assert sum(each.is_hard for each in positions) == header["hard"]
    identities = set()
    for solved in positions:
        state = state_of(game, solved.line)
        identities.add(canonical(game, state))
        assert set(solved.values) == set(game.legal_actions(state)) and solved.has_choice
        assert set(solved.quickest) <= set(solved.keep) and 0 <= solved.stage < STAGES
    assert len(identities) == len(positions)


@pytest.mark.parametrize("file", sorted(RELEASED))
def test_the_values_of_a_released_set_are_those_of_the_solver(file):
    game = load(RELEASED[file]["game"])
    late = [each for each in released(game).positions if each.stage >= 3]
    for solved in late[:: max(1, len(late) // 12)]:
        again = solved_positions.solve((game.spec, solved.line, None, "all"))
        assert again["values"] == {game.names[action]: value for action, value in solved.values.items()}
        assert again["quickest"] == [game.names[action] for action in solved.quickest]


def test_connect_four_has_two_thousand_positions_on_which_a_shallow_search_is_not_enough():
    game = load("connect_four")
    sample = released(game).positions
    assert len(sample) >= 2000 and sum(each.is_hard for each in sample) >= 240
    found = measure(game, make_player("alphabeta:depth=8", game), sample)
    assert found.kept.interval[1] < 0.92 < found.by_stratum["easy"].share


def test_part_of_a_sample_keeps_the_shares_of_strata_and_stages():
    whole = Sample([Solved(str(i), {0: 1.0}, stage=i // 25, is_hard=i % 25 < 5) for i in range(100)])
    part = evenly(whole, 40).positions
    assert len(part) == len({each.line for each in part}) == 40
    assert [sum(each.stage == stage for each in part) for stage in range(4)] == [10] * 4
    assert sum(each.is_hard for each in part) == 8
    assert evenly(whole, 1000).positions == whole.positions


def test_accuracy_without_options_takes_the_released_set(capsys):
    assert main(["accuracy", "tic_tac_toe", "random", "--workers", "0", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["positions"] == len(released(load("tic_tac_toe")).positions)


def test_a_damaged_released_set_is_refused_and_another_game_has_none(tmp_path, monkeypatch):
    game = load("tic_tac_toe")
    data = file_of(game).read_bytes()
    monkeypatch.setattr(released_positions, "FOLDER", tmp_path)
    assert released(game) is None
    for damaged in (data[:-1], data.replace(b'"version":1', b'"version":99', 1), b""):
        file_of(game).write_bytes(damaged)
        with pytest.raises(
            UserError, match=r"tic_tac_toe.jsonl: expected positions of tic_tac_toe, version 1, with the"
        ):
            released(game)


def test_the_command_in_a_sets_header_makes_the_same_file_again(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(released_positions, "FOLDER", tmp_path / "positions")
    (tmp_path / "positions").mkdir()
    game = load("nim")
    given = ["nim", "--count", "20", "--seed", "3", "--first-stage", "1"]
    assert released_positions.main([*given, "--workers", "0"]) == 0
    assert f"{file_of(game)}: {len(released(game).positions)} positions" in capsys.readouterr().out
    assert released(game).positions == draw_positions(game, 20, 3, first_stage=1).positions
    before = file_of(game).read_bytes()
    words = json.loads(before.split(b"\n", 1)[0])["command"].split()
    assert words == ["python", "-m", "arena.released_positions", *given]
    for stored in (file_of(game), sample_path(game, ["sample", 20, 3, 1])):
        stored.unlink()
    assert released_positions.main([*words[3:], "--workers", "0"]) == 0
    assert file_of(game).read_bytes() == before


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["./mine.py"], "expected a game of the folder games/, got ./mine.py"),
        (["nim", "--first-stage", "5"], "first-stage: expected 0 to 4, got 5"),
        (["nim", "--count", "0"], "sample: expected at least 1 position, got 0"),
    ],
)
def test_a_set_that_cannot_be_made_is_one_line(words, expected, tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text((solved_positions.Path(load.__globals__["FOLDER"]) / "nim.py").read_text())
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=expected):
        released_positions.main([*words, "--workers", "0"])
