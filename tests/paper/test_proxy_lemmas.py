"""The paper's lemmas on the unfairness proxy, each as a property, for any monotone panel.

The proxy is U(π) = [π(x_l) − π(x_r)] − [π̃(x_l) − π̃(x_r)] + beta on a reported pair (l, r), else 0.
Scores are integers of 2^-20, as everywhere.
"""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from likewise.hypotheses import Segments
from likewise.learner import Learner, Margins, State
from likewise.learner.fold import upcoming
from likewise.learner.players import Draws
from likewise.numerics.fixed_point import ONE, IntArray
from likewise.numerics.randomness import Purpose
from likewise.panel import parse_rule
from likewise.people import Feature, FeatureSchema

K = 4
MEMBERS = ("j1", "j2", "j3")
RULES = st.sampled_from(
    ["any", "all", "majority", "veto(j2) or all", "(veto(j1) or veto(j2)) and objects(j3)"]
)
SCORES = st.lists(st.integers(0, ONE), min_size=K, max_size=K).map(np.array)


@st.composite
def pivots(draw: st.DrawFn) -> IntArray:
    """The pivot distances of a random panel with a random monotone rule."""
    flat = draw(st.lists(st.integers(0, ONE), min_size=3 * K * K, max_size=3 * K * K))
    d = np.array(flat).reshape(3, K, K)
    symmetric = np.triu(d, 1) + np.triu(d, 1).transpose(0, 2, 1)
    return parse_rule(draw(RULES)).pivot(symmetric, MEMBERS)[0]


@st.composite
def audits(draw: st.DrawFn) -> tuple[int, int, int]:
    """alpha, eps and kappa in units; whole and even, so that halves are exact."""
    alpha = 8 * draw(st.integers(1, ONE // 8))
    eps = 8 * draw(st.integers(1, alpha // 8))
    return alpha, eps, draw(st.integers(0, eps - 1))


def reported(scores: IntArray, d: IntArray, sensitivity: int) -> list[tuple[int, int]]:
    gaps = scores[:, None] - scores[None, :]
    return [(int(a), int(b)) for a, b in np.argwhere(gaps > d + sensitivity)]


def gap(scores: IntArray, pair: tuple[int, int]) -> int:
    return int(scores[pair[0]] - scores[pair[1]])


@given(d=pivots(), policy=SCORES, sizes=audits(), data=st.data())
def test_the_proxy_bounds_the_unfairness_loss(
    d: IntArray, policy: IntArray, sizes: tuple[int, int, int], data: st.DataObject
) -> None:
    """If every score is within eps'/4, Unfair(π) ≤ (2/eps')·proxy, whichever pair is reported."""
    alpha, _, _ = sizes
    eps = 8 * data.draw(st.integers(1, alpha // 8))
    moves = data.draw(st.lists(st.integers(-eps // 4, eps // 4), min_size=K, max_size=K))
    estimate = np.clip(policy + np.array(moves), 0, ONE)
    unfair = bool(reported(policy, d, alpha))
    pairs = reported(estimate, d, alpha - eps)
    if not pairs:
        assert not unfair
    for pair in pairs:
        proxy = gap(policy, pair) - gap(estimate, pair) + eps
        assert int(unfair) * eps <= 2 * proxy


@given(d=pivots(), estimate=SCORES, fair=SCORES, sizes=audits())
def test_fair_policies_have_a_proxy_of_at_most_zero(
    d: IntArray, estimate: IntArray, fair: IntArray, sizes: tuple[int, int, int]
) -> None:
    """For any split of eps into kappa and beta, on whatever is reported at alpha − kappa."""
    alpha, eps, kappa = sizes
    if reported(fair, d, alpha - eps):
        fair = np.full(K, int(fair[0]))  # a constant is always fair
    for pair in reported(estimate, d, alpha - kappa):
        proxy = gap(fair, pair) - gap(estimate, pair) + (eps - kappa)
        assert proxy <= 0


@given(d=pivots(), policy=SCORES, sizes=audits(), data=st.data())
def test_the_audit_lemma(
    d: IntArray, policy: IntArray, sizes: tuple[int, int, int], data: st.DataObject
) -> None:
    """Gaps within r ≤ kappa, r < beta: every violation is reported, and proxies are ≥ beta − r."""
    alpha, eps, kappa = sizes
    beta = eps - kappa
    r = data.draw(st.integers(0, min(kappa, beta - 1)))
    half = r // 2
    moves = data.draw(st.lists(st.integers(-half, half), min_size=K, max_size=K))
    estimate = np.clip(policy + np.array(moves), 0, ONE)
    pairs = reported(estimate, d, alpha - kappa)
    assert pairs or not reported(policy, d, alpha)
    for pair in pairs:
        assert gap(policy, pair) - gap(estimate, pair) + beta >= beta - r


def test_the_estimated_policy_is_close_with_the_stated_probability() -> None:
    """Lemma on the approximate policy: R draws put every score within r/2, except with delta_t.

    False alarm: at most rounds·delta_t by the lemma itself; delta_1 = 0.03, so we take the
    quantity that R promises for one round and look at 40 rounds, of which 8 or more bad ones have
    probability below 1e-5.
    """
    schema = FeatureSchema((Feature("score", low=0, high=4),))
    class_ = Segments(schema, score="score", cuts=[1.0, 2.0, 3.0])
    bad = 0
    for seed in range(40):
        learner = Learner(class_, 4, 0.3, 0.3, seed, player="context-ftpl")
        frozen = upcoming(State.start(learner))
        draws = learner.schedule.draws(Margins(0.3, 0.3, 0.15, 0.12), 4, 1)
        cells = class_.separating_points()
        requests = (Draws(draws), Draws(60_000, purpose=Purpose.EVALUATE))
        estimate, truth = (
            np.array(learner.primal.estimates(class_, frozen, cells, subset).scores)
            for subset in requests
        )
        off = np.abs(estimate - truth).max() / ONE
        bad += off > 0.12 / 2 + 0.009  # 60,000 draws are themselves within 0.009
    assert bad < 8
