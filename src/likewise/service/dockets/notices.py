"""Notices: members are told what awaits them, by e-mail or through a webhook.

Nothing is said about anybody in a round: how many rounds await whom, and where. Whoever is told
is not told again for a while, whichever process tells them; what fails is logged.
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

__all__ = ["Notice", "awaiting", "keep_contact", "tell"]

PATIENCE = 10.0
LOG = logging.getLogger("likewise.service")


@dataclass(frozen=True)
class Notice:
    """So many rounds await a member; ``email`` is empty where none is known."""

    docket: str
    member: str
    awaiting: int
    email: str = ""


def awaiting(docket: Docket) -> dict[str, int]:
    """How many rounds each member is asked about and has not finished."""
    moment, found = docket.moment(), {}
    for member, known in docket.seating.members.items():
        targets = (review.seat.target(docket.projection) for review in known.opened.values())
        number = sum(target.status(moment) == "asked" for target in targets)
        if number and member in docket.projection.members:
            found[member] = number
    return found


def keep_contact(store: Store, docket: str, member: str, email: str) -> None:
    """The address by which a member wants to be told; an empty one for none."""
    if email and ("@" not in email or any(char.isspace() for char in email) or len(email) > 254):
        raise ServiceError("bad-address", 422, f"{email!r} is not an e-mail address. Correct it.")
    mine = (contacts.c.docket == docket) & (contacts.c.member == member)
    with store.changing() as connection:
        connection.execute(contacts.delete().where(mine))
        connection.execute(
            contacts.insert().values(docket=docket, member=member, email=email, told=None)
        )


def tell(store: Store, settings: Settings, docket: str, waiting: Mapping[str, int]) -> list[Notice]:
    """Tell those whom something awaits and who were not told lately; whom it told."""
    told = []
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
            said = {"docket": docket, "member": member, "why": type(error).__name__}
            LOG.warning("A notice could not be sent.", extra={"said": said})
            continue
        told.append(notice)
    return told


def _claimed(store: Store, docket: str, member: str, seconds: float) -> str | None:
    """The member's address, if it is for this process to tell them now."""
    moment = now()
    mine = (contacts.c.docket == docket) & (contacts.c.member == member)
    lately = contacts.c.told > later(moment, -seconds)
    with store.changing() as connection:
        row = connection.execute(sa.select(contacts).where(mine)).first()
        if row is None:
            connection.execute(
                contacts.insert().values(docket=docket, member=member, email="", told=moment)
            )
            return ""
        free = contacts.c.told.is_(None) | ~lately
        claimed = connection.execute(contacts.update().where(mine, free).values(told=moment))
        return str(row.email) if claimed.rowcount else None


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
    where = settings.public_url or "the address that you were given"
    message.set_content(f"{rounds} you in {notice.docket}. Sign in at {where} with your token.\n")
    with smtplib.SMTP(host, int(port or 25), timeout=PATIENCE) as server:
        server.send_message(message)
