"""What can be wrong with a run: what is seen, the likely causes, what to try.

    for trouble in warnings(log.history, config, game): print(trouble.text())

**To add one**: a sign, a function in `train/signs.py`; an entry in `RULES` here; a paragraph in `docs/watch.md`; and a run that has it
in `tests/test_watch.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from games import Game
from train import signs
from train.config import Config
from train.journal import History
from train.signs import Curves


@dataclass(frozen=True)
class Trouble:
    name: str
    seen: str
    """In numbers, over how many iterations."""
    causes: tuple[str, ...]
    """The likeliest first."""
    advice: tuple[str, ...]
    """What to try, with the keys of the configuration."""

    def text(self) -> str:
        """For the screen."""
        likely, advice = "; ".join(self.causes), "; ".join(self.advice)
        return f"WATCH  {self.name}: {self.seen}\n       likely: {likely}\n       try, in another --run: {advice}"

    def markdown(self) -> str:
        rows = [
            f"**{self.name}**: {self.seen}",
            f"*likely*: {'; '.join(self.causes)}",
            f"*try*: {'; '.join(self.advice)}",
        ]
        return "\n\n".join(rows)


@dataclass(frozen=True)
class Rule:
    name: str
    see: Callable[[Curves], str | None]
    causes: tuple[str, ...]
    advice: tuple[str, ...]
    instead: tuple[str, ...] = ()
    """Not told where one of these is, which says more."""


RULES: tuple[Rule, ...] = (
    Rule(
        "value inverted",
        signs.value_inverted,
        (
            "a value seen from the wrong player's side: in the rules' utility, in observe, or where a value is learned or used",
        ),
        (
            "look at one game: `python -m selfplay inspect`",
            "the laws of the game: `python -m games doctor GAME`",
            "a game of your own: utility(state, player) is that player's, whoever is to move",
        ),
        ("games all alike",),
    ),
    Rule(
        "value collapse",
        signs.value_collapse,
        (
            "the learning rate is too high",
            "the value's loss weighs too little",
            "observations do not show what decides the game",
        ),
        (
            "--set learning.rate=5e-4",
            "--set learning.value_weight=2",
            "a larger --set net=",
            "for a game of your own: what observe shows of the position",
        ),
        ("value inverted", "learning diverges"),
    ),
    Rule(
        "policy collapse",
        signs.policy_collapse,
        (
            "too little noise, so that other moves are never tried",
            "the learning rate is too high",
            "too few simulations",
        ),
        (
            "--set search.noise=0.25",
            "--set search.policy_temperature=1.2",
            "--set selfplay.simulations=128",
            "--set learning.rate=5e-4",
        ),
        ("learning diverges", "games all alike"),
    ),
    Rule(
        "policy not learning",
        signs.policy_stuck,
        (
            "the learning rate is far too low or too high",
            "searches are too short to find anything",
            "the network is too small",
        ),
        (
            "--set learning.rate=2e-3",
            "--set selfplay.simulations=128",
            "a larger --set net=",
        ),
        ("learning diverges", "learning rate too high"),
    ),
    Rule(
        "target not the search's",
        signs.target_tempered,
        (
            "the temperature by which moves are chosen is in the policies to learn",
            "something changes them behind the search",
        ),
        (
            "the policy to learn is the search's own distribution: temperature belongs to choosing alone",
            "more variety is had by --set search.temperature=1 and --set selfplay.openings=0.8",
        ),
    ),
    Rule(
        "learning rate too high",
        signs.steps_too_large,
        ("learning.rate is far above what the optimizer needs",),
        ("--set learning.rate=2e-3 or a tenth of what it is", "--set learning.warmup=500"),
    ),
    Rule(
        "learning diverges",
        signs.diverges,
        ("the learning rate is too high", "batches are too small for it"),
        ("--set learning.rate=2e-3 or a tenth of what it is", "--set learning.batch=512", "--set learning.warmup=500"),
        ("window stands still",),
    ),
    Rule(
        "loss rises",
        signs.loss_rises,
        ("the learning rate is too high", "play has changed faster than the window forgets"),
        ("--set learning.rate=5e-4", "--set learning.clip=0.5", "a smaller --set window.constant=10000"),
        ("learning diverges", "learning rate too high"),
    ),
    Rule(
        "gradients always clipped",
        signs.clipped,
        ("the learning rate is too high", "the loss has spikes"),
        ("--set learning.rate=5e-4", "--set learning.clip=5", "--set learning.batch=512"),
        ("learning diverges", "learning rate too high"),
    ),
    Rule(
        "games all alike",
        signs.alike,
        (
            "nothing random: no noise, no temperature, no openings",
            "the policy has collapsed",
            "the game leaves little choice",
        ),
        (
            "--set search.noise=0.25",
            "--set search.temperature=0.8",
            "--set selfplay.openings=0.6",
            "--set selfplay.opening_plies=6",
        ),
    ),
    Rule(
        "one opening only",
        signs.one_opening,
        (
            "games begin from a fixed line or position",
            "too few random first moves",
            "a policy that is certain",
        ),
        (
            "--set selfplay.openings=0.6",
            "--set selfplay.opening_plies=6",
            "--set selfplay.opening_temperature=2",
            "--set search.temperature=0.8",
        ),
        ("games all alike",),
    ),
    Rule(
        "one player always wins",
        signs.one_winner,
        (
            "theory, by which that player wins",
            "a utility that names the wrong player",
            "all games begin alike",
        ),
        (
            "a game of your own: `python -m games doctor GAME`",
            "--set selfplay.openings=0.8 and --set selfplay.opening_plies=8, so that other positions are learned too",
        ),
        ("games all alike", "one opening only"),
    ),
    Rule(
        "resigned too early",
        signs.resigned_early,
        ("selfplay.resign is too low for what the value knows",),
        (
            "--set selfplay.resign=0.95",
            "--set selfplay.resign=1, nobody resigns",
            "--set selfplay.played_out=0.2, to know it better",
        ),
    ),
    Rule(
        "resignations unchecked",
        signs.resigned_unchecked,
        ("no games are played out, so nobody can know how often resigning is wrong",),
        ("--set selfplay.played_out=0.1",),
    ),
    Rule(
        "window stands still",
        signs.window_stands,
        ("new games do not reach the window", "files of games are missing that a resumed run needs"),
        (
            "what is in the run's games folder, and what was said of it as the run began",
            "another --run, from the beginning",
        ),
    ),
    Rule(
        "learned by heart",
        signs.by_heart,
        (
            "each position is drawn too often",
            "the window is too small or does not move",
            "the network is too large for so few games",
        ),
        ("--set window.samples=4", "--set window.constant=50000", "--set learning.weight_decay=0.03"),
        ("window stands still", "learning diverges"),
    ),
    Rule(
        "nothing is learned from",
        signs.no_steps,
        ("games give no positions to learn from", "iterations are smaller than a batch"),
        ("--set selfplay.full=0.25", "--set games=256", "--set window.samples=4"),
        ("window stands still",),
    ),
    Rule(
        "drawn too often",
        signs.too_often,
        ("window.samples is high: learning is ahead of playing",),
        ("--set window.samples=8", "the same time spent on games: --set selfplay.simulations=64"),
    ),
    Rule(
        "Elo not rising",
        signs.elo_stuck,
        (
            "the rate is too high for more",
            "searches add too little to the policy",
            "the network is too small",
            "weak rungs",
        ),
        (
            "a budget (--games, --minutes), at whose end the rate falls; --set learning.rate=5e-4",
            "--set selfplay.simulations=128",
            "a larger --set net=",
            "--set evaluation.games=200",
        ),
    ),
    Rule(
        "self-play has become slow",
        signs.slower,
        ("other programs use the processor", "memory is full and the machine swaps", "the processor throttles"),
        (
            "look at the machine (`top`, `free`)",
            "--workers K, with as many as there are cores",
            "--set selfplay.cache_mb=16",
        ),
    ),
)
"""In the order in which they are told."""


def warnings(history: History, config: Config, game: Game, games: int | None = None) -> list[Trouble]:
    """What is wrong with a run, as far as its curves tell; with `games`, what was wrong after so many."""
    run = Curves(history, config, game, games)
    seen: Mapping[str, tuple[Rule, str]] = {
        rule.name: (rule, words) for rule in RULES if (words := rule.see(run)) is not None
    }
    return [
        Trouble(name, words, rule.causes, rule.advice)
        for name, (rule, words) in seen.items()
        if not any(other in seen for other in rule.instead)
    ]
