"""The examples of CONTRIBUTING.md are what they are said to be."""

import dataclasses
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
from train import auxiliary
from train.learner import Learner, LearningSettings
from train.window import Window, check

PAGE = "CONTRIBUTING.md"


def example(words: str) -> str:
    (found,) = (code for language, code in blocks(PAGE) if language == "python" and words in code)
    return found


@pytest.mark.parametrize("net", ["resnet:1x8", "mlp:1x16"])
def test_the_example_of_an_auxiliary_target_is_learned_by_every_kind_of_network(
    net: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = dict(vars(auxiliary))
    exec(compile("from __future__ import annotations\n" + example("AUXILIARY = {"), PAGE, "exec"), given)
    monkeypatch.setitem(auxiliary.AUXILIARY, "length", given["AUXILIARY"]["length"])
    game = load("tic_tac_toe")
    learner = Learner(game, make_net(net, game), LearningSettings(batch=32, threads=1, auxiliary=("length=0.1",)))
    record = played(game, 1)
    window = Window.of(game, check(game, [record]))
    targets = given["plies_left"](window, np.arange(len(record)))
    np.testing.assert_allclose(targets[:, 0], np.arange(len(record), 0, -1) / 9, rtol=1e-6)
    learned = learner.learn(window, 2, np.random.default_rng(1), 0.0)
    assert math.isfinite(learned.metrics()["loss/auxiliary length"])


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
