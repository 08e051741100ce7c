"""Defaults for what a game's file leaves out: planes, key, names, text, all derived from the fields of its dtype.

Each function takes the `Rules` and returns the plain function of the contract.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from base.bits import U, wrapping_add
from base.seeds import below, mix
from games.engine import information
from games.types import Actions, Bits, GameState, Planes, Rng

if TYPE_CHECKING:
    from games.engine.rules import Rules


LONGEST_NUMBER = 64  # characters; Python's own conversions of longer ones take quadratic time


def _own_fields(rules: Rules) -> list[str]:
    """Those of the game's file."""
    return [name for name in rules.State.names or () if name not in information.TRACKED]


def _position_fields(rules: Rules) -> list[str]:
    return [name for name in rules.State.names or () if name not in rules.history]


# ── key ──


def key(rules: Rules) -> Callable[[GameState], Bits]:
    """A hash of all fields that are not history."""

    def start(state: GameState, word: Bits) -> Bits:
        return word

    fold: Callable[[GameState, Bits], Bits] = start
    for name in _position_fields(rules):
        fold = _then(fold, _folded(name, rules.State[name]))

    def key(state: GameState) -> Bits:
        return fold(state, U(0x243F6A8885A308D3))

    return key


def _folded(name: str, field: np.dtype[Any]) -> Callable[[GameState, Bits], Bits]:
    step = U(0x9E3779B97F4A7C15)

    def bits_of(value: Any) -> Bits:
        return np.float64(value + 0.0).view(np.uint64)  # -0.0 is 0.0

    word_of: Callable[[Any], Bits] = bits_of if field.base.kind == "f" else U

    def array(state: GameState, word: Bits) -> Bits:
        for value in state[name].flat:
            word = mix(wrapping_add(word ^ word_of(value), step))
        return word

    def number(state: GameState, word: Bits) -> Bits:
        return mix(wrapping_add(word ^ word_of(state[name]), step))

    return array if field.shape else number


def _then(
    first: Callable[[GameState, Bits], Bits], second: Callable[[GameState, Bits], Bits]
) -> Callable[[GameState, Bits], Bits]:
    def both(state: GameState, word: Bits) -> Bits:
        return second(state, first(state, word))

    return both


# ── observation ──


def board(rules: Rules) -> tuple[int, int]:
    """As the game's file has it; else the last two dimensions of the largest field that has them, that of the player not counted."""
    shapes = [_shape_of(rules, name)[-2:] for name in _position_fields(rules)]
    found = [(shape[0], shape[1]) for shape in shapes if len(shape) == 2]
    return max([rules.board, *found], key=math.prod) if rules.board == (1, 1) else rules.board


def _shape_of(rules: Rules, name: str) -> tuple[int, ...]:
    """Of what one player has: so four scores are not taken for a board of four cells."""
    shape = rules.State[name].shape
    return shape[1:] if name in rules.owned or name in rules.private else shape


def _is_plane(rules: Rules, name: str) -> bool:
    """Whether the field fills the board, once or several times."""
    each, cells = _shape_of(rules, name), math.prod(rules.board)
    return cells > 1 and (math.prod(each) == cells or each[-1:] == (cells,) or each[-2:] == tuple(rules.board))


def seen(rules: Rules) -> str:
    """What a network sees, in words."""
    channels, rows, columns = rules.observation
    planes = f"{channels} plane{'s' * (channels > 1)} of {rows}×{columns}"
    if "observe" not in rules.derived:
        return f"{planes}, by observe"
    names = _visible_fields(rules)
    noticed = ", what the viewer has noticed" if rules.hides_information else ""
    cure = "a field of shape (rows, columns), or board=, makes a board"
    laid_out = [name for name in names if _is_plane(rules, name)]
    others = [name for name in names if name not in laid_out]
    if laid_out:
        constant = f"; the same in each cell: {', '.join(others)}{noticed}" if others or noticed else ""
        return f"{planes}, boards: {', '.join(laid_out)}{constant}"
    return f"{channels} numbers without a board: {', '.join(names)}{noticed}; {cure}"


def _visible_fields(rules: Rules) -> list[str]:
    return [name for name in _position_fields(rules) if not (rules.hides_information and name in rules.hidden)]


def observe(rules: Rules) -> tuple[Callable[[GameState, int, Planes], None], tuple[int, int, int]]:
    """All fields that are neither history nor hidden, of private ones the viewer's part: laid out as planes where they fill the board,
    else one constant plane for each number. Where information is hidden, then a plane of ones for each event that the viewer has
    noticed, by when and what it was: so different information never looks alike, also where the fields do."""
    rows, columns = rules.board
    cells = rows * columns

    def nothing(state: GameState, player: int, planes: Planes) -> None:
        return None

    write: Callable[[GameState, int, Planes], None] = nothing
    channels = 0
    for name in _visible_fields(rules):
        shape, is_plane = rules.State[name].shape, _is_plane(rules, name)
        size = int(np.prod(shape)) // (cells if is_plane else 1)
        if name in rules.private:
            size //= rules.players
            writer = _own(name, channels, size, rules.players, is_plane, rules.board)
        elif name in rules.owned:
            writer = _owned(name, channels, size, rules.players, is_plane, rules.board)
        elif name in rules.seats:
            seats = _seats if shape else _seat
            writer = seats(name, channels, size, rules.players, is_plane, rules.board)
        elif shape:
            writer = _array(name, channels, size, is_plane, rules.board)
        else:
            writer = _number(name, channels)
        write = _both(write, writer)
        channels += size
    if rules.hides_information:
        events = rules.actions + len(rules.seen_names)
        write = _both(write, _noticed(channels, rules.max_plies, events))
        channels += rules.max_plies * events
    return write, (channels, rows, columns)


def _array(
    name: str, first: int, channels: int, is_plane: bool, board: tuple[int, int]
) -> Callable[[GameState, int, Planes], None]:
    rows, columns = board

    def planes_of(state: GameState, player: int, planes: Planes) -> None:
        planes[first : first + channels] = state[name].reshape((channels, rows, columns))

    def constants(state: GameState, player: int, planes: Planes) -> None:
        for i, value in enumerate(state[name].flat):
            planes[first + i, :, :] = value

    return planes_of if is_plane else constants


def _owned(
    name: str, first: int, channels: int, players: int, is_plane: bool, board: tuple[int, int]
) -> Callable[[GameState, int, Planes], None]:
    rows, columns = board
    each = channels // players

    def planes_of(state: GameState, player: int, planes: Planes) -> None:
        values = state[name].reshape((players, each, rows, columns))
        for seat in range(players):
            planes[first + seat * each : first + (seat + 1) * each] = values[(player + seat) % players]

    def constants(state: GameState, player: int, planes: Planes) -> None:
        for i, value in enumerate(state[name].flat):
            seat = (i // each - player) % players
            planes[first + seat * each + i % each, :, :] = value

    return planes_of if is_plane else constants


def _own(
    name: str, first: int, channels: int, players: int, is_plane: bool, board: tuple[int, int]
) -> Callable[[GameState, int, Planes], None]:
    """The viewer's part of a field."""
    rows, columns = board

    def planes_of(state: GameState, player: int, planes: Planes) -> None:
        planes[first : first + channels] = state[name].reshape((players, channels, rows, columns))[player]

    def constants(state: GameState, player: int, planes: Planes) -> None:
        for i in range(channels):
            planes[first + i, :, :] = state[name].flat[player * channels + i]

    return planes_of if is_plane else constants


def _seats(
    name: str, first: int, channels: int, players: int, is_plane: bool, board: tuple[int, int]
) -> Callable[[GameState, int, Planes], None]:
    """Players' numbers, shown counted from the viewer; a negative one (no player) stays."""
    rows, columns = board

    def planes_of(state: GameState, player: int, planes: Planes) -> None:
        for i, value in enumerate(state[name].flat):
            channel, cell = divmod(i, rows * columns)
            planes[first + channel, cell // columns, cell % columns] = (
                (np.int64(value) - player) % players if value >= 0 else value
            )

    def constants(state: GameState, player: int, planes: Planes) -> None:
        for i, value in enumerate(state[name].flat):
            planes[first + i, :, :] = (np.int64(value) - player) % players if value >= 0 else value

    return planes_of if is_plane else constants


def _seat(
    name: str, channel: int, _size: int, players: int, _is_plane: bool, _board: tuple[int, int]
) -> Callable[[GameState, int, Planes], None]:
    def seat(state: GameState, player: int, planes: Planes) -> None:
        value = state[name]
        planes[channel, :, :] = (np.int64(value) - player) % players if value >= 0 else value

    return seat


def _number(name: str, channel: int) -> Callable[[GameState, int, Planes], None]:
    def number(state: GameState, player: int, planes: Planes) -> None:
        planes[channel, :, :] = state[name]

    return number


def _noticed(first: int, most: int, events: int) -> Callable[[GameState, int, Planes], None]:
    def noticed(state: GameState, player: int, planes: Planes) -> None:
        for i in range(min(int(state.event_count[player]), most)):
            event = int(state.events[player, i])
            if 0 <= event < events:  # beyond it in positions that are no positions of a game
                planes[first + i * events + event, :, :] = 1

    return noticed


def _both(
    first: Callable[[GameState, int, Planes], None], second: Callable[[GameState, int, Planes], None]
) -> Callable[[GameState, int, Planes], None]:
    def both(state: GameState, player: int, planes: Planes) -> None:
        first(state, player, planes)
        second(state, player, planes)

    return both


# ── search ──


def random_action(rules: Rules) -> Callable[[GameState, Actions, Rng], int]:
    """One of the legal actions, listed."""
    legal_actions = rules.legal_actions

    def random_action(state: GameState, actions: Actions, rng: Rng) -> int:
        n = legal_actions(state, actions)
        return int(actions[below(rng, n)])

    return random_action


def tactical_actions(rules: Rules) -> Callable[[GameState, Actions], int]:
    """The legal actions that have a gain."""
    legal_actions, gain = rules.legal_actions, rules.gain or (lambda state, action: 0.0)

    def tactical_actions(state: GameState, actions: Actions) -> int:
        n = legal_actions(state, actions)
        found = 0
        for i in range(n):
            if gain(state, actions[i]) > 0:
                actions[found] = actions[i]
                found += 1
        return found

    return tactical_actions


# ── text ──


def text(rules: Rules) -> Callable[[GameState], str]:
    """`heaps=3,5,7 mover=0`: every field, arrays flattened."""
    names = _own_fields(rules)

    def text(state: GameState) -> str:
        return " ".join(f"{name}={','.join(str(value) for value in np.ravel(state[name]).tolist())}" for name in names)

    return information.text(rules, text) if rules.hides_information else text


def parse(rules: Rules) -> Callable[[GameState, str], None]:
    """The inverse of `text`."""
    State = rules.State
    names = _own_fields(rules)

    def parse(state: GameState, text: str) -> None:
        given = [word.partition("=") for word in text.split()]
        if [name for name, _, _ in given] != names or not all(sign for _, sign, _ in given):
            raise ValueError(f"expected {' '.join(f'{name}=…' for name in names)}, got '{text}'")
        for name, _, values in given:
            base, shape = State[name].base, State[name].shape
            words = values.split(",")
            if len(words) != int(np.prod(shape)):
                raise ValueError(f"{name}: expected {int(np.prod(shape))} numbers, got '{values}'")
            try:
                numbers = [_number_of(word, base) for word in words]
            except (ValueError, OverflowError):
                raise ValueError(f"{name}: expected numbers of type {base}, got '{values}'") from None
            state[name] = np.array(numbers, base).reshape(shape) if shape else numbers[0]

    return information.parse(rules, parse) if rules.hides_information else parse


def _number_of(word: str, base: np.dtype[Any]) -> Any:
    if base.kind == "b":
        if word not in ("True", "False", "1", "0"):
            raise ValueError
        return word in ("True", "1")
    if len(word) > LONGEST_NUMBER:
        raise OverflowError
    if base.kind == "f":
        return float(word)
    number = int(word)
    limits = np.iinfo(base)
    if not limits.min <= number <= limits.max:
        raise OverflowError
    return number


def render(rules: Rules) -> Callable[[GameState], str]:
    """One line per field; arrays that fill the board, and those of two dimensions or more, as grids."""
    names, board = _own_fields(rules), rules.board

    def render(state: GameState) -> str:
        lines = []
        for name in names:
            value = np.asarray(state[name])
            is_board = value.size == board[0] * board[1] > 1
            if is_board or value.ndim > 1:
                grid = value.reshape(board if is_board else (-1, value.shape[-1])).tolist()
                lines += [f"{name}:", *(" ".join(f"{cell!s:>2}" for cell in row) for row in grid)]
            else:
                lines.append(f"{name}: {' '.join(map(str, value.ravel().tolist()))}")
        return "\n".join(lines)

    return render
