"""Everything that can choose a move, made from one line of text: `make_player("alphabeta:depth=6,tt=off", load("othello"))`.

    random · human · minimax:depth=4 · maxn:depth=3 · expectiminimax:depth=2 · alphabeta:depth=6
    alphabeta:ms=100,eval=PATH · uct:sims=1000 · uct:ms=100,rollout=0,eval=PATH · solver
    uci:"stockfish",ms=100 · gtp:"gnugo --mode gtp"

`python -m arena players` lists them with their options. A player's `text` is the resolved one, with every option that has a value; its
`name` is the text with files by what they hold: what results are stored under. `human` plays at the terminal only
(arena/terminal.py). Any player takes `book=PATH`, an opening book that is asked first.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol

from arena.engines import GRACE, Grace
from arena.forfeit import Forfeit
from arena.gtp import Gtp
from arena.uci import Uci
from base.errors import UserError, nearest
from base.options import Options, split
from base.seeds import below, derive, generator
from base.sent_files import SentFiles, here
from classical.alphabeta import AlphaBeta, AlphaBetaSettings
from classical.book import Book
from classical.eval import Eval, default_eval, evaluator
from classical.expectiminimax import Expectiminimax
from classical.maxn import MaxN
from classical.minimax import Minimax
from classical.solvable import LATE, MIDDLE, require
from classical.solver import Solver, Unsolved
from games import CHANCE, Game
from games.choice import Candidate, Choice
from games.engine.registry import files_of as game_files
from mcts.player import TreePlayer
from mcts.ucb1 import UCB1
from mcts.variant import settings_class

Depth = Annotated[int, range(1, 101)]
Count = Annotated[int, range(1, 2**31 - 1)]
SOLVER_NODES = 1_000_000_000  # for a move, where nothing else is said: the empty board of connect four takes fewer


class Thinker(Protocol):
    """What a search has to offer to be a player. It may also offer `new_game()`, `advance(action)`, `prepare()`: to compile, and
    have a `seed`, which is set before `new_game()`."""

    def choose(self, state: Any) -> Choice: ...


class RandomMover:
    """Uniform over the legal actions."""

    def __init__(self, game: Game, seed: int) -> None:
        self.game, self.seed = game, seed
        self.new_game()

    def new_game(self) -> None:
        self.rng = generator(self.seed, "random player")

    def choose(self, state: Any) -> Choice:
        legal = self.game.legal_actions(state)
        action = legal[below(self.rng, len(legal))]
        even = tuple(Candidate(each, prior=1 / len(legal)) for each in legal)
        return Choice(action, 0.0, pv=(action,), nodes=1, actions=even)


class ExactMover(Solver):
    """Who does not know plays nothing: a position that the limit does not do loses the game."""

    def choose(self, state: Any) -> Choice:
        try:
            return super().choose(state)
        except Unsolved as limit:
            raise Forfeit(f"solver: {limit}; nodes=N says how many it may take") from None


class Player:
    """One seat at the board: told of every move that is played, asked for its own."""

    def __init__(
        self,
        text: str,
        game: Game,
        thinker: Thinker,
        book: Book | None = None,
        seed: int = 0,
        ms: float | None = None,
        name: str = "",
    ) -> None:
        self.text, self.game, self.thinker, self.book, self.seed = text, game, thinker, book, seed
        self.ms = ms
        """Milliseconds that a move may take; None without a limit by the clock."""
        self.name = name or text
        """Whose results these are: the text with what files hold in place of where they lie."""
        self._rng = generator(seed, "book")

    def new_game(self, seed: int | None = None) -> None:
        """The next position belongs to another game: forget this one. `seed` sets what is random in it apart from other games."""
        drawn = self.seed if seed is None else derive(seed, "player", self.seed)
        self._rng = generator(drawn, "book")
        if hasattr(self.thinker, "seed"):
            self.thinker.seed = drawn
        getattr(self.thinker, "new_game", lambda: None)()

    def advance(self, action: int) -> None:
        """`action` has been played on the board, by whomever."""
        getattr(self.thinker, "advance", lambda action: None)(action)

    def choose(self, state: Any) -> Choice:
        """The move to play, and the thinking behind it."""
        mover = self.game.to_move(state)
        if mover is None or mover == CHANCE:
            what = "a finished game" if mover is None else "one where chance is to move"
            raise UserError(f"expected a position of {self.game.name} with a move to choose, got {what}")
        found = self.book.choose(state, self._rng) if self.book is not None else None
        if found is None:
            return self.thinker.choose(state)
        score = next(score for action, _, score in self.book.moves(state) if action == found) if self.book else 0.0
        return Choice(found, score, pv=(found,), counters={"book": 1})


# ── the table ────────────────────────────────────────────────────────────────────────────────────────────────────────


def make_random(game: Game, /, seed: int = 0) -> Thinker:
    """uniform over the legal moves"""
    return RandomMover(game, seed)


def make_human(game: Game, /) -> Thinker:
    """you, at the terminal: python -m arena play"""
    raise UserError("human: expected a program, got a person, who plays in: python -m arena play GAME human PLAYER")


def make_minimax(game: Game, /, depth: Depth, eval: str | None = None) -> Thinker:
    """the textbook's minimax to a fixed depth, no pruning; two players, zero sum"""
    return Minimax(game, depth, eval_of(game, eval))


def make_maxn(game: Game, /, depth: Depth, eval: str | None = None) -> Thinker:
    """max^n with a vector of utilities; any number of players, general sums, dice"""
    return MaxN(game, depth, eval_of(game, eval))


def make_expectiminimax(game: Game, /, depth: Depth, pruning: bool = True, eval: str | None = None) -> Thinker:
    """minimax with dice, star1 pruning; two players, zero sum"""
    return Expectiminimax(game, depth, eval_of(game, eval), pruning)


def make_alphabeta(game: Game, /, eval: str | None = None, **organs: Any) -> Thinker:
    """alpha-beta, every organ switchable; two players, zero sum, no dice"""
    return AlphaBeta(game, AlphaBetaSettings(**organs), eval_of(game, eval))


def make_uct(
    game: Game,
    /,
    sims: Count | None = None,
    ms: Count | None = None,
    rollout: float = 1.0,
    c: float = UCB1.c,
    eval: str | None = None,
    solve: bool = True,
    reuse: bool = True,
    memory_mb: Annotated[int, range(1, 2**20)] = 256,
    seed: int = 0,
) -> Thinker:
    """Monte Carlo tree search; a leaf is worth (1 - rollout) · EVAL + rollout · a random game"""
    if eval is not None and rollout == 1:
        raise UserError("uct: eval: expected rollout below 1 (rollout=0 for EVAL alone), or EVAL would have no weight")
    weights = (eval_of(game, eval) or default_eval(game)).array(game)
    return TreePlayer(
        game,
        UCB1(c=c, rollout=rollout, solve=solve),
        simulations=sims,
        ms=ms,
        evaluator=evaluator,
        weights=weights,
        reuse=reuse,
        memory_mb=memory_mb,
        seed=seed,
    )


def make_solver(
    game: Game, /, mb: Annotated[int, range(1, 2**20)] = 256, distance: bool = False, nodes: Count | None = None
) -> Thinker:
    """exact play, where the game is small enough; with nodes=N in any game, for positions that N nodes solve"""
    mover = ExactMover(game, megabytes=mb, distance=distance, nodes=nodes or SOLVER_NODES)
    if nodes is None:
        require(game, LATE)
        require(game, MIDDLE)
    return mover


def make_uci(
    game: Game,
    command: str,
    /,
    ms: Count | None = None,
    nodes: Count | None = None,
    depth: Depth | None = None,
    grace: Grace = GRACE,
    **options: str,
) -> Thinker:
    """somebody else's chess engine, spoken to by UCI; `Skill_Level=3` and the like are the engine's own options"""
    return Uci(game, command, ms, nodes, depth, grace, options)


def make_gtp(game: Game, command: str, /, ms: Count | None = None, grace: Grace = GRACE) -> Thinker:
    """somebody else's go program, spoken to by GTP"""
    return Gtp(game, command, ms, grace)


LEAVES_BY_CLOCK = 8
"""Of one tree, judged together: five times the simulations of one at a time, where a search need not be the same twice."""


def make_net(
    game: Game,
    checkpoint: str,
    /,
    sims: Annotated[int, range(2**31 - 1)] | None = None,
    ms: Count | None = None,
    method: Literal["puct", "gumbel"] = "puct",
    leaves: Annotated[int, range(1, 1025)] | None = None,
    symmetry: bool = False,
    precision: Literal["auto", "fp32", "bf16"] = "auto",
    device: str = "cpu",
    threads: Annotated[int, range(1, 1025)] = 1,
    reuse: bool = True,
    memory_mb: Annotated[int, range(1, 2**20)] = 256,
    seed: int = 0,
) -> Thinker:
    """learned search: net:RUN or net:FOLDER, as `python -m checkpoints` has them; sims=0 plays the raw policy; leaves: 1, by ms 8"""
    from checkpoints import load  # torch takes seconds to load, which other players need not wait for
    from nets import Inference

    assert leaves is not None  # make_player has settled it, for it is in the player's name
    return TreePlayer(
        game,
        settings_class(method)(),
        network=Inference(load(checkpoint, game)[0], leaves, device, precision, threads),
        simulations=sims,
        ms=ms,
        leaves=leaves,
        reuse=reuse,
        symmetry=symmetry,
        memory_mb=memory_mb,
        seed=seed,
    )


FACTORIES: dict[str, Callable[..., Thinker]] = {
    "random": make_random,
    "human": make_human,
    "minimax": make_minimax,
    "maxn": make_maxn,
    "expectiminimax": make_expectiminimax,
    "alphabeta": make_alphabeta,
    "uct": make_uct,
    "solver": make_solver,
    "uci": make_uci,
    "gtp": make_gtp,
    "net": make_net,
}


def with_book(book: str | None = None) -> None:
    """The option that every player has."""


def options_of(kind: str) -> Options:
    """What may be given to a kind of player."""
    sources: list[Callable[..., Any]] = [FACTORIES[kind], with_book]
    if kind == "alphabeta":
        sources.insert(0, AlphaBetaSettings)
    return Options(kind, *sources, skip=("game", "organs"))


def make_player(text: str, game: Game) -> Player:
    """The player that `text` names. A wrong name, key or value is one line: what was given, what is allowed, the nearest."""
    kind, given = split(text)
    if kind not in FACTORIES:
        known = ", ".join(FACTORIES)
        raise UserError(f"unknown player '{kind}': expected one of {known}{nearest(kind, FACTORIES)}")
    options = options_of(kind)
    resolved = options.resolve(given)
    path = resolved.pop("book")
    if kind == "net":
        from checkpoints import resolve

        # a run goes on, this player stays who it is
        resolved["checkpoint"] = str(resolve(str(here(resolved["checkpoint"])), game))
        resolved["leaves"] = resolved["leaves"] or (LEAVES_BY_CLOCK if resolved["ms"] else 1)
    thinker: Thinker = options.call(FACTORIES[kind], resolved, game)
    getattr(thinker, "prepare", lambda: None)()
    book = Book.load(here(path), game) if path is not None else None
    resolved["book"] = path
    name = kind + options.text(by_content(resolved))
    return Player(kind + options.text(resolved), game, thinker, book, resolved.get("seed", 0), resolved.get("ms"), name)


def by_content(resolved: dict[str, Any]) -> dict[str, Any]:
    """Options with files by what they hold: a network is the hash of its weights, wherever it lies; other files are PATH#HASH."""
    found = dict(resolved)
    if "checkpoint" in found:
        from checkpoints import read_card

        found["checkpoint"] = read_card(Path(found["checkpoint"])).short
    for key in ("eval", "book"):
        if found.get(key) is not None:
            found[key] += "#" + hashlib.sha256(here(found[key]).read_bytes()).hexdigest()[:12]
    return found


def files_of(game: Game, *players: str) -> SentFiles:
    """What workers need to load the game and to make these players, given by their resolved texts."""
    found = game_files(game)
    for text in players:
        kind, given = split(text)
        resolved = options_of(kind).resolve(given)
        found += [Path(resolved[key]) for key in ("checkpoint", "eval", "book") if resolved.get(key) is not None]
    return SentFiles.of(found)


def eval_of(game: Game, path: str | None) -> Eval | None:
    return Eval.load(here(path), game) if path is not None else None


def summary_of(kind: str) -> str:
    """One line about a kind of player."""
    return inspect.getdoc(FACTORIES[kind]) or ""
