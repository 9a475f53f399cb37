"""A small docket as the pages see it: eight people, seven pairs, and hostile ones of the same."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest

from likewise.service.web import member_pages as console
from likewise.service.web import operator_pages as dashboard

HOSTILE = (
    "<script>alert(1)</script>",
    '"\' onmouseover="alert(2)',
    "{{ 7 * 7 }}{% raise %}",
    "عبد الله بن \u202eمحمد",
    "👩🏽‍⚖️ 🏳️‍🌈 judge",
    "Wolfeschlegelsteinhausenbergerdorff" * 6,
    "</textarea></title><img src=x onerror=alert(3)>",
    "&lt;b&gt; & so on",
)
ROWS = (
    ("Ann", 0.82, "712", "24", "car", "6", "no"),
    ("Bo", 0.51, "698", "26", "home", "6", "no"),
    ("Cy", 0.27, "690", "25", "car", "5", "no"),
    ("Dee", 0.62, "655", "41", "home", "11", "no"),
    ("Eli", 0.31, "655", "38", "home", "2", "yes"),
    ("Fay", 0.74, "760", "12", "car", "9", "no"),
    ("Gus", 0.004, "540", "63", "home", "1", "yes"),
    ("Hal", 0.45, "610", "33", "car", "3", "no"),
)
PAIRS = ((0, 6), (0, 2), (0, 4), (5, 2), (5, 4), (0, 7), (3, 4))  # largest gap first


@dataclass(frozen=True)
class Samples:
    """Models of every page, about ordinary or hostile people."""

    word: Callable[[str, int], str]
    frame: console.Frame

    def people(self) -> tuple[console.Person, ...]:
        labels = (
            ("Bureau score", ""),
            ("Debt", "% of income"),
            ("Purpose", ""),
            ("Time in the job", "years"),
            ("Missed a payment", ""),
        )
        return tuple(
            console.Person(
                self.word(name, i),
                chance,
                tuple(
                    console.Fact(self.word(label, j), self.word(value, i + j), self.word(unit, j))
                    for j, ((label, unit), value) in enumerate(zip(labels, values, strict=True))
                ),
            )
            for i, (name, chance, *values) in enumerate(ROWS)
        )

    def review(self, **changes: object) -> console.Review:
        pairs = tuple(
            console.PairView(self.word(f"pair-{i}", i), over, under)
            for i, (over, under) in enumerate(PAIRS)
        )
        made = console.Review(
            self.frame,
            "r-5f2a",
            self.word("Review 12", 0),
            self.people(),
            pairs,
            closes="2026-11-15T18:00:00Z",
        )
        return replace(made, **changes)  # type: ignore[arg-type]

    def flagged(self, place: int = 2) -> console.Review:
        plain = self.review(place=place)
        reason = self.word("Same score and debt.", 6)
        second = replace(plain.pairs[1], flagged=True, reason=reason)
        return replace(plain, pairs=(plain.pairs[0], second, *plain.pairs[2:]))

    def awaiting(self) -> console.Awaiting:
        word = self.word
        return console.Awaiting(
            self.frame,
            (
                console.Waiting("r-5f2a", word("Review 12", 0), 8, 7, "2026-11-15T18:00:00Z"),
                console.Waiting(
                    "r-77c0", word("Review 13", 1), 8, 1, "2026-11-16T18:00:00Z", 1, "begun"
                ),
                console.Waiting("r-0d11", word("Review 11", 2), 6, 4, "", 2, "done"),
            ),
        )

    def history(self) -> console.History:
        word = self.word
        flags = (
            console.PastFlag(
                word("Ann", 0), word("Cy", 1), 0.82, 0.27, "reported", True, word("Same debts.", 6)
            ),
            console.PastFlag(word("Fay", 2), word("Eli", 3), 0.74, 0.31, "not reported"),
        )
        unaudited = (console.PastFlag(word("Bo", 4), word("Gus", 5), 0.6, 0.2, "unaudited"),)
        return console.History(
            self.frame,
            (
                console.PastRound(word("Review 10", 0), "2026-11-14T18:00:00Z", 8, 7, flags),
                console.PastRound(word("Review 9", 1), "2026-11-13T18:00:00Z", 8, 5),
                console.PastRound(word("Review 8", 2), "2026-11-12T18:00:00Z", 8, 4, unaudited),
                console.PastRound(word("Review 7", 3), "2026-11-11T18:00:00Z", 8, 3, present=False),
            ),
            older="/console/history?page=2",
        )

    def dashboard(self, rounds: int = 240) -> dashboard.Dashboard:
        word = self.word
        at = tuple(range(1, rounds + 1))
        return dashboard.Dashboard(
            replace(self.frame, base="/dashboard", who=word("operator", 1)),
            dashboard.Standing(
                rounds, rounds // 5, 0.3521, 1894, 26, 0.15, 3, 93_000.0, 4, 0.612, None
            ),
            dashboard.Head(5120, "9f2c" * 16, "2026-11-15T05:58:12Z"),
            word("veto(ethicist) or at_least(80%)", 0),
            "/dashboard/data",
            dashboard.Series(
                at,
                tuple(int(i**0.8 / 1.7) for i in at),
                tuple(None if i < 6 else 0.34 + 0.3 / math.sqrt(i) for i in at),
                tuple(0.9 * i**-0.3 + 0.15 * (i % 7 == 3) for i in at),
                tuple(0.35 + 0.3 * abs(math.sin(i * 1.7)) for i in at),
            ),
            (
                dashboard.MemberRow(word("Ethicist", 3), 200, 2, 61, 31, 0.92),
                dashboard.MemberRow(word("Banker", 5), 180, 12, 22, 6, None),
                dashboard.MemberRow(word("Former judge", 4), 40, 1, 9, 2, 0.8, active=False),
            ),
            (
                dashboard.OpenRound(
                    word("Round 238", 0), 8, "2026-11-14T04:10:00Z", "2026-11-15T18:00:00Z", 2, 1, 8
                ),
                dashboard.OpenRound(word("Round 240", 5), 8, "2026-11-15T05:40:00Z", "", 2, 0, 8),
            ),
            (
                dashboard.Export("Ledger", "/v1/dockets/loans/ledger", "all records, JSON lines"),
                dashboard.Export(word("Rounds", 0), "/v1/dockets/loans/rounds.csv", word("", 1)),
            ),
        )

    def pages(self) -> dict[str, str]:
        """Every page there is, rendered."""
        nobody = replace(self.frame, who="")
        empty = replace(self.dashboard(0), members=(), open_rounds=(), exports=())
        problem = console.Problem(
            self.frame,
            409,
            self.word("This round has closed", 0),
            self.word("Nothing was changed. Go back to your rounds to see which are open.", 6),
        )
        return {
            "sign-in": console.render_sign_in(console.SignIn(nobody)),
            "sign-in-refused": console.render_sign_in(
                console.SignIn(nobody, self.word("This token is unknown. Paste it again.", 0))
            ),
            "awaiting": console.render_awaiting(self.awaiting()),
            "awaiting-none": console.render_awaiting(console.Awaiting(self.frame)),
            "review": console.render_review(self.review()),
            "review-flagged": console.render_review(self.flagged()),
            "review-done": console.render_review(replace(self.flagged(7), state="done")),
            "review-closed": console.render_review(replace(self.flagged(), state="closed")),
            "review-no-pair": console.render_review(self.review(pairs=())),
            "history": console.render_history(self.history()),
            "history-none": console.render_history(console.History(self.frame)),
            "problem": console.render_problem(problem),
            "dashboard": dashboard.render_dashboard(self.dashboard()),
            "dashboard-none": dashboard.render_dashboard(empty),
        }


def made(word: Callable[[str, int], str]) -> Samples:
    """Samples whose every text has been through ``word``."""
    frame = console.Frame(
        "/console",
        "/static",
        "c5rf",
        word("Car and home loans", 1),
        "2026-11-15T06:00:00Z",
        word("Ethicist", 4),
        word("Your objection is withdrawn.", 0),
    )
    return Samples(word, frame)


@pytest.fixture(scope="session")
def samples() -> Samples:
    return made(lambda text, _: text)


@pytest.fixture(scope="session")
def hostile() -> Samples:
    return made(lambda text, place: HOSTILE[place % len(HOSTILE)] if text else "")


@pytest.fixture(scope="session")
def hostile_words() -> tuple[str, ...]:
    return HOSTILE
