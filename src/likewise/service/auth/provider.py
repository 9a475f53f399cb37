"""The organisation's sign-on: an OpenID Connect provider, which is not trusted.

Codes are exchanged with PKCE. An ID token must be signed by the provider's own key, for this
client, for now, and for the browser that began; anything else is refused.
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

# Seconds that the provider may take, and bytes that it may send.
TIMEOUT = 5.0
LARGEST = 200_000
# Seconds for which the provider's configuration is cached, and by which clocks may differ.
CACHED = 300.0
LEEWAY = 60
ALGORITHMS = ["RS256", "PS256", "ES256", "EdDSA"]
LOGOUT = "http://schemas.openid.net/event/backchannel-logout"


@dataclass(frozen=True)
class Attempt:
    """One attempt to sign on, which the browser carries as a cookie until it comes back."""

    state: str
    nonce: str
    verifier: str

    @property
    def cookie(self) -> str:
        """Return the value of the cookie."""
        return ".".join((self.state, self.nonce, self.verifier))

    @classmethod
    def read(cls, cookie: str) -> Attempt | None:
        """Parse a cookie; return None if it holds no attempt."""
        parts = cookie.split(".")
        return cls(*parts) if len(parts) == 3 and all(len(p) == 43 for p in parts) else None


class Provider:
    """The OpenID Connect provider that the settings name."""

    def __init__(self, issuer: str, client_id: str, client_secret: str) -> None:
        self.issuer, self.client_id, self.client_secret = issuer, client_id, client_secret
        self._cached: tuple[float, Mapping[str, Any], KeySet] | None = None

    def address(self, attempt: Attempt, back: str) -> str:
        """Return the provider's page to which the browser is sent."""
        return str(
            prepare_grant_uri(
                self._endpoint("authorization_endpoint"), client_id=self.client_id,
                response_type="code", redirect_uri=back, scope="openid profile likewise",
                state=attempt.state, nonce=attempt.nonce,
                code_challenge=create_s256_code_challenge(attempt.verifier),
                code_challenge_method="S256",
            )
        )  # fmt: skip

    def claims(self, attempt: Attempt, code: str, back: str) -> Mapping[str, Any]:
        """Return the claims about a person who came back with a code."""
        form = {
            "grant_type": "authorization_code", "code": code, "redirect_uri": back,
            "code_verifier": attempt.verifier,
        }  # fmt: skip
        token = self._request("POST", self._endpoint("token_endpoint"), data=form).get("id_token")
        if not isinstance(token, str):
            raise _refused("The provider sent no ID token")
        return self._checked(token, {"nonce": attempt.nonce})

    def logged_out(self, token: str) -> Mapping[str, Any]:
        """Return the claims of a logout token: somebody signed out at the provider."""
        claims = self._checked(token, {}, logout=True)
        if LOGOUT not in claims.get("events", {}) or "nonce" in claims:
            raise _refused("This is no logout token")
        return claims

    def end_address(self, back: str) -> str | None:
        """Return the provider's page on which to sign out there as well, if it has one."""
        page = self._describe()[0].get("end_session_endpoint")
        if not isinstance(page, str) or not _safe(page):
            return None
        query = {"client_id": self.client_id, "post_logout_redirect_uri": back}
        return str(httpx.URL(page, params=query))

    def _checked(
        self, token: str, params: dict[str, str], *, logout: bool = False
    ) -> Mapping[str, Any]:
        try:
            decoded = jwt.decode(token, self._describe()[1], algorithms=ALGORITHMS)
            options = {
                "iss": {"essential": True, "value": self.issuer},
                "aud": {"essential": True, "value": self.client_id},
            }
            params = {**params, "client_id": self.client_id}
            claims = CodeIDToken(decoded.claims, decoded.header, options, params)
            if logout:
                claims.setdefault("sub", "")  # a logout token may name the session alone
            claims.validate(leeway=LEEWAY)
        except (JoseError, ValueError, KeyError, TypeError) as error:
            fault = f"{type(error).__name__}: {error}"
            raise _refused(f"The provider's token does not hold ({fault})") from error
        return dict(decoded.claims)

    def _endpoint(self, name: str) -> str:
        return _address(self._describe()[0], name)

    def _describe(self) -> tuple[Mapping[str, Any], KeySet]:
        """Return the provider's configuration and its keys."""
        moment = time.monotonic()
        if self._cached is None or moment - self._cached[0] > CACHED:
            url = f"{self.issuer.rstrip('/')}/.well-known/openid-configuration"
            config = self._request("GET", url)
            if config.get("issuer") != self.issuer:
                raise _refused(f"The provider calls itself {str(config.get('issuer'))[:100]!r}")
            jwks = self._request("GET", _address(config, "jwks_uri"))
            try:
                keys = KeySet.import_key_set(cast(Any, jwks))
            except (JoseError, ValueError, KeyError, TypeError) as error:
                raise _refused(f"The provider's keys cannot be read ({error})") from error
            self._cached = (moment, config, keys)
        return self._cached[1], self._cached[2]

    def _request(self, method: str, url: str, **content: Any) -> dict[str, Any]:
        """Ask the provider within TIMEOUT and LARGEST, and follow no redirect."""
        if content:
            content["auth"] = (self.client_id, self.client_secret)
        ends = time.monotonic() + 2 * TIMEOUT
        try:
            with httpx.stream(method, url, timeout=TIMEOUT, **content) as response:
                content_read = b""
                for part in response.iter_bytes():
                    content_read += part
                    if len(content_read) > LARGEST or time.monotonic() > ends:
                        raise _refused("The provider sends too much, or too slowly")
                if not response.is_success:
                    raise _refused(f"The provider responds {response.status_code}")
                document = httpx.Response(200, content=content_read).json()
        except httpx.HTTPError as error:
            fault = str(error) or type(error).__name__
            raise ServiceError(
                "provider-unreachable", 502,
                f"The organisation's sign-on does not respond ({fault}). Try again in a while, or "
                f"sign in with a token.",
            ) from error  # fmt: skip
        except (ValueError, RecursionError) as error:
            raise _refused("The provider's response is no JSON") from error
        if not isinstance(document, dict):
            raise _refused("The provider's response is no JSON object")
        return document


def _refused(fault: str) -> ServiceError:
    return ServiceError(
        "sign-on-refused", 401,
        f"{fault}, so nobody was signed in. Tell whoever runs this docket.",
    )  # fmt: skip


def _address(config: Mapping[str, Any], name: str) -> str:
    """Return an address of the configuration; refuse one that is not encrypted."""
    address = config.get(name)
    if not isinstance(address, str) or not _safe(address):
        raise _refused(f"The provider names no {name} that can be used")
    return address


def _safe(url: str) -> bool:
    """Tell whether an address is encrypted, or on this machine."""
    parts = urlsplit(url)
    return parts.scheme == "https" or (
        parts.scheme == "http" and parts.hostname in ("127.0.0.1", "localhost", "::1")
    )


def provider_from(settings: Settings) -> Provider | None:
    """Return the provider that the settings name; None without one."""
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
