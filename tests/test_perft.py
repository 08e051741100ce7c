"""Action sequences counted: against published numbers, against a slow count over interpreted rules, and by laws.

Published numbers are data, `data/perft/*.json`, found without being named here:

    {"game": "chess", "source": "who published them, and where",
     "cases": [{"name": "start", "perft": [20, 400, 8902]},
               {"name": "with captures", "position": "text", "turns": true, "perft": [48]}]}

| of a case   | what                                                                            | left out      |
|-------------|---------------------------------------------------------------------------------|---------------|
| `perft`     | how many sequences of 1, 2, 3 … plies there are                                 |               |
| `options`   | the setting of the game                                                         | the default   |
| `position`  | from where, in the game's notation                                              | the start     |
| `turns`     | true: lengths are whole turns, not plies                                        | false         |
| `ends`      | how many sequences of 1, 2, 3 … leave nothing to move; checked by the slow count  | not checked   |
| `positions` | how many different positions they lead to, paths aside; the same                 | not checked   |

The slow count goes as deep as `ends` and `positions` do, and over all of `perft` up to SLOW sequences.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice, takewhile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from base.errors import UserError
from base.files import read_json
from games import Game, Rules, load, variants

DATA = Path(__file__).parent / "data" / "perft"
SLOW = 2_000
MODERATE = [name for name in variants() if load(name).rules.max_legal <= 250]  # larger ones take minutes interpreted
TURNS = [name for name in MODERATE if not name.startswith("hearts")]  # whose first turn deals all the cards


@dataclass(frozen=True)
class Case:
    game: str
    name: str
    perft: list[int]
    options: str = ""
    position: str | None = None
    turns: bool = False
    ends: list[int] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)

    def played(self) -> Game:
        return load(f"{self.game}:{self.options}")

    def start(self) -> Any:
        game = self.played()
        return game.initial() if self.position is None else game.parse(self.position)


def published() -> list[Any]:
    found = []
    for file in sorted(DATA.glob("*.json")):
        data = read_json(file)
        assert set(data) == {"game", "source", "cases"} and data["source"], file
        found += [pytest.param(Case(data["game"], **case), id=f"{file.stem}-{case['name']}") for case in data["cases"]]
    return found


@dataclass
class Ply:
    """What the slow count finds after so many plies (or turns): `weights` by position, how many sequences lead there."""

    weights: dict[bytes, int]
    ends: int
    alternates: bool  # so far, no player has moved twice in a row

    @property
    def sequences(self) -> int:
        return sum(self.weights.values())


def slowly(game: Game, start: Any, turns: bool = False) -> Iterator[Ply]:
    """Ply by ply, merging equal records: no recursion, no compiled code, nothing in common with the kernel but the rules."""
    rules = game.rules
    actions = np.zeros(rules.max_legal, np.int32)
    alternates = True

    def step(layer: dict[bytes, int]) -> tuple[dict[bytes, int], dict[bytes, int], int]:
        """Sequences one action longer: those at the end of a turn, those within one, and how many end the game."""
        nonlocal alternates
        whole: dict[bytes, int] = {}
        partial: dict[bytes, int] = {}
        ends = 0
        for data, weight in layer.items():
            state = np.frombuffer(data, rules.State)[0]
            n = rules.legal_actions(state, actions)
            mover = rules.to_move(state) if n else None
            for action in actions[:n].copy():
                after = state.copy()
                rules.result(after, int(action))
                is_over = rules.legal_actions(after, actions) == 0
                same = not is_over and rules.to_move(after) == mover
                alternates &= not same
                ends += weight if is_over else 0
                into = partial if turns and same else whole
                into[after.tobytes()] = into.get(after.tobytes(), 0) + weight
        return whole, partial, ends

    layer = {start.tobytes(): 1}
    while True:
        with np.errstate(over="ignore"):
            found, partial, ends = step(layer)
            while partial:
                more, partial, ended = step(partial)
                ends += ended
                for data, weight in more.items():
                    found[data] = found.get(data, 0) + weight
        layer = found
        yield Ply(layer, ends, alternates)


def different(game: Game, layer: dict[bytes, int]) -> int:
    """How many positions there are, whatever way led to them."""
    names = [name for name in game.rules.State.names or () if name not in game.rules.history]
    records = (np.frombuffer(data, game.rules.State)[0] for data in layer)
    return len({b"".join(np.asarray(state[name]).tobytes() for name in names) for state in records})


# ── published numbers ──


@pytest.mark.parametrize("case", published())
def test_perft_is_as_published(case: Case) -> None:
    game, start = case.played(), case.start()
    depths = range(1, len(case.perft) + 1)
    assert [game.perft(depth, start, case.turns) for depth in depths] == case.perft


@pytest.mark.parametrize("case", published())
def test_slow_count_over_interpreted_rules_agrees(case: Case) -> None:
    game = case.played()
    few = len(list(takewhile(lambda count: count <= SLOW, case.perft)))
    depths = min(len(case.perft), max(few, len(case.ends), len(case.positions)))
    for depth, ply in enumerate(islice(slowly(game, case.start(), case.turns), depths)):
        assert ply.sequences == case.perft[depth]
        if depth < len(case.ends):
            assert ply.ends == case.ends[depth]
        if depth < len(case.positions):
            assert different(game, ply.weights) == case.positions[depth]


def test_tic_tac_toe_is_255168_games_over_5478_positions() -> None:
    (case,) = [param.values[0] for param in published() if param.values[0].game == "tic_tac_toe"]
    assert sum(case.ends) == 255_168
    assert 1 + sum(case.positions) == 5_478


# ── laws ──


def finished(game: Game, seed: int) -> Any:
    """The last position of a random game."""
    rng, state = np.random.default_rng(seed), game.initial()
    while legal := game.legal_actions(state):
        state = game.result(state, int(rng.choice(legal)))
    return state


def depth_of(game: Game, sequences: int) -> int:
    """The greatest depth up to 4 with no more sequences than that."""
    return max(depth for depth in range(5) if depth == 0 or 0 < game.perft(depth) <= sequences)


@pytest.mark.parametrize("name", MODERATE)
@pytest.mark.parametrize("turns", [False, True], ids=["plies", "turns"])
def test_there_is_one_empty_sequence_and_none_from_a_finished_position(name: str, turns: bool) -> None:
    game = load(name)
    assert game.perft(0, turns=turns) == 1
    for seed in range(3):
        end = finished(game, seed)
        assert game.perft(0, end, turns) == 0
        assert [game.perft(depth, end, turns) for depth in (1, 2, 3)] == [0, 0, 0]
        assert game.divide(2, end, turns) == {}


@pytest.mark.parametrize(("name", "turns"), [*((name, False) for name in MODERATE), *((name, True) for name in TURNS)])
def test_divide_sums_to_perft(name: str, turns: bool) -> None:
    game = load(name)
    for depth in range(1, depth_of(game, 30_000) + 1):
        divided = game.divide(depth, turns=turns)
        assert sum(divided.values()) == game.perft(depth, turns=turns)
        assert sorted(divided) == sorted(game.names[action] for action in game.legal_actions(game.initial()))


@pytest.mark.parametrize("name", TURNS)
def test_turns_are_plies_where_players_alternate_and_longest_runs_elsewhere(name: str) -> None:
    game = load(name)
    depth = max(1, depth_of(game, SLOW))
    plies = list(islice(slowly(game, game.initial()), depth))
    whole = list(islice(slowly(game, game.initial(), turns=True), depth))
    assert [game.perft(each + 1) for each in range(depth)] == [ply.sequences for ply in plies]
    by_turns = [game.perft(each + 1, turns=True) for each in range(depth)]
    assert by_turns == [ply.sequences for ply in whole]
    if plies[-1].alternates:
        assert by_turns == [ply.sequences for ply in plies]


def counter(run: int, moves: int, cap: int) -> Game:
    """Two choices at every ply; players move `run` times in a row; no move after `moves` plies; stopped as drawn after `cap`."""

    def legal_actions(state: Any, actions: Any) -> int:
        actions[0], actions[1] = 0, 1
        return 2 if state.plies < moves else 0

    def result(state: Any, action: int) -> None:
        state.plies += 1

    rules = Rules(
        np.dtype([("plies", np.uint8)]),
        initial=lambda state: None,
        to_move=lambda state: state.plies // run % 2,
        legal_actions=legal_actions,
        result=result,
        is_terminal=lambda state: state.plies >= min(cap, moves),
        utility=lambda state, player: 0.0,
        players=2,
        actions=2,
        max_plies=cap,
    )
    return Game(rules, "counter", "counter", {})


def test_a_draw_by_counter_does_not_end_perft() -> None:
    game = counter(run=1, moves=9, cap=3)
    assert game.random_games(1, seed=1)[1] == 3
    assert [game.perft(depth) for depth in (3, 4, 9, 10)] == [8, 16, 512, 0]
    assert [game.perft(depth, turns=True) for depth in (3, 4, 9, 10)] == [8, 16, 512, 0]
    assert game.divide(4) == {"0": 8, "1": 8}


def test_a_position_that_is_drawn_by_counter_has_no_sequences_itself() -> None:
    game = counter(run=1, moves=9, cap=3)
    drawn = game.play("0 0 0")
    assert game.movements(drawn) == [0, 1]
    assert [game.perft(depth, drawn) for depth in (0, 1, 2)] == [0, 0, 0]


def test_a_turn_of_many_actions_is_one() -> None:
    game = counter(run=5, moves=12, cap=12)
    assert [game.perft(depth, turns=True) for depth in (1, 2)] == [2**5, 2**10]
    assert game.perft(3, turns=True) == 2**12  # the game ends within the turn, which makes it whole
    assert game.perft(4, turns=True) == 0
    assert game.divide(2, turns=True) == {"0": 2**9, "1": 2**9}


def test_a_negative_depth_is_refused() -> None:
    with pytest.raises(UserError, match="depth: expected 0 or more, got -1"):
        load("nim").perft(-1)
