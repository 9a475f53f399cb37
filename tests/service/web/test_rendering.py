"""Every page as HTML: its shape, what hostile people can do to it (nothing), order and forms."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import TYPE_CHECKING

import pytest

from likewise_service.web.rendering import render

if TYPE_CHECKING:
    from tests.service.web.conftest import Samples

Tag = tuple[str, dict[str, str | None]]
PAGES = (
    "sign-in",
    "sign-in-refused",
    "signed-on",
    "signed-out",
    "queue",
    "queue-flagged",
    "queue-erased",
    "queue-graded",
    "queue-none",
    "practice",
    "practice-done",
    "rounds",
    "rounds-none",
    "review",
    "review-done",
    "review-closed",
    "review-erased",
    "review-no-pair",
    "signature",
    "signature-several",
    "seats",
    "guidelines",
    "history",
    "history-none",
    "problem",
    "dockets",
    "dockets-none",
    "dashboard",
    "dashboard-none",
    "rounds-listed",
    "rounds-listed-none",
    "round",
    "members",
    "members-read",
    "tokens",
    "tokens-made",
    "holds",
    "holds-none",
    "golds",
    "golds-none",
    "person",
    "person-packet",
)
KEY = "5f2a" * 8


class Seen(HTMLParser):
    """The tags of a page in order, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[Tag] = []
        self.text = ""
        self.open: list[str] = []
        self.within: list[tuple[str, ...]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.within.append(tuple(self.open))
        if tag not in {"meta", "link", "input", "rect", "path", "img", "br"}:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in {"rect", "path"}:
            assert self.open, f"</{tag}> closes nothing"
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data

    def of(self, tag: str) -> list[dict[str, str | None]]:
        return [attrs for name, attrs in self.tags if name == tag]


def test_every_page_is_listed(samples: Samples) -> None:
    assert tuple(samples.pages()) == PAGES


@pytest.mark.parametrize("kind", ["ordinary", "hostile"])
@pytest.mark.parametrize("name", PAGES)
def test_shape(name: str, kind: str, samples: Samples, hostile: Samples) -> None:
    page = (samples if kind == "ordinary" else hostile).pages()[name]
    seen = Seen(page)
    assert not seen.open, "every tag is closed"
    assert seen.of("html") == [{"lang": "en"}]
    assert len(seen.of("title")) == len(seen.of("h1")) == len(seen.of("main")) == 1
    ids = [attrs["id"] for _, attrs in seen.tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    assert not seen.of("style")
    assert not seen.of("img")
    labelled = {label["for"] for label in seen.of("label")}
    for tag, attrs in seen.tags:
        assert not [a for a in attrs if a.startswith("on") or a == "style"]
        if tag == "script" and attrs.get("type") != "application/json":
            assert (attrs.get("src") or "").startswith("/static/")
        if (
            tag in {"input", "textarea", "select"}
            and attrs.get("type") != "hidden"
            and "hidden" not in attrs
        ):
            assert attrs["id"] in labelled or attrs.get("aria-label")
        for place in ("href", "src", "action"):
            assert re.match(r"[/#]($|[^/])", attrs.get(place) or "/"), attrs
    if kind == "ordinary":
        assert not re.search(r"https?:|//cdn|javascript:", page)


@pytest.mark.parametrize("name", PAGES)
def test_every_form_that_changes_anything_posts_and_carries_the_token(
    name: str, samples: Samples
) -> None:
    page = samples.pages()[name]
    every = re.findall(r"<form\b(.*?)>(.*?)</form>", page, re.DOTALL)
    forms = [form for form in every if 'method="get"' not in form[0]]  # a search changes nothing
    assert all('method="post"' in head for head, _ in forms)
    assert all(body.count('name="csrf" value="c5rf"') == 1 for _, body in forms)
    assert page.count('name="csrf"') == len(forms)


@pytest.mark.parametrize("name", PAGES)
def test_hostile_text_is_shown_as_text(
    name: str, hostile: Samples, samples: Samples, hostile_words: tuple[str, ...]
) -> None:
    page = hostile.pages()[name]
    assert "<script>alert" not in page
    assert "<img" not in page
    # The same tags in the same order as with ordinary people: no value became markup.
    ordinary = [tag for tag, _ in Seen(samples.pages()[name]).tags]
    assert [tag for tag, _ in Seen(page).tags] == ordinary
    assert hostile_words[1] in Seen(page).text


def test_all_hostile_words_reach_the_reader(
    hostile: Samples, hostile_words: tuple[str, ...]
) -> None:
    text = Seen(hostile.whole(hostile.flagged())).text
    assert [word for word in hostile_words if word not in text] == []


def test_pairs_are_shown_in_the_given_order(samples: Samples) -> None:
    plain = samples.review()
    for pairs in (plain.pairs, plain.pairs[::-1]):
        page = samples.whole(samples.review(pairs=pairs))
        rail = page.split('<ol class="rail')[1].split("</ol>")[0]
        names = re.findall(r"<bdi>Person (.*?)</bdi>", rail)
        assert names == [name[1:] for pair in pairs for name in (pair.over, pair.under)]


def test_the_pair_in_focus(samples: Samples) -> None:
    text = Seen(samples.asked(samples.queue(samples.flagged(), first=7))).text
    assert "6 left" in text
    assert "31 percentage points apart" in text
    assert "under 1\u202f%" in Seen(samples.whole(samples.review())).text  # 0.4 % is not "never"


def test_differences_are_said_in_words(samples: Samples) -> None:
    page = samples.asked(samples.queue(samples.review(), first=7))
    rows = re.findall(r'<tr class="(differs|same)"[^>]*>(.*?)</tr>', page, re.DOTALL)
    alike = [mark == "same" for mark, _ in rows]
    assert alike == [True, False, True, False, False, False, True, False, False]
    words = {"same": "same", "differs": "9 apart"}
    assert all(words[mark] in Seen(row).text for mark, row in rows)
    pair = replace(samples.review().pairs[6], differences={"f1": "3 % apart"})
    page = samples.asked(samples.queue(samples.review(pairs=[pair])))
    assert "3 % apart" in Seen(page).text, "how far, not only that there is a difference"


def test_nothing_is_said_about_somebody_who_was_erased(samples: Samples) -> None:
    page = samples.asked(samples.queue(samples.erased()))
    rows = re.findall(r'<tr class="unknown"[^>]*>(.*?)</tr>', page, re.DOTALL)
    assert len(rows) == 9
    assert all("erased" in row for row in rows)
    assert "712" not in page


def test_what_can_be_done_follows_the_status(samples: Samples) -> None:
    def ends(page: str) -> list[str]:
        acts = re.findall(rf'action="/console/rounds/{KEY}/(\w+)"', page)
        return [act for act in acts if act != "comment"]  # which is always possible

    assert ends(samples.asked(samples.queue(samples.review()))) == ["flag", "fine", "undo"]
    assert ends(samples.whole(samples.review())) == ["finish"]
    for review in (samples.flagged(status="waiting"), *samples.past()):
        assert ends(samples.whole(review)) == []
    assert "Nothing to report</button>" in samples.whole(samples.review())
    assert "Hand in 1 objection</button>" in samples.whole(samples.flagged())
    for review in samples.past():
        assert "/console/?pair=" not in samples.whole(review), "a closed round cannot be changed"


def test_every_form_of_a_member_says_for_which_seat(samples: Samples) -> None:
    for name in ("queue", "queue-flagged", "queue-none", "review"):
        forms = re.findall(r"<form\b[^>]*>(.*?)</form>", samples.pages()[name], re.DOTALL)
        acts = [b for b in forms if "Sign out" not in b and "Deutsch" not in b]
        assert acts
        assert all('name="seat" value="5ea7"' in body for body in acts)


def test_history_says_when_a_round_closed_and_what_became_of_it(samples: Samples) -> None:
    page = samples.pages()["history"]
    assert "Closed <time" in page
    assert 'datetime="2026-11-14T18:00:00Z"' in page
    text = " ".join(Seen(page).text.split())
    assert "Pairs you flagged3 Reported by the panel1 You were decisive1" in text
    for words in ("Reported", "Not reported", "Not counted", "counted as absent"):
        assert words in text


def test_an_id_cannot_leave_its_place_in_a_path(samples: Samples) -> None:
    review = samples.review(id='a"/../x?y#z')
    for page in (samples.whole(review), samples.asked(samples.queue(review))):
        assert "/console/rounds/a%22/../x%3Fy%23z" in page


def test_the_dashboard_says_what_the_metrics_say(samples: Samples) -> None:
    text = " ".join(Seen(samples.dashboard()).text.split())
    for words in (
        "Rounds 240 decided", "Reports 48 0.200 a round", "Error 0.352 on 1,894 known labels",
        "Weight of a report 0.150", "Open rounds 3 oldest open for 1 day", "Missing labels 26",
        "Agreement 0.612", "Consistency – nothing shown twice yet", "Record 5,120, written",
    ):  # fmt: skip
        assert words in text


def test_unknown_names_in_templates_are_errors(samples: Samples) -> None:
    from jinja2 import UndefinedError

    with pytest.raises(UndefinedError):
        render("console/rounds.html", samples.page)
