"""The settings of a server, each of which ``LIKEWISE_…`` in the environment can set."""

import re
from collections.abc import Iterable
from difflib import get_close_matches
from ipaddress import ip_network
from typing import Any

from pydantic import Field, PositiveFloat, PositiveInt, ValidationError, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from likewise.errors import ParameterError

DEFAULT_DATABASE = "sqlite:///likewise.db"
REASON_LIMIT = 2_000
PREFIX = "LIKEWISE_"


def database_url(text: str) -> str:
    """Return the address of a database; a plain path is a SQLite file.

    >>> database_url("loans.db"), database_url("postgresql://localhost/likewise")
    ('sqlite:///loans.db', 'postgresql://localhost/likewise')
    """
    return text if "://" in text else f"sqlite:///{text}"


def misspelt(names: Iterable[str]) -> dict[str, str]:
    """Return the names of variables that are nearly those of settings, with these.

    >>> misspelt(["LIKEWISE_DATABSE", "LIKEWISE_DATABASE", "LIKEWISE_TOKEN", "LIKEWISE_PORT"])
    {'LIKEWISE_DATABSE': 'LIKEWISE_DATABASE'}
    """
    known = [PREFIX + name.upper() for name in Settings.model_fields]
    unknown = [name for name in names if name.upper().startswith(PREFIX)]
    unknown = [name for name in unknown if name.upper() not in known]
    return {name: near[0] for name in unknown if (near := get_close_matches(name, known, 1, 0.88))}


def _setting(default: Any, description: str) -> Any:
    return Field(default, description=description)


class Settings(BaseSettings):
    """The limits of a server, and where it keeps its ledgers.

    Settings that are not given are read from the environment, or have their defaults. Rates are
    requests a second, bursts how many may come at once; each process counts by itself. If
    ``public_url`` is an https address, cookies are only sent encrypted.
    """

    model_config = SettingsConfigDict(env_prefix=PREFIX, frozen=True, extra="forbid")

    database: str = _setting(
        DEFAULT_DATABASE, "where everything is kept: a file, or postgresql://USER@HOST/NAME"
    )
    writer: str = _setting("", "the address of a server that writes, if this one only reads")
    installation_key: str = _setting(
        "", "where the private key is that signs receipts, if not in the database: a file, or "
        "pkcs11:…"
    )  # fmt: skip
    body_limit: PositiveInt = _setting(1_000_000, "bytes of a request")
    people_limit: PositiveInt = _setting(200, "people of a request, and the largest k of a docket")
    labels_limit: PositiveInt = _setting(5_000, "labels of a request")
    feature_limit: PositiveInt = _setting(200, "features of a person")
    reason_limit: PositiveInt = _setting(REASON_LIMIT, "characters of a reason")
    rate: PositiveFloat = _setting(50.0, "requests a second of a caller")
    burst: PositiveInt = _setting(100, "requests of a caller that may come at once")
    anonymous_rate: PositiveFloat = _setting(
        5.0, "requests a second without a known token, by address"
    )
    anonymous_burst: PositiveInt = _setting(
        30, "requests without a known token that may come at once"
    )
    connection_limit: PositiveInt = _setting(
        1_000, "connections of a process; fewer, if it may open fewer files"
    )
    header_seconds: PositiveFloat = _setting(10.0, "how long the head of a request may take")
    body_seconds: PositiveFloat = _setting(60.0, "how long its body may take")
    trusted_proxies: str = _setting(
        "", "addresses of proxies whose X-Forwarded-For is believed, with commas"
    )
    waiting_limit: PositiveInt = _setting(200, "requests that may wait for one docket")
    tick_seconds: PositiveFloat = _setting(1.0, "how often deadlines are looked after")
    session_seconds: PositiveFloat = _setting(12 * 3600.0, "how long somebody stays signed in")
    public_url: str = _setting(
        "", "the address that people use, where a proxy is before the server"
    )
    webhook: str = _setting("", "an address that is told what awaits a member")
    smtp: str = _setting("", "HOST:PORT of a mail server, to tell members by e-mail")
    mail_from: str = _setting("likewise@localhost", "the sender of e-mails")
    notice_seconds: PositiveFloat = _setting(4 * 3600.0, "how long a member is not told again")
    anchors: str = _setting(
        "", "where receipts are fixed: witness:URL#KEY, rfc3161:URL, webhook:URL, file:PATH"
    )
    anchor_minutes: PositiveFloat = _setting(
        60.0, "minutes between two anchors of a docket that grows"
    )
    oidc_issuer: str = _setting("", "the organisation's sign-on: its issuer's address")
    oidc_client_id: str = _setting("", "the client that was registered there for this")
    oidc_client_secret: str = _setting("", "its secret")
    oidc_role_claim: str = _setting(
        "likewise_role", "the claim with operator, auditor or regulator"
    )
    oidc_name_claim: str = _setting(
        "preferred_username", "the claim with the name; an auditor's is the member's"
    )
    oidc_docket_claim: str = _setting(
        "likewise_docket", "the claim with the docket that a seat is for"
    )
    demo: bool = _setting(False, "a docket with a simulated stream")

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            first = error.errors()[0]
            name = str(first["loc"][0])
            raise ParameterError(
                name if name in values else PREFIX + name.upper(),
                first["msg"].removeprefix("Input ").lower().removeprefix("value error, "),
                first["input"],
                "Correct it, or leave it out for its default.",
            ) from error  # fmt: skip

    @field_validator("database")
    @classmethod
    def _address(cls, text: str) -> str:
        return database_url(text)

    @field_validator("trusted_proxies")
    @classmethod
    def _addresses(cls, text: str) -> str:
        """Refuse what the server would take for the name of a proxy, which none has."""
        for part in filter(None, map(str.strip, text.split(","))):
            if part != "*":
                try:
                    ip_network(part)
                except ValueError as error:
                    words = f"should be addresses or networks, with commas ({error})"
                    raise ValueError(words) from error
        return text

    @field_validator("writer", "public_url", "webhook", "oidc_issuer", "smtp")
    @classmethod
    def _elsewhere(cls, text: str, info: Any) -> str:
        mail = info.field_name == "smtp"
        if text and not re.fullmatch(r"[^\s:/]+(:\d+)?" if mail else r"https?://\S+", text):
            words = "be host:port" if mail else "begin with https:// or http://"
            raise ValueError(f"should {words}")
        return text
