"""An HTML page that needs nothing else: what all pages of the project share. Light and dark, on paper and on a telephone.

    write_text(path, document("Ladder: othello", parts, STYLE_OF_ITS_OWN))

Colours are variables of the style sheet, so that drawings (inline SVG) follow the reader's choice of light or dark.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

STYLE = """
:root { color-scheme: light dark; --ink: #22272e; --soft: #667; --line: #d8dee4; --paper: #fff; --point: #1f5fa8; --tint: 38% }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e3e7ec; --soft: #99a3ae; --line: #3a424c; --paper: #16191d; --point: #6db0f5; --tint: 55% }
}
body { margin: 2rem auto; padding: 0 1.5rem; max-width: max-content; color: var(--ink); background: var(--paper);
       font: 15px/1.45 system-ui, sans-serif }
h1 { font-size: 1.4rem } h2 { font-size: 1.1rem; margin-top: 2.2rem }
table { border-collapse: collapse; font-variant-numeric: tabular-nums }
th, td { padding: .22rem .6rem; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap }
th { font-weight: 600 } thead th { color: var(--soft); vertical-align: bottom }
th.name, td.name { text-align: left; font-family: ui-monospace, monospace; font-size: .87em; font-weight: 400 }
.scroll { overflow-x: auto }
"""


def document(title: str, body: Iterable[str], style: str = "") -> str:
    """The whole file. The title is text; what is in the body is HTML already."""
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(title)}</title><style>{STYLE}{style}</style></head><body>",
        *body,
        "</body></html>",
    ]
    return "\n".join(parts) + "\n"
