"""The certificate of a run in docs/research/theory.md: a bound on its regret from what it paid.

    regret  ≤  (k/eta)·[Σ_t f_t(π̃^t) − min_h F_T(h) − beta·Σ_reports lam_t]

surely, for any player, multiplier and order of feedback; with beta for beta − r, since it is the
published policy that was audited.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from likewise.errors import ParameterError
from likewise.hypotheses import Pool
from likewise.learner import Learner, SelfTuned, State, apply, dump_state, learn, parse_state
from likewise.learner.attention import Share
from likewise.learner.bounds import UNSEEN
from likewise.learner.certificate import Certificate, certificate
from likewise.learner.costs import Additive, Geometric
from likewise.learner.events import Audited, Labelled
from likewise.learner.fold import asking
from likewise.learner.rounds import deploy
from likewise.learner.schedules import PaperOneSided
from likewise.learner.state import changed
from likewise.numerics.fixed_point import ONE, to_units
from tests.paper.games import EXACT, INTEGRABLE, Played, Setting, hostile_game

WHO: dict[str, tuple[Setting, dict[str, Any]]] = {
    "weights": (EXACT["pool"], {}),
    "weights on segments": (EXACT["segments"], {}),
    "noise": (INTEGRABLE["all on two"], {"player": "context-ftpl"}),
    "coins": (INTEGRABLE["coins"], {"player": "context-ftpl", "scales": "per-part"}),
    "mixture": (INTEGRABLE["coins"], {"player": "nested-ftpl"}),
    "strict": (EXACT["nobody or some"], {}),
    "strict, additive": (EXACT["nobody or some"], {"dual": Additive(0.05)}),
    "additive": (EXACT["pool"], {"dual": Additive(0.05)}),
    "geometric": (EXACT["segments"], {"dual": Geometric(0.05, 0.1)}),
}


def learner_of(setting: Setting, eta: float = 0.25, eps: float = 0.3, **settings: Any) -> Learner:
    schedule = SelfTuned(eta=eta, x=0.2, delta=1e-6)
    return Learner(setting.hypotheses, 3, 0.3, eps, 1, **{"schedule": schedule, **settings})


def off(learner: Learner, k: int, rounds: int, failing: float) -> float:
    """sqrt((V + rho)·(ln((V + rho)/rho) + 2·ln(1/delta))), V = Σ k²/(4·R_t), blocks that double."""
    apart = learner.primal.experts(learner.hypotheses) > 0
    draws = [learner.draws(2**j) - apart * learner.resamples(2**j) for j in range(12)]
    v = sum(k * k / 4 / draws[t.bit_length() - 1] for t in range(1, rounds + 1))
    rho = 500 * k * k / 4 / draws[0]
    return math.sqrt((v + rho) * (math.log((v + rho) / rho) + 2 * math.log(1 / failing)))


def by_hand(played: Played) -> float:
    """The bracket, from the record of the game alone."""
    unit, beta = played.label_weight, played.learner.margins.beta
    hypotheses = played.learner.hypotheses
    codes, paid = hypotheses.codes(), 0.0
    totals = np.zeros(len(codes))
    for faced, scores, pair, lam in zip(
        played.faced, played.scores, played.reports, played.lams, strict=True
    ):
        costs = unit * (1.0 - 2.0 * faced.labels)
        if pair is not None:
            costs[pair[0]] += lam
            costs[pair[1]] -= lam
        paid += float(costs @ scores) / ONE
        totals += hypotheses.predict(codes, faced.points) @ costs
    return paid - float(totals.min()) - beta * played.reported


@pytest.mark.parametrize("against", ["the policy", "fairness"])
@pytest.mark.parametrize(
    ("eta", "eps"), [(1.0, 0.3), pytest.param(0.25, 0.1, marks=pytest.mark.long)]
)
@pytest.mark.parametrize("player", WHO)
def test_a_certificate_is_what_its_formula_says_and_no_run_has_more_regret(
    player: str, eta: float, eps: float, against: str
) -> None:
    setting, settings = WHO[player]
    learner = learner_of(setting, eta, eps, **settings)
    played = hostile_game(learner, setting, against)
    actual = certificate(played.state, delay=0, confidence=1 - 1e-6)
    bracket = 3 / (3 * played.label_weight) * by_hand(played)
    estimated = 0.0
    if not learner.primal.exact:
        assert actual.holds == f"with probability 0.999999 at all times at once, {UNSEEN}"
        estimated = off(learner, 3, 150, 1e-6)
    else:
        assert actual.holds == "surely"
    assert actual.regret == pytest.approx(bracket + estimated, abs=0.02)
    regret = played.errors - played.best().error
    assert regret <= actual.regret
    assert (actual.rounds, actual.k) == (150, 3)
    assert actual.reports == sum(pair is not None for pair in played.reports)
    assert actual.from_largest_lam is not None
    assert regret <= actual.from_largest_lam


def test_with_beta_turned_or_left_out_it_would_be_another_number() -> None:
    """The parts are of the size of the whole, so that none can go missing unnoticed."""
    setting = Setting(EXACT["nobody or some"].hypotheses.with_prior("flat"), [[0, 1], [0, 0]])  # type: ignore[attr-defined]
    learner = learner_of(setting, schedule=SelfTuned(eta=1.0, x=0.2))
    played = hostile_game(learner, setting, "fairness")
    reported = played.reported * learner.margins.beta
    assert reported > 10.0
    bracket = by_hand(played)
    assert abs(bracket + reported) < reported < 2 * abs(bracket)
    assert certificate(played.state).regret == pytest.approx(3 * bracket, abs=0.02)
    # the best fair policy is beaten by far, and the certificate says so
    assert played.errors - played.best().error < 3 * bracket < -20.0


def test_it_is_exact_where_nobody_objects() -> None:
    """No reports, and the best fair policy is a hypothesis: the certificate is the regret."""
    pool = Pool.from_table([[0, 0], [0, 1], [1, 1]])
    state = State.start(Learner(pool, 2, 1.0, 0.5, 1, SelfTuned(eta=0.5, x=0.3)))
    rng, errors, best = np.random.default_rng(1), 0.0, np.zeros(3)
    table = np.array([[0, 0], [0, 1], [1, 1]])
    for _ in range(300):
        state, deployment = deploy(state, pool.schema.people([[0, 0, 1], [0, 1, 1]]))
        labels = (rng.random(2) < [0.3, 0.8]).astype(np.int64)
        errors += float(np.abs(deployment.scores - labels).sum())
        best += np.abs(table - labels).sum(axis=1)
        state = learn(state, deployment, labels=labels)
    actual = certificate(state)
    assert actual.regret == pytest.approx(errors - float(best.min()), abs=2 * 300 * 2**-18)
    assert actual.informative


def test_feedback_may_come_in_any_order_and_any_late() -> None:
    """The same rounds at once, and with all feedback after the last of them: both are certified."""
    setting = EXACT["pool"]
    learner = learner_of(setting, eta=1.0)
    state, rng = State.start(learner), np.random.default_rng(3)
    events: list[Any] = []
    errors, totals = 0.0, np.zeros(4)
    table = np.array(setting.kinds).T
    for _ in range(60):
        kinds = rng.integers(0, 3, 3)
        people = setting.hypotheses.schema.encoded(np.array(setting.kinds, float)[kinds])
        state, deployment = deploy(state, people)
        labels = rng.integers(0, 2, 3)
        errors += float(np.abs(deployment.scores - labels).sum())
        totals += np.abs(table[:, kinds] - labels).sum(axis=1)
        scores = deployment.units
        over, under = int(scores.argmax()), int(scores.argmin())
        pair = ((people.ids[over], people.ids[under]),)
        wide = int(scores[over] - scores[under]) > learner.sensitivity
        events.append(
            Audited(deployment.round, "report" if wide else "quiet", pair if wide else ())
        )
        events += [
            Labelled(deployment.round, person, int(label))
            for person, label in zip(people.ids, labels, strict=True)
        ]
        if rng.random() < 0.3:
            for i in rng.permutation(len(events)):
                state = apply(state, events[i])
            events = []
    for event in events:
        state = apply(state, event)
    actual = certificate(state, delay=None)
    assert actual.from_largest_lam is None
    # Nobody but the constants is fair if every gap is reported.
    assert errors - min(totals[0], totals[3]) <= actual.regret


def test_a_report_of_several_pairs_weighs_as_much_as_one() -> None:
    """Every pair above the threshold is reported: each is charged lam over their number, and beta
    is taken off once. Dies for the mutants that count one pair's charge, or the number's square.
    """
    setting = EXACT["segments"]
    learner = learner_of(setting, eta=1.0, schedule=SelfTuned(eta=1.0, x=0.2, kappa=0.1))
    state, rng = State.start(learner), np.random.default_rng(5)
    codes = learner.hypotheses.codes()
    totals, errors, wrong, reported, sizes = (
        np.zeros(len(codes)),
        0.0,
        np.zeros(len(codes)),
        0.0,
        set(),
    )
    paid, unit = 0.0, to_units(1 / 3) / ONE
    for _ in range(200):
        kinds = rng.integers(0, len(setting.kinds), 3)
        people = setting.hypotheses.schema.encoded(np.array(setting.kinds, float)[kinds])
        points = setting.hypotheses.locate(people)
        lam = to_units(state.lam) / ONE
        state, deployment = deploy(state, people)
        labels = (kinds == kinds.min()).astype(np.int64)
        scores = deployment.units
        places = [(i, j) for i in range(3) for j in range(3)
                  if scores[i] - scores[j] > learner.sensitivity]  # fmt: skip
        costs = unit * (1.0 - 2.0 * labels)
        for over, under in places:
            costs[over] += lam / len(places)
            costs[under] -= lam / len(places)
        reported += lam * bool(places)
        sizes.add(len(places))
        predictions = setting.hypotheses.predict(codes, points)
        paid += float(costs @ scores) / ONE
        totals += predictions @ costs
        errors += float(np.abs(deployment.scores - labels).sum())
        wrong += np.abs(predictions - labels).sum(axis=1)
        pairs = [(people.ids[over], people.ids[under]) for over, under in places]
        state = learn(state, deployment, labels=labels, report=pairs)
    assert max(sizes) >= 2
    bracket = paid - float(totals.min()) - learner.margins.beta * reported
    actual = certificate(state)
    assert actual.regret == pytest.approx(bracket / unit, abs=0.02)
    assert learner.margins.beta * reported / unit > 0.5  # or the mutants would be as good
    # only constants are fair to a panel that reports every gap
    assert errors - min(wrong[0], wrong[-1]) <= actual.regret


@pytest.mark.parametrize("share", [1.0, 0.5])
def test_a_share_of_the_rounds_is_enough(share: float) -> None:
    setting = EXACT["pool"]
    learner = learner_of(setting, eta=1.0, attention=Share(share))
    state, errors, totals = State.start(learner), 0.0, np.zeros(4)
    for t in range(200):
        kinds = np.array([t % 3, (t + 1) % 3, t % 2])
        people = setting.hypotheses.schema.encoded(np.array(setting.kinds, float)[kinds])
        state, deployment = deploy(state, people)
        labels = (kinds == 2).astype(np.int64)
        errors += float(np.abs(deployment.scores - labels).sum())
        totals += np.abs(np.array(setting.kinds).T[:, kinds] - labels).sum(axis=1)
        scores = deployment.units
        over, under = int(scores.argmax()), int(scores.argmin())
        wide = int(scores[over] - scores[under]) > learner.sensitivity
        draw = asking(state, deployment.round).looked_at
        pairs = [(people.ids[over], people.ids[under])] if wide else []
        state = learn(state, deployment, labels=labels, report=pairs if draw else None)
    actual = certificate(state)
    assert errors - min(totals[0], totals[3]) <= actual.regret
    assert state.account.reported > 0


def test_one_sided_labels_are_certified_on_average() -> None:
    """Over 60 seeds the mean certificate is above the mean regret; single ones are not always."""
    pool = Pool.from_table([[0, 0], [0, 1], [1, 1]])
    regrets, certified = [], []
    for seed in range(60):
        learner = Learner(pool, 2, 1.0, 0.5, seed, SelfTuned(eta=0.5, x=0.3), feedback="one-sided")
        state, errors = State.start(learner), 0.0
        best = np.zeros(3)
        for t in range(40):
            state, deployment = deploy(state, pool.schema.people([[0, 0, 1], [0, 1, 1]]))
            labels = np.array([t % 3 == 0, t % 4 > 0], dtype=np.int64)
            errors += float(np.abs(deployment.scores - labels).sum())
            best += np.abs(np.array([[0, 0], [0, 1], [1, 1]]) - labels).sum(axis=1)
            observed = {
                person: int(label)
                for person, label, yes in zip(
                    deployment.ids, labels, deployment.approved, strict=True
                )
                if yes
            }
            state = learn(state, deployment, labels=observed)
        actual = certificate(state)
        assert actual.holds == "in expectation, against an oblivious adversary"
        assert actual.from_largest_lam is None
        regrets.append(errors - float(best.min()))
        certified.append(actual.regret)
    assert np.mean(certified) >= np.mean(regrets)
    paper = PaperOneSided(1000)
    biased = Learner(pool, 2, 1.0, 0.5, 1, paper, "context-ftpl", feedback="one-sided")
    assert certificate(State.start(biased)).holds.startswith("as an estimate only")


def test_the_largest_lam_is_enough_for_the_other_form_by_hand() -> None:
    """k = 2, eta = 0.5, |H| = 3 with half of the prior on two constants, x = 0.5.

    C = 0.5 + 0.5·ln 4 = 1.1931472; m = 0.35 (kappa = 0.15, eps = 0.5); T = 2, lam^ = 0.35.
    (k/eta)·(C·eta·sqrt(2) + 2·C·lam^ + C²·lam^/m)
      = 4·(0.8436825 + 0.8352030 + 1.4236002) = 12.409943
    """
    pool = Pool.from_table([[0, 0], [0, 1], [1, 1]])
    schedule = SelfTuned(eta=0.5, x=0.5, kappa=0.15)
    state = State.start(Learner(pool, 2, 0.5, 0.5, 1, schedule))
    for t in range(2):
        state, deployment = deploy(state, pool.schema.people([[0, 0, 1], [0, 1, 1]]))
        state = learn(state, deployment, labels=[0, 1], report=None if t else ())
    state = changed(state, account=changed(state.account, largest_lam=0.35))
    actual = certificate(state, delay=0).from_largest_lam
    assert actual == pytest.approx(12.409943, rel=1e-4)


def three_rounds(**settings: Any) -> State:
    pool = Pool.from_table([[0, 0], [0, 1], [1, 1]])
    schedule = SelfTuned(eta=0.5, kappa=0.3, r=0.29, delta=0.9)
    state = State.start(Learner(pool, 2, 0.6, 0.6, 1, schedule, **settings))
    for _ in range(3):
        state, deployment = deploy(state, pool.schema.people([[0, 0, 1], [0, 1, 1]]))
        state = learn(state, deployment, labels=[0, 1], report=None)
    return state


@pytest.mark.parametrize("player", ["context-ftpl", "nested-ftpl"])
def test_scores_are_as_sure_as_the_draws_that_they_are_made_from(player: str) -> None:
    """V = Σ k²/(4·n); of a mixture's draws one is for J, and in no score.

    Dies for the mutant that counts that one too.
    """
    state = three_rounds(player=player)
    learner = state.learner
    experts = learner.primal.experts(learner.hypotheses)
    n = learner.schedule.draws(learner.margins, 2 * max(1, experts), 1)
    assert learner.draws(1) == n + (experts > 0)
    actual = [certificate(state, confidence=c).regret for c in (0.99, 0.5)]
    expected = off(learner, 2, 3, 0.01) - off(learner, 2, 3, 0.5)
    assert actual[0] - actual[1] == pytest.approx(expected, rel=1e-9)


def test_labels_out_of_order_are_certified_at_one_look() -> None:
    """Which labels have come might depend on scores; then nothing is said of all times."""
    pool = Pool.from_table([[0, 0], [0, 1], [1, 1]])
    learner = Learner(pool, 2, 0.6, 0.6, 1, player="context-ftpl")
    state, deployments = State.start(learner), []
    for _ in range(3):
        state, deployment = deploy(state, pool.schema.people([[0, 0, 1], [0, 1, 1]]))
        state = apply(state, Audited(deployment.round, "quiet"))
        deployments.append(deployment)
    everywhen, once = "at all times at once", "at one look"
    assert everywhen in certificate(state).holds
    first, second, third = ([Labelled(d.round, person, 1) for person in d.ids] for d in deployments)
    for events, said in ((first[:1], once), (first, everywhen), (third, once), (second, everywhen)):
        for event in events:
            state = apply(state, event)
        assert said in certificate(state).holds


def test_the_largest_lam_counts_as_reports_do_one_over_the_share() -> None:
    """The other form is a line in lam^, twice as steep where half of the rounds are audited.

    Dies for the mutant that leaves the share out.
    """

    def steep(share: float) -> float:
        state = three_rounds(attention=Share(share))
        low, high = (
            certificate(changed(state, account=changed(state.account, largest_lam=lam)), delay=0)
            for lam in (0.0, 1.0)
        )
        assert low.from_largest_lam is not None
        assert high.from_largest_lam is not None
        return high.from_largest_lam - low.from_largest_lam

    assert steep(0.5) == pytest.approx(2 * steep(1.0), rel=1e-9)


def test_the_other_form_is_for_late_feedback_only_where_lam_never_decreases() -> None:
    assert certificate(three_rounds(), delay=1).from_largest_lam is None
    assert certificate(three_rounds(), delay=0).from_largest_lam is not None
    assert certificate(three_rounds(dual="additive"), delay=1).from_largest_lam is not None


def test_a_saved_run_has_the_same_certificate() -> None:
    setting, settings = WHO["mixture"]
    played = hostile_game(learner_of(setting, **settings), setting, "the policy", rounds=20)
    assert certificate(parse_state(dump_state(played.state))) == certificate(played.state)


def test_junk_is_refused() -> None:
    learner = learner_of(EXACT["pool"])
    with pytest.raises(ParameterError, match="state must be of the class State"):
        certificate("state")  # type: ignore[arg-type]
    for confidence in (0.0, 1.0, math.nan, "much"):
        with pytest.raises(ParameterError, match="confidence must be"):
            certificate(State.start(learner), confidence=confidence)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="delay must be an integer"):
        certificate(State.start(learner), delay=-1)
    first = certificate(State.start(learner))
    assert (first.regret, first.from_largest_lam) == (0.0, None)
    assert not first.informative
    assert isinstance(first, Certificate)
    assert first.to_json()["trivial_regret"] == 0
