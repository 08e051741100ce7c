"""The order in which TensorBoard's page of custom scalars answers: is it getting stronger, is it learning, is self-play healthy,
where does the time go. At most three curves to a chart.

    layout(history.names())         # {category: {chart: [kind, tags]}}, of the curves that there are
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

Layout = dict[str, dict[str, list[object]]]
Chart = tuple[str, str, list[str]]
"""Title, kind (a line each, or one line with a band: value, low, high), tags."""
LINES, BAND = "Multiline", "Margin"
EXPLAINED = "fresh/policy explained"


def layout(names: Iterable[str]) -> Layout:
    """Charts without a curve are left out, and categories without a chart."""
    known = set(names)
    found: Layout = {}
    for category, charts in QUESTIONS.items():
        lines: dict[str, list[object]] = {}
        bands: dict[str, list[object]] = {}
        for title, kind, tags in charts(known):
            there = [tag for tag in tags if tag in known]
            if kind == LINES and there:
                lines[title] = [LINES, [f"{re.escape(tag)}$" for tag in there]]  # TensorBoard takes patterns here
            elif kind == BAND and len(there) == 3:
                bands[title] = [BAND, there]
        if lines or bands:
            # TensorBoard draws bands after lines, the last one first
            found[category] = lines | dict(reversed(bands.items()))
    return found


def stronger(known: set[str]) -> Iterator[Chart]:
    yield _band("Elo of the search, 95 %", "elo/search")
    yield _band("Elo without search: the policy alone, 95 %", "elo/policy")
    for tag in _like(known, r"against/.* utility"):
        yield _band(f"{tag.replace('/', ' ', 1)}, 95 %", tag)


def weighed(known: set[str]) -> Iterator[Chart]:
    """Apart, since within a category TensorBoard draws bands last."""
    for two in _groups(_like(known, r"against/.* Elo"), 2):
        rungs = ", ".join(tag.removeprefix("against/").removesuffix(" Elo") for tag in two)
        yield _lines(f"Elo: the search, {rungs}", "elo/search", *two)
    yield _lines("solver: moves that keep the value: search, policy", "accuracy/search", "accuracy/policy")
    for three in _threes(_like(known, r"accuracy/search stage \d+")):
        stages = ", ".join(tag.rpartition(" ")[2] for tag in three)
        yield _lines(f"the same of the search, by fifth of the game: {stages}", *three)
    yield _lines("solver: Brier score of the value: search, policy", "brier/search", "brier/policy")
    for tag in _like(known, r"against/.* wins"):
        rung = tag.removesuffix(" wins")
        yield _lines(f"{rung.replace('/', ' ', 1)}: wins, draws, losses", tag, f"{rung} draws", f"{rung} losses")


def learning(known: set[str]) -> Iterator[Chart]:
    yield _lines("policy: loss, entropy of its targets, difference", "loss/policy", "loss/entropy", "loss/divergence")
    yield _lines("loss: value's, and all together", "loss/value", "loss/total")
    yield _lines(
        "new games: the search's choice is the policy's first; share of it explained", "fresh/top-1", EXPLAINED
    )
    yield _lines("new games: right sign, network and EVAL", "fresh/value sign", "fresh/eval sign")
    for three in _threes(_like(known, r"fresh/value sign stage \d+")):
        stages = ", ".join(tag.rpartition(" ")[2] for tag in three)
        yield _lines(f"new games: the network's right sign, by fifth of the game: {stages}", *three)
    yield _lines("new games: loss of value, network and EVAL", "fresh/value loss", "fresh/eval loss")
    yield _lines("new games: Brier score, network and EVAL", "fresh/value brier", "fresh/eval brier")
    yield _lines("new games: spread of the value, network and EVAL", "fresh/value spread", "fresh/eval spread")
    yield _lines(
        "value and outcome, correlation: network, search", "fresh/value correlation", "selfplay/search correlation"
    )
    yield _lines("new games: policy's loss and its own entropy", "fresh/policy loss", "fresh/policy entropy")
    yield _lines("learning rate", "learning/rate")
    yield _lines("length of the gradient", "learning/gradient")
    yield _lines("weights: how far they moved, as a share", "learning/update")
    yield _lines("weights: their length", "learning/weights")
    yield _lines("recorded games: first choice, before and after", "supervised/top-1 before", "supervised/top-1")


def healthy(known: set[str]) -> Iterator[Chart]:
    yield (
        "plies of a game: mean, shortest, longest",
        BAND,
        [
            "selfplay/length",
            "selfplay/shortest",
            "selfplay/longest",
        ],
    )
    for i, three in enumerate(_threes([*_like(known, r"selfplay/wins of player \d+"), "selfplay/draws"])):
        yield _lines("who wins" if not i else f"who wins ({i + 1})", *three)
    for i, three in enumerate(_threes(_like(known, r"selfplay/utility of player \d+"))):
        yield _lines("mean utility" if not i else f"mean utility ({i + 1})", *three)
    yield _lines(
        "openings: different ones, the commonest start; repeated games",
        "selfplay/openings",
        "selfplay/same start",
        "selfplay/duplicates",
    )
    yield _lines("entropy of the policies to learn", "selfplay/root entropy")
    yield _lines("policies to learn are visits to this power", "selfplay/target exponent")
    yield _lines("search's value against the outcome, mean square", "selfplay/surprise")
    yield _lines("resignations: all, and wrong ones", "selfplay/resigned", "selfplay/wrong resignations")
    yield _lines("age of the data, in games", "window/age", "window/games")
    yield _lines("draws per new position", "window/samples")


def spent(known: set[str]) -> Iterator[Chart]:
    yield _lines(
        "shares of the time: self-play, learning, evaluation", "time/self-play", "time/learning", "time/evaluation"
    )
    yield _lines("games per second", "speed/games per second")
    yield _lines("positions and evaluations per second", "speed/positions per second", "speed/evaluations per second")
    yield _lines("batches filled, evaluations found in the cache", "speed/batch fill", "speed/cache hits")
    yield _lines("time for everything else", "time/other")
    yield _lines("megabytes", "window/megabytes", "memory/megabytes")
    yield _lines("positions to learn from: in the window, made so far", "window/positions", "window/made")


QUESTIONS: dict[str, Callable[[set[str]], Iterator[Chart]]] = {
    "1. Is it getting stronger?": stronger,
    "1. … against whom, and how accurate is it?": weighed,
    "2. Is it learning?": learning,
    "3. Is self-play healthy?": healthy,
    "4. Where does the time go?": spent,
}


def _lines(title: str, *tags: str) -> Chart:
    return title, LINES, list(tags)


def _band(title: str, tag: str) -> Chart:
    return title, BAND, [tag, f"{tag} low", f"{tag} high"]


def _threes(tags: list[str]) -> list[list[str]]:
    return _groups(tags, 3)


def _groups(tags: list[str], size: int) -> list[list[str]]:
    return [tags[i : i + size] for i in range(0, len(tags), size)]


def _like(known: set[str], pattern: str) -> list[str]:
    """In the order of their numbers."""
    found = [tag for tag in known if re.fullmatch(pattern, tag)]
    return sorted(found, key=lambda tag: [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", tag)])
