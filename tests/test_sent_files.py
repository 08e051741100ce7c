"""Jobs name files of this machine; workers that do not have them get what they hold."""

import os
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from arena.match import Match
from base import sent_files
from base.local_workers import Processes, run_jobs
from base.sent_files import SentFiles, here
from base.workers import Results
from games import load
from games.engine.registry import files_of

ROOT = Path(__file__).parents[1]


def read(path: str) -> tuple[bytes, bool]:
    return here(path).read_bytes(), here(path) == Path(path)


def test_a_file_is_read_where_it_is_and_as_a_copy_where_it_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    for name in ("stays", "goes", "changes", "folder/inside"):
        (tmp_path / name).write_bytes(name.encode())
    sent = SentFiles.of(["stays", tmp_path / "goes", tmp_path / "changes", "folder"])
    (tmp_path / "goes").unlink()
    (tmp_path / "changes").write_bytes(b"other")
    shutil.rmtree(tmp_path / "folder")
    jobs = ["stays", str(tmp_path / "goes"), "goes", "changes", "folder/inside"]
    found = [answer for _, answer in run_jobs(read, jobs, 1, initializer=sent.unpack, ordered=True)]
    assert found == [
        (b"stays", True),
        (b"goes", False),
        (b"goes", False),
        (b"changes", False),
        (b"folder/inside", False),
    ]
    assert here("stays") == Path("stays") and not sent_files._folder  # nothing was copied in this process


class Elsewhere(Processes):
    """Workers that do not have a folder of this machine, and stand in another one."""

    def __init__(self, folder: Path) -> None:
        super().__init__(1)
        self.folder = folder

    def run(self, task: Any, jobs: Iterable[Any], *, ordered: bool = False) -> Results[Any]:
        jobs, hidden, before = list(jobs), self.folder.with_name("hidden"), os.getcwd()
        self.folder.rename(hidden)
        os.chdir("/")
        try:
            yield from super().run(task, jobs, ordered=ordered)
        finally:
            hidden.rename(self.folder)
            os.chdir(before)


def test_a_match_needs_none_of_its_files_where_it_is_played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from checkpoints import Card, save  # torch, which the workers of the other test need not import
    from nets import make_net

    folder = tmp_path / "mine"
    folder.mkdir()
    rules = (ROOT / "games/nim.py").read_text()
    (folder / "mynim.py").write_text(rules.replace("import numpy as np", "import beside\nimport numpy as np", 1))
    (folder / "beside.py").write_text("")
    monkeypatch.chdir(folder)
    game = load("./mynim.py")
    assert sorted(files_of(game).contents) == [str(folder / "beside.py"), str(folder / "mynim.py")]
    net = make_net("mlp:1x8", game, seed=3)
    save(folder / "net", net, Card(game.name, game.version, net.text))
    sides = ["net:net,sims=8", "random"]
    here_played = Match(game, *sides).play(3, workers=0)
    workers = Elsewhere(folder)
    away = Match(game, *sides).play(3, workers)
    workers.close()
    assert away.results.tolist() == here_played.results.tolist() and away.games == 6
