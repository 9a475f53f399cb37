"""The pages in three languages: every text is in every catalogue, and every page is in one."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from babel.messages.pofile import read_po

import likewise_service
from likewise_service import language
from likewise_service.errors import ServiceError
from likewise_service.web.dependencies import BY_CODE, FOR_PEOPLE, told
from studies.scripts.catalogues import messages, updated, written
from tests.service.live import Live
from tests.service.web.test_server import browse, field

if TYPE_CHECKING:
    from tests.service.web.conftest import Samples

OTHERS = ("de", "fr")
# Templates whose texts are English alone, so far.
ENGLISH: set[str] = set()
# Codes of errors that no page can come upon: programs and commands alone do.
PROGRAMS = {
    "appealed", "bad-days", "bad-notice", "bad-time", "empty-appeal", "erased", "no-record",
    "no-tile", "not-adverse", "wrong-reasons",
    "bad-address", "bad-docket", "bad-guidelines", "bad-practice", "docket-exists", "no-reviewer",
    "has-learner", "key-forgotten", "no-score", "not-confirmed", "not-repeatable",
    "not-audited", "other-features", "other-gap", "overridden", "round-exists", "round-sealed",
    "rounds-open", "score-given", "seed-revealed",
}  # fmt: skip
PLACE = re.compile(r"%\((\w+)\)s|<[^>]*>|%%")


@pytest.mark.parametrize("name", OTHERS)
def test_every_text_is_in_the_catalogue_with_the_same_places(name: str) -> None:
    path = language.CATALOGUES / f"{name}.po"
    with path.open("rb") as file:
        catalogue = {message.id: message for message in read_po(file, locale=name) if message.id}
    assert catalogue.keys() == messages().keys()
    for text, message in catalogue.items():
        assert not message.fuzzy, text
        one = [text] if isinstance(text, str) else list(text)
        several = (
            [message.string] if isinstance(message.string, str) else list(message.string or ())
        )
        assert len(one) == len(several), text
        for source, translated in zip(one, several, strict=True):
            assert translated.strip(), f"{source!r} has no translation"
            assert translated[-1:] in ".…" if source.endswith(".") else True, source
            markup = [sorted(places(words)) for words in (source, translated)]
            assert markup[0] == markup[1], source
            assert '"' not in re.sub(r"<[^>]*>", "", translated), "it would end an attribute"
    assert path.read_text(encoding="utf-8") == written(updated(name)), (
        "run python -m studies.scripts.catalogues"
    )


def places(text: str) -> Iterator[str]:
    """Where values and markup go; of a key's name the word may differ."""
    for match in PLACE.finditer(text):
        yield match[1] or match[0]


# What of a template is not shown as it is.
CODE = re.compile(
    r"{%\s*trans.*?endtrans\s*%}|{% block width %}.*?{% endblock %}|{{.*?}}|{%.*?%}|{#.*?#}", re.S
)


class Bare(HTMLParser):
    """The words of a template that are in no catalogue."""

    def __init__(self, template: str) -> None:
        super().__init__()
        self.words: list[str] = []
        self.feed(CODE.sub("", template))

    def handle_data(self, data: str) -> None:
        self.words += re.findall(r"[A-Za-z]{2,}", data)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        read = ("aria-label", "title", "alt", "placeholder", "content")
        self.words += [v for k, v in attrs if k in read and v and tag != "meta"]


# Names and keys that are the same in every language.
SAME = {"Likewise", "Ctrl", "Enter"}


def test_no_template_has_words_of_its_own() -> None:
    for path in sorted((language.FOLDER / "web" / "templates").rglob("*.html")):
        if path.name not in ENGLISH:
            words = [w for w in Bare(path.read_text(encoding="utf-8")).words if w not in SAME]
            assert not words, path.name


def test_no_text_is_where_it_would_not_be_found() -> None:
    for path in language.FOLDER.rglob("*.py"):
        assert not re.search(r"{N?_\(", path.read_text(encoding="utf-8")), "in an f-string"
    scripts = "".join(
        path.read_text() for path in (language.FOLDER / "web" / "static").glob("*.js")
    )
    called = set(re.findall(r"""\b(?:_|ngettext)\("((?:[^"\\]|\\.)+)\"""", scripts))
    extracted = {text if isinstance(text, str) else text[0] for text in messages(".js")}
    assert called == extracted


def test_every_error_that_a_page_can_show_has_words() -> None:
    """By its code, or by its own sentence, which is then marked for the catalogue."""
    for path in Path(likewise_service.__file__).parent.rglob("*.py"):
        nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
        for node in nodes:
            if isinstance(node, ast.Call) and called(node) in ("ServiceError", "Problem"):
                code, *_, sentence = node.args
                if isinstance(code, ast.Constant) and code.value not in PROGRAMS | BY_CODE.keys():
                    assert is_marked(sentence, nodes), (path.name, code.value)


def called(node: ast.Call) -> str:
    return getattr(node.func, "id", getattr(node.func, "attr", ""))


def is_marked(sentence: ast.expr, nodes: list[ast.AST]) -> bool:
    """Tell if a text, or what a name was last assigned before, is within ``N_``."""
    if isinstance(sentence, ast.Name):
        values = {
            node.lineno: node.value for node in nodes
            if isinstance(node, ast.Assign) and node.lineno < sentence.lineno
            and [getattr(target, "id", "") for target in node.targets] == [sentence.id]
        }  # fmt: skip
        sentence = values[max(values)]
    return isinstance(sentence, ast.Call) and called(sentence) == "N_"


@pytest.mark.parametrize("name", OTHERS)
def test_every_page_is_in_its_language(name: str, samples: Samples) -> None:
    """No text of the catalogue that has a translation is left in English."""
    spoken = replace(samples, page=replace(samples.page, language=name))
    with language.speaking(name):
        translated = {
            text for text in messages(".html")
            if isinstance(text, str) and len(text) > 12 and "%" not in text
            and language.gettext(text) != text
        }  # fmt: skip
    for page, html in spoken.pages().items():
        if page == "problem":  # its words are those of the sample
            continue
        assert f'<html lang="{name}">' in html, page
        body = re.sub(r"<script.*?</script>", "", html, flags=re.S)
        assert not [text for text in translated if f">{text}<" in body], page


def test_numbers_dates_and_values_follow_the_language() -> None:
    expected = {
        "en": ("1,234.5", "5 November 2026, 06:00 UTC", "3,200 €", "no"),
        "de": ("1.234,5", "5. November 2026, 06:00 UTC", "3.200 €", "nein"),
        "fr": ("1\u202f234,5", "5 novembre 2026, 06:00 UTC", "3\u202f200 €", "non"),
    }
    for name, words in expected.items():
        with language.speaking(name):
            assert words == (
                language.number(1234.5, 1), language.moment("2026-11-05T06:00:00Z"),
                language.value_words("3,200 €"), language.value_words("no"),
            )  # fmt: skip


def test_a_member_chooses_a_language_and_keeps_it(shared: Live) -> None:
    with browse(shared) as browser:
        german = browser.get("/console/sign-in", headers={"Accept-Language": "de-AT,de;q=0.9"})
        assert "Anmelden" in german.text
        assert 'lang="de"' in german.text
    with browse(shared, "auditor") as browser:
        page = browser.get("/console/rounds").text
        form = {"csrf": field(page), "language": "fr", "back": "/console/rounds"}
        assert browser.post("/language", data={**form, "csrf": "guessed"}).status_code == 403
        chosen = browser.post("/language", data=form)
        assert (chosen.status_code, chosen.headers["location"]) == (303, "/console/rounds")
        assert "Tours ouverts" in browser.get("/console/rounds").text
        lost = browser.get(f"/console/rounds/{'0' * 32}")
        assert "Vous n’avez pas cet examen" in lost.text
        told = browser.get("/console/history?after=0", headers={"Accept": "application/json"})
        assert told.json()["error"]["message"].startswith("Cette page a été demandée")
        for back in ("//evil.example", "https://evil.example", "/console/\\evil", ""):
            response = browser.post("/language", data={**form, "back": back})
            assert response.headers["location"] == "/"
        assert browser.post("/language", data={**form, "language": "xx"}).status_code == 422
    with browse(shared, "auditor") as another:
        assert "Tours ouverts" in another.get("/console/rounds").text
        another.post("/language", data={"csrf": field(page_of(another)), "language": "en"})
    api = shared.http.get("/v1/dockets", headers={"Accept-Language": "fr"})
    assert api.json()["error"]["message"].startswith("This needs a token")


def page_of(browser: object) -> str:
    return str(browser.get("/console/rounds").text)  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", OTHERS)
def test_a_sentence_that_is_in_the_catalogue_goes_before_that_of_its_code(name: str) -> None:
    """It says more: that signing needs JavaScript, and not that something is to be signed."""
    sentence = "You sign what you say, and that needs JavaScript. Switch it on."
    said = told(ServiceError("signature-needed", 409, sentence), name)
    with language.speaking(name):
        assert said == language.gettext(sentence) != sentence
        others = told(ServiceError("signature-needed", 409, "In no catalogue."), name)
        assert others == language.gettext(BY_CODE["signature-needed"])


def test_no_page_sends_people_to_the_api() -> None:
    """A sentence that names an address of the API has other words on pages."""
    for path in language.FOLDER.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "ServiceError":
                texts = [n.value for n in ast.walk(node) if isinstance(n, ast.Constant)]
                if any("/v1/" in str(text) for text in texts):
                    assert texts[0] in FOR_PEOPLE, texts
