"""Signing on by a real provider (npm's oidc-provider), started by the test on loopback."""

from __future__ import annotations

import html
import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from likewise_service.app import running
from likewise_service.auth.tokens import list_tokens, revoke_token
from likewise_service.ledger.store import Store
from likewise_service.settings import Settings
from tests.service.live import GENEROUS, Live, furnished, people, replay_store

SCRIPT = Path(__file__).with_name("provider.mjs")
REQUIRED = os.environ.get("LIKEWISE_PROVIDER") == "required"


def _missing(why: str) -> None:
    if REQUIRED:
        pytest.fail(why)
    pytest.skip(why)


@pytest.fixture(scope="module")
def modules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with oidc-provider: the one that is named, or one into which it is installed."""
    if named := os.environ.get("LIKEWISE_PROVIDER_MODULES"):
        return Path(named)
    npm, node = shutil.which("npm"), shutil.which("node")
    if npm is None or node is None:
        _missing("npm is not there, so no provider of OpenID Connect can be installed.")
    folder = tmp_path_factory.mktemp("provider")
    words = [str(npm), "install", "--no-audit", "--no-fund", "--silent", "oidc-provider@9"]
    try:
        done = subprocess.run(
            words, cwd=folder, capture_output=True, timeout=120, check=False, text=True
        )
    except subprocess.TimeoutExpired:
        _missing("npm did not install oidc-provider within two minutes.")
    if done.returncode:
        _missing(f"npm cannot install oidc-provider: {done.stderr[-300:]}")
    return folder


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@contextmanager
def provider(folder: Path, port: int, address: str) -> Iterator[None]:
    """The provider at work, until the end of the block."""
    words = ["node", str(SCRIPT), str(folder), str(port), address]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert process.stdout is not None
        ends = time.monotonic() + 60
        while process.stdout.readline().strip() != "ready":
            assert process.poll() is None, "the provider ended"
            assert time.monotonic() < ends, "the provider does not start"
        yield
    finally:
        process.terminate()
        process.wait(10)
        if process.stdout is not None:
            process.stdout.close()


@pytest.fixture(scope="module")
def live(modules: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """A server that knows the provider, and the provider."""
    database = f"sqlite:///{tmp_path_factory.mktemp('sign-on') / 'a.db'}"
    tokens, port = furnished(database), _free_port()
    settings = Settings(
        database=database, oidc_issuer=f"http://127.0.0.1:{port}", oidc_client_id="likewise",
        oidc_client_secret="a-secret-of-the-tests", **GENEROUS,
    )  # fmt: skip
    with running(settings) as address, provider(modules, port, address):
        made = Live(address, settings, tokens)
        yield made
        made.close()


def browser(live: Live) -> httpx.Client:
    return httpx.Client(base_url=live.address, timeout=60, follow_redirects=True)


def sign_on(client: httpx.Client, who: str) -> httpx.Response:
    """Sign on as ROLE.DOCKET.NAME: the provider's own pages, and back."""
    page = client.get("/console/sign-on")
    for _ in range(2):  # its login, and its consent
        form = re.search(r'<form[^>]*action="([^"]+)"', page.text)
        if form is None:
            break
        fields = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', page.text))
        fields |= {"login": who, "password": "any"}
        page = client.post(html.unescape(form[1]), data=fields)
    return page


def test_somebody_signs_on_acts_and_signs_out_everywhere(live: Live) -> None:
    with browser(live) as one, browser(live) as other:
        for client in (one, other):
            page = sign_on(client, "auditor.loans.ann")
            assert page.status_code == 200, page.text
            assert "You are signed in" in page.text
            assert client.get("/console/").status_code == 200
        live.client("client").open_round("loans", people())
        asked = one.get("/console/")
        key = re.search(r"/console/rounds/([0-9a-f]{32})", asked.text)
        assert key is not None
        csrf = re.search(r'name="csrf" value="([^"]+)"', asked.text)
        assert csrf is not None
        done = one.post(f"/console/rounds/{key[1]}/finish", data={"csrf": csrf[1], "meant": "yes"})
        assert done.status_code == 200
        out = one.post("/console/sign-out", data={"csrf": csrf[1]})
        assert "Sign out there too" in out.text
        for client in (one, other):
            assert "Paste the token" in client.get("/console/").text, "signed out everywhere"
    store = Store.open(live.settings.database)
    records = store.records("loans")
    signed = [r for r in records if r.kind == "signed-in"]
    assert {r.body["subject"] for r in signed} == {"auditor.loans.ann"}
    assert {r.body["issuer"] for r in signed} == {live.settings.oidc_issuer}
    reviewed = [r for r in records if r.kind == "finished"]
    assert [r.actor for r in reviewed] == [signed[0].actor]
    assert [r.kind for r in records].count("signed-out") == 2
    found = replay_store(store, "loans")
    assert found.holds, found.text()
    store.close()


def test_signing_out_at_the_provider_ends_it_here(live: Live) -> None:
    with browser(live) as client:
        assert "You are signed in" in sign_on(client, "regulator..state").text
        assert client.get("/dashboard/").status_code == 200
        where = f"{live.settings.oidc_issuer}/session/end"
        page = client.get(where, params={"client_id": "likewise"})
        form = re.search(r'<form[^>]*action="([^"]+)"', page.text)
        assert form is not None, page.text
        fields = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', page.text))
        client.post(html.unescape(form[1]), data={**fields, "logout": "yes"})
        ends = time.monotonic() + 60
        while "Paste the token" not in client.get("/dashboard/").text:
            assert time.monotonic() < ends, "the provider's word did not come"
            time.sleep(0.2)


@pytest.mark.parametrize(
    ("who", "said"),
    [
        ("client.loans.bank", "no role here"),
        ("king.loans.ann", "no role here"),
        ("auditor.loans.eve", "does not sit on the panel"),
        ("auditor.nowhere.ann", "no such docket"),
    ],
)
def test_whoever_has_no_seat_is_not_let_in(live: Live, who: str, said: str) -> None:
    with browser(live) as client:
        page = sign_on(client, who)
        assert page.status_code in (403, 404), page.text
        assert said in page.text
        assert "Paste the token" in client.get("/console/").text


def test_an_attempt_is_for_the_browser_that_began(live: Live) -> None:
    with browser(live) as one, browser(live) as other:
        one.get("/console/sign-on")
        for path in ("?state=x&code=y", "", f"?state={'a' * 43}&code=y"):
            page = other.get(f"/console/sign-on/return{path}")
            assert page.status_code == 401
            assert "not begun in this browser" in page.text
        assert other.post("/console/sign-on/logout", data={"logout_token": "x"}).status_code == 401


def test_the_operator_revokes_whoever_signs_on(live: Live) -> None:
    with browser(live) as client:
        assert "You are signed in" in sign_on(client, "auditor.loans.bob").text
        store = Store.open(live.settings.database)
        mine = [
            one for one in list_tokens(store) if one.id.startswith("sso-") and one.name == "bob"
        ]
        assert len(mine) == 1
        revoke_token(store, mine[0].id)
        store.close()
        assert "Paste the token" in client.get("/console/").text
    with browser(live) as client:
        assert "was revoked" in sign_on(client, "auditor.loans.bob").text


def test_a_provider_that_is_down_lets_nobody_in(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"database": f"sqlite:///{tmp_path / 'a.db'}", **GENEROUS}
    gone = f"http://127.0.0.1:{_free_port()}"
    with running(Settings(oidc_issuer=gone, oidc_client_id="likewise", **settings)) as address:
        page = httpx.get(f"{address}/console/sign-on", timeout=60)
        assert page.status_code == 502
        assert "does not respond" in page.text
        assert (
            "Sign in with your organisation"
            in httpx.get(f"{address}/console/sign-in", timeout=60).text
        )
