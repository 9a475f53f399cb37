"""A proposed schema says what is odd about numbers: typing errors, codes, marks of nines."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

from likewise.people import FeatureSchema

RNG = np.random.default_rng(1)
PLAIN = RNG.integers(18, 76, 200).tolist()


def advice(values: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        FeatureSchema.from_frame(pd.DataFrame({"tenure": values}))
    return [str(warning.message) for warning in caught]


@pytest.mark.parametrize(
    "values",
    [
        PLAIN, RNG.normal(50, 10, 500), RNG.uniform(0, 1, 30), RNG.exponential(1, 300),
        [0, 1] * 50, [1, 2, 3, 4], [7] * 50, list(range(12)), [0.5, 1.5, 2.5] * 40,
        [1, 2, 3] * 4, [-5, -1, 0, 3, 8, 12, 30],
    ],
)  # fmt: skip
def test_plain_numbers_need_no_word(values: Any) -> None:
    assert advice(values) == []


@pytest.mark.parametrize("typo", [750, -300, 1e6])
def test_a_value_that_stretches_the_range_is_named_and_quantiles_are_offered(typo: float) -> None:
    (said,) = advice([*PLAIN, typo])
    assert "'tenure' reaches" in said
    low, high = np.sort([*PLAIN, typo])[[2, -3]]
    assert f"98 % of its values lie between {low:.0f} and {high:.0f}" in said
    assert f"scales={{'tenure': {high - low:.0f}}}" in said


@pytest.mark.parametrize(
    ("mark", "count"), [(9999, 3), (999, 1), (99999999, 5), (-1, 4), (-99, 2), (-9999, 1)]
)
def test_a_mark_written_as_a_number_is_named(mark: int, count: int) -> None:
    for values in ([*PLAIN, *[mark] * count], [*map(float, PLAIN), *[float(mark)] * count]):
        (said,) = advice(values)
        times = "once" if count == 1 else f"{count} times"
        assert f"'tenure' holds {mark} {times}" in said.replace("99,999,999", "99999999")
        assert "and otherwise from 18 to 75. If that stands for a missing value" in said


def test_a_few_integers_may_be_codes() -> None:
    (said,) = advice([1, 2, 3, 7] * 20)
    assert "4 different integers (1, 2, 3, 7)" in said
    assert "categories=['tenure']" in said
