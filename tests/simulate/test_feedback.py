"""Games with one-sided labels, late feedback and audits of a share: what is heard, and counted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from likewise.errors import ParameterError
from likewise.learner import Learner, SelfTuned
from likewise.learner.attention import Share
from likewise.learner.bounds import bounds
from likewise.learner.fold import upcoming
from likewise.numerics.fixed_point import to_units
from likewise.simulate import Delay, Delays, Loans, Transcript, parse_delay
from likewise.simulate.counts import summarise, summary_json
from likewise.simulate.rounds import Algorithm, FoldedLearner, play

WORLD = Loans(4)
PLAYERS = pytest.mark.parametrize("player", ["exponential-weights", "context-ftpl"])


def game(rounds: int, delay: Delay | Delays | None = None, **settings: Any) -> Transcript:
    learner = Learner(WORLD.hypotheses(), 8, 0.3, 0.3, 9, **settings)
    return play(
        WORLD, learner, rounds, delay=delay or Delay(), keep=lambda _: True, record=True,
        evaluation_draws=500,
    )  # fmt: skip


@PLAYERS
def test_errors_are_counted_on_labels_that_the_learner_never_saw(player: str) -> None:
    played = game(40, feedback="one-sided", player=player)
    unseen = 0
    for moment in played.moments:
        labels, policy = moment.encounter.labels, moment.policy / 2**20
        by_hand = float(np.where(labels == 1, 1 - policy, policy).sum())
        assert played.error[moment.t - 1] == pytest.approx(by_hand)
        unseen += int((~moment.deployment.approved).sum())
    assert unseen > 40


def test_violations_are_counted_in_rounds_that_nobody_audited() -> None:
    played = game(200, attention=Share(0.2), schedule=SelfTuned(eta=4.0, x=0.02))
    alpha = to_units(0.3)
    for moment in played.moments:
        assert played.violation[moment.t - 1] == moment.violated(alpha)
    assert (played.violation & ~played.audited).sum() > 10
    assert not (played.reported & ~played.audited).any()
    assert played.state.audits == played.audited.sum()


def test_labels_of_the_rejected_are_not_heard_of() -> None:
    played = game(30, Delay(1000), feedback="one-sided")
    assert len(played.state.open) == 30, "nothing has come yet"
    late = game(30, Delay(10), feedback="one-sided")
    assert len(late.state.open) == 10
    assert late.state.missing == 0


@pytest.mark.parametrize("feedback", ["full", "one-sided"])
def test_the_summary_has_the_bounds_of_the_game_that_was_played(feedback: str) -> None:
    """Audit and labels in one piece; with one-sided labels, the rejected are charged before."""
    played = game(20, Delay(3), feedback=feedback, player="context-ftpl")
    data = summary_json(played, summarise(played), 0.0)
    pieces = 2 if feedback == "one-sided" else 1
    wanted = bounds(played.state.learner, 20, delay=3, pieces=pieces)
    assert data["bounds"] == [bound.to_json() for bound in wanted]
    assert data["delay"] == "3"
    assert data["open_rounds"] == 3


def test_a_delay_without_limit_has_no_bound() -> None:
    played = game(20, Delay(chance=0.5))
    assert summary_json(played, summarise(played), 0.0)["bounds"] == []


def test_a_delay_that_the_learner_cannot_wait_for_is_refused_before_the_game() -> None:
    assert len(game(5, Delay(5), open_limit=5).state.open) == 5
    with pytest.raises(ParameterError, match="open_limit of 5"):
        game(6, Delay(5), open_limit=5)


def test_audits_may_come_at_once_and_labels_late() -> None:
    """The lender's case: reports move lam from the first round on, labels only later."""
    late = game(30, parse_delay("audits:0,labels:12"))
    assert len(late.state.open) == 12
    assert late.state.audits == 30


def test_a_learner_that_waits_for_feedback_moves_more_slowly() -> None:
    """It observes the delay: the same game has a larger scale than where nothing is counted."""
    at_once, late, uncounted = (
        upcoming(game(60, delay, schedule=schedule).state).scale
        for delay, schedule in (
            (Delay(0), SelfTuned()),
            (Delay(48), SelfTuned()),
            (Delay(48), SelfTuned(outstanding=0.0, waiting=0.0)),
        )
    )
    assert late > 3 * uncounted
    assert late > 1.5 * at_once


@pytest.mark.parametrize("feedback", ["full", "one-sided"])
@pytest.mark.parametrize("delay", ["0", "geometric:0.3"])
def test_labels_heard_together_are_labels_heard_one_by_one(
    monkeypatch: pytest.MonkeyPatch, feedback: str, delay: str
) -> None:
    together = game(40, parse_delay(delay), feedback=feedback)
    monkeypatch.setattr(FoldedLearner, "hear_all", Algorithm.hear_all)
    apart = game(40, parse_delay(delay), feedback=feedback)
    assert together.state == apart.state
    assert together.error.tolist() == apart.error.tolist()
