"""Sessions of browsers: a token is exchanged for a cookie, of which only a hash is stored."""

from __future__ import annotations

import math
import secrets
import time
from collections.abc import Mapping
from typing import Any, NamedTuple, cast
from urllib.parse import urlsplit

import httpx
import sqlalchemy as sa
from authlib.oauth2.rfc6749.parameters import prepare_grant_uri
from authlib.oauth2.rfc7636 import create_s256_code_challenge
from authlib.oidc.core import CodeIDToken
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import GuestProtocol, KeySet

from likewise.errors import ParameterError
from likewise_service.auth.tokens import ROLES, Identity, Role, create_token, identity_of, recognise
from likewise_service.clock import later, now
from likewise_service.errors import ServiceError
from likewise_service.language import N_
from likewise_service.ledger.database import seats, sessions, tokens
from likewise_service.ledger.kinds import SERVICE, Actor, SignedIn, SignedOut, acting
from likewise_service.ledger.records import sha256
from likewise_service.ledger.store import Store, notify
from likewise_service.settings import Settings


class Session(NamedTuple):
    """A browser in which somebody is signed in; its forms carry ``csrf``, ledgers name it ``id``.

    ``issuer`` and ``subject`` are those of the organisation's sign-on, or empty for a token.
    """

    identity: Identity
    csrf: str
    expires: str
    id: str
    issuer: str = ""
    subject: str = ""

    @property
    def actor(self) -> Actor:
        identity, issuer, subject = self.identity, self.issuer or None, self.subject or None
        signed_in = SignedIn(
            self.id, identity.id, identity.role, identity.name, issuer, subject, self.expires
        )
        return Actor.introduced(identity.issued, signed_in)


UNKNOWN = N_(
    "This token is not known, or was revoked. Copy all of it, or ask the operator for another."
)


def begin_session(store: Store, token: str, seconds: float) -> tuple[str, Session]:
    """Sign in with a token; return the cookie's value and the session."""
    identity = recognise(store, token)
    if identity is None:
        raise ServiceError("unknown-token", 401, UNKNOWN)
    if identity.role not in PEOPLE:
        sentence = N_("This is a program’s token; it opens no page. Use your own.")
        raise ServiceError("program", 403, sentence)
    return open_session(store, identity, seconds)


def open_session(
    store: Store, identity: Identity, seconds: float, *,
    issuer: str = "", subject: str = "", provider_session: str = "",
) -> tuple[str, Session]:  # fmt: skip
    """Begin a session; return the cookie's value and the session.

    The ledger of the identity's own docket records it at once, others when the person acts there.
    """
    cookie, csrf, moment = secrets.token_urlsafe(32), secrets.token_urlsafe(32), now()
    expires, name = later(moment, seconds), secrets.token_hex(8)
    session = Session(identity, csrf, expires, name, issuer, subject)
    with store.changing() as connection:
        end_sessions(connection, sessions.c.expires <= moment)
        connection.execute(
            sessions.insert().values(
                hash=cookie_hash(cookie), token=identity.id, csrf=csrf, expires=expires, id=name,
                issuer=issuer, subject=subject, provider_session=provider_session,
            )
        )  # fmt: skip
        if identity.docket is not None:
            with acting(session.actor):
                notify(connection, identity.docket, None)
    return cookie, session


def find_session(store: Store, cookie: str) -> Session | None:
    """Return the session of a cookie; None if it has ended or its token was revoked."""
    valid = (sessions.c.expires > now()) & tokens.c.revoked.is_(None)
    query = sa.select(sessions, tokens).join(tokens, tokens.c.id == sessions.c.token)
    query = query.where(sessions.c.hash == cookie_hash(cookie), valid)
    with store.reading() as connection:
        row = connection.execute(query).first()
    if row is None:
        return None
    identity = Identity(row.token, row.role, row.name, row.docket, row.created)
    return Session(identity, row.csrf, row.expires, row.id, row.issuer, row.subject)


def end_session(store: Store, cookie: str) -> None:
    with store.changing() as connection:
        end_sessions(connection, sessions.c.hash == cookie_hash(cookie))


def end_sessions(connection: sa.Connection, condition: sa.ColumnElement[bool]) -> None:
    """End sessions, and record it in the ledger of each one's docket."""
    _record_ends(connection, condition)
    ended = sa.select(sessions.c.hash).where(condition)
    connection.execute(seats.delete().where(seats.c.hash.in_(ended)))
    connection.execute(sessions.delete().where(condition))


def _record_ends(connection: sa.Connection, condition: sa.ColumnElement[bool]) -> None:
    query = sa.select(sessions.c.id, tokens.c.docket).where(condition, sessions.c.expires > now())
    query = query.join(tokens, tokens.c.id == sessions.c.token).order_by(tokens.c.docket)
    with acting(SERVICE):
        for row in connection.execute(query.where(tokens.c.docket.is_not(None))).all():
            notify(connection, row.docket, SignedOut(row.id))


def cookie_hash(cookie: str) -> str:
    return sha256(cookie.encode(errors="replace"))


# Programs have tokens; people sign on.
PEOPLE: tuple[Role, ...] = tuple(role for role in ROLES if role != "client")


def identity_claims(settings: Settings, claims: Mapping[str, Any]) -> tuple[Role, str, str | None]:
    """Return role, name and docket from the claims that the settings name."""
    role = claims.get(settings.oidc_role_claim)
    name = claims.get(settings.oidc_name_claim)
    docket = claims.get(settings.oidc_docket_claim)
    accepted = next((r for r in PEOPLE if r == role), None)
    if accepted is None or not isinstance(name, str) or not isinstance(docket, str | None):
        raise ServiceError(
            "no-role", 403,
            f"Your organisation gives you no role here: the claims {settings.oidc_role_claim!r} "
            f"({', '.join(PEOPLE)}), {settings.oidc_name_claim!r} and, for a seat, "
            f"{settings.oidc_docket_claim!r} must say who you are. Ask it to.",
        )  # fmt: skip
    return accepted, name, None if accepted == "operator" else docket


def begin_sign_on(
    store: Store, settings: Settings, claims: Mapping[str, Any], members: tuple[str, ...]
) -> tuple[str, Session]:
    """Begin a session for the owner of these claims; return the cookie's value and the session.

    An auditor must be one of the docket's ``members``. The same person always has the same
    identity, which the operator can revoke; their sessions with another role end.
    """
    role, name, docket = identity_claims(settings, claims)
    if role == "auditor" and name not in members:
        raise ServiceError(
            "no-member", 403, f"{name!r} does not sit on the panel of {docket!r}. Ask the operator."
        )
    issuer, subject = str(claims["iss"]), str(claims["sub"])
    identity = _identity(store, issuer, subject, role, name, docket)
    with store.changing() as connection:
        same_person = (sessions.c.issuer == issuer) & (sessions.c.subject == subject)
        end_sessions(connection, same_person & (sessions.c.token != identity.id))
    return open_session(
        store, identity, settings.session_seconds, issuer=issuer, subject=subject,
        provider_session=str(claims.get("sid", "")),
    )  # fmt: skip


def _identity(
    store: Store, issuer: str, subject: str, role: Role, name: str, docket: str | None
) -> Identity:
    person = f"sso-{_digest(issuer, subject)[:16]}"
    token_id = f"{person}-{_digest(role, name, docket or '')[:8]}"
    with store.reading() as connection:
        query = sa.select(tokens).where(tokens.c.id.startswith(person))
        rows = {row.id: row for row in connection.execute(query)}
    # A revoked person stays revoked, whatever role and name they come back with.
    if any(row.revoked is not None for row in rows.values()):
        raise ServiceError("revoked", 403, N_("Your access was revoked. Ask the operator."))
    if token_id in rows:
        return identity_of(rows[token_id])
    try:
        # Nobody learns this token: the sign-on opens the pages.
        with acting(SERVICE):
            return create_token(store, role, name, docket, token_id)[1]
    except sa.exc.IntegrityError:
        return _identity(store, issuer, subject, role, name, docket)
    except ParameterError as error:
        raise ServiceError("no-role", 403, f"{error} Ask your organisation.") from error


def _digest(*parts: str) -> str:
    return sha256("\n".join(parts).encode())


def end_sign_on(store: Store, issuer: str, subject: str, provider_session: str = "") -> None:
    """End all sessions of a person, or of one session at the provider."""
    named = {"subject": subject, "provider_session": provider_session}
    parts = [sessions.c[name] == value for name, value in named.items() if value]
    if parts:
        with store.changing() as connection:
            end_sessions(connection, sa.and_(sessions.c.issuer == issuer, *parts))


# Seconds that the provider may take, and bytes that it may send.
TIMEOUT = 5.0
LARGEST = 200_000
# Seconds for which the provider's configuration is cached, and by which clocks may differ.
CACHED = 300.0
LEEWAY = 60
# Seconds between two requests for keys that are made because a token names an unknown one.
KEYS_AGAIN = 30.0
ALGORITHMS = ["RS256", "PS256", "ES256", "EdDSA"]
LOGOUT = "http://schemas.openid.net/event/backchannel-logout"


class Attempt(NamedTuple):
    """An attempt to sign on, which the browser keeps as a cookie until it comes back."""

    state: str
    nonce: str
    verifier: str

    @classmethod
    def read(cls, cookie: str) -> Attempt | None:
        parts = cookie.split(".")
        return cls(*parts) if len(parts) == 3 and all(len(p) == 43 for p in parts) else None


class Provider:
    """The OpenID Connect provider that the settings name."""

    def __init__(self, issuer: str, client_id: str, client_secret: str) -> None:
        self.issuer, self.client_id, self.client_secret = issuer, client_id, client_secret
        self._cached: tuple[float, Mapping[str, Any], KeySet] | None = None
        self._fetched_again = -math.inf

    def address(self, attempt: Attempt, back: str) -> str:
        return str(
            prepare_grant_uri(
                _address(self._describe()[0], "authorization_endpoint"), client_id=self.client_id,
                response_type="code", redirect_uri=back, scope="openid profile likewise",
                state=attempt.state, nonce=attempt.nonce,
                code_challenge=create_s256_code_challenge(attempt.verifier),
                code_challenge_method="S256",
            )
        )  # fmt: skip

    def claims(self, attempt: Attempt, code: str, back: str) -> Mapping[str, Any]:
        form = {
            "grant_type": "authorization_code", "code": code, "redirect_uri": back,
            "code_verifier": attempt.verifier,
        }  # fmt: skip
        endpoint = _address(self._describe()[0], "token_endpoint")
        token = self._request("POST", endpoint, data=form).get("id_token")
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
        """Return the provider's page for signing out there too, if it has one."""
        page = self._describe()[0].get("end_session_endpoint")
        if not isinstance(page, str) or not _safe(page):
            return None
        query = {"client_id": self.client_id, "post_logout_redirect_uri": back}
        return str(httpx.URL(page, params=query))

    def _checked(
        self, token: str, params: dict[str, str], *, logout: bool = False
    ) -> Mapping[str, Any]:
        try:
            decoded = jwt.decode(token, self._keys_for, algorithms=ALGORITHMS)
            options = {
                "iss": {"essential": True, "value": self.issuer},
                "aud": {"essential": True, "value": self.client_id},
            }
            params = {**params, "client_id": self.client_id}
            claims = CodeIDToken(decoded.claims, decoded.header, options, params)
            if logout:
                claims.setdefault("sub", "")  # a logout token may name the session alone
            claims.validate(leeway=LEEWAY)
        except (JoseError, ValueError, KeyError, TypeError, AttributeError) as error:
            fault = f"{type(error).__name__}: {error}"
            raise _refused(f"The provider's token does not hold ({fault})") from error
        return dict(decoded.claims)

    def _keys_for(self, token: GuestProtocol) -> KeySet:
        """Return the provider's keys, fetched again if it seems to have changed them."""
        keys, name = self._describe()[1], token.headers().get("kid")
        there = name is None or any(key.kid == name for key in keys.keys)
        if not there and time.monotonic() - self._fetched_again > KEYS_AGAIN:
            self._cached, self._fetched_again = None, time.monotonic()
            keys = self._describe()[1]
        return keys

    def _describe(self) -> tuple[Mapping[str, Any], KeySet]:
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
                body = b""
                for part in response.iter_bytes():
                    body += part
                    if len(body) > LARGEST or time.monotonic() > ends:
                        raise _refused("The provider sends too much, or too slowly")
                if not response.is_success:
                    raise _refused(f"The provider responds {response.status_code}")
                document = httpx.Response(200, content=body).json()
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
    """Tell if an address is encrypted, or on this machine."""
    parts = urlsplit(url)
    local = parts.hostname in ("127.0.0.1", "localhost", "::1")
    return parts.scheme == "https" or (parts.scheme == "http" and local)


def provider_from(settings: Settings) -> Provider | None:
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


def list_seats(store: Store, cookie: str) -> list[Identity]:
    """List the seats of a session: the one it began with, and those added since."""
    session = cookie_hash(cookie)
    added = sa.select(seats.c.token).where(seats.c.hash == session)
    current = sa.select(sessions.c.token).where(sessions.c.hash == session)
    listed = tokens.c.id.in_(added.union(current))
    query = sa.select(tokens).where(listed, tokens.c.revoked.is_(None))
    with store.reading() as connection:
        rows = connection.execute(query.order_by(tokens.c.docket, tokens.c.name))
        return [identity_of(row) for row in rows]


def add_seat(store: Store, cookie: str, token: str) -> None:
    identity = recognise(store, token)
    if identity is None:
        raise ServiceError("unknown-token", 401, UNKNOWN)
    if identity.role != "auditor":
        sentence = N_("This is not the token of a member of a panel. Only members have seats.")
        raise ServiceError("unknown-token", 401, sentence)
    session = cookie_hash(cookie)
    with store.changing() as connection:
        query = sa.select(sessions.c.token).where(sessions.c.hash == session)
        ids = {connection.execute(query).scalar_one(), identity.id}
        same = (seats.c.hash == session) & seats.c.token.in_(ids)
        connection.execute(seats.delete().where(same))
        connection.execute(seats.insert(), [{"hash": session, "token": token} for token in ids])


def choose_seat(store: Store, cookie: str, token_id: str) -> None:
    if token_id not in {seat.id for seat in list_seats(store, cookie)}:
        sentence = N_("You have no such seat in this browser. Add it first.")
        raise ServiceError("no-seat", 404, sentence)
    session = sessions.c.hash == cookie_hash(cookie)
    with store.changing() as connection:
        # Another seat is another sign-in: a ledger knows each by one id.
        _record_ends(connection, session)
        values = {"token": token_id, "id": secrets.token_hex(8)}
        connection.execute(sessions.update().where(session).values(values))
