"""UGI, the Universal Game Interface, for games of two players without dice: `python -m arena engine othello alphabeta:ms=1000`.

As UCI, with the game's own names of moves, positions in the game's own notation (`position fen TEXT moves …`), clocks named p1time,
p2time, p1inc, p2inc, and questions:

    query gameover | p1turn | result                  response true | false; p1win | p2win | draw | none

The protocol: kz04px, cutegames, 2021.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from arena.protocols.protocol import Position
from arena.protocols.uci import Uci
from base.errors import UserError, short

if TYPE_CHECKING:
    from games import Game


class Ugi(Uci):
    """One conversation."""

    hello, welcome, new = "ugi", "ugiok", "uginewgame"
    clocks = (("p1time", "p1inc"), ("p2time", "p2inc"))

    @property
    def commands(self) -> dict[str, Callable[[list[str]], object]]:
        return super().commands | {"query": self._query}

    def check(self, game: Game) -> None:
        if game.players != 2 or game.rules.chance is not None:
            what = f"{game.players} players" if game.players != 2 else "dice"
            raise UserError(f"ugi: expected a game of two players without dice, got {game.name} ({what})")

    def _query(self, words: list[str]) -> None:
        state = self.the_position().state
        mover = self.game.to_move(state)
        answers = {"gameover": truth(mover is None), "p1turn": truth(mover == 0), "result": self._result(state)}
        question = " ".join(words)
        if question not in answers:
            raise UserError(f"query: expected one of {', '.join(answers)}, got '{short(question)}'")
        self.service.send(f"response {answers[question]}")

    def _result(self, state: Any) -> str:
        if not self.game.is_terminal(state):
            return "none"
        first, second = self.game.utility(state)
        return "draw" if first == second else "p1win" if first > second else "p2win"

    def revived(self, position: Position) -> Position:
        return position

    def after_the_end(self, state: Any) -> int | None:
        return None


def truth(is_true: bool) -> str:
    return "true" if is_true else "false"
