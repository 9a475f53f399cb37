"""Decision lists: every function once, the shortest list for it, and what Q needs."""

from __future__ import annotations

from itertools import combinations, permutations, product
from typing import Any

import numpy as np
import pytest

from likewise.errors import HypothesisError, ParameterError
from likewise.hypotheses import DecisionLists, Stumps, greedy_separating_set
from likewise.people import Feature, FeatureSchema

SMALL = [(1, 1), (2, 1), (2, 2), (3, 1), (3, 2), (3, 3), (4, 2), (4, 3), (4, 4)]


def lists_of(n: int, length: int) -> DecisionLists:
    schema = FeatureSchema(tuple(Feature(f"x{i}", "flag") for i in range(n)))
    return DecisionLists(schema, schema.names, length)


def all_functions(n: int, length: int) -> dict[tuple[int, ...], int]:
    """Every function that some list computes on the cube, with the length of its shortest."""
    cube = list(product((0, 1), repeat=n))
    shortest: dict[tuple[int, ...], int] = {}
    for literals in range(length + 1):
        for columns in permutations(range(n), literals):
            for *answers, default in product((0, 1), repeat=literals + 1):
                rules = list(zip(columns, answers, strict=True))
                verdicts = tuple(next((a for c, a in rules if x[c]), default) for x in cube)
                shortest.setdefault(verdicts, literals)
    return shortest


def on_cube(lists: DecisionLists) -> Any:
    cube = np.array(list(product((0, 1), repeat=len(lists.columns))), dtype=np.uint8)
    return lists.evaluate(cube).T


def different(rows: Any) -> int:
    return len(np.unique(rows, axis=0))


def test_the_lists_of_two_columns_by_hand() -> None:
    lists = lists_of(2, 2)
    # columns: 00, 01, 10, 11 for (x0, x1)
    tables = dict(
        zip([lists.describe(c) for c in lists.codes()], on_cube(lists).tolist(), strict=True)
    )
    assert tables == {
        "approve nobody": [0, 0, 0, 0],
        "approve everybody": [1, 1, 1, 1],
        "reject if x0, else approve": [1, 1, 0, 0],
        "approve if x0, else reject": [0, 0, 1, 1],
        "reject if x1, else approve": [1, 0, 1, 0],
        "approve if x1, else reject": [0, 1, 0, 1],
        "reject if x0 or x1, else approve": [1, 0, 0, 0],
        "approve if x0 or x1, else reject": [0, 1, 1, 1],
        "reject if x0, else approve if x1, else reject": [0, 1, 0, 0],
        "approve if x0, else reject if x1, else approve": [1, 0, 1, 1],
        "reject if x1, else approve if x0, else reject": [0, 0, 1, 0],
        "approve if x1, else reject if x0, else approve": [1, 1, 0, 1],
    }


@pytest.mark.parametrize(("n", "length"), SMALL)
def test_the_functions_are_those_of_all_lists_each_once_and_by_its_shortest(
    n: int, length: int
) -> None:
    lists, functions = lists_of(n, length), all_functions(n, length)
    lengths = {
        tuple(row): len(lists.rules(c)[0])
        for row, c in zip(on_cube(lists).tolist(), lists.codes(), strict=True)
    }
    assert lengths == functions
    assert lists.size == len(functions)


@pytest.mark.parametrize(
    ("n", "length", "size"), [(4, 1, 10), (3, 3, 52), (4, 4, 300), (10, 3, 3412), (6, 6, 18732)]
)
def test_the_size_is_the_formula(n: int, length: int, size: int) -> None:
    # by hand: 2·(1 + 3·1 + 3·3 + 1·13) = 52, and 2·(1 + 4 + 6·3 + 4·13 + 75) = 300
    assert lists_of(n, length).size == size


@pytest.mark.parametrize(("n", "length"), [*SMALL, (6, 4), (9, 3)])
def test_vectors_with_at_most_two_ones_separate(n: int, length: int) -> None:
    lists = lists_of(n, length)
    assert lists.separators == 1 + n + n * (n - 1) // 2
    assert (lists.separating_set.sum(axis=1) <= 2).all()
    assert different(lists.separating_points().T) == lists.size


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_with_full_length_each_point_is_the_only_one_that_tells_some_two_apart(n: int) -> None:
    on_all = on_cube(lists_of(n, n))
    needed = [
        point for point in range(2**n) if different(np.delete(on_all, point, axis=1)) < len(on_all)
    ]
    assert needed == [point for point in range(2**n) if point.bit_count() <= 2]


def test_three_columns_with_lists_of_two_need_six_points_and_not_seven() -> None:
    on_all = on_cube(lists_of(3, 2))

    def separates(count: int) -> bool:
        return any(
            different(on_all[:, points]) == len(on_all) for points in combinations(range(8), count)
        )

    assert separates(6)
    assert not separates(5)


def test_short_lists_are_told_apart_by_a_few_random_vectors() -> None:
    lists = lists_of(50, 2)
    vectors = np.random.default_rng(0).integers(0, 2, (300, 50))
    chosen = greedy_separating_set(lists.evaluate(vectors.astype(np.uint8)).T)
    assert (lists.separators, len(chosen)) == (1276, 27)


def test_lists_of_one_literal_are_stumps_which_need_fewer_points() -> None:
    lists = lists_of(7, 1)
    stumps = Stumps(lists.schema, {name: [1] for name in lists.columns})
    people = lists.schema.people(np.array(list(product((0.0, 1.0), repeat=7))))
    assert {row.tobytes() for row in np.ascontiguousarray(lists.locate(people).T)} == {
        row.tobytes() for row in np.ascontiguousarray(stumps.locate(people).T)
    }
    assert (lists.separators, stumps.separators) == (29, 4)


@pytest.mark.parametrize("length", [0, 3, 1.0, "2"])
def test_a_length_beyond_the_columns_is_refused(length: Any) -> None:
    with pytest.raises(
        ParameterError, match=r"DecisionLists\.length must be an integer in \[1, 3\)"
    ):
        lists_of(2, length)


def test_too_many_lists_are_refused_with_their_number() -> None:
    # 4·102,247,563: for full length the sum in the formula is twice its last term
    with pytest.raises(HypothesisError, match=r"has 408990252\. Use fewer columns or shorter"):
        lists_of(10, 10)


def test_too_large_a_table_is_refused_with_both_its_sides() -> None:
    with pytest.raises(HypothesisError, match="14632 hypotheses on 2486 points"):
        lists_of(70, 2)
