"""The overhead of a match: microseconds per move outside the players, beside those inside them.

    python -m benchmarks.arena                                        # four games, random players and alpha-beta of depth 1
    python -m benchmarks.arena chess --players random random --number 100 --profile

    overhead = (time of the games' loop - time inside the players) / moves that players chose

The loop is that of a match in one process: both games of each opening, dice, clocks, records made, checked, encoded and decoded,
results counted; openings are drawn before. The match is played once, then again with players that replay their choices: the time of
the replay is the overhead, the difference is the players' time. So the only clock inside the loop is the arena's own. Processor time
of one core, the best of --turns. `--profile` shows the overhead by function with cProfile, which overstates small functions.

| column   | what                                                                        |
|----------|-----------------------------------------------------------------------------|
| moves    | chosen by players in all games, without those of the openings               |
| players  | microseconds per move inside the players                                    |
| overhead | microseconds per move outside the players                                   |
"""

from __future__ import annotations

import cProfile
import pstats
import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from arena.match import Match, arrangements
from arena.openings import Opening
from arena.players import Player, make_player
from arena.referee import play_game
from arena.tally import Tally
from base.errors import Arguments, run_command
from base.seeds import derive
from benchmarks.tables import count
from games import Game, load
from games.choice import Choice
from games.record import GameRecord

GAMES = ("connect_four", "othello", "chess", "go")
PLAYERS = (("random", "random:seed=1"), ("alphabeta:depth=1", "alphabeta:depth=1,tt=off"))


class RecordedPlayer(Player):
    """A player that keeps its choices."""

    def __init__(self, player: Player) -> None:
        super().__init__(player.text, player.game, player.thinker, player.book, player.seed, player.ms, player.name)
        self.choices: list[Choice] = []

    def choose(self, state: Any) -> Choice:
        choice = super().choose(state)
        self.choices.append(choice)
        return choice


class ReplayedPlayer(Player):
    """Replays the choices of a recorded player, at almost no cost."""

    def __init__(self, other: RecordedPlayer) -> None:
        super().__init__(other.text, other.game, other.thinker, name=other.name, ms=other.ms)
        self.lines: Iterator[Choice] = iter(other.choices)

    def new_game(self, seed: int | None = None) -> None:
        pass

    def advance(self, action: int) -> None:
        pass

    def choose(self, state: Any) -> Choice:
        return next(self.lines)


class Cost(NamedTuple):
    """Of one match, in microseconds per move."""

    moves: int
    players: float
    overhead: float


def main(argv: Sequence[str]) -> int:
    parser = Arguments(description=__doc__)
    parser.add_argument("games", nargs="*", default=list(GAMES), metavar="GAME")
    parser.add_argument(
        "--players", nargs=2, metavar="SPEC", help="default: two random players, then two of alpha-beta"
    )
    parser.add_argument("--number", type=count, default=100, metavar="N", help="games of each match")
    parser.add_argument("--turns", type=count, default=5, metavar="N", help="repetitions, of which the best counts")
    parser.add_argument("--profile", action="store_true", help="show the most expensive functions of each match")
    options = parser.parse_args(argv)
    print(f"{'game':<22}{'players':<44}{'moves':>8}{'players':>10}{'overhead':>10}", flush=True)
    for name in options.games:
        game = load(name)
        for pair in [tuple(options.players)] if options.players else PLAYERS:
            match, openings = drawn(game, pair, options.number)
            cost, again = measure(match, openings, options.turns)
            names = " ".join(pair)
            print(f"{game.name:<22}{names:<44}{cost.moves:>8,}{cost.players:>10.1f}{cost.overhead:>10.1f}", flush=True)
            if options.profile:
                profile = cProfile.Profile()
                profile.runcall(play, match, openings, [ReplayedPlayer(each) for each in again])
                pstats.Stats(profile).sort_stats("tottime").print_stats(25)
    return 0


def drawn(game: Game, pair: tuple[str, str], games: int) -> tuple[Match, list[Opening]]:
    """A match of two players and its openings."""
    match = Match(game, *pair, seed=1)
    blocks = -(-games // match.block_size)
    return match, [opening for _, opening in zip(range(blocks), match.openings, strict=False)]


def measure(match: Match, openings: Sequence[Opening], turns: int) -> tuple[Cost, list[RecordedPlayer]]:
    """The cost of the match, and the players with their choices."""
    players = [RecordedPlayer(make_player(text, match.game)) for text in match.players]
    start = time.process_time()
    first = play(match, openings, players)
    whole = time.process_time() - start
    alone = []
    for _ in range(turns):
        again = [ReplayedPlayer(player) for player in players]
        start = time.process_time()
        assert play(match, openings, again).results.tolist() == first.results.tolist()
        alone.append(time.process_time() - start)
    moves = sum(len(player.choices) for player in players)
    return Cost(moves, 1e6 * (whole - min(alone)) / moves, 1e6 * min(alone) / moves), players


def play(match: Match, openings: Sequence[Opening], players: Sequence[Player]) -> Tally:
    """As `arena.match.play_block` and `Match.play` do, with these two players."""
    game = match.game
    tally = Tally(game, match.players)
    for block, opening in enumerate(openings):
        frames = []
        for number, sides in enumerate(arrangements(2)):
            record = play_game(
                game,
                [players[side] for side in sides],
                opening,
                seed=derive(match.seed, "block", block, "game", number),
                luck=derive(match.seed, "block", block),
                metadata={"block": block, "game": number, "seats": list(sides)},
            )
            frames.append(record.to_bytes())
        tally.add([GameRecord.from_bytes(frame) for frame in frames])
    return tally


if __name__ == "__main__":
    run_command(main)
