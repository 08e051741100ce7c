"""What decides the bits of a result besides task and job: two machines that agree in it compute the same.

    here = fingerprint()                    # {"code": "sha256 …", "Python": "3.11.7", "CPU": …, …}
    differences(here, there)                # ["Python: expected 3.11.7, got 3.11.9"]

Rules and networks are not in it: they travel with the task. Neither are environment variables: nodes take over those of ENVIRONMENT.
"""

from __future__ import annotations

import functools
import hashlib
import os
import platform
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import llvmlite.binding as llvm

PACKAGES = (
    "base",
    "configs",
    "games",
    "mcts",
    "classical",
    "nets",
    "checkpoints",
    "selfplay",
    "arena",
    "monitor",
    "train",
    "cluster",
    "zermelo",
)
CODE = {".py", ".json", ".toml"}
DEPENDENCIES = ("numpy", "numba", "llvmlite", "torch", "safetensors")
ENVIRONMENT = ("ZERMELO_INSTRUCTIONS", "NUMBA_", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
"""Variables, by how their names begin, that the coordinator's nodes take over from it."""

ROOT = Path(__file__).resolve().parent.parent


@functools.cache
def fingerprint() -> dict[str, str]:
    """Of this process."""
    libc = " ".join(platform.libc_ver())
    return {
        "code": hash_of_code(ROOT),
        "Python": platform.python_version(),
        **{name: _version(name) for name in DEPENDENCIES},
        "system": f"{platform.system()} {platform.machine()} {libc}".strip(),
        "CPU": _cpu(),
    }


def hash_of_code(root: Path) -> str:
    """Of every file of the packages that a result may depend on. What lies in unlisted folders does not count."""
    found = hashlib.sha256()
    for package in PACKAGES:
        for path in sorted((root / package).rglob("*")):
            if path.suffix in CODE and path.is_file():
                for part in (path.relative_to(root).as_posix().encode(), path.read_bytes()):
                    found.update(len(part).to_bytes(8, "little") + part)
    return f"sha256 {found.hexdigest()[:16]}"


def differences(expected: Mapping[str, str], got: Mapping[str, str]) -> list[str]:
    """`what: expected …, got …` for all in which they differ."""
    keys = dict.fromkeys((*expected, *got))
    return [
        f"{key}: expected {expected.get(key)}, got {got.get(key)}" for key in keys if expected.get(key) != got.get(key)
    ]


def environment() -> dict[str, str]:
    """Those variables of this process that decide bits."""
    return {name: value for name, value in os.environ.items() if name.startswith(ENVIRONMENT)}


def take_over(wanted: Mapping[str, str]) -> None:
    """These values, and none of the variables that are not among them. Before numba and torch are used."""
    for name in environment().keys() - wanted.keys():
        del os.environ[name]
    os.environ.update(wanted)


def _version(name: str) -> str:
    try:
        return version(name).partition("+")[0]  # +cpu and +cu130 are one version
    except PackageNotFoundError:
        return "none"


def _cpu() -> str:
    """The name that compiled code is made for, and which of its instructions there are."""
    features = ",".join(sorted(name for name, is_there in llvm.get_host_cpu_features().items() if is_there))
    return f"{llvm.get_host_cpu_name()} {hashlib.sha256(features.encode()).hexdigest()[:8]}"
