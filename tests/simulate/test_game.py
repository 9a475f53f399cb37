"""The game: what is played, what is counted, and that the learners do what they are for."""

from __future__ import annotations

import csv
import io
from typing import Any

import numpy as np
import pytest

from likewise.errors import LikewiseError, ParameterError
from likewise.learner import Learner, Paper, SelfTuned
from likewise.learner.oracle import Oracle
from likewise.numerics.fixed_point import ONE, to_units
from likewise.panel import AllPairs, FirstPair, LargestGap, Panel, RandomPair
from likewise.simulate import (
    Comparators,
    Encounter,
    Loans,
    Recorded,
    Steady,
    best_fair_policy,
    faced_rounds,
)
from likewise.simulate.counts import certificate_of, summarise, trace_csv
from likewise.simulate.learners import accuracy_only, constant, untaught
from likewise.simulate.rounds import play
from studies.sweep.runs import first_rounds

ROUNDS = 400


def everything(t: int) -> bool:
    return t > 0


@pytest.fixture(scope="module")
def world() -> Steady:
    return Recorded(Loans(11), ROUNDS)


def learner(world: Steady, player: str, **settings: object) -> Learner:
    return Learner(world.hypotheses(), world.k, 0.3, 0.3, 1, SelfTuned(**settings), player)  # type: ignore[arg-type]


def test_accuracy_alone_violates_fairness_almost_every_round(world: Steady) -> None:
    played = play(world, accuracy_only(world.hypotheses(), world.k, 0.3, 0.3, 1), ROUNDS)
    assert played.violation.mean() > 0.75
    assert played.error.sum() / played.people.sum() < 0.33


def test_a_constant_never_violates_fairness_and_learns_nothing(world: Steady) -> None:
    played = play(world, constant(world.hypotheses(), world.k, 0.3, 0.3, 1), ROUNDS)
    assert not played.violation.any()
    assert not played.reported.any()
    labels = np.concatenate([world.encounter(t).labels for t in range(1, ROUNDS + 1)])
    assert played.error.sum() == (labels == 0).sum()


@pytest.mark.parametrize("player", ["exponential-weights", "context-ftpl"])
def test_ours_learns_and_violations_become_rare(world: Steady, player: str) -> None:
    """Learning means: fewer errors than the untaught policy that it began with."""
    taught = play(world, learner(world, player), ROUNDS)
    first = play(world, untaught(world.hypotheses(), world.k, 0.3, 0.3, 1), ROUNDS)
    late = slice(ROUNDS // 2, ROUNDS)
    people = taught.people[late].sum()
    assert taught.error[late].sum() / people < first.error[late].sum() / people - 0.01
    assert taught.violation[late].mean() < 0.04


@pytest.mark.parametrize("player", ["exponential-weights", "context-ftpl"])
def test_a_smaller_eta_means_fewer_reports_and_more_errors(world: Steady, player: str) -> None:
    large, small = (play(world, learner(world, player, eta=eta), ROUNDS) for eta in (1.0, 0.0625))
    assert small.reported.sum() < large.reported.sum()
    assert small.error.sum() > large.error.sum()


def test_every_violation_of_an_exact_player_is_reported(world: Steady) -> None:
    """Asked at alpha − kappa, the panel sees whatever exceeds alpha (r = 0)."""
    played = play(world, learner(world, "exponential-weights", eta=1.0), ROUNDS)
    assert played.violation.any()
    assert (played.reported | ~played.violation).all()


def test_reports_are_what_the_panels_rule_says(world: Steady) -> None:
    played = play(world, learner(world, "auto"), 30, keep=everything)
    for moment in played.moments:
        encounter = moment.encounter
        sensitivity = played.learner.sensitivity
        said = encounter.panel.audit(encounter.people, moment.deployment.units, sensitivity)
        assert said.pairs == moment.report


def test_violations_are_counted_on_the_policy_by_the_definition(world: Steady) -> None:
    played = play(world, learner(world, "context-ftpl", eta=1.0), 40, keep=everything)
    for moment in played.moments:
        panel, people = moment.encounter.panel, moment.encounter.people
        by_panel = panel.violations(people, moment.policy, to_units(0.3)).any()
        assert moment.violated(to_units(0.3)) == by_panel == played.violation[moment.t - 1]


def test_scores_estimate_the_policy_within_r(world: Steady) -> None:
    """Every gap within r = 0.4·eps, with probability 1 − delta over the whole game."""
    played = play(world, learner(world, "context-ftpl"), 60, keep=everything)
    off = [np.abs(m.deployment.units - m.policy).max() / ONE for m in played.moments]
    assert max(off) < 0.12 / 2 + 0.03  # 0.03 for the 5,000 evaluation draws


@pytest.mark.parametrize("selection", [LargestGap(), FirstPair(), RandomPair(4), AllPairs()])
def test_any_choice_of_the_reported_pair_can_be_played(world: Steady, selection: object) -> None:
    played = play(world, learner(world, "auto", eta=1.0), 50, selection=selection)  # type: ignore[arg-type]
    assert played.reported.any()


def test_the_first_rounds_of_a_long_game_are_a_short_game(world: Steady) -> None:
    long, short = (play(world, learner(world, "auto"), n) for n in (60, 25))
    assert (first_rounds(long, 25).error == short.error).all()
    assert (first_rounds(long, 25).lam == short.lam).all()
    # Nobody certifies the whole game for its first rounds.
    with pytest.raises(LikewiseError, match="these are the first rounds of a longer game"):
        certificate_of(first_rounds(long, 25))
    assert certificate_of(first_rounds(long, long.rounds)) == certificate_of(long)


@pytest.mark.usefixtures("kernels")
def test_the_engines_play_the_same_game(world: Steady) -> None:
    games = [
        play(
            world,
            Learner(world.hypotheses(), 8, 0.3, 0.3, 1, player="context-ftpl", engine=engine),
            12,
            evaluation_draws=300,
        )
        for engine in ("compiled", "reference")
    ]
    assert trace_csv(games[0]) == trace_csv(games[1])


class Shifting(Steady):
    """Rounds of different sizes, panels and rules."""

    name, summary, k, classes = "shifting", "", 8, ("segments",)

    def __init__(self) -> None:
        self.inner = Loans(4)
        self.schema_ = self.inner.schema

    @property
    def schema(self):  # type: ignore[no-untyped-def]
        return self.schema_

    def hypotheses(self, name: str | None = None):  # type: ignore[no-untyped-def]
        return self.inner.hypotheses(name)

    def encounter(self, t: int) -> Encounter:
        whole = self.inner.encounter(t)
        size = 1 + t % 8
        people = self.schema.encoded(whole.people.x[:size], whole.people.ids[:size])
        auditors = self.inner.panel.auditors[: 1 + t % 5]
        rule = ("any", "all", f"veto({auditors[0].name}) or at_least(80%)", "never")[t % 4]
        return Encounter(people, whole.labels[:size], Panel(auditors, rule))


@pytest.mark.parametrize("player", ["exponential-weights", "context-ftpl"])
def test_rounds_may_differ_in_size_members_and_rule(player: str) -> None:
    world = Shifting()
    played = play(world, Learner(world.hypotheses(), 8, 0.3, 0.3, 1, player=player), 40)
    assert played.people.tolist() == [1 + t % 8 for t in range(1, 41)]


def test_one_person_a_round_is_never_a_violation() -> None:
    world = Loans(2, k=1)
    played = play(world, Learner(world.hypotheses(), 1, 0.3, 0.3, 1), 30)
    assert not played.violation.any()


def test_regret_is_against_the_best_fair_policy(world: Steady) -> None:
    hypotheses = world.hypotheses()
    played = play(world, learner(world, "auto"), 100, record=True)
    best = best_fair_policy(hypotheses, faced_rounds(played.encounters, hypotheses), 0.0)
    summary = summarise(played, Comparators(best.error, best.error, best.error))
    assert summary.regret == pytest.approx(played.error.sum() - best.error)
    assert summary.comparator_error_rate == pytest.approx(best.error / 800)


def test_oracle_calls_are_the_draws_and_one_decision_a_round(world: Steady) -> None:
    drawing = learner(world, "context-ftpl")
    played = play(world, drawing, 10)
    assert played.calls[-1] == sum(drawing.draws(t) + 1 for t in range(1, 11))
    assert play(world, learner(world, "exponential-weights"), 10).calls[-1] == 0


def test_the_papers_noise_drowns_the_data() -> None:
    """The policy of the last round is that of the first, up to what 5,000 draws can tell."""
    world = Loans(1)
    always = world.encounter(1)

    class Same(Loans):
        def encounter(self, t: int) -> Encounter:
            return always

    schedule = Paper(300, draws_rule="r")
    paper = Learner(world.hypotheses(), 8, 0.3, 0.3, 1, schedule, "context-ftpl")
    played = play(Same(1), paper, 300, keep=everything)
    moved = np.abs(played.moments[0].policy - played.moments[-1].policy).max() / ONE
    assert moved < 0.05


def test_a_trace_has_a_line_for_every_round(world: Steady) -> None:
    rows = list(csv.DictReader(io.StringIO(trace_csv(play(world, learner(world, "auto"), 20)))))
    assert [int(row["round"]) for row in rows] == list(range(1, 21))


def test_no_rounds_are_refused(world: Steady) -> None:
    with pytest.raises(ParameterError, match=r"rounds must be an integer in \[1, .*; got 0"):
        play(world, learner(world, "auto"), 0)


@pytest.mark.parametrize("player", ["exponential-weights", "context-ftpl"])
def test_a_class_of_more_than_1e20_hypotheses_is_played_by_both_players(player: str) -> None:
    world = Loans(6)
    hypotheses = world.hypotheses("segments-large")
    assert hypotheses.size > 10**20
    learner_ = Learner(hypotheses, 8, 0.3, 0.3, 1, player=player)
    played = play(world, learner_, 150, keep=everything, evaluation_draws=100)
    compared = 0
    for moment in played.moments:
        segment, bin_ = np.divmod(hypotheses.locate(moment.encounter.people), 20)
        for i, j in np.argwhere((segment[:, None] == segment) & (bin_[:, None] > bin_)):
            # every hypothesis is a threshold, so within a segment more points never hurt
            assert moment.deployment.units[i] >= moment.deployment.units[j]
            compared += 1
    assert compared > 50


def test_the_calls_that_are_counted_are_the_calls_that_are_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = 0
    true = Oracle.approvals

    def counting(self: Oracle, *args: Any, draws: int, first_draw: int = 0) -> Any:
        nonlocal made
        made += draws
        return true(self, *args, draws=draws, first_draw=first_draw)

    monkeypatch.setattr(Oracle, "approvals", counting)
    world, evaluation = Loans(6), 100
    learner_ = Learner(world.hypotheses(), 8, 0.3, 0.3, 1, player="context-ftpl")
    played = play(world, learner_, 7, evaluation_draws=evaluation)
    assert played.calls[-1] == made - 7 * evaluation
