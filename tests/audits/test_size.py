"""Audits of any size: all ways to count give the same integers, all engines the same audit."""

from __future__ import annotations

import numpy as np
import pytest

from likewise import Feature, FeatureSchema, MetricAuditor, Panel
from likewise.audits import pairs as counting
from likewise.audits.pairs import Question, Tally, all_pairs, threshold
from likewise.audits.plans import Plan, program
from likewise.errors import LikewiseError
from likewise.numerics.fixed_point import ONE
from likewise.panel import FromColumns, Mahalanobis, Masked, Ratings, WeightedL1, parse_rule
from likewise.people import People

SCHEMA = FeatureSchema(
    (
        Feature("age", "integer", 18, 90),
        Feature("income", low=0, high=10, missing="unknown"),
        Feature("purpose", "category", levels=("car", "home"), missing="none"),
        Feature("owner", "flag"),
    )
)
AUDITORS = [
    MetricAuditor("a", WeightedL1({"age": 0.5, "income": 0.3, "purpose": 0.2})),
    MetricAuditor("b", WeightedL1({"income": 0.5, "owner": 1.7}, {"income": 4.0})),
    MetricAuditor("c", Ratings("age", 18, 90)),
    MetricAuditor("d", Masked(WeightedL1({"age": 0.9, "purpose": 0.4}), ["purpose"])),
    MetricAuditor("e", Mahalanobis(("age", "owner"), [[1.0, 0.2], [0.2, 9.0]], scale=80)),
    MetricAuditor("f", FromColumns(lambda one, other: 0.3 * (one["purpose"] != other["purpose"]))),
]
RULES = [
    "any", "majority", "all", "never", "at_least(9)", "at_least(2 of a, b, c)",
    "veto(b) or (objects(a) and objects(c))", "weighted(a: 2, b: 1, c: 1; 3)",
]  # fmt: skip
COUNTS = (
    "pairs", "above", "highest", "pivots", "decisive", "objections", "objectors", "by_rule",
    "touched_by_rule", "worst", "partner", "over", "under", "between_groups",
)  # fmt: skip
PANEL = Panel(AUDITORS[:3], "majority")


def somebody(n: int, seed: int) -> People:
    rng = np.random.default_rng(seed)
    income = np.where(rng.random(n) < 0.2, np.nan, rng.random(n) * 10)
    purpose = np.where(rng.random(n) < 0.2, np.nan, rng.integers(0, 2, n))
    return SCHEMA.encoded(
        np.column_stack([rng.integers(18, 91, n), income, purpose, rng.integers(0, 2, n)])
    )


def question(seed: int, rule: str, auditors: list[MetricAuditor], n: int = 500) -> Question:
    """People with weights or without, scores that tie or do not, and many worst pairs or few."""
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 2, n) * ONE if seed % 3 == 0 else rng.integers(0, ONE + 1, n)
    alphas = sorted({threshold(share) for share in (0.0, 0.1, 0.13, 0.5, 1.0)})
    return Question(
        somebody(n, seed), scores, Panel(auditors, rule), threshold(0.1), np.array(alphas),
        tuple(map(parse_rule, ("any", "majority", "all"))), (20, 0, 1, 3000)[seed % 4],
        rng.integers(1, 50, n) if seed % 2 else np.ones(n, dtype=np.int64),
        None if seed % 4 == 3 else 1 + seed % 3, rng.integers(0, 3, (seed % 3, n)),
    )  # fmt: skip


def blocks_of(seed: int, n: int) -> list[counting.Block]:
    if seed % 2:
        return all_pairs(n, 200)
    some = np.sort(np.random.default_rng(seed).choice(n, 9, replace=False))
    return counting._with_everybody(some, n)


def assert_same(one: Tally, other: Tally) -> None:
    for name in COUNTS:
        assert np.array_equal(getattr(one, name), getattr(other, name)), name


@pytest.mark.parametrize("seed", range(8))
def test_compiled_code_counts_what_numpy_does(seed: int) -> None:
    """Mutants that fail here: no halves to even, missing as 0, ties kept by place, weights of 1."""
    kernels = pytest.importorskip("likewise.audits.kernels", exc_type=ImportError)
    for rule in RULES:
        asked = question(seed, rule, AUDITORS)
        ours, plain = kernels.Kernel(Plan(asked)), counting.Plain()
        compiled, reference = Tally(asked), Tally(asked)
        for block in blocks_of(seed, len(asked.people)):
            ours.add(compiled, block)
            plain.add(reference, block)
        assert_same(compiled, reference)


@pytest.mark.parametrize("seed", range(4))
def test_the_gpu_counts_what_numpy_does(seed: int) -> None:
    """On a machine with a GPU: pytest tests/audits/test_size.py -k gpu."""
    pytest.importorskip("torch", reason="PyTorch is not installed")
    try:
        from likewise.audits.device import Device
    except LikewiseError as error:
        pytest.skip(str(error))
    for rule in RULES:
        asked = question(seed, rule, AUDITORS[:4])
        ours, plain = Device(Plan(asked)), counting.Plain()
        on_device, reference = Tally(asked), Tally(asked)
        for block in blocks_of(seed, len(asked.people)):
            ours.add(on_device, block)
            plain.add(reference, block)
        assert_same(on_device, reference)


@pytest.mark.parametrize("rule", RULES)
def test_a_program_is_the_pivot_of_its_rule(rule: str) -> None:
    members = [auditor.name for auditor in AUDITORS]
    keys = np.random.default_rng(1).permuted(np.tile(np.arange(6), (200, 1)), axis=1).T * 7
    registers = list(keys)
    for operation, a, b in program(parse_rule(rule), members).tolist():
        join = (np.minimum, np.maximum, lambda x, _: np.full_like(x, 99))[operation]
        registers.append(join(registers[a], registers[b]))
    assert (registers[-1] == parse_rule(rule).pivot_keys(keys, members, 99)).all()
