"""Backgammon: counts, OpenSpiel, a slow generator that follows the letter of the rules, and positions drawn by hand."""

import base64
import json
from functools import cache
from pathlib import Path

import numpy as np
import pyspiel
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from base.errors import UserError
from games import CHANCE, load, variants

GAME = load("backgammon")
COUNTS = json.loads((Path(__file__).parent / "data" / "backgammon_counts.json").read_text())
ROLLS = [f"{high}{low}" for high in range(1, 7) for low in range(1, high + 1)]
START = "4HPwATDgc/ABMA"


def position(own, other, dice="-", mover=0):
    """The position with the checkers {point: count}, each in its owner's view; `own` is on turn."""
    sides = [[side.get(point, 0) for point in range(1, 26)] for side in (other, own)]
    bits = "".join("1" * count + "0" for side in sides for count in side)
    key = int(bits[::-1], 2).to_bytes(10, "little")
    return GAME.parse(f"{base64.b64encode(key).decode()[:14]}:{mover}:{dice}")


def legal(state):
    return " ".join(sorted(GAME.names[action] for action in GAME.legal_actions(state)))


def fresh(roll):
    return roll * 2 if roll[0] == roll[1] else roll


# ── whole turns, compiled ──


def turn_ends(rules):
    """turn_ends(states [levels], actions [levels, max_legal], ends) -> n: a position for each way to play the turn."""
    legal_actions, result, to_move, is_terminal = rules.legal_actions, rules.result, rules.to_move, rules.is_terminal

    def play(states, actions, ends, level, found):
        mover = to_move(states[level])
        for i in range(legal_actions(states[level], actions[level])):
            states[level + 1] = states[level]
            result(states[level + 1], actions[level, i])
            if is_terminal(states[level + 1]) or to_move(states[level + 1]) != mover:
                ends[found] = states[level + 1]
                found += 1
            else:
                found = play(states, actions, ends, level + 1, found)
        return found

    def turn_ends(states, actions, ends):
        return play(states, actions, ends, np.int64(0), np.int64(0))

    return turn_ends


ENDS = GAME.blanks(200_000)


def ends_of_turn(state):
    """The positions that the player on turn can leave behind, each once."""
    if GAME.to_move(state) == CHANCE:
        return GAME.scratch(state, 1)
    actions = np.zeros((6, GAME.rules.max_legal), np.int32)
    n = GAME.kernel(turn_ends)(GAME.scratch(state, 6), actions, ENDS)
    _, first = np.unique(packed(ENDS["points"][:n]), return_index=True)
    return ENDS[first]


def packed(points):
    """Boards as byte strings, which numpy can sort."""
    return np.ascontiguousarray(points, np.int8).reshape(-1, 52).view("S52")[:, 0]


# ── the letter of the rules, slowly ──


def moved(own, other, point, die):
    """Both sides after one checker is moved by `die`, or None where that is against the rules of a single move."""
    if own[point] == 0 or (own[25] and point != 25):
        return None
    to = point - die
    own, other = list(own), list(other)
    if to <= 0:
        if any(own[7:]) or (to < 0 and any(own[point + 1 :])):
            return None
        to = 0
    elif other[25 - to] >= 2:
        return None
    elif other[25 - to] == 1:
        other[25 - to] = 0
        other[25] += 1
    own[point] -= 1
    own[to] += 1
    return tuple(own), tuple(other)


def steps(own, other, dice):
    for die in sorted(set(dice)):
        for point in range(1, 26):
            after = moved(own, other, point, die)
            if after is not None:
                left = list(dice)
                left.remove(die)
                yield f"{'bar' if point == 25 else point}/{max(point - die, 0) or 'off'}", die, after, tuple(left)


@cache
def longest(own, other, dice):
    """How many dice can be played."""
    return max((1 + longest(*after, left) for _, _, after, left in steps(own, other, dice)), default=0)


def legal_steps(own, other, dice):
    most = longest(own, other, dice)
    best = [step for step in steps(own, other, dice) if 1 + longest(*step[2], step[3]) == most]
    return [step for step in best if most > 1 or step[1] == max(other_step[1] for other_step in best)]


@cache
def slow_ends(own, other, dice):
    found = [slow_ends(*after, left) for _, _, after, left in legal_steps(own, other, dice)]
    return frozenset().union(*found) if found else frozenset([(own, other)])


def sides(state):
    return tuple(map(tuple, state.points[[state.mover, 1 - state.mover]].tolist()))


def dice_left(state):
    return (int(state.dice[0]),) * int(state.times) + (int(state.dice[1]),) * int(state.dice[1] > 0)


def agrees_with_the_letter(state):
    own, other = sides(state)
    dice = dice_left(state)
    assert set(legal(state).split()) == {name for name, _, _, _ in legal_steps(own, other, dice)}
    boards = ends_of_turn(state)["points"][:, [state.mover, 1 - state.mover]].tolist()
    assert {tuple(map(tuple, board)) for board in boards} == slow_ends(own, other, dice)


def random_play(rng, game=GAME, state=None):
    """Positions of one random game, in turn."""
    state = game.initial() if state is None else state
    yield state
    while not game.is_terminal(state):
        actions = game.legal_actions(state)
        chances = [game.chance(state, action) for action in actions] if game.to_move(state) == CHANCE else None
        state = game.result(state, int(rng.choice(actions, p=chances)))
        yield state


def random_positions(rng, n, most):
    """Random boards, not reached by playing, with up to `most` checkers of each player still on them."""
    while n:
        own, other = ({}, {})
        for side in (own, other):
            top = rng.choice([6, 6, 12, 25])
            for _ in range(rng.integers(1, most + 1)):
                point = int(rng.integers(1, top + 1))
                side[point] = side.get(point, 0) + 1
        roll = ROLLS[rng.integers(len(ROLLS))]
        if all(25 - point not in other for point in own if point < 25):
            try:
                state = position(own, other, fresh(roll), mover=int(rng.integers(2)))
            except UserError:
                continue  # a roll that can't be played
            yield state
            n -= 1


# ── counts ──


@pytest.mark.parametrize("roll", ROLLS)
def test_distinct_results_of_a_roll_from_the_start(roll):
    known = COUNTS["results of a roll"][roll]
    assert len(ends_of_turn(GAME.parse(f"{START}:0:{fresh(roll)}"))) == known
    assert len(slow_ends(*sides(GAME.initial()), tuple(map(int, fresh(roll))))) == known


def test_all_rolls_together_have_447_results():
    assert sum(COUNTS["results of a roll"].values()) == COUNTS["results of all rolls"] == 447


def test_a_plain_position_id_is_player_0_about_to_roll():
    assert GAME.text(GAME.parse("4HPwATDgc/ABMA")) == "4HPwATDgc/ABMA:0:-"


def test_perft_counts():
    for depth, count in enumerate(COUNTS["action sequences from the start"]):
        assert GAME.perft(depth) == count, depth


def test_action_sequences_equal_the_slow_generators():
    def sequences(own, other, dice, depth):
        if depth == 0:
            return 1
        if not dice:
            rolls = [(int(roll[0]), int(roll[1])) for roll in ROLLS if depth < deepest or roll[0] != roll[1]]
            return sum(after_roll(own, other, roll * 2 if roll[0] == roll[1] else roll, depth - 1) for roll in rolls)
        named = {name: (after, left) for name, _, after, left in legal_steps(own, other, dice)}
        return sum(after_roll(*after, left, depth - 1) for after, left in named.values())

    def after_roll(own, other, dice, depth):
        return sequences(own, other, dice, depth) if longest(own, other, dice) else sequences(other, own, (), depth)

    for deepest in range(1, 6):
        assert sequences(*sides(GAME.initial()), (), deepest) == COUNTS["action sequences from the start"][deepest]


def test_positions_after_whole_turns():
    fast, slow = GAME.scratch(GAME.initial(), 1), {sides(GAME.initial())}
    for known in COUNTS["positions after turns"]:
        rolls = [GAME.names[action] for action in GAME.legal_actions(fast[0])]
        fast = np.concatenate([ends_of_turn(GAME.play(roll, state)) for state in fast for roll in rolls])
        fast = fast[np.unique(packed(fast["points"]), return_index=True)[1]]
        dice = [tuple(map(int, fresh(roll))) for roll in rolls]
        slow = {(other, own) for now in slow for roll in dice for own, other in slow_ends(*now, roll)}
        assert len(fast) == len(slow) == known
        assert {sides(state) for state in fast} == slow


# ── the letter of the rules ──


def test_every_ply_of_random_games_agrees_with_the_letter():
    rng = np.random.default_rng(1)
    for _ in range(12):
        for state in random_play(rng):
            if not GAME.is_terminal(state) and GAME.to_move(state) != CHANCE:
                agrees_with_the_letter(state)


@pytest.mark.parametrize("most", [1, 2, 3, 5, 8])
def test_random_boards_agree_with_the_letter(most):
    for state in random_positions(np.random.default_rng(most), 250, most):
        agrees_with_the_letter(state)


def test_no_order_of_a_double_comes_less_far_than_another():
    """Why the moves of a double need no look-ahead."""
    for state in random_positions(np.random.default_rng(9), 250, 6):
        own, other = sides(state)
        for die in range(1, 7):
            dice = (die,) * 4
            most = longest(own, other, dice)
            assert all(1 + longest(*after, left) == most for _, _, after, left in steps(own, other, dice))


def test_an_action_that_spoils_the_other_die_is_illegal():
    # 8/3 leaves no 4, since 11 is closed; 15/10 and then 8/4 or 10/6, or 8/4 and then 15/10, play both
    assert legal(position({15: 1, 8: 1}, {14: 2}, "54")) == "15/10 8/4"
    assert legal(position({15: 1, 8: 1}, {14: 2}, "5")) == "15/10 8/3"


def test_the_larger_die_must_be_played_where_only_one_can():
    # 8 is closed, to the 1 after 15/9 as to the 6 after 15/14
    state = position({15: 1}, {17: 2}, "61")
    assert legal(state) == "15/9"
    after = GAME.result(state, GAME.action(state, "15/9"))
    assert (GAME.to_move(after), after.mover) == (CHANCE, 1)


def test_the_smaller_die_is_played_where_only_it_can():
    assert legal(position({15: 1}, {16: 2, 17: 2}, "61")) == "15/14"


def test_checkers_on_the_bar_enter_first():
    assert legal(position({25: 2, 6: 5}, {6: 2, 2: 2}, "31")) == "bar/22 bar/24"
    assert legal(position({25: 1, 6: 5}, {6: 2, 2: 2}, "31")) == "bar/22 bar/24"
    state = position({25: 2, 6: 5}, {3: 2}, "31")
    assert legal(state) == "bar/24"  # the 3 is closed
    after = GAME.result(state, GAME.action(state, "bar/24"))
    assert (GAME.to_move(after), after.mover) == (CHANCE, 1)  # the second one can't enter, no other may move


def test_a_closed_board_passes_by_itself():
    state = position({25: 1, 6: 5}, dict.fromkeys(range(1, 7), 2), "-")
    for roll in ROLLS:
        after = GAME.result(state, GAME.action(state, roll))
        assert (GAME.to_move(after), after.mover, after.points.tobytes()) == (CHANCE, 1, state.points.tobytes())


def test_bearing_off_needs_all_checkers_home():
    assert legal(position({7: 1, 3: 1}, {1: 2}, "3")) == "7/4"
    assert legal(position({25: 1, 3: 1}, {1: 2}, "3")) == "bar/22"
    assert legal(position({6: 1, 3: 1}, {1: 2}, "3")) == "3/off 6/3"


def test_a_larger_die_bears_off_from_the_highest_point_only():
    assert legal(position({4: 1, 3: 2, 1: 1}, {1: 2}, "6")) == "4/off"
    assert legal(position({5: 1, 3: 2}, {1: 2}, "4")) == "5/1"
    assert legal(position({5: 1, 3: 2}, {24: 2}, "5")) == "5/off"


def test_bearing_off_takes_the_smallest_die_that_suffices():
    for own, point, dice, left in [
        ({4: 1, 1: 2}, 4, "65", [6]),
        ({4: 1, 1: 2}, 4, "64", [6]),
        ({4: 2}, 4, "43", [3]),  # only the 4 suffices
        ({5: 1, 2: 1}, 2, "62", [6]),  # only the 2 may: 5 is higher
        ({6: 1, 5: 1}, 6, "66", [6]),
    ]:
        state = position(own, {1: 2}, dice)
        after = GAME.result(state, GAME.action(state, f"{point}/off"))
        assert list(dice_left(after)) == left


def test_the_last_checker_too_is_borne_off_with_both_dice():
    """As in GNU Backgammon and OpenSpiel; it makes no difference to either player."""
    state = position({3: 1}, {1: 2}, "31")
    assert legal(state) == "3/2"
    assert GAME.utility(GAME.play("3/2 2/off", state))[0] == 1 / 3
    assert legal(position({3: 1}, {1: 2, 23: 2}, "31")) == "3/off"  # 3/2 is closed


def test_a_double_is_played_four_times_and_as_often_as_it_can_be():
    state = position({13: 1}, {20: 2}, "3333")
    after = GAME.play("13/10 10/7 7/4", state)
    assert (after.mover, list(dice_left(after))) == (0, [3])
    after = GAME.play("4/1", after)
    assert (GAME.to_move(after), after.mover) == (CHANCE, 1)
    blocked = GAME.play("13/10", position({13: 1}, {18: 2}, "3333"))
    assert (GAME.to_move(blocked), blocked.mover) == (CHANCE, 1)


def test_a_blot_goes_to_the_bar():
    state = position({8: 1, 6: 1}, {22: 1, 1: 2}, "53")
    after = GAME.play("8/3", state)
    assert after.points[1].tolist() == [12, 2] + [0] * 23 + [1]
    assert GAME.rules.gain(state, GAME.action(state, "8/3")) == pytest.approx(3 / 25)
    assert GAME.rules.gain(state, GAME.action(state, "6/3")) == pytest.approx(3 / 25)
    assert GAME.rules.gain(state, GAME.action(state, "6/1")) == 0


def test_stakes():
    def outcome(loser):
        return GAME.utility(GAME.play("1/off", position({1: 1}, loser, "1")))

    assert outcome({23: 1}) == (1 / 3, -1 / 3)  # 14 are off
    assert outcome({18: 15}) == (2 / 3, -2 / 3)
    assert outcome({19: 1, 1: 14}) == (1.0, -1.0)  # in the winner's home
    assert outcome({25: 1, 1: 14}) == (1.0, -1.0)
    assert outcome({25: 1, 1: 13}) == (1 / 3, -1 / 3)
    assert set(outcome({18: 15}) + outcome({25: 15}) + outcome({1: 1})) < set(GAME.rules.values)
    lost = GAME.utility(GAME.play("1/off", position({1: 1}, {18: 15}, "1", mover=1)))
    assert lost == (-2 / 3, 2 / 3)


def test_the_cap_draws():
    state = GAME.initial()
    state.plies = GAME.rules.max_plies - 1
    last = GAME.result(state, GAME.action(state, "31"))
    assert GAME.is_terminal(last)
    assert GAME.utility(last) == (0.0, 0.0)
    assert len(GAME.movements(last)) > 0


def test_the_first_roll_is_no_double():
    start = GAME.initial()
    assert GAME.to_move(start) == CHANCE
    outcomes = {GAME.names[action]: GAME.chance(start, action) for action in GAME.legal_actions(start)}
    assert outcomes == {roll: 1 / 15 for roll in ROLLS if roll[0] != roll[1]}
    later = GAME.play("31 8/5 6/5")
    outcomes = {GAME.names[action]: GAME.chance(later, action) for action in GAME.legal_actions(later)}
    assert outcomes == {roll: (1 if roll[0] == roll[1] else 2) / 36 for roll in ROLLS}
    assert GAME.key(start) != GAME.key(GAME.parse(f"{START}:0:-"))


# ── OpenSpiel ──
#
# Where it differs, by its own choice, as the tests below take for granted or show:
# - two checkers are one action, a double is two such actions running; who can't move has an action that passes;
# - its first roll also determines who begins: 30 outcomes, of which ours are the 15 where player 0 does;
# - stakes are 1, 2, 3; in hyper-backgammon it has no gammons;
# - it stops games after 500 turns (an option), ours after 3000 plies.
# The rules of movement are the same: the larger die, bearing off, as many dice as can be played.

SPIEL = pyspiel.load_game("backgammon(scoring_type=full_scoring)")


def spiel_points(*states):
    """OpenSpiel's boards as ours, read from its observations: [states, 2, 26]."""
    seen = np.array([state.observation_tensor(0) for state in states])
    units = seen[:, :192].reshape(-1, 2, 24, 4)
    counts = units @ [1, 2, 3, 1] + 3 * (units[..., 3] > 0)
    points = np.zeros((len(states), 2, 26), np.int8)
    points[:, 0, 1:25], points[:, 1, 1:25] = counts[:, 0, ::-1], counts[:, 1]  # its point 0 is X's 24 and O's 1
    points[:, :, 25], points[:, :, 0] = seen[:, [192, 195]], seen[:, [193, 196]]
    return points


def spiel_ends(state):
    """Every board that the player on turn can leave behind, with the actions that do it: one or, for a double, two."""
    found, halves = {}, {}
    for action in state.legal_actions():
        after = state.child(action)
        if after.current_player() == state.current_player():
            halves.setdefault(str(after), (after, [action]))
        else:
            found.setdefault(str(after), (after, [action]))
    for half, path in halves.values():
        for action in half.legal_actions():
            after = half.child(action)
            found.setdefault(str(after), (after, [*path, action]))
    return list(found.values())


def spiel_names(state, action):
    """Our names for the checkers that one of OpenSpiel's actions moves, in its order."""
    player = state.current_player()
    for checker in state.spiel_move_to_checker_moves(player, action):
        if checker.pos >= 0:
            point = 25 if checker.pos == 100 else 24 - checker.pos if player == 0 else checker.pos + 1
            yield f"{'bar' if point == 25 else point}/{max(point - checker.num, 0) or 'off'}"


def spiel_rolls(state):
    """Its outcomes by the name of the roll; of the first ones those where player 0 begins."""
    texts = {action: state.action_to_string(action) for action, _ in state.chance_outcomes()}
    rolls = {action: text[text.index("roll: ") + 6 :][:2] for action, text in texts.items() if "O starts" not in text}
    return {max(roll, roll[::-1]): action for action, roll in rolls.items()}


@pytest.mark.parametrize("block", range(2))
def test_whole_turns_and_outcomes_equal_openspiels(block):
    rng = np.random.default_rng(block)
    stakes = set()
    for _ in range(40):  # fewer and one way of winning would be missing
        ours, theirs = GAME.initial(), SPIEL.new_initial_state()
        while not theirs.is_terminal():
            rolls = spiel_rolls(theirs)
            assert {GAME.names[action] for action in GAME.legal_actions(ours)} == set(rolls)
            roll = rng.choice(sorted(rolls))
            ours = GAME.result(ours, GAME.action(ours, roll))
            theirs.apply_action(rolls[roll])
            ends = spiel_ends(theirs)
            boards = packed(spiel_points(*(end for end, _ in ends)))
            assert set(boards.tolist()) == set(packed(ends_of_turn(ours)["points"]).tolist())
            _, path = ends[rng.integers(len(ends))]
            for action in path:
                for name in spiel_names(theirs, action):
                    ours = GAME.result(ours, GAME.action(ours, name))
                theirs.apply_action(action)
            assert ours.points.tobytes() == spiel_points(theirs)[0].tobytes()
            assert theirs.is_terminal() == GAME.is_terminal(ours)
        assert GAME.utility(ours) == tuple(stake / 3 for stake in theirs.returns())
        stakes.add(abs(theirs.returns()[0]))
    assert stakes == {1, 2, 3}


def test_openspiel_passes_where_our_turn_ends_by_itself():
    rng = np.random.default_rng(0)
    theirs = SPIEL.new_initial_state()
    while True:
        if theirs.is_terminal():
            theirs = SPIEL.new_initial_state()
        if theirs.is_chance_node():
            theirs.apply_action(int(rng.choice([action for action, _ in theirs.chance_outcomes()])))
        elif [theirs.action_to_string(action) for action in theirs.legal_actions()] == ["Pass"]:
            break
        else:
            theirs.apply_action(int(rng.choice(theirs.legal_actions())))
    points, mover = spiel_points(theirs)[0], theirs.current_player()
    own, other = (dict(enumerate(side[1:].tolist(), 1)) for side in (points[mover], points[1 - mover]))
    dice = [int(die) for die in theirs.observation_tensor(0)[198:200]]
    roll = f"{max(dice)}{min(dice)}"
    with pytest.raises(UserError, match="the turn has passed"):
        position(own, other, fresh(roll), mover)
    after = GAME.play(roll, position(own, other, "-", mover))
    assert (after.mover, GAME.to_move(after)) == (1 - mover, CHANCE)


def test_openspiels_first_roll_also_determines_who_begins():
    outcomes = SPIEL.new_initial_state().chance_outcomes()
    assert len(outcomes) == 30
    assert {probability for _, probability in outcomes} == {1 / 30}


def test_hyper_backgammon_has_gammons_and_openspiels_has_none():
    theirs = pyspiel.load_game("backgammon(scoring_type=full_scoring,hyper_backgammon=true)")
    assert (theirs.max_utility(), len(theirs.new_initial_state().observation_tensor(0))) == (1.0, 200)
    ours = load("backgammon:start=hyper")
    assert ours.initial().points.tobytes() == spiel_points(theirs.new_initial_state())[0].tobytes()
    state = ours.initial()
    state.points[:] = 0
    state.points[0, 1], state.points[0, 0], state.points[1, 18] = 1, 2, 3
    won = ours.play("21 1/off", ours.parse(ours.text(state).replace("first", "-")))
    assert ours.utility(won) == (2 / 3, -2 / 3)


# ── texts ──


def test_position_ids_are_gnu_backgammons():
    """The start, and what GNU Backgammon shows after 3-1: 8/5 6/5, seen by the opponent and by the player who played it."""
    assert GAME.text(GAME.initial()) == f"{START}:0:first"
    assert GAME.text(GAME.play("31")) == f"{START}:0:31"
    assert GAME.text(GAME.play("31 8/5 6/5")) == "sGfwATDgc/ABMA:1:-"
    assert GAME.text(GAME.play("31 8/5 6/5 66")) == "sGfwATDgc/ABMA:1:6666"
    assert GAME.parse("4HPwATCwZ/ABMA:0:-").points.tolist() == GAME.play("31 8/5 6/5").points.tolist()


@pytest.mark.parametrize("name", [name for name in variants() if name.startswith("backgammon")])
def test_texts_of_random_games_round_trip(name):
    game = load(name)
    rng = np.random.default_rng(3)
    for _ in range(10):
        for state in random_play(rng, game):
            again = game.parse(game.text(state))
            assert again.plies == 0
            again.plies = state.plies
            assert again.tobytes() == state.tobytes()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "expected POSITION-ID:PLAYER:DICE"),
        (f"{START}:2:31", "expected POSITION-ID:PLAYER:DICE"),
        (f"{START}:0:71", "expected POSITION-ID:PLAYER:DICE"),
        (f"{START}:0:٣", "expected POSITION-ID:PLAYER:DICE"),
        (f"{START}:0:13", "larger die first"),
        (f"{START}:0:331", "or up to four equal ones"),
        (f"{START}:0:3313", "or up to four equal ones"),
        (f"{START}:0:321", "or up to four equal ones"),
        (f"{START}:0:113", "or up to four equal ones"),
        (f"{START}:1:first", "expected the start and player 0"),
        ("sGfwATDgc/ABMA:0:first", "expected the start and player 0"),
        ("//////////////:0:-", "as GNU Backgammon writes it"),
        ("4HPwATDgc/ABMB:0:-", "as GNU Backgammon writes it"),  # a bit beyond the eightieth
        ("4HPwATDgc/ABcA:0:-", "as GNU Backgammon writes it"),  # checkers beyond the bar
        ("AAAAAAAAAAAAAA:0:-", "expected checkers of the player on turn"),
    ],
)
def test_impossible_texts_are_refused(text, why):
    with pytest.raises(UserError, match=why):
        GAME.parse(text)


def test_impossible_boards_are_refused():
    with pytest.raises(UserError, match="got both on player 0's 8"):
        position({8: 1}, {17: 1})
    with pytest.raises(UserError, match="two closed boards"):
        position(dict.fromkeys(range(1, 7), 2) | {25: 1}, dict.fromkeys(range(1, 7), 2) | {25: 1})
    with pytest.raises(UserError, match="dice that can be played"):
        position({25: 1}, dict.fromkeys(range(1, 7), 2), "31")
    with pytest.raises(UserError, match="no dice where the game is over"):
        position({8: 1}, {}, "31")
    with pytest.raises(UserError, match="expected checkers of the player on turn"):
        position({}, {8: 1})
    with pytest.raises(UserError, match="at most 15 checkers each, got 16 of player 1"):
        position({6: 14}, {6: 16})
    with pytest.raises(UserError, match="at most 3 checkers"):
        load("backgammon:start=hyper").parse(f"{START}:0:-")


def texts():
    """Broken texts of all kinds, most of them nearly right."""
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    loose_id = some.text(alphabet, min_size=13, max_size=15)
    packed_id = some.lists(some.integers(0, 3), min_size=50, max_size=50).map(id_of)
    sparse_id = some.dictionaries(some.integers(0, 49), some.integers(1, 6), max_size=8).map(
        lambda counts: id_of([counts.get(i, 0) for i in range(50)])
    )
    dice = some.sampled_from(["-", "first", *map(fresh, ROLLS), "1", "66", "13", ""]) | some.text("123456-", max_size=5)
    ids = some.sampled_from([START, "sGfwATDgc/ABMA"]) | loose_id | packed_id | sparse_id
    whole = some.tuples(ids, some.sampled_from(["0", "1", "0", "1", "-1", ""]), dice).map(":".join)
    return whole | some.text(max_size=24)


def id_of(counts):
    bits = "".join("1" * count + "0" for count in counts)[:80].ljust(80, "0")
    return base64.b64encode(int(bits[::-1], 2).to_bytes(10, "little")).decode()[:14]


@settings(max_examples=250, deadline=None, derandomize=True)
@given(texts())
def test_any_text_is_a_playable_position_or_a_user_error(text):
    try:
        state = GAME.parse(text)
    except UserError:
        return
    assert GAME.text(state) == text.strip()
    assert state.points.sum(1).tolist() == [15, 15]
    if not GAME.is_terminal(state):
        assert 0 < len(GAME.legal_actions(state)) <= GAME.rules.max_legal
        _, plies = GAME.random_games(1, 1, state)
        assert plies <= GAME.rules.max_plies


def test_render():
    state = position({25: 2, 6: 8, 4: 1}, {25: 1, 6: 5, 24: 2}, "5")
    lines = GAME.render(state).splitlines()
    assert lines[0] == lines[0].rstrip() == " 13 14 15 16 17 18  bar  19 20 21 22 23 24"
    assert lines[1] == "| .  .  .  .  .  . | X | O  .  .  .  .  . |"
    assert lines[-5] == "| .  .  .  .  .  . | O | X  .  X  .  .  O |"
    assert lines[-9] == "|                  |   | X                |"
    assert lines[-10] == "|                  |   | 8                |"
    assert lines[-3:] == ["X: 102 pips, 4 off", "O: 103 pips, 7 off", "X plays 5"]


# ── laws ──


def test_fields_computed_from_others_are_right_all_along():
    rng = np.random.default_rng(4)
    for _ in range(10):
        for state in random_play(rng):
            for player in range(2):
                own, other = state.points[player], state.points[1 - player]
                assert state.held[player] == sum(1 << point for point in range(1, 26) if own[point])
                assert state.free[player] == sum(1 << point for point in range(1, 25) if other[25 - point] < 2)


def test_compiled_equals_interpreted():
    rules = GAME.rules
    rng = np.random.default_rng(5)
    planes, values = np.zeros(rules.observation, np.float32), np.zeros(len(rules.feature_names), np.float32)
    buffer = np.zeros(rules.max_legal, np.int32)
    with np.errstate(over="ignore"):
        for _ in range(2):
            for state in random_play(rng):
                if not rules.is_terminal(state):
                    assert rules.to_move(state) == GAME.to_move(state)
                assert buffer[: rules.legal_actions(state, buffer)].tolist() == GAME.movements(state)
                assert int(rules.key(state)) == GAME.key(state)
                for player in range(2):
                    planes[:], values[:] = 0, 0
                    rules.observe(state, player, planes)
                    rules.features(state, player, values)
                    assert np.array_equal(planes, GAME.observe(state, player))
                    assert values.tolist() == list(GAME.features(state, player).values())
                for action in GAME.movements(state):
                    copy = state.copy()
                    rules.result(copy, action)
                    assert copy.tobytes() == GAME.result(state, action).tobytes()
            assert tuple(rules.utility(state, player) for player in range(2)) == GAME.utility(state)


def test_features_are_antisymmetric():
    rng = np.random.default_rng(6)
    seen = np.zeros(len(GAME.rules.feature_names))
    for _ in range(10):
        for state in random_play(rng):
            first, second = (np.array(list(GAME.features(state, player).values())) for player in range(2))
            assert np.array_equal(first, -second)
            assert np.isfinite(first).all()
            seen += first != 0
    assert (seen > 0).all()


def test_features_of_a_drawn_position():
    state = position({25: 1, 24: 2, 13: 1, 6: 3, 5: 2, 4: 2, 2: 4}, {18: 1, 6: 5, 5: 2, 4: 2, 3: 2}, "62")
    own = GAME.features(state)
    assert own["on the bar"] == 1
    assert own["on the bar, times points closed there"] == 4
    assert own["anchors"] == 1
    assert own["blots"] == 1 - 1
    assert own["blots within direct shots"] == 1 - 1
    assert own["pips these could lose, in tens"] == pytest.approx((12 - 7) / 10)
    assert own["longest prime"] == 3 - 4
    assert own["points made at home"] == 4 - 4
    assert own["on the two deepest points"] == 4
    assert own["stacked beyond three"] == 1 - 2
    assert own["borne off"] == 0 - 3
    assert own["to move"] == 1
    assert own["dice to play, in tens"] == pytest.approx(0.8)
    assert own["pips to go in a race, in tens"] == 0


def test_keys_are_equal_exactly_where_positions_are():
    rng = np.random.default_rng(7)
    positions = {}
    for _ in range(60):
        for state in random_play(rng, GAME, GAME.initial()):
            fields = [state[name].tobytes() for name in GAME.rules.State.names if name not in GAME.rules.history]
            positions.setdefault(GAME.key(state), set()).add(b"".join(fields))
    assert all(len(found) == 1 for found in positions.values())
    assert len(set().union(*positions.values())) == len(positions)
    either_way = [GAME.play(moves) for moves in ("31 8/5 6/5", "31 6/5 8/5")]
    assert GAME.key(either_way[0]) == GAME.key(either_way[1])


def test_both_players_see_the_same_game():
    """A position and its exchange of seats look alike from the mover's side and have the same actions."""
    for state in random_positions(np.random.default_rng(8), 200, 6):
        own, other = (dict(enumerate(side[1:], 1)) for side in sides(state))
        dice = "".join(map(str, dice_left(state)))
        seats = [position(own, other, dice, mover) for mover in range(2)]
        assert GAME.legal_actions(seats[0]) == GAME.legal_actions(seats[1])
        assert np.array_equal(GAME.observe(seats[0]), GAME.observe(seats[1]))
        assert np.array_equal(GAME.observe(seats[0], 1), GAME.observe(seats[1], 0))
        assert GAME.features(seats[0]) == GAME.features(seats[1])


def test_tactical_actions_are_those_with_a_gain():
    rng = np.random.default_rng(10)
    buffer = np.zeros(GAME.rules.max_legal, np.int32)
    for state in random_play(rng):
        gains = {action: GAME.rules.gain(state, action) for action in GAME.movements(state)}
        with np.errstate(over="ignore"):
            found = buffer[: GAME.rules.tactical_actions(state, buffer)].tolist()
        assert found == [action for action, gain in gains.items() if gain > 0]
        if GAME.to_move(state) != CHANCE:
            other = 1 - state.mover
            for action, gain in gains.items():
                is_hit = GAME.result(state, action).points[other, 25] > state.points[other, 25]
                assert (gain > 0) == (is_hit or GAME.names[action].endswith("off"))


@pytest.mark.parametrize("name", [name for name in variants() if name.startswith("backgammon")])
def test_random_games_are_fair_and_end(name):
    utilities, plies = load(name).random_games(3000, 11)
    assert sum(utilities) == 0
    assert abs(utilities[0]) < 0.06
    assert plies < load(name).rules.max_plies / 5


def test_the_longest_list_fits():
    """Fifteen blots, each free to move by either die."""
    state = position(dict.fromkeys(range(10, 25), 1), {24: 2, 25: 13}, "21")
    assert len(GAME.legal_actions(state)) == 30 == GAME.rules.max_legal
