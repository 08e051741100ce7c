"""What holds for any game.

bits            bit operations on 64-bit words
bitsets         sets of numbers below 64 as words
compile_errors  numba's errors in two lines
compiler        plain Python functions compiled by numba, with a cache that is never stale
content         what a compiled function depends on, and a hash of that
errors          one-line errors for users, the parser and the entry point of every command
files           durable writes, locks, leftovers, the cache folder
framed_log      the framed, append-only, checksummed log
json_values     checks of values read from JSON
kernel_cache    machine code on disk
lines           lines of standard input as they arrive, of bounded length
local_workers   workers on this machine: processes, threads
options         NAME:key=value, the grammar of the names of games, players and networks
reading         JSON and TOML from outside, within bounds
seeds           seeds with a purpose, and the random generator of kernels
sent_files      files that jobs name, for workers that do not have them
subprocesses    external programs, with lines in and out and a deadline for each
threads         long calls that Ctrl-C or a deadline can end
values          what a value may be, by its annotation
workers         work done elsewhere: the protocol of tasks, jobs and results
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
