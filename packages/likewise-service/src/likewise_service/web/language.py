"""The languages of the pages: their catalogues, whose turn it is to choose, numbers and dates.

Texts are English where they are written, and looked up in the catalogue of the language in use.
"""

from __future__ import annotations

import gettext as gnu
import io
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa
from babel.dates import format_date
from babel.messages.extract import extract_from_dir
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from babel.numbers import format_decimal

from likewise_service.errors import parse
from likewise_service.ledger import database as db
from likewise_service.ledger.store import Store

# By code, each in its own words; the first is that of the texts.
LANGUAGES = {"en": "English", "de": "Deutsch", "fr": "Français"}
COOKIE = "likewise_language"
FOLDER = Path(__file__).parent
CATALOGUES = FOLDER / "catalogues"
THIN = "\u202f"  # a narrow space that does not break: the number stays with its sign
_LOCALES = {"en": "en_GB", "de": "de", "fr": "fr"}
_CURRENT: ContextVar[str] = ContextVar("likewise_language", default="en")

T = TypeVar("T")
W = TypeVar("W")


def current() -> str:
    return _CURRENT.get()


@contextmanager
def speaking(language: str) -> Iterator[None]:
    """Use a language within the block."""
    before = _CURRENT.set(language)
    try:
        yield
    finally:
        _CURRENT.reset(before)


def spoken(language: str, task: Callable[[W], T]) -> Callable[[W], T]:
    """Return the same task, done in a language, in whatever thread it is called."""

    def act(worker: W) -> T:
        with speaking(language):
            return task(worker)

    return act


@cache
def catalogue(language: str) -> gnu.NullTranslations:
    """Return the catalogue of a language, compiled when it is first used."""
    if language == "en":
        return gnu.NullTranslations()
    compiled = io.BytesIO()
    with (CATALOGUES / f"{language}.po").open("rb") as file:
        write_mo(compiled, read_po(file, locale=language))
    compiled.seek(0)
    return gnu.GNUTranslations(compiled)


def gettext(text: str) -> str:
    return catalogue(current()).gettext(text)


def ngettext(one: str, several: str, number: int) -> str:
    return catalogue(current()).ngettext(one, several, number)


def _(text: str, **values: object) -> str:
    """Return a text in the language in use, with values in their places.

    >>> _("%(member)s objects", member="ann")
    'ann objects'
    """
    return gettext(text) % values if values else gettext(text)


def N_(text: str) -> str:  # noqa: N802 - its usual name
    """Mark a text that is looked up elsewhere."""
    return text


def number(value: float, digits: int = 0) -> str:
    """Write a number.

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
    '2 Unterschied, unter 1 % der Spanne'
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
    """Keep the language that the owner of a token has chosen."""
    row = {"key": f"language:{owner}"}
    with store.changing() as connection:
        connection.execute(db.meta.delete().where(db.meta.c.key == row["key"]))
        connection.execute(db.meta.insert().values(**row, value=language))


def kept(store: Store, owner: str) -> str | None:
    """Return the language that the owner of a token has chosen, if they have."""
    query = sa.select(db.meta.c.value).where(db.meta.c.key == f"language:{owner}")
    with store.reading() as connection:
        language = connection.execute(query).scalar()
    return language if language in LANGUAGES else None


METHODS = {
    "templates/**.html": "jinja2", "static/vendor/**": "ignore", "static/**.js": "javascript",
    "**.py": "python",
}  # fmt: skip
OPTIONS = {
    "templates/**.html": {"trimmed": "true", "newstyle_gettext": "true"},
    "static/**.js": {"parse_template_string": "true"},
}
KEYWORDS: dict[str, Any] = {"_": None, "gettext": None, "N_": None, "ngettext": (1, 2)}
Message = str | tuple[str, ...]


@cache
def messages(kind: str = "") -> dict[Message, list[str]]:
    """Return every text of the pages, or of files of one kind, with the files that have it."""
    found: dict[Message, list[str]] = {}
    extracted = extract_from_dir(FOLDER, list(METHODS.items()), OPTIONS, KEYWORDS)
    for file, _line, message, _comments, _context in extracted:
        if file.endswith(kind):
            found.setdefault(message, []).append(file)
    return found


@cache
def _script_words(language: str) -> dict[str, str | list[str]]:
    listed: dict[str, str | list[str]] = {}
    with speaking(language):
        for text in messages(".js"):
            if isinstance(text, str):
                listed[text] = gettext(text)
            else:
                one, several = text[0], text[1]
                listed[one] = [ngettext(one, several, number) for number in (1, 2)]
    return listed


def script_words() -> dict[str, str | list[str]]:
    """Return the texts of the scripts in the language in use; English ones they have."""
    return {} if current() == "en" else _script_words(current())
