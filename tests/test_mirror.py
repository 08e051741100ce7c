"""Learning where information is hidden: observations of information sets, targets of mirror descent, self-play, runs, measures."""

import math
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import miniature
import numpy as np
import pytest

from arena.exploit import exploit
from arena.players import make_player
from base.errors import UserError
from base.local_workers import opened
from base.seeds import generator
from checkpoints import all_of
from checkpoints import load as loaded
from classical.equilibrium import measure, unfold
from games import CHANCE, Game, load
from mcts.mirror import Mirror, improvement, mirror_step, mirror_work
from mcts.policy import PolicyPlayer, mixer
from mcts.search import network_arrays
from monitor.log import RunLog
from monitor.media import MediaMaker, View
from nets import CompiledNet, Inference, make_net
from selfplay.play import GameQueue
from selfplay.settings import SelfPlaySettings
from train.config import Config, compose
from train.evaluation import ArenaEvaluation
from train.start import check

KUHN = load("kuhn_poker")
PHANTOM = load("phantom_tic_tac_toe")
NET = make_net("mlp:1x16", KUHN, 3)
FEW = SelfPlaySettings(full=1.0)


@pytest.fixture(scope="module")
def network() -> CompiledNet:
    return CompiledNet.of_net(NET, KUHN, "fp32")


def queue_of(network: Any, settings: Mirror, full: float = 1.0) -> GameQueue:
    queue = GameQueue(KUHN, SelfPlaySettings(full=full), settings, 5)
    queue.use(network, "a net")
    return queue


def played(queue: GameQueue, numbers: Any) -> dict[int, bytes]:
    for number in numbers:
        queue.add(number)
    found = {}
    while queue.is_busy:
        found |= {record.metadata["number"]: record.to_bytes() for record in queue.step()}
    return found


# ── what a network sees ──


@pytest.mark.parametrize("name", ["kuhn_poker", "kuhn_poker:players=3", "leduc_poker", "liars_dice:faces=3"])
def test_different_information_sets_have_different_observations(name: str) -> None:
    game = load(name)
    tree = unfold(game)
    seen = {
        game.observe(view, int(mover)).tobytes() for view, mover in zip(tree.views, tree.sets["mover"], strict=True)
    }
    assert len(seen) == len(tree.sets)


def test_leduc_bets_of_the_first_round_are_seen_in_the_second() -> None:
    game, paid_alike = load("leduc_poker"), []
    for bets in ("call raise call", "raise call"):
        state = game.initial()
        for name in ["Js", "Qs", *bets.split(), "Kh"]:
            state = game.result(state, game.names.index(name))
        paid_alike.append(game.observe(state, 0))
    own = 9  # the fields; then come the events
    assert np.array_equal(*(each[:own] for each in paid_alike)) and not np.array_equal(*paid_alike)


# ── the target ──


def test_a_mirror_step_is_the_published_formula() -> None:
    rng = np.random.default_rng(1)
    for n in (1, 2, 5):
        shares, values = rng.dirichlet(np.ones(n)), rng.uniform(-1, 1, n)
        for eta, alpha in ((0.5, 0.2), (10.0, 0.0), (3.0, 1.0)):
            found = np.zeros(n)
            mirror_step(shares, values, n, eta, alpha, found)
            magnet = np.full(n, 1 / n)
            logits = (np.log(shares) + eta * values + eta * alpha * np.log(magnet)) / (1 + eta * alpha)
            assert found == pytest.approx(np.exp(logits) / np.exp(logits).sum())


def test_the_policy_of_a_quantal_response_stays() -> None:
    """Where π is proportional to exp(q/α), a step of any length leads back to it."""
    values, found = np.array([0.3, -0.2, 0.1]), np.zeros(3)
    shares = np.exp(values / 0.25) / np.exp(values / 0.25).sum()
    for eta in (0.1, 1.0, 30.0):
        mirror_step(shares, values, 3, eta, 0.25, found)
        assert found == pytest.approx(shares)


def test_eta_and_alpha_fall_with_the_root_of_the_games() -> None:
    settings = Mirror(eta=2.0, alpha=0.4, anneal=100)
    assert settings.at(0) == settings
    assert (settings.at(300).eta, settings.at(300).alpha) == pytest.approx((1.0, 0.2))
    assert replace(settings, anneal=0).at(10**9) == replace(settings, anneal=0)


def value_of(player: PolicyPlayer, state: Any, seat: int, depth: int) -> float:
    """Exactly what playouts estimate, by listing all that may follow."""
    mover = KUHN.to_move(state)
    if mover is None:
        return KUHN.utility(state)[seat]
    assert mover != CHANCE
    if mover == seat and depth == 1:
        return player.choose(KUHN.view(state, seat)).value
    left = depth - 1 if mover == seat and depth else depth
    shares = player.policy(KUHN.view(state, mover))
    return sum(share * value_of(player, KUHN.result(state, action), seat, left) for action, share in shares.items())


@pytest.mark.parametrize("depth", [0, 1])
def test_playouts_estimate_the_value_of_each_action_at_the_position(network: CompiledNet, depth: int) -> None:
    playouts, player, mover = 4000, PolicyPlayer(KUHN, network), 0
    state = KUHN.initial()
    for name in ("Q", "K"):
        state = KUHN.result(state, KUHN.names.index(name))
    work, arrays = mirror_work(KUHN), network_arrays(KUHN, network)
    work.states[0] = state
    settings = Mirror(playouts=playouts, depth=depth)
    consult = KUHN.kernel(lambda rules: improvement(rules).consult)
    improve = KUHN.kernel(lambda rules: improvement(rules).improve)
    n = consult(work, mover, arrays)
    improve(work, mover, n, arrays, settings.record(), generator(1, "playouts"))
    assert work.counts[0] == n * playouts
    exact = [value_of(player, KUHN.result(state, action), mover, depth) for action in KUHN.legal_actions(state)]
    assert work.values[:n, mover] == pytest.approx(exact, abs=4 / math.sqrt(playouts))
    assert work.shares[0, :n] == pytest.approx(list(player.policy(KUHN.view(state, mover)).values()))


# ── self-play ──


def test_a_game_depends_on_its_number_alone_whatever_is_played_beside_it(network: CompiledNet) -> None:
    alone = played(queue_of(network, Mirror()), range(40))
    assert played(queue_of(network, Mirror()), reversed(range(40))) == alone
    assert played(queue_of(network, Mirror()), [7]) == {7: alone[7]}
    assert played(queue_of(network, Mirror(eta=1.5)), range(40)) != alone


def test_self_play_draws_from_the_policy_itself(network: CompiledNet) -> None:
    """As often as the policy has it, whatever the target is: within five standard errors."""
    queue, tree = queue_of(network, Mirror(eta=30.0, playouts=1), full=0.01), unfold(KUHN)
    strategy = tree.strategy(PolicyPlayer(KUHN, network).policy)
    numbers = {(int(each["mover"]), int(each["key"])): i for i, each in enumerate(tree.sets)}
    chosen = np.zeros(len(strategy))
    for number in range(600):
        queue.add(number)
    while queue.is_busy:
        for record in queue.step():
            for state, ply in record.replay(KUHN):
                mover = KUHN.to_move(state)
                if mover is not None and mover != CHANCE:
                    which = numbers[mover, int(state.information[mover])]
                    chosen[tree.entries[which] + tree.actions_of(which).index(int(record.moves[ply]))] += 1
    totals = np.repeat(np.add.reduceat(chosen, tree.entries[:-1]), np.diff(tree.entries))
    assert totals.min() > 10
    assert (abs(chosen / totals - strategy) < 5 * np.sqrt(strategy * (1 - strategy) / totals)).all()


def test_a_mixed_player_plays_the_policy_that_self_play_draws_from(network: CompiledNet) -> None:
    tree, work, arrays = unfold(KUHN), mirror_work(KUHN), network_arrays(KUHN, network)
    player, by_torch, mix = (
        PolicyPlayer(KUHN, network),
        PolicyPlayer(KUHN, Inference(NET, 1, "cpu", "fp32")),
        KUHN.kernel(mixer),
    )
    for view, mover in zip(tree.views, tree.sets["mover"], strict=True):
        legal = KUHN.legal_actions(view)
        mix(view, int(mover), np.array(legal, np.int32), len(legal), arrays, work.observation, work.shares[0])
        found = player.policy(view)
        assert list(found) == legal
        assert work.shares[0, : len(legal)] == pytest.approx(list(found.values()), abs=1e-6)
        assert by_torch.policy(view) == pytest.approx(found, abs=1e-5)


# ── a run ──

SMALL = compose(
    KUHN,
    None,
    [
        "net=mlp:1x32",
        "games=256",
        "window.constant=1200",
        "learning.batch=128",
        "learning.threads=1",
        "learning.rate=1e-2",
        "learning.warmup=0",
        "search.eta=4",
        "evaluation.every=0",
    ],
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kuhn") / "run"
    miniature.run(folder, 12 * 256, config=SMALL)
    return folder


def exploitability(path: Path) -> float:
    return exploit(KUHN, make_player(f"net:{path}", KUHN)).found.exploitability


def test_a_short_run_of_kuhn_poker_is_far_harder_to_exploit_than_uniform_play(whole: Path) -> None:
    tree = unfold(KUHN)
    assert exploitability(all_of(whole)[-1]) < 0.5 * measure(tree, tree.uniform()).exploitability


def test_a_resumed_run_is_bit_for_bit_the_uninterrupted_one(tmp_path: Path) -> None:
    small = replace(SMALL, games=64)
    for games in (2 * 64, 3 * 64):
        miniature.run(tmp_path / "run", games, config=small)
    miniature.run(tmp_path / "whole", 3 * 64, config=small)
    assert played_games(tmp_path / "run") == played_games(tmp_path / "whole")


def played_games(folder: Path) -> dict[str, bytes]:
    """Its logs of games: those of the third iteration are played by what the first two have learned."""
    return {file.name: file.read_bytes() for file in sorted((folder / "games").iterdir())}


def test_an_evaluation_measures_exploitability_and_utility_against_others(whole: Path, tmp_path: Path) -> None:
    settings = replace(SMALL.evaluation, reference_players=("random",), games=8)
    path = all_of(whole)[-1]
    with RunLog(tmp_path, 0, quiet=True) as log, opened(0) as workers:
        arena = ArenaEvaluation(settings, workers, tmp_path / "ladder.sqlite")
        arena.check(KUHN)
        arena.prepare(KUHN, log)  # type: ignore[arg-type]
        found = arena(KUHN, path, 1, log)  # type: ignore[arg-type]
    assert found.metrics["exploitability/utility"] == exploitability(path)
    assert found.metrics["exploitability/payoff"] == 2 * found.metrics["exploitability/utility"]
    assert "against/random utility" in found.metrics and not found.elo
    assert not os.path.exists(tmp_path / "ladder.sqlite")


def test_the_pictures_of_a_run_show_views_with_the_policy(whole: Path, tmp_path: Path) -> None:
    net = loaded(all_of(whole)[-1], KUHN)[0]
    with RunLog(tmp_path, 0, quiet=True) as log:
        found = MediaMaker(KUHN, SMALL.search, 100).pictures(View(net, net, [], None), {}, log.history)
    assert "look/position 1" in found and "look/search tree" not in found


# ── what is refused ──


def changed(*changes: str, game: Game = KUHN) -> Config:
    return compose(game, None, changes)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            lambda: check(changed("search.method=puct", game=PHANTOM), PHANTOM),
            "search.method: expected mirror for phantom_tic_tac_toe, in which players do not see everything, got puct",
        ),
        (
            lambda: check(changed("search.method=mirror", game=load("nim")), load("nim")),
            "search.method: expected gumbel or puct or ucb1 for nim:most=7, in which players see everything, got mirror",
        ),
        (lambda: changed("search.c_init=2"), "search.c_init: a setting of method 'puct', expected those of 'mirror'"),
        (lambda: changed("search.eta=0"), "search.eta: expected a number above 0, got 0"),
        (lambda: changed("search.alpha=-1"), "search.alpha: expected a number of at least 0, got -1"),
        (lambda: changed("search.playouts=0"), "search.playouts: expected at least 1, got 0"),
        (lambda: changed("search.depth=-1"), "search.depth: expected at least 0, got -1"),
        (
            lambda: check(changed("selfplay.resign=0.9", game=load("liars_dice")), load("liars_dice")),
            "resign: expected 1, no resignations, for liars_dice:dice=1,faces=6",
        ),
        (
            lambda: queue_of(Inference(NET, 1), Mirror()),
            "self-play: expected a network with a compiled form, on the CPU, for kuhn_poker:players=2, which hides",
        ),
        (lambda: PolicyPlayer(KUHN, Inference(NET, 1)).choose(KUHN.initial()), "net: expected a view of kuhn_poker"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(make: Any, words: str) -> None:
    with pytest.raises(UserError) as refused:
        make()
    assert words in str(refused.value) and "\n" not in str(refused.value)


def test_a_network_does_not_search_where_information_is_hidden(whole: Path) -> None:
    path = all_of(whole)[-1]
    assert make_player(f"net:{path},sims=0", KUHN).policy
    for options, words in {
        "sims=10": "net: expected no search in kuhn_poker:players=2, where a network plays its policy, got sims=10",
        "ms=10": "got ms=10",
        "fpu=0.3": "net: fpu: expected no setting of a search where information is hidden",
    }.items():
        with pytest.raises(UserError, match=words):
            make_player(f"net:{path},{options}", KUHN)
