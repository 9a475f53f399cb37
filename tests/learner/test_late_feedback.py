"""Feedback that comes late, in any order or never: overrides, audits of a share, open rounds."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy import stats

from likewise.errors import EventRefused, ParameterError
from likewise.hypotheses import Segments
from likewise.learner import (
    Learner,
    SelfTuned,
    State,
    apply,
    asking,
    decide,
    dump_state,
    learn,
    parse_state,
)
from likewise.learner.attention import Share
from likewise.learner.costs import Geometric
from likewise.learner.events import (
    Arrived,
    Audited,
    Closed,
    Decided,
    Decision,
    Event,
    Labelled,
    Overridden,
    Person,
    Sealed,
    event_from_json,
    event_to_json,
)
from likewise.learner.rounds import deploy
from likewise.numerics.fixed_point import ONE
from likewise.numerics.randomness import Purpose, Stream
from likewise.people import Feature, FeatureSchema
from likewise.simulate import AT_ONCE, Delay, Loans, Recorded, Transcript, parse_delay
from likewise.simulate.rounds import play
from tests.learner.referee import fold, units

if TYPE_CHECKING:
    from _pytest.mark.structures import ParameterSet

# A statistical test here fails for a right program with at most this probability.
FALSE_ALARM = 1e-6

SCHEMA = FeatureSchema((Feature("score", low=0, high=3), Feature("home", "flag")))
COARSE = Segments(SCHEMA, score="score", cuts=[1.0, 2.0], by=["home"])
# With a flat prior gaps are large from the first round on, and the panel has something to report.
LENDER = COARSE.with_prior("flat")
ANN, BO = Person("ann", (2.0, 0.0)), Person("bo", (0.0, 1.0))  # cells 2 and 3
PLAYERS = pytest.mark.parametrize("player", ["exponential-weights", "context-ftpl"])
FEEDBACK = pytest.mark.parametrize("feedback", ["full", "one-sided"])


def start(player: str = "auto", **settings: Any) -> State:
    """eta/k = 1/8, beta = 0.3, the panel is asked at 0.3, and draws are few."""
    schedule = SelfTuned(eta=0.25, kappa=0.3, r=0.29, delta=0.9)
    if "k" in settings:
        schedule = SelfTuned(eta=settings["k"] / 8, kappa=0.3, r=0.29, delta=0.9)
    hypotheses = settings.pop("hypotheses", LENDER)
    return State.start(
        Learner(hypotheses, **{"k": 2, "alpha": 0.6, "eps": 0.6, "seed": 5, "schedule": schedule,
                           "player": player, **settings})
    )  # fmt: skip


def decided(state: State, name: str = "r1", approved: bool = True) -> State:
    """Ann has the score 1, and was approved or not; bo has 0 and was rejected."""
    j = ONE if approved and state.learner.feedback == "one-sided" else None
    decisions = (Decision("ann", approved, ONE, j), Decision("bo", False, 0))
    return fold(state, Arrived(name, (ANN, BO)), Decided(name, decisions))


def sealed(state: State, name: str = "r1", approved: bool = True) -> State:
    return apply(decided(state, name, approved), Sealed(name, "panel"))


# ── Any order ───────────────────────────────────────────────────────────────────────────────────


class Chaos:
    """Many rounds at once, whose events come in any order that is allowed."""

    def __init__(self, state: State, seed: int) -> None:
        self.state, self.rng, self.opened = state, np.random.default_rng(seed), 0
        self.past: dict[str, list[Event]] = defaultdict(list)

    def event(self) -> Event:
        """Something that may happen next."""
        names = list(self.state.open)
        if not names or (len(names) < 6 and self.rng.random() < 0.15):
            return self._arrival()
        possible = self._possible(names[int(self.rng.integers(len(names)))])
        return possible[int(self.rng.integers(len(possible)))]

    def happen(self, event: Event) -> None:
        self.state = apply(self.state, event)
        self.past[event.round].append(event)
        self.opened += event.round == f"r{self.opened + 1}"

    def repeated(self) -> Event | None:
        """An event of an open round that has happened before."""
        past = [event for name in self.state.open for event in self.past[name]]
        return past[int(self.rng.integers(len(past)))] if past else None

    def _people(self, name: str, occupied: int) -> tuple[Person, ...]:
        subset = int(self.rng.integers(1, self.state.learner.k - occupied + 1))
        cells = self.rng.integers(0, 6, subset).tolist()
        return tuple(
            Person(f"{name}p{occupied + i}", (float(c % 3), float(c // 3)))
            for i, c in enumerate(cells)
        )

    def _arrival(self) -> Event:
        name = f"r{self.opened + 1}"
        return Arrived(name, self._people(name, 0))

    def _possible(self, name: str) -> list[Event]:
        state, round_ = self.state, self.state.open[name]
        if round_.undecided:
            return [decide(state, name), *self._overrides(name)]
        if round_.panel is None:
            actual: list[Event] = [Sealed(name, "panel"), *self._overrides(name)]
            if len(round_.people) < state.learner.k:
                actual.append(Arrived(name, self._people(name, len(round_.people))))
            return actual
        events = self._overrides(name) + self._labels(name)
        return events + ([Closed(name)] if round_.outcome else self._audits(name))

    def _overrides(self, name: str) -> list[Event]:
        round_, one_sided = self.state.open[name], self.state.learner.feedback == "one-sided"
        free = [
            d
            for d in round_.decisions.values()
            if d.person not in round_.overrides and not (one_sided and d.person in round_.labels)
        ]
        return [Overridden(name, d.person, not d.approved) for d in free[:1]]

    def _labels(self, name: str) -> list[Event]:
        round_, one_sided = self.state.open[name], self.state.learner.feedback == "one-sided"
        return [
            Labelled(name, d.person, int(self.rng.integers(0, 2)))
            for d in round_.decisions.values()
            if d.person not in round_.labels
            and (not one_sided or round_.overrides.get(d.person, d.approved))
        ]

    def _audits(self, name: str) -> list[Event]:
        events: list[Event] = [Audited(name, "unaudited")]
        if not asking(self.state, name).looked_at:
            return events
        decisions = self.state.open[name].decisions.values()
        pairs = tuple(
            (d.person, e.person)
            for d, e in product(decisions, decisions)
            if d.score - e.score > self.state.learner.sensitivity
        )
        events.append(Audited(name, "quiet"))
        if pairs:
            events += [Audited(name, "report", pairs), Audited(name, "report", pairs[:1])]
        return events


# Every player and every dual, at least once; a prior from coarse to fine is hardly ever reported.
EVERYBODY: dict[str, dict[str, Any]] = {
    "exponential weights": {"player": "exponential-weights"},
    "coarse to fine": {"player": "exponential-weights", "hypotheses": COARSE},
    "weights of each part": {"player": "exponential-weights", "scales": "per-part"},
    "context-ftpl": {"player": "context-ftpl"},
    "noise of each part": {"player": "context-ftpl", "scales": "per-part"},
    "nested": {"player": "nested-ftpl", "engine": "reference"},
    "additive": {"player": "exponential-weights", "dual": "additive"},
    "geometric": {"player": "context-ftpl", "dual": Geometric(gamma=0.5, theta=0.3)},
    "nested and geometric": {"player": "nested-ftpl", "dual": "geometric"},
}


def _orders() -> list[ParameterSet]:
    """Each player has a combination of settings and its opposite, so each value of each.

    Together the players have every combination.
    """
    settings = (("full", "one-sided"), (1.0, 0.5), (True, False))
    cases = []
    for number, player in enumerate(EVERYBODY):
        for a, b, c in product(range(2), repeat=3):
            if (a ^ b) + 2 * (a ^ c) != number % 4:
                continue
            values = [choices[i] for choices, i in zip(settings, (a, b, c), strict=True)]
            counts = "counts outstanding" if values[2] else "counts what came"
            name = "-".join(map(str, (player, *values[:2], counts)))
            cases.append(pytest.param(player, *values, id=name))
    return cases


@pytest.mark.parametrize(("player", "feedback", "share", "counts"), _orders())
def test_events_may_come_in_any_order_with_a_file_between_any_two(
    player: str, feedback: str, share: float, counts: bool
) -> None:
    """Saved and loaded after every event, and every event written as JSON and read back."""
    late = {} if counts else {"outstanding": 0.0, "waiting": 0.0}
    schedule = SelfTuned(eta=0.5, kappa=0.3, r=0.29, delta=0.9, **late)
    begin = start(
        **EVERYBODY[player], k=4, feedback=feedback, attention=Share(share),
        schedule=schedule,
    )  # fmt: skip
    seed = len(player) + 7 * counts
    chaos, detour = Chaos(begin, seed), begin
    kinds: set[type[Event]] = set()
    for _ in range(160):
        event = chaos.event()
        kinds.add(type(event))
        encoded = json.dumps(event_to_json(event))
        detour = apply(parse_state(dump_state(detour)), event_from_json(json.loads(encoded)))
        chaos.happen(event)
        again = chaos.repeated()
        if again is not None:
            assert apply(chaos.state, again) is chaos.state
    assert dump_state(detour) == dump_state(chaos.state)
    assert detour == chaos.state
    assert kinds == {Arrived, Decided, Overridden, Sealed, Audited, Labelled, Closed}
    assert chaos.state.opened > 10
    assert chaos.state.reports > 0 or player in ("coarse to fine", "nested", "nested and geometric")


@PLAYERS
@FEEDBACK
@pytest.mark.parametrize("seed", [3, 4, 5])
def test_the_order_of_labels_and_overrides_between_two_openings_does_not_matter(
    player: str, feedback: str, seed: int
) -> None:
    chaos = Chaos(start(player, k=4, feedback=feedback), seed)
    for _ in range(80):
        chaos.happen(chaos.event())
    outstanding: list[Event] = []
    for name, round_ in chaos.state.open.items():
        if round_.panel is not None:
            happen = chaos._labels(name) + chaos._overrides(name)
            used: set[str] = set()
            for event in happen:
                assert isinstance(event, Labelled | Overridden)
                if event.person not in used:
                    outstanding.append(event)
                used.add(event.person)
    shuffled = [outstanding[i] for i in chaos.rng.permutation(len(outstanding))]
    assert dump_state(fold(chaos.state, *outstanding)) == dump_state(fold(chaos.state, *shuffled))


@PLAYERS
@FEEDBACK
def test_the_order_of_reports_does_not_matter_for_the_costs(player: str, feedback: str) -> None:
    """Each is charged at the lam its round was opened with; steps of lam do not commute."""
    state = start(player, feedback=feedback)
    for t in range(4):
        state = apply(sealed(state, f"r{t}"), Labelled(f"r{t}", "ann", 1))
        state = apply(state, Audited(f"r{t}", "report", (("ann", "bo"),)))
    waiting = sealed(sealed(state, "a"), "b")
    quiet, report = Audited("a", "quiet"), Audited("b", "report", (("ann", "bo"),))
    first, second = fold(waiting, quiet, report), fold(waiting, report, quiet)
    assert first.costs.tolist() == second.costs.tolist()
    assert first.tuning == second.tuning
    assert first.lam != second.lam


# ── Overrides ───────────────────────────────────────────────────────────────────────────────────


@PLAYERS
@pytest.mark.parametrize("approved", [True, False], ids=["to rejected", "to approved"])
def test_an_overridden_decision_costs_nothing_before_or_after_sealing(
    player: str, approved: bool
) -> None:
    """Bo's own −eta/k stays."""
    before = decided(start(player, feedback="one-sided"), approved=approved)
    override, seal = Overridden("r1", "ann", not approved), Sealed("r1", "panel")
    early, late = fold(before, override, seal), fold(before, seal, override)
    charged = [0, 0, 0, -units(1 / 8), 0, 0]
    assert early.costs.tolist() == late.costs.tolist() == charged


@PLAYERS
@pytest.mark.parametrize("label", [0, 1])
def test_a_label_of_somebody_whom_another_approved_is_accepted_and_costs_nothing(
    player: str, label: int
) -> None:
    state = sealed(start(player, feedback="one-sided"), approved=False)
    state = apply(state, Overridden("r1", "ann", True))
    after = apply(state, Labelled("r1", "ann", label))
    assert after.open["r1"].labels == {"ann": label}
    assert after.costs.tolist() == state.costs.tolist()
    assert after.tuning == state.tuning


@PLAYERS
def test_a_label_of_somebody_whom_another_rejected_is_refused(player: str) -> None:
    """To record an approval first, as those are told whom the learner rejected, is impossible."""
    state = sealed(start(player, feedback="one-sided"))
    state = apply(state, Overridden("r1", "ann", False))
    with pytest.raises(EventRefused, match="override is recorded as rejected") as refused:
        apply(state, Labelled("r1", "ann", 1))
    assert "record that first" not in str(refused.value)


@PLAYERS
@pytest.mark.parametrize("label", [0, 1])
@pytest.mark.parametrize("approved", [True, False])
def test_with_full_information_labels_cost_as_ever(player: str, label: int, approved: bool) -> None:
    state = sealed(start(player), approved=approved)
    overridden = apply(state, Overridden("r1", "ann", not approved))
    plain, second = (apply(s, Labelled("r1", "ann", label)) for s in (state, overridden))
    assert second.costs.tolist() == plain.costs.tolist()
    assert plain.costs[2] == units(1 / 8) * (1 - 2 * label)


def test_with_full_information_an_override_may_come_after_the_label() -> None:
    state = apply(sealed(start()), Labelled("r1", "ann", 1))
    after = apply(state, Overridden("r1", "ann", False))
    assert after.costs.tolist() == state.costs.tolist()


@FEEDBACK
def test_overrides_are_counted_once(feedback: str) -> None:
    state = sealed(start(feedback=feedback))
    state = fold(state, Overridden("r1", "ann", False), Overridden("r1", "bo", True))
    assert apply(state, Overridden("r1", "bo", True)) is state
    assert state.overridden == 2


@PLAYERS
def test_labels_of_overridden_people_are_not_missing_where_they_cost_nothing(player: str) -> None:
    closing = (Audited("r1", "quiet"), Closed("r1"))
    overrides = (Overridden("r1", "ann", False), Overridden("r1", "bo", True))
    one_sided = fold(sealed(start(player, feedback="one-sided")), *overrides, *closing)
    full = fold(sealed(start(player)), *overrides, *closing)
    assert (one_sided.missing, full.missing) == (0, 2)


@FEEDBACK
@pytest.mark.parametrize(
    ("event", "message"),
    [
        (Overridden("r1", "ann", True), "decision was approved too, so nothing was overridden"),
        (Overridden("r1", "bo", False), "decision was rejected too, so nothing was overridden"),
        (Overridden("r1", "zoe", True), "no decision on 'zoe' to override; it has those on 'ann'"),
        (Overridden("r9", "ann", True), "'r9' is not open"),
        (Overridden("r1", "bo", "yes"), "approved must be True or False; got 'yes'"),  # type: ignore[arg-type]
        (Overridden("r1", ["bo"], True), "A person's id must be text"),  # type: ignore[arg-type]
    ],
)
def test_an_override_that_changes_nothing_or_nobody_is_refused(
    feedback: str, event: Event, message: str
) -> None:
    for state in (decided(start(feedback=feedback)), sealed(start(feedback=feedback))):
        before = dump_state(state)
        with pytest.raises(EventRefused, match=message):
            apply(state, event)
        assert dump_state(state) == before


@FEEDBACK
def test_an_override_that_contradicts_the_record_is_refused(feedback: str) -> None:
    state = apply(sealed(start(feedback=feedback)), Overridden("r1", "ann", False))
    with pytest.raises(EventRefused, match="recorded as rejected and cannot become approved"):
        apply(state, Overridden("r1", "ann", True))


def test_nobody_is_overridden_before_they_are_decided_on() -> None:
    state = apply(start(), Arrived("r1", (ANN, BO)))
    with pytest.raises(
        EventRefused, match="no decision on 'ann' to override; it has those on nobody"
    ):
        apply(state, Overridden("r1", "ann", True))


@PLAYERS
def test_with_one_sided_labels_no_override_comes_after_the_label(player: str) -> None:
    state = apply(sealed(start(player, feedback="one-sided")), Labelled("r1", "ann", 1))
    with pytest.raises(EventRefused, match="the label is known, so the decision was carried out"):
        apply(state, Overridden("r1", "ann", False))


def test_an_override_of_a_closed_round_is_refused() -> None:
    state = fold(sealed(start()), Audited("r1", "quiet"), Closed("r1"))
    with pytest.raises(EventRefused, match="'r1' is closed"):
        apply(state, Overridden("r1", "ann", False))


def test_the_panel_audits_the_learners_scores_whoever_was_overridden() -> None:
    plain = sealed(sealed(start(), "r0"), "r1")
    plain = apply(plain, Audited("r0", "report", (("ann", "bo"),)))
    plain = sealed(plain, "r2")
    overridden = fold(plain, Overridden("r2", "ann", False), Overridden("r2", "bo", True))
    report = Audited("r2", "report", (("ann", "bo"),))
    assert apply(overridden, report).costs.tolist() == apply(plain, report).costs.tolist()
    assert apply(overridden, report).costs.any()


# ── Audits of a share ───────────────────────────────────────────────────────────────────────────


def lottery(rounds: int, **settings: Any) -> list[bool]:
    state, draw = start(**settings), []
    for t in range(1, rounds + 1):
        state = sealed(state, f"r{t}")
        draw.append(asking(state, f"r{t}").looked_at)
        state = fold(state, Audited(f"r{t}", "unaudited"), Closed(f"r{t}"))
    return draw


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_rounds_are_drawn_as_often_as_the_share_says(share: float) -> None:
    """Among 1,500 rounds, by the exact binomial test; a false alarm in 10^-6."""
    draw = sum(lottery(1500, attention=Share(share)))
    assert stats.binomtest(draw, 1500, share).pvalue > FALSE_ALARM


def test_the_lottery_can_be_held_again_and_has_a_seed() -> None:
    """Two lotteries of 100 rounds agree by chance with probability 2^-100."""
    assert lottery(100, attention=Share(0.5)) == lottery(100, attention=Share(0.5))
    assert lottery(100, attention=Share(0.5)) != lottery(100, attention=Share(0.5), seed=6)


def test_the_lottery_knows_neither_the_player_nor_the_people() -> None:
    first = lottery(60, attention=Share(0.5), player="exponential-weights")
    assert first == lottery(60, attention=Share(0.5), player="context-ftpl", feedback="one-sided")


def test_a_larger_share_draws_all_that_a_smaller_one_does() -> None:
    few, large = lottery(200, attention=Share(0.2)), lottery(200, attention=Share(0.6))
    assert all(more for fewer, more in zip(few, large, strict=True) if fewer)


def test_with_a_share_of_1_every_round_is_drawn() -> None:
    assert all(lottery(300, attention=Share(1)))


def until(draw: bool, **settings: Any) -> State:
    """A sealed round r1 that the lottery drew, or did not."""
    states = (sealed(start(seed=seed, **settings)) for seed in range(100))
    return next(s for s in states if asking(s, "r1").looked_at == draw)


@pytest.mark.parametrize(
    "event", [Audited("r1", "quiet"), Audited("r1", "report", (("ann", "bo"),))]
)
def test_an_audit_of_a_round_that_was_not_drawn_is_refused_and_says_what_to_do(
    event: Event,
) -> None:
    state = until(False, attention=Share(0.25))
    with pytest.raises(EventRefused, match=r"not put before the panel.*\('r1', 'unaudited'\)"):
        apply(state, event)
    after = apply(state, Audited("r1", "unaudited"))
    assert (after.lam, after.audits, after.reports) == (0.0, 0, 0)


def test_a_round_that_was_drawn_may_stay_unaudited() -> None:
    after = apply(until(True, attention=Share(0.25)), Audited("r1", "unaudited"))
    assert (after.lam, after.audits) == (0.0, 0)


@PLAYERS
@FEEDBACK
def test_a_report_and_the_dual_step_weigh_one_over_the_share(player: str, feedback: str) -> None:
    """Share 1/4, beta = 0.3: lam is 1.2 after the first audit, and the next report costs 4.8."""
    report = (("ann", "bo"),)
    state = until(True, player=player, feedback=feedback, attention=Share(0.25))
    first = apply(state, Audited("r1", "report", report))
    assert first.lam == pytest.approx(1.2, rel=1e-12)
    assert first.costs.tolist() == state.costs.tolist(), "lam was 0 when the round opened"
    later, t = first, 1
    while t == 1 or not asking(later, f"r{t}").looked_at:
        t += 1
        later = sealed(later, f"r{t}")
    second = apply(later, Audited(f"r{t}", "report", report))
    assert t > 2, "rounds that were not drawn are no audits"
    assert (second.costs - later.costs).tolist() == [0, 0, units(4.8), -units(4.8), 0, 0]
    mu = 1 / math.sqrt(2)
    assert second.lam == pytest.approx(1.2 + mu * (1.2 - mu * 1.2), rel=1e-12)
    quiet = apply(later, Audited(f"r{t}", "quiet"))
    assert quiet.lam == pytest.approx(1.2 - mu * mu * 1.2, rel=1e-12)
    assert (first.audits, second.audits, quiet.audits) == (1, 2, 2)


@pytest.mark.parametrize("share", [0, 0.0001, 1.001, -0.5, math.nan, "half", None, True])
def test_a_share_that_is_no_probability_is_refused(share: Any) -> None:
    with pytest.raises(ParameterError, match="share must be"):
        start(attention=Share(share))


def test_learning_in_one_go_goes_by_the_lottery() -> None:
    state = start(attention=Share(0.5))
    people = SCHEMA.encoded([ANN.features, BO.features], ids=["ann", "bo"])
    for t in range(1, 21):
        state, deployment = deploy(state, people)
        report = () if asking(state, f"r{t}").looked_at else None
        state = learn(state, deployment, labels=[1, 0], report=report)
    assert state.audits == sum(lottery(20, attention=Share(0.5)))


# ── Many open rounds ────────────────────────────────────────────────────────────────────────────


def test_no_more_rounds_open_than_the_limit_until_one_is_closed() -> None:
    state = start(open_limit=3)
    for name in ("one", "two", "three"):
        state = sealed(state, name)
    with pytest.raises(EventRefused, match=r"3 rounds are open.*open_limit.*oldest is 'one'"):
        apply(state, Arrived("four", (ANN,)))
    state = fold(state, Audited("two", "unaudited"), Closed("two"))
    state = apply(state, Arrived("four", (ANN,)))
    with pytest.raises(EventRefused, match="oldest is 'one'"):
        apply(state, Arrived("five", (ANN,)))


def test_at_the_limit_a_round_that_is_open_still_takes_people() -> None:
    state = apply(start(open_limit=1), Arrived("r1", (ANN,)))
    state = fold(state, decide(state, "r1"), Arrived("r1", (BO,)))
    assert len(state.open["r1"].people) == 2


@pytest.mark.parametrize("limit", [0, -1, 2.5, None, True])
def test_a_limit_that_lets_no_round_open_is_refused(limit: Any) -> None:
    with pytest.raises(ParameterError, match="open_limit must be an integer"):
        start(open_limit=limit)


@PLAYERS
def test_a_sealed_round_keeps_no_policy(player: str) -> None:
    state = decided(start(player))
    assert state.open["r1"].frozen is not None
    assert apply(state, Sealed("r1", "panel")).open["r1"].frozen is None


@PLAYERS
def test_a_sealed_round_decides_on_nobody(player: str) -> None:
    with pytest.raises(EventRefused, match="everybody who arrived has been decided on"):
        decide(sealed(start(player)), "r1")


@PLAYERS
def test_300_rounds_that_wait_for_feedback_are_small(player: str) -> None:
    """Eight people of the loans world each: less than 2 kB a round, however large the class."""
    world = Loans(1)
    hypotheses = world.hypotheses("segments-large")
    learner = Learner(
        hypotheses, 8, 0.6, 0.6, 1, SelfTuned(r=0.29, delta=0.9), player, feedback="one-sided"
    )
    state, people = State.start(learner), world.encounter(1).people
    empty = len(dump_state(state))
    for _ in range(300):
        state, _ = deploy(state, people)
    assert len(state.open) == 300
    assert len(dump_state(state)) - empty < 300 * 2000


# ── The game ────────────────────────────────────────────────────────────────────────────────────

ROUNDS = 60


@pytest.fixture(scope="module")
def world() -> Recorded:
    return Recorded(Loans(11), ROUNDS)


def learner_in(world: Recorded, player: str = "exponential-weights", **settings: Any) -> Learner:
    schedule = SelfTuned(r=0.14, delta=0.9)
    return Learner(world.hypotheses(), world.k, 0.3, 0.3, 1, schedule, player, **settings)


def game(world: Recorded, learner: Learner, delay: Delay, rounds: int = ROUNDS) -> Transcript:
    return play(world, learner, rounds, delay=delay, evaluation_draws=50, keep=lambda t: t > 0)


@PLAYERS
@FEEDBACK
@pytest.mark.parametrize("share", [1.0, 0.5])
def test_no_delay_is_the_game_in_which_everything_is_learned_in_one_go(
    world: Recorded, player: str, feedback: str, share: float
) -> None:
    learner = learner_in(world, player, feedback=feedback, attention=Share(share))
    played = game(world, learner, Delay(rounds=0), 30)
    for name in Transcript.COLUMNS:
        at_once = getattr(game(world, learner, AT_ONCE, 30), name)
        assert getattr(played, name).tolist() == at_once.tolist()
    state = State.start(learner)
    for moment in played.moments:
        state, deployment = deploy(
            state, moment.encounter.people, panel=moment.encounter.panel.name
        )
        revealed = zip(deployment.ids, moment.encounter.labels, deployment.approved, strict=True)
        labels = {p: int(y) for p, y, observed in revealed if observed or feedback == "full"}
        report = moment.report if moment.asking.looked_at else None
        state = learn(state, deployment, labels=labels, report=report)
    assert dump_state(state) == dump_state(played.state)


@PLAYERS
@pytest.mark.parametrize("late", [1, 3])
def test_the_costs_of_a_round_arrive_exactly_as_late_as_the_delay_says(
    world: Recorded, player: str, late: int
) -> None:
    """With full information nothing is charged at sealing: after n rounds, those of n − 3."""
    learner, rounds = learner_in(world, player), 12
    played = game(world, learner, Delay(rounds=late), rounds)
    for n in range(1, rounds + 1):
        state = game(world, learner, Delay(rounds=late), n).state
        expected = learner.hypotheses.no_costs()
        for moment in played.moments[: max(0, n - late)]:
            points = learner.hypotheses.locate(moment.encounter.people)
            amounts = learner.pricing.unit * (1 - 2 * moment.encounter.labels)
            expected = learner.hypotheses.charge(expected, points, amounts)
            if moment.report:
                lam = units(moment.lam)
                pair = [moment.deployment.ids.index(person) for person in moment.report[0]]
                expected = learner.hypotheses.charge(expected, points[pair], np.array([lam, -lam]))
        assert state.costs.tolist() == expected.tolist()
        assert list(state.open) == [f"r{t}" for t in range(max(1, n - late + 1), n + 1)]


@FEEDBACK
def test_a_delayed_game_ends_with_open_rounds(world: Recorded, feedback: str) -> None:
    state = game(world, learner_in(world, feedback=feedback), Delay(rounds=7)).state
    assert list(state.open) == [f"r{t}" for t in range(ROUNDS - 6, ROUNDS + 1)]
    assert state.audits == ROUNDS - 7
    assert state.missing == 0


@PLAYERS
@FEEDBACK
def test_the_first_rounds_of_a_delayed_game_are_those_of_an_untaught_learner(
    world: Recorded, player: str, feedback: str
) -> None:
    """With one-sided labels the rejected are charged at once; else nothing is."""
    learner = learner_in(world, player, feedback=feedback)
    state = game(world, learner, Delay(rounds=ROUNDS), 20).state
    assert state.costs.any() == (feedback == "one-sided")
    assert (state.lam, state.audits, len(state.open)) == (0.0, 0, 20)


@pytest.mark.parametrize("chance", [0.05, 0.3, 0.9])
def test_a_geometric_delay_is_as_long_in_the_mean_as_it_says(chance: float) -> None:
    """5,000 letters, within 6 standard errors; normally a false alarm in 2·10^-9."""
    delay, letters = Delay(chance=chance), 5000
    waited = [delay.draw(Stream(3, Purpose.DELAY, t), i) for t in range(500) for i in range(10)]
    error = math.sqrt((1 - chance) / chance**2 / letters)
    assert abs(np.mean(waited) - (1 - chance) / chance) < 6 * error


def test_a_geometric_delay_has_the_geometric_distribution() -> None:
    """Chi-square of 0, 1, …, 7 and more rounds; a false alarm in 10^-6."""
    delay = Delay(chance=0.3)
    waited = [delay.draw(Stream(4, Purpose.DELAY, t), i) for t in range(500) for i in range(10)]
    counts = np.bincount(np.minimum(waited, 8), minlength=9)
    chances = np.array([0.3 * 0.7**n for n in range(8)] + [0.7**8])
    assert stats.chisquare(counts, 5000 * chances).pvalue > FALSE_ALARM


def test_a_geometric_delay_comes_on_top_of_a_fixed_one() -> None:
    stream = Stream(3, Purpose.DELAY, 1)
    for item in range(20):
        plain = Delay(chance=0.2).draw(stream, item)
        assert Delay(rounds=4, chance=0.2).draw(stream, item) == plain + 4


@PLAYERS
@FEEDBACK
def test_a_round_is_closed_when_all_of_its_feedback_has_come(
    world: Recorded, player: str, feedback: str
) -> None:
    learner = learner_in(world, player, feedback=feedback, attention=Share(0.5))
    state = game(world, learner, Delay(chance=0.2)).state
    assert 0 < len(state.open) < ROUNDS
    one_sided = feedback == "one-sided"
    for round_ in state.open.values():
        assert round_.outcome is None or round_.awaited(one_sided=one_sided)
    assert state.missing == 0


@pytest.mark.parametrize("chance", [0.0, -0.1, 1.5, math.nan, 1e-17, 1e-300, "0.5", None])
def test_a_delay_that_never_ends_or_makes_no_sense_is_refused(chance: Any) -> None:
    with pytest.raises(ParameterError, match="delay must"):
        Delay(chance=chance)


@pytest.mark.parametrize("rounds", [-1, 2.5, 10**9, None, True])
def test_a_delay_is_a_whole_number_of_rounds(rounds: Any) -> None:
    with pytest.raises(ParameterError, match="delay must be an integer in"):
        Delay(rounds=rounds)


def test_the_rarest_letters_still_come() -> None:
    waited = Delay(chance=1e-9).draw(Stream(3, Purpose.DELAY, 1), 0)
    assert 0 <= waited <= 10**9


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "must be a number of rounds, geometric:P, or audits:…,labels:…; got ''"),
        ("soon", "must be a number of rounds, geometric:P, or audits:…,labels:…; got 'soon'"),
        ("2.5", "must be a number of rounds, geometric:P, or audits:…,labels:…; got '2.5'"),
        ("geometric", "must be a number of rounds, geometric:P, or audits"),
        ("geometric:often", "must be a number of rounds, geometric:P, or audits"),
        ("geometric:0.5:3", "must be a number of rounds, geometric:P, or audits"),
        ("-1", "must be an integer in"),
        ("geometric:0", "chance of the delay must be in"),
        ("geometric:2", "chance of the delay must be in"),
        ("geometric:nan", "chance of the delay must be in"),
    ],
)
def test_a_delay_that_cannot_be_read_is_refused(text: str, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        parse_delay(text)


# ── Letters that are no letters ─────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "data",
    [
        {"event": "labelled", "round": "r1", "person": ["ann"], "label": 1},
        {"event": "labelled", "round": "r1", "person": None, "label": 1},
        {"event": "overridden", "round": "r1", "person": {"id": "ann"}, "approved": False},
        {"event": "audited", "round": "r1", "outcome": "report", "pairs": [[["ann"], "bo"]]},
        {"event": "closed", "round": None},
    ],
)
def test_an_id_that_is_not_text_is_refused_and_no_crash(data: dict[str, Any]) -> None:
    state, event = sealed(start()), event_from_json(data)
    with pytest.raises(EventRefused, match="id must be text"):
        apply(state, event)


@pytest.mark.parametrize("value", [None, math.nan])
def test_somebody_with_a_missing_value_may_arrive_twice(value: Any) -> None:
    income = Feature("income", low=0, high=9, missing="not stated")
    schema = FeatureSchema((Feature("score", low=0, high=3), income))
    hypotheses = Segments(schema, score="score", cuts=[1.0], by=[])
    arrival = Arrived("r1", (Person("ann", (2.0, value)),))
    state = apply(State.start(Learner(hypotheses, 2, 0.3, 0.3, 1)), arrival)
    assert apply(state, arrival) is state
