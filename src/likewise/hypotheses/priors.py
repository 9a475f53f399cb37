"""Priors: how likely each hypothesis of a class is before the first round.

The prior belongs to the class, since only the class knows which of its hypotheses are simple. The
default goes from *coarse to fine*: half of it on the constants, to which nobody can object, the
rest on the other hypotheses, those that distinguish few people before those that distinguish many.
So half of every gap is gone from the start, and a report moves weight to the constants at once;
the regret to h grows with ln(1/prior(h)), not with log|H|. A *flat* prior weighs all alike.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from likewise.errors import ParameterError, shown
from likewise.fixed_point import FloatArray, IntArray
from likewise.portable_math import log_array
from likewise.validation import items, real

COARSE_TO_FINE, FLAT = "coarse-to-fine", "flat"
PRIORS = (COARSE_TO_FINE, FLAT)

# A name, or for a class that is listed a probability for every hypothesis, by their codes.
Prior = str | tuple[float, ...]

# Probabilities as people write them add up to 1 but for rounding.
ROUNDING = 1e-9


def named_prior(owner: str, prior: Any) -> str:
    """Check the name of a prior, for classes that cannot be listed."""
    if not isinstance(prior, str) or prior not in PRIORS:
        raise ParameterError(
            f"{owner}: prior", f"must be one of {', '.join(PRIORS)}", prior,
            "Probabilities of single hypotheses are for classes that are listed, such as Pool.",
        )  # fmt: skip
    return prior


def listed_prior(owner: str, prior: Any, names: Sequence[str]) -> Prior:
    """Check a prior: a name, or probabilities in the order of the codes or by description.

    >>> listed_prior("Pool", {"approve nobody": 0.75, "approve everybody": 0.25},
    ...              ["approve everybody", "approve nobody"])
    (0.25, 0.75)
    """
    if isinstance(prior, str):
        return named_prior(owner, prior)
    where = f"{owner}: prior"
    if isinstance(prior, Mapping):
        _check_names(where, prior, names)
        values = [prior[name] for name in names]
    else:
        values = items(where, prior, f"Give a probability for each of the {len(names)} hypotheses.")
    if len(values) != len(names):
        raise ParameterError(
            where, f"must have a probability for each of the {len(names)} hypotheses",
            f"{len(values)} of them", "Leave none out; a hypothesis without one is never learnt.",
        )  # fmt: skip
    remedy = "Probabilities are above 0, and add up to 1."
    weights = []
    for name, value in zip(names, values, strict=True):
        weight = real(f"{where} of {name!r}", value, remedy)
        if not 0 < weight <= 1:
            raise ParameterError(f"{where} of {name!r}", "must be in (0, 1]", weight, remedy)
        weights.append(weight)
    total = math.fsum(weights)
    if abs(total - 1) > ROUNDING:
        raise ParameterError(where, "must add up to 1", total, "Divide them by their sum.")
    return tuple(weights)


def _check_names(where: str, prior: Mapping[Any, Any], names: Sequence[str]) -> None:
    valid = set(names)
    if unknown := [name for name in prior if name not in valid]:
        raise ParameterError(
            where, "must name hypotheses of the class", shown(unknown[0]),
            f"For example {names[0]!r}; describe(code) names each of them.",
        )  # fmt: skip
    if lacking := [name for name in names if name not in prior]:
        raise ParameterError(
            where, "must have a probability for every hypothesis", f"none for {lacking[0]!r}",
            "A hypothesis without one is never learnt; leave it out of the class instead.",
        )  # fmt: skip


def graded(constant: Any, grades: IntArray) -> FloatArray:
    """ln(1/prior) from coarse to fine: half on the constants, the other half by grades.

    The constants share their half equally. The grades share the other, and the hypotheses of a
    grade its part. Where all hypotheses are constant they share everything.

    >>> inverse = np.exp(graded(np.array([True, False, False, False]), np.array([0, 1, 2, 2])))
    >>> inverse.round(9).tolist()
    [2.0, 4.0, 8.0, 8.0]
    """
    constant = np.asarray(constant, dtype=np.bool_)
    varying = ~constant
    inverse = np.empty(len(constant))
    half = 2.0 if constant.any() and varying.any() else 1.0
    inverse[constant] = half * float(constant.sum())
    _, place, counts = np.unique(grades[varying], return_inverse=True, return_counts=True)
    inverse[varying] = half * float(len(counts)) * counts[place].astype(np.float64)
    return log_array(inverse)
