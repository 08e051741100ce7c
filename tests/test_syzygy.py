"""Syzygy tables as a player: files in the tables' own format, read by python-chess; mistakes in one line.

Real tables are too large for a repository. A table in which all positions of a side have one value is a few bytes long, though: here
a bishop alone draws, rook against bishop is drawn, and a queen or rook wins. In the positions below that is so.
"""

import sys

import pytest

from arena.players import Forfeit, make_player
from base.errors import UserError
from games import load

pytest.importorskip("chess")
CHESS = load("chess")
PIECES = {"B": 3, "R": 4, "Q": 5, "K": 6}
WDL, DTZ = b"\x71\xe8\x23\x5d", b"\xd7\x66\x0c\xa5"
ONE_VALUE = 0x80


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
