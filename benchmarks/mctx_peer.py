"""Self-play of connect four by mctx and pgx: the peer in `benchmarks.selfplay`, where both are installed (with jax).

Games side by side: a Gumbel search for each, then its move. Game, network and search are compiled into one function, which XLA runs on
one core in fp32. The network is a residual one of the same size, with folded normalization, AlphaZero's heads and random weights: the
cheapest form of it. Danihelka et al. 2022 (mctx); Koyamada et al. 2023 (pgx).
"""

from __future__ import annotations

import multiprocessing
import os
import time
from importlib.util import find_spec
from typing import Any

NEEDED = ("jax", "mctx", "pgx")


def missing() -> list[str]:
    return [name for name in NEEDED if find_spec(name) is None]


def measured(blocks: int, channels: int, games: int, simulations: int, seconds: float) -> float:
    """Simulations per second, in a separate process."""
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    process = context.Process(target=_play, args=(blocks, channels, games, simulations, seconds, results), daemon=True)
    process.start()
    found: float = results.get()
    process.join()
    return found


def _play(blocks: int, channels: int, games: int, simulations: int, seconds: float, results: Any) -> None:
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"
    os.environ["JAX_PLATFORMS"] = "cpu"
    import jax

    move, state, key = _mover(blocks, channels, games, simulations)
    state, key = jax.block_until_ready(move(state, key))  # compiles
    state, key = jax.block_until_ready(move(state, key))
    moves, began = 0, time.perf_counter()
    while (took := time.perf_counter() - began) < seconds:
        state, key = jax.block_until_ready(move(state, key))
        moves += 1
    results.put(moves * games * simulations / took)


def _mover(blocks: int, channels: int, games: int, simulations: int) -> tuple[Any, Any, Any]:
    """(move, state, key): move(state, key) searches all games, plays a move in each and restarts finished ones."""
    import jax
    import jax.numpy as jnp
    import mctx
    import pgx
    from pgx.experimental.wrappers import auto_reset

    env = pgx.make("connect_four")
    step, onward = jax.vmap(env.step), jax.vmap(auto_reset(env.step, env.init))
    network, weights = _network(blocks, channels, env.observation_shape, env.num_actions)
    lowest = jnp.finfo(jnp.float32).min

    def judged(weights: Any, state: Any) -> tuple[Any, Any]:
        logits, value = network(weights, state.observation.astype(jnp.float32))
        return jnp.where(state.legal_action_mask, logits, lowest), value

    def recurrent(weights: Any, _key: Any, action: Any, state: Any) -> tuple[Any, Any]:
        mover = state.current_player
        state = step(state, action)
        logits, value = judged(weights, state)
        reward = jax.vmap(lambda rewards, player: rewards[player])(state.rewards, mover)
        value = jnp.where(state.terminated, 0.0, value)
        discount = jnp.where(state.terminated, 0.0, -1.0)
        return mctx.RecurrentFnOutput(reward=reward, discount=discount, prior_logits=logits, value=value), state

    @jax.jit  # type: ignore[untyped-decorator]
    def move(state: Any, key: Any) -> tuple[Any, Any]:
        key, searching, resetting = jax.random.split(key, 3)
        logits, value = judged(weights, state)
        found = mctx.gumbel_muzero_policy(
            weights,
            searching,
            mctx.RootFnOutput(prior_logits=logits, value=value, embedding=state),
            recurrent,
            num_simulations=simulations,
            invalid_actions=~state.legal_action_mask,
            qtransform=mctx.qtransform_completed_by_mix_value,
        )
        return onward(state, found.action, jax.random.split(resetting, games)), key

    key, beginning = jax.random.split(jax.random.PRNGKey(1))
    return move, jax.jit(jax.vmap(env.init))(jax.random.split(beginning, games)), key


def _network(blocks: int, channels: int, shape: tuple[int, int, int], actions: int) -> tuple[Any, Any]:
    """network(weights, observations [B, rows, columns, planes]) -> logits [B, A], values [B]; and weights."""
    import jax
    import jax.numpy as jnp
    import numpy as np

    rng = np.random.default_rng(1)
    rows, columns, planes = shape

    def dense(*sizes: int) -> tuple[Any, Any]:
        weight = rng.normal(size=sizes) * np.sqrt(2.0 / np.prod(sizes[:-1]))
        return jnp.asarray(weight, jnp.float32), jnp.zeros(sizes[-1], jnp.float32)

    def convolved(x: Any, layer: tuple[Any, Any]) -> Any:
        dimensions = ("NHWC", "HWIO", "NHWC")
        return jax.lax.conv_general_dilated(x, layer[0], (1, 1), "SAME", dimension_numbers=dimensions) + layer[1]

    tower = [(dense(3, 3, channels, channels), dense(3, 3, channels, channels)) for _ in range(blocks)]
    heads = [dense(1, 1, channels, 2), dense(rows * columns * 2, actions), dense(1, 1, channels, 1)]
    weights = dense(3, 3, planes, channels), tower, heads, dense(rows * columns, 64), dense(64, 1)

    def network(weights: Any, x: Any) -> tuple[Any, Any]:
        first, tower, (to_policy, policy, to_value), hidden, value = weights
        x = jax.nn.relu(convolved(x, first))
        for one, two in tower:
            x = jax.nn.relu(x + convolved(jax.nn.relu(convolved(x, one)), two))
        p = jax.nn.relu(convolved(x, to_policy)).reshape(len(x), -1)
        v = jax.nn.relu(convolved(x, to_value)).reshape(len(x), -1)
        v = jax.nn.relu(v @ hidden[0] + hidden[1])
        return p @ policy[0] + policy[1], jnp.tanh(v @ value[0] + value[1])[:, 0]

    return network, weights
