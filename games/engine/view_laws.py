"""The laws of how positions appear (see `laws.py`): to networks, to tables by key, to a linear evaluation, to people."""

from __future__ import annotations

import itertools
import math

import numpy as np

from base.errors import UserError
from base.seeds import Rng, below
from base.threads import Overtime
from games.engine.game_under_test import GameUnderTest, Position, RandomGame
from games.engine.quick_laws import Breach, law
from games.engine.rules import CHANCE
from games.engine.trial import place_of, seen_of
from games.types import Actions, Planes

MUTATED = 400  # positions, each changed once


@law("equal observations mean equal legal moves in the viewer's frame, history aside")
def observations_determine_moves(test: GameUnderTest) -> str:
    seen: dict[bytes, tuple[frozenset[int], bytes, Position]] = {}
    count = 0
    for position in test.unfinished():
        mover = test.game.to_move(position.state)
        if mover is None or mover == CHANCE:
            continue
        count += 1
        planes = test.game.observe(position.state)
        if not np.isfinite(planes).all():
            raise Breach("observe", "planes that are not finite", position)
        moves = frozenset(viewed(test, mover, action) for action in test.legal(position.state))
        identity = test.identity(position.state)
        other_moves, other_identity, other = seen.setdefault(planes.tobytes(), (moves, identity, position))
        if other_moves != moves and (other_identity != identity or not test.rules.history):
            text = f"the same planes as after {path_or_start(test, other)}, but other legal moves"
            raise Breach("observe or action_view", text, position)
    return f"{count} positions, {len(seen)} different"


def viewed(test: GameUnderTest, player: int, action: int) -> int:
    view = test.rules.action_view
    return action if view is None else int(view[player, action])


def path_or_start(test: GameUnderTest, position: Position) -> str:
    return test.path(position) or "(the start)"


@law("a game replayed under a symmetry has turned observations, turned legal moves and the same outcome")
def symmetries_hold(test: GameUnderTest) -> str:
    games = test.random_games[:20]
    for symmetry, game in itertools.product(test.rules.symmetries, games):
        replay_turned(test, symmetry.name, symmetry.observation, symmetry.actions, game)
    return f"{len(test.rules.symmetries)} symmetries, {len(games)} games each"


def replay_turned(test: GameUnderTest, name: str, observation: Actions, actions: Actions, played: RandomGame) -> None:
    """Plays a random game beside its image under one symmetry and compares them at each ply."""
    game, view = test.game, test.rules.action_view
    function = f"symmetries ('{name}')"
    inverse = None if view is None else np.argsort(view, axis=1)

    def turned(player: int, action: int) -> int:
        after = int(actions[viewed(test, player, action)])
        return after if inverse is None else int(inverse[player, after])

    image = game.initial()
    for ply in range(played.plies + 1):
        position = Position(played, ply)
        state = position.state
        if game.is_terminal(state) or game.is_terminal(image):
            both = game.is_terminal(state) and game.is_terminal(image)
            if not both or game.utility(state) != game.utility(image):
                raise Breach(function, "the turned game ends differently", position)
            if test.rules.ownership is not None:
                for player in range(test.rules.players):
                    shares, others = game.ownership(state, player), game.ownership(image, player)
                    if not np.array_equal(turned_cells(observation, shares), others):
                        raise Breach(f"{function} or ownership", "the turned game has other owners", position)
            return
        mover = game.to_move(state)
        if mover is None or mover == CHANCE:
            image = game.result(image, int(played.moves[ply]))
            continue
        if not np.array_equal(game.observe(state).ravel()[observation], game.observe(image, mover).ravel()):
            what = "the start is not symmetric" if ply == 0 else "the turned game has other planes"
            raise Breach(f"{function} or observe", what, position)
        if {turned(mover, action) for action in test.legal(state)} != set(test.legal(image)):
            raise Breach(f"{function} or legal_actions", "the turned game has other legal moves", position)
        if ply < played.plies:
            image = game.result(image, turned(mover, int(played.moves[ply])))


@law("equal keys mean equal positions, and a position has one key whatever the path, history aside")
def keys_identify_positions(test: GameUnderTest) -> str:
    by_key: dict[int, tuple[bytes, Position]] = {}
    by_identity: dict[bytes, tuple[int, Position]] = {}
    for position in [*test.positions, *transposed(test)]:
        key, identity = test.game.key(position.state), test.identity(position.state)
        other_identity, other = by_key.setdefault(key, (identity, position))
        if other_identity != identity:
            seen = f"the same key as after {path_or_start(test, other)}, which is another position"
            raise Breach("key", seen, position)
        other_key, other = by_identity.setdefault(identity, (key, position))
        if other_key != key:
            seen = f"another key than after {path_or_start(test, other)}, which is the same position"
            raise Breach("key", seen, position)
    return f"{len(test.positions)} positions, {len(by_key)} different"


def transposed(test: GameUnderTest) -> list[Position]:
    """Positions after three actions, the first and the third exchanged: the same ones by another path, where that is legal."""
    game, found = test.game, []
    for position in test.sample(300):
        played, ply = position.game, position.ply
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
        found.append(Position(RandomGame(played.seed, record, moves, played.digests), ply + 3))
    return found


@law("features are finite, and for two players one's are the other's with the sign changed")
def features_are_antisymmetric(test: GameUnderTest) -> str:
    if test.rules.features is None:
        return "it has none"
    for position in test.positions:
        views = [test.game.features(position.state, player) for player in range(test.rules.players)]
        for name in test.rules.feature_names:
            values = [view[name] for view in views]
            if not all(map(math.isfinite, values)):
                raise Breach("features", f"'{name}' is {values}; expected finite numbers", position)
            if len(values) == 2 and abs(values[0] + values[1]) > 1e-4 * (1 + abs(values[0])):
                seen = f"'{name}' is {values[0]:g} for player 0 and {values[1]:g} for player 1"
                raise Breach("features", seen, position)
    return f"{len(test.positions)} positions"


@law("ownership is shares of cells; who has the greater score has the greater utility; scores count the cells owned")
def scores_agree_with_utilities(test: GameUnderTest) -> str:
    game, rules, ends = test.game, test.rules, 0
    if rules.ownership is None and rules.score is None:
        return "it has neither"
    beyond: dict[
        tuple[int, int], tuple[float, Position]
    ] = {}  # of two players, the difference that owned cells do not explain
    for played in test.random_games:
        position = Position(played, played.plies)
        if not game.is_terminal(position.state):
            continue
        ends += 1
        cells = owned_cells(test, position)
        scores = game.scores(position.state) if rules.score is not None else None
        utilities = game.utility(position.state)
        for scored in scores or ():
            if not abs(scored) <= rules.largest_score:
                raise Breach(
                    "score or largest_score", f"a score of {scored:g}; the largest is {rules.largest_score:g}", position
                )
        for one, other in itertools.combinations(range(rules.players if scores else 0), 2):
            assert scores is not None
            lead = scores[one] - scores[other]
            if np.sign(lead) != np.sign(utilities[one] - utilities[other]):
                raise Breach("score or utility", f"scores {scores} and utilities {utilities}", position)
            if cells is not None:
                unexplained = lead - (cells[one] - cells[other])
                before, first = beyond.setdefault((one, other), (unexplained, position))
                if abs(unexplained - before) > 1e-4:
                    seen = f"scores {scores}, cells owned {cells}; other than after {path_or_start(test, first)}, {before:g} apart"
                    raise Breach("score or ownership", seen, position)
    return f"{ends} ends"


def owned_cells(test: GameUnderTest, position: Position) -> list[float] | None:
    """How many cells each player owns; None where the game does not declare it."""
    if test.rules.ownership is None:
        return None
    views = [test.game.ownership(position.state, player) for player in range(test.rules.players)]
    for player, shares in enumerate(views):
        if not (shares >= 0).all() or not (shares.sum(0) <= 1 + 1e-6).all():
            raise Breach("ownership", "a share below 0, or a cell of which more than 1 is owned", position)
        if not np.allclose(np.roll(shares.sum((1, 2)), player), views[0].sum((1, 2))):
            seen = f"players own {np.roll(shares.sum((1, 2)), player)} cells in the view of player {player}, in that of player 0"
            raise Breach("ownership", f"{seen} {views[0].sum((1, 2))}", position)
    return [float(count) for count in views[0].sum((1, 2))]


def turned_cells(observation: Actions, shares: Planes) -> Planes:
    """Planes of cells, turned as the first plane of an observation is."""
    flat = shares.reshape(len(shares), -1)
    found: Planes = flat[:, observation[: flat.shape[1]]].reshape(shares.shape)
    return found


@law("an action's name is one word and leads back to it; a position's text leads back to it")
def names_and_texts_parse_back(test: GameUnderTest) -> str:
    game, count = test.game, 0
    for position in test.sample(300):
        count += 1
        for action in [] if game.is_terminal(position.state) else test.legal(position.state):
            name = game.names[action]
            if not name or len(name.split()) != 1:
                raise Breach("names", f"action {action} is called '{name}'; expected one word", position)
            if game.action(position.state, name) != action:
                raise Breach("names", f"'{name}' leads to another action than {action}", position)
    for position in test.sample(100):
        try:
            text = game.text(position.state)
            parsed = game.parse(text, trusted=True)  # whether games end is checked by another law
        except UserError as error:
            raise Breach("text or parse", str(error), position) from error
        except Exception as error:
            raise Breach(place_of(error), seen_of(error), position) from error
        if test.identity(parsed) != test.identity(position.state):
            raise Breach("text or parse", f"'{text}' leads to another position: {game.text(parsed)}", position)
        if "\n" in text:
            raise Breach("text", "text of several lines", position)
    return f"{count} positions"


@law("changed bytes of a position are refused, or are a position from which no index leaves its array")
def changed_bytes_stay_in_memory(test: GameUnderTest) -> str:
    game, count, accepted = test.game, 0, 0
    for position in test.sample(MUTATED):
        count += 1
        data = mutated(position.state.tobytes(), test.rng(count))
        try:
            state = game.restored(data)
        except UserError:
            continue
        accepted += 1
        try:
            game.play_with_checks(state, games=5)
        except (IndexError, ZeroDivisionError, Overtime) as error:
            seen = f"a position that leads out of memory is accepted: {seen_of(error)}"
            raise Breach("parse", seen, test.alone(state)) from error
    return f"{count} changed positions, of which {accepted} are positions"


def mutated(data: bytes, rng: Rng) -> bytes:
    """The bytes of a record with one to three of them changed, or one repeated over a stretch."""
    found = bytearray(data)
    for _ in range(1 + below(rng, 3)):
        at, length = below(rng, len(found)), 1 if below(rng, 4) else 1 + below(rng, 8)
        value = (0, 1, 2, 3, 127, 128, 254, 255, found[at] ^ 1 << below(rng, 8), below(rng, 256))[below(rng, 10)]
        found[at : at + length] = bytes([value]) * len(found[at : at + length])
    return bytes(found)
