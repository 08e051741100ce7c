"""Chess against known perft counts and, over random games and random positions, against python-chess."""

import random
from collections import Counter
from pathlib import Path

import chess
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from base.compiler import compiled
from base.errors import UserError
from base.files import read_json
from base.seeds import generator
from classical.tables.endgames import spans
from games import load
from games.engine import kernels

GAME = load("chess")
IDS = {name: action for action, name in enumerate(GAME.names) if name}
START = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"
PERFT = read_json(Path(__file__).parent / "data" / "perft" / "chess.json")["cases"]  # test_perft.py plays them all


def names(state):
    return sorted(GAME.names[action] for action in GAME.movements(state))


gain, tactical_actions = compiled(GAME.rules.gain), compiled(GAME.rules.tactical_actions)
null_result, endgame_index = compiled(GAME.rules.null_result), compiled(GAME.rules.endgame_index)


def count_endgames(rules):
    """count_endgames(states [1], blank [1], first, last) -> how many; -1 where index and position disagree."""
    position, index = rules.endgame_position, rules.endgame_index

    def count_endgames(states, blank, first, last):
        found = 0
        for i in range(first, last):
            states[0] = blank[0]
            if position(states[0], i):
                found += 1
                if index(states[0]) != i:
                    return -1
        return found

    return count_endgames


# ── python-chess: random games, every ply ──


def replay(rules):
    """replay(states [plies+1], moves [plies], legal [plies+1, max_legal], counts, over [plies+1], utilities [2])"""
    legal_actions, result, is_terminal, utility = rules.legal_actions, rules.result, rules.is_terminal, rules.utility

    def replay(states, moves, legal, counts, over, utilities):
        for ply in range(len(moves) + 1):
            counts[ply] = legal_actions(states[ply], legal[ply])
            over[ply] = is_terminal(states[ply])
            if ply < len(moves):
                states[ply + 1] = states[ply]
                result(states[ply + 1], moves[ply])
        if over[len(moves)]:
            for player in range(2):
                utilities[player] = utility(states[len(moves)], player)

    return replay


def their_random_game(rng, shuffles):
    """Moves, legal moves and FENs by ply, the outcome, white's result. `shuffles`: no pawn moves where others are."""
    board, seen = chess.Board(), Counter()
    moves, legal, texts = [], [], []
    while True:
        choices = list(board.legal_moves)
        legal.append(sorted(move.uci() for move in choices))
        texts.append(board.fen())
        position = texts[-1].rsplit(" ", 2)[0]
        seen[position] += 1
        if not choices:
            mated = -1 if board.turn == chess.WHITE else 1
            return moves, legal, texts, *(("checkmate", mated) if board.is_check() else ("stalemate", 0))
        for outcome, is_over in (
            ("insufficient material", board.is_insufficient_material()),
            ("fifty moves", board.halfmove_clock >= 100),
            ("threefold repetition", seen[position] == 3),
        ):
            if is_over:
                return moves, legal, texts, outcome, 0
        quiet = [move for move in choices if not board.is_zeroing(move)]
        move = rng.choice(quiet if shuffles and quiet else choices)
        moves.append(move.uci())
        board.push(move)


def test_random_games_are_those_of_python_chess():
    rng, outcomes = random.Random(1), Counter()
    for game in range(80):
        moves, legal, texts, outcome, white = their_random_game(rng, shuffles=game % 6 == 0)
        outcomes[outcome] += 1
        plies = len(moves)
        states = GAME.scratch(GAME.initial(), plies + 1)
        listed, counts = np.zeros((plies + 1, GAME.rules.max_legal), np.int32), np.zeros(plies + 1, np.int64)
        over, utilities = np.zeros(plies + 1, np.bool_), np.zeros(2)
        GAME.kernel(replay)(states, np.array([IDS[move] for move in moves], np.int32), listed, counts, over, utilities)
        for ply in range(plies + 1):
            assert sorted(GAME.names[action] for action in listed[ply, : counts[ply]]) == legal[ply], texts[ply]
            assert over[ply] == (ply == plies), texts[ply]
            if rng.random() < 0.1 or ply == plies or states[ply].en_passant:
                assert GAME.text(states[ply]) == texts[ply]
        assert utilities.tolist() == [white, -white]
    assert len(outcomes) == 5, outcomes  # every way of ending has been seen


def test_draws_that_python_chess_leaves_to_a_claim_are_automatic():
    moves = "g1f3 g8f6 f3g1 f6g8 " * 2
    board = chess.Board()
    for move in moves.split():
        board.push_uci(move)
    assert GAME.is_terminal(GAME.play(moves)) and not board.is_game_over() and board.is_game_over(claim_draw=True)
    fen = "6k1/5ppp/8/8/8/8/8/R5K1 b - - 100 80"
    assert GAME.is_terminal(GAME.parse(fen)) and not chess.Board(fen).is_game_over()


# ── python-chess: positions that no game reaches by chance ──


def random_placement(rng):
    """A valid position with pieces anywhere, or None."""
    board = chess.Board(None)
    squares = rng.sample(range(64), 64)
    for colour in chess.COLORS:
        board.set_piece_at(squares.pop(), chess.Piece(chess.KING, colour))
        for _ in range(rng.choice((0, 1, 3, 6, 10))):
            square = squares.pop()
            kind = rng.choice("nbrq" if square // 8 in (0, 7) else "pppnbrq")
            board.set_piece_at(square, chess.Piece(chess.PIECE_SYMBOLS.index(kind), colour))
    board.turn = rng.random() < 0.5
    for file in rng.sample(range(8), 8):
        board.ep_square = (40 if board.turn else 16) + file
        if board.is_valid():
            return board
    board.ep_square = None
    return board if board.is_valid() else None


WORTH = {chess.PAWN: 1, chess.KNIGHT: 3, chess.BISHOP: 3, chess.ROOK: 5, chess.QUEEN: 9, chess.KING: 10}


def expected_gain(board, move):
    """Of a capture or promotion: what it wins, and nothing where the lesser is taken by the greater on a guarded square."""
    taker = board.piece_type_at(move.from_square)
    taken = chess.PAWN if board.is_en_passant(move) else board.piece_type_at(move.to_square)
    after = board.copy()
    after.push(move)
    if taken and WORTH[taken] < WORTH[taker] and after.attackers(after.turn, move.to_square):
        return 0.1 if after.is_check() else 0.0
    won = WORTH[taken] - WORTH[taker] / 20 if taken else 0
    return won + (WORTH[move.promotion] - 1 if move.promotion else 0)


def test_random_positions_are_those_of_python_chess():
    rng, tried, checks = random.Random(2), 0, Counter()
    actions = np.zeros(GAME.rules.max_legal, np.int32)
    while tried < 1000:
        board = random_placement(rng)
        if board is None:
            continue
        try:
            state = GAME.parse(board.fen())
        except UserError as error:
            assert "that one move can give" in str(error)  # ours is the stricter one about double checks
            continue
        tried += 1
        assert names(state) == sorted(move.uci() for move in board.legal_moves), board.fen()
        assert GAME.text(state) == board.fen()
        assert GAME.is_terminal(state) == board.is_game_over(), board.fen()
        quiet = [move for move in board.legal_moves if not board.is_capture(move) and not move.promotion]
        for move in board.legal_moves:
            found = gain(state, IDS[move.uci()])
            if move in quiet:
                assert found == (0.1 if board.gives_check(move) else 0.0), (board.fen(), move)
                checks[board.gives_check(move)] += 1
            else:
                assert found == pytest.approx(expected_gain(board, move)), (board.fen(), move)
        listed = actions[: tactical_actions(state, actions)].tolist()
        assert sorted(listed) == sorted(action for action in GAME.movements(state) if gain(state, action) > 0)
    assert min(checks[True], checks[False]) > 500


# ── laws of the rules, drawn ──


@pytest.mark.parametrize(
    ("fen", "outcome"),
    [
        ("R5k1/5ppp/8/8/8/8/8/6K1 b - - 0 1", "white mates"),
        ("7k/5Q2/6K1/8/8/8/8/8 b - - 0 1", "draw"),  # stalemate
        ("R5k1/5ppp/8/8/8/8/8/6K1 b - - 100 80", "white mates"),  # mate goes before the 50 moves
        ("6k1/5ppp/8/8/8/8/8/R5K1 b - - 100 80", "draw"),
        ("6k1/5ppp/8/8/8/8/8/R5K1 b - - 99 80", "on"),
        ("4k3/8/8/8/8/8/8/4K3 w - - 0 1", "draw"),
        ("4k3/8/8/8/8/8/8/4KN2 w - - 0 1", "draw"),
        ("4k3/8/8/8/8/8/8/4KB2 b - - 0 1", "draw"),
        ("2b1k3/8/8/8/8/8/8/4KB2 b - - 0 1", "draw"),  # c8 and f1 are light
        ("4kb2/8/8/8/8/8/8/4KB2 b - - 0 1", "on"),
        ("4k3/8/8/8/8/8/8/3NKN2 w - - 0 1", "on"),
        ("4kn2/8/8/8/8/8/8/4KB2 w - - 0 1", "on"),
        ("4k3/8/8/8/8/8/5P2/4K3 w - - 0 1", "on"),
    ],
)
def test_end(fen, outcome):
    state = GAME.parse(fen)
    assert GAME.is_terminal(state) == (outcome != "on")
    if outcome != "on":
        assert GAME.utility(state) == ((1.0, -1.0) if outcome == "white mates" else (0.0, 0.0))


def test_draws_by_counter_leave_the_movements():
    state = GAME.parse("6k1/5ppp/8/8/8/8/8/R5K1 b - - 100 80")
    assert GAME.legal_actions(state) == [] and len(GAME.movements(state)) == 8
    counts = [GAME.perft(3, GAME.parse(f"6k1/5ppp/8/8/8/8/8/R5K1 b - - {clock} 80")) for clock in (0, 99)]
    assert counts[0] == counts[1]


def test_third_occurrence_draws_only_with_the_same_rights():
    assert not GAME.is_terminal(GAME.play("g1f3 g8f6 f3g1 f6g8 g1f3 g8f6 f3g1"))
    # The kings' walk costs castling: the third time the pieces stand so is the second time for the position.
    corner = GAME.parse("r3k3/8/8/8/8/8/8/R3K3 w Qq - 0 1")
    walk = "e1e2 e8e7 e2e1 e7e8 "
    assert not GAME.is_terminal(GAME.play(walk * 2, corner))
    assert GAME.is_terminal(GAME.play(walk * 2 + "e1e2 e8e7", corner))


def test_en_passant_square_is_there_only_where_the_capture_is_legal():
    for fen, move, square in (
        ("4k3/8/8/8/1p6/8/P7/4K3 w - - 0 1", "a2a4", "a3"),
        ("4k3/8/8/8/8/8/P7/4K3 w - - 0 1", "a2a4", "-"),  # no pawn that could capture
        ("8/8/8/8/Kp5r/8/2P5/4k3 w - - 0 1", "c2c4", "c3"),
        ("8/8/8/8/kp5R/8/2P5/4K3 w - - 0 1", "c2c4", "-"),  # two pawns would leave the rank
        ("1k6/8/8/8/1p6/8/2P5/1R2K3 w - - 0 1", "c2c4", "-"),  # pinned on the file
    ):
        state = GAME.play(move, GAME.parse(fen))
        assert GAME.text(state).split()[3] == square
        again = GAME.text(state).split()
        again[3] = move[0] + "3"
        assert GAME.key(GAME.parse(" ".join(again))) == GAME.key(state)


def test_a_pawn_may_not_be_taken_in_passing_a_move_later():
    state = GAME.play("e2e4 a7a6 e4e5 d7d5")
    assert "e5d6" in names(state)
    assert "e5d6" not in names(GAME.play("b1c3 a6a5", state))
    assert GAME.text(GAME.play("e5d6", state)).startswith("rnbqkbnr/1pp1pppp/p2P4/8/")


@pytest.mark.parametrize(
    ("fen", "move", "rights"),
    [
        ("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1", "e1g1", "kq"),
        ("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1", "a1a8", "Kk"),
        ("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1", "h1g1", "Qkq"),
        ("r3k2r/8/8/8/8/8/8/R3K2R b KQkq - 0 1", "e8d8", "KQ"),
        ("r3k2r/8/8/8/8/8/8/R3K2R b KQkq - 0 1", "h8h1", "Qq"),
    ],
)
def test_castling_rights_are_lost_with_moves_of_king_and_rook(fen, move, rights):
    assert GAME.text(GAME.play(move, GAME.parse(fen))).split()[2] == rights


# ── keys ──


def test_equal_keys_are_equal_positions():
    by_key, positions = {}, set()
    rng = generator(5, "keys")
    moves = kernels.sampler(GAME.rules)
    scratch = np.zeros(GAME.rules.max_legal, np.int32)
    with np.errstate(over="ignore"):
        for _ in range(8):
            state = GAME.initial()
            for _ in range(80):
                if GAME.is_terminal(state):
                    break
                position = " ".join(GAME.text(state).split()[:4])
                positions.add(position)
                assert by_key.setdefault(GAME.key(state), position) == position
                assert GAME.key(GAME.parse(GAME.text(state))) == GAME.key(state)
                GAME.rules.result(state, moves(state, scratch, rng))
    assert len(positions) == len(by_key)
    assert GAME.key(GAME.play("e2e4 e7e5 g1f3")) == GAME.key(GAME.play("g1f3 e7e5 e2e4"))


def test_passing():
    state = GAME.play("e2e4 a7a6 e4e5 d7d5")
    after = state.copy()
    assert null_result(after)
    fields = GAME.text(state).split()
    assert GAME.text(after).split()[:4] == [fields[0], "b", fields[2], "-"]
    assert GAME.key(after) == GAME.key(GAME.parse(GAME.text(after))) != GAME.key(state)
    assert GAME.is_terminal(after) is False
    for fen in (
        "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1",  # pawns alone
        "4k3/8/8/8/4r3/8/3N4/4K3 w - - 0 1",  # in check
        "7k/5Q2/8/8/8/8/8/K7 w - - 0 1",  # black would be stalemated
        "7k/5Q2/8/3pP3/3N4/8/8/K7 w - d6 0 1",  # the same, and the en passant square stays
        "4k3/8/8/8/8/8/R7/4K3 w - - 99 80",  # the fifty moves would be full
    ):
        state = GAME.parse(fen)
        before = state.copy()
        assert not null_result(state)
        assert state == before and GAME.text(state) == fen


def test_no_position_before_a_pass_counts_as_repeated():
    state = GAME.play("g1f3 g8f6 f3g1 f6g8 g1f3 g8f6")
    assert state.repetitions == 1
    null_result(state)
    null_result(state)
    assert state.repetitions == 0
    assert not GAME.is_terminal(GAME.play("f3g1 f6g8", state))


# ── learners ──


def upside_down(state):
    """The same position with colours exchanged."""
    board = chess.Board(GAME.text(state)).mirror()
    return GAME.parse(board.fen())


def test_black_sees_what_white_would_see():
    rng = random.Random(3)
    for _ in range(15):
        moves, _, texts, *_ = their_random_game(rng, shuffles=False)
        for text in texts[:: max(1, len(moves) // 8)]:
            state = GAME.parse(text)
            turned = upside_down(state)
            for player in range(2):
                assert (GAME.observe(state, player) == GAME.observe(turned, 1 - player)).all()
                assert GAME.features(state, player) == GAME.features(turned, 1 - player)
            view = GAME.rules.action_view
            seen = [sorted(view[s.mover][GAME.movements(s)].tolist()) for s in (state, turned)]
            assert seen[0] == seen[1]


def test_action_view_turns_the_names():
    for action, name in enumerate(GAME.names):
        turned = GAME.names[GAME.rules.action_view[1, action]]
        assert turned == "".join(str(9 - int(letter)) if letter.isdigit() else letter for letter in name)


def test_planes():
    state = GAME.play("e2e4 a7a6 e4e5 d7d5")
    planes = GAME.observe(state)
    assert planes[0, 1].tolist() == [1, 1, 1, 1, 0, 1, 1, 1] and planes[0, 4, 4] == 1
    assert planes[6, 5, 0] == planes[6, 4, 3] == 1 and planes[5, 0, 4] == planes[11, 7, 4] == 1
    assert planes[12:16].min() == 1 and planes[16].sum() == planes[16, 5, 3] == 1
    assert not planes[17].any() and not planes[18].any()
    again = GAME.observe(GAME.play("g1f3 g8f6 f3g1 f6g8"))
    assert (again[17] == np.float32(0.04)).all() and (again[18] == 1).all()


def test_features_are_antisymmetric_and_count_what_they_name():
    state = GAME.parse("r1b2rk1/ppp2ppp/8/8/3P4/8/PP4PP/R2QR1K1 w - - 0 1")
    white, black = GAME.features(state, 0), GAME.features(state, 1)
    assert white == {name: -value for name, value in black.items()}
    wanted = {"pawns": -1, "queens": 1, "bishops": -1, "rooks": 0, "isolated pawns": 1, "passed pawns": 0}
    wanted |= {"rooks on open files": 1, "castling rights": 0, "to move": 1, "doubled pawns": 0}
    assert {name: white[name] for name in wanted} == wanted
    state = GAME.parse("4k3/P7/8/8/3P4/3P4/8/4K3 b - - 0 1")
    wanted = {"pawns": 3, "doubled pawns": 1, "isolated pawns": 3, "passed pawns": 3, "to move": -1}
    wanted |= {"passed pawns' advance": 5**2 + 2**2 + 1**2}
    assert {name: GAME.features(state, 0)[name] for name in wanted} == wanted


# ── endgames ──


CLASSES = spans(GAME)


@pytest.mark.parametrize("name", CLASSES)
def test_endgame_indices_and_positions_are_inverse(name):
    first, last = CLASSES[name]
    found = GAME.kernel(count_endgames)(GAME.blanks(1), GAME.blanks(1), first, last)
    assert found > (last - first) * (
        0.35 if name == "KBBK" else 0.6
    )  # of two equal pieces half of the numbers are free
    if name == "KPK":
        assert 2 * found == 331_352  # legal positions, counted by others
    rng = random.Random(name)
    for _ in range(200):
        index, state = rng.randrange(first, last), GAME.blank()
        with np.errstate(over="ignore"):
            if GAME.rules.endgame_position(state, index):
                board = chess.Board(GAME.text(state))
                assert board.is_valid() and len(board.piece_map()) == len(name)
    for outside in (-1, sum(size for _, size in GAME.rules.endgames)):
        assert not GAME.rules.endgame_position(GAME.blank(), outside)


BOARD_SYMMETRIES = (
    chess.flip_vertical,
    chess.flip_horizontal,
    chess.flip_diagonal,
    chess.flip_anti_diagonal,
    lambda board: chess.flip_vertical(chess.flip_horizontal(board)),
    lambda board: chess.flip_horizontal(chess.flip_diagonal(board)),
    lambda board: chess.flip_vertical(chess.flip_diagonal(board)),
)


@pytest.mark.parametrize("name", CLASSES)
def test_a_position_and_its_images_have_one_endgame_index(name):
    """Colours and symmetries of the board; with pawns colours and files. Other positions have other indices."""
    first, last = CLASSES[name]
    rng, seen = random.Random(name), {}
    strong, weak = name[1:].split("K")
    while len(seen) < 150:
        board = chess.Board(None)
        pieces = ["K", *strong, "k", *weak.lower()]
        squares = rng.sample(range(64), len(pieces))
        if rng.random() < 0.5:  # where images meet
            squares[pieces.index("K")], squares[pieces.index("k")] = rng.sample(range(0, 64, 9), 2)
        if len(set(squares)) < len(squares):
            continue
        for square, piece in zip(squares, pieces, strict=True):
            board.set_piece_at(square, chess.Piece.from_symbol(piece))
        board.turn = rng.random() < 0.5
        if not board.is_valid():
            continue
        symmetries = BOARD_SYMMETRIES[1:2] if name == "KPK" else BOARD_SYMMETRIES
        images = [board, board.mirror(), *(board.transform(each) for each in symmetries)]
        images += [each.mirror() for each in images[2:]]
        (index,) = {int(endgame_index(GAME.parse(each.fen()))) for each in images}
        assert first <= index < last
        texts = {each.fen() for each in images}
        assert seen.setdefault(index, texts) == texts
        state = GAME.blank()
        with np.errstate(over="ignore"):
            assert GAME.rules.endgame_position(state, index)
        assert GAME.text(state) in texts


def test_other_positions_are_in_no_endgame_class():
    for fen in (START, *(f"4k3/8/8/8/8/8/8/{rest} - 0 1" for rest in ("4K3 w -", "R3K3 w Q", "RR2K3 w -"))):
        assert endgame_index(GAME.parse(fen)) == -1


# ── text ──


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected FEN's fields .*, got ''"),
        ("8/8/8/8/8/8/8/8 w - - 0", "expected FEN's fields"),
        ("8/8/8/8/8/8/8 w - - 0 1", "expected eight ranks"),
        ("rnbqkbnr/pppppppp/44/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", "expected eight ranks"),
        ("rnbqkbnr/pppppppp/9/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", "expected eight ranks"),
        ("rnbqkbnr/ppppxppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", "expected eight ranks"),
        (START.replace(" w ", " x "), "expected w or b to move, got 'x'"),
        (START.replace("KQkq", "kqKQ"), "expected castling rights of K, Q, k, q in this order or '-', got 'kqKQ'"),
        (START.replace("KQkq", "KK"), "expected castling rights"),
        (START.replace("RNBQKBNR", "1NBQKBNR"), "expected king and rook on e1 and a1 for castling 'Q'"),
        (START.replace("rnbqkbnr", "rnbq1bnr"), "expected one black king, got 0"),
        (START.replace("RNBQKBNR", "RNKQKBNR"), "expected one white king, got 2"),
        (START.replace("RNBQKBNR", "RNBQKBNP"), "expected no white pawn on the first or the last rank"),
        (START.replace("/8/8/8/8/", "/8/8/P7/8/"), "expected at most eight white pawns and promoted pieces, got 9"),
        (START.replace("/8/8/8/8/", "/8/8/Q7/8/"), "expected at most eight white pawns and promoted pieces, got 9"),
        (START.replace("- 0", "e3 0"), "expected an en passant square on rank 6 or '-', got 'e3'"),
        (START.replace("- 0", "e9 0"), "expected an en passant square on rank 6 or '-', got 'e9'"),
        (START.replace("- 0", "e6 0"), "expected an en passant square that a pawn has just passed, got 'e6'"),
        ("4k3/8/8/3pP3/8/8/8/4K3 w - d6 1 2", "clock: expected 0 after a pawn's double step, got 1"),
        # White was in check from a1 before black's pawn moved.
        ("4k3/8/8/3pP3/8/8/8/r3K3 w - d6 0 2", "expected an en passant square that a pawn has just passed, got 'd6'"),
        (START.replace("- 0", "- 101"), "clock: expected a number from 0 to 100, got '101'"),
        (START.replace("- 0", "- \u00b2"), "clock: expected a number"),
        (START.replace("0 1", "0 0"), "move: expected a number from 1 to 9999, got '0'"),
        ("4k3/8/8/8/8/8/4r3/4K3 b - - 0 1", "expected the side that is not to move out of check"),
        ("8/8/8/8/8/8/3kK3/8 w - - 0 1", "expected the side that is not to move out of check"),
        ("4k3/8/8/8/8/2n3n1/8/r3K2r w - - 0 1", "expected a check that one move can give, got one from a1, h1"),
        ("4k3/8/8/8/8/3n1n2/8/4K3 w - - 0 1", "expected a check that one move can give, got one from d3, f3"),
    ],
)
def test_parse_errors_name_what_is_wrong(text, message):
    with pytest.raises(UserError, match=message):
        GAME.parse(text)


def test_four_fields_are_enough():
    assert GAME.text(GAME.parse(START.rsplit(" ", 2)[0])) == START


def written(text):
    """What must hold of anything that `parse` accepts."""
    try:
        state = GAME.parse(text)
    except UserError:
        return
    again = GAME.text(state)
    assert GAME.text(GAME.parse(again)) == again
    assert chess.Board(again).is_valid(), again
    assert names(state) == sorted(move.uci() for move in chess.Board(again).legal_moves)


POSITIONS = [case["position"] for case in PERFT]
PIECES = st.text("PNBRQKpnbrqk12345678/", max_size=40)


LETTERS = st.sampled_from("PpKkRrQ18/ -wbeqac36\u0661x")
RIGHTS, PASSING = st.text("KQkq-", max_size=4), st.text("-abcdefgh36", max_size=2)
FEN_LIKE = "{} {} {} {} {} {}".format


@given(st.sampled_from(POSITIONS), st.lists(st.tuples(st.integers(0, 90), st.integers(0, 2), LETTERS)))
@settings(max_examples=250, deadline=None)
def test_parse_of_damaged_text(text, edits):
    for at, cut, new in edits[:4]:
        text = text[:at] + new + text[at + cut :]
    written(text)


@given(st.text() | st.builds(FEN_LIKE, PIECES, st.sampled_from("wb"), RIGHTS, PASSING, st.integers(), st.integers()))
@settings(max_examples=150, deadline=None)
def test_parse_of_nonsense(text):
    written(text)


@given(st.randoms(use_true_random=False), st.sampled_from(["-", "KQkq", "K", "q"]), st.integers(0, 100))
@settings(max_examples=150, deadline=None)
def test_parse_of_random_boards(rng, rights, clock):
    rows = ["".join(rng.choice("........PpPpnNbBrRqQ") for _ in range(8)) for _ in range(8)]
    cells = list("".join(rows))
    for king, square in zip("Kk", rng.sample(range(64), 2), strict=True):
        cells[square] = king
    board = "/".join("".join(cells[i : i + 8]) for i in range(0, 64, 8))
    for empty in range(8, 0, -1):
        board = board.replace("." * empty, str(empty))
    written(f"{board} {rng.choice('wb')} {rights} - {clock} 7")
