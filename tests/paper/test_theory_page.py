"""The theory page says which test holds each statement, and its table is what was measured."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from studies.scripts import multipliers as toy

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/research/theory.md").read_text("utf-8")

# ── Statements ──────────────────────────────────────────────────────────────────────────────────

# A statement begins with its name in bold, in a block quote or a paragraph of its own.
QUOTED = re.compile(r"^> \*\*(?P<name>[^*]+?)\.?\*\*", re.MULTILINE)
BOLD = re.compile(
    r"^\*\*(?P<name>A(?=\.)|The grid|The prior from coarse to fine|Realised errors)\b", re.M
)
NAMED = re.compile(r"`(?P<path>tests/[\w/]+\.py)(?:::(?P<test>\w+))?`")


def statements() -> dict[str, str]:
    """The text from each statement up to the next one, or to the end of its section."""
    actual = sorted([*QUOTED.finditer(PAGE), *BOLD.finditer(PAGE)], key=lambda match: match.start())
    ends = [match.start() for match in actual[1:]] + [len(PAGE)]
    texts = {}
    for match, end in zip(actual, ends, strict=True):
        text = re.split(r"^## ", PAGE[match.start() : end], maxsplit=1, flags=re.MULTILINE)[0]
        texts[f"{match['name']}, line {PAGE[: match.start()].count(chr(10)) + 1}"] = text
    return texts


def test_every_statement_is_found() -> None:
    """As many as the page has block quotes, and the four that are paragraphs."""
    lines = PAGE.splitlines()
    starts = [b for a, b in pairwise(lines) if b.startswith("> ") and not a.startswith(">")]
    assert len(statements()) == len(starts) + 4


@pytest.mark.parametrize("name", statements())
def test_every_statement_names_the_test_that_holds_it(name: str) -> None:
    message = re.findall(r"^Tests?: (.+?)(?:\n\n|\Z)", statements()[name], flags=re.M | re.S)
    assert message, "Test: `tests/…` is missing at its end"
    assert any(NAMED.search(text) for text in message)


@pytest.mark.parametrize("named", sorted(set(NAMED.findall(PAGE))), ids="::".join)
def test_every_test_that_the_page_names_exists(named: tuple[str, str]) -> None:
    path, test = named
    assert (ROOT / path).is_file()
    if test:
        assert re.search(rf"^def {test}\(", (ROOT / path).read_text("utf-8"), re.MULTILINE)


# ── The table of Theorem E ──────────────────────────────────────────────────────────────────────


STORED: dict[str, Any] = toy.STUDY.stored()


def test_the_growth_that_is_stored_is_that_of_the_reports() -> None:
    actual = STORED
    assert list(actual["duals"]) == list(toy.DUALS)
    for row in actual["duals"].values():
        grown = toy.growth(actual["rounds"], row["reports"])
        assert grown == pytest.approx({name: row[name] for name in grown})


def assert_played_alike(name: str, horizons: list[int]) -> None:
    actual = STORED
    learner = toy.learner_with(toy.DUALS[name], max(actual["rounds"]))
    row = actual["duals"][name]
    spec = learner.multiplier.spec()
    assert spec.keys() == row["dual"].keys()
    assert all(row["dual"][key] == pytest.approx(value) for key, value in spec.items())
    places = [actual["rounds"].index(horizon) for horizon in horizons]
    assert toy.reports_at(learner, horizons) == [row["reports"][place] for place in places]


@pytest.mark.parametrize("name", toy.DUALS)
def test_where_only_constants_are_fair_the_multipliers_grow_as_the_page_says(name: str) -> None:
    """At the first horizon; the next is played by the long tests, the last by the benchmark."""
    assert_played_alike(name, [1000])


@pytest.mark.long
@pytest.mark.parametrize("name", toy.DUALS)
def test_they_grow_so_at_a_longer_horizon_too(name: str) -> None:
    assert_played_alike(name, [1000, 10_000])
