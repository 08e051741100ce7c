"""One game that is played, watched or analysed. Its commands are the methods of `COMMANDS`; whatever they change, the page is sent.

Players choose in a thread of the table, the analysis and the solver work in others. A player that takes long delays nothing else: where
the position changes, its thread is left to end by itself, and its answer is dropped.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from itertools import takewhile
from typing import Any

import numpy as np

from arena.openings import random_action
from arena.page.board import choices, marks, picture
from arena.page.choosing import HUMAN, Choosing
from arena.page.judging import Judge, error_of, scores
from arena.page.seeing import NOBODY, Sight
from arena.page.shown import eval_data, table_data
from arena.page.thinking import Analysis, Found, Order, as_data, tree_picture
from arena.page.tree import Node, Tree
from arena.players import Forfeit, Player, make_player
from arena.referee import forfeit_utilities
from arena.seats import colours_of
from base.errors import UserError, short
from base.seeds import derive, generator
from games import CHANCE, Game
from games.choice import Choice, utilities_of
from games.formats.words import action_of
from games.record import GameRecord, make_record
from games.types import GameState

SECONDS = 60.0  # of one analysis
SWEEP = 0.5  # of each position where a whole game is analysed
SHORT_GAME = 80  # plies: the solver is on by default
LONGEST_WORD = 60
LINE = 60  # actions of a line that is shown on the board


class Stale(UserError):
    """The position has changed since the person saw it: nothing is done, and it is no error."""


class Table:
    """A game, its seats and its variations."""

    def __init__(
        self,
        choosing: Choosing,
        game: Game,
        seats: Sequence[str],
        start: GameState | None = None,
        seed: int = 0,
        analysed: bool = False,
    ) -> None:
        if len(seats) != game.players:
            raise UserError(f"seats: expected {game.players} players for {game.name}, got {len(seats)}")
        self.choosing, self.game, self.seed = choosing, game, seed
        self.seats = [choosing.check(text, game) for text in seats]
        self.tree = Tree(game, start)
        self.at = self.tree.root
        self.names: tuple[str, ...] = ()
        self.title = ""
        self.source: GameRecord | None = None
        self.is_playing = not analysed  # players answer
        self.asks_dice = False
        self.is_hidden = not analysed
        self.is_open = analysed or not game.hides_information
        self.ready: int | None = None  # of several persons at one page, the one who looks at it
        self.analyses = analysed
        self.solves = game.rules.max_plies <= SHORT_GAME and not game.hides_information
        self.trouble = ""
        self.busy: tuple[int, float] | None = None  # the seat that chooses, and since when
        self._began: tuple[int, float] | None = None  # the seat that chose last, and since when
        self.version = self.found_version = 0
        self.found: tuple[int, dict[str, Any], bool] | None = None
        self._choices: tuple[Node, bool, dict[str, Any]] | None = (
            None  # of the position last asked for: several pages do
        )
        self.changed = threading.Condition(threading.RLock())
        self.used = time.monotonic()
        self.analysis = Analysis(game, self._report, self._fail, choosing.analyst(game))
        self.colours = colours_of(game)
        self._compile()
        self._players: dict[int, tuple[str, Player, list[int]]] = {}
        self._is_closed = False
        self._begin_to_choose()
        self.judge = Judge(game, self._solved_path, self._tell, self.changed)
        self._follow()

    def _compile(self) -> None:
        """What the page needs is compiled before a player's search is: only one thread compiles at a time."""
        game, node = self.game, Tree(self.game, self.tree.root.state).root
        game.utility(node.state, stopped=True)
        choices(game, node.state, game.legal_actions(node.state))
        while node.outcome is None and not node.is_choice:
            node = Tree(game, game.result(node.state, game.legal_actions(node.state)[0])).root
        eval_data(game, node, node.state)

    # ── commands ──

    def command(self, name: str, given: dict[str, Any]) -> None:
        """One of COMMANDS, with its arguments from outside."""
        if name not in COMMANDS:
            raise UserError(f"unknown command '{name[:40]}': expected one of {', '.join(COMMANDS)}")
        kinds = COMMANDS[name]
        for key in given:
            if key not in kinds:
                raise UserError(f"{name}: unknown argument '{key[:40]}': expected {', '.join(kinds) or 'none'}")
        for key, kind in kinds.items():
            if key not in given or type(given[key]) is not kind:
                raise UserError(f"{name}: expected {key}, a value of type {kind.__name__}")
        with self.changed:
            self.used = time.monotonic()
            self.trouble = ""
            getattr(self, f"do_{name}")(**given)
            self._tell()

    def do_play(self, node: int, action: int) -> None:
        """A move of a person, or the dice as entered. `node`: the position that the person saw."""
        sight = self.sight()
        if sight.node(node) is not self.at:
            raise Stale("the position has changed since")
        if self.at.outcome is not None:
            raise Stale("the game is over here")
        if not sight.is_own(self.at):
            raise Stale("another player is to move, whose view is not shown")
        if self.busy is not None:
            raise Stale("a player is choosing; take back, or stop the players, to move yourself")
        if self.at.mover == CHANCE and not self.asks_dice and self.is_playing:
            raise Stale("the page rolls the dice")
        played = self.tree.play(self.at, action)
        played.is_taken_back = False
        self._go(played)

    def do_type(self, node: int, word: str) -> None:
        """A move by its name, in chess also as in books."""
        if len(word) > LONGEST_WORD:
            raise UserError(f"type: expected a move's name, got {short(repr(word))}")
        sight = self.sight()
        self.do_play(node, action_of(self.game, sight.state(sight.node(node)), word.strip()))

    def do_undo(self) -> None:
        """Back to the last decision of a person, or one move back where there is none."""
        path = self.tree.path(self.at)[:-1]
        own = [each for each in path if each.mover is not None and each.mover >= 0 and self.seats[each.mover] == HUMAN]
        if not path:
            raise Stale("there is no move to take back")
        target = (own or path)[-1]
        self.tree.path(self.at)[target.ply + 1].is_taken_back = True
        self._go(target)

    def do_go(self, node: int) -> None:
        """Show a position. The players wait there."""
        found = self.sight().node(node)
        self.is_playing = False
        self._go(found)

    def do_resume(self) -> None:
        """The players go on from here."""
        self.is_playing = True

    def do_stop(self) -> None:
        """The players wait."""
        self.is_playing = False
        self._forget_choice()

    def do_seat(self, seat: int, player: str) -> None:
        if not 0 <= seat < self.game.players:
            raise UserError(f"seat: expected 0 to {self.game.players - 1}, got {seat}")
        self.seats[seat] = self.choosing.check(player, self.game)
        self.names = ()
        self._forget_choice()
        self._follow()

    def do_ready(self) -> None:
        """The person to move looks at the page, and no other one."""
        if self.at.mover is None or self.at.mover == CHANCE or self.seats[self.at.mover] != HUMAN:
            raise Stale("ready: expected a person's turn")
        self.ready = self.at.mover
        self._follow()

    def do_resign(self) -> None:
        mover = self.at.mover
        if not self.sight().is_own(self.at):
            raise Stale("resign: expected your turn")
        if mover is None or mover == CHANCE or self.at.outcome is not None:
            raise Stale("resign: expected a player's turn")
        self.at.outcome, self.at.ending = forfeit_utilities(self.game, mover), f"player {mover} resigns"
        self.is_playing = False

    def do_dice(self, asks: bool) -> None:
        if not self.is_open:
            raise UserError(f"dice: expected a game in which players see everything, got {self.game.name}")
        self.asks_dice = asks

    def do_hide(self, hidden: bool) -> None:
        self.is_hidden = hidden

    def do_hint(self) -> None:
        """A person looks at what the analysis says of this position: recorded with the game."""
        self.at.hints += 1
        self.analyses = True
        self._follow()

    def do_analyse(self, on: bool) -> None:
        self.analyses = on
        self._follow()

    def do_analyst(self, player: str) -> None:
        text = self.choosing.check(player, self.game)
        if text == HUMAN:
            raise UserError("analysis: expected a program, got human")
        self.analysis.text = text
        self.analyses = True
        self._follow()

    def do_sweep(self) -> None:
        """Half a second for each position of the line, then this one."""
        sight, line = self.sight(), self.tree.line(self.at)
        orders = [Order(each.number, each.state, SWEEP) for each in line if each.is_choice and sight.is_own(each)]
        self.analyses = True
        self.analysis.ask([*orders, *self._orders()])

    def do_solve(self, on: bool) -> None:
        self.solves = on

    # ── who sees what ──

    @property
    def seat(self) -> int | None:
        """Whose view the page is sent; None: everything. That is one person's as long as the game lasts; of several, the one's who is
        to move and has said so."""
        if self.is_open or self.tree.line(self.at)[-1].outcome is not None:
            return None
        persons = [seat for seat, text in enumerate(self.seats) if text == HUMAN]
        if len(persons) < 2:
            return persons[0] if persons else None
        looks = self.ready is not None and (self.at.mover not in persons or self.at.mover == self.ready)
        return self.ready if looks and self.ready in persons else NOBODY

    def sight(self) -> Sight:
        return Sight(self.tree, self.seat, self.at)

    # ── where the game is ──

    def _go(self, node: Node) -> None:
        self._forget_choice()
        self.trouble = ""
        self.tree.choose(node)
        self.at = node
        self._follow()

    def _forget_choice(self) -> None:
        if self.busy is not None:  # the player ends its choice in its own thread; another one is made for the seat
            self._players.pop(self.busy[0], None)
            self.busy = None
            self._begin_to_choose()

    def _begin_to_choose(self) -> None:
        """A new thread; the one before ends by itself."""
        self._chooser = threading.Thread(target=self._play_on, daemon=True)
        self._chooser.start()

    def _orders(self) -> list[Order]:
        is_seen = self.at.is_choice and self.sight().is_own(self.at)
        return [Order(self.at.number, self.at.state, SECONDS)] if is_seen else []

    def _follow(self) -> None:
        """The analysis turns to the position shown."""
        self.found = None
        self.found_version += 1
        self.analysis.ask(self._orders() if self.analyses else [])

    def _solved_path(self) -> list[Node]:
        """Of exact values: the position shown, and those before it, so that moves can be judged."""
        is_solved = self.solves and self.game.rules.chance is None and not self.game.hides_information
        return self.tree.path(self.at) if is_solved else []

    def _tell(self) -> None:
        with self.changed:
            self.version += 1
            self.changed.notify_all()

    def close(self) -> None:
        """Its threads end. A thread that compiles or searches is not waited for."""
        self._is_closed = self.judge.is_closed = True
        self.analysis.close()
        if self.changed.acquire(timeout=0.2):
            self.changed.notify_all()
            self.changed.release()

    @property
    def is_waited_for(self) -> bool:
        """Whether a player or the analysis is at work and has nothing to show yet."""
        return self.busy is not None or (self.analyses and self.found is None and bool(self._orders()))

    @property
    def is_closed(self) -> bool:
        return self._is_closed

    # ── the analysis ──

    def _report(self, number: int, found: Found, is_over: bool) -> None:
        with self.changed:
            node = self.tree.nodes[number]
            mover = node.mover
            assert mover is not None
            if found.choice.has_value:
                self._value(node, found.choice)
            if found.choice.proven and node.utilities is not None:
                node.exact = node.utilities
            if node is self.at:
                self.found = number, as_data(self.game, node.state, found), is_over
                self.found_version += 1
                self.changed.notify_all()
            if is_over:
                self._tell()

    def _value(self, node: Node, choice: Choice) -> None:
        """What a search found of a position."""
        assert node.mover is not None
        node.utilities, node.scores = utilities_of(self.game, node.mover, choice), scores(choice)
        node.error = error_of(choice)

    def _fail(self, message: str) -> None:
        with self.changed:
            self.trouble, self.analyses = message, False
            self._tell()

    # ── players ──

    def _play_on(self) -> None:
        """The thread in which players choose and dice are rolled."""
        while True:
            with self.changed:
                while self._is_chooser() and self._seat_to_choose() is None:
                    self.changed.wait()
                if not self._is_chooser():
                    return
                seat, node = self._seat_to_choose(), self.at
                assert seat is not None
                if seat == CHANCE:
                    self._move(node, random_action(self.game, node.state, generator(self.seed, "dice", node.ply)))
                    continue
                self.busy = busy = (seat, self._since(node, seat))
                self._tell()
            self._choose(seat, node, busy)

    def _is_chooser(self) -> bool:
        """Whether this thread is the one in which players choose."""
        return not self._is_closed and threading.current_thread() is self._chooser

    def _seat_to_choose(self) -> int | None:
        mover = self.at.mover
        if not self.is_playing or self.busy is not None or mover is None or self.at.outcome is not None:
            return None
        if mover == CHANCE:
            return None if self.asks_dice else CHANCE
        return mover if self.seats[mover] != HUMAN else None

    def _choose(self, seat: int, node: Node, busy: tuple[int, float]) -> None:
        try:
            player = self._player(seat, node, busy)
            choice = player.choose(node.state)
            if choice.action not in self.game.legal_actions(node.state):
                raise Forfeit(f"{choice.action} is not a legal action")
        except Exception as error:
            known = isinstance(error, UserError | OSError)
            message = str(error) if known else f"{type(error).__name__}: {error}"
            with self.changed:
                if self.busy is busy:
                    self.busy, self.is_playing = None, False
                    self._players.pop(seat, None)
                    self.trouble = f"{self.seats[seat]} cannot move: {message}"
                    self._tell()
            return
        with self.changed:
            if self.busy is not busy:
                return
            self.busy = None
            if node.utilities is None and choice.has_value:
                self._value(node, choice)
            self._move(node, choice.action)

    def _since(self, node: Node, seat: int) -> float:
        """When a player began to choose. One that moves again goes on choosing, where others may not notice the move between."""
        again = self.game.hides_information and node.parent is not None and node.parent.mover == seat
        if not (again and self._began is not None and self._began[0] == seat):
            self._began = seat, time.time()
        return self._began[1]

    def _move(self, node: Node, action: int) -> None:
        try:
            self._go(self.tree.play(node, action))
        except UserError as error:  # the tree is full
            self.is_playing, self.trouble = False, str(error)
        self._tell()

    def _player(self, seat: int, node: Node, busy: tuple[int, float]) -> Player:
        """The seat's player, which has seen all moves up to the node."""
        with self.changed:
            text, actions, kept = self.seats[seat], self.tree.actions(node), self._players.get(seat)
            if self.busy is not busy:
                raise UserError("the position has changed")
        if kept is None or kept[0] != text:
            kept = text, make_player(text, self.game), [-1]
            with self.changed:
                if self.busy is busy:  # else another thread has a player of its own: two must never share one
                    self._players[seat] = kept
        _, player, seen = kept
        if seen != actions[: len(seen)]:
            player.new_game(derive(self.seed, "seat", seat))
            seen.clear()
        for action in actions[len(seen) :]:
            player.advance(action)
        seen[:] = actions
        return player

    # ── what the page is sent ──

    def data(self, turned: bool = False) -> dict[str, Any]:
        """The table, without the moves of the position and without what the analysis finds."""
        return table_data(self, turned)

    def choices(self, number: int) -> dict[str, Any]:
        """The legal moves of a position with their clicks."""
        sight = self.sight()
        node = sight.node(number)
        if sight.seat is not None:
            state = sight.state(node)
            legal = self.game.legal_actions(state) if node.outcome is None and sight.is_own(node) else []
            return {"node": number, **choices(self.game, state, legal)}
        is_over = node.outcome is not None
        if self._choices is None or self._choices[0] is not node or self._choices[1] != is_over:
            legal = [] if is_over else self.game.legal_actions(node.state)
            self._choices = node, is_over, {"node": number, **choices(self.game, node.state, legal)}
        return self._choices[2]

    def found_data(self) -> dict[str, Any] | None:
        """What the analysis finds, where the seat whose view is shown is to move."""
        sight = self.sight()
        if self.found is None or not sight.is_own(self.tree.nodes[self.found[0]]):
            return None
        number, data, is_over = self.found
        return {"node": sight.number(self.tree.nodes[number]), "over": is_over, **data}

    def line(self, number: int, actions: Sequence[Any], turned: bool = False) -> dict[str, Any]:
        """The board at the end of a line, and where its moves came to stand."""
        if len(actions) > LINE or not all(type(action) is int for action in actions):
            raise UserError(f"line: expected at most {LINE} actions as whole numbers")
        sight = self.sight()
        node, steps = sight.node(number), list[list[str]]()
        if not sight.is_own(node):
            raise UserError("line: expected a position of the player whose view is shown")
        state = sight.state(node)
        for action in actions:
            after = self.game.result(state, action)
            steps.append(marks(self.game, state, after))
            state = after
        return {"picture": picture(self.game.diagram(state), turned), "steps": steps}

    def tree_picture(self, number: int) -> str:
        """A small search of a position as a drawing, by the player that analyses."""
        node = self.sight().node(number)
        if not node.is_choice:
            raise UserError("tree: expected a position where a player is to move")
        return tree_picture(self.analysis.text, self.game, node.state)

    # ── records ──

    def record(self) -> GameRecord:
        """The line that is shown, to its end."""
        with self.changed:
            if self.seat is not None:
                raise UserError("save: expected a game that is over: a file holds what the players do not see yet")
            line = self.tree.line(self.at)
            last = line[-1]
            values = [each.utilities for each in line[:-1]]
            unknown = (np.nan,) * self.game.players
            return make_record(
                self.game,
                self.tree.actions(last),
                policies=[each.target for each in line[:-1]],
                utilities=[value or unknown for value in values] if any(values) else None,
                outcome=last.outcome if last.ending else None,
                ending=last.ending,
                seed=self.seed,
                players=self.names or self.seats,
                start=self.tree.root.state if self.tree.has_own_start else None,
                metadata=self._metadata(line),
            )

    def _metadata(self, line: Sequence[Node]) -> dict[str, Any]:
        """Hints, and what the file of the game had beside its moves, as far as they are the same."""
        found: dict[str, Any] = {"hints": [each.hints for each in line]} if any(each.hints for each in line) else {}
        if self.source is None:
            return found
        kept, moves = dict(self.source.metadata), self.source.moves.tolist()
        actions = [each.action for each in line[1:]]
        if actions != moves:
            kept.pop("rest", None)
            same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(actions, moves, strict=False)))
            notes = kept.get("notes")
            if isinstance(notes, dict):
                kept["notes"] = {ply: text for ply, text in notes.items() if str(ply).isdecimal() and int(ply) <= same}
        return kept | found

    def show_record(self, record: GameRecord, title: str) -> None:
        """Fill the table with a recorded game; its end is shown."""
        with self.changed:
            node = self.tree.root
            for ply, action in enumerate(record.moves.tolist()):
                actions, probabilities, _ = record.policy(ply)
                if len(actions):
                    node.target = dict(zip(actions.tolist(), probabilities.tolist(), strict=True))
                values = record.utilities[ply]
                if len(values) == self.game.players and np.isfinite(values).all():
                    node.utilities = tuple(values.tolist())
                node = self.tree.play(node, action)
            if record.outcome is not None and node.outcome is None:
                node.outcome, node.ending = record.outcome, record.ending
            self.names = record.players if any(record.players) else ()
            self.title, self.is_playing, self.source = title, False, record
            self._go(self.tree.root if len(record.moves) else node)
            self.tree.choose(node)
            self._tell()


COMMANDS: dict[str, dict[str, type]] = {
    "play": {"node": int, "action": int},
    "type": {"node": int, "word": str},
    "undo": {},
    "go": {"node": int},
    "resume": {},
    "stop": {},
    "seat": {"seat": int, "player": str},
    "ready": {},
    "resign": {},
    "dice": {"asks": bool},
    "hide": {"hidden": bool},
    "hint": {},
    "analyse": {"on": bool},
    "analyst": {"player": str},
    "sweep": {},
    "solve": {"on": bool},
}
"""With their arguments."""
