"""Games of self-play: a function of network, settings, seed and number; what the records say is what happened."""

import gc
import shutil
import weakref
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from base.errors import UserError
from base.local_workers import Processes, Threads
from base.native import address_of
from base.seeds import derive
from base.workers import InProcess, Workers
from checkpoints import Card, pack, save
from games import CHANCE, Game, load
from games.record import GameRecord
from mcts.gumbel import Gumbel
from mcts.puct import PUCT
from mcts.settings import SearchSettings
from nets import CompiledNet, Inference, make_net
from selfplay.play import GameQueue, WorkCounts
from selfplay.settings import SelfPlaySettings
from selfplay.statistics import Statistics
from selfplay.workers import Setup, play_games

GAMES = ["tic_tac_toe", "connect_four", "dots_and_boxes:rows=2,cols=2,players=3", "backgammon:start=hyper"]
FEW = SelfPlaySettings(simulations=12, fast_simulations=4, full=0.5, slots=8, opening_plies=3)


class Oracle:
    """Judges a position by a fixed random map of its planes; row by row, as networks do."""

    def __init__(self, game: Game, scale: float = 1.0) -> None:
        rng = np.random.default_rng(1)
        entries = int(np.prod(game.rules.observation))
        self.policy = rng.normal(size=(entries, game.actions)) * scale
        self.value = rng.normal(size=(entries, game.players)) * 0.1 * scale

    def __call__(self, observations: Any) -> tuple[Any, Any]:
        flat = observations.reshape(len(observations), -1).astype(np.float64)
        policies = np.stack([row @ self.policy for row in flat]), np.stack([row @ self.value for row in flat])
        return policies[0].astype(np.float32), np.tanh(policies[1]).astype(np.float32)


def queue_of(game: Game, settings: SelfPlaySettings = FEW, search: SearchSettings | None = None) -> GameQueue:
    queue = GameQueue(game, settings, search or PUCT(), 7)
    queue.use(Oracle(game), "oracle")
    return queue


def played(queue: GameQueue, numbers: Any) -> list[GameRecord]:
    for number in numbers:
        queue.add(number)
    found = []
    while queue.is_busy:
        found += queue.step()
    return sorted(found, key=lambda record: record.metadata["number"])


@pytest.mark.parametrize("name", GAMES)
def test_game_is_the_same_alone_and_among_others(name: str) -> None:
    game = load(name)
    together = played(queue_of(game), range(20))
    backwards = played(queue_of(game), reversed(range(20)))
    alone = [played(queue_of(game, replace(FEW, slots=1)), [number])[0] for number in (0, 3, 19)]
    assert together == backwards
    assert [together[0], together[3], together[19]] == alone
    assert len({record.moves.tobytes() for record in together}) > 10


def test_gumbel_plays_too() -> None:
    game = load("connect_four")
    records = played(queue_of(game, search=Gumbel()), range(6))
    assert records == played(queue_of(game, replace(FEW, slots=3), Gumbel()), range(6))


@pytest.mark.parametrize("name", GAMES)
def test_record_is_a_game_by_the_rules_with_its_searches(name: str) -> None:
    game = load(name)
    records = played(queue_of(game), range(12))
    for number, record in enumerate(records):
        assert record.seed == derive(7, "game", number)
        assert record == GameRecord.from_bytes(record.to_bytes(), game)
        states = record.positions(game)
        assert game.is_terminal(states[-1]) and record.outcome == game.utility(states[-1])
        for ply in range(len(record)):
            actions, shares, visits = record.policy(ply)
            if game.to_move(states[ply]) == CHANCE or not len(actions) or len(game.legal_actions(states[ply])) == 1:
                assert np.isnan(record.utilities[ply]).all() and not record.searched[ply] and not len(actions)
                continue
            assert actions.tolist() == sorted(game.legal_actions(states[ply]))
            assert np.abs(record.utilities[ply]).max() <= 1
            assert shares.sum() == pytest.approx(1, abs=1e-5)
            assert visits.sum() >= 1
    full = sum(record.searched.sum() for record in records)
    searched = sum((record.policy_counts > 0).sum() for record in records)
    assert 0.3 < full / searched < 0.7


def test_only_full_searches_teach_the_policy_and_get_their_simulations() -> None:
    game = load("connect_four")
    how = SelfPlaySettings(simulations=40, fast_simulations=3, full=0.3, slots=4, openings=0.0)
    for record in played(queue_of(game, how, PUCT(solve=False)), range(4)):
        for ply in range(len(record)):
            _, _, visits = record.policy(ply)
            wanted = 40 if record.searched[ply] else 3
            assert visits.sum() >= wanted - 1  # and what the tree kept


def test_openings_are_drawn_from_the_policy_and_taught_to_nobody() -> None:
    game = load("connect_four")
    records = played(queue_of(game, replace(FEW, openings=1.0, opening_plies=4)), range(60))
    plies = [int(np.argmax(record.policy_counts > 0)) for record in records]
    assert set(plies) == {1, 2, 3, 4}
    without = played(queue_of(game, replace(FEW, openings=0.0)), range(10))
    assert all(record.policy_counts[0] > 0 for record in without)
    logits, _ = Oracle(game)(game.observe(game.initial())[None])
    policy = np.exp(logits[0] / FEW.opening_temperature)
    policy /= policy.sum()
    first = np.bincount([int(record.moves[0]) for record in records], minlength=7) / 60
    assert np.abs(first - policy).max() < 0.2


def test_resignation_ends_games_and_its_errors_are_counted() -> None:
    game = load("connect_four")
    resigning = replace(FEW, resign=0.1, played_out=0.5)
    records = played(queue_of(game, resigning), range(40))
    resigned = [record for record in records if record.ending == "resigned"]
    noted = [record for record in records if "resigns" in record.metadata]
    assert len(resigned) > 5 and len(noted) > 5
    for record in resigned:
        last = record.positions(game)[-1]
        mover = game.to_move(last)
        assert not game.is_terminal(last) and record.outcome == ((-1.0, 1.0) if mover == 0 else (1.0, -1.0))
    for record in noted:
        about = record.metadata["resigns"]
        assert record.outcome is not None
        assert about["wrong"] == (record.outcome[about["player"]] > -1)
        mover = game.to_move(record.positions(game)[about["ply"]])
        assert mover == about["player"] and record.utilities[about["ply"]][mover] < -0.1
    told = Statistics.of(records)
    assert (told.resigned, told.played_out) == (len(resigned), len(noted))
    assert 0 < told.wrongly < len(noted)


def test_resigning_needs_a_game_of_loss_draw_and_win() -> None:
    with pytest.raises(UserError, match="resign: expected 1, no resignations, for backgammon"):
        queue_of(load("backgammon:start=hyper"), replace(FEW, resign=0.9))


def test_network_changes_only_between_games() -> None:
    queue = queue_of(load("tic_tac_toe"))
    queue.add(1)
    queue.step()
    with pytest.raises(UserError, match="expected no game under way"):
        queue.use(Oracle(queue.game), "other")
    with pytest.raises(UserError, match="expected a network first"):
        GameQueue(queue.game, FEW, PUCT(), 1).step()


def test_statistics_count_what_the_records_say() -> None:
    records = played(queue_of(load("tic_tac_toe")), range(30))
    told = Statistics.of([*records, records[3]])
    assert told.games == 31 and told.duplicates >= 1
    assert told.plies == sum(map(len, records)) + len(records[3])
    assert sum(told.outcomes.values()) == 31 and told.unfinished == 0
    assert (told.shortest, told.longest) == (min(map(len, records)), max(map(len, records)))
    policies = [record.policy(ply)[1] for record in records for ply in np.flatnonzero(record.searched)]
    entropy = np.mean([-(p[p > 0] * np.log(p[p > 0])).sum() for p in policies])
    assert Statistics.of(records).entropy == pytest.approx(entropy, rel=1e-5)
    assert any("31 games" in line for line in told.lines())


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"simulations": 0}, "simulations: expected at least 1"),
        ({"full": 0.0}, "full: expected more than 0"),
        ({"openings": 2.0}, "openings: expected 0 to 1"),
        ({"opening_plies": 0}, "opening_plies: expected at least 1"),
        ({"opening_temperature": 0.0}, "opening_temperature: expected a number above 0"),
        ({"cache_mb": -1.0}, "cache_mb: expected at least 0"),
    ],
)
def test_settings_that_make_no_sense_are_refused(change: dict[str, Any], words: str) -> None:
    with pytest.raises(UserError, match=words):
        SelfPlaySettings(**change)


def test_work_does_not_depend_on_how_many_games_are_played_side_by_side() -> None:
    game, few = load("tic_tac_toe"), replace(FEW, cache_mb=0.0)
    found = []
    for slots in (1, 8):
        queue = queue_of(game, replace(few, slots=slots))
        played(queue, range(12))
        found.append(queue.work)
    one, many = found
    assert one.simulations == many.simulations
    assert one.evaluations == many.evaluations == one.rows == one.batches
    assert many.rows == 8 * many.batches > many.evaluations and (many.lookups, many.hits) == (0, 0)
    assert many.minus(one).plus(one) == many


def test_work_of_all_workers_adds_up() -> None:
    setup, total = Setup("tic_tac_toe", FEW, PUCT(), 7), WorkCounts()
    results = list(play_games(setup, None, range(12), InProcess()))
    for _, work in results:
        total = total.plus(work)
    queue = GameQueue(load("tic_tac_toe"), FEW, PUCT(), 7)
    queue.use(None, "uniform")
    played(queue, range(12))
    assert len(results) == 12 and total == queue.work and total.simulations > 0


class Exact:
    """A network of both kinds whose sums of small binary fractions no order rounds: compiled, and in batches."""

    def __init__(self, game: Game) -> None:
        rng = np.random.default_rng(1)
        entries = int(np.prod(game.rules.observation))
        policy, value = rng.integers(-32, 33, (entries, game.actions)), rng.integers(-8, 9, (entries, game.players))
        self.weights = np.concatenate([policy / 16, value / 256], 1).astype(np.float32)
        self.players = game.players

        shape = game.rules.observation, game.actions, game.players
        zeros = [np.zeros(each, np.float32) for each in shape]
        self.address = address_of(judge, self.weights, self.scratch(), *zeros)

    def scratch(self) -> Any:
        return np.zeros(1, np.float32)

    def batch(self, observations: Any) -> tuple[Any, Any]:
        found = np.round(observations.reshape(len(observations), -1)) @ self.weights
        utilities = np.clip(found[:, -self.players :], -1, 1)
        return np.ascontiguousarray(found[:, : -self.players]), np.ascontiguousarray(utilities)


def judge(weights: Any, scratch: Any, observation: Any, logits: Any, utilities: Any) -> None:
    flat, actions = observation.reshape(observation.size), len(logits)
    logits[:] = 0
    utilities[:] = 0
    for i in range(len(flat)):
        entry = np.round(flat[i])
        for action in range(actions):
            logits[action] += entry * weights[i, action]
        for player in range(len(utilities)):
            utilities[player] += entry * weights[i, actions + player]
    for player in range(len(utilities)):
        utilities[player] = min(max(utilities[player], np.float32(-1)), np.float32(1))


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("search", [PUCT(), Gumbel(), PUCT(rollout=0.25)], ids=["puct", "gumbel", "rollouts"])
def test_compiled_network_plays_the_games_of_the_same_network_in_batches(name: str, search: SearchSettings) -> None:
    game, both = load(name), Exact(load(name))
    compiled, batched = GameQueue(game, FEW, search, 7), GameQueue(game, FEW, search, 7)
    compiled.use(both, "exact")  # type: ignore[arg-type]
    batched.use(both.batch, "exact")
    assert played(compiled, range(8)) == played(batched, range(8))
    ours, theirs = compiled.work, batched.work
    assert ours.simulations == theirs.simulations > 0 and ours.lookups == theirs.lookups
    assert ours.batches == 0 < theirs.batches


def test_another_compiled_network_starts_with_an_empty_cache() -> None:
    game = load("connect_four")
    other = Exact(game)
    other.weights = -other.weights
    reused, fresh = GameQueue(game, FEW, PUCT(), 7), GameQueue(game, FEW, PUCT(), 7)
    reused.use(Exact(game), "exact")  # type: ignore[arg-type]
    played(reused, range(4))
    for queue in (reused, fresh):
        queue.use(other, "other")  # type: ignore[arg-type]
    assert played(reused, range(4)) == played(fresh, range(4))


def test_policies_of_long_games_find_room(monkeypatch: Any) -> None:
    game = load("connect_four")
    roomy = played(queue_of(game), range(6))
    monkeypatch.setattr("selfplay.under_way._ROOM", 8)
    assert played(queue_of(game), range(6)) == roomy
    compiled = GameQueue(game, FEW, PUCT(), 7)
    compiled.use(None, "uniform")
    tight = played(compiled, range(6))
    monkeypatch.undo()
    compiled = GameQueue(game, FEW, PUCT(), 7)
    compiled.use(None, "uniform")
    assert tight == played(compiled, range(6))


def test_a_game_is_stopped_at_max_plies_with_the_utility_of_its_rules() -> None:
    game = load("connect_four")
    short = Game(replace(game.rules, max_plies=5), game.name, game.spec, game.options)
    compiled = GameQueue(short, FEW, PUCT(), 7)
    compiled.use(None, "uniform")
    for queue in (queue_of(short), compiled):
        for record in played(queue, range(8)):
            assert (len(record), record.ending, record.outcome) == (5, "max_plies", (0.0, 0.0))
            record.positions(short)


def test_network_travels_by_its_content_and_every_backend_plays_the_same_games(tmp_path: Path) -> None:
    game = load("tic_tac_toe")
    net = make_net("mlp:1x16", game, seed=3)
    path = save(tmp_path / "net", net, Card(game.name, game.version, net.text))
    network = pack(path)
    shutil.rmtree(path)
    setup = Setup("tic_tac_toe", replace(FEW, slots=2), PUCT(), 7)
    found = []
    backends: list[Workers] = [InProcess(), Processes(2), Threads(2)]
    for workers in backends:
        twice = [sorted(data for data, _ in play_games(setup, network, range(9), workers)) for _ in range(2)]
        workers.close()
        assert twice[0] == twice[1] and len(set(twice[0])) == 9
        found.append(twice[0])
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("batched", [False, True])
def test_a_queue_that_is_done_with_leaves_its_trees_and_cache_at_once(batched: bool) -> None:
    game = load("tic_tac_toe")
    net = make_net("mlp:1x16", game, seed=3)
    queue = GameQueue(game, FEW, PUCT(), 7)
    queue.use(Inference(net, FEW.slots) if batched else CompiledNet.of_net(net, game), "net")
    assert played(queue, range(3))
    assert queue._driver is not None
    search = weakref.ref(queue._driver.search)
    gc.collect()
    gc.disable()  # not even cycles are left: a worker would hold the trees of several networks at once
    try:
        del queue
        assert search() is None
    finally:
        gc.enable()


def test_what_the_cache_has_is_not_evaluated_again() -> None:
    game = load("tic_tac_toe")
    without, with_cache = queue_of(game, replace(FEW, cache_mb=0.0)), queue_of(game)
    assert played(without, range(20)) == played(with_cache, range(20))
    work = with_cache.work
    assert work.lookups == without.work.evaluations and work.hits > 0
    assert work.evaluations == work.lookups - work.hits
