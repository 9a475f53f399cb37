"""Surveys of pairs: read as they were answered, played as a panel, refused where they have gaps."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from likewise.errors import LikewiseError, ParameterError
from likewise.numerics.fixed_point import ONE, to_units
from likewise.panel import Pair
from likewise.people import FeatureSchema
from studies.people.surveys import PairSurvey, read_pair_survey

WORDS = {"alike": 0.0, "nearly alike": 1.0, "no constraint": 4.0}
SURVEY = """who,one,two,said
ann,a,b,alike
ann,c,a,no constraint
ann,b,c,nearly alike
bo,b,a,no constraint
bo,a,c,alike
bo,c,b,alike
"""


@dataclass
class File:
    path: Path

    def read(self, text: str, **more: object) -> PairSurvey:
        self.path.write_text(text)
        names = ("who", "one", "two", "said")
        return read_pair_survey(self.path, *names, scale=WORDS, **more)  # type: ignore[arg-type]


@pytest.fixture
def file(tmp_path: Path) -> File:
    return File(tmp_path / "survey.csv")


def test_judgements_are_the_distances_themselves(file: File) -> None:
    """Also where they break the triangle inequality: a to b 0, b to c 1/4, a to c 1."""
    found = file.read(SURVEY)
    assert (found.respondents, found.people) == (("ann", "bo"), ("a", "b", "c"))
    assert found.judgements["ann"][Pair("a", "c")] == 1.0
    assert found.distances("ann").tolist() == [[0, 0, 1], [0, 0, 0.25], [1, 0.25, 0]]
    assert found.distances("bo").tolist() == [[0, 1, 0], [1, 0, 0], [0, 0, 0]]


def test_the_respondents_object_as_they_answered(file: File) -> None:
    """In another order of people, and with somebody who is there twice."""
    found = file.read(SURVEY)
    schema = FeatureSchema(tuple(found.features()))
    order = ["c", "a", "b", "a"]
    people = schema.people([[found.position(name)] for name in order])
    panel = found.panel("any")
    for auditor in panel.auditors:
        table = found.distances(auditor.name)
        places = [found.position(name) for name in order]
        expected = table[np.ix_(places, places)] * ONE
        assert np.array_equal(auditor.distances(people), expected)
    # c is treated worse than everybody by 0.5: bo, who saw a reason in neither pair, objects; ann
    # has 0.25 + 0.3 for c and b, and no constraint for c and a.
    votes = panel.objections(people, [0, ONE // 2, ONE // 2, ONE // 2], to_units(0.3)).votes()
    assert votes.sum(axis=(1, 2)).tolist() == [0, 6]
    assert votes[1, 0].tolist() == [False, True, True, True]


def test_pairs_that_nobody_was_asked_about_need_a_word(file: File) -> None:
    text = SURVEY.replace("bo,c,b,alike\n", "")
    with pytest.raises(LikewiseError, match="'bo' has no judgement of 'b' and 'c', and of 0 other"):
        file.read(text)
    assert file.read(text, unasked=1.0).distances("bo")[1, 2] == 1.0
    assert file.read(text, unasked=0.0).distances("bo")[1, 2] == 0.0
    assert file.read(text, unasked=1.0).distances("bo")[0, 0] == 0.0
    with pytest.raises(ParameterError, match=r"unasked must be in \[0, 1\]; got 2"):
        file.read(text, unasked=2)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("bo,c,b,alike", "bo,c,b,", "line 7: a respondent, two people and a judgement must be"),
        ("bo,c,b,alike", ",c,b,alike", "line 7: a respondent, two people"),
        ("bo,c,b,alike", "bo,c,c,alike", "line 7: 'c' is paired with themselves"),
        ("bo,c,b,alike", "bo,a,b,alike", "line 7: 'bo' has judged 'a' and 'b' before"),
        ("bo,c,b,alike", "bo,c,b,unlike", "line 7: 'unlike' is none of the judgements"),
        ("who,one", "whose,one", "must have one column 'who'"),
        (SURVEY, "who,one,two,said\n", "has no row below its header"),
    ],
)
def test_gaps_and_nonsense_are_refused_with_their_line(
    file: File, old: str, new: str, says: str
) -> None:
    assert old in SURVEY
    with pytest.raises(LikewiseError, match=says):
        file.read(SURVEY.replace(old, new))


def test_a_respondent_who_was_asked_and_judged_nobody_is_named(file: File) -> None:
    with pytest.raises(LikewiseError, match="the respondent 'cy' has judged no pair"):
        file.read(SURVEY, respondents=["ann", "bo", "cy"])
    with pytest.raises(LikewiseError, match="'bo' is none of the respondents"):
        file.read(SURVEY, respondents=["ann"])


def test_nobody_who_is_not_in_the_survey_has_a_position(file: File) -> None:
    with pytest.raises(LikewiseError, match="nobody called 'zoe'"):
        file.read(SURVEY).position("zoe")
