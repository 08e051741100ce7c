"""Go: published counts, a slow second implementation, OpenSpiel, and drawn positions for each rule easily missed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from base.errors import UserError
from base.seeds import generator
from games import Game, Rules, load
from games.engine import defaults

DATA = json.loads((Path(__file__).parent / "data" / "go.json").read_text(encoding="utf-8"))


def drawn(rows: str) -> str:
    return "/".join(rows.split())


def position(game: Game, rows: str, rest: str = "x 0") -> Any:
    return game.parse(f"{drawn(rows)} {rest}")


def legal(game: Game, state: Any) -> set[str]:
    return {game.names[action] for action in game.legal_actions(state)}


def board(game: Game, state: Any) -> str:
    return game.text(state).split()[0]


def random_walk(game: Game, seed: int) -> Iterator[tuple[Any, list[int], int | None]]:
    """Each position of a random game, its legal actions, and the one played; None at the end. Passes are rare, so that
    games are long."""
    rng = np.random.default_rng(seed)
    state = game.initial()
    while not game.is_terminal(state):
        actions = game.movements(state)
        action = int(rng.choice(actions[:-1])) if len(actions) > 1 and rng.random() > 0.05 else actions[-1]
        yield state, actions, action
        state = state.copy()
        game._result(state, action)
    yield state, [], None


# ── a second implementation: slow, and with nothing in common with the first ──

Point = tuple[int, int]
Stones = dict[Point, int]


class SlowGo:
    """Stones as a dictionary from (row, column) to player, earlier boards as a set, groups by search."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.points = [(row, column) for row in range(size) for column in range(size)]
        self.stones: Stones = {}
        self.boards = {frozenset(self.stones.items())}
        self.mover = self.passes = 0

    def region(self, stones: Stones, point: Point) -> tuple[set[Point], set[Point]]:
        """What is connected with a point in one colour (or emptiness), and what lies around it."""
        inside, border, todo = {point}, set(), [point]
        while todo:
            row, column = todo.pop()
            for near in ((row + 1, column), (row - 1, column), (row, column + 1), (row, column - 1)):
                if not set(near) <= set(range(self.size)):
                    continue
                if stones.get(near) != stones.get(point):
                    border.add(near)
                elif near not in inside:
                    inside.add(near)
                    todo.append(near)
        return inside, border

    def liberties(self, stones: Stones, point: Point) -> int:
        return len(self.region(stones, point)[1] - stones.keys())

    def has_liberty(self, stones: Stones, point: Point) -> bool:
        return self.liberties(stones, point) > 0

    def after(self, point: Point) -> Stones | None:
        """The board after a play, superko aside; None where it is occupied or suicide."""
        if point in self.stones:
            return None
        stones = self.stones | {point: self.mover}
        for near in self.region({point: self.mover}, point)[1]:
            if stones.get(near) == 1 - self.mover and not self.has_liberty(stones, near):
                for taken in self.region(stones, near)[0]:
                    del stones[taken]
        return stones if self.has_liberty(stones, point) else None

    def plays(self) -> list[tuple[int, bool]]:
        """Points that could be played, and whether superko forbids it."""
        found = [(i, self.after(point)) for i, point in enumerate(self.points)]
        return [(i, frozenset(stones.items()) in self.boards) for i, stones in found if stones is not None]

    def legal(self) -> list[int]:
        plays = [i for i, is_forbidden in self.plays() if not is_forbidden]
        return [] if self.passes == 2 else [*plays, len(self.points)]

    def play(self, action: int) -> None:
        if action == len(self.points):
            self.passes += 1
        else:
            self.stones, self.passes = self.after(self.points[action]) or {}, 0
            self.boards.add(frozenset(self.stones.items()))
        self.mover = 1 - self.mover

    def margin(self) -> int:
        lead = 0
        for point in self.points:
            border = self.region(self.stones, point)[1]
            owners = {self.stones[point]} if point in self.stones else {self.stones[near] for near in border}
            lead += (owners == {0}) - (owners == {1})
        return lead

    def perft(self, depth: int) -> int:
        actions = self.legal()
        return len(actions) if depth == 1 else sum(self.child(action).perft(depth - 1) for action in actions)

    def child(self, action: int) -> SlowGo:
        child = SlowGo(self.size)
        child.stones, child.boards, child.mover, child.passes = self.stones, set(self.boards), self.mover, self.passes
        child.play(action)
        return child


@pytest.mark.parametrize(("size", "games"), [(2, 150), (3, 100), (4, 40), (5, 30)])
def test_legal_moves_and_outcomes_are_those_of_the_slow_implementation(size: int, games: int) -> None:
    game = load(f"go:size={size},komi=0.5")
    forbidden = 0
    for seed in range(games):
        slow = SlowGo(size)
        for state, actions, action in random_walk(game, seed):
            if action is None:
                assert game.utility(state) == ((1.0, -1.0) if slow.margin() > 0 else (-1.0, 1.0))
                assert slow.passes == 2 or state.plies == 6 * size * size
            else:
                assert actions == slow.legal()
                forbidden += sum(is_forbidden for _, is_forbidden in slow.plays())
                slow.play(action)
    assert forbidden > 20  # superko occurred often enough


# ── published counts ──


def legal_boards(rules: Rules) -> Callable[..., int]:
    """How many boards come about by plays in ascending order that capture nothing, with a pass where one player plays
    twice: each board once whose every chain has a liberty, for taking stones off such a board leaves another."""
    legal_actions, result, to_move, PASS = rules.legal_actions, rules.result, rules.to_move, rules.actions - 1
    gain: Any = rules.gain

    def count(states: Any, actions: Any, level: Any, first: Any) -> int:
        total = 1
        for player in range(2):
            states[level + 1] = states[level]
            if to_move(states[level]) != player:
                result(states[level + 1], PASS)
            n = legal_actions(states[level + 1], actions[level])
            for i in range(n):
                action = actions[level, i]
                if first <= action < PASS and gain(states[level + 1], action) == 0.0:
                    states[level + 2] = states[level + 1]
                    result(states[level + 2], action)
                    total += count(states, actions, level + 2, np.int64(action) + 1)
        return total

    def legal_boards(states: Any, actions: Any) -> int:
        return count(states, actions, np.int64(0), np.int64(0))

    return legal_boards


@pytest.mark.parametrize("size", [2, 3, 4])
def test_number_of_legal_boards_is_the_published_one(size: int) -> None:
    game = load(f"go:size={size}")
    levels = 2 * size * size + 3
    states, actions = game.scratch(game.initial(), levels), np.zeros((levels, game.rules.max_legal), np.int32)
    found = game.kernel(legal_boards)(states, actions)
    assert found == DATA["legal boards"]["counts"][str(size)]


@pytest.mark.parametrize(("size", "depth"), [(2, 6), (3, 4), (5, 3)])
def test_perft_counts_are_those_of_the_slow_implementation(size: int, depth: int) -> None:
    assert SlowGo(size).perft(depth) == load(f"go:size={size}").perft(depth)


# ── OpenSpiel ──


@pytest.mark.parametrize(("size", "komi", "games"), [(19, 7.5, 2), (9, 7.5, 160), (5, 0.5, 200), (4, 1.0, 150)])
def test_openspiel_agrees_but_for_superko(size: int, komi: float, games: int) -> None:
    """Two differences. Of plays that recreate an earlier board OpenSpiel forbids only simple kos; any other ends its
    game as a draw, where here it is illegal. And its games end after 2·size² plies by default."""
    pyspiel = pytest.importorskip("pyspiel")
    assert pyspiel.load_game(f"go(board_size={size})").max_game_length() == 2 * size * size
    other = pyspiel.load_game(f"go(board_size={size},komi={komi},max_game_length={6 * size * size})")
    game = load(f"go:size={size},komi={komi}")
    superko = 0
    for seed in range(games):
        theirs = other.new_initial_state()
        for state, actions, action in random_walk(game, seed):
            assert theirs.is_terminal() == (action is None)
            if action is None:
                assert tuple(theirs.returns()) == game.utility(state)
                break
            assert theirs.current_player() == game.to_move(state)
            allowed = {theirs.action_to_string(a).split()[1].upper(): a for a in theirs.legal_actions()}
            own = {game.names[a].upper() for a in actions}
            assert own <= set(allowed)
            for name in set(allowed) - own:
                child = theirs.child(allowed[name])
                assert child.is_terminal() and child.returns() == [0.0, 0.0]
                superko += 1
            theirs.apply_action(allowed[game.names[action].upper()])
    assert superko > 0 or size > 9


# ── capture ──


def test_a_play_without_liberties_that_captures_is_no_suicide() -> None:
    game = load("go:size=5")
    state = game.play("B1", position(game, "..... ..... .xx.. xoox. o.ox."))
    assert board(game, state) == drawn("..... ..... .xx.. x..x. .x.x.")
    assert state.prisoners.tolist() == [4, 0]


def test_one_play_captures_on_four_sides() -> None:
    game = load("go:size=5")
    state = game.play("C3", position(game, "..x.. .xox. xo.ox .xox. ..x.."))
    assert board(game, state) == drawn("..x.. .x.x. x.x.x .x.x. ..x..")
    assert state.prisoners.tolist() == [4, 0]


@pytest.mark.parametrize(
    ("rows", "point"),
    [("..... ..... ..... x.... .x...", "A1"), ("..... xx... oox.. oo.x. oox..", "C2")],  # one stone; seven
)
def test_suicide_is_illegal(rows: str, point: str) -> None:
    game = load("go:size=5")
    assert point not in legal(game, position(game, rows, "o 0"))
    assert point in legal(game, position(game, rows, "x 0"))


def test_snapback() -> None:
    """White takes the stone thrown in, and is taken with it."""
    game = load("go:size=5")
    state = game.play("B1 A1", position(game, "..... ..... xxx.. oox.. ..oo."))
    assert board(game, state) == drawn("..... ..... xxx.. oox.. o.oo.")
    state = game.play("B1", state)
    assert board(game, state) == drawn("..... ..... xxx.. ..x.. .xoo.")
    assert state.prisoners.tolist() == [3, 1]


SEKI = "....... ....... ....... ....... ooooooo xxxxxxo .ooo.xo"


def test_in_a_seki_the_player_who_plays_is_captured() -> None:
    game = load("go:size=7")
    assert game.play("A1 E1", position(game, SEKI)).prisoners.tolist() == [0, 8]
    assert game.play("A1 E1", position(game, SEKI, "o 0")).prisoners.tolist() == [4, 0]


def test_captures_are_the_tactical_actions_and_the_larger_the_better() -> None:
    game = load("go:size=5")
    state = position(game, ".ox.. .x... .xx.. xoox. o.ox.")
    gain: Any = game.rules.gain
    gains = {game.names[action]: 25 * gain(state, action) for action in game.legal_actions(state)}
    assert {name: taken for name, taken in gains.items() if taken} == {"B1": 4.0, "A5": 1.0}


# ── superko ──

KO = "..... .xo.. xo.o. .xo.. ....."
SEND_TWO = "..... ..... ..... xxoo. .o.o."


def test_simple_ko_is_closed_at_once_and_open_after_plays_elsewhere() -> None:
    game = load("go:size=5")
    state = game.play("C3", position(game, KO))
    assert board(game, state) == drawn("..... .xo.. x.xo. .xo.. .....")
    assert "B3" not in legal(game, state)
    state = game.play("E1 E5 B3", state)
    assert board(game, state) == drawn("....x .xo.. xo.o. .xo.. ....o")
    assert "C3" not in legal(game, state)


def test_triple_ko_is_broken_where_the_first_board_would_return() -> None:
    game = load("go:size=9")
    kos = ".xo...... xo.o..... .xo...... .xo...... x.xo..... .xo...... .xo...... xo.o..... .xo......"
    state = game.play("C8 B5 C2 B8 C5", position(game, kos))
    assert "B2" not in legal(game, state)  # no simple ko: black took there three plies ago
    assert "B2" in legal(game, game.play("J1 J9", state))


def test_send_two_return_one_is_forbidden_though_the_other_player_would_be_to_move() -> None:
    """The board had white to move and would have black: superko here is positional, not situational."""
    game = load("go:size=5")
    state = game.play("A1 C1", position(game, SEND_TWO, "o 0"))
    assert board(game, state) == drawn("..... ..... ..... xxoo. ..xo.")
    assert "B1" not in legal(game, state)


def test_superko_forbids_a_play_that_captures_nothing() -> None:
    game = load("go:size=5")
    state = game.play("B1 C1 B1 pass", position(game, "..... ..... ..... xxoo. o..o.", "o 0"))
    assert board(game, state) == drawn(SEND_TWO)
    assert "A1" not in legal(game, state)  # the board after white's first play
    assert "A1" in legal(game, game.play("E5 E4", state))


def test_points_that_superko_forbids_are_in_observation_and_text() -> None:
    game = load("go:size=5")
    state = game.play("C3", position(game, KO))
    planes = game.observe(state)
    assert np.argwhere(planes[2]).tolist() == [[2, 1]]
    assert planes[0, 2].tolist() == [0, 0, 0, 1, 0] and planes[1, 2].tolist() == [1, 0, 1, 0, 0]
    assert planes[3].all() and not planes[4].any()
    assert game.text(state).endswith(" o 0 B3")
    again = game.parse(game.text(state))
    assert np.array_equal(game.observe(again), planes) and legal(game, again) == legal(game, state)
    assert "B3" in legal(game, game.play("E1 E5", again))
    example = ".xo./x.xo/.xo./.... o 0 B3"
    assert load("go:size=4").text(load("go:size=4").parse(example)) == example


def test_the_observation_has_the_liberties_of_the_slow_implementation() -> None:
    game = load("go:size=5")
    for seed in range(5):
        slow = SlowGo(5)
        for state, _, action in random_walk(game, seed):
            counts = np.zeros((5, 5), int)
            for point in slow.stones:
                counts[point] = slow.liberties(slow.stones, point)
            planes = game.observe(state, seed % 2)
            assert all(np.array_equal(planes[4 + count], counts == count) for count in (1, 2, 3))
            if action is not None:
                slow.play(action)


# ── the end ──


def test_two_passes_in_a_row_end_the_game() -> None:
    game = load("go:size=5,komi=0.5")
    over = game.play("pass C3 pass pass")
    assert game.is_terminal(over) and game.movements(over) == [] and game.utility(over) == (-1.0, 1.0)
    assert not game.is_terminal(game.play("pass C3 pass C4 pass"))


def test_the_cap_on_plies_stops_the_game_but_not_the_moves() -> None:
    game = load("go:size=2,komi=0.5")
    ends = [state for seed in range(400) for state, _, action in random_walk(game, seed) if action is None]
    assert max(state.plies for state in ends) == game.rules.max_plies == 24
    stopped = next(state for state in ends if state.passes < 2)
    assert stopped.plies == 24 and game.is_terminal(stopped) and game.movements(stopped)
    assert game.utility(stopped) in ((1.0, -1.0), (-1.0, 1.0))
    later = stopped.copy()
    for _ in range(50):  # perft continues beyond the cap
        if not (movements := game.movements(later)):
            break
        game._result(later, movements[0])


@pytest.mark.parametrize(
    ("rows", "lead"),
    [
        ("..... ..... ..... ..... .....", 0),
        ("..... ..... ..x.. ..... .....", 25),
        (".xo.. .xo.. .xo.. .xo.. .xo..", -5),
        (".x.o. .x.o. .x.o. .x.o. .x.o.", 0),  # the points between count for neither
        (".xo.. .xo.. oxo.. .xo.. .xo..", -11),  # a stone counts as alive wherever it stands
        ("xxxxx x.x.x xxxxx ooooo .....", 5),
        (SEKI, -33),  # nor are the common liberties of a seki
    ],
)
def test_area_score(rows: str, lead: int) -> None:
    for komi in (lead - 0.5, lead, lead + 0.5):
        game = load(f"go:size={len(rows.split())},komi={komi}")
        expected = 1.0 if lead > komi else -1.0 if lead < komi else 0.0
        assert game.utility(position(game, rows, "x 2")) == (expected, -expected)


def test_possible_outcomes_follow_from_komi() -> None:
    assert load("go:komi=7.5").rules.values == (-1.0, 1.0)
    assert load("go:komi=7").rules.values == load("go:size=3,komi=-9").rules.values == (-1.0, 0.0, 1.0)
    assert load("go:size=3,komi=10").rules.values == (-1.0, 1.0)


def solve(rules: Rules) -> Callable[..., float]:
    """What perfect play gives player 0 in a game without draws."""
    legal_actions, result, to_move = rules.legal_actions, rules.result, rules.to_move
    is_terminal, utility = rules.is_terminal, rules.utility

    def value(states: Any, actions: Any, level: Any) -> float:
        if is_terminal(states[level]):
            return utility(states[level], 0)
        wanted = 1.0 if to_move(states[level]) == 0 else -1.0
        n = legal_actions(states[level], actions[level])
        for i in range(n):
            states[level + 1] = states[level]
            result(states[level + 1], actions[level, i])
            if value(states, actions, level + 1) == wanted:
                return wanted
        return -wanted

    def solve(states: Any, actions: Any) -> float:
        return value(states, actions, np.int64(0))

    return solve


@pytest.mark.parametrize(("komi", "winner"), [(0.5, 0), (1.5, 1)])
def test_two_by_two_is_worth_one_point_to_black(komi: float, winner: int) -> None:
    game = load(f"go:size=2,komi={komi}")
    levels = game.rules.max_plies + 2
    states, actions = game.scratch(game.initial(), levels), np.zeros((levels, game.rules.max_legal), np.int32)
    found = game.kernel(solve)(states, actions)
    assert found == (1.0 if winner == 0 else -1.0)


# ── searching and learning ──


def test_keys_are_equal_where_positions_are_and_text_has_all_that_legal_moves_depend_on() -> None:
    for size in (3, 5):
        game = load(f"go:size={size}")
        keys: dict[int, str] = {}
        for seed in range(12):
            for state, _, _ in random_walk(game, seed):
                text = game.text(state)
                assert keys.setdefault(game.key(state), " ".join(text.split()[:3])) == " ".join(text.split()[:3])
                again = game.parse(text)
                assert game.key(again) == game.key(state) and game.text(again) == text
                assert game.movements(again) == game.movements(state)
                assert np.array_equal(game.observe(again, 0), game.observe(state, 0))
        assert len(set(keys.values())) == len(keys) > 300


def test_features_are_antisymmetric_and_count_what_they_name() -> None:
    game = load("go:size=5,komi=0.5")
    for seed in range(20):
        for state, _, _ in random_walk(game, seed):
            own, other = game.features(state, 0), game.features(state, 1)
            assert own == {name: -value for name, value in other.items()}
    state = position(game, "..... .xx.. ...o. xoxo. .x...")
    expected = {
        "stones": 5 - 3,
        "area": 5 + 1 - 3,
        "chains": 4 - 2,
        "chains in atari": 0 - 1,
        "chains with two liberties": 3 - 0,
        "liberties": (6 + 2 + 2 + 2) - (5 + 1),
        "stones in atari": 0 - 1,
        "captures at hand": 1,
        "eyes": 1,
        "solid links": 1 - 1,
        "diagonal links": 2 - 0,
        "first line": 2 - 0,
        "second line": (2 + 1) - 3,
        "third line": 0,
        "komi": -0.5,
        "to move": 1,
    }
    found = game.features(state, 0)
    assert {name: found[name] for name in expected} == expected
    walls = game.features(position(game, "..... ..... ..... x..o. .....", "o 0"), 0)
    assert walls["influence"] == (2 * 5 - 1) - (3 * 5 - 1)


def test_random_actions_are_uniform_over_the_legal_ones() -> None:
    game = load("go:size=5")
    state = game.play("C3 E1", position(game, "..x.. .xox. xo.ox .xox. ..x.."))
    draws = 100_000

    def sample(rules: Rules) -> Callable[..., None]:
        random_action = rules.random_action

        def sample(state: Any, actions: Any, rng: Any, counts: Any) -> None:
            for _ in range(draws):
                counts[random_action(state, actions, rng)] += 1

        return sample

    counts = np.zeros(game.actions, np.int64)
    game.kernel(sample)(state, np.zeros(game.rules.max_legal, np.int32), generator(1, "uniform"), counts)
    actions = game.legal_actions(state)
    assert np.flatnonzero(counts).tolist() == actions
    mean = draws / len(actions)
    assert np.abs(counts[actions] - mean).max() < 5 * mean**0.5


def test_tactical_actions_are_the_legal_ones_with_a_gain() -> None:
    game = load("go:size=5")
    listed, derived = game.rules.tactical_actions, defaults.tactical_actions(game.rules)
    for seed in range(2):
        for state, _, _ in random_walk(game, seed):
            found = [np.zeros(game.rules.max_legal, np.int32) for _ in range(2)]
            n, m = listed(state, found[0]), derived(state, found[1])
            assert found[0][:n].tolist() == found[1][:m].tolist()


# ── people ──


def test_names_are_those_of_gtp() -> None:
    game = load("go:size=19")
    assert (game.names[0], game.names[8], game.names[18], game.names[342], game.names[361]) == (
        "A1",
        "J1",
        "T1",
        "A19",
        "pass",
    )
    assert not any(name.startswith("I") for name in game.names)
    assert game.action(game.initial(), "q16") == 15 * 19 + 15


def test_render() -> None:
    game = load("go:size=9,komi=6.5")
    state = game.play("D4 A2 B9 F6 A1 B1 J1 pass")
    assert game.render(state) == DATA["board"]["text"]
    assert "even" in load("go:size=2,komi=0").render(load("go:size=2,komi=0").initial())


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "expected 3 rows of 3"),
        (".../...", "expected 3 rows of 3"),
        (".../.../..", "expected 3 rows of 3"),
        (".../.x?/...", "x, o or '.'"),
        (".../.../... z", "x or o to move"),
        (".../.../... x 3", "0 to 2 passes"),
        (".../.../... x 0 A1 B1", "points forbidden by superko"),
        (".x./xox/.x. x 0", "a liberty for every chain, got none for the one on B2"),
        ("xxx/xxx/xxx", "a liberty for every chain"),
        (".../.../... x 0 D4", "can be played otherwise, got 'D4'"),
        (".../.../... x 0 pass", "can be played otherwise, got 'PASS'"),
        (".../.x./... x 0 A1,B2", "can be played otherwise, got 'B2'"),
        (".x./x.x/.x. o 0 B2", "can be played otherwise, got 'B2'"),
        (".../.../... x 0 ,", "can be played otherwise, got ''"),
    ],
)
def test_impossible_positions_are_refused(text: str, complaint: str) -> None:
    with pytest.raises(UserError, match=re.escape(complaint)):
        load("go:size=3").parse(text)


BOARDS = [".../x../.o.", ".../.../...", ".xo/x.x/oxo", ".x./x.x/.x."]
PIECES = [*".xo/ 012", "...", "x.o", *BOARDS, " x", " o", " 0", " 1", " A1", ",B2", "C3", "pass", "é"]


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.sampled_from(PIECES), max_size=8).map("".join) | st.text(max_size=30))
def test_parse_gives_a_sound_position_or_a_user_error(text: str) -> None:
    game = load("go:size=3")
    try:
        state = game.parse(text)
    except UserError:
        return
    again = game.parse(game.text(state))
    assert game.key(again) == game.key(state) and game.movements(again) == game.movements(state)
    for action in game.legal_actions(state):
        game.parse(game.text(game.result(state, action)))
