"""Randomised policies, ΔH: integer weights on hypotheses, and scores as integers of 2^-20."""

from __future__ import annotations

import math

import numpy as np

from likewise.fixed_point import BITS, FloatArray, IntArray
from likewise.portable_math import LN2, exp_negative, exp_of_negative, log_array

WEIGHT_BITS = 40


def gibbs_weights(
    costs: IntArray, temperature: float | FloatArray, log_inverse_prior: FloatArray | None = None
) -> IntArray:
    """Exponential weights along the last axis: round(2^40·exp(−(c − min c)/temperature)).

    With a prior, of p(h)·exp(−c/temperature), the largest of them being 2^40. There may be a
    temperature for every row.

    Weights are integers, so that their sums are the same in any order. Rounding loses less than
    2^-41 of the largest weight, and moves no probability by more than |H|·2^-41.

    >>> (gibbs_weights(np.array([0, 10]), 10 / np.log(4)) / 2**40).round(9).tolist()
    [1.0, 0.25]
    """
    excess = (costs - costs.min(axis=-1, keepdims=True)).astype(np.float64)
    far: FloatArray = excess / temperature
    if log_inverse_prior is not None:
        far = far + log_inverse_prior
        far = far - far.min(axis=-1, keepdims=True)
    return np.rint(np.ldexp(exp_negative(far), WEIGHT_BITS)).astype(np.int64)


def integer_weights(terms: FloatArray) -> tuple[IntArray, FloatArray]:
    """Logarithms along the first axis as weights round(2^40·exp(term − max)), and ln Σ exp(term).

    The sum is one of integers, so that it is the same in any order.

    >>> weights, total = integer_weights(np.log([[1.0], [3.0]]))
    >>> (weights / 2**40).round(6).tolist(), total.round(6).tolist()
    ([[0.333333], [1.0]], [1.386294])
    """
    top = terms.max(axis=0)
    weights = np.rint(np.ldexp(exp_negative(top - terms), WEIGHT_BITS)).astype(np.int64)
    total = log_array(weights.sum(axis=0).astype(np.float64))
    return weights, top + (total - WEIGHT_BITS * LN2)


def weight_of(far: float) -> int:
    """One weight, round(2^40·exp(−far)) for far ≥ 0.

    >>> weight_of(0.0) == 2**40, weight_of(30.0)
    (True, 0)
    """
    return round(math.ldexp(exp_of_negative(far), WEIGHT_BITS))


def pick(weights: IntArray, number: int) -> int:
    """The index that an integer below the total weight falls on.

    >>> [pick(np.array([2, 0, 1]), n) for n in (0, 1, 2)]
    [0, 0, 2]
    """
    return int(np.searchsorted(np.cumsum(weights), number, side="right"))


def score(weight: int, total: int) -> int:
    """A probability as an integer of 2^-20, halves up.

    >>> score(1, 2), score(1, 3)
    (524288, 349525)
    """
    return ((weight << (BITS + 1)) // total + 1) >> 1
