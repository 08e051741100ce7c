"""The laws of what searches use (see `laws.py`): tactical actions, random actions, null moves."""

from __future__ import annotations

import math

import numpy as np

from games.engine import kernels
from games.engine.game_under_test import GameUnderTest
from games.engine.quick_laws import Breach, law
from games.engine.rules import CHANCE


@law("tactical_actions lists the legal actions that have a gain")
def tactical_actions_have_a_gain(test: GameUnderTest) -> str:
    rules, gain = test.rules, test.rules.gain
    if gain is None:
        return "it has none"
    actions, count = np.zeros(rules.max_legal, np.int32), 0
    with np.errstate(over="ignore"):
        for position in test.sample(300):
            count += 1
            if test.game.is_terminal(position.state):
                continue
            listed = sorted(actions[: rules.tactical_actions(position.state, actions)].tolist())
            wanted = sorted(action for action in test.legal(position.state) if gain(position.state, action) > 0)
            if listed != wanted:
                words = [" ".join(test.game.names[action] for action in found) for found in (listed, wanted)]
                seen = f"listed are [{words[0]}], a gain have [{words[1]}]"
                raise Breach("tactical_actions or gain", seen, position)
    return f"{count} positions"


@law("random_action gives every legal action equally often, and no other")
def random_actions_are_uniform(test: GameUnderTest) -> str:
    if "random_action" in test.rules.derived:
        return "derived from legal_actions"
    draw = test.game.kernel(kernels.draws)
    count = 0
    for position in test.sample(40):
        mover = test.game.to_move(position.state)
        if mover is None or mover == CHANCE:
            continue
        count += 1
        legal = test.legal(position.state)
        times = np.zeros(test.rules.actions, np.int64)
        actions = np.zeros(test.rules.max_legal, np.int32)
        draw(test.game.scratch(position.state, 1), actions, test.rng(count), 200 * len(legal), times)
        if times.sum() != times[legal].sum():
            illegal = next(action for action in np.flatnonzero(times) if action not in legal)
            raise Breach("random_action", f"gives '{test.game.names[illegal]}', an illegal action", position)
        chi_square, freedom = float(((times[legal] - 200.0) ** 2 / 200.0).sum()), len(legal) - 1
        if chi_square > freedom + 7 * math.sqrt(2 * freedom) + 30:
            often, seldom = (legal[int(pick(times[legal]))] for pick in (np.argmax, np.argmin))
            seen = (
                f"of {200 * len(legal)} draws '{test.game.names[often]}' has {times[often]}, "
                f"'{test.game.names[seldom]}' {times[seldom]}; expected about 200 each"
            )
            raise Breach("random_action", seen, position)
    return f"{count} positions"


@law("null_result passes the move to the other player, or returns False and leaves the state as it is")
def null_moves_pass(test: GameUnderTest) -> str:
    null_result = test.rules.null_result
    if null_result is None:
        return "it has none"
    game, count = test.game, 0
    with np.errstate(over="ignore"):
        for position in test.sample(300):
            mover = game.to_move(position.state)
            if mover is None or mover == CHANCE:
                continue
            after = position.state.copy()
            passed = null_result(after)
            field = test.differing_field(after, position.state)
            if not passed and field:
                raise Breach("null_result", f"returns False, but State.{field} is different", position)
            if passed:
                count += 1
                if game.is_terminal(after) or game.to_move(after) == mover:
                    raise Breach("null_result", "the other player is not to move after it", position)
                if game.key(after) == game.key(position.state):
                    raise Breach("null_result or key", "the key is the same after it", position)
    return f"{count} passes"
