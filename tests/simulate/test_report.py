"""The report keeps its promises: one file, no address, text as text, everything shown."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest

from likewise.errors import LikewiseError
from likewise.learner.bounds import bounds
from likewise.learner.certificate import certificate
from likewise.panel import Panel
from likewise.people import Feature, FeatureSchema, People
from likewise.simulate import Moment, parse_delay
from likewise.simulate.canvas import colour_of
from likewise.simulate.demo import (
    SHOWN,
    Demo,
    case_of,
    explain,
    games,
    points,
    run_demo,
)
from likewise.simulate.report import ceiling, report_html, write_report

FIGURES = 3
VOID = {"meta", "link"}


@pytest.fixture(scope="module")
def demo() -> Demo:
    return run_demo(rounds=40, seed=1)


@pytest.fixture(scope="module")
def page(demo: Demo) -> str:
    return report_html(demo)


class Reader(HTMLParser):
    """Notes ids, titles of pictures, visible text, and tags that are closed in the wrong order."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.ids: Counter[str] = Counter()
        self.tags: Counter[str] = Counter()
        self.pictures: list[dict[str, str | None]] = []
        self.text: list[str] = []
        self.wrong: list[str] = []
        self._open: list[str] = []
        self.feed(page)
        self.close()
        self.wrong += self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_startendtag(tag, attrs)
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        named = dict(attrs)
        if name := named.get("id"):
            self.ids[name] += 1
        if tag == "svg":
            self.pictures.append(named)

    def handle_endtag(self, tag: str) -> None:
        if not self._open or self._open.pop() != tag:
            self.wrong.append(tag)

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def text_of(parts: dict[str, tuple[str, ...]]) -> str:
    return " ".join(sentence for sentences in parts.values() for sentence in sentences)


def with_words(moment: Moment, feature: Feature, ids: tuple[str, ...]) -> Moment:
    """The same round, where people have other ids and the first feature is another one."""
    people = moment.encounter.people
    schema = FeatureSchema((feature, *people.schema.features[1:]))
    renamed = dict(zip(people.ids, ids, strict=True))
    return replace(
        moment,
        encounter=replace(moment.encounter, people=People(ids, people.x, schema)),
        deployment=replace(moment.deployment, ids=ids),
        report=tuple((renamed[over], renamed[under]) for over, under in moment.report),
    )


def quiet_moment(demo: Demo) -> Moment:
    return next(m for m in demo.shown[-1].transcript.moments if not m.report)


def test_the_report_names_no_address(page: str) -> None:
    assert "//" not in page
    assert not re.search(r"xmlns|@import|<script|\bsrc=", page)


def test_every_link_leads_to_an_id_in_the_page(page: str) -> None:
    targets = set(re.findall(r'href="#([^"]+)"|url\(#([^)]+)\)', page))
    assert targets
    assert {a or b for a, b in targets} <= set(Reader(page).ids)


def test_all_ids_are_unique(page: str) -> None:
    assert [name for name, count in Reader(page).ids.items() if count > 1] == []


def test_every_tag_is_closed_in_its_place(page: str) -> None:
    assert Reader(page).wrong == []


def test_every_figure_is_there_and_says_what_it_shows(page: str) -> None:
    reader = Reader(page)
    assert len(reader.pictures) == FIGURES
    assert all(p["role"] == "img" and p["aria-label"] for p in reader.pictures)
    assert reader.tags["title"] == FIGURES + 1


def test_text_in_figures_is_text(page: str) -> None:
    figures = re.findall(r"<svg .*?</svg>", page, flags=re.DOTALL)
    assert all("<text" in figure for figure in figures)


def test_every_learner_is_in_the_table(demo: Demo, page: str) -> None:
    table = page[page.index("<table>") : page.index("</table>")]
    for shown in demo.shown:
        assert f'<th scope="row">{shown.name}<' in table
        assert f"<td>{shown.summary.reports:,}</td>" in table


def cells_of(page: str, label: str) -> dict[str, list[str]]:
    """The rows of a table by their heads, as text."""
    table = page[page.index(f'aria-label="{label}"') :]
    table = table[table.index("<tbody>") : table.index("</tbody>")]
    rows = {}
    for row in table.split("<tr>")[1:]:
        head, *cells = re.split(r"</th>|</td>", row)
        rows[re.sub("<[^>]*>", "", head)] = [re.sub("<[^>]*>", " ", one).strip() for one in cells]
    return rows


def test_the_report_has_the_certificate_beside_the_bound_and_the_trivial_one(
    demo: Demo, page: str
) -> None:
    rows = cells_of(page, "Table of guarantees on regret")
    assert list(rows) == list(SHOWN)
    for shown in demo.shown:
        had, *limits, anybody = rows[shown.name][:-1]
        assert had == f"{round(shown.summary.regret or 0):,}".replace("-", "−")
        assert anybody == f"{demo.world.k * demo.game.rounds:,}"
        if shown.learner.ignores_reports:
            assert limits == ["none: it ignores the panel, and no theorem is about such a learner"]
            continue
        found = certificate(shown.transcript.state, delay=0)
        bound = min(bounds(shown.learner, demo.game.rounds), key=lambda one: one.regret)
        limited = ((found.regret, found.holds), (bound.regret, bound.holds))
        for said, (regret, holds) in zip(limits, limited, strict=True):
            number, sense = said.split(maxsplit=1)
            assert number == ceiling(regret)
            assert unescape(sense).startswith(holds)
            assert ("no news" in sense) == (regret >= demo.world.k * demo.game.rounds)
        assert found.regret < bound.regret
    assert any("no news" in cell for cells in rows.values() for cell in cells)


def test_a_learner_that_no_theorem_covers_has_a_certificate_and_no_bound(demo: Demo) -> None:
    exact = demo.shown[-1]
    late = replace(exact.transcript, delay=parse_delay("geometric:0.5"))
    page = report_html(replace(demo, shown=(*demo.shown[:-1], replace(exact, transcript=late))))
    cells = cells_of(page, "Table of guarantees on regret")[exact.name]
    assert cells[2].split(maxsplit=1) == ["–", "no theorem covers these settings"]
    assert cells[1].split()[0] == ceiling(certificate(exact.transcript.state).regret)


def test_the_picture_of_errors_shows_the_three_comparators(demo: Demo, page: str) -> None:
    fixed = demo.shown[-1].summary.comparators
    assert fixed is not None
    labels = [str(picture["aria-label"]) for picture in Reader(page).pictures]
    said = (
        f"best fixed policies: alpha {100 * fixed.at_alpha:.1f}\u00a0%, alpha − kappa "
        f"{100 * fixed.at_alpha_less_kappa:.1f}\u00a0%, alpha − eps "
        f"{100 * fixed.at_alpha_less_eps:.1f}\u00a0%"
    )
    assert sum(said in label for label in labels) == 1


def test_every_learner_has_a_colour_of_its_own() -> None:
    assert len({colour_of(name) for name in (*SHOWN, "somebody else")}) == len(SHOWN) + 1


def test_every_learner_plays_one_game(demo: Demo) -> None:
    played = [game.learner for game in games(demo.game)]
    assert sorted(played) == sorted(SHOWN)
    assert [shown.name for shown in demo.shown] == list(SHOWN)


def test_the_report_says_whom_learners_must_beat_and_that_paper_does_not_learn(page: str) -> None:
    text = " ".join("".join(Reader(page).text).split())
    assert "who learns has less error than its" in text
    assert "paper has not learnt anything by this horizon" in text


def test_the_report_says_how_many_draws_paper_made(demo: Demo, page: str) -> None:
    played = next(s.transcript for s in demo.shown if s.name == "paper")
    draws = played.state.learner.schedule.draws(played.state.learner.margins, demo.world.k, 1)
    assert demo.paper_draws == draws + 1  # the one that decides
    assert f"{demo.paper_draws:,} draws a round" in page


def test_a_report_needs_the_comparators() -> None:
    bare = run_demo(rounds=8, seed=1, compare=False)
    assert bare.comparators is None
    assert all(shown.summary.regret is None for shown in bare.shown)
    with pytest.raises(LikewiseError, match="run the demo with compare"):
        report_html(bare)


@pytest.mark.long
def test_games_side_by_side_are_the_same_games(demo: Demo, page: str) -> None:
    assert report_html(run_demo(rounds=40, seed=1, jobs=2)) == page


def test_the_report_says_how_to_play_it_again(page: str) -> None:
    assert "<pre>likewise demo --rounds 40</pre>" in page


def test_the_same_demo_gives_the_same_file(demo: Demo, page: str, tmp_path: Path) -> None:
    write_report(demo, tmp_path / "report.html")
    assert (tmp_path / "report.html").read_bytes() == page.encode()


def test_how_long_the_demo_took_is_not_in_the_report(demo: Demo, page: str) -> None:
    assert report_html(replace(demo, seconds=demo.seconds + 1000)) == page


def test_markup_in_a_feature_or_an_id_is_shown_as_text(demo: Demo) -> None:
    feature = Feature("score", "integer", label="<script>alert(1)</script>", unit="<b>&amp;")
    ids = tuple(f'<i id="x">${i}$&' for i in range(demo.world.k))
    page = report_html(replace(demo, moment=with_words(demo.moment, feature, ids)))
    reader = Reader(page)
    assert reader.tags["script"] == reader.tags["b"] == reader.tags["i"] == 0
    assert reader.wrong == []
    shown = "".join(reader.text)
    assert "<script>alert(1)</script>" in shown
    assert "<b>&amp;" in shown
    assert ids[case_of(demo.moment).over] in shown


def test_a_reported_round_names_both_people_their_chances_and_the_pivot(demo: Demo) -> None:
    learner, moment = demo.shown[-1].learner, demo.moment
    case, text = case_of(moment), text_of(explain(moment, learner))
    assert case.reported
    for i in (case.over, case.under):
        assert moment.encounter.people.ids[i] in text
        assert f"{points(int(moment.deployment.units[i]))}\u00a0%" in text
    assert f"everything depends on {case.pivot}" in text


def test_the_explanation_tells_who_objects_as_the_panel_does(demo: Demo) -> None:
    learner, moment = demo.shown[-1].learner, demo.moment
    people, scores = moment.encounter.people, moment.deployment.units
    said = moment.encounter.panel.objections(people, scores, learner.sensitivity).members
    text = text_of(explain(moment, learner))
    for name, objections in said.items():
        objects = {frozenset(pair) for pair in objections.pairs} & {frozenset(moment.report[0])}
        verdict = "and objects" if objects else "and does not object"
        assert re.search(rf"{name} sees [^;]*?, {verdict}\.", text)


def test_the_explanation_ends_with_the_lam_that_the_next_round_had(demo: Demo) -> None:
    played = demo.shown[-1].transcript
    for moment in (demo.moment, quiet_moment(demo)):
        if moment.t < demo.game.rounds:
            text = text_of(explain(moment, played.state.learner))
            assert f"to {played.lam[moment.t]:.3f}" in text


def test_features_that_auditors_do_not_see_are_not_told(demo: Demo) -> None:
    hidden = Feature("score", "integer", label="A secret", visible=False)
    moment = with_words(demo.moment, hidden, demo.moment.encounter.people.ids)
    assert "A secret" not in text_of(explain(moment, demo.shown[-1].learner))


def test_a_quiet_round_can_be_explained_too(demo: Demo) -> None:
    page = report_html(replace(demo, moment=quiet_moment(demo)))
    assert "so nothing was reported" in page


def test_a_learner_that_ignores_the_panel_does_nothing_about_a_report(demo: Demo) -> None:
    played = demo.shown[0].transcript
    moment = next(m for m in played.moments if m.report)
    assert "does not listen" in text_of(explain(moment, played.state.learner))


def test_a_pair_that_can_never_be_reported_has_no_pivot(demo: Demo) -> None:
    quiet = quiet_moment(demo)
    silent = Panel(quiet.encounter.panel.auditors, "never")
    never = replace(quiet, encounter=replace(quiet.encounter, panel=silent))
    text = text_of(explain(never, demo.shown[-1].learner))
    assert "can never report" in text
    assert "Pivot: nobody" in report_html(replace(demo, moment=never))
