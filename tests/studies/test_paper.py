"""The paper: its tables, figures and numbers are those of the stored rows; references are whole."""

from __future__ import annotations

import re

import pytest

from studies import paper

PAGE = paper.PAGE.read_text(encoding="utf-8")
SHORT = paper.SHORT.read_text(encoding="utf-8")


def flat(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("mark", paper.TABLES)
def test_a_table_is_made_of_the_rows(mark: str) -> None:
    between = PAGE.split(f"<!-- {mark}: begin -->")[1].split(f"<!-- {mark}: end -->")[0]
    assert between.strip() == paper.TABLES[mark]()


@pytest.mark.parametrize("name", paper.PICTURES)
def test_a_figure_is_drawn_from_the_rows(name: str) -> None:
    assert paper.drawn(name) == (paper.FIGURES / f"{name}.svg").read_bytes()
    assert f"../figures/{name}.svg" in PAGE


def test_every_number_of_the_experiments_is_one_of_the_rows() -> None:
    """Take the tables, the rows' numbers and the settings out: no digit is left."""
    experiments = PAGE.split("## Experiments")[1].split("## Limits")[0]
    text = flat(
        re.sub(r"<!-- (.*?): begin -->.*?<!-- \1: end -->", "", experiments, flags=re.DOTALL)
    )
    for name, words in paper.numbers().items():
        assert words in text, name
        text = text.replace(words, "")
    for setting in (
        "T = 4,000, alpha = eps = .3",
        "Vaze (2025)",
        "(2026)",
        *re.findall(r"Figure \d", text),
    ):
        text = text.replace(setting, "")
    text = re.sub(r"figures/[\w-]+\.svg", "", text)
    assert re.findall(r"\S*\d\S*", text) == []


def test_the_short_paper_has_the_same_numbers() -> None:
    words = paper.numbers()
    rules = ("reports of gradient ascent at the end", "of the geometric rule")
    for name in (*rules, "of the rule as proved"):
        assert words[name] in flat(SHORT)


def test_every_reference_is_in_the_bibliography_and_is_cited() -> None:
    entries = re.findall(
        r"^@\w+\{(\w+),", paper.SHORT.with_suffix(".bib").read_text(), flags=re.MULTILINE
    )
    assert len(entries) == len(set(entries))
    assert set(re.findall(r"@([a-z]+\d*)", SHORT.split("---")[2])) == set(entries)
    for author, year in re.findall(r"- (\w+), .*?\((\d{4})\)", PAGE.split("## References")[1]):
        body = PAGE.split("## References")[0]
        assert re.search(rf"{author}.{{0,40}}{year}", flat(body)), (author, year)


def test_what_the_text_says_of_winners_is_in_the_rows() -> None:
    """The learnt metric beats our default in six worlds, in none on trees; and where ours leads."""

    def beats(name: str, world: str, ours: str, theirs: str) -> bool:
        a, b = (paper.chosen(name, world, who) for who in (theirs, ours))
        return all(
            paper.mean(a, c) < paper.mean(b, c) for c in ("error_rate", "violations", "reports")
        )

    every = [w for w in paper.WORLDS if beats("rivals", w, paper.OURS, paper.METRIC)]
    assert len(every) == 6
    assert not [w for w in paper.WORLDS for n in (paper.FLAT, paper.PRIOR)
                if beats("rivals", w, paper.OURS, n)]  # fmt: skip
    left = [w for w in paper.WORLDS if beats("rivals-informed", w, "exact", paper.METRIC)]
    assert left == []
    lead = {
        w for w in paper.WORLDS
        if all(
            paper.mean(paper.chosen("rivals-informed", w, "exact"), c)
            < paper.mean(paper.chosen("rivals-informed", w, paper.METRIC), c)
            for c in ("error_rate", "violations")
        )
    }  # fmt: skip
    assert lead == {"loans", "loans, lenient", "loans, alpha .1", "drift"}
