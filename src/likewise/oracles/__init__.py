"""The optimisation oracle: argmin of signed costs over a class, batched over draws of noise."""

from likewise.oracles.oracle import ENGINES, Oracle, load_engine

__all__ = ["ENGINES", "Oracle", "load_engine"]
