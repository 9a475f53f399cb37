"""One-sided labels: what is charged is right in the mean, comes when it should, and is bounded.

Chances of approval are computed a second time here: sums over all hypotheses for exponential
weights, integrals of the Laplace density for Context-FTPL.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import integrate

from likewise.errors import EventRefused, ParameterError
from likewise.hypotheses import HypothesisClass, Pool, Segments
from likewise.learner import (
    Learner,
    Paper,
    PaperOneSided,
    Schedule,
    SelfTuned,
    State,
    apply,
    asking,
    decide,
    dump_state,
    parse_state,
)
from likewise.learner.attention import Share
from likewise.learner.events import (
    Arrived,
    Audited,
    Closed,
    Decided,
    Decision,
    Labelled,
    Outcome,
    Person,
    Sealed,
)
from likewise.learner.oracle import Oracle
from likewise.learner.players import ContextFTPL, Draws, Frozen
from likewise.numerics.fixed_point import ONE, IntArray
from likewise.numerics.randomness import Noise, Purpose, Stream
from likewise.people import Feature, FeatureSchema
from likewise.registry import SCHEDULES
from likewise.simulate import Loans
from likewise.simulate.rounds import play
from tests.learner.referee import Referee, fold, units

PLAYERS = pytest.mark.parametrize("player", ["exponential-weights", "context-ftpl"])

# Two segments of two bins each: four cells, and three thresholds for each segment.
SCHEMA = FeatureSchema((Feature("score", low=0, high=2), Feature("home", "flag")))
# Priors are flat here, so that chances are written down quickly; test_priors.py has the others.
LENDER = Segments(SCHEMA, score="score", cuts=[1.0], by=["home"]).with_prior("flat")
CELLS = tuple(Person(f"p{c}", (float(c % 2), float(c // 2))) for c in range(4))

# Nobody; whoever is of the first kind; whoever is of the second.
POOL = Pool.from_table([[0, 0], [1, 0], [0, 1]]).with_prior("flat")
KINDS = (Person("a", (0.0, 1.0, 0.0)), Person("b", (0.0, 0.0, 1.0)))


def start(
    player: str = "auto", hypotheses: HypothesisClass = LENDER, k: int = 4, **settings: Any
) -> State:
    few_draws = SelfTuned(eta=0.25, x=1.0, kappa=0.5, r=0.49, delta=0.9)
    options = {"schedule": few_draws, "feedback": "one-sided", "seed": 5, **settings}
    return State.start(Learner(hypotheses, k, 1.0, 1.0, player=player, **options))


def waited(state: State, rounds: int) -> State:
    """Rounds of which nothing is heard: somebody was approved, and the label never came."""
    person = CELLS[0] if state.learner.hypotheses is LENDER else KINDS[0]
    for t in range(1, rounds + 1):
        decided = Decided(f"w{t}", (Decision(person.id, True, ONE, ONE),))
        state = fold(state, Arrived(f"w{t}", (person,)), decided, Sealed(f"w{t}", "p"))
        state = fold(state, Audited(f"w{t}", "unaudited"), Closed(f"w{t}"))
    return state


# ── Estimated costs are right in the mean ───────────────────────────────────────────────────────

SEEDS = 2000
# By the normal approximation, a mean is off by more standard errors than that with probability
# below 4·10^-8. There are fewer than 150 comparisons here: a false alarm in 6·10^-6 of all runs.
STANDARD_ERRORS = 5.5


def density(value: float, mean: float, scale: float) -> float:
    return math.exp(-abs(value - mean) / scale) / (2 * scale)


def below(value: float, mean: float, scale: float) -> float:
    """P(mean + scale·z ≤ value) for a unit Laplace z."""
    tail = 0.5 * math.exp(-abs(value - mean) / scale)
    return tail if value < mean else 1 - tail


def chance_below_both(a: float, b: float, scale: float) -> float:
    """P(A < 0 and A < B) of independent Laplace variables A around a and B around b."""
    actual, _ = integrate.quad(
        lambda v: density(v, a, scale) * (1 - below(v, b, scale)),
        min(a, 0.0) - 40 * scale, 0.0, points=[min(a, 0.0), min(b, 0.0)], limit=200,
    )  # fmt: skip
    return actual


def perturbed_chances(frozen: Frozen, hypotheses: HypothesisClass) -> list[float]:
    """Of Context-FTPL, by integration."""
    costs, scale = (frozen.costs / ONE).tolist(), frozen.scale
    if hypotheses is POOL:
        _, a, b = costs
        return [chance_below_both(a, b, scale), chance_below_both(b, a, scale)]
    chances = []
    for low, high in (costs[:2], costs[2:]):
        # all are approved if low + high < min(high, 0), that is if low < 0 and low < −high
        everybody = chance_below_both(low, -high, scale)
        # the upper ones if min(low + high, high) < 0, that is if high < 0, or else low < −high
        rest, _ = integrate.quad(
            lambda v, low=low, high=high: density(v, high, scale) * below(-v, low, scale),
            0.0, max(high, 0.0) + 40 * scale, points=[max(high, 0.0), max(-low, 0.0)], limit=200,
        )  # fmt: skip
        chances += [everybody, below(0.0, high, scale) + rest]
    return chances


def weighted_chances(frozen: Frozen, hypotheses: HypothesisClass) -> list[float]:
    """Of exponential weights, by listing."""
    costs, scale = (frozen.costs / ONE).tolist(), frozen.scale
    if hypotheses is POOL:
        w = [math.exp(-cost / scale) for cost in costs]
        return [w[1] / sum(w), w[2] / sum(w)]
    chances = []
    for low, high in (costs[:2], costs[2:]):
        w = [math.exp(-cost / scale) for cost in (low + high, high, 0.0)]
        chances += [w[0] / sum(w), (w[0] + w[1]) / sum(w)]
    return chances


@dataclass
class Trial:
    """A round in the middle of a game, ready to be decided under any seed."""

    state: State
    people: tuple[Person, ...]
    labels: tuple[int, ...]
    cells: list[int]

    @property
    def frozen(self) -> Frozen:
        return self.state.open["now"].policy

    def charged(self, seeds: int) -> tuple[list[float], list[float]]:
        """What each person's labels cost in the mean: their labels, and the opposite ones."""
        totals = np.zeros((2, len(self.people)))
        for seed in range(seeds):
            round_ = replace(self.state.open["now"], frozen=replace(self.frozen, seed=seed))
            state = replace(self.state, open={"now": round_})
            decided = decide(state, "now")
            state = fold(state, decided, Sealed("now", "p"))
            for flip in (0, 1):
                after = state
                for decision, label in zip(decided.decisions, self.labels, strict=True):
                    if decision.approved:
                        after = apply(after, Labelled("now", decision.person, label ^ flip))
                totals[flip] += (after.costs - self.state.costs)[self.cells]
        means = (totals / seeds).tolist()
        return means[0], means[1]


def trial(player: str, hypotheses: HypothesisClass, rounds: int) -> Trial:
    """Costs that make some likely and others not, in round ``rounds`` + 1."""
    people, cells = (CELLS, [0, 1, 2, 3]) if hypotheses is LENDER else (KINDS, [1, 2])
    state = waited(start(player, hypotheses, len(people)), rounds)
    costs = [0.3, -0.2, -0.1, 0.5] if hypotheses is LENDER else [0.0, -0.3, 0.1]
    state = replace(state, costs=np.array([units(c) for c in costs], dtype=np.int64))
    labels = (0, 1, 1, 0)[: len(people)]
    return Trial(apply(state, Arrived("now", people)), people, labels, cells)


def moments_of_resampling(q: float, m: int) -> tuple[float, float]:
    """Mean and variance of J·1[approved], where J is the first of m draws that approves, or m."""
    chances = [q * (1 - q) ** (j - 1) for j in range(1, m)] + [(1 - q) ** (m - 1)]
    mean = q * sum(j * p for j, p in enumerate(chances, 1))
    return mean, q * sum(j * j * p for j, p in enumerate(chances, 1)) - mean**2


def check_means(actual: Trial, mean: list[float], deviation: list[float]) -> None:
    """``mean`` and ``deviation`` are those of J·1[approved]."""
    unit = units(0.25 / len(actual.people))
    settings, opposite = actual.charged(SEEDS)
    for i, label in enumerate(actual.labels):
        for y, charged in ((label, settings[i]), (1 - label, opposite[i])):
            expected, spread = 2 * (1 - y) * mean[i] - 1, 2 * (1 - y) * deviation[i]
            # one unit for what rounding to the grid may do
            off = STANDARD_ERRORS * unit * spread / math.sqrt(SEEDS) + 1
            assert abs(charged - unit * expected) <= off, (i, y)


# M is 1 in the first round and grows; the cases between are as many draws again, for long tests.
LISTED_LONG = pytest.mark.parametrize(
    "hypotheses", [LENDER, pytest.param(POOL, marks=pytest.mark.long)], ids=["segments", "pool"]
)
RESAMPLES = pytest.mark.parametrize(
    ("rounds", "m"), [(0, 1), pytest.param(1, 2, marks=pytest.mark.long), (8, 3)]
)


@LISTED_LONG
@RESAMPLES
def test_context_ftpl_charges_the_label_times_the_chance_of_an_approval_in_m_draws(
    hypotheses: HypothesisClass, rounds: int, m: int
) -> None:
    """E J·1[approved] = 1 − (1 − q)^M, within 5.5 standard errors (see above)."""
    actual = trial("context-ftpl", hypotheses, rounds)
    assert actual.state.learner.resamples(rounds + 1) == m
    chances = perturbed_chances(actual.frozen, hypotheses)
    assert min(chances) < 0.4 < max(chances)
    moments = [moments_of_resampling(q, m) for q in chances]
    promised = [1 - (1 - q) ** m for q in chances]
    assert [mean for mean, _ in moments] == pytest.approx(promised)
    deviations = [math.sqrt(variance) for _, variance in moments]
    check_means(actual, promised, deviations)


@LISTED_LONG
@pytest.mark.parametrize("rounds", [0, 8])
def test_exponential_weights_charge_the_lifted_label_itself(
    hypotheses: HypothesisClass, rounds: int
) -> None:
    """J = 1/q, so that E J·1[approved] = 1, within 5.5 standard errors (see above)."""
    actual = trial("exponential-weights", hypotheses, rounds)
    chances = weighted_chances(actual.frozen, hypotheses)
    assert min(chances) < 0.4
    deviations = [math.sqrt(1 / q - 1) for q in chances]
    check_means(actual, [1.0] * len(chances), deviations)


@pytest.mark.parametrize("hypotheses", [LENDER, POOL], ids=["segments", "pool"])
def test_exponential_weights_publish_j_as_one_over_the_chance(hypotheses: HypothesisClass) -> None:
    actual = trial("exponential-weights", hypotheses, 0)
    chances = weighted_chances(actual.frozen, hypotheses)
    observed = set()
    for seed in range(40):
        round_ = replace(actual.state.open["now"], frozen=replace(actual.frozen, seed=seed))
        state = replace(actual.state, open={"now": round_})
        for i, decision in enumerate(decide(state, "now").decisions):
            if decision.approved:
                assert decision.inverse_chance == pytest.approx(ONE / chances[i], rel=1e-5)
                observed.add(i)
    assert len(observed) == len(chances)


# ── J ───────────────────────────────────────────────────────────────────────────────────────────


def approvals(round_frozen: Frozen, purpose: Purpose, first: int, draws: int) -> list[list[int]]:
    """What draws of h say of the four cells, from the oracle itself."""
    noise = Noise(Stream(round_frozen.seed, purpose, round_frozen.number), round_frozen.scale)
    points = LENDER.locate(SCHEMA.encoded([p.features for p in CELLS]))
    oracle = Oracle(LENDER, "reference")
    actual = oracle.approvals(round_frozen.costs, noise, points, draws=draws, first_draw=first)
    return [[int(bit) for bit in row] for row in actual]


def test_j_is_the_first_elicitation_draw_that_approves_and_at_most_m() -> None:
    """In round 28, where M = 4, for two batches, which have draws of their own."""
    observed = set()
    for seed in range(30):
        state = waited(start("context-ftpl", seed=seed), 27)
        costs = np.array([units(c) for c in (0.6, 0.3, 0.9, -1.0)], dtype=np.int64)
        state = replace(state, costs=costs)
        for batch in (0, 1):
            state = apply(state, Arrived("now", CELLS[2 * batch : 2 * batch + 2]))
            decided, round_ = decide(state, "now"), state.open["now"]
            rows = approvals(round_.policy, Purpose.ELICIT, batch * round_.draws, round_.draws)
            (bits,) = approvals(round_.policy, Purpose.DECIDE, batch, 1)
            for cell, decision in enumerate(decided.decisions, 2 * batch):
                first = next((j for j, row in enumerate(rows, 1) if row[cell]), 4)
                expected = min(first, 4) * ONE if bits[cell] else None
                assert decision.inverse_chance == expected
                assert decision.approved == bool(bits[cell])
                observed.add(expected)
            state = apply(state, decided)
    assert observed == {None, ONE, 2 * ONE, 3 * ONE, 4 * ONE}


@PLAYERS
def test_nobody_who_was_rejected_has_a_j(player: str) -> None:
    state = apply(start(player), Arrived("now", CELLS))
    for seed in range(20):
        round_ = replace(state.open["now"], frozen=replace(state.open["now"].policy, seed=seed))
        for decision in decide(replace(state, open={"now": round_}), "now").decisions:
            assert (decision.inverse_chance is None) == (not decision.approved)


@PLAYERS
def test_with_full_information_nobody_has_a_j(player: str) -> None:
    state = apply(start(player, feedback="full"), Arrived("now", CELLS))
    assert all(d.inverse_chance is None for d in decide(state, "now").decisions)


def forced(state: State, name: str, *decisions: Decision) -> State:
    """A sealed round of the first people with decisions of our own choice."""
    people = CELLS[: len(decisions)]
    return fold(state, Arrived(name, people), Decided(name, decisions), Sealed(name, "p"))


@pytest.mark.parametrize(("label", "cost"), [(0, 5), (1, -1)])
def test_a_label_that_comes_30_rounds_later_is_charged_with_the_j_of_its_decision(
    label: int, cost: int
) -> None:
    """J = 3 in round 9: 2·3 − 1 for a 0, −1 for a 1, in units of eta/k."""
    state = forced(waited(start("context-ftpl"), 8), "old", Decision("p0", True, 5, 3 * ONE))
    for t in range(30):
        state = forced(state, f"n{t}", Decision("p0", True, ONE, ONE), Decision("p1", False, 0))
        state = fold(state, Labelled(f"n{t}", "p0", t % 2))
        state = fold(state, Audited(f"n{t}", "quiet"), Closed(f"n{t}"))
        state = parse_state(dump_state(state))
    after = apply(state, Labelled("old", "p0", label))
    assert (after.costs - state.costs).tolist() == [cost * units(0.0625), 0, 0, 0]


@PLAYERS
def test_a_report_costs_the_same_whatever_j_is(player: str) -> None:
    costs = []
    for j in (ONE, 3 * ONE):
        state = replace(waited(start(player), 8), lam=0.4)
        state = forced(state, "now", Decision("p0", True, ONE, j), Decision("p1", False, 0))
        costs.append(apply(state, Audited("now", "report", (("p0", "p1"),))).costs - state.costs)
    assert costs[0].tolist() == costs[1].tolist() == [units(0.4), -units(0.4), 0, 0]


@pytest.mark.parametrize("inverse", [None, 0, ONE - 1, -ONE, True, float(ONE), 2**90])
@PLAYERS
def test_a_j_that_no_draw_can_give_is_refused_with_the_decision(player: str, inverse: Any) -> None:
    state = apply(start(player), Arrived("now", CELLS[:1]))
    with pytest.raises(EventRefused, match="inverse chance"):
        apply(state, Decided("now", (Decision("p0", True, ONE, inverse),)))


def test_a_j_above_m_is_refused_where_the_bound_rests_on_m() -> None:
    state = apply(waited(start("context-ftpl"), 1), Arrived("now", CELLS[:1]))
    apply(state, Decided("now", (Decision("p0", True, ONE, 2 * ONE),)))
    with pytest.raises(EventRefused, match="inverse chance"):
        apply(state, Decided("now", (Decision("p0", True, ONE, 2 * ONE + 1),)))


@pytest.mark.parametrize(
    ("feedback", "approved"), [("full", True), ("full", False), ("one-sided", False)]
)
def test_a_j_that_nobody_asked_for_is_refused(feedback: str, approved: bool) -> None:
    state = apply(start(feedback=feedback), Arrived("now", CELLS[:1]))
    with pytest.raises(EventRefused, match="an inverse chance is for those whom"):
        apply(state, Decided("now", (Decision("p0", approved, ONE, ONE),)))


# ── When costs come ─────────────────────────────────────────────────────────────────────────────

APPROVED, REJECTED = Decision("p0", True, ONE, ONE), Decision("p1", False, 0)
UNIT = units(0.0625)


def rejected_and_approved(player: str) -> State:
    """p0 was approved with J = 1, p1 was rejected."""
    return forced(start(player), "now", APPROVED, REJECTED)


@PLAYERS
def test_the_rejected_are_charged_when_the_round_is_sealed(player: str) -> None:
    state = fold(start(player), Arrived("now", CELLS[:2]), Decided("now", (APPROVED, REJECTED)))
    assert not state.costs.any()
    assert apply(state, Sealed("now", "p")).costs.tolist() == [0, -UNIT, 0, 0]


@PLAYERS
def test_full_information_charges_nothing_when_the_round_is_sealed(player: str) -> None:
    decisions = (Decision("p0", True, ONE), Decision("p1", False, 0))
    assert not forced(start(player, feedback="full"), "now", *decisions).costs.any()


@PLAYERS
@pytest.mark.parametrize(("label", "cost"), [(0, UNIT), (1, -UNIT)])
def test_the_approved_are_charged_when_the_label_comes(player: str, label: int, cost: int) -> None:
    state = rejected_and_approved(player)
    after = apply(state, Labelled("now", "p0", label))
    assert (after.costs - state.costs).tolist() == [cost, 0, 0, 0]


@PLAYERS
def test_a_round_closed_without_its_labels_charges_nothing_more(player: str) -> None:
    state = rejected_and_approved(player)
    after = fold(state, Audited("now", "quiet"), Closed("now"))
    assert after.costs.tolist() == state.costs.tolist()


@PLAYERS
def test_a_missing_label_is_that_of_somebody_who_was_approved(player: str) -> None:
    state = apply(rejected_and_approved(player), Audited("now", "quiet"))
    assert apply(state, Closed("now")).missing == 1
    assert fold(state, Labelled("now", "p0", 0), Closed("now")).missing == 0


@PLAYERS
def test_a_label_of_somebody_who_was_rejected_is_refused_and_says_what_to_do(player: str) -> None:
    state = rejected_and_approved(player)
    with pytest.raises(
        EventRefused, match=r"'p1' was rejected.*record that first: Overridden\('now', 'p1', True\)"
    ):
        apply(state, Labelled("now", "p1", 1))


@PLAYERS
def test_a_label_that_comes_twice_changes_nothing(player: str) -> None:
    state = apply(rejected_and_approved(player), Labelled("now", "p0", 1))
    assert apply(state, Labelled("now", "p0", 1)) is state


@PLAYERS
def test_a_label_that_contradicts_the_record_is_refused(player: str) -> None:
    state = apply(rejected_and_approved(player), Labelled("now", "p0", 1))
    with pytest.raises(EventRefused, match="recorded as 1 and cannot become 0"):
        apply(state, Labelled("now", "p0", 0))


# ── How many draws ──────────────────────────────────────────────────────────────────────────────


def test_a_batch_takes_r_draws_where_m_is_less() -> None:
    learner = start("context-ftpl").learner
    assert learner.draws(9) == learner.schedule.draws(learner.margins, 4, 9) > 3


def one_sided_paper(k: int, horizon: int, **settings: Any) -> Learner:
    """M = 16·4·20/e = 471 at T = 8000 and k = 4; R = 2·ln(4kT/delta)/r² is far less."""
    schedule = PaperOneSided(horizon, draws_rule="r", delta=0.9, **settings)
    return Learner(LENDER, k, 1.0, 1.0, 5, schedule, "context-ftpl", feedback="one-sided")


def test_a_batch_takes_m_draws_where_r_is_less() -> None:
    learner = one_sided_paper(4, 8000)
    # 2·ln(4·4·8000/0.9)/0.16
    assert learner.schedule.draws(learner.margins, 4, 1) == 149
    assert learner.draws(1) == 471


def test_every_draw_for_j_is_a_counted_call(monkeypatch: pytest.MonkeyPatch) -> None:
    instance: list[tuple[Stream, int]] = []
    true = Oracle.approvals

    def noted(self: Oracle, *args: Any, draws: int, first_draw: int = 0) -> Any:
        instance.extend((args[1].stream, first_draw + i) for i in range(draws))
        return true(self, *args, draws=draws, first_draw=first_draw)

    monkeypatch.setattr(Oracle, "approvals", noted)
    state = State.start(one_sided_paper(4, 8000))
    for name, person in product(("r1", "r2"), CELLS[:3]):
        state = apply(state, Arrived(name, (person,)))
        state = apply(state, decide(state, name))
    assert state.calls == len(instance) == len(set(instance)) == 6 * (471 + 1)


def test_exponential_weights_need_no_call_for_j() -> None:
    state = apply(start("exponential-weights"), Arrived("now", CELLS))
    assert apply(state, decide(state, "now")).calls == 0


# ── The paper's constants ───────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("horizon", "k", "mu", "m"),
    [
        # M = ceil(16·k·T^(1/3)/e)
        (8000, 4, 0.05, 471),  # 16·4·20/2.71828 = 470.89
        (1000, 1, 0.1, 59),  # 160/2.71828 = 58.86
        (1_000_000, 10, 0.01, 5887),  # 16000/2.71828 = 5886.07
    ],
)
def test_the_papers_mu_and_m_by_hand(horizon: int, k: int, mu: float, m: int) -> None:
    schedule = PaperOneSided(horizon)
    assert schedule.mu(1) == schedule.mu(77) == pytest.approx(mu, rel=1e-12)
    assert schedule.resamples(k, 1) == schedule.resamples(k, 77) == m


@pytest.mark.parametrize("constant", [512, 1024, 2048])
def test_the_papers_omega_by_hand(constant: int) -> None:
    """T = 1000, s = 10, k = 10: omega = 0.01·e/(512·10·10⁴)."""
    schedule = PaperOneSided(1000, omega_constant=constant)
    omega = 0.01 * math.e / (constant * 10 * 10**4)
    assert schedule.scale(0.0, 10, 10, 1.0) == pytest.approx(1 / omega, rel=1e-12)


def test_the_noise_of_the_notes_example() -> None:
    """k = s = 10, T = 10⁴: a scale of about 9·10⁹."""
    assert PaperOneSided(10_000).scale(0.0, 10, 10, 1.0) == pytest.approx(9e9, rel=0.05)


def test_the_frontier_of_one_sided_labels_ends_at_a_sixth() -> None:
    assert PaperOneSided(1000, b=1 / 6).error_weight() == pytest.approx(0.1)
    with pytest.raises(ParameterError, match=r"b must be in \[0, 1/6\]; got 0.2"):
        PaperOneSided(1000, b=0.2)


def test_the_one_sided_schedule_can_be_written_as_json_and_read_back() -> None:
    schedule = PaperOneSided(50, b=0.1, omega_constant=2048)
    again = SCHEDULES.read(schedule.spec())
    assert again == schedule
    assert isinstance(again, PaperOneSided)


@pytest.mark.parametrize(
    ("schedule", "feedback"), [(Paper(100), "one-sided"), (PaperOneSided(100), "full")]
)
def test_a_schedule_for_other_feedback_is_refused(schedule: Schedule, feedback: str) -> None:
    with pytest.raises(ParameterError, match=f"schedule must be one for {feedback} feedback"):
        Learner(LENDER, 4, 1.0, 1.0, 5, schedule, "context-ftpl", feedback=feedback)


def test_the_papers_schedule_is_for_context_ftpl() -> None:
    with pytest.raises(ParameterError, match="player must be context-ftpl"):
        Learner(LENDER, 4, 1.0, 1.0, 5, PaperOneSided(100), feedback="one-sided")


@pytest.mark.parametrize("feedback", ["two-sided", None])
def test_unknown_feedback_is_refused_by_name(feedback: Any) -> None:
    with pytest.raises(ParameterError, match="feedback must be one of"):
        start(feedback=feedback)


@pytest.mark.parametrize("constant", [0, -1, 1.5, True])
def test_an_omega_that_makes_no_sense_is_refused(constant: Any) -> None:
    with pytest.raises(ParameterError, match="omega_constant must be an integer"):
        PaperOneSided(100, omega_constant=constant)


def test_noise_of_the_papers_size_is_all_that_decides() -> None:
    """Loans, T = 8000: without all costs so far, no score would be another one."""
    world = Loans(1)
    schedule = PaperOneSided(8000, draws_rule="r")
    learner = Learner(
        world.hypotheses(), 8, 0.3, 0.3, 1, schedule, "context-ftpl", feedback="one-sided"
    )
    assert schedule.scale(0.0, 8, learner.hypotheses.separators, 1.0) > 2**34
    state = play(world, learner, 25, evaluation_draws=10).state
    assert np.abs(state.costs).max() > ONE
    encounter = world.encounter(26)
    people = tuple(
        Person(name, tuple(row))
        for name, row in zip(encounter.people.ids, encounter.people.x.tolist(), strict=True)
    )
    blank = replace(state, costs=learner.hypotheses.no_costs())
    with_costs, without = (decide(apply(s, Arrived("now", people)), "now") for s in (state, blank))
    assert with_costs == without
    assert all(0.05 * ONE < d.score < 0.95 * ONE for d in with_costs.decisions)


@pytest.mark.parametrize("copies", [1, 4])
@pytest.mark.parametrize("shift", [1, 8, 20])
def test_noise_beyond_whole_numbers_is_the_same_noise_on_a_coarser_grid(
    shift: int, copies: int
) -> None:
    """2^shift times the costs and the noise is the same policy, draw by draw."""
    player, points = ContextFTPL("reference"), LENDER.locate(SCHEMA.encoded([[0, 0], [1, 1]]))
    costs: IntArray = np.array([3, -5, 2, 4], dtype=np.int64) << 48 - shift
    scale = np.array([1.5 * 2.0**32 / copies])
    small = Frozen(3, 9, costs, scale, copies)
    large = Frozen(3, 9, costs << shift, np.ldexp(scale, shift), copies)
    scores = [player.estimates(LENDER, f, points, Draws(400, cap=7)) for f in (small, large)]
    assert scores[0] == scores[1]
    assert all(0.02 * ONE < score < 0.98 * ONE for score in scores[0].scores)


# ── S, over hundreds of random rounds ───────────────────────────────────────────────────────────


@dataclass
class Opening:
    """A round of the game below, just opened."""

    t: int
    state: State
    referee: Referee
    b_before: float
    largest_before: float


def decisions_on(
    cells: list[int], m: int, exact: bool, rng: np.random.Generator
) -> tuple[Decision, ...]:
    """Anything that the player could have decided."""
    decisions = []
    for i in range(len(cells)):
        score = int(rng.integers(0, 2)) * ONE
        approved = bool(rng.integers(0, 2))
        j = int(ONE * rng.uniform(1, 9)) if exact else ONE * int(rng.integers(1, m + 1))
        decisions.append(Decision(f"p{i}", approved, score, j if approved else None))
    return tuple(decisions)


def random_game(learner: Learner, rounds: int) -> Iterator[Opening]:
    """Rounds of one to k people; the state and the referee beside each other."""
    rng = np.random.default_rng(rounds)
    k, unit = learner.k, units(learner.schedule.error_weight() / learner.k)
    share, exact = learner.audit_share, learner.player == "exponential-weights"
    referee = Referee(unit, k, learner.margins.beta, [0] * 4, share, exact)
    state, b, largest = State.start(learner), 0.0, math.inf
    for t in range(1, rounds + 1):
        m = math.ceil(round(t ** (1 / 3), 9))
        cells = rng.integers(0, 4, int(rng.integers(1, k + 1))).tolist()
        people = tuple(Person(f"p{i}", CELLS[c].features) for i, c in enumerate(cells))
        referee.open(m)
        name = f"r{t}"
        state = apply(state, Arrived(name, people))
        yield Opening(t, state, referee, b, largest)
        largest = referee.largest(m)
        decisions = decisions_on(cells, m, exact, rng)
        state = fold(state, Decided(name, decisions), Sealed(name, "p"))
        charges = [(c, -unit) for c, d in zip(cells, decisions, strict=True) if not d.approved]
        for cell, decision in zip(cells, decisions, strict=True):
            if decision.inverse_chance is None or rng.random() < 0.1:
                continue
            y, j = int(rng.integers(0, 2)), decision.inverse_chance / ONE
            cost = 2 * j * (1 - y) - 1
            before = state.costs[cell]
            state = apply(state, Labelled(name, decision.person, y))
            exactly = int(state.costs[cell] - before)
            assert abs(exactly - unit * cost) <= 1
            charges.append((cell, exactly))
        actual = [
            (i, j)
            for (i, d), (j, e) in product(enumerate(decisions), enumerate(decisions))
            if d.score > e.score
        ][: int(rng.integers(1, 4))]
        outcome: Outcome = "unaudited"
        if asking(state, name).looked_at and rng.random() < 0.9:
            outcome = "report" if actual and rng.random() < 0.6 else "quiet"
        reported = actual if outcome == "report" else []
        pairs = tuple((f"p{i}", f"p{j}") for i, j in reported)
        state = fold(state, Audited(name, outcome, pairs), Closed(name))
        places = [(cells[i], cells[j]) for i, j in reported]
        b = referee.hear(charges, places, outcome != "unaudited")


@PLAYERS
@pytest.mark.parametrize("share", [1.0, 0.4])
def test_costs_lam_and_scale_are_what_the_definitions_say(player: str, share: float) -> None:
    schedule = SelfTuned(eta=0.3, x=0.7, kappa=0.5, r=0.4)  # 0.3/4 is no integer of 2^-20
    learner = Learner(
        LENDER, 4, 1.0, 1.0, 1, schedule, player,
        feedback="one-sided", attention=Share(share),
    )  # fmt: skip
    for opening in random_game(learner, 250):
        state, referee = opening.state, opening.referee
        round_ = state.open[f"r{opening.t}"]
        assert round_.policy.costs.tolist() == state.costs.tolist() == referee.costs
        assert round_.lam == state.lam == pytest.approx(referee.lam, rel=1e-12)
        assert round_.policy.scale == pytest.approx(0.7 * math.sqrt(referee.peak), rel=1e-9)
        assert state.audits == referee.audits
        if not referee.exact:
            assert opening.b_before <= opening.largest_before, "B_t ≤ B̄_t"
    assert state.reports > 12
    assert share == 1.0 or state.audits < 150


@pytest.mark.parametrize("rounds", [0, 1, 8, 26])
def test_the_first_scale_of_every_sizing_by_hand(rounds: int) -> None:
    """eta = 1/4, k = 4, x = 1, lam = 0, nothing charged so far: M = 1, 2, 3, 3."""
    m = {0: 1, 1: 2, 8: 3, 26: 3}[rounds]
    scales = {
        player: apply(
            waited(start(player), rounds), Arrived("now", CELLS)
        ).open["now"].policy.scale
        for player in ("exponential-weights", "context-ftpl")
    }  # fmt: skip
    assert scales == {
        "context-ftpl": pytest.approx(0.25 * (2 * m - 1)),
        "exponential-weights": pytest.approx(0.25 * math.sqrt(20)),
    }
