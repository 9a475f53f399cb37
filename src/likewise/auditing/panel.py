"""A panel of auditors who measure: its pivots, objections, violations and reports."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from likewise.auditing.metric_auditor import MetricAuditor, distances_of
from likewise.auditing.names import quoted, seated
from likewise.auditing.objections import MemberObjections, Objections
from likewise.auditing.pivots import Pivots, exceeding_pairs
from likewise.auditing.reporting import Report, checked_scores, choose_report
from likewise.auditing.rules.base import BoolArray, Rule
from likewise.auditing.rules.parsing import as_rule
from likewise.auditing.selection import LargestGap, Selection
from likewise.errors import AuditError, LikewiseError, ParameterError, shown
from likewise.fixed_point import IntArray
from likewise.html import table
from likewise.schema import People
from likewise.validation import instance, integer, items, members


def panel_name(members: Sequence[str], rule: Rule | str) -> str:
    """Identify a panel by its members and the text of its rule; for people as for metrics.

    >>> panel_name(["j1", "j2"], "veto( j2 )")
    'j1, j2: veto(j2)'
    """
    read = as_rule(rule)
    read.check(members)
    return f"{', '.join(map(quoted, members))}: {read}"


@dataclass(frozen=True, init=False)
class Panel:
    """Auditors with distances, and the rule that joins them; another one may sit every round.

    Definition "Monotone auditing scheme". Scores and the sensitivity alpha are integers of
    2^-20, so that every comparison is exact.

    >>> from likewise.auditing import Ratings
    >>> from likewise.schema import Feature, FeatureSchema
    >>> people = FeatureSchema((Feature("r", high=9), Feature("s", high=9))).people(
    ...     [[1, 2], [2, 6]], ids=["ann", "bo"])
    >>> panel = Panel([MetricAuditor("j1", Ratings("r", 0, 8)),
    ...                MetricAuditor("j2", Ratings("s", 0, 8))], "any")
    >>> panel.name, panel.pivots(people).member(0, 1), panel.pivots(people).distance[0, 1] / 2**20
    ('j1, j2: any', 'j1', np.float64(0.125))
    >>> panel.audit(people, [2**20, 2**19], 0)
    Report(pairs=(('ann', 'bo'),))
    """

    auditors: tuple[MetricAuditor, ...]
    rule: Rule

    def __init__(self, auditors: Iterable[MetricAuditor], rule: Rule | str) -> None:
        remedy = "List auditors: [MetricAuditor('j1', …), …]."
        object.__setattr__(self, "auditors", tuple(items("Panel.auditors", auditors, remedy)))
        object.__setattr__(self, "rule", as_rule(rule))
        for auditor in self.auditors:
            _check_auditor(auditor)
        seated(self.members, self.rule.names, str(self.rule))

    @cached_property
    def members(self) -> tuple[str, ...]:
        """The auditors' names, in order."""
        return tuple(auditor.name for auditor in self.auditors)

    @cached_property
    def name(self) -> str:
        """The members and the rule: what identifies the panel."""
        return panel_name(self.members, self.rule)

    def distances(self, people: People) -> IntArray:
        """Every auditor's distances, (m, k, k), symmetric, as integers of 2^-20 from 0 to 1."""
        return distances_of(self.auditors, people)

    def pivots(self, people: People) -> Pivots:
        """The pivot of every pair."""
        distance, auditor = self.rule.pivot(self.distances(people), self.members)
        return Pivots(distance, auditor, self.members)

    def objections(self, people: People, scores: npt.ArrayLike, sensitivity: int) -> Objections:
        """The auditors' objections: j objects to {l, r} if |s_l − s_r| > d_j(l, r) + alpha.

        Definition "Auditor", both directions at once.
        """
        s = _scores(people, scores)
        over = exceeding_pairs(s, self.distances(people), _checked_sensitivity(sensitivity))
        # Distances are symmetric and sensitivities at least 0: at most one direction exceeds.
        against = over | np.swapaxes(over, 1, 2)
        objections = {
            name: MemberObjections(
                pairs=[
                    (people.ids[left], people.ids[right])
                    for left, right in np.argwhere(np.triu(votes, 1)).tolist()
                ]
            )
            for name, votes in zip(self.members, against, strict=True)
        }
        return Objections(people.ids, objections)

    def violations(self, people: People, scores: npt.ArrayLike, sensitivity: int) -> BoolArray:
        """The panel's violations, (k, k): [l, r] where s_l − s_r > d_pivot(l, r) + alpha.

        Definition "Fairness violation", with respect to the pivots.
        """
        s = _scores(people, scores)
        return self.pivots(people).exceeded(s, _checked_sensitivity(sensitivity))

    def audit(
        self,
        people: People,
        scores: npt.ArrayLike,
        sensitivity: int,
        selection: Selection | None = None,
        round: int | None = None,
    ) -> Report:
        """The panel's report: of its violations, those that are selected."""
        violations = self.violations(people, scores, sensitivity)
        s = _scores(people, scores)
        chosen = LargestGap() if selection is None else selection
        return choose_report(violations, s, people.ids, chosen, round)

    def _repr_html_(self) -> str:
        return table(f"Panel: {self.rule}", ("member", "distance"), [
            (auditor.name, auditor.distance) for auditor in self.auditors
        ])  # fmt: skip

    def spec(self) -> dict[str, Any]:
        """The panel as JSON (or TOML): its auditors with their metrics, and the text of its rule.

        >>> from likewise.auditing import Ratings
        >>> panel = Panel([MetricAuditor("j1", Ratings("r"))], "any")
        >>> panel.spec()["rule"], Panel.from_spec(panel.spec()) == panel
        ('any', True)
        """
        return {"auditors": [auditor.spec() for auditor in self.auditors], "rule": str(self.rule)}

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> Panel:
        """Read a panel from its JSON; exactly what :meth:`spec` wrote."""
        fields = members("panel", spec, ("auditors", "rule"))
        listed = items("panel.auditors", fields["auditors"], "List auditors.")
        auditors = [
            _read_auditor(auditor, number) for number, auditor in enumerate(listed, start=1)
        ]
        return cls(auditors, fields["rule"])

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> Panel:
        """Read a panel from a file: JSON where its name ends in .json, TOML otherwise."""
        kind = "JSON" if str(path).endswith(".json") else "TOML"
        try:
            text = Path(path).read_text(encoding="utf-8")
            data = json.loads(text) if kind == "JSON" else tomllib.loads(text)
        except (OSError, TypeError) as error:
            raise AuditError(f"No panel was read from {shown(path)}: {error}.") from error
        except ValueError as error:
            raise AuditError(f"{path} is not a {kind} file: {error}") from error
        try:
            return cls.from_spec(data)
        except LikewiseError as error:
            raise AuditError(f"{path} is not a panel. {error}") from error


def _read_auditor(spec: Any, number: int) -> MetricAuditor:
    """The auditor; an error says which of them it is."""
    try:
        return MetricAuditor.from_spec(spec)
    except LikewiseError as error:
        name = spec.get("name") if isinstance(spec, Mapping) else None
        called = f" ({name!r})" if isinstance(name, str) else ""
        raise AuditError(f"Auditor {number}{called}: {error}") from error


def _scores(people: People, scores: npt.ArrayLike) -> IntArray:
    instance("people", people, People, "Make them with a schema: schema.people(rows).")
    return checked_scores(scores, people.ids)


def _check_auditor(auditor: object) -> None:
    if not isinstance(auditor, MetricAuditor):
        raise ParameterError(
            "Panel.auditors",
            "must be metric auditors",
            auditor,
            "Give a distance a name, MetricAuditor('j1', …); people need only report(…).",
        )


def _checked_sensitivity(sensitivity: int) -> int:
    remedy = (
        "It is an integer of 2^-20: likewise.fixed_point.to_units(alpha). Below 0 a pair with "
        "equal scores would be a violation."
    )
    return integer("sensitivity", sensitivity, 0, None, remedy)
