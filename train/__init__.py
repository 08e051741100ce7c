"""The replay window, losses, the training loop, configuration, TensorBoard, the command line."""

import base  # noqa: F401  (first of all, for Ctrl-C)
