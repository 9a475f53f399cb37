"""Linear classifiers by intercepts: inequalities by hand, sizes, and the corrected Q."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.errors import HypothesisError, MergedHypotheses, ParameterError
from likewise.hypotheses import LinearByIntercepts, verify_separating_set
from likewise.numerics.fixed_point import FloatArray
from likewise.people import Feature, FeatureSchema

VALUES = [-4.0, -1.5, 0.5, 2.0, 3.0]


def numbers(n: int) -> FeatureSchema:
    return FeatureSchema(tuple(Feature(f"x{i}") for i in range(n)))


def linear(n: int, values: list[float], *, flips: bool = True) -> LinearByIntercepts:
    return LinearByIntercepts(numbers(n), numbers(n).names, values, flips=flips)


def table(hypotheses: LinearByIntercepts, rows: Any) -> Any:
    x: FloatArray = np.array(rows, dtype=float)
    return hypotheses.locate(hypotheses.schema.people(x)).T


def different(rows: Any) -> int:
    return len(np.unique(rows, axis=0))


def test_two_columns_and_one_intercept_by_hand() -> None:
    hypotheses = linear(2, [2])
    says = dict(
        zip(
            [hypotheses.describe(c) for c in hypotheses.codes()],
            table(hypotheses, [[0, 0], [2, 0], [1, 0.5], [1, 1], [-3, 5]]).tolist(),
            strict=True,
        )
    )
    assert says == {
        "approve nobody": [0, 0, 0, 0, 0],
        "approve if x0/2 ≥ 1": [0, 1, 0, 0, 0],
        "approve if x1/2 ≥ 1": [0, 0, 0, 0, 1],
        "approve if x0/2 + x1/2 ≥ 1": [0, 1, 0, 1, 1],
        "approve everybody": [1, 1, 1, 1, 1],
        "approve if x0/2 < 1": [1, 0, 1, 1, 1],
        "approve if x1/2 < 1": [1, 1, 1, 1, 0],
        "approve if x0/2 + x1/2 < 1": [1, 0, 1, 0, 0],
    }


def test_signs_and_digits_in_words() -> None:
    hypotheses = linear(2, [-0.1, 0.30000000000000004], flips=False)
    assert [hypotheses.describe(c) for c in hypotheses.codes()] == [
        "approve nobody",
        "approve if −x0/0.1 ≥ 1",
        "approve if x0/0.30000000000000004 ≥ 1",
        "approve if −x1/0.1 ≥ 1",
        "approve if −x0/0.1 − x1/0.1 ≥ 1",
        "approve if x0/0.30000000000000004 − x1/0.1 ≥ 1",
        "approve if x1/0.30000000000000004 ≥ 1",
        "approve if −x0/0.1 + x1/0.30000000000000004 ≥ 1",
        "approve if x0/0.30000000000000004 + x1/0.30000000000000004 ≥ 1",
        "approve everybody",
    ]


@pytest.mark.parametrize("flips", [True, False])
@pytest.mark.parametrize(("n", "count"), [(1, 1), (1, 5), (2, 3), (3, 2), (3, 5), (5, 1)])
def test_sizes_separating_sets_and_constants(n: int, count: int, flips: bool) -> None:
    hypotheses = linear(n, VALUES[:count], flips=flips)
    half = (count + 1) ** n
    assert hypotheses.size == (2 * half if flips else half + 1)
    assert hypotheses.separators == n * count + 1
    assert verify_separating_set(hypotheses)
    on_set = hypotheses.separating_points().T
    assert any(row.all() for row in on_set)
    assert any(not row.any() for row in on_set)


@given(
    person=st.lists(st.integers(-40, 40), min_size=3, max_size=3),
    code=st.integers(0, 2 * 6**3 - 1),
)
def test_the_answer_is_that_of_exact_arithmetic_on_coarse_numbers(
    person: list[int], code: int
) -> None:
    hypotheses = linear(3, [-4, -2, -1, 0.5, 8])
    flip, place = divmod(code, 6**3)
    total = Fraction(0)
    for x in person:
        place, digit = divmod(place, 6)
        if digit:
            total += Fraction(x) / Fraction(hypotheses.intercepts[digit - 1])
    assert table(hypotheses, [person])[code, 0] == int((total >= 1) != bool(flip))


@given(
    st.lists(
        st.floats(5e-324, 1e300).flatmap(lambda v: st.sampled_from([v, -v])),
        min_size=1,
        max_size=3,
        unique=True,
    )
)
def test_neighbouring_floats_are_told_apart(values: list[float]) -> None:
    close = sorted({w for v in values for w in (v, float(np.nextafter(v, np.inf))) if w})
    assert verify_separating_set(linear(2, close))


@pytest.mark.parametrize("values", [[1.0], [1, 2, 3], [-2, -1, 3]])
def test_no_point_can_be_left_out_of_the_axis_points(values: list[float]) -> None:
    on_set = linear(2, values).separating_points().T
    for point in range(on_set.shape[1]):
        assert different(np.delete(on_set, point, axis=1)) < len(on_set)


def test_for_one_column_every_point_is_in_a_bin_that_any_separating_set_must_visit() -> None:
    on_bins = table(linear(1, [-2, -1, 3]), [[-2], [-1], [0], [3]])
    assert different(on_bins) == 8
    for left_out in range(4):
        assert different(np.delete(on_bins, left_out, axis=1)) < 8


def test_points_off_the_axes_can_save_one() -> None:
    hypotheses = linear(2, [-1, 1, 2])
    six = [[-2.5, 2], [-1, -1], [0, 1.5], [1.5, 0], [2, -2.5], [4.5, 4.5]]
    assert different(table(hypotheses, six)) == hypotheses.size
    assert (len(six), hypotheses.separators) == (6, 7)


def test_positive_points_alone_do_not_tell_mixed_signs_apart() -> None:
    hypotheses = linear(2, [-2, -1, 1, 2])
    positive = [[0, 0], [1, 0], [2, 0], [0, 1], [0, 2]]
    assert different(table(hypotheses, positive)) < hypotheses.size


def test_intercepts_given_twice_are_merged_and_said() -> None:
    with pytest.warns(MergedHypotheses, match=r"1 of 3 intercepts .* 18 of 32 hypotheses remain"):
        hypotheses = linear(2, [1, 2, 1.0])
    assert hypotheses.intercepts == (1.0, 2.0)
    with pytest.warns(MergedHypotheses, match="10 of 17 hypotheses remain"):
        linear(2, [1, 2, 1.0], flips=False)


def test_the_order_of_intercepts_does_not_matter() -> None:
    assert linear(2, [3, -1, 2]).spec() == linear(2, [-1, 2, 3]).spec()


def test_sums_beyond_floats_are_still_answers() -> None:
    hypotheses = linear(2, [-1e-300, 1e-300])
    answers = table(hypotheses, list(product([-1e300, 0, 1e300], repeat=2)))
    assert answers.shape == (18, 9)


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ([], "at least one"),
        ([1, 0], r"not 0; got \[1\.0, 0\.0\]\. A boundary through the origin"),
        ([float("inf")], "finite"),
        ([float("nan")], "finite"),
    ],
)
def test_intercepts_that_do_not_fit_are_refused(values: list[float], says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        linear(2, values)


def test_columns_must_be_numbers_that_are_never_missing() -> None:
    schema = FeatureSchema(
        (Feature("kind", "category", levels=("a", "b")), Feature("rent", missing="none"))
    )
    for column, says in (("kind", "of the kinds number"), ("rent", "never be missing")):
        with pytest.raises(ParameterError, match=rf"LinearByIntercepts\.columns.*{says}"):
            LinearByIntercepts(schema, [column], [1])


def test_too_many_are_refused_with_their_number() -> None:
    with pytest.raises(HypothesisError, match=r"has 1062882\. Use fewer columns or intercepts"):
        linear(6, [-4, -3, -2, -1, 1, 2, 3, 4])
