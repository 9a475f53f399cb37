"""A panel of auditors who measure: its pivots, objections, violations and reports."""

from __future__ import annotations

import json
import math
import os
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from likewise.errors import AuditError, LikewiseError, shown
from likewise.html import table
from likewise.numerics.fixed_point import ONE, FloatArray, IntArray
from likewise.panel import reports
from likewise.panel.metrics import ROUNDING, Distance, Sides, by_blocks, joined
from likewise.panel.objections import MemberObjections, Objections
from likewise.panel.reports import Pivots, Report, Selection
from likewise.panel.rule_language import as_rule
from likewise.panel.rules import BoolArray, Rule, checked_name, quoted
from likewise.people.columns import column_values, is_table
from likewise.people.schema import People
from likewise.registry import METRICS
from likewise.validation import assign, instance, integer, items, members, require


def _remedy(distance: float, *people: People) -> str:
    """Advice on a distance outside [0, 1]; NaN mostly comes from missing values."""
    gaps = np.isnan(np.concatenate([group.x for group in people])).any(axis=0)
    names = [name for name, gap in zip(people[0].schema.names, gaps.tolist(), strict=True) if gap]
    if math.isnan(distance) and names:
        return (
            f"Values are missing in {', '.join(map(repr, names))}, and are NaN for the distance. "
            f"Let it say what that means, such as np.nan_to_num(…, nan=1.0) for a full difference."
        )
    return "Scale it, or cut it off at 1."


@dataclass(frozen=True)
class MetricAuditor:
    """An auditor who objects to a pair when π(x_l) − π(x_r) > d(x_l, x_r) + alpha.

    Definition "Auditor".

    >>> from likewise.panel import Ratings
    >>> from likewise.people import Feature, FeatureSchema
    >>> people = FeatureSchema((Feature("r"),)).people([[0.25], [0.75]])
    >>> MetricAuditor("j1", Ratings("r")).distances(people).tolist()
    [[0, 524288], [524288, 0]]
    """

    name: str
    distance: Distance

    def __post_init__(self) -> None:
        checked_name(self.name, "MetricAuditor.name")
        where, fits = f"MetricAuditor({self.name!r}).distance", callable(self.distance)
        remedy = (
            "Use WeightedL1, Mahalanobis, Ratings, FromFunction for a function of two, or "
            "FromColumns for one of two sets of columns."
        )
        require(fits, where, "must be callable", self.distance, remedy)

    def between(self, sides: Sides) -> IntArray:
        """The distances of some people to others, as integers of 2^-20, checked.

        The same as :meth:`distances` has for these pairs; nobody is compared with themselves.
        """
        instance("sides", sides, Sides, "Write Sides(left, right).")
        if by_blocks(self.distance) is None:
            return np.asarray(joined(self.distances, sides))
        d = self.measured(sides)
        if d.size and not (d.min() >= 0.0 and d.max() <= 1.0):
            odd = float(d.flat[np.flatnonzero(~((d >= 0.0) & (d <= 1.0)))[0]])
            raise AuditError(
                f"Auditor {self.name!r}: a distance must be within [0, 1]; got {odd!r}. "
                f"{_remedy(odd, sides.left, sides.right)}"
            )
        return np.rint(np.multiply(d, float(ONE), out=d), out=d).astype(np.int64)

    def distances(self, people: People) -> IntArray:
        """The distances of all pairs as integers of 2^-20, checked; 0 on the diagonal."""
        return np.asarray(distances_of([self], people)[0])

    def measured(self, sides: Sides) -> FloatArray:
        """The unchecked distances of the left to the right; without blocks, among the left.

        Whatever the distance raises, the error names the auditor.
        """
        measure, shape = by_blocks(self.distance), sides.shape
        try:
            measured = np.array(self.distance(sides.left) if measure is None else measure(sides))
        except LikewiseError as error:
            raise AuditError(f"Auditor {self.name!r}: {error}") from error
        except Exception as error:  # the user's own code
            raise AuditError(
                f"Auditor {self.name!r}: the distance failed with {type(error).__name__}: {error}. "
                f"Repair it, or take another one."
            ) from error
        if measured.dtype.kind not in "fiub" or measured.shape != shape:
            raise AuditError(
                f"Auditor {self.name!r}: distances must be an array of numbers of shape {shape}; "
                f"got {measured.dtype} of shape {measured.shape}. A function of two people goes "
                f"into FromFunction."
            )
        return measured.astype(np.float64, copy=False)

    def spec(self) -> dict[str, Any]:
        """The auditor as JSON; a distance that is a plain function cannot be written down."""
        return {"name": self.name, "distance": METRICS.write(self.distance)}

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> MetricAuditor:
        fields = members("auditor", spec, ("name", "distance"))
        return cls(fields["name"], METRICS.read(fields["distance"]))


def distances_of(auditors: Sequence[MetricAuditor], people: People) -> IntArray:
    """Every auditor's distances, (m, k, k), symmetric, as integers of 2^-20 from 0 to 1.

    The differences of a feature that several auditors use are computed once.
    """
    instance("people", people, People, "Make them with a schema: schema.people(rows).")
    sides, everybody = Sides(people, people), np.arange(len(people))
    d = np.stack([auditor.measured(sides) for auditor in auditors])
    d[:, everybody, everybody] = 0.0
    turned = d.transpose(0, 2, 1)
    within = d.size == 0 or (d.min() >= 0.0 and d.max() <= 1.0)
    if within and not (np.abs(d - turned) > ROUNDING).any():
        return np.rint(np.maximum(d, turned) * float(ONE)).astype(np.int64)
    wrong, rule = ~((d >= 0.0) & (d <= 1.0)), "within [0, 1]"
    if within:
        wrong, rule = np.abs(d - turned) > ROUNDING, "symmetric"
    j, left, right = np.argwhere(wrong)[0]
    distance, turned_round = float(d[j, left, right]), float(d[j, right, left])
    remedy = "Take their mean, or the larger." if within else _remedy(distance, people)
    raise AuditError(
        f"Auditor {auditors[j].name!r}: a distance must be {rule}; got {distance!r} for "
        f"({people.ids[left]!r}, {people.ids[right]!r}) and {turned_round!r} the other way round. "
        f"{remedy}"
    )


def panel_name(members: Sequence[str], rule: Rule | str) -> str:
    """The members and the text of the rule, which identify a panel of people or metrics.

    >>> panel_name(["j1", "j2"], "veto( j2 )")
    'j1, j2: veto(j2)'
    """
    read = as_rule(rule)
    read.check(members)
    return f"{', '.join(map(quoted, members))}: {read}"


@dataclass(frozen=True, init=False)
class Panel:
    """Auditors with distances, and the rule that joins them; panels may differ between rounds.

    Definition "Monotone auditing scheme". Scores and the sensitivity alpha are integers of 2^-20,
    so every comparison is exact.

    >>> from likewise.panel import Ratings
    >>> from likewise.people import Feature, FeatureSchema
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
        listed = tuple(items("Panel.auditors", auditors, remedy))
        assign(self, auditors=listed, rule=as_rule(rule))
        remedy = "Give a distance a name, MetricAuditor('j1', …); people need only report(…)."
        for auditor in listed:
            fits = isinstance(auditor, MetricAuditor)
            require(fits, "Panel.auditors", "must be metric auditors", auditor, remedy)
        self.rule.check(self.members)

    @cached_property
    def members(self) -> tuple[str, ...]:
        return tuple(auditor.name for auditor in self.auditors)

    @cached_property
    def name(self) -> str:
        return panel_name(self.members, self.rule)

    def distances(self, people: People) -> IntArray:
        """Every auditor's distances, (m, k, k), symmetric, as integers of 2^-20 from 0 to 1."""
        return distances_of(self.auditors, people)

    def pivots(self, people: People) -> Pivots:
        distance, auditor = self.rule.pivot(self.distances(people), self.members)
        return Pivots(distance, auditor, self.members)

    def objections(self, people: People, scores: npt.ArrayLike, sensitivity: int) -> Objections:
        """The auditors' objections: j objects to {l, r} if |s_l − s_r| > d_j(l, r) + alpha.

        Definition "Auditor", both directions at once.
        """
        s = _scores(people, scores)
        against = reports.exceeding_pairs(
            s, self.distances(people), _checked_sensitivity(sensitivity)
        )
        ids, objections = people.ids, {}
        for name, votes in zip(self.members, against, strict=True):
            pairs = [(ids[over], ids[under]) for over, under in np.argwhere(votes).tolist()]
            objections[name] = MemberObjections(pairs=pairs)
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
        """The panel's report of the selected violations."""
        units = _scores(people, scores)
        violations = self.violations(people, units, sensitivity)
        return reports.choose_report(violations, units, people.ids, selection, round)

    def _repr_html_(self) -> str:
        return table(f"Panel: {self.rule}", ("member", "distance"), [
            (auditor.name, auditor.distance) for auditor in self.auditors
        ])  # fmt: skip

    def spec(self) -> dict[str, Any]:
        """The panel as JSON (or TOML): auditors with their metrics, and the text of its rule."""
        return {"auditors": [auditor.spec() for auditor in self.auditors], "rule": str(self.rule)}

    def to_toml(
        self, heading: Iterable[str] = (), notes: Mapping[str, Iterable[str]] | None = None
    ) -> str:
        """The panel as a TOML file, which :meth:`from_file` reads.

        Its comments are the ``heading``, and ``notes`` on auditors by name.

        >>> from likewise.panel import Ratings
        >>> print(Panel([MetricAuditor("j1", Ratings("r", 0, 8))], "any").to_toml(["Mine."]))
        # Mine.
        rule = "any"
        <BLANKLINE>
        [[auditors]]
        name = "j1"
        distance = { metric = "ratings", ratings = "r", low = 0.0, high = 8.0 }
        <BLANKLINE>
        """
        lines = [*_comments(heading), f"rule = {_toml(str(self.rule))}"]
        for auditor in self.auditors:
            values = [f"{key} = {_toml(value)}" for key, value in auditor.spec().items()]
            lines += ["", "[[auditors]]", *_comments((notes or {}).get(auditor.name, ())), *values]
        return "\n".join(lines) + "\n"

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> Panel:
        """Read a panel from its JSON; exactly what :meth:`spec` wrote."""
        fields = members("panel", spec, ("auditors", "rule"))
        listed = items("panel.auditors", fields["auditors"], "List auditors.")
        auditors = [_read_auditor(*entry) for entry in enumerate(listed, start=1)]
        return cls(auditors, fields["rule"])

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> Panel:
        """Read a panel from a file: JSON where its name ends in .json, TOML otherwise."""
        kind = "JSON" if str(path).lower().endswith(".json") else "TOML"
        try:
            text = Path(path).read_text(encoding="utf-8-sig")
            data = json.loads(text) if kind == "JSON" else tomllib.loads(text)
        except (OSError, TypeError) as error:
            raise AuditError(f"No panel was read from {shown(path)}: {error}.") from error
        except (ValueError, RecursionError) as error:
            raise AuditError(f"{path} is not a {kind} file: {error}") from error
        try:
            return cls.from_spec(data)
        except LikewiseError as error:
            raise AuditError(f"{path} is not a panel. {error}") from error


_BARE = re.compile("[A-Za-z0-9_-]+")


def _comments(lines: Iterable[str]) -> list[str]:
    """Lines as comments; spaces replace what a comment may not hold, such as a line's end."""
    return ["# " + "".join(c if c.isprintable() else " " for c in line) for line in lines]


def _toml(value: Any) -> str:
    """A value as TOML; pairs of a name and a number become a table; empty values are left out.

    >>> _toml({"weights": [["a b", 1.0]], "scales": []})
    '{ weights = { "a b" = 1.0 } }'
    """
    if isinstance(value, Mapping):
        named = ((k if _BARE.fullmatch(k) else _toml(k), v) for k, v in value.items() if v != [])
        return f"{{ {', '.join(f'{name} = {_toml(part)}' for name, part in named)} }}"
    if isinstance(value, list):
        pairs = all(isinstance(part, list) and isinstance(part[0], str) for part in value)
        return _toml(dict(value)) if pairs else f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return repr(value)


def _read_auditor(number: int, spec: Any) -> MetricAuditor:
    """Read an auditor; errors name the auditor."""
    try:
        return MetricAuditor.from_spec(spec)
    except LikewiseError as error:
        name = spec.get("name") if isinstance(spec, Mapping) else None
        called = f" ({name!r})" if isinstance(name, str) else ""
        raise AuditError(f"Auditor {number}{called}: {error}") from error


def _scores(people: People, scores: npt.ArrayLike) -> IntArray:
    instance("people", people, People, "Make them with a schema: schema.people(rows).")
    if is_table(scores) or isinstance(scores, np.ma.MaskedArray):
        scores = column_values("Scores", scores, people)
    return reports.checked_scores(scores, people.ids)


def _checked_sensitivity(sensitivity: int) -> int:
    remedy = (
        "It is an integer of 2^-20: likewise.numerics.fixed_point.to_units(alpha). Below 0 a pair "
        "with equal scores would be a violation."
    )
    return integer("sensitivity", sensitivity, 0, None, remedy)
