from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import combinations, permutations
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.errors import AuditError
from likewise.panel import (
    Agreement,
    Consistency,
    MemberObjections,
    Objections,
    Pair,
    consistency,
    krippendorff_alpha,
)

Table = list[list[str | None]]
TABLES: st.SearchStrategy[Table] = st.lists(
    st.lists(st.sampled_from(["a", "b", "c", None]), max_size=5), max_size=7
)
PEOPLE = ("ann", "bo", "cy", "dee")
PAIRS = tuple(Pair(*two) for two in combinations(PEOPLE, 2))
SAID = st.one_of(
    st.just(MemberObjections(present=False)),
    st.sets(st.sampled_from(PAIRS)).map(lambda pairs: MemberObjections(pairs=pairs)),
)
SHOWN = st.sets(st.sampled_from(PAIRS))
ROUNDS = st.lists(
    st.tuples(
        st.dictionaries(st.sampled_from(["j1", "j2", "j3"]), SAID, min_size=1).map(
            lambda members: Objections(PEOPLE, members)
        ),
        SHOWN,
    ),
    max_size=4,
)


def by_enumeration(table: Table) -> float | None:
    """D_o over all ordered pairs of values within a unit, D_e over all ordered pairs of values."""
    units = [[value for value in unit if value is not None] for unit in table]
    units = [unit for unit in units if len(unit) >= 2]
    everything = [value for unit in units for value in unit]
    n = len(everything)
    observed = sum(
        (
            Fraction(sum(v != w for v, w in permutations(unit, 2)), len(unit) - 1) / n
            for unit in units
        ),
        Fraction(),
    )
    differing = sum(v != w for v, w in permutations(everything, 2))
    return float(1 - observed / Fraction(differing, n * (n - 1))) if differing else None


def by_coincidences(table: Table) -> float | None:
    """α = ((n − 1) Σ o_cc − Σ n_c (n_c − 1)) / (n (n − 1) − Σ n_c (n_c − 1)), from the diagonal."""
    matrix: defaultdict[tuple[str, str], Fraction] = defaultdict(Fraction)
    for unit in table:
        values = [value for value in unit if value is not None]
        for v, w in permutations(values, 2):
            matrix[v, w] += Fraction(1, len(values) - 1)
    labels = {v for v, _ in matrix}
    margins = {c: sum((matrix[c, d] for d in labels), Fraction()) for c in labels}
    n = sum(margins.values(), Fraction())
    alike = sum((margin * (margin - 1) for margin in margins.values()), Fraction())
    if n * (n - 1) == alike:
        return None
    diagonal = sum((matrix[c, c] for c in labels), Fraction())
    return float(((n - 1) * diagonal - alike) / (n * (n - 1) - alike))


def units_of(observers: Sequence[str]) -> Table:
    """A string for each observer, a dot for a missing value."""
    return [
        [None if value == "." else value for value in unit] for unit in zip(*observers, strict=True)
    ]


# K. Krippendorff, "Computing Krippendorff's Alpha-Reliability", 2011, sections A, B and C.
@pytest.mark.parametrize(
    ("observers", "alpha"),
    [
        (("0100000010", "1110010000"), 0.095),
        (("aabbdcccedda", "babbbccceddd"), 0.692),
        (("123321412...", "1233224125.3", ".3332342251.", "12332441251."), 0.743),
    ],
    ids=["A: two observers, binary", "B: two observers, nominal", "C: four, with missing values"],
)
def test_the_examples_of_krippendorff(observers: tuple[str, ...], alpha: float) -> None:
    found = krippendorff_alpha(units_of(observers))
    assert found is not None
    assert round(found, 3) == alpha


@given(TABLES)
def test_alpha_is_that_of_all_pairs_of_values(table: Table) -> None:
    assert krippendorff_alpha(table) == by_enumeration(table) == by_coincidences(table)


@given(TABLES, st.randoms(), st.permutations(["a", "b", "c"]))
def test_order_and_names_do_not_matter(table: Table, random: Random, names: list[str]) -> None:
    renamed = dict(zip("abc", names, strict=True))
    mixed = [[v and renamed[v] for v in random.sample(unit, len(unit))] for unit in table]
    assert krippendorff_alpha(random.sample(mixed, len(mixed))) == krippendorff_alpha(table)


@given(TABLES, st.sampled_from(["a", "d", None]))
def test_a_unit_with_one_value_changes_nothing(table: Table, value: str | None) -> None:
    assert krippendorff_alpha([*table, [value, None]]) == krippendorff_alpha(table)


@given(TABLES)
def test_missing_values_may_be_none_or_nan_or_left_out(table: Table) -> None:
    alpha = krippendorff_alpha(table)
    assert krippendorff_alpha([[v for v in unit if v is not None] for unit in table]) == alpha
    for nan in (float("nan"), np.float64("nan"), np.float32("nan")):
        assert krippendorff_alpha([[nan if v is None else v for v in u] for u in table]) == alpha
    by_rater = [{f"j{j}": value for j, value in enumerate(unit)} for unit in table]
    assert krippendorff_alpha(by_rater) == alpha


@given(TABLES)
def test_alpha_is_one_exactly_if_all_agree_and_never_above(table: Table) -> None:
    alpha = krippendorff_alpha(table)
    if alpha is not None:
        agreed = all(len({v for v in unit if v is not None}) <= 1 for unit in table)
        assert alpha <= 1
        assert (alpha == 1) == agreed


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=8))
def test_two_raters_without_missing_values_have_scotts_pi(table: list[tuple[bool, bool]]) -> None:
    """1 − α = (1 − π) (2N − 1) / (2N), with π = (A − E) / (1 − E), E from the pooled shares."""
    alpha, n = krippendorff_alpha(table), 2 * len(table)
    positive = sum(map(sum, table)) / n
    by_chance = positive**2 + (1 - positive) ** 2
    if by_chance == 1:
        assert alpha is None
        return
    observed = sum(v == w for v, w in table) / len(table)
    pi = (observed - by_chance) / (1 - by_chance)
    assert alpha is not None
    assert 1 - alpha == pytest.approx((1 - pi) * (n - 1) / n)


@pytest.mark.parametrize(
    "table", [[], [[]], [["a"], ["b"]], [["a", "a"], ["a", None, "a"]], [["a", "a"], ["b", None]]]
)
def test_without_variation_there_is_no_alpha(table: Table) -> None:
    assert krippendorff_alpha(table) is None


def test_total_disagreement_is_below_chance() -> None:
    assert krippendorff_alpha([(0, 1), (1, 0)]) == -0.5  # 1 − 1 / (2/3)


def figures(
    rounds: Sequence[tuple[Objections, Iterable[Any]]],
) -> tuple[float | None, int, int, int, int]:
    """Alpha, units, pairable units, judgements and objections of some rounds together."""
    total = sum((Agreement.of(objections, pairs) for objections, pairs in rounds), Agreement())
    return total.alpha, total.units, total.pairable, total.judgements, total.objections


@given(ROUNDS)
def test_the_units_of_a_panel_are_the_pairs_it_was_shown(
    rounds: list[tuple[Objections, set[Pair]]],
) -> None:
    table = [
        [
            ("yes" if pair in member.pairs else "no") if member.present else None
            for member in said.members.values()
        ]
        for said, shown in rounds
        for pair in shown
    ]
    pairable = [unit for unit in table if len(unit) - unit.count(None) >= 2]
    assert figures(rounds) == (
        by_enumeration(table),
        len(table),
        len(pairable),
        sum(len(unit) - unit.count(None) for unit in pairable),
        sum(unit.count("yes") for unit in pairable),
    )


def test_only_pairs_shown_count_and_each_once() -> None:
    said = Objections(
        PEOPLE,
        {
            "j1": MemberObjections(pairs=[("ann", "bo"), ("cy", "dee")]),
            "j2": MemberObjections(pairs=[("ann", "bo")]),
        },
    )
    shown: list[Any] = [("bo", "ann"), ("ann", "bo"), Pair("ann", "cy")]
    assert figures([(said, shown)]) == (1.0, 2, 2, 4, 2)


def test_a_pair_in_two_rounds_is_two_units() -> None:
    said = Objections(PEOPLE, {"j1": MemberObjections(), "j2": MemberObjections()})
    assert figures([(said, PAIRS[:1])] * 2) == (None, 2, 2, 4, 0)


def test_one_member_alone_agrees_with_nobody() -> None:
    said = Objections(
        PEOPLE, {"j1": MemberObjections(pairs=PAIRS[:1]), "j2": MemberObjections(present=False)}
    )
    assert figures([(said, PAIRS)]) == (None, 6, 0, 0, 0)


def test_a_pair_of_strangers_cannot_have_been_shown() -> None:
    said = Objections(PEOPLE, {"j1": MemberObjections()})
    with pytest.raises(AuditError, match="'zoe' is not among the people"):
        Agreement.of(said, [("ann", "zoe")])


@given(SAID, SAID, SHOWN)
def test_consistency_counts_the_pairs_judged_the_same(
    first: MemberObjections, again: MemberObjections, shown: set[Pair]
) -> None:
    found = consistency(first, again, shown)
    assert found == consistency(again, first, shown)
    if not (first.present and again.present):
        assert found == Consistency()
        return
    once = {pair for pair in first.pairs if pair not in again.pairs} | {
        pair for pair in again.pairs if pair not in first.pairs
    }
    assert found.repeats == 1
    assert found.pairs == len(shown)
    assert found.same == len(shown - once)
    assert found.both == len(shown & set(first.pairs) & set(again.pairs))
    assert found.share == (len(shown - once) / len(shown) if shown else None)


@given(SAID, SHOWN)
def test_who_says_the_same_again_is_consistent(said: MemberObjections, shown: set[Pair]) -> None:
    found = consistency(said, said, shown)
    assert found.share == (1.0 if said.present and shown else None)


@given(st.lists(st.tuples(SAID, SAID), max_size=4), SHOWN)
def test_pooled_repeats_count_every_pair_the_same(
    repeats: list[tuple[MemberObjections, MemberObjections]], shown: set[Pair]
) -> None:
    several = [consistency(first, again, shown) for first, again in repeats]
    pooled = sum(several, Consistency())
    seen = [one for one in several if one.repeats]
    assert pooled.repeats == len(seen)
    assert pooled.pairs == len(shown) * len(seen)
    if not pooled.pairs:
        assert pooled.share is None
    else:
        mean = sum((Fraction(one.same, one.pairs) for one in seen), Fraction()) / len(seen)
        assert pooled.share == float(mean)  # as many pairs in each
