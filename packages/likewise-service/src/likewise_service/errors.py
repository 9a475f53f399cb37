"""Refusals of the service, and its log."""

import logging

from likewise.errors import LikewiseError

LOG = logging.getLogger("likewise_service")


class ServiceError(LikewiseError):
    """A request that cannot be carried out; ``status`` is HTTP's number for it."""

    def __init__(self, code: str, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.code, self.status, self.sentence = code, status, sentence


def store_unavailable() -> ServiceError:
    """Return the refusal for a database that cannot be used; the log says why."""
    return ServiceError(
        "store-unavailable", 503,
        "The database does not respond, or is busy. Whether the request was recorded is not known: "
        "send it again, with the same idempotency key.",
    )  # fmt: skip


class StoreError(LikewiseError):
    """A database that cannot be used, such as one of another version."""
