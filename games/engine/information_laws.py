"""The laws of hidden information (see `laws.py`): what players notice, views, and worlds that fit a view."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from base.errors import UserError
from games.engine.game_under_test import GameUnderTest, Position
from games.engine.information import NOTHING
from games.engine.quick_laws import Breach, law
from games.engine.rules import CHANCE
from games.types import GameState

NOTHING_HIDDEN = "nothing is hidden"
MOST_WORLDS = 3_000  # positions of a game in which all worlds are listed
EXPECTED = 40.0  # times that a listed world has to come up; none at all is then a breach
MOST_DRAWS = 4_000
FEWEST_DRAWS = 40  # of fewer, all may be the true world by chance, or because the first positions have no other
RESAMPLED = 60  # positions


@law("movers notice each of their own actions as something else, and events are numbers with names")
def movers_notice_their_actions(test: GameUnderTest) -> str:
    if not test.rules.hides_information:
        return NOTHING_HIDDEN
    game, rules = test.game, test.rules
    names = rules.actions + len(rules.seen_names)
    for position in test.unfinished():
        mover, own = game.to_move(position.state), dict[int, int]()
        for action in test.legal(position.state):
            for player in range(rules.players):
                event = int(game._seen(position.state, action, player))
                if not NOTHING <= event < names:
                    seen = f"player {player} notices '{game.names[action]}' as {event}; expected -1 to {names - 1}"
                    raise Breach("seen or seen_names", seen, position)
                if player == mover and event == NOTHING:
                    raise Breach("seen", f"player {player} does not notice its own '{game.names[action]}'", position)
                if player == mover and own.setdefault(event, action) != action:
                    both = f"'{game.names[own[event]]}' and '{game.names[action]}'"
                    raise Breach("seen", f"player {player} notices its own {both} as the same", position)
    return f"{len(test.positions)} positions"


@law("equal information means an equal view: mover, end and all that is not hidden")
def information_determines_views(test: GameUnderTest) -> str:
    if not test.rules.hides_information:
        return NOTHING_HIDDEN
    game = test.game
    found: dict[tuple[int, int], tuple[GameState, Position]] = {}
    for position in test.positions:
        for player in range(test.rules.players):
            view = game.view(position.state, player)
            other, first = found.setdefault((player, int(view.information[player])), (view, position))
            same = f"player {player} has noticed the same as after {test.path(first) or '(the start)'}"
            field = test.differing_field(view, other)
            if field:
                raise Breach("seen, private or hidden", f"{same}, but sees another {field}", position)
            if game.to_move(position.state) != game.to_move(first.state):
                raise Breach("seen", f"{same}, but another player moves", position)
    return f"{len(test.positions)} positions, {len(found)} different views"


@law("a view has the mover, the end, the observation and the mover's actions of its position, and can be drawn")
def views_suffice(test: GameUnderTest) -> str:
    if not test.rules.hides_information:
        return NOTHING_HIDDEN
    game, count = test.game, 0
    for position in test.sample(300):
        state = position.state
        mover = game.to_move(state)
        for player in range(test.rules.players):
            count += 1
            view = game.view(state, player)
            if game.to_move(view) != mover:
                raise Breach("to_move or is_terminal", f"another answer on the view of player {player}", position)
            if mover == player and game.legal_actions(view) != game.legal_actions(state):
                raise Breach("legal_actions", f"other actions on the view of player {player}", position)
            if not np.array_equal(game.observe(view, player), game.observe(state, player)):
                raise Breach("observe", f"the planes of player {player} hold what is not in its view", position)
            for name, draw in (("render", game.render), ("diagram", game.diagram)):
                try:
                    draw(view)
                except UserError as error:
                    raise Breach(name, f"the view of player {player}: {error}", position) from error
    return f"{count} views"


@law("a resampled world keeps what its viewer has noticed, is not always the truth, and every such world can come up")
def worlds_are_resampled(test: GameUnderTest) -> str:
    if not test.rules.hides_information:
        return NOTHING_HIDDEN
    game, count, others, drawn = test.game, 0, 0, 0
    for position in test.sample(RESAMPLED):
        mover = game.to_move(position.state)
        if mover is None or mover == CHANCE:
            continue
        count += 1
        for number in range(4):
            try:
                world = game.resample(position.state, mover, test.rng(4 * count + number))
            except UserError as error:
                raise Breach("resample", str(error), position) from error
            field = test.differing_field(game.view(world, mover), game.view(position.state, mover))
            if field:
                raise Breach("resample", f"player {mover} sees another {field} in the world", position)
            drawn += 1
            others += bool(test.differing_field(world, position.state))
    if drawn >= FEWEST_DRAWS and not others and two_worlds(test):
        raise Breach("resample", f"{drawn} worlds drawn, all of them the true one")
    listed = every_world_comes_up(test)
    return f"{count} views, {others} of {drawn} worlds not the true one{listed}"


def two_worlds(test: GameUnderTest) -> bool:
    """Whether two positions are known in which a mover has noticed the same."""
    known: dict[tuple[int, int], bytes] = {}
    for position in test.unfinished():
        mover = test.game.to_move(position.state)
        if mover is not None and mover != CHANCE:
            data = position.state.tobytes()
            if known.setdefault((mover, int(position.state.information[mover])), data) != data:
                return True
    return False


def every_world_comes_up(test: GameUnderTest) -> str:
    """Draws as many worlds of some views as all of them need to come up, in games small enough to list them."""
    worlds = listed_worlds(test)
    if worlds is None:
        return ""
    game, views = test.game, list(worlds.items())
    checked = 0
    for (player, _), found in views[:: max(1, len(views) // 20)]:
        draws = min(MOST_DRAWS, int(EXPECTED * sum(found.values()) / min(found.values())) + 1)
        state = np.frombuffer(next(iter(found)), test.rules.State)[0]
        drawn = {game.resample(state, player, test.rng(number)).tobytes() for number in range(draws)}
        for world, weight in found.items():
            if weight / sum(found.values()) * draws >= EXPECTED and world not in drawn:
                missing = test.alone(np.frombuffer(world, test.rules.State)[0])
                seen = f"a world of player {player} never comes up in {draws} draws; others: {len(drawn)}"
                raise Breach("resample", seen, missing)
        checked += 1
    return f", all worlds of {checked} views"


def listed_worlds(test: GameUnderTest) -> dict[tuple[int, int], dict[bytes, float]] | None:
    """Every position of a game, by its mover and what the mover has noticed, with the probability that random play leads there."""
    game, found = test.game, defaultdict[tuple[int, int], dict[bytes, float]](dict)
    level, count = [(game.initial(), 1.0)], 0
    while level:
        following: list[tuple[GameState, float]] = []
        for state, weight in level:
            count += 1
            mover = game.to_move(state)
            if mover is None:
                continue
            legal = game.legal_actions(state)
            if count + len(following) + len(legal) > MOST_WORLDS:
                return None
            if mover != CHANCE:
                found[mover, int(state.information[mover])][state.tobytes()] = weight
            for action in legal:
                odds = game.chance(state, action) if mover == CHANCE else 1 / len(legal)
                following.append((game.result(state, action), weight * odds))
        level = following
    return found
