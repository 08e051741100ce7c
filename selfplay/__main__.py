"""Games that a search plays against itself, as records; and records as text.

python -m selfplay connect_four --player net:first,sims=200 --games 1000 --out games
python -m selfplay tic_tac_toe --player rollouts:sims=500 --games 100 --out games      # the same again plays what is missing
python -m selfplay connect_four --player net:first,resign=0.9,played_out=1 --games 1000 --out tried   # how often resigning is wrong
python -m selfplay leduc_poker --player net:poker,playouts=4 --games 1000 --out games                 # where information is hidden
python -m selfplay inspect runs/first/games                                            # lengths, outcomes, duplicates
python -m selfplay inspect runs/first/games --game 7                                   # one game with its targets
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tqdm import tqdm

from base.errors import Arguments, UserError, run_command, short
from base.framed_log import LogWriter, read_log
from base.options import split
from base.seeds import derive
from checkpoints import pack, read_card
from cluster.options import add_workers, check_workers, opened_workers
from games import Game, builtin_games, load
from games.record import GameRecord
from selfplay.inspection import records_of, shown
from selfplay.self_player import SelfPlayer, self_player
from selfplay.statistics import Statistics
from selfplay.workers import Setup, play_games


def main(argv: Sequence[str]) -> int:
    return inspect(argv[1:]) if argv[:1] == ["inspect"] else generate(argv)


def generate(argv: Sequence[str]) -> int:
    parser = Arguments(description=__doc__)
    parser.add_argument("game", metavar="GAME", help="a game with its options, or a file.py; or `inspect PATH`")
    parser.add_argument(
        "--player",
        required=True,
        metavar="SPEC",
        help="net:CHECKPOINT, uniform or rollouts, with options; where information is hidden, net:CHECKPOINT",
    )
    parser.add_argument("--games", type=int, required=True, metavar="N", help="how many")
    parser.add_argument("--out", required=True, metavar="DIR", help="the records go to DIR/games.log")
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="game n of a seed is always the same")
    add_workers(parser)
    options = parser.parse_args(argv)
    if options.games < 1:
        raise UserError(f"games: expected at least 1, got {options.games}")
    check_workers(options)
    game = load(options.game)
    player = self_player(options.player, game)
    path = Path(options.out) / "games.log"
    setup = Setup(game.spec, player.settings, player.search, options.seed)
    with LogWriter(path) as log:
        missing = sorted(set(range(options.games)) - already(path, game, player, options.seed))
        if missing:
            network = pack(player.checkpoint) if player.checkpoint else None
            with opened_workers(options) as workers:
                playing = play_games(setup, network, missing, workers)
                done = options.games - len(missing)
                for record, _ in tqdm(playing, "self-play", options.games, initial=done, disable=None):
                    log.append(record)
    print("\n".join([f"{path}: {game.name}, {player.text}", *Statistics.of(records_of(path, game)).lines()]))
    return 0


def already(path: Path, game: Game, player: SelfPlayer, seed: int) -> set[int]:
    """Numbers of the games that are there; games of another player or seed are refused."""
    name = read_card(player.checkpoint).short if player.checkpoint else "uniform"
    found = set()
    for _, payload in read_log(path):
        record = GameRecord.from_bytes(payload, game)
        number = record.noted("number")
        if record.seed != derive(seed, "game", number) or record.metadata.get("net") != name:
            raise UserError(f"{path}: expected games of this player and seed, or none; another --out takes them")
        found.add(number)
    return found


def inspect(argv: Sequence[str]) -> int:
    parser = Arguments(description=__doc__)
    parser.add_argument("path", metavar="PATH", help="a log of games, or a folder of them")
    parser.add_argument("--game", type=int, metavar="N", help="replay this one: its number, from 0")
    parser.add_argument("--rules", metavar="FILE", help="the game, where it is a file of your own")
    options = parser.parse_args(argv)
    path = Path(options.path)
    game = load(options.rules) if options.rules else game_in(path)
    records = records_of(path, game)
    if options.game is None:
        print("\n".join([f"{path}: {game.name}", *Statistics.of(records).lines()]))
        return 0
    if not 0 <= options.game < len(records):
        raise UserError(f"game: expected 0 to {len(records) - 1}, got {options.game}")
    print(shown(game, records[options.game]))
    return 0


def game_in(path: Path) -> Game:
    """That of the first record of a log, or of the first log of a folder. A record must not choose a file that would be run."""
    logs = sorted(path.rglob("*.log")) if path.is_dir() else [path]
    for log in logs:
        for _, payload in read_log(log):
            name = GameRecord.from_bytes(payload).game
            if split(name)[0] not in builtin_games():
                raise UserError(f"{log}: expected --rules FILE with it, for these are games of {short(name)}")
            return load(name)
    raise UserError(f"{path}: expected records of games, found none")


if __name__ == "__main__":
    run_command(main)
