"""Sets of numbers below 64 as words: number i is in the set where bit i is one.

>>> squares = set_of([3, 5, 9])
>>> nth_member(squares, 1)
5

All but `set_of` are plain functions for compiled rules. The intersection of two sets is `a & b`, and `a &= a - ONE` takes out the
least member: what else there is to say about single words is in `base/bits.py`.
"""

from collections.abc import Iterable
from typing import Any

from base.bits import ONE, U, lowest_bit


def set_of(numbers: Iterable[int]) -> Any:
    """The set of these numbers."""
    word = 0
    for number in numbers:
        word |= 1 << number
    return U(word)


def list_members(numbers: Any, n: int, members: Any, base: int) -> int:
    """Writes base + each member, ascending, behind the first n of `numbers`; how many there are then."""
    while members:
        numbers[n] = base + lowest_bit(members)
        members &= members - ONE
        n += 1
    return n


def nth_member(members: Any, n: Any) -> int:
    """The member that n others are smaller than."""
    for _ in range(n):
        members &= members - ONE
    return lowest_bit(members)
