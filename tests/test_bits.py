"""Bit operations agree with Python's own integers, interpreted, compiled and checked."""

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from base.bits import U, highest_bit, lowest_bit, popcount, wrapping_add, wrapping_mul
from base.bitsets import list_members, nth_member, set_of
from base.compiler import compiled

ALL = 2**64 - 1
EDGES = [
    0,
    1,
    2,
    3,
    ALL,
    ALL - 1,
    2**63,
    2**63 - 1,
    2**63 + 1,
    2**32,
    2**32 - 1,
    0xAAAAAAAAAAAAAAAA,
    0x5555555555555555,
]
SINGLE = [1 << i for i in range(64)]
RANDOM = [int(word) for word in np.random.default_rng(11).integers(0, ALL, 500, np.uint64, endpoint=True)]
SPARSE = [word & other & third for word, other, third in zip(RANDOM, RANDOM[1:], RANDOM[2:], strict=False)]
WORDS = [*EDGES, *SINGLE, *(ALL ^ word for word in SINGLE), *RANDOM, *SPARSE]

ONE_WORD: list[tuple[Callable[[Any], int], Callable[[int], int]]] = [
    (popcount, int.bit_count),
    (lowest_bit, lambda word: (word & -word).bit_length() - 1 if word else 64),
    (highest_bit, lambda word: word.bit_length() - 1),
]


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZERMELO_CACHE", str(tmp_path))


def in_all_ways(function: Callable[..., Any]) -> list[Callable[..., Any]]:
    return [function, compiled(function), compiled(function, checked=True)]


@pytest.mark.parametrize(("bit", "known"), ONE_WORD, ids=["popcount", "lowest_bit", "highest_bit"])
def test_bit_operations_equal_python_s_in_all_three_ways(bit: Any, known: Callable[[int], int]) -> None:
    def over(words: Any, found: Any) -> None:
        for i in range(len(words)):
            found[i] = bit(words[i])

    for way in in_all_ways(over):
        found = np.zeros(len(WORDS), np.int64)
        way(np.array(WORDS, np.uint64), found)
        assert found.tolist() == [known(word) for word in WORDS]


@pytest.mark.parametrize(("bit", "known"), ONE_WORD, ids=["popcount", "lowest_bit", "highest_bit"])
def test_results_are_signed(bit: Any, known: Callable[[int], int]) -> None:
    def negative(word: Any) -> Any:
        return bit(word) - 70

    for way in in_all_ways(negative):
        for word in (0, 1, ALL):
            assert way(U(word)) == known(word) - 70


@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.uint32])
def test_narrow_unsigned_fields_are_words_too(kind: Any) -> None:
    def three(words: Any) -> Any:
        return popcount(words[0]), lowest_bit(words[0]), highest_bit(words[0])

    bits = np.iinfo(kind).bits
    for way in in_all_ways(three):
        assert way(np.array([2 ** (bits - 1) + 2], kind)) == (2, 1, bits - 1)
        assert way(np.array([0], kind)) == (0, 64, -1)


def test_words_wrap_around_without_a_warning_in_all_three_ways() -> None:
    def both(a: Any, b: Any) -> Any:
        return wrapping_add(a, b), wrapping_mul(a, b)

    pairs = [*itertools.pairwise(RANDOM), *((word, other) for word in EDGES for other in EDGES)]
    for way in in_all_ways(both):
        for a, b in pairs:
            assert tuple(map(int, way(U(a), U(b)))) == ((a + b) & ALL, (a * b) & ALL)


def test_wrapped_words_stay_unsigned() -> None:
    """A right shift brings in zeros, where that of a signed number brings in its sign."""

    def top(a: Any, b: Any) -> Any:
        return (wrapping_add(a, b) >> U(63)) + (wrapping_mul(a, b) >> U(63))

    for way in in_all_ways(top):
        assert way(U(ALL), U(1)) == 1


@pytest.mark.parametrize("base", [0, 640])
def test_members_listed_and_members_by_number_are_those_of_the_set(base: int) -> None:
    def members(words: Any, numbers: Any, ends: Any, nth: Any) -> None:
        n = 0
        for i in range(len(words)):
            first = n
            n = list_members(numbers, n, words[i], base)
            ends[i] = n
            for j in range(first, n):
                nth[j] = base + nth_member(words[i], j - first)

    words = [*EDGES, *SINGLE, *SPARSE[:50]]
    known = [[base + i for i in range(64) if word >> i & 1] for word in words]
    for way in in_all_ways(members):
        numbers = np.zeros((2, 64 * len(words)), np.int32)
        ends = np.zeros(len(words), np.int64)
        way(np.array(words, np.uint64), numbers[0], ends, numbers[1])
        assert np.diff(ends, prepend=0).tolist() == [len(each) for each in known]
        assert numbers[0].tolist() == numbers[1].tolist()
        assert numbers[0, : ends[-1]].tolist() == [number for each in known for number in each]


def test_naming_a_member_twice_changes_nothing() -> None:
    for word in WORDS:
        members = [i for i in range(64) if word >> i & 1]
        assert int(set_of([*members, *members])) == word


def test_a_member_beyond_a_list_s_end_is_refused_when_checked() -> None:
    with pytest.raises(IndexError):
        compiled(list_members, checked=True)(np.zeros(2, np.int32), 0, U(0b111), 0)
