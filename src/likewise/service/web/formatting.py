"""Numbers and times in words, the same on every page."""

from __future__ import annotations

from collections.abc import Sequence

from likewise.service.clock import parse, seconds_between
from likewise_client.responses import ReviewPerson

FILTERS = ("by_id", "moment", "percent", "person", "rounded", "share", "span")
FUNCTIONS = ("count", "points", "until")

THIN = "\u202f"  # a narrow space that does not break: the number stays with its sign


def rounded(chance: float) -> int:
    """Round a chance to percent, halves up, as every page shows it.

    >>> rounded(0.625), rounded(0.0), rounded(1.0)
    (63, 0, 100)
    """
    return int(min(max(chance, 0.0), 1.0) * 100 + 0.5)


def percent(chance: float) -> str:
    """Write a chance; only what is certain is 0 or 100 %.

    >>> percent(0.62).split(), percent(0.001), percent(0.999)
    (['62', '%'], 'under 1\\u202f%', 'over 99\\u202f%')
    """
    if 0 < chance < 0.005:
        return f"under 1{THIN}%"
    if 0.995 <= chance < 1:
        return f"over 99{THIN}%"
    return f"{rounded(chance)}{THIN}%"


def points(over: float, under: float) -> int:
    """Return how far apart two chances are, in points between the rounded percentages.

    >>> points(0.624, 0.305)
    31
    """
    return abs(rounded(over) - rounded(under))


def count(number: int, noun: str, plural: str = "") -> str:
    """Write a number with its noun.

    >>> count(1, "pair"), count(1200, "pair"), count(2, "person", "people")
    ('1 pair', '1,200 pairs', '2 people')
    """
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def moment(iso: str) -> str:
    """Write a time in UTC; a script turns it into the reader's own time.

    >>> moment("2026-11-05T06:00:00Z")
    '5 November 2026, 06:00 UTC'
    """
    time = parse(iso)
    return f"{time.day} {time:%B %Y, %H:%M} UTC"


def span(seconds: float) -> str:
    """Write a duration in its largest unit.

    >>> span(59), span(3600), span(200_000)
    ('less than a minute', '1 hour', '2 days')
    """
    for size, unit in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        if seconds >= size:
            return count(int(seconds // size), unit)
    return "less than a minute"


def until(now: str, due: str) -> str:
    """Write how long it is from now until a due date.

    >>> until("2026-11-15T06:00:00Z", "2026-11-15T09:30:00Z")
    'in 3 hours'
    >>> until("2026-11-15T06:00:00Z", "2026-11-15T05:00:00Z")
    'now'
    """
    seconds = seconds_between(now, due)
    return f"in {span(seconds)}" if seconds > 0 else "now"


def person(alias: str) -> str:
    """Return the name of a person on the page of a review.

    >>> person("p3")
    'Person 3'
    """
    return f"Person {alias.removeprefix('p')}"


def by_id(people: Sequence[ReviewPerson]) -> dict[str, ReviewPerson]:
    """Return people by their aliases."""
    return {p.id: p for p in people}


def share(value: float | None) -> str:
    """Write a share with three digits, or a dash.

    >>> share(0.34567), share(None)
    ('0.346', '–')
    """
    return "–" if value is None else f"{value:.3f}"
