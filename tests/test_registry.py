"""Names of games: options, files, and every way of getting them wrong in one line (two for a file that doesn't compile)."""

import re
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import games
from base.errors import UserError
from base.options import split
from games import builtin_games, load, variants
from games.engine.registry import options_of

FOLDER = Path(games.__file__).parent
NIM = (FOLDER / "nim.py").read_text()


def test_a_file_that_defines_a_game_is_a_game():
    assert set(builtin_games()) == {path.stem for path in FOLDER.glob("*.py") if "\ndef game(" in path.read_text()}
    assert {"tic_tac_toe", "connect_four", "othello", "nim", "tree"} <= set(builtin_games())


def test_a_resolved_name_has_all_options_and_loads_the_same_game():
    for text in variants():
        game = load(text)
        assert load(game.name).name == load(game.spec).name == game.name
        assert set(game.options) == set(options_of(split(text)[0]))
    assert load("othello").name == "othello:size=8"


@pytest.mark.parametrize(
    ("komi", "written"), [("7", "7"), ("7.50", "7.5"), ("-0", "0"), ("7.1234567", "7.1234567"), ("1e-9", "1e-09")]
)
def test_a_number_is_written_in_full_and_in_one_way(komi, written):
    game = load(f"go:size=2,komi={komi}")
    assert game.name == f"go:size=2,komi={written}"
    assert load(game.name) is game or load(game.name).options == game.options


def test_quoted_values_may_hold_commas_and_equal_signs():
    assert split('tree:"a,b=c.json"') == ("tree", [(None, "a,b=c.json")])
    assert split("x:a=1, b=2") == ("x", [("a", "1"), ("b", "2")])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("otello", r"unknown game 'otello': expected one of .*, or a file.py; did you mean 'othello'\?"),
        ("othello:size=7", "othello: size: expected one of 6, 8, got '7'"),
        ("othello:sise=8", r"othello: unknown option 'sise'; options are size; did you mean 'size'\?"),
        ("othello:8", "othello: expected key=value, got '8'; options are size"),
        ("othello:size=8,size=6", "othello: option 'size' is given twice"),
        ("nim:most=sixty", "nim: most: expected 1 to 59, got 'sixty'"),
        ("nim:most=60", "nim: most: expected 1 to 59, got '60'"),
        ("connect_four:size=7", "connect_four: unknown option 'size'; it has no options"),
        ('nim:most="', "options: expected key=value,key=value after 'nim:', got 'most=\"'"),
        ("tree", "tree: expected a value for 'file', as in tree:…"),
        (f"othello:size={'6' * 300}", "othello: size: expected one of 6, 8, got '666"),
        (f"tree:{'x' * 300}", "tree: expected a file, or one of .*; got 'xxx"),
        ("tree:nothing.json", "tree: expected a file, or one of .*two_ply.json.*; got 'nothing.json'"),
        ("./nothing.py", r"\./nothing\.py: expected a file with a game's rules, found no such file"),
        ("", "unknown game ''"),
    ],
)
def test_a_wrong_name_is_an_error_with_what_is_allowed(text, expected):
    with pytest.raises(UserError, match=f"^{expected}"):
        load(text)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            "import numpy as np",
            "import numpy as np\nimport nothing_of_the_kind",
            r"line 6: can't be loaded\nModuleNotFoundError",
        ),
        ("def game(", "def gama(", "expected a function 'game"),
        ("return Rules(", "return dict(", r"can't be loaded\nTypeError"),
        ("def initial(state):", "def initial(state)", r"line 15: not Python\n"),
        ("players=2", "players=0", "players: expected at least 1, got 0"),
        ("seats=[", "owned=[", "owned: expected a field whose first axis is the 2 players, got 'mover' of shape"),
        ('"mover", np', '"copy", np', "State: a field can't be called 'copy'"),
        (
            "np.uint8, 3)",
            "np.bool_, 3)",
            "State: 'heaps' is an array of bool, which numba can't compile; expected np.uint8",
        ),
        ("np.int8)])", "np.int8), ('note', 'U3')])", "State: expected fields of whole .* 'note' is of type <U3"),
        (
            "gain=gain,",
            "gain=gain, endgames=[('all', 9)],",
            "endgames, endgame_index and endgame_position: expected all three or none",
        ),
        (
            "gain=gain,",
            "gain=gain, endgames_on_request=['KBNK'],",
            "endgames_on_request: expected names of endgames, got 'KBNK'",
        ),
        (
            "gain=gain,",
            "gain=gain, endgame_predecessors=lambda state, indices: 0,",
            "endgame_predecessors: expected endgames with it",
        ),
        (
            "gain=gain,",
            "gain=gain, largest_score=3,",
            "largest_score: expected a number above 0 with score, and none without; got 3",
        ),
        (
            "gain=gain,",
            "gain=gain, score=gain,",
            "largest_score: expected a number above 0 with score, and none without; got 0",
        ),
        (
            "gain=gain,",
            "gain=gain, symmetries=[__import__('games').Symmetry('odd', np.arange(3), np.arange(21))],",
            "symmetry 'odd': expected observation to be a permutation of 4 numbers, got 3 entries",
        ),
        (
            "gain=gain,",
            "gain=gain, policy_planes=22,",
            "policy_planes: expected at most 21, for there are 21 actions and 1×1 cells; got 22",
        ),
        (
            "feature_weights=[1] * 6",
            "material=['odd 3s']",
            "material: expected names of features .odd 1s, odd 2s.*got 'odd 3s'",
        ),
        ("feature_weights=[1] * 6", "feature_weights=(1, 2)", "feature_weights: expected one per feature .6., got 2"),
        ('seats=["mover"]', 'seats=["moves"]', "seats: expected names of State's fields .heaps, mover., got 'moves'"),
        ("values=(-1, 1)", "values=(1, -1)", "values: expected ascending numbers"),
        ("names=names", "names=names[1:]", "names: expected 21 different names, got 20"),
        ("gain=gain,", "gain=gain, text=str,", "text and parse: expected both or neither"),
        (
            'feature_names=[f"odd {2**bit}s" for bit in range(6)]',
            "feature_names=()",
            "feature_names: expected a name for each feature",
        ),
        ("gain=gain,", "gain=gain, observe=features,", "observation: expected channels, rows, columns"),
        (
            "gain=gain,",
            "gain=gain, action_view=np.zeros((2, 21)),",
            "action_view: expected a permutation of the 21 actions",
        ),
        ("np.dtype([", "np.dtype(np.uint8) or np.dtype([", "State: expected a structured dtype"),
    ],
)
def test_a_broken_file_is_an_error_with_what_is_wrong(old, new, expected, tmp_path):
    assert old in NIM
    path = tmp_path / "my_nim.py"
    path.write_text(NIM.replace(old, new, 1))
    with pytest.raises(UserError, match=re.compile(f".*my_nim.*{expected}", re.DOTALL)) as caught:
        load(str(path))
    assert str(caught.value).count("\n") <= 1


def test_rules_that_do_not_compile_name_file_line_and_cause(tmp_path):
    path = tmp_path / "my_nim.py"
    path.write_text(NIM.replace("state.mover = 1 - state.mover", "state.mover = state.missing"))
    game = load(str(path))
    line = 1 + NIM[: NIM.index("state.mover = 1 - state.mover")].count("\n")
    with pytest.raises(UserError, match=rf"my_nim\.py, line {line}: can't be compiled\n.*missing"):
        game.result(game.initial(), 0)


def test_a_file_that_is_no_text_or_leaves_is_refused(tmp_path):
    path = tmp_path / "my_nim.py"
    path.write_bytes(b"\x00\x01")
    with pytest.raises(UserError, match=r"my_nim\.py, line 1: not Python"):
        load(str(path))
    for text in ("import sys\nsys.exit(0)", "def game():\n    raise SystemExit(0)"):
        path.write_text(text)
        with pytest.raises(UserError, match=r"my_nim\.py, line 2: can't be loaded\nSystemExit: 0"):
            load(str(path))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("def result(state, action)", "def result(state, action, player)", r"of 2 arguments, got result\(state, action, player\)"),
        ("def initial(state)", "def initial()", r"a function of 1 argument, got initial\(\)"),
        ("gain=gain", "gain=3", "gain: expected a function, got 3"),
        ("State, initial,", "State, None,", "initial: expected a function, got None"),
    ],
)  # fmt: skip
def test_a_function_that_does_not_fit_the_contract_is_named_before_it_is_called(old, new, expected, tmp_path):
    assert old in NIM
    path = tmp_path / "my_nim.py"
    path.write_text(NIM.replace(old, new, 1))
    with pytest.raises(UserError, match=f"my_nim.py: .*{expected}"):
        load(str(path))


def test_an_action_without_a_number_and_a_drawing_that_fails_are_one_line(tmp_path):
    path = tmp_path / "my_nim.py"
    path.write_text(NIM.replace("heap * largest + count - 1", "heap * largest + count + 999"))
    game = load(str(path))
    game.is_tried = True
    with pytest.raises(
        UserError, match=r"legal_actions of my_nim.py:most=7: expected ids from 0 to 20, got 1000; see the doctor"
    ):
        game.legal_actions(game.initial())
    path.write_text(NIM.replace("gain=gain,", "gain=gain, render=lambda state: [][0],"))
    game = load(str(path))
    with pytest.raises(UserError, match=r"render of my_nim.py:most=7 fails: IndexError"):
        game.render(game.initial())


def test_a_file_edited_while_python_runs_is_read_anew(tmp_path):
    path = tmp_path / "my_nim.py"
    path.write_text(NIM)
    assert load(str(path)).perft(1) == 15
    path.write_text(NIM.replace("= 3, 5, most", "= 3, 4, most"))
    assert load(str(path)).perft(1) == 14


WORDS = st.text(st.sampled_from('abcxyz_:=,".0189 \n./ '), max_size=30)


@settings(max_examples=400)
@given(text=st.one_of(WORDS, st.builds("{}:{}".format, st.sampled_from(builtin_games()), WORDS), st.text(max_size=20)))
def test_any_text_is_a_game_or_one_line(text):
    try:
        assert load(text).name
    except UserError as error:
        assert len(str(error).splitlines()) <= 2


POSITIONS = {name: load(name) for name in ("tic_tac_toe", "connect_four", "othello:size=6", "nim", "tree:two_ply.json")}
TEXTS = {
    name: [
        game.text(state)
        for state in (game.initial(), game.result(game.initial(), game.legal_actions(game.initial())[0]))
    ]
    for name, game in POSITIONS.items()
}


@settings(max_examples=400)
@given(data=st.data())
def test_any_text_is_a_position_that_can_be_played_on_or_refused(data):
    name = data.draw(st.sampled_from(sorted(POSITIONS)))
    game = POSITIONS[name]
    start = data.draw(st.sampled_from(TEXTS[name]))
    cut = data.draw(st.integers(0, len(start)))
    inserted = data.draw(st.text(st.sampled_from("xXoO./ 0123456789-=,abcdhmover"), max_size=6))
    kept = data.draw(st.integers(cut, len(start)))
    text = start[:cut] + inserted + start[kept:]
    try:
        state = game.parse(text)
    except UserError as error:
        assert str(error).startswith(f"position of {game.name}: ")
        return
    assert game.text(game.parse(game.text(state))) == game.text(state)
    assert game.is_terminal(state) or game.legal_actions(state)


def test_a_position_in_which_the_rules_fail_is_refused():
    game = load("nim")
    for text in (
        "heaps=200,5,7 mover=0",
        "heaps=3,5,7 mover=9",
        "heaps=1,0,0 mover=-1",
        "heaps=0,0,0 mover=9",
        "heaps=3,5 mover=0",
        "heaps=3,5,x mover=0",
        "mover=0",
        "",
    ):
        with pytest.raises(UserError, match="position of nim"):
            game.parse(text)


def test_an_edited_neighbour_is_read_anew_and_neither_it_nor_its_folder_stays_behind(tmp_path):
    before, loaded = list(sys.path), set(sys.modules)
    games = {}
    for folder, takes in (("one", 1), ("other", 2)):
        (tmp_path / folder).mkdir()
        path = tmp_path / folder / "my_nim.py"
        path.write_text("import my_helper\n" + NIM.replace("largest = max(5, most)", "largest = my_helper.LARGEST"))
        path.with_name("my_helper.py").write_text(f"LARGEST = {takes + 6}\n")
        games[folder] = load(str(path))
        assert load(str(path)) is games[folder]
    assert (games["one"].actions, games["other"].actions) == (21, 24)
    for largest in (8, 9):  # edited twice in one second
        path.with_name("my_helper.py").write_text(f"LARGEST = {largest}\n")
        assert load(str(path)).actions == 3 * largest
    assert sys.path == before and "my_helper" not in sys.modules and not path.with_name("__pycache__").exists()
    assert all(name.startswith("zermelo_game_my_nim") for name in set(sys.modules) - loaded)
