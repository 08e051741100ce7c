"""SAN and PGN, compared with python-chess."""

import io
from itertools import islice

import chess
import chess.pgn
import pytest
from commands import command
from hypothesis import given, settings
from hypothesis import strategies as st

from arena.openings import Openings
from base.errors import UserError
from base.framed_log import LogWriter
from base.seeds import below, generator
from games import load
from games.formats.pgn import games_of, pgn_of, read_pgn
from games.formats.san import action_of_san, san_line, san_of
from games.record import make_record, read_records

GAME = load("chess")
CROWDED = "1Q1Q4/7k/1Q6/8/8/2N1N3/5PPP/R3K2R w KQ - 0 1"
PROMOTING = "1n1n3k/P1P1P3/8/8/8/8/1p4K1/R1R5 w - - 0 1"
PASSING = "4k3/8/8/2pPp3/8/8/8/4K3 w - c6 0 9"


def random_moves(seed, most, start=None):
    rng, state, moves = generator(seed, "pgn"), GAME.initial() if start is None else start, []
    while len(moves) < most and (legal := GAME.legal_actions(state)):
        moves.append(legal[below(rng, len(legal))])
        state = GAME.result(state, moves[-1])
    return moves, state


def read(text, tmp_path, **options):
    path = tmp_path / "games.pgn"
    path.write_text(text, encoding="utf-8")
    return list(read_pgn(path, GAME, **options))


def names(record):
    return record.move_names(GAME)


# ── moves ──


@given(seed=st.integers(0, 10**6), fen=st.sampled_from([None, CROWDED, PROMOTING, PASSING]))
@settings(max_examples=40)
def test_moves_are_written_as_python_chess_writes_them(seed, fen):
    start = None if fen is None else GAME.parse(fen)
    board = chess.Board(fen or chess.STARTING_FEN)
    moves, _ = random_moves(seed, 120, start)
    expected = []
    for move in moves:
        played = chess.Move.from_uci(GAME.name_of(move))
        expected.append(board.san(played))
        board.push(played)
    assert san_line(GAME, GAME.initial() if start is None else start, moves) == expected


@given(seed=st.integers(0, 10**6), fen=st.sampled_from([None, CROWDED, PROMOTING, PASSING]))
@settings(max_examples=40)
def test_every_legal_move_is_read_back_from_its_writing(seed, fen):
    _, state = random_moves(seed, seed % 60, None if fen is None else GAME.parse(fen))
    written = {san_of(GAME, state, action): action for action in GAME.legal_actions(state)}
    assert len(written) == len(GAME.legal_actions(state))
    for text, action in written.items():
        assert action_of_san(GAME, state, text) == action
        assert action_of_san(GAME, state, text.rstrip("+#").replace("x", "").replace("=", "") + "!?") == action
        assert action_of_san(GAME, state, GAME.name_of(action)) == action


@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("0-0", "e1g1"),
        ("0-0-0+", "e1c1"),
        ("o-o", "e1g1"),
        ("Qb8-b7", "b8b7"),
        ("Qb8b7!", "b8b7"),
        ("Nc3:d5", "c3d5"),
        ("Pf2-f4", "f2f4"),
        ("Qdd6", "d8d6"),
    ],
)
def test_other_ways_of_writing_are_read(word, name):
    state = GAME.parse(CROWDED)
    assert GAME.name_of(action_of_san(GAME, state, word)) == name


@pytest.mark.parametrize(
    ("word", "complaint"),
    [
        ("Nd5", "expected one move, got 'Nd5', which may be several in 1Q1Q4/7k"),
        ("Nh6", "expected a legal move, got 'Nh6' in 1Q1Q4"),
        ("f4=Q", "expected a legal move, got 'f4=Q'"),
        ("Jf4", "expected a chess move such as e4, Nbd2, exd5, e8=Q or O-O, got 'Jf4'"),
        ("--", "expected a chess move"),
        ("", "expected a chess move"),
    ],
)
def test_a_word_that_is_no_move_here_is_one_line(word, complaint):
    with pytest.raises(UserError, match=complaint):
        action_of_san(GAME, GAME.parse(CROWDED), word)


def test_a_promotion_names_its_piece():
    state = GAME.parse(PROMOTING)
    for word in ("e8", "axb8"):
        with pytest.raises(UserError, match="expected a legal move"):
            action_of_san(GAME, state, word)
    for word in ("e8N", "e8=N+", "e8(N)", "e8/N", "e7e8n"):
        assert GAME.name_of(action_of_san(GAME, state, word)) == "e7e8n"


@given(word=st.text(st.sampled_from("NBRQKPabcdefgh12345678x=+#-O0!?. e"), max_size=9))
@settings(max_examples=150)
def test_any_word_is_a_legal_move_or_one_line(word):
    state = GAME.parse(PROMOTING)
    try:
        assert action_of_san(GAME, state, word) in GAME.legal_actions(state)
    except UserError as error:
        assert "\n" not in str(error)


# ── whole games ──


def record_from(seed):
    """A game with every part that a record may have."""
    start = GAME.parse(PASSING) if seed % 5 == 1 else None
    moves, last = random_moves(seed, 5 + seed % 90, start)
    ended = {
        0: {"outcome": (1, -1), "ending": "resigned"},
        1: {"outcome": (0, 0), "ending": "agreed"},
        2: {"outcome": (-1, 1), "ending": "forfeit: no move within 5,100 ms"},
        3: {"outcome": (0, 0), "ending": "adjudicated"},
        4: {"ending": "broken off"},
        5: {},
    }[seed % 6]
    tags = {"tags": {"Event": 'the "cup" \\ of Łódź', "WhiteElo": "2000"}} if seed % 2 else {}
    players = ['uci:"stockfish",ms=5', ""] if seed % 3 else ["", ""]
    return make_record(
        GAME,
        moves,
        **({} if GAME.is_terminal(last) else ended),
        players=players,
        seed=seed or None,
        start=start,
        metadata=tags,
    )


def test_records_come_back_from_pgn_in_any_number(tmp_path):
    records = [record_from(seed) for seed in range(60)]
    assert read("".join(pgn_of(record, GAME) for record in records), tmp_path) == records


def test_python_chess_reads_what_is_written():
    for seed in range(20):
        record = record_from(seed)
        theirs = chess.pgn.read_game(io.StringIO(pgn_of(record, GAME)))
        assert not theirs.errors
        assert [move.uci() for move in theirs.mainline_moves()] == names(record).split()
        outcome = {"1-0": (1, -1), "0-1": (-1, 1), "1/2-1/2": (0, 0), "*": None}[theirs.headers["Result"]]
        assert outcome == record.outcome and theirs.headers["Black"] == (record.players[1] or "?")


def test_what_python_chess_writes_with_comments_and_variations_is_read(tmp_path):
    for seed in range(10):
        moves, _ = random_moves(seed, 60)
        game = node = chess.pgn.Game()
        for ply, move in enumerate(moves):
            legal = list(node.board().legal_moves)
            side = node.add_variation(legal[seed % len(legal)], comment="no ) } ( 1-0 [here".replace("}", ""))
            if ply % 7 == 0:
                side.add_variation(next(iter(side.board().legal_moves), chess.Move.null()), nags=[5])
            node = node.add_main_variation(chess.Move.from_uci(GAME.name_of(move)), comment="[%clk 0:10] e4")
        assert read(str(game) + "\n\n", tmp_path)[0].moves.tolist() == moves


LENIENT = """
% a line for machines
1.e4 e5 2.Nf3 $1 (2.f4 exf4 (2... d5) ) {a comment
[%eval 0.1] of two lines} Nc6 ; the rest is silence 3. Bc4
2... 3. Bb5!? a6 =  +- 4 . 0-0 Nf6  e.p.  1-0
d4 d5 *
c4 ½-½
[Event "a "quoted" cup"][Site "x"]
[White "A"]

e4

[Event "b"]
[Result "0-1"]

1. f3 e5 2. g4 Qh4# 0-1
[White "anonymous"]
[Result "1/2-1/2"]
"""


def test_files_are_read_leniently(tmp_path):
    found = read(LENIENT, tmp_path, report=pytest.fail)
    assert [names(record) for record in found] == [
        "e2e4 e7e5 g1f3 b8c6 f1b5 a7a6 e1g1 g8f6",
        "d2d4 d7d5",
        "c2c4",
        "e2e4",
        "f2f3 e7e5 g2g4 d8h4",
        "",
    ]
    assert [record.outcome for record in found] == [(1, -1), None, (0, 0), None, (-1, 1), (0, 0)]
    assert [record.ending for record in found] == ["resigned", "", "agreed", "", "", "agreed"]
    assert found[3].players == ("A", "") and found[4].metadata == {"tags": {"Event": "b"}}


ANNOTATED = """[Event "a cup"]
[Site "?"]
[Date "????.??.??"]
[Round "?"]
[White "A"]
[Black "B"]
[Result "1-0"]
[ECO "C20"]
[Annotator "a friend"]
[Termination "Normal"]
[Seed "none"]

{before the first move} 1. e4 $1 {[%clk 0:10] good} (1. d4 d5 {or} (1... Nf6
2. c4) 2. c4) 1... e5 $6 (1... c5 $5 {; Sicilian}) 2. Nf3 {100 %
%: of two lines} 2... Nc6 $14 {the end} 1-0

"""


def test_what_is_read_and_written_again_is_not_less(tmp_path):
    (record,) = read(ANNOTATED, tmp_path, report=pytest.fail)
    again = pgn_of(record, GAME)
    assert " ".join(again.split()) == " ".join(ANNOTATED.split())
    assert read(again, tmp_path) == [record] and names(record) == "e2e4 e7e5 g1f3 b8c6"
    theirs = chess.pgn.read_game(io.StringIO(again))
    assert not theirs.errors and theirs.variations[0].comment == "[%clk 0:10] good" and len(theirs.variations) == 2


def test_moves_behind_the_end_of_our_rules_and_other_writings_of_glyphs_are_written_again(tmp_path):
    (record,) = read("Nf3! Nf6 Ng1 Ng8 Nf3 Nf6 Ng1 Ng8 {drawn} e4 ?! e5 ; so it is\n1-0", tmp_path, report=pytest.fail)
    assert len(record) == 8 and record.outcome == (0, 0)
    again = pgn_of(record, GAME)
    moves = "1. Nf3 $1 1... Nf6 2. Ng1 Ng8 3. Nf3 Nf6 4. Ng1 Ng8 {drawn} 5. e4 $6 5... e5 {so it is} 1-0"
    assert " ".join(again.split()).endswith(moves) and read(again, tmp_path) == [record]


@pytest.mark.parametrize("note", ["{never closed", "(1. e4", "e4", ") (", "1-0", '(1. e4) [Event "x"]', "; all"])
def test_a_note_that_would_break_the_file_is_left_out(note, tmp_path):
    record = make_record(GAME, [], metadata={"notes": {"0": note}, "rest": {"words": "e4 } *", "result": "1-0"}})
    assert "\n\n*\n" in pgn_of(record, GAME)


def test_notes_without_end_are_left_out_and_the_game_is_read(tmp_path):
    long = "{" + "x " * 80_000 + "}"
    (record,) = read(f"1. e4 {long} {{kept}} ({long} 1. d4) 1... e5 *", tmp_path, report=pytest.fail)
    assert names(record) == "e2e4 e7e5" and record.metadata["notes"] == {"1": "{kept}"}


def test_a_game_ends_where_our_rules_draw_it(tmp_path):
    dance = "Nf3 Nf6 Ng1 Ng8 "
    (record,) = read(dance * 2 + "e4 e5 1-0", tmp_path, report=pytest.fail)
    assert len(record) == 8 and record.outcome == (0, 0) and record.ending == ""


BROKEN = [
    ("1. e4 e4 *", "games.pgn:1: ply 1: expected a legal move, got 'e4' in rnbqkbnr/pppppppp/8/8/4P3"),
    ("1. e4\nhello *", "games.pgn:2: expected a move, got 'hello'"),
    ("1. e4 -- 2. e5", "games.pgn:1: expected a move, got '--'"),
    ("1. f3 e5 2. g4 Qh4# 1-0", "games.pgn:1: expected 0-1 from a game that ends with mate, got 1-0"),
    ("1. f3 e5 2. g4 Qh4# 3. a3 *", "games.pgn:1: ply 4: expected the game to be over here, got 'a3'"),
    ('[Variant "Atomic"]\n\n1. e4 *', "games.pgn:1: expected a game of chess, got one of Atomic"),
    ('[FEN "8/8 w - - 0 1"]\n\n1. e4 *', "games.pgn:1: FEN: position of chess: expected eight ranks"),
    ("1. e4 {never closed", "games.pgn:1: expected '}' behind the comment that began in line 1, got the end of the"),
]


@pytest.mark.parametrize(("text", "complaint"), BROKEN)
def test_a_file_of_nothing_but_a_broken_game_is_refused(text, complaint, tmp_path):
    with pytest.raises(UserError) as refusal:
        read(text, tmp_path)
    assert complaint in str(refusal.value) and "\n" not in str(refusal.value)


def test_broken_games_among_others_are_named_and_left_out(tmp_path):
    parts = [f'[Event "{i}"]\n\n{text}\n\n' for i, (text, _) in enumerate(BROKEN)]
    reports = []
    found = read("".join([*parts, '[Event "good"]\n\n1. d4 *\n']), tmp_path, report=reports.append)
    assert [names(record) for record in found] == ["d2d4"]
    assert len(reports) == 6 and all(words.endswith("left out") for words in reports[:5])
    assert reports[0].split(": ", 1)[1].startswith("ply 1: expected a legal move")
    assert reports[5].endswith("8 games in all are left out, 1 are read")


def test_other_games_and_empty_files_are_refused(tmp_path):
    (tmp_path / "a.pgn").write_text("1. e4 *")
    with pytest.raises(UserError, match=r"a.pgn: expected games of othello:size=8, got a PGN file"):
        list(read_records(tmp_path / "a.pgn", load("othello")))
    with pytest.raises(UserError, match="PGN holds games of chess, got one of nim"):
        pgn_of(make_record(load("nim"), []), load("nim"))
    with pytest.raises(UserError, match="expected games, got a file without one"):
        read("\n\n; nothing\n", tmp_path)
    assert read("", tmp_path) == []


def test_openings_are_read_from_pgn(tmp_path):
    (tmp_path / "book.pgn").write_text(f'1. e4 c5 *\n\n[FEN "{PASSING}"]\n\n9. dxc6 e4 *\n\n1. e4 c5 *\n')
    openings = Openings(GAME, str(tmp_path / "book.pgn"))
    states = [GAME.text(opening.state(GAME)) for opening in islice(openings, 2)]
    assert states[0].startswith("rnbqkbnr/pp1ppppp/8/2p5/4P3/8/") and states[1].startswith("4k3/8/2P5/8/4p3/8/8/4K3 w")
    assert openings.distinct == 2 and "left out 1 of 3 openings" in openings.notes


def test_a_line_without_end_is_refused(tmp_path):
    with pytest.raises(UserError, match=r"games.pgn:1: expected lines of fewer than 4,194,304 characters"):
        read("e4 " * (1 << 21), tmp_path)


def test_no_more_than_one_game_is_held():
    taken = 0

    def lines():
        nonlocal taken
        while True:
            yield from [(1, '[Event "x"]\n'), (2, "\n"), (3, "1. e4 e5\n"), (4, "1-0\n"), (5, "\n")]
            taken += 1

    for number, _ in enumerate(islice(games_of(lines(), 100), 50)):
        assert taken == number + 1
    endless = games_of(((number, "e4 e5 " * 10) for number in range(10_000)), 100)
    assert len(next(endless).words) == 101


@given(text=st.text(st.sampled_from('eNdf4321+#.-*()[]{}; \n"%$!0Oo/xq'), max_size=60))
@settings(max_examples=150)
def test_any_text_is_games_or_one_line(text, tmp_path_factory):
    path = tmp_path_factory.mktemp("any") / "x.pgn"
    path.write_text(text)
    try:
        for record in read_pgn(path, GAME, report=lambda words: None):
            record.positions(GAME)
    except UserError as error:
        assert "\n" not in str(error)


def test_records_become_pgn_at_the_command_line_and_are_read_beside_the_others(tmp_path):
    records = [record_from(seed) for seed in range(4)]
    with LogWriter(tmp_path / "a.log") as log:
        for record in records:
            log.append(record.to_bytes())
    words = ["games.formats", "chess", str(tmp_path / "a.log")]
    done = command(words)
    assert done.returncode == 0
    (tmp_path / "b.PGN").write_text(done.stdout)
    (tmp_path / "c.sgf").write_text("(;GM[1])")
    assert list(read_records(tmp_path, GAME)) == records * 2
    words[-1] = str(tmp_path / "c.sgf")
    done = command(words)
    assert done.returncode == 2 and "expected games of chess, got an SGF file" in done.stderr


@pytest.mark.parametrize(("seed", "read_as"), [(0, 0), (2**63, 2**63), (2**64 - 1, 2**64 - 1), (2**64, None)])
def test_every_seed_of_64_bits_comes_back(seed, read_as, tmp_path):
    """Many have twenty digits; larger numbers are not seeds."""
    text = f'[Event "?"]\n[Seed "{seed}"]\n[Result "*"]\n\n1. e4 *\n'
    (record,) = read(text, tmp_path)
    assert record.seed == read_as
