"""Every page as HTML: its shape, what hostile people can do to it (nothing), order and forms."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import TYPE_CHECKING

import pytest

from likewise.service.web import member_pages as console
from likewise.service.web import operator_pages as dashboard
from likewise.service.web.dashboard_tiles import tiles

if TYPE_CHECKING:
    from tests.service.web.conftest import Samples

Tag = tuple[str, dict[str, str | None]]
PAGES = (
    "sign-in",
    "sign-in-refused",
    "awaiting",
    "awaiting-none",
    "review",
    "review-flagged",
    "review-done",
    "review-closed",
    "review-no-pair",
    "history",
    "history-none",
    "problem",
    "dashboard",
    "dashboard-none",
)


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
        assert not [a for a in attrs if a.startswith(("on", "hx-on")) or a == "style"]
        if tag == "script":
            assert (attrs.get("src") or "").startswith("/static/")
        if (
            tag in {"input", "textarea", "select"}
            and attrs.get("type") != "hidden"
            and "hidden" not in attrs
        ):
            assert attrs["id"] in labelled
        for place in ("href", "src", "action"):
            assert re.match(r"[/#]($|[^/])", attrs.get(place) or "/"), attrs
    if kind == "ordinary":
        assert not re.search(r"https?:|//cdn|javascript:", page)


@pytest.mark.parametrize("name", PAGES)
def test_every_form_posts_and_carries_the_token(name: str, samples: Samples) -> None:
    page = samples.pages()[name]
    forms = re.findall(r"<form\b(.*?)>(.*?)</form>", page, re.DOTALL)
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
    text = Seen(console.render_review(hostile.flagged())).text
    assert [word for word in hostile_words if word not in text] == []


def test_pairs_are_shown_in_the_given_order(samples: Samples) -> None:
    model = samples.review()
    backwards = replace(model, pairs=model.pairs[::-1])
    for review in (model, backwards):
        rail = console.render_review(review).split('<nav class="rail"')[1].split("</nav>")[0]
        names = re.findall(r"<bdi>(.*?)</bdi>", rail)
        people = review.people
        expected = [people[p].name for pair in review.pairs for p in (pair.over, pair.under)]
        assert names == expected


def test_the_pair_in_focus(samples: Samples) -> None:
    text = Seen(console.render_review(samples.flagged(7))).text
    assert "Pair 7 of 7, 1 flagged" in text
    assert "31 percentage points apart" in text
    assert re.search(r"62\s% chance of approval", text)
    assert "under 1\u202f%" in text  # 0.4 % is not "never"


@pytest.mark.parametrize(("place", "shown"), [(-3, 1), (0, 1), (4, 4), (99, 7)])
def test_a_place_out_of_range_means_the_nearest(place: int, shown: int, samples: Samples) -> None:
    assert f"Pair {shown} of 7" in console.render_review(samples.review(place=place))


def test_differences_are_said_in_words(samples: Samples) -> None:
    page = console.render_review(samples.review(place=7))
    rows = re.findall(r'<tr class="(differs|same)">(.*?)</tr>', page, re.DOTALL)
    assert [mark for mark, _ in rows] == ["same", "differs", "same", "differs", "differs"]
    assert all(mark in Seen(row).text for mark, row in rows)


def test_what_can_be_done_follows_the_state(samples: Samples) -> None:
    def ends(review: console.Review) -> list[str]:
        page = console.render_review(review)
        return re.findall(r'action="/console/rounds/r-5f2a/(\w+)"', page)

    assert ends(samples.review()) == ["flag", "done"]
    assert ends(samples.flagged()) == ["flag", "unflag", "done"]
    assert ends(replace(samples.flagged(), state="done")) == ["reopen"]
    assert ends(replace(samples.flagged(), state="closed")) == []
    assert "Nothing to report</button>" in console.render_review(samples.review())
    assert "hand in 1 objection</button>" in console.render_review(samples.flagged())


def test_a_key_cannot_leave_its_place_in_a_path(samples: Samples) -> None:
    page = console.render_review(samples.review(key='a"/../x?y#z'))
    assert "/console/rounds/a%22/../x%3Fy%23z" in page


def test_the_dashboard_and_its_data_say_the_same(samples: Samples) -> None:
    model = samples.dashboard()
    data = json.loads(json.dumps(dashboard.live(model), allow_nan=False))
    text = Seen(dashboard.render_dashboard(model)).text
    assert [tile.key for tile in tiles(model.standing)] == list(data["tiles"])
    for tile in data["tiles"].values():
        assert tile["value"] in text
        assert tile["note"] in text
    assert {len(column) for column in data["series"].values()} == {240}
    assert data["head"]["receipt"] in text


def test_unknown_names_in_templates_are_errors() -> None:
    from jinja2 import UndefinedError

    from likewise.service.web.rendering import render

    with pytest.raises(UndefinedError):
        render("console/awaiting.html", page=None)
