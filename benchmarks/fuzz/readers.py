"""Every reader of what comes from outside, with its cases.

A reader is a function `case(rng, folder)`: it makes one input from `rng`, below `folder` where it is a file, and reads it. It returns
True where the input was accepted; a `UserError` refuses it. `Wrong` is raised for what should not have been accepted.
"""

from collections.abc import Mapping
from types import MappingProxyType

from benchmarks.fuzz.files import books, caches, engines, jsons, ladders, metrics, queries, tomls
from benchmarks.fuzz.page import requests
from benchmarks.fuzz.positions import logs, positions, records, starts
from benchmarks.fuzz.runs import runs, states
from benchmarks.fuzz.values import Case

_ALL = (
    starts,
    positions,
    records,
    logs,
    jsons,
    tomls,
    books,
    metrics,
    ladders,
    caches,
    engines,
    queries,
    states,
    runs,
    requests,
)
READERS: Mapping[str, Case] = MappingProxyType({each.__name__: each for each in _ALL})
