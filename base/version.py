"""The version of the program, also the package's (pyproject.toml)."""

VERSION = "0.1.0"
