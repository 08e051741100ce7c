"""Which games and players the page may name. What names a program or a file on this machine comes from the command line alone: a page
is a visitor, even where only this machine can reach it.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from arena.players import ENGINES, FILES, brief, make_player, parse_player
from base.errors import UserError, short
from base.options import split
from base.seeds import below, generator
from checkpoints import all_of, called, folders, read_card
from classical.equilibrium.game_tree import MOST_NODES
from classical.eval import FITTED
from games import Game, load
from games.engine.registry import builtin_games, options_of, summary_of, variants

HUMAN = "human"
PROBES = 30
LONGEST = 300  # characters of a player's or a game's text


class Choosing:
    """`games` and `players` are those of the command line."""

    def __init__(self, games: Sequence[str] = (), players: Sequence[str] = ()) -> None:
        self.own_games, self.own_players = tuple(games), tuple(players)

    # ── games ──

    def game(self, text: str) -> Game:
        """The game of that text or name: one of the program's, or of the command line."""
        for own in self.own_games:
            if text in (own, load(own).name):
                return load(own)
        if len(text) > LONGEST or not text.isprintable():
            raise UserError(f"game: expected at most {LONGEST} printable characters, got {short(repr(text))}")
        name, options = split(text)
        if name not in builtin_games() or (text not in variants() and any(_is_path(value) for _, value in options)):
            known = ", ".join([*self.own_games, *builtin_games()])
            raise UserError(
                f"unknown game '{short(text)}': expected one of {known}; a file of yours: python -m arena serve FILE"
            )
        return load(text)

    def games(self) -> list[dict[str, Any]]:
        """For the list on the page."""
        found = [{"text": text, "about": "from the command line", "options": {}} for text in self.own_games]
        names = [text for text in variants() if split(text)[0] == "tree"]
        names += [name for name in builtin_games() if name != "tree"]
        for text in names:
            if text not in self.own_games:
                name = split(text)[0]
                options = options_of(name) if name == text else {}
                found.append({"text": text, "about": summary_of(name).replace("`", ""), "options": options})
        return found

    # ── players ──

    def check(self, text: str, game: Game) -> str:
        """The text itself, where the page may name this player and it plays this game. `human` may be in every seat."""
        if text in (HUMAN, *self.own_players):
            return text
        if len(text) > LONGEST or not text.isprintable():
            raise UserError(f"player: expected at most {LONGEST} printable characters, got {short(repr(text))}")
        kind, options, resolved = parse_player(text)
        if kind == HUMAN:
            raise UserError(f"human: expected no options, got '{text}'")
        if (ENGINES / f"{kind}.py").exists() and (options.is_open or set(options.texts) - set(FILES)):
            raise UserError(f"{kind}: a program is named on the command line: python -m arena serve --player '{text}'")
        for option in FILES:
            if resolved.get(option) is None or (option == "eval" and resolved[option] == FITTED):
                continue
            if option != "checkpoint" or resolved[option] not in self.checkpoints(game):
                raise UserError(
                    f"{kind}: {option}: expected a checkpoint that the page lists, got '{short(str(resolved[option]))}'; others are "
                    f"named on the command line: --player"
                )
        make_player(text, game, ready=False)
        return text

    def players(self, game: Game) -> list[dict[str, str]]:
        """Suggestions, from weak to strong; any other text of `python -m arena players` will do."""
        rules, own = game.rules, [(text, "from the command line") for text in self.own_players]
        is_classical = game.players == 2 and rules.zero_sum and rules.chance is None
        found = [(HUMAN, "a person"), ("random", "random moves")]
        if game.hides_information:
            found += [
                ("ismcts:sims=1000", "tree search over information sets"),
                ("pimc:worlds=20", "searches of 20 worlds"),
            ]
            found += [("cfr:iterations=1000", "an equilibrium, computed first")] if can_unfold(game) else []
            found += [(f"net:{name}", "the network's policy") for name in self.checkpoints(game)]
            return [{"text": text, "about": about} for text, about in [*found, *own]]
        found += [
            ("uct:sims=100", "UCT, quick"),
            ("uct:ms=500", "UCT, half a second"),
            ("uct:ms=3000", "UCT, three seconds"),
        ]
        if is_classical:
            found += [("alphabeta:depth=2", "alpha-beta, 2 plies"), ("alphabeta:ms=500", "alpha-beta, half a second")]
            found += [("alphabeta:ms=3000", "alpha-beta, three seconds"), ("solver", "exact play, in small games")]
        elif game.players == 2 and rules.zero_sum:
            found += [("expectiminimax:depth=1", "expectiminimax, 1 ply")]
        else:
            found += [("maxn:depth=2", "max^n, 2 plies")]
        for name in self.checkpoints(game):
            found.append((f"net:{name},sims=0", "the network alone"))
            found.append((f"net:{name},sims=200", "the network, 200 simulations"))
        return [{"text": text, "about": about} for text, about in [*found, *own]]

    def analyst(self, game: Game) -> str:
        """The player that analyses, unless another is chosen: a released network, else a search that suits the game."""
        if game.hides_information:
            return "cfr:iterations=1000" if can_unfold(game) else "ismcts:sims=1000"
        own = [text for text in self.own_players if split(text)[0] in ("net", "alphabeta", "uct")]
        if own:
            return own[0]
        nets = self.checkpoints(game)
        if nets:
            return f"net:{nets[0]},sims=1000"
        rules = game.rules
        is_classical = game.players == 2 and rules.zero_sum and rules.chance is None
        return "alphabeta:ms=1000" if is_classical and any(rules.feature_weights or ()) else "uct:ms=1000"

    def checkpoints(self, game: Game) -> list[str]:
        """Names of networks of the game: those released, then of runs, the newest first."""
        found = []
        for path in folders.released():
            with suppress(UserError, OSError):
                if read_card(path).game == game.name:
                    found.append(called(path))
        for run in self.runs():
            if run["game"] == game.name:
                found.append(run["name"])
                found += [f"{run['name']}@{each['step']}" for each in reversed(run["checkpoints"])]
        return found

    def runs(self) -> list[dict[str, Any]]:
        """The runs of the folder `runs`, with their checkpoints."""
        root = folders.RUNS
        found = []
        for path in sorted(root.iterdir()) if root.is_dir() else ():
            listed = []
            game = ""
            for each in all_of(path):
                with suppress(UserError, OSError):
                    card = read_card(each)
                    game = card.game
                    elo = None if card.elo is None else [card.elo.value, card.elo.low, card.elo.high]
                    listed.append(
                        {"step": int(each.name), "games": card.games, "elo": elo, "strength": card.strength_text()}
                    )
            if listed:
                has_games = (path / "games").is_dir()
                found.append({"name": path.name, "game": game, "checkpoints": listed, "has_games": has_games})
        return found


@functools.lru_cache(maxsize=64)
def can_unfold(game: Game) -> bool:
    """Whether the game is small enough to be solved whole, by the number of its paths as random games estimate it (Knuth 1975)."""
    rng, total = generator(0, "paths"), 0.0
    for _ in range(PROBES):
        state, paths = game.initial(), 1.0
        while paths <= PROBES * MOST_NODES and (legal := game.legal_actions(state)):
            paths *= len(legal)
            state = game.result(state, legal[below(rng, len(legal))])
        total += paths
    return total <= PROBES * MOST_NODES


def shown(text: str) -> str:
    """A player's text for people."""
    return text if text == HUMAN else brief(text, text)


def _is_path(value: str) -> bool:
    return any(letter in value for letter in "/\\.") and not value.replace(".", "", 1).isdecimal()
