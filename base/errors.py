"""One-line errors, and the way every command starts.

A `UserError` is the caller's mistake: expected, got, where. Everything else is a bug and keeps its traceback. A command begins and ends
like this:

    def main(argv: Sequence[str]) -> int:
        parser = Arguments(description=__doc__)
        added = parser.command("count", run_count, "count things")  # run_count(options) -> exit code
        added.add_argument(...)
        return parser.run(argv)

    if __name__ == "__main__":
        run_command(main)
"""

from __future__ import annotations

import argparse
import difflib
import io
import os
import re
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NoReturn

from base.version import VERSION

MISUSE = 2  # the exit code of a user's mistake, as in argparse
INTERRUPTED = 130  # 128 + SIGINT, as in shells
TERMINATED = 143  # 128 + SIGTERM
STDOUT_CLOSED = 141  # 128 + SIGPIPE: the exit code of `yes` in `yes | head`
ECHOED = 100  # characters of the input that a message repeats; a FEN has fewer
LONGEST = 4000  # characters of a message


class UserError(ValueError):
    """The caller's mistake, in one line: expected, got, where."""


class ProcessLost(RuntimeError):
    """A process of the program was lost: killed from outside, out of memory, crashed. The traceback of the others says nothing."""


def short(text: object) -> str:
    """The input as a message repeats it: cut where it is long."""
    shown = str(text)
    return shown if len(shown) <= ECHOED else shown[: ECHOED - 1] + "…"


def echoing(message: str, text: str) -> str:
    """`message` with every repetition of `text`, or of a word of it, cut short; in linear time."""
    if len(text) > ECHOED:
        message = short(text).join(message.split(text))
    message = _LONG_WORD.sub(lambda word: short(word[0]), message)
    return message if len(message) <= LONGEST else message[:LONGEST] + "…"


_LONG_WORD = re.compile(rf"[^\s'\"]{{{ECHOED + 1},}}")


def nearest(given: str, allowed: Iterable[str]) -> str:
    """The end of a message, `; did you mean 'othello'?`; empty where no allowed word is near."""
    return nearest_of(given, {word: word for word in allowed})


def nearest_of(given: str, meant: Mapping[str, str]) -> str:
    """The same where one word was given and another is meant: `meant[word]` is what the message shows for the nearest word."""
    by_lower = {word.lower(): word for word in meant}
    found = difflib.get_close_matches(given.lower(), by_lower, n=1, cutoff=0.7) if len(given) <= ECHOED else []
    return f"; did you mean {meant[by_lower[found[0]]]!r}?" if found else ""


def require(settings: object, expected: str, is_kept: Callable[[Any], bool], *names: str) -> None:
    """A bound on fields of a settings dataclass, for its `__post_init__`; the error names the first field outside it.

    >>> require(self, "at least 1", lambda n: n >= 1, "simulations", "slots")      # slots: expected at least 1, got 0
    """
    for name in names:
        value = getattr(settings, name)
        if not is_kept(value):
            raise UserError(f"{name}: expected {expected}, got {value}")


_commands: list[str] = []


def within_program(command: str) -> None:
    """What runs now is a command of the program, with arguments of its own: its name is that of both."""
    _commands[:] = [command]


def program() -> str:
    """The command as it was typed: `python -m games`, or the script's name."""
    spec = getattr(sys.modules["__main__"], "__spec__", None)
    name = os.path.basename(sys.argv[0]) if spec is None else f"python -m {spec.name.removesuffix('.__main__')}"
    return " ".join([name, *_commands])


class _Help(argparse.ArgumentDefaultsHelpFormatter, argparse.RawDescriptionHelpFormatter):
    """Defaults behind every option that has one; descriptions as they were written."""

    def _get_help_string(self, action: argparse.Action) -> str | None:
        silent = action.default is None or action.default is False
        return action.help if silent else super()._get_help_string(action)


class Arguments(argparse.ArgumentParser):
    """A parser whose errors are one line, `PROG: error: ...`, with exit code 2; its subparsers are of the same kind.

    Options are never abbreviated: a run's command line must mean the same after an option is added. Whatever is not
    known is an error of the (sub)parser that met it, so `parse_known_args` never returns leftovers.
    """

    def __init__(self, *, prog: str | None = None, **options: Any) -> None:
        options.setdefault("formatter_class", _Help)
        super().__init__(prog=prog or program(), allow_abbrev=False, **options)
        if prog is None:
            self.add_argument("--version", action="version", version=f"zermelo {VERSION}")
        self._commands: Any = None

    def command(self, name: str, run: Callable[[argparse.Namespace], int], text: str) -> Arguments:
        """A subcommand, run by `run` and described by `text`; add its arguments to the result."""
        if self._commands is None:
            self._commands = self.add_subparsers(required=True, metavar="COMMAND")
        added: Arguments = self._commands.add_parser(name, help=text, description=text)
        added.set_defaults(run=run)
        return added

    def run(self, argv: Sequence[str]) -> int:
        """Run the subcommand in `argv`; its exit code."""
        options = self.parse_args(argv)
        code: int = options.run(options)
        return code

    def error(self, message: str) -> NoReturn:
        self.exit(MISUSE, f"{self.prog}: error: {message}\n")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        known, unknown = super().parse_known_args(args, namespace)
        if unknown:
            options = [option for action in self._actions for option in action.option_strings]
            self.error(f"unknown argument {short(unknown[0])!r}{nearest(unknown[0].partition('=')[0], options)}")
        return known, unknown

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            near = nearest(str(value), map(str, action.choices or ()))
            raise argparse.ArgumentError(action, error.message + near) from None


def run_command(main: Callable[[Sequence[str]], int], argv: Sequence[str] | None = None) -> NoReturn:
    """Run `main` as a program and exit with the code it returns, or, where it raises:

    | raised                                       | shown on stderr      | exit code |
    |----------------------------------------------|----------------------|-----------|
    | UserError, OSError (no file, disk full, ...) | PROG: error: MESSAGE | 2         |
    | ProcessLost                                  | PROG: error: MESSAGE | 2         |
    | KeyboardInterrupt                            | nothing              | 130       |
    | BrokenPipeError (`| head` has ended)         | nothing              | 141       |
    | SystemExit                                   | nothing              | its own   |
    | SIGTERM, as KeyboardInterrupt                | one line             | 143       |
    | anything else is a bug                       | its traceback        | 1         |

    Warnings are one line as well. A closed standard output (`>&-`) is an error. Where a signal came and something else was raised, the
    signal is the cause: an import that was interrupted fails in any manner.
    """
    code: Any
    received: set[int] = set()
    before: dict[int, Any] = {}
    warnings.formatwarning = lambda message, *_where: f"{program()}: warning: {message}\n"
    if sys.stdout is None:
        sys.exit(_complain("standard output: expected an open file, but it is closed"))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal without × still gets the rest of the line
            stream.reconfigure(errors="replace")
    try:
        before |= _handle_signals(received)
        try:
            code = main(sys.argv[1:] if argv is None else argv)
        except SystemExit as leaving:  # from argparse; the text of --help may still be unwritten
            code = leaving.code
        print(end="", flush=True)
    except (UserError, ProcessLost) as error:
        code = _complain(str(error)) if not received else INTERRUPTED
    except KeyboardInterrupt:
        code = INTERRUPTED
    except BrokenPipeError:
        code = STDOUT_CLOSED
    except OSError as error:
        words = f"{error.strerror}: {short(error.filename)}" if error.filename else error.strerror or str(error)
        code = _complain(words) if not received else INTERRUPTED
    except Exception:
        if not received:
            raise
        code = INTERRUPTED
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if signal.SIGTERM in received and code == INTERRUPTED:
        _complain("ended by SIGTERM")
        code = TERMINATED
    _discard_unread_output()
    sys.exit(code)


def _handle_signals(received: set[int]) -> dict[int, Any]:
    """From now on SIGINT and SIGTERM raise KeyboardInterrupt and are noted in `received`; a second SIGTERM ends the process at once.
    Returns the handlers to go back to."""

    def interrupt(number: int, _frame: object) -> NoReturn:
        received.add(number)
        if number == signal.SIGTERM:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        return {}
    # SIGINT is at its default while the program is starting (base/__init__.py); whoever ignores a signal still does.
    usual = (signal.SIG_DFL, signal.default_int_handler)
    before: dict[int, Any] = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    before = {number: handler for number, handler in before.items() if handler in usual}
    for number in before:
        signal.signal(number, interrupt)
    return before


def _complain(message: str) -> int:
    lines = ["".join(map(_visible, line)) for line in message.splitlines()]
    text = "\n".join(lines) if len(lines) <= 2 else " ".join(line.strip() for line in lines)
    text = text if len(text) <= LONGEST else text[:LONGEST] + "…"
    with suppress(OSError):
        print(f"{program()}: error: {text}", file=sys.stderr)
    return MISUSE


def _visible(character: str) -> str:
    """Input is repeated in messages, and a terminal would obey its control characters."""
    return character if character.isprintable() else character.encode("unicode_escape").decode()


def _discard_unread_output() -> None:
    """Otherwise the interpreter flushes once more at its end, and prints 'Exception ignored in ...'."""
    for stream in (sys.stdout, sys.stderr):
        try:
            print(end="", file=stream, flush=True)
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
