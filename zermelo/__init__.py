"""Tree search with a learned evaluation, from Python: this page is the table of contents. docs/python.md shows each name at work.

    import zermelo

    game = zermelo.load_game("connect_four")                   # or "othello:size=6", or "./my_game.py"
    state = game.play("4 4 3")                                 # the position after these moves

    net = zermelo.load_net("connect_four/small", game)         # a run's name, a released net, a checkpoint's folder
    net.evaluate(state)                                        # policy {action: probability}, value, utilities

    player = zermelo.load_player("alphabeta:depth=8", game)    # the text that the command line takes
    choice = player.choose(state)                              # the move, its value, the line, every candidate at the root

    tally = zermelo.play_match(game, "net:connect_four/small,sims=50", "uct:sims=500", games=100)
    tally.score(), tally.elo(), print(tally.text())

    config = zermelo.configure(game, {"net": "mlp:2x64", "selfplay.simulations": 32})
    run = zermelo.train(config, "first", games=5000, on_iteration=lambda each: print(each.games, each.metrics["loss/value"]))
    games, losses = run.series("loss/value")                   # arrays; also of `zermelo.read_run("first")`

| name                                        | what                                                                         |
|---------------------------------------------|------------------------------------------------------------------------------|
| `load_game` `Game` `Rules`                  | rules by name or file; positions, legal moves, results                        |
| `load_net` `Net`                            | a trained network: policy and value of a position                             |
| `load_player` `Player` `Choice` `Candidate` | any player of the arena: the move it chooses, and why                         |
| `play_match` `Tally`                        | two players against each other: score, Elo, intervals                         |
| `configure` `Config` `train` `Iteration`    | a training run, with a function that is called after each iteration           |
| `read_run` `RunData`                        | a run's metrics as arrays, its evaluations, warnings and newest games         |
| `read_records` `GameRecord`                 | recorded games of a run, a match or a file: moves, search targets, outcome    |
| `UserError`                                 | what every wrong name, option or value raises, in one line                    |

Nothing else is needed to begin with. The packages behind these names (`games`, `mcts`, `arena`, `train` and others) are importable as
well; docs/design.md explains them. torch is imported by `train` alone, and by networks without a compiled form.
"""

import importlib
from typing import TYPE_CHECKING, Any

import base  # first: Ctrl-C during the other imports

if TYPE_CHECKING:
    from arena.players import Player
    from arena.tally import Tally
    from base.errors import UserError
    from games import Game, Rules
    from games import load as load_game
    from games.choice import Candidate, Choice
    from games.record import GameRecord, read_records
    from monitor.report.run_data import RunData
    from train.config import Config
    from train.loop import Iteration
    from zermelo.evaluation import Evaluation, Net, load_net
    from zermelo.matches import load_player, play_match
    from zermelo.runs import configure, read_run, train

_NAMES = {
    "Candidate": "games.choice",
    "Choice": "games.choice",
    "Config": "train.config",
    "Evaluation": "zermelo.evaluation",
    "Game": "games",
    "GameRecord": "games.record",
    "Iteration": "train.loop",
    "Net": "zermelo.evaluation",
    "Player": "arena.players",
    "Rules": "games",
    "RunData": "monitor.report.run_data",
    "Tally": "arena.tally",
    "UserError": "base.errors",
    "configure": "zermelo.runs",
    "load_game": "games",
    "load_net": "zermelo.evaluation",
    "load_player": "zermelo.matches",
    "play_match": "zermelo.matches",
    "read_records": "games.record",
    "read_run": "zermelo.runs",
    "train": "zermelo.runs",
}
_OTHER_NAMES = {"load_game": "load"}

__all__ = [
    "Candidate",
    "Choice",
    "Config",
    "Evaluation",
    "Game",
    "GameRecord",
    "Iteration",
    "Net",
    "Player",
    "Rules",
    "RunData",
    "Tally",
    "UserError",
    "configure",
    "load_game",
    "load_net",
    "load_player",
    "play_match",
    "read_records",
    "read_run",
    "train",
]


def __getattr__(name: str) -> Any:
    """Imported when it is used first: `import zermelo` takes no time."""
    if name not in _NAMES:
        raise AttributeError(f"module 'zermelo' has no attribute '{name}'")
    found = getattr(importlib.import_module(_NAMES[name]), _OTHER_NAMES.get(name, name))
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
