"""From a command line to a run: its configuration, its budget, and at the end commands for its checkpoint."""

from __future__ import annotations

import argparse
import shlex
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

from arena.ladder.reference_players import has_reference_players
from base.errors import UserError
from base.options import split
from base.workers import WorkerDied, Workers
from checkpoints import best
from classical.eval import Eval, beside_hand
from cluster.options import opened_workers
from games import Game, builtin_games, load
from mcts.methods import check_method
from monitor.log import RunLog
from monitor.media import MediaMaker, as_code
from nets import make_net
from nets.names import compiled_kinds
from train.budget import Budget
from train.config import Config, changed, compose, flat, in_toml, to_toml
from train.evaluation import ArenaEvaluation, players_of, simulations_of
from train.fitting import commands
from train.keys import shown
from train.learner import Learner
from train.loop import Iteration, train
from train.recorded import recorded, with_games
from train.run import MADE, Run, folder_of, name_for, opened, stored
from train.seal import CONFIGURATION, check_trust
from train.state import Progress, newest

DEFAULT = Budget(minutes=10)
"""Of a new run without --games and --minutes."""


def show(options: argparse.Namespace) -> int:
    """The configuration that this command line gives a run."""
    game = load(options.game)
    before = stored(folder_of(named(options.run, game)))
    config = configuration(game, options, before)
    if before is None:
        check(config, game)
    print(shown(config))
    return 0


def named(run: str | None, game: Game) -> str:
    """The run's name: the given one, or that of the game."""
    return name_for(game.name) if run is None else run


def start(options: argparse.Namespace) -> int:
    game = load(options.game)
    name = named(options.run, game)
    before = stored(folder_of(name))
    config = configuration(game, options, before)
    budget = (
        Budget(games=options.games or 0, minutes=options.minutes or 0.0) if options.games or options.minutes else None
    )
    if budget is None and before is None:
        budget = DEFAULT
    if options.from_games:
        config = with_games(config, options.from_games, game)
    workers = partial(opened_workers, options, config.mixed)
    print(farewell(game, *launch(name, config, budget, workers, options.trust)))
    return 0


def launch(
    name: str,
    config: Config,
    budget: Budget | None,
    workers: Callable[[], AbstractContextManager[Workers]],
    trust: bool = False,
    quiet: bool = False,
    on_iteration: Callable[[Iteration], object] | None = None,
) -> tuple[Run, Progress, ArenaEvaluation]:
    """A run of that name, begun or resumed, until its budget is spent. `workers` opens those that play."""
    game, folder = load(config.game), folder_of(name)
    is_new = not folder.exists()
    if (folder / CONFIGURATION).is_file() and not trust:
        check_trust(folder, config, names_rules=True)
    check(config, game)
    with opened(name, config, budget, (lambda text: None) if quiet else print, trust) as run:
        found = newest(run.states, lambda text: None)
        log_of_run = RunLog(run.folder, found[0].games if found else 0, quiet, game=game.name)
        with log_of_run as log, forgotten_where_refused(run.folder, is_new):
            log.say(f"{run.folder}: {game.name}, {config.net}, {run.budget}")
            try:
                with workers() as pool:
                    evaluate = ArenaEvaluation(config.evaluation, pool)
                    if config.evaluation.every:
                        evaluate.prepare(game, log)
                    log.introduce(about(run, game), compared(run, game))
                    media = MediaMaker(game, config.search, config.evaluation.simulations, config.device)
                    progress = train(run, log, pool, evaluate, media, on_iteration)
            except BrokenPipeError:  # the reader of its output is gone
                raise
            except (WorkerDied, OSError) as error:
                what = (isinstance(error, OSError) and error.strerror) or str(error)
                raise Resumable(f"{run.folder}: {what}; nothing is lost, the same command resumes the run") from error
            except KeyboardInterrupt:
                log.say(f"\n{run.folder}: stopped; the same command resumes it")
                raise
    return run, progress, evaluate


class Resumable(UserError):
    """A run was interrupted; it is resumed by the same command."""


def check(config: Config, game: Game) -> None:
    """Refuse a configuration that can't be run, before anything slow begins: the rules, the network, the players that measure it."""
    config.selfplay.check(game)
    check_method(config.search, game)
    game.initial()  # tries out the rules of a file
    net = make_net(config.net, game, config.seed)
    Learner(game, net, config.learning, config.device, config.seed)
    if game.hides_information and not (config.device == "cpu" and split(net.text)[0] in compiled_kinds()):
        kinds = " or ".join(sorted(compiled_kinds()))
        raise UserError(f"{game.name}: expected --device cpu and a network of kind {kinds}, for it hides information")
    if config.supervised.files:
        recorded(game, config.supervised)
    if config.evaluation.every:
        ArenaEvaluation(config.evaluation, 0).check(game)


@contextmanager
def forgotten_where_refused(folder: Path, is_new: bool) -> Iterator[None]:
    """A new run that is refused before it has made anything leaves no folder."""
    try:
        yield
    except Resumable:
        raise
    except UserError:
        if is_new and not any((folder / name).exists() for name in MADE):
            shutil.rmtree(folder)
        raise


def configuration(game: Game, options: argparse.Namespace, before: Config | None) -> Config:
    """A new run's is composed. A resumed run has its own; settings on the command line have to agree with it."""
    changes = [*options.set, *([f"device={options.device}"] if options.device else [])]
    changes += ["mixed=true"] if options.mixed else []
    if before is not None and before.game != game.spec:
        raise UserError(f"run: expected its own game, {before.game}, got {game.spec}; another --run takes it")
    if before is not None and options.config is None:
        return changed(before, changes)
    found = compose(game, options.config, changes)
    if before is not None:  # recorded games are not given again
        known = replace(found.supervised, files=before.supervised.files, sha256=before.supervised.sha256)
        found = replace(found, supervised=known)
    return found


def farewell(game: Game, run: Run, progress: Progress, arena: ArenaEvaluation) -> str:
    """Where the run's checkpoints stand, where the last one is, and the commands to play against it, to measure it, to watch."""
    settings, checkpoint = run.config.evaluation, run.checkpoint(progress.games)
    spec, net = shlex.quote(game.spec), shlex.quote(arena.player(game, checkpoint))
    table = arena.table(game, remarkable(run, checkpoint)) if settings.every else ""
    rows = [("the checkpoint", str(checkpoint)), ("play against it", f"python -m arena play {spec} human {net}")]
    rows.append(("measure it", f"python -m arena match {spec} {net} {opponent_of(game)} --games 200"))
    if game.hides_information:
        rows.append(("its exploitability", f"python -m arena exploit {spec} {net}"))
    elif game.players == 2 and has_reference_players(game):
        rows.append(("rate it", f"python -m arena rate {spec} {net}"))
        rows.append(
            ("rate the run", f"python -m arena rate {spec} {shlex.quote(run.name)} --sims {settings.simulations}")
        )
    elif game.players == 2:
        others = " ".join(map(shlex.quote, players_of(game, settings).players))
        rows.append(("rate it", f"python -m arena ladder {spec} {others} {net}"))
    if settings.sample:
        rows.append(("its accuracy", f"python -m arena accuracy {spec} {net}"))
    eval_file, fitted = run.eval(progress.games), ""
    if eval_file.is_file():
        fitted = f"the linear EVAL of the same games:\n{beside_hand(game, Eval.load(eval_file, game))}"
        rows += commands(game, eval_file)
    rows.append(("the report", f"python -m train report {shlex.quote(run.name)}"))
    rows.append(("TensorBoard", f"tensorboard --logdir {shlex.quote(str(run.board))}"))
    width = max(len(name) for name, _ in rows) + 3
    tables = [line for each in (table, fitted) if each for line in (each, "")]
    return "\n".join(["", *tables, *(f"{name:{width}}{text}" for name, text in rows)])


def about(run: Run, game: Game) -> dict[str, str]:
    """The configuration and the commands of a run, as Markdown for TensorBoard."""
    spec, name, folder = shlex.quote(game.spec), shlex.quote(run.name), shlex.quote(str(run.folder))
    net = shlex.quote(f"net:{run.name},sims={simulations_of(game, run.config.evaluation)}")
    rules = "" if split(game.spec)[0] in builtin_games() else f" --rules {spec}"
    rows = [
        ("resume the run", f"python -m train {spec} --run {name}"),
        ("play against the newest checkpoint", f"python -m arena play {spec} human {net}"),
        ("measure it", f"python -m arena match {spec} {net} {opponent_of(game)} --games 200"),
        ("its games", f"python -m selfplay inspect {folder}/games{rules}"),
        ("its checkpoints", f"python -m checkpoints list {folder}"),
        ("all of this as one page", f"python -m train report {name}"),
    ]
    if game.rules.features is not None:
        rows.append(("the linear EVAL of its games", f"python -m train {spec} --eval-only --records {name}"))
    return {
        "about/configuration": as_code(f"# {run.folder}/config.toml\n{to_toml(run.config)}"),
        "about/commands": as_code("\n\n".join(f"# {what}\n{command}" for what, command in rows)),
    }


def opponent_of(game: Game) -> str:
    """A strong player of any game."""
    return "ismcts:sims=1000" if game.hides_information else "uct:sims=1000"


MAIN = (
    "game",
    "net",
    "seed",
    "selfplay.simulations",
    "search.method",
    "window.samples",
    "learning.rate",
    "learning.batch",
)
UNLEARNED = ("evaluation.", "device", "keep")
"""Settings, and sections of them, that change nothing of what is learned."""


def compared(run: Run, game: Game) -> dict[str, str | float]:
    """The settings by which TensorBoard compares runs: the main ones, and those of learning that are not the game's defaults."""
    own, usual = flat(asdict(run.config)), flat(asdict(compose(game)))
    others = (key for key, value in own.items() if value != usual.get(key) and not key.startswith(UNLEARNED))
    keys = dict.fromkeys([*MAIN, *others])
    return {key: own[key] if isinstance(own[key], (int, float, str)) else in_toml(own[key]) for key in keys}


def remarkable(run: Run, last: Path) -> dict[Path, str]:
    """The checkpoints that the table shows, and their names there."""
    found: dict[Path, list[str]] = {last: ["last"]}
    with suppress(UserError):  # none has an Elo
        found.setdefault(best(run.folder), []).insert(0, "best")
    sims = run.config.evaluation.simulations
    return {
        path: f"{run.folder.name} after {int(path.name)} games, sims={sims} ({', '.join(words)})"
        for path, words in found.items()
    }
