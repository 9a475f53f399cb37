"""A docket in numbers: reports, errors, gaps, and how its panel works."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, astuple
from typing import Any

from likewise.learner.certificate import Unseen, unseen_reports
from likewise.numerics.fixed_point import ONE, from_units, to_units
from likewise.panel.agreement import Consistency, MemberAgreement
from likewise.people.cells import safe_text
from likewise_client import responses
from likewise_service.api.errors import fill, receipt_response
from likewise_service.clock import seconds_between
from likewise_service.dockets.docket import Docket
from likewise_service.dockets.figures import LEASTS, Audits, Curves, MemberCounts
from likewise_service.dockets.projection import Projection
from likewise_service.dockets.worker import Worker
from likewise_service.ledger.kinds import current_actor

# Numbers that are the docket's running counts.
COUNTED = (
    "rounds", "people", "quiet", "unaudited", "overrides", "looked_at", "pairs_shown",
    "members_asked", "member_pairs",
)  # fmt: skip
# Those that only the operator and regulators see; and those that tell when a turn has ended.
PANEL = ("agreement", "consistency", "members")
TURNS = ("members_asked", "member_pairs", "minutes", "leasts")
POINTS = 400
# Seconds that a member takes for a pair.
SECONDS = 4.0
COLUMNS = (
    "month", "member", *MemberCounts.__slots__, "compared", "same", "share", "alpha", "reports",
    "rounds",
)  # fmt: skip


class Gap(responses.PairResponse):
    """The largest gap between two people of a round."""

    round: str
    gap: float


class AgreementResponse(responses.Response):
    """How far the panel agreed: Krippendorff's alpha, and what it was computed from."""

    alpha: float | None
    units: int
    pairable: int
    judgements: int
    objections: int


class ConsistencyResponse(responses.Response):
    """Intra-rater reliability: ``share`` = same / pairs, over pairs that a member judged twice."""

    share: float | None
    repeats: int
    pairs: int
    same: int


class Series(responses.Response):
    """One value a round, of rounds evenly spread; ``error`` and ``reports`` are running."""

    number: list[int]
    opened: list[str]
    reports: list[int]
    error: list[float | None]
    largest_gap: list[float]
    lam: list[float]


class LeastResponse(responses.Response):
    """The cost of another smallest chance (p_min), had the attention known the same.

    ``minutes`` are a member's for 1,000 rounds, ``unseen`` the reports that nobody would have seen
    so far; both are expectations. ``own`` marks the docket's chance.
    """

    least: float
    own: bool
    minutes: float | None
    unseen: float


class MetricsResponse(responses.Response):
    """A docket in numbers. Only the operator and regulators see the panel's part.

    Where members are asked in turn, that is also how many were asked, and what follows from it.
    ``error`` is the share of labels that the decision missed (overrides aside), ``score_error``
    the mean distance of the chance from the label. Gaps, agreement and members are of the last
    ``window`` rounds, 900 to 1,000 if there are so many; where members are asked in turn, agreement
    and decisive votes are of rounds that all saw at once. ``looked_at`` counts rounds that a panel
    was asked about, ``pairs_shown`` their pairs, ``members_asked`` the members who were asked, and
    ``member_pairs`` each pair once for every member who was shown it; a member needs ``minutes``
    for 1,000 rounds, at four seconds a pair. ``leasts`` say what other smallest chances would cost,
    where rounds are shown whole by chance. ``recorded`` is the time of the last record.
    """

    docket: str
    at: str
    shadow: bool
    rounds: int
    people: int
    open: int
    in_audit: int
    oldest_open_seconds: float | None
    reports: int
    quiet: int
    unaudited: int
    looked_at: int
    pairs_shown: int
    members_asked: int | None
    member_pairs: int | None
    minutes: float | None
    leasts: list[LeastResponse] | None
    unseen: Unseen
    labels: int
    missing: int
    overrides: int
    error: float | None
    score_error: float | None
    lam: float
    sensitivity: float
    window: int
    largest_gaps: list[Gap]
    agreement: AgreementResponse | None
    consistency: ConsistencyResponse | None
    members: list[responses.MemberMetrics] | None
    series: Series
    recorded: str
    receipt: responses.ReceiptResponse


def evenly_spread(count: int, points: int) -> list[int]:
    """Return at most ``points`` indices of a list, evenly spread, with the first and the last.

    >>> evenly_spread(10, 4), evenly_spread(3, 4)
    ([0, 3, 6, 9], [0, 1, 2])
    """
    if count <= points:
        return list(range(count))
    return [i * (count - 1) // (points - 1) for i in range(points)]


def measure(worker: Worker) -> MetricsResponse:
    """Return a docket in numbers; they are counted again only when the ledger has grown."""
    docket = worker.docket
    numbers, moment = worker.numbers(_count), docket.moment()
    opened = [round_.opened for round_ in docket.projection.opened.values()]
    seen = docket.last_seen()
    of_panel: tuple[str, ...] = ()
    if not current_actor().sees_panel:
        of_panel = PANEL + (TURNS if docket.projection.settings.turns else ())
    return MetricsResponse(**numbers | dict.fromkeys(of_panel) | {
        "at": moment,
        "oldest_open_seconds": seconds_between(min(opened), moment) if opened else None,
        "recorded": docket.projection.at if seen is None else seen.at,
        "receipt": receipt_response(docket.receipt()),
    })  # fmt: skip


def member_list(worker: Worker, *, after: str, limit: int) -> responses.MemberList:
    everybody = measure(worker).members or []
    members = sorted((m for m in everybody if m.member > after), key=lambda m: m.member)
    page = members[:limit]
    return responses.MemberList(page, page[-1].member if len(members) > limit else None)


def _count(docket: Docket) -> dict[str, Any]:
    """Return the numbers that follow from the records alone."""
    projection, state = docket.projection, docket.state
    counts, labels = projection.counts, projection.counts["labels"]
    open_rounds = projection.opened.values()
    recent = projection.tallies.recent(open_rounds)
    repeated = projection.tallies.consistency
    return dict(
        {name: counts[name] for name in COUNTED},
        docket=docket.name,
        shadow=projection.settings.shadow,
        open=len(open_rounds),
        in_audit=sum(round_.status == "in audit" for round_ in open_rounds),
        reports=counts["report"],
        minutes=_minutes(counts, counts["pairs_shown"]),
        leasts=_leasts(projection),
        unseen=unseen_reports(state),
        labels=labels,
        missing=state.missing,
        error=counts["missed"] / labels if labels else None,
        score_error=from_units(counts["distance"]) / labels if labels else None,
        lam=0.0 if projection.audit_only else state.lam,
        sensitivity=from_units(projection.settings.sensitivity),
        window=recent.rounds,
        largest_gaps=[Gap(o, u, name, from_units(units)) for units, _, name, o, u in recent.gaps],
        agreement=fill(AgreementResponse, recent.agreement),
        consistency=fill(ConsistencyResponse, sum(repeated.values(), Consistency())),
        members=_members(projection, recent, repeated),
        series=_series(projection.curves),
    )


def _minutes(counts: Counter[str], pairs: float) -> float | None:
    """Return a member's minutes for 1,000 rounds with so many pairs, of which they see a share."""
    if not counts["rounds"]:
        return None
    every = counts["pairs_shown"] * counts["seats"]
    share = counts["member_pairs"] * counts["looked_at"] / every if every else 1.0
    return pairs * share / counts["rounds"] * 1000 * SECONDS / 60


def _leasts(projection: Projection) -> list[LeastResponse] | None:
    settings, tallies = projection.settings, projection.tallies
    if settings.least == ONE:
        return None
    return [
        LeastResponse(
            least, to_units(least) == settings.least,
            _minutes(projection.counts, from_units(shown)), from_units(unseen),
        )
        for least, shown, unseen in zip(LEASTS, tallies.shown, tallies.unseen, strict=True)
    ]  # fmt: skip


def _members(
    projection: Projection, recent: Audits, repeated: dict[str, Consistency]
) -> list[responses.MemberMetrics]:
    members = []
    for name in dict.fromkeys([*projection.members, *recent.members, *repeated]):
        counts, again = recent.members.get(name, MemberCounts()), repeated.get(name, Consistency())
        members.append(responses.MemberMetrics(
            member=name, sitting=name in projection.members, **asdict(counts),
            repeats=again.repeats, consistency=again.share,
        ))  # fmt: skip
    return members


def _series(curves: Curves) -> Series:
    everything = list(curves.cumulative())
    points = [everything[i] for i in evenly_spread(len(everything), POINTS)]
    return Series(
        number=[point.number for point in points],
        opened=[point.opened for point in points],
        reports=[point.reports for point in points],
        error=[point.missed / point.labels if point.labels else None for point in points],
        largest_gap=[from_units(point.gap) for point in points],
        lam=[point.lam for point in points],
    )


def agreement_rows(projection: Projection) -> Iterator[Sequence[object]]:
    """Yield a table: a row for each month with Krippendorff's alpha, and one for each member.

    ``compared`` counts other members' judgements of the same pairs, ``same`` those that agree.
    """
    yield COLUMNS
    for name, month in sorted(projection.tallies.months.items()):
        alpha = _digits(month.agreement.alpha)
        yield [name, "", *[""] * 8, alpha, month.reports, month.rounds]
        for member, counts in sorted(month.members.items()):
            pairs = month.agreement.members.get(member, MemberAgreement())
            shares = [pairs.compared, pairs.same, _digits(pairs.share)]
            yield [name, safe_text(member), *astuple(counts), *shares, "", "", ""]


def _digits(share: float | None) -> str:
    return "" if share is None else f"{share:.6f}"
