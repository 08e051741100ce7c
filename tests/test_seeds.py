"""Random streams: the published generator, the same in compiled and interpreted code, one stream per purpose."""

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from base.bits import U
from base.compiler import compiled
from base.seeds import below, derive, generator, mix, next_word, uniform


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZERMELO_CACHE", str(tmp_path))


def in_all_ways(function: Callable[..., Any]) -> list[Callable[..., Any]]:
    return [function, compiled(function), compiled(function, checked=True)]


def state(word: int) -> Any:
    return np.array([word], np.uint64)


# ── seeds ──


def test_derived_seeds_never_change() -> None:
    """Pinned: runs are resumed and games repeated by these numbers."""
    assert derive(0) == 8493733112532773764
    assert derive(7, "game", 12) == 5232363889512514067
    assert derive(-1, "x") == 4420505367620654715
    assert derive(2**80, "größe") == 14130748683273794011


PURPOSE = st.lists(st.one_of(st.integers(), st.text(alphabet="a1:\x1f", max_size=6), st.just("int:1")), max_size=3)


@given(st.integers(), PURPOSE, st.integers(), PURPOSE)
def test_different_purposes_have_different_seeds(seed: int, purpose: Any, other_seed: int, other: Any) -> None:
    assert (derive(seed, *purpose) == derive(other_seed, *other)) == ((seed, purpose) == (other_seed, other))


def test_purposes_that_look_alike_are_kept_apart() -> None:
    """Regression: a separator inside a text made two purposes of it."""
    purposes = [
        ("a", "b"),
        ("ab",),
        ("a\x1fstr:b",),
        ("a\x1f\x1fstr:b",),
        ("a\x1f", "b"),
        ("1",),
        (1,),
        ("int:1",),
        ("",),
        (),
    ]
    assert len({derive(7, *purpose) for purpose in purposes}) == len(purposes)


def test_equal_numbers_are_one_purpose_of_whatever_type_they_are() -> None:
    """Regression: game np.int64(12) had another seed than game 12."""
    for number in (np.int64(12), np.uint8(12), np.arange(13)[12]):
        assert derive(7, "game", number) == derive(number - 5, "game", 12) == derive(7, "game", 12)
    assert derive(7, np.str_("game")) == derive(7, "game")


@pytest.mark.parametrize("wrong", [1.0, None, b"game", np.float64(3)])
def test_a_seed_or_purpose_is_no_fraction(wrong: Any) -> None:
    with pytest.raises(TypeError):
        derive(7, wrong)
    with pytest.raises(TypeError):
        derive(wrong)


def test_streams_of_different_purposes_differ_and_do_not_run_into_each_other() -> None:
    def fill(rng: Any, words: Any) -> None:
        for i in range(len(words)):
            words[i] = next_word(rng)

    fast, streams = compiled(fill), []
    for purpose in itertools.product(["self-play", "arena"], range(50)):
        streams.append(np.zeros(1000, np.uint64))
        fast(generator(7, *purpose), streams[-1])
    assert len(np.unique(np.concatenate(streams))) == 100_000


# ── the generator ──

PUBLISHED = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821]


def test_splitmix64_gives_its_published_test_vector() -> None:
    for way in in_all_ways(next_word):
        rng = state(1234567)
        assert [int(way(rng)) for _ in range(5)] == PUBLISHED


def undone(word: int) -> int:
    """The word of which `mix` makes `word`."""
    for shift, factor in ((31, 0x94D049BB133111EB), (27, 0xBF58476D1CE4E5B9), (30, 1)):
        whole = word
        for _ in range(64 // shift):  # x ^ x >> shift, from the top bits down
            whole = word ^ (whole >> shift)
        word = whole * pow(factor, -1, 2**64) % 2**64
    return word


def test_mix_is_a_bijection_in_which_each_bit_moves_half_the_others() -> None:
    words = [0, 1, 2**64 - 1, 2**63, *PUBLISHED]
    for way in in_all_ways(mix):
        assert [undone(int(way(U(word)))) for word in words] == words
    moved = [(int(mix(U(word))) ^ int(mix(U(word ^ 1 << bit)))).bit_count() for word in PUBLISHED for bit in range(64)]
    assert 31 < np.mean(moved) < 33 and min(moved) > 10


AWKWARD = [1, 2, 3, 5, 6, 7, 255, 256, 257, 2**16 + 1, 2**31 - 1, 2**31, 2**31 + 1, 3 * 2**30, 2**32 - 2, 2**32 - 1]


def test_below_stays_in_range_and_is_the_same_in_all_three_ways() -> None:
    def sample(rng: Any, n: int, found: Any) -> None:
        for i in range(len(found)):
            found[i] = below(rng, n)

    ways = in_all_ways(sample)
    for n in AWKWARD:
        seen = []
        for way in ways:
            rng, found = generator(3, n), np.zeros(200, np.int64)
            way(rng, n, found)
            assert found.min() >= 0 and found.max() < n
            seen.append((found.tolist(), rng.tolist()))
        assert seen[0] == seen[1] == seen[2]


def test_below_gives_signed_numbers() -> None:
    """Regression: compiled, the difference of two draws wrapped around."""

    def difference(rng: Any) -> Any:
        return below(rng, 100) - below(rng, 100)

    seen = []
    for way in in_all_ways(difference):
        rng = generator(5)
        seen.append([int(way(rng)) for _ in range(50)])
    assert seen[0] == seen[1] == seen[2]
    assert min(seen[0]) < 0 < max(seen[0])


@pytest.mark.parametrize("n", [2, 3, 6, 7, 19, 361])
def test_below_is_uniform(n: int) -> None:
    def count(rng: Any, n: int, draws: int, times: Any) -> None:
        for _ in range(draws):
            times[below(rng, n)] += 1

    times = np.zeros(n, np.int64)
    compiled(count)(generator(17, n), n, 10_000 * n, times)
    chi2 = ((times - 10_000) ** 2 / 10_000).sum()
    assert abs(chi2 - (n - 1)) < 5 * np.sqrt(2 * (n - 1))  # mean n-1, variance 2(n-1)


def test_below_is_exactly_uniform_where_taking_the_top_bits_is_not() -> None:
    """Of the 2^32 upper halves, n = 3·2^30 would give every third number two: 0, 3, 6, … at 1/2 instead of 1/3."""

    def thirds(rng: Any, draws: int, times: Any) -> None:
        for _ in range(draws):
            times[below(rng, 3221225472) % 3] += 1

    times = np.zeros(3, np.int64)
    compiled(thirds)(generator(23), 300_000, times)
    assert np.abs(times - 100_000).max() < 5 * np.sqrt(300_000 * 2 / 9)


def test_uniform_is_on_its_grid_in_its_range_and_the_same_in_all_three_ways() -> None:
    seen = []
    for way in in_all_ways(uniform):
        rng = generator(29)
        seen.append([float(way(rng)) for _ in range(2000)])
    assert seen[0] == seen[1] == seen[2]
    numbers = np.array(seen[0])
    assert numbers.min() >= 0 and numbers.max() < 1 and (numbers * 2**53 % 1 == 0).all()
    assert abs(numbers.mean() - 0.5) < 5 / np.sqrt(12 * 2000)


def test_uniform_never_reaches_one() -> None:
    """The state before which the generator gives the largest and the smallest word there is."""

    for word, expected in ((2**64 - 1, 1 - 2**-53), (0, 0.0)):
        before = (undone(word) - 0x9E3779B97F4A7C15) % 2**64
        for way in in_all_ways(uniform):
            assert way(state(before)) == expected
