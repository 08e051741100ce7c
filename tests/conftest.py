import os
import signal

import pytest
from hypothesis import settings

# Threads of torch wait without spinning, also in processes that tests start: the tests share their cores, and a thread that spins
# through a scheduler's turn takes it from the one that it waits for. Results have the same bits.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

# No deadline: the first example of a kernel compiles it. Derandomized: a red run is red again on the next machine.
settings.register_profile("zermelo", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("zermelo")

# A shell that starts the tests in the background has them ignore SIGINT, and so would every process that a test interrupts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

FIRST = ("test_wheel.py", "test_ray.py", "test_cluster.py", "test_zermelo.py", "test_your_game.py")
"""Files of tests that are long or wait for others, so that no process is left with them in the end."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.path.name not in FIRST)


def pytest_xdist_auto_num_workers() -> int:
    """Two for each core: a fifth of their time tests wait for processes of their own. Each takes up to a gigabyte."""
    return min(2 * (os.cpu_count() or 1), 16)
