"""A run as one self-contained HTML page.

    python -m train report first                       # runs/first/report.html
    python -m train report first --out result.html

It answers in this order: is it getting stronger, is it learning, is self-play healthy, where does the time go; then the linear EVAL, a
game, the configuration, and the command that makes the run again. The run may be under way: nothing of it is locked or changed.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path

from arena.ladder.standings import signed
from base.errors import Arguments, UserError
from base.files import write_text
from base.page import document
from monitor.report import details, progress
from monitor.report.charts import STYLE as CHARTS
from monitor.report.parts import Section
from monitor.report.run_data import RunData
from monitor.report.strength import elo_leads, strength
from monitor.warning_log import spells

NAMED = 6  # of the things that could not be read
STYLE = (
    CHARTS
    + """
body { max-width: 62rem; padding: 0 1rem } h1 { margin-bottom: .2rem } h3 { font-size: 1rem; margin: 1.4rem 0 .4rem }
section { border-top: 1px solid var(--line); margin-top: 2.4rem } section h2 { margin: 1.4rem 0 .3rem }
section > p:first-of-type { font-size: 1.08rem; margin: .2rem 0 1rem; max-width: 48rem } small, .about { color: var(--soft) }
nav a { margin-right: 1rem; white-space: nowrap } a { color: var(--point) }
.keys { display: flex; flex-wrap: wrap; gap: .6rem 2.2rem; margin: 1.2rem 0 } .keys b { display: block; font-size: 1.35rem }
.charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 20rem), 1fr)); gap: 1.6rem 2rem; margin: 1rem 0 }
.small { grid-column: 1 / -1; display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 17rem), 1fr)); gap: 1rem 1.4rem }
.small figure { max-width: 20rem }
figure { margin: 0; min-width: 0; break-inside: avoid } figcaption { font-weight: 600; margin-bottom: .3rem }
figure small { display: block; margin-top: .2rem } figure.wide { grid-column: 1 / -1 }
.only-narrow { display: none }
@media (max-width: 640px) { .only-wide { display: none } .only-narrow { display: block } }
.gone { border-left: 4px solid var(--line); padding: .1rem .9rem; margin: .9rem 0 }
.warning { border-left: 4px solid var(--c1); padding: .1rem .9rem; margin: .9rem 0; break-inside: avoid }
dl { margin: .3rem 0; display: grid; grid-template-columns: max-content 1fr; gap: .15rem .9rem }
dt { color: var(--soft) } dd { margin: 0; min-width: 0 }
@media (max-width: 640px) { dl { display: block } dd { margin-bottom: .4rem } }
table .left { text-align: left } pre { font: .74rem/1.3 ui-monospace, monospace; margin: 0; overflow-x: auto }
pre.wrap { white-space: pre-wrap; overflow-wrap: anywhere; font-size: .85rem }
.positions { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 19rem), 1fr)); gap: 1rem; margin: .8rem 0 }
.positions figure { border: 1px solid var(--line); border-radius: 4px; padding: .6rem; break-inside: avoid }
.positions pre { white-space: pre-wrap; margin-top: .5rem }
.moves { overflow-wrap: anywhere; font: .85rem/1.5 ui-monospace, monospace }
summary { cursor: pointer; color: var(--point); margin-top: .8rem }
@media print {
  body { margin: 0; max-width: none; font-size: 12px } nav { display: none } section { margin-top: 1.2rem }
  .charts, .small { grid-template-columns: 1fr 1fr } .only-wide { display: block } .only-narrow { display: none }
}
@page { margin: 15mm }
"""
)


SECTIONS = (
    strength,
    progress.learning,
    progress.health,
    progress.speed,
    details.linear,
    details.game,
    details.configuration,
    details.again,
)


def main(argv: Sequence[str], find: Callable[[str, str | None, bool], RunData]) -> int:
    """`find` reads a run by its name; its rules may be given, or trusted."""
    options = parser().parse_args(argv)
    if options.others:
        raise UserError(
            f"expected one run, got {1 + len(options.others)}; python -m train compare draws several together"
        )
    data = find(options.run, options.rules, options.trust)
    path = Path(options.out) if options.out else data.folder / "report.html"
    sections = [section(data) for section in SECTIONS]
    write_text(path, page(data, sections))
    for each in sections[:4]:
        print(each.conclusion)
    print(path)
    return 0


def parser() -> Arguments:
    found = Arguments(prog="python -m train report", description=__doc__)
    found.add_argument("run", metavar="RUN", help="a run of runs/ by its name, or its folder")
    found.add_argument("others", nargs="*", help=argparse.SUPPRESS)
    found.add_argument("--out", metavar="FILE", help="the page; without it, RUN/report.html")
    found.add_argument(
        "--rules", metavar="FILE", help="the game's rules, for someone else's run with a file of its own"
    )
    found.add_argument("--trust", action="store_true", help="execute the file of rules that someone else's run names")
    return found


def page(data: RunData, sections: Sequence[Section]) -> str:
    """The whole file."""
    title = f"{data.name}: {data.game_spec}"
    links = "".join(f'<a href="#{each.anchor}">{escape(each.title)}</a>' for each in sections)
    body = [f"<header><h1>{escape(title)}</h1>", f'<p class="about">{escape(_about(data))}</p>', _keys(data)]
    body.append(f"<nav>{links}</nav></header>")
    for each in sections:
        body.append(f'<section id="{each.anchor}"><h2>{escape(each.title)}</h2>')
        body.append(f"<p>{escape(each.conclusion)}</p>{each.body}</section>")
    notes = [f"Left out, since it could not be read: {each}" for each in data.unreadable[:NAMED]]
    if len(data.unreadable) > NAMED:
        notes.append(f"… and {len(data.unreadable) - NAMED} things more")
    body += [f'<p class="about">{escape(each)}</p>' for each in notes]
    return document(title, body, STYLE)


def _about(data: RunData) -> str:
    parts = [f"A training run of {data.game_spec} with {data.net}"]
    if data.card is not None:
        parts.append(f"{data.card.parameters:,} parameters")
    parts.append(f"seed {data.settings['seed']}")
    return ", ".join(parts) + "."


def _keys(data: RunData) -> str:
    """The most important figures."""
    keys = [(f"{data.games:,}", "games of self-play")]
    if data.seconds:
        keys.append((f"{data.seconds / 60:,.1f} min", "in all"))
    elo, low, high = (data.last(f"elo/search{end}") for end in ("", " low", " high"))
    strong = []
    if elo is not None:
        interval = "" if low is None or high is None else f" [{low:+.0f}, {high:+.0f}]"
        strong.append((f"{signed(elo)}{interval}", "Elo, random = 0"))
    kept = []
    for way, words in (("policy", "of moves keep the value, policy alone"), ("search", "with search")):
        if (share := data.last(f"accuracy/{way}")) is not None:
            kept.append((f"{share:.0%}", words))
    keys += strong + kept if elo_leads(data) else kept + strong
    standing = sum(not times[-1].gone for times in spells(data.warnings).values())
    keys.append((str(standing), "warning stands" if standing == 1 else "warnings stand"))
    return (
        f'<div class="keys">{"".join(f"<div><b>{escape(value)}</b>{escape(name)}</div>" for value, name in keys)}</div>'
    )
