"""The contract of a game: what a game's file provides, and what is derived where it does not.

A game's file holds one function, `game(**options) -> Rules`. `Rules` is a dtype (one position = one record) and a few plain functions
over one record, under the textbook's names. They work *in place* on the record they are given, because searches keep one scratch
record and replay paths in it; `games.Game` wraps them into the textbook's pure functions.

    initial(state)                       state arrives all zeros and leaves as the start
    to_move(state) -> player             0 … players-1, or CHANCE; never called for a terminal state
    legal_actions(state, actions) -> n   writes the n legal action ids into `actions`, each once
    result(state, action)                plays a legal action (of the mover, or chance's)
    is_terminal(state) -> bool           drawn, decided or stopped
    utility(state, player) -> float      of a terminal state, in [-1, 1], from that player's view; also where `max_plies` stops a game

`legal_actions` follows the rules of movement alone: it gives none once the moves themselves have decided the game (a line of four, a
checkmate), and still gives moves where a game is stopped by a counter, a repetition, lack of material or a cap on its length.
`is_terminal` includes all of these. That is the convention of perft; `Game.legal_actions` gives none in either case.

Functions may call helpers and use numpy scalars, arrays (as constants) and loops: what numba compiles. Bit tricks: `base.bits`.
Everything a function draws at random comes from an `rng` argument (`base.seeds`).
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np

from base.errors import UserError, short
from games.engine import defaults, information
from games.engine.diagram import Diagram
from games.engine.diagram import derived as derived_diagram
from games.engine.symmetry import Symmetry
from games.types import Actions, Array, Bits, Features, GameState, Integer, Planes, Record, Rng

CHANCE = -1
"""The player who rolls the dice."""


NUMBERS = [np.dtype(code) for code in "?bBhHiIlLfd"]
"""What a field of a position may hold: what numba compiles. A number of foreign byte order is another type."""


def DERIVED(*_arguments: Any) -> Any:
    """Stands for a function that the game's file leaves out; `Rules` puts a derived one in its place."""
    raise AssertionError("a derived function was called before it was derived")


@dataclass(frozen=True)
class Rules:
    """One game with its options settled. The first seven fields and the three numbers are required."""

    State: np.dtype[Any]
    """One position. A field may be a number or an array of fixed shape; `np.dtype([("heaps", np.uint8, 3), ("mover", np.uint8)])`."""
    initial: Callable[[GameState], None]
    to_move: Callable[[GameState], int]
    legal_actions: Callable[[GameState, Actions], int]
    result: Callable[[GameState, Integer], None]
    is_terminal: Callable[[GameState], bool]
    utility: Callable[[GameState, Integer], float]

    players: int
    """How many play, chance not counted."""
    actions: int
    """How many action ids there are, chance's included: ids are 0 … actions-1."""
    max_plies: int
    """No game is longer, chance's actions counted: after so many it is stopped, and `utility` gives what it is worth there. Searches
    count from their root."""

    version: int = 1
    """Changed whenever a game of the same moves could go differently; stored with every record and checkpoint."""
    max_legal: int = 0
    """No position has more legal actions; 0 means `actions`."""
    zero_sum: bool = True
    """Utilities of a terminal state sum to zero."""
    values: Sequence[float] = (-1.0, 0.0, 1.0)
    """Every utility that can occur, ascending, where they are few: networks then learn a distribution over them. Empty: any."""
    payoff_scale: float = 1.0
    """The payoff that utility 1 stands for. Where it is not 1, people are shown payoffs: utilities times this."""

    # ── chance ──
    chance: Callable[[GameState, Integer], float] | None = None
    """chance(state, action): the probability of an outcome where `to_move` is CHANCE. The legal actions are the possible outcomes."""

    # ── hidden information: games/engine/information.py ──
    seen: Callable[[GameState, Integer, Integer], int] | None = None
    """seen(state, action, player): what the player notices of `action`, before it is played: the action's own number; another one that
    stands for less or more (`seen_names` has the names of those from `actions` on); NOTHING (-1). Movers notice their own actions, each
    as another number. Declared, positions hold what each player has noticed. None: all players see everything."""
    seen_names: Sequence[str] = ()
    """The names of `actions`, `actions` + 1 and so on as answers of `seen`."""
    private: Sequence[str] = ()
    """Fields whose first axis is the player, of which players see their own part only. 0 stands for unknown."""
    hidden: Sequence[str] = ()
    """Fields that no player sees. 0 stands for unknown."""
    resample: Callable[[GameState, Integer, Actions, Rng], int] | None = None
    """resample(view, player, path, rng) -> n: writes n actions from the start after which `player` has noticed what is in `view`, drawn
    at random from all such paths; -1 where a try fails. None: drawn action by action, which fails too often where hands are dealt."""

    # ── for the learner ──
    owned: Sequence[str] = ()
    """Fields whose first axis is the player: the derived observation puts the viewer first."""
    seats: Sequence[str] = ()
    """Fields that hold players' numbers (negative: no player): the derived observation counts them from the viewer."""
    history: Sequence[str] = ()
    """Fields that record the path, or are computed from others (keys, counters): not part of what "the same position" means."""
    board: tuple[int, int] = (1, 1)
    """Rows and columns: the derived observation lays fields of that many entries out as planes. Derived: those of the largest field of
    two dimensions or more."""
    observe: Callable[[GameState, Integer, Planes], None] = DERIVED
    """observe(state, player, planes): the position from the view of `player`; `planes` (float32, `observation`) arrives all zeros."""
    observation: tuple[int, int, int] = (0, 0, 0)
    """Shape of the planes: channels, rows, columns. Derived where `observe` is."""
    action_view: Array | None = None
    """[players, actions]: the number of an action in a viewer's policy, where boards are turned to face the viewer."""
    policy_planes: int = 0
    """The first policy_planes·rows·columns policy entries form planes; the rest are single. 0: no layout."""
    symmetries: Sequence[Symmetry] = ()
    """Turns and mirrors of the board that leave the game the same, without the identity."""
    features: Callable[[GameState, Integer, Features], None] | None = None
    """features(state, player, values): the features of a linear EVAL, from the view of `player`; for two players f(s, 0) = -f(s, 1).
    `values` (float32, one per name) arrives all zeros."""
    feature_names: Sequence[str] = ()
    feature_weights: Sequence[float] = ()
    """Hand-set weights of a linear EVAL, one per feature, in the game's own unit (chess: pawns). Empty: all zero."""
    weight_unit: float = 1.0
    """What one such unit is worth: EVAL = tanh(weight_unit · w·f), the utility expected."""
    material: Sequence[str] = ()
    """Features that count material, the first the unit (chess: pawns). A fitted EVAL is shown in it, and also fitted to these alone."""
    ownership: Callable[[GameState, Integer, Planes], None] | None = None
    """ownership(state, player, planes): whose each cell is when the game is over, from the view of `player`: planes[i] is 1 where it is
    the i-th player's, counted from `player`, or a share where it is several players'. `planes` (float32, players × the rows and columns
    of `observation`) arrives all zeros. A target for networks in training."""
    score: Callable[[GameState, Integer], float] | None = None
    """score(state, player): the points, discs or boxes of a finished game that decide it: of two players, the one with the greater
    score has the greater utility. Where cells are owned it counts them, up to a number that is the same in all games (komi). A target
    for networks in training, as a share of `largest_score`."""
    largest_score: float = 0.0
    """No score is farther from 0."""

    # ── for search ──
    key: Callable[[GameState], Bits] = DERIVED
    """key(state): 64 bits; equal keys mean equal positions (history aside). Derived: a hash of the fields."""
    gain: Callable[[GameState, Integer], float] | None = None
    """gain(state, action): above 0 for a tactical action (capture, promotion, win), the larger the more it takes; else 0."""
    tactical_actions: Callable[[GameState, Actions], int] = DERIVED
    """tactical_actions(state, actions) -> n: those with a gain, where they can be listed faster than by trying `gain` on all."""
    null_result: Callable[[GameState], bool] | None = None
    """null_result(state): passes the move where that is sound and returns True; else leaves the state alone and returns False.
    A pass never ends the game."""
    in_check: Callable[[GameState], bool] | None = None
    """in_check(state): the mover has to answer a threat at once, so EVAL is meaningless here. None: never.
    Where there are checks, one that takes nothing else has a gain below 0.25."""
    random_action: Callable[[GameState, Actions, Rng], int] = DERIVED
    """random_action(state, actions, rng): one legal action, exactly uniform; `actions` is scratch space. For slow listings."""

    # ── for exact solvers ──
    canonical_key: Callable[[GameState], Bits] | None = None
    """canonical_key(state): 64 bits; equal keys mean equal utilities for the mover under best play, however the positions were reached:
    turned and mirrored positions may share one, and history counts where the future depends on it. None: a hash of the whole record."""
    sufficient_actions: Callable[[GameState, Actions], int] | None = None
    """sufficient_actions(state, actions) -> n ≥ 1 of the legal actions, the most promising first: the best of them is as good as the
    best of all, in utility and in plies to the end (a winner's few, a loser's many). Never called for a terminal state."""
    utility_range: Callable[[GameState, Integer], tuple[float, float]] | None = None
    """utility_range(state, player) -> (least, most): with any play from here, the player's utility lies between them."""

    # ── for endgame tables ──
    endgames: Sequence[tuple[str, int]] = ()
    """Classes of positions few enough to be listed: name and number of indices; captures and promotions lead to earlier ones."""
    endgames_on_request: Sequence[str] = ()
    """Names of classes whose tables take long, and are made only where they are named."""
    endgame_index: Callable[[GameState], int] | None = None
    """endgame_index(state): the position's number among all classes together (0 ≤ number < the sum of their sizes), -1 if in none.
    Positions in the middle of a turn are in none; history and counters do not count."""
    endgame_position: Callable[[GameState, Integer], bool] | None = None
    """endgame_position(state, index): the inverse; `state` arrives all zeros. False where the index stands for no position."""
    endgame_predecessors: Callable[[GameState, Array], int] | None = None
    """endgame_predecessors(state, indices) -> n: the indices, each once, of the positions of the same class from which one action leads
    to one of this position's index; others that stand for no position may be among them. At most max_legal; `state` is left as it was.
    Large classes need it: without it every action of a class is kept in memory. Turns of several actions cannot have it."""
    plies_to_draw: Callable[[GameState], int] | None = None
    """plies_to_draw(state): in fewer plies than this no counter and no repetition can draw the game, as long as no position comes
    twice from here on. What wins in so many plies wins. 0 where a position that can come again would be drawn by coming once
    more. None: no game is drawn by its past."""

    # ── names and text ──
    names: Sequence[str] = ()
    """The name of each action id, each different; may be empty for an id that no position uses. Derived: numbers."""
    render: Callable[[GameState], str] = DERIVED
    """render(state): the board as text. Runs as plain Python."""
    diagram: Callable[[GameState], Diagram] = DERIVED
    """diagram(state): the board as data for pictures: what is in each cell, on what kind of board. Runs as plain Python. Derived: from
    what `render` draws, or from the fields that fill the board; where there is no board, a table of the fields."""
    text: Callable[[GameState], str] = DERIVED
    """text(state): the position in one line (FEN and the like). Derived: `field=values …`."""
    parse: Callable[[GameState, str], None] = DERIVED
    """parse(state, text): the inverse; `state` arrives all zeros. Raises ValueError with what is wrong."""

    derived: frozenset[str] = field(default=frozenset(), init=False)
    """Names of the functions that the game's file left to the defaults."""

    def __post_init__(self) -> None:
        self._check()
        derive: dict[str, Callable[[Rules], Any]] = {
            "key": defaults.key,
            "random_action": defaults.random_action,
            "tactical_actions": defaults.tactical_actions,
            "render": defaults.render,
            "diagram": derived_diagram,
            "text": defaults.text,
            "parse": defaults.parse,
        }
        left_out = [name for name in ("observe", *derive) if getattr(self, name) is DERIVED]
        if self.hides_information and "events" not in (
            self.State.names or ()
        ):  # `dataclasses.replace` comes here again
            for name, value in {
                "State": information.tracked_state(self),
                "history": (*self.history, *information.TRACKED),
                "initial": information.tracked_initial(self),
                "result": information.tracked_result(self),
            }.items():
                object.__setattr__(self, name, value)
        settled: dict[str, Any] = {
            "State": np.dtype((Record, self.State)),
            "max_legal": self.max_legal or self.actions,
            "names": tuple(self.names) or tuple(map(str, range(self.actions))),
            "values": tuple(map(float, self.values)),
            "derived": frozenset(left_out),
        }
        if "observe" in left_out:
            object.__setattr__(self, "board", defaults.board(self))
            settled["observe"], settled["observation"] = defaults.observe(self)
        settled |= {name: derive[name](self) for name in left_out if name != "observe"}
        for name, value in settled.items():
            object.__setattr__(self, name, value)
        channels, rows, columns = self.observation
        for symmetry in self.symmetries:
            symmetry.check(self.actions, channels * rows * columns)
            if self.ownership is not None and not symmetry.turns_planes(channels, rows * columns):
                raise UserError(f"ownership: expected symmetries that turn all planes alike, got '{symmetry.name}'")
        if self.policy_planes * rows * columns > self.actions:
            raise UserError(
                f"policy_planes: expected at most {self.actions // (rows * columns)}, for there are {self.actions} actions "
                f"and {rows}×{columns} cells; got {self.policy_planes}"
            )

    @property
    def hides_information(self) -> bool:
        """Whether players see less than everything."""
        return self.seen is not None

    def _check(self) -> None:
        """Checks what needs no game to be played; the doctor checks the rest."""
        for which, (count, is_optional) in _functions().items():
            _check_function(which, getattr(self, which), count, is_optional)
        names = self.State.names
        if names is None:
            raise UserError(
                f"State: expected a structured dtype such as np.dtype([('board', np.int8, 9)]), got {self.State}"
            )
        taken = [name for name in names if hasattr(np.record, name) or not name.isidentifier()]
        if taken:
            raise UserError(
                f"State: a field can't be called '{taken[0]}', for numpy's records have an attribute of that name"
            )
        for name in names:
            if self.State[name].base not in NUMBERS:
                raise UserError(
                    f"State: expected fields of whole numbers (np.int8 to np.uint64), np.float32, np.float64 or np.bool_; "
                    f"'{name}' is of type {self.State[name].base}"
                )
            if self.State[name].shape and self.State[name].base.kind == "b":
                raise UserError(f"State: '{name}' is an array of bool, which numba can't compile; expected np.uint8")
        for which in ("players", "actions", "max_plies"):
            if getattr(self, which) < 1:
                raise UserError(f"{which}: expected at least 1, got {getattr(self, which)}")
        if not 0 < self.payoff_scale < math.inf:
            raise UserError(f"payoff_scale: expected a number above 0, got {self.payoff_scale}")
        for which in ("owned", "seats", "history", "private", "hidden"):
            for name in getattr(self, which):
                if name not in names:
                    raise UserError(f"{which}: expected names of State's fields ({', '.join(names)}), got '{name}'")
        for which, name in [*(("owned", name) for name in self.owned), *(("private", name) for name in self.private)]:
            shape = self.State[name].shape
            if not shape or shape[0] != self.players:
                raise UserError(
                    f"{which}: expected a field whose first axis is the {self.players} players, got '{name}' of shape {shape}"
                )
        self._check_information(names)
        used = [name for name in self.names if name]
        if self.names and (len(self.names) != self.actions or len(set(used)) != len(used)):
            twice = next((name for name in used if used.count(name) > 1), "none twice")
            raise UserError(f"names: expected {self.actions} different names, got {len(self.names)} (twice: {twice})")
        if self.features is not None and not self.feature_names:
            raise UserError("feature_names: expected a name for each feature, got none")
        if self.feature_weights and len(self.feature_weights) != len(self.feature_names):
            counts = len(self.feature_weights), len(self.feature_names)
            raise UserError(f"feature_weights: expected one per feature ({counts[1]}), got {counts[0]}")
        for name in self.material:
            if name not in self.feature_names:
                raise UserError(f"material: expected names of features ({', '.join(self.feature_names)}), got '{name}'")
        if self.observe is not DERIVED and min(self.observation) < 1:
            raise UserError(f"observation: expected channels, rows, columns of the planes, got {self.observation}")
        if (self.text is DERIVED) != (self.parse is DERIVED):
            raise UserError("text and parse: expected both or neither")
        if list(self.values) != sorted(self.values) or any(abs(value) > 1 for value in self.values):
            raise UserError(f"values: expected ascending numbers in [-1, 1], got {tuple(self.values)}")
        if self.action_view is not None and (
            self.action_view.shape != (self.players, self.actions)
            or any(sorted(view) != list(range(self.actions)) for view in self.action_view.tolist())
        ):
            raise UserError(
                f"action_view: expected a permutation of the {self.actions} actions for each of {self.players} players"
            )
        if (self.score is None) != (self.largest_score == 0) or not 0 <= self.largest_score < float("inf"):
            raise UserError(
                f"largest_score: expected a number above 0 with score, and none without; got {self.largest_score:g}"
            )
        if not bool(self.endgames) == (self.endgame_index is not None) == (self.endgame_position is not None):
            raise UserError("endgames, endgame_index and endgame_position: expected all three or none")
        if self.endgame_predecessors is not None and not self.endgames:
            raise UserError("endgame_predecessors: expected endgames with it")
        for name in self.endgames_on_request:
            if name not in dict(self.endgames):
                raise UserError(f"endgames_on_request: expected names of endgames, got '{name}'")

    def _check_information(self, names: Sequence[str]) -> None:
        if self.seen is None:
            given = [name for name in ("seen_names", "private", "hidden", "resample") if getattr(self, name)]
            if given and not set(information.TRACKED) <= set(names):
                raise UserError(f"{given[0]}: expected seen with it, which declares what players notice")
            return
        taken = [name for name in information.TRACKED if name in names]
        if taken and len(taken) < len(information.TRACKED):
            raise UserError(f"State: a field can't be called '{taken[0]}', for the engine adds one of that name")
        for name in (*self.private, *self.hidden):
            if [name in which for which in (self.private, self.hidden, self.owned, self.seats)].count(True) > 1:
                raise UserError(f"private and hidden: expected fields that are not seats, owned or both, got '{name}'")
        if self.text is not DERIVED and not taken:
            raise UserError(
                "text: expected none with seen, for a position's text has to hold what players have noticed"
            )
        if self.actions + len(self.seen_names) > information.MOST_EVENTS:
            raise UserError(f"seen: expected at most {information.MOST_EVENTS} actions and other names, got more")
        if len(set(self.seen_names)) < len(self.seen_names):
            raise UserError(f"seen_names: expected different names, got {', '.join(self.seen_names)}")


@functools.cache
def _functions() -> dict[str, tuple[int, bool]]:
    """Of each function of `Rules`, as annotated: how many arguments it takes, and whether it may be None."""
    found = {}
    for name, kind in get_type_hints(Rules).items():
        for each in (kind, *get_args(kind)):
            if get_origin(each) is Callable:
                found[name] = len(get_args(each)[0]), each is not kind
    return found


def _check_function(name: str, function: Any, count: int, is_optional: bool) -> None:
    if function is None and is_optional:
        return
    if not callable(function):
        raise UserError(f"{name}: expected a function, got {short(repr(function))}")
    try:
        signature = inspect.signature(getattr(function, "py_func", function))
    except ValueError:  # some of Python's own have none
        return
    try:
        signature.bind(*range(count))
    except TypeError:
        raise UserError(
            f"{name}: expected a function of {count} argument{'s' * (count > 1)}, got {name}{signature}"
        ) from None
