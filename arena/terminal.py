"""A game at the terminal: `python -m arena play othello human alphabeta:ms=500`.

One PLAYER per seat, in the order of the moves. `human` is a person at the terminal; there may be several, or none. A move is
typed by its name (in chess also as in books: Nf3, O-O), or several moves in a row where a turn has several. Everything else is a
command:

    m           the legal moves                      board       draw the board again
    ?           a hint: a player's search            undo        take back your last move
    save FILE   FILE.log: a record of the game,      resign      lose the game
                otherwise its moves as text          quit        leave, as at the end of input
    help        this list

Where a move has the name of a command, the command is written `:m`. The program rolls dice, the same ones again after an undo; with
--ask-dice a person rolls them and types the result. Values are utilities (1 wins, -1 loses), with the player whose value it is.

    game = TerminalGame(load("othello"), ["human", "uct:sims=1000"], ask=input, show=print)
    game.play()
    game.save("game.log")
"""

from __future__ import annotations

import argparse
import io
import shutil
import sys
import tempfile
import textwrap
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from arena.explain import line, ranking, work
from arena.openings import random_action
from arena.players import Forfeit, Player, make_player
from arena.referee import SeatForfeits, forfeit_utilities, of_seat
from base.errors import INTERRUPTED, UserError, nearest
from base.files import write_bytes, write_text
from base.framed_log import LogWriter
from base.options import split
from base.seeds import derive, generator
from games import CHANCE, Game, load
from games.choice import Choice
from games.formats.words import action_of, followed, words_of
from games.record import MAX_PLIES, GameRecord, make_record

HUMAN = "human"
COMMANDS = {
    "m": "the legal moves",
    "?": "a hint: a player's search of the position",
    "undo": "take back your last move",
    "board": "draw the board again",
    "save": "save FILE: a record of the game in FILE.log, its moves as text in other files",
    "resign": "lose the game",
    "quit": "leave; the end of input leaves, too",
    "help": "this list",
}

Ask = Callable[[str], str]
Show = Callable[[str], object]


class Left(Exception):
    """The person leaves the game."""


class TerminalGame:
    """One game: its seats, its moves, and the commands of a person."""

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
        show: Show,
    ) -> None:
        """`seats`: a player's text for each, or `human`. `ask(prompt)` returns a line or raises EOFError; `show` prints a text."""
        if len(seats) != game.players:
            raise UserError(f"play: expected {game.players} players for {game.name}, got {len(seats)}")
        if ask_dice and game.hides_information:
            raise UserError(f"--ask-dice: expected a game in which players see everything, got {game.name}")
        self.game, self.seats, self.seed = game, tuple(seats), seed
        self.asks_dice, self.ask, self.show = ask_dice, ask, show
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
        self.you = humans[0] if len(humans) == 1 else None  # the seat of the only person
        self._begin_players()

    @property
    def state(self) -> Any:
        return self.states[-1]

    def begin_with(self, moves: str) -> None:
        """Play moves given by name."""
        for action, state in followed(self.game, words_of(self.game, moves), self.state):
            self.states.append(state)
            self.moves.append(action)
        self._begin_players()

    def play(self) -> None:
        """Play to the end of the game. Raises Left, or EOFError at the end of input."""
        game, is_watched = self.game, all(self.players)
        if game.is_terminal(self.state):
            raise UserError(f"play: expected an unfinished game of {game.name}, got a finished one")
        self.show(self.greeting())
        if is_watched:
            self.show(f"\n{self.board()}\n")
        try:
            while not self.ending and (mover := game.to_move(self.state)) is not None:
                if len(self.moves) >= game.rules.max_plies:
                    self.outcome, self.ending = game.utility(self.state, stopped=True), MAX_PLIES
                    break
                self._move(mover)
                if is_watched:
                    self.show(f"\n{self.board()}\n")
        except SeatForfeits as forfeit:
            self.outcome = forfeit_utilities(game, forfeit.seat)
            self.ending = f"player {forfeit.seat} forfeits: {forfeit.reason}"
        if self.outcome is None:
            self.outcome = game.utility(self.state)
        if not is_watched:
            self.show(f"\n{self.board()}\n")
        self.show(self.verdict())

    def _move(self, mover: int) -> None:
        """One move of a player or of chance, or one turn of a person."""
        player = self.players[mover] if mover != CHANCE else None
        if player is not None:
            self._player_moves(mover, player)
        elif mover == CHANCE and not self.asks_dice:
            action = random_action(self.game, self.state, generator(self.seed, "dice", len(self.moves)))
            self._show_action("chance:", action)
            self._push(action)
        else:
            self._person_moves(mover)

    # ── players ──

    def _begin_players(self) -> None:
        """Give every player the game from its beginning."""
        for seat, player in enumerate(self.players):
            if player is not None:
                player.new_game(derive(self.seed, "seat", seat))
                for action in self.moves:
                    player.advance(action)

    def _player_moves(self, mover: int, player: Player) -> None:
        choice = of_seat(mover, player.choose, self.state)
        if choice.action not in self.game.legal_actions(self.state):
            raise SeatForfeits(mover, f"{choice.action} is not a legal action")
        worth = ""
        if any(each.value is not None for each in choice.actions) and not self._hides_from(mover):
            worth = f"   ({self.worth(choice, mover)})"
        self._show_action(f"{self.name(mover)} plays", choice.action, worth)
        self._push(choice.action)

    def _hides_from(self, mover: int) -> bool:
        """Whether a person at the terminal may see less than this player does."""
        return self.game.hides_information and any(
            player is None and seat != mover for seat, player in enumerate(self.players)
        )

    def _show_action(self, who: str, action: int, worth: str = "") -> None:
        """Show an action as the people at the terminal notice it: all of it where there are none, nothing where they differ."""
        people = [seat for seat, player in enumerate(self.players) if player is None]
        noticed = {self.game.event(self.state, action, seat) for seat in people} or {self.game.names[action]}
        if len(noticed) == 1 and (words := noticed.pop()):
            self.show(f"{who} {words}{worth}")

    def board(self, mover: int | None = None) -> str:
        """The board as `mover` sees it; all of it where no person plays, and after the end."""
        state = self.state if mover is None or mover == CHANCE else self.game.view(self.state, mover)
        return self.game.render(state)

    def _push(self, action: int) -> None:
        self.states.append(self.game.result(self.state, action))
        self.moves.append(action)
        for seat, player in enumerate(self.players):
            if player is not None:
                of_seat(seat, player.advance, action)

    # ── the person ──

    def _person_moves(self, mover: int) -> None:
        """Read lines until the person has moved, random_action, taken back or resigned."""
        game, state = self.game, self.state
        self.show(f"\n{self.board(mover)}\n")
        while self.state is state and not self.ending:  # undo makes the last state another object
            words = self.ask("dice> " if mover == CHANCE else f"{self.name(mover)}> ").split()
            if not words:
                continue
            word = words[0]
            found = self._action_of(word)
            try:
                if found in game.legal_actions(state):
                    self._play_all(mover, words)
                elif word.removeprefix(":").casefold() in COMMANDS:
                    self._run_command(word.removeprefix(":").casefold(), words[1:], mover)
                else:
                    raise UserError(self._refusal(word, found))
            except (UserError, OSError) as error:
                self.show(str(error))

    def _play_all(self, mover: int, words: list[str]) -> None:
        """Several actions of one turn."""
        for word in words:
            if self.game.to_move(self.state) != mover:
                raise UserError(f"'{word}' and the moves after it were not played: the turn is over")
            found = self._action_of(word)
            if found is None or found not in self.game.legal_actions(self.state):
                raise UserError(self._refusal(word, found))
            self._push(found)

    def _action_of(self, word: str) -> int | None:
        """The action that a word names or means here, legal or not."""
        named = self.game.id_of(word)
        if named is None:
            with suppress(UserError):
                return action_of(self.game, self.state, word)
        return named

    def _refusal(self, word: str, found: int | None) -> str:
        names = [self.game.names[action] for action in self.game.legal_actions(self.state)]
        word = word[:40] if word.isprintable() else repr(word[:40])[1:-1]
        what = "is not a legal move here" if found is not None else "is no move and no command"
        near = nearest(word, [*names, *COMMANDS]) or "; m shows the moves, help the commands"
        return f"'{word}' {what}{near}"

    def _run_command(self, command: str, rest: list[str], mover: int) -> None:
        if command == "save":
            if not rest:
                raise UserError("save: expected a file, as in: save game.log")
            self.save(" ".join(rest))
            self.show(f"saved in {' '.join(rest)}")
        elif command == "m":
            self.show(self.listing())
        elif command == "?":
            self.show(self.hint(mover))
        elif command == "undo":
            self.undo()
        elif command == "board":
            self.show(f"\n{self.board(mover)}\n")
        elif command == "help":
            self.show(self.help())
        elif command == "resign":
            self.resign(mover)
        else:
            raise Left

    def undo(self) -> None:
        """Back to the previous decision of a person."""
        movers = [self.game.to_move(state) for state in self.states[:-1]]
        own = [
            ply for ply, mover in enumerate(movers) if mover is not None and mover >= 0 and self.players[mover] is None
        ]
        if not own:
            raise UserError("undo: there is no move of yours to take back")
        taken = self.moves[own[-1] :]
        del self.moves[own[-1] :], self.states[own[-1] + 1 :]
        self._begin_players()
        names = "" if self.game.hides_information else ": " + " ".join(self.game.names[action] for action in taken)
        self.show(f"taken back{names}")

    def resign(self, mover: int) -> None:
        if mover == CHANCE:
            raise UserError("resign: expected a player's turn, got a roll of the dice")
        self.outcome, self.ending = forfeit_utilities(self.game, mover), f"player {mover} resigns"

    def hint(self, mover: int) -> str:
        """A player's search of the position, for the person to move."""
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
            f"values for {whose}{'' if self.game.has_payoffs else ' (1 wins, -1 loses)'}\n{ranks}" if ranks else "",
            line(self.game, self.state, choice),
            work(choice).partition("\n")[0],
        ]
        return "\n" + "\n\n".join(section for section in sections if section) + "\n"

    def _default_hint(self) -> str:
        """The opponent, where all are equal and not random; otherwise one second of a search that suits the game."""
        kinds = {text for text in self.seats if not _is_human(text) and split(text)[0] != "random"}
        if len(kinds) == 1:
            return kinds.pop()
        if self.game.hides_information:
            return "ismcts:sims=1000"
        rules = self.game.rules
        is_for_alphabeta = rules.players == 2 and rules.zero_sum and rules.chance is None
        return "alphabeta:ms=1000" if is_for_alphabeta else "uct:ms=1000"

    # ── texts ──

    def name(self, seat: int) -> str:
        if seat == self.you:
            return f"you (player {seat})"
        return f"player {seat}" if self.players[seat] is None else f"player {seat} ({self.seats[seat]})"

    def worth(self, choice: Choice, mover: int) -> str:
        """The value of a choice: the mover's, or in a zero-sum game of two with one person, that person's."""
        value, viewer = choice.value, mover
        if self.you is not None and mover != self.you and self.game.players == 2 and self.game.rules.zero_sum:
            value, viewer = -value + 0.0, self.you
        how = "proven" if choice.proven else "estimated"
        return f"{self.game.shown(value)} for {'you' if viewer == self.you else f'player {viewer}'}, {how}"

    def greeting(self) -> str:
        seats = "; ".join(self.name(seat) for seat in range(self.game.players))
        commands = "" if all(self.players) else "\ntype a move by its name; m: the moves, ?: a hint, help: all commands"
        return f"{self.game.name}: {seats}{commands}"

    def listing(self) -> str:
        names = sorted(self.game.names[action] for action in self.game.legal_actions(self.state))
        return textwrap.fill(" ".join(names), shutil.get_terminal_size().columns, break_on_hyphens=False)

    def help(self) -> str:
        first = self.game.names[self.game.legal_actions(self.state)[0]]
        rows = [f"  {name:<7} {words}" for name, words in COMMANDS.items()]
        return "\n".join([f"type a move by its name, such as {first}, or", *rows, f"hints are from {self.hint_text}"])

    def verdict(self) -> str:
        """The result in words and utilities."""
        assert self.outcome is not None
        why = f" ({self.ending})" if self.ending else ""
        shown = self.game.shown if self.game.has_payoffs else "{:+g}".format
        numbers = ", ".join(f"player {seat} {shown(value)}" for seat, value in enumerate(self.outcome))
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
        """Save the game so far: FILE.log as a record (games/record.py), other files as the names of its moves."""
        path = Path(text)
        if path not in self.saved:
            check_target(path, self.has_own_start)
        record = self.record()
        if path.suffix == ".log":
            write_bytes(path, as_log(record))
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
        raise UserError(f"human: expected no options, got '{text}'")
    return kind == HUMAN


def check_target(path: Path, has_own_start: bool) -> None:
    """Refuse a file in which the game cannot be saved."""
    if path.exists():
        raise UserError(f"{path}: expected a new file, but it exists")
    if has_own_start and path.suffix != ".log":
        raise UserError(
            f"{path}: expected a name ending in .log, since a list of moves does not hold this game's first position"
        )


def as_log(record: GameRecord) -> bytes:
    """The bytes of a log with one game."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "game.log")
        with LogWriter(path) as log:
            log.append(record.to_bytes())
        return path.read_bytes()


def add_play(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("game", metavar="GAME")
    parser.add_argument("players", nargs="+", metavar="PLAYER", help="one per seat: human, or as in uct:ms=500")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="of the dice and of random players")
    parser.add_argument(
        "--save", metavar="FILE", help="save the finished game: a record in FILE.log, its moves as text in other files"
    )
    parser.add_argument("--position", metavar="TEXT", help="the first position, in the game's own notation")
    parser.add_argument("--moves", default="", metavar="TEXT", help="moves to begin with, by name; in chess also SAN")
    parser.add_argument("--hint", metavar="PLAYER", help="the player that gives hints; default: the opponent")
    parser.add_argument("--ask-dice", action="store_true", help="type the dice instead of rolling them by the program")


def run_play(options: argparse.Namespace) -> int:
    game = load(options.game)
    start = None if options.position is None else game.parse(options.position)
    if options.seed < 0:
        raise UserError(f"seed: expected 0 or more, got {options.seed}")
    if options.save is not None:
        check_target(Path(options.save), start is not None)
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="replace")
    played = TerminalGame(
        game,
        options.players,
        start,
        seed=options.seed,
        hint=options.hint,
        ask_dice=options.ask_dice,
        ask=typed,
        show=lambda text: print(text, flush=True),
    )
    played.begin_with(options.moves)
    try:
        played.play()
    except (EOFError, Left, KeyboardInterrupt) as leaving:
        print("\nbye; the game is not finished" + ("" if played.saved else ", and not saved"))
        return INTERRUPTED if isinstance(leaving, KeyboardInterrupt) else 0
    if options.save is not None:
        played.save(options.save)
        print(f"saved in {options.save}")
    return 0


def typed(prompt: str) -> str:
    """A line of input; from a pipe, it is printed like a typed one."""
    if sys.stdin is None:
        raise EOFError
    if sys.stdin.isatty():
        with suppress(ImportError):
            import readline  # noqa: F401  (gives line editing and a history)
        return input(prompt)
    print(prompt, end="", flush=True)
    text = sys.stdin.readline()
    if not text:
        raise EOFError
    print(text.rstrip("\n"), flush=True)
    return text
