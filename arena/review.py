"""`python -m arena review GAME FILE PLAYER`: a game that somebody played, move by move, as a player sees it.

    python -m arena review chess my_games.pgn alphabeta:ms=500 --number 3 --html review.html

FILE is a PGN, an SGF, a log of records, or a text with the moves of one game a line, by name; in chess also as in books (SAN). The
player searches every position within its own limits. A move loses the difference between the value of its position and that of the
position after it, both for the player who made it; the largest losses come first, with the line that the search expects instead. Where
the solver's budget (`--solver` nodes) suffices, exact values are shown too, and whether a move gave value away.

Values are those of player 0 (White in chess), -1 to 1, so that one curve shows the game; losses are the mover's. Moves are written as
in books; JSON has the names of the game's actions.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from arena.choose import rounded
from arena.commands import progress_bar
from arena.players import Player, brief, make_player
from arena.seats import seat_names
from base.errors import UserError
from base.files import write_text
from base.page import document
from classical.solvable import LATE, fits
from classical.solver import Solver, Unsolved
from games import CHANCE, Game, load
from games.choice import Choice, error_of_mean
from games.drawing import drawn, places, svg
from games.formats.words import followed, words_of, written
from games.record import GameRecord, make_record, read_records
from mcts.player import TreePlayer

NODES = 200_000  # of the solver, for a position
LEAST = 0.05
"""A smaller loss is no mistake: the search of the next position is another search."""
MOST = 5
WIDTH, HEIGHT = 720, 180  # pixels of the graph
BAR = 20  # characters of the graph in text, on either side


def add_review(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("game", metavar="GAME")
    parser.add_argument("file", metavar="FILE")
    parser.add_argument("player", metavar="PLAYER", help="as in alphabeta:ms=500")
    parser.add_argument("--number", type=int, default=1, metavar="N", help="which game of the file")
    parser.add_argument("--most", type=int, default=MOST, metavar="N", help="mistakes that are shown")
    parser.add_argument(
        "--solver", type=int, default=NODES, metavar="N", help="nodes of the solver for a position; 0: none"
    )
    parser.add_argument("--json", action="store_true", help="print the result as one line of JSON")
    parser.add_argument("--html", metavar="FILE", help="write a page with the graph and the positions of the mistakes")


def run_review(options: argparse.Namespace) -> int:
    for name, least in (("number", 1), ("most", 0), ("solver", 0)):
        if getattr(options, name) < least:
            raise UserError(f"{name}: expected {least} or more, got {getattr(options, name)}")
    game = load(options.game)
    record = nth_game(Path(options.file), game, options.number)
    player = make_player(options.player, game)
    review = reviewed(game, record, player, options.solver)
    if options.html:
        write_text(options.html, page(review, options.most))
    if options.json:
        print(json.dumps(as_json(review), ensure_ascii=False))
    else:
        print(text(review, options.most))
    return 0


def nth_game(file: Path, game: Game, number: int) -> GameRecord:
    """A game of the file; text is read move by move, so that SAN is understood."""
    is_text = file.suffix.lower() not in (".pgn", ".sgf", ".log") and not file.is_dir()
    records = _in_words(file, game) if is_text else read_records(file, game)
    found = next(itertools.islice(records, number - 1, None), None)
    if found is None or not len(found):
        raise UserError(f"{file}: expected a game number {number} with moves, found none")
    return found


def _in_words(file: Path, game: Game) -> Iterator[GameRecord]:
    with open(file, encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines, 1):
            words = [word for word in words_of(game, line) if word not in ("1-0", "0-1", "1/2-1/2", "*")]
            if not words:
                continue
            try:
                moves = [action for action, _ in followed(game, words, game.initial())]
            except UserError as error:
                raise UserError(f"{file}:{number}: {error}") from None
            yield make_record(game, moves)


@dataclass
class Ply:
    """A position of the game, and the move that was played there."""

    state: Any
    mover: int | None
    """CHANCE: the dice; None: the game is over."""
    action: int | None
    """None: the game ends here."""
    utilities: tuple[float, ...] | None = None
    """As the player sees them; exact at the end of the game. None where the dice are to be rolled."""
    best: int | None = None
    line: tuple[int, ...] = ()
    exact: float | None = None
    """The mover's exact value, where it is known."""
    gives_away: float | None = None
    """Of the exact value, by the move played."""
    loss: float = 0.0
    error: float = 0.0
    """Twice the standard error of the mover's value, where random games make it."""


@dataclass
class Review:
    game: Game
    player: str
    names: tuple[str, ...]
    plies: list[Ply]

    def mistakes(self) -> list[int]:
        """Plies, the largest loss first."""
        found = [number for number, ply in enumerate(self.plies) if ply.loss >= LEAST or (ply.gives_away or 0) > 0]
        return sorted(
            found, key=lambda number: (-max(self.plies[number].loss, self.plies[number].gives_away or 0), number)
        )


def reviewed(game: Game, record: GameRecord, player: Player, nodes: int = NODES) -> Review:
    positions = record.positions(game)
    moves = [*map(int, record.moves), None]
    plies = [Ply(state, game.to_move(state), move) for state, move in zip(positions, moves, strict=True)]
    player.new_game()
    with progress_bar("review", "position") as progress:
        for number, ply in enumerate(plies):
            if ply.mover is None:
                ply.utilities = game.utility(ply.state)
            elif ply.mover != CHANCE:
                player.new_game()
                choice = player.choose(ply.state)
                ply.best, ply.line = choice.action, choice.pv
                ply.utilities = choice.utilities or vector(game, ply.mover, choice.value)
                ply.error = error_of(player, choice)
            progress(number + 1, len(plies))
    for ply, after in itertools.pairwise(plies):
        if ply.mover in (None, CHANCE) or ply.action == ply.best or after.utilities is None or ply.utilities is None:
            continue
        assert ply.mover is not None
        loss = ply.utilities[ply.mover] - after.utilities[ply.mover]
        ply.loss = loss if loss > math.hypot(ply.error, after.error) else 0.0
    if nodes and fits(game, LATE):
        _solve(game, plies, nodes)
    return Review(game, brief(player.text), tuple(record.players), plies)


def error_of(player: Player, choice: Choice) -> float:
    """Twice the standard error of a mean of random games; 0 where a search values positions otherwise, or has proven the value."""
    thinker = player.thinker
    if not isinstance(thinker, TreePlayer) or not thinker.search.settings.rollout or choice.proven:
        return 0.0
    visits = max((each.visits or 0 for each in choice.actions if each.action == choice.action), default=0)
    return error_of_mean(choice.value, visits)


def vector(game: Game, mover: int, value: float) -> tuple[float, ...]:
    """Every player's utility, of the mover's. With more players than two, the others share what is left."""
    return tuple(value if seat == mover else -value / (game.players - 1) for seat in range(game.players))


def _solve(game: Game, plies: list[Ply], nodes: int) -> None:
    """Exact values, from the end of the game back to where the budget no longer suffices."""
    solver = Solver(game, nodes=nodes)
    for ply in reversed(plies):
        if ply.mover is None or ply.mover == CHANCE:
            continue
        with suppress(Unsolved):
            found = solver.solve(ply.state)
            ply.exact = found.value
            if ply.action in found.values:
                ply.gives_away = max(0.0, found.value - found.values[ply.action])
            continue
        return


# ── text ──


def text(review: Review, most: int) -> str:
    game = review.game
    seats = seat_names(game)
    rows = [f"{game.name}, {len(review.plies) - 1} moves, as {review.player} sees it; values for {seats[0]}"]
    if any(review.names):
        rows.append("  ".join(f"{seats[seat]}: {name}" for seat, name in enumerate(review.names) if name))
    rows += ["", f"{'ply':>4}  {'move':<8} {'value':>7}  {'-1':<{BAR}} 0{'+1':>{BAR}}"]
    for number, ply in enumerate(review.plies):
        before = review.plies[number - 1] if number else None
        name = "" if before is None or before.action is None else word(game, before, before.action)
        marks = "" if before is None else mark(game, before)
        value = None if ply.utilities is None else ply.utilities[0]
        shown = "" if value is None else game.shown(value)
        rows.append(f"{number:>4}  {name:<8} {shown:>7}  {bar(value)}  {marks}".rstrip())
    mistakes = review.mistakes()
    rows += ["", counted(mistakes) + (", the largest first" if len(mistakes) > 1 else "")]
    return "\n".join([*rows, *(mistake(review, number) for number in mistakes[:most])])


def word(game: Game, ply: Ply, action: int) -> str:
    """The move as people write it."""
    return written(game, ply.state, [action])[0]


def counted(mistakes: list[int]) -> str:
    return f"{len(mistakes)} mistake{'' if len(mistakes) == 1 else 's'}"


def bar(value: float | None) -> str:
    """From the middle to the value."""
    if value is None:
        return "·".rjust(BAR + 2)
    cells = round(BAR * abs(value))
    left, right = ("█" * cells, "") if value < 0 else ("", "█" * cells)
    return f"{left:>{BAR + 1}}│{right:<{BAR}}"


def mark(game: Game, ply: Ply) -> str:
    words = []
    if ply.loss >= LEAST:
        words.append(f"loses {lost(game, ply)}")
    if ply.gives_away:
        words.append("gives value away")
    return ", ".join(words)


def lost(game: Game, ply: Ply) -> str:
    return game.shown(ply.loss).removeprefix("+")


def mistake(review: Review, number: int) -> str:
    game, ply = review.game, review.plies[number]
    assert ply.action is not None and ply.best is not None
    better = " ".join(written(game, ply.state, ply.line))
    said = f"ply {number + 1}: {seat_names(game)[ply.mover or 0]} played {word(game, ply, ply.action)}, which loses {lost(game, ply)}"
    if ply.exact is not None:
        said += f"; exact value before it {game.shown(ply.exact)}"
        said += f", given away {game.shown(ply.gives_away)}" if ply.gives_away else ", kept"
    return f"  {said}\n    better: {better}"


# ── JSON and HTML ──


def as_json(review: Review) -> dict[str, Any]:
    game = review.game
    return {
        "game": game.name,
        "player": review.player,
        "names": list(review.names),
        "plies": [rounded(_ply_as_json(game, ply)) for ply in review.plies],
        "mistakes": review.mistakes(),
    }


def _ply_as_json(game: Game, ply: Ply) -> dict[str, Any]:
    found: dict[str, Any] = {"mover": ply.mover, "utilities": None if ply.utilities is None else list(ply.utilities)}
    if ply.action is not None:
        found |= {"move": game.names[ply.action], "loss": ply.loss}
    if ply.best is not None:
        found |= {"best": game.names[ply.best], "pv": [game.names[action] for action in ply.line]}
    if ply.exact is not None:
        found |= {"exact": ply.exact, "gives_away": ply.gives_away}
    return found


def page(review: Review, most: int) -> str:
    game, mistakes = review.game, review.mistakes()
    body = [f"<h1>{escape(game.name)}, {len(review.plies) - 1} moves</h1>"]
    if any(review.names):
        body.append("<p>" + " – ".join(escape(name) for name in review.names) + "</p>")
    body.append(
        f"<p>The value for {seat_names(game)[0]} after each move, as <code>{escape(review.player)}</code> sees it.</p>"
    )
    body.append(graph(review))
    body.append(f"<h2>{counted(mistakes)}</h2>")
    for number in mistakes[:most]:
        ply = review.plies[number]
        assert ply.action is not None and ply.best is not None
        for name, action in (("played", ply.action), ("better", ply.best)):
            diagram = game.diagram(ply.state)
            [cells] = places(game, ply.state, [action]) if diagram.surface not in ("table", "text") else [[]]
            picture = svg(
                drawn(diagram, dict.fromkeys(cells, 0.5), has_numbers=False), f"{name}: {word(game, ply, action)}", 0.7
            )
            body.append(f"<figure>{picture}<figcaption>{name}: {escape(word(game, ply, action))}</figcaption></figure>")
        body.append(f"<pre>{escape(mistake(review, number))}</pre>")
    rows = []
    for number, ply in enumerate(review.plies[1:], 1):
        before = review.plies[number - 1]
        value = "" if ply.utilities is None else game.shown(ply.utilities[0])
        name = "" if before.action is None else word(game, before, before.action)
        rows.append(f"<tr><td>{number}</td><td>{escape(name)}</td><td>{value}</td><td>{mark(game, before)}</td></tr>")
    head = "<thead><tr><th>ply</th><th>move</th><th>value</th><th></th></tr></thead>"
    body.append(f"<h2>Moves</h2><table>{head}<tbody>{''.join(rows)}</tbody></table>")
    style = "figure { display: inline-block; margin: .5rem 1rem .5rem 0 } pre { white-space: pre-wrap }"
    return document(f"Review: {game.name}", body, style)


def graph(review: Review) -> str:
    """The values of player 0, ply by ply, with the mistakes as points."""
    last = max(len(review.plies) - 1, 1)

    def at(number: int, value: float) -> tuple[float, float]:
        return 10 + (WIDTH - 20) * number / last, 10 + (HEIGHT - 20) * (1 - value) / 2

    known = [(number, ply.utilities[0]) for number, ply in enumerate(review.plies) if ply.utilities is not None]
    points = " ".join("{:.1f},{:.1f}".format(*at(number, value)) for number, value in known)
    values = dict(known)
    dots = []
    for number in review.mistakes():
        if number + 1 in values:
            x, y = at(number + 1, values[number + 1])
            dots.append(
                f'<circle class="mistake" cx="{x:.1f}" cy="{y:.1f}" r="4" fill="#d1242f"><title>ply {number + 1}</title></circle>'
            )
    middle = HEIGHT / 2
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img" style="max-width:100%;height:auto">'
        f"<title>values by ply</title>"
        f'<line x1="10" x2="{WIDTH - 10}" y1="{middle}" y2="{middle}" stroke="var(--line)"/>'
        f'<polyline points="{points}" fill="none" stroke="var(--point)" stroke-width="2"/>{"".join(dots)}</svg>'
    )
