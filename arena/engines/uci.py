"""Chess engines that speak UCI: `uci:"stockfish",ms=50`, `uci:"stockfish",nodes=1000,UCI_LimitStrength=true,UCI_Elo=1350`.

Other keys are the engine's own options; a space in their names is written `_` (`Skill_Level=3`). The game is sent as
`position startpos moves …`, or from a FEN where it began at another position, so that the engine detects repetitions.

The choice holds the engine's depth, nodes and principal variation, and with `MultiPV=3` the other candidates. A score of cp centipawns
becomes the utility tanh(u · cp / 100) with u = 1/4, the weight of a pawn in our own EVAL (`Rules.weight_unit`); a mate is ±1.

The protocol: Stefan Meyer-Kahlen, 2006.
"""

from __future__ import annotations

import math
import re
import time

from arena.engines.engine import GRACE, STARTING, Engine, Grace
from arena.players import Count, Depth, Thinker
from base.errors import UserError, nearest
from games import Game
from games.choice import Bound, Candidate, Choice

HELLO = 10.0  # seconds for `uciok`, before which an engine has nothing to load
_OPTION = re.compile(r"option name (?P<name>.+?) type (?P<type>\w+)(?: (?P<rest>.*))?$")
_RANGE = re.compile(r"\b(min|max) (-?\d{1,18})\b")
_SCORE = re.compile(r"\bscore (cp|mate) (-?\d+)(?: (lowerbound|upperbound))?")
_COUNT = re.compile(r"\b(depth|nodes|multipv) (\d+)")
_SWITCH = {"on": "true", "off": "false", "true": "true", "false": "false", "1": "true", "0": "false"}
BOUNDS: dict[str | None, Bound] = {"lowerbound": "lower", "upperbound": "upper"}


def player(
    game: Game,
    command: str,
    /,
    ms: Count | None = None,
    nodes: Count | None = None,
    depth: Depth | None = None,
    grace: Grace = GRACE,
    **options: str,
) -> Thinker:
    """an external chess engine that speaks UCI; `Skill_Level=3` and the like are the engine's own options"""
    return Uci(game, command, ms, nodes, depth, grace, options)


class Uci(Engine):
    """One engine for one seat."""

    kind = "uci"

    def __init__(
        self,
        game: Game,
        command: str,
        ms: int | None,
        nodes: int | None,
        depth: int | None,
        grace: int,
        options: dict[str, str],
    ) -> None:
        if game.name != "chess":
            raise UserError(f"uci: expected the game of chess, got {game.name}")
        if ms is None and nodes is None and depth is None:
            raise UserError("uci: expected a limit: ms, nodes or depth")
        limits = {"movetime": ms, "nodes": nodes, "depth": depth}
        self.go = "go " + " ".join(f"{name} {limit}" for name, limit in limits.items() if limit is not None)
        self.options = options
        super().__init__(game, command, ms, grace)

    def handshake(self) -> None:
        self.deadline = time.monotonic() + HELLO
        self.send("uci")
        lines = self.receive_until(lambda line: line.strip() == "uciok", sent="uci")
        names = [line.removeprefix("id name ").strip() for line in lines if line.startswith("id name ")]
        self.name = names[0] if names else self.command
        known = {found["name"]: found for line in lines if (found := _OPTION.match(line.strip()))}
        for key, value in self.options.items():
            self.send(setting(self.command, known, key, value))
        self.begin()

    def begin(self) -> None:
        self.send("ucinewgame")
        self.deadline = time.monotonic() + STARTING
        self.send("isready")
        self.receive_until(lambda line: line.strip() == "readyok")

    def think(self) -> Choice:
        game = self.game
        where = "startpos" if self.is_from_the_start() else f"fen {game.text(self.start)}"
        moves = " moves " + " ".join(game.name_of(move) for move in self.moves) if self.moves else ""
        self.send(f"position {where}{moves}")
        self.send(self.go)
        infos: dict[int, str] = {}  # the latest info of each line of a MultiPV search
        counts: dict[str, int] = {}
        while not (line := self.receive()).startswith("bestmove"):
            if line.startswith("info ") and " string " not in line:
                found = {name: self.whole(number) for name, number in _COUNT.findall(line.partition(" pv ")[0])}
                counts |= found
                if _SCORE.search(line) and found.get("multipv", 1) <= game.rules.max_legal:
                    infos[found.get("multipv", 1)] = line
        words = line.split()
        action = self.legal(words[1] if len(words) > 1 else "")
        return self._choice(action, [infos[number] for number in sorted(infos)], counts)

    def _choice(self, action: int, infos: list[str], counts: dict[str, int]) -> Choice:
        lines = {line[0]: (line, info) for info in reversed(infos) if (line := self._line(info))}
        # An engine with limited strength may choose a move that is not the first of its lines.
        pv, info = lines.get(action, ((action,), infos[0] if infos else ""))
        value, _ = self._value(info)
        candidates = [Candidate(first, *self._value(info)) for first, (_, info) in reversed(lines.items())]
        return Choice(
            action,
            value,
            pv=tuple(pv),
            depth=counts.get("depth", 0),
            nodes=counts.get("nodes", 0),
            actions=tuple(candidates) if action in lines else (Candidate(action, value, "upper"), *candidates),
        )

    def _line(self, info: str) -> tuple[int, ...]:
        """The moves of an info line, as far as they are legal."""
        game, state, found = self.game, self.state, []
        for word in info.partition(" pv ")[2].split():
            action = game.id_of(word)
            if action is None or action not in game.legal_actions(state):
                break
            found.append(action)
            state = game.result(state, action)
        return tuple(found)

    def _value(self, info: str) -> tuple[float, Bound]:
        """The mover's utility."""
        found = _SCORE.search(info)
        if found is None:
            return 0.0, "estimate"
        number = self.whole(found[2])
        if found[1] == "mate":
            return (1.0 if number > 0 else -1.0), BOUNDS.get(found[3], "estimate")
        return math.tanh(self.game.rules.weight_unit * number / 100), BOUNDS.get(found[3], "estimate")


def setting(command: str, known: dict[str, re.Match[str]], key: str, value: str) -> str:
    """The line that sets an option; an unknown option or value is an error."""
    by_key = {re.sub(r"\W+", "_", name).lower(): found for name, found in known.items()}
    found = by_key.get(key.lower())
    if found is None:
        names = [re.sub(r"\W+", "_", name) for name in known]
        raise UserError(f"'{command}' has no option '{key}'{nearest(key, names)}")
    name, kind, rest = found["name"], found["type"], found["rest"] or ""
    if kind == "button":
        return f"setoption name {name}"
    expected = ""
    if kind == "spin":
        limits = {which: int(number) for which, number in _RANGE.findall(rest)}
        least, most = limits.get("min", -(2**63)), limits.get("max", 2**63)
        if not re.fullmatch(r"-?\d{1,18}", value) or not least <= int(value) <= most:
            expected = f"{least} to {most}"
    elif kind == "check":
        if value.lower() not in _SWITCH:
            expected = "on or off"
        value = _SWITCH.get(value.lower(), value)
    elif kind == "combo":
        choices = re.findall(r"\bvar (.+?)(?= var |$)", rest)
        if value not in choices:
            expected = f"one of {', '.join(choices)}"
    if expected:
        raise UserError(f"{key}: expected {expected}, got '{value}'")
    return f"setoption name {name} value {value}"
