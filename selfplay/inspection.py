"""One game of self-play as text: every position, the search's results, the policy targets."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from games import CHANCE, Game
from games.record import GameRecord, read_records
from games.types import GameState

SHOWN = 6  # actions of a policy
WIDTH = 10  # of a bar


def records_of(path: Path, game: Game) -> list[GameRecord]:
    """In the order of their numbers, if they have any."""
    return sorted(read_records(path, game), key=lambda record: int(record.metadata.get("number", 0)))


def shown(game: Game, record: GameRecord) -> str:
    """The whole game, drawn."""
    positions = (f"{game.render(state)}\n{findings(game, record, state, ply)}" for state, ply in record.replay(game))
    return "\n\n".join([about(game, record), *positions])


def about(game: Game, record: GameRecord) -> str:
    """Who played."""
    seed = "" if record.seed is None else f", seed {record.seed}"
    return f"{game.name}, {' · '.join(dict.fromkeys(record.players))}{seed}"


def findings(game: Game, record: GameRecord, state: GameState, ply: int) -> str:
    """What was played in a position, and what the search found there; at the end the outcome."""
    if ply == len(record):
        ending = (
            "unfinished" if record.outcome is None else "outcome " + " ".join(f"{each:+g}" for each in record.outcome)
        )
        return f"{ending}{f', {record.ending}' if record.ending else ''}"
    mover, played = game.to_move(state), int(record.moves[ply])
    who = "chance" if mover == CHANCE else f"player {mover}"
    lines = [f"ply {ply}, {who} plays {game.name_of(played)}"]
    actions, shares, visits = record.policy(ply)
    if len(actions):
        kind = "full search, its policy is a target" if record.searched[ply] else "fast search"
        worth = " ".join(f"{each:+.3f}" for each in record.utilities[ply])
        lines[-1] += f": {kind}; utility of each player {worth}"
        for i in np.argsort(-shares, kind="stable")[:SHOWN]:
            mark = "*" if actions[i] == played else " "
            bar = "█" * round(float(shares[i]) * WIDTH)
            lines.append(f"  {mark} {game.name_of(int(actions[i])):>8} {shares[i]:6.1%} {visits[i]:6} {bar}")
    elif mover != CHANCE and len(game.legal_actions(state)) == 1:
        lines[-1] += ": the only legal action, no search"
    return "\n".join(lines)
