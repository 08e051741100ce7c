"""JSON and TOML from outside: within bounds, or one line."""

import json
import time

import pytest

from base.errors import UserError
from base.reading import DEEPEST, checked_data, json_of, toml_of
from base.values import Misfit, checked, parsed

LONG = "9" * 5000


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (LONG, "f: expected whole numbers of 64 bits, got 999"),
        ("-" + "9" * 20, "f: expected whole numbers of 64 bits, got -999"),
        ("9" * 400 + ".5", "f: expected finite numbers, got 999"),
        ("NaN", "f: expected finite numbers, got NaN"),
        ("1e999", "f: expected finite numbers, got 1e999"),
        ('{"a": ["\\ud800"]}', r"f: expected text in Unicode, got \\ud800 at a\[0\]"),
        ('{"\\udfff": 1}', r"f: expected text in Unicode, got \\udfff"),
        ("[" * 5000 + "]" * 5000, "f: expected JSON of fewer levels"),
        ("[" * (DEEPEST + 1) + "]" * (DEEPEST + 1), "f: expected JSON of fewer levels"),
        ('{"a": 1, "a": 2}', "f: expected different keys in an object, got 'a' twice"),
        (b"\xff", "f:1: expected JSON in UTF-8"),
        ("{", "f:1: expected JSON: "),
    ],
)
def test_json_beyond_the_bounds_is_refused_in_one_line(text, complaint):
    with pytest.raises(UserError, match=f"^{complaint}") as caught:
        json_of(text, "f")
    assert len(str(caught.value)) < 250


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (f"a = {LONG}", "f: expected TOML"),
        (f"a = {LONG[:400]}", "f: expected whole numbers of 64 bits, got one of 1329 bits at a"),
        ("a = nan", "f: expected finite numbers, got nan at a"),
        ("a = -inf", "f: expected finite numbers, got -inf at a"),
        (f"a = {LONG[:400]}.5", "f: expected finite numbers, got inf at a"),
        ("a = " + "[" * 5000 + "]" * 5000, "f: expected TOML of fewer levels"),
        (".".join("a" * 300) + " = 1", "f: expected TOML of fewer levels"),
        ("a = ", "f: expected TOML: "),
        (b"a = '\xff'", "f:1: expected TOML in UTF-8"),
    ],
)
def test_toml_beyond_the_bounds_is_refused_in_one_line(text, complaint):
    with pytest.raises(UserError, match=f"^{complaint}") as caught:
        toml_of(text, "f")
    assert len(str(caught.value)) < 250


def test_what_is_within_the_bounds_comes_back():
    value = {"a": [1, -(2**63), 2**64 - 1, 0.5, "ä😀", True, None, {"b": []}]}
    assert json_of(json.dumps(value), "f") == value == checked_data(value, "f")
    deep = "[" * DEEPEST + "]" * DEEPEST
    assert json_of(deep, "f") == json.loads(deep)


def test_an_object_of_many_equal_keys_is_refused_at_once():
    text = "{" + ",".join(f'"{i % 99_999}": 0' for i in range(100_000)) + "}"
    start = time.perf_counter()
    with pytest.raises(UserError, match="got '0' twice"):
        json_of(text, "f")
    assert time.perf_counter() - start < 2


@pytest.mark.parametrize("text", [LONG, LONG[:400], "9" * 30, "-" + "9" * 20])
def test_a_number_of_more_than_64_bits_is_no_value(text):
    for kind in (int, int | None):
        with pytest.raises(Misfit):
            parsed(kind, text)
    if len(text) < 4000:
        for kind in (int, float):
            with pytest.raises(Misfit):
                checked(kind, int(text))


def test_half_a_character_is_no_text():
    with pytest.raises(Misfit):
        checked(str, "\ud800")
