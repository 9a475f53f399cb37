"""The pages of appeals: an operator assigns and decides in their own name, a regulator reads."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pytest

from likewise_service.ledger.store import Store
from tests.service.live import Live, people, replay_store

HOSTILE = "<script>alert(1)</script> & {{ 7 * 7 }}"


@contextmanager
def signed_in(live: Live, who: str) -> Iterator[tuple[httpx.Client, str]]:
    with httpx.Client(base_url=live.address, follow_redirects=True) as browser:
        form = browser.get("/console/sign-in").text
        csrf = re.search(r'name="csrf" value="([^"]+)"', form)[1]  # type: ignore[index]
        page = browser.post("/console/sign-in", data={"csrf": csrf, "token": live.tokens[who]})
        yield browser, re.search(r'name="csrf" value="([^"]+)"', page.text)[1]  # type: ignore[index]


@pytest.mark.long
@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_an_appeal_from_the_queue_to_its_outcome(live: Live) -> None:
    bank = live.client("client")
    opened = bank.open_round("loans", people(1, 3))
    appeal = bank.appeal("loans", opened.id, "x1-0", HOSTILE, {"score": 800})
    address, fields = "/dashboard/loans/appeal", {"round": opened.id, "id": appeal.id}
    with signed_in(live, "regulator") as (state, token):
        assert "1 appeal waits" in state.get("/dashboard/loans/appeals").text
        page = state.get(address, params=fields).text
        assert "would have said" in page
        assert "Assign" not in page
        refused = state.post(address, data={"csrf": token, **fields, "act": "approve"})
        assert refused.status_code == 403
    with signed_in(live, "operator") as (olga, token):
        assert olga.post(address, data={**fields, "act": "approve"}).status_code == 403, "no csrf"
        page = olga.get(address, params=fields).text
        assert HOSTILE not in page
        assert "Your decision" not in page, "nobody has it yet"
        to_assign = {"csrf": token, **fields, "act": "assign"}
        for name in ("ol\u200bga", "x" * 201, "a\0b"):
            refused = olga.post(address, data={**to_assign, "reviewer": name})
            assert refused.status_code == 422, "names are what the API takes"
        assigned = olga.post(address, data=to_assign)
        assert "Your decision" in assigned.text
        late = {"csrf": token, **fields, "act": "approve", "reason": " "}
        assert olga.post(address, data=late).status_code == 422
        long = {**late, "reason": "y" * 2001, "accepted": "yes"}
        refused = olga.post(address, data=long)
        assert (refused.status_code, 'role="alert"' in refused.text) == (422, True)
        assert long["reason"] in refused.text, "what was written is kept"
        assert 'value="yes" checked' in refused.text
        done = olga.post(address, data={**late, "reason": HOSTILE, "accepted": "yes"})
        assert "found right" in done.text
        assert "olga</bdi> decided" in done.text
        assert "There is none" in olga.get("/dashboard/loans/appeals").text
        assert "x1-0" in olga.get("/dashboard/loans/appeals?status=ended").text
        assert olga.get(address, params={**fields, "id": "0" * 12}).status_code == 404
        text = olga.get("/dashboard/loans/assessment.md").text
        assert "To be written" in text
    with signed_in(live, "auditor") as (auditor, _):
        assert auditor.get("/dashboard/loans/appeals").status_code == 403
    store = Store.open(live.settings.database)
    assert replay_store(store, "loans").holds
    store.close()
