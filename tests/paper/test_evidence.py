"""Certificates from the rounds of a run: intervals and policies that change, wrong and overlooked
reports, one-sided labels with high probability, and limits that hold at all times at once.

Mutants that die here, each tried: beta or what an interval had before it with the other sign or
left out; the largest of partitions for the least; a part's beginning taken for the first; the
cheapest wrong reports, one too many, or their price without beta or without the gap; k, the prior
or the share of delta left out of the one-sided terms, a J that is too large; labels that are
outstanding ignored; one limit for an interval of draws; either logarithm of a limit halved or
left out; a mean over other shares taken for a sum, a ratio turned round, one more than the limit.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from likewise.errors import ParameterError
from likewise.hypotheses import Pool
from likewise.learner import Learner, SelfTuned, State, apply, certificate
from likewise.learner import evidence as evidence_module
from likewise.learner.bounds import asked_beta, charged_eta
from likewise.learner.certificate import (
    TUNED_TO,
    deviation,
    overlooked_reports,
    score_deviation,
)
from likewise.learner.costs import Additive
from likewise.learner.events import Audited, Closed, Outcome
from likewise.learner.evidence import GAMMAS, Evidence
from likewise.learner.fold import label
from likewise.learner.players import ContextFTPL, ExponentialWeights
from likewise.learner.rounds import deploy
from likewise.numerics.fixed_point import ONE, FloatArray
from likewise.registry import PLAYERS
from likewise.simulate import Faced, best_fair_policy
from tests.paper.games import EXACT, INTEGRABLE, Played, hostile_game

SETTINGS: dict[str, tuple[str, dict[str, Any]]] = {
    "weights": ("pool", {}),
    "weights on segments": ("segments", {"dual": Additive(0.05)}),
    "noise": ("all on two", {"player": "context-ftpl"}),
}


def game(name: str, against: str = "the policy", rounds: int = 60) -> Played:
    setting, settings = SETTINGS[name]
    chosen = (EXACT | INTEGRABLE)[setting]
    schedule = SelfTuned(eta=0.5, x=0.2, delta=1e-6)
    learner = Learner(chosen.hypotheses, 3, 0.3, 0.3, 1, schedule, **settings)
    return hostile_game(learner, chosen, against, rounds)


def evidence_of(played: Played) -> Evidence:
    return Evidence.of(played.learner, reversed(played.closed))


# ── Intervals, and policies that change ─────────────────────────────────────────────────────────


@pytest.mark.parametrize("against", ["the policy", "fairness"])
@pytest.mark.parametrize("name", SETTINGS)
def test_no_interval_has_more_regret_than_its_certificate(name: str, against: str) -> None:
    """To the policy that is best among those fair on that interval alone; and the whole run is an
    interval, whose certificate is that of the state.
    """
    played = game(name, against)
    evidence = evidence_of(played)
    whole = certificate(played.state)
    assert evidence.interval(1, 60).regret == pytest.approx(whole.regret, abs=1e-9)
    assert evidence.interval(1, 60).reports == whole.reports
    errors = [
        float(np.abs(p - f.labels).sum())
        for p, f in zip(played.policies, played.faced, strict=True)
    ]
    closest = math.inf
    for first, last in ((1, 1), (1, 20), (13, 40), (37, 60), (60, 60), (5, 9)):
        best = best_fair_policy(played.learner.hypotheses, played.faced[first - 1 : last], 0.0)
        regret, actual = sum(errors[first - 1 : last]) - best.error, evidence.interval(first, last)
        assert regret <= actual.regret
        closest = min(closest, actual.regret - regret)
    if played.learner.primal.exact:
        assert closest < 1.0
        return
    # for draws, the limits at both ends of the interval are added
    doubtful, sure = (evidence.interval(13, 40, confidence=c).regret for c in (0.999, 0.5))
    limits = [score_deviation(played.learner, t, f)[0] for f in (0.001, 0.5) for t in (12, 40)]
    assert doubtful - sure == pytest.approx(sum(limits[:2]) - sum(limits[2:]), rel=1e-9)


def test_the_partition_is_the_one_that_gains_most() -> None:
    """All partitions of eight rounds into blocks, by brute force."""
    played = game("weights", rounds=8)
    evidence = evidence_of(played)
    for actual in evidence.partitions(8):
        parts = len(actual.ends)
        sums = []
        for cuts in itertools.combinations(range(1, 8), parts - 1):
            ends = (0, *cuts, 8)
            pieces = [evidence.interval(a + 1, b).regret for a, b in itertools.pairwise(ends)]
            # each interval has the rounding of all rounds before its end
            sums.append(sum(pieces))
        assert actual.regret == pytest.approx(max(sums), abs=1e-3)
        ends = (0, *actual.ends)
        own = [evidence.interval(a + 1, b).regret for a, b in itertools.pairwise(ends)]
        assert sum(own) == pytest.approx(actual.regret, abs=1e-3)
        assert actual.ends[-1] == 8


@pytest.mark.parametrize("name", SETTINGS)
def test_the_regret_to_policies_that_change_is_certified(name: str) -> None:
    played = game(name, "fairness", rounds=80)
    errors = float(
        sum(np.abs(p - f.labels).sum() for p, f in zip(played.policies, played.faced, strict=True))
    )
    regrets = []
    for partition in evidence_of(played).partitions(5):
        changing = sum(
            best_fair_policy(played.learner.hypotheses, played.faced[a:b], 0.0).error
            for a, b in itertools.pairwise((0, *partition.ends))
        )
        assert errors - changing <= partition.regret
        regrets.append(partition.regret)
    assert regrets == sorted(regrets)


# ── Auditors who err ────────────────────────────────────────────────────────────────────────────


def erring_game(seed: int, share: float) -> tuple[Evidence, State, float, int]:
    """The panel accepts everything, and reports the widest pair all the same in some rounds.

    Returns the evidence, the state, the regret, and the number of wrong reports: of all of them.
    """
    pool = Pool.from_table([[0, 0], [0, 1], [1, 1]]).with_prior("flat")
    learner = Learner(pool, 2, 0.5, 0.5, seed, SelfTuned(eta=0.5, x=0.1), dual=Additive(0.2))
    state, rng, rounds, wrong = State.start(learner), np.random.default_rng(seed), [], 0
    errors, totals = 0.0, np.zeros(3)
    people = pool.schema.people([[0, 0, 1], [0, 1, 1]])
    for _ in range(120):
        state, deployment = deploy(state, people)
        scores = deployment.units
        errs = rng.random() < share and int(scores[1] - scores[0]) > learner.sensitivity
        wrong += errs
        pairs = ((people.ids[1], people.ids[0]),) if errs else ()
        outcome: Outcome = "report" if errs else "quiet"
        state = apply(state, Audited(deployment.round, outcome, pairs))
        labels = np.array([0, 1])
        state = label(state, deployment.round, dict(zip(people.ids, labels.tolist(), strict=True)))
        rounds.append(state.open[deployment.round])
        state = apply(state, Closed(deployment.round))
        errors += float(np.abs(deployment.scores - labels).sum())
        totals += np.abs(np.array([[0, 0], [0, 1], [1, 1]]) - labels).sum(axis=1)
    regret = errors - float(totals.min())
    return Evidence.of(learner, rounds), state, regret, wrong


def test_wrong_reports_break_the_plain_certificate_and_not_the_robust_one() -> None:
    broken = 0
    for seed in range(5):
        evidence, state, regret, wrong = erring_game(seed, 0.2)
        plain = certificate(state).regret
        broken += regret > plain
        assert wrong > 0
        assert regret <= plain + evidence.wrong_reports(wrong)
        assert evidence.wrong_reports(0) == 0
        assert evidence.wrong_reports(2) < evidence.wrong_reports(3)
        assert evidence.wrong_reports(wrong + 5) == evidence.wrong_reports(wrong)
    assert broken >= 2


def test_wrong_reports_are_added_to_the_players_own_inequality() -> None:
    """(eta/k)·regret + beta·Σ lam ≤ C·sqrt(max S) + Σ_wrong lam·(1 − g + beta), from which the
    bounds on regret and on reports follow; all reports are wrong here.
    """
    for seed in range(5):
        evidence, _, regret, wrong = erring_game(seed, 0.2)
        learner, eta = evidence.learner, charged_eta(evidence.learner)
        prices = np.array([r.lam if r.outcome == "report" else 0.0 for r in evidence.rounds])
        squares = ((eta + 2 * prices) ** 2).sum() + (eta + 2 * prices.max() + 0.4) ** 2
        bound = (1 / (4 * learner.x) + learner.x * math.log(3)) * math.sqrt(squares)
        left = eta / 2 * regret + asked_beta(learner) * prices.sum()
        assert left <= bound + eta / 2 * evidence.wrong_reports(wrong)


def test_the_state_alone_prices_wrong_reports_by_hand() -> None:
    """(k/eta)·(1 − alpha + eps)·Σ lam, at the largest lam: never less than the rounds say."""
    evidence, state, _, reports = erring_game(3, 0.2)
    learner, account, plain = evidence.learner, state.account, certificate(state, delay=0)
    assert reports > 3
    for count in range(1, reports + 2):
        robust = certificate(state, delay=0, wrong_reports=count)
        prices = min(count * account.largest_lam, account.reported / ONE)
        by_hand = learner.k / charged_eta(learner) * (1 - 0.5 + 0.5) * prices
        assert robust.regret - plain.regret == pytest.approx(by_hand, rel=1e-4)
        assert robust.regret - plain.regret >= evidence.wrong_reports(count) - 1e-9
        assert robust.holds == f"{plain.holds}, if at most {count} reports are wrong"
        assert robust.from_largest_lam is None  # of which nothing is proved then
    assert plain.from_largest_lam is not None
    uneven = replace(learner, eps=0.2)
    less = certificate(replace(state, learner=uneven), wrong_reports=1).regret
    less -= certificate(replace(state, learner=uneven)).regret
    each = uneven.k / charged_eta(uneven) * (1 - 0.5 + 0.2)
    assert less == pytest.approx(each * account.largest_lam, rel=1e-4)


def test_the_price_of_a_wrong_report_by_hand() -> None:
    """(k/eta)·lam·(1 − g + beta), the dearest first."""
    evidence, _, _, wrong = erring_game(3, 0.2)
    learner, prices = evidence.learner, []
    for round_ in evidence.rounds:
        if round_.outcome == "report":
            ((over, under),) = round_.pairs
            gap = (round_.decisions[over].score - round_.decisions[under].score) / ONE
            prices.append(round_.lam * (1 - gap + asked_beta(learner)))
    assert len(prices) == wrong > 2
    dearest = sorted(prices)[-2:]
    expected = learner.k / charged_eta(learner) * sum(dearest)
    assert evidence.wrong_reports(2) == pytest.approx(expected, rel=1e-4)


def test_overlooked_reports_are_within_their_limit_at_all_times() -> None:
    """400 runs of 300 reports, each overlooked with chance .1: at most 5 % (9 of 400 more is two
    standard errors) ever exceed it; and it is not far from the expected number.
    """
    rng, limits = np.random.default_rng(1), [overlooked_reports(y, 0.1).high for y in range(301)]
    exceeded = 0
    for _ in range(400):
        lost = rng.random(300) < 0.1
        overlooked, made = np.cumsum(lost), np.cumsum(~lost)
        exceeded += bool((overlooked > np.array(limits)[made]).any())
    assert exceeded <= 0.05 * 400 + 9
    assert limits[270] < 2 * 30
    assert overlooked_reports(270, 0.1).estimate == pytest.approx(30)
    # 20 is exceeded by one more, and not before
    others = [0.1 + 0.9 * 2.0**-j for j in range(1, 13)]
    ratios = [
        np.mean([(s / 0.1) ** x * ((1 - s) / 0.9) ** 270 for s in others])
        for x in (limits[270], limits[270] + 1)
    ]
    assert ratios[0] <= 20 < ratios[1]
    assert overlooked_reports(0, 0.5).high >= 1
    assert overlooked_reports(5, math.nextafter(1.0, 0.0)).low == 0, "the largest share there is"
    with pytest.raises(ParameterError, match="share must be"):
        overlooked_reports(3, 1.0)


# ── At all times at once ────────────────────────────────────────────────────────────────────────


def test_a_limit_at_all_times_is_exceeded_seldom_and_that_of_one_time_often() -> None:
    """2,000 walks of 2,000 steps ±1: 5 % and two standard errors, 119 of them, may exceed it."""
    rng = np.random.default_rng(3)
    walks = np.cumsum(
        rng.integers(0, 2, (2000, 2000), dtype=np.int8) * 2 - 1, axis=1, dtype=np.int64
    )
    times = np.arange(1, 2001)
    limits = np.array([deviation(float(t), TUNED_TO, 0.05) for t in times])
    single = np.sqrt(2.0 * times * math.log(20))
    assert int((walks > limits).any(axis=1).sum()) <= 119
    assert int((walks > single).any(axis=1).sum()) > 240
    assert limits[-1] < 1.4 * single[-1]
    # by hand: (V + rho)·(ln((V + rho)/rho) + 2·ln 20) with V = 2000, rho = 500
    assert limits[-1] == pytest.approx(math.sqrt(2500 * (math.log(5) + 2 * math.log(20))))


# ── One-sided labels ────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("gamma", [0.01, 0.1, 0.5])
def test_estimates_are_a_supermartingale_for_every_hypothesis(gamma: float) -> None:
    """E exp((2·gamma/k)·Σ h(x_i)·(l~_i − l_i)) ≤ 1, by enumeration: decisions by one h ~ π. Of
    people who are all alike, with losses of 1, it is 1: no larger J would do.
    """
    rng, inverse = np.random.default_rng(7), np.vectorize(partial(evidence_module._inverse, gamma))
    table = np.array(list(itertools.product((0, 1), repeat=3)))
    for _ in range(50):
        law = rng.dirichlet(np.full(8, 0.3))
        q, losses = law @ table, rng.integers(0, 2, 3) * rng.random(3)
        for h in table:
            estimates = losses * table * inverse(0.0, q)  # a row for each h that may decide
            gained = np.exp(2 * gamma / 3 * ((estimates - losses) * h).sum(axis=1))
            assert float(law @ gained) <= 1 + 1e-12
    q = np.linspace(0.01, 1, 50)
    gained = q * np.exp(2 * gamma * (inverse(0.0, q) - 1)) + (1 - q) * np.exp(-2 * gamma)
    assert gained == pytest.approx(1)
    assert (inverse(0.0, q) >= 1 / (q + gamma)).all()
    assert (inverse(0.0, q) <= 1 / q + 1e-12).all()
    assert inverse(0.1, q) == pytest.approx(inverse(0.0, np.minimum(1, q + 0.1)))


def test_what_falls_short_of_its_mean_is_a_supermartingale() -> None:
    """E exp(u·(E X − X) − phi·(X − X̂)²) ≤ 1 for every law on [0, 1] and every guess X̂; at all
    times of 300 games the limit fails in 5 % of them, and two standard errors, at most.
    """
    rng = np.random.default_rng(8)
    for z in (0.5, 0.1, 2.0**-8):
        phi = -math.log(1 - z) - z
        for _ in range(200):
            values, law, guess = rng.random(4), rng.dirichlet(np.full(4, 0.3)), rng.random()
            gained = np.exp(z * (law @ values - values) - phi * (values - guess) ** 2)
            assert float(law @ gained) <= 1 + 1e-12
    failed = 0
    for seed in range(300):
        means = rng.choice([0.02, 0.5, 0.9], 200)
        losses = 3.0 * (rng.random(200) < means)
        short = np.cumsum(3.0 * means - losses)
        looks, before = range(20, 201, 20), np.concatenate(([0.0], np.cumsum(losses)[:-1]))
        squares = np.cumsum((losses - before / np.maximum(1, np.arange(200))) ** 2)
        limits = [evidence_module._shortfall(float(squares[t - 1]), 3.0, 0.05) for t in looks]
        failed += any(short[t - 1] > limit for t, limit in zip(looks, limits, strict=True))
        if seed < 3:
            assert limits[-1] == pytest.approx(shortfall_by_hand(losses.tolist(), 3.0, 0.05))
    assert failed <= 22


def shortfall_by_hand(losses: Sequence[float], largest: float, failing: float) -> float:
    """The least over z of (b/z)·(phi(z)·V/b² + ln(8/failing)); V around the means so far."""
    variance = sum((x - sum(losses[:t]) / max(1, t)) ** 2 for t, x in enumerate(losses))
    return min(
        largest / z * ((-math.log(1 - z) - z) * variance / largest**2 + math.log(8 / failing))
        for z in (2.0**-j for j in range(1, 9))
    )


def one_sided_game(
    seed: int, rounds: int = 60, **settings: Any
) -> tuple[Evidence, State, FloatArray, list[Faced]]:
    """The evidence, the state, and errors of π^t by round; labels are fixed in advance."""
    pool = Pool.from_table([[0, 0], [0, 1], [1, 1]])
    settings = {"schedule": SelfTuned(eta=0.5, x=0.3), "feedback": "one-sided", **settings}
    learner = Learner(pool, 2, 0.3, 0.3, seed, **settings)
    state, closed, errors, faced = State.start(learner), [], [], []
    people = pool.schema.people([[0, 0, 1], [0, 1, 1]])
    points = pool.locate(people)
    near = np.array([[0, ONE // 10], [ONE // 10, 0]])
    for t in range(rounds):
        state, deployment = deploy(state, people)
        labels = np.array([t % 3 == 0, t % 4 > 0], dtype=np.int64)
        wide = int(deployment.units[1] - deployment.units[0]) > ONE // 10 + learner.sensitivity
        pairs = ((people.ids[1], people.ids[0]),) if wide else ()
        state = apply(state, Audited(deployment.round, "report" if wide else "quiet", pairs))
        seen = zip(people.ids, labels.tolist(), deployment.approved, strict=True)
        state = label(state, deployment.round, {p: y for p, y, yes in seen if yes})
        closed.append(state.open[deployment.round])
        state = apply(state, Closed(deployment.round))
        errors.append(float(np.abs(deployment.scores - labels).sum()))
        faced.append(Faced(points, labels, near))
    return Evidence.of(learner, closed), state, np.array(errors), faced


@pytest.mark.parametrize("player", ["exponential-weights", "context-ftpl"])
def test_the_one_sided_certificate_by_hand(player: str) -> None:
    """The smallest over gamma of bracket + (k/gamma)·(ln|H| + ln(8/delta_j)), and how far what was
    lost on the approved may fall short of its mean: delta_j = .05/2 for weights, .05/4 for draws,
    of which the deviation of scores is added.
    """
    exact, rounds = player == "exponential-weights", 60 if player == "exponential-weights" else 20
    evidence, state, _, _ = one_sided_game(3, rounds, player=player)
    learner, k, failing = evidence.learner, 2, 0.05 / (2 if exact else 4)
    eta, beta = charged_eta(learner), learner.margins.beta
    table, regrets, lost = np.array([[0, 0], [0, 1], [1, 1]]), [], np.zeros(rounds)
    for gamma in GAMMAS:
        paid, totals, reported = 0.0, np.zeros(3), 0.0
        for t, round_ in enumerate(evidence.rounds, start=1):
            log = math.log(k * t * (t + 1) / failing)
            o = 0.0 if exact else math.sqrt(log / (2 * learner.draws(t)))
            decisions = list(round_.decisions.values())
            q = np.array([d.score for d in decisions]) / ONE
            ones = np.array([d.approved and round_.labels[d.person] == 0 for d in decisions])
            chance = np.minimum(1, q + o)
            inverse = np.log(1 + (math.exp(2 * gamma) - 1) / chance) / (2 * gamma)
            costs, report = eta / k * (2 * ones * inverse - 1), np.zeros(2)
            if round_.pairs:
                report = round_.lam * np.array([-1, 1])
                reported += round_.lam
            lost[t - 1] = 2 * ones.sum()
            paid += float(eta / k * (2 * ones - q).sum() + report @ q)
            totals += table @ (costs + report)
        bracket = k / eta * (paid - totals.min() - beta * reported)
        regrets.append(bracket + k / gamma * (math.log(3) + math.log(8 / failing)))
    expected = min(regrets) + shortfall_by_hand(lost.tolist(), 2 * k, failing)
    expected += 0 if exact else score_deviation(learner, rounds, failing)[0]
    actual = evidence.one_sided()
    assert actual is not None
    assert actual.regret == pytest.approx(expected, rel=1e-3)
    assert actual.regret >= expected
    assert (actual.rounds, actual.reports) == (rounds, state.reports)
    assert actual.holds.startswith(
        "with probability 0.95 at all times at once, if a round's labels"
    )


def test_chances_are_not_far_above_published_scores_in_all_rounds_at_once() -> None:
    """At .4 in 300 games of 30 rounds: Hoeffding and the union lose in at most that share of them;
    2·sqrt(300·.4·.6) more are allowed for, a false alarm in 1 of 40 at the very limit.
    """
    learner = one_sided_game(1, 1, player="context-ftpl")[0].learner
    rng, failed = np.random.default_rng(5), np.zeros(300, dtype=bool)
    for t in range(1, 31):
        off, draws = evidence_module._off(learner, t, 0.4), learner.draws(t)
        scores = rng.binomial(draws, 0.5, (300, learner.k)) / draws
        failed |= (0.5 - scores > off).any(axis=1)
        assert off < 4 / math.sqrt(draws), "nor is it far above"
    assert failed.sum() <= 300 * 0.4 + 2 * math.sqrt(300 * 0.4 * 0.6)


@pytest.mark.long
@pytest.mark.parametrize(("player", "games"), [("exponential-weights", 40), ("context-ftpl", 12)])
def test_the_one_sided_certificate_is_above_the_regret_in_every_run(
    player: str, games: int
) -> None:
    """The one that holds in expectation is below it in some of them."""
    below, plain = 0, 0
    for seed in range(games):
        evidence, state, errors, faced = one_sided_game(seed, player=player)
        best = best_fair_policy(evidence.learner.hypotheses, faced, 0.0).error
        actual = evidence.one_sided()
        assert actual is not None
        regret = float(errors.sum()) - best
        below += regret > actual.regret
        plain += regret > certificate(state).regret
    assert below == 0
    assert plain > 0 or player == "context-ftpl"  # its bias is more than these games' regret


class Others(ExponentialWeights):
    """A player that somebody registered, and of which the class says nothing."""

    name = "others"


class Claims(Others):
    proved = frozenset(("full", "one-sided"))


@pytest.mark.parametrize("player", [Others, Claims])
def test_a_registered_player_is_certified_if_its_own_class_claims_so(
    monkeypatch: pytest.MonkeyPatch, player: type[ExponentialWeights]
) -> None:
    """And whatever its prior is, or if it has none: the certificate's own is flat."""
    monkeypatch.setitem(PLAYERS._targets, "others", player)
    evidence, _, _, _ = one_sided_game(1, rounds=5, player="others")
    full = State.start(replace(evidence.learner, feedback="full"))
    monkeypatch.setattr(Pool, "log_inverse_prior", property(lambda _: 1 / 0))
    assert (evidence.one_sided() is not None) == (player is Claims)
    words = "surely" if player is Claims else "surely, of the published scores"
    assert certificate(full).holds == words


def test_what_is_no_complete_evidence_has_no_certificate(monkeypatch: pytest.MonkeyPatch) -> None:
    evidence, _, _, _ = one_sided_game(1, rounds=5)
    with pytest.raises(ParameterError, match="Evidence must have full information"):
        evidence.partitions()
    with pytest.raises(ParameterError, match=r"Evidence\.rounds must be all rounds of a run"):
        Evidence(evidence.learner, evidence.rounds[1:])
    approved = next(r for r in evidence.rounds if r.labels)
    unlabelled = [replace(r, labels={}) if r is approved else r for r in evidence.rounds]
    assert Evidence.of(evidence.learner, unlabelled).one_sided() is None
    drawn, _, _, _ = one_sided_game(1, rounds=3, player="context-ftpl")
    assert drawn.one_sided() is not None
    for claim in ("full", "one-sided"):  # it needs both, whether or not the policy is known
        for player in (ContextFTPL, ExponentialWeights):
            monkeypatch.setattr(player, "proved", frozenset({claim}))
        assert drawn.one_sided() is None
        assert evidence.one_sided() is None
    full = evidence_of(game("weights", rounds=4))
    assert full.one_sided() is None
    for first, last in ((0, 2), (3, 2), (1, 5)):
        with pytest.raises(ParameterError, match="must be an integer"):
            full.interval(first, last)
