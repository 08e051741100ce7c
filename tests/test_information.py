"""Hidden information as a property of the contract: events, views, worlds, what the doctor finds, and who is refused."""

from pathlib import Path

import numpy as np
import pytest
from commands import command
from numba.core import config

import games
from arena.openings import Openings
from arena.players import make_player
from arena.terminal import TerminalGame
from base.errors import UserError
from base.seeds import generator
from classical.alphabeta import AlphaBeta, AlphaBetaSettings
from classical.expectiminimax import Expectiminimax
from classical.maxn import MaxN
from classical.solver import Solver
from games import load
from games.engine import laws
from games.engine.defaults import seen
from games.engine.game_under_test import GameUnderTest
from games.engine.quick_laws import Breach
from games.record import read_records
from mcts.search import Search

KUHN, LEDUC, PHANTOM = load("kuhn_poker"), load("leduc_poker"), load("phantom_tic_tac_toe")


# ── information and views ──


def test_information_is_what_a_player_has_noticed_from_the_start():
    state = KUHN.play("K J pass bet")
    assert [KUHN.information(state, player).text for player in range(2)] == ["K dealt pass bet", "dealt J pass bet"]
    other = KUHN.play("K Q pass bet")
    assert KUHN.information(state, 0) == KUHN.information(other, 0)
    assert KUHN.information(state, 1).key != KUHN.information(other, 1).key


def test_keys_of_different_players_differ_although_both_noticed_the_same():
    state = KUHN.initial()
    assert KUHN.information(state, 0).events == KUHN.information(state, 1).events == ()
    assert KUHN.information(state, 0).key != KUHN.information(state, 1).key


def test_a_view_holds_nothing_that_depends_on_hidden_cards():
    for words in ("K J pass", "K Q pass"):
        view = KUHN.view(KUHN.play(words), 0)
        assert view.card.tolist() == [3, 0]
        assert view.information[1] == 0
        assert not view.events[1].any()
    assert KUHN.view(KUHN.play("K J pass"), 0).tobytes() == KUHN.view(KUHN.play("K Q pass"), 0).tobytes()


def test_everything_that_takes_a_position_takes_a_view():
    state = LEDUC.play("Js Kh call raise")
    view = LEDUC.view(state, 0)
    assert LEDUC.to_move(view) == 0
    assert LEDUC.legal_actions(view) == LEDUC.legal_actions(state)
    assert np.array_equal(LEDUC.observe(view, 0), LEDUC.observe(state, 0))
    assert LEDUC.render(view).splitlines()[:2] == ["player 0: Js  1 in the pot", "player 1: ?  3 in the pot"]
    assert LEDUC.diagram(view).note == LEDUC.diagram(view).note


def test_views_of_a_game_that_hides_nothing_are_its_positions():
    nim = load("nim")
    state = nim.initial()
    assert nim.view(state, 0) is state
    assert nim.opened is nim
    assert nim.event(state, 0, 1) == nim.names[0]
    with pytest.raises(UserError, match="expected a game that hides information, got nim"):
        nim.information(state, 0)


def test_games_without_the_declaration_have_the_rules_of_their_file():
    """Nothing is added to positions, no function is wrapped: the same kernels under the same keys."""
    rules = load("nim").rules
    assert rules.State.names == ("heaps", "mover")
    assert rules.result.__qualname__ == "game.<locals>.result"
    assert rules.history == ()


def test_the_open_version_of_a_game_plays_the_same_positions_without_secrets():
    state = KUHN.play("K J pass bet bet")
    assert not KUHN.opened.hides_information
    assert KUHN.opened.view(state, 0) is state
    assert KUHN.opened.utility(state) == KUHN.utility(state) == (1, -1)


def test_networks_are_shown_what_the_viewer_sees():
    assert seen(KUHN.rules) == (
        "36 numbers without a board: card, bet, dealt, turns, first, what the viewer has noticed; "
        "a field of shape (rows, columns), or board=, makes a board"
    )
    assert seen(PHANTOM.rules).startswith("344 planes of 3×3, boards: known")


@pytest.mark.parametrize("words", ["", "K", "K J", "K J pass bet", "K J bet pass"])
def test_a_position_as_text_has_what_players_noticed(words):
    state = KUHN.play(words)
    assert KUHN.parse(KUHN.text(state)).tobytes() == state.tobytes()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("card=1,2 bet=0,0 dealt=2 turns=0 first=0", "with the events of 2 players"),
        ("card=1,2 bet=0,0 dealt=2 turns=0 first=0 events=1/2/3", "with the events of 2 players"),
        ("card=1,2 bet=0,0 dealt=2 turns=0 first=0 events=1,x/2", "expected at most 5 numbers below 32768"),
        ("card=1,2 bet=0,0 dealt=2 turns=0 first=0 events=1,1,1,1,1,1/2", "expected at most 5 numbers below 32768"),
    ],
)
def test_a_position_with_wrong_events_is_refused(text, expected):
    with pytest.raises(UserError, match=expected):
        KUHN.parse(text)


# ── worlds ──


def test_worlds_come_up_by_their_probability():
    """Player 0 holds a queen, player 1 bets: a jack or a king, equally often."""
    view, rng = KUHN.view(KUHN.play("Q K pass bet"), 0), generator(1, "worlds")
    cards = [int(KUHN.resample(view, 0, rng).card[1]) for _ in range(600)]
    assert sorted(set(cards)) == [1, 3]
    assert abs(cards.count(1) - 300) < 60


def test_a_world_that_leaves_less_to_chance_is_drawn_less_often():
    """X holds b2, and one stone of O is somewhere. Where O tried b2 first, there were 9 cells to choose from, and only 8 afterwards:
    1/9 of the games in which O's first try fails end up with the same as 8/9 in which it does not."""
    view, rng = PHANTOM.view(PHANTOM.play("b2 a1"), 0), generator(2, "worlds")
    tries = [int(PHANTOM.resample(view, 0, rng).event_count[1]) - 1 for _ in range(900)]
    assert sorted(set(tries)) == [1, 2]  # what O noticed after X's move
    assert abs(tries.count(2) - 100) < 45


def test_worlds_of_impossible_views_are_refused():
    view = KUHN.view(KUHN.play("Q K pass bet"), 0)
    view.information[0] = 7
    with pytest.raises(
        UserError, match="resample of kuhn_poker:players=2: no path found that fits what player 0 has noticed"
    ):
        KUHN.resample(view, 0, generator(1))


# ── the doctor ──

SOURCES = {
    name: (Path(games.__file__).parent / f"{name}.py").read_text() for name in ("kuhn_poker", "phantom_tic_tac_toe")
}
ONE_WORLD = """\
    def resample(view, player, path, rng):
        path[player] = view.card[player] + 1
        path[player ^ 1] = 2 if view.card[player] != 1 else 3
        for i in range(view.turns):
            path[2 + i] = view.events[player, 2 + i]
        return 2 + view.turns

    def render(state: GameState)"""
BUGS = {
    "all cards are dealt unseen": (
        "kuhn_poker",
        "return DEALT if state.dealt < players and state.dealt != player else action",
        "return DEALT if state.dealt < players else action",
        laws.information_determines_views,
        "seen, private or hidden",
    ),
    "a bet stays unnoticed": (
        "kuhn_poker",
        "return DEALT if state.dealt < players and state.dealt != player else action",
        "return -1 if state.dealt == players and to_move(state) != player and action == BET else action",
        laws.information_determines_views,
        "seen, private or hidden",
    ),
    "an own bet is noticed as any move": (
        "kuhn_poker",
        "return DEALT if state.dealt < players and state.dealt != player else action",
        "return DEALT if state.dealt < players and state.dealt != player else (action if state.dealt < players else 0)",
        laws.movers_notice_their_actions,
        "seen",
    ),
    "an event has no name": (
        "kuhn_poker",
        'seen_names=["dealt"]',
        "seen_names=[]",
        laws.movers_notice_their_actions,
        "seen or seen_names",
    ),
    "planes hold another's card": (
        "kuhn_poker",
        'private=["card"],',
        'private=["card"], observation=(1, 1, 1), observe=lambda state, player, planes: planes.fill(state.card.sum()),',
        laws.views_suffice,
        "observe",
    ),
    "cards of others are drawn without a look": (
        "kuhn_poker",
        'if state.card[player] else "?" if player < state.dealt else "-"',
        "",
        laws.views_suffice,
        "render",
    ),
    "legal actions depend on another's card": (
        "kuhn_poker",
        "return 0 if is_terminal(state) else 2",
        "return 0 if is_terminal(state) else 2 - (state.card[1] == 3 and state.turns == 0)",
        laws.views_suffice,
        "legal_actions",
    ),
    "a win is noticed as any stone": (
        "phantom_tic_tac_toe",
        "return WON if completes_line(state, action) else PLACED",
        "return PLACED",
        laws.information_determines_views,
        "seen, private or hidden",
    ),
    "the other's failed moves are counted for all": (
        "phantom_tic_tac_toe",
        "        state.known[mover, row, column] =",
        "        state.stones += 0 if state.board[row, column] == mover + 1 else 1\n        state.known[mover, row, column] =",
        laws.information_determines_views,
        "seen, private or hidden",
    ),
    "the only world is the true one": (
        "kuhn_poker",
        "    def render(state: GameState)",
        ONE_WORLD,
        laws.worlds_are_resampled,
        "resample",
    ),
    "worlds do not fit": (
        "kuhn_poker",
        "    def render(state: GameState)",
        "    def resample(view, player, path, rng):\n        return 0\n\n    def render(state: GameState)",
        laws.worlds_are_resampled,
        "resample",
    ),
}
GAMES = {"kuhn_poker": 40, "phantom_tic_tac_toe": 10}
"""Enough of each, interpreted, for every bug to come up."""

LAWS = (
    laws.movers_notice_their_actions,
    laws.information_determines_views,
    laws.views_suffice,
    laws.worlds_are_resampled,
)


def law_broken(game, games):
    """The first of the laws of information that breaks, with the function to look at. Interpreted: nothing is compiled."""
    test = GameUnderTest(game, 20, 1, 5.0)
    for number in range(games):
        test.keep(test.play(number, "interpreted"))
    for law in LAWS:
        try:
            law.check(test)
        except Breach as breach:
            return law, breach.function
    return None, ""


@pytest.mark.parametrize("bug", BUGS)
def test_the_doctor_finds_what_leaks_and_what_is_lost(bug, tmp_path, monkeypatch):
    monkeypatch.setattr(config, "DISABLE_JIT", 1)
    monkeypatch.setattr("games.engine.information.TRIES", 200)
    name, old, new, law, function = BUGS[bug]
    assert old in SOURCES[name]
    source = SOURCES[name].replace(old, new)
    if "def resample" in new:
        source = source.replace("        seen=seen,", "        seen=seen,\n        resample=resample,")
    path = tmp_path / "my_game.py"
    path.write_text(source)
    assert law_broken(load(str(path)), GAMES[name]) == (law, function)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("seen=seen,", "", "seen_names: expected seen with it, which declares what players notice"),
        (
            'private=["card"]',
            'private=["cards"]',
            r"private: expected names of State's fields \(card, .*\), got 'cards'",
        ),
        (
            'private=["card"]',
            'private=["dealt"]',
            "private: expected a field whose first axis is the 2 players, got 'dealt'",
        ),
        (
            'private=["card"]',
            'private=["bet"]',
            "private and hidden: expected fields that are not seats, owned or both",
        ),
        (
            '("dealt", np',
            '("events", np',
            "State: a field can't be called 'events', for the engine adds one of that name",
        ),
        ("names=[", "text=lambda state: '', parse=lambda state, text: None, names=[", "text: expected none with seen"),
        ('seen_names=["dealt"]', 'seen_names=["a", "a"]', "seen_names: expected different names, got a, a"),
        (
            'seen_names=["dealt"]',
            "seen_names=[str(i) for i in range(40000)]",
            "seen: expected at most 32768 actions and other",
        ),
    ],
)
def test_a_wrong_declaration_is_refused_in_one_line(old, new, expected, tmp_path):
    path = tmp_path / "my_game.py"
    source = SOURCES["kuhn_poker"]
    assert old in source
    changed = (
        source.replace(f"        {old}", f"        {new}")
        if old in ("seen=seen,", "names=[")
        else source.replace(old, new)
    )
    path.write_text(changed)
    with pytest.raises(UserError, match=expected):
        load(str(path))


# ── who plays, and what it gets ──


@pytest.mark.parametrize(
    "make",
    [
        lambda: AlphaBeta(PHANTOM, AlphaBetaSettings(depth=2)),
        lambda: MaxN(KUHN, 2),
        lambda: Expectiminimax(KUHN, 2),
        lambda: Solver(KUHN),
        lambda: Search(KUHN),
    ],
)
def test_searches_that_see_everything_refuse_games_that_hide_something(make):
    with pytest.raises(UserError, match=r"expected a game in which players see everything, got (kuhn|phantom)"):
        make()


@pytest.mark.parametrize("text", ["uct:sims=10", "alphabeta:depth=2", "maxn:depth=1", "solver", "minimax:depth=1"])
def test_players_that_see_everything_are_refused_with_those_that_fit(text):
    with pytest.raises(
        UserError, match=f"^{text.partition(':')[0]}: expected .*, got kuhn_poker:players=2, where these play: random"
    ):
        make_player(text, KUHN)


class Watcher:
    """Plays the first legal action and keeps what it was given."""

    def __init__(self):
        self.views, self.advanced = [], []

    def choose(self, state):
        self.views.append(state)
        return games.choice.Choice(KUHN.legal_actions(state)[0], 0.0)

    def advance(self, action):
        self.advanced.append(action)


def test_a_player_is_given_views_and_no_actions_of_others():
    player = make_player("random", KUHN)
    player.thinker = watcher = Watcher()
    player.new_game(1)
    state = KUHN.initial()
    for word in ("K", "J", "pass"):
        player.advance(KUHN.id_of(word))
        state = KUHN.play(word, state)
    player.choose(state)
    assert watcher.advanced == []
    assert watcher.views[0].tobytes() == KUHN.view(state, 1).tobytes() != state.tobytes()


def test_books_are_refused_where_information_is_hidden():
    with pytest.raises(UserError, match="book: expected a game in which players see everything, got kuhn"):
        make_player("random:book=some.book", KUHN)


def test_players_give_their_mixed_strategy_or_are_refused():
    state = KUHN.play("K J")
    assert make_player("random", KUHN).policy(state) == {0: 0.5, 1: 0.5}
    player = make_player("random", KUHN)
    player.thinker = Watcher()
    with pytest.raises(UserError, match="expected a player with a mixed strategy, got one that only chooses moves"):
        player.policy(state)


def test_matches_begin_without_random_plies_where_information_is_hidden():
    openings = Openings(KUHN)
    assert (openings.text, next(iter(openings)).actions, openings.distinct) == ("plies=0", (), None)


def test_commands_that_search_everything_refuse_in_one_line(tmp_path):
    found = command("arena accuracy kuhn_poker random", tmp_path)
    assert found.returncode == 2
    assert "expected a game in which players see everything, got kuhn_poker:players=2" in found.stderr
    assert len(found.stderr.strip().splitlines()) == 1


# ── the terminal ──


def played(game, seats, inputs, **options):
    lines, waiting = [], list(inputs)

    def ask(prompt):
        lines.append(prompt)
        return waiting.pop(0)

    TerminalGame(game, seats, ask=ask, show=lines.append, **options).play()
    return "\n".join(lines)


def test_a_person_sees_their_own_card_until_the_game_is_over():
    for seed in range(5):
        shown = played(KUHN, ["human", "random"], ["bet"], seed=seed)
        before, _, after = shown.partition("bet\n") if "plays bet" in shown else shown.partition("pass\n")
        assert before.count("player 1: ?") == 1
        assert "chance: dealt" in before
        assert "?" not in after.partition("player 0:")[2].partition("you ")[0]


def test_nothing_is_shown_that_people_at_one_terminal_notice_differently():
    shown = played(KUHN, ["human", "human"], ["bet", "bet"], seed=3)
    assert "chance:" not in shown
    assert shown.count(": ?") == 2


def test_a_move_that_the_person_does_not_notice_is_not_shown():
    game = TerminalGame(PHANTOM, ["human", "random"], ask=input, show=(lines := []).append)
    game.begin_with("b2")
    game._show_action("player 1 plays", PHANTOM.id_of("b2"))
    assert lines == []
    game._show_action("player 1 plays", PHANTOM.id_of("a1"))
    assert lines == ["player 1 plays placed"]


def test_a_person_does_not_deal_the_cards():
    with pytest.raises(UserError, match="--ask-dice: expected a game in which players see everything"):
        TerminalGame(KUHN, ["human", "random"], ask=input, show=print, ask_dice=True)


def test_show_prints_and_draws_what_one_player_sees(tmp_path):
    done = command('games show kuhn_poker --moves "K J pass" --view 1 --svg view.svg', tmp_path)
    assert "player 0: ?" in done.stdout
    assert "player 1 has noticed: dealt J pass" in done.stdout
    drawn = (tmp_path / "view.svg").read_text()
    assert "<svg" in drawn and ">J<" in drawn and ">K<" not in drawn


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("games show kuhn_poker --view 2", "view: expected a player from 0 to 1, got 2"),
        ("games show nim --view 0", "view: expected a game that hides something, got nim:most=7"),
    ],
)
def test_views_that_do_not_exist_are_refused_in_one_line(words, expected):
    done = command(words)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert expected in done.stderr


def test_an_explanation_shows_the_view_of_the_mover():
    done = command('arena explain kuhn_poker --player pimc:worlds=3 --moves "K J pass bet"')
    assert "player 1: ?" in done.stdout
    assert "plays bet" in done.stdout


# ── exploitability at the command line ──


def test_exploit_ends_with_the_exploitability_in_utilities():
    found = command("arena exploit kuhn_poker random --json")
    assert found.returncode == 0
    assert found.stdout.strip().endswith('"exploitability": 0.22916666666666666}')


def test_exploit_shows_payoffs():
    found = command("arena exploit leduc_poker cfr:iterations=10")
    assert "exploitability    0.61044" in found.stdout


def test_exploit_refuses_games_that_hide_nothing():
    found = command("arena exploit nim random")
    assert (found.returncode, found.stderr.count("\n")) == (2, 1)
    assert "exploit: expected a game that hides information, got nim:most=7" in found.stderr


def test_determinization_warns_where_its_horizon_has_no_value():
    with pytest.warns(
        UserWarning, match=r"liars_dice.* has no features, so EVAL is 0 at every leaf of pimc .* or try ismcts"
    ):
        make_player("pimc:worlds=2,depth=2", load("liars_dice:faces=3"), ready=False)
    make_player("pimc:worlds=2,depth=3", KUHN, ready=False)


def test_both_sides_of_a_pair_get_the_same_deal(tmp_path):
    done = command("arena match kuhn_poker random cfr:iterations=9 --games 20 --workers 0 --records there", tmp_path)
    assert done.returncode == 0, done.stderr
    records = list(read_records(tmp_path / "there", KUHN))
    deals = [tuple(record.moves[:2].tolist()) for record in records]
    assert deals[::2] == deals[1::2]
    assert len(set(deals)) > 2


def test_players_are_rated_on_a_ladder(tmp_path):
    done = command("arena ladder kuhn_poker random cfr:iterations=50 --games 10 --workers 0", tmp_path)
    assert done.returncode == 0, done.stderr
    assert "cfr:iterations=50" in done.stdout


def test_a_match_of_cfr_against_random_is_recorded_and_played_again_alike(tmp_path):
    words = "arena match leduc_poker cfr:iterations=50 random --games 40 --json --workers 0 --records"
    runs = [command(f"{words} {folder}", tmp_path) for folder in "ab"]
    assert [run.returncode for run in runs] == [0, 0]
    scores = [run.stdout.partition('"time')[0] for run in runs]
    assert scores[0] == scores[1]
