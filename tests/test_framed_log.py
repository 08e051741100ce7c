"""The framed log: acknowledged frames come back, damaged ones never."""

import multiprocessing
import os
import random
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from io import FileIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from base import framed_log
from base.errors import UserError
from base.framed_log import FRAME_LIMIT, HEADER, MARKER, LogWriter, frame_end, read_log

ROOT = Path(__file__).parents[1]

# Payloads that look like pieces of a log themselves.
payloads = st.lists(
    st.one_of(
        st.binary(max_size=40),
        st.sampled_from([MARKER, MARKER * 5, HEADER, HEADER + MARKER + bytes(8), MARKER[:3], bytes(30)]),
        st.binary(max_size=9).map(lambda data: MARKER + struct.pack("<II", len(data), 0) + data),
    ),
    max_size=6,
)


@contextmanager
def log_of(frames: list[bytes]) -> Iterator[tuple[Path, list[int]]]:
    """A fresh log of these payloads, and the offsets of the frames."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "games.log"
        with LogWriter(path) as writer:
            offsets = [writer.append(payload) for payload in frames]
        yield path, offsets


def contents(path: Path) -> list[bytes]:
    return [payload for _, payload in read_log(path)]


def ignore(message: str) -> None:
    pass


@given(payloads)
def test_appended_frames_come_back_in_order_with_their_offsets(frames: list[bytes]) -> None:
    with log_of(frames) as (path, offsets):
        assert list(read_log(path)) == list(zip(offsets, frames, strict=True))
        for index, offset in enumerate(offsets):
            assert next(read_log(path, offset)) == (offset, frames[index])
            assert [payload for _, payload in read_log(path, frame_end(offset, frames[index]))] == frames[index + 1 :]


@given(payloads, payloads)
def test_a_log_is_continued_where_it_ended(first: list[bytes], second: list[bytes]) -> None:
    with log_of(first) as (path, _):
        with LogWriter(path) as writer:
            assert writer.dropped == 0
            for payload in second:
                writer.append(payload)
        assert contents(path) == first + second


@given(payloads.filter(bool), st.data())
def test_torn_tail_is_dropped_and_reported(frames: list[bytes], data: st.DataObject) -> None:
    with log_of(frames) as (path, offsets):
        size = path.stat().st_size
        kept = data.draw(st.integers(0, size - 1))
        os.truncate(path, kept)
        whole = [payload for offset, payload in zip(offsets, frames, strict=True) if frame_end(offset, payload) <= kept]
        end = frame_end(offsets[len(whole) - 1], whole[-1]) if whole else len(HEADER)
        assert contents(path) == whole
        said: list[str] = []
        with LogWriter(path, report=said.append) as writer:
            dropped = max(kept - end, 0)
            assert writer.dropped == dropped
            assert said == ([f"{path}: dropped {dropped} bytes of an unfinished frame at {end}"] if dropped else [])
            assert writer.append(b"next") == end
        assert contents(path) == [*whole, b"next"]


def test_a_torn_tail_is_a_warning_unless_report_is_given(tmp_path: Path) -> None:
    path = tmp_path / "games.log"
    path.write_bytes(HEADER + MARKER)
    with pytest.warns(UserWarning, match="dropped 4 bytes of an unfinished frame at 12"):
        LogWriter(path).close()


@given(payloads, st.integers(1, 60))
def test_zeros_behind_the_end_are_a_torn_tail(frames: list[bytes], zeros: int) -> None:
    with log_of(frames) as (path, _):
        with path.open("ab") as file:
            file.write(bytes(zeros))
        assert contents(path) == frames
        with LogWriter(path, report=ignore) as writer:
            assert writer.dropped == zeros


@given(payloads.filter(bool), st.data())
def test_flipped_byte_is_never_returned_as_data(frames: list[bytes], data: st.DataObject) -> None:
    with log_of(frames) as (path, offsets):
        damaged = bytearray(path.read_bytes())
        where = data.draw(st.integers(len(HEADER), len(damaged) - 1))
        damaged[where] ^= data.draw(st.integers(1, 255))
        path.write_bytes(damaged)
        hit = max(index for index, offset in enumerate(offsets) if offset <= where)
        before: list[bytes] = []
        if hit == len(frames) - 1:  # cannot be told from a torn tail
            before = contents(path)
        else:
            message = rf"{path}: expected a whole frame at {offsets[hit]}, got damaged bytes up to {offsets[hit + 1]}"
            with pytest.raises(UserError, match=message):
                for _, payload in read_log(path):
                    before.append(payload)
            with pytest.raises(UserError, match=message):
                LogWriter(path)
            assert path.read_bytes() == damaged
        assert before == frames[:hit]
        skipped = [payload for _, payload in read_log(path, on_damage="skip")]
        assert skipped == frames[:hit] + frames[hit + 1 :]


def test_damage_is_skipped_even_across_search_windows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(framed_log, "_WINDOW", 16)
    for size in range(60):
        path = tmp_path / f"{size}.log"
        with LogWriter(path) as writer:
            writer.append(bytes(size))
            writer.append(b"second")
        damaged = bytearray(path.read_bytes())
        damaged[len(HEADER)] ^= 1
        path.write_bytes(damaged)
        assert [payload for _, payload in read_log(path, on_damage="skip")] == [b"second"]


def test_a_log_inside_the_payload_of_a_torn_frame_is_not_read_as_frames(tmp_path: Path) -> None:
    inner, outer = tmp_path / "inner.log", tmp_path / "outer.log"
    with LogWriter(inner) as writer:
        writer.append(b"inner")
    with LogWriter(outer) as writer:
        writer.append(inner.read_bytes() + b"more")
    os.truncate(outer, outer.stat().st_size - 2)
    assert contents(outer) == []


def test_a_length_beyond_the_file_or_the_limit_allocates_nothing(tmp_path: Path) -> None:
    class Watched(FileIO):
        def read(self, size: int | None = -1, /) -> bytes:
            assert size is not None and 0 <= size <= 100
            return super().read(size)

    path = tmp_path / "games.log"
    for length in (FRAME_LIMIT, FRAME_LIMIT + 1, 2**32 - 1):
        path.write_bytes(HEADER + MARKER + struct.pack("<II", length, 0) + b"short")
        with Watched(path) as file:
            assert list(framed_log._frames(file, path, len(HEADER), path.stat().st_size, "raise")) == []


def test_a_frame_above_the_limit_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with LogWriter(tmp_path / "games.log") as writer:
        writer.append(bytes(10))
        writer.append(bytes(11))
    monkeypatch.setattr(framed_log, "FRAME_LIMIT", 10)
    assert contents(tmp_path / "games.log") == [bytes(10)]


def test_a_payload_above_the_limit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(framed_log, "FRAME_LIMIT", 10)
    with LogWriter(tmp_path / "games.log") as writer:
        with pytest.raises(UserError, match=r"games\.log: expected a payload of at most 10 bytes, got 11"):
            writer.append(bytes(11))
        writer.append(bytes(10))
    assert contents(tmp_path / "games.log") == [bytes(10)]


def test_other_files_and_other_versions_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "other"
    for data, message in (
        (b"PK\3\4 something else", r"other: expected a log, which begins with b'zermelo\\n', got b'PK"),
        (HEADER[:8] + b"\2\0\0\0", "other: expected a log of version 1, got 2"),
    ):
        path.write_bytes(data)
        with pytest.raises(UserError, match=message):
            contents(path)
        with pytest.raises(UserError, match=message):
            LogWriter(path)
        assert path.read_bytes() == data


def test_a_start_beyond_the_end_is_refused(tmp_path: Path) -> None:
    LogWriter(tmp_path / "games.log").close()
    with pytest.raises(UserError, match=r"games\.log: expected an offset in its 12 bytes, got 13"):
        list(read_log(tmp_path / "games.log", 13))


def test_a_second_writer_is_refused_until_the_first_has_ended(tmp_path: Path) -> None:
    path = tmp_path / "games.log"
    with LogWriter(path) as writer:
        with pytest.raises(UserError, match=r"games\.log: expected to be the only writer of this log"):
            LogWriter(path)
        writer.append(b"unharmed")
    LogWriter(path).close()
    assert contents(path) == [b"unharmed"]


def test_a_closed_log_can_be_opened_while_a_forked_child_has_it_open(tmp_path: Path) -> None:
    with LogWriter(tmp_path / "games.log"):
        child = multiprocessing.get_context("fork").Process(target=time.sleep, args=(60,))
        child.start()
    try:
        LogWriter(tmp_path / "games.log").close()
        assert child.is_alive()
    finally:
        child.kill()
        child.join()


def test_a_failed_append_leaves_no_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class FillsUp(FileIO):
        full = False

        def write(self, data: object, /) -> int:
            if self.full:
                raise OSError("disk full")
            written = super().write(bytes(data)[:5])  # type: ignore[call-overload]
            self.full = os.fstat(self.fileno()).st_size > 60
            return int(written)

    monkeypatch.setattr(framed_log, "FileIO", FillsUp)
    path = tmp_path / "games.log"
    path.write_bytes(HEADER)
    with LogWriter(path) as writer:
        writer.append(b"first")
        with pytest.raises(OSError, match="disk full"):
            writer.append(bytes(50))
        writer._file.full = False  # type: ignore[attr-defined]
        writer.append(b"second")
    assert contents(path) == [b"first", b"second"]


def test_a_reader_of_a_growing_log_gets_a_prefix_and_can_follow(tmp_path: Path) -> None:
    path = tmp_path / "games.log"
    code = (
        "import sys\nfrom base.framed_log import LogWriter\nlog = LogWriter(sys.argv[1])\nprint(flush=True)\n"
        "for n in range(3000): log.append(b'%d' % n * (n % 50))\nprint(flush=True)"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(path)], cwd=ROOT, stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        seen: list[bytes] = []
        position, finished = 0, False
        while not finished:
            finished = writer.poll() is not None
            for offset, payload in read_log(path, position):
                seen.append(payload)
                position = frame_end(offset, payload)
    assert seen == [b"%d" % n * (n % 50) for n in range(3000)]


def test_acknowledged_frames_survive_sigkill(tmp_path: Path) -> None:
    rng = random.Random(7)
    path = tmp_path / "games.log"
    code = (
        "import sys\nfrom base.framed_log import LogWriter\n"
        "log = LogWriter(sys.argv[1], report=lambda message: None)\nbegin = int(sys.argv[2])\n"
        "for n in range(begin, begin + 10**6):\n"
        "    log.append(b'%08d' % n * (1 + n % 2000))\n    print(n, flush=True)"
    )
    acknowledged = -1
    for _ in range(8):
        command = [sys.executable, "-c", code, str(path), str(acknowledged + 1)]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as writer:
            assert writer.stdout is not None
            first = writer.stdout.readline()
            time.sleep(rng.random() * 0.1)
            writer.send_signal(signal.SIGKILL)
            acknowledged = int((first + writer.stdout.read()).split("\n")[-2])
        numbers = []
        for _, payload in read_log(path):
            number = int(payload[:8])
            assert payload == b"%08d" % number * (1 + number % 2000)
            numbers.append(number)
        # A frame may be whole without its writer having lived to say so, never the other way round.
        assert sorted(set(numbers)) == list(range(numbers[-1] + 1)) and acknowledged <= numbers[-1] <= acknowledged + 1
