"""The replay window, losses, the training loop, configuration, TensorBoard, the command line."""
