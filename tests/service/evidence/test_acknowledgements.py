"""In the console members get signed receipts of their own objections."""

from __future__ import annotations

import json
import re
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner

from likewise.cli.main import main
from likewise_service.web import console
from tests.service.live import Live, people


def sign_in(browser: httpx.Client, live: Live) -> None:
    found = re.search(r'name="csrf" value="([^"]+)"', browser.get("/console/sign-in").text)
    assert found is not None
    form = {"csrf": found[1], "token": live.tokens["auditor"]}
    browser.post("/console/sign-in", data=form)


def test_a_member_keeps_what_was_acknowledged(live: Live, tmp_path: Path) -> None:
    live.client("client").open_round("loans", people())
    ann = live.client("auditor")
    review = ann.review("loans", ann.reviews("loans")[0].id)
    pair = (review.pairs[0].over, review.pairs[0].under)
    ann.flag("loans", review.id, pair, "so alike")
    with httpx.Client(base_url=live.address, timeout=60, follow_redirects=True) as browser:
        assert "Paste the token" in browser.get("/console/receipts.json").text
        sign_in(browser, live)
        assert "receipts.json" in browser.get("/console/history").text
        response = browser.get("/console/receipts.json")
    assert response.headers["content-disposition"].startswith("attachment")
    kept = response.json()
    [said] = kept["reviews"]
    assert said["review"] == review.id
    assert said["objections"][0]["reason"] == "so alike"
    path, key = tmp_path / "kept.json", live.client("client").keys()[0].public
    path.write_text(response.text, encoding="utf-8")
    words = [str(path), "--key", key, "--database", live.settings.database]
    result = CliRunner().invoke(main, ["verify", *words])
    assert result.exit_code == 0, result.output
    assert "THE ACKNOWLEDGEMENT HOLDS" in result.output
    said["objections"][0]["reason"] = "otherwise"
    path.write_text(json.dumps(kept), encoding="utf-8")
    assert CliRunner().invoke(main, ["verify", *words]).exit_code == 1
    # What cannot have been signed is refused, and not taken for the receipt inside.
    for added in ("NaN", r'"\ud800"'):
        path.write_text(f'{{"x": {added}, {response.text.lstrip()[1:]}', encoding="utf-8")
        assert CliRunner().invoke(main, ["verify", *words]).exit_code == 2
    path.write_text("{}", encoding="utf-8")
    assert CliRunner().invoke(main, ["verify", *words]).exit_code == 2


def test_all_reviews_are_acknowledged_however_many(
    live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the page says: the earlier ones of many were left out."""
    monkeypatch.setattr(console, "LISTED", 2)
    client, ann = live.client("client"), live.client("auditor")
    for number in range(1, 8):
        opened = client.open_round("loans", people(number))
        if number < 5:
            live.client("operator").close_round("loans", opened.id, unaudited=True)
    with httpx.Client(base_url=live.address, timeout=60) as browser:
        sign_in(browser, live)
        kept = browser.get("/console/receipts.json").json()["reviews"]
    listed = [
        review.id for status in ("asked", "waiting", "closed", "missed")
        for review in ann.reviews("loans", status=status)
    ]  # fmt: skip
    assert sorted(review["review"] for review in kept) == sorted(listed)
    assert len(kept) == 7
