"""A game between people and players: who sits where, what was played, and what a person may ask for (arena/terminal.py has the words).

table = Table(game, ["human", "uct:sims=1000"], ask=input, say=print)
table.play()
table.save("game.log")
"""

from __future__ import annotations

import shutil
import tempfile
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from arena.explaining import line, ranking, work
from arena.forfeit import Forfeit
from arena.openings import rolled
from arena.players import Player, make_player
from arena.playing import Failure, asked, forfeited
from base.errors import UserError, nearest
from base.files import write_bytes, write_text
from base.framed_log import LogWriter
from base.options import split
from base.seeds import derive, generator
from games import CHANCE, Game
from games.choice import Choice
from games.record import GameRecord, make_record

HUMAN = "human"
COMMANDS = {
    "m": "the legal moves",
    "?": "a hint: how a player sees the position",
    "undo": "take back your last move",
    "board": "draw it again",
    "save": "save FILE; FILE.log is a record of the game, anything else its moves as text",
    "resign": "the game is lost",
    "quit": "leave; so does the end of input",
    "help": "this",
}

Ask = Callable[[str], str]
Say = Callable[[str], object]


class Left(Exception):
    """The person has had enough."""


class Table:
    """One game at the terminal: who sits where, what was played, what the person asks for."""

    def __init__(
        self,
        game: Game,
        seats: Sequence[str],
        start: Any = None,
        *,
        seed: int = 0,
        hint: str | None = None,
        ask_dice: bool = False,
        ask: Ask,
        say: Say,
    ) -> None:
        """`seats`: a player's text for each, or `human`. `ask(prompt)` gives a line or raises EOFError; `say` shows a text."""
        if len(seats) != game.players:
            raise UserError(f"play: expected {game.players} players for {game.name}, got {len(seats)}")
        self.game, self.seats, self.seed, self.asks_dice, self.ask, self.say = (
            game,
            tuple(seats),
            seed,
            ask_dice,
            ask,
            say,
        )
        self.players = [None if _is_human(text) else make_player(text, game) for text in seats]
        self.states = [game.initial() if start is None else start]
        self.has_own_start = start is not None
        self.moves: list[int] = []
        self.outcome: tuple[float, ...] | None = None
        self.ending = ""
        self.saved: set[Path] = set()
        self.hint_text = hint or self._default_hint()
        self._hinter = make_player(hint, game) if hint else None
        humans = [seat for seat, player in enumerate(self.players) if player is None]
        self.you = humans[0] if len(humans) == 1 else None  # a seat, where one person plays
        self._begin_players()

    @property
    def state(self) -> Any:
        return self.states[-1]

    def begin_with(self, moves: str) -> None:
        """Play moves given by name, from the start."""
        for ply, word in enumerate(moves.split()):
            try:
                action = self.game.action(self.state, word)
            except UserError as error:
                raise UserError(f"ply {ply}: {error}") from None
            self.states.append(self.game.result(self.state, action))
            self.moves.append(action)
        self._begin_players()

    def play(self) -> None:
        """To the end of the game. Raises Left, or what ends the input."""
        game, is_watched = self.game, all(self.players)
        if game.is_terminal(self.state):
            raise UserError(f"play: expected an unfinished game of {game.name}, got a finished one")
        self.say(self.greeting())
        if is_watched:
            self.say(f"\n{game.render(self.state)}\n")
        try:
            while not self.ending and (mover := game.to_move(self.state)) is not None:
                self._go_on(mover)
                if is_watched:
                    self.say(f"\n{game.render(self.state)}\n")
        except Failure as failure:
            self.outcome = forfeited(game, failure.seat)
            self.ending = f"player {failure.seat} forfeits: {failure.reason}"
        if self.outcome is None:
            self.outcome = game.utility(self.state)
        if not is_watched:
            self.say(f"\n{game.render(self.state)}\n")
        self.say(self.verdict())

    def _go_on(self, mover: int) -> None:
        """One move, whoever makes it; or what a person does instead."""
        player = self.players[mover] if mover != CHANCE else None
        if player is not None:
            self._answer(mover, player)
        elif mover == CHANCE and not self.asks_dice:
            action = rolled(self.game, self.state, generator(self.seed, "dice", len(self.moves)))
            self.say(f"chance: {self.game.names[action]}")
            self._push(action)
        else:
            self._listen(mover)

    # ── players ──

    def _begin_players(self) -> None:
        """Every player hears the game from its beginning."""
        for seat, player in enumerate(self.players):
            if player is not None:
                player.new_game(derive(self.seed, "seat", seat))
                for action in self.moves:
                    player.advance(action)

    def _answer(self, mover: int, player: Player) -> None:
        choice = asked(mover, player.choose, self.state)
        if choice.action not in self.game.legal_actions(self.state):
            raise Failure(mover, f"{choice.action} is not a legal action")
        words = f"{self.name(mover)} plays {self.game.names[choice.action]}"
        if any(each.value is not None for each in choice.actions):
            words += f"   ({self.worth(choice, mover)})"
        self.say(words)
        self._push(choice.action)

    def _push(self, action: int) -> None:
        self.states.append(self.game.result(self.state, action))
        self.moves.append(action)
        for seat, player in enumerate(self.players):
            if player is not None:
                asked(seat, player.advance, action)

    # ── the person ──

    def _listen(self, mover: int) -> None:
        """Until the person has moved, rolled, taken back or resigned."""
        game, state = self.game, self.state
        self.say(f"\n{game.render(state)}\n")
        while self.state is state and not self.ending:  # undo leaves a shorter list, whose last is another object
            words = self.ask("dice> " if mover == CHANCE else f"{self.name(mover)}> ").split()
            if not words:
                continue
            word = words[0]
            found = game.id_of(word)
            try:
                if found in game.legal_actions(state):
                    self._play_all(mover, words)
                elif word.removeprefix(":").casefold() in COMMANDS:
                    self._obey(word.removeprefix(":").casefold(), words[1:], mover)
                else:
                    raise UserError(self._refusal(word, found))
            except (UserError, OSError) as error:
                self.say(str(error))

    def _play_all(self, mover: int, words: list[str]) -> None:
        """Several actions while it is the same person's turn."""
        for word in words:
            if self.game.to_move(self.state) != mover:
                raise UserError(f"'{word}' and what follows was not played: the turn is over")
            found = self.game.id_of(word)
            if found is None or found not in self.game.legal_actions(self.state):
                raise UserError(self._refusal(word, found))
            self._push(found)

    def _refusal(self, word: str, found: int | None) -> str:
        names = [self.game.names[action] for action in self.game.legal_actions(self.state)]
        word = word[:40] if word.isprintable() else repr(word[:40])[1:-1]
        what = "is not a legal move here" if found is not None else "is no move and no command"
        near = nearest(word, [*names, *COMMANDS]) or "; m shows the moves, help the commands"
        return f"'{word}' {what}{near}"

    def _obey(self, command: str, rest: list[str], mover: int) -> None:
        if command == "save":
            if not rest:
                raise UserError("save: expected a file, as in: save game.log")
            self.save(" ".join(rest))
            self.say(f"saved in {' '.join(rest)}")
        elif command == "m":
            self.say(self.listing())
        elif command == "?":
            self.say(self.hint(mover))
        elif command == "undo":
            self.undo()
        elif command == "board":
            self.say(f"\n{self.game.render(self.state)}\n")
        elif command == "help":
            self.say(self.help())
        elif command == "resign":
            self.resign(mover)
        else:
            raise Left

    def undo(self) -> None:
        """Back to the last decision of a person before this one."""
        movers = [self.game.to_move(state) for state in self.states[:-1]]
        own = [
            ply for ply, mover in enumerate(movers) if mover is not None and mover >= 0 and self.players[mover] is None
        ]
        if not own:
            raise UserError("undo: there is no move of yours to take back")
        taken = self.moves[own[-1] :]
        del self.moves[own[-1] :], self.states[own[-1] + 1 :]
        self._begin_players()
        self.say(f"taken back: {' '.join(self.game.names[action] for action in taken)}")

    def resign(self, mover: int) -> None:
        if mover == CHANCE:
            raise UserError("resign: expected a player's turn, got a roll of the dice")
        self.outcome, self.ending = forfeited(self.game, mover), f"player {mover} resigns"

    def hint(self, mover: int) -> str:
        """A player's thinking about the position, which belongs to the person to move."""
        if mover == CHANCE:
            raise UserError("?: expected a player's turn, got a roll of the dice")
        if self._hinter is None:
            self._hinter = make_player(self.hint_text, self.game)
        self._hinter.new_game(derive(self.seed, "hint"))
        try:
            choice = self._hinter.choose(self.state)
        except Forfeit as failure:
            raise UserError(f"?: {self.hint_text} gives no hint: {failure.reason}") from None
        whose = "you" if self.you == mover else f"player {mover}"
        head = f"{self.hint_text} suggests {self.game.names[choice.action]}: {self.worth(choice, mover)}"
        ranks = ranking(self.game, choice)
        sections = [
            head,
            f"values for {whose} (1 wins, -1 loses)\n{ranks}" if ranks else "",
            line(self.game, self.state, choice),
            work(choice).partition("\n")[0],
        ]
        return "\n" + "\n\n".join(section for section in sections if section) + "\n"

    def _default_hint(self) -> str:
        """The opponent, where there is one kind of it and it thinks; else a second of the search that suits the game."""
        kinds = {text for text in self.seats if not _is_human(text) and split(text)[0] != "random"}
        if len(kinds) == 1:
            return kinds.pop()
        rules = self.game.rules
        is_for_alphabeta = rules.players == 2 and rules.zero_sum and rules.chance is None
        return "alphabeta:ms=1000" if is_for_alphabeta else "uct:ms=1000"

    # ── words ──

    def name(self, seat: int) -> str:
        if seat == self.you:
            return f"you (player {seat})"
        return f"player {seat}" if self.players[seat] is None else f"player {seat} ({self.seats[seat]})"

    def worth(self, choice: Choice, mover: int) -> str:
        """A mover's value, in the eyes of the person where there is one and the game has but two sides."""
        value, viewer = choice.value, mover
        if self.you is not None and mover != self.you and self.game.players == 2 and self.game.rules.zero_sum:
            value, viewer = -value + 0.0, self.you
        how = "proven" if choice.proven else "estimated"
        return f"{value:+.3f} for {'you' if viewer == self.you else f'player {viewer}'}, {how}"

    def greeting(self) -> str:
        who = "; ".join(self.name(seat) for seat in range(self.game.players))
        words = f"{self.game.name}: {who}"
        return (
            words if all(self.players) else f"{words}\na move by its name, m: the moves, ?: a hint, help: all commands"
        )

    def listing(self) -> str:
        names = sorted(self.game.names[action] for action in self.game.legal_actions(self.state))
        return textwrap.fill(" ".join(names), shutil.get_terminal_size().columns, break_on_hyphens=False)

    def help(self) -> str:
        first = self.game.names[self.game.legal_actions(self.state)[0]]
        rows = [f"  {name:<7} {words}" for name, words in COMMANDS.items()]
        return "\n".join([f"a move by its name, such as {first}; or", *rows, f"hints are from {self.hint_text}"])

    def verdict(self) -> str:
        """How the game ended."""
        assert self.outcome is not None
        why = f" ({self.ending})" if self.ending else ""
        numbers = ", ".join(f"player {seat} {value:+g}" for seat, value in enumerate(self.outcome))
        if not self.game.rules.zero_sum:
            return f"over{why}: {numbers}"
        best = [seat for seat, value in enumerate(self.outcome) if value == max(self.outcome)]
        if len(set(self.outcome)) == 1:
            words = "drawn"
        elif self.you is not None and self.game.players == 2:
            words = "you win" if best == [self.you] else "you lose"
        else:
            words = " and ".join(map(self.name, best)) + (" wins" if len(best) == 1 else " win")
        return f"{words}{why}: {numbers}"

    # ── saving ──

    def save(self, text: str) -> None:
        """The game so far: FILE.log as a record (games/record.py), anything else as the names of its moves."""
        path = Path(text)
        if path not in self.saved:
            check_target(path, self.has_own_start)
        record = self.record()
        if path.suffix == ".log":
            write_bytes(path, _as_log(record))
        else:
            write_text(path, " ".join(self.game.names[action] for action in self.moves) + "\n")
        self.saved.add(path)

    def record(self) -> GameRecord:
        return make_record(
            self.game,
            self.moves,
            outcome=self.outcome if self.ending else None,
            ending=self.ending,
            seed=self.seed,
            players=[HUMAN if player is None else player.text for player in self.players],
            start=self.states[0] if self.has_own_start else None,
        )


def _is_human(text: str) -> bool:
    kind, given = split(text)
    if kind == HUMAN and given:
        raise UserError(f"human: it has no options, got '{text}'")
    return kind == HUMAN


def check_target(path: Path, has_own_start: bool) -> None:
    """Whether a game can be saved there."""
    if path.exists():
        raise UserError(f"{path}: expected a new file, but it exists already")
    if has_own_start and path.suffix != ".log":
        raise UserError(
            f"{path}: expected a name that ends in .log, for a list of moves can't say where this game began"
        )


def _as_log(record: GameRecord) -> bytes:
    """A log of one game."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "game.log")
        with LogWriter(path) as log:
            log.append(record.to_bytes())
        return path.read_bytes()
