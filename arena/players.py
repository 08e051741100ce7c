"""Players by name: `make_player("alphabeta:depth=6,tt=off", load("othello"))`.

    random · human · minimax:depth=4 · maxn:depth=3 · expectiminimax:depth=2 · alphabeta:depth=6
    alphabeta:ms=100,eval=PATH · uct:sims=1000 · uct:ms=100,rollout=0,eval=PATH · solver
    uci:"stockfish",ms=100 · gtp:"gnugo --mode gtp" · gnubg:plies=0
    cfr:iterations=1000 · ismcts:sims=1000 · pimc:worlds=20         where information is hidden

`python -m arena players` lists the kinds and their options. This project's own searches are the functions `make_…` below. Each file of
`arena/engines/` that defines a function `player` is one more kind, named after the file.

A player's `text` is its resolved text, with every option that has a value. Its `name` is the same text with files identified by their
content; results are stored under it. `eval=fitted` stands for the weights that come with the program for a game. `human` plays only at
the terminal (arena/terminal.py). Every player accepts `book=PATH`, an opening book that is tried before the search.
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import importlib
import inspect
import re
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol, TypeVar, get_type_hints

from base.errors import UserError, nearest, short
from base.files import cache_folder, write_bytes
from base.options import Options, split
from base.seeds import below, derive, generator
from base.threads import Stop
from base.values import Misfit, checked, parsed
from checkpoints import pack, read_card, ready, resolve, text_of, unpack
from classical.alphabeta import AlphaBeta, AlphaBetaSettings
from classical.book import Book
from classical.eval import FITTED, Eval, default_eval, evaluator, file_text, shipped
from classical.expectiminimax import Expectiminimax
from classical.maxn import MaxN
from classical.minimax import Minimax
from classical.solvable import LATE, MIDDLE, fits, require
from classical.solver import Solver, Unsolved
from games import CHANCE, Game, load
from games.choice import Candidate, Choice, Limits, Report
from mcts.player import TreePlayer
from mcts.policy import PolicyPlayer
from mcts.puct import PUCT
from mcts.search import is_compiled
from mcts.ucb1 import UCB1
from mcts.variant import named, settings_class
from mcts.variant import names as variants

Depth = Annotated[int, range(1, 101)]
Count = Annotated[int, range(1, 2**31 - 1)]
Threads = Annotated[int, range(1, 257)]
SOLVER_NODES = 1_000_000_000  # for a move, without `nodes`: the empty board of connect four takes fewer
SOLVER_NODES_LATE = 50_000_000  # where only late positions can be solved: some seconds
ENGINES = Path(__file__).parent / "engines"
FILES = ("checkpoint", "eval", "book")  # options that name a file or a checkpoint's folder
KEPT = 8  # players of a task that a worker keeps: their tables take memory


class Thinker(Protocol):
    """A search that can be a player. Optional members: `new_game()`; `advance(action)`, an action was played; `prepare()`, compile;
    `seed`, which is set before `new_game()`; `policy(state)`, the probability of each action that `choose` may play; and
    `analyse(state, limits, report, stop)`, as in `Player`. In a game that hides information, a thinker gets views of its mover
    instead of positions, and no `advance`."""

    def choose(self, state: Any) -> Choice: ...


class Forfeit(UserError):
    """Raised by `choose` where a player crashes, exceeds its time, names an illegal move, or resigns. In a game it loses, and the
    reason is recorded; elsewhere it is a one-line error."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


M = TypeVar("M", bound=Callable[..., Any])


def plays_views(make: M) -> M:
    """Marks a function that makes players which also fit games that hide information: they use no more than a view."""
    make.plays_views = True  # type: ignore[attr-defined]
    return make


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

    def policy(self, state: Any) -> dict[int, float]:
        legal = self.game.legal_actions(state)
        return dict.fromkeys(legal, 1 / len(legal))


class ExactMover(Solver):
    """Plays proven moves only: it forfeits where its limit is too small for the position."""

    def choose(self, state: Any) -> Choice:
        try:
            return super().choose(state)
        except Unsolved as limit:
            raise Forfeit(f"solver: {limit}; nodes=N sets the limit") from None

    def explain(self, state: Any) -> Choice:
        """The same with the value of every move and the line of best play, where the limit is large enough for them."""
        found = self.choose(state)
        with suppress(Unsolved):
            found = self.solve(state, "all").choice
        line = self.line(state, found.action)
        return replace(found, pv=line, depth=len(line))


class Player:
    """One seat in a game: `advance` receives every action that is played, `choose` returns its own."""

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
        """Time limit of a move in milliseconds, or None."""
        self.name = name or text
        """The text with files identified by content; results are stored under it."""
        self._rng = generator(seed, "book")

    def new_game(self, seed: int | None = None) -> None:
        """Forget the current game. `seed` gives this game its own random numbers."""
        drawn = self.seed if seed is None else derive(seed, "player", self.seed)
        self._rng = generator(drawn, "book")
        if hasattr(self.thinker, "seed"):
            self.thinker.seed = drawn
        getattr(self.thinker, "new_game", lambda: None)()

    def advance(self, action: int) -> None:
        """`action` has been played, by any player. Where information is hidden, the next view has what this player noticed of it."""
        if self.game.hides_information:
            return
        getattr(self.thinker, "advance", lambda action: None)(action)

    def choose(self, state: Any) -> Choice:
        """The action to play, with the search's result."""
        return self._answer(state, self.thinker.choose)

    def explain(self, state: Any) -> Choice:
        """The same, with more about the other moves where that takes longer."""
        return self._answer(state, getattr(self.thinker, "explain", self.thinker.choose))

    def _answer(self, state: Any, search: Callable[[Any], Choice]) -> Choice:
        mover = self.game.to_move(state)
        if mover is None or mover == CHANCE:
            what = "a finished game" if mover is None else "one where chance is to move"
            raise UserError(f"expected a position of {self.game.name} with a move to choose, got {what}")
        return self.from_book(state) or search(self.game.view(state, mover))

    def policy(self, state: Any) -> dict[int, float]:
        """The probability of each action in a position with a move to choose: the player's mixed strategy."""
        if not hasattr(self.thinker, "policy"):
            raise UserError(f"{self.text}: expected a player with a mixed strategy, got one that only chooses moves")
        mover = self.game.to_move(state)
        found: dict[int, float] = self.thinker.policy(state if mover is None else self.game.view(state, mover))
        return found

    def from_book(self, state: Any) -> Choice | None:
        """The opening book's move, where there is one."""
        found = self.book.choose(state, self._rng) if self.book is not None else None
        if found is None or self.book is None:
            return None
        score = next(score for action, _, score in self.book.moves(state) if action == found)
        return Choice(found, score, pv=(found,), counters={"book": 1})

    @property
    def can_stop(self) -> bool:
        """Whether its searches report while they run, and end when they are stopped; others end at their own limit."""
        return hasattr(self.thinker, "analyse")

    def analyse(self, state: Any, limits: Limits, report: Report, stop: Stop) -> Choice:
        """A search of a position with a move to choose, on this thread, until its limits or `stop`; `report` receives what is found on
        the way. The book is not used."""
        mover = self.game.to_move(state)
        state = state if mover is None else self.game.view(state, mover)
        if self.can_stop:
            found: Choice = self.thinker.analyse(state, limits, report, stop)  # type: ignore[attr-defined]
        else:
            found = self.thinker.choose(state)
        return found


# ── the searches of this project, by kind; the docstring is the line that `python -m arena players` prints ──────────────


@plays_views
def make_random(game: Game, /, seed: int = 0) -> Thinker:
    """uniform over the legal moves"""
    return RandomMover(game, seed)


@plays_views
def make_human(game: Game, /) -> Thinker:
    """a person at the terminal, in: python -m arena play"""
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


def make_alphabeta(game: Game, /, eval: str | None = None, **settings: Any) -> Thinker:
    """alpha-beta with enhancements that can be switched off one by one; two players, zero sum, no dice"""
    return AlphaBeta(game, AlphaBetaSettings(**settings), eval_of(game, eval))


def make_uct(
    game: Game,
    /,
    sims: Count | None = None,
    ms: Count | None = None,
    rollout: float = 1.0,
    rollout_plies: Annotated[int, range(2**31 - 1)] = 0,
    c: float = UCB1.c,
    eval: str | None = None,
    solve: bool = True,
    reuse: bool = True,
    threads: Threads = 1,
    memory_mb: Annotated[int, range(1, 2**20)] = 256,
    seed: int = 0,
) -> Thinker:
    """Monte Carlo tree search; a leaf is worth (1 - rollout) · EVAL + rollout · a random game, which is cut after rollout_plies (0: at
    its end) and worth EVAL there; several threads share one tree, and results vary from run to run"""
    if eval is not None and rollout == 1 and rollout_plies == 0:
        raise UserError("uct: eval: expected rollout below 1 (rollout=0 for EVAL alone), or EVAL would have no weight")
    weights = (eval_of(game, eval) or default_eval(game)).array(game)
    return TreePlayer(
        game,
        UCB1(c=c, rollout=rollout, rollout_plies=rollout_plies, solve=solve),
        simulations=sims,
        ms=ms,
        evaluator=evaluator,
        weights=weights,
        reuse=reuse,
        memory_mb=memory_mb,
        threads=threads,
        seed=seed,
    )


def make_solver(
    game: Game, /, mb: Annotated[int, range(1, 2**20)] = 256, distance: bool = False, nodes: Count | None = None
) -> Thinker:
    """exact play: forfeits a position that `nodes` nodes do not solve, by default many in a small game, those of seconds in others;
    with dice or three players small games only"""
    mover = ExactMover(game, megabytes=mb, distance=distance, nodes=nodes or SOLVER_NODES)
    if nodes is None and not fits(game, LATE, MIDDLE):
        if not mover.is_provable:
            require(game, LATE, MIDDLE)
        mover.limit(SOLVER_NODES_LATE)
    return mover


AFTER_GUMBEL = {"c_init": 0.7, "prior_temperature": 1.6}
"""Of PUCT with a network that learned from Gumbel's targets, which are sharper than shares of visits: +131 and +65 Elo in othello, +9
and +7 in connect four (docs/results.md)."""
SIMULATIONS = 200
"""Of a network's search, where neither simulations nor a time is given."""
BATCH_BY_CLOCK = 8
"""Leaves of one tree in a batch, where a search need not be the same twice: five times the simulations of one at a time."""


@plays_views
def make_net(
    game: Game,
    checkpoint: str,
    /,
    sims: Annotated[int, range(2**31 - 1)] | None = None,
    ms: Count | None = None,
    method: str | None = None,
    leaves: Annotated[int, range(1, 1025)] | None = None,
    symmetry: bool = False,
    precision: Literal["auto", "fp32", "bf16"] = "auto",
    device: str = "cpu",
    threads: Threads = 1,
    reuse: bool = True,
    memory_mb: Annotated[int, range(1, 2**20)] = 256,
    seed: int = 0,
    **search: Any,
) -> Thinker:
    """search with a network: net:RUN or net:FOLDER, as `python -m checkpoints` lists them; 200 simulations without sims or ms, sims=0
    plays the raw policy. It searches by the settings of its run, which other options change, as in fpu=0.3 (docs/configuration.md,
    `search`); another method has its own defaults. `threads` share one tree, and results vary from run to run; torch evaluates in
    batches of `leaves` where that is given, on other devices, and nets without a compiled form. Where information is hidden it plays
    the policy, as a mixture, and does not search"""
    if game.hides_information:
        return _policy_player(game, checkpoint, sims, ms, precision, device, seed)
    batch = leaves or (BATCH_BY_CLOCK if ms else 1)
    packed = pack(checkpoint)
    network: Any
    if leaves is None:
        network = ready(packed, game, batch, device, precision, threads)
    else:
        from nets import Inference  # torch

        network = Inference(unpack(packed, game)[0], batch, device, precision, threads)
    return TreePlayer(
        game,
        settings_class(method or PUCT.method)(**({"rollout": 0.0} | search)),
        network=network,
        simulations=SIMULATIONS if sims is None and ms is None else sims,
        ms=ms,
        leaves=1 if is_compiled(network) else batch,
        reuse=reuse,
        symmetry=symmetry,
        threads=threads,
        memory_mb=memory_mb,
        seed=seed,
    )


def _policy_player(
    game: Game,
    checkpoint: str,
    sims: int | None,
    ms: int | None,
    precision: Literal["auto", "fp32", "bf16"],
    device: str,
    seed: int,
) -> Thinker:
    if sims or ms:
        what = f"sims={sims}" if sims else f"ms={ms}"
        raise UserError(f"net: expected no search in {game.name}, where a network plays its policy, got {what}")
    return PolicyPlayer(game, ready(pack(checkpoint), game, 1, device, precision), seed)


DEPTH_LIMITED = ("minimax", "maxn", "expectiminimax", "alphabeta", "pimc")
"""Searches that value by EVAL what lies beyond their depth."""

OWN: dict[str, Callable[..., Thinker]] = {
    "random": make_random,
    "human": make_human,
    "minimax": make_minimax,
    "maxn": make_maxn,
    "expectiminimax": make_expectiminimax,
    "alphabeta": make_alphabeta,
    "uct": make_uct,
    "solver": make_solver,
    "net": make_net,
}


# ── from a text to a player ──────────────────────────────────────────────────────────────────────────────────────────


@functools.cache
def kinds() -> dict[str, Callable[..., Thinker]]:
    """The function that makes each kind of player: those above, and `player` of each file in `arena/engines/`."""
    files = [
        file for file in sorted(ENGINES.glob("*.py")) if re.search(r"^def player\(", file.read_text("utf-8"), re.M)
    ]
    return OWN | {file.stem: importlib.import_module(f"arena.engines.{file.stem}").player for file in files}


def with_book(book: str | None = None) -> None:
    """The option that every player has."""


def options_of(kind: str) -> Options:
    """The options of a kind of player."""
    sources: list[Callable[..., Any]] = [kinds()[kind], with_book]
    if kind == "alphabeta":
        sources.insert(0, AlphaBetaSettings)
    return Options(kind, *sources, skip=("game", "settings"))


def make_player(text: str, game: Game, ready: bool = True) -> Player:
    """The player that `text` describes. An unknown kind, option or value is a one-line error that names what is allowed. `ready`: with
    all compiled that a move needs. Warns, once, where EVAL matters to the player and is 0 everywhere."""
    player = _made(text, game)
    if lack := lack_of_eval(player):
        warnings.warn(lack, stacklevel=1)  # the same place each time, so that equal texts are printed once
    if ready:
        _prepare(player)
    return player


def _prepare(player: Player) -> None:
    getattr(player.thinker, "prepare", lambda: None)()


def _made(text: str, game: Game) -> Player:
    kind, options, resolved = parse_player(text)
    path = resolved.pop("book")
    if game.hides_information:
        _must_fit(kind, path, game)
    if kind == "net":
        # this checkpoint, whatever a run saves later
        resolved["checkpoint"] = str(resolve(resolved["checkpoint"], game))
        resolved |= search_of(resolved, options) if not game.hides_information else no_search(resolved, options)
    if resolved.get("eval") == FITTED:
        resolved["eval"] = str(shipped(game))
    thinker: Thinker = options.call(kinds()[kind], resolved, game)
    book = Book.load(path, game) if path is not None else None
    resolved["book"] = path
    name = kind + options.text(by_content(resolved))
    return Player(kind + options.text(resolved), game, thinker, book, resolved.get("seed", 0), resolved.get("ms"), name)


def _must_fit(kind: str, book: str | None, game: Game) -> None:
    """Refuse what would see, or is indexed by, more than a player's view."""
    if not hasattr(kinds()[kind], "plays_views"):
        fit = ", ".join(name for name, make in kinds().items() if hasattr(make, "plays_views"))
        raise UserError(
            f"{kind}: expected a game in which players see everything, got {game.name}, where these play: {fit}"
        )
    if book is not None:
        raise UserError(f"book: expected a game in which players see everything, got {game.name}")


def lack_of_eval(player: Player) -> str:
    """One line if the player values positions by EVAL and EVAL has no weights; empty otherwise."""
    kind, _, resolved = parse_player(player.text)
    rules = player.game.rules
    if kind == "uct":
        matters, other = resolved["rollout"] < 1 or resolved["rollout_plies"] > 0, "uct with whole random games"
    elif kind in DEPTH_LIMITED:
        plies = (resolved["depth"] or 0) * (1 if rules.chance is None else 2)  # a depth does not count what chance does
        matters, other = plies < rules.max_plies, "ismcts" if rules.hides_information else "uct:sims=1000"
    else:
        return ""
    if not matters or resolved["eval"] is not None or any(rules.feature_weights or ()):
        return ""
    missing = "features" if rules.features is None else "feature_weights"
    cure = f"write {missing} (docs/your_game.md)" + ("" if rules.features is None else ", name a file with eval=")
    lack = f"{player.game.name} has no {missing}, so EVAL is 0 at every leaf of {kind} that does not end the game"
    return f"{lack}; {cure}, or try {other}"


def parse_player(text: str) -> tuple[str, Options, dict[str, Any]]:
    """The kind of a player, the options of that kind, and their values, `book` last."""
    kind, given = split(text)
    if kind not in kinds():
        known = ", ".join(kinds())
        raise UserError(f"unknown player '{kind}': expected one of {known}{nearest(kind, kinds())}")
    options = options_of(kind)
    resolved = options.resolve(given)
    return kind, options, resolved | {"book": resolved.pop("book")}


def brief(text: str, given: str = "") -> str:
    """A resolved text without the options that have their default and are not in `given`: `alphabeta:depth=4`."""
    known = known_player(text)
    if known is None:
        return text
    kind, options, resolved = known
    named = {key for key, _ in split(given)[1]} if given else set()
    defaults = {name: each.default for name, each in options.parameters.items()}
    if kind == "net":
        defaults["method"] = PUCT.method  # of nearly all runs
        resolved |= {"checkpoint": text_of(Path(resolved["checkpoint"]))}
    if resolved.get("eval") is not None:
        resolved["eval"] = file_text(resolved["eval"])
    shown = {name: value for name, value in resolved.items() if name in named or value != defaults.get(name)}
    return kind + options.text(shown)


def known_player(text: str) -> tuple[str, Options, dict[str, Any]] | None:
    """As `parse_player`; None for a text of another version of the program."""
    try:
        return parse_player(text)
    except UserError:
        return None


def search_of(resolved: dict[str, Any], options: Options) -> dict[str, Any]:
    """How a network searches: the method, what differs from its defaults in the run (on the checkpoint's card), and what is given in
    the player's text. Where the text names another method than the card, the card's settings do not count. By the clock it searches
    with PUCT where the run's method shares out a known number of simulations; PUCT has settings of its own for such a network."""
    card = read_card(Path(resolved["checkpoint"]))
    stored = card.configuration.get("search", {})
    stored = stored if isinstance(stored, dict) else {}
    trained = str(stored.get("method", PUCT.method))
    shares_out = trained in variants() and not named(trained).keeps_tree
    method = resolved["method"] or (PUCT.method if resolved["ms"] and shares_out else trained)
    kind = settings_class(method)
    kinds_of = {each.name: get_type_hints(kind)[each.name] for each in fields(kind) if each.name != "method"}
    found: dict[str, Any] = dict(AFTER_GUMBEL) if method == PUCT.method and shares_out else {}
    for key in kinds_of if method == trained else ():
        try:
            value = checked(kinds_of[key], stored.get(key, getattr(kind(rollout=0.0), key)))
        except Misfit as wrong:
            raise UserError(
                f"{resolved['checkpoint']}: search.{key}: expected {wrong.expected}, got {wrong.got!r}"
            ) from None
        if value != getattr(kind(rollout=0.0), key):
            found[key] = value
    for key in resolved.keys() - options.parameters.keys():
        if key not in kinds_of:
            known = [*options.parameters, *kinds_of]
            raise UserError(f"net: unknown option '{key}'; options are {', '.join(known)}{nearest(key, known)}")
        try:
            found[key] = parsed(kinds_of[key], resolved[key])
        except Misfit as wrong:
            raise UserError(f"net: {key}: expected {wrong.expected}, got '{short(resolved[key])}'") from None
    return {"method": method} | {key: found[key] for key in kinds_of if key in found}


def no_search(resolved: dict[str, Any], options: Options) -> dict[str, Any]:
    """Nothing: in a game that hides information a network plays its policy, and settings of a search are refused."""
    for key in resolved.keys() - options.parameters.keys():
        raise UserError(f"net: {key}: expected no setting of a search where information is hidden, got one")
    return {}


def by_content(resolved: dict[str, Any]) -> dict[str, Any]:
    """Options with files identified by content: a network by the hash of its weights, other files as PATH#HASH."""
    found = dict(resolved)
    if "checkpoint" in found:
        found["checkpoint"] = read_card(Path(found["checkpoint"])).short
    for key in FILES[1:]:
        if found.get(key) is not None:
            content = hashlib.sha256(Path(found[key]).read_bytes()).hexdigest()[:12]
            found[key] = f"{file_text(found[key])}#{content}"
    return found


def eval_of(game: Game, path: str | None) -> Eval | None:
    return Eval.load(path, game) if path is not None else None


def summary_of(kind: str) -> str:
    """One line about a kind of player."""
    return inspect.getdoc(kinds()[kind]) or ""


def add_players(parser: argparse.ArgumentParser) -> None:
    pass


def run_players(options: argparse.Namespace) -> int:
    for kind in kinds():
        print(f"{kind}: {summary_of(kind)}")
        for name, words in options_of(kind).words().items():
            print(f"    {name}: {words}")
    return 0


# ── players for workers on any machine ───────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class PackedPlayer:
    """A player with the contents of its files, so that it can be made where those files are not."""

    text: str
    name: str
    files: tuple[tuple[str, str, bytes], ...]
    """(option, file name, content); a checkpoint has several files."""


def pack_player(player: Player) -> PackedPlayer:
    _, _, resolved = parse_player(player.text)
    files = []
    for option in FILES:
        if resolved.get(option) is not None:
            path = Path(resolved[option])
            found = sorted(each for each in path.iterdir() if each.is_file()) if path.is_dir() else [path]
            files += [(option, each.name, each.read_bytes()) for each in found]
    return PackedPlayer(player.text, player.name, tuple(files))


def unpack_player(packed: PackedPlayer, game: Game) -> Player:
    """The player. Where its files are missing or differ, their contents are written to the cache folder."""
    kind, options, resolved = parse_player(packed.text)
    if packed.files and _local_name(kind, options, resolved) != packed.name:
        for option, name, content in packed.files:
            folder = cache_folder("players", hashlib.sha256(packed.name.encode()).hexdigest()[:32], option)
            write_bytes(folder / name, content)
            resolved[option] = str(folder if option == "checkpoint" else folder / name)
    player = _made(kind + options.text(resolved), game)  # the process that packed it has warned
    _prepare(player)
    player.text, player.name = packed.text, packed.name
    return player


def _local_name(kind: str, options: Options, resolved: dict[str, Any]) -> str | None:
    """The name with the files of this machine; None where one is missing."""
    try:
        return kind + options.text(by_content(resolved))
    except (OSError, UserError):
        return None


class KeptPlayers:
    """The players of a task, each made once by the worker that has it: `kept(text)`. They go with the task, so that a worker does not
    hold the tables of an earlier one. `copy` numbers equal players of one game."""

    def __init__(self, game: str, packed: Mapping[str, PackedPlayer]) -> None:
        self.game, self.packed = game, packed
        self._made: dict[tuple[str, int], Player] = {}  # the one that was used last is the last

    def __call__(self, text: str, copy: int = 0) -> Player:
        player = self._made.pop((text, copy), None) or unpack_player(self.packed[text], load(self.game))
        self._made[text, copy] = player
        if len(self._made) > KEPT:
            del self._made[next(iter(self._made))]
        return player

    def __reduce__(self) -> tuple[Any, ...]:
        return KeptPlayers, (self.game, self.packed)
