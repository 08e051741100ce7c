"""A picture of a run's page in TensorBoard, as in the README: starts TensorBoard and a headless browser.

    python -m benchmarks.screenshot runs/first docs/tensorboard.png --width 2150 --height 1830 --scale 0.65
    python -m benchmarks.screenshot runs/first images.png --page images --height 3000

It needs Chromium or Chrome, found by name or given by --browser. --wait is the time for the page to load.
"""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from base.errors import Arguments, UserError, run_command

PAGES = ("custom_scalars", "scalars", "images", "histograms", "text", "timeseries")
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
PATIENCE = 120  # seconds until TensorBoard answers


def main(argv: Sequence[str]) -> int:
    parser = Arguments(description=__doc__)
    parser.add_argument("run", metavar="RUN", help="the run's folder")
    parser.add_argument("out", metavar="OUT.png", help="the picture")
    parser.add_argument("--page", default=PAGES[0], choices=PAGES, help="which of TensorBoard's pages")
    parser.add_argument("--width", type=int, default=1600, metavar="W", help="of the window")
    parser.add_argument("--height", type=int, default=2200, metavar="H", help="of the window")
    parser.add_argument("--scale", type=float, default=1.0, metavar="X", help="of the picture against the window")
    parser.add_argument("--wait", type=int, default=20, metavar="S", help="seconds for the page to load")
    parser.add_argument("--browser", metavar="COMMAND", help=f"default: the first of {', '.join(BROWSERS)}")
    options = parser.parse_args(argv)
    run, out = Path(options.run), Path(options.out).resolve()
    if not (run / "tb").is_dir():
        raise UserError(f"{run}: expected the folder of a run, with tb/ in it")
    browser = options.browser or next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        raise UserError(f"browser: expected one of {', '.join(BROWSERS)} on the path, found none; or --browser COMMAND")
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / run.name).symlink_to((run / "tb").resolve(), target_is_directory=True)
        with tensorboard(folder) as address:
            window = f"--window-size={options.width},{options.height}"
            scale = f"--force-device-scale-factor={options.scale}"
            wait = f"--virtual-time-budget={1000 * options.wait}"
            quiet = [
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--hide-scrollbars",
                f"--user-data-dir={folder}/browser",
            ]
            command = [browser, *quiet, window, scale, wait, f"--screenshot={out}", f"{address}/#{options.page}"]
            out.unlink(missing_ok=True)
            ended = subprocess.run(command, capture_output=True, text=True, timeout=10 * PATIENCE)
    if not out.exists():
        raise UserError(f"{browser}: expected a picture, got {ended.stderr.strip()[-300:] or 'none'}")
    print(f"{out}: {out.stat().st_size / 1000:.0f} kB")
    return 0


@contextmanager
def tensorboard(folder: str) -> Iterator[str]:
    """The server's address, once it answers."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ["--logdir", folder, "--port", str(port), "--load_fast=false"]
    server = subprocess.Popen(
        [sys.executable, "-m", "tensorboard.main", *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    address = f"http://127.0.0.1:{port}"
    try:
        end = time.monotonic() + PATIENCE
        while not answers(f"{address}/data/runs"):
            if server.poll() is not None or time.monotonic() > end:
                raise UserError(f"tensorboard: expected an answer at {address}, got none")
            time.sleep(0.5)
        yield address
    finally:
        server.terminate()
        server.wait()


def answers(address: str) -> bool:
    """With a run."""
    with suppress(URLError, OSError), urlopen(address, timeout=10) as page:
        return bool(page.read().strip() not in (b"", b"[]"))
    return False


if __name__ == "__main__":
    run_command(main)
