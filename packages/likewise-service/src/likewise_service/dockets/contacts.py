"""Contacts: members are told how many rounds await them, by e-mail or by a webhook."""

import smtplib
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from email.message import EmailMessage

import httpx
import sqlalchemy as sa

from likewise_service.clock import later, now
from likewise_service.dockets import reviews
from likewise_service.dockets.docket import Docket
from likewise_service.errors import LOG, ServiceError
from likewise_service.ledger import database as db
from likewise_service.ledger.store import Store
from likewise_service.settings import Settings

# Seconds for a response, and until a notice that could not be sent is tried again.
PATIENCE, AGAIN = 10.0, 60.0
# The turn that processes take for the contacts: two would add the same one.
CONTACTS = "contacts"


@dataclass(frozen=True)
class Notice:
    """The number of rounds that await a member; ``email`` is empty where none is known."""

    docket: str
    member: str
    awaiting: int
    email: str = ""


def awaiting(docket: Docket) -> dict[str, int]:
    """Return how many reviews await each member, where any do."""
    members, everything = docket.projection.members, sys.maxsize
    asked = {name: reviews.listed(docket, name, ("asked",), everything) for name in members}
    return {name: len(listed) for name, listed in asked.items() if listed}


def keep_contact(store: Store, docket: str, member: str, email: str) -> None:
    """Keep the address at which a member wants to be told; an empty one for none."""
    if email and ("@" not in email or any(char.isspace() for char in email) or len(email) > 254):
        raise ServiceError("bad-address", 422, f"{email!r} is not an e-mail address. Correct it.")
    contact = {"docket": docket, "member": member}
    with store.changing() as connection:
        db.advisory_lock(connection, CONTACTS)
        connection.execute(db.contacts.delete().filter_by(**contact))
        connection.execute(db.contacts.insert().values(**contact, email=email))


def tell(
    store: Store, settings: Settings, docket: str, waiting: Mapping[str, int]
) -> tuple[list[Notice], list[Notice]]:
    """Send notices to members who were not told lately; return those sent, and those that failed.

    One that reached a member in no way is tried again soon.
    """
    sent, failed = list[Notice](), list[Notice]()
    for member, number in waiting.items():
        email = _claimed(store, docket, member, settings.notice_seconds)
        if email is None:
            continue
        notice = Notice(docket, member, number, email)
        ways = [_post] * bool(settings.webhook) + [_mail] * bool(settings.smtp and email)
        reached = [_sent(way, settings, notice) for way in ways]
        if any(reached) or not ways:
            sent.append(notice)
            continue
        failed.append(notice)
        again = later(now(), AGAIN - settings.notice_seconds)
        with store.changing() as connection:
            query = db.contacts.update().filter_by(docket=docket, member=member)
            connection.execute(query.values(told=again))
    return sent, failed


def _sent(way: Callable[[Settings, Notice], None], settings: Settings, notice: Notice) -> bool:
    try:
        way(settings, notice)
    except (httpx.HTTPError, OSError, smtplib.SMTPException) as error:
        context = {"docket": notice.docket, "member": notice.member, "why": type(error).__name__}
        LOG.warning("A notice could not be sent.", extra={"said": context})
        return False
    return True


def _claimed(store: Store, docket: str, member: str, seconds: float) -> str | None:
    """Return the member's address, if this process is the one to tell them now."""
    moment, contact = now(), {"docket": docket, "member": member}
    with store.changing() as connection:
        db.advisory_lock(connection, CONTACTS)
        row = connection.execute(sa.select(db.contacts).filter_by(**contact)).first()
        if row is None:
            connection.execute(db.contacts.insert().values(**contact, email="", told=moment))
            return ""
        # Told at a time to come, by a clock that was far ahead, is told long ago.
        lately = db.contacts.c.told.between(later(moment, -seconds), later(moment, seconds))
        free = db.contacts.c.told.is_(None) | ~lately
        update = db.contacts.update().filter_by(**contact).where(free).values(told=moment)
        return str(row.email) if connection.execute(update).rowcount else None


def _post(settings: Settings, notice: Notice) -> None:
    body = {**asdict(notice), "address": settings.public_url}
    del body["email"]  # it is for the mail server alone
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
