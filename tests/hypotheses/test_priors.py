"""Priors: by hand, by enumeration at any cost and temperature, as a start, and refused.

Mutants that die here, each tried by hand: a node that stops with probability 1/3; splits on open
features that are not divided by their number; a constant with twice its share, or at the opposite
cost; the least cost of a node left out of its weight; thresholds that do not share what is a
node's; no half for the constants of a listed class; hypotheses of a grade with as much as a class
of one grade has; a prior of 0 allowed; the sum not checked; ``untaught`` with the class's prior.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from likewise.errors import LikewiseError, ParameterError
from likewise.hypotheses import Conjunctions, ExactWeights, HypothesisClass, Pool, Segments
from likewise.learner import Learner, SelfTuned, State, dump_state, learn, parse_state
from likewise.learner.rounds import deploy
from likewise.numerics.fixed_point import ONE, FloatArray, IntArray
from likewise.numerics.randomness import Purpose, Stream
from likewise.people import Feature, FeatureSchema
from likewise.simulate import untaught
from likewise.testing import people_of
from tests.contracts.test_classes import CLASSES, TABLE

SCHEMA = FeatureSchema((Feature("score"), Feature("a", "flag"), Feature("b", "flag")))
FOUR = Segments(SCHEMA, score="score", cuts=[], by=["a", "b"])
POOL = Pool.from_table(TABLE)
# Small enough to be listed again and again; every kind of prior from coarse to fine.
SMALL = {name: h for name, h in CLASSES.items() if h.size <= 300}
BY_NAME = pytest.mark.parametrize("hypotheses", SMALL.values(), ids=SMALL.keys())


def exact(hypotheses: HypothesisClass) -> ExactWeights:
    assert isinstance(hypotheses, ExactWeights)
    return hypotheses


def predictions(hypotheses: HypothesisClass) -> IntArray:
    """h(q) for every hypothesis and every point of the separating set."""
    points = hypotheses.separating_points()
    return hypotheses.predict(hypotheses.codes(), points).astype(np.int64)


# ── By hand ─────────────────────────────────────────────────────────────────────────────────────


def test_a_context_tree_by_hand() -> None:
    """Two flags and one cell: 16 hypotheses, of prior n/256.

    A child of the root that stops, or splits, and says one thing: 1/2·1/2 + 1/2·1/4 = 3/8; that
    says two things: 1/2·1/4 = 1/8. Half of everything is the constants', and the root splits on
    either flag with probability 1/4. So a constant has 1/4 + 1/2·(1/4 + 1/2·9/64); what depends on
    one flag 1/2·1/4·(9/64 + 1/64); and so on.
    """
    constant, one_flag, odd_one_out, parity = 105, 5, 3, 1
    expected = {0: constant, 15: constant, 0b0011: one_flag, 0b1100: one_flag,
                0b0101: one_flag, 0b1010: one_flag, 0b0110: parity, 0b1001: parity}  # fmt: skip
    assert sum(expected.values()) + 8 * odd_one_out == 256
    inverse = FOUR.log_inverse_priors(FOUR.codes())
    for code, log_inverse in zip(FOUR.codes().tolist(), inverse.tolist(), strict=True):
        number = int("".join(map(str, code)), 2)
        assert math.exp(-log_inverse) * 256 == pytest.approx(
            expected.get(number, odd_one_out), rel=1e-9
        )
    assert FOUR.log_inverse_prior == pytest.approx(math.log(256), rel=1e-9)


def test_grades_by_hand() -> None:
    """Conjunctions of two flags: a constant, two grades; each grade shares a quarter alike."""
    flags = FeatureSchema((Feature("a", "flag"), Feature("b", "flag")))
    rules = Conjunctions(flags, ["a", "b"])
    on_set = predictions(rules)
    constants = int((on_set.all(axis=1) | ~on_set.any(axis=1)).sum())
    grades = rules.grades()
    inverse = rules.log_inverse_priors(rules.codes())
    varying = [g for g, row in zip(grades, on_set, strict=True) if 0 < row.sum() < len(row)]
    for grade, row, value in zip(grades.tolist(), on_set, inverse.tolist(), strict=True):
        if 0 < row.sum() < len(row):
            expected = Fraction(1, 2 * len(set(varying)) * varying.count(grade))
        else:
            expected = Fraction(1, 2 * constants)
        assert math.exp(-value) == pytest.approx(float(expected), rel=1e-9)


@pytest.mark.parametrize("name", ["segments", "two features", "three features"])
def test_some_hypothesis_is_as_unlikely_as_the_class_says(name: str) -> None:
    hypotheses = SMALL[name] if name in SMALL else CLASSES[name]
    inverse = exact(hypotheses).log_inverse_priors(hypotheses.codes())
    assert inverse.max() == pytest.approx(exact(hypotheses).log_inverse_prior, rel=1e-9)


def segments(levels: list[int], bins: int) -> Segments:
    """Thresholds on a score of so many bins, by categories of so many levels."""
    names = [f"by{i}" for i in range(len(levels))]
    by = [
        Feature(name, "category", levels=tuple(f"l{i}" for i in range(count)))
        for name, count in zip(names, levels, strict=True)
    ]
    schema = FeatureSchema((Feature("score", low=0, high=bins), *by))
    return Segments(schema, score="score", cuts=[float(i) for i in range(1, bins)], by=names)


def tree_bound(thresholds: IntArray, bins: int, features: int) -> float:
    """The least L·ln(2(B + 1)) + I·ln(2f) of a tree that the thresholds follow, one axis a feature.

    An axis of length 1 is a feature that is fixed already.
    """
    open_ = [axis for axis, size in enumerate(thresholds.shape) if size > 1]
    bounds = [math.log(2 * (bins + 1))] if (thresholds == thresholds.flat[0]).all() else []
    for axis in open_:
        children = np.split(thresholds, thresholds.shape[axis], axis=axis)
        below = sum(tree_bound(child, bins, features) for child in children)
        bounds.append(math.log(2 * features) + below)
    return min(bounds)


@pytest.mark.parametrize(
    ("levels", "bins"),
    [([2, 2], 1), ([2], 3), ([3], 4), ([2, 3], 1), ([2, 2], 3), ([2, 2, 2], 1), ([4], 2)],
    ids=str,
)
def test_a_hypothesis_costs_its_leaves_and_its_inner_nodes(levels: list[int], bins: int) -> None:
    """ln(1/prior) ≤ ln 2 + L·ln(2(B + 1)) + I·ln(2f): every hypothesis, by every tree of its."""
    hypotheses = segments(levels, bins)
    codes = hypotheses.codes()
    assert len(codes) == (bins + 1) ** math.prod(levels)
    for code, inverse in zip(codes, hypotheses.log_inverse_priors(codes), strict=True):
        bound = math.log(2) + tree_bound(code.reshape(levels), bins, len(levels))
        assert inverse <= bound + 1e-9


@pytest.mark.parametrize(
    "code", [[100] * 4, [50, 50, 7, 7], [50, 7, 50, 7], [1, 1, 99, 99]], ids=str
)
def test_that_bound_is_nearly_attained(code: list[int]) -> None:
    """Where bins are many and the tree is not full: with less than any of its terms it would break.

    The first hypothesis has one leaf and the others have two, below one of two features.
    """
    hypotheses = segments([2, 2], 200)
    (inverse,) = hypotheses.log_inverse_priors(np.array([code], dtype=np.int64))
    bound = math.log(2) + tree_bound(np.array(code).reshape(2, 2), 200, 2)
    assert bound - 0.05 < inverse <= bound


def test_probabilities_may_be_given_in_order_or_by_name() -> None:
    probabilities = [0.1, 0.2, 0.3, 0.2, 0.1, 0.1]
    names = {POOL.describe(code): p for code, p in zip(POOL.codes(), probabilities, strict=True)}
    ordered, named = POOL.with_prior(probabilities), POOL.with_prior(names)
    assert ordered.prior == named.prior == tuple(probabilities)
    assert np.exp(-ordered.log_inverse_priors(POOL.codes())) == pytest.approx(probabilities)
    assert POOL.prior == "coarse-to-fine", "with_prior makes another class"


def test_a_prior_is_saved_with_the_learner() -> None:
    probabilities = [0.1, 0.2, 0.3, 0.2, 0.1, 0.1]
    for prior in (probabilities, "flat", "coarse-to-fine"):
        state = State.start(Learner(POOL.with_prior(prior), k=2, alpha=0.3, eps=0.3, seed=1))
        again = parse_state(dump_state(state)).learner
        assert exact(again.hypotheses).prior == exact(state.learner.hypotheses).prior
        assert again.settings() == state.learner.settings()


# ── At any cost and temperature ─────────────────────────────────────────────────────────────────


def enumerated(hypotheses: HypothesisClass, amounts: IntArray, temperature: float) -> FloatArray:
    """π of every hypothesis; costs are subtracted as Python's integers."""
    table = predictions(hypotheses).tolist()
    totals = [sum(a for a, s in zip(amounts.tolist(), row, strict=True) if s) for row in table]
    least = min(totals)
    prior = exact(hypotheses).log_inverse_priors(hypotheses.codes()).tolist()
    far = [float(t - least) / temperature + p for t, p in zip(totals, prior, strict=True)]
    weights = np.exp(min(far) - np.array(far))
    return np.asarray(weights / weights.sum())


@settings(max_examples=25)
@given(
    name=st.sampled_from(sorted(SMALL)),
    prior=st.sampled_from(["coarse-to-fine", "flat"]),
    size=st.sampled_from([0, 1, 10, 10**6, 10**12, 10**16]),
    power=st.sampled_from([-9, -3, 0, 3, 6, 12, 15]),
    seed=st.integers(0, 10**6),
)
def test_chances_are_those_of_enumerated_weights_at_any_cost_and_temperature(
    name: str, prior: str, size: int, power: int, seed: int
) -> None:
    """From temperatures at which the first unit decides to those at which nothing does."""
    hypotheses = exact(SMALL[name]).with_prior(prior)
    assert isinstance(hypotheses, HypothesisClass)
    rng = np.random.default_rng(seed)
    points = hypotheses.separating_points()
    amounts = rng.integers(-size, size + 1, len(points)).astype(np.int64)
    temperature = 10.0**power * (1.0 + rng.random())
    costs = hypotheses.charge(hypotheses.no_costs(), points, amounts)
    policy = hypotheses.weigh(costs, temperature)
    chances = enumerated(hypotheses, amounts, temperature)
    expected = chances @ predictions(hypotheses)
    approval = np.array([w / total for w, total in policy.approval(points)])
    # A single hypothesis has no point that tells it apart.
    assert np.abs(approval - expected).max(initial=0.0) <= hypotheses.cut + 1e-9
    # Whoever is drawn is somebody of more than no weight.
    likely = predictions(hypotheses)[chances > 1e-15].tolist()
    for number in range(5):
        bits = policy.draw(points, Stream(seed, Purpose.DECIDE, 1), number)
        assert bits.tolist() in likely


# ── As a start ──────────────────────────────────────────────────────────────────────────────────


@BY_NAME
def test_the_first_policy_halves_every_gap(hypotheses: HypothesisClass) -> None:
    """π = 1/2·(the constants') + 1/2·(the rest's), and the constants tell nobody apart.

    With both constants inside they share their half, so that everybody has at least 1/4 and at
    most 3/4, and no two people are further than 1/2 apart.
    """
    people = people_of(hypotheses.schema, 10, 3)
    learner = Learner(hypotheses, k=10, alpha=0.5, eps=0.5, seed=2)
    _, deployment = deploy(State.start(learner), people)
    table = predictions(hypotheses)
    constant = table.all(axis=1) | ~table.any(axis=1)
    prior = np.exp(-exact(hypotheses).log_inverse_priors(hypotheses.codes()))
    on_people = hypotheses.predict(hypotheses.codes(), hypotheses.locate(people))
    if not constant.all():
        # A half that is the constants' own, whatever more of them the rest has.
        rest = 2 * prior - constant / constant.sum()
        assert (rest > -1e-9).all()
        scores = deployment.scores
        of_rest = rest @ on_people
        off = hypotheses.size * 1e-12 + 2 / ONE
        gaps, of_rests = (np.abs(p[:, None] - p[None, :]) for p in (scores, of_rest))
        assert np.abs(gaps - of_rests / 2).max() <= off
        assert gaps.max() <= 0.5 + off


def test_reports_move_weight_to_the_constants_at_once() -> None:
    """A pair that is reported: the gap falls, with labels silent, from report to report."""
    schedule = SelfTuned(kappa=0.3, x=0.25)
    hypotheses = Segments(SCHEMA, score="score", cuts=[1, 2], by=[])
    state = State.start(Learner(hypotheses, k=2, alpha=0.5, eps=0.5, seed=2, schedule=schedule))
    gaps = []
    for _ in range(6):
        people = SCHEMA.people([[3, 0, 0], [0, 0, 0]])
        state, deployment = deploy(state, people)
        gaps.append(float(deployment.scores[0] - deployment.scores[1]))
        reported = gaps[-1] > 0.2
        report = [(people.ids[0], people.ids[1])] if reported else []
        state = learn(state, deployment, labels={}, report=report)
    assert gaps[0] == pytest.approx(0.25, abs=1e-5), "half of 1/2"
    assert gaps[0] == gaps[1], "the first report is charged at lam = 0"
    assert gaps[2] < gaps[1]
    assert min(gaps[2:]) < 0.2


@pytest.mark.parametrize(
    ("step", "constants"), [(0.5, 0.551), (math.log(4), 0.5), (2.0, 0.387), (3.0, 0.198)]
)
def test_a_report_moves_weight_to_the_constants_where_its_step_is_small(
    step: float, constants: float
) -> None:
    """For lam/tau below ln(p_l/p_r) = ln 4. By hand: 0.5/(0.5 + 0.4·exp(−step) + 0.1·exp(step))."""
    table = np.array([[0, 0, 0], [1, 1, 1], [1, 0, 0], [0, 1, 0]], dtype=np.int64)
    pool = Pool.from_table(table).with_prior([0.25, 0.25, 0.4, 0.1])
    points = pool.locate(pool.schema.people(table.T.astype(float)))
    amounts = np.array([round(step * ONE), -round(step * ONE), 0], dtype=np.int64)
    policy = pool.weigh(pool.charge(pool.no_costs(), points, amounts), float(ONE))
    everybody = [w / total for w, total in policy.approval(points)][2]
    assert 2 * everybody == pytest.approx(constants, abs=0.0005)


# ── Untaught ────────────────────────────────────────────────────────────────────────────────────


@BY_NAME
def test_untaught_has_equal_weights_whatever_happens(hypotheses: HypothesisClass) -> None:
    """Also of a class whose own prior is another one."""
    graded = exact(hypotheses).with_prior("coarse-to-fine")
    assert isinstance(graded, HypothesisClass)
    learner = untaught(graded, 8, 0.3, 0.3, 1)
    assert isinstance(learner, Learner)
    assert exact(learner.hypotheses).prior == "flat"
    state, people = State.start(learner), people_of(hypotheses.schema, 8, 5)
    on_people = hypotheses.predict(hypotheses.codes(), hypotheses.locate(people))
    for t in range(12):
        state, deployment = deploy(state, people)
        assert deployment.scores == pytest.approx(on_people.mean(axis=0), abs=1e-6)
        state = learn(state, deployment, labels=[t % 3 == 0] * 8)


# ── Refused ─────────────────────────────────────────────────────────────────────────────────────

SIXTH = 1 / 6
EVEN = {POOL.describe(code): SIXTH for code in POOL.codes()}


@pytest.mark.parametrize(
    ("prior", "says"),
    [
        ([-0.1, 0.3, 0.2, 0.2, 0.2, 0.2], r"must be in \(0, 1\]"),
        ([0.0, 0.2, 0.2, 0.2, 0.2, 0.2], r"must be in \(0, 1\]"),
        ([SIXTH] * 5 + [0.2], "must add up to 1"),
        ([SIXTH] * 5 + [SIXTH - 1e-6], "must add up to 1"),
        ([0.2] * 5, "a probability for each of the 6"),
        ([SIXTH] * 6 + [SIXTH], "a probability for each of the 6"),
        ([math.nan] + [0.2] * 5, "prior"),
        ([math.inf] + [0.2] * 5, "prior"),
        (["1/6"] * 6, "prior"),
        ([True] + [0.0] * 5, "prior"),
        ({**EVEN, "somebody": SIXTH}, "and for no other"),
        (dict(list(EVEN.items())[1:]), "a probability for each of the 6"),
        ({}, "a probability for each of the 6"),
        ("uniform", "must be one of coarse-to-fine, flat"),
        (None, "prior"),
        (0.5, "prior"),
        ([], "a probability for each of the 6"),
    ],
)
def test_a_prior_that_is_none_is_refused(prior: Any, says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        POOL.with_prior(prior)


@pytest.mark.parametrize("name", ["segments", "staircases"])
@pytest.mark.parametrize("prior", [[0.5, 0.5], {"everybody": 1.0}, "uniform", None, math.nan])
def test_a_class_that_is_not_listed_has_priors_by_name_alone(name: str, prior: Any) -> None:
    with pytest.raises(ParameterError, match="must be one of coarse-to-fine, flat"):
        exact(CLASSES[name]).with_prior(prior)


def test_scales_for_each_part_need_a_prior_that_does_not_couple_them() -> None:
    with pytest.raises(LikewiseError, match="with_prior\\('flat'\\)"):
        Learner(FOUR, k=2, alpha=0.3, eps=0.3, seed=1, scales="per-part")
