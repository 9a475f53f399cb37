"""What the operator's dashboard shows, as plain values: the routes fill them.

Times are ISO 8601 in UTC, or empty where there is none; shares are fractions in [0, 1]; None
stands for what cannot be said yet.
"""

from __future__ import annotations

from dataclasses import dataclass

from likewise.service.web.console_models import Frame

__all__ = ["Dashboard", "Export", "Head", "MemberRow", "OpenRound", "Series", "Standing"]


@dataclass(frozen=True)
class Standing:
    """How a docket stands now, in numbers."""

    rounds: int
    """Rounds that have been decided."""
    reports: int
    """Rounds in which the panel reported a pair."""
    error: float | None
    """The share of known labels that the decisions got wrong."""
    labels: int
    """How many labels are known."""
    missing_labels: int
    lam: float
    """The learner's multiplier: what a report weighs in its costs now."""
    open_rounds: int
    oldest_open: float | None
    """For how many seconds the oldest open round has been open."""
    overrides: int
    agreement: float | None
    """Krippendorff's alpha of the members' objections."""
    consistency: float | None
    """How often members said the same again about a round that they were shown twice."""
    repeats: int = 0
    """How many rounds were shown again."""


@dataclass(frozen=True)
class Series:
    """What the charts draw: columns of one length, one entry a round."""

    rounds: tuple[int, ...] = ()
    reports: tuple[int, ...] = ()
    """Reports until then."""
    error: tuple[float | None, ...] = ()
    """Error on the labels known until then."""
    lam: tuple[float, ...] = ()
    gap: tuple[float, ...] = ()
    """The largest gap between two scores of the round."""


@dataclass(frozen=True)
class MemberRow:
    """One member of the panel."""

    name: str
    seats: int
    """Rounds the member was asked about."""
    absent: int
    flags: int
    decisive: int
    """Reports that would not have been made without the member."""
    consistency: float | None = None
    active: bool = True


@dataclass(frozen=True)
class OpenRound:
    """One round that is not closed."""

    title: str
    people: int
    opened: str
    closes: str = ""
    seats: int = 0
    done: int = 0
    """How many members have finished."""
    missing_labels: int = 0


@dataclass(frozen=True)
class Head:
    """The latest record of the ledger."""

    seq: int
    receipt: str
    """The line that proves all records up to this one."""
    at: str


@dataclass(frozen=True)
class Export:
    """A file that can be downloaded."""

    label: str
    href: str
    note: str = ""


@dataclass(frozen=True)
class Dashboard:
    """The operator's page of one docket."""

    frame: Frame
    standing: Standing
    head: Head
    rule: str
    """The rule of the panel as text."""
    data_url: str
    """Where the numbers are as JSON: what :func:`.dashboard_pages.live` makes."""
    series: Series = Series()
    members: tuple[MemberRow, ...] = ()
    open_rounds: tuple[OpenRound, ...] = ()
    exports: tuple[Export, ...] = ()
    every: int = 10
    """Seconds between two looks at ``data_url``."""
