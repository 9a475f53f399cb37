"""Every registered baseline keeps one contract: a name, a line about it, and one signature."""

from __future__ import annotations

import inspect

import pytest

import studies  # noqa: F401 - registers the predecessors
from likewise.errors import HypothesisError
from likewise.hypotheses import Segments
from likewise.learner import Learner, State
from likewise.learner.rounds import deploy
from likewise.people import Feature, FeatureSchema
from likewise.registry import BASELINES
from likewise.simulate import Loans
from likewise.simulate.learners import Baseline, constant
from likewise.simulate.rounds import Algorithm, play
from studies.people.admissions import Admissions

EACH = pytest.mark.parametrize("name", BASELINES)


@EACH
def test_a_baseline_is_called_what_it_is_registered_as_and_says_what_it_is(name: str) -> None:
    assert BASELINES[name].name == name
    assert BASELINES[name].summary
    assert (BASELINES[name].__doc__ or "").strip()


@EACH
def test_all_have_one_signature(name: str) -> None:
    wanted = inspect.signature(Baseline.__call__).parameters
    assert list(inspect.signature(BASELINES[name]).parameters) == list(wanted)[1:]


@pytest.mark.parametrize("name", [name for name in BASELINES if name != "gillen"])
@pytest.mark.parametrize("world", [Loans(2), Admissions(2)], ids=lambda world: world.name)
def test_every_baseline_plays_in_any_world(name: str, world: Loans) -> None:
    learner = BASELINES[name](world.hypotheses(), world.k, 0.3, 0.2, 5, rounds=4)
    assert isinstance(learner, Learner | Algorithm)
    assert (learner.k, learner.alpha, learner.seed) == (world.k, 0.3, 5)
    assert play(world, learner, 4).rounds == 4


def schema(*missing: str | None) -> FeatureSchema:
    named = zip(("score", "debt"), missing, strict=True)
    return FeatureSchema(tuple(Feature(n, "integer", 3, 9, missing=said) for n, said in named))


def test_a_constant_approves_everybody_whatever_the_features() -> None:
    features = schema("unknown", None)
    other = Segments(features, score="debt", cuts=[5])
    made = constant(other, 2, 0.3, 0.3, 1)
    assert isinstance(made, Learner)
    state = State.start(made)
    rows: list[dict[str, int | None]] = [{"score": None, "debt": 3}, {"score": 9, "debt": 9}]
    people = features.people(rows)
    assert deploy(state, people)[1].approved.all()


def test_a_constant_needs_a_feature_that_everybody_has() -> None:
    pool = Loans(1).hypotheses("pool")
    pool.schema = schema("unknown", "unknown")
    with pytest.raises(HypothesisError, match="each of them may be missing"):
        constant(pool, 2, 0.3, 0.3, 1)
