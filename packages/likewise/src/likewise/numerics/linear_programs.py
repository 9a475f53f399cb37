"""Sparse matrices and the solver of linear programs, from scipy, which is optional: here alone."""

from __future__ import annotations

from likewise.errors import missing

__all__ = ["linprog", "sparse"]

try:
    from scipy import sparse
    from scipy.optimize import linprog
except ImportError as error:
    raise missing("The best fair policy in hindsight", "scipy", "study", error) from error
