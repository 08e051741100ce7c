"""Search with a network: many games side by side, exploration at the root, targets, proofs, the player."""

import statistics
import time
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from hunches import Even, Hunch
from test_mcts import assert_same_tree, random_position
from tree_walker import max_n, walk

from base.errors import UserError
from base.seeds import below, generator
from games import CHANCE, Game, load
from games.choice import Choice
from mcts.gumbel import Gumbel
from mcts.noise import gamma
from mcts.player import TreePlayer
from mcts.puct import PUCT, factor, prune
from mcts.search import Search, Target
from mcts.settings import SearchSettings, temperature_at

PLAIN = PUCT()
GUMBEL = Gumbel()
BOTH = pytest.mark.parametrize("how", [PLAIN, GUMBEL], ids=["puct", "gumbel"])
SHAPES = ["connect_four", "dots_and_boxes:rows=2,cols=2,players=3", "backgammon:start=hyper", "tree:cooperation.json"]


def decision(game: Game, state: Any = None, rng: Any = None) -> Any:
    """The next position where a player is to move."""
    state = game.initial() if state is None else state
    while game.to_move(state) == CHANCE:
        legal = game.legal_actions(state)
        state = game.result(state, legal[0 if rng is None else int(below(rng, len(legal)))])
    return state


def searched(
    game: Game, simulations: int, how: SearchSettings = PLAIN, state: Any = None, explore: bool = False, **options: Any
) -> Search:
    evaluator, seed = options.pop("evaluator", None) or Hunch(game), options.pop("seed", 1)
    search = Search(game, how, **({"nodes": 3000} | options))
    for slot in range(len(search.roots)):
        search.begin(slot, decision(game) if state is None else state, generator(seed, "test", slot))
        search.start(slot, simulations, explore)
    while search.step(evaluator):
        pass
    return search


def played(search: Search, slots: dict[int, int], evaluator: Any, simulations: int = 40, plies: int = 8) -> Any:
    """A self-play of `plies` searches in each slot, {slot: number of the game}: all that is recorded, by game."""
    game, how = search.game, search.settings
    found: dict[int, list[Any]] = {number: [] for number in slots.values()}
    dice = {slot: generator(number, "dice") for slot, number in slots.items()}
    going = set(slots)
    for slot, number in slots.items():
        search.begin(slot, decision(game, rng=dice[slot]), generator(number, "game"))
        search.start(slot, simulations, explore=True)
    while search.step(evaluator) or any(search.is_done(slot) for slot in going):
        for slot in [slot for slot in sorted(going) if search.is_done(slot)]:
            number = slots[slot]
            target = search.target(slot)
            action = search.choose(slot, temperature_at(how, len(found[number])))
            found[number].append((action, target))
            search.advance(slot, action)
            while not game.is_terminal(search.roots[slot]) and game.to_move(search.roots[slot]) == CHANCE:
                legal = game.legal_actions(search.roots[slot])
                search.advance(slot, legal[int(below(dice[slot], len(legal)))])
            if game.is_terminal(search.roots[slot]) or len(found[number]) == plies:
                going.remove(slot)
                continue
            is_full = len(found[number]) % 2 == 0
            search.start(slot, simulations if is_full else simulations // 4, explore=is_full)
    return found


def assert_same_games(one: Any, other: Any) -> None:
    assert len(one) == len(other)
    for (action, target), (other_action, other_target) in zip(one, other, strict=True):
        assert action == other_action
        for name in ("actions", "visits", "probabilities", "utilities"):
            assert np.array_equal(getattr(target, name), getattr(other_target, name)), name


# ── many games side by side ──


@BOTH
@pytest.mark.parametrize("name", SHAPES)
def test_games_do_not_depend_on_their_neighbours(name: str, how: SearchSettings) -> None:
    game = load(name)
    many = played(Search(game, how, slots=4, nodes=1500), {0: 10, 1: 11, 2: 12, 3: 13}, Hunch(game))
    for number in (10, 13):
        alone = played(Search(game, how, slots=1, nodes=1500), {0: number}, Hunch(game))
        assert_same_games(many[number], alone[number])
    if name != "tree:cooperation.json":
        assert [action for action, _ in many[10]] != [action for action, _ in many[11]]


@BOTH
@pytest.mark.parametrize("name", SHAPES)
def test_without_exploring_a_blind_search_is_that_of_the_compiled_driver(name: str, how: SearchSettings) -> None:
    game = load(name)
    batched = searched(game, 300, how, evaluator=Even(game), slots=2)
    compiled = Search(game, how, slots=2, nodes=3000)
    for slot in range(2):
        compiled.begin(slot, decision(game), generator(1, "test", slot))
        compiled.start(slot, 300)
        compiled.run()
        walk(batched, slot)
        assert_same_tree(batched, compiled, slot, slot)
    if how is PLAIN:
        plain = Search(game, PUCT(), nodes=3000)
        plain.begin(0, decision(game), generator(1, "test", 0))
        plain.run(300)
        assert_same_tree(batched, plain)


@BOTH
@pytest.mark.parametrize("name", [*SHAPES, "go:size=3", "tree:chance.json"])
@pytest.mark.parametrize("leaves", [1, 8])
def test_explored_tree_keeps_its_laws(name: str, how: SearchSettings, leaves: int) -> None:
    game = load(name)
    search = searched(game, 300, how, explore=True, slots=2, leaves=leaves)
    for slot in range(2):
        walk(search, slot)
        edges = search.tree.children(search.tree.root(slot), slot)
        assert edges["prior"].sum() == pytest.approx(1, abs=1e-5)
        assert search.tree.slots[slot].simulations == 300 or search.tree.root(slot).proven


@BOTH
def test_visits_are_simulations_and_what_was_kept(how: SearchSettings) -> None:
    game = load("connect_four")
    search = searched(game, 101, how)
    assert search.target().visits.sum() == 100
    best = search.choose(0)
    kept = int(search.target().visits[best]) if how is PLAIN else 0
    assert search.advance(0, best) == (kept > 0)
    search.start(0, 50)
    while search.step(Hunch(game)):
        pass
    assert search.tree.root().visits == kept + 50
    walk(search)


def test_slots_have_budgets_of_their_own() -> None:
    game = load("connect_four")
    search, evaluator = Search(game, PUCT(), slots=3, nodes=500), Hunch(game)
    for slot, simulations in enumerate((20, 100, 60)):
        search.begin(slot, game.initial(), generator(slot))
        search.start(slot, simulations, explore=slot == 1)
    done = []
    while search.step(evaluator):
        done += [slot for slot in range(3) if search.is_done(slot) and slot not in done]
    assert done == [0, 2, 1]
    assert [int(search.tree.root(slot).visits) for slot in range(3)] == [20, 100, 60]


def test_search_goes_on_after_an_evaluator_failed() -> None:
    game = load("connect_four")
    for how in (PLAIN, GUMBEL):
        search = Search(game, how, slots=2, nodes=500, leaves=2)
        for slot in range(2):
            search.begin(slot, game.initial(), generator(slot))
            search.start(slot, 60, explore=True)
        for _ in range(5):
            search.step(Hunch(game))

        def failing(observations: Any) -> Any:
            raise RuntimeError("out of memory")

        with pytest.raises(RuntimeError, match="out of memory"):
            search.step(failing)
        search.start(0, 60)
        while search.step(Hunch(game)):
            pass
        for slot in range(2):
            walk(search, slot)
        assert search.tree.slots["simulations"].tolist() == [60, 60]


# ── noise ──


def shape_of(priors: Any) -> Any:
    """KataGo's: half even, half by how far log P stands above the mean."""
    logs = np.log(np.minimum(priors, 0.01) + 1e-20)
    above = np.maximum(logs - logs.mean(), 0)
    even = np.full(len(priors), 1 / len(priors))
    return even if above.sum() < 1e-9 else (even + above / above.sum()) / 2


@pytest.mark.parametrize("temperature", [1.0, 1.5])
def test_noise_has_the_mean_and_variance_of_its_distribution(temperature: float) -> None:
    game, n = load("connect_four"), 4000
    how = replace(PLAIN, policy_temperature=temperature, noise=0.4, noise_total=5.0)
    evaluator = Hunch(game, temper=9.0)
    plain = searched(game, 1, how, game.play("4"), evaluator=evaluator)
    noisy = searched(game, 2, how, game.play("4"), True, slots=n, nodes=5, evaluator=evaluator)
    priors = plain.tree.children(plain.tree.root())["prior"].astype(float)
    assert priors.min() < 0.01 < priors.max()  # the shape matters
    tempered = priors ** (1 / temperature) / (priors ** (1 / temperature)).sum()
    shape = shape_of(tempered)
    seen = np.array([noisy.tree.children(noisy.tree.root(slot), slot)["prior"] for slot in range(n)])
    assert seen.sum(axis=1) == pytest.approx(np.ones(n), abs=1e-5)
    deviation = 0.4 * np.sqrt(shape * (1 - shape) / 6)
    assert np.all(np.abs(seen.mean(axis=0) - (0.6 * tempered + 0.4 * shape)) < 5 * deviation / np.sqrt(n))
    assert seen.std(axis=0) == pytest.approx(deviation, rel=0.1)


@pytest.mark.parametrize("shape", [0.03, 0.7, 1.0, 10.0])
def test_gamma_has_its_moments(shape: float) -> None:
    rng, n = generator(3), 20_000
    with np.errstate(over="ignore"):
        drawn = np.array([gamma(shape, rng) for _ in range(n)])
    assert drawn.mean() == pytest.approx(shape, abs=5 * np.sqrt(shape / n))
    assert drawn.var() == pytest.approx(shape, rel=0.25)
    assert (drawn < 0.01).mean() == pytest.approx({0.03: 0.885, 0.7: 0.0436, 1.0: 0.00995, 10.0: 0.0}[shape], abs=0.012)


def test_noise_is_drawn_once_per_root_and_anew_when_the_root_advances() -> None:
    game, evaluator = load("connect_four"), Hunch(load("connect_four"))
    search = searched(game, 200, PLAIN, explore=True, evaluator=evaluator)
    before = search.tree.children(search.tree.root())["prior"].copy()
    search.start(0, 100, explore=True)
    while search.step(evaluator):
        pass
    assert np.array_equal(search.tree.children(search.tree.root())["prior"], before)
    action = search.choose(0)
    assert search.advance(0, action)
    raw = search.tree.children(search.tree.root())["prior"].copy()
    fresh = searched(game, 1, PLAIN, game.result(game.initial(), action), evaluator=evaluator)
    assert np.array_equal(raw, fresh.tree.children(fresh.tree.root())["prior"])
    kept = int(search.tree.root().visits)
    below_root = [int(edge.child) for edge in search.tree.children(search.tree.root()) if edge.child >= 0]
    untouched = [search.tree.children(search.tree.nodes[0, child])["prior"].copy() for child in below_root]
    search.start(0, 1, explore=True)
    search.step(evaluator)
    root, edges = search.tree.root(), search.tree.children(search.tree.root())
    assert root.visits == kept + 1
    assert not np.allclose(edges["prior"], raw, atol=1e-3)
    assert root.mass == pytest.approx(float(edges["prior"][edges["visits"] > 0].sum()), abs=1e-6)
    for child, priors in zip(below_root, untouched, strict=True):
        assert np.array_equal(search.tree.children(search.tree.nodes[0, child])["prior"], priors)


def test_fast_searches_have_no_noise() -> None:
    game, evaluator = load("connect_four"), Hunch(load("connect_four"))
    trees = [searched(game, 100, PLAIN, evaluator=evaluator, seed=seed) for seed in (1, 2)]
    assert np.array_equal(trees[0].target().visits, trees[1].target().visits)
    trees = [searched(game, 100, PLAIN, explore=True, evaluator=evaluator, seed=seed) for seed in (1, 2)]
    assert not np.array_equal(trees[0].target().visits, trees[1].target().visits)


# ── forced visits and their pruning ──


def test_actions_once_tried_get_the_visits_they_are_owed() -> None:
    game = load("othello:size=6")
    fewest = {0.0: np.inf, 2.0: np.inf}
    for seed in range(4):
        evaluator = Hunch(game, seed, 2.0)
        evaluator.value *= 4
        for k in fewest:
            search = searched(
                game, 300, replace(PLAIN, forced=k), random_position(game, 8, seed), True, evaluator=evaluator
            )
            edges = search.tree.children(search.tree.root())
            owed = np.sqrt(2.0 * edges["prior"] * edges["visits"].sum())
            tried = (edges["visits"] > 0) & (edges["proven"] == 0)
            fewest[k] = min(fewest[k], float((edges["visits"] - owed)[tried].min()))
    assert fewest[2.0] > -1.01 > fewest[0.0]


def pruned_one_by_one(edges: Any, k: float, scale: float) -> Any:
    """By the definition: visit after visit, as long as it was forced and PUCT does not miss it."""
    visits = edges["visits"].astype(int)
    values = [float(edge.value) / max(int(edge.visits), 1) for edge in edges]
    most = max(range(len(edges)), key=lambda i: (visits[i], float(edges[i].value)))

    def puct(i: int, n: int) -> float:
        return values[i] + scale * float(edges[i].prior) / (1 + n)

    best, found = puct(most, visits[most]), visits.copy()
    for i in range(len(edges)):
        if i == most or edges[i].proven:
            continue
        owed = np.sqrt(k * float(edges[i].prior) * visits.sum())
        while found[i] > 0 and visits[i] - found[i] + 1 <= owed and puct(i, found[i] - 1) <= best:
            found[i] -= 1
        if found[i] < visits[i] and found[i] <= 1:
            found[i] = 0
    return found


@pytest.mark.parametrize("seed", range(6))
def test_pruning_removes_forced_visits_and_no_others(seed: int) -> None:
    game = load("othello:size=6")
    state = random_position(game, 6, seed)
    search = searched(game, 300, PLAIN, state, True, evaluator=Hunch(game, seed, 3.0), seed=seed)
    edges = search.tree.children(search.tree.root())
    scale = factor(PLAIN.record(), int(search.tree.root().visits))

    def pruned(k: float) -> Any:
        weights = np.zeros(len(edges))
        prune(search.tree.root(), search.tree.edges[0], k, scale, weights)
        return weights

    found = pruned(PLAIN.forced)
    np.testing.assert_allclose(found, pruned_one_by_one(edges, PLAIN.forced, scale), atol=1.0)
    owed = np.sqrt(PLAIN.forced * edges["prior"] * edges["visits"].sum())
    assert np.all(found <= edges["visits"])
    assert np.all((edges["visits"] - found <= owed + 1e-6) | (found == 0))
    assert found.max() == edges["visits"].max()
    assert found.sum() < edges["visits"].sum()
    target = search.target()
    order = np.argsort(edges["action"])
    np.testing.assert_allclose(target.probabilities, (found / found.sum())[order], atol=1e-6)
    assert np.array_equal(pruned(0.0), edges["visits"])


def test_target_without_forced_visits_is_the_share_of_visits() -> None:
    for explore, how in ((False, PLAIN), (True, replace(PLAIN, forced=0.0))):
        target = searched(load("connect_four"), 200, how, explore=explore).target()
        np.testing.assert_allclose(target.probabilities, target.visits / 199, rtol=1e-6)


def test_target_of_a_root_without_visits_is_the_policy() -> None:
    search = searched(load("connect_four"), 1)
    prior = search.tree.children(search.tree.root())["prior"]
    assert search.target().probabilities == pytest.approx(prior, abs=1e-6)
    assert search.choose(0) == int(prior.argmax())


# ── choosing ──


def test_temperature_is_for_choosing_and_never_in_the_target() -> None:
    game = load("connect_four")
    search = searched(game, 30, explore=True)
    target = search.target()
    for temperature in (0.5, 1.0):
        drawn = np.bincount([search.choose(0, temperature) for _ in range(3000)], minlength=7)
        expected = target.probabilities.astype(float) ** (1 / temperature)
        expected *= 3000 / expected.sum()
        assert np.all(drawn[expected == 0] == 0)
        seen = expected > 0
        assert ((drawn - expected)[seen] ** 2 / expected[seen]).sum() < 30  # at most 6 degrees of freedom
    assert np.array_equal(search.target().probabilities, target.probabilities)
    assert {search.choose(0, 0.0) for _ in range(20)} == {int(target.actions[target.visits.argmax()])}


def test_temperature_halves_towards_its_end() -> None:
    how = replace(PLAIN, temperature=1.0, temperature_end=0.2, temperature_halflife=10.0)
    assert [temperature_at(how, ply) for ply in (0, 10, 20)] == pytest.approx([1.0, 0.6, 0.4])


def test_temperature_falls_faster_in_short_games_unless_it_is_said_how_fast() -> None:
    games = {"tic_tac_toe": 2.25, "connect_four": 10.5, "chess": 19.0}
    for name, plies in games.items():
        assert PLAIN.resolved(load(name)).temperature_halflife == plies
        assert replace(PLAIN, temperature_halflife=7.0).resolved(load(name)).temperature_halflife == 7.0
    search = Search(load("tic_tac_toe"), PLAIN, nodes=10)
    assert temperature_at(search.settings, 9) == pytest.approx(0.2 + 0.6 / 16)


# ── proofs ──


@cache
def tic_tac_toe() -> tuple[Game, dict[bytes, tuple[float, ...]]]:
    return load("tic_tac_toe"), {}


@BOTH
def test_proven_root_gives_its_exact_utilities_and_only_its_best_actions(how: SearchSettings) -> None:
    game, memory = tic_tac_toe()
    search, evaluator = Search(game, how, nodes=3000), Hunch(game, 3)
    seen = set()
    for seed in range(40):
        state = random_position(game, 2 + seed % 5, seed)
        search.begin(0, state, generator(seed))
        search.start(0, 2000, explore=True)
        while search.step(evaluator):
            pass
        target = search.target()
        if not target.proven:
            continue
        mover, exact = game.to_move(state), max_n(game, state, memory)
        assert mover is not None and target.utilities == pytest.approx(exact)
        seen.add(exact[mover])
        worth = [max_n(game, game.result(state, int(action)), memory)[mover] for action in target.actions]
        for value, probability in zip(worth, target.probabilities, strict=True):
            assert probability == 0 or value == exact[mover]
        assert worth[target.actions.tolist().index(search.choose(0))] == exact[mover]
        if how is PLAIN:
            assert worth[target.actions.tolist().index(search.choose(0, 1.0))] == exact[mover]
    assert seen == {-1.0, 0.0, 1.0}


@BOTH
def test_proven_loss_is_neither_played_nor_learned(how: SearchSettings) -> None:
    game = load("connect_four")  # after any move but 1, the second player completes column 1
    search = searched(game, 150, how, game.play("2 1 2 1 7 1"), True, evaluator=Even(game))
    assert not search.target().proven
    assert game.names[search.choose(0)] == "1"
    edges = search.tree.children(search.tree.root())
    lost = edges["action"][edges["proven"] == 1]
    assert len(lost) >= 3
    assert search.target().visits[lost].sum() > 0
    assert search.target().probabilities[lost].sum() == 0


def test_race_in_which_all_are_lost_is_not_followed() -> None:
    game = load("connect_four")

    class Misled(Even):
        def answer(self, row: Any) -> tuple[Any, Any]:
            return np.array([0.0, 2, 2, 0, 0, 0, 0]), np.zeros(2)

    how = Gumbel(considered=2)
    search = searched(game, 300, how, game.play("2 1 2 1 7 1"), evaluator=Misled(game))
    edges = search.tree.children(search.tree.root())
    assert edges["action"][edges["visits"] > 0].tolist() == [1, 2] == edges["action"][edges["proven"] == 1].tolist()
    assert search.choose(0) not in (1, 2)
    assert search.ranked()[0].action == search.choose(0)


@BOTH
def test_proven_win_is_played_however_unlikely_the_policy_finds_it(how: SearchSettings) -> None:
    game = load("connect_four")

    class Blind(Even):
        def answer(self, row: Any) -> tuple[Any, Any]:
            return np.array([-3.0, 0, 0, 0, 0, 0, 0]), np.zeros(2)

    search = searched(game, 3000, how, game.play("1 2 1 2 1 3"), evaluator=Blind(game))
    target = search.target()
    assert target.proven and search.choose(0) == 0 and target.probabilities[0] == 1
    assert tuple(target.utilities) == (1.0, -1.0)
    assert search.is_done()


class Blindfold(Even):
    """Thinks next to nothing of the first column."""

    def answer(self, row: Any) -> tuple[Any, Any]:
        return np.array([-14.0, 0, 0, 0, 0, 0, 0]), np.zeros(2)


@BOTH
def test_win_at_once_is_seen_in_a_few_simulations_though_its_prior_is_a_millionth(how: SearchSettings) -> None:
    game = load("connect_four")
    winning, evaluator = game.play("1 2 1 2 1 3"), Blindfold(game)
    how = replace(how, considered=4) if isinstance(how, Gumbel) else how
    for simulations in (2, 8):
        search = searched(game, simulations, how, winning, evaluator=evaluator)
        target = search.target()
        assert search.tree.children(search.tree.root())["prior"].min() < 1e-6
        assert target.proven and search.choose(0) == 0 and target.probabilities[0] == 1
        assert tuple(target.utilities) == (1.0, -1.0)
    blind = searched(game, 8, replace(how, immediate_wins=False), winning, evaluator=evaluator)
    assert not blind.target().proven and blind.target().visits[0] == 0


class Listener:
    """Equal priors and values of 0; keeps what it was asked about."""

    def __init__(self, game: Game) -> None:
        self.game = game
        self.asked: set[bytes] = set()

    def __call__(self, observations: Any) -> tuple[Any, Any]:
        self.asked |= {each.tobytes() for each in observations}
        n = len(observations)
        return np.zeros((n, self.game.actions), np.float32), np.zeros((n, self.game.players), np.float32)


@pytest.mark.parametrize("method", [PLAIN, GUMBEL], ids=str)
def test_an_evaluator_is_asked_only_where_there_is_a_choice(method: SearchSettings) -> None:
    """In checkers a piece that can be taken has to be taken; in the tree below every such capture stands the position behind it."""
    game = load("checkers")
    evaluator = Listener(game)
    search = searched(game, 200, method, game.parse("B:W21,22,25,26,30:B9,10,13,14,17"), evaluator=evaluator)
    positions, forced, evaluated = walk(search), 0, 0
    for number, state in positions.items():
        if game.is_terminal(state) or not search.tree.nodes[0, number].visits:
            continue
        is_forced = len(game.legal_actions(state)) == 1
        forced, evaluated = forced + is_forced, evaluated + (not is_forced)
        assert (game.observe(state).astype(np.float32).tobytes() in evaluator.asked) == (not is_forced)
    assert forced > 50 and evaluated > 50


@pytest.mark.parametrize("immediate_wins", [True, False])
def test_answer_that_wins_at_once_is_seen_below_the_root(immediate_wins: bool) -> None:
    game = load("connect_four")  # after any move but 1, the second player completes column 1
    search = searched(
        game, 40, replace(PLAIN, immediate_wins=immediate_wins), game.play("2 1 2 1 7 1"), evaluator=Blindfold(game)
    )
    edges = search.tree.children(search.tree.root())
    lost = edges["action"][edges["proven"] == 1].tolist()
    assert lost == ([1, 2, 3, 4, 5, 6] if immediate_wins else [])
    assert (search.choose(0) == 0) == immediate_wins


def test_game_may_end_at_once_without_being_won() -> None:
    game = load("tic_tac_toe")  # the last cell draws
    state = game.play("a1 b2 c3 a2 c2 c1 a3 b3")
    search = searched(game, 8, state=state, evaluator=Even(game))
    assert search.target().proven and tuple(search.target().utilities) == (0.0, 0.0)


# ── symmetries ──


class Crossing(Even):
    """An equivariant opinion on tic-tac-toe: a cell is liked for the stones in its row and column, one's own more."""

    def answer(self, row: Any) -> tuple[Any, Any]:
        planes = row.reshape(-1, 3, 3)
        stones = planes[0] * 2 + planes[1]
        liked = stones.sum(axis=0)[None, :] + stones.sum(axis=1)[:, None]
        value = float(np.tanh((planes[0] - planes[1]).sum() / 8))
        return liked.ravel() / 4, np.array([value, -value])


def test_turned_positions_are_read_back_unturned() -> None:
    game, _ = tic_tac_toe()
    even, turned = Crossing(game), Crossing(game)
    one = searched(game, 300, replace(PLAIN, solve=False), evaluator=even)
    other = searched(game, 300, replace(PLAIN, solve=False), evaluator=turned, symmetry=True)
    assert_same_tree(one, other)
    shown, unturned = ({batch[0].tobytes() for batch in each.batches} for each in (turned, even))
    assert len(shown - unturned) > 10 and len(shown & unturned) > 10


def test_turn_is_chosen_by_the_position() -> None:
    game, _ = tic_tac_toe()
    found = []
    for seed in (1, 2):
        evaluator = Hunch(game)
        search = searched(game, 200, PLAIN, None, True, evaluator=evaluator, symmetry=True, seed=seed)
        edges = {}
        for number, state in walk(search).items():
            if number and search.tree.nodes[0, number].count:
                edges[state.tobytes()] = search.tree.children(search.tree.nodes[0, number])["prior"].tobytes()
        found.append(edges)
    both = found[0].keys() & found[1].keys()
    assert len(both) > 50
    assert all(found[0][key] == found[1][key] for key in both)


# ── settings ──


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"noise": 1.5}, "noise: expected the share of noise"),
        ({"noise_total": 0.0}, "noise_total: expected a number above 0"),
        ({"forced": -1.0}, "forced: expected a number of at least 0"),
        ({"c_init": float("nan")}, "c_init: expected a number of at least 0"),
        ({"temperature": -1.0}, "temperature: expected a number of at least 0"),
    ],
)
def test_settings_that_mean_nothing_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(UserError, match=words):
        PUCT(**options)


def test_gumbel_without_actions_to_consider_is_refused() -> None:
    with pytest.raises(UserError, match="considered: expected 1 action or more"):
        Gumbel(considered=0)


def test_calls_that_mean_nothing_are_refused() -> None:
    game = load("connect_four")
    search = Search(game, PUCT(), nodes=100)
    search.begin(0, game.initial(), generator(1))
    with pytest.raises(UserError, match="simulations: expected 1 or more, got 0"):
        search.start(0, 0)
    with pytest.raises(UserError, match="target: expected a root that has been searched"):
        search.target(0)


# ── the player ──


def learned(game: Game, evaluator: Any, how: SearchSettings = PLAIN, **options: Any) -> TreePlayer:
    return TreePlayer(game, how, network=evaluator, **options)


def without_time(choice: Choice) -> Any:
    counters = {name: count for name, count in choice.counters.items() if not name.startswith("cache")}
    return choice.action, choice.value, choice.pv, choice.nodes, choice.actions, counters


def game_of(player: TreePlayer, plies: int = 12) -> list[Any]:
    game, dice = player.game, generator(1, "dice")
    state, found = game.initial(), []
    player.new_game()
    while not game.is_terminal(state) and len(found) < plies:
        if game.to_move(state) == CHANCE:
            legal = game.legal_actions(state)
            action = legal[int(below(dice, len(legal)))]
        else:
            choice = player.choose(state)
            walk(player.search)
            found.append(without_time(choice))
            action = choice.action
        player.advance(action)
        state = game.result(state, action)
    return found


@pytest.mark.parametrize("name", ["connect_four", "backgammon:start=hyper", "dots_and_boxes:rows=2,cols=2,players=3"])
@pytest.mark.parametrize(
    "options", [{"simulations": 60}, {"simulations": 60, "leaves": 4}, {"simulations": 20, "how": GUMBEL}], ids=str
)
def test_player_plays_the_same_game_again(name: str, options: dict[str, Any]) -> None:
    game = load(name)
    player = learned(game, Hunch(game), memory_mb=8, cache_mb=2, **options)
    player.prepare()
    first = game_of(player)
    assert first == game_of(player) == game_of(learned(game, Hunch(game), memory_mb=8, cache_mb=2, **options))
    if "leaves" not in options:
        assert first == game_of(learned(game, Hunch(game), memory_mb=8, cache_mb=0, **options))
    kept = [each[-1]["visits kept"] for each in first]
    assert any(kept) == ("how" not in options)


def test_raw_policy_is_the_likeliest_legal_action() -> None:
    game = load("connect_four")
    evaluator = Hunch(game)
    player = learned(game, evaluator, simulations=0)
    for seed in range(20):
        state = random_position(game, 20, seed)
        logits, utilities = evaluator.answer(game.observe(state).ravel())
        choice = player.choose(state)
        assert choice.action == max(game.legal_actions(state), key=lambda action: logits[action])
        assert choice.value == pytest.approx(utilities[0], abs=1e-6)
        assert choice.pv == (choice.action,) and choice.nodes == 1
        player.advance(choice.action)


def test_choice_tells_priors_visits_and_the_line() -> None:
    game = load("connect_four")
    choice = learned(game, Hunch(game), simulations=100).choose(game.initial())
    assert sum(each.visits or 0 for each in choice.actions) == 99
    assert sum(each.prior or 0.0 for each in choice.actions) == pytest.approx(1.0, abs=1e-5)
    assert choice.action == choice.actions[0].action == choice.pv[0]
    assert choice.value == choice.actions[0].value


def test_clock_is_kept_and_always_gives_a_move() -> None:
    game = load("connect_four")
    zeros = np.zeros((8, 7), np.float32), np.zeros((8, 2), np.float32)
    player = learned(game, lambda observations: zeros, ms=50, leaves=8)
    player.prepare()
    times, nodes = [], []
    for _ in range(9):
        start = time.perf_counter()
        nodes.append(player.choose(game.initial()).nodes)
        times.append(time.perf_counter() - start)
        player.new_game()
    # Another program may take the processor for all of one search.
    assert min(nodes) >= 1 and statistics.median(nodes) > 1
    assert 0.01 < statistics.median(times) < 0.15
    hurried = learned(game, lambda observations: zeros, ms=1e-6, leaves=8).choose(game.initial())
    assert hurried.action in game.legal_actions(game.initial())


def test_clock_ends_where_simulations_or_proofs_do() -> None:
    game = load("connect_four")
    player = learned(game, Even(game), ms=60_000, simulations=70)
    assert player.choose(game.initial()).nodes == 70
    assert learned(game, Even(game), ms=60_000).choose(game.play("1 2 1 2 1 3")).proven


def test_interrupted_search_leaves_a_player_that_can_go_on() -> None:
    game = load("connect_four")
    asked = []

    def interrupted(observations: Any) -> Any:
        asked.append(1)
        if len(asked) == 5:
            raise KeyboardInterrupt
        return np.zeros((4, 7)), np.zeros((4, 2))

    player = learned(game, interrupted, simulations=50, leaves=4)
    with pytest.raises(KeyboardInterrupt):
        player.choose(game.initial())
    player.advance(3)
    assert player.choose(game.play("4")).nodes == 50
    walk(player.search)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "expected a limit, sims or ms"),
        ({"simulations": -1}, "sims: expected 0"),
        ({"ms": 0}, "ms: expected milliseconds above 0"),
        ({"ms": 5, "simulations": 0}, "ms: expected a limit in sims alone with sims=0"),
        ({"ms": 5, "how": GUMBEL}, "ms: expected a limit in sims alone with method 'gumbel'"),
        ({"simulations": 1, "memory_mb": 0}, "memory_mb: expected room for 2 positions"),
        ({"simulations": 1, "cache_mb": -1}, "cache_mb: expected megabytes from 0"),
    ],
)
def test_limits_that_mean_nothing_are_refused(options: dict[str, Any], words: str) -> None:
    game = load("connect_four")
    with pytest.raises(UserError, match=words):
        learned(game, Even(game), **options)


def test_positions_without_a_choice_are_refused() -> None:
    game, backgammon = load("connect_four"), load("backgammon")
    with pytest.raises(UserError, match="expected an unfinished game"):
        learned(game, Even(game), simulations=1).choose(game.play("1 2 1 2 1 2 1"))
    with pytest.raises(UserError, match="got a roll of the dice"):
        learned(backgammon, Even(backgammon), simulations=1).choose(backgammon.initial())


def test_target_is_in_the_order_of_action_ids() -> None:
    target = searched(load("backgammon:start=hyper"), 60).target()
    assert isinstance(target, Target)
    assert np.all(np.diff(target.actions) > 0)
    assert target.probabilities.sum() == pytest.approx(1.0, abs=1e-6)
    assert target.utilities.sum() == pytest.approx(0.0, abs=1e-9)
