"""The reduction, number by number: what is charged, frozen, drawn and published is as promised.

The referee is docs/research/theory.md in plain floats, written out a second time.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from scipy import stats

from likewise.hypotheses import Pool, Segments
from likewise.learner import Learner, Paper, SelfTuned, State, apply, decide
from likewise.learner.events import (
    Arrived,
    Audited,
    Closed,
    Decided,
    Decision,
    Labelled,
    Person,
    Sealed,
)
from likewise.learner.fold import upcoming
from likewise.learner.oracle import Oracle
from likewise.numerics.fixed_point import ONE
from likewise.numerics.randomness import Purpose, Stream
from likewise.people import Feature, FeatureSchema
from tests.learner.referee import Referee, units

# A statistical test here fails for a right program with at most this probability.
FALSE_ALARM = 1e-6

SCHEMA = FeatureSchema((Feature("score", low=0, high=3), Feature("home", "flag")))
BINS = 3
# With a flat prior, whose weights are written down quickly; test_priors.py has the others.
LENDER = Segments(SCHEMA, score="score", cuts=[1.0, 2.0], by=["home"]).with_prior("flat")
PLAYERS = pytest.mark.parametrize("player", ["exponential-weights", "context-ftpl"])

# Two members, told apart by one point: whoever has the features (0, 1) is approved by one of them.
COIN = Pool.from_table([[0], [1]])
SOMEBODY = (0.0, 1.0)


def opened(state: State, name: str, people: tuple[Person, ...], scores: tuple[int, ...]) -> State:
    """A sealed round with decisions of our own choice."""
    state = apply(state, Arrived(name, people))
    decisions = (Decision(p.id, s > 0, s) for p, s in zip(people, scores, strict=True))
    return apply(apply(state, Decided(name, tuple(decisions))), Sealed(name, "panel"))


# ── What a report costs, and when ───────────────────────────────────────────────────────────────

ANN, BO = Person("ann", (2.0, 0.0)), Person("bo", (0.0, 1.0))  # cells 2 and 3
REPORT = (("ann", "bo"),)


def uneven(state: State, name: str) -> State:
    return opened(state, name, (ANN, BO), (ONE, 0))


def start(player: str = "auto", **settings: Any) -> State:
    options = {"k": 2, "alpha": 0.3, "eps": 0.3, "seed": 5, "player": player,
             "schedule": SelfTuned(kappa=0.15), **settings}  # fmt: skip
    return State.start(Learner(LENDER, **options))


def test_of_two_open_rounds_each_report_is_charged_at_the_lam_its_round_was_opened_with() -> None:
    """beta = 0.15. lam is 0, then 0.15, then 0.15 + mu·(0.15 − mu·0.15) with mu = 1/√2."""
    state = uneven(start(), "zero")
    state = apply(uneven(state, "r1"), Audited("r1", "report", REPORT))
    state = uneven(uneven(state, "r2"), "r3")
    second = apply(state, Audited("r2", "report", REPORT))
    third = apply(second, Audited("r3", "report", REPORT))
    late = apply(third, Audited("zero", "report", REPORT))
    assert state.costs.tolist() == [0] * 6, "lam was 0 when the first round opened"
    assert second.lam == pytest.approx(0.15 + 0.15 / math.sqrt(2) - 0.075, rel=1e-12)
    assert second.costs.tolist() == [0, 0, units(0.15), -units(0.15), 0, 0]
    assert third.costs.tolist() == [0, 0, 2 * units(0.15), -2 * units(0.15), 0, 0]
    assert late.costs.tolist() == third.costs.tolist(), "at lam = 0, however late it comes"
    assert late.lam > third.lam > second.lam > state.lam


def test_the_dual_players_step_counts_audits_and_not_rounds() -> None:
    state = apply(uneven(start(), "r1"), Audited("r1", "report", REPORT))
    assert state.lam == pytest.approx(0.15, rel=1e-12)
    for t in range(2, 10):
        state = apply(uneven(state, f"r{t}"), Audited(f"r{t}", "unaudited"))
    assert state.lam == pytest.approx(0.15, rel=1e-12), "a round that nobody audited is no step"
    state = uneven(state, "r10")
    quiet = apply(state, Audited("r10", "quiet"))
    report = apply(state, Audited("r10", "report", REPORT))
    mu = 1 / math.sqrt(2)  # the second audit, in the tenth round
    assert quiet.lam == pytest.approx(0.15 - mu * mu * 0.15, rel=1e-12)
    assert report.lam == pytest.approx(0.15 + mu * 0.15 - mu * mu * 0.15, rel=1e-12)


def test_a_late_cost_enters_the_scale_when_it_is_charged() -> None:
    """Of two rounds that are open at once; what comes between two openings is one B."""
    state = start(schedule=SelfTuned(eta=0.5, x=1.0, outstanding=0.0, waiting=0.0))
    state = uneven(uneven(state, "r1"), "r2")
    for name in ("r1", "r2"):
        state = apply(state, Labelled(name, "ann", 0))
    assert state.tuning.squares.tolist() == [0.0]
    third = upcoming(state)
    assert third.scale == pytest.approx(math.sqrt(0.5**2 + (0.25 + 0.25) ** 2))
    assert upcoming(uneven(state, "r3")).scale == third.scale, "counted once"


# ── Every number of the schedule, over hundreds of random rounds ────────────────────────────────


@dataclass
class Opening:
    """A round of the game below, just opened."""

    t: int
    state: State
    referee: Referee
    s_t: float
    cells: list[int]
    b_before: float

    @property
    def name(self) -> str:
        return f"r{self.t}"


def random_game(learner: Learner, rounds: int, all_pairs: bool) -> Iterator[Opening]:
    """Rounds of one to k people, some unaudited, with reports of one pair or of all, labels that
    come or not; the state and the referee beside each other. The decisions are ours.
    """
    rng = np.random.default_rng(rounds + all_pairs)
    unit = units(learner.schedule.error_weight() / learner.k)
    state, b = State.start(learner), 0.0
    referee = Referee(unit, learner.k, learner.margins.beta, [0] * 6)
    for t in range(1, rounds + 1):
        cells = rng.integers(0, 6, int(rng.integers(1, learner.k + 1))).tolist()
        people = tuple(
            Person(f"p{i}", (float(c % BINS), float(c // BINS))) for i, c in enumerate(cells)
        )
        s_t = referee.open()
        name = f"r{t}"
        yield Opening(t, apply(state, Arrived(name, people)), referee, s_t, cells, b)
        scores = tuple(ONE * int(s) for s in rng.integers(0, 2, len(people)))
        state = opened(state, name, people, scores)
        ups = [i for i, s in enumerate(scores) if s]
        downs = [i for i, s in enumerate(scores) if not s]
        actual = list(product(ups, downs))
        mood = rng.choice(["report", "quiet", "unaudited"], p=[0.4, 0.4, 0.2])
        reported = (actual if all_pairs else actual[:1]) if mood == "report" else []
        outcome = "report" if reported else "unaudited" if mood == "unaudited" else "quiet"
        pairs = tuple((f"p{i}", f"p{j}") for i, j in reported)
        state = apply(state, Audited(name, outcome, pairs))  # type: ignore[arg-type]
        chance = float(rng.choice([0.0, 0.7, 1.0]))  # of a label; of none at all in some rounds
        labelled = [
            (i, int(rng.integers(0, 2))) for i in range(len(cells)) if rng.random() < chance
        ]
        for i, y in labelled:
            state = apply(state, Labelled(name, f"p{i}", y))
        state = apply(state, Closed(name))
        b = referee.hear(
            [(cells[i], unit * (1 - 2 * y)) for i, y in labelled],
            [(cells[i], cells[j]) for i, j in reported],
            outcome != "unaudited",
        )


@PLAYERS
@pytest.mark.parametrize("all_pairs", [False, True], ids=["one pair", "all pairs"])
@pytest.mark.parametrize("x", [None, 0.7], ids=["default x", "x = 0.7"])
def test_costs_lam_and_scale_are_what_the_definitions_say(
    player: str, all_pairs: bool, x: float | None
) -> None:
    schedule = SelfTuned(eta=0.3, x=x)  # 0.3/4 is no integer of 2^-20
    learner = Learner(LENDER, 4, 0.3, 0.3, 1, schedule, player)
    if x is None:
        log_size, s = 2 * math.log(4), 6.0  # four thresholds for each of two segments; six cells
        shares = {"exponential-weights": (2.0, 0.25, log_size), "context-ftpl": (0.1, s, s / 2)}
        share, stability, gain = shares[player]
        x = share * math.sqrt(stability / gain)
    before_the_peak, largest, reports = 0, 0.0, 0
    for opening in random_game(learner, 300, all_pairs):
        state, referee = opening.state, opening.referee
        round_ = state.open[opening.name]
        assert round_.policy.number == opening.t
        assert round_.policy.costs.tolist() == state.costs.tolist() == referee.costs
        assert round_.lam == state.lam == pytest.approx(referee.lam, rel=1e-12)
        assert round_.policy.scale == pytest.approx(x * math.sqrt(referee.peak), rel=1e-12)
        assert state.audits == referee.audits
        assert opening.b_before <= largest, "B_t ≤ B̄_t"
        before_the_peak += opening.s_t < referee.peak
        largest = referee.largest()
        reports = state.reports
    assert before_the_peak > 5, "the running maximum was put to the test"
    assert reports > 50
    assert referee.audits < 270


@pytest.mark.parametrize("all_pairs", [False, True], ids=["one pair", "all pairs"])
@pytest.mark.parametrize("x", [None, 0.7], ids=["default x", "x = 0.7"])
def test_published_scores_are_gibbs_weights_at_the_frozen_temperature(
    all_pairs: bool, x: float | None
) -> None:
    learner = Learner(LENDER, 4, 0.3, 0.3, 1, SelfTuned(eta=0.3, x=x), "exponential-weights")
    rules = list(product(range(BINS + 1), repeat=2))  # a threshold for each segment
    unsure = 0
    for opening in random_game(learner, 150, all_pairs):
        costs = [c / 2**20 for c in opening.referee.costs]
        round_ = opening.state.open[opening.name]
        paid = [sum(costs[c] for c in range(6) if c % BINS >= rule[c // BINS]) for rule in rules]
        weights = [math.exp(-(cost - min(paid)) / round_.policy.scale) for cost in paid]
        decided = decide(opening.state, opening.name)
        for cell, decision in zip(opening.cells, decided.decisions, strict=True):
            approving = [
                w
                for rule, w in zip(rules, weights, strict=True)
                if cell % BINS >= rule[cell // BINS]
            ]
            assert abs(decision.score - 2**20 * sum(approving) / sum(weights)) <= 1
            unsure += 0.05 * ONE < decision.score < 0.95 * ONE
    assert unsure > 100


# ── One coin: the policy in closed form ─────────────────────────────────────────────────────────


def coin(player: str, seed: int = 1, k: int = 1, **settings: Any) -> State:
    schedule = SelfTuned(**{"eta": 0.25, "x": 0.5, **settings})
    return State.start(Learner(COIN, k, 1.0, 1.0, seed, schedule, player))


def taught(state: State, label: int, rounds: int) -> State:
    """The coin after some rounds of one person each, all with the same label."""
    for t in range(1, rounds + 1):
        state = opened(state, f"r{t}", (Person("p", SOMEBODY),), (0,))
        state = apply(apply(state, Audited(f"r{t}", "quiet")), Labelled(f"r{t}", "p", label))
        state = apply(state, Closed(f"r{t}"))
    return state


def chance(player: str, label: int, rounds: int, x: float) -> float:
    """π^t of the coin: F = ±n·eta and sigma_t = x·eta·sqrt(n + 1), so eta cancels.

    Context-FTPL approves if F + sigma·z < 0: ∫_{−∞}^{−F/sigma} ½·exp(−|v|) dv.
    """
    ratio = (1 - 2 * label) * rounds / (x * math.sqrt(rounds + 1))
    if player == "exponential-weights":
        return 1 / (1 + math.exp(ratio))
    return 0.5 * math.exp(-ratio) if ratio > 0 else 1 - 0.5 * math.exp(ratio)


COINS = pytest.mark.parametrize(
    ("label", "rounds", "x"), [(0, 0, 0.5), (0, 1, 0.5), (1, 1, 2.0), (0, 4, 1.5), (1, 9, 5.0)]
)


@COINS
def test_context_ftpl_publishes_the_integral_of_the_laplace_density(
    label: int, rounds: int, x: float
) -> None:
    """By Hoeffding, R draws are off by more than sqrt(ln(2/p)/(2R)) with probability at most p."""
    state = taught(coin("context-ftpl", x=x, kappa=0.5, r=0.02), label, rounds)
    state = apply(state, Arrived("now", (Person("p", SOMEBODY),)))
    draws = state.open["now"].draws
    published = decide(state, "now").decisions[0].score / ONE
    off = math.sqrt(math.log(2 / FALSE_ALARM) / (2 * draws))
    assert off < 0.02
    assert abs(published - chance("context-ftpl", label, rounds, x)) <= off


@COINS
def test_exponential_weights_publish_the_logistic_function(
    label: int, rounds: int, x: float
) -> None:
    state = taught(coin("exponential-weights", x=x), label, rounds)
    state = apply(state, Arrived("now", (Person("p", SOMEBODY),)))
    exact = chance("exponential-weights", label, rounds, x)
    assert abs(decide(state, "now").decisions[0].score / ONE - exact) < 2**-20


@PLAYERS
def test_decisions_are_approvals_as_often_as_the_policy_says(player: str) -> None:
    """One decision for each of 1,500 seeds, by the exact binomial test."""
    approved = 0
    for seed in range(1500):
        state = taught(coin(player, seed, kappa=0.5, r=0.49, delta=0.9), 0, 1)
        state = apply(state, Arrived("now", (Person("p", SOMEBODY),)))
        approved += decide(state, "now").decisions[0].approved
    p = chance(player, 0, 1, 0.5)
    assert stats.binomtest(approved, 1500, p).pvalue > FALSE_ALARM


# ── Fresh noise for everything ──────────────────────────────────────────────────────────────────


def cheap(seed: int = 1, k: int = 1, player: str = "context-ftpl") -> State:
    """A fair coin with few draws a batch: 17 for one person in the first round."""
    return coin(player, seed, k, kappa=0.5, r=0.49, delta=0.9)


def alone(state: State, name: str, person: str = "p") -> tuple[State, Decision]:
    """One person joins a round and is decided on."""
    state = apply(state, Arrived(name, (Person(person, SOMEBODY),)))
    decided = decide(state, name)
    return apply(state, decided), decided.decisions[0]


def test_no_draw_is_made_twice_and_every_draw_is_a_counted_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Over rounds, batches and the extra draw that decides."""
    used: list[tuple[Stream, int]] = []
    real = Oracle.approvals

    def noted(self: Oracle, *args: Any, draws: int, first_draw: int = 0) -> Any:
        used.extend((args[1].stream, first_draw + i) for i in range(draws))
        return real(self, *args, draws=draws, first_draw=first_draw)

    monkeypatch.setattr(Oracle, "approvals", noted)
    state = cheap(k=5)
    for name, person in product(("r1", "r2", "r3"), ("p", "q", "r", "s")):
        state, _ = alone(state, name, person)
    draws = [state.open[name].draws for name in ("r1", "r2", "r3")]
    assert len(used) == len(set(used)) == state.calls == 4 * sum(draws) + 12
    by_purpose = {purpose: sum(s.purpose == purpose for s, _ in used) for purpose in Purpose}
    assert by_purpose[Purpose.DECIDE] == 12
    assert by_purpose[Purpose.ELICIT] == 4 * sum(draws)


def test_batches_rounds_and_seeds_have_elicitation_draws_of_their_own() -> None:
    """Scores of the same person at the same policy, twelve times each.

    A fair coin's count of R ≥ 17 draws takes no value with a probability above 0.19, so twelve
    independent ones are all equal with probability below 0.19^11 < 2·10^-8.
    """
    state, batches = cheap(k=12), []
    for i in range(12):
        state, decision = alone(state, "r1", f"p{i}")
        batches.append(decision.score)
    seeds = [alone(cheap(seed), "r1")[1].score for seed in range(12)]
    # the paper's schedule has the same number of draws in all rounds
    same_draws = Paper(12, draws_rule="r", delta=0.9)
    state, rounds = State.start(Learner(COIN, 1, 1.0, 1.0, 1, same_draws, "context-ftpl")), []
    for t in range(12):
        state, decision = alone(state, f"r{t}")
        rounds.append(decision.score)
    assert len({round_.draws for round_ in state.open.values()}) == 1
    assert min(len(set(batches)), len(set(seeds)), len(set(rounds))) > 1


@PLAYERS
def test_batches_rounds_and_seeds_have_deciding_draws_of_their_own(player: str) -> None:
    """64 decisions by a fair coin are all equal, or equal to 64 others, with probability 2^-63."""
    state = cheap(k=64, player=player)
    batches = []
    for i in range(64):
        state, decision = alone(state, "r1", f"p{i}")
        batches.append(decision.approved)

    def rounds_of(seed: int) -> list[bool]:
        state, actual = cheap(seed, player=player), []
        for t in range(64):
            state, decision = alone(state, f"r{t}")
            actual.append(decision.approved)
        return actual

    first, second = rounds_of(1), rounds_of(2)
    assert len(set(batches)) == len(set(first)) == 2
    assert first != second
    assert batches != first


def test_the_decision_is_no_draw_that_the_score_has_seen() -> None:
    """Were it one of R draws, it would be correlated with their mean by 1/sqrt(R).

    Given the scores, Σ ±(score − ½) with independent fair signs exceeds z·sqrt(Σ (score − ½)²) in
    size with probability at most 2·exp(−z²/2) (Hoeffding).
    """
    signs, offs = [], []
    for seed in range(2000):
        state, decision = alone(cheap(seed), "r1")
        signs.append(1 if decision.approved else -1)
        offs.append(decision.score / ONE - 0.5)
    draws = state.open["r1"].draws
    z = sum(s * o for s, o in zip(signs, offs, strict=True)) / math.sqrt(sum(o * o for o in offs))
    limit = math.sqrt(2 * math.log(2 / FALSE_ALARM))
    assert math.sqrt(2000 / draws) > 1.5 * limit, "what one of the R draws would give"
    assert abs(z) <= limit


# ── How many draws ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("k", "r", "delta", "t", "draws"),
    [
        # R = ceil(2·ln(4k·pi²·t²/(6·delta))/r²)
        (4, 0.12, 0.05, 1, 871),  # 2·ln 526.38 / 0.0144 = 2·6.26602/0.0144 = 870.28
        (4, 0.12, 0.05, 100, 2150),  # 2·(6.26602 + 9.21034)/0.0144 = 2149.49
        (4, 0.12, 0.05, 10_000, 3429),  # 2·(6.26602 + 18.42068)/0.0144 = 3428.71
        (8, 0.12, 0.05, 1, 967),  # 2·(6.26602 + ln 2)/0.0144 = 966.55
        (4, 0.12, 0.01, 1, 1094),  # 2·(6.26602 + ln 5)/0.0144 = 1093.81
        (4, 0.04, 0.05, 1, 7833),  # 2·6.26602/0.0016 = 7832.53
    ],
)
def test_the_number_of_draws_by_hand(k: int, r: float, delta: float, t: int, draws: int) -> None:
    schedule = SelfTuned(kappa=0.15, r=r, delta=delta)
    assert schedule.draws(schedule.margins(0.3, 0.3, exact=False), k, t) == draws


def test_a_gap_is_estimated_within_r_and_within_kappa() -> None:
    """What a violation loses is at most kappa, so the smaller of the two counts."""
    schedule = SelfTuned(kappa=0.05, r=0.12)
    audit = schedule.margins(0.3, 0.3, exact=False)
    assert schedule.draws(audit, 4, 1) == 5013  # 2·6.26602/0.0025 = 5012.82


def test_the_number_of_draws_grows_with_the_logarithm_of_the_round() -> None:
    schedule = SelfTuned(kappa=0.15)
    audit = schedule.margins(0.3, 0.3, exact=False)
    draws = [schedule.draws(audit, 4, 10**n) for n in range(7)]
    steps = {later - sooner for sooner, later in pairwise(draws)}
    assert steps <= {639, 640}  # 2·2·ln(10)/0.0144 = 639.6


def test_a_round_has_the_draws_of_its_own_number_and_of_the_largest_k() -> None:
    learner = Learner(LENDER, 4, 0.3, 0.3, 1, SelfTuned(kappa=0.15), "context-ftpl")
    state = State.start(learner)
    for t in range(1, 101):
        state = uneven(state, f"r{t}")
        state = apply(apply(state, Audited(f"r{t}", "unaudited")), Closed(f"r{t}"))
    first = apply(State.start(learner), Arrived("r1", (ANN,))).open["r1"]
    later = apply(state, Arrived("r101", (ANN,))).open["r101"]
    assert first.draws == 871
    assert later.draws == math.ceil(2 * (6.266021298264517 + 2 * math.log(101)) / 0.0144)
