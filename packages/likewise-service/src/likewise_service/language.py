"""The languages that people read: catalogues, the choice among them, numbers and dates.

Texts are written in English, and looked up in the catalogue of the language in use.
"""

from __future__ import annotations

import gettext as gnu
import io
import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from babel.dates import format_date
from babel.lists import format_list
from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from babel.numbers import format_decimal

from likewise.panel import rule_language, rules
from likewise_service.clock import parse
from likewise_service.ledger import database as db
from likewise_service.ledger.store import Store
from likewise_service.scope import Scoped

# By code, each in its own words; the first is the language of the texts.
LANGUAGES = {"en": "English", "de": "Deutsch", "fr": "Français"}
COOKIE = "likewise_language"
FOLDER = Path(__file__).parent
CATALOGUES = FOLDER / "catalogues"
THIN = "\u202f"  # a narrow space that does not break: the number stays with its sign
_LOCALES = {"en": "en_GB", "de": "de", "fr": "fr"}
_LANGUAGE = Scoped("likewise_language", "en")
current, speaking, spoken = _LANGUAGE.get, _LANGUAGE.within, _LANGUAGE.during


@cache
def _texts(language: str) -> Catalog:
    """Return all texts with their translations, and the files that they are in."""
    with (CATALOGUES / f"{language}.po").open("rb") as file:
        return read_po(file, locale=language)


@cache
def catalogue(language: str) -> gnu.NullTranslations:
    """Return the catalogue of a language, compiled when it is first used."""
    if language == "en":
        return gnu.NullTranslations()
    compiled = io.BytesIO()
    write_mo(compiled, _texts(language))
    compiled.seek(0)
    return gnu.GNUTranslations(compiled)


def gettext(text: str) -> str:
    return catalogue(current()).gettext(text)


def ngettext(singular: str, plural: str, number: int) -> str:
    return catalogue(current()).ngettext(singular, plural, number)


def _(text: str, **values: object) -> str:
    """Return a text in the language in use, with values in their places."""
    return gettext(text) % values if values else gettext(text)


def N_(text: str) -> str:  # noqa: N802 - its usual name
    """Mark a text for the catalogues that is looked up elsewhere."""
    return text


def number(value: float, digits: int = 0) -> str:
    """Write a number as the language in use does.

    >>> number(1200), number(0.5, 3)
    ('1,200', '0.500')
    >>> with speaking("de"):
    ...     number(1234.5, 1)
    '1.234,5'
    """
    pattern = "#,##0" + ("." + "0" * digits if digits else "")
    return format_decimal(value, pattern, locale=_LOCALES[current()])


def moment(iso: str) -> str:
    """Write a time in UTC; a script turns it into the reader's own time.

    >>> moment("2026-11-05T06:00:00Z")
    '5 November 2026, 06:00 UTC'
    """
    time = parse(iso)
    return f"{format_date(time, 'long', _LOCALES[current()])}, {time:%H:%M} UTC"


_AMOUNT = re.compile(r"(-?[0-9]{1,3}(?:,[0-9]{3})*|-?[0-9]+)(\.[0-9]+)?( .*)?")
_APART = re.compile(r"(?P<amount>.*) apart(?:, (?P<under>under )?(?P<share>[0-9]+)\u202f% of .*)?")


def value_words(text: str) -> str:
    """Return a feature's value, as the API has it, in the language in use.

    >>> with speaking("de"):
    ...     value_words("3,200.5 €"), value_words("yes"), value_words("car")
    ('3.200,5 €', 'ja', 'car')
    """
    amount = _AMOUNT.fullmatch(text)
    if current() == "en" or (amount is None and text not in ("yes", "no", "missing")):
        return text
    if amount is None:
        return {"yes": _("yes"), "no": _("no"), "missing": _("missing")}[text]
    whole, fraction, unit = amount.groups(default="")
    digits = len(fraction) - 1 if fraction else 0
    return number(float(whole.replace(",", "") + fraction), digits) + unit


def difference_words(text: str) -> str:
    """Return how far two values differ, as the API has it, in the language in use.

    >>> with speaking("de"):
    ...     difference_words("2 apart, under 1\\u202f% of the range").replace(THIN, " ")
    '2 auseinander, unter 1 % der Spanne'
    """
    apart = _APART.fullmatch(text)
    if apart is None:
        return _("differs") if text == "differs" else text
    amount = _("%(amount)s apart", amount=value_words(apart["amount"]))
    if apart["share"] is None:
        return amount
    percent = f"{apart['share']}{THIN}%"
    if apart["under"]:
        return f"{amount}, " + _("under %(percent)s of the range", percent=percent)
    return f"{amount}, " + _("%(percent)s of the range", percent=percent)


def chosen(cookies: Mapping[str, str], accepted: str) -> str:
    """Return the language that a browser asks for: by its cookie, or by Accept-Language.

    >>> chosen({}, "fr-CH, fr;q=0.9, en;q=0.8"), chosen({}, "da"), chosen({COOKIE: "de"}, "fr")
    ('fr', 'en', 'de')
    >>> chosen({}, "en;q=0.2, de-AT;q=0.7, *;q=0.1")
    'de'
    """
    if cookies.get(COOKIE) in LANGUAGES:
        return cookies[COOKIE]
    ranked: list[tuple[float, int, str]] = []
    for part in accepted.split(",")[:20]:
        name, _, weight = part.partition(";q=")
        code = name.strip().lower().partition("-")[0]
        share = float(weight) if re.fullmatch(r"\s*[01](\.[0-9]{0,3})?\s*", weight) else 1.0
        if code in LANGUAGES and share:
            ranked.append((-share, len(ranked), code))
    return min(ranked, default=(0.0, 0, "en"))[2]


def keep(store: Store, owner: str, language: str) -> None:
    row = {"key": f"language:{owner}"}
    with store.changing() as connection:
        connection.execute(db.meta.delete().where(db.meta.c.key == row["key"]))
        connection.execute(db.meta.insert().values(**row, value=language))


def kept(store: Store, owner: str) -> str | None:
    query = sa.select(db.meta.c.value).where(db.meta.c.key == f"language:{owner}")
    with store.reading() as connection:
        language = connection.execute(query).scalar()
    return language if language in LANGUAGES else None


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
        case rules.Or(parts=parts):
            return _joined(_("or"), parts)
        case rules.And(parts=parts):
            return _joined(_("and"), parts)
        case rules.Objects(member=member):
            return _("%(member)s objects", member=member)
        case rules.AtLeast(votes=votes, of=names):
            return _votes_words(votes, list(names or ()))
        case rules.Weighted(weights=weights, threshold=threshold):
            listed = ", ".join(f"{name} {weight}" for name, weight in weights)
            return _(
                "those who object have together a weight of %(threshold)s (%(listed)s)",
                threshold=threshold, listed=listed,
            )  # fmt: skip
        case rules.Never():
            return _("never")
        case other:
            return str(other)


def _joined(word: str, parts: Sequence[rules.Rule]) -> str:
    """Join the words of a rule's parts, with brackets around parts that have parts themselves."""
    listed = [rule_words(part) for part in parts]
    nested = [isinstance(part, rules.Or | rules.And) for part in parts]
    return f", {word} ".join(f"({w})" if n else w for w, n in zip(listed, nested, strict=True))


def _votes_words(votes: int | rules.Share, names: Sequence[str]) -> str:
    people = format_list(names, locale=_LOCALES[current()])
    if isinstance(votes, int):
        return _count_words(votes, people)
    if votes.fraction == 1:
        return _("%(people)s object", people=people) if names else _("all members object")
    part = _("half") if votes.fraction == Fraction(1, 2) else str(votes).replace("%", f"{THIN}%")
    people = people or _("the members")
    if votes.strict:
        return _("more than %(part)s of %(people)s object", part=part, people=people)
    return _("at least %(part)s of %(people)s object", part=part, people=people)


def _count_words(votes: int, people: str) -> str:
    if votes == 1 and people:
        return _("one of %(people)s objects", people=people)
    if votes == 1:
        return _("one member objects")
    if people:
        return _("at least %(votes)s of %(people)s object", votes=votes, people=people)
    return _("at least %(votes)s members object", votes=votes)


@cache
def _script_words(language: str) -> dict[str, Any]:
    """Return the scripts' texts; those that depend on a number have a form for one and another."""
    return {
        message.id if isinstance(message.id, str) else message.id[0]: message.string
        for message in _texts(language)
        if any(file.endswith(".js") for file, _line in message.locations)
    }


def script_words() -> dict[str, Any]:
    """Return the scripts' texts in the language in use, unless that is English, as theirs is."""
    return {} if current() == "en" else _script_words(current())
