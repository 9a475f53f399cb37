"""The hash of what a member is shown covers all of it, and tells nothing of who was erased."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from likewise import Feature
from likewise_service.dockets.docket import Docket
from likewise_service.dockets.round import Round
from likewise_service.dockets.rounds import open_docket, open_round
from likewise_service.dockets.seating import ReviewKey
from likewise_service.dockets.signing import shown_text
from likewise_service.ledger.records import Payload
from likewise_service.ledger.signatures import act_statement
from likewise_service.ledger.store import Store
from tests.service.live import small_spec, some_people

KEY = ReviewKey(7, b"salt")


class Shown:
    """One review, of which parts can be changed."""

    def __init__(self, docket: Docket) -> None:
        opened, _ = open_round(docket, some_people())
        self.round: Round = opened
        self.features: list[Feature] = list(docket.schema.features)
        self.payloads = docket.payloads(opened.people.values())

    def text(
        self, round_: Round | None = None, guidelines: str = "Look.", review: str = "a"
    ) -> str:
        text = shown_text(
            KEY, review, "ada", round_ or self.round, guidelines, self.features, self.payloads
        )
        assert text is not None
        return text


@pytest.fixture
def shown(tmp_path: Path) -> Shown:
    store = Store.open(f"sqlite:///{tmp_path / 'a.db'}")
    open_docket(store, "loans", small_spec(), seed=5)
    return Shown(Docket(store, "loans"))


def test_every_part_of_it_is_covered(shown: Shown) -> None:
    """Another score, pair, guideline, feature, person or review is another text."""
    round_, first = shown.round, next(iter(shown.round.decisions))
    decision = round_.decisions[first]
    scored = {**round_.decisions, first: replace(decision, score=decision.score + 1)}
    assert round_.asking is not None
    asked = tuple(pair[:2] for pair in round_.reportable[:2])
    assert len({person for pair in asked for person in pair}) == len(round_.decisions)
    some = replace(round_.asking, pairs=asked, whole=False)  # fewer pairs of the same people
    texts = [
        shown.text(),
        shown.text(guidelines="Look twice."),
        shown.text(review="b"),
        shown.text(round_.changed(decisions=scored)),
        shown.text(round_.changed(asking=some)),
        shown.text(round_.changed(erased={first: "now"})),
        shown.text(round_.changed(decisions=dict(list(round_.decisions.items())[1:]))),
    ]
    for place in range(len(shown.features)):
        digest = str(round_.people[first])
        values = list(shown.payloads[digest].content["features"])
        values[place] = 1 - values[place] if shown.features[place].levels else values[place] + 1
        changed = Payload(shown.payloads[digest].salt, {"features": values})
        before, shown.payloads = shown.payloads, {**shown.payloads, digest: changed}
        texts.append(shown.text())
        shown.payloads = before
    assert len(set(texts)) == len(texts)


def test_a_member_is_told_of_visible_features_alone(shown: Shown) -> None:
    shown.features[1] = replace(shown.features[1], visible=False)
    people = json.loads(shown.text())["people"]
    hidden = shown.features[1].name
    assert all(hidden not in dict(person["features"]) for person in people)
    salts = {payload.salt.hex() for payload in shown.payloads.values()}
    assert not salts & {person["salt"] for person in people}, "they would open the ledger's own"


def test_nothing_is_shown_again_of_somebody_whose_features_are_gone(shown: Shown) -> None:
    """Without the salt, which is erased with them, nobody can guess what was hashed."""
    first, digest = next(iter(shown.round.people.items()))
    erased = json.loads(shown.text(shown.round.changed(erased={first: "now"})))["people"]
    assert [(p["salt"], p["features"]) for p in erased if p["features"] is None] == [("", None)]
    del shown.payloads[str(digest)]
    parts = (KEY, "a", "ada", shown.round, "", shown.features, shown.payloads)
    assert shown_text(*parts) is None


def test_every_part_of_an_act_is_signed() -> None:
    flag = ("p1", "p2", None, 7)
    act: list[Any] = ["d", "m", "r", "s", "flag", ("p1", "p2"), "words", 7, (flag,), "now"]
    other: list[Any] = ["e", "n", "q", "t", "finish", ("p1", "p3"), None, 8, None, "then"]
    acts = [act, *([*act[:place], other[place], *act[place + 1 :]] for place in range(len(act)))]
    statements = {act_statement(*each) for each in acts}
    assert len(statements) == 1 + len(act)
    act[5] = ("p2", "p1")
    assert act_statement(*act) in statements, "in whatever order"
