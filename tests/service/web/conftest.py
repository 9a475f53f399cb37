"""A small docket as the pages see it: eight people, seven pairs, and hostile ones of the same."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from likewise import Feature
from likewise.learner.certificate import Unseen
from likewise.panel.agreement import MemberAgreement
from likewise_client.responses import (
    CommentResponse,
    DecisionResponse,
    DocketList,
    DocketResponse,
    DocketSummary,
    Fact,
    HoldResponse,
    MemberKeyResponse,
    MemberList,
    MemberMetrics,
    NewToken,
    ObjectionResponse,
    PairResponse,
    ReceiptResponse,
    ReportedPair,
    ReviewPair,
    ReviewPerson,
    ReviewResponse,
    ReviewSummary,
    RoundList,
    RoundResponse,
    RoundSummary,
    TokenList,
    TokenResponse,
)
from likewise_service.api.metrics import (
    AgreementResponse,
    ConsistencyResponse,
    LeastResponse,
    MetricsResponse,
    Series,
)
from likewise_service.auth.tokens import Identity
from likewise_service.language import speaking
from likewise_service.ledger import kinds
from likewise_service.web import practice
from likewise_service.web.console import QueuedPair, practice_queue, queue_data
from likewise_service.web.rendering import PageContext, pair_key, render

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
    (0.82, "712", "24 % of income", "car", "6 years", "no", "3,200 €", "none", "renting", "14"),
    (0.51, "698", "26 % of income", "home", "6 years", "no", "2,900 €", "one", "owner", "9"),
    (0.27, "690", "25 % of income", "car", "5 years", "no", "3,150 €", "none", "renting", "12"),
    (0.62, "655", "41 % of income", "home", "11 years", "no", "2,400 €", "two", "owner", "22"),
    (0.31, "655", "38 % of income", "home", "2 years", "yes", "2,350 €", "two", "renting", "21"),
    (0.74, "760", "12 % of income", "car", "9 years", "no", "4,100 €", "none", "owner", "17"),
    (0.004, "540", "63 % of income", "home", "1 year", "yes", "1,700 €", "three", "renting", "3"),
    (0.45, "610", "33 % of income", "car", "3 years", "no", "2,600 €", "one", "with parents", "6"),
)
TITLES = (
    "Bureau score", "Debt", "Purpose", "Time in the job", "Missed a payment", "Monthly income",
    "Dependants", "Housing", "Years since the oldest account",
)  # fmt: skip
FEATURES = (
    Feature("score", "integer", 300, 850, label="Bureau score"),
    Feature("debt", unit="% of income", missing="not stated"),
    Feature("purpose", "category", levels=("car", "home", "boat")),
    Feature("secret", "flag", visible=False),
)
FACTS = range(len(TITLES))
PAIRS = ((0, 6), (0, 2), (0, 4), (5, 2), (5, 4), (0, 7), (3, 4))  # largest gap first
KEY, AT = "5f2a" * 8, "2026-11-05T06:00:00Z"
RECEIPT = ReceiptResponse(
    "loans", 5120, "9f2c" * 16, "likewise/9f2c9f2c9f2c9f2c/loans\n5120\nnyw=\n"
)


@dataclass(frozen=True)
class Samples:
    """Responses for every page, about ordinary or hostile people."""

    word: Callable[[str, int], str]
    page: PageContext

    def people(self) -> list[ReviewPerson]:
        return [
            ReviewPerson(
                self.word(f"p{i + 1}", i),
                chance,
                [
                    Fact(f"f{j}", self.word(TITLES[j], j), self.word(value, i + j))
                    for j, value in enumerate(values)
                ],
                erased=False,
            )
            for i, (chance, *values) in enumerate(ROWS)
        ]

    def review(self, flags: dict[int, str] | None = None, **changes: Any) -> ReviewResponse:
        """One review; ``flags`` are places of pairs with reasons."""
        people, flags = self.people(), flags or {}
        pairs = [
            ReviewPair(
                people[over].id, people[under].id, ROWS[over][0] - ROWS[under][0],
                place in flags,
                {
                    f"f{j}": "9 apart, 2\u202f% of the range"
                    for j in FACTS
                    if ROWS[over][j + 1] != ROWS[under][j + 1]
                },
            )
            for place, (over, under) in enumerate(PAIRS)
        ]  # fmt: skip
        mine = [
            ObjectionResponse(pairs[place].over, pairs[place].under, "ann", reason or None)
            for place, reason in flags.items()
        ]
        made = ReviewResponse(
            KEY, 12, "asked", "2026-11-14T18:00:00Z", "2026-11-15T18:00:00Z", None, False, 2000,
            people, pairs, mine, None, [], RECEIPT,
        )  # fmt: skip
        return replace(made, **changes)

    def flagged(self, **changes: Any) -> ReviewResponse:
        return self.review({1: self.word("Same score and debt.", 6)}, **changes)

    def ended(self, flags: dict[int, str], **changes: Any) -> ReviewResponse:
        ended = {"status": "closed", "ended": "2026-11-14T18:00:00Z", "outcome": "quiet"}
        return self.review(flags, **{**ended, **changes})

    def waiting(self) -> list[ReviewSummary]:
        asked, due = "2026-11-14T18:00:00Z", "2026-11-15T18:00:00Z"
        return [
            ReviewSummary(KEY, 12, "asked", asked, due, None, 8, 7, 0),
            ReviewSummary("77c0" * 8, 13, "asked", asked, due, None, 8, 1, 1),
            ReviewSummary("0d11" * 8, 11, "waiting", asked, None, None, 6, 4, 2),
        ]

    def past(self) -> list[ReviewResponse]:
        plain = self.review()
        one = ReportedPair(plain.pairs[1].over, plain.pairs[1].under, mine=True, decisive=True)
        reason = self.word("Same debts.", 6)
        return [
            self.ended({1: reason, 3: ""}, number=10, outcome="report", reported=[one]),
            self.ended({}, number=9),
            self.ended({2: self.word("", 0)}, number=8, outcome="unaudited"),
            self.ended({}, number=7, status="missed"),
        ]

    def metrics(self, rounds: int = 240) -> MetricsResponse:
        word, at = self.word, list(range(1, rounds + 1))
        return MetricsResponse(
            docket="loans", at="2026-11-15T06:00:00Z", shadow=False, rounds=rounds,
            people=8 * rounds, open=3, in_audit=2, oldest_open_seconds=93_000.0,
            reports=rounds // 5, quiet=0, unaudited=0, looked_at=rounds // 4, pairs_shown=rounds,
            members_asked=rounds // 2, member_pairs=2 * rounds,
            leasts=[LeastResponse(p, p == 0.05, 40 + 500 * p, 9 / p - 9) for p in (0.05, 0.5, 1.0)],
            minutes=67.0, unseen=Unseen(12.0, 3, 40, 0.95), labels=1894,
            missing=26, overrides=4,
            error=0.3521, score_error=0.4, lam=0.15, sensitivity=0.3, window=1000,
            largest_gaps=[],
            agreement=AgreementResponse(0.612, 9, 9, 18, 4),
            consistency=ConsistencyResponse(None, 0, 0, 0),
            members=[
                MemberMetrics(word("Ethicist", 3), True, 200, 198, 2, 61, 31, 5, 0.92),
                MemberMetrics(word("Banker", 5), True, 180, 168, 12, 22, 6, 0, None),
                MemberMetrics(word("Former judge", 4), False, 40, 39, 1, 9, 2, 2, 0.8),
            ],
            series=Series(
                at,
                ["2026-11-14T06:00:00Z"] * rounds,
                [int(i**0.8 / 1.7) for i in at],
                [None if i < 6 else 0.34 + 0.3 / math.sqrt(i) for i in at],
                [0.35 + 0.3 * abs(math.sin(i * 1.7)) for i in at],
                [0.9 * i**-0.3 + 0.15 * (i % 7 == 3) for i in at],
            ),
            recorded="2026-11-15T05:58:12Z",
            receipt=RECEIPT,
        )  # fmt: skip

    def docket(self) -> DocketResponse:
        return DocketResponse(
            name="loans", title=self.page.title, shadow=False, notice=None, features=[], k=8,
            alpha=0.3, feedback="full", members=[], quorum=1, deadline=None, seed_commitment="",
            audit_only=False, learner_from=None,
            rule='veto("ethicist") or at_least(80%)', receipt=RECEIPT,
        )  # fmt: skip

    def rounds(self) -> list[RoundSummary]:
        opened, due = "2026-11-14T04:10:00Z", "2026-11-15T18:00:00Z"
        name, other = self.word("r238", 0), self.word("r240", 5)
        return [
            RoundSummary(name, 238, "in audit", opened, opened, due, None, None, 8, 8, 2, 1),
            RoundSummary(other, 240, "in audit", opened, opened, None, None, None, 8, 8, 2, 0),
        ]

    def round(self) -> RoundResponse:
        """One round as the operator sees it."""
        ids = [self.word(f"x{i}", i) + f"-{i}" for i in range(3)]
        opened = "2026-11-14T04:10:00Z"
        return RoundResponse(
            self.word("r238", 0), 238, "awaiting labels", opened, opened, None, "report", None,
            False, None, "veto(ann) or at_least(2)", True, 3,
            [DecisionResponse(name, i == 0, 0.8 - 0.3 * i, 0) for i, name in enumerate(ids)],
            [PairResponse(ids[0], ids[2])], {ids[0]: 1}, {ids[1]: True}, [ids[2]],
            {self.word("ann", 3): "finished", "bob": "absent"},
            [ObjectionResponse(ids[0], ids[2], self.word("ann", 3), self.word("alike", 6), 0.2)],
            RECEIPT,
        )  # fmt: skip

    def operations(self) -> dict[str, str]:
        """The operator's way from a figure to a round to a person."""
        page = replace(self.page, base="/dashboard/loans", who=self.word("operator", 1))
        listed = {"having": "", "first": 100, "number": 240, "earlier": 0}
        some, none = RoundList(self.rounds(), 200), RoundList([], None)
        first, packet = self.round().decisions[0], self.word("The decision on x0:\n\nApproved.", 1)
        person = {"round": self.round(), "decision": first}
        return {
            "rounds-listed": render("dashboard/rounds.html", page, page_of=some, **listed),
            "rounds-listed-none": render("dashboard/rounds.html", page, page_of=none, **listed),
            "round": render("dashboard/round.html", page, round=self.round()),
            **self.managed(),
            "person": render("dashboard/person.html", page, packet="", **person),
            "person-packet": render("dashboard/person.html", page, packet=packet, **person),
        }

    def managed(self) -> dict[str, str]:
        """The pages by which an operator manages a docket; a regulator may only read."""
        page = replace(self.page, base="/dashboard/loans", may=frozenset(kinds.MAY))
        reads = replace(page, may=frozenset())
        who, why = self.word("ann", 1), self.word("A complaint of 3 May", 6)
        blank = {"problem": "", "form": {}}
        refused = {"problem": self.word("There is nobody of that name.", 0), "form": {"name": who}}
        members = MemberList(self.metrics(240).members or [], who)
        owner = TokenResponse("7f", "auditor", who, "loans", AT, None)
        tokens = TokenList(
            [owner, replace(owner, id="80", role="operator", docket=None, revoked=AT)], "80"
        )
        holds = [HoldResponse("ab", None, None, why), HoldResponse("cd", "r1", who, why)]
        listed = {"page_of": members, "rule": "veto(ann) or at_least(2)"}
        made = NewToken("lw_auditor_x", owner)
        shown = {"page_of": tokens, "members": ["ann", who]}
        return {
            "members": render("dashboard/members.html", page, **listed, **blank),
            "members-read": render("dashboard/members.html", reads, **listed, **blank),
            "tokens": render("dashboard/tokens.html", page, made=None, **shown, **refused),
            "tokens-made": render("dashboard/tokens.html", page, made=made, **shown, **blank),
            "holds": render("dashboard/holds.html", page, holds=holds, **blank),
            "holds-none": render("dashboard/holds.html", reads, holds=[], **refused),
            "golds": self.golds(page, self.word("They differ in the score alone.", 1), **blank),
            "golds-none": self.golds(page, "", **refused),
        }  # fmt: skip

    def golds(self, page: PageContext, why: str, **form: Any) -> str:
        """The page of the pairs to practise with: one of the operator's own, or none."""
        features = ((702.0, 31.0, 0.0, 0.0), (699.0, None, 2.0, 1.0))
        pairs = [kinds.GoldPair(features, (849_000, 350_000), "flag", why)] if why else []
        review = practice.practice_review(FEATURES, pairs)
        return render(
            "dashboard/practice.html", page, review=review,
            own=list(zip(pairs, review.pairs, strict=True)),
            fields=practice.form_fields(FEATURES), **form,
        )  # fmt: skip

    def dashboard(self, number: int = 240, **changes: Any) -> str:
        page = replace(self.page, base="/dashboard/loans", who=self.word("operator", 1))
        certificate = [self.word("Over 240 rounds at most 12 errors more. It holds surely.", 3)]
        values = {
            "metrics": self.metrics(number), "rounds": self.rounds(), "certificate": certificate,
            "wrong_reports": 2, "limits": (0.3, 0.2), **changes,
        }  # fmt: skip
        return render("dashboard/dashboard.html", page, docket=self.docket(), **values)

    def queue(
        self, review: ReviewResponse, fines: set[str] | None = None, first: int = 1,
        page: PageContext | None = None,
    ) -> dict[str, Any]:  # fmt: skip
        """A queue of one review, behind the pair at a place."""
        pairs = [QueuedPair(review, pair, pair_key(pair) in (fines or ())) for pair in review.pairs]
        left = sum(not (queued.fine or queued.pair.flagged) for queued in pairs)
        waiting = [q for q in pairs[first - 1 :] if first > 1 or not (q.fine or q.pair.flagged)]
        with speaking(self.page.language):
            return queue_data(page or self.page, waiting, {review.id: left} if left else {})

    def asked(self, queue: dict[str, Any], last: str = "", word: str = "") -> str:
        return render("console/queue.html", self.page, queue=queue, last=last, word=word)

    def practice(self, done: int, response: str) -> str:
        """The practice, after some of its pairs and a response to the last of them."""
        with speaking(self.page.language):
            golds = practice.default_pairs(FEATURES)
            queue = practice_queue(self.page, FEATURES, done, golds)
            return self.asked(queue, word=practice.word(golds[done - 1], response))

    def signing(self, *keys: str) -> dict[str, Any]:
        """What the browser of a member with those keys has to know."""
        return {"docket": "loans", "member": "ada", "signs": bool(keys), "keys": list(keys),
                "complete": [], "reviews": {}}  # fmt: skip

    def whole(self, review: ReviewResponse, fines: set[str] | None = None) -> str:
        """One round as a whole."""
        left = sum(self.queue(review, fines)["left"].values())
        values = {
            "review": review, "fines": fines or set(), "left": left, "form_key": "ab" * 16,
            "signing": self.signing("ab" * 8) if review.ended else self.signing(),
        }  # fmt: skip
        return render("console/review.html", self.page, **values)

    def pages(self) -> dict[str, str]:
        """Every page there is, rendered."""
        page, nobody = self.page, replace(self.page, who="", receipt="")
        sentence = self.word("Nothing was changed. Go back to see which rounds are open.", 6)
        refused = self.word("This token is unknown. Paste it again.", 0)
        dockets = DocketList(
            [DocketSummary("loans", self.page.title, True), DocketSummary("a", "A", False)], "a"
        )
        comment = CommentResponse(self.word("bob", 1), self.word("Look at\nthe debts", 2), AT)
        closed = replace(self.past()[0], comments=[comment, replace(comment, text=None)])
        nothing = replace(self.metrics(0), members=[], oldest_open_seconds=None)
        return {
            "sign-in": render("sign_in.html", nobody, problem="", sign_on=False),
            "sign-in-refused": render("sign_in.html", nobody, problem=refused, sign_on=True),
            "signed-on": render("signed_on.html", nobody, where="#main", name="ada"),
            "signed-out": render("signed_out.html", nobody, where="#main"),
            "queue": self.asked(self.queue(self.review())),
            "queue-flagged": self.asked(self.queue(self.flagged(), first=2), f"{KEY}.p1.p3"),
            "queue-erased": self.asked(self.queue(self.erased())),
            "queue-graded": self.asked(self.queue(self.review(graded=True, final=True))),
            "queue-none": self.asked(queue_data(page, [], {}, complete=1)),
            "practice": self.practice(1, "fine"),
            "practice-done": self.practice(4, "flag"),
            "rounds": render(
                "console/rounds.html", page, reviews=self.waiting(), left={KEY: 7, "77c0" * 8: 1},
                final=False,
            ),
            "rounds-none": render("console/rounds.html", page, reviews=[], left={}, final=True),
            "review": self.whole(self.flagged(), {"p6.p3"}),
            "review-done": self.whole(self.flagged(status="waiting")),
            "review-closed": self.whole(closed),
            "review-erased": self.whole(self.erased()),
            "review-no-pair": self.whole(self.review(pairs=[])),
            "signature": render("console/signature.html", page, keys=[], signing=self.signing()),
            "signature-several": render(
                "console/signature.html", page, signing=self.signing("ab" * 8), keys=[
                    MemberKeyResponse(digits * 8, digits * 32, device, page.now, state)
                    for digits, device, state in (
                        ("ab", self.word("laptop", 2), "signs"), ("cd", "", "waits"),
                        ("ef", "old phone", "revoked"),
                    )
                ],
            ),
            "seats": render(
                "console/seats.html", page, current="a", problem=refused, seats=[
                    Identity("a", "auditor", self.word("ann", 1), "loans", ""),
                    Identity("b", "auditor", self.word("ann", 2), "cars", ""),
                ],
            ),
            "guidelines": render(
                "console/guidelines.html", page,
                guidelines=[self.word("Look at the debts first.", 1)],
            ),
            "history": render(
                "console/history.html", page, reviews=self.past(), older=7,
                agreement=MemberAgreement(40, 31),
            ),
            "history-none": render(
                "console/history.html", page, reviews=[], older=None, agreement=MemberAgreement()
            ),
            "problem": render(
                "problem.html", page, status=409, title=self.word("This round has closed", 0),
                sentence=sentence, way_out="/console/", label="Back to the beginning",
            ),
            "dockets": render("dashboard/dockets.html", page, page_of=dockets, contains=""),
            "dockets-none": render(
                "dashboard/dockets.html", page, page_of=DocketList([], None), contains="zebra"
            ),
            "dashboard": self.dashboard(),
            "dashboard-none": self.dashboard(0, metrics=nothing, rounds=[]),
            **self.operations(),
        }  # fmt: skip

    def erased(self) -> ReviewResponse:
        """The first person of the first pair was erased."""
        plain = self.review()
        gone = replace(plain.people[0], features=[], erased=True)
        return replace(plain, people=[gone, *plain.people[1:]])


def made(word: Callable[[str, int], str]) -> Samples:
    """Samples whose every text has been through ``word``."""
    page = PageContext(
        base="/console", csrf="c5rf", title=word("Car and home loans", 1), who=word("Ethicist", 4),
        receipt=RECEIPT.text, seat="5ea7", now="2026-11-15T06:00:00Z",
    )  # fmt: skip
    return Samples(word, page)


@pytest.fixture(scope="session")
def samples() -> Samples:
    return made(lambda text, _: text)


@pytest.fixture(scope="session")
def hostile() -> Samples:
    return made(lambda text, place: HOSTILE[place % len(HOSTILE)] if text else "")


@pytest.fixture(scope="session")
def hostile_words() -> tuple[str, ...]:
    return HOSTILE
