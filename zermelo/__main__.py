"""One command for all entry points: `zermelo train connect_four` is `python -m train connect_four`.

zermelo train connect_four --minutes 10
zermelo arena match connect_four net:connect_four,sims=100 uct:sims=1000
zermelo games list
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence

from base.errors import UserError, nearest, run_command, within_program
from base.version import VERSION

COMMANDS = {
    "games": "the rules: list, show, perft, doctor",
    "train": "training runs, their reports and comparisons",
    "arena": "players, matches, ladders, accuracy, play at the terminal",
    "selfplay": "games of a search against itself",
    "checkpoints": "saved and released networks",
}


def main(argv: Sequence[str]) -> int:
    if not argv or argv[0] in ("-h", "--help"):
        print(f"usage: zermelo COMMAND …\n\n{__doc__.strip()}\n")
        print("\n".join(f"  {name:12} {what}" for name, what in COMMANDS.items()))
        print("\n`zermelo COMMAND --help` explains each; `import zermelo` is the same from Python.")
        return 0 if argv else 2
    if argv[0] == "--version":
        print(f"zermelo {VERSION}")
        return 0
    if argv[0] not in COMMANDS:
        raise UserError(f"expected one of {', '.join(COMMANDS)}, got '{argv[0]}'{nearest(argv[0], COMMANDS)}")
    within_program(argv[0])
    found: int = importlib.import_module(f"{argv[0]}.__main__").main(argv[1:])
    return found


def script() -> None:
    """The console script `zermelo`."""
    run_command(main)


if __name__ == "__main__":
    run_command(main)
