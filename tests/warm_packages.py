"""For a process to fork commands and runs from: all packages are imported, a miniature run is compiled, no thread was started."""

import importlib
import tempfile
from pathlib import Path

import torch
from miniature import run

for package in ("games", "arena", "selfplay", "train", "checkpoints"):
    importlib.import_module(f"{package}.__main__")
for module in (
    "train.start",
    "monitor.pictures",
    "monitor.report.page",
    "tensorboard.summary.writer.event_file_writer",
):
    importlib.import_module(module)
torch.set_num_threads(1)
with tempfile.TemporaryDirectory() as folder:
    run(Path(folder) / "run", 16)
