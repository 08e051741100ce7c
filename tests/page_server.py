"""The page's server for tests, on a thread of its own."""

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from arena.page.server import PageServer


@contextmanager
def serving(games: Iterable[str] = ()) -> Iterator[PageServer]:
    made = PageServer(0, tuple(games))
    threading.Thread(target=made.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield made
    finally:
        made.shutdown()
        made.server_close()
