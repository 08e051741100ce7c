"""Tree search with rollouts, a linear EVAL or a learned evaluator at the leaves.

| file           |                                                                                             |
|----------------|---------------------------------------------------------------------------------------------|
| `tree.py`      | the tree as structured arrays, its laws, its memory, advancing the root                       |
| `selection.py` | UCB1 and PUCT                                                                               |
| `phases.py`    | select, expand, evaluate, backup; proofs                                                    |
| `search.py`    | settings, and the two drivers: `run` inside compiled code, `step` by batches of leaves        |
| `root.py`      | what a searched tree says: its moves in order, the line it expects                            |
| `uct.py`       | a player: limits, reuse of the tree from move to move                                         |
"""
