"""Lines as jobs: answered as they come, by worker processes or in this process."""

import os
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from base.errors import UserError
from base.lines import LONGEST, Lines, waiting, whole
from base.local_workers import run_jobs
from base.workers import NOTHING_YET


def shout(line):
    return line.upper()


@pytest.mark.parametrize("workers", [0, 2])
def test_an_answer_comes_before_the_next_line_is_written(workers):
    """The writer waits for each answer: workers that waited for more jobs would wait for ever."""
    read, write = os.pipe()
    with os.fdopen(read) as file:
        answers = run_jobs(shout, Lines(file), workers, ordered=True)
        for number, line in enumerate(["a", "b", "c"]):
            os.write(write, line.encode() + b"\n")
            assert next(answers) == (number, line.upper())
        os.close(write)
        assert list(answers) == []


@pytest.mark.parametrize("workers", [0, 2])
def test_many_lines_come_in_order(workers):
    read, write = os.pipe()
    words = [f"line {i}" for i in range(300)]
    writer = threading.Thread(target=lambda: (os.write(write, "\n".join(words).encode()), os.close(write)))
    writer.start()
    with os.fdopen(read) as file:
        found = [answer for _, answer in run_jobs(shout, Lines(file), workers, ordered=True)]
    assert found == [word.upper() for word in words]
    writer.join()


@settings(max_examples=200)
@given(chunks=st.lists(st.binary(max_size=9).map(lambda data: data.replace(b"\r", b"")), max_size=6))
def test_lines_are_those_of_the_whole_text_however_it_arrives(chunks):
    read, write = os.pipe()
    found = []
    with os.fdopen(read) as file:
        lines = Lines(file)
        for chunk in [*chunks, None]:
            if chunk is None:
                os.close(write)
            else:
                os.write(write, chunk)
            for line in lines:
                if line is NOTHING_YET:
                    break
                found.append(line)
    text = b"".join(chunks)
    whole = text.split(b"\n")
    expected = whole[:-1] if whole[-1] == b"" else whole
    assert found == [line.decode("utf-8", errors="replace") for line in expected]


def test_a_line_is_kept_up_to_its_limit_and_the_next_one_is_whole(tmp_path):
    file = tmp_path / "lines"
    for length in (LONGEST - 1, LONGEST, LONGEST + 1, 3 * LONGEST, 3 * LONGEST + 5):
        file.write_bytes(b"a\n" + b"x" * length + b"\n" + b"b\n\nlast")
        with file.open() as lines:
            found = list(waiting(Lines(lines)))
        assert found[:1] + found[2:] == ["a", "b", "", "last"]
        assert len(found[1]) == min(length, LONGEST + 1)
        if length <= LONGEST:
            assert whole(found[1]) == "x" * length
        else:
            with pytest.raises(
                UserError, match=f"line: expected at most {LONGEST} bytes, got more; it begins with 'xxx"
            ):
                whole(found[1])
    with pytest.raises(UserError, match="standard input, but it is closed"):
        Lines(None)
