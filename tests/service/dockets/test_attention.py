"""A docket asks its panel only what it does not know: what is shown is what is on record."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from likewise.errors import ParameterError
from likewise.learner.attention import Asking, PanelModel
from likewise.numerics.fixed_point import ONE, to_units
from likewise.registry import ATTENTIONS
from likewise_client.errors import Refused
from likewise_client.responses import ReviewPair, ReviewResponse
from likewise_service.auth.tokens import create_token
from likewise_service.dockets import panel
from likewise_service.dockets import rounds as feedback
from likewise_service.dockets.docket import Docket
from likewise_service.dockets.rounds import Applicant, open_docket, open_round
from likewise_service.dockets.seating import Seat
from likewise_service.dockets.spec import DocketSpec
from likewise_service.ledger import kinds
from likewise_service.ledger.store import Store
from tests.service.conftest import ON_SQLITE
from tests.service.live import Live, replay_store, spec

Begin = Callable[..., Docket]

# Sure of itself soon.
MODEL = PanelModel(least=0.1, doubt=0.3, patience=3)
SCORES = (310, 450, 520, 640, 790)


def somebody(chance: random.Random, name: str) -> Applicant:
    purpose, debt = chance.choice(("car", "home")), chance.randrange(0, 101, 20)
    return Applicant(name, {"score": chance.choice(SCORES), "debt": debt, "purpose": purpose})


def alike(review: ReviewResponse, pair: ReviewPair) -> bool:
    """What the panel thinks: those with the same purpose, and debts that differ little, are."""
    values = {p.id: {fact.name: fact.value for fact in p.features} for p in review.people}
    over, under = values[pair.over], values[pair.under]
    debts = [int(person["debt"].split()[0]) for person in (over, under)]
    return over["purpose"] == under["purpose"] and abs(debts[0] - debts[1]) <= 20


def asking_of(store: Store, docket: str) -> dict[str, Asking]:
    """What every round's sealing says."""
    bodies = [kinds.read_body(r) for r in store.records(docket) if r.kind == "sealed"]
    return {body.round: body.asking for body in bodies if isinstance(body, kinds.RoundSealed)}


def kind_of(asking: Asking) -> str:
    if not asking.looked_at:
        return "quiet" if asking.quiet else "unasked"
    return "whole" if asking.whole else "in part"


@ON_SQLITE
def test_members_are_shown_exactly_the_pairs_on_record(live: Live, store: Store) -> None:
    """Over the API, with rounds that nobody is asked about, rounds in part, and whole ones."""
    open_docket(store, "asked", spec(learner={"attention": MODEL}), seed=7)
    live.tokens["bank"] = create_token(store, "client", "bank", "asked")[0]
    for name in ("ann", "bob"):
        live.tokens[name] = create_token(store, "auditor", name, "asked")[0]
    bank, ann, bob = (live.client(who) for who in ("bank", "ann", "bob"))
    chance, shown = random.Random(3), dict[str, set[tuple[str, str]]]()
    docket = Docket(store, "asked")
    key = docket.seating.key
    for number in range(1, 71):
        people = [somebody(chance, f"x{number}-{i}") for i in range(4)]
        opened = bank.open_round("asked", {p.id: dict(p.features) for p in people})
        for member, client in (("ann", ann), ("bob", bob)):
            waiting = client.reviews("asked")
            assert len(waiting) == opened.looked_at
            for summary in waiting:
                review = client.review("asked", summary.id)
                assert summary.pairs == len(review.pairs) == opened.pairs_asked
                aliases = key.aliases(review.id, docket.refresh().round(opened.id).shown(member))
                assert {pair.over for pair in review.pairs} | {
                    pair.under for pair in review.pairs
                } == {person.id for person in review.people}
                names = {alias: person for person, alias in aliases.items()}
                pairs = {(names[pair.over], names[pair.under]) for pair in review.pairs}
                assert shown.setdefault(opened.id, pairs) == pairs, member
                _refused(client, review)
                for pair in review.pairs:
                    if member == "ann" and alike(review, pair):
                        client.flag("asked", review.id, (pair.over, pair.under))
                client.finish("asked", review.id)
        bank.label("asked", [(opened.id, p.id, number % 2) for p in people])
    asked, docket = asking_of(store, "asked"), Docket(store, "asked")
    fates = Counter(map(kind_of, asked.values()))
    assert min(fates[kind] for kind in ("unasked", "in part", "whole")) > 2, fates
    for name, asking in asked.items():
        round_ = docket.projection.round(name)
        possible = [pair[:2] for pair in round_.possible]
        assert asking.possible == len(possible)
        recorded = {pair for pair in possible if asking.asks(pair)} if asking.looked_at else set()
        assert shown.get(name, set()) == recorded
        assert bank.round("asked", name).pairs_asked == len(recorded)
        if not asking.looked_at:
            assert round_.outcome == ("quiet" if asking.quiet else "unaudited")
    _the_numbers_are_those_of_the_record(live, docket, asked)
    replayed = replay_store(store, "asked")
    assert replayed.holds, replayed.text()
    assert (replayed.draws, replayed.unasked) == (70, 0)


def _refused(client: Any, review: ReviewResponse) -> None:
    """A flag on a pair that is not shown, whatever its gap."""
    listed = {frozenset((pair.over, pair.under)) for pair in review.pairs}
    people = [person.id for person in review.people]
    for i, first in enumerate(people):
        for second in people[:i]:
            if frozenset((first, second)) not in listed:
                with pytest.raises(Refused, match="not asked about these two") as refused:
                    client.flag("asked", review.id, (first, second))
                assert refused.value.code == "not-asked"
                return


def _the_numbers_are_those_of_the_record(
    live: Live, docket: Docket, asked: dict[str, Asking]
) -> None:
    numbers = live.client("operator").metrics("asked")
    looked_at = [asking for asking in asked.values() if asking.looked_at]
    pairs = sum(asking.shown for asking in looked_at)
    assert (numbers["looked_at"], numbers["pairs_shown"]) == (len(looked_at), pairs)
    assert numbers["minutes"] == pytest.approx(pairs / 70 * 1000 * 4 / 60)
    unseen = numbers["unseen"]
    assert unseen["low"] <= unseen["estimate"] <= unseen["high"] <= 70
    assert unseen["estimate"] == docket.state.looks.unseen
    _other_chances_are_those_of_the_record(numbers, docket, asked)
    page = live.http.get("/metrics", headers={"Authorization": f"Bearer {live.tokens['operator']}"})
    lines = page.text.splitlines()
    assert f'likewise_looked_at{{docket="asked"}} {float(len(looked_at))}' in lines
    assert f'likewise_unseen_reports_high{{docket="asked"}} {float(unseen["high"])}' in lines


def _other_chances_are_those_of_the_record(
    numbers: dict[str, Any], docket: Docket, asked: dict[str, Asking]
) -> None:
    """What rounds would cost at another smallest chance, in expectation; at 1, everything."""
    rows = {row["least"]: row for row in numbers["leasts"]}
    assert [least for least, row in rows.items() if row["own"]] == [0.1]
    for least, row in rows.items():
        pairs = unseen = 0.0
        for name, asking in asked.items():
            certain = asking.possible if asking.pairs is None else len(asking.pairs)
            chance = asking.chance / ONE
            other = least if asking.chance <= to_units(MODEL.least) else max(least, chance)
            pairs += certain + other * (asking.possible - certain)
            if not all(map(asking.expected, docket.projection.round(name).pairs)):
                unseen += (1 - other) / chance
        assert row["minutes"] == pytest.approx(pairs / 70 * 1000 * 4 / 60, abs=1e-3)
        assert row["unseen"] == pytest.approx(unseen, abs=1e-4)
    possible = sum(asking.possible for asking in asked.values())
    assert rows[1.0]["minutes"] == pytest.approx(possible / 70 * 1000 * 4 / 60)
    assert rows[1.0]["unseen"] == 0
    assert rows[0.1]["unseen"] == pytest.approx(numbers["unseen"]["estimate"], abs=1e-4)


def play(docket: Docket, first: int, last: int, chance: random.Random) -> None:
    """Rounds before a panel that objects to different scores with similar debts."""
    for number in range(first, last):
        people = [somebody(chance, f"x{number}-{i}") for i in range(3)]
        debts = {p.id: p.features["debt"] for p in people}
        round_, _ = open_round(docket, people)
        similar = [p[:2] for p in round_.reportable if abs(debts[p[0]] - debts[p[1]]) <= 20]
        for member in round_.seats:
            for pair in similar:
                panel.flag(docket, Seat(round_.id, member), pair)
            panel.finish(docket, Seat(round_.id, member))
        feedback.label(docket, [(round_.id, p.id, number % 2) for p in people])


def test_a_model_is_refused_where_no_learner_decides(spec: Callable[..., DocketSpec]) -> None:
    with pytest.raises(ParameterError, match="audit-only"):
        spec(attention="model", audit_only=True)


@pytest.mark.parametrize(
    "attention", ["model", "share:0.25", {"attention": "model", "least": 0.1}, "everything"]
)
def test_an_attention_is_named_in_a_dockets_settings(attention: Any) -> None:
    from tests.service.live import LENDER

    learner = {"hypotheses": LENDER.spec(), "k": 3, "alpha": 0.3, "eps": 0.3}
    data = {"title": "Loans", "members": ["ada"], "rule": "any"}
    made = DocketSpec.from_hand({**data, "learner": {**learner, "attention": attention}})
    name = attention["attention"] if isinstance(attention, dict) else attention.split(":")[0]
    assert ATTENTIONS.read(made.learner["attention"]).name == name
    with pytest.raises(ParameterError, match="least"):
        DocketSpec.from_hand({**data, "learner": {**learner, "attention": "model:0"}})
