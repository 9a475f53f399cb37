"""The elementary functions of our own are accurate."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from likewise.numerics.fixed_point import exp_negative, log, log_array


@given(st.floats(1e-300, 1e300))
def test_the_logarithm_is_accurate(x: float) -> None:
    assert math.isclose(log(x), math.log(x), rel_tol=1e-12, abs_tol=1e-12)


@given(st.integers(1, 10**6), st.integers(0, 4000))
def test_the_logarithm_takes_whole_numbers_beyond_any_float(base: int, power: int) -> None:
    assert math.isclose(log(base << power), math.log(base) + power * math.log(2), rel_tol=1e-12)


@given(st.floats(0, 700))
def test_the_exponential_is_accurate(x: float) -> None:
    assert math.isclose(float(exp_negative(np.array([x]))[0]), math.exp(-x), rel_tol=1e-12)


def test_logarithm_of_an_array_is_elementwise() -> None:
    x = np.array([0.1, 1.0, 7.0])
    assert [log(float(v)) for v in x] == log_array(x).tolist()
