"""The rules at the command line: list, show, perft, trace, doctor.

    python -m games list
    python -m games show othello --moves "d3 c5"
    python -m games show backgammon --moves 31 --svg board.svg
    python -m games perft connect_four --depth 8
    python -m games doctor ./my_game.py

GAME is a name with options (othello:size=6), a textbook tree (tree:two_ply.json), or the path of a file of rules.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from base.errors import Arguments, UserError, run_command
from base.files import write_text
from base.lines import Lines, waiting, whole
from games.drawing import drawn, svg
from games.engine.defaults import seen
from games.engine.doctor import examine
from games.engine.game import Game
from games.engine.registry import builtin_games, load, options_of, summary_of
from games.engine.rules import CHANCE
from games.engine.tracing import Tracer
from games.formats.words import played
from games.types import GameState


def main(argv: Sequence[str]) -> int:
    return parser().run(argv)


def parser() -> Arguments:
    found = Arguments(description=__doc__)
    added = found.command("list", run_list, "the games of the folder, and their options")
    added.add_argument("--json", action="store_true", help="one JSON array")

    added = found.command("show", run_show, "draw a position: board, whose move it is, legal moves, outcome")
    added.add_argument("game", metavar="GAME")
    added.add_argument(
        "--moves", default="", metavar="TEXT", help="actions from the start (or from --position), by name"
    )
    added.add_argument("--position", metavar="TEXT", help="a position in the game's own notation")
    added.add_argument("--view", type=int, metavar="PLAYER", help="only what this player sees, and what it has noticed")
    added.add_argument("--svg", metavar="FILE", help="draw it as a picture, too")

    added = found.command("perft", run_perft, "count the action sequences of a given length")
    added.add_argument("game", metavar="GAME")
    added.add_argument(
        "--depth",
        type=int,
        required=True,
        metavar="N",
        help="the length; a finished position has no sequence, not even of length 0",
    )
    added.add_argument("--position", metavar="TEXT", help="a position in the game's own notation")
    added.add_argument("--divide", action="store_true", help="split by the first action")
    added.add_argument("--turns", action="store_true", help="count whole turns instead of actions")
    added.add_argument("--json", action="store_true", help="end with one line of JSON")

    added = found.command("trace", run_trace, "replay games from standard input, one per line, as JSON lines")
    added.add_argument("game", metavar="GAME")

    added = found.command(
        "doctor", run_doctor, "check a game's rules against the laws of the contract; exit code 1 if one is broken"
    )
    added.add_argument("game", metavar="GAME")
    added.add_argument("--games", type=int, default=1000, metavar="N", help="random games to play")
    added.add_argument("--seed", type=int, default=1, metavar="N", help="seed of the random games")
    return found


def run_list(options: argparse.Namespace) -> int:
    if options.json:
        listed = [{"name": name, "options": options_of(name), "about": summary_of(name)} for name in builtin_games()]
        print(json.dumps(listed, ensure_ascii=False))
        return 0
    width = max(map(len, builtin_games()))
    for name in builtin_games():
        print(f"{name:{width}}  {summary_of(name)}")
        for option, words in options_of(name).items():
            print(f"{'':{width}}    {option}: {words}")
    return 0


def run_show(options: argparse.Namespace) -> int:
    game = load(options.game)
    if options.svg and Path(options.svg).suffix != ".svg":
        raise UserError(f"--svg: expected a file named .svg, got '{options.svg}'")
    state = played(game, options.moves, position_of(game, options.position))
    if options.view is not None:
        return show_view(game, state, options)
    print(f"{game.name}\n\n{game.render(state)}\n\nposition: {game.text(state)}")
    if options.svg:
        write_text(Path(options.svg), svg(drawn(game.diagram(state), has_note=True), game.text(state), is_file=True))
    if game.is_terminal(state):
        print(f"over: {outcome(game, state)}")
        return 0
    mover = game.to_move(state)
    print("to move: chance" if mover == CHANCE else f"to move: player {mover}")
    legal = sorted(game.names[action] for action in game.legal_actions(state))
    print(f"legal ({len(legal)}): {' '.join(legal)}")
    return 0


def show_view(game: Game, state: GameState, options: argparse.Namespace) -> int:
    """What one player sees."""
    player = options.view
    if not game.hides_information or not 0 <= player < game.players:
        expected = f"a player from 0 to {game.players - 1}" if game.hides_information else "a game that hides something"
        raise UserError(f"view: expected {expected}, got {player if game.hides_information else game.name}")
    view = game.view(state, player)
    print(f"{game.name}\n\n{game.render(view)}\n\nplayer {player} has noticed: {game.information(view, player).text}")
    if options.svg:
        write_text(Path(options.svg), svg(drawn(game.diagram(view), has_note=True), game.name, is_file=True))
    return 0


def outcome(game: Game, state: GameState) -> str:
    utilities = game.utility(state)
    numbers = map(game.shown, utilities) if game.has_payoffs else (f"{value:g}" for value in utilities)
    shown = f"{'payoffs' if game.has_payoffs else 'utilities'} {', '.join(numbers)}"
    if not game.rules.zero_sum:
        return shown  # without zero sum there are no winners
    best = [player for player, value in enumerate(utilities) if value == max(utilities)]
    names = " and ".join(map(str, best))
    verdict = (
        "drawn" if len(set(utilities)) == 1 else f"player {names} wins" if len(best) == 1 else f"players {names} win"
    )
    return f"{verdict} ({shown})"


def run_perft(options: argparse.Namespace) -> int:
    game = load(options.game)
    state = position_of(game, options.position)
    counting = game.divide if options.divide else game.perft
    counting(min(options.depth, 1), state, options.turns)  # compiles, so that the time below is of counting alone
    start = time.perf_counter()
    if options.divide:
        counts = game.divide(options.depth, state, options.turns)
        nodes = sum(counts.values()) if options.depth > 0 else game.perft(0, state)
        for name, count in counts.items():
            print(f"{name}: {count}")
    else:
        nodes = game.perft(options.depth, state, options.turns)
    seconds = time.perf_counter() - start
    if options.json:
        print(json.dumps({"game": game.name, "depth": options.depth, "nodes": nodes, "seconds": round(seconds, 6)}))
    else:
        unit = "turns" if options.turns else "plies"
        rate = f"{nodes / seconds / 1e6:,.1f} M/s" if nodes > 100_000 else "too few to time"
        print(f"{game.name}: {nodes:,} sequences of {options.depth} {unit} in {seconds:.3f} s ({rate})")
    return 0


def run_trace(options: argparse.Namespace) -> int:
    tracer, code = Tracer(load(options.game)), 0
    for line in waiting(Lines(sys.stdin)):
        try:
            answer = tracer.trace(whole(line))
        except UserError as error:
            answer = {"error": str(error), "ply": 0}
        code = 1 if "error" in answer else code
        print(json.dumps(answer, ensure_ascii=False), flush=True)
    return code


def run_doctor(options: argparse.Namespace) -> int:
    game = load(options.game)
    print(f"{game.name}, version {game.version}: {options.games} random games")
    print(f"  a network sees {seen(game.rules)}")
    findings = examine(game, options.games, options.seed, report=lambda line: print(f"  {line}", flush=True))
    for finding in findings:
        print(f"\n{finding}")
    print(
        f"\n{['nothing found', 'one law is broken'][len(findings)] if len(findings) < 2 else f'{len(findings)} laws are broken'}"
    )
    return 1 if findings else 0


def position_of(game: Game, text: str | None) -> GameState:
    return game.initial() if text is None else game.parse(text)


if __name__ == "__main__":
    run_command(main)
