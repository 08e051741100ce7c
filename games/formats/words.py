"""Moves as people write them: by the names of the game's actions, and in chess also as in books (SAN) with or without move numbers.

action_of(game, state, "Nf3")            # in chess; "g1f3" everywhere
played(game, "1. e4 e5 2. Nf3")          # the position after them
followed(game, ["e4", "e5"], state)      # each action, and the position after it
written(game, state, [action])           # as people read them: ["Nf3"] in chess, else the names of the actions
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from base.errors import UserError
from games.engine.game import Game
from games.formats.pgn import CHESS
from games.formats.san import action_of_san, san_line, wish_of
from games.types import GameState

_NUMBER = re.compile(r"\d+\.+")


def action_of(game: Game, state: GameState, word: str) -> int:
    """The legal action that `word` means in this position."""
    if game.name == CHESS and game.id_of(word) is None and wish_of(word) is not None:
        return action_of_san(game, state, word)
    return game.action(state, word)


def played(game: Game, text: str, start: GameState | None = None) -> GameState:
    """The position after the moves of `text`, from `start` or the beginning."""
    state = game.initial() if start is None else start
    for _, after in followed(game, words_of(game, text), state):
        state = after
    return state


def followed(game: Game, words: Iterable[str], start: GameState) -> Iterator[tuple[int, GameState]]:
    """The action that each word means, and the position after it. A word that means none is a UserError with the ply."""
    state = start
    for ply, word in enumerate(words):
        try:
            action = action_of(game, state, word)
        except UserError as error:
            raise UserError(f"ply {ply}: {error}") from None
        state = game.result(state, action)
        yield action, state


def written(game: Game, start: GameState, actions: Sequence[int]) -> list[str]:
    """Legal actions, one behind the other, as people read them."""
    if game.name == CHESS and len(actions):
        return san_line(game, start, actions)
    return [game.names[action] for action in actions]


def words_of(game: Game, text: str) -> list[str]:
    """One per move."""
    return (_NUMBER.sub(" ", text) if game.name == CHESS else text).split()
