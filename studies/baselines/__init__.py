"""Predecessors: the learners that ours is compared with."""
