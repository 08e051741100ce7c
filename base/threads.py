"""Long compiled calls that Ctrl-C can end: `interruptible(lambda: kernel(states, actions, depth))`.

A compiled loop on the main thread keeps Python from seeing an interrupt until it returns. In a thread of its own, without the GIL, it
leaves the main thread free to see it at once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

R = TypeVar("R")


def interruptible(call: Callable[[], R]) -> R:
    """What `call` returns or raises. After an interrupt it may go on in the background until the process ends: its scratch space
    must not be used again."""
    results: list[R] = []
    errors: list[BaseException] = []

    def work() -> None:
        try:
            results.append(call())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(0.1)
    if errors:
        raise errors[0]
    return results[0]
