"""Text of any length is read in time that grows no faster than its length."""

import time
from collections.abc import Callable

import pytest

from base.errors import LONGEST, UserError, echoing
from games import Game, load
from games.engine.game import LONGEST_POSITION

GAMES = [
    "nim",
    "tic_tac_toe",
    "connect_four",
    "othello",
    "chess",
    "checkers",
    "go:size=9",
    "backgammon",
    "dots_and_boxes",
]
SHORT, TIMES = 12_000, 8  # characters; how much longer the other text is
NOISE = 0.02  # seconds

HOSTILE: dict[str, Callable[[str, int], str]] = {
    "one word": lambda start, n: "x" * n,
    "words": lambda start, n: "x " * (n // 2),
    "long words, each different": lambda start, n: " ".join("a" * (100 + i % 50) + f"{i}b" for i in range(n // 130)),
    "long parts, each different": lambda start, n: "/".join("ab" * 50 + str(i) for i in range(n // 106)),
    "commas": lambda start, n: start + "," * n,
    "digits": lambda start, n: start + "1" * n,
    "numbers": lambda start, n: f"heaps={'1,' * (n // 2)} mover=0",
    "long numbers": lambda start, n: "heaps=" + ",".join(f"{i:0101}" for i in range(n // 102)) + " mover=0",
    "slashes": lambda start, n: "/" * n,
    "rows": lambda start, n: "8/" * (n // 2) + " w - - 0 1",
    "squares": lambda start, n: f"W:W{'K1,' * (n // 3)}:B1",
    "points": lambda start, n: f"{start.split()[0]} x 0 {'A1,' * (n // 3)}",
    "spaces": lambda start, n: start + " " * n + "x",
    "quotes": lambda start, n: "'\"" * (n // 2),
}


def seconds(call: Callable[[], object]) -> float:
    found = []
    for _ in range(2):
        began = time.process_time()
        call()
        found.append(time.process_time() - began)
    return min(found)


def reading(game: Game, text: str) -> Callable[[], object]:
    def read() -> None:
        with pytest.raises(UserError) as caught:
            game.parse(text)
        assert len(str(caught.value)) <= LONGEST + 200

    return read


@pytest.mark.parametrize("name", GAMES)
def test_position_text_is_read_in_linear_time(name: str) -> None:
    game = load(name)
    start = game.text(game.initial())
    for what, text in HOSTILE.items():
        short, long = (seconds(reading(game, text(start, n))) for n in (SHORT, SHORT * TIMES))
        assert long < 3 * TIMES * max(short, NOISE / TIMES) and long < 2, (what, short, long)


@pytest.mark.parametrize("what", HOSTILE)
def test_a_message_is_cut_in_linear_time(what: str) -> None:
    def cut(n: int) -> None:
        text = HOSTILE[what]("heaps=3,5,7 mover=0", n)
        message = echoing(f"expected this, got '{text}', and '{text[: n // 2]}'", text)
        assert len(message) <= LONGEST + 1

    short, long = (seconds(lambda n=n: cut(n)) for n in (SHORT, SHORT * TIMES))  # type: ignore[misc]
    assert long < 3 * TIMES * max(short, NOISE / TIMES)


def test_a_position_of_more_characters_is_refused_at_once() -> None:
    with pytest.raises(UserError, match=f"expected at most {LONGEST_POSITION} characters, got 10000000"):
        load("nim").parse("1" * 10**7)
