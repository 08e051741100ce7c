"""What holds for any game.

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
sent_files    files that jobs name, for workers that do not have them
subprocesses  other people's programs, talked to in lines and never waited for longer than a deadline
threads       long calls that Ctrl-C, a clock or a limit can end
workers       work done elsewhere: the protocol of tasks, jobs and results
"""

import os
import signal
import sys

# Python imports the package before it runs `python -m games`. A command has nothing to clean up until `base.errors.run_command` takes
# over, so until then Ctrl-C ends it at once, without a traceback. Hence `import base` comes first in each package with commands.
if (
    sys.argv[:1] == ["-m"]
    and "-m" in sys.orig_argv[:-1]
    and signal.getsignal(signal.SIGINT) is signal.default_int_handler
):
    _package = sys.orig_argv[sys.orig_argv.index("-m") + 1].partition(".")[0]
    if os.path.isdir(
        os.path.join(os.path.dirname(os.path.dirname(__file__)), _package)
    ):  # else it is another project's command
        signal.signal(signal.SIGINT, signal.SIG_DFL)
