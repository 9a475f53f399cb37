"""A listed class of anybody's: predictions, and people who tell the hypotheses apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from likewise.errors import ContractError, HypothesisError, LikewiseError, ParameterError
from likewise.hypotheses import Bits, Listed
from likewise.learner import Learner, State
from likewise.numerics.fixed_point import IntArray
from likewise.people import Feature, FeatureSchema, People
from likewise.registry import HYPOTHESES
from likewise.testing import check_hypotheses

SCHEMA = FeatureSchema((Feature("age", "integer", 0, 120),))
AGES = SCHEMA.people([[a] for a in (10, 20, 40, 60, 80)])


class Thresholds(Listed):
    """Approve from an age on; the table is given, so that it can be made wrong."""

    def __init__(
        self, ages: Sequence[float], *, wrong: Any = None, schema: Any = SCHEMA, **people: Any
    ) -> None:
        self.ages, self.wrong = tuple(ages), wrong
        super().__init__(schema, **people)

    def predictions(self, people: People) -> Bits:
        if self.wrong is not None:
            return np.asarray(self.wrong)
        return (people.column("age")[:, None] >= np.array(self.ages)).astype(np.uint8)

    def describe(self, code: IntArray) -> str:
        return f"from {self.ages[int(code[0])]} on"

    def spec(self) -> dict[str, Any]:
        return {"class": "thresholds", "schema": self.schema.spec(), "ages": list(self.ages)}

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> Thresholds:
        return cls(list(spec["ages"]), reference=AGES)


@pytest.fixture(scope="module", autouse=True)
def _registered() -> None:
    HYPOTHESES.add("thresholds", Thresholds)


def test_a_separating_set_is_taken_as_it_is_or_found_in_reference_data() -> None:
    ages = [0, 30, 50, 121]
    with_set = Thresholds(ages, separating=AGES)
    with_reference = Thresholds(ages, reference=AGES)
    assert (with_set.separators, with_reference.separators) == (5, 3)
    check_hypotheses(with_reference)
    with pytest.raises(ContractError, match="read back from its JSON"):
        check_hypotheses(with_set)  # its from_spec looks for a set, and finds a smaller one


@pytest.mark.parametrize(
    ("people", "message"),
    [
        ({}, "needs either"),
        ({"separating": AGES, "reference": AGES}, "and not both"),
        ({"separating": [[10]]}, "must be of the class People"),
        ({"separating": AGES, "schema": None}, "FeatureSchema"),
    ],
)
def test_it_is_either_one_or_the_other(people: Any, message: str) -> None:
    with pytest.raises((HypothesisError, ParameterError), match=message):
        Thresholds([0, 30], **people)


@pytest.mark.parametrize(
    ("ages", "message"),
    [
        ([0, 30, 31], "hypotheses 1 and 2 agree on all 5 points"),
        ([30, 50], "must contain a constant classifier"),
        ([], "must have between 1 and"),
    ],
)
def test_a_class_that_is_none_is_refused(ages: Sequence[float], message: str) -> None:
    with pytest.raises(HypothesisError, match=message):
        Thresholds(ages, separating=AGES)


def test_twins_in_reference_data_are_refused_too() -> None:
    with pytest.raises(HypothesisError, match="no set of columns separates"):
        Thresholds([0, 30, 31], reference=AGES)


@pytest.mark.parametrize(
    "wrong", [np.zeros(5), np.zeros((5, 2)), np.zeros((4, 2), dtype=int), "ab", [["a"]] * 5, None]
)
def test_predictions_that_are_none_are_refused(wrong: Any) -> None:
    if wrong is None:
        wrong = np.full((5, 1), 2)
    with pytest.raises(HypothesisError, match="predictions must be"):
        Thresholds([0, 30], wrong=wrong, separating=AGES)


def test_a_class_that_nobody_registered_cannot_be_saved() -> None:
    class Private(Thresholds):
        """Writes the name of another class."""

    with pytest.raises(Exception, match="Private is not registered as the hypothesis class"):
        HYPOTHESES.write(Private([0, 30], separating=AGES))
    learner = Learner(Private([0, 30], separating=AGES), 2, 0.3, 0.3, 1)
    with pytest.raises(Exception, match=r"likewise\.hypotheses"):
        learner.spec()


def test_a_class_that_does_not_keep_its_parameters_says_which() -> None:
    class FromAge(Thresholds):
        """Approve from one age on, or everybody."""

        spec = Listed.spec

        def __init__(self, age: float) -> None:
            super().__init__([0, age], separating=AGES)

    learner = Learner(FromAge(30), 2, 0.3, 0.3, 1)
    assert State.start(learner) == State.start(learner)
    with pytest.raises(LikewiseError, match="FromAge does not keep age, with which it was made"):
        learner.settings()
