"""Accuracy against the oracle: the sample and its cache, what is counted, and `python -m arena accuracy`."""

import functools
import json
import math
import re

import numpy as np
import pytest

from arena import solved_positions
from arena.__main__ import main
from arena.accuracy import Answer, Share, measure, summary
from arena.choose import state_of
from arena.openings import canonical
from arena.players import make_player
from arena.solved_positions import (
    Solved,
    draw_positions,
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
    monkeypatch.setattr(solved_positions, "DRY", 25)  # games without anything new, before no more is looked for
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
        assert solved.value == max(value for value, _ in after.values()) and solved.legal == len(legal)
        assert set(solved.keep) == keep and len(keep) < len(legal)
        assert set(solved.quickest) == (
            {a for a in keep if after[a][1] == min(after[b][1] for b in keep)} if solved.value else set()
        )
        assert solved.stage == stage_of(len(solved.line.split()), 9)
        seen.add(canonical(game, state))
        shares[solved.stage, solved.source] = shares.get((solved.stage, solved.source), 0) + 1
    assert len(seen) == len(positions)  # mirror images are gone
    full = {(stage, source): 3 for stage in (1, 2, 3) for source in solved_positions.SOURCES}
    assert full.items() <= shares.items() and sum(shares.values()) <= 21


def test_positions_from_a_file_may_be_lost(tmp_path):
    game = load("tic_tac_toe")
    line = "b2 b1 a1 c3 a3"  # two threats at once: a2 and c1
    (tmp_path / "lost.txt").write_text(f"# one\n\n{line}\nposition:{game.text(game.play(line))}\n")
    first, second = read_positions(game, tmp_path / "lost.txt").positions
    assert first.value == -1 and len(first.keep) == first.legal == 4 and not first.has_choice
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
    monkeypatch.setattr(solved_positions, "run_jobs", scrambled(7))
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

    monkeypatch.setattr(solved_positions, "solve", counted)
    with monkeypatch.context() as patch:
        patch.setattr(solved_positions, "run_jobs", interrupted)
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
    monkeypatch.setattr(solved_positions, "solve", lambda job: seen.append(job) or solve(job))
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
        Solved(f"{line} {n} {m}", 1.0, 7, (3,)) for line in sorted(lines) for n in (1, 2, 6, 7) for m in (1, 2, 6, 7)
    ]
    found = measure(game, make_player("random:seed=4", game), solved)
    expected = len(solved) / 7
    assert abs(found.kept.hits - expected) < 4 * math.sqrt(expected * 6 / 7)
    assert (
        measure(game, make_player("random:seed=4", game), solved[::-1]).kept == found.kept
    )  # each position for itself
    others = {measure(game, make_player(f"random:seed={seed}", game), solved).kept.hits for seed in range(4)}
    assert len(others) > 1


def test_the_numbers_of_an_accuracy():
    game = load("connect_four")
    win = Solved("", 1.0, 7, (3, 4), (3,), 0, "random")
    draw = Solved("4", 0.0, 7, (3,), (), 0, "random")
    lost = Solved("4 4", -1.0, 2, (0, 1), (1,), 4, "random")  # nothing to give away
    sample = [win, win, draw, lost]
    found = summary(game, "me", sample, [Answer(3, 1.0, 0), Answer(4, 0.5, 0), Answer(0, 0.0, 0), Answer(0, 0.5, 0)])
    assert found.kept == Share(2, 3) and found.quickest == Share(1, 2)
    assert found.by_value == {"win": Share(2, 2), "draw": Share(0, 1)} and found.by_stage == {"0-20 %": Share(2, 3)}
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
    monkeypatch.setattr(
        solved_positions, "shallow_player", lambda game: make_player("random", game)
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
        (["--workers", "-1"], "workers: expected 0 or more, got -1"),
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
