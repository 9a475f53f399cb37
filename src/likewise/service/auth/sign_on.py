"""Signing on by the organisation's provider: its claims say who somebody is."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from likewise.errors import ParameterError
from likewise.service.auth.sign_ins import Session, end_sessions, open_session
from likewise.service.auth.tokens import ROLES, Identity, Role, add_token, identity_of
from likewise.service.errors import ServiceError
from likewise.service.ledger.schema import sessions, tokens
from likewise.service.ledger.store import Store
from likewise.service.settings import Settings

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

    An auditor must be among ``members``, those of the docket. The same person always has the same
    identity, which the operator can revoke; sessions of theirs with another role end.
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
    parts = "\n".join((issuer, subject, role, name, docket or ""))
    token_id = f"sso-{hashlib.sha256(parts.encode()).hexdigest()[:16]}"
    with store.reading() as connection:
        row = connection.execute(sa.select(tokens).where(tokens.c.id == token_id)).first()
    if row is not None and row.revoked is not None:
        raise ServiceError("revoked", 403, "Your access was revoked. Ask the operator.")
    if row is not None:
        return identity_of(row)
    try:
        # Nobody gets to know this token: the sign-on opens the pages.
        return add_token(store, token_id, role, name, docket)[1]
    except sa.exc.IntegrityError:
        return _identity(store, issuer, subject, role, name, docket)
    except ParameterError as error:
        raise ServiceError("no-role", 403, f"{error} Ask your organisation.") from error


def end_sign_on(store: Store, issuer: str, subject: str, provider_session: str = "") -> int:
    """End all sessions of a person, or of one session at the provider; return their number."""
    condition = sessions.c.issuer == issuer
    if subject:
        condition &= sessions.c.subject == subject
    if provider_session:
        condition &= sessions.c.provider_session == provider_session
    if not subject and not provider_session:
        return 0
    with store.changing() as connection:
        return end_sessions(connection, condition)
