"""Backgammon without the doubling cube. An action moves one checker, `8/5`, `bar/22`, `6/off`, or rolls, `31`, `66`.

Both players number the points from their own side and move from 24 towards 1, so a point p of one is the point 25-p of
the other. As player 0 (X) sees the board:

    13 14 15 16 17 18 | 19 20 21 22 23 24      bar: 25, off: 0
    12 11 10  9  8  7 |  6  5  4  3  2  1

Player 0 begins; the first roll is never a double. A checker moves by one die to a point that the opponent does not hold
with two or more; a lone checker there (a blot) is hit and goes to the bar. Checkers on the bar enter first. With all
checkers on points 1 to 6 they are borne off, by the exact die or, from the highest point held, by a larger one. Doubles
are played four times. As many dice must be played as can be, and the larger one if only one of two can. Where no die
can be played, the turn passes by itself, so dice may be rolled twice running.

The player who has borne off all checkers wins 1/3; 2/3 (a gammon) if the opponent has borne off none; 1 (a backgammon) if also
one of the opponent's is on the bar or in the winner's home. After 3000 actions and rolls the game is drawn.

A position is written `4HPwATDgc/ABMA:0:31`: GNU Backgammon's position id (the checkers of the player not on turn, then
of the one on turn), the player on turn, and the dice left: `31`, `3`, `6666` (fresh doubles), `-` before a roll,
`first` before the very first one.

`start=nackgammon` puts two checkers on 23, one less on 13 and 6; `start=hyper` is three checkers, on 22, 23 and 24.
"""

import base64
import re
from collections.abc import Sequence
from typing import Literal

import numpy as np

from base.bits import ONE, ZERO, U, highest_bit, lowest_bit, popcount
from base.seeds import mix
from games import CHANCE, Diagram, Rules
from games.types import Actions, Bits, Features, GameState, Planes

OFF, BAR, POINTS = 0, 25, 24
MAX_PLIES = 3000
BAR_BIT = U(1 << BAR)
HOME = U(0b1111110)
BOARD = U((1 << 25) - 2)
SIX_BITS = U(0b111111)

STARTS = {
    "standard": {6: 5, 8: 3, 13: 5, 24: 2},
    "nackgammon": {6: 4, 8: 3, 13: 4, 23: 2, 24: 2},
    "hyper": {22: 1, 23: 1, 24: 1},
}
VARIANTS = ("start=nackgammon", "start=hyper")

# Actions: moves by distance 1 to 6 and then by the point they start from (bearing off from p is the move of distance p,
# by any die); entering by each die; rolls.
ENTER = 6 * POINTS
ROLL = ENTER + 6
ROLLS = [(high, low) for high in range(1, 7) for low in range(1, high + 1)]
HIGH = np.array([high for high, low in ROLLS], np.int8)
LOW = np.array([low for high, low in ROLLS], np.int8)
ACTIONS = ROLL + len(ROLLS)

CODES = mix(np.arange(1, 2 * 26 + 1, dtype=np.uint64)).reshape(2, 26)
TURN_CODE = U(0x9E3779B97F4A7C15)


def names() -> list[str]:
    found = [""] * ACTIONS
    for distance in range(1, 7):
        for point in range(distance, POINTS + 1):
            to = point - distance
            found[(distance - 1) * POINTS + point - 1] = f"{point}/{to or 'off'}"
        found[ENTER + distance - 1] = f"bar/{BAR - distance}"
    found[ROLL:] = [f"{high}{low}" for high, low in ROLLS]
    return found


def position_id(*sides: list[int]) -> str:
    """GNU Backgammon's: for each point and the bar of either side as many ones as checkers and a zero, in base 64."""
    bits = "".join("1" * count + "0" for side in sides for count in side)
    return base64.b64encode(int(bits[::-1], 2).to_bytes(10, "little")).decode()[:14]


def checkers_of(text: str) -> tuple[list[int], list[int]]:
    """The inverse."""
    bits = f"{int.from_bytes(base64.b64decode(text + '=='), 'little'):080b}"[::-1]
    counts = [len(run) for run in bits.split("0")][:50]
    sides = counts[:25], counts[25:]
    if bits.count("0") < 50 or position_id(*sides) != text:
        raise ValueError(f"expected a position id as GNU Backgammon writes it, got '{text}'")
    return sides


def bit(point: int) -> Bits:
    return ONE << U(point)


def playable(held: Bits, free: Bits, die: int) -> Bits:
    """The points from which a checker can be moved by `die`."""
    if held & BAR_BIT:
        return BAR_BIT if free & (BAR_BIT >> U(die)) else ZERO
    found = held & (free << U(die))
    if held and held <= HOME:
        highest = highest_bit(held)
        found |= bit(highest) if highest < die else held & bit(die)
    return found


def start_of(action: int) -> int:
    return BAR if action >= ENTER else action % POINTS + 1


def end_of(action: int) -> int:
    return BAR - 1 - (action - ENTER) if action >= ENTER else action % POINTS - action // POINTS


def game(start: Literal["standard", "nackgammon", "hyper"] = "standard") -> Rules:
    State = np.dtype(
        [
            ("points", np.int8, (2, 26)),  # checkers on each point in their owner's view; 0: borne off, 25: on the bar
            ("held", np.uint32, 2),  # bit p: the player has checkers on p, in the player's own view; the bar is bit 25
            ("free", np.uint32, 2),  # bit p, 1 to 24: the player may land on p, own view
            ("plies", np.uint16),
            ("mover", np.int8),  # whose turn it is, also while the dice are rolled
            ("dice", np.int8, 2),  # those left: the larger and the smaller; 0 for none
            ("times", np.int8),  # how often the first of them can still be played
            ("opening", np.int8),  # 1 before the first roll
        ]
    )
    START = np.zeros(26, np.int8)
    for point, count in STARTS[start].items():
        START[point] = count
    CHECKERS = int(START.sum())

    def initial(state: GameState) -> None:
        state.points[0] = START
        state.points[1] = START
        state.opening = 1
        settle(state)

    def settle(state: GameState) -> None:
        """Computes `held` and `free` from the points."""
        for player in range(2):
            held, free = ZERO, BOARD
            for point in range(1, BAR + 1):
                if state.points[player, point] > 0:
                    held |= bit(point)
                if state.points[1 - player, point] > 1:
                    free &= ~bit(BAR - point)
            state.held[player] = held
            state.free[player] = free

    def to_move(state: GameState) -> int:
        return int(state.mover) if state.dice[0] > 0 else CHANCE

    def legal_actions(state: GameState, actions: Actions) -> int:
        if is_won(state):
            return 0
        high, low = int(state.dice[0]), int(state.dice[1])
        n = 0
        if high == 0:
            for roll in range(len(HIGH)):
                if state.opening == 0 or HIGH[roll] != LOW[roll]:
                    actions[n] = ROLL + roll
                    n += 1
            return n
        held, free = U(state.held[state.mover]), U(state.free[state.mover])
        by_high = playable(held, free, high)
        if low == 0:
            # With equal dice no move prevents another: what is free stays free within a turn, and a checker that can be
            # moved or borne off still can be after another has moved by the same number. So all orders are equally long.
            return write(actions, 0, by_high, high)
        by_low = playable(held, free, low)
        high_then_low = followed(state, by_high, high, by_low, low)
        low_then_high = followed(state, by_low, low, by_high, high)
        if high_then_low | low_then_high:
            by_high, by_low = high_then_low, low_then_high
        elif by_high:
            by_low = ZERO
        n = write(actions, 0, by_high, high)
        # A checker that either die bears off stands on the highest point held, no higher than either die. The other die
        # can then only bear off the next highest checker: both are one action, listed once.
        return write(actions, n, by_low & ~(by_high & (bit(low + 1) - ONE)), low)

    def write(actions: Actions, n: int, sources: Bits, die: int) -> int:
        if sources & BAR_BIT:
            actions[n] = ENTER + die - 1
            return n + 1
        while sources:
            point = lowest_bit(sources)
            sources &= sources - ONE
            actions[n] = (min(die, point) - 1) * POINTS + point - 1
            n += 1
        return n

    def followed(state: GameState, sources: Bits, die: int, others: Bits, other: int) -> Bits:
        """Those of `sources` from which a checker can be moved by `die` and then some checker by the `other` one.

        `others`: where the other die could be played at once.
        """
        if others & (others - ONE):
            return sources  # two points or more: the first move empties one at most
        held, free = U(state.held[state.mover]), U(state.free[state.mover])
        found = ZERO
        left = sources
        while left:
            point = lowest_bit(left)
            left &= left - ONE
            after = held ^ bit(point) if state.points[state.mover, point] == 1 else held
            if point > die:
                after |= bit(point - die)
            if playable(after, free, other):
                found |= bit(point)
        return found

    def result(state: GameState, action: int) -> None:
        state.plies += 1
        if action >= ROLL:
            high, low = HIGH[action - ROLL], LOW[action - ROLL]
            state.opening = 0
            state.dice[0] = high
            state.dice[1] = low if low < high else 0
            state.times = 1 if low < high else 4
        else:
            move(state, start_of(action), end_of(action))
        held, free = U(state.held[state.mover]), U(state.free[state.mover])
        for i in range(2):
            if state.dice[i] > 0 and playable(held, free, int(state.dice[i])):
                return
        state.dice[0] = state.dice[1] = state.times = 0
        state.mover = 1 - state.mover

    def move(state: GameState, point: int, to: int) -> None:
        mover, other = int(state.mover), 1 - int(state.mover)
        take_off(state, mover, point)
        if to > OFF and state.points[other, BAR - to] > 0:
            take_off(state, other, BAR - to)
            put_on(state, other, BAR)
        put_on(state, mover, to)
        die = point - to
        if to == OFF and die < state.dice[0]:  # the smallest die that suffices
            die = int(state.dice[1]) if state.dice[1] >= die else int(state.dice[0])
        if die == state.dice[1]:
            state.dice[1] = 0
        elif state.times > 1:
            state.times -= 1
        else:
            state.dice[0] = state.dice[1]
            state.dice[1] = 0
            state.times = 1 if state.dice[0] > 0 else 0

    def take_off(state: GameState, player: int, point: int) -> None:
        count = state.points[player, point] - 1
        state.points[player, point] = count
        if count == 0:
            state.held[player] = U(state.held[player]) & ~bit(point)
        elif count == 1 and point < BAR:
            state.free[1 - player] = U(state.free[1 - player]) | bit(BAR - point)

    def put_on(state: GameState, player: int, point: int) -> None:
        count = state.points[player, point] + 1
        state.points[player, point] = count
        if point > OFF:
            state.held[player] = U(state.held[player]) | bit(point)
            if count == 2 and point < BAR:
                state.free[1 - player] = U(state.free[1 - player]) & ~bit(BAR - point)

    def is_won(state: GameState) -> bool:
        return bool(state.points[0, OFF] == CHECKERS or state.points[1, OFF] == CHECKERS)

    def is_terminal(state: GameState) -> bool:
        return is_won(state) or state.plies >= MAX_PLIES

    def utility(state: GameState, player: int) -> float:
        if not is_won(state):
            return 0.0
        loser = 1 if state.points[0, OFF] == CHECKERS else 0
        stake = 1.0
        if state.points[loser, OFF] == 0:
            stake = 3.0 if U(state.held[loser]) >> U(19) else 2.0
        return -stake / 3.0 if player == loser else stake / 3.0

    def chance(state: GameState, action: int) -> float:
        if state.opening:
            return 1.0 / 15.0
        return 1.0 / 36.0 if HIGH[action - ROLL] == LOW[action - ROLL] else 2.0 / 36.0

    def key(state: GameState) -> Bits:
        word = ZERO
        for player in range(2):
            for point in range(1, BAR + 1):
                word += U(state.points[player, point]) * CODES[player, point]
        turn = U(state.mover + 2 * state.opening + 4 * state.times)
        dice = U(state.dice[0] + 8 * state.dice[1])
        return mix(mix(word) ^ (turn + U(32) * dice) * TURN_CODE)

    def gain(state: GameState, action: int) -> float:
        """Bearing off, most for the last checker; hitting, by the pips that it costs the opponent."""
        if action >= ROLL:
            return 0.0
        to = end_of(action)
        if to == OFF:
            return 1.0 if state.points[state.mover, OFF] == CHECKERS - 1 else 1.0 / 25.0
        return to / 25.0 if state.points[1 - state.mover, BAR - to] > 0 else 0.0

    def observe(state: GameState, player: int, planes: Planes) -> None:
        """Columns are points as the viewer counts. Of the viewer, then the opponent: at least one, two, three checkers,
        half of those beyond. Constant: bars, borne off, dice left, further plays of doubles, viewer's turn, first roll.
        """
        for seat in range(2):
            owner = player if seat == 0 else 1 - player
            for point in range(1, BAR):
                count = state.points[owner, point]
                column = point - 1 if seat == 0 else POINTS - point
                for level in range(3):
                    if count > level:
                        planes[4 * seat + level, 0, column] = 1
                if count > 3:
                    planes[4 * seat + 3, 0, column] = (count - 3) / 2
            planes[8 + seat, 0, :] = state.points[owner, BAR] / 2
            planes[10 + seat, 0, :] = state.points[owner, OFF] / CHECKERS
        for i in range(2):
            if state.dice[i] > 0:
                planes[11 + state.dice[i], 0, :] = 1
        if state.times > 1:
            planes[18, 0, :] = (state.times - 1) / 3
        planes[19, 0, :] = 1 if state.mover == player else 0
        planes[20, 0, :] = state.opening

    def features(state: GameState, player: int, values: Features) -> None:
        contact = highest_bit(U(state.held[0])) + highest_bit(U(state.held[1])) > BAR
        for seat in range(2):
            sign = 1 if seat == player else -1
            held, against, free = U(state.held[seat]), U(state.held[1 - seat]), U(state.free[seat])
            made = ZERO
            pips = prime = longest = back = home = stacked = deep = boxed_in = blots = exposed = at_risk = 0
            while held:
                point = highest_bit(held)
                held ^= bit(point)
                count = int(state.points[seat, point])
                pips += count * point
                if point > 6 and popcount(free >> U(point - 6) & SIX_BITS) <= 2:  # by two of six dice at most
                    boxed_in += count
                if point < BAR:
                    back += count if point > 18 else 0
                    home += count if point <= 6 else 0
                    deep += count if point <= 2 else 0
                    stacked += max(count - 3, 0)
                    if count > 1:
                        prime = prime + 1 if made & bit(point + 1) else 1
                        longest = max(longest, prime)
                        made |= bit(point)
                    else:
                        blots += 1
                        if against >> U(BAR + 1 - point) & SIX_BITS:  # the opponent's checkers one to six pips away
                            exposed += 1
                            at_risk += BAR - point
            on_bar = int(state.points[seat, BAR])
            values[0] += sign * pips
            values[1] += 0 if contact else sign * pips
            values[2] += sign * state.points[seat, OFF]
            values[3] += sign * on_bar
            values[4] += sign * on_bar * (6 - popcount(free >> U(19) & SIX_BITS))
            values[5] += sign * blots
            values[6] += sign * exposed
            values[7] += sign * at_risk
            values[8] += sign * popcount(made)
            values[9] += sign * popcount(made & HOME)
            values[10] += sign * popcount(made >> U(19))
            values[11] += sign * longest
            values[12] += sign * boxed_in
            values[13] += sign * back
            values[14] += sign * home
            values[15] += sign * deep
            values[16] += sign * stacked
        values[18] = 1 if state.mover == player else -1
        values[17] = values[18] * (state.times * state.dice[0] + state.dice[1])
        for i in (0, 1, 7, 17):
            values[i] /= 10

    def render(state: GameState) -> str:
        def cell(mark: str, count: int, level: int, empty: str) -> str:
            """What stands `level` checkers above a point; the sixth is shown as the number of all."""
            if level == 5:
                return f"{count:>2}" if count > 5 else "  "
            return f" {mark}" if count > level else empty

        def row(points: range, level: int) -> str:
            cells = []
            for point in points:
                own, other = int(state.points[0, point]), int(state.points[1, BAR - point])
                cells.append(cell("X" if own else "O", own + other, level, "  " if level else " ."))
            entering = 0 if BAR - 1 in points else 1  # each bar beside the home where its checkers enter
            bar = cell("XO"[entering], int(state.points[entering, BAR]), level, "  ")
            return f"|{' '.join(cells[:6])} |{bar} |{' '.join(cells[6:])} |"

        def edge(points: range) -> str:
            cells = [f"{point:>2}" for point in points]
            return f" {' '.join(cells[:6])}  bar  {' '.join(cells[6:])}"

        top, bottom = range(13, 25), range(12, 0, -1)
        upper = [row(top, level) for level in range(6)]
        lower = [row(bottom, level) for level in reversed(range(6))]
        lines = [edge(top), *upper, "|" + "-" * 18 + "|---|" + "-" * 18 + "|", *lower, edge(bottom)]
        return "\n".join([*lines, *summary(state, "XO")])

    def summary(state: GameState, names: Sequence[str]) -> list[str]:
        lines = []
        for player in range(2):
            pips = sum(point * int(state.points[player, point]) for point in range(1, BAR + 1))
            lines.append(f"{names[player]}: {pips} pips, {state.points[player, OFF]} off")
        if is_won(state):
            return [*lines, f"{names[1 - state.mover]} has won"]
        return [*lines, f"{names[state.mover]} {'plays ' + dice_text(state) if state.dice[0] else 'rolls'}"]

    def diagram(state: GameState) -> Diagram:
        """Player 0's points run from 24, above on the right, round to 1, below on the right."""
        cells = [[""] * 14 for _ in range(11)]

        def pile(mark: str, count: int, column: int, is_above: bool) -> None:
            for level in range(min(count, 5)):
                more = str(count) if level == 4 and count > 5 else ""
                cells[level if is_above else 10 - level][column] = mark + more

        for point in range(1, BAR):
            column = 12 - point if point <= 12 else point - 13
            own, other = int(state.points[0, point]), int(state.points[1, BAR - point])
            pile("X" if own else "O", own + other, column + (column > 5), point > 12)
        for player, mark in enumerate("XO"):
            pile(mark, int(state.points[player, BAR]), 6, player == 0)
            pile(mark, int(state.points[player, OFF]), 13, player == 1)
        above, below = [str(point) for point in range(13, 25)], [str(point) for point in range(12, 0, -1)]
        top, bottom = ([*names[:6], "bar", *names[6:], "off"] for names in (above, below))
        dice = list(map(int, dice_text(state))) if state.dice[0] else []
        symbols = {"X": "black disc", "O": "white disc"}
        note = "\n".join(summary(state, ("black", "white")))
        return Diagram(cells, symbols, "points", top=top, dice=dice, bottom=bottom, note=note)

    def dice_text(state: GameState) -> str:
        return str(state.dice[0]) * int(state.times) + (str(state.dice[1]) if state.dice[1] else "")

    def text(state: GameState) -> str:
        sides = [state.points[player, 1:].tolist() for player in (1 - state.mover, state.mover)]
        dice = "first" if state.opening else dice_text(state) or "-"
        return f"{position_id(*sides)}:{state.mover}:{dice}"

    def parse(state: GameState, text: str) -> None:
        plain = re.fullmatch(r"[A-Za-z0-9+/]{14}", text)  # player 0 is about to roll
        match = re.fullmatch(r"([A-Za-z0-9+/]{14}):([01]):(first|-|[1-6]{1,4})", f"{text}:0:-" if plain else text)
        if match is None:
            example = "4HPwATDgc/ABMA:0:31 (dice left: 31, 3, 6666; '-' before a roll, 'first' before the first)"
            raise ValueError(f"expected POSITION-ID:PLAYER:DICE as in {example}, got '{text}'")
        state.mover = int(match[2])
        place(state, match[1])
        if match[3] == "first":
            if state.mover != 0 or (state.points != START).any():
                raise ValueError(f"expected the start and player 0 before the first roll, got '{text}'")
            state.opening = 1
        elif match[3] != "-":
            if is_won(state):
                raise ValueError(f"expected no dice where the game is over, got '{match[3]}'")
            dice = [int(digit) for digit in match[3]]
            falling = sorted(set(dice), reverse=True)
            if len(falling) > 2 or (len(falling) == 2 and dice != falling):
                raise ValueError(f"expected the larger die first, or up to four equal ones, got '{match[3]}'")
            state.dice[: len(falling)] = falling
            state.times = dice.count(dice[0])
            held, free = U(state.held[state.mover]), U(state.free[state.mover])
            if not any(playable(held, free, die) for die in dice):
                raise ValueError(f"expected dice that can be played (else the turn has passed), got '{match[3]}'")

    def place(state: GameState, text: str) -> None:
        """Puts up the checkers of a position id."""
        for player, side in zip((1 - state.mover, state.mover), checkers_of(text), strict=True):
            if sum(side) > CHECKERS:
                raise ValueError(f"expected at most {CHECKERS} checkers each, got {sum(side)} of player {player}")
            state.points[player, OFF] = CHECKERS - sum(side)
            state.points[player, 1:] = side
        for point in range(1, BAR):
            if state.points[0, point] and state.points[1, BAR - point]:
                raise ValueError(f"expected one player's checkers on a point, got both on player 0's {point}")
        if all(state.points[:, BAR] > 0) and np.all(state.points[:, 1:7] > 1):
            raise ValueError("expected no two closed boards with checkers on both bars: no last hit is possible")
        if state.points[state.mover, OFF] == CHECKERS:
            raise ValueError(f"expected checkers of the player on turn, got none of player {state.mover}")
        settle(state)

    return Rules(
        State,
        initial,
        to_move,
        legal_actions,
        result,
        is_terminal,
        utility,
        players=2,
        actions=ACTIONS,
        max_plies=MAX_PLIES,
        max_legal=max(len(ROLLS), 2 * CHECKERS),
        values=(-1, -2 / 3, -1 / 3, 0, 1 / 3, 2 / 3, 1),
        chance=chance,
        history=["held", "free", "plies"],
        observe=observe,
        observation=(21, 1, POINTS),
        policy_planes=6,
        key=key,
        gain=gain,
        features=features,
        feature_names=[
            "pips to go, in tens",
            "pips to go in a race, in tens",
            "borne off",
            "on the bar",
            "on the bar, times points closed there",
            "blots",
            "blots within direct shots",
            "pips these could lose, in tens",
            "points made",
            "points made at home",
            "anchors",
            "longest prime",
            "boxed in",
            "in the opponent's home",
            "home",
            "on the two deepest points",
            "stacked beyond three",
            "dice to play, in tens",
            "to move",
        ],
        feature_weights=[
            -0.15,
            -0.1,
            0.02,
            -0.15,
            -0.08,
            -0.02,
            -0.06,
            -0.04,
            0.04,
            0.08,
            0.08,
            0.06,
            -0.06,
            -0.04,
            0.01,
            -0.06,
            -0.03,
            0.15,
            0.1,
        ],
        weight_unit=0.4,
        names=names(),
        render=render,
        diagram=diagram,
        text=text,
        parse=parse,
    )
