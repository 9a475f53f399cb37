"""Theorem F: a panel that is not asked everything, whatever decides what it is asked.

Mutants that were tried, each of which fails here: reports charged at lam/p; a step of the dual in
every round that nobody is asked about, or in none; sqrt(T) for sqrt(T + 1); a surprise that weighs
1/p, or counts in rounds that are certain to be shown; its log chance dropped; b = 1 in the
interval, or half its log(1/delta).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import pytest

from likewise.learner import Learner, SelfTuned, State, asking, deploy, learn
from likewise.learner.attention import (
    Attention,
    BoolArray,
    Dominance,
    EveryPossiblePair,
    Memory,
    PanelModel,
    Possible,
)
from likewise.learner.bounds import bounds
from likewise.learner.certificate import certificate, unseen_reports
from likewise.learner.costs import Additive
from likewise.learner.state import Looks, changed
from likewise.numerics.fixed_point import ONE, to_units
from likewise.panel.reports import choose_report
from likewise.simulate.loans import Loans
from likewise.simulate.rounds import shown_pairs
from tests.paper.test_audit_share import HYPOTHESES, ROUNDS, TABLE, Shared, X

KINDS = TABLE.T[[2, 0]]


@dataclass(frozen=True)
class Sure(Attention):
    """A model that is sure of everything."""

    least: float = 0.05
    name, summary = "sure", "asks about nothing"

    def unknown(self, memory: Memory, pairs: Possible) -> BoolArray:
        return np.zeros(len(pairs), dtype=np.bool_)

    def chance(self, memory: Memory) -> int:
        return to_units(self.least)


@dataclass(frozen=True)
class Contrary(PanelModel):
    """A model that asks about what it knows, and about nothing else."""

    name = "contrary"

    def unknown(self, memory: Memory, pairs: Possible) -> BoolArray:
        return ~super().unknown(memory, pairs)


ATTENTIONS: list[Attention] = [
    Sure(), Contrary(), PanelModel(), PanelModel(steps=0), Dominance(), EveryPossiblePair(),
]  # fmt: skip


def learner_of(seed: int, attention: Attention, eta: float) -> Learner:
    schedule = SelfTuned(eta=eta, x=X)
    return Learner(
        HYPOTHESES, 2, 0.3, 0.3, seed, schedule, "exponential-weights", attention=attention
    )


@pytest.mark.parametrize("attention", ATTENTIONS, ids=lambda a: f"{a.name}-{a.steps}")
@pytest.mark.parametrize("eta", [0.25, 1.0])
@pytest.mark.parametrize("against", ["the policy", "fairness"])
def test_the_bound_holds_whatever_the_attention_does(
    attention: Attention, eta: float, against: str
) -> None:
    """Surely, given the rounds that the panel was asked about: the theorem's inequalities."""
    game = Shared(learner_of(3, attention, eta), against).play()
    assert game.regret.max() <= game.bound + 2.0**-19 * ROUNDS * 10
    assert game.largest <= game.minkowski + 1e-3
    beta, c = game.learner.margins.beta, game.constant
    root = math.sqrt(game.audits + 1)
    w = c * eta * math.sqrt(ROUNDS) + (4 * c**2 + beta**2) * root
    fair = [0, 3]  # the constants, which no panel objects to
    assert game.errors[fair].max() <= 2 / eta * w
    assert game.reports <= 2 * math.sqrt(root * (eta * ROUNDS + w)) / beta
    assert game.violations <= game.reports + game.unseen
    if attention.name == "sure" and against == "fairness":
        assert game.unseen > game.reports, "it misses most of them"


@pytest.mark.parametrize("attention", ATTENTIONS, ids=lambda a: f"{a.name}-{a.steps}")
def test_reports_cost_lam_and_the_multiplier_steps_as_the_theorem_says(
    attention: Attention,
) -> None:
    """Every step of a game by hand: which rounds step, by how much, and what a report costs."""
    world = Loans(seed=1)
    learner = Learner(world.hypotheses(), 8, 0.3, 0.3, 1, attention=attention)
    state, steps, unasked = State.start(learner), 0, [0, 0]
    surprises, rounds, pairs, in_part = list[float](), 0, 0, 0
    for t in range(1, 251):
        encounter = world.encounter(t)
        state, deployment = deploy(state, encounter.people)
        asked, lam = asking(state, deployment.round), state.lam
        exceeded = encounter.pivots.exceeded(deployment.units, learner.sensitivity)
        exceeded &= shown_pairs(asked, encounter.people.ids)
        report = choose_report(exceeded, deployment.units, encounter.people.ids, None, t).pairs
        heard = asked.looked_at or asked.quiet
        before, period = state.account.reported, attention.period(state.memory)
        state = learn(state, deployment, labels=encounter.labels, report=report if heard else None)
        assert state.account.reported - before == round(lam * ONE) * len(report)
        possible = int((deployment.units[:, None] - deployment.units > learner.sensitivity).sum())
        shown = possible if asked.whole else len(asked.pairs or ())
        rounds, pairs = rounds + asked.looked_at, pairs + shown
        in_part += shown < possible
        unexpected = report and asked.pairs is not None and report[0] not in asked.pairs
        if unexpected and asked.chance < ONE:  # else it was sure to be seen
            surprises.append(asked.chance / ONE)
        if not heard:
            unasked[bool(period) and t % period == 0] += 1
        if heard or (period and t % period == 0):
            steps += 1
            mu = 1 / math.sqrt(steps)
            lam = max(0.0, lam + mu * (learner.margins.beta * len(report) - mu * lam))
        assert state.lam == pytest.approx(lam, rel=1e-12)
    looks = state.looks
    assert (state.audits, looks.rounds, looks.pairs, looks.in_part) == (
        steps,
        rounds,
        pairs,
        in_part,
    )
    assert looks.surprises == len(surprises)
    assert looks.unseen == pytest.approx(sum((1 - p) / p for p in surprises))
    assert looks.log_chances == pytest.approx(sum(map(math.log, surprises)))
    if attention.name in ("sure", "model", "contrary"):
        # Who asks about what it knows soon knows everything, and asks about all of it.
        assert len(surprises) > 0 or attention.name == "contrary"
        assert min(unasked) > 0 or not attention.steps or attention.name == "contrary"


@pytest.mark.parametrize("eta", [0.25, 1.0])
def test_the_program_states_the_theorem_with_its_constants(eta: float) -> None:
    """W = C·eta·sqrt(T) + (4·C² + beta²)·sqrt(T + 1), but for the grid; `possible` has sqrt(T)."""
    for attention, audits in ((PanelModel(), 101), (EveryPossiblePair(), 100)):
        game = Shared(learner_of(0, attention, eta))
        (bound,) = bounds(game.learner, 100)
        beta, c, root = game.learner.margins.beta, game.constant, math.sqrt(audits)
        w = c * eta * 10 + (4 * c**2 + beta**2) * root
        assert bound.regret == pytest.approx(2 / eta * w, rel=1e-4)
        reports = 2 * math.sqrt(root * (eta * 100 + w)) / beta
        assert bound.violations == pytest.approx(reports, rel=1e-4)
        assert ("those in what the panel saw" in bound.holds) == (audits == 101)


def test_nothing_is_promised_that_is_not_proved() -> None:
    """Late audits and rounds that take no step together; one-sided labels that are late."""
    late = learner_of(0, PanelModel(), 1.0)
    assert bounds(late, 100, delay=3) == ()
    one_sided = replace(learner_of(0, PanelModel(steps=1), 1.0), feedback="one-sided")
    for player in ("exponential-weights", "context-ftpl"):
        assert bounds(replace(one_sided, player=player), 100, delay=3) == ()
    assert certificate(State.start(late), delay=0).holds == "surely"


def test_late_feedback_is_covered_where_every_round_steps_or_steps_do_not_matter() -> None:
    every = learner_of(0, PanelModel(steps=1), 1.0)
    (bound,) = bounds(every, 100, delay=3)
    (whole,) = bounds(replace(every, attention=EveryPossiblePair()), 100, delay=3)
    assert 1 < bound.regret / whole.regret < 1.01  # sqrt(T + 1) for sqrt(T)
    assert "those in what the panel saw" in bound.holds
    never = replace(learner_of(0, PanelModel(), 1.0), dual=Additive(0.01))
    assert bounds(never, 100, delay=3)[0].source.startswith("Theorem E and F")
    # and every round does step, when its audit comes or when nobody is asked
    state = State.start(replace(every, attention=Sure1()))
    people = HYPOTHESES.schema.people(KINDS.astype(float))
    for _ in range(40):
        state, deployment = deploy(state, people)
        asked = asking(state, deployment.round)
        state = learn(
            state, deployment, labels=[1, 0], report=() if asked.looked_at or asked.quiet else None
        )
    assert state.audits == 40


@dataclass(frozen=True)
class Sure1(Sure):
    """Asks about nothing, and every round steps."""

    steps: int = 1
    name = "sure-1"


@pytest.mark.parametrize("attention", [Sure(), PanelModel(), PanelModel(steps=0)])
@pytest.mark.parametrize("eta", [0.25, 1.0])
def test_the_bound_with_one_sided_labels_holds_whatever_the_attention_does(
    attention: Attention, eta: float
) -> None:
    """What the attention changes in Theorem C′'s proof, on every path: max S ≤ 20·eta²·T + 4·Λ′,
    and the dual lemma for the rounds that step and one more; and the program's own constants.
    """
    learner = replace(learner_of(3, attention, eta), feedback="one-sided")
    beta, rounds = learner.margins.beta, 120
    state, people, rng = (
        State.start(learner),
        HYPOTHESES.schema.people(KINDS.astype(float)),
        np.random.default_rng(2),
    )
    steps: list[tuple[float, bool]] = []
    for _ in range(rounds):
        before = state
        state, deployment = deploy(state, people)
        asked = asking(state, deployment.round)
        over = int(deployment.units.argmax())
        wide = int(np.ptp(deployment.units)) > learner.sensitivity
        pair = (people.ids[over], people.ids[1 - over])
        shown = asked.looked_at and asked.asks(pair)
        report = [pair] if wide and shown else () if asked.looked_at or asked.quiet else None
        labels = (rng.random(2) < [0.8, 0.2]).astype(int).tolist()
        seen = zip(people.ids, labels, deployment.approved, strict=True)
        state = learn(state, deployment, labels={p: y for p, y, yes in seen if yes}, report=report)
        if state.audits > before.audits:
            steps.append((before.lam, bool(report)))
    squares = sum(lam * lam for lam, _ in steps) + state.lam**2
    largest = float(state.opening().peak[0])
    assert largest <= 20 * eta**2 * (rounds + 1) + 4 * squares + 1e-3
    root, paid = math.sqrt(len(steps) + 1), sum(beta * lam for lam, report in steps if report)
    count = sum(report for _, report in steps)
    for lam in (0.0, 0.1, beta * count / (2 * root), 3.0):
        right = lam * beta * count - lam**2 * root + squares / (4 * root) - beta**2 * root
        assert paid >= right - 1e-9
    (bound,) = bounds(learner, 100)
    c = learner.primal.terms(HYPOTHESES, X, estimated=True)[0].constant()
    w = c * eta * math.sqrt(20 * 100) + (4 * c**2 + beta**2) * math.sqrt(101)
    assert bound.regret == pytest.approx(2 / eta * w, rel=1e-3)
    assert bound.source.startswith("Theorem C' and F")


def test_unseen_reports_are_more_where_auditors_overlook_some() -> None:
    """All coins and slips of five rounds: the estimate is 1 − nu of what nobody saw."""
    nu, p = 0.3, to_units(0.4) / ONE
    unseen = estimated = 0.0
    for rounds in product(product((False, True), repeat=2), repeat=5):
        weight, looks, missed = 1.0, Looks(), 0
        for t, (shown, slips) in enumerate(rounds):
            report = (t + missed + looks.surprises) % 3 != 1
            weight *= (p if shown else 1 - p) * (nu if slips else 1 - nu)
            missed += report and not shown
            if report and shown and not slips:
                looks = looks.surprised(to_units(p))
        unseen += weight * missed
        estimated += weight * looks.unseen
    assert estimated == pytest.approx((1 - nu) * unseen, rel=1e-12)


def test_unseen_reports_have_an_unbiased_estimate() -> None:
    """All coins of nine rounds, where chances and reports depend on the coins before."""
    unseen = estimated = total = 0.0
    for coins in product((False, True), repeat=9):
        weight, looks, missed = 1.0, Looks(), 0
        for t, shown in enumerate(coins):
            p = to_units(0.2 + 0.6 / (1 + looks.surprises)) / ONE
            report = (t + missed) % 3 != 1  # by pairs that nobody would have asked about
            weight *= p if shown else 1 - p
            missed += report and not shown
            if report and shown:
                looks = looks.surprised(to_units(p))
        total += weight
        unseen += weight * missed
        estimated += weight * looks.unseen
    assert total == pytest.approx(1)
    assert estimated == pytest.approx(unseen, rel=1e-12)


@pytest.mark.parametrize("p", [0.05, 0.3])
@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_the_interval_holds_at_all_times_at_once(p: float, confidence: float) -> None:
    """The chance that it ever fails in 400 rounds with a report, exactly: no simulation.

    It must be at most 1 − confidence, and a tenth of that at least: an interval that never fails
    would be too wide to say anything.
    """
    start = State.start(learner_of(0, PanelModel(least=p), 1.0))
    p = start.learner.looking.least

    def interval(seen: int) -> tuple[int, int]:
        looks = Looks(in_part=400, surprises=seen, log_chances=seen * math.log(p))
        unseen = unseen_reports(changed(start, looks=looks), confidence=confidence)
        return unseen.low, unseen.high

    intervals = [interval(seen) for seen in range(401)]
    alive, failed = {0: 1.0}, 0.0  # by the number of reports that were seen
    for reports in range(1, 401):
        after: dict[int, float] = {}
        for seen, chance in alive.items():
            for more, part in ((1, p), (0, 1 - p)):
                low, high = intervals[seen + more]
                if low <= reports - seen - more <= high:
                    after[seen + more] = after.get(seen + more, 0.0) + chance * part
                else:
                    failed += chance * part
        alive = after
    assert 0.1 * (1 - confidence) < failed <= 1 - confidence
    assert sum(alive.values()) + failed == pytest.approx(1)
