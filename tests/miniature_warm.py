"""For a process to fork from: all that a miniature run needs is imported and compiled, and no thread was started."""

import tempfile
from pathlib import Path

import torch
from miniature import run

torch.set_num_threads(1)
with tempfile.TemporaryDirectory() as folder:
    run(Path(folder) / "run", 16)
