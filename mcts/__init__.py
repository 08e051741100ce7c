"""Learned-evaluation search: the tree, select, expand, evaluate, backup; PUCT, Gumbel, UCT with rollouts."""
