"""What a run resumes from is what it wrote, and someone else's run executes nothing unasked."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from miniature import run, weights

from base.errors import UserError
from base.files import write_sealed_json
from train.budget import Budget
from train.names import folder_of
from train.run import opened, read_budget
from train.run_reader import find
from train.seal import hash_of_configuration
from train.state import newest, read_progress


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("seal") / "run"
    run(folder, 16)
    return folder


@pytest.fixture
def copied(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made, tmp_path / "run")
    return tmp_path / "run"


def edit(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_a_configuration_that_was_edited_is_refused(copied: Path) -> None:
    path = copied / "config.toml"
    path.write_text(path.read_text().replace("seed = ", "seed = 1"))
    with pytest.raises(UserError, match=r"config\.toml: expected the configuration that the run began with"):
        run(copied)
    with pytest.raises(UserError, match="expected a state of this configuration, got one of another"):
        newest(copied / "state", print, hash_of_configuration(copied))


@pytest.mark.parametrize(
    "name", ["iterations", "games", "plies", "steps", "seconds", "made", "configuration", "sha256"]
)
@pytest.mark.parametrize("value", [3, "x", None, [1, 2]])
def test_a_state_with_an_edited_entry_is_passed_over_in_one_line(copied: Path, name: str, value: Any) -> None:
    said: list[str] = []
    edit(copied / "state" / "000002" / "state.json", **{name: value})
    found = newest(copied / "state", said.append)
    assert found is not None and found[0].iterations == 1
    assert len(said) == 1 and "expected the checksum of its content" in said[0]


def as_of_format_1(path: Path, **changes: Any) -> None:
    about = json.loads(path.read_text()) | changes | {"format": 1}
    later = ("checksum", "configuration", "recorded")
    path.write_text(json.dumps({name: about[name] for name in about if name not in later}))


def test_a_state_from_before_recorded_games_stayed_in_the_window_resumes_without_them(copied: Path) -> None:
    path = copied / "state" / "000002" / "state.json"
    before = read_progress(path)
    about = json.loads(path.read_text()) | {"format": 2}
    write_sealed_json(path, {name: about[name] for name in about if name not in ("checksum", "recorded")})
    assert read_progress(path) == before and before.recorded == 0
    write_sealed_json(
        path, {name: about[name] for name in about if name != "checksum"} | {"format": 3, "recorded": 10**6}
    )
    with pytest.raises(UserError, match="expected counters from 0 on"):  # more than was made
        read_progress(path)


def test_a_state_of_an_older_version_is_read_and_its_types_are_checked(copied: Path) -> None:
    said: list[str] = []
    path = copied / "state" / "000002" / "state.json"
    before = read_progress(path)
    as_of_format_1(path)
    assert read_progress(path) == before
    assert newest(copied / "state", said.append, "sha256:of any configuration")[0] == before and not said  # type: ignore[index]
    for wrong in ({"made": 7}, {"made": [3, 1]}, {"seconds": "x"}, {"games": -1}, {"steps": 1.5}, {"sha256": 5}):
        as_of_format_1(path, **({"made": [1, 2], "seconds": 0, "games": 16, "steps": 1, "sha256": ""} | wrong))
        newest(copied / "state", said.append)
        assert "; resuming from the state before it" in said.pop() and not said


def test_a_state_under_another_name_is_passed_over(copied: Path) -> None:
    said: list[str] = []
    (copied / "state" / "000002").rename(copied / "state" / "000009")
    assert newest(copied / "state", said.append)[0].iterations == 1  # type: ignore[index]
    assert "expected the counters after 9 iterations, got others" in said[0]


def test_a_budget_that_was_edited_is_refused_and_one_of_an_older_version_read(copied: Path) -> None:
    path = copied / "budget.json"
    edit(path, games=17)
    with pytest.raises(UserError, match=r"budget\.json: expected the checksum of its content"):
        read_budget(path)
    path.write_text('{"games": 17, "minutes": 0.0}')
    assert read_budget(path) == Budget(17)
    for text in ('{"games": "x", "minutes": 0}', '{"games": 1}', "[]", '{"games": 1.5, "minutes": 0}'):
        path.write_text(text)
        with pytest.raises(UserError, match=r"budget\.json: expected "):
            read_budget(path)


def test_a_checkpoint_with_the_weights_of_another_step_is_written_again(copied: Path) -> None:
    said: list[str] = []
    before, newest_one = weights(copied), sorted((copied / "checkpoints").iterdir())[-1]
    shutil.rmtree(newest_one)
    shutil.copytree(sorted((copied / "checkpoints").iterdir())[0], newest_one)
    assert weights(copied) != before
    run(copied, 16, said=said)
    assert weights(copied) == before and any("got others" in line and "written again" in line for line in said)


# ── whose run it is ──

ENGINE = r'reference_players = ["uci:\"touch EXECUTED\",ms=5", "random"]'


def foreign(folder: Path, old: str, new: str) -> None:
    """As if made elsewhere: another configuration, and no key of this user's."""
    text = (folder / "config.toml").read_text()
    (line,) = [line for line in text.splitlines() if line.startswith(old)]
    (folder / "config.toml").write_text(text.replace(line, new))
    (folder / "seal.json").unlink()


def resume(folder: Path, trust: bool = False) -> None:
    from train.run import stored

    config = stored(folder)
    assert config is not None
    with opened(str(folder), config, None, print, trust):
        pass


def test_the_programs_of_another_users_run_are_not_started_unless_it_is_trusted(copied: Path) -> None:
    foreign(copied, "reference_players", ENGINE)
    with pytest.raises(UserError, match=r"expected --trust, .* it would execute the program 'touch EXECUTED'"):
        resume(copied)
    resume(copied, trust=True)
    resume(copied)  # once is enough


def test_a_key_that_others_can_read_signs_nothing(copied: Path, monkeypatch: Any, tmp_path: Path) -> None:
    monkeypatch.setenv("ZERMELO_CACHE", str(tmp_path / "cache"))
    foreign(copied, "reference_players", ENGINE)
    resume(copied, trust=True)
    resume(copied)
    key = tmp_path / "cache" / "keys" / "runs"
    assert key.stat().st_mode & 0o077 == 0
    key.chmod(0o644)
    with pytest.raises(UserError, match="expected --trust"):
        resume(copied)


def test_a_report_does_not_execute_the_rules_of_another_users_run(copied: Path, tmp_path: Path) -> None:
    rules = tmp_path / "rules.py"
    rules.write_text(
        f"from pathlib import Path\nPath({str(tmp_path / 'EXECUTED')!r}).touch()\nfrom games.tic_tac_toe import game\n"
    )
    foreign(copied, "game =", f'game = "{rules}"')
    with pytest.raises(
        UserError, match=r"expected --rules FILE with it, or --trust, .* execute the rules in .*rules\.py"
    ):
        find(str(copied))
    assert not (tmp_path / "EXECUTED").exists()
    with pytest.raises(UserError, match=r"--rules: expected .*rules\.py, got tic_tac_toe"):
        find(str(copied), rules="tic_tac_toe")
    assert find(str(copied), rules=str(rules)).game is not None and (tmp_path / "EXECUTED").exists()


@pytest.mark.parametrize("name", [".", "..", "", " "])
def test_a_run_is_not_called_like_a_folder(name: str) -> None:
    with pytest.raises(UserError, match="run: expected a name or a folder's path, got '"):
        folder_of(name)


def test_a_path_through_a_folder_that_is_not_there_leads_nowhere_else(tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "inside").mkdir()
    (tmp_path / "keep").touch()
    monkeypatch.chdir(tmp_path / "inside")
    assert folder_of("a/../b/c") == Path("b/c")
    with pytest.raises(UserError, match="expected a run, or a new or empty folder for one; it holds"):
        run(folder_of("a/../../../" + tmp_path.name))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["inside", "keep"]


def test_a_folder_of_something_else_is_no_run(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(UserError, match=r"expected a run, or a new or empty folder for one; it holds 'notes\.txt'"):
        run(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
