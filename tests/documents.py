"""Runs what a page of documentation shows: its blocks of Python, and the commands of its other blocks."""

import re
import shlex
import subprocess
from pathlib import Path

from commands import command

ROOT = Path(__file__).parent.parent
TINY_RUN = (
    "net=mlp:1x16",
    "games=8",
    "selfplay.simulations=6",
    "selfplay.slots=4",
    "learning.batch=8",
    "window.constant=40",
    "evaluation.every=0",
)


LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)")


def blocks(page: str) -> list[tuple[str, str]]:
    """Language and text of each block of code; no language for blocks of commands."""
    return re.findall(r"```(\w*)\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)


def games_of(page: str) -> list[str]:
    return [code for language, code in blocks(page) if language == "python" and "def game(" in code]


def commands(page: str) -> list[str]:
    """Those that stand without their output."""
    lines = [line for language, code in blocks(page) if not language for line in code.splitlines()]
    return [line for line in lines if "python -m " in line and not line.startswith(PROMPT)]


PROMPT = "$ "
SECONDS = re.compile(r"in [\d.]+ s(, [\d,]+ a second)?|\"seconds\": [\d.e-]+")
"""What differs from run to run."""


def transcripts(page: str) -> list[tuple[str, list[str]]]:
    """Commands behind a prompt, with the lines that they print."""
    found: list[tuple[str, list[str]]] = []
    for code in (code for language, code in blocks(page) if not language and code.startswith(PROMPT)):
        for line in code.splitlines():
            if line.startswith(PROMPT):
                found.append((line.removeprefix(PROMPT), []))
            else:
                found[-1][1].append(line)
    return found


def is_printed(shown: list[str], printed: str) -> bool:
    """Whether a command prints what a page shows: a line `…` stands for any lines, `…` in a line for any text, seconds for any."""
    parts = []
    for line in shown:
        if line == "…":
            parts.append(r"(?:.*\n)*?")
        else:
            masked = SECONDS.sub("in seconds", line.rstrip())
            parts.append(".*?".join(map(re.escape, masked.split("…"))) + r"[ ]*\n")
    return re.fullmatch("".join(parts), SECONDS.sub("in seconds", printed)) is not None


def run(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """One command in `folder`, with fewer games, and training for a moment."""
    words = re.sub(r"--games \d+", "--games 4", line.split("#")[0].strip())
    if re.search("-m arena match", words) and "--games" not in words:
        words += " --games 4"
    if re.search("-m train (?!report)", words) and "--eval-only" not in words:
        words = re.sub(r"--minutes \d+", "", words) + " --games 8 --workers 0"
        words += "".join(f" --set {each}" for each in TINY_RUN)
    given, _, words = words.partition("|") if "|" in words else ("", "", words)
    python, option, *module = shlex.split(words)
    assert (python, option) == ("python", "-m"), line
    return command(module, folder, shlex.split(given)[1] if given else "")


def anchors(page: Path) -> set[str]:
    """Of the headings of a page, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
