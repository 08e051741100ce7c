"""Configurations: composed in order, written out and read back, and one line for whatever is wrong with them."""

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from base.errors import UserError
from games import builtin_games, load
from mcts.gumbel import Gumbel
from mcts.puct import PUCT
from mcts.variant import names
from train.__main__ import main, parser
from train.budget import Budget
from train.config import FOLDER, RENAMED, changed, compose, differences, of_table, read, renamed, settings, to_toml
from train.evaluation import read_evaluation
from train.keys import PART, shown
from train.run import name_for
from train.start import configuration
from train.state import Progress

GAME = load("tic_tac_toe")


def test_later_files_and_changes_win(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text('net = "mlp:1x8"\n[search]\nmethod = "puct"\nc_init = 2\nfpu = 0.1\n')
    found = compose(GAME, str(file), ["search.c_init=3.5", "net=resnet:1x8", "evaluation.reference_players=['random']"])
    assert (found.net, found.search.c_init, found.search.fpu) == ("resnet:1x8", 3.5, 0.1)
    assert found.evaluation.reference_players == ("random",)
    assert found.games == compose(GAME).games


def test_game_has_its_own_file_whatever_its_options() -> None:
    net = read(FOLDER / "connect_four.toml")["net"]
    assert compose(load("connect_four")).net == net
    assert compose(load("nim:most=5")).net == read(FOLDER / "base.toml")["net"]


@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.toml")), ids=lambda file: file.stem)
def test_every_file_of_the_folder_can_be_read_and_names_a_game(file: Path) -> None:
    for_many = {"base": GAME, "hidden": load("phantom_tic_tac_toe")}
    assert file.stem in for_many or file.stem in builtin_games()
    game = for_many.get(file.stem) or load(file.stem)
    compose(game, str(file)).selfplay.check(game)


def test_written_out_and_read_back_is_the_same(tmp_path: Path) -> None:
    config = compose(
        GAME, None, ["seed=9", "learning.rate=1e-5", "evaluation.reference_players=['uct:sims=5', 'a\"b\\\\']"]
    )
    (tmp_path / "config.toml").write_text(to_toml(config))
    assert of_table(read(tmp_path / "config.toml")) == config


def test_difference_names_key_and_both_values() -> None:
    one = compose(GAME)
    two = replace(one, seed=5, search=replace(one.search, c_init=9.0))
    assert differences(one, one) == []
    assert differences(one, two) == ["seed: 1, now 5", "search.c_init: 1.25, now 9.0"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("serch.c_init=1", "unknown key 'serch'; did you mean 'search'?"),
        ("search.c_int=1", r"unknown key 'search.c_int'; did you mean 'c_init'\?"),
        ("c_init=1", r"unknown key 'c_init'; did you mean 'search.c_init'\?"),
        ("seed", "expected key=value, got 'seed'"),
        ("seed=x", 'seed: expected a whole number, got "x"'),
        ("seed=-1", "seed: expected a whole number of 63 bits"),
        ("seed=true", "seed: expected a whole number, got true"),
        ("search.solve=1", "search.solve: expected true or false, got 1"),
        ("learning.rate=0", "learning.rate: expected a number above 0"),
        ("learning.rate=inf", 'learning.rate: expected a finite number, got "inf"'),
        ("learning.precision=fp8", 'learning.precision: expected one of auto, fp32, bf16, got "fp8"'),
        ("search=1", "search: expected a section, got 1"),
        ("evaluation.reference_players=random", 'evaluation.reference_players: expected a list, got "random"'),
        ("games=0", "games: expected at least 1"),
        ("game='chess'", "game: expected it on the command line alone"),
    ],
)
def test_wrong_change_is_one_line(change: str, words: str) -> None:
    with pytest.raises(UserError, match=words):
        compose(GAME, None, [change])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("net = ", "expected TOML"),
        ("nett = 'mlp'", r"own.toml: unknown key 'nett'; did you mean 'net'\?"),
        (None, "expected a configuration in TOML, found no such file"),
    ],
)
def test_wrong_file_is_named(text: str | None, words: str, tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    if text is not None:
        file.write_text(text)
    with pytest.raises(UserError, match=words):
        compose(GAME, str(file))


def options(*words: str) -> argparse.Namespace:
    found: argparse.Namespace = parser().parse_args(["tic_tac_toe", *words])
    return found


def test_run_goes_on_with_what_it_has_unless_told_otherwise() -> None:
    before = compose(GAME, None, ["seed=7"])
    assert configuration(GAME, options(), before) == before
    assert configuration(GAME, options("--set", "seed=7"), before) == before
    assert differences(before, configuration(GAME, options("--set", "games=3"), before)) == ["games: 256, now 3"]
    assert configuration(GAME, options("--device", "cuda"), before).device == "cuda"
    assert configuration(GAME, options("--config", str(FOLDER / "go.toml")), before) == compose(
        GAME, str(FOLDER / "go.toml")
    )
    assert configuration(GAME, options("--device", "cpu"), None) == compose(GAME)
    with pytest.raises(UserError, match="run: expected its own game, tic_tac_toe, got nim"):
        configuration(load("nim:most=5"), options(), before)


@pytest.mark.parametrize(
    "words",
    [
        ["--minutes", "0"],
        ["--minutes", "x"],
        ["--games", "1.5"],
        ["--games", "0"],
        ["--games", "1", "--minutes", "1"],
        ["--mins", "3"],
    ],
)
def test_wrong_command_line_is_one_line_and_exit_code_2(words: list[str], capsys: Any) -> None:
    with pytest.raises(SystemExit) as leaving:
        main(["tic_tac_toe", *words])
    assert leaving.value.code == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1


def test_games_budget_is_spent_in_games() -> None:
    budget = Budget(games=100)
    assert [budget.share(Progress(games=n), 1e9) for n in (0, 50, 200)] == [0, 0.5, 1]
    assert [budget.is_spent(Progress(games=n), 0) for n in (99, 100)] == [False, True]


def test_clock_budget_stops_where_less_than_half_of_an_iteration_is_left() -> None:
    budget = Budget(minutes=1)
    assert budget.share(Progress(), 15) == 0.25
    about = Progress(iterations=5, seconds=50.0)
    assert [budget.is_spent(about, seconds) for seconds in (54.9, 55.1)] == [False, True]
    assert not Budget().is_spent(about, 1e9)
    assert [str(each) for each in (budget, Budget(games=3), Budget())] == ["1 minutes", "3 games", "no limit"]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Budget(games=-1), "games: expected 0 or more"),
        (lambda: Budget(1, 1), "expected games or minutes, got both"),
    ],
)
def test_wrong_budget_is_refused(make: Any, words: str) -> None:
    with pytest.raises(UserError, match=words):
        make()


def test_run_is_called_like_its_game_in_letters_for_folders() -> None:
    assert name_for("go:size=9,komi=7.5") == "go-size-9-komi-7.5"
    assert name_for("tic_tac_toe") == "tic_tac_toe"


# ── runs of older versions ──

OLD = Path(__file__).parent / "data" / "old_run"


def test_configuration_with_old_keys_is_read_with_their_meaning() -> None:
    text = (OLD / "config.toml").read_text()
    assert all(f"\n{old.partition('.')[2]} = " in text for old in RENAMED)
    config = of_table(read(OLD / "config.toml", stored=True))
    assert (config.evaluation.reference_players, config.evaluation.reference_games) == (("random", "uct:sims=10"), 4)
    assert of_table(renamed({"game": config.game, "search": {"glance": False}})) != config
    again = to_toml(config)
    assert "reference_games = 4" in again and "rung" not in again


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("evaluation.rungs=['random']", "evaluation.reference_players=['random']"),
        ("evaluation.rung_games=7", "evaluation.reference_games=7"),
    ],
)
def test_old_key_on_the_command_line_is_the_new_one(old: str, new: str) -> None:
    assert compose(GAME, None, [old]) == compose(GAME, None, [new]) != compose(GAME)


def test_old_key_beside_its_new_name_is_refused(tmp_path: Path) -> None:
    (tmp_path / "both.toml").write_text("[evaluation]\nrung_games = 3\nreference_games = 4\n")
    words = r"both\.toml: evaluation\.rung_games: expected evaluation\.reference_games alone, .* got both"
    with pytest.raises(UserError, match=words):
        read(tmp_path / "both.toml")


def test_evaluation_of_an_older_version_is_read() -> None:
    found = read_evaluation(OLD / "00000064.arena.json")
    assert found.line.startswith("Elo ") and len(found.elo) == 3
    assert found.metrics["elo/search"] == found.elo[0] and found.details["search"]["elo"] is not None


def test_files_and_changes_are_merged_before_they_are_checked(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text("[search]\nc_init = 2.0\n")
    for changes in (["search.method=puct", "search.fpu=0.3"], ["search.fpu=0.3", "search.method=puct"]):
        found = compose(GAME, str(file), changes).search
        assert (found, found.temperature) == (PUCT(c_init=2.0, fpu=0.3), 0.8)
    with pytest.raises(UserError, match=r"own.toml: search.c_init: a setting of method 'puct', expected those"):
        compose(GAME, str(file))
    with pytest.raises(UserError, match=r"^search.considered: a setting of method 'gumbel', expected those of 'puct'"):
        compose(GAME, str(file), ["search.method=puct", "search.considered=2"])


def test_another_method_of_a_run_brings_its_own_defaults() -> None:
    before = compose(GAME, None, ["search.solve=false"])
    assert changed(before, ["search.method=gumbel"]).search == Gumbel(solve=False)
    with pytest.raises(UserError, match=r"search.c_init: a setting of method 'puct', expected those of 'gumbel'"):
        changed(compose(GAME, None, ["search.c_init=2"]), ["search.method=gumbel"])


def test_an_unknown_key_without_a_near_one_leads_to_the_list() -> None:
    with pytest.raises(UserError, match=r"^unknown key 'qqq'; python -m train GAME --show-config lists all$"):
        compose(GAME, None, ["qqq=1"])


@pytest.mark.parametrize("method", names())
def test_show_config_shows_each_key_with_its_sentence_and_config_takes_it(method: str, tmp_path: Path) -> None:
    config = compose(GAME, None, [f"search.method={method}", "seed=9"])
    (tmp_path / "shown.toml").write_text(shown(config))
    assert compose(GAME, str(tmp_path / "shown.toml")) == config
    lines = shown(config).splitlines()
    keys = [k for k, line in enumerate(lines) if " = " in line and not line.startswith("#")]
    assert len(keys) == len(settings(config)) and all(lines[k - 1].startswith("# ") for k in keys)


def test_show_config_makes_no_run(tmp_path: Path, monkeypatch: Any, capsys: Any) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["tic_tac_toe", "--show-config", "--set", "seed=9"]) == 0
    assert "\nseed = 9\n" in capsys.readouterr().out
    assert not list(tmp_path.iterdir())


def test_the_page_of_the_configuration_is_that_of_the_code() -> None:
    assert PART.path.read_text() == PART.page(), "renew it: python -m train.keys --write"
