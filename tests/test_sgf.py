"""Go games in SGF: round trips, leniency, and what is left out."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from base.errors import UserError
from base.seeds import below, generator
from games import load
from games.formats.sgf import read_sgf, sgf_of
from games.record import make_record, read_records

GAME = load("go:size=5,komi=0.5")
HEAD = "GM[1]SZ[5]KM[0.5]"


def read(text, tmp_path, game=GAME, **options):
    path = tmp_path / "games.sgf"
    path.write_text(text, encoding="utf-8")
    return list(read_sgf(path, game, **options))


def random_moves(seed, most, start=None):
    rng, state, moves = generator(seed, "sgf"), GAME.initial() if start is None else start, []
    with np.errstate(over="ignore"):
        while len(moves) < most and (legal := GAME.legal_actions(state)):
            moves.append(legal[below(rng, len(legal))])
            state = GAME.result(state, moves[-1])
    return moves, state


def record_from(seed):
    """A game with every part that a record may have."""
    text = {1: ".x.../...../..o../...../...x. o", 2: "...../...../...../...../..... o"}.get(seed % 4)
    start = None if text is None else GAME.parse(text)
    moves, last = random_moves(seed, 200 if seed % 3 else seed % 40, start)
    ended = {
        0: {"outcome": (1, -1), "ending": "resigned"},
        1: {"outcome": (0, 0), "ending": "agreed"},
        2: {"outcome": (-1, 1), "ending": "forfeit"},
        3: {"outcome": (-1, 1), "ending": "time forfeit"},
        4: {"outcome": (1, -1), "ending": "agreed"},
        5: {},
    }[seed % 6]
    properties = {"properties": {"EV": "the [cup] \\ of Łódź: 1", "RU": "Chinese"}} if seed % 2 else {}
    options = {} if GAME.is_terminal(last) else ended
    return make_record(GAME, moves, players=["a]b", ""], start=start, metadata=properties, **options)


def test_records_come_back_from_sgf_in_any_number(tmp_path):
    records = [record_from(seed) for seed in range(60)]
    assert any(GAME.is_terminal(record.positions(GAME)[-1]) for record in records)
    assert read("".join(sgf_of(record, GAME) for record in records), tmp_path) == records
    assert list(read_records(tmp_path, GAME)) == records


def test_points_count_from_the_top(tmp_path):
    record = make_record(GAME, [GAME.id_of(name) for name in ("A1", "E5", "B4", "pass")])
    assert sgf_of(record, GAME).split("\n", 1)[1].strip() == ";B[ae];W[ea];B[bb];W[])"
    (found,) = read(f"(;{HEAD};B[ae];W[ea];B[bb];W[tt])", tmp_path)
    assert found.moves.tolist() == record.moves.tolist()


LENIENT = """some text (; GaMe[1] SiZe[5:5] KoMi[0,5]
PB[a \\] b\\
c] RE[W+Resign] C[(;B[\\]]
;Black[cc]LB[aa:1][bb:2];White[dd]C[ ) ; ( ](;B[bb];W[ee](;B[aa])(;B[ab]))(;B[dd];W[aa])) more
(;SZ[5]AB[aa:bb][ee]HA[5]AE[ab];W[cc]
;B[dd])"""


def test_files_are_read_leniently(tmp_path):
    found = read(LENIENT, tmp_path, report=pytest.fail)
    assert [record.move_names(GAME) for record in found] == ["C3 D2 B4 E1 A5", "C3 D2"]
    assert found[0].outcome == (-1, 1) and found[0].ending == "resigned" and found[0].players == ("a ] bc", "")
    assert GAME.text(found[1].first_position(GAME)) == "xx.../.x.../...../...../....x o 0"
    assert found[0].metadata["properties"]["C"] == "(;B[]" and found[1].metadata["properties"] == {"HA": "5"}


@pytest.mark.parametrize(
    ("ending", "mark"), [("player 0 forfeits: no move within 5 s", "W+F"), ("player 0 resigns", "W+R"), ("other", "W+")]
)
def test_how_a_game_was_lost_away_from_the_board_is_a_letter(ending, mark):
    assert f"RE[{mark}]" in sgf_of(make_record(GAME, [], outcome=(-1, 1), ending=ending), GAME)


def test_dead_stones_agreed_upon_leave_the_files_result(tmp_path):
    """White's stone stays on the board: by area all other points are neutral, and the file's result is B+R or B+24.5."""
    (found,) = read(f"(;{HEAD}RE[B+24.5];B[cc];W[aa];B[];W[])", tmp_path)
    assert found.move_names(GAME) == "C3 A5 pass" and found.outcome == (1, -1) and found.ending == "agreed"
    (found,) = read(f"(;{HEAD}RE[W+0.5];B[cc];W[aa];B[];W[];B[dd])", tmp_path)
    assert found.move_names(GAME) == "C3 A5 pass pass" and found.outcome == (-1, 1) and found.ending == ""


BROKEN = [
    ("(;GM[2])", "games.sgf:1: GM: expected 1, the game of go, got 2"),
    ("(;GM[1]KM[0.5])", "games.sgf:1: SZ: expected a board of size 5, got 19"),
    ("(;SZ[5]KM[6.5])", "games.sgf:1: KM: expected a komi of 0.5, got 6.5"),
    ("(;SZ[5]KM[five])", "games.sgf:1: KM: expected a komi of 0.5, got five"),
    (f"(;{HEAD}\n;B[cc]\n;W[cc])", "games.sgf:3: ply 1: expected a legal move, got W C3 in ...../...../..x"),
    (f"(;{HEAD}\n;B[cc]\n;B[dd])", "games.sgf:3: ply 1: expected the colours to move in turn, got B twice"),
    (f"(;{HEAD}\n;B[ff])", "games.sgf:2: expected a point of a board of size 5, got 'ff'"),
    (f"(;{HEAD}AB[a])", "games.sgf:1: expected a point of a board of size 5, got 'a'"),
    (f"(;{HEAD};B[aa]\n;AW[bb])", "games.sgf:2: ply 1: expected stones to be set up before the first move"),
    (f"(;{HEAD}PL[green]AB[aa])", "games.sgf:1: PL: expected B or W, got 'G'"),
    (f"(;{HEAD}AB[aa]AW[ab][ba])", "games.sgf:1: setup: position of go:size=5,komi=0.5: expected a liberty"),
    (f"(;{HEAD};B[aa]", "games.sgf:1: expected ')' behind the game that began in line 1, got the end of the file"),
    (f"(;{HEAD};B[aa]C[open", "games.sgf:1: expected ')' behind the game"),
    (f"(;{HEAD};B[aa] 3)", "games.sgf:1: expected ( ) ; or a property in line 1, got '3'"),
    ("()", "games.sgf:1: expected a game, got an empty tree"),
    ("nothing", "games.sgf: expected games, got a file without one"),
]


@pytest.mark.parametrize(("text", "complaint"), BROKEN)
def test_a_file_of_nothing_but_a_broken_game_is_refused(text, complaint, tmp_path):
    with pytest.raises(UserError) as refusal:
        read(text, tmp_path)
    assert complaint in str(refusal.value) and "\n" not in str(refusal.value)


def test_broken_games_among_others_are_named_and_left_out(tmp_path):
    reports = []
    (found,) = read(f"(;SZ[9])\n(;{HEAD};B[aa])\n(;{HEAD};W[zz])", tmp_path, report=reports.append)
    assert found.move_names(GAME) == "A5"
    assert [words.split("games.sgf:")[1] for words in reports] == [
        "1: SZ: expected a board of size 5, got 9; this game is left out",
        "3: expected a point of a board of size 5, got 'zz'; this game is left out",
    ]


def test_other_games_are_refused(tmp_path):
    with pytest.raises(
        UserError, match=r"games.sgf: expected games of chess, got an SGF file, which holds games of go"
    ):
        read("(;)", tmp_path, load("chess"))
    with pytest.raises(UserError, match="SGF holds games of go, got one of nim"):
        sgf_of(make_record(load("nim"), []), load("nim"))
    with pytest.raises(UserError, match="SGF has no position behind a pass"):
        sgf_of(make_record(GAME, [], start=GAME.play("C3 pass")), GAME)


@given(text=st.text(st.sampled_from("();BWSZ[]\\acet:5 \n"), max_size=60), is_headed=st.booleans())
@settings(max_examples=150)
def test_any_text_is_games_or_one_line(text, is_headed, tmp_path_factory):
    path = tmp_path_factory.mktemp("any") / "x.sgf"
    path.write_text(f"(;{HEAD}{text})" if is_headed else text)
    try:
        for record in read_sgf(path, GAME, report=lambda words: None):
            record.positions(GAME)
            sgf_of(record, GAME)
    except UserError as error:
        assert "\n" not in str(error)
