"""Nested-FTPL, number by number: weights, scores, J, costs of the experts, and its engines.

Two flags, and one threshold to approve everybody or nobody in each of the four groups: so there are
four nested classes (nobody told apart, by one flag, by the other, by both), and the policy of each
is known in closed form.

Mutants that die here, each tried by hand: a prior that is the same for all experts; scores
from all draws (those of J too), or divided by all of them; J from the same expert in every draw, or
from draws that the scores have seen; an expert's draw in the wrong row; the constants exchanged;
2^20 for 2^40 in the temperature; costs of experts charged at the mixture's score.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from likewise.errors import EventRefused
from likewise.hypotheses import Segments
from likewise.hypotheses.base import pick
from likewise.learner import Learner, SelfTuned, State, apply, decide
from likewise.learner.events import (
    Arrived,
    Audited,
    Decided,
    Decision,
    Event,
    Labelled,
    Person,
    Sealed,
)
from likewise.learner.players import X_HEDGE, Draws, Frozen, NestedFTPL
from likewise.numerics.fixed_point import ONE, FloatArray, IntArray
from likewise.numerics.randomness import Purpose, Stream
from likewise.people import Feature, FeatureSchema
from tests.paper.referee import perturbed_coins

SCHEMA = FeatureSchema((Feature("score"), Feature("a", "flag"), Feature("b", "flag")))
FOUR = Segments(SCHEMA, score="score", cuts=[], by=["a", "b"])
POINTS = np.arange(4)
COSTS = np.array([3, -1, 2, -5], dtype=np.int64) * (ONE // 2)
# The temperature, and the noise of 1 + 2 + 2 + 4 groups.
SCALES = np.array([0.5, 1.0, 2.0, 1.0, 0.5, 1.0, 1.0, 2.0, 3.0, 1.0])
# Costs of approving everybody, and of the classes; approving nobody costs 0.
INCURRED = tuple(round(c * 2.0**40) for c in (0.25, -0.5, 0.75, 0.1, -0.2))


def frozen(number: int = 1, costs: IntArray = COSTS, seed: int = 7) -> Frozen:
    return Frozen(number, seed, costs, SCALES, 1, INCURRED)


def by_hand() -> tuple[FloatArray, FloatArray]:
    """The weights of nobody, everybody and the classes; the chances of approval in all of them."""
    priors = np.array([1 / 4, 1 / 4, 1 / 8, 1 / 8, 1 / 8, 1 / 8])
    weights = priors * np.exp(-np.array([0.0, 0.25, -0.5, 0.75, 0.1, -0.2]) / 0.5)
    c = COSTS / ONE
    alike = np.full(4, perturbed_coins(c.sum(), 1.0))
    by_a = perturbed_coins(np.array([c[0] + c[1], c[2] + c[3]]), SCALES[2:4]).repeat(2)
    by_b = np.tile(perturbed_coins(np.array([c[0] + c[2], c[1] + c[3]]), SCALES[4:6]), 2)
    pair = perturbed_coins(c, SCALES[6:])
    policies = np.stack([np.zeros(4), np.ones(4), alike, by_a, by_b, pair])
    return weights / weights.sum(), policies


def test_the_classes_are_those_by_fewer_features_and_costs_add_up() -> None:
    actual = [first.costs(np.array([1, 2, 3, 4])).tolist() for first in FOUR.nested()]
    assert actual == [[10], [3, 7], [4, 6], [1, 2, 3, 4]]
    places = NestedFTPL().places(FOUR, POINTS)
    assert places.tolist() == [[0, 1, 2, 4, 6], [0, 1, 2, 5, 7], [0, 1, 3, 4, 8], [0, 1, 3, 5, 9]]
    assert NestedFTPL().scales(FOUR) == 10
    assert NestedFTPL().experts(FOUR) == 5
    assert NestedFTPL().calls(FOUR, 30) == 4 * 30 + 1
    assert NestedFTPL().scale_factors(FOUR, 0.7).tolist() == [X_HEDGE, *[0.7] * 9]


def test_weights_are_the_prior_times_the_exponential_of_what_was_paid() -> None:
    weights = NestedFTPL()._weights(FOUR, frozen()).astype(float)
    assert weights / weights.sum() == pytest.approx(by_hand()[0], rel=1e-9)


@pytest.mark.parametrize("batch", range(12))
def test_the_published_score_is_the_mixture_of_those_that_are_kept(batch: int) -> None:
    """And each of those is a mean of draws that J, the first that approves, has not seen."""
    player, draws, cap = NestedFTPL("reference"), 20, 4
    actual = player.estimates(FOUR, frozen(), POINTS, Draws(draws, batch, cap=cap))
    weights = player._weights(FOUR, frozen()).tolist()
    draw = []
    for place, (item, law) in enumerate(player._laws(FOUR, frozen())):
        stream, first = Stream(7, Purpose.ELICIT, 1), (batch * 4 + place) * draws
        bits = law.approvals(item.points(POINTS), stream, first_draw=first, draws=draws)
        draw.append(bits.astype(int))
    mix = Stream(7, Purpose.MIX, 1)
    numbers = [mix.below(sum(weights), 1 + batch * cap + row) for row in range(cap)]
    picks = [pick(np.array(weights), number) for number in numbers]
    assert actual.experts is not None
    for point in range(4):
        values = [ONE, *(round(bits[cap:, point].sum() / (draws - cap) * ONE) for bits in draw)]
        assert list(actual.experts[point]) == values
        mixed = sum(w * s for w, s in zip(weights[1:], values, strict=True)) / sum(weights)
        assert abs(actual.scores[point] - mixed) <= 0.5 + 1e-6
        message = [
            expert if expert < 2 else int(draw[expert - 2][row, point])
            for row, expert in enumerate(picks)
        ]
        assert actual.inverses[point] == ONE * (message.index(1) + 1 if 1 in message[:-1] else cap)


def test_scores_and_j_of_the_mixture_are_unbiased() -> None:
    """E π̃ = π and E[J·1[approved]] = 1 − (1 − π)^M, of which J alone is the sum of (1 − π)^j.

    Means of 800 rounds, at 5.5 standard deviations: four points, three means each, so that a right
    program fails with a probability below 12·4e-8 < 1e-6.
    """
    batches, cap, draws, player = 800, 4, 5, NestedFTPL("reference")
    weights, policies = by_hand()
    mixture = weights @ policies
    scores, inverses, products = (np.empty((batches, 4)) for _ in range(3))
    for n in range(batches):
        # Different rounds have different noise; the policy is the same.
        now = frozen(1 + n)
        actual = player.estimates(FOUR, now, POINTS, Draws(draws, cap=cap))
        scores[n] = np.array(actual.scores) / ONE
        inverses[n] = np.array(actual.inverses) / ONE
        products[n] = inverses[n] * player.decide(FOUR, now, POINTS, 0)
    expected_j = sum((1 - mixture) ** j for j in range(cap))
    for instance, expected in (
        (scores, mixture), (inverses, expected_j), (products, 1 - (1 - mixture) ** cap)
    ):  # fmt: skip
        spread = np.maximum(instance.std(axis=0), 0.05) / math.sqrt(batches)
        assert (np.abs(instance.mean(axis=0) - expected) <= 5.5 * spread + 1e-6).all()


# ── In the fold ─────────────────────────────────────────────────────────────────────────────────


def start(**options: Any) -> State:
    """eta/k = 1/4; reports of gaps above 0.3."""
    schedule = SelfTuned(eta=0.5, kappa=0.3, r=0.29, delta=0.9)
    settings: dict[str, Any] = {"k": 2, "alpha": 0.6, "eps": 0.6, "seed": 5, **options}
    return State.start(Learner(FOUR, player="nested-ftpl", schedule=schedule, **settings))


def person(name: str, group: int) -> Person:
    return Person(name, (0.0, float(group // 2), float(group % 2)))


def test_what_experts_have_cost_by_hand() -> None:
    """Each at the scores that were kept with the decision, labels and reports alike."""
    half, full = ONE // 2, ONE
    ann = Decision("ann", True, half, None, (full, half, full, 0, half))
    bo = Decision("bo", False, 0, None, (full, half, 0, 0, full))
    state = start()
    for name in ("r1", "r2"):
        state = apply(state, Arrived(name, (person("ann", 0), person("bo", 3))))
        state = apply(apply(state, Decided(name, (ann, bo))), Sealed(name, "panel"))
        if name == "r1":
            assert state.incurred == (0,) * 5
            state = apply(state, Audited("r1", "report", (("ann", "bo"),)))
            assert state.incurred == (0,) * 5, "lam was 0 when it opened"
    quarter = ONE // 4
    state = apply(state, Labelled("r1", "ann", 0))  # +1/4 on ann
    assert state.incurred == tuple(quarter * s for s in (full, half, full, 0, half))
    state = apply(state, Labelled("r2", "bo", 1))  # −1/4 on bo
    paid = tuple(quarter * s for s in (0, 0, full, 0, -half))
    assert state.incurred == paid
    lam = round(state.open["r2"].lam * ONE)
    assert lam > 0
    state = apply(state, Audited("r2", "report", (("ann", "bo"),)))
    gaps = (0, 0, full, 0, -half)
    assert state.incurred == tuple(p + lam * g for p, g in zip(paid, gaps, strict=True))
    assert state.account is not None
    assert state.account.paid == quarter * half + lam * half


@pytest.mark.parametrize(
    "experts", [(0, 0, 0, 0, ONE + 1), (-1, 0, 0, 0, 0), (0, 0, 0, 0, 0.5), (0,) * 4, None]
)
def test_decisions_need_a_score_of_every_expert(experts: Any) -> None:
    state = apply(start(), Arrived("r1", (person("ann", 0),)))
    with pytest.raises(EventRefused, match=r"experts must be 5 integers in \[0, 2\^20\]"):
        apply(state, Decided("r1", (Decision("ann", True, ONE, None, experts),)))


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("feedback", ["full", "one-sided"])
def test_engines_play_the_same_game(feedback: str) -> None:
    """Decisions, scores of the mixture and of its experts, costs, and what they have cost."""
    rng = np.random.default_rng(3)
    item, two = (start(feedback=feedback, engine=e) for e in ("reference", "compiled"))
    for t in range(25):
        name = f"r{t}"
        people = tuple(person(f"p{i}", int(rng.integers(4))) for i in range(2))
        item, two = (apply(s, Arrived(name, people)) for s in (item, two))
        message = decide(item, name)
        assert message == decide(two, name)
        first, second = message.decisions
        gap = first.score - second.score
        pairs = ((first.person, second.person),) if gap > item.learner.sensitivity else ()
        events: list[Event] = [message, Sealed(name, "panel")]
        events += [
            Labelled(name, d.person, int(rng.integers(2)))
            for d in message.decisions
            if d.approved or feedback == "full"
        ]
        events.append(Audited(name, "report" if pairs else "quiet", pairs))
        for event in events:
            item, two = apply(item, event), apply(two, event)
    assert any(item.incurred)
    assert item.incurred == two.incurred
    assert item.costs.tolist() == two.costs.tolist()
    assert item.tuning == two.tuning
    assert (item.lam, item.calls, item.account) == (two.lam, two.calls, two.account)
