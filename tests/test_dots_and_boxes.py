"""Dots and boxes: its counts, OpenSpiel's rules, a reference for more players, exact values, and its texts."""

import re
from functools import cache
from math import factorial
from pathlib import Path
from typing import Any

import numpy as np
import pyspiel
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from base.compiler import compiled
from base.errors import UserError
from base.files import read_json
from base.seeds import generator
from games import Game, load
from games.engine import kernels

SIZES = [
    "",
    "players=3",
    "rows=2,cols=2,players=4",
    "rows=1,cols=1",
    "rows=5,cols=2,players=3",
    "rows=6,cols=5",
    "rows=8,cols=8,players=4",
]


def dots_and_boxes(options: str = "") -> Game:
    return load(f"dots_and_boxes:{options}")


# ── a reference: sets of names ──


def box_sides(rows: int, cols: int) -> list[frozenset[str]]:
    dot = [[f"{'abcdefghi'[x]}{y + 1}" for x in range(cols + 1)] for y in range(rows + 1)]
    return [
        frozenset(
            [
                dot[y][x] + dot[y][x + 1],
                dot[y][x] + dot[y + 1][x],
                dot[y][x + 1] + dot[y + 1][x + 1],
                dot[y + 1][x] + dot[y + 1][x + 1],
            ]
        )
        for y in range(rows)
        for x in range(cols)
    ]


class Reference:
    """The game as sets of names: slow and plain."""

    def __init__(self, rows: int, cols: int, players: int) -> None:
        self.boxes = box_sides(rows, cols)
        self.left = set().union(*self.boxes)
        self.scores, self.mover = [0] * players, 0

    def play(self, line: str) -> None:
        self.left.remove(line)
        taken = sum(line in box and not box & self.left for box in self.boxes)
        self.scores[self.mover] += taken
        if not taken:
            self.mover = (self.mover + 1) % len(self.scores)

    def outcome(self) -> list[float]:
        players, boxes = len(self.scores), len(self.boxes)
        if players == 2:
            return [float(np.sign(2 * score - boxes)) for score in self.scores]
        return [(players * score / boxes - 1) / (players - 1) for score in self.scores]


def count_turns(rows: int, cols: int, turns: int) -> int:
    boxes = box_sides(rows, cols)

    @cache
    def count(left: frozenset[str], turns: int) -> int:
        total = 0
        for line in left:
            after = left - {line}
            goes_on = any(line in box and not box & after for box in boxes)
            turns_left = turns if goes_on and after else turns - 1
            total += count(after, turns_left) if turns_left else 1
        return total

    return count(frozenset().union(*boxes), turns)


# ── games to look at ──


def random_lines(game: Game, seed: int) -> np.ndarray[Any, np.dtype[np.int32]]:
    """All lines in random order: every order is a game."""
    lines = np.array([action for action, name in enumerate(game.names) if name], np.int32)
    return np.random.default_rng(seed).permutation(lines)


def replay(game: Game, moves: np.ndarray[Any, Any]) -> tuple[list[set[str]], list[int], list[float], Any]:
    """Legal lines and mover at each ply, outcome, last position."""
    legal = np.zeros((len(moves) + 1, game.rules.max_legal), np.int32)
    counts, movers = np.zeros(len(moves) + 1, np.int64), np.zeros(len(moves) + 1, np.int64)
    states, utilities = game.scratch(game.initial(), 2), np.zeros(game.players)
    assert game.kernel(kernels.trace)(states, moves, legal, counts, movers, utilities) == len(moves)
    assert counts[-1] == 0
    names = [[game.names[action] for action in row[:n]] for row, n in zip(legal, counts, strict=True)]
    assert all(len(set(row)) == len(row) for row in names)
    return [set(row) for row in names], movers[:-1].tolist(), utilities.tolist(), states[1]


def positions(game: Game, seed: int) -> list[Any]:
    """Every position of one random game."""
    states = [game.initial()]
    for action in random_lines(game, seed):
        states.append(states[-1].copy())
        game._result(states[-1], action)
    return states


def gain(game: Game, state: Any, name: str) -> float:
    assert game.rules.gain is not None
    return game.rules.gain(state, game.action(state, name))


# ── counts ──


PERFT = read_json(Path(__file__).parent / "data" / "perft" / "dots_and_boxes.json")[
    "cases"
]  # test_perft.py plays them all


@pytest.mark.parametrize("case", PERFT, ids=lambda case: case["name"])
def test_perft_data_agree_with_their_sources(case: dict[str, Any]) -> None:
    rows, cols = (int(number) for number in re.findall(r"\d+", case["options"]))
    lines = len(set().union(*box_sides(rows, cols)))
    for depth, count in enumerate(case["perft"], start=1):
        if case.get("turns"):
            assert count == count_turns(rows, cols, depth)
        else:
            assert count == factorial(lines) // factorial(lines - depth)


def test_every_game_draws_every_line() -> None:
    for options, lines in (("", 24), ("rows=1,cols=1", 4), ("rows=8,cols=8,players=3", 144), ("rows=1,cols=8", 25)):
        assert dots_and_boxes(options).random_games(50, 1)[1] == lines


# ── against other implementations ──


@pytest.mark.parametrize(("rows", "cols", "games"), [(3, 3, 300), (2, 2, 100), (4, 3, 100), (1, 4, 50), (6, 5, 20)])
def test_every_ply_agrees_with_openspiel(rows: int, cols: int, games: int) -> None:
    game = dots_and_boxes(f"rows={rows},cols={cols}")
    other = pyspiel.load_game(f"dots_and_boxes(num_rows={rows},num_cols={cols})")

    def name(state: Any, action: int) -> str:
        kind, y, x = re.findall(r"[hv]|\d+", state.action_to_string(action).partition("(")[2])
        row, column = int(y), int(x)
        end = (row, column + 1) if kind == "h" else (row + 1, column)
        return f"{'abcdefghi'[column]}{row + 1}{'abcdefghi'[end[1]]}{end[0] + 1}"

    start = other.new_initial_state()
    names = {action: name(start, action) for action in start.legal_actions()}
    ids = {name: action for action, name in names.items()}
    for seed in range(games):
        moves = random_lines(game, seed)
        legal, movers, outcome, _ = replay(game, moves)
        state = other.new_initial_state()
        for ply, move in enumerate(moves):
            assert {names[action] for action in state.legal_actions()} == legal[ply]
            assert state.current_player() == movers[ply]
            state.apply_action(ids[game.names[move]])
        assert state.is_terminal() and state.returns() == outcome


@pytest.mark.parametrize("options", SIZES)
def test_every_ply_agrees_with_the_reference(options: str) -> None:
    game = dots_and_boxes(options)
    for seed in range(5 if "8" in options else 60):
        reference = Reference(game.options["rows"], game.options["cols"], game.players)
        moves = random_lines(game, seed)
        legal, movers, outcome, last = replay(game, moves)
        for ply, move in enumerate(moves):
            assert reference.left == legal[ply] and reference.mover == movers[ply]
            reference.play(game.names[move])
        assert last.boxes.tolist() == reference.scores
        assert outcome == pytest.approx(reference.outcome(), abs=1e-12)
        assert sum(outcome) == pytest.approx(0, abs=1e-12)
        assert not game.rules.values or set(outcome) <= set(game.rules.values)


# ── exact values: every set of lines of a small board, from the full one backwards ──


def margins(rows: int, cols: int) -> tuple[np.ndarray[Any, np.dtype[np.int8]], list[str]]:
    """[lines drawn, as bits]: by how many of the boxes left the mover wins. And the lines, lowest bit first."""
    sides = box_sides(rows, cols)
    names = sorted(set().union(*sides))
    boxes = np.array([sum(1 << names.index(name) for name in box) for box in sides])
    lines = len(names)
    table = np.zeros(1 << lines, np.int8)

    def fill(table: Any) -> None:
        for drawn in range(len(table) - 2, -1, -1):
            best = -127
            for line in range(lines):
                after = drawn | 1 << line
                if after != drawn:
                    taken = 0
                    for i in range(len(boxes)):
                        taken += int(after & boxes[i] == boxes[i] and drawn & boxes[i] != boxes[i])
                    margin = taken + table[after] if taken else -table[after]
                    best = max(best, margin)
            table[drawn] = best

    compiled(fill, label="dots and boxes solver")(table)
    return table, names


@pytest.mark.parametrize(
    ("rows", "cols", "margin"), [(1, 1, -1), (1, 2, 0), (1, 3, -1), (1, 4, 0), (2, 2, 2), (2, 3, -2), (3, 3, -3)]
)
def test_perfect_play_wins_by_the_solved_margin(rows: int, cols: int, margin: int) -> None:
    """The margin of player 0 under perfect play, by a solver that shares nothing with the rules."""
    table, names = margins(rows, cols)
    assert table[0] == margin
    game = dots_and_boxes(f"rows={rows},cols={cols}")
    state, drawn = game.initial(), 0
    while not game.is_terminal(state):
        best = None
        for i, name in enumerate(names):
            if not drawn >> i & 1:
                after = game.result(state, game.action(state, name))
                own = int(state.mover)
                taken = int(after.boxes[own]) - int(state.boxes[own])
                value = taken + (1 if after.mover == own else -1) * int(table[drawn | 1 << i])
                if best is None or value > best[0]:
                    best = (value, drawn | 1 << i, after)
        assert best is not None and best[0] == table[drawn]
        _, drawn, state = best
    assert int(state.boxes[0]) - int(state.boxes[1]) == margin
    assert game.utility(state) == (np.sign(margin), -np.sign(margin))


# ── drawn positions ──


def test_one_line_may_take_two_boxes() -> None:
    game = dots_and_boxes("rows=1,cols=2")
    state = game.parse("--/|...|/-- A")
    assert gain(game, state, "b1b2") == 2
    after = game.result(state, game.action(state, "b1b2"))
    assert game.text(after) == "--/|A|A|/-- A"
    assert game.utility(after) == (1, -1)


def test_a_player_who_takes_a_box_moves_again_and_otherwise_the_next_player() -> None:
    game = dots_and_boxes("rows=2,cols=2,players=3")
    state = game.play("a1b1 a1a2 b1b2")
    assert state.mover == 0  # three lines, three players
    state = game.play("a2b2", state)
    assert state.mover == 0 and state.boxes.tolist() == [1, 0, 0]
    assert game.play("c1c2", state).mover == 1


def test_equal_shares_are_a_draw_or_worth_nothing() -> None:
    two, four = dots_and_boxes("rows=2,cols=2"), dots_and_boxes("rows=2,cols=2,players=4")
    assert two.utility(two.parse("--/|A|B|/--/|A|B|/-- A")) == (0, 0)
    assert four.utility(four.parse("--/|A|B|/--/|C|D|/-- A")) == (0, 0, 0, 0)


def test_three_players_are_paid_by_their_share() -> None:
    game = dots_and_boxes("rows=1,cols=4,players=3")
    assert game.utility(game.parse("----/|A|A|B|A|/---- A")) == (0.625, -0.125, -0.5)
    assert game.utility(game.parse("----/|C|C|C|C|/---- C")) == (-0.5, -0.5, 1)


def test_two_players_never_draw_an_odd_number_of_boxes() -> None:
    assert dots_and_boxes("rows=3,cols=3").rules.values == (-1, 1)
    assert dots_and_boxes("rows=2,cols=3").rules.values == (-1, 0, 1)
    assert dots_and_boxes("rows=2,cols=2,players=3").rules.values == (-0.5, -0.125, 0.25, 0.625, 1)
    assert dots_and_boxes("rows=8,cols=8,players=3").rules.values == ()


def test_a_line_that_takes_two_boxes_is_listed_once_among_the_tactical_ones() -> None:
    game = dots_and_boxes("rows=2,cols=2")
    state = game.parse("--/|...|/--/|..../-. A")
    actions = np.zeros(game.rules.max_legal, np.int32)
    n = game.rules.tactical_actions(state, actions)
    names = [game.names[action] for action in actions[:n]]
    assert sorted(names) == ["b1b2", "b2b3"] and gain(game, state, "b2b3") == 1


def test_render_shows_lines_owners_and_labels() -> None:
    game = dots_and_boxes("rows=2,cols=2")
    assert game.render(game.parse("-./|A|../--/...../.- B")).splitlines() == [
        "    a   b   c",
        " 1  o---o   o",
        "    | A |",
        " 2  o---o---o",
        "",
        " 3  o   o---o",
        "boxes: A 1, B 0; B to move",
    ]
    assert game.render(game.parse("--/|A|B|/--/|A|B|/-- A")).splitlines()[-1] == "boxes: A 2, B 2; over"


# ── features ──

CHAINS = {
    "a chain open at both ends": (
        "rows=1,cols=4",
        "----/........./---- A",
        {"two-sided boxes": 4, "long chains": 1, "boxes in long chains": 4, "long chain rule": -1},
    ),
    "the same, ready to be taken": (
        "rows=1,cols=4",
        "----/|......../---- B",
        {
            "three-sided boxes": 1,
            "two-sided boxes": 3,
            "boxes ready to take": 4,
            "long chains": 0,
            "long chain rule": 1,
        },
    ),
    "a chain round corners, beside a free box": (
        "rows=2,cols=2",
        "--/|...|/../....|/.- A",
        {"two-sided boxes": 3, "boxes in long chains": 3, "safe lines": 2, "safe lines odd": -1, "long chain rule": 1},
    ),
    "two short chains, beside a free box": (
        "rows=1,cols=5",
        "--.--/.........../--.-- A",
        {"short chains": 2, "long chains": 0, "safe lines": 2, "long chain rule": -1},
    ),
    "a loop": (
        "rows=2,cols=2",
        "--/|...|/../|...|/-- A",
        {"loops": 1, "long chains": 0, "short chains": 0, "long chain rule": -1},
    ),
    "a loop opened": (
        "rows=2,cols=2",
        "--/|.|.|/../|...|/-- B",
        {"loops": 0, "boxes ready to take": 4, "long chain rule": 1},
    ),
    "a pair left by giving back, and another chain": (
        "rows=1,cols=6",
        "------/|...|......../--.--- B",
        {"boxes ready to take": 2, "long chains": 1, "boxes in long chains": 4, "long chain rule": -1},
    ),
    "one two-sided box": ("rows=1,cols=2", "../..|../.- A", {"short chains": 1, "safe lines": 3, "safe lines odd": 1}),
    "the start": ("", "", {"safe lines": 24, "safe lines odd": -1, "long chain rule": -1, "to move": 1}),
}


@pytest.mark.parametrize(("options", "text", "expected"), CHAINS.values(), ids=CHAINS)
def test_chains_of_a_drawn_position(options: str, text: str, expected: dict[str, float]) -> None:
    game = dots_and_boxes(options)
    found = game.features(game.parse(text) if text else game.initial())
    assert {name: found[name] for name in expected} == expected


def test_long_chain_rule_predicts_the_winner_where_no_safe_line_and_no_box_is_left() -> None:
    """In five of six such positions on 3×3 boxes at least, by the solver."""
    table, names = margins(3, 3)
    game = dots_and_boxes()
    agreed, count = 0, 0
    for seed in range(800):
        state, drawn = game.initial(), 0
        for i in np.random.default_rng(seed).permutation(len(names)):
            found = game.features(state)
            if found["safe lines"] == 0 == found["boxes ready to take"] and drawn + 1 < len(table):
                count += 1
                agreed += np.sign(table[drawn]) == found["long chain rule"]
            game._result(state, game._ids[names[i]])
            drawn |= 1 << int(i)
    assert count >= 25 and 6 * agreed >= 5 * count


@pytest.mark.parametrize("options", SIZES)
def test_features_are_antisymmetric_or_sum_to_zero(options: str) -> None:
    game = dots_and_boxes(options)
    for state in positions(game, 3):
        views = np.array([list(game.features(state, player).values()) for player in range(game.players)])
        assert np.isfinite(views).all()
        assert np.abs(views.sum(axis=0)).max() < 1e-4
        if game.players == 2:
            assert (views[0] == -views[1]).all()


# ── laws over random play ──


@pytest.mark.parametrize("options", SIZES)
def test_tactical_actions_are_the_legal_ones_with_a_gain(options: str) -> None:
    game = dots_and_boxes(options)
    actions = np.zeros(game.rules.max_legal, np.int32)
    for state in positions(game, 5)[:-1]:
        n = game.rules.tactical_actions(state, actions)
        gains = {action: gain(game, state, game.names[action]) for action in game.legal_actions(state)}
        assert actions[:n].tolist() == [action for action, taken in gains.items() if taken > 0]
        for action, taken in gains.items():
            after = game.result(state, action)
            assert int(after.boxes.sum()) - int(state.boxes.sum()) == taken


@pytest.mark.parametrize("options", ["", "rows=2,cols=2,players=3"])
def test_equal_keys_mean_equal_positions(options: str) -> None:
    game = dots_and_boxes(options)
    seen: dict[int, tuple[Any, ...]] = {}
    met_again = 0
    for seed in range(120):
        for state in positions(game, seed):
            position = (state.lines.tobytes(), state.boxes.tobytes(), int(state.mover))
            met_again += game.key(state) in seen
            assert seen.setdefault(game.key(state), position) == position
    assert len(set(seen.values())) == len(seen) and met_again > 300


def test_key_does_not_depend_on_who_took_which_box() -> None:
    game = dots_and_boxes("rows=2,cols=2")
    assert game.key(game.parse("--/|A|B|/--/|..../.. A")) == game.key(game.parse("--/|B|A|/--/|..../.. A"))
    assert game.key(game.parse("--/|A|B|/--/|..../.. A")) != game.key(game.parse("--/|A|A|/--/|..../.. A"))


def test_random_action_is_uniform() -> None:
    game = dots_and_boxes("rows=6,cols=5")  # two words of lines
    state, rng = positions(game, 1)[25], generator(1, "uniform")
    legal = game.legal_actions(state)
    counts = dict.fromkeys(legal, 0)
    scratch = np.zeros(game.rules.max_legal, np.int32)
    with np.errstate(over="ignore"):
        for _ in range(200 * len(legal)):
            counts[game.rules.random_action(state, scratch, rng)] += 1
    deviations = (np.array([counts[action] for action in legal]) - 200) ** 2 / 200
    assert deviations.sum() < 2 * len(legal)  # chi-squared: its mean is len(legal) - 1


@pytest.mark.parametrize("options", ["", "players=3", "rows=5,cols=2,players=3"])
def test_turned_games_are_seen_turned(options: str) -> None:
    game = dots_and_boxes(options)
    assert len(game.rules.symmetries) == (7 if game.options["rows"] == game.options["cols"] else 3)
    for turn in game.rules.symmetries:
        state, turned = game.initial(), game.initial()
        for action in random_lines(game, 2):
            planes = game.observe(state, int(state.mover))
            assert (game.observe(turned, int(turned.mover)).ravel() == planes.ravel()[turn.observation]).all()
            assert sorted(turn.actions[game.legal_actions(state)]) == game.legal_actions(turned)
            assert game.features(state, 0) == game.features(turned, 0)
            game._result(state, action)
            game._result(turned, turn.actions[action])
        assert game.utility(state) == game.utility(turned)


def test_observation_puts_the_viewer_first() -> None:
    game = dots_and_boxes("rows=2,cols=2,players=3")
    state = game.parse("--/|B|B|/--/|..../.. A")
    planes = game.observe(state, 1)
    assert planes[0].sum() == 8 and planes[1].sum() == 4 and planes[2].sum() == 0
    assert planes[3, 1].tolist() == [0, 1, 0, 1, 0]
    assert planes[4:, 0, 0].tolist() == [0.5, 0, 0]
    assert game.observe(state, 0)[4:, 0, 0].tolist() == [0, 0.5, 0]


# ── texts ──


@pytest.mark.parametrize("options", SIZES)
def test_text_and_parse_are_inverse(options: str) -> None:
    game = dots_and_boxes(options)
    for seed in range(3 if "8" in options else 20):
        for state in positions(game, seed):
            assert game.parse(game.text(state)).tobytes() == state.tobytes()
            assert game.parse(game.text(state).lower()).tobytes() == state.tobytes()


def test_names_are_two_dots() -> None:
    game = dots_and_boxes("rows=1,cols=2")
    assert game.names == ("", "a1b1", "", "b1c1", "", "a1a2", "", "b1b2", "", "c1c2", "", "a2b2", "", "b2c2", "")
    assert all(game.action(game.initial(), name) == action for action, name in enumerate(game.names) if name)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected the board and the player to move"),
        ("--/...../--/...../-- A extra", "expected the board and the player to move"),
        ("../...../../...../.. C", "one of A, B"),
        ("../...../../..... A", "expected 5 rows separated by '/', got 4"),
        ("..-/...../../...../.. A", "row 1: expected 2 horizontal lines, each - or '.', got '..-'"),
        ("|./...../../...../.. A", "row 1: expected 2 horizontal"),
        ("../-..../../...../.. A", "row 2: expected 5 marks"),
        ("../.-.../../...../.. A", "row 2: expected 5 marks"),
        ("../.C.../../...../.. A", "(one of A, B or '.'), got '.C...'"),
        ("../.A.../../...../.. A", "owners in just the boxes with four sides, got 'A' in row 1, column 1"),
        ("-./|.|../-./...../.. A", "got '.' in row 1, column 1"),
        ("-./...../../...../.. A", "expected B to move after 1 lines and 0 boxes, got A"),
        ("-./|B|../-./...../.. A", "expected B to move after 4 lines and 1 boxes, got A"),
        ("--/|A|A|/--/|A|A|/-- B", "expected A to move after 12 lines and 4 boxes, got B"),
    ],
)
def test_impossible_positions_are_refused(text: str, message: str) -> None:
    with pytest.raises(UserError, match=re.escape(message)):
        dots_and_boxes("rows=2,cols=2").parse(text)


BOARDS = st.lists(st.text("-|.ABab/ x", max_size=7), min_size=4, max_size=6).map("/".join)
NEARLY = st.tuples(
    st.integers(0, 40), st.integers(0, 12), st.integers(0, 40), st.sampled_from("-|.ABC/ \n\u00df\u0130")
)


@settings(max_examples=200, deadline=None)
@given(st.one_of(st.text(max_size=40), st.builds("{} {}".format, BOARDS, st.text("ABCab", max_size=2))))
def test_parse_takes_any_text_or_refuses_it(text: str) -> None:
    accepted_or_refused(text)


@settings(max_examples=250, deadline=None)
@given(NEARLY)
def test_parse_takes_any_typing_error_or_refuses_it(slip: tuple[int, int, int, str]) -> None:
    seed, ply, at, mark = slip
    game = dots_and_boxes("rows=2,cols=2")
    text = game.text(fuzzed_positions(seed)[ply])
    accepted_or_refused(text[:at] + mark + text[at + 1 :])


@cache
def fuzzed_positions(seed: int) -> list[Any]:
    return positions(dots_and_boxes("rows=2,cols=2"), seed)


def accepted_or_refused(text: str) -> None:
    """What is accepted is a sound position: its text leads back to it, and the game can be played to its end."""
    game = dots_and_boxes("rows=2,cols=2")
    try:
        state = game.parse(text)
    except UserError:
        return
    assert game.parse(game.text(state)).tobytes() == state.tobytes()
    while not game.is_terminal(state):
        state = game.result(state, game.legal_actions(state)[0])
    assert state.boxes.sum() == 4 and sum(game.utility(state)) == 0
