"""Durable files: whole or not at all, wherever a process is killed."""

import os
import pwd
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from base import files
from base.errors import UserError
from base.files import (
    cache_folder,
    durable_folder,
    file_lock,
    make_folder,
    read_json,
    remove_leftovers,
    write_bytes,
    write_json,
    write_text,
)
from base.reading import LEAST, MOST

ROOT = Path(__file__).parents[1]

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(LEAST, MOST)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text('aä\n"\\€'),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab."), inner, max_size=3),
    max_leaves=8,
)


def start(code: str, *arguments: object) -> subprocess.Popen[str]:
    imports = "import sys, time, os\nfrom pathlib import Path\nfrom base.files import *\n"
    command = [sys.executable, "-c", imports + code, *map(str, arguments)]
    return subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def wait_for_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def kill(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=20)


def names(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


@given(json_values)
def test_json_comes_back_as_it_was_written(tmp_path_factory: pytest.TempPathFactory, value: object) -> None:
    path = tmp_path_factory.getbasetemp() / "value.json"
    write_json(path, value)
    assert read_json(path) == value
    assert path.read_bytes().endswith(b"\n")


def test_json_keeps_the_order_of_keys_and_equal_objects_give_equal_bytes(tmp_path: Path) -> None:
    write_json(tmp_path / "a", {"b": 1, "a": [2.5]})
    write_json(tmp_path / "b", {"b": 1, "a": [2.5]})
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert list(read_json(tmp_path / "a")) == ["b", "a"]


def test_nan_is_refused_with_its_place_and_nothing_is_written(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"card\.json: expected finite numbers, got nan at elo\.low\[1\]"):
        write_json(tmp_path / "card.json", {"elo": {"low": [0.0, float("nan")]}})
    with pytest.raises(UserError, match=r"got inf at the top"):
        write_json(tmp_path / "card.json", float("inf"))
    assert names(tmp_path) == []


def test_broken_json_names_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "broken.json"
    path.write_text('{\n"a": 1,\n"b": oops\n}')
    with pytest.raises(UserError, match=r"broken\.json:3: expected JSON: Expecting value \(column 6\)"):
        read_json(path)
    path.write_bytes(b'{\n"\xff": 1}')
    with pytest.raises(UserError, match=r"broken\.json:2: expected JSON in UTF-8: invalid start byte"):
        read_json(path)
    for text, expected in (
        ("[NaN]", "expected finite numbers, got NaN"),
        ("[-1e999]", "expected finite numbers, got -1e999"),
        ('{"a": {"b": 1, "c": 2, "b": 3}}', "expected different keys in an object, got 'b' twice"),
        ("[" * 10**5, "expected JSON of fewer levels"),
    ):
        path.write_text(text)
        with pytest.raises(UserError, match=rf"broken\.json: {expected}"):
            read_json(path)


def test_text_is_utf8_with_its_newlines_and_parents_are_made(tmp_path: Path) -> None:
    write_text(tmp_path / "a/b/text", "ä\r\n\n")
    assert (tmp_path / "a/b/text").read_bytes() == b"\xc3\xa4\r\n\n"


def test_a_file_gets_the_permissions_a_plain_write_would_give(tmp_path: Path) -> None:
    (tmp_path / "plain").write_bytes(b"")
    write_bytes(tmp_path / "durable", b"")
    assert (tmp_path / "durable").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_failed_write_changes_nothing_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def disk_full(handle: int) -> None:
        raise OSError("disk full")

    write_bytes(tmp_path / "f", b"old")
    monkeypatch.setattr(os, "fsync", disk_full)
    with pytest.raises(OSError, match="disk full"):
        write_bytes(tmp_path / "f", b"new")
    assert names(tmp_path) == ["f"] and (tmp_path / "f").read_bytes() == b"old"


def test_a_reader_never_sees_half_a_file_whenever_the_writer_is_killed(tmp_path: Path) -> None:
    rng = random.Random(1)
    path = tmp_path / "f"
    for _ in range(5):
        writer = start(
            "for n in range(10**9):\n    write_bytes(sys.argv[1], b'%d' % (n % 10) * 300_000); print(n, flush=True)",
            path,
        )
        wait_for_line(writer)
        time.sleep(rng.random() * 0.05)
        kill(writer)
        data = path.read_bytes()
        assert len(data) == 300_000 and len(set(data)) == 1
    remove_leftovers(tmp_path)
    assert names(tmp_path) == ["f"]


def test_leftovers_of_dead_writers_are_removed_and_those_of_live_ones_are_not(tmp_path: Path) -> None:
    code = "with durable_folder(sys.argv[1] + '/folder') as f: print(f.name, flush=True); sys.stdin.readline()"
    alive, dead = start(code, tmp_path), start(code, tmp_path)
    alive_name, dead_name = wait_for_line(alive), wait_for_line(dead)
    hang = "os.replace = lambda a, b: (print(a.name, flush=True), time.sleep(60))\n"
    dead_file = start(hang + "write_bytes(Path(sys.argv[1]) / 'file', b'x')", tmp_path)
    dead_file_name = wait_for_line(dead_file)
    kill(dead)
    kill(dead_file)
    (tmp_path / ".mine.tmp").write_text("not a leftover")
    assert remove_leftovers(tmp_path) == [tmp_path / name for name in sorted([dead_name, dead_file_name])]
    assert names(tmp_path) == sorted([".mine.tmp", alive_name])
    alive.communicate("\n", timeout=20)
    assert names(tmp_path) == [".mine.tmp", "folder"] and alive.returncode == 0


def test_writers_work_while_leftovers_are_removed_all_the_time(tmp_path: Path) -> None:
    done = threading.Event()

    def clean() -> None:
        while not done.is_set():
            remove_leftovers(tmp_path)

    cleaner = threading.Thread(target=clean)
    cleaner.start()
    try:
        for number in range(100):
            write_bytes(tmp_path / "f", b"%d" % number)
            with durable_folder(tmp_path / "d", replace=True) as folder:
                (folder / "n").write_text(str(number))
            assert (tmp_path / "f").read_bytes() == b"%d" % number
            assert (tmp_path / "d" / "n").read_text() == str(number)
    finally:
        done.set()
        cleaner.join()


@pytest.mark.parametrize("hook", ["_open_folder", "take_lock"])
def test_a_temporary_removed_before_its_lock_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hook: str
) -> None:
    original = getattr(files, hook)
    removed: list[str] = []

    def cleaner_comes_first(*arguments: object, **options: object) -> object:
        if not removed:
            removed.append(names(tmp_path)[0])
            path = tmp_path / removed[0]
            path.rmdir() if path.is_dir() else path.unlink()
        return original(*arguments, **options)

    monkeypatch.setattr(files, hook, cleaner_comes_first)
    with durable_folder(tmp_path / "d") as folder:
        (folder / "n").write_text("n")
    assert (tmp_path / "d/n").read_text() == "n" and removed[0].startswith(".d.")
    if hook == "take_lock":
        removed.clear()
        (tmp_path / "d").rename(tmp_path / "z")
        write_bytes(tmp_path / "f", b"data")
        assert (tmp_path / "f").read_bytes() == b"data" and removed[0].startswith(".f.")


def test_a_folder_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    with durable_folder(tmp_path / "runs/step") as folder:
        (folder / "inner").mkdir()
        (folder / "inner/weights").write_text("w")
        assert names(tmp_path / "runs") == [folder.name]
    assert (tmp_path / "runs/step/inner/weights").read_text() == "w"
    with pytest.raises(KeyboardInterrupt), durable_folder(tmp_path / "runs/other") as folder:
        (folder / "weights").write_text("half")
        raise KeyboardInterrupt
    assert names(tmp_path / "runs") == ["step"]


def test_an_existing_folder_is_refused_before_any_work(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "f").write_text("")
    for name, replace in (("d", False), ("f", False), ("f", True)):
        with (
            pytest.raises(UserError, match=r"[df]: expected a folder to be made, but it exists already"),
            durable_folder(tmp_path / name, replace=replace),
        ):
            pytest.fail("the block must not run")
    assert names(tmp_path) == ["d", "f"]


def test_the_slower_of_two_writers_is_refused_and_the_folder_of_the_faster_one_stays(tmp_path: Path) -> None:
    with (
        pytest.raises(UserError, match="exists already"),
        durable_folder(tmp_path / "d"),
        durable_folder(tmp_path / "d") as faster,
    ):
        (faster / "who").write_text("faster")
    assert names(tmp_path) == ["d"] and (tmp_path / "d/who").read_text() == "faster"


def test_replacing_keeps_the_old_folder_until_the_new_one_is_done(tmp_path: Path) -> None:
    for text in ("old", "new"):
        with durable_folder(tmp_path / "d", replace=True) as folder:
            (folder / "n").write_text(text)
            if text == "new":
                assert (tmp_path / "d/n").read_text() == "old"
    assert names(tmp_path) == ["d"] and (tmp_path / "d/n").read_text() == "new"


def test_a_replacement_killed_between_its_renames_is_undone_by_remove_leftovers(tmp_path: Path) -> None:
    with durable_folder(tmp_path / "d") as folder:
        (folder / "n").write_text("old")
    replacing = start(
        "rename = os.rename\n"
        "def slow(a, b):\n    rename(a, b); print(b.name, flush=True); time.sleep(60)\n"
        "os.rename = slow\n"
        "with durable_folder(Path(sys.argv[1]) / 'd', replace=True) as f: (f / 'n').write_text('new')",
        tmp_path,
    )
    wait_for_line(replacing)
    assert "d" not in names(tmp_path) and remove_leftovers(tmp_path) == []
    kill(replacing)
    assert len(remove_leftovers(tmp_path)) == 2
    assert names(tmp_path) == ["d"] and (tmp_path / "d/n").read_text() == "old"


def test_a_replacement_that_fails_puts_the_old_folder_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with durable_folder(tmp_path / "d") as folder:
        (folder / "n").write_text("old")
    rename = os.rename

    def second_fails(source: Path, target: Path) -> None:
        if source.suffix == ".tmp":
            raise OSError("no luck")
        rename(source, target)

    monkeypatch.setattr(os, "rename", second_fails)
    with pytest.raises(OSError, match="no luck"), durable_folder(tmp_path / "d", replace=True):
        pass
    assert names(tmp_path) == ["d"] and (tmp_path / "d/n").read_text() == "old"


def test_a_lock_is_refused_to_others_until_its_holder_is_dead(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    holder = start("with file_lock(sys.argv[1]): print('held', flush=True); time.sleep(60)", path)
    assert wait_for_line(holder) == "held"
    refusal = pytest.raises(UserError, match=r"lock: expected a free lock, but another process holds it")
    with refusal, file_lock(path, wait=False):
        pytest.fail("two holders")
    kill(holder)
    with file_lock(path, wait=False):
        pass


def test_a_lock_waits_for_its_turn(tmp_path: Path) -> None:
    events = []

    def second() -> None:
        with file_lock(tmp_path / "lock"):
            events.append("second")

    with file_lock(tmp_path / "lock"):
        thread = threading.Thread(target=second)
        thread.start()
        time.sleep(0.1)
        events.append("first leaves")
    thread.join(10)
    assert events == ["first leaves", "second"]


def test_a_missing_folder_is_made_with_its_parents_and_a_file_in_the_way_is_an_error(tmp_path: Path) -> None:
    make_folder(tmp_path / "a/b/c")
    assert (tmp_path / "a/b/c").is_dir()
    (tmp_path / "f").write_text("")
    with pytest.raises(OSError):
        make_folder(tmp_path / "f/g")


def test_the_cache_is_in_the_folder_of_the_environment_variables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("ZERMELO_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "relative/is/ignored")
    assert cache_folder("a", "b") == tmp_path / "home/.cache/zermelo/a/b"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder("a") == tmp_path / "xdg/zermelo/a"
    monkeypatch.setenv("ZERMELO_CACHE", str(tmp_path / "own"))
    assert cache_folder() == tmp_path / "own"
    assert (tmp_path / "own").is_dir()


def test_an_unusable_cache_falls_back_with_one_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ZERMELO_CACHE", str(tmp_path / "file/cache"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.warns(UserWarning, match=r"file/cache: cannot be written; the cache is in .* instead") as said:
        first, second = cache_folder("a"), cache_folder("b")
    assert len(said) == 1 and first.is_dir() and second.is_dir()
    assert first.parent == second.parent == tmp_path / f"zermelo-{os.getuid()}"
    assert first.parent.stat().st_mode & 0o077 == 0


def test_a_fallback_cache_that_others_may_write_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    open_to_all = tmp_path / f"zermelo-{os.getuid()}"
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    monkeypatch.setenv("ZERMELO_CACHE", str(tmp_path / "file/cache"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.warns(UserWarning, match="cannot be written"):
        assert open_to_all not in cache_folder("a").parents


@pytest.mark.parametrize("level", ["cache", "cache/kernels", "cache/kernels/deep"])
@pytest.mark.parametrize("mode", [0o777, 0o770, 0o1777])
def test_a_cache_folder_that_others_can_write_to_is_not_used(
    level: str, mode: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ZERMELO_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "spare"))
    (tmp_path / "spare").mkdir()
    files._spare_cache.cache_clear()
    used = cache_folder("kernels", "deep")
    assert used == tmp_path / "cache/kernels/deep"
    assert all(path.stat().st_mode & 0o777 == 0o700 for path in (used, used.parent, used.parent.parent))
    (tmp_path / level).chmod(mode)
    with pytest.warns(UserWarning, match=rf"{level}: expected a folder of this user that nobody else can write to"):
        assert cache_folder("kernels", "deep").is_relative_to(tmp_path / "spare")
    files._spare_cache.cache_clear()


def test_the_cache_of_an_empty_home_is_the_user_s_and_a_tilde_is_it_too(monkeypatch):
    for name in ("ZERMELO_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "mkdir", lambda *_, **__: None)
    monkeypatch.setattr(os, "access", lambda *_: True)
    monkeypatch.setattr(files, "_is_own", lambda folder: True)
    monkeypatch.setenv("HOME", "")
    assert cache_folder("a") == Path(pwd.getpwuid(os.getuid()).pw_dir, ".cache/zermelo/a")
    monkeypatch.setenv("HOME", "/home/ernst")
    assert cache_folder("a") == Path("/home/ernst/.cache/zermelo/a")
    monkeypatch.setenv("ZERMELO_CACHE", "~/warm")
    assert cache_folder("a") == Path("/home/ernst/warm/a")
