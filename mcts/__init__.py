"""Tree search with rollouts, a linear EVAL or a network at the leaves. In dependency order:

| file            |                                                                                            |
|-----------------|--------------------------------------------------------------------------------------------|
| `settings.py`   | the settings that all variants have, and the record that kernels read                       |
| `variant.py`    | what a variant of search is; how it is found                                                |
| `tree.py`       | the tree as structured arrays, its laws, its memory                                         |
| `moves.py`      | from one search to the next: target, move, advancing the root                               |
| `ucb1.py`       | a variant: UCB1 (UCT)                                                                       |
| `noise.py`      | Dirichlet noise at the root                                                                 |
| `puct.py`       | a variant: PUCT, with noise, forced visits and their pruning                                |
| `gumbel.py`     | a variant: Gumbel AlphaZero                                                                 |
| `phases.py`     | select, expand, evaluate, backup; proofs                                                    |
| `cache.py`      | evaluations already made                                                                    |
| `leaves.py`     | between a leaf and a network: observation, symmetries, cache, priors                        |
| `simulation.py` | a simulation inside compiled code, by one thread or by several in one tree                  |
| `batches.py`    | the kernels between trees and a network that answers in batches                             |
| `root.py`       | reading a searched tree: its moves in order, its principal variation                        |
| `search.py`     | many trees and their two drivers: `run` inside compiled code, `step` by batches of leaves   |
| `methods.py`    | how self-play improves a policy: the variants, and mirror descent                           |
| `mirror.py`     | magnetic mirror descent, where information is hidden                                        |
| `policy.py`     | a network's policy as a mixed strategy                                                      |
| `ismcts.py`     | tree search over information sets                                                           |
| `player.py`     | a player: limits, reuse of the tree from move to move                                       |
"""
