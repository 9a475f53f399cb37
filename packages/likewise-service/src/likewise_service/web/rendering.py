"""Templates: one Jinja2 environment for all pages, with escaping on and unknown names an error."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

from fastapi.responses import HTMLResponse
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from likewise.panel import rule_language, rules
from likewise.panel.agreement import MemberAgreement
from likewise_client import responses
from likewise_service.api import metrics
from likewise_service.errors import now, parse, seconds_between

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


def person_name(alias: str) -> str:
    """Return the name of a person on the page of a review.

    >>> person_name("p3")
    'Person 3'
    """
    return f"Person {alias.removeprefix('p')}"


def by_id(people: Sequence[responses.ReviewPerson]) -> dict[str, responses.ReviewPerson]:
    return {p.id: p for p in people}


def share(value: float | None) -> str:
    """Write a share with three digits, or a dash.

    >>> share(0.34567), share(None)
    ('0.346', '–')
    """
    return "–" if value is None else f"{value:.3f}"


def rule_words(rule: str | rules.Rule) -> str:
    """Say when a rule reports a pair.

    >>> rule_words("veto(ann) or at_least(2)")
    'ann objects, or at least 2 members object'
    >>> rule_words("majority(ann, bo, cy) and more_than(2/3)")
    'more than half of ann, bo and cy object, and more than 2/3 of the members object'
    >>> rule_words("weighted(ann: 2, bo: 1; 2)")
    'those who object have together a weight of 2 (ann 2, bo 1)'
    """
    match rule_language.as_rule(rule):
        case rules.Or(parts=parts) | rules.And(parts=parts) as joined:
            word = "or" if isinstance(joined, rules.Or) else "and"
            return f", {word} ".join(_part_words(part) for part in parts)
        case rules.Objects(member=member):
            return f"{member} objects"
        case rules.AtLeast(votes=votes, of=names):
            return _votes_words(votes, list(names or ()))
        case rules.Weighted(weights=weights, threshold=threshold):
            listed = ", ".join(f"{name} {weight}" for name, weight in weights)
            return f"those who object have together a weight of {threshold} ({listed})"
        case rules.Never():
            return "never"
        case other:
            return str(other)


def _part_words(part: rules.Rule) -> str:
    words = rule_words(part)
    return f"({words})" if isinstance(part, rules.Or | rules.And) else words


def _votes_words(votes: int | rules.Share, names: Sequence[str]) -> str:
    people = f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names)
    if votes == 1:
        return f"one of {people} objects" if names else "one member objects"
    if isinstance(votes, int):
        return (
            f"at least {votes} of {people} object" if names else f"at least {votes} members object"
        )
    if votes.fraction == 1:
        return f"{people} object" if names else "all members object"
    part = "half" if votes.fraction == Fraction(1, 2) else str(votes).replace("%", f"{THIN}%")
    return (
        f"{'more than' if votes.strict else 'at least'} {part} of {people or 'the members'} object"
    )


SEATS = {
    "unasked": "not asked yet",
    "asked": "asked, no response yet",
    "finished": "has responded",
    "absent": "did not respond in time",
}


def seat_words(seat: str) -> str:
    """Say where a member is with a round.

    >>> seat_words("absent")
    'did not respond in time'
    """
    return SEATS[seat]


def interval(unseen: metrics.UnseenResponse) -> str:
    """Write between which numbers unseen reports are, and how certain that is.

    >>> interval(metrics.UnseenResponse(12.0, 3, 40, 0.95))[:60]
    'reports that nobody was asked about; between 3 and 40 with 9'
    >>> interval(metrics.UnseenResponse(0.0, 0, 0, 0.95))
    'the panel was asked about all that could be reported'
    """
    if not unseen.high:
        return "the panel was asked about all that could be reported"
    return (
        f"reports that nobody was asked about; between {unseen.low:,} and {unseen.high:,} with "
        f"{percent(unseen.confidence)} probability, whenever you look"
    )


def pair_key(pair: responses.PairResponse) -> str:
    """Name a pair in marks and forms."""
    return f"{pair.over}.{pair.under}"


def person_data(person: responses.ReviewPerson) -> dict[str, Any]:
    """Return a person of a pair in the words of the page."""
    return {
        "name": person_name(person.id),
        "percent": percent(person.chance),
        "rounded": rounded(person.chance),
        "facts": [fact.value for fact in person.features],
        "erased": person.erased,
    }


def apart(over: float, under: float) -> str:
    """Write how far apart two chances are.

    >>> apart(0.62, 0.31), apart(0.621, 0.619)
    ('31 percentage points apart', 'less than 1 percentage point apart')
    """
    gap = points(over, under)
    return f"{count(gap, 'percentage point') if gap else 'less than 1 percentage point'} apart"


def agreed_words(review: responses.ReviewResponse) -> str:
    """Say on how many pairs of a closed round a member and the panel agreed."""
    if review.outcome not in ("report", "quiet") or review.status != "closed" or not review.pairs:
        return ""
    reported = {pair_key(pair) for pair in review.reported}
    same = sum(pair.flagged == (pair_key(pair) in reported) for pair in review.pairs)
    return f"You and the panel agreed on {same} of {count(len(review.pairs), 'pair')}."


def agreement_words(agreement: MemberAgreement) -> str:
    """Say how often a member and the others responded the same.

    >>> agreement_words(MemberAgreement(40, 31)).replace(THIN, " ")
    'Other members responded 40 times to pairs that you responded to: 31 times the same (78 %).'
    """
    share = percent(agreement.share or 0.0)
    return (
        f"Other members responded {count(agreement.compared, 'time')} to pairs that you responded "
        f"to: {count(agreement.same, 'time')} the same ({share})."
    )


POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
# Under a content security policy without eval and inline styles; pages about people are kept
# neither in the browser's storage nor in htmx's own history; and new links work from the moment
# they are there, however fast somebody presses keys.
HTMX = json.dumps(
    {
        "allowEval": False,
        "allowScriptTags": False,
        "defaultSettleDelay": 0,
        "historyCacheSize": 0,
        "includeIndicatorStyles": False,
        "refreshOnHistoryMiss": True,
        "scrollIntoViewOnBoost": False,
        "selfRequestsOnly": True,
    }
)


@dataclass(frozen=True)
class PageContext:
    """The context of a page: the prefix of its addresses (``base``), and the token of its forms.

    ``title`` is that of the docket, ``who`` the name of the reader (empty when nobody is signed
    in) and ``seat`` the id of their token, ``receipt`` the head of the ledger; ``may`` are the
    kinds of records that the reader may add.
    """

    base: str
    csrf: str = ""
    title: str = "Likewise"
    who: str = ""
    receipt: str = ""
    seat: str = ""
    may: frozenset[str] = frozenset()
    now: str = field(default_factory=now)


@cache
def environment() -> Environment:
    jinja = Environment(
        loader=PackageLoader("likewise_service.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters = (
        agreed_words, agreement_words, by_id, interval, metrics.evenly_spread, moment, pair_key,
        percent, person_name, rounded, rule_words, seat_words, share, span,
    )  # fmt: skip
    jinja.filters.update({f.__name__: f for f in filters})
    jinja.globals.update({f.__name__: f for f in (apart, count, points, until)})
    jinja.globals.update(htmx_config=HTMX, static="/static")
    return jinja


def render(template: str, page: PageContext, **values: Any) -> str:
    return environment().get_template(template).render(page=page, **values)


def html(template: str, page: PageContext, status: int = 200, **values: Any) -> HTMLResponse:
    """Return a page from a template, under the strict content security policy."""
    headers = {"Content-Security-Policy": POLICY}
    return HTMLResponse(render(template, page, status=status, **values), status, headers)


class StaticPages(StaticFiles):
    """Scripts and styles, which a browser may cache for an hour; they hold no personal data."""

    def __init__(self) -> None:
        super().__init__(directory=Path(__file__).parent / "static")

    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        response.headers["Cache-Control"] = "public, max-age=3600"
        return response
