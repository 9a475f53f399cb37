"""Notices: members are told what awaits them, by e-mail or through a webhook.

A notice says nothing about anybody in a round: how many rounds await whom, and where. A member who
was told is not told again for a while, whichever process does it; failures are logged.
"""

from __future__ import annotations

import logging
import smtplib
from collections.abc import Mapping
from dataclasses import dataclass
from email.message import EmailMessage

import httpx
import sqlalchemy as sa

from likewise.service.clock import later, now
from likewise.service.dockets.docket import Docket
from likewise.service.errors import ServiceError
from likewise.service.ledger.schema import contacts
from likewise.service.ledger.store import Store
from likewise.service.settings import Settings

PATIENCE = 10.0
LOG = logging.getLogger("likewise.service")


@dataclass(frozen=True)
class Notice:
    """The number of rounds that await a member; ``email`` is empty where none is known."""

    docket: str
    member: str
    awaiting: int
    email: str = ""


def awaiting(docket: Docket) -> dict[str, int]:
    """Return how many rounds each member is asked about and has not finished."""
    moment, numbers = docket.moment(), {}
    for name in docket.projection.members:
        member = docket.seating.members.get(name)
        reviews = member.opened.values() if member is not None else ()
        targets = (review.seat.target(docket.projection) for review in reviews)
        if number := sum(target.status(moment) == "asked" for target in targets):
            numbers[name] = number
    return numbers


def keep_contact(store: Store, docket: str, member: str, email: str) -> None:
    """Keep the address at which a member wants to be told; an empty one for none."""
    if email and ("@" not in email or any(char.isspace() for char in email) or len(email) > 254):
        raise ServiceError("bad-address", 422, f"{email!r} is not an e-mail address. Correct it.")
    with store.changing() as connection:
        connection.execute(contacts.delete().where(_of(docket, member)))
        _insert(connection, docket, member, email, None)


def tell(store: Store, settings: Settings, docket: str, waiting: Mapping[str, int]) -> list[Notice]:
    """Send notices to members who were not told lately; return those that were sent."""
    sent = []
    for member, number in waiting.items():
        email = _claimed(store, docket, member, settings.notice_seconds)
        if email is None:
            continue
        notice = Notice(docket, member, number, email)
        try:
            if settings.webhook:
                _post(settings, notice)
            if settings.smtp and email:
                _mail(settings, notice)
        except (httpx.HTTPError, OSError, smtplib.SMTPException) as error:
            context = {"docket": docket, "member": member, "why": type(error).__name__}
            LOG.warning("A notice could not be sent.", extra={"said": context})
            continue
        sent.append(notice)
    return sent


def _claimed(store: Store, docket: str, member: str, seconds: float) -> str | None:
    """Return the member's address, if this process is the one to tell them now."""
    moment = now()
    with store.changing() as connection:
        row = connection.execute(sa.select(contacts).where(_of(docket, member))).first()
        if row is None:
            _insert(connection, docket, member, "", moment)
            return ""
        free = contacts.c.told.is_(None) | (contacts.c.told <= later(moment, -seconds))
        update = contacts.update().where(_of(docket, member), free).values(told=moment)
        return str(row.email) if connection.execute(update).rowcount else None


def _of(docket: str, member: str) -> sa.ColumnElement[bool]:
    return (contacts.c.docket == docket) & (contacts.c.member == member)


def _insert(
    connection: sa.Connection, docket: str, member: str, email: str, told: str | None
) -> None:
    row = contacts.insert().values(docket=docket, member=member, email=email, told=told)
    connection.execute(row)


def _post(settings: Settings, notice: Notice) -> None:
    body = {
        "docket": notice.docket, "member": notice.member, "awaiting": notice.awaiting,
        "address": settings.public_url,
    }  # fmt: skip
    httpx.post(settings.webhook, json=body, timeout=PATIENCE).raise_for_status()


def _mail(settings: Settings, notice: Notice) -> None:
    host, _, port = settings.smtp.partition(":")
    message = EmailMessage()
    message["From"], message["To"] = settings.mail_from, notice.email
    rounds = "1 round awaits" if notice.awaiting == 1 else f"{notice.awaiting} rounds await"
    message["Subject"] = f"{rounds} you in {notice.docket}"
    address = settings.public_url or "the address that you were given"
    message.set_content(f"{rounds} you in {notice.docket}. Sign in at {address} with your token.\n")
    with smtplib.SMTP(host, int(port or 25), timeout=PATIENCE) as server:
        server.send_message(message)
