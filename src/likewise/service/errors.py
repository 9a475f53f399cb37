"""What the service refuses: a code for programs, a sentence for people."""

from __future__ import annotations

from likewise.errors import LikewiseError

__all__ = ["LedgerBroken", "ServiceError", "StoreError"]


class ServiceError(LikewiseError):
    """A request that cannot be carried out; ``status`` is what HTTP calls it."""

    def __init__(self, code: str, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.code, self.status, self.sentence = code, status, sentence


class StoreError(LikewiseError):
    """A database that cannot be used, such as one of an unknown version."""


class LedgerBroken(LikewiseError):  # noqa: N818 - the sentence reads better
    """A ledger that was changed; ``seq`` is the first record that does not hold."""

    def __init__(self, docket: str, seq: int, why: str) -> None:
        super().__init__(f"The ledger of {docket!r} does not hold at record {seq}: {why}")
        self.docket, self.seq, self.why = docket, seq, why
