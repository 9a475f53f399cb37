"""A kappa that shrinks: what it follows from, where the panel is asked, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from likewise.errors import EventRefused, ParameterError
from likewise.learner import Learner, SelfTuned, State, apply, deploy, learn
from likewise.learner.events import Audited, Outcome
from likewise.learner.state_files import dump_state, parse_state
from likewise.numerics.fixed_point import ONE, to_units
from likewise.simulate.loans import Loans
from likewise.simulate.rounds import Moment, Transcript, parse_delay, play

LARGEST, SHRINK, ALPHA = 0.15, 0.2, to_units(0.3)
STRICT, LENIENT = Loans(seed=4, leniency=0.01), Loans(seed=4, leniency=2.0)
ANY = Loans(seed=4, rule="any")
SCHEDULE = SelfTuned(kappa=LARGEST, shrink=SHRINK)
LEARNER = Learner(STRICT.hypotheses(), 8, 0.3, 0.3, 4, schedule=SCHEDULE)


def played(world: Loans, *, delay: str = "0", attention: str = "possible") -> Transcript:
    learner = replace(LEARNER, attention=attention)
    return play(world, learner, 160, delay=parse_delay(delay), keep=lambda _t: True)


def reported_gap(moment: Moment) -> int:
    """The gap of the reported pair; 0 where there is none."""
    ids, units = moment.encounter.people.ids, moment.deployment.units
    gaps = [units[ids.index(over)] - units[ids.index(under)] for over, under in moment.report]
    return int(max(gaps, default=0))


def by_hand(moments: tuple[Moment, ...], late: int) -> list[float]:
    """kappa of every round, from the reports that had come when it was sealed.

    With the two kinds of report exchanged, with 2 for 3, without a limit, or with kappa as it is
    when the audit comes, these games differ.
    """
    kappas, kappa = [], LARGEST
    for t in range(len(moments)):
        gap = reported_gap(moments[t - late - 1]) if t > late else 0
        if gap > ALPHA:
            kappa = min(LARGEST, kappa / (1 - SHRINK) / (1 - SHRINK) / (1 - SHRINK))
        elif gap:
            kappa = max(LARGEST / 32, kappa * (1 - SHRINK))
        kappas.append(kappa)
    return kappas


@pytest.mark.parametrize(
    ("world", "late", "attention"),
    [
        (STRICT, 0, "possible"),
        (ANY, 7, "possible"),
        pytest.param(ANY, 0, "model", marks=pytest.mark.long),
    ],
)
def test_kappa_follows_from_the_reports_that_have_come(
    world: Loans, late: int, attention: str
) -> None:
    game = played(world, delay=str(late), attention=attention)
    expected = [to_units(0.3 - kappa) for kappa in by_hand(game.moments, late)]
    assert [moment.asking.sensitivity for moment in game.moments] == expected
    assert len(set(expected)) > 5, "it moves in all of these games"


def test_it_shrinks_before_a_strict_panel_and_stays_before_a_lenient_one() -> None:
    strict, lenient = played(STRICT).state.kappa, played(LENIENT).state.kappa
    assert strict < LARGEST / 4
    assert lenient > LARGEST / 2


@pytest.mark.parametrize("world", [STRICT, LENIENT, ANY])
def test_violations_are_among_the_reports_above_alpha_which_are_few(world: Loans) -> None:
    """Since kappa was last at its largest, at most a third of the other reports."""
    game = played(world)
    gaps = np.array([reported_gap(moment) for moment in game.moments])
    assert not (game.violation & (gaps <= ALPHA)).any()
    kappas = np.array(by_hand(game.moments, 0))
    since = int(np.flatnonzero(kappas == LARGEST)[-1])
    above, others = (gaps[since:-1] > ALPHA).sum(), ((gaps > 0) & (gaps <= ALPHA))[since:-1].sum()
    assert 3 * above <= others


def test_it_never_falls_below_a_share_of_where_it_began() -> None:
    """With any smaller limit, or none, kappa ends elsewhere."""
    schedule, kappa = SelfTuned(shrink=SHRINK), LARGEST
    for _ in range(1000):
        kappa = schedule.next_kappa(kappa, LARGEST, certain=True)
    assert kappa == LARGEST / 32


def test_a_state_is_saved_with_kappa_and_goes_on_bit_for_bit() -> None:
    states = [State.start(LEARNER), State.start(LEARNER)]
    for t in range(1, 61):
        encounter = STRICT.encounter(t)
        for place, before in enumerate(states):
            state, deployment = deploy(before, encounter.people)
            report = encounter.panel.audit(encounter.people, deployment.units, state.sensitivity)
            after = learn(state, deployment, labels=encounter.labels, report=report)
            states[place] = parse_state(dump_state(after)) if place else after
    assert states[0] == states[1]
    assert states[0].kappa < LARGEST


def test_a_round_is_audited_at_the_kappa_of_its_sealing() -> None:
    """Its own pairs are reported, although kappa has shrunk since."""
    state = State.start(LEARNER)
    encounters = [STRICT.encounter(t) for t in range(1, 40)]
    deployments = []
    for encounter in encounters:
        state, deployment = deploy(state, encounter.people)
        deployments.append(deployment)
    refused = 0
    for encounter, deployment in zip(encounters, deployments, strict=True):
        report = encounter.panel.audit(encounter.people, deployment.units, LEARNER.sensitivity)
        outcome: Outcome = "report" if report.pairs else "quiet"
        state = apply(state, Audited(deployment.round, outcome, report.pairs))
        gap = max(deployment.units) - min(deployment.units)
        refused += LEARNER.sensitivity < gap <= state.sensitivity
    assert refused, "some of them would not be possible any more"
    state, deployment = deploy(state, encounters[0].people)
    worst, *_, best = np.argsort(deployment.units)
    pair = (deployment.ids[best], deployment.ids[worst])
    gap = int(deployment.units[best] - deployment.units[worst])
    assert LEARNER.sensitivity < gap <= state.sensitivity
    with pytest.raises(EventRefused, match="the panel was asked for gaps above"):
        apply(state, Audited(deployment.round, "report", (pair,)))


@pytest.mark.parametrize("share", [-0.1, 1, 1.5, "much", float("nan")])
def test_a_share_that_is_none_is_refused(share: float) -> None:
    with pytest.raises(ParameterError, match="shrink must be"):
        SelfTuned(shrink=share)


@pytest.mark.parametrize("player", ["context-ftpl", "nested-ftpl"])
def test_players_that_draw_have_a_fixed_kappa(player: str) -> None:
    with pytest.raises(ParameterError, match="shrink must be 0 for a player that estimates"):
        replace(LEARNER, player=player)


def test_without_a_share_kappa_never_moves() -> None:
    fixed = SelfTuned(kappa=LARGEST)
    assert {fixed.next_kappa(LARGEST, LARGEST, certain=sure) for sure in (True, False)} == {LARGEST}
    assert LARGEST / 32 * ONE > 2, "the audit lemma needs two units"
