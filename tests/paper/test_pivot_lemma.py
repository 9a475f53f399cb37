"""The lemma of "Characterizing Monotone Individual Fairness Auditing Schemes", by brute force.

On each pair a monotone panel acts like one of its members (or the dummies), whatever the policy
and the sensitivity. Here for *all* monotone functions of up to four auditors and all orders of
their distances, ties included.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from likewise.errors import RuleError
from likewise.numerics.fixed_point import ONE, IntArray
from likewise.panel import Never, Rule, as_rule, at_least, from_function, objects, veto

SIZES = (1, 2, 3, 4)
QUARTERS = [0, ONE // 4, ONE // 2, ONE]
Table = tuple[bool, ...]


def monotone_tables(m: int) -> list[Table]:
    """All monotone functions, as results of the profiles in the order of ``product``."""
    if m == 0:
        return [(False,), (True,)]
    smaller = monotone_tables(m - 1)
    return [
        low + high
        for low in smaller
        for high in smaller
        if all(a <= b for a, b in zip(low, high, strict=True))
    ]


def names(m: int) -> list[str]:
    return [f"j{i + 1}" for i in range(m)]


def rule_of(table: Table, m: int) -> Rule:
    results = dict(zip(product((False, True), repeat=m), table, strict=True))
    return from_function(results.__getitem__, names(m))


def rules(m: int) -> list[tuple[Table, Rule]]:
    return [(table, rule_of(table, m)) for table in monotone_tables(m) if not table[0]]


def all_distances(m: int) -> IntArray:
    """Every way to give m auditors one of four distances: all orders and all ties, (m, 4^m)."""
    return np.array(list(product(QUARTERS, repeat=m)), dtype=np.int64).T


def index_of_the_lemma(table: Table, distances: list[int]) -> int:
    """i* as the paper writes it; the dummy m + 1, where Z is empty, is −1 here."""
    m = len(distances)
    order = sorted(range(m), key=lambda i: distances[i])  # stable: ties by place
    position = {i: q for q, i in enumerate(order)}
    z = [v for v, fires in zip(product((0, 1), repeat=m), table, strict=True) if fires]
    if not z:
        return -1
    return order[min(max(position[i] for i in range(m) if v[i]) for v in z)]


@pytest.mark.parametrize(("m", "count"), [(1, 3), (2, 6), (3, 20), (4, 168)])
def test_all_monotone_functions_are_tried(m: int, count: int) -> None:
    assert len(monotone_tables(m)) == count  # the Dedekind numbers


@pytest.mark.parametrize("m", SIZES)
def test_the_min_max_reading_gives_the_lemmas_index(m: int) -> None:
    d = all_distances(m)
    for table, rule in rules(m):
        _, place = rule.pivot(d, names(m))
        expected = [index_of_the_lemma(table, column) for column in d.T.tolist()]
        assert place.tolist() == expected, rule


@pytest.mark.parametrize("m", SIZES)
def test_the_pivot_distance_is_the_pivots_distance_and_1_for_the_dummy(m: int) -> None:
    d = all_distances(m)
    for _, rule in rules(m):
        distance, place = rule.pivot(d, names(m))
        values = d[np.maximum(place, 0), np.arange(d.shape[1])]
        assert (distance == np.where(place < 0, ONE, values)).all(), rule


@pytest.mark.parametrize("m", SIZES)
def test_the_panel_reports_exactly_when_its_pivot_objects(m: int) -> None:
    d = all_distances(m)[:, :, None, None]
    gaps = np.arange(0, ONE + 1, ONE // 8)[:, None]
    alphas = np.array([0, 1, ONE // 8, ONE // 4, ONE])
    votes = gaps > d + alphas
    places = np.zeros(votes.shape[1:], dtype=np.int64)
    for row in votes:
        places = 2 * places + row
    for table, rule in rules(m):
        pivot, _ = rule.pivot(all_distances(m), names(m))
        behaviour = np.array(table)[places]
        assert (behaviour == (gaps > pivot[:, None, None] + alphas)).all(), rule
        assert (behaviour == rule.fires(votes, names(m))).all(), rule


@pytest.mark.parametrize("m", SIZES)
def test_random_float_distances_agree_with_the_lemma_too(m: int) -> None:
    d = np.random.default_rng(1).random((m, 40))
    for table, rule in rules(m):
        distance, place = rule.pivot(d, names(m))
        for pair in range(d.shape[1]):
            values = d[:, pair].tolist()
            index = -1 if not any(table) else int(place[pair])
            assert float(distance[pair]) == (1.0 if index < 0 else values[index])
            for i in range(m):
                just_above = tuple(values[i] >= x for x in values)
                fires = dict(zip(product((False, True), repeat=m), table, strict=True))[just_above]
                assert fires == (index >= 0 and values[i] >= values[index])


@pytest.mark.parametrize("m", SIZES)
def test_the_function_that_never_fires_becomes_the_dummy(m: int) -> None:
    assert rule_of((False,) * (1 << m), m) == Never()


@pytest.mark.parametrize("m", SIZES)
def test_the_function_that_always_fires_is_refused(m: int) -> None:
    with pytest.raises(RuleError, match="always fires"):
        rule_of((True,) * (1 << m), m)


# The figure of the paper: d2 < d3 < d5 < d1 < d4.
FIGURE = np.array([0.53, 0.10, 0.30, 0.65, 0.38])


@pytest.mark.parametrize(
    ("rule", "pivot"),
    [
        (veto("j3") | at_least("80%"), "j3"),
        (objects("j1") & objects("j5"), "j1"),
        (as_rule("veto(j3) or at_least(80%)"), "j3"),
        (as_rule("objects(j1) and objects(j5)"), "j1"),
    ],
)
def test_the_papers_example_has_pivots_j3_and_j1(rule: Rule, pivot: str) -> None:
    distance, place = rule.pivot(FIGURE, names(5))
    assert names(5)[int(place)] == pivot
    assert float(distance) == float(FIGURE[int(place)])
