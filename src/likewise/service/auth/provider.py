"""The organisation's sign-on: a provider of OpenID Connect, asked in bounded time and not trusted.

Codes are exchanged with PKCE; an ID token must be signed by the provider's own key, for us, now,
and for the browser that began. Whatever is not so lets nobody in.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import urlsplit

import httpx
from authlib.oauth2.rfc6749.parameters import prepare_grant_uri
from authlib.oauth2.rfc7636 import create_s256_code_challenge
from authlib.oidc.core import CodeIDToken
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from likewise.errors import ParameterError
from likewise.service.errors import ServiceError
from likewise.service.settings import Settings

__all__ = ["Attempt", "Provider", "provider_from"]

# Seconds that the provider may take, and bytes that it may send.
PATIENCE = 5.0
LARGEST = 200_000
# Seconds for which what a provider says of itself is remembered, and by which clocks may differ.
REMEMBERED = 300.0
LEEWAY = 60
ALGORITHMS = ["RS256", "PS256", "ES256", "EdDSA"]
LOGOUT = "http://schemas.openid.net/event/backchannel-logout"


@dataclass(frozen=True)
class Attempt:
    """One attempt to sign on, which the browser keeps until it comes back."""

    state: str
    nonce: str
    verifier: str

    @property
    def cookie(self) -> str:
        """The attempt as a cookie."""
        return ".".join((self.state, self.nonce, self.verifier))

    @classmethod
    def read(cls, cookie: str) -> Attempt | None:
        """The attempt of a cookie; None if it is none."""
        parts = cookie.split(".")
        return cls(*parts) if len(parts) == 3 and all(len(p) == 43 for p in parts) else None


class Provider:
    """A provider of OpenID Connect, as the settings name it."""

    def __init__(self, issuer: str, client_id: str, client_secret: str) -> None:
        self.issuer, self.client_id, self.client_secret = issuer, client_id, client_secret
        self._known: tuple[float, Mapping[str, Any], KeySet] | None = None

    def address(self, attempt: Attempt, back: str) -> str:
        """The page of the provider to which a browser is sent."""
        return str(
            prepare_grant_uri(
                self._said("authorization_endpoint"), client_id=self.client_id,
                response_type="code", redirect_uri=back, scope="openid profile likewise",
                state=attempt.state, nonce=attempt.nonce,
                code_challenge=create_s256_code_challenge(attempt.verifier),
                code_challenge_method="S256",
            )
        )  # fmt: skip

    def claims(self, attempt: Attempt, code: str, back: str) -> Mapping[str, Any]:
        """The claims about somebody who came back with a code."""
        form = {
            "grant_type": "authorization_code", "code": code, "redirect_uri": back,
            "code_verifier": attempt.verifier,
        }  # fmt: skip
        given = self._request("POST", self._said("token_endpoint"), data=form)
        token = given.get("id_token")
        if not isinstance(token, str):
            raise _refused("The provider sent no ID token")
        return self._checked(token, {"nonce": attempt.nonce})

    def logged_out(self, token: str) -> Mapping[str, Any]:
        """The claims of a logout token: somebody signed out at the provider."""
        claims = self._checked(token, {}, logout=True)
        if LOGOUT not in claims.get("events", {}) or "nonce" in claims:
            raise _refused("This is no logout token")
        return claims

    def end_address(self, back: str) -> str | None:
        """The page of the provider on which somebody signs out there too, if it has one."""
        where = self._config().get("end_session_endpoint")
        if not isinstance(where, str) or not _safe(where):
            return None
        more = {"client_id": self.client_id, "post_logout_redirect_uri": back}
        return str(httpx.URL(where, params=more))

    def _checked(
        self, token: str, params: dict[str, str], *, logout: bool = False
    ) -> Mapping[str, Any]:
        try:
            decoded = jwt.decode(token, self._keys(), algorithms=ALGORITHMS)
            wanted = {
                "iss": {"essential": True, "value": self.issuer},
                "aud": {"essential": True, "value": self.client_id},
            }
            params = {**params, "client_id": self.client_id}
            made = CodeIDToken(decoded.claims, decoded.header, wanted, params)
            if logout:
                made.setdefault("sub", "")  # a logout token may name the session alone
            made.validate(leeway=LEEWAY)
        except (JoseError, ValueError, KeyError, TypeError) as error:
            why = f"{type(error).__name__}: {error}"
            raise _refused(f"The provider's token does not hold ({why})") from error
        return dict(decoded.claims)

    def _said(self, name: str) -> str:
        where = self._config().get(name)
        if not isinstance(where, str) or not _safe(where):
            raise _refused(f"The provider names no {name} that can be used")
        return where

    def _config(self) -> Mapping[str, Any]:
        return self._ask()[0]

    def _keys(self) -> KeySet:
        return self._ask()[1]

    def _ask(self) -> tuple[Mapping[str, Any], KeySet]:
        """The provider as it describes itself, and its keys."""
        moment = time.monotonic()
        if self._known is None or moment - self._known[0] > REMEMBERED:
            where = f"{self.issuer.rstrip('/')}/.well-known/openid-configuration"
            config = self._request("GET", where)
            if config.get("issuer") != self.issuer:
                raise _refused(f"The provider calls itself {str(config.get('issuer'))[:100]!r}")
            keys = config.get("jwks_uri")
            if not isinstance(keys, str) or not _safe(keys):
                raise _refused("The provider names no keys that can be used")
            try:
                found = KeySet.import_key_set(cast(Any, self._request("GET", keys)))
            except (JoseError, ValueError, KeyError, TypeError) as error:
                raise _refused(f"The provider's keys cannot be read ({error})") from error
            self._known = (moment, config, found)
        return self._known[1], self._known[2]

    def _request(self, method: str, url: str, **content: Any) -> dict[str, Any]:
        """Ask the provider; it may take so long, send so much, and send us nowhere else."""
        if content:
            content["auth"] = (self.client_id, self.client_secret)
        ends = time.monotonic() + 2 * PATIENCE
        try:
            with httpx.stream(method, url, timeout=PATIENCE, **content) as response:
                read = b""
                for part in response.iter_bytes():
                    read += part
                    if len(read) > LARGEST or time.monotonic() > ends:
                        raise _refused("The provider sends too much, or too slowly")
                if not response.is_success:
                    raise _refused(f"The provider responds {response.status_code}")
                found = httpx.Response(200, content=read).json()
        except httpx.HTTPError as error:
            why = str(error) or type(error).__name__
            raise ServiceError(
                "provider-unreachable", 502,
                f"The organisation's sign-on does not respond ({why}). Try again in a while, or "
                f"sign in with a token.",
            ) from error  # fmt: skip
        except (ValueError, RecursionError) as error:
            raise _refused("The provider's response is no JSON") from error
        if not isinstance(found, dict):
            raise _refused("The provider's response is no JSON object")
        return found


def _refused(why: str) -> ServiceError:
    return ServiceError(
        "sign-on-refused", 401,
        f"{why}, so nobody was signed in. Tell whoever runs this docket.",
    )  # fmt: skip


def _safe(url: str) -> bool:
    """Encrypted, or on this very machine."""
    parts = urlsplit(url)
    return parts.scheme == "https" or (
        parts.scheme == "http" and parts.hostname in ("127.0.0.1", "localhost", "::1")
    )


def provider_from(settings: Settings) -> Provider | None:
    """The provider that the settings name; None without one."""
    if not settings.oidc_issuer:
        return None
    if not settings.oidc_client_id:
        raise ParameterError(
            "LIKEWISE_OIDC_CLIENT_ID", "must be given with an issuer", "", "Register a client."
        )
    if not _safe(settings.oidc_issuer):
        raise ParameterError(
            "LIKEWISE_OIDC_ISSUER", "must be an https address", settings.oidc_issuer,
            "Only on this machine may it be http.",
        )  # fmt: skip
    return Provider(settings.oidc_issuer, settings.oidc_client_id, settings.oidc_client_secret)
