"""Tree search with rollouts, a linear EVAL or a learned evaluator at the leaves.

| file           |                                                                                             |
|----------------|---------------------------------------------------------------------------------------------|
| `tree.py`      | the tree as structured arrays, its laws, its memory, advancing the root                       |
| `selection.py` | UCB1 and PUCT                                                                               |
| `gumbel.py`    | Gumbel AlphaZero's rules: the race at the root, the improved policy                           |
| `noise.py`     | what explores at the root of self-play: Dirichlet noise, forced visits and their pruning      |
| `phases.py`    | select, expand, evaluate, backup; proofs                                                    |
| `cache.py`     | evaluations already made                                                                    |
| `batches.py`   | the kernels between a tree and an evaluator that works in batches                             |
| `search.py`    | settings, and the two drivers: `run` inside compiled code, `step` by batches of leaves        |
| `root.py`      | what a searched tree says: its moves in order, the line it expects                            |
| `uct.py`       | a player with random games: limits, reuse of the tree from move to move                       |
| `learned.py`   | search with a network: settings, many games side by side, targets to learn from               |
| `player.py`    | a player with a network                                                                       |
"""
