"""Values of a kind, as text and as they are."""

from typing import Annotated, Any, Literal

import pytest

from base.values import Misfit, checked, in_words, parsed

KINDS: list[tuple[Any, str, list[tuple[str, Any]], list[str], list[Any]]] = [
    (int, "a whole number", [("12", 12), ("-3", -3)], ["", "1.5", "x"], [True, 1.0, "1", None]),
    (
        float,
        "a finite number",
        [("1.5", 1.5), ("2", 2.0)],
        ["inf", "nan", "x"],
        [True, float("nan"), float("inf"), "1"],
    ),
    (str, "text", [("", ""), ("a b", "a b")], [], [1, None, ["a"]]),
    (bool, "on or off", [("on", True), ("FALSE", False), ("0", False)], ["", "yes", "2"], [1, "on", None]),
    (Literal["a", 8], "one of a, 8", [("a", "a"), ("8", 8)], ["9", "A"], ["b", "8"]),
    (Annotated[int, range(2, 20)], "2 to 19", [("2", 2), ("19", 19)], ["1", "20", "2.0"], [20, 2.5]),
    (Annotated[int, range(2, 20)] | None, "2 to 19", [("2", 2)], ["20", "None"], [20]),
]


@pytest.mark.parametrize(("kind", "words", "good", "bad_texts", "bad_values"), KINDS)
def test_texts_and_values_of_a_kind_are_taken_and_others_refused_in_words(
    kind: Any, words: str, good: list[tuple[str, Any]], bad_texts: list[str], bad_values: list[Any]
) -> None:
    assert in_words(kind) == words
    for text, value in good:
        assert parsed(kind, text) == value == checked(kind, value)
        assert type(parsed(kind, text)) is type(value)
    for text in bad_texts:
        with pytest.raises(Misfit, match=rf"^expected {words}, got ") as caught:
            parsed(kind, text)
        assert caught.value.got == text
    for value in bad_values:
        with pytest.raises(Misfit, match=r"^expected "):
            checked(kind, value)


def test_whole_numbers_stand_for_fractions_and_lists_for_tuples_whose_wrong_item_is_named() -> None:
    assert str(checked(float, 3)) == "3.0" and str(parsed(float, "-0")) == "0.0"
    assert checked(tuple[str, ...], ["a", "b"]) == ("a", "b")
    with pytest.raises(Misfit, match="expected text, got 3"):
        checked(tuple[str, ...], ["a", 3])
    with pytest.raises(Misfit, match="expected a list, got 'ab'"):
        checked(tuple[str, ...], "ab")
    with pytest.raises(Misfit, match="expected true or false, got 1"):
        checked(bool, 1)
