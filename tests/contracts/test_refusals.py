"""What once ended in a raw exception of Python's or numpy's is refused by name, with the remedy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from likewise.errors import AuditError, EventRefused, LikewiseError, ParameterError, RuleError
from likewise.hypotheses import Pool, Segments, Stumps
from likewise.learner import Learner, SelfTuned, State, apply, learn
from likewise.learner.events import Arrived, Person
from likewise.learner.rounds import deploy
from likewise.panel import FromFunction, MetricAuditor, Panel, Ratings, from_function
from likewise.people import Feature, FeatureSchema
from likewise.simulate import Delay, Loans
from likewise.simulate.rounds import play

SCHEMA = FeatureSchema((Feature("score", low=0, high=100),))
PEOPLE = SCHEMA.people([[20], [70]], ids=["ann", "bo"])
LENDER = Segments(SCHEMA, score="score", cuts=[50])
STATE = State.start(Learner(LENDER, 2, 0.3, 0.3, 1))
AFTER, MADE = deploy(STATE, PEOPLE)
WORLD = Loans(1, k=2)
ANYBODY = Learner(WORLD.hypotheses(), 2, 0.4, 0.4, 1)
DRAWS = Learner(WORLD.hypotheses(), 2, 0.4, 0.4, 1, player="context-ftpl")


PAIRS = [("ann", "bo")]
GAME = {"world": WORLD, "learner": ANYBODY, "rounds": 2}
ROUND = {"state": AFTER, "deployment": MADE, "labels": [1, 0]}
SCORED = {"schema": SCHEMA, "columns": ["score"], "cuts": [0.5], "reference": [[1.0]]}


@pytest.mark.parametrize(
    ("function", "given", "message"),
    [
        (SCHEMA.people, {"rows": [[10**400]]}, "Person 'p1': feature 'score' must be a finite"),
        (apply, {"state": STATE, "event": Arrived("r", (Person("ann", (10**400,)),))}, "'score'"),
        (learn, {**ROUND, "labels": None}, r"labels must be by id.*labels=\{\}"),
        (learn, {**ROUND, "labels": "01"}, "labels must be by id"),
        (learn, {**ROUND, "report": iter(PAIRS)}, r"a list of pairs .* write \[\(over, under\)\]"),
        (learn, {**ROUND, "report": ("ann", "bo")}, "a list of pairs"),
        (play, {**GAME, "learner": DRAWS, "evaluation_draws": 0}, "evaluation_draws must be"),
        (play, {**GAME, "delay": "3"}, r"delay must be .*Write Delay\(3\)"),
        (play, {**GAME, "rounds": 2.5}, "rounds must be an integer"),
        (play, {**GAME, "selection": "first"}, "selection must be of the class Selection"),
        (Delay, {"rounds": "3"}, "delay must be an integer"),
        (SelfTuned, {"kappa": [0.1]}, "kappa must be a number"),
        (SelfTuned, {"kappa": np.array([0.1])}, "kappa must be a number"),
        (Segments, {"schema": SCHEMA, "score": "score", "cuts": 0.5}, r"cuts must be a list"),
        (Stumps, {"schema": SCHEMA, "cuts": {"score": 0.5}}, r"cuts\['score'\] must be a list"),
        (Pool.from_scores, {**SCORED, "cuts": 0.5}, "cuts must be a list"),
        (Pool.from_scores, {**SCORED, "reference": [["low"], ["high"]]}, "reference must be rows"),
    ],
)  # fmt: skip
def test_a_raw_exception_of_then_is_a_refusal(
    function: Callable[..., Any], given: dict[str, Any], message: str
) -> None:
    with pytest.raises(LikewiseError, match=message):
        function(**given)


def failing(people: Any) -> Any:
    raise ZeroDivisionError(f"no reason, with {len(people)} people")


def saying(value: Any) -> Callable[..., Any]:
    """A distance that says one thing of everybody."""
    return lambda *_people: value


@pytest.mark.parametrize(
    ("distance", "message"),
    [
        (failing, "the distance failed with ZeroDivisionError: no reason, with 2 people"),
        (saying("far"), "distances must be an array of numbers"),
        (saying([["a", "b"], ["c", "d"]]), "distances must be an array of numbers"),
        (saying([[0.0], [0.0, 1.0]]), "the distance failed with ValueError"),
        (saying(None), "distances must be an array of numbers"),
        (FromFunction(saying("far")), "A distance must be a number"),
        (FromFunction(lambda one, _: float(one["shoe"])), "The function of two people failed on"),
    ],
)
def test_an_auditor_whose_distance_fails_is_named_and_the_cause_is_kept(
    distance: Any, message: str
) -> None:
    panel = Panel([MetricAuditor("omar", Ratings("score", 0, 100)),
                   MetricAuditor("nora", distance)], "any")  # fmt: skip
    with pytest.raises(AuditError, match=f"Auditor 'nora': {message}") as caught:
        panel.audit(PEOPLE, [5, 9], 0)
    if distance is failing:
        assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_a_rule_function_that_fails_is_named_with_its_profile() -> None:
    with pytest.raises(RuleError, match=r"failed on the profile \(0, 0\) with IndexError"):
        from_function(lambda votes: votes[7], ["j1", "j2"])


def test_a_round_that_is_refused_leaves_the_state_as_it_was() -> None:
    before = AFTER
    with pytest.raises(EventRefused):
        learn(AFTER, MADE, labels=[1, 2])
    assert before is AFTER
    assert learn(AFTER, MADE, labels=[1, 0]).opened == 1
    with pytest.raises(ParameterError):
        deploy(STATE, [[20], [70]])  # type: ignore[arg-type]
