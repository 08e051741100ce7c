"""The pages of documentation: their links lead somewhere, the index is complete, commands run."""

import re
import shutil
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from documents import LINK, ROOT, anchors, commands, is_printed, run, transcripts

PAGES = [
    path.relative_to(ROOT).as_posix()
    for path in sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("configs/*.md")])
]


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_to_files_and_headings(page):
    text = re.sub(r"```.*?```", "", (ROOT / page).read_text(), flags=re.DOTALL)
    for file, heading in LINK.findall(text):
        target = (ROOT / page).parent / file if file else ROOT / page
        assert target.exists(), f"{page}: {file}"
        assert not heading or heading in anchors(target), f"{page}: {file}#{heading}"


def test_the_index_has_every_page():
    index = (ROOT / "docs" / "README.md").read_text()
    pages = {path.name for path in (ROOT / "docs").iterdir() if path.suffix in {".md", ".py"}} - {"README.md"}
    assert pages == {file for file, _ in LINK.findall(index) if "/" not in file}


@pytest.mark.parametrize("line", commands("docs/classical.md"))
def test_the_commands_of_classical_search_run(line, tmp_path):
    done = run(line, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout


@pytest.mark.parametrize("line", commands("docs/hidden_information.md"))
def test_the_commands_of_hidden_information_run(line, tmp_path):
    done = run(line, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_classical_search_prints_what_its_page_shows(tmp_path):
    shown = transcripts("docs/classical.md")
    assert len(shown) > 20
    for line, expected in shown:
        done = run(line, tmp_path)
        assert done.returncode == 0, (line, done.stderr)
        assert is_printed(expected, done.stdout), (line, done.stdout)
    for picture in tmp_path.glob("*.svg"):
        ElementTree.parse(picture)


def test_a_page_that_shows_another_output_is_noticed():
    assert is_printed(["a", "…", "depth 2, 3 nodes in 0.1 s"], "a\nb\nc\ndepth 2, 3 nodes in 0.25 s, 7,000 a second\n")
    assert not is_printed(["a", "…", "depth 2, 4 nodes in 0.1 s"], "a\nb\ndepth 2, 3 nodes in 0.25 s\n")
    assert not is_printed(["a"], "a\nb\n") and not is_printed(["b", "…"], "a\nb\n")
    assert is_printed(["x … z"], "x y z\n") and not is_printed(["x … z"], "x y\n")


# ── docs/learning.md: with a run, games of connect four and a PGN file ──

PGN = """[Result "1-0"]

1. e4 e5 2. Bc4 Nc6 3. Qh5 Nf6 4. Qxf7# 1-0

[Result "0-1"]

1. f3 e5 2. g4 Qh4# 0-1
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("learning")
    (path / "lichess.pgn").write_text(PGN * 4)
    for line in (
        "python -m train othello --run oth",
        "python -m arena match connect_four random random --records games",
    ):
        done = run(line, path)
        assert done.returncode == 0, done.stderr
    (fitted,) = (path / "runs" / "oth" / "eval").glob("*.json")
    shutil.copy(fitted, fitted.with_name("00006144.eval.json"))
    return path


@pytest.mark.parametrize("line", commands("docs/learning.md"))
def test_the_commands_of_learning_from_games_run(line: str, folder: Path) -> None:
    done = run(line, folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_the_commands_of_the_page_of_metrics_are_those_of_the_readme() -> None:
    """Where they run."""
    known = {line.split("#")[0].strip() for line in commands("README.md")}
    assert {line.split("#")[0].strip() for line in commands("docs/tensorboard.md")} <= known


@pytest.mark.parametrize("line", commands("docs/configuration.md"))
def test_the_commands_of_the_configuration_run(line: str, tmp_path: Path) -> None:
    done = run(line, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "[search]" in done.stdout


@pytest.mark.parametrize("line", [*commands("docs/training.md"), *commands("docs/recipes.md")])
def test_the_commands_of_training_can_begin(line: str, tmp_path: Path) -> None:
    """Hours of training show their configuration; a match of hundreds of games is one of two."""
    shortened, expected = ("--games 2", "Elo") if " arena match " in line else ("--show-config", 'net = "')
    done = run(f"{line} {shortened}", tmp_path)
    assert done.returncode == 0, done.stderr
    assert expected in done.stdout


def test_every_page_with_commands_is_run() -> None:
    run_here = {
        f"docs/{name}.md"
        for name in [
            "classical",
            "configuration",
            "hidden_information",
            "learning",
            "recipes",
            "tensorboard",
            "training",
        ]
    }
    not_run = {"docs/page.md"}  # its commands serve until Ctrl-C: tests/test_page.py
    assert {page for page in PAGES if commands(page)} == run_here | not_run | {"README.md", "docs/your_game.md"}
