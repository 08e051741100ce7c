"""`python -m arena analyze GAME PLAYER`: questions about positions in, analyses out, a JSON object a line each.

Several positions are searched at once, and answers come as they are found, not in the order of the questions. The fields are those of
KataGo's analysis engine, as far as they have a meaning for every game:

    {"id": "a", "moves": ["e4", "e5"], "analyzeTurns": [0, 2], "maxVisits": 500}

| field                     | meaning                                                                                                |
|---------------------------|--------------------------------------------------------------------------------------------------------|
| `id`                      | a text, which the answers repeat                                                                       |
| `position`                | where the game begins, in the game's own notation; without it, its usual beginning                     |
| `moves`                   | a text, or a list of names, or of pairs of a colour and a name                                         |
| `analyzeTurns`            | after how many moves; without it, after all of them. Each is an answer of its own                      |
| `maxVisits`, `maxDepth`, `maxTime` | limits of a search: nodes or simulations, actions ahead, seconds; otherwise those of the player |
| `lines`                   | how many of the best moves get a line of their own (default 5)                                         |
| `allowMoves`, `avoidMoves` | lists of names: the only moves to consider, or those to leave out                                     |
| `reportDuringSearchEvery` | seconds between answers with `"isDuringSearch": true`                                                  |
| `priority`, `priorities`  | what is searched first; the second by turn                                                             |
| `action`                  | instead of a position: `terminate` with `terminateId`, `terminate_all`, `query_version`                |

An answer has `turnNumber`, `rootInfo` and `moveInfos`, best first. `winrate` is 0 to 1, `utility` -1 to 1, both the mover's; `visits`
where the search counts them. A question that cannot be understood is answered by `{"error": …, "id": …}`. At the end of the input,
what was asked is still answered.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import sys
import threading
from dataclasses import dataclass, field
from queue import PriorityQueue
from typing import Any

from arena.analysis import Analyst
from arena.choose import POSITION, rounded
from arena.commands import add_threads
from arena.players import make_player, pack_player, unpack_player
from base.errors import UserError, nearest, short
from base.json_values import is_count, is_name, is_number, is_text, is_whole
from base.lines import Lines, waiting, whole
from base.reading import json_of
from base.threads import Stop
from games import CHANCE, Game, load
from games.choice import Choice, Limits
from games.formats.words import followed, words_of

LINES = 5
OWN = ("id", "position", "moves", "analyzeTurns", "maxVisits", "maxDepth", "maxTime", "lines", "allowMoves", "avoidMoves",
       "reportDuringSearchEvery", "priority", "priorities", "action", "terminateId", "turnNumbers")  # fmt: skip
MOST_TURNS = 100_000


def add_analyze(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("game", metavar="GAME")
    parser.add_argument("player", metavar="PLAYER", help="as in uct:sims=1000")
    add_threads(parser, "positions at once")


def run_analyze(options: argparse.Namespace) -> int:
    game = load(options.game)
    server = Server(game, options.player, max(options.workers, 1))
    for line in waiting(Lines(sys.stdin)):
        server.take(line)
    server.close()
    return 0


@dataclass(order=True)
class Job:
    """One position of a query. The first in order is searched first."""

    priority: float
    number: int
    query: str = field(compare=False)
    turn: int = field(compare=False)
    state: Any = field(compare=False)
    limits: Limits = field(compare=False)
    seconds: float | None = field(compare=False)
    stop: Stop = field(compare=False, default_factory=Stop)


class BadField(UserError):
    """A field of a query that cannot be understood."""

    def __init__(self, name: str, expected: str, got: object) -> None:
        super().__init__(f"{name}: expected {expected}, got {short(repr(got))}")
        self.name = name


class Queries:
    """What lines ask about one game."""

    def __init__(self, game: Game) -> None:
        self.game, self.numbers = game, itertools.count()

    def jobs_of(self, query: dict[str, Any]) -> list[Job]:
        """The positions to analyse, one for each turn."""
        name = query.get("id")
        if not isinstance(name, str) or not is_name(name):
            raise BadField("id", "a text", name)
        states = self._states(query)
        turns = query.get("analyzeTurns", [len(states) - 1])
        if not (isinstance(turns, list) and len(turns) <= MOST_TURNS and all(map(is_count, turns))):
            raise BadField("analyzeTurns", "a list of numbers of moves", turns)
        limits, seconds = self._limits(query)
        priorities = query.get("priorities", [query.get("priority", 0)] * len(turns))
        if not (isinstance(priorities, list) and len(priorities) == len(turns) and all(map(is_whole, priorities))):
            raise BadField("priorities", "a whole number for each turn", priorities)
        jobs = []
        for turn, priority in zip(turns, priorities, strict=True):
            if turn >= len(states):
                raise BadField("analyzeTurns", f"at most {len(states) - 1}, the number of moves", turn)
            chosen = self._chosen(query, states[turn]) if self.game.to_move(states[turn]) is not None else ()
            given = Limits(limits.depth, limits.nodes, limits.is_endless, chosen, limits.lines, limits.every)
            jobs.append(Job(-priority, next(self.numbers), name, turn, states[turn], given, seconds))
        return jobs

    def _states(self, query: dict[str, Any]) -> list[Any]:
        """The positions of the game, one for each turn."""
        game = self.game
        place, moves = query.get("position"), query.get("moves", [])
        if place is not None and not isinstance(place, str):
            raise BadField("position", "a text", place)
        words = words_of(game, moves) if isinstance(moves, str) else moves
        if not (isinstance(words, list) and all(map(is_move, words))):
            raise BadField("moves", "a text, a list of names, or of pairs of a colour and a name", moves)
        state = game.initial() if place is None else game.parse(place.removeprefix(POSITION))
        names = [word if isinstance(word, str) else word[1] for word in words]
        try:
            return [state, *(after for _, after in followed(game, names, state))]
        except UserError as error:
            raise UserError(f"moves: {error}") from None

    def _limits(self, query: dict[str, Any]) -> tuple[Limits, float | None]:
        for name, least in (("maxVisits", 1), ("maxDepth", 1), ("lines", 0)):
            value = query.get(name)
            if value is not None and not (is_whole(value) and least <= value < 2**31):
                raise BadField(name, f"a whole number, {least} or more", value)
        for name in ("maxTime", "reportDuringSearchEvery"):
            value = query.get(name)
            if value is not None and not (is_number(value) and 0 < value < 1e6):
                raise BadField(name, "seconds above 0", value)
        nodes, depth, seconds = (query.get(name) for name in ("maxVisits", "maxDepth", "maxTime"))
        is_endless = not (nodes is None and depth is None and seconds is None)
        every = query.get("reportDuringSearchEvery", math.inf)
        return Limits(depth, nodes, is_endless, (), query.get("lines", LINES), every), seconds

    def _chosen(self, query: dict[str, Any], state: Any) -> tuple[int, ...]:
        """The actions to consider; none: all."""
        named = {}
        for name in ("allowMoves", "avoidMoves"):
            given = query.get(name)
            if given is None:
                continue
            words: list[Any] = (
                [word for each in given for word in names_in(each)] if isinstance(given, list) else [None]
            )
            if not all(map(is_text, words)):
                raise BadField(name, "a list of names", given)
            named[name] = {action for word in words if (action := self.game.id_of(word)) is not None}
        legal = self.game.legal_actions(state)
        kept = [
            action
            for action in legal
            if action in named.get("allowMoves", legal) and action not in named.get("avoidMoves", ())
        ]
        return tuple(kept) if named and len(kept) < len(legal) else ()


class Server:
    """Queries in, answers out; threads search, each with a player of its own."""

    def __init__(self, game: Game, text: str, threads: int) -> None:
        self.game, self.text, self.queries = game, text, Queries(game)
        packed = pack_player(make_player(text, game))
        self._jobs: PriorityQueue[Job] = PriorityQueue()
        self._open: dict[int, Job] = {}  # by number: those that wait or are searched
        self._lock = threading.Lock()
        analysts = [Analyst(unpack_player(packed, game)) for _ in range(threads)]
        analysts[0].prepare()
        self._threads = [threading.Thread(target=self._work, args=(each,), daemon=True) for each in analysts]
        for thread in self._threads:
            thread.start()

    def send(self, answer: dict[str, Any]) -> None:
        with self._lock:
            print(json.dumps(rounded(answer), ensure_ascii=False), flush=True)

    def take(self, line: str) -> None:
        """Answer a line, or put its positions into the queue."""
        if not line.strip():
            return
        query: Any = None
        try:
            query = json_of(whole(line), "query")
            if not isinstance(query, dict):
                raise UserError(f"query: expected an object, got {short(line)}")
            if "action" in query:
                self._act(query)
                return
            jobs = self.queries.jobs_of(query)
        except UserError as error:
            answer = {"error": " ".join(str(error).split())}
            if isinstance(error, BadField):
                answer["field"] = error.name
            if isinstance(query, dict) and is_name(query.get("id")):
                answer["id"] = query["id"]
            self.send(answer)
            return
        for name in query.keys() - set(OWN):
            self.send({"warning": f"unused field{nearest(name, OWN)}", "field": name, "id": query["id"]})
        with self._lock:
            self._open |= {job.number: job for job in jobs}
        for job in jobs:
            self._jobs.put(job)

    def close(self) -> None:
        """Wait until all is answered."""
        for _ in self._threads:
            self._jobs.put(Job(math.inf, next(self.queries.numbers), "", -1, None, Limits(), None))
        for thread in self._threads:
            thread.join()

    def _act(self, query: dict[str, Any]) -> None:
        action = query["action"]
        if action in ("terminate", "terminate_all"):
            turns = query.get("turnNumbers")
            with self._lock:
                found = [
                    job
                    for job in self._open.values()
                    if action == "terminate_all"
                    or (job.query == query.get("terminateId") and (not isinstance(turns, list) or job.turn in turns))
                ]
            for job in found:
                job.stop()
        elif action == "query_version":
            query = query | {"version": "1", "player": self.text, "game": self.game.name}
        elif action != "clear_cache":
            raise BadField("action", "terminate, terminate_all, query_version or clear_cache", action)
        self.send(query)

    # ── searches ──

    def _work(self, analyst: Analyst) -> None:
        while (job := self._jobs.get()).turn >= 0:
            try:
                self._answer(analyst, job)
            except Exception as error:
                text = str(error) if isinstance(error, UserError) else f"{type(error).__name__}: {error}"
                self.send({"error": " ".join(text.split()), "id": job.query, "turnNumber": job.turn})
            with self._lock:
                del self._open[job.number]

    def _answer(self, analyst: Analyst, job: Job) -> None:
        if job.stop.is_set:
            self.send({"id": job.query, "isDuringSearch": False, "noResults": True, "turnNumber": job.turn})
            return
        mover = self.game.to_move(job.state)
        if mover is None or mover == CHANCE:
            what = "a finished game" if mover is None else "a roll of the dice"
            raise UserError(f"expected a position with a move to choose, got {what}")
        player = analyst.player
        player.new_game()
        seconds = job.seconds
        if seconds is None and not job.limits.is_endless and player.ms is not None:
            seconds = player.ms / 1000
        timer = threading.Timer(seconds, job.stop) if seconds is not None else None
        if timer is not None:
            timer.daemon = True
            timer.start()

        def report(choice: Choice) -> None:
            if math.isfinite(job.limits.every):  # a search by depth reports without a request, too
                self.send(self.described(job, choice, True))

        found = player.analyse(job.state, job.limits, report, job.stop)
        if timer is not None:
            timer.cancel()
        self.send(self.described(job, found, False))

    def described(self, job: Job, choice: Choice, is_during: bool) -> dict[str, Any]:
        game = self.game
        first = [each for each in choice.actions if each.action == choice.action]
        others = [each for each in choice.actions if each.action != choice.action]
        moves = []
        for order, each in enumerate([*first, *others]):
            value = choice.value if order == 0 and first else each.value
            if value is None:
                continue
            line = choice.pv if order == 0 and first else each.pv
            found = {"move": game.names[each.action], "order": order, "winrate": (1 + value) / 2, "utility": value}
            found |= {} if each.visits is None else {"visits": each.visits}
            found |= {} if each.prior is None else {"prior": each.prior}
            found |= {} if each.bound in ("exact", "estimate") else {"bound": each.bound}
            if game.needs_vectors and each.utilities is not None:
                found["utilities"] = list(each.utilities)
            moves.append(found | {"pv": [game.names[action] for action in line]})
        mover = game.to_move(job.state)
        root: dict[str, Any] = {"currentPlayer": mover, "winrate": (1 + choice.value) / 2, "utility": choice.value}
        root |= {"visits": choice.nodes, "depth": choice.depth, "seconds": choice.seconds, "proven": choice.proven}
        if game.needs_vectors and choice.utilities is not None:
            root["utilities"] = list(choice.utilities)
        return {
            "id": job.query,
            "isDuringSearch": is_during,
            "turnNumber": job.turn,
            "bestMove": game.names[choice.action],
            "rootInfo": root,
            "moveInfos": moves,
        }


def is_move(word: object) -> bool:
    """A name, or a colour and a name."""
    return isinstance(word, str) or (
        isinstance(word, list) and len(word) == 2 and all(isinstance(each, str) for each in word)
    )


def names_in(each: object) -> list[Any]:
    """A name, or KataGo's form: {"player": "B", "moves": [names], "untilDepth": 1}."""
    found = each.get("moves") if isinstance(each, dict) else [each]
    return found if isinstance(found, list) else [None]
