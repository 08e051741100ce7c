"""What turns a file of rules into a game: contract, defaults, kernels, names, doctor."""
