"""For a process to fork commands from: all packages are imported, no thread was started."""

import importlib

import torch

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
