"""The package layout: which folder may import which.

- A folder imports itself and folders with a lower number; siblings hand each other things through a caller above.
- `tests` and `benchmarks` import anything; no package imports them.
- Only `monitor/tensorboard.py` touches TensorBoard.
- Only `cluster/ray_nodes.py` and `cluster/private.py` touch Ray, inside functions: it is an extra.
- Some folders start fast: importing them does not import torch. A function of theirs may.

An import counts wherever it stands: in a function, under TYPE_CHECKING, in `importlib.import_module("…")`.
docs/design.md says why.
"""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

# The package layout. A new folder gets its number here.
LAYERS = {
    "base": 0,
    "configs": 0,
    "games": 1,
    "cluster": 1,
    "mcts": 2,
    "classical": 2,
    "nets": 2,
    "checkpoints": 3,
    "selfplay": 4,
    "arena": 4,
    "monitor": 5,
    "train": 6,
    "zermelo": 7,
}
OUTSIDE = {"tests", "benchmarks", "docs", "examples"}  # import anything, are imported by no package
WITHOUT_TORCH = {"base", "games", "cluster", "mcts", "classical", "checkpoints", "selfplay", "arena"}
TENSORBOARD = {"tensorboard", "torch.utils.tensorboard"}
TENSORBOARD_MAY = "monitor/tensorboard.py"
RAY_MAY = {"cluster/ray_nodes.py", "cluster/private.py"}
NOT_OURS = {"runs", "build", "dist", "__pycache__", "node_modules", "venv", "env"}  # and whatever begins with a dot


@dataclass(frozen=True)
class Import:
    """One import: `module`, in full (`games.chess`), as written in `line`."""

    module: str
    line: int
    at_start: bool  # carried out when the file is imported: not in a function, not under TYPE_CHECKING

    def is_within(self, package: str) -> bool:
        return self.module == package or self.module.startswith(package + ".")


def parts_of(path: str) -> list[str]:
    """The package a file lies in: `games/chess/moves.py` → games, chess."""
    return path.split("/")[:-1]


def absolute(path: str, level: int, module: str) -> str:
    """`from ..module` in `path`, as an absolute name; level 0 is absolute already."""
    package = parts_of(path)
    start = package[: max(0, len(package) - level + 1)] if level else []
    return ".".join([*start, *filter(None, [module])])


def is_type_checking(test: ast.expr) -> bool:
    return (isinstance(test, ast.Name) and test.id == "TYPE_CHECKING") or (
        isinstance(test, ast.Attribute) and test.attr == "TYPE_CHECKING"
    )


def dynamic_import(path: str, call: ast.Call) -> str | None:
    """The module that `importlib.import_module("…")`, under whatever name, or `__import__("…")` imports."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", None)
    if name not in {"import_module", "__import__"}:
        return None
    words = {"name": call.args[0] if call.args else None, "package": call.args[1] if len(call.args) > 1 else None}
    words |= {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
    module, package = words["name"], words["package"]
    if not (isinstance(module, ast.Constant) and isinstance(module.value, str)):
        return None
    bare = module.value.lstrip(".")
    level = len(module.value) - len(bare)
    if level and name == "import_module" and isinstance(package, ast.Constant) and isinstance(package.value, str):
        path = package.value.replace(".", "/") + "/_"
    return absolute(path, level, bare)


def imports(path: str, source: str) -> Iterator[Import]:
    """Every import of one file; `path` is relative to the root, with slashes."""

    def walk(node: ast.AST, at_start: bool) -> Iterator[Import]:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(alias.name, node.lineno, at_start)
        elif isinstance(node, ast.ImportFrom):
            module = absolute(path, node.level, node.module or "")
            for alias in node.names:  # a name may be a module: `from torch.utils import tensorboard`
                yield Import(".".join(filter(None, [module, alias.name])), node.lineno, at_start)
        elif isinstance(node, ast.Call) and (dynamic := dynamic_import(path, node)):
            yield Import(dynamic, node.lineno, at_start)

        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            # The body waits for the call; defaults, decorators and annotations do not.
            body = node.body if isinstance(node.body, list) else [node.body]
            for child in ast.iter_child_nodes(node):
                yield from walk(child, at_start and child not in body)
        elif isinstance(node, ast.If) and is_type_checking(node.test):
            for child in node.body:
                yield from walk(child, False)
            for child in node.orelse:
                yield from walk(child, at_start)
        else:
            for child in ast.iter_child_nodes(node):
                yield from walk(child, at_start)

    yield from walk(ast.parse(source, path), True)


def violations(path: str, source: str) -> list[str]:
    """What is wrong with the imports of one file, a sentence each."""
    folder = path.split("/")[0]
    if folder in OUTSIDE:
        return []
    if folder not in LAYERS:
        return [f"{path}: no number for {folder!r}: put it into LAYERS of tests/test_arrows.py"]
    found = []
    for each in imports(path, source):
        where = f"{path}:{each.line}"
        top = each.module.split(".")[0]
        if top in OUTSIDE:
            found.append(f"{where}: {folder} imports {top}, which nothing may")
        elif top in LAYERS and top != folder and LAYERS[top] >= LAYERS[folder]:
            how = "a sibling" if LAYERS[top] == LAYERS[folder] else "which is above it"
            found.append(f"{where}: {folder} ({LAYERS[folder]}) imports {top} ({LAYERS[top]}), {how}")
        if any(each.is_within(package) for package in TENSORBOARD) and path != TENSORBOARD_MAY:
            found.append(f"{where}: TensorBoard is touched in {TENSORBOARD_MAY} only")
        elif each.is_within("ray") and (path not in RAY_MAY or each.at_start):
            found.append(f"{where}: Ray is imported inside functions of {' and '.join(sorted(RAY_MAY))} only")
        elif each.is_within("torch") and each.at_start and folder in WITHOUT_TORCH:
            found.append(f"{where}: {folder} starts without torch: import it inside a function")
    return list(dict.fromkeys(found))  # `from games import a, b` is one


def sources(root: Path) -> list[str]:
    """Every Python file below `root`'s folders, relative to it, with slashes."""
    found = []
    for file in root.rglob("*.py"):
        parts = file.relative_to(root).parts
        if len(parts) > 1 and not any(part.startswith(".") or part in NOT_OURS for part in parts):
            found.append("/".join(parts))
    return sorted(found)


def layout_violations(root: Path) -> list[str]:
    return [each for path in sources(root) for each in violations(path, (root / path).read_text(encoding="utf-8"))]


def import_without_torch(root: Path) -> str:
    """Import every file of the folders WITHOUT_TORCH where there is no torch; the error's text, or nothing.

    The source of one file does not show this: torch reached through another folder, or through a dependency.
    """
    names = [
        path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        for path in sources(root)
        if path.split("/")[0] in WITHOUT_TORCH and not path.endswith("/__main__.py")
    ]
    program = """if True:
        import importlib, sys
        sys.path.insert(0, "")  # also where PYTHONSAFEPATH is set
        sys.modules["torch"] = None
        for name in sys.argv[1:]:
            importlib.import_module(name)
    """
    done = subprocess.run(
        [sys.executable, "-c", program, *names], cwd=root, capture_output=True, text=True, check=False
    )
    return "" if done.returncode == 0 else done.stderr


def test_folders_import_only_lower_folders() -> None:
    assert layout_violations(ROOT) == []


def test_every_folder_of_the_layout_is_there() -> None:
    assert {path.split("/")[0] for path in sources(ROOT)} >= LAYERS.keys()


@pytest.mark.parametrize(("folder", "title"), [("train", "Training"), ("monitor", "Monitoring")])
def test_design_names_every_file_of_a_folder_and_no_other(folder: str, title: str) -> None:
    section = (ROOT / "docs/design.md").read_text().partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    cells = re.findall(r"^\| (`.+?) \|", section, re.MULTILINE)
    named = {name for cell in cells for name in re.findall(r"`(\w+)/?`", cell)}
    files = {path.stem for path in (ROOT / folder).iterdir() if path.suffix == ".py" or path.is_dir()}
    assert named == files - {"__init__", "__pycache__"}


def test_fast_folders_start_without_torch() -> None:
    assert import_without_torch(ROOT) == ""


# -- the checker catches what it is there for ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "source", "words"),
    [
        ("base/a.py", "import games", r"base \(0\) imports games \(1\), which is above it"),
        ("base/a.py", "import os, games.chess as c", "base .* imports games"),
        ("games/a.py", "from mcts.search import run", "games .* imports mcts"),
        ("games/sub/a.py", "from ...train import loop", "games .* imports train"),
        ("games/a.py", "from .. import train", "games .* imports train"),
        ("mcts/a.py", "import nets", r"mcts \(2\) imports nets \(2\), a sibling"),
        ("mcts/a.py", "def f():\n    import classical", "a.py:2: mcts .* a sibling"),
        (
            "classical/a.py",
            "class C:\n    def f(self):\n        from mcts import tree",
            "a.py:3: classical .* a sibling",
        ),
        ("nets/a.py", "if TYPE_CHECKING:\n    from mcts import Evaluator", "nets .* imports mcts"),
        ("nets/a.py", "if typing.TYPE_CHECKING:\n    from mcts import Evaluator", "nets .* imports mcts"),
        ("nets/a.py", "try:\n    import mcts\nexcept ImportError:\n    pass", "nets .* imports mcts"),
        ("selfplay/a.py", "importlib.import_module('arena.players')", "selfplay .* imports arena"),
        ("selfplay/a.py", "import_module(name='arena.players')", "selfplay .* imports arena"),
        ("selfplay/a.py", "import_module('.players', 'arena')", "selfplay .* imports arena"),
        ("selfplay/a.py", "import_module('..players', package='arena.sub')", "selfplay .* imports arena"),
        ("selfplay/a.py", "f = lambda: __import__('train')", "selfplay .* imports train"),
        ("arena/a.py", "from selfplay import play", "arena .* a sibling"),
        ("checkpoints/a.py", "import arena", "checkpoints .* imports arena"),
        ("train/a.py", "import tests.laws", "train imports tests, which nothing may"),
        ("base/a.py", "def f():\n    from benchmarks import clock", "base imports benchmarks, which nothing may"),
        ("train/a.py", "import tensorboard", "TensorBoard is touched in monitor/tensorboard.py only"),
        ("train/a.py", "def f():\n    from torch.utils.tensorboard import SummaryWriter", "TensorBoard is touched"),
        ("nets/a.py", "from torch.utils import tensorboard", "TensorBoard is touched"),
        ("arena/log.py", "from tensorboard.compat import proto", "TensorBoard is touched"),
        ("arena/a.py", "def f():\n    import ray", "Ray is imported inside functions of cluster/private.py and"),
        ("cluster/ray_nodes.py", "from ray.util import state", "Ray is imported inside functions"),
        ("cluster/a.py", "import games", r"cluster \(1\) imports games \(1\), a sibling"),
        ("arena/a.py", "import torch", "arena starts without torch"),
        ("mcts/a.py", "from torch import nn", "mcts starts without torch"),
        ("base/a.py", "import torch.nn.functional as F", "base starts without torch"),
        ("games/a.py", "class C:\n    import torch", "games starts without torch"),
        ("selfplay/a.py", "try:\n    import torch\nexcept ImportError:\n    torch = None", "selfplay starts without"),
        ("classical/a.py", "def f(x=__import__('torch')): pass", "classical starts without torch"),
        ("classical/a.py", "if TYPE_CHECKING:\n    pass\nelse:\n    import torch", "classical starts without torch"),
        ("attic/a.py", "", "no number for 'attic'"),
    ],
)
def test_violation_is_caught(path: str, source: str, words: str) -> None:
    found = violations(path, source)
    assert len(found) == 1
    assert re.search(words, found[0]), found[0]


@pytest.mark.parametrize(
    ("path", "source"),
    [
        (
            "games/a.py",
            "from base import files\nfrom . import record\nfrom .record import GameRecord\nimport games.chess",
        ),
        ("games/sub/a.py", "from .. import record\nfrom ..record import GameRecord\nfrom ... import base"),
        ("mcts/a.py", "import numpy\nimport numba\nfrom games import connect_four"),
        ("train/a.py", "import base, games, mcts, classical, nets, checkpoints, selfplay, arena, torch"),
        ("monitor/tensorboard.py", "from torch.utils.tensorboard import SummaryWriter\nimport tensorboard"),
        ("nets/a.py", "import torch"),
        ("cluster/private.py", "def f():\n    from ray.cluster_utils import Cluster"),
        ("checkpoints/a.py", "import safetensors.numpy"),
        ("arena/a.py", "def f():\n    import torch\n    from nets import load"),
        ("arena/a.py", "async def f():\n    import torch"),
        ("arena/a.py", "if TYPE_CHECKING:\n    import torch"),
        ("base/a.py", "import gamestop\nimport trainer\nimport torchlike"),  # begins like one of ours
        ("base/a.py", "importlib.import_module(name)\nwords = 'import train'"),
        ("selfplay/a.py", "import_module('..arena', package='selfplay.sub')"),  # selfplay.arena
        ("tests/test_a.py", "import train, torch, tensorboard, benchmarks"),
        ("benchmarks/a.py", "import train, torch, open_spiel"),
    ],
)
def test_allowed_import_passes(path: str, source: str) -> None:
    assert violations(path, source) == []


def plant(root: Path, files: dict[str, str]) -> None:
    for path, source in files.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(source, encoding="utf-8")


def test_whole_house_is_searched_but_not_what_is_not_ours(tmp_path: Path) -> None:
    wrong = "import train"
    ours = ["base/a.py", "games/deep/er/a.py"]
    others = [".venv/lib/a.py", "runs/x/a.py", "games/__pycache__/a.py", "build/lib/a.py"]
    plant(tmp_path, dict.fromkeys([*ours, *others], wrong))
    assert [each.split(":")[0] for each in layout_violations(tmp_path)] == ours


def test_torch_through_another_folder_is_caught_with_its_chain(tmp_path: Path) -> None:
    plant(
        tmp_path,
        {
            "nets/__init__.py": "import torch",
            "arena/__init__.py": "",
            "arena/players.py": "from nets import anything",
        },
    )
    assert layout_violations(tmp_path) == []  # which is why the folders are also imported for real
    error = import_without_torch(tmp_path)
    assert "players.py" in error
    assert "torch" in error


def test_torch_inside_a_function_does_not_count_at_start(tmp_path: Path) -> None:
    plant(tmp_path, {"arena/__init__.py": "def load():\n    import torch\n    return torch"})
    assert import_without_torch(tmp_path) == ""
