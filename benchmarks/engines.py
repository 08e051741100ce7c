"""Our engines under somebody else's controller, and under random traffic.

    python -m benchmarks.engines games --games 1000                    # python-chess, 1 s + 0.01 s: losses on time
    python -m benchmarks.engines traffic --minutes 60                  # random legal and illegal lines on each protocol
    python -m benchmarks.engines stop --count 200                      # milliseconds from `stop` to `bestmove`

`games`: both sides are our engine, in two processes; the controller measures what each move takes, pipes and its own work included. A
game is lost on time where a clock falls below 0. `traffic`: each engine gets lines of protocol words in random order, for its share of
the minutes; after every hundred it has to answer `isready` (GTP: `name`) within a minute, and at the end nothing may stand on standard
error but messages of the compiler. Exit code 1 where one of the laws is broken.
"""

from __future__ import annotations

import argparse
import gc
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from typing import Any

from base.errors import Arguments, UserError, run_command
from base.seeds import below, generator
from base.subprocesses import Companion, Failed

ENGINE = [sys.executable, "-m", "arena", "engine"]
ANSWER = 60.0  # seconds

COMMON = (
    "isready go stop position moves depth nodes 1 2 50 movetime 5 -1 0 99999999999999999999 infinite ponder ponderhit "
    "searchmoves setoption name value"
)
WORDS = {
    "chess alphabeta:depth=4": f"{COMMON} uci ucinewgame startpos fen e2e4 e7e5 e2e5 g1f3 b8c6 wtime btime winc binc movestogo MultiPV "
    "UCI_ShowWDL true depth tt x 7k/8/5K2/6Q1/8/8/8/8 w - KQkq 0000",
    "tic_tac_toe uct:sims=200": f"{COMMON} ugi uginewgame startpos fen a1 b2 c3 a2 query p1turn gameover result p1time p2time p1inc",
    "go:size=5,komi=0.5 random": "1 22 name play genmove b w white c3 d4 a1 pass resign undo komi 0.5 boardsize 5 99 x showboard "
    "lz-analyze kata-analyze lz-genmove_analyze interval 10 allow avoid time_left time_settings -1 0 final_score clear_board "
    "set_free_handicap final_status_list alive loadsgf # known_command stop",
}  # fmt: skip
PROTOCOLS = dict(zip(WORDS, ("uci", "ugi", "gtp"), strict=True))


def run_games(options: argparse.Namespace) -> int:
    import chess
    import chess.engine

    late, longest, results = 0, 0.0, dict.fromkeys(("1-0", "0-1", "1/2-1/2", "*"), 0)
    command = [*ENGINE, "chess", options.player]
    engines = [chess.engine.SimpleEngine.popen_uci(command, timeout=300) for _ in range(2)]
    try:
        for engine in engines:
            engine.ping()
        gc.freeze()  # what is measured as lag is not this program's own
        for number in range(options.games):
            board, left = chess.Board(), [options.seconds, options.seconds]
            rng = generator(options.seed, "opening", number // 2)
            for _ in range(4):
                legal = sorted(board.legal_moves, key=str)
                board.push(legal[below(rng, len(legal))])
            while not board.is_game_over() and board.ply() < 400:
                seat = board.ply() % 2
                limit = chess.engine.Limit(
                    white_clock=left[0], black_clock=left[1], white_inc=options.increment, black_inc=options.increment
                )
                began = time.perf_counter()
                played = engines[(seat + number) % 2].play(board, limit, game=number)
                spent = time.perf_counter() - began
                longest = max(longest, spent)
                left[seat] -= spent
                if left[seat] < 0:
                    late += 1
                    had, took = (f"{1000 * each:.0f} ms" for each in (left[seat] + spent, spent))
                    print(f"game {number}: out of time at ply {board.ply()}: a move took {took} of {had}", flush=True)
                    break
                left[seat] += options.increment
                assert played.move is not None
                board.push(played.move)
            results[board.result()] += 1
    finally:
        for engine in engines:
            engine.quit()
    print(f"{options.games} games, {late} lost on time, longest move {1000 * longest:.0f} ms, results {results}")
    return 1 if late else 0


def run_stop(options: argparse.Namespace) -> int:
    times = []
    with Companion(" ".join([*ENGINE, options.game, options.player])) as engine:
        hello = "uci" if options.game == "chess" else "ugi"
        _until(engine, [hello, "isready"], "readyok")
        for _ in range(options.count):
            _until(engine, ["position startpos", "go infinite"], "info")
            time.sleep(0.05)
            began = time.perf_counter()
            _until(engine, ["stop"], "bestmove")
            times.append(1000 * (time.perf_counter() - began))
    times.sort()
    print(
        f"{len(times)} stops: median {times[len(times) // 2]:.1f} ms, 99 % {times[len(times) * 99 // 100]:.1f}, most {times[-1]:.1f}"
    )
    return 0


def run_traffic(options: argparse.Namespace) -> int:
    chosen_words = {name: words for name, words in WORDS.items() if options.protocol in ("all", PROTOCOLS[name])}
    seconds, code = 60 * options.minutes / len(chosen_words), 0
    for number, (arguments, words) in enumerate(chosen_words.items()):
        is_gtp = arguments.startswith("go")
        rng, known, lines = generator(options.seed, "traffic", number), words.split(), 0
        with tempfile.TemporaryFile("w+") as errors:
            process = subprocess.Popen(
                [*ENGINE, *arguments.split()], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors
            )
            assert process.stdin is not None and process.stdout is not None
            until = time.monotonic() + seconds
            while time.monotonic() < until and process.poll() is None:
                for _ in range(100):
                    chosen = [known[below(rng, len(known))] for _ in range(1 + below(rng, 8))]
                    if is_gtp and {"komi", "boardsize"} & set(chosen):
                        continue  # each new board is compiled
                    process.stdin.write(" ".join(chosen).encode() + b"\n")
                    lines += 1
                mark = f"9{lines:08}"
                process.stdin.write(f"{mark} name\n".encode() if is_gtp else f"stop\nx{mark}\n".encode())
                process.stdin.flush()
                if not _answers(process, mark):
                    print(f"{arguments}: no answer after {lines} lines", flush=True)
                    code = 1
                    break
            process.stdin.close()
            try:
                left = process.wait(ANSWER)
            except subprocess.TimeoutExpired:
                process.kill()
                left = -1
            errors.seek(0)
            wrong = [line for line in errors if not line.startswith("compiling ")]
        code = 1 if left or wrong else code
        print(
            f"{arguments}: {lines} lines, exit code {left}, {len(wrong)} lines on standard error {wrong[-1:]}",
            flush=True,
        )
    return code


def _answers(process: Any, mark: str) -> bool:
    """Reads until the answer to the line with this mark."""
    until = time.monotonic() + 300
    while time.monotonic() < until:
        line = process.stdout.readline().decode()
        if not line:
            return False
        if mark in line:
            return True
    return False


def _until(engine: Companion, lines: Sequence[str], start: str) -> None:
    deadline = time.monotonic() + 300
    try:
        for line in lines:
            engine.send(line, deadline)
        while not engine.receive(deadline).startswith(start):
            pass
    except Failed as failure:
        raise UserError(f"the engine {failure}") from None


def main(argv: Sequence[str]) -> int:
    parser = Arguments(description=__doc__)
    games = parser.command("games", run_games, "games by the clock under python-chess")
    games.add_argument("--games", type=int, default=1000)
    games.add_argument("--player", default="alphabeta:depth=100")
    games.add_argument("--seconds", type=float, default=1.0)
    games.add_argument("--increment", type=float, default=0.01)
    traffic = parser.command("traffic", run_traffic, "random lines on each protocol")
    traffic.add_argument("--minutes", type=float, default=60.0)
    traffic.add_argument("--protocol", choices=("all", *PROTOCOLS.values()), default="all")
    stop = parser.command("stop", run_stop, "how soon a search ends")
    stop.add_argument("--count", type=int, default=200)
    stop.add_argument("--game", default="chess")
    stop.add_argument("--player", default="alphabeta:depth=100")
    for each in (games, traffic):
        each.add_argument("--seed", type=int, default=1)
    return parser.run(argv)


if __name__ == "__main__":
    run_command(main)
