"""What a person gets to see when a command goes wrong."""

import argparse
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from base.errors import ECHOED, Arguments, UserError, echoing, nearest, nearest_of, require, short

ROOT = Path(__file__).parents[1]


def start(tmp_path: Path, body: str, *arguments: str, stdout: int = subprocess.PIPE) -> subprocess.Popen[str]:
    """A command whose main does `body`, run as `python -m prog`."""
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    (tmp_path / "prog.py").write_text(
        "import os, sys, time\nfrom base.errors import Arguments, UserError, run_command\n"
        f"def main(argv):\n{lines}\n    return 0\nif __name__ == '__main__':\n    run_command(main)\n"
    )
    # Unbuffered output would never be left to flush at the end.
    env = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(tmp_path)]), "PYTHONUNBUFFERED": ""}
    command = [sys.executable, "-m", "prog", *arguments]
    return subprocess.Popen(command, stdout=stdout, stderr=subprocess.PIPE, text=True, cwd=tmp_path, env=env)


def ends(tmp_path: Path, body: str, *arguments: str) -> tuple[int, str, str]:
    process = start(tmp_path, body, *arguments)
    out, err = process.communicate(timeout=20)
    return process.returncode, out, err


PARSER = """
parser = Arguments(description="Two\\n  lines.")
parser.add_argument("--sims", type=int, default=0, help="simulations per move")
parser.add_argument("--quick", action="store_true", help="fewer of everything")
commands = parser.add_subparsers(dest="command", required=True)
commands.add_parser("match").add_argument("--games", type=int, default=40, help="how many")
commands.add_parser("ladder")
parser.parse_args(argv)
"""


def test_the_nearest_word_is_named_and_a_far_one_is_not() -> None:
    assert nearest("Otelo", ["chess", "othello"]) == "; did you mean 'othello'?"
    assert nearest_of("Otelo", {"chess": "a", "othello": "game.othello"}) == "; did you mean 'game.othello'?"
    assert nearest("zzz", ["chess", "othello"]) == ""
    assert nearest("13", ["13/9", "24/20"]) == nearest("a2a1", ["e2e4", "g1f3"]) == ""


def test_long_input_is_cut_in_every_part_of_a_message() -> None:
    word, text = "x" * 5000, " ".join("abc" for _ in range(5000))
    assert short("abc") == "abc" and short(word) == "x" * (ECHOED - 1) + "…"
    assert echoing(f"expected a, got '{text}'", text) == f"expected a, got '{short(text)}'"
    assert echoing(f"row 1: expected a, got '{word}'", f"a/{word} b") == f"row 1: expected a, got '{short(word)}'"


def test_a_worker_that_is_killed_ends_a_command_in_one_line(tmp_path: Path) -> None:
    body = "import signal\nfrom base.local_workers import run_jobs\nlist(run_jobs(signal.raise_signal, [9], 1))"
    code, _, err = ends(tmp_path, body)
    assert code == 2 and err.startswith("python -m prog: error: worker was killed by SIGKILL") and err.count("\n") == 1


def test_a_warning_is_one_line(tmp_path: Path) -> None:
    code, _, err = ends(tmp_path, "import warnings\nwarnings.warn('the disk is old')")
    assert (code, err) == (0, "python -m prog: warning: the disk is old\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--sims", "many", "ladder"], "prog: error: argument --sims: invalid int value: 'many'"),
        (["lader"], "'match', 'ladder'); did you mean 'ladder'?"),
        (["match", "--gamse=3"], "prog match: error: unknown argument '--gamse=3'; did you mean '--games'?"),
        (["match", "--game", "3"], "prog match: error: unknown argument '--game'; did you mean '--games'?"),
        ([], "prog: error: the following arguments are required: command"),
    ],
)
def test_a_wrong_argument_is_one_line_and_exit_code_2(tmp_path: Path, arguments: list[str], message: str) -> None:
    code, out, err = ends(tmp_path, PARSER, *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("python -m prog") and err.endswith(f"{message}\n")


def test_help_keeps_its_layout_and_shows_defaults_where_there_are_any() -> None:
    parser = Arguments(prog="p", description="Two\n  lines.")
    parser.add_argument("--sims", type=int, default=0, help="simulations")
    parser.add_argument("--seed", type=int, help="any")
    parser.add_argument("--quick", action="store_true", help="less")
    text = parser.format_help()
    assert "Two\n  lines." in text and "simulations (default: 0)" in text
    assert "any (default" not in text and "less (default" not in text


def test_subparsers_are_arguments_too() -> None:
    assert isinstance(Arguments(prog="p").add_subparsers().add_parser("x"), Arguments)


def test_good_arguments_are_parsed() -> None:
    parser = Arguments(prog="p")
    parser.add_argument("--sims", type=int, choices=[1, 2])
    assert parser.parse_args(["--sims", "2"]) == argparse.Namespace(sims=2)


def test_a_user_error_is_one_line_without_traceback(tmp_path: Path) -> None:
    assert ends(tmp_path, "raise UserError('no such game')") == (2, "", "python -m prog: error: no such game\n")


def test_first_field_beyond_its_bound_is_named_with_what_it_is() -> None:
    settings = SimpleNamespace(slots=3, simulations=0, games=-1, share=float("nan"))
    require(settings, "at least 1", lambda n: n >= 1, "slots")
    with pytest.raises(UserError, match=r"^simulations: expected at least 1, got 0$"):
        require(settings, "at least 1", lambda n: n >= 1, "slots", "simulations", "games")
    with pytest.raises(UserError, match=r"^share: expected 0 to 1, got nan$"):
        require(settings, "0 to 1", lambda x: 0 <= x <= 1, "share")


def test_two_lines_of_a_message_are_kept_and_more_are_joined(tmp_path: Path) -> None:
    assert ends(tmp_path, r"raise UserError('a\n  b')")[2] == "python -m prog: error: a\n  b\n"
    assert ends(tmp_path, r"raise UserError('a\n  b\nc')")[2] == "python -m prog: error: a b c\n"


def test_a_missing_file_is_one_line_that_names_it(tmp_path: Path) -> None:
    code, _, err = ends(tmp_path, "open('nowhere.toml')")
    assert (code, err) == (2, "python -m prog: error: No such file or directory: nowhere.toml\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_disk_behind_stdout_is_one_line(tmp_path: Path) -> None:
    with open("/dev/full", "w") as full:
        process = start(tmp_path, "print('x')", stdout=full.fileno())
    _, err = process.communicate(timeout=20)
    assert (process.returncode, err) == (2, "python -m prog: error: No space left on device\n")


def test_a_bug_keeps_its_traceback(tmp_path: Path) -> None:
    code, _, err = ends(tmp_path, "[][1]")
    assert code == 1 and "Traceback" in err and "IndexError" in err


def test_the_exit_code_of_main_is_the_program_s(tmp_path: Path) -> None:
    assert ends(tmp_path, "print('hello')\nreturn 7") == (7, "hello\n", "")
    assert ends(tmp_path, "sys.exit(5)")[0] == 5


def test_ctrl_c_is_quiet(tmp_path: Path) -> None:
    process = start(tmp_path, "print('ready', flush=True)\ntime.sleep(20)")
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=20)[1] == "" and process.returncode == 130


def test_control_characters_of_the_input_do_not_reach_the_terminal(tmp_path: Path) -> None:
    code, _, err = ends(tmp_path, "raise UserError('got ' + chr(27) + '[31m' + chr(0) + 'ä')")
    assert (code, err) == (2, "python -m prog: error: got \\x1b[31m\\x00ä\n")


def test_sigterm_is_one_line_and_what_is_open_gets_closed(tmp_path: Path) -> None:
    process = start(
        tmp_path, "try:\n    print('ready', flush=True)\n    time.sleep(20)\nfinally: print('closed', flush=True)"
    )
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=20)
    assert (out, err, process.returncode) == ("closed\n", "python -m prog: error: ended by SIGTERM\n", 143)


@pytest.mark.parametrize(
    "raised", ["ImportError('half a module')", "UserError('half a file')", "OSError(4, 'interrupted')"]
)
def test_whatever_an_interrupted_call_raises_ctrl_c_ends_with_its_own_code(raised: str, tmp_path: Path) -> None:
    """As where torch is imported: its own code turns the interrupt into another error."""
    body = f"try: os.kill(os.getpid(), 2); time.sleep(20)\nexcept KeyboardInterrupt: raise {raised} from None"
    assert ends(tmp_path, body) == (130, "", "")


@pytest.mark.parametrize("body", ["print('x' * 10**7)", "for _ in range(10**6): print('x')", "print('x')", PARSER])
def test_a_closed_pipe_behind_stdout_ends_the_command_quietly(tmp_path: Path, body: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    process = start(tmp_path, body, "--help", stdout=writer)
    os.close(writer)
    _, err = process.communicate(timeout=20)
    assert (process.returncode, err) == (141, "")


def test_an_error_is_printed_though_stdout_is_a_closed_pipe(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    process = start(tmp_path, "print('x')\nraise UserError('wrong')", stdout=writer)
    os.close(writer)
    assert process.communicate(timeout=20)[1] == "python -m prog: error: wrong\n" and process.returncode == 2


COMMANDS = sorted(path.parent.name for path in ROOT.glob("*/__main__.py"))


@pytest.mark.parametrize("command", COMMANDS)
def test_ctrl_c_while_a_command_still_imports_shows_nothing(command: str, tmp_path: Path) -> None:
    (tmp_path / "argparse.py").write_text("import os\nos.kill(os.getpid(), 2)\nimport time\ntime.sleep(20)\n")
    env = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(tmp_path)]), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([sys.executable, "-m", command], env=env, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "")  # 130 in a shell


@pytest.mark.parametrize("words", [["-m", "other"], ["-c", "import base.errors"]])
def test_ctrl_c_of_other_programs_stays_theirs(words: list[str], tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "__init__.py").write_text(
        "import base, os\ntry: os.kill(os.getpid(), 2)\nexcept KeyboardInterrupt: print('own')\n"
    )
    (tmp_path / "other" / "__main__.py").write_text("")
    env = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(tmp_path)])}
    words = [*words[:-1], words[-1] + "; import other"] if words[0] == "-c" else words
    done = subprocess.run([sys.executable, *words], env=env, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "own\n", "")
