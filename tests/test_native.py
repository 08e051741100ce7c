"""Compiled code called by its address does what the function does, also where it comes from the cache on disk."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np

from base.compiler import compiled
from base.native import address_of, call_native

SCRIPT = """
import numpy as np
from base.compiler import compiled
from base.native import address_of, call_native

def double(numbers, out):
    for i in range(len(numbers)):
        out[i] = 2 * numbers[i]

def through(address, numbers, out):
    call_native(address, (numbers, out))

numbers, out = np.arange(5.0), np.zeros(5)
address = address_of(double, numbers, out)
out[:] = 0
compiled(through)(address, numbers, out)
print(out.tolist())
"""


def add(numbers, amount, out):
    for i in range(len(numbers)):
        out[i] = numbers[i] + amount[0]


def test_a_call_by_address_computes_what_the_function_computes():
    numbers, amount, out, expected = np.arange(9.0), np.array([3], np.int32), np.zeros(9), np.zeros(9)
    address = address_of(add, numbers, amount, out)
    out[:] = 0

    def repeatedly(address, numbers, amount, out, times):
        for _ in range(times):
            call_native(address, (numbers, amount, out))
            amount[0] += 1

    compiled(repeatedly)(address, numbers, amount, out, 4)
    add(numbers, np.array([6]), expected)
    assert out.tolist() == expected.tolist() and amount[0] == 7


def test_code_from_the_cache_has_an_address_too(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT, encoding="utf-8")
    environment = os.environ | {
        "ZERMELO_CACHE": str(tmp_path / "cache"),
        "PYTHONPATH": str(Path(__file__).parent.parent),
    }
    found = [
        subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True, check=True)
        for _ in range(2)
    ]
    assert found[0].stdout == found[1].stdout == "[0.0, 2.0, 4.0, 6.0, 8.0]\n"
