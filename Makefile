# `make` lists the targets. Everything runs in .venv; no environment needs to be activated.

# The Python that makes .venv, 3.11 or newer.
PYTHON ?= python3
# For `make train`.
GAME = connect_four
MINUTES = 10
# More arguments for the command: make test ARGS="-n 0 -k chess"
ARGS =

# Packages from the shell's environment are not the pinned ones.
unexport PYTHONPATH PYTHONHOME MYPYPATH

# Quick files of tests that reach every package.
SMOKE = arrows lines growth max_plies alphabeta_chess alphabeta_tables book linear mcts_step cache play losses \
	checkpoints diagnostics health history

.PHONY: help setup train smoke test check clean
.DEFAULT_GOAL := help

help:
	@echo 'make setup   make .venv and install everything into it; repeated, only what changed'
	@echo 'make train   a training run: connect four, ten minutes (GAME=..., MINUTES=..., ARGS=...)'
	@echo 'make test    the tests (ARGS=... goes to pytest)'
	@echo 'make smoke   quick tests of every package: under a minute once they are compiled'
	@echo 'make check   lint, format, types, tests: what every change has to pass'
	@echo 'make clean   remove caches and build products; .venv and runs/ stay'
	@echo
	@echo 'Another Python: make setup PYTHON=python3.12. A new start: rm -rf .venv'

setup:
	@command -v $(PYTHON) >/dev/null || { echo 'setup: expected a Python 3.11 or newer, found no $(PYTHON); name another: make PYTHON=python3.12'; exit 2; }
	@$(PYTHON) .ci/setup.py

train: setup
	.venv/bin/python -m train $(GAME) --minutes $(MINUTES) $(ARGS)

test: setup
	.venv/bin/python -m pytest $(ARGS)

smoke: setup
	.venv/bin/python -m pytest $(SMOKE:%=tests/test_%.py) $(ARGS)

check:
	@.ci/run

clean:
	rm -rf .mypy_cache .pytest_cache .ruff_cache .hypothesis build dist *.egg-info
	find . -name .venv -prune -o -name runs -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +
