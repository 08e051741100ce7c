"""What can be wrong with a run: what was found, the likely causes, what to try.

    for finding in diagnose(RunMetrics(history, settings, players)): print(finding.text())

**To add one**: a check, a function in `monitor/checks.py`; an entry in `DIAGNOSTICS` here; a paragraph in `docs/diagnostics.md`; and a
run that has the problem in `tests/test_diagnostics.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from mcts.settings import MethodSettings
from monitor import checks
from monitor.checks import RunMetrics


@dataclass(frozen=True)
class Finding:
    name: str
    seen: str
    """What the check found, in numbers, over how many iterations."""
    causes: tuple[str, ...]
    """The likeliest first."""
    advice: tuple[str, ...]
    """What to try, with the keys of the configuration."""

    def text(self) -> str:
        """For the screen."""
        likely, advice = "; ".join(self.causes), "; ".join(self.advice)
        return f"WARNING  {self.name}: {self.seen}\n         likely: {likely}\n         try, in another --run: {advice}"

    def markdown(self) -> str:
        rows = [
            f"**{self.name}**: {self.seen}",
            f"*likely*: {'; '.join(self.causes)}",
            f"*try*: {'; '.join(self.advice)}",
        ]
        return "\n\n".join(rows)


@dataclass(frozen=True)
class Diagnostic:
    name: str
    check: Callable[[RunMetrics], str | None]
    causes: tuple[str, ...]
    advice: tuple[str, ...]
    instead: tuple[str, ...] = ()
    """Left out where one of these is found, which is more specific."""


DIAGNOSTICS: tuple[Diagnostic, ...] = (
    Diagnostic(
        "value inverted",
        checks.value_inverted,
        (
            "a value from the wrong player's point of view: in the rules' utility, in observe, or where a value is learned or used",
        ),
        (
            "look at one game: `python -m selfplay inspect`",
            "the laws of the game: `python -m games doctor GAME`",
            "a game of your own: utility(state, player) is that player's, not the mover's",
        ),
        ("games all alike",),
    ),
    Diagnostic(
        "value collapse",
        checks.value_collapse,
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
    Diagnostic(
        "policy collapse",
        checks.policy_collapse,
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
    Diagnostic(
        "policy not learning",
        checks.policy_not_learning,
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
    Diagnostic(
        "target not the search's",
        checks.target_tempered,
        (
            "the temperature for choosing moves got into the policy targets",
            "something changes them after the search",
        ),
        (
            "the policy target is the search's own distribution: a temperature is for choosing moves only",
            "for more variety: --set search.temperature=1 and --set selfplay.openings=0.8",
        ),
    ),
    Diagnostic(
        "learning rate too high",
        checks.steps_too_large,
        ("learning.rate is far above what the optimizer needs",),
        ("--set learning.rate=2e-3 or a tenth of what it is", "--set learning.warmup=500"),
    ),
    Diagnostic(
        "learning diverges",
        checks.learning_diverges,
        ("the learning rate is too high", "batches are too small for it"),
        ("--set learning.rate=2e-3 or a tenth of what it is", "--set learning.batch=512", "--set learning.warmup=500"),
        ("window stale",),
    ),
    Diagnostic(
        "loss rises",
        checks.loss_rises,
        ("the learning rate is too high", "play has changed faster than the window forgets"),
        ("--set learning.rate=5e-4", "--set learning.clip=0.5", "a smaller --set window.constant=10000"),
        ("learning diverges", "learning rate too high"),
    ),
    Diagnostic(
        "gradients always clipped",
        checks.gradients_clipped,
        ("the learning rate is too high", "the loss has spikes"),
        ("--set learning.rate=5e-4", "--set learning.clip=5", "--set learning.batch=512"),
        ("learning diverges", "learning rate too high"),
    ),
    Diagnostic(
        "games all alike",
        checks.games_alike,
        (
            "nothing random: no noise, no temperature, no openings",
            "the policy has collapsed",
            "the game leaves little choice",
        ),
        (
            "--set search.noise=0.25",
            "--set search.temperature=0.8",
            "--set selfplay.openings=0.9",
            "--set selfplay.opening_plies=12",
        ),
    ),
    Diagnostic(
        "one opening only",
        checks.one_opening,
        (
            "games begin from a fixed line or position",
            "too few random first moves",
            "a policy that is certain",
        ),
        (
            "--set selfplay.openings=0.9",
            "--set selfplay.opening_plies=12",
            "--set selfplay.opening_temperature=2",
            "--set search.temperature=0.8",
        ),
        ("games all alike",),
    ),
    Diagnostic(
        "one player always wins",
        checks.one_winner,
        (
            "theory: that player wins with best play",
            "a utility of the wrong player",
            "all games begin alike",
        ),
        (
            "a game of your own: `python -m games doctor GAME`",
            "--set selfplay.openings=0.8 and --set selfplay.opening_plies=8, so that other positions are learned too",
        ),
        ("games all alike", "one opening only"),
    ),
    Diagnostic(
        "resigned too early",
        checks.resigned_early,
        ("selfplay.resign is too low for a value this inaccurate",),
        (
            "--set selfplay.resign=0.95",
            "--set selfplay.resign=1, no resignations",
            "--set selfplay.played_out=0.2, for a better estimate",
        ),
    ),
    Diagnostic(
        "resignations unchecked",
        checks.resigned_unchecked,
        ("no games are played out, so it is unknown how often resigning is wrong",),
        ("--set selfplay.played_out=0.1",),
    ),
    Diagnostic(
        "window stale",
        checks.window_stale,
        ("new games do not reach the window", "files of games are missing that a resumed run needs"),
        (
            "look into the run's games folder, and at the messages when the run resumed",
            "another --run, from the beginning",
        ),
    ),
    Diagnostic(
        "overfitting",
        checks.overfitting,
        (
            "each position is drawn too often",
            "the window is too small or does not move",
            "the network is too large for so few games",
        ),
        ("--set window.samples=2", "--set window.constant=300000", "--set learning.weight_decay=0.03"),
        ("window stale", "learning diverges"),
    ),
    Diagnostic(
        "no learning steps",
        checks.no_steps,
        ("games give no positions to learn from", "iterations are smaller than a batch"),
        ("--set games=1024", "--set selfplay.full=1", "--set window.samples=4"),
        ("window stale",),
    ),
    Diagnostic(
        "drawn too often",
        checks.drawn_too_often,
        ("window.samples is high: learning is ahead of playing",),
        ("--set window.samples=8", "the same time spent on games: --set selfplay.simulations=64"),
    ),
    Diagnostic(
        "Elo not rising",
        checks.elo_not_rising,
        (
            "the learning rate is too high",
            "searches add too little to the policy",
            "the network is too small",
            "reference players too weak to show progress",
        ),
        (
            "a budget (--games, --minutes), at whose end the rate falls; --set learning.rate=5e-4",
            "--set selfplay.simulations=128",
            "a larger --set net=",
            "--set evaluation.games=200",
        ),
    ),
    Diagnostic(
        "self-play has become slow",
        checks.selfplay_slow,
        ("other programs use the processor", "memory is full and the machine swaps", "the processor throttles"),
        (
            "look at the machine (`top`, `free`)",
            "--workers K, with as many as there are cores",
            "--set selfplay.cache_mb=16",
        ),
    ),
)
"""In the order in which they are shown."""


def diagnose(run: RunMetrics) -> list[Finding]:
    """What is wrong with a run, as far as its metrics show."""
    found: Mapping[str, tuple[Diagnostic, str]] = {
        each.name: (each, words) for each in DIAGNOSTICS if (words := each.check(run)) is not None
    }
    return [
        Finding(name, words, each.causes, tuple(text for text in each.advice if _fits(text, run.settings.search)))
        for name, (each, words) in found.items()
        if not any(other in found for other in each.instead)
    ]


def _fits(advice: str, search: MethodSettings) -> bool:
    """Whether the run's method of search has the setting that is to be changed."""
    key = re.match(r"--set search\.(\w+)=", advice)
    return key is None or hasattr(search, key[1])
