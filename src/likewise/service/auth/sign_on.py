"""Signing on by the organisation's provider: who somebody is follows from its claims."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from likewise.errors import ParameterError
from likewise.service.auth.sign_ins import Session, end_sessions, open_session
from likewise.service.auth.tokens import ROLES, Identity, Role, add_token
from likewise.service.errors import ServiceError
from likewise.service.ledger.schema import sessions, tokens
from likewise.service.ledger.store import Store
from likewise.service.settings import Settings

__all__ = ["begin_sign_on", "end_sign_on", "identity_claims"]

# Programs have tokens; people sign on.
PEOPLE: tuple[Role, ...] = tuple(role for role in ROLES if role != "client")


def identity_claims(settings: Settings, claims: Mapping[str, Any]) -> tuple[Role, str, str | None]:
    """Role, name and docket of somebody, from the claims that the settings name."""
    role = claims.get(settings.oidc_role_claim)
    name = claims.get(settings.oidc_name_claim)
    docket = claims.get(settings.oidc_docket_claim)
    known = next((one for one in PEOPLE if one == role), None)
    if known is None or not isinstance(name, str) or not isinstance(docket, str | None):
        raise ServiceError(
            "no-role", 403,
            f"Your organisation gives you no role here: the claims {settings.oidc_role_claim!r} "
            f"({', '.join(PEOPLE)}), {settings.oidc_name_claim!r} and, for a seat, "
            f"{settings.oidc_docket_claim!r} must say who you are. Ask it to.",
        )  # fmt: skip
    return known, name, None if known == "operator" else docket


def begin_sign_on(
    store: Store, settings: Settings, claims: Mapping[str, Any], members: tuple[str, ...]
) -> tuple[str, Session]:
    """A session for somebody with these claims: the cookie's value, and the session.

    ``members`` are those of the docket: a seat is for one of them. The same person is always the
    same identity, which the operator can revoke; other sessions of theirs with another role end.
    """
    role, name, docket = identity_claims(settings, claims)
    if role == "auditor" and name not in members:
        raise ServiceError(
            "no-member", 403, f"{name!r} does not sit on the panel of {docket!r}. Ask the operator."
        )
    issuer, subject = str(claims["iss"]), str(claims["sub"])
    identity = _identity(store, issuer, subject, role, name, docket)
    with store.changing() as connection:
        mine = (sessions.c.issuer == issuer) & (sessions.c.subject == subject)
        end_sessions(connection, mine & (sessions.c.token != identity.id))
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
        return Identity(row.id, role, row.name, row.docket, row.created)
    try:
        # Nobody knows this token: it is the sign-on that opens the pages.
        hidden = f"lw_{role}_{secrets.token_urlsafe(32)}"
        return add_token(store, hidden, token_id, role, name, docket)
    except sa.exc.IntegrityError:
        return _identity(store, issuer, subject, role, name, docket)
    except ParameterError as error:
        raise ServiceError("no-role", 403, f"{error} Ask your organisation.") from error


def end_sign_on(store: Store, issuer: str, subject: str, provider_session: str = "") -> int:
    """End the sessions of somebody everywhere, or those of one session at the provider."""
    which = sessions.c.issuer == issuer
    if subject:
        which &= sessions.c.subject == subject
    if provider_session:
        which &= sessions.c.provider_session == provider_session
    if not subject and not provider_session:
        return 0
    with store.changing() as connection:
        return end_sessions(connection, which)
