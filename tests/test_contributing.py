"""The examples of CONTRIBUTING.md are what they are said to be."""

import dataclasses
import importlib
import math
import re
import sys
from types import ModuleType

import numpy as np
import pytest
from documents import ROOT, blocks
from test_window import played

from base.seeds import generator
from games import load
from mcts import variant
from mcts.moves import most_visited
from mcts.search import Search
from mcts.settings import SearchSettings
from nets import make_net
from train import losses
from train.learner import Learner, LearningSettings
from train.window import Window, check

PAGE = "CONTRIBUTING.md"


def example(words: str) -> str:
    (found,) = (code for language, code in blocks(PAGE) if language == "python" and words in code)
    return found


def reply() -> losses.Auxiliary:
    """The entry of `AUXILIARY` that the page shows."""
    given = dict(vars(losses)) | {"np": np, "policy_head": importlib.import_module("nets.heads").policy_head}
    exec(compile("from __future__ import annotations\n" + example("AUXILIARY = {"), PAGE, "exec"), given)
    found: losses.Auxiliary = given["AUXILIARY"]["reply"]
    return found


@pytest.mark.parametrize("name", ["chess", "dots_and_boxes:rows=2,cols=2", "backgammon:start=hyper"])
def test_the_example_of_an_auxiliary_target_is_the_policy_of_the_reply(name: str) -> None:
    game = load(name)
    record = played(game, 3)
    window = Window.of(game, check(game, [record]))
    targets = reply().target(window, np.arange(len(record)))
    movers = [game.to_move(state) for state in record.positions(game)]
    seen = 0
    for ply in range(len(record)):
        actions, probabilities, _ = record.policy(ply + 1)
        if len(actions) == 0 or movers[ply + 1] == movers[ply] or not record.searched[ply + 1]:
            assert np.isnan(targets[ply]).all()
        elif movers[ply] >= 0:
            expected = np.zeros(game.actions, np.float32)
            expected[window.views[movers[ply]][actions]] = probabilities
            np.testing.assert_array_equal(targets[ply], expected)
            seen += 1
    assert seen or name.startswith("backgammon")  # there the dice come between


@pytest.mark.parametrize("net", ["resnet:1x8", "mlp:1x16"])
def test_the_example_of_an_auxiliary_target_is_learned_by_every_kind_of_network(
    net: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(losses.AUXILIARY, "reply", reply())
    game = load("tic_tac_toe")
    learner = Learner(game, make_net(net, game), LearningSettings(batch=32, threads=1, auxiliary=("reply=0.15",)))
    window = Window.of(game, check(game, [played(game, seed) for seed in range(4)]))
    learned = learner.learn(window, 2, np.random.default_rng(1), 0.0)
    assert math.isfinite(learned.metrics()["loss/auxiliary reply"])


def test_the_example_of_a_search_variant_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("mcts.my_search")
    names = {"dataclass": dataclasses.dataclass, "SearchSettings": SearchSettings, "Variant": variant.Variant}
    vars(module).update(names, math=math, np=np, most_visited=most_visited)
    exec(compile("from typing import Literal\n" + example("VARIANT = "), PAGE, "exec"), vars(module))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(variant, "names", lambda: ("my_search",))
    game = load("tic_tac_toe")
    search = Search(game, variant.settings_class("my_search")(rollout=1.0), nodes=2000)
    search.begin(0, game.play("a1 b1 a2 b2"), generator(1))
    search.start(0, 200, False)
    search.run()
    root = search.tree.root()
    assert root.proven and root.utility[0] == 1.0


def test_the_table_names_files_that_are_there() -> None:
    """The column "start from"."""
    table = re.findall(r"^\| \[.*\|$", (ROOT / PAGE).read_text(), re.MULTILINE)
    starts = [each for row in table for each in re.findall(r"`([\w/]+\.\w+)`", row.rsplit("|", 2)[1])]
    assert len(starts) == len(table) and all((ROOT / each).is_file() for each in starts)
