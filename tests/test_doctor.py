"""The doctor finds planted bugs: each breaks its law, with the function to look at."""

from pathlib import Path

import pytest
from commands import command

import games
from base.errors import UserError
from games import load
from games.engine import laws
from games.engine.doctor import GameUnderTest, examine
from games.engine.game import Game
from games.engine.quick_laws import Breach
from games.engine.rules import Rules

SOURCES = {
    name: (Path(games.__file__).parent / f"{name}.py").read_text()
    for name in ("checkers", "connect_four", "nim", "tic_tac_toe")
}

# by name: game, text of its file, the text that replaces it, the law that breaks, the function to look at
BUGS = {
    "a drawn board is forgotten": (
        "tic_tac_toe",
        "return state.winner >= 0 or state.plies == 9",
        "return state.winner >= 0",
        laws.there_is_a_legal_action,
        "legal_actions or is_terminal",
    ),
    "an action is listed twice": (
        "nim",
        "n += 1\n        return n",
        "n += 1\n        actions[n] = actions[0]\n        return n + 1 if n > 0 else 0",
        laws.actions_are_listed_once,
        "legal_actions",
    ),
    "an index runs out of its array": (
        "nim",
        "state.heaps[action // largest] -=",
        "state.heaps[action // largest + 1] -=",
        laws.can_be_played,
        "result",
    ),
    "a small number overflows in one way and not in the other": (
        "nim",
        "return 1.0 if state.heaps.sum()",
        "return 1.0 if state.heaps[0] + 253 > 255 or state.heaps.sum()",
        laws.same_in_three_ways,
        "gain",
    ),
    "a small number overflows in every way": (
        "nim",
        "state.mover = 1 - state.mover",
        "state.mover = (1 - state.mover + 127 + 127) % 2",
        laws.integers_stay_in_range,
        "result (my_game.py, line ",
    ),
    "an index runs out of its array late in the game": (
        "connect_four",
        "        state.plies += 1\n",
        "        state.plies += 1\n        state.stones[state.plies // 15] |= ZERO\n",
        laws.same_in_three_ways,
        "result (my_game.py, line ",
    ),
    "legal moves are not counted where there are few": (
        "nim",
        "n += 1\n        return n",
        "n += 1\n        return n if n > 9 else 'few'",
        laws.can_be_played,
        "legal_actions",
    ),
    "a gain moves a stone": (
        "tic_tac_toe",
        "return 1.0 if completes_line(",
        "state.plies += 2 - state.plies % 2 * 2\n        return 1.0 if completes_line(",
        laws.other_functions_change_nothing,
        "gain",
    ),
    "a key moves a stone": (
        "connect_four",
        "return mix(state.stones[0] + occupied + BOTTOM)",
        "state.plies = 0\n        return mix(state.stones[0] + occupied + BOTTOM)",
        laws.other_functions_change_nothing,
        "key",
    ),
    "both players win": (
        "connect_four",
        "return 1.0 if state.winner == player else -1.0",
        "return 1.0",
        laws.utilities_sum_to_zero,
        "utility or zero_sum",
    ),
    "a win is worth more than declared": (
        "connect_four",
        "return 1.0 if state.winner == player else -1.0",
        "return 0.5 if state.winner == player else -0.5",
        laws.utilities_are_declared,
        "utility or values",
    ),
    "a column is not seen": (
        "connect_four",
        "planes[seat, ROWS - 1 - row, column] = stones >>",
        "planes[seat, ROWS - 1 - row, max(column, 1)] = stones >>",
        laws.observations_determine_moves,
        "observe or action_view",
    ),
    "the mirror is askew": (
        "connect_four",
        "range(COLUMNS)[::-1]",
        "[6, 5, 4, 3, 2, 0, 1]",
        laws.symmetries_hold,
        "symmetries ('mirror')",
    ),
    "different positions share a key": (
        "connect_four",
        "return mix(state.stones[0] + occupied + BOTTOM)",
        "return mix(occupied)",
        laws.keys_identify_positions,
        "key",
    ),
    "the key depends on the path": (
        "connect_four",
        "return mix(state.stones[0] + occupied + BOTTOM)",
        "return mix(state.stones[0] + occupied + BOTTOM + U(state.last))",
        laws.keys_identify_positions,
        "key",
    ),
    "a feature has lost its sign": (
        "connect_four",
        "values[6] += sign * popcount",
        "values[6] += popcount",
        laws.features_are_antisymmetric,
        "features",
    ),
    "games are longer than declared": (
        "connect_four",
        "max_plies=COLUMNS * ROWS",
        "max_plies=12",
        laws.games_end,
        "is_terminal or max_plies",
    ),
    "a name is two words": (
        "connect_four",
        "names=[str(column + 1) for",
        'names=[f"column {column + 1}" for',
        laws.names_and_texts_parse_back,
        "names",
    ),
    "a position is read with its colours exchanged": (
        "connect_four",
        'stones["xo".index(mark)] |=',
        'stones["ox".index(mark)] |=',
        laws.names_and_texts_parse_back,
        "text or parse",
    ),
    "a player who does not exist is read": (
        "nim",
        "gain=gain,",
        "gain=gain, text=lambda state: bytes(state.tobytes()).hex(), parse=of_hex,",
        laws.changed_bytes_stay_in_memory,
        "parse",
    ),
    "a capture is not listed": (
        "connect_four",
        "        gain=gain,\n",
        "        gain=gain,\n        tactical_actions=lambda state, actions: 0,\n",
        laws.tactical_actions_have_a_gain,
        "tactical_actions or gain",
    ),
    "some actions are drawn more often": (
        "nim",
        "gain=gain,",
        "gain=gain, random_action=lambda state, actions, rng: int(actions[legal_actions(state, actions) * 2 // 3]),",
        laws.random_actions_are_uniform,
        "random_action",
    ),
    "a null move passes nothing": (
        "nim",
        "gain=gain,",
        "gain=gain, null_result=lambda state: True,",
        laws.null_moves_pass,
        "null_result",
    ),
    "the counter draws a ply too soon": (
        "checkers",
        "return LIMIT - int(state.quiet)",
        "return LIMIT - int(state.quiet) + 1",
        laws.history_draws_no_sooner,
        "plies_to_draw",
    ),
    "a draw by repetition is not foreseen": (
        "checkers",
        "if stood_earlier(state, last, 1):\n                return 0",
        "if stood_earlier(state, last, 1):\n                break",
        laws.history_draws_no_sooner,
        "plies_to_draw",
    ),
    "draws by history are not declared": (
        "checkers",
        "        plies_to_draw=plies_to_draw,\n",
        "",
        laws.history_draws_no_sooner,
        "plies_to_draw",
    ),
}


def planted(folder, source, old, new):
    text = SOURCES[source]
    assert old in text
    text = text.replace(old, new, 1)
    if "of_hex" in new:  # a parser that checks nothing
        lines = "    def of_hex(state, text):\n        found = np.frombuffer(bytes.fromhex(text), State)[0]\n"
        lines += "        for name in State.names:\n            state[name] = found[name]\n\n"
        text = text.replace("    names = [", lines + "    names = [", 1)
    if "state.last" in new:  # the path-dependent key needs a path
        text = text.replace('("winner", np.int8)', '("winner", np.int8), ("last", np.int8)')
        text = text.replace('history=["plies", "winner"]', 'history=["plies", "winner", "last"]')
        text = text.replace("        state.plies += 1\n", "        state.plies += 1\n        state.last = action\n")
    path = folder / "my_game.py"
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_bug_is_named(bug, tmp_path):
    source, old, new, law, function = BUGS[bug]
    findings = examine(load(planted(tmp_path, source, old, new)), count=60, seconds=0.2)
    found = {finding.law: finding for finding in findings}
    name = law.sentence
    if bug in LATE and name not in found:  # on a fast machine the interpreted games of can_be_played are long enough
        name = laws.can_be_played.sentence
    assert name in found, [str(finding) for finding in findings]
    finding = found[name]
    assert finding.function.startswith(function)
    assert str(finding).count("\n") >= 3  # law, function, what was seen, where
    assert all(other.law in SIDE_EFFECTS.get(bug, set()) | {finding.law} for other in findings), list(found)


LATE = {"an index runs out of its array late in the game"}

# Other laws that a bug breaks.
SIDE_EFFECTS = {
    "a column is not seen": {laws.symmetries_hold.sentence},
}


def but_the_first(list_all):
    """Lists one index less."""

    def listed(state, indices):
        n = list_all(state, indices)
        indices[: max(n - 1, 0)] = indices[1 : max(n, 1)].copy()
        return max(n - 1, 0)

    return listed


def and_itself(list_all):
    """Lists the position's own index too."""

    def listed(state, indices):
        n = list_all(state, indices)
        indices[n] = load("chess").rules.endgame_index(state)
        return n + 1

    return listed


def twice(list_all):
    def listed(state, indices):
        n = list_all(state, indices)
        indices[n] = indices[0]
        return n + 1

    return listed


def without_its_clock(list_all):
    def listed(state, indices):
        state.clock = 9
        return list_all(state, indices)

    return listed


@pytest.mark.parametrize(
    ("change", "seen"),
    [
        (None, ""),
        (but_the_first, "is not among its predecessors"),
        (and_itself, "but no action leads from there"),
        (twice, "lists an index twice"),
        (without_its_clock, "changes the position"),
    ],
    ids=["right", "missing", "astray", "twice", "changed"],
)
def test_wrong_predecessors_of_an_endgame_are_found(change, seen):
    rules = load("chess").rules
    if change is not None:
        fields = {name: getattr(rules, name) for name in Rules.__dataclass_fields__ if name != "derived"}
        rules = Rules(**(fields | {"endgame_predecessors": change(rules.endgame_predecessors)}))
    test = GameUnderTest(Game(rules, "chess", "chess", {}), count=1, seed=0, seconds=1)
    if not seen:
        assert "positions" in laws.predecessors_are_complete.check(test)
        return
    with pytest.raises(Breach, match=seen) as breach:
        laws.predecessors_are_complete.check(test)
    assert breach.value.function == "endgame_predecessors"


DICE = '''
import numpy as np
from games import CHANCE, Rules

def game():
    """Two rolls of a die with two faces; the second player wins if they differ."""
    State = np.dtype([("rolls", np.int8), ("total", np.int8)])
    def initial(state):
        pass
    def to_move(state):
        return CHANCE
    def legal_actions(state, actions):
        if state.rolls == 2:
            return 0
        actions[0], actions[1] = 0, 1
        return 2
    def result(state, action):
        state.rolls += 1
        state.total += action
    def is_terminal(state):
        return state.rolls == 2
    def utility(state, player):
        return 1.0 if (state.total == 1) == (player == 1) else -1.0
    def chance(state, action):
        return 0.5 if action == 0 else ODDS
    return Rules(State, initial, to_move, legal_actions, result, is_terminal, utility,
                 players=2, actions=2, max_plies=2, chance=chance)
'''


@pytest.mark.parametrize(("odds", "is_sound"), [("0.5", True), ("0.4", False), ("0.0", False)])
def test_chances_that_do_not_sum_to_one_are_named(odds, is_sound, tmp_path):
    path = tmp_path / "dice.py"
    path.write_text(DICE.replace("ODDS", odds))
    findings = [(finding.law, finding.function) for finding in examine(load(str(path)), count=50, seconds=0.2)]
    assert findings == ([] if is_sound else [(laws.probabilities_sum_to_one.sentence, "chance")])


NARROW = '''
import numpy as np
from base.bits import U
from base.seeds import mix
from games import Rules

def game():
    """The first player passes or counts on until 200 plies are over."""
    State = np.dtype([("plies", np.uint8), ("count", np.int8), ("word", np.uint64), ("mover", np.int8)])
    def initial(state):
        state.word = U(7)
    def to_move(state):
        return state.mover
    def legal_actions(state, actions):
        actions[0], actions[1] = 0, 1
        return 2
    def result(state, action):
        state.plies += 1
        state.word = (state.word + U(1)) * U(0x9E3779B97F4A7C15)
        LINE
    def is_terminal(state):
        return state.plies >= 200
    def utility(state, player):
        return 1.0 if (state.word & U(1) == 0) == (player == 0) else -1.0
    return Rules(State, initial, to_move, legal_actions, result, is_terminal, utility,
                 players=2, actions=2, max_plies=200, history=["plies"])
'''


@pytest.mark.parametrize(
    ("line", "seen"),
    [
        ("state.count += int(action)", "127 + 1 is not within int8, -128 to 127; give state.count a wider type"),
        (
            "state.count = (state.plies - np.uint8(action) - np.uint8(1)) & 1",
            "0 - 1 is not within uint8, 0 to 255; write int(state.plies - np.uint8(action)) - int(np.uint8(1))",
        ),
        (
            "state.count = (state.count + 100 + popcount(state.word)) % 5",
            " is not within int8, -128 to 127; write int(state.count + 100) + popcount(state.word)",
        ),
        ("state.count = -np.int8(-128) % 3", "--128 is not within int8, -128 to 127; write -(int(np.int8(-128)))"),
        ("state.count = (int(state.count) + action + 127) % 3", ""),
        ("state.word += state.word", ""),
    ],
)
def test_a_narrow_integer_that_overflows_is_named_with_its_line_and_cure_and_a_hash_is_not(line, seen, tmp_path):
    path = tmp_path / "narrow.py"
    path.write_text(NARROW.replace("LINE", line).replace("import U\n", "import U, popcount\n"))
    number = path.read_text().splitlines().index(f"        {line}") + 1
    if not seen:
        assert overflow_in(path) is None
        return
    breach = overflow_in(path)
    assert breach is not None
    assert breach.function == f"result (narrow.py, line {number})"
    assert seen in breach.seen
    assert breach.position is not None


def overflow_in(path):
    """What the law finds, without the others, which compile."""
    test = GameUnderTest(load(str(path)), 20, 1, 2.0)
    laws.can_be_played.check(test)
    try:
        laws.integers_stay_in_range.check(test)
    except Breach as breach:
        return breach
    return None


def test_a_counter_that_overflows_only_where_nobody_plays_at_random_is_named(tmp_path):
    path = tmp_path / "narrow.py"
    ends = "return state.plies >= 200 or state.word & U(31) == 0"
    path.write_text(
        NARROW.replace("LINE", "if action == 0:\n            state.word = U(1)\n        state.count += 1")
        .replace("return state.plies >= 200", ends)
        .replace('history=["plies"]', 'history=["plies", "count"]')
    )
    breach = overflow_in(path)
    assert breach.seen.startswith("state.count += 1: 127 + 1 is not within int8")
    assert len(breach.position.moves) == 128


def test_an_action_without_a_number_ends_the_examination_without_a_crash(tmp_path):
    path = tmp_path / "dice.py"
    path.write_text(DICE.replace("actions[1] = 0, 1", "actions[1] = 0, 2").replace("ODDS", "0.5"))
    findings = [(finding.law, finding.seen) for finding in examine(load(str(path)), count=20, seconds=0.2)]
    assert findings == [(laws.there_is_a_legal_action.sentence, "action 2; expected 0 to 1")]


def test_what_fails_interpreted_only_late_in_a_game_is_named(tmp_path):
    path = tmp_path / "dice.py"
    text = DICE.replace("state.rolls == 2", "state.rolls == 40").replace("max_plies=2", "max_plies=40")
    late = "        state.rolls += 1\n        if state.rolls == 30:\n            state.total = 300\n"
    path.write_text(text.replace("        state.rolls += 1\n", late).replace("ODDS", "0.5"))
    (finding,) = examine(load(str(path)), count=5, seconds=0.2)
    assert finding.law == laws.can_be_played.sentence
    assert finding.function.startswith("result (dice.py, line ")
    assert finding.seen.startswith("OverflowError: ")
    assert len(finding.actions.split()) == 29


def test_a_finding_shows_the_position_and_the_way_there(tmp_path):
    source, old, new, _, _ = BUGS["a drawn board is forgotten"]
    (finding,) = examine(load(planted(tmp_path, source, old, new)), count=60, seconds=0.2)
    game = load("tic_tac_toe")
    assert game.render(game.play(finding.actions)) == finding.drawn
    assert len(finding.actions.split()) == 9


def test_the_command_prints_what_it_found_and_exits_with_one(tmp_path):
    source, old, new, law, function = BUGS["games are longer than declared"]
    path = planted(tmp_path, source, old, new)
    done = command(["games", "doctor", path, "--games", "20"])
    assert done.returncode == 1
    assert law.sentence in done.stdout and function in done.stdout and "Traceback" not in done.stderr


def test_no_games_are_refused():
    with pytest.raises(UserError, match="games: expected at least 1, got 0"):
        examine(load("nim"), count=0)


CLAIMS = """
import numpy as np
from games import Rules, grid_symmetries

def game():
    State = np.dtype([("cells", np.int8, (3, 3)), ("plies", np.int8)])  # 0: free, else one more than the player

    def initial(state):
        pass

    def to_move(state):
        return state.plies % 2

    def legal_actions(state, actions):
        n = 0
        for cell in range(9):
            if state.cells[cell // 3, cell % 3] == 0:
                actions[n] = cell
                n += 1
        return n

    def result(state, action):
        state.cells[action // 3, action % 3] = 1 + state.plies % 2
        state.plies += 1
        if state.plies % 3 == 0:  # the centre changes hands
            state.cells[1, 1] = (3 - state.cells[1, 1]) % 3

    def is_terminal(state):
        return (state.cells != 0).all()

    def score(state, player):
        return (state.cells == player + 1).sum() + 0.5 * player

    def utility(state, player):
        return 1.0 if score(state, player) > score(state, 1 - player) else -1.0

    def ownership(state, player, planes):
        for row in range(3):
            for column in range(3):
                owner = state.cells[row, column] - 1
                if owner >= 0:
                    planes[(owner - player) % 2, row, column] = 1

    return Rules(State, initial, to_move, legal_actions, result, is_terminal, utility, players=2, actions=9, max_plies=9,
                 values=(-1, 1), symmetries=grid_symmetries(2, 3, 3), ownership=ownership, score=score, largest_score=9.5)
"""


@pytest.mark.parametrize(
    ("old", "new", "law", "function"),
    [
        ("", "", None, ""),
        ("(owner - player) % 2", "owner", laws.scores_agree_with_utilities, "ownership"),
        ("% 2, row, column] = 1", "% 2, row, 2 - column] = 1", laws.symmetries_hold, "symmetries ('"),
        ("score=score", "score=lambda state, player: score(state, 1 - player)", laws.scores_agree_with_utilities, "score or utility"),
        ("score=score", "score=lambda state, player: score(state, player) ** 2 / 9", laws.scores_agree_with_utilities, "score or own"),
    ],
)  # fmt: skip
def test_ownership_and_scores_that_disagree_are_found(old, new, law, function, tmp_path):
    assert old in CLAIMS
    (tmp_path / "claims.py").write_text(CLAIMS.replace(old, new, 1) if old else CLAIMS)
    findings = examine(load(str(tmp_path / "claims.py")), count=60, seconds=0.2)
    assert [(finding.law, finding.function[: len(function)]) for finding in findings] == (
        [(law.sentence, function)] if law else []
    )
