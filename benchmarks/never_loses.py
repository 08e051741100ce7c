"""Does a player keep the value of an opening? Every opening is solved, then played from both sides.

    python -m benchmarks.never_loses connect_four --player solver --against uct:sims=1000 --games 100
    python -m benchmarks.never_loses connect_four --player net:first,sims=200 --against solver --games 60
    python -m benchmarks.never_loses tic_tac_toe --player solver --against random --openings plies=2

| column | what                                                                                              |
|--------|---------------------------------------------------------------------------------------------------|
| value  | of the opening for the player, under best play of both                                            |
| games  | with such openings                                                                                |
| won …  | the results                                                                                       |
| kept   | games with a result at least as good as the value                                                 |

A perfect player keeps all values: it wins won openings and does not lose drawn ones. Results better than the value are errors of the
opponent. Exit code 1 where the player gave value away. The openings are those of `python -m arena match`; in connect four they begin
at ply 8 as on its ladder, where solving one takes seconds.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence

from arena.ladder.reference_players import standard_openings
from arena.match import Job, Match, arrangements
from base.errors import Arguments, UserError, run_command
from base.local_workers import cores, run_jobs
from base.workers import Workers
from benchmarks.tables import count
from classical.solver import Solver
from games import load
from games.engine.registry import files_of
from games.record import GameRecord

WORTH = {1: "won", 0: "drawn", -1: "lost"}


def main(argv: Sequence[str]) -> int:
    parser = Arguments(description=__doc__)
    parser.add_argument("game", metavar="GAME")
    parser.add_argument("--player", default="solver", metavar="SPEC", help="the player to test")
    parser.add_argument("--against", default="uct:sims=1000", metavar="SPEC", help="its opponent")
    parser.add_argument("--games", type=count, default=100, metavar="N", help="two for each opening")
    parser.add_argument("--openings", metavar="FILE|plies=K", help="as in a match; default: those of the game's ladder")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="of openings and players")
    parser.add_argument(
        "--workers", type=int, default=cores(), metavar="N", help="number of worker processes; 0: run in this process"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object")
    options = parser.parse_args(argv)
    game = load(options.game)
    if game.players != 2 or not game.rules.zero_sum:
        raise UserError(f"expected a game of two players and zero sum, got {game.name}")
    openings = options.openings or standard_openings(game)
    match = Match(game, options.player, options.against, options.seed, openings)
    found = outcomes(match, -(-options.games // 2), options.workers)
    lost = sum(games for (worth, result), games in found.items() if result < worth)
    if options.json:
        rows = [
            {"worth": WORTH[w], "result": WORTH[r], "games": n} for (w, r), n in sorted(found.items(), reverse=True)
        ]
        print(
            json.dumps(
                {
                    "game": game.name,
                    "player": match.players[0],
                    "against": match.players[1],
                    "rows": rows,
                    "given away": lost,
                }
            )
        )
    else:
        print(f"{game.name}: {match.players[0]} against {match.players[1]}, openings {match.openings.text}\n")
        print(text(found))
    return 1 if lost else 0


def outcomes(match: Match, blocks: int, workers: Workers | int) -> Counter[tuple[int, int]]:
    """Number of games by value of the opening and result, both as signs of the player's utility."""
    game = match.game
    solver = Solver(game, megabytes=256)
    given = [opening for _, opening in zip(range(blocks), match.openings, strict=False)]
    jobs = [Job(game.spec, match.players, match.seed, number, opening) for number, opening in enumerate(given)]
    found: Counter[tuple[int, int]] = Counter()
    for number, frames in run_jobs(match.play_block, jobs, workers, initializer=files_of(game).unpack):
        state = given[number].state(game)
        mover, value = game.to_move(state), sign(solver.value(state))
        for sides, frame in zip(arrangements(2), frames, strict=True):
            seat = sides.index(0)
            outcome = GameRecord.from_bytes(frame).outcome
            assert outcome is not None
            found[value if seat == mover else -value, sign(outcome[seat])] += 1
    return found


def sign(utility: float) -> int:
    return (utility > 0) - (utility < 0)


def text(found: Counter[tuple[int, int]]) -> str:
    """The table."""
    lines = [f"{'value':<8}{'games':>7}{'won':>7}{'drawn':>7}{'lost':>7}{'kept':>9}"]
    for worth, name in WORTH.items():
        row = [found[worth, result] for result in WORTH]
        games, kept = sum(row), sum(found[worth, result] for result in WORTH if result >= worth)
        share = f"{kept / games:9.1%}" if games else f"{'-':>9}"
        lines.append(f"{name:<8}{games:>7}" + "".join(f"{each:>7}" for each in row) + share)
    return "\n".join(lines)


if __name__ == "__main__":
    run_command(main)
