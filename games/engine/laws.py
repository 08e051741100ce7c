"""The laws a game is held to. Each takes the `Patient` and returns the first breach, or None, and how much it looked at.

The first line of a law's docstring is its name, as the doctor and the tests show it.
"""

from __future__ import annotations

import functools
import itertools
import math
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
from games.engine.endgame_laws import endgames_are_numbered, the_past_draws_in_time
from games.engine.patient import POSITIONS, Law, Patient, Played, Position, Verdict, name_of, sample
from games.engine.rules import CHANCE
from games.engine.trial import PATIENCE, Broken, is_of_rules, place_of, wander
from games.types import Actions, GameState


def can_be_played(patient: Patient) -> Verdict:
    """the rules run: interpreted, no function raises an error, and each comes to an end"""
    law = name_of(can_be_played)
    spent, plies = 0.0, 0
    for seed in range(patient.games):
        most = patient.plies_affordable(patient.seconds / 2, spent, plies)
        if not most:
            break
        start = time.perf_counter()
        try:
            plies += within(PATIENCE, functools.partial(patient.play, seed, "interpreted", most)).plies + 1
        except UserError:
            raise
        except (Exception, Overtime) as error:
            place, seen = blamed(patient, seed, error) or (place_of(error), seen_of(error))
            return patient.finding(law, place, seen, last_position(patient, seed)), f"{seed} games"
        spent += time.perf_counter() - start
    return None, f"{plies} positions"


def same_in_three_ways(patient: Patient) -> Verdict:
    """interpreted = compiled = bounds-checked: the same games, the same answers"""
    law = name_of(same_in_three_ways)
    spent, plies = 0.0, 0
    for how in ("checked", "compiled"):
        patient.play(0, how, 0)  # compiles, so that no game waits for it
    for seed in range(patient.games):
        try:
            checked = patient.play_for(PATIENCE, seed, "checked")
            ways = {"compiled": patient.play_for(PATIENCE, seed, "compiled")}
        except (IndexError, ZeroDivisionError, Overtime) as error:
            unknown = "an index, a division or a loop", f"compiled with checks: {seen_of(error)}"
            place, seen = blamed(patient, seed, error) or unknown
            return patient.finding(law, place, seen, last_position(patient, seed)), f"{seed} games"
        most = patient.plies_affordable(patient.seconds, spent, plies)
        if most:
            start = time.perf_counter()
            try:
                ways["interpreted"] = within(2 * PATIENCE, functools.partial(patient.play, seed, "interpreted", most))
            except (Exception, Overtime) as error:  # further on than can_be_played got
                seen = f"interpreted: {seen_of(error)}"
                return patient.finding(law, place_of(error), seen, last_position(patient, seed)), f"{seed} games"
            spent += time.perf_counter() - start
            plies += ways["interpreted"].plies + 1
        for way, other in ways.items():
            difference = differing(patient, other, checked, shortened=way == "interpreted" and other.plies == most)
            if difference:
                ply, function, what = difference
                seen = f"{what} differs: {way} against compiled with checks; the usual cause is a type (U(1), int(...))"
                return patient.finding(law, function, seen, Position(checked, ply)), f"{seed} games"
        if len(patient.positions) < POSITIONS:
            patient.keep(checked)
    return None, f"{patient.games} games, {plies} positions of them interpreted"


def blamed(patient: Patient, seed: int, error: BaseException) -> tuple[str, str] | None:
    """The function and what was seen of it, where a game fails in the engine (an answer was no number) or in compiled code (which knows
    no lines): the same game once more, interpreted and watched."""
    if is_of_rules(error):
        return None
    state, rules = patient.game.blank(), patient.rules

    def replay() -> None:
        rules.initial(state)
        wander(rules, state, patient.rng(seed), rules.max_plies, ask_all=True)

    try:
        within(PATIENCE, replay)
    except Broken as broken:
        return broken.function, broken.seen
    except (Exception, Overtime) as found:
        same = isinstance(error, Overtime) or not isinstance(found, Overtime)  # or it was no more than slow
        return (place_of(found), seen_of(found)) if same and is_of_rules(found) else None
    return None


def seen_of(error: BaseException) -> str:
    if isinstance(error, Overtime):
        return "still at it after many seconds; is there a loop that never ends?"
    return f"{type(error).__name__}: {error}"


def differing(patient: Patient, one: Played, other: Played, shortened: bool) -> tuple[int, str, str] | None:
    """The ply, the function and the answer in which two runs of one game part; `shortened`: `one` was cut off."""
    for ply in range(min(one.plies, other.plies) + 1):
        field = patient.differing_field(one.states[ply], other.states[ply])
        if field:
            return max(ply - 1, 0), "result" if ply else "initial", f"State.{field} after it"
        columns = np.flatnonzero(one.digests[ply] != other.digests[ply])
        if len(columns):
            function = kernels.EXAMINED[columns[0]]
            return ply, function, "its answer"
        if ply < min(one.plies, other.plies) and one.moves[ply] != other.moves[ply]:
            return ply, "random_action", "its choice"
    if one.plies == other.plies or shortened:
        return None
    return min(one.plies, other.plies), "is_terminal", "the length of the game"


def last_position(patient: Patient, seed: int) -> Position:
    """Where a game that fails has got to: replayed interpreted, without the questions that may be what fails."""
    rules = patient.rules
    states, moves = [patient.game.blank()], list[int]()

    def replay() -> None:
        actions, rng, sample = np.zeros(rules.max_legal, np.int32), patient.rng(seed), kernels.sampler(rules)
        rules.initial(states[0])
        while not rules.is_terminal(states[-1]) and len(moves) <= rules.max_plies:
            following = states[-1].copy()
            move = int(sample(states[-1], actions, rng))
            rules.result(following, move)
            states.append(following)
            moves.append(move)

    with np.errstate(over="ignore"), suppress(Exception, Overtime):
        within(PATIENCE, replay)
    record = patient.game.blanks(len(moves) + 1)
    for ply, state in enumerate(states[: len(moves) + 1]):
        record[ply] = state
    return Position(Played(seed, record, np.array(moves, np.int32), np.zeros((0, 0), np.uint64)), len(moves))


def there_is_a_legal_action(patient: Patient) -> Verdict:
    """an unfinished position has a legal action, each is listed once and has a number, somebody is to move"""
    law = name_of(there_is_a_legal_action)
    rules = patient.rules
    for position in patient.unfinished():
        legal = patient.legal(position.state)
        mover = patient.game.to_move(position.state)
        if not legal:
            seen = "no legal action, but is_terminal says that the game goes on"
            return patient.finding(law, "legal_actions or is_terminal", seen, position), ""
        if len(set(legal)) < len(legal):
            twice = next(action for action, count in Counter(legal).items() if count > 1)
            return patient.finding(law, "legal_actions", f"action {twice} is listed twice", position), ""
        wrong = [action for action in legal if not 0 <= action < rules.actions]
        if wrong:
            return patient.finding(
                law, "legal_actions", f"action {wrong[0]}; expected 0 to {rules.actions - 1}", position
            ), ""
        lowest = CHANCE if rules.chance else 0
        if mover is None or not lowest <= mover < rules.players:
            return patient.finding(law, "to_move", f"{mover}; expected {lowest} to {rules.players - 1}", position), ""
    return None, f"{len(patient.positions)} positions"


def games_end(patient: Patient) -> Verdict:
    """games end within the declared number of plies"""
    law = name_of(games_end)
    for played in patient.played:
        last = played.states[-1]
        if not patient.game.is_terminal(last) and played.plies >= patient.rules.max_plies and patient.legal(last):
            seen = f"no end after max_plies = {patient.rules.max_plies} plies"
            return patient.finding(law, "is_terminal or max_plies", seen, Position(played, played.plies)), ""
    longest = max((played.plies for played in patient.played), default=0)
    return None, f"longest of {len(patient.played)} games: {longest} of {patient.rules.max_plies} plies"


def utilities_fit(patient: Patient) -> Verdict:
    """utilities lie within [-1, 1], among the declared values, and sum to zero where declared"""
    law = name_of(utilities_fit)
    rules, ends = patient.rules, 0
    for played in patient.played:
        position = Position(played, played.plies)
        if not patient.game.is_terminal(position.state):
            continue
        ends += 1
        utilities = patient.game.utility(position.state)
        if not all(-1 <= value <= 1 for value in utilities):
            return patient.finding(law, "utility", f"utilities {utilities}; expected numbers in [-1, 1]", position), ""
        if rules.values and not all(value in rules.values for value in utilities):
            return patient.finding(
                law, "utility or values", f"utilities {utilities}; declared are {rules.values}", position
            ), ""
        if rules.zero_sum and abs(sum(utilities)) > 1e-6:
            return patient.finding(
                law, "utility or zero_sum", f"utilities {utilities} sum to {sum(utilities):g}", position
            ), ""
    return None, f"{ends} ends"


def questions_change_nothing(patient: Patient) -> Verdict:
    """asking changes nothing: only result and null_result touch the state, and they do the same each time"""
    law = name_of(questions_change_nothing)
    game, rules, count = patient.game, patient.rules, 0
    with np.errstate(over="ignore"):
        for position in sample(patient, 200):
            count += 1
            for name, ask in questions_for(patient, position.state).items():
                asked = position.state.copy()
                try:
                    ask(asked)
                except Exception as error:
                    return patient.finding(law, place_of(error), seen_of(error), position), ""
                field = patient.differing_field(asked, position.state)
                if field:
                    return patient.finding(law, name, f"State.{field} is another after the question", position), ""
            for action in game.legal_actions(position.state)[:5]:
                once, twice = position.state.copy(), position.state.copy()
                rules.result(once, action)
                rules.result(twice, action)
                field = patient.differing_field(once, twice)
                if field:
                    seen = f"playing {game.names[action]} twice from one position gives two values of State.{field}"
                    return patient.finding(law, "result", seen, position), ""
    return None, f"{count} positions"


def questions_for(patient: Patient, state: GameState) -> dict[str, Callable[[GameState], Any]]:
    """The functions that may be asked of a position, by name, with their other arguments filled in."""
    game, rules = patient.game, patient.rules
    actions, planes = np.zeros(rules.max_legal, np.int32), np.zeros(rules.observation, np.float32)
    values = np.zeros(max(1, len(rules.feature_names)), np.float32)
    questions: dict[str, Callable[[GameState], Any]] = {
        "is_terminal": rules.is_terminal,
        "legal_actions": lambda state: rules.legal_actions(state, actions),
        "key": rules.key,
        "observe": lambda state: rules.observe(state, 0, planes),
        "render": rules.render,
        "text": rules.text,
    }
    legal = [] if game.is_terminal(state) else patient.legal(state)
    if gain := rules.gain:  # before what is derived from it
        questions["gain"] = lambda state: [gain(state, action) for action in legal]
    if features := rules.features:
        questions["features"] = lambda state: features(state, 0, values)
    if game.is_terminal(state):
        return questions | {"utility": lambda state: rules.utility(state, 0)}
    questions["to_move"] = rules.to_move
    questions["tactical_actions"] = lambda state: rules.tactical_actions(state, actions)
    if legal and game.to_move(state) != CHANCE:
        questions["random_action"] = lambda state: rules.random_action(state, actions, generator(1))
    return questions


def observations_tell_moves(patient: Patient) -> Verdict:
    """equal observations mean equal legal moves in the viewer's frame, history aside"""
    law = name_of(observations_tell_moves)
    seen: dict[bytes, tuple[frozenset[int], bytes, Position]] = {}
    count = 0
    for position in patient.unfinished():
        mover = patient.game.to_move(position.state)
        if mover is None or mover == CHANCE:
            continue
        count += 1
        planes = patient.game.observe(position.state)
        if not np.isfinite(planes).all():
            return patient.finding(law, "observe", "planes that are not finite", position), ""
        moves = frozenset(viewed(patient, mover, action) for action in patient.legal(position.state))
        identity = patient.identity(position.state)
        known = seen.setdefault(planes.tobytes(), (moves, identity, position))
        if known[0] != moves and (known[1] != identity or not patient.rules.history):
            other = " ".join(patient.game.names[move] for move in known[2].moves) or "(the start)"
            text = f"the same planes as after {other}, but other legal moves"
            return patient.finding(law, "observe or action_view", text, position), ""
    return None, f"{count} positions, {len(seen)} different"


def viewed(patient: Patient, player: int, action: int) -> int:
    view = patient.rules.action_view
    return action if view is None else int(view[player, action])


def symmetries_hold(patient: Patient) -> Verdict:
    """a game replayed under a symmetry has turned observations, turned legal moves and the same outcome"""
    law = name_of(symmetries_hold)
    game, rules = patient.game, patient.rules
    inverse = None if rules.action_view is None else np.argsort(rules.action_view, axis=1)

    def turned(player: int, action: int, table: Actions) -> int:
        after = int(table[viewed(patient, player, action)])
        return after if inverse is None else int(inverse[player, after])

    for symmetry, played in itertools.product(rules.symmetries, patient.played[:20]):
        mirror = game.initial()
        function = f"symmetries ('{symmetry.name}')"
        for ply in range(played.plies + 1):
            position = Position(played, ply)
            state = position.state
            if game.is_terminal(state) or game.is_terminal(mirror):
                same_end = (
                    game.is_terminal(state) and game.is_terminal(mirror) and game.utility(state) == game.utility(mirror)
                )
                if not same_end:
                    return patient.finding(law, function, "the turned game ends otherwise", position), ""
                break
            mover = game.to_move(state)
            if mover is None or mover == CHANCE:
                mirror = game.result(mirror, int(played.moves[ply]))
                continue
            planes, other = game.observe(state), game.observe(mirror, mover)
            if not np.array_equal(planes.ravel()[symmetry.observation], other.ravel()):
                what = "the start is not symmetric" if ply == 0 else "the turned game has other planes"
                return patient.finding(law, f"{function} or observe", what, position), ""
            legal = {turned(mover, action, symmetry.actions) for action in patient.legal(state)}
            if legal != set(patient.legal(mirror)):
                return patient.finding(
                    law, f"{function} or legal_actions", "the turned game has other legal moves", position
                ), ""
            if ply < played.plies:
                mirror = game.result(mirror, turned(mover, int(played.moves[ply]), symmetry.actions))
    return None, f"{len(rules.symmetries)} symmetries, {min(20, len(patient.played))} games each"


def keys_are_positions(patient: Patient) -> Verdict:
    """equal keys mean equal positions, and a position has one key whatever the path, history aside"""
    law = name_of(keys_are_positions)
    by_key: dict[int, tuple[bytes, Position]] = {}
    by_identity: dict[bytes, tuple[int, Position]] = {}
    pairs = [(position, patient.game.key(position.state)) for position in patient.positions]
    for position, key in pairs + transposed(patient):
        identity = patient.identity(position.state)
        other_identity, other = by_key.setdefault(key, (identity, position))
        if other_identity != identity:
            seen = f"the same key as after {names(patient, other)}, which is another position"
            return patient.finding(law, "key", seen, position), ""
        other_key, other = by_identity.setdefault(identity, (key, position))
        if other_key != key:
            seen = f"another key than after {names(patient, other)}, which is the same position"
            return patient.finding(law, "key", seen, position), ""
    return None, f"{len(pairs)} positions, {len(by_key)} different"


def transposed(patient: Patient) -> list[tuple[Position, int]]:
    """Positions reached by exchanging the first and the third of three actions: the same ones by another path, where that is legal."""
    game, found = patient.game, []
    for position in sample(patient, 300):
        played, ply = position.played, position.ply
        if ply + 3 > played.plies:
            continue
        first, second, third = (int(move) for move in played.moves[ply : ply + 3])
        states = [position.state]
        try:
            for move in (third, second, first):
                states.append(game.result(states[-1], move))
        except UserError:
            continue
        record = game.blanks(ply + 4)
        record[: ply + 1] = played.states[: ply + 1]
        for i in range(1, 4):
            record[ply + i] = states[i]
        moves = np.array([*position.moves, third, second, first], np.int32)
        other = Position(Played(played.seed, record, moves, played.digests), ply + 3)
        found.append((other, game.key(other.state)))
    return found


def names(patient: Patient, position: Position) -> str:
    return " ".join(patient.game.names[move] for move in position.moves) or "(the start)"


def features_are_antisymmetric(patient: Patient) -> Verdict:
    """features are finite, and for two players one's are the other's with the sign changed"""
    law = name_of(features_are_antisymmetric)
    if patient.rules.features is None:
        return None, "it has none"
    for position in patient.positions:
        views = [patient.game.features(position.state, player) for player in range(patient.rules.players)]
        for name in patient.rules.feature_names:
            numbers = [view[name] for view in views]
            if not all(map(math.isfinite, numbers)):
                return patient.finding(law, "features", f"'{name}' is {numbers}; expected finite numbers", position), ""
            if len(numbers) == 2 and abs(numbers[0] + numbers[1]) > 1e-4 * (1 + abs(numbers[0])):
                seen = f"'{name}' is {numbers[0]:g} for player 0 and {numbers[1]:g} for player 1"
                return patient.finding(law, "features", seen, position), ""
    return None, f"{len(patient.positions)} positions"


def names_parse_back(patient: Patient) -> Verdict:
    """an action's name is one word and leads back to it; a position's text leads back to it"""
    law = name_of(names_parse_back)
    game, count = patient.game, 0
    for position in sample(patient, 300):
        count += 1
        for action in [] if game.is_terminal(position.state) else patient.legal(position.state):
            name = game.names[action]
            if not name or len(name.split()) != 1:
                return patient.finding(
                    law, "names", f"action {action} is called '{name}'; expected one word", position
                ), ""
            if game.action(position.state, name) != action:
                return patient.finding(law, "names", f"'{name}' leads to another action than {action}", position), ""
    for position in sample(patient, 100):
        try:
            text = game.text(position.state)
            back = game.parse(text, trusted=True)  # that games end is another law's
            if patient.identity(back) != patient.identity(position.state):
                seen = f"'{text}' leads back to another position: {game.text(back)}"
                return patient.finding(law, "text or parse", seen, position), ""
        except UserError as error:
            return patient.finding(law, "text or parse", str(error), position), ""
        except Exception as error:
            return patient.finding(law, place_of(error), seen_of(error), position), ""
        if "\n" in text:
            return patient.finding(law, "text", "text of several lines", position), ""
    return None, f"{count} positions"


def chances_sum_to_one(patient: Patient) -> Verdict:
    """the outcomes of chance have positive probabilities that sum to one"""
    law = name_of(chances_sum_to_one)
    if patient.rules.chance is None:
        return None, "no chance"
    count = 0
    for position in patient.unfinished():
        if patient.game.to_move(position.state) != CHANCE:
            continue
        count += 1
        odds = [patient.game.chance(position.state, action) for action in patient.legal(position.state)]
        if min(odds) <= 0 or abs(sum(odds) - 1) > 1e-9:
            seen = f"{len(odds)} outcomes, the least likely {min(odds):g}, in sum {sum(odds):g}"
            return patient.finding(law, "chance", seen, position), ""
    return None, f"{count} rolls"


def tactics_are_gains(patient: Patient) -> Verdict:
    """tactical_actions lists the legal actions that have a gain"""
    law = name_of(tactics_are_gains)
    rules, gain = patient.rules, patient.rules.gain
    if gain is None:
        return None, "it has none"
    actions, count = np.zeros(rules.max_legal, np.int32), 0
    with np.errstate(over="ignore"):
        for position in sample(patient, 300):
            count += 1
            if patient.game.is_terminal(position.state):
                continue
            listed = sorted(actions[: rules.tactical_actions(position.state, actions)].tolist())
            wanted = sorted(action for action in patient.legal(position.state) if gain(position.state, action) > 0)
            if listed != wanted:
                words = [" ".join(patient.game.names[action] for action in found) for found in (listed, wanted)]
                seen = f"listed are [{words[0]}], a gain have [{words[1]}]"
                return patient.finding(law, "tactical_actions or gain", seen, position), ""
    return None, f"{count} positions"


def random_actions_are_uniform(patient: Patient) -> Verdict:
    """random_action gives every legal action equally often, and no other"""
    law = name_of(random_actions_are_uniform)
    if "random_action" in patient.rules.derived:
        return None, "derived from legal_actions"
    draw = patient.game.kernel(kernels.draws)
    count = 0
    for position in sample(patient, 40):
        mover = patient.game.to_move(position.state)
        if mover is None or mover == CHANCE:
            continue
        count += 1
        legal = patient.legal(position.state)
        times = np.zeros(patient.rules.actions, np.int64)
        states = patient.game.scratch(position.state, 1)
        actions = np.zeros(patient.rules.max_legal, np.int32)
        draw(states, actions, patient.rng(count), 200 * len(legal), times)
        if times.sum() != times[legal].sum():
            illegal = next(action for action in np.flatnonzero(times) if action not in legal)
            return patient.finding(
                law, "random_action", f"gives '{patient.game.names[illegal]}', an illegal action", position
            ), ""
        surplus = float(
            ((times[legal] - 200.0) ** 2 / 200.0).sum()
        )  # chi-square with len(legal) - 1 degrees of freedom
        freedom = len(legal) - 1
        if surplus > freedom + 7 * math.sqrt(2 * freedom) + 30:
            often, seldom = (legal[int(pick(times[legal]))] for pick in (np.argmax, np.argmin))
            seen = (
                f"of {200 * len(legal)} draws '{patient.game.names[often]}' has {times[often]}, "
                f"'{patient.game.names[seldom]}' {times[seldom]}; expected about 200 each"
            )
            return patient.finding(law, "random_action", seen, position), ""
    return None, f"{count} positions"


def a_null_move_passes(patient: Patient) -> Verdict:
    """null_result hands the move to the other player, or leaves the state alone and says so"""
    law = name_of(a_null_move_passes)
    null_result = patient.rules.null_result
    if null_result is None:
        return None, "it has none"
    game, count = patient.game, 0
    with np.errstate(over="ignore"):
        for position in sample(patient, 300):
            mover = game.to_move(position.state)
            if mover is None or mover == CHANCE:
                continue
            after = position.state.copy()
            done = null_result(after)
            field = patient.differing_field(after, position.state)
            if not done and field:
                return patient.finding(law, "null_result", f"returns False, but State.{field} is another", position), ""
            if done:
                count += 1
                if game.is_terminal(after) or game.to_move(after) == mover:
                    return patient.finding(law, "null_result", "the other player is not to move after it", position), ""
                if game.key(after) == game.key(position.state):
                    return patient.finding(law, "null_result or key", "the key is the same after it", position), ""
    return None, f"{count} passes"


LAWS: tuple[Law, ...] = (
    can_be_played,
    same_in_three_ways,
    there_is_a_legal_action,
    games_end,
    utilities_fit,
    questions_change_nothing,
    chances_sum_to_one,
    observations_tell_moves,
    symmetries_hold,
    keys_are_positions,
    features_are_antisymmetric,
    names_parse_back,
    tactics_are_gains,
    random_actions_are_uniform,
    a_null_move_passes,
    endgames_are_numbered,
    the_past_draws_in_time,
)
