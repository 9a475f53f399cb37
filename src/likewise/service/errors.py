"""What the service refuses: a code for programs, a sentence for people."""

from __future__ import annotations

from likewise.errors import LikewiseError

__all__ = ["LedgerBroken", "ServiceError", "StoreError", "store_unavailable"]


class ServiceError(LikewiseError):
    """A request that cannot be carried out; ``status`` is what HTTP calls it."""

    def __init__(self, code: str, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.code, self.status, self.sentence = code, status, sentence


def store_unavailable() -> ServiceError:
    """What is said while the database cannot be used; the log says why."""
    return ServiceError(
        "store-unavailable", 503,
        "The database does not answer, or is busy. Whether the request was recorded is not known: "
        "send it again, with the same idempotency key.",
    )  # fmt: skip


class StoreError(LikewiseError):
    """A database that cannot be used, such as one of an unknown version."""


class LedgerBroken(LikewiseError):  # noqa: N818 - the sentence reads better
    """A ledger that was changed; ``seq`` is the first record that does not hold."""

    def __init__(self, docket: str, seq: int, why: str) -> None:
        super().__init__(f"The ledger of {docket!r} does not hold at record {seq}: {why}")
        self.docket, self.seq, self.why = docket, seq, why
