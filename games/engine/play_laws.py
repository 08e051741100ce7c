"""The laws of playing a game (see `laws.py`): rules run, in three ways alike, and answer within the contract."""

from __future__ import annotations

import functools
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from base.errors import UserError
from base.seeds import generator
from base.threads import Overtime, within
from games.engine import kernels
from games.engine.game_under_test import POSITIONS, GameUnderTest, Position, RandomGame, Way
from games.engine.quick_laws import Breach, law, must_sum_to_zero
from games.engine.rules import CHANCE
from games.engine.trial import PATIENCE, is_of_rules, place_of, seen_of, walk
from games.types import GameState


@law("the rules run interpreted: no function raises an error, each returns a number, and each comes to an end", True)
def can_be_played(test: GameUnderTest) -> str:
    spent, plies = 0.0, 0
    for seed in range(test.count):
        most = test.plies_affordable(test.seconds, spent, plies)
        if not most:
            break
        start = time.perf_counter()
        try:
            game = within(PATIENCE, functools.partial(test.play, seed, "interpreted", most))
            test.interpreted[seed] = game, game.plies == most
            plies += game.plies + 1
        except UserError:
            raise
        except (Exception, Overtime) as error:
            place, seen = failing_function(test, seed, error) or (place_of(error), seen_of(error))
            raise Breach(place, seen, last_position(test, seed), f"{seed} games") from error
        spent += time.perf_counter() - start
    return f"{plies} positions"


@law("interpreted, compiled and bounds-checked rules play the same games and give the same answers", True)
def same_in_three_ways(test: GameUnderTest) -> str:
    plies = 0
    for compiled in ("checked", "compiled"):
        test.play(0, compiled, 0)  # compiles, so that the time of the games does not include it
    for seed in range(test.count):
        try:
            checked = test.play_for(PATIENCE, seed, "checked")
            others: dict[Way, RandomGame] = {"compiled": test.play_for(PATIENCE, seed, "compiled")}
        except (IndexError, ZeroDivisionError, Overtime) as error:
            unknown = "an index, a division or a loop", f"compiled with checks: {seen_of(error)}"
            place, seen = failing_function(test, seed, error) or unknown
            raise Breach(place, seen, last_position(test, seed), f"{seed} games") from error
        played, shortened = test.interpreted.get(seed, (None, False))
        if played is not None:
            others["interpreted"] = played
            plies += played.plies + 1
        for way, other in others.items():
            difference = differing(test, other, checked, shortened=way == "interpreted" and shortened)
            if difference:
                ply, function, what = difference
                seen = f"{what} differs: {way} against compiled with checks; the usual cause is a type (U(1), int(...))"
                if way == "interpreted" and test.overflows.found:
                    cause = test.overflows.found[0]
                    function, seen = cause.place, f"{cause.seen} ({what} differs: interpreted against compiled)"
                raise Breach(function, seen, Position(checked, ply), f"{seed} games")
        if len(test.positions) < POSITIONS:
            test.keep(checked)
    return f"{test.count} games, {plies} positions of them interpreted"


def failing_function(test: GameUnderTest, seed: int, error: BaseException) -> tuple[str, str] | None:
    """The function and what was seen of it, where a game fails in the engine (an answer was no number) or in compiled code (without
    line numbers): the same game once more, interpreted, with every answer checked."""
    if is_of_rules(error):
        return None
    state, rules = test.game.blank(), test.rules

    def replay() -> None:
        rules.initial(state)
        walk(rules, state, test.rng(seed), rules.max_plies, call_all=True)

    try:
        within(PATIENCE, replay)
    except Breach as breach:
        return breach.function, breach.seen
    except (Exception, Overtime) as found:
        same = isinstance(error, Overtime) or not isinstance(found, Overtime)  # or it was only slow
        return (place_of(found), seen_of(found)) if same and is_of_rules(found) else None
    return None


def differing(test: GameUnderTest, one: RandomGame, other: RandomGame, shortened: bool) -> tuple[int, str, str] | None:
    """The ply, the function and the answer where two runs of one game first differ; `shortened`: `one` was cut off."""
    for ply in range(min(one.plies, other.plies) + 1):
        field = test.differing_field(one.states[ply], other.states[ply])
        if field:
            return max(ply - 1, 0), "result" if ply else "initial", f"State.{field} after it"
        columns = np.flatnonzero(one.digests[ply] != other.digests[ply])
        if len(columns):
            return ply, kernels.ANSWERS[columns[0]], "its answer"
        if ply < min(one.plies, other.plies) and one.moves[ply] != other.moves[ply]:
            return ply, "random_action", "its choice"
    if one.plies == other.plies or shortened:
        return None
    return min(one.plies, other.plies), "is_terminal", "the length of the game"


def last_position(test: GameUnderTest, seed: int) -> Position:
    """How far a game comes that fails: replayed interpreted, with no more calls than playing needs."""
    rules = test.rules
    states, moves = [test.game.blank()], list[int]()

    def replay() -> None:
        actions, rng, sample = np.zeros(rules.max_legal, np.int32), test.rng(seed), kernels.sampler(rules)
        rules.initial(states[0])
        while not rules.is_terminal(states[-1]) and len(moves) <= rules.max_plies:
            following = states[-1].copy()
            move = np.int32(sample(states[-1], actions, rng))  # the type that kernels give
            rules.result(following, move)
            states.append(following)
            moves.append(int(move))

    with np.errstate(over="ignore"), suppress(Exception, Overtime):
        within(PATIENCE, replay)
    record = test.game.blanks(len(moves) + 1)
    for ply, state in enumerate(states[: len(moves) + 1]):
        record[ply] = state
    return Position(RandomGame(seed, record, np.array(moves, np.int32), np.zeros((0, 0), np.uint64)), len(moves))


@law("legal_actions lists each action once", True)
def actions_are_listed_once(test: GameUnderTest) -> str:
    for position in test.unfinished():
        legal = test.legal(position.state)
        if len(set(legal)) < len(legal):
            twice = next(action for action, count in Counter(legal).items() if count > 1)
            raise Breach("legal_actions", f"action {twice} is listed twice", position)
    return f"{len(test.positions)} positions"


@law("utilities lie in [-1, 1] and among the declared values")
def utilities_are_declared(test: GameUnderTest) -> str:
    rules, ends = test.rules, 0
    for game in test.random_games:
        position = Position(game, game.plies)
        if not test.game.is_terminal(position.state):
            continue
        ends += 1
        utilities = test.game.utility(position.state)
        if not all(-1 <= value <= 1 for value in utilities):
            raise Breach("utility", f"utilities {utilities}; expected numbers in [-1, 1]", position)
        if rules.values and not all(value in rules.values for value in utilities):
            raise Breach("utility or values", f"utilities {utilities}; declared are {rules.values}", position)
    return f"{ends} ends"


ONE_SIDED = {
    kernels.FIRST: "always play the first legal action",
    kernels.LAST: "always play the last legal action",
    kernels.NO_END: "play on wherever they can",
}


@law("no integer of fewer than 64 bits overflows, in games that go on until max_plies too")
def integers_stay_in_range(test: GameUnderTest) -> str:
    for way in () if test.overflows.found else ONE_SIDED:
        try:
            within(test.seconds / 8, functools.partial(one_sided_interpreted, test, way, test.rules.max_plies))
        except OverflowError as error:
            raise Breach(place_of(error), seen_of(error)) from error
        except (IndexError, ZeroDivisionError, Overtime):
            continue  # the law of stopped games plays on, compiled with checks
    if test.overflows.found:
        overflow = test.overflows.found[0]
        raise Breach(overflow.place, overflow.seen, test.position_of_overflow(0))
    return "all that is played interpreted"


def one_sided_interpreted(test: GameUnderTest, way: int, most: int) -> RandomGame:
    rules = test.rules
    states, moves, actions = test.game.blanks(most + 2), np.zeros(most, np.int32), np.zeros(rules.max_legal, np.int32)
    rules.initial(states[0])
    with test.noting(functools.partial(one_sided_interpreted, test, way), most):
        plies = kernels.one_sided_game(rules)(states, moves, test.rng(0), actions, way, most)
    return RandomGame(0, states[: plies + 1], moves[:plies], np.zeros((0, 0), np.uint64))


@law("where max_plies stops a game, as it may if nobody plays at random, its utilities are as declared")
def stopped_games_have_utilities(test: GameUnderTest) -> str:
    rules, count, stopped = test.rules, 0, 0
    play = test.game.kernel(kernels.one_sided_game, checked=True)
    for way, words in ONE_SIDED.items():
        for seed in range(2):
            count += 1
            game = one_sided(test, play, way, seed)
            position = Position(game, game.plies)
            if test.game.is_terminal(position.state):
                continue
            stopped += 1
            answers = test.answers(position.state)
            try:
                must_sum_to_zero(answers)
            except Breach as breach:
                breach.position = position
                raise
            if not all(-1 <= value <= 1 and value in (rules.values or (value,)) for value in answers.utilities):
                seen = (
                    f"utilities {answers.utilities} after max_plies = {rules.max_plies} plies of players that {words}"
                )
                raise Breach("utility, values or max_plies", f"{seen}; declared are {rules.values}", position)
    return f"{count} games, {stopped} of them stopped after {rules.max_plies} plies"


def one_sided(test: GameUnderTest, play: Any, way: int, seed: int) -> RandomGame:
    rules, most = test.rules, test.rules.max_plies
    states, moves = test.game.blanks(most + 2), np.zeros(most, np.int32)
    test.game._initial(states[0])
    actions, rng = np.zeros(rules.max_legal, np.int32), test.rng(seed)
    play(states, moves, rng.copy(), actions, way, 0)  # compiles, which takes longer than PATIENCE
    try:
        plies = int(within(PATIENCE, lambda: play(states, moves, rng, actions, way, most)))
    except (IndexError, ZeroDivisionError, Overtime) as error:
        seen = f"players that {ONE_SIDED[way]}: {seen_of(error)}"
        raise Breach("an index, a division or a loop", seen) from error
    return RandomGame(seed, states[: plies + 1], moves[:plies], np.zeros((0, 0), np.uint64))


@law("only result and null_result change a state, and result does so in the same way each time")
def other_functions_change_nothing(test: GameUnderTest) -> str:
    game, rules, count = test.game, test.rules, 0
    with np.errstate(over="ignore"):
        for position in test.sample(200):
            count += 1
            for name, call in reading_functions(test, position.state).items():
                after = position.state.copy()
                try:
                    call(after)
                except Exception as error:
                    raise Breach(place_of(error), seen_of(error), position) from error
                field = test.differing_field(after, position.state)
                if field:
                    raise Breach(name, f"State.{field} is different after the call", position)
            for action in game.legal_actions(position.state)[:5]:
                once, twice = position.state.copy(), position.state.copy()
                rules.result(once, action)
                rules.result(twice, action)
                field = test.differing_field(once, twice)
                if field:
                    seen = f"playing {game.names[action]} twice from one position gives two values of State.{field}"
                    raise Breach("result", seen, position)
    return f"{count} positions"


def reading_functions(test: GameUnderTest, state: GameState) -> dict[str, Callable[[GameState], Any]]:
    """The functions that may be called in a position and have to leave it as it is, by name, with their other arguments filled in."""
    game, rules = test.game, test.rules
    actions, planes = np.zeros(rules.max_legal, np.int32), np.zeros(rules.observation, np.float32)
    values = np.zeros(max(1, len(rules.feature_names)), np.float32)
    functions: dict[str, Callable[[GameState], Any]] = {
        "is_terminal": rules.is_terminal,
        "legal_actions": lambda state: rules.legal_actions(state, actions),
        "key": rules.key,
        "observe": lambda state: rules.observe(state, 0, planes),
        "render": rules.render,
        "diagram": rules.diagram,
        "text": rules.text,
    }
    legal = [] if game.is_terminal(state) else test.legal(state)
    if gain := rules.gain:  # before what is derived from it
        functions["gain"] = lambda state: [gain(state, action) for action in legal]
    if features := rules.features:
        functions["features"] = lambda state: features(state, 0, values)
    if game.is_terminal(state):
        functions["utility"] = lambda state: rules.utility(state, 0)
        if ownership := rules.ownership:
            shares = np.zeros((rules.players, *rules.observation[1:]), np.float32)
            functions["ownership"] = lambda state: ownership(state, 0, shares)
        if score := rules.score:
            functions["score"] = lambda state: score(state, 0)
        return functions
    functions["to_move"] = rules.to_move
    functions["tactical_actions"] = lambda state: rules.tactical_actions(state, actions)
    if legal and game.to_move(state) != CHANCE:
        functions["random_action"] = lambda state: rules.random_action(state, actions, generator(1))
    return functions


@law("the outcomes of chance have positive probabilities that sum to one")
def probabilities_sum_to_one(test: GameUnderTest) -> str:
    if test.rules.chance is None:
        return "no chance"
    count = 0
    for position in test.unfinished():
        if test.game.to_move(position.state) != CHANCE:
            continue
        count += 1
        odds = [test.game.chance(position.state, action) for action in test.legal(position.state)]
        if min(odds) <= 0 or abs(sum(odds) - 1) > 1e-9:
            raise Breach(
                "chance", f"{len(odds)} outcomes, the least likely {min(odds):g}, in sum {sum(odds):g}", position
            )
    return f"{count} chance positions"
