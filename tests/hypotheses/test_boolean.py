"""Conjunctions, disjunctions and parities: truth tables, sizes, and what Q needs."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from likewise.errors import HypothesisError, ParameterError
from likewise.hypotheses import Conjunctions, Disjunctions, Parities
from likewise.hypotheses.lists import OverColumns
from likewise.numerics.fixed_point import FloatArray
from likewise.people import Feature, FeatureSchema

MAKERS: dict[str, Any] = {
    "conjunctions": Conjunctions,
    "disjunctions": Disjunctions,
    "parities": lambda schema, columns: Parities(schema, columns, complements=False),
    "parities and complements": Parities,
}
EACH = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS.keys())


def flags(n: int) -> FeatureSchema:
    return FeatureSchema(tuple(Feature(f"x{i}", "flag") for i in range(n)))


def cube(n: int) -> FloatArray:
    return np.array(list(product((0.0, 1.0), repeat=n)))


def different(rows: Any) -> int:
    return len(np.unique(rows, axis=0))


def test_truth_tables_of_two_columns_by_hand() -> None:
    # columns: 00, 01, 10, 11 for (x0, x1); rows: {}, {x0}, {x1}, {x0, x1}, and the constant
    people = flags(2).people(cube(2))
    assert Conjunctions(flags(2), ["x0", "x1"]).locate(people).T.tolist() == [
        [1, 1, 1, 1],
        [0, 0, 1, 1],
        [0, 1, 0, 1],
        [0, 0, 0, 1],
        [0, 0, 0, 0],
    ]
    assert Disjunctions(flags(2), ["x0", "x1"]).locate(people).T.tolist() == [
        [0, 0, 0, 0],
        [0, 0, 1, 1],
        [0, 1, 0, 1],
        [0, 1, 1, 1],
        [1, 1, 1, 1],
    ]
    odd = [[0, 0, 0, 0], [0, 0, 1, 1], [0, 1, 0, 1], [0, 1, 1, 0]]
    even = [[1, 1, 1, 1], [1, 1, 0, 0], [1, 0, 1, 0], [1, 0, 0, 1]]
    parities = Parities(flags(2), ["x0", "x1"])
    assert parities.locate(people).T.tolist() == odd + even
    without = Parities(flags(2), ["x0", "x1"], complements=False)
    assert without.locate(people).T.tolist() == [*odd, [1, 1, 1, 1]]


def test_what_parities_are_called() -> None:
    parities = Parities(flags(2), ["x0", "x1"])
    assert [parities.describe(code) for code in parities.codes()] == [
        "approve nobody",
        "approve if x0",
        "approve if x1",
        "approve if an odd number of x0, x1",
        "approve everybody",
        "approve unless x0",
        "approve unless x1",
        "approve if an even number of x0, x1",
    ]


@EACH
@pytest.mark.parametrize("n", [1, 2, 3, 6])
def test_the_sizes_are_the_formulas_and_all_functions_differ(make: Any, n: int) -> None:
    hypotheses = make(flags(n), flags(n).names)
    with_complements = isinstance(hypotheses, Parities) and hypotheses.complements
    assert hypotheses.size == (2 ** (n + 1) if with_complements else 2**n + 1)
    on_cube = hypotheses.locate(flags(n).people(cube(n))).T
    assert different(on_cube) == hypotheses.size
    assert any(row.all() for row in on_cube)
    assert any(not row.any() for row in on_cube)


@EACH
@pytest.mark.parametrize("n", [1, 2, 5])
def test_the_separating_set_has_n_plus_one_points_and_none_can_be_left_out(
    make: Any, n: int
) -> None:
    hypotheses = make(flags(n), flags(n).names)
    on_set = hypotheses.separating_points().T
    assert hypotheses.separators == n + 1
    # counting: n points tell at most 2^n apart, whatever they are
    assert hypotheses.size > 2**n
    for point in range(n + 1):
        assert different(np.delete(on_set, point, axis=1)) < hypotheses.size


@EACH
def test_without_the_extra_point_a_constant_collides_with_all_columns(make: Any) -> None:
    hypotheses = make(flags(3), flags(3).names)
    without = hypotheses.separating_points()[:-1].T
    if isinstance(hypotheses, Parities) and hypotheses.complements:
        # every parity collides with the complement of what it leaves out
        assert different(without) == 8
        assert (without[0b111] == without[0b1000]).all()
    else:
        assert different(without) == hypotheses.size - 1
        assert (without[0b111] == without[0b1000]).all()


def test_the_separating_sets_are_those_of_the_notes() -> None:
    names = flags(2).names
    assert Conjunctions(flags(2), names).separating_set.tolist() == [[0, 1], [1, 0], [1, 1]]
    assert Disjunctions(flags(2), names).separating_set.tolist() == [[1, 0], [0, 1], [0, 0]]
    assert Parities(flags(2), names).separating_set.tolist() == [[1, 0], [0, 1], [0, 0]]


def negated(n: int) -> tuple[FeatureSchema, FloatArray]:
    """n flags with a flag for each negation, and the 2^n people that there can be."""
    names = [f"x{i}" for i in range(n)] + [f"not_x{i}" for i in range(n)]
    schema = FeatureSchema(tuple(Feature(name, "flag") for name in names))
    return schema, np.concatenate([cube(n), 1 - cube(n)], axis=1)


def test_a_flag_and_its_negation_are_independent_columns() -> None:
    schema, people = negated(2)
    rules = Conjunctions(schema, schema.names)
    assert (rules.size, rules.separators) == (17, 5)
    # points of Q have a flag and its negation both at once
    assert rules.separating_set[-1].tolist() == [1, 1, 1, 1]
    code = next(c for c in rules.codes() if rules.describe(c) == "approve if x1 and not_x0")
    assert rules.locate(schema.people(people))[:, code[0]].tolist() == [0, 1, 0, 0]


def test_negated_literals_would_need_all_points_of_the_cube() -> None:
    schema, people = negated(3)
    on_people = Conjunctions(schema, schema.names).locate(schema.people(people)).T
    functions = np.unique(on_people, axis=0)
    assert len(functions) == 3**3 + 1
    for point in range(8):
        assert different(np.delete(functions, point, axis=1)) < len(functions)


def test_other_columns_of_the_schema_do_not_matter() -> None:
    schema = FeatureSchema((Feature("income"), Feature("b", "flag"), Feature("a", "flag")))
    rules = Conjunctions(schema, ["a", "b"])
    assert rules.locate(schema.people(np.array([[7.5, 0, 1]]))).tolist() == [[1, 1, 0, 0, 0]]


def test_nobody_at_all_is_no_points() -> None:
    rules = Conjunctions(flags(2), flags(2).names)
    points = rules.locate(flags(2).people(np.zeros((0, 2))))
    assert points.shape == (0, 5)
    assert points.dtype == np.uint8


@EACH
def test_seventeen_columns_are_refused_with_their_number_of_hypotheses(make: Any) -> None:
    hypotheses: OverColumns = make(flags(16), flags(16).names)
    assert hypotheses.size <= 2**17
    with pytest.raises(HypothesisError, match=r"has (131073|262144)\. Use at most 16 columns"):
        make(flags(17), flags(17).names)


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ([], "one or more different names"),
        ("a", r"must be a list; got 'a'"),
        (["a", "a"], "different names"),
        (["income"], r"of the kinds flag; got 'income \(number\)'"),
        (["maybe"], r"never be missing; got \"maybe \(missing='unknown'\)\""),
        (["nowhere"], "must be one of a, income, maybe"),
    ],
)
def test_columns_that_do_not_fit_are_refused(columns: Any, says: str) -> None:
    schema = FeatureSchema(
        (Feature("a", "flag"), Feature("income"), Feature("maybe", "flag", missing="unknown"))
    )
    with pytest.raises(ParameterError, match=says):
        Conjunctions(schema, columns)
