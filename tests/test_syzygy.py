"""Syzygy tables as a player: files in the tables' own format, read by python-chess; mistakes in one line.

A table in which all positions of a side have one value is a few bytes long: here a bishop alone draws, rook against bishop is drawn,
and a queen or rook wins. In the positions below that is so. The whole of KRK is written from the project's own table.
"""

import re
import struct
import sys
from pathlib import Path

import numpy as np
import pytest

from arena.players import Forfeit, make_player
from base.errors import UserError
from classical.tables import NONE, load_tables, plies_of, value_of
from classical.tables.endgames import spans
from games import load
from games.parts.chess_endgames import KINGS

pytest.importorskip("chess")
CHESS = load("chess")
PIECES = {"B": 3, "R": 4, "Q": 5, "K": 6}
WDL, DTZ = b"\x71\xe8\x23\x5d", b"\xd7\x66\x0c\xa5"
ONE_VALUE, IN_PLIES = 0x80, 4


def write_table(folder, name, strong, weak):
    """`strong` and `weak`, 0 to 4, are the values for either side to move; 2 is a draw. Every capture is a ply away."""
    first, second = name.split("v")
    pieces = [PIECES[letter] for letter in first] + [8 | PIECES[letter] for letter in second]
    layout = bytes([0, *(piece | piece << 4 for piece in pieces)])
    layout += bytes(len(WDL + layout + b"f") % 2)
    values = bytes([ONE_VALUE, strong, ONE_VALUE, weak])
    (folder / f"{name}.rtbw").write_bytes((WDL + bytes([1]) + layout + values).ljust(80, b"\0"))
    (folder / f"{name}.rtbz").write_bytes((DTZ + bytes([0]) + layout + bytes([ONE_VALUE, 0])).ljust(80, b"\0"))


@pytest.fixture
def folder(tmp_path):
    write_table(tmp_path, "KBvK", 2, 2)
    write_table(tmp_path, "KRvKB", 2, 2)
    write_table(tmp_path, "KRvK", 4, 0)
    write_table(tmp_path, "KQvK", 4, 0)
    return tmp_path


def coded(values, flags):
    """Header, index, sizes and blocks of a table without compression: every value is a symbol of its own, of eight bits."""
    blocks = -(-len(values) // 64)
    symbols = b"".join(bytes([symbol, 0xF0, 0xFF]) for symbol in range(64))
    header = bytes([flags, 6, 6, 0]) + struct.pack("<IBBHH", blocks, 8, 8, 0, 64) + symbols
    index = b"".join(struct.pack("<IH", block, 32) for block in range(blocks))
    return header, index, struct.pack("<H", 63) * blocks, bytes(values).ljust(64 * blocks, b"\0")


def assembled(magic, flags, parts):
    data = magic + bytes([flags]) + bytes([0, *(piece | piece << 4 for piece in (6, 4, 8 | 6))])
    data += bytes(len(data) % 2)
    headers, indices, sizes, blocks = zip(*parts, strict=True)
    data += b"".join((*headers, *indices, *sizes))
    for block in blocks:
        data = data.ljust(-(-len(data) // 64) * 64, b"\0") + block
    return data + bytes(16)


@pytest.fixture(scope="module")
def rook(tmp_path_factory):
    """A folder with the whole table of KRK: who wins for both sides to move, and plies for the stronger one."""
    import chess.syzygy

    folder, tables = tmp_path_factory.mktemp("syzygy"), load_tables(CHESS)
    write_table(folder, "KRvK", 2, 2)
    layout = chess.syzygy.WdlTable(str(folder / "KRvK.rtbw"))
    layout.init_table_wdl()
    wins, plies = (
        (bytearray(b"\2" * layout.tb_size[0]), bytearray(b"\2" * layout.tb_size[0])),
        bytearray(layout.tb_size[0]),
    )
    first, last = spans(CHESS)["KRK"]
    for index in range(first, last):
        side, pair = divmod((index - first) // 64, len(KINGS))
        code, squares = int(tables.array[index]), [int(KINGS[pair, 0]), (index - first) % 64, int(KINGS[pair, 1])]
        state = tables.position(index) if code == NONE and side == 1 else None
        is_mate = state is not None and CHESS.utility(state)[0] == 1.0
        if code == NONE and not is_mate:
            continue
        place = layout.encode_piece(layout.norm[0], [*squares, 0, 0, 0, 0], layout.factor[0])
        wins[side][place] = 2 + 2 * (-1 if is_mate else value_of(code))
        if value_of(code) > 0:
            plies[place] = plies_of(code) - 1
    layout.close()
    (folder / "KRvK.rtbw").write_bytes(assembled(WDL, 1, [coded(wins[0], 0), coded(wins[1], 0)]))
    (folder / "KRvK.rtbz").write_bytes(assembled(DTZ, 0, [coded(plies, IN_PLIES)]))
    return folder


def test_the_rook_wins_by_the_files_as_fast_as_by_the_own_table(rook):
    tables, player = load_tables(CHESS), make_player(f'syzygy:"{rook}"', CHESS)
    first, last = spans(CHESS)["KRK"]
    codes, rng = tables.array[first:last], np.random.default_rng(2)
    for index in rng.choice(np.flatnonzero(codes != NONE), 60):
        state, code = tables.position(first + int(index)), int(codes[index])
        choice = player.choose(state)
        assert choice.value == value_of(code)
        after = CHESS.result(state, choice.action)
        if value_of(code) and not CHESS.is_terminal(after):
            assert plies_of(tables.code(after)) == plies_of(code) - 1
    state = CHESS.parse("8/8/8/8/8/2k5/1R6/K7 w - - 0 1")
    for left in range(31, 0, -1):
        assert not CHESS.is_terminal(state) and plies_of(tables.code(state)) == left
        state = CHESS.result(state, player.choose(state).action)
    assert CHESS.utility(state) == (1.0, -1.0)


def chosen(folder, fen):
    choice = make_player(f'syzygy:"{folder}"', CHESS).choose(CHESS.parse(fen))
    return choice, {CHESS.name_of(each.action): each.value for each in choice.actions}


def test_moves_have_the_values_of_the_tables_they_lead_to(folder):
    choice, values = chosen(folder, "8/8/8/8/8/1k6/8/K6Q w - - 0 1")
    assert choice.proven and choice.value == 1.0 and values["h1g1"] == 1.0
    choice, values = chosen(folder, "8/8/8/8/8/k7/8/K6Q b - - 0 1")
    assert choice.proven and choice.value == -1.0 and set(values.values()) == {-1.0}
    choice, values = chosen(folder, "8/8/1b6/8/3k4/8/8/K6R w - - 0 1")
    assert choice.proven and choice.value == 0.0 and set(values.values()) == {0.0}


def test_a_capture_is_judged_by_the_table_behind_it(folder):
    choice, values = chosen(folder, "8/8/8/8/8/k7/8/K2b3R w - - 0 1")
    assert CHESS.name_of(choice.action) == "h1d1" and choice.value == 1.0 and values["h1h2"] == 0.0
    choice, values = chosen(folder, "8/8/8/8/8/2kQ4/8/7K b - - 0 1")
    assert CHESS.name_of(choice.action) == "c3d3" and choice.value == 0.0  # bare kings are left
    assert set(values.values()) == {0.0, -1.0} or len(values) == 1


def test_a_mate_comes_first_and_a_stalemate_is_a_draw(folder):
    choice, values = chosen(folder, "7k/8/6K1/8/8/8/8/5Q2 w - - 0 1")
    assert CHESS.name_of(choice.action) == "f1f8" and values["f1f7"] == 0.0
    assert choice.pv == (choice.action,) and choice.nodes == len(values)


def test_a_win_that_the_fifty_moves_may_cut_short_is_a_draw(folder):
    fen = "8/8/8/8/3k4/8/8/K6Q w - - {} 80"
    assert chosen(folder, fen.format(90))[0].value == 1.0
    assert chosen(folder, fen.format(98))[0].value == 0.0


def test_a_position_outside_the_tables_is_forfeited(folder):
    player = make_player(f'syzygy:"{folder}"', CHESS)
    with pytest.raises(Forfeit, match=r"syzygy: .*: did not find wdl table"):
        player.choose(CHESS.parse("8/8/8/8/3k4/8/8/KBN5 w - - 0 1"))
    with pytest.raises(Forfeit, match="syzygy"):
        player.choose(CHESS.initial())


def test_a_table_that_ends_too_soon_is_forfeited(folder):
    whole = (folder / "KQvK.rtbw").read_bytes()
    (folder / "KQvK.rtbw").write_bytes(whole[:9])
    with pytest.raises(Forfeit, match=r"syzygy: .*: a table cannot be read: "):
        chosen(folder, "8/8/8/8/3k4/8/8/K6Q w - - 0 1")


def test_what_is_no_folder_of_tables_is_refused(tmp_path):
    with pytest.raises(UserError, match=r"syzygy: .*nowhere: expected a folder of tables \(.*\), found no such folder"):
        make_player(f'syzygy:"{tmp_path / "nowhere"}"', CHESS)
    with pytest.raises(UserError, match=r"expected a folder of tables \(.*\), found none"):
        make_player(f'syzygy:"{tmp_path}"', CHESS)
    (tmp_path / "KQvK.rtbw").write_bytes(b"not a table at all")
    with pytest.raises(UserError, match=r"KQvK\.rtbw: expected a Syzygy table, got another file"):
        make_player(f'syzygy:"{tmp_path}"', CHESS)
    with pytest.raises(UserError, match="syzygy: expected the game of chess, got othello"):
        make_player(f'syzygy:"{tmp_path}"', load("othello"))


def test_without_python_chess_one_line_says_so(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "chess.syzygy", None)
    monkeypatch.setitem(sys.modules, "chess", None)
    with pytest.raises(UserError, match="syzygy: expected python-chess to read the tables, found none"):
        make_player(f'syzygy:"{folder}"', CHESS)


def test_no_other_file_of_the_packages_imports_python_chess():
    root, folders = (
        Path(__file__).parents[1],
        ("base", "games", "mcts", "nets", "classical", "checkpoints", "selfplay", "arena"),
    )
    files = [file for folder in (*folders, "monitor", "train") for file in (root / folder).rglob("*.py")]
    found = [file for file in files if re.search(r"^\s*(?:import|from) chess\b", file.read_text("utf-8"), re.M)]
    assert len(files) > 200 and [file.name for file in found] == ["syzygy.py"]
