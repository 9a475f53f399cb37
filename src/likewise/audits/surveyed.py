"""An audit by people who were asked: their judgements of pairs, joined by a rule."""

from __future__ import annotations

import time

from likewise.auditing import Pair, krippendorff_alpha
from likewise.audits.groups import GroupRates
from likewise.audits.result import Audit, Finding, as_share
from likewise.audits.sampling import Interval
from likewise.audits.survey import Survey
from likewise.fixed_point import ONE, IntArray
from likewise.schema import People

__all__ = ["audit_of_survey"]


def audit_of_survey(
    people: People,
    units: IntArray,
    survey: Survey,
    rates: GroupRates | None,
    unused: list[str],
    start: float,
) -> Audit:
    """Judgements of people, joined by their rule: no distances, so no curve and no price."""
    survey.check_people(people.ids)
    place = {name: i for i, name in enumerate(people.ids)}
    findings = [
        _finding(people, units, survey, pair)
        for pair in survey.judgements
        if survey.fires(pair) and len({int(units[place[person]]) for person in pair}) == 2
    ]
    decisive = {name: sum(name in one.decisive for one in findings) for name in survey.members}
    findings.sort(key=lambda pair: (-pair.gap, pair.over, pair.under))
    touched = {person for pair in findings for person in (pair.over, pair.under)}
    notes = ["People have no distances: there is no curve over alpha, no pivot and no price."]
    objections = {
        name: sum(bool(said.get(name)) for said in survey.judgements.values())
        for name in survey.members
    }
    notes += [f"{name} was given, and changes nothing here." for name in unused]
    asked = {person for pair in survey.judgements for person in pair}
    return Audit(
        panel=f"{', '.join(survey.members)}: {survey.rule}", members=survey.members,
        alpha=None, asked=len(asked), people=people, scores=tuple((units / ONE).tolist()),
        pairs=len(survey.judgements), looked_at=len(survey.judgements),
        reported=Interval.exactly(len(findings)), touched=Interval.exactly(len(touched)), curve=(),
        rules=(), worst=tuple(findings), pivots={}, decisive=decisive, objections=objections,
        agreement=krippendorff_alpha([dict(said) for said in survey.judgements.values()]),
        groups=rates, notes=tuple(notes), seconds=time.perf_counter() - start,
    )  # fmt: skip


def _finding(people: People, units: IntArray, survey: Survey, pair: Pair) -> Finding:
    """A pair that is reported: who is above whom, who objects, and why."""
    under, over = sorted((people.ids.index(person) for person in pair), key=lambda i: units[i])
    said, judged = (people.say(over), people.say(under)), survey.judgements[pair]
    return Finding(
        people.ids[over], people.ids[under], as_share(int(units[over] - units[under])), None,
        None, None, tuple(name for name in survey.members if judged.get(name)),
        survey.decisive(pair), {name: (said[0][name], said[1][name]) for name in said[0]},
        {name: survey.reasons[pair, name] for name in judged if (pair, name) in survey.reasons},
    )  # fmt: skip
