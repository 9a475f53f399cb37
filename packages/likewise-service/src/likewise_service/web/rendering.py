"""Templates: one Jinja2 environment for all pages, with escaping on and unknown names an error."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from fastapi.responses import HTMLResponse
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from likewise.learner.certificate import Unseen
from likewise.panel.agreement import MemberAgreement
from likewise_client import responses
from likewise_service import language
from likewise_service.api import metrics
from likewise_service.clock import now, seconds_between
from likewise_service.language import N_, THIN, _, moment, ngettext, number, value_words


def rounded(chance: float) -> int:
    """Round a chance to percent, halves up, as every page shows it.

    >>> rounded(0.625)
    63
    """
    return int(min(max(chance, 0.0), 1.0) * 100 + 0.5)


def percent(chance: float) -> str:
    """Write a chance; only what is certain is 0 or 100 %.

    >>> percent(0.62).split(), percent(0.001), percent(0.999)
    (['62', '%'], 'under 1\\u202f%', 'over 99\\u202f%')
    """
    if 0 < chance < 0.005:
        return _("under %(percent)s", percent=f"1{THIN}%")
    if 0.995 <= chance < 1:
        return _("over %(percent)s", percent=f"99{THIN}%")
    return f"{rounded(chance)}{THIN}%"


def points(over: float, under: float) -> int:
    """Return how far apart two chances are, in points between the rounded percentages.

    >>> points(0.624, 0.305)
    31
    """
    return abs(rounded(over) - rounded(under))


def count(amount: int, noun: str) -> str:
    """Write a number with its noun.

    >>> count(1, "pair"), count(1200, "pair"), count(2, "person")
    ('1 pair', '1,200 pairs', '2 people')
    """
    words = {
        "day": ngettext("%(num)s day", "%(num)s days", amount),
        "hour": ngettext("%(num)s hour", "%(num)s hours", amount),
        "known label": ngettext("%(num)s known label", "%(num)s known labels", amount),
        "minute": ngettext("%(num)s minute", "%(num)s minutes", amount),
        "objection": ngettext("%(num)s objection", "%(num)s objections", amount),
        "pair": ngettext("%(num)s pair", "%(num)s pairs", amount),
        "person": ngettext("%(num)s person", "%(num)s people", amount),
        "point": ngettext("%(num)s point", "%(num)s points", amount),
        "round": ngettext("%(num)s round", "%(num)s rounds", amount),
    }
    return words[noun] % {"num": number(amount)}


def span(seconds: float) -> str:
    """Write a duration in its largest unit.

    >>> span(59), span(3600), span(200_000)
    ('less than a minute', '1 hour', '2 days')
    """
    for size, unit in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        if seconds >= size:
            return count(int(seconds // size), unit)
    return _("less than a minute")


def closes(now: str, due: str) -> str:
    """Say when a panel closes; due dates are counted from now.

    >>> closes("2026-11-15T06:00:00Z", "2026-11-15T09:30:00Z")
    'Closes in 3 hours'
    >>> closes("2026-11-15T06:00:00Z", "2026-11-15T05:00:00Z")
    'Closes now'
    """
    seconds = seconds_between(now, due)
    if seconds <= 0:
        return _("Closes now")
    unit = next((size for size in (86_400, 3600) if seconds >= size), 60)
    amount = max(1, int(seconds // unit))
    texts = {
        60: ngettext("Closes in %(num)s minute", "Closes in %(num)s minutes", amount),
        3600: ngettext("Closes in %(num)s hour", "Closes in %(num)s hours", amount),
        86_400: ngettext("Closes in %(num)s day", "Closes in %(num)s days", amount),
    }
    return texts[unit] % {"num": number(amount)}


def deadline(due: str | None) -> str:
    """Say until when a response counts, in words that stay true while a page is open.

    >>> deadline("2026-11-15T06:00:00Z"), deadline(None)
    ('Closes 15 November 2026, 06:00 UTC.', 'No deadline.')
    """
    return _("No deadline.") if due is None else _("Closes %(moment)s.", moment=moment(due))


def person_name(alias: str) -> str:
    return _("Person %(number)s", number=alias.removeprefix("p"))


def by_id(people: Sequence[responses.ReviewPerson]) -> dict[str, responses.ReviewPerson]:
    return {p.id: p for p in people}


def share(value: float | None) -> str:
    return "–" if value is None else number(value, 3)


SEATS = {
    "unasked": N_("not asked yet"),
    "asked": N_("asked, no response yet"),
    "finished": N_("has responded"),
    "absent": N_("did not respond in time"),
}


def seat_words(seat: str) -> str:
    return _(SEATS[seat])


def interval(unseen: Unseen) -> str:
    """Write between which numbers unseen reports are, and how certain that is.

    >>> interval(Unseen(12.0, 3, 40, 0.95))[:60]
    'reports that nobody was asked about; between 3 and 40 with 9'
    >>> interval(Unseen(0.0, 0, 0, 0.95))
    'the panel was asked about all that could be reported'
    """
    if not unseen.high:
        return _("the panel was asked about all that could be reported")
    return _(
        "reports that nobody was asked about; between %(low)s and %(high)s with %(chance)s "
        "probability, whenever you look",
        low=number(unseen.low), high=number(unseen.high), chance=percent(unseen.confidence),
    )  # fmt: skip


def pair_key(pair: responses.PairResponse) -> str:
    return f"{pair.over}.{pair.under}"


def person_data(person: responses.ReviewPerson) -> dict[str, Any]:
    return {
        "name": person_name(person.id),
        "percent": percent(person.chance),
        "rounded": rounded(person.chance),
        "facts": [value_words(fact.value) for fact in person.features],
        "erased": person.erased,
    }


def apart(over: float, under: float) -> str:
    """Write how far apart two chances are.

    >>> apart(0.621, 0.619)
    'less than 1 percentage point apart'
    """
    gap = points(over, under)
    if not gap:
        return _("less than 1 percentage point apart")
    text = ngettext("%(num)s percentage point apart", "%(num)s percentage points apart", gap)
    return text % {"num": gap}


def agreed_words(review: responses.ReviewResponse) -> str:
    """Say on how many pairs of a closed round a member and the panel agreed."""
    if review.outcome not in ("report", "quiet") or review.status != "closed" or not review.pairs:
        return ""
    reported = {pair_key(pair) for pair in review.reported}
    same = sum(pair.flagged == (pair_key(pair) in reported) for pair in review.pairs)
    text = ngettext(
        "You and the panel agreed on %(same)s of %(num)s pair.",
        "You and the panel agreed on %(same)s of %(num)s pairs.",
        len(review.pairs),
    )
    return text % {"same": number(same), "num": number(len(review.pairs))}


def agreement_words(agreement: MemberAgreement) -> str:
    """Say how often a member and the others responded the same.

    >>> agreement_words(MemberAgreement(40, 31)).replace(THIN, " ")
    'Other members responded 40 times to pairs that you responded to: 31 times the same (78 %).'
    """
    text = ngettext(
        "Another member responded once to a pair that you responded to: the same %(same)s times "
        "(%(share)s).",
        "Other members responded %(num)s times to pairs that you responded to: %(same)s times the "
        "same (%(share)s).",
        agreement.compared,
    )
    values = {"num": number(agreement.compared), "same": number(agreement.same)}
    return text % {**values, "share": percent(agreement.share or 0.0)}


POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


@dataclass(frozen=True)
class PageContext:
    """The context of a page: the prefix of its addresses (``base``), and the token of its forms.

    ``title`` is that of the docket, ``who`` the name of the reader (empty when nobody is signed
    in) and ``seat`` the id of their token, ``receipt`` the head of the ledger; ``may`` are the
    kinds of records that the reader may add, ``address`` is where the page is.
    """

    base: str
    csrf: str = ""
    title: str = "Likewise"
    who: str = ""
    receipt: str = ""
    seat: str = ""
    language: str = "en"
    address: str = ""
    may: frozenset[str] = frozenset()
    now: str = field(default_factory=now)


@cache
def environment() -> Environment:
    jinja = Environment(
        loader=PackageLoader("likewise_service.web"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.i18n"],
    )  # fmt: skip
    jinja.policies["ext.i18n.trimmed"] = True
    jinja.install_gettext_callables(  # type: ignore[attr-defined] # the extension adds it
        language.gettext, language.ngettext, newstyle=True
    )
    filters = (
        agreed_words, agreement_words, asdict, by_id, interval, metrics.evenly_spread,
        language.rule_words, moment, number, pair_key, percent, person_name, rounded, seat_words,
        share, span, value_words,
    )  # fmt: skip
    jinja.filters.update({f.__name__: f for f in filters})
    functions = (apart, closes, count, language.script_words, points)
    jinja.globals.update({f.__name__: f for f in functions})
    jinja.globals.update(static="/static", languages=language.LANGUAGES)
    return jinja


def render(template: str, page: PageContext, **values: Any) -> str:
    with language.speaking(page.language):
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
