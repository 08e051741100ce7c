"""What knows no game.

bits          bit operations on 64-bit words
compiler      plain Python functions at machine speed, with a cache that is never stale
errors        one-line errors for people, the parser and the entry point of every command
explaining    numba's errors in two lines
files         durable writes, locks, leftovers, the cache folder
lines         lines of standard input as they arrive, of bounded length
local_workers workers on this machine: processes, threads
log           the framed, append-only, checksummed log
options       NAME:key=value, the grammar in which games and players are named
seeds         seeds with a purpose, and the random generator of kernels
subprocesses  other people's programs, talked to in lines and never waited for longer than a deadline
threads       long calls that Ctrl-C, a clock or a limit can end
workers       work done elsewhere: the protocol of tasks, jobs and results
"""

import os
import sys

TYPE_CHECKING = False  # that of `typing` takes longer to import than all else here
if TYPE_CHECKING:
    from types import TracebackType


def _leave_quietly_while_starting() -> None:
    """Ctrl-C while `python -m games` still imports ends it without a traceback; from then on `base.errors.run_command` sees to it.

    So a folder with commands imports `base` first of all.
    """
    package = sys.orig_argv[sys.orig_argv.index("-m") + 1].partition(".")[0]
    if not os.path.isdir(os.path.join(os.path.dirname(os.path.dirname(__file__)), package)):
        return  # somebody else's command
    others = sys.excepthook

    def shown(kind: type[BaseException], error: BaseException, trace: "TracebackType | None") -> None:
        if not issubclass(kind, KeyboardInterrupt):
            others(kind, error, trace)

    sys.excepthook = shown


if sys.argv[:1] == ["-m"] and "-m" in sys.orig_argv[:-1]:  # so it is until the command's own module runs
    _leave_quietly_while_starting()
