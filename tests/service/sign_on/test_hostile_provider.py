"""A provider that is slow, broken or hostile: clear errors, and nobody is let in."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from joserfc import jwt
from joserfc.jwk import KeySet, RSAKey

from likewise.errors import ParameterError
from likewise_service.auth import sign_ins as providers
from likewise_service.auth.sign_ins import (
    LOGOUT,
    Attempt,
    Provider,
    begin_sign_on,
    identity_claims,
    provider_from,
)
from likewise_service.auth.tokens import create_token, revoke_token
from likewise_service.errors import ServiceError
from likewise_service.ledger.store import Store
from likewise_service.settings import Settings

# A provider that lies in every way it can, each with a server of its own: a long list.
pytestmark = pytest.mark.long

KEY = RSAKey.generate_key(2048, {"kid": "one"})
OTHER = RSAKey.generate_key(2048, {"kid": "one"})
ATTEMPT = Attempt("s" * 43, "n" * 43, "v" * 43)


class Hostile:
    """A provider whose every response can be replaced."""

    def __init__(self) -> None:
        self.issuer = ""
        self.config: Any = None
        self.keys: Any = KeySet([KEY]).as_dict(private=False)
        self.token: Any = None
        self.awake = threading.Event()
        self.awake.set()
        self.between = 0.0  # seconds from one byte to the next
        self.status = 200
        self.asked: list[str] = []

    def respond(self, path: str) -> Any:
        self.asked.append(path)
        if path.endswith("openid-configuration"):
            known = {
                "issuer": self.issuer, "jwks_uri": f"{self.issuer}/keys",
                "authorization_endpoint": f"{self.issuer}/auth",
                "token_endpoint": f"{self.issuer}/token",
            }  # fmt: skip
            return known if self.config is None else self.config(known)
        return self.keys if path.endswith("/keys") else self.token

    def claims(self, **changes: Any) -> dict[str, Any]:
        moment = int(time.time())
        plain = {
            "iss": self.issuer, "aud": "likewise", "sub": "ann", "nonce": ATTEMPT.nonce,
            "iat": moment, "exp": moment + 300,
        }  # fmt: skip
        return {k: v for k, v in {**plain, **changes}.items() if v is not None}

    def sign(self, key: RSAKey = KEY, alg: str = "RS256", **changes: Any) -> dict[str, Any]:
        return {"id_token": jwt.encode({"alg": alg, "kid": "one"}, self.claims(**changes), key)}


@pytest.fixture
def hostile() -> Iterator[Hostile]:
    """A provider on loopback."""
    made = Hostile()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            made.awake.wait()
            found = made.respond(self.path)
            body = found if isinstance(found, bytes) else json.dumps(found).encode()
            self.send_response(made.status)
            self.send_header("Content-Length", str(len(body)))
            if 300 <= made.status < 400:
                self.send_header("Location", f"{made.issuer}/elsewhere")
            self.end_headers()
            for byte in body if made.between else ():
                self.wfile.write(bytes([byte]))
                time.sleep(made.between)
            self.wfile.write(b"" if made.between else body)

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.do_GET()

        def log_message(self, format: str, *args: object) -> None:
            """Nobody wants to know."""

        def handle(self) -> None:
            # The client has no patience, as it should.
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                super().handle()

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made.issuer = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield made
    server.shutdown()
    server.server_close()
    thread.join(10)


def client(hostile: Hostile) -> Provider:
    return Provider(hostile.issuer, "likewise", "secret")


def test_an_honest_token_is_taken(hostile: Hostile) -> None:
    hostile.token = hostile.sign()
    assert client(hostile).claims(ATTEMPT, "code", "back")["sub"] == "ann"
    where = client(hostile).address(ATTEMPT, "http://127.0.0.1/back")
    assert f"state={ATTEMPT.state}" in where
    assert "code_challenge_method=S256" in where
    assert ATTEMPT.verifier not in where


def test_keys_that_the_provider_has_changed_are_fetched_again_but_not_all_the_time(
    hostile: Hostile,
) -> None:
    provider, other = client(hostile), RSAKey.generate_key(2048, {"kid": "two"})
    hostile.token = hostile.sign()
    provider.claims(ATTEMPT, "code", "back")
    hostile.keys = KeySet([other]).as_dict(private=False)
    hostile.token = {
        "id_token": jwt.encode({"alg": "RS256", "kid": "two"}, hostile.claims(), other)
    }
    assert provider.claims(ATTEMPT, "code", "back")["sub"] == "ann"
    fetched = hostile.asked.count("/keys")
    assert fetched == 2
    for name in ("three", "four"):
        header = {"alg": "RS256", "kid": name}
        hostile.token = {"id_token": jwt.encode(header, hostile.claims(), other)}
        with pytest.raises(ServiceError, match="does not hold"):
            provider.claims(ATTEMPT, "code", "back")
    assert hostile.asked.count("/keys") == fetched


def test_who_was_revoked_stays_so_whatever_they_are_called_next(sqlite_url: str) -> None:
    store, settings = Store.open(sqlite_url), Settings()
    create_token(store, "operator", "olga", None)
    claims = {"iss": "https://id.example", "sub": "17", "likewise_role": "regulator",
              "preferred_username": "ann"}  # fmt: skip
    _, session = begin_sign_on(store, settings, claims, ())
    begin_sign_on(store, settings, {**claims, "sub": "18"}, ())
    revoke_token(store, session.identity.id)
    for change in ({}, {"preferred_username": "anna"}, {"likewise_role": "operator"}):
        with pytest.raises(ServiceError, match="was revoked"):
            begin_sign_on(store, settings, {**claims, **change}, ())
    begin_sign_on(store, settings, {**claims, "sub": "18", "preferred_username": "bo"}, ())
    store.close()


MINUTE = 60
NOW = int(time.time())


@pytest.mark.parametrize(
    "changes",
    [
        {"key": OTHER},
        {"aud": "another"},
        {"aud": None},
        {"iss": "https://evil.example"},
        {"nonce": "x" * 43},
        {"nonce": None},
        {"exp": NOW - 10 * MINUTE},
        {"exp": None},
        {"exp": "soon"},
        {"sub": None},
        {"iat": NOW + 60 * MINUTE},
        {"nbf": NOW + 60 * MINUTE},
        {"azp": "another"},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_a_token_that_does_not_hold_lets_nobody_in(
    hostile: Hostile, changes: dict[str, Any]
) -> None:
    hostile.token = hostile.sign(**changes)
    with pytest.raises(ServiceError) as refused:
        client(hostile).claims(ATTEMPT, "code", "back")
    assert (refused.value.code, refused.value.status) == ("sign-on-refused", 401)


@pytest.mark.parametrize(
    "token", [b"", b"[]", b"junk", {}, {"id_token": 7}, {"id_token": "a.b.c"}, {"id_token": ""}]
)
def test_junk_instead_of_a_token(hostile: Hostile, token: Any) -> None:
    hostile.token = token
    with pytest.raises(ServiceError) as refused:
        client(hostile).claims(ATTEMPT, "code", "back")
    assert refused.value.code == "sign-on-refused"


def test_unsigned_and_symmetric_tokens_are_refused(hostile: Hostile) -> None:
    import base64

    def part(value: object) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    for alg in ("none", "HS256"):
        token = ".".join((part({"alg": alg}), part(hostile.claims()), ""))
        hostile.token = {"id_token": token}
        with pytest.raises(ServiceError, match="does not hold"):
            client(hostile).claims(ATTEMPT, "code", "back")


@pytest.mark.parametrize(
    "config",
    [
        lambda known: {**known, "issuer": "https://evil.example"},
        lambda known: {**known, "jwks_uri": "http://evil.example/keys"},
        lambda known: {**known, "authorization_endpoint": "javascript:alert(1)"},
        lambda known: {k: v for k, v in known.items() if k != "authorization_endpoint"},
        lambda _: b"junk",
        lambda known: [known],
        lambda _: b"x" * 300_000,
    ],
)
def test_a_provider_that_says_something_else_of_itself(hostile: Hostile, config: Any) -> None:
    hostile.config = config
    with pytest.raises(ServiceError) as refused:
        client(hostile).address(ATTEMPT, "back")
    assert refused.value.code == "sign-on-refused"


def test_keys_that_are_none(hostile: Hostile) -> None:
    for keys in ({}, {"keys": [{"kty": "x"}]}, {"keys": 7}):
        hostile.keys, hostile.token = keys, hostile.sign()
        with pytest.raises(ServiceError) as refused:
            client(hostile).claims(ATTEMPT, "code", "back")
        assert refused.value.code == "sign-on-refused"


def test_a_slow_provider_is_not_waited_for(
    hostile: Hostile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(providers, "TIMEOUT", 0.2)
    hostile.awake.clear()  # until the caller has given up
    with pytest.raises(ServiceError) as refused:
        client(hostile).address(ATTEMPT, "back")
    hostile.awake.set()
    assert (refused.value.code, refused.value.status) == ("provider-unreachable", 502)


def test_a_provider_that_sends_byte_after_byte_is_not_waited_for(
    hostile: Hostile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(providers, "TIMEOUT", 0.3)
    hostile.between = 0.1
    with pytest.raises(ServiceError, match="too slowly") as refused:
        client(hostile).address(ATTEMPT, "back")
    assert (refused.value.code, refused.value.status) == ("sign-on-refused", 401)


@pytest.mark.parametrize("status", [302, 404, 500])
def test_a_provider_that_fails_or_sends_us_elsewhere(hostile: Hostile, status: int) -> None:
    hostile.status = status
    with pytest.raises(ServiceError, match=f"responds {status}") as refused:
        client(hostile).address(ATTEMPT, "back")
    assert refused.value.code == "sign-on-refused"
    assert hostile.asked == ["/.well-known/openid-configuration"], "nowhere else"


def test_logout_tokens(hostile: Hostile) -> None:
    event: dict[str, Any] = {LOGOUT: {}}
    good = hostile.sign(nonce=None, events=event, sid="1", sub=None)["id_token"]
    assert client(hostile).logged_out(good)["sid"] == "1"
    for bad in (hostile.sign(events=event), hostile.sign(nonce=None)):
        with pytest.raises(ServiceError, match="no logout token"):
            client(hostile).logged_out(bad["id_token"])


@pytest.mark.parametrize(
    "claims",
    [
        {},
        {"likewise_role": ["auditor"], "preferred_username": "ann"},
        {"likewise_role": "auditor", "preferred_username": 7},
        {"likewise_role": "auditor", "preferred_username": "ann", "likewise_docket": ["a"]},
        {"likewise_role": "client", "preferred_username": "ann", "likewise_docket": "a"},
    ],
)
def test_claims_that_say_nothing(claims: dict[str, Any]) -> None:
    with pytest.raises(ServiceError, match="no role here"):
        identity_claims(Settings(), claims)


@pytest.mark.parametrize(
    "given",
    [{"oidc_issuer": "http://id.example", "oidc_client_id": "x"},
     {"oidc_issuer": "https://id.example"}],
)  # fmt: skip
def test_what_is_no_provider(given: dict[str, str]) -> None:
    with pytest.raises(ParameterError, match="LIKEWISE_OIDC"):
        provider_from(Settings(**given))
