"""The pages of documentation: their links lead somewhere, the index is complete, commands run."""

import re

import pytest
from documents import LINK, ROOT, anchors, commands, run

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
