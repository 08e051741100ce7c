"""Game records: round trips, replays, and the refusal of everything that does not fit."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from base.errors import UserError
from base.framed_log import LogWriter
from base.seeds import below, generator, uniform
from games import load
from games.engine import record_codec
from games.record import GameRecord, make_record, read_records, record_of_names

NAMES = ["tic_tac_toe", "checkers", "chess", "go:size=5", "backgammon", "dots_and_boxes:players=3", "tree:chance.json"]


def random_moves(game, seed, most=60, start=None):
    rng, state, moves = generator(seed, "record"), game.initial() if start is None else start, []
    with np.errstate(over="ignore"):
        while len(moves) < most and (legal := game.legal_actions(state)):
            moves.append(legal[below(rng, len(legal))])
            state = game.result(state, moves[-1])
    return moves


def thought_over(game, seed, most=60, **options):
    """A record with visits at some plies, policies of their own at others, and nothing at the rest."""
    rng, state = generator(seed, "thoughts"), game.initial()
    moves = random_moves(game, seed, most)
    visits, policies, utilities, searched = [], [], np.full((len(moves), game.players), np.nan), []
    with np.errstate(over="ignore"):
        for ply, move in enumerate(moves):
            legal, kind = game.legal_actions(state), below(rng, 3)
            counts = {action: int(below(rng, 400)) + 1 for action in legal[: 1 + below(rng, len(legal))]}
            visits.append(counts if kind else None)
            policies.append({legal[-1]: 0.25, legal[0]: 0.75} if kind == 2 and len(legal) > 1 else None)
            searched.append(bool(kind) and bool(below(rng, 2)))
            if kind:
                utilities[ply] = [2 * uniform(rng) - 1 for _ in range(game.players)]
            state = game.result(state, move)
    return make_record(
        game, moves, visits=visits, policies=policies, utilities=utilities, searched=searched, seed=seed, **options
    )


@pytest.fixture(scope="module")
def record():
    return thought_over(load("tic_tac_toe"), 1, players=["uct:sims=10", 'net:"a, b"'], metadata={"worker": 3})


# ── round trips ──


@pytest.mark.parametrize("name", NAMES)
def test_a_record_comes_back_from_its_bytes(name):
    game = load(name)
    for seed in range(5):
        one = thought_over(game, seed, metadata={"ä": [1, None, {"x": 0.1}]})
        data = one.to_bytes()
        other = GameRecord.from_bytes(data, game)
        assert other == one and other.to_bytes() == data
        for field in GameRecord.__dataclass_fields__:
            mine, theirs = getattr(one, field), getattr(other, field)
            if isinstance(mine, np.ndarray):
                np.testing.assert_array_equal(mine, theirs)
                assert mine.dtype == theirs.dtype and theirs.flags.writeable
            else:
                assert mine == theirs


@pytest.mark.parametrize("name", NAMES)
def test_a_replay_goes_through_the_positions_of_the_game(name):
    game = load(name)
    record, state = thought_over(game, 7), game.initial()
    for replayed, ply in GameRecord.from_bytes(record.to_bytes()).replay(game):
        assert replayed == state
        actions, probabilities, visits = record.policy(ply)
        assert set(actions) <= set(game.legal_actions(state))
        assert len(actions) == len(probabilities) == len(visits)
        if ply < len(record):
            state = game.result(state, int(record.moves[ply]))
    assert ply == len(record)
    assert record.outcome == (game.utility(state) if game.is_terminal(state) else None)


def test_visits_become_the_policy_where_none_is_given():
    game = load("tic_tac_toe")
    record = make_record(game, [4, 0], visits=[{4: 30, 0: 10}, None])
    actions, probabilities, visits = record.policy(0)
    assert (actions.tolist(), probabilities.tolist(), visits.tolist()) == ([0, 4], [0.25, 0.75], [10, 30])
    assert record.searched.tolist() == [1, 0] and len(record.policy(1)[0]) == len(record.policy(2)[0]) == 0
    both = make_record(game, [4], visits=[{4: 30, 0: 10}], policies=[{4: 1.0}])
    assert both.policy(0)[1].tolist() == [0.0, 1.0] and both.policy(0)[2].tolist() == [10, 30]


def test_a_game_may_begin_anywhere():
    game = load("chess")
    start = game.parse("7k/8/5K2/8/8/8/8/6Q1 w - - 30 60")
    record = GameRecord.from_bytes(make_record(game, [game.id_of("g1g7")], start=start).to_bytes(), game)
    positions = record.positions(game)
    assert positions[0] == start and record.outcome == (1.0, -1.0)
    assert game.text(positions[1]) == "7k/6Q1/5K2/8/8/8/8/8 b - - 31 60"


@pytest.mark.parametrize("name", ["othello", "checkers", "dots_and_boxes", "backgammon", "chess", "go:size=5", "nim"])
def test_a_first_position_with_an_impossible_mover_is_refused(name):
    """Such a mover made compiled rules write outside their arrays."""
    game = load(name)
    first = game.initial()
    first.mover = 127
    action = next(iter(game.legal_actions(game.initial())))
    record = make_record(game, [action], outcome=(1, -1), ending="resigned")
    data = replace(record, start=first.tobytes()).to_bytes()
    with pytest.raises(UserError, match=f"^game record: expected a position of {name}.*, got bytes that are none"):
        GameRecord.from_bytes(data, game)


def test_a_first_position_from_which_play_leaves_memory_is_refused():
    game = load("nim")  # a heap of 8 has an action that takes one from the next heap, which then holds 255
    first = game.initial()
    first.heaps[:] = 8, 0, 0
    with pytest.raises(UserError, match="the game can't be played on from 'heaps=8,0,0 mover=0'"):
        make_record(game, [], start=first)
    first.heaps[:] = 7, 7, 7
    assert make_record(game, [], start=first).first_position(game) == first


def test_equal_first_positions_give_equal_bytes_whatever_lies_between_their_fields():
    game = load("go:size=5,komi=0.5")  # of an aligned dtype
    starts = game.blanks(2)
    starts.view(np.uint8)[: starts.itemsize] = 255
    for name in starts.dtype.names:
        starts[name] = game.play("C3 pass")[name]
    assert make_record(game, [], start=starts[0]) == make_record(game, [], start=starts[1])


def test_an_ending_that_does_not_follow_from_the_rules_is_required():
    game = load("connect_four")
    resigned = make_record(game, [3, 3], outcome=(1, -1), ending="resigned")
    assert GameRecord.from_bytes(resigned.to_bytes(), game).ending == "resigned"
    assert make_record(game, [3, 3], ending="broken off").outcome is None
    with pytest.raises(UserError, match="expected a finished game, or the reason why it ended, got 2 plies"):
        make_record(game, [3, 3], outcome=(1, -1))


def test_a_bare_record_is_hardly_longer_than_its_moves():
    game = load("connect_four")
    moves = random_moves(game, 3)
    assert len(make_record(game, moves).to_bytes()) < 450 + len(moves)


# ── files ──


def test_records_are_read_from_logs_texts_and_folders(tmp_path):
    game = load("connect_four")
    records = [thought_over(game, seed) for seed in range(4)]
    with LogWriter(tmp_path / "b" / "games.log") as log:
        for record in records[:2]:
            log.append(record.to_bytes())
    with LogWriter(tmp_path / "c.log") as log:
        log.append(records[2].to_bytes())
    lines = [records[3].move_names(game), "", "  4 4 4  "]
    (tmp_path / "d.txt").write_text("\n".join(lines) + "\n")
    (tmp_path / "notes.md").write_text("not a game")
    assert list(read_records(tmp_path / "b/games.log", game)) == records[:2]
    found = list(read_records(tmp_path, game))
    assert found[:3] == records[:3]
    assert [record.moves.tolist() for record in found[3:]] == [records[3].moves.tolist(), [3, 3, 3]]
    assert found[4].outcome is None and found[3].outcome == records[3].outcome


@given(st.integers(0, 10_000))
@settings(max_examples=30)
def test_move_lists_are_read_back(seed):
    game = load("dots_and_boxes:rows=2,cols=2")
    moves = random_moves(game, seed)
    record = make_record(game, moves)
    assert record_of_names(game, record.move_names(game)) == record


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("4 4 9", "games.txt:2: ply 2: expected the name of an action of connect_four, got '9'"),
        ("4 4 4 4 4 4 4", "games.txt:2: ply 6: illegal action|games.txt:2: ply 6: expected a legal action"),
        ("1 2 1 2 1 2 1 3", "games.txt:2: ply 7: expected the game to be over here, got '3'"),
    ],
)
def test_a_bad_line_is_named(line, complaint, tmp_path):
    path = tmp_path / "games.txt"
    path.write_text(f"4 4\n{line}\n")
    with pytest.raises(UserError, match=complaint):
        list(read_records(path, load("connect_four")))


def test_a_bad_frame_is_named(tmp_path):
    with LogWriter(tmp_path / "games.log") as log:
        log.append(make_record(load("nim"), []).to_bytes())
    with pytest.raises(
        UserError, match=r"games.log: frame at 12: game record: expected a game of connect_four \(version 1\)"
    ):
        list(read_records(tmp_path, load("connect_four")))


# ── what does not fit ──


@given(data=st.data())
@settings(max_examples=150)
def test_flipped_bytes_give_one_line_and_never_another_record(data, record):
    whole = record.to_bytes()
    place = data.draw(st.integers(0, len(whole) - 1))
    broken = whole[:place] + bytes([whole[place] ^ data.draw(st.integers(1, 255))]) + whole[place + 1 :]
    with pytest.raises(UserError) as refusal:
        GameRecord.from_bytes(broken)
    assert "\n" not in str(refusal.value) and str(refusal.value).startswith("game record: expected ")


@given(data=st.data())
@settings(max_examples=150)
def test_changed_bytes_with_a_right_checksum_are_refused_or_make_sense(data, record):
    """Each change is refused in one line, or gives a record that can be written again."""
    game, whole = load("tic_tac_toe"), record.to_bytes()
    inner = bytearray(whole[len(record_codec.MAGIC) + 4 :])
    for _ in range(data.draw(st.integers(1, 3))):
        inner[data.draw(st.integers(0, len(inner) - 1))] = data.draw(st.integers(0, 255))
    checksum = record_codec.zlib.crc32(bytes(inner)).to_bytes(4, "little")
    try:
        found = GameRecord.from_bytes(record_codec.MAGIC + checksum + bytes(inner), game)
        found.positions(game)
    except UserError as error:
        assert "\n" not in str(error)
    else:
        assert GameRecord.from_bytes(found.to_bytes(), game) == found


@pytest.mark.parametrize("length", [0, 5, 12, 15, 40, -1])
def test_a_record_cut_short_is_refused(length, record):
    with pytest.raises(UserError, match=r"game record: expected (a whole record|bytes that begin with)"):
        GameRecord.from_bytes(record.to_bytes()[:length])


def fields(**changes):
    header = {
        "game": "tic_tac_toe",
        "version": 1,
        "outcome": None,
        "ending": "",
        "seed": None,
        "players": [],
        "start": None,
        "metadata": {},
    }
    return header | changes


ARRAYS = {name: np.zeros(0, kind) for name, (kind, _) in record_codec.ARRAYS.items()} | {
    "moves": np.array([4]),
    "searched": np.array([0]),
    "policy_counts": np.array([0]),
}


@pytest.mark.parametrize(
    ("header", "arrays", "complaint"),
    [
        ({"version": "1"}, {}, "version of its type, got '1'"),
        ({"version": True}, {}, "version of its type, got True"),
        ({"players": [1, 2]}, {}, "players of its type"),
        ({"players": ["a"]}, {}, "players: 2 of them, got 1"),
        ({"seed": 1 << 64}, {}, "whole numbers of 64 bits"),
        ({"seed": -1}, {}, "seed of its type, got -1"),
        ({"outcome": [2.0, 0.0]}, {}, r"an outcome in \[-1, 1\]"),
        ({"start": "zz"}, {}, "a first position in hexadecimal, got 'zz'"),
        ({"start": "00"}, {}, r"a position of .* in \d+ bytes, got 1 bytes"),
        ({"metadata": []}, {}, "metadata of its type"),
        ({"game": "nim:most=7"}, {}, r"a game of tic_tac_toe \(version 1\), got one of nim:most=7 \(version 1\)"),
        ({"version": 2}, {}, r"got one of tic_tac_toe \(version 2\)"),
        ({}, {"moves": np.array([9])}, "moves from 0 to 8, got 9 to 9"),
        ({}, {"searched": np.array([1])}, "a policy at every ply that was searched fully"),
        ({}, {"searched": np.array([0, 0])}, r"searched of shape \(1,\) for 1 plies"),
        ({}, {"policy_counts": np.array([2])}, r"policy_actions of shape \(2,\) for 2 entries"),
        ({"players": ["", ""]}, {"utilities": np.array([0.5])}, r"utilities of shape \(1, 2\) for 1 plies"),
        ({}, {"utilities": np.array([0.5, 3.0])}, r"utilities in \[-1, 1\], got 3.0"),
    ],
)
def test_fields_that_do_not_fit_are_refused(header, arrays, complaint):
    data = record_codec.encode(fields(**header), ARRAYS | arrays)
    with pytest.raises(UserError, match=f"^game record: expected .*{complaint}"):
        GameRecord.from_bytes(data, load("tic_tac_toe"))


@pytest.mark.parametrize(
    ("shares", "complaint"),
    [
        ([0.5, 0.4], "probabilities that sum to 1, got 0.9"),
        ([1.5, -0.5], "probabilities from 0 on, got -0.5"),
        ([np.nan, 1.0], "probabilities from 0 on"),
    ],
)
def test_policies_are_distributions(shares, complaint):
    with pytest.raises(UserError, match=complaint):
        make_record(load("tic_tac_toe"), [4], policies=[dict(enumerate(shares))])


def test_moves_and_policies_must_be_legal():
    game = load("tic_tac_toe")
    with pytest.raises(UserError, match="ply 1: expected a legal action of tic_tac_toe, got b2"):
        make_record(game, [4, 4])
    with pytest.raises(UserError, match="ply 1: expected a policy over legal actions, got one over a1 b2"):
        make_record(game, [4, 0], policies=[None, {0: 0.5, 4: 0.5}])
    with pytest.raises(UserError, match="ply 5: expected the game to be over here, got 'c3'"):
        make_record(game, [0, 3, 1, 4, 2, 8])
    with pytest.raises(UserError, match="visits for each of 2 plies, got 1"):
        make_record(game, [0, 3], visits=[{0: 1}])


def test_an_outcome_that_the_rules_contradict_is_refused():
    game = load("tic_tac_toe")
    record = make_record(game, [0, 3, 1, 4, 2])
    assert record.outcome == (1.0, -1.0)
    for wrong in ({"outcome": (-1.0, 1.0)}, {"outcome": None}, {"ending": "resigned"}):
        with pytest.raises(UserError, match=r"expected the outcome \(1.0, -1.0\) that the rules give"):
            replace(record, **wrong).positions(game)


def test_metadata_is_json():
    game = load("tic_tac_toe")
    for wrong in ({"x": float("nan")}, {"x": object()}):
        with pytest.raises(UserError, match="expected finite numbers and plain metadata"):
            make_record(game, [], metadata=wrong).to_bytes()


def test_a_ply_outside_is_refused(record):
    with pytest.raises(UserError, match="expected a ply from 0 to"):
        record.policy(len(record) + 1)
