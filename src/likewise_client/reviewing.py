"""The part of the client for a member of a panel: reviews, objections, and a key of their own."""

from __future__ import annotations

import secrets
import uuid
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from likewise.service.api.responses import MeResponse, ReceiptResponse, Written
from likewise.service.api.review_responses import ReviewList as _ReviewList
from likewise.service.api.review_responses import ReviewResponse, ReviewSummary
from likewise.service.clock import now
from likewise.service.ledger.payloads import Payload
from likewise.service.ledger.signing.member_statements import Act, MemberStatement, possession
from likewise.service.ledger.signing.signatures import PrivateKey
from likewise_client.transport import Transport

__all__ = ["Reviewing", "docket_path"]


def docket_path(docket: str, *parts: str) -> str:
    """The path of something in a docket.

    >>> docket_path("small loans", "rounds", "r1")
    '/v1/dockets/small%20loans/rounds/r1'
    """
    return "/v1/dockets/" + "/".join(quote(part, safe="") for part in (docket, *parts))


class Reviewing(Transport):
    """Calls of a member of a panel: what awaits them, and what they say of it."""

    def me(self) -> MeResponse:
        """The owner of the token."""
        return self._get(MeResponse, "/v1/me")

    def reviews(self, docket: str, *, status: str = "asked") -> list[ReviewSummary]:
        """Reviews that await you, or what became of them."""
        return self._get(_ReviewList, docket_path(docket, "reviews"), {"status": status}).reviews

    def review(self, docket: str, review_id: str) -> ReviewResponse:
        """One review."""
        return self._get(ReviewResponse, docket_path(docket, "reviews", review_id))

    def flag(
        self, docket: str, review_id: str, pair: Sequence[str], reason: str | None = None
    ) -> ReceiptResponse:
        """Flag a pair."""
        signature = self._signature(docket, review_id, "flag", pair, reason)
        body = {"pair": list(pair), "reason": reason, **signature}
        return self._act(docket_path(docket, "reviews", review_id, "objections"), body)

    def withdraw(self, docket: str, review_id: str, pair: Sequence[str]) -> ReceiptResponse:
        """Take an objection back."""
        path = docket_path(docket, "reviews", review_id, "withdrawals")
        signature = self._signature(docket, review_id, "withdraw", pair)
        return self._act(path, {"pair": list(pair), **signature})

    def finish(self, docket: str, review_id: str) -> ReceiptResponse:
        """You have looked at all pairs."""
        signature = self._signature(docket, review_id, "finish")
        return self._act(docket_path(docket, "reviews", review_id, "finish"), signature)

    def reopen(self, docket: str, review_id: str) -> ReceiptResponse:
        """You want to look again."""
        signature = self._signature(docket, review_id, "reopen")
        return self._act(docket_path(docket, "reviews", review_id, "reopen"), signature)

    def _act(self, path: str, body: Mapping[str, Any]) -> ReceiptResponse:
        """An act of a member, which is done once, however often it is sent."""
        return self._send(Written, "POST", path, body, key=uuid.uuid4().hex).receipt

    def sign_with(
        self, docket: str, key: PrivateKey, before: PrivateKey | None = None
    ) -> ReceiptResponse:
        """Sign all that you say with your own key from now on; ``before`` is the one until now.

        Publish its public half where others find it, and keep the private one to yourself.
        """
        content = possession(docket, self.me().name, key.public)
        consent = None if before is None else before.sign("member-key", content)
        proof = key.sign("member-key", content)
        body = {"key": key.public.text, "proof": proof, "consent": consent}
        receipt = self._write("PUT", docket_path(docket, "member-key"), body)
        self.member_key = key
        return receipt

    def _signature(
        self,
        docket: str,
        review: str,
        act: Act,
        pair: Sequence[str] = (),
        reason: str | None = None,
    ) -> dict[str, Any]:
        """The member's signature of an act, if they have a key."""
        if self.member_key is None:
            return {}
        salt, at = secrets.token_bytes(16), now()
        digest = Payload(salt, {"text": reason}).digest if reason else None
        both = (pair[0], pair[1]) if pair else None
        said = MemberStatement(docket, self.me().name, review, act, both, digest, at)
        signed = {
            "key": self.member_key.public.id, "at": at, "salt": salt.hex(),
            "signature": said.sign(self.member_key),
        }  # fmt: skip
        return {"signature": signed}
