"""A typed client of the API.

    with Client("http://127.0.0.1:8000", token) as likewise:
        opened = likewise.open_round("small-loans", {"ann": {"score": 700, "purpose": "car"}})

Every method gives a plain value back, or raises an :class:`ApiError` with the server's code and
sentence. What can be sent twice without harm is sent again when the network or the server fails.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import quote

from likewise.service.api.responses import DocketList as _DocketList
from likewise.service.api.responses import (
    DocketResponse,
    DocketSummary,
    KeyList,
    KeyResponse,
    NewHold,
    NewToken,
    PacketResponse,
    ReceiptCheck,
    ReceiptResponse,
    RoundList,
    RoundResponse,
    TokenList,
    TokenResponse,
)
from likewise.service.api.review_responses import MetricsResponse
from likewise.service.ledger.records import Record, chained, parse_lines
from likewise_client.reviewing import Reviewing, docket_path

__all__ = ["Client"]


class Client(Reviewing):
    """One caller of one server."""

    # ── Dockets ──────────────────────────────────────────────────────────────────────────────────

    def dockets(self) -> list[DocketSummary]:
        """The dockets that the token concerns."""
        return self._get(_DocketList, "/v1/dockets").dockets

    def create_docket(self, name: str, spec: Mapping[str, Any]) -> DocketResponse:
        """Begin a docket, from ``DocketSpec.to_json()`` or a part of it."""
        body = {"name": name, **spec}
        return self._send(DocketResponse, "POST", "/v1/dockets", body, again=False)

    def docket(self, docket: str) -> DocketResponse:
        """A docket's settings and features."""
        return self._get(DocketResponse, docket_path(docket))

    def set_guidelines(self, docket: str, text: str) -> ReceiptResponse:
        """Tell the panel's members what to look for."""
        return self._write("PUT", docket_path(docket, "guidelines"), {"text": text})

    def give_learner(self, docket: str, learner: Mapping[str, Any]) -> ReceiptResponse:
        """Let a learner decide from now on, in a docket that was audit-only."""
        body = {"learner": dict(learner)}
        return self._write("PUT", docket_path(docket, "learner"), body)

    def add_member(self, docket: str, member: str) -> ReceiptResponse:
        """Somebody joins the panel."""
        return self._write("POST", docket_path(docket, "members"), {"member": member})

    def remove_member(self, docket: str, member: str) -> ReceiptResponse:
        """Somebody leaves the panel."""
        return self._write("DELETE", docket_path(docket, "members", member), again=False)

    def set_rule(self, docket: str, rule: str) -> ReceiptResponse:
        """Another rule, for rounds that are sealed from now on."""
        return self._write("PUT", docket_path(docket, "rule"), {"rule": rule})

    def erase(self, docket: str, round_id: str, person: str) -> ReceiptResponse:
        """Remove what is personal about somebody."""
        body = {"round": round_id, "person": person}
        return self._write("POST", docket_path(docket, "erasures"), body)

    def set_retention(
        self, docket: str, features: float | None, reasons: float | None
    ) -> ReceiptResponse:
        """Days after the end of a round for which features and reasons are kept."""
        body = {"features": features, "reasons": reasons}
        return self._write("PUT", docket_path(docket, "retention"), body)

    def place_hold(
        self, docket: str, why: str, round_id: str | None = None, person: str | None = None
    ) -> NewHold:
        """Erase nothing, of everything or of one round or person, until it is lifted."""
        body = {"why": why, "round": round_id, "person": person}
        return self._send(NewHold, "POST", docket_path(docket, "holds"), body, again=False)

    def lift_hold(self, docket: str, hold: str) -> ReceiptResponse:
        """The hold is over."""
        return self._write("DELETE", docket_path(docket, "holds", hold), again=False)

    # ── Rounds ───────────────────────────────────────────────────────────────────────────────────

    def open_round(
        self,
        docket: str,
        people: Mapping[str, Mapping[str, Any]],
        *,
        round_id: str | None = None,
        seal: bool = True,
        key: str | None = None,
        scores: Mapping[str, float] | None = None,
        approved: Mapping[str, bool] | None = None,
    ) -> RoundResponse:
        """People (features by id) are decided on at once. A key is made up if there is none.

        In an audit-only docket ``scores`` are the institution's, by id, and ``approved`` what it
        decided, where that does not follow.
        """
        listed = _people(people, scores, approved)
        body = {"people": listed, "round": round_id, "seal": seal}
        key = key or uuid.uuid4().hex
        return self._send(RoundResponse, "POST", docket_path(docket, "rounds"), body, key=key)

    def add_people(
        self,
        docket: str,
        round_id: str,
        people: Mapping[str, Mapping[str, Any]],
        *,
        key: str | None = None,
        scores: Mapping[str, float] | None = None,
        approved: Mapping[str, bool] | None = None,
    ) -> RoundResponse:
        """More people join a round that is not sealed."""
        body = {"people": _people(people, scores, approved)}
        path = docket_path(docket, "rounds", round_id, "people")
        return self._send(RoundResponse, "POST", path, body, key=key or uuid.uuid4().hex)

    def seal(self, docket: str, round_id: str) -> RoundResponse:
        """Nobody else will join."""
        return self._send(RoundResponse, "POST", docket_path(docket, "rounds", round_id, "seal"))

    def round(self, docket: str, round_id: str) -> RoundResponse:
        """A round."""
        return self._get(RoundResponse, docket_path(docket, "rounds", round_id))

    def rounds(
        self, docket: str, *, status: str | None = None, after: int = 0, limit: int = 100
    ) -> RoundList:
        """Rounds by number, the oldest first."""
        query: dict[str, Any] = {"after": after, "limit": limit}
        if status is not None:
            query["status"] = status
        return self._get(RoundList, docket_path(docket, "rounds"), query)

    def label(self, docket: str, labels: Iterable[tuple[str, str, int]]) -> ReceiptResponse:
        """Labels (round, person, label): all are recorded, or none."""
        listed = [{"round": r, "person": p, "label": y} for r, p, y in labels]
        return self._write("POST", docket_path(docket, "labels"), {"labels": listed})

    def override(
        self, docket: str, round_id: str, person: str, approved: bool, reason: str | None = None
    ) -> ReceiptResponse:
        """Somebody decided otherwise, and may say why."""
        body = {"person": person, "approved": approved, "reason": reason}
        return self._write("POST", docket_path(docket, "rounds", round_id, "overrides"), body)

    def close_round(
        self, docket: str, round_id: str, *, unaudited: bool = False
    ) -> ReceiptResponse:
        """Nothing more will be heard of a round."""
        path = docket_path(docket, "rounds", round_id, "close")
        return self._write("POST", path, {"unaudited": unaudited})

    def packet(self, docket: str, round_id: str, person: str) -> PacketResponse:
        """Everything that led to the decision on one person, in words and as JSON, signed."""
        body = {"round": round_id, "person": person}
        return self._send(PacketResponse, "POST", docket_path(docket, "packets"), body)

    # ── The ledger, and tokens ───────────────────────────────────────────────────────────────────

    def keys(self) -> list[KeyResponse]:
        """The installation's keys, as it publishes them."""
        return self._get(KeyList, "/.well-known/likewise-keys.json").keys

    def receipt(self, docket: str) -> ReceiptResponse:
        """The ledger's head."""
        return self._get(ReceiptResponse, docket_path(docket, "receipt"))

    def check_receipt(self, docket: str, receipt: str) -> ReceiptCheck:
        """Tell if a receipt that was kept is of the ledger."""
        path = docket_path(docket, "receipt", "check")
        return self._send(ReceiptCheck, "POST", path, {"receipt": receipt})

    def metrics(self, docket: str) -> MetricsResponse:
        """The docket in numbers."""
        return self._get(MetricsResponse, docket_path(docket, "metrics"))

    def ledger(self, docket: str) -> Iterator[Record]:
        """All records, each checked as it passes."""
        lines = self._lines(docket_path(docket, "ledger.jsonl"))
        return chained(docket, parse_lines(docket, lines))

    def tokens(self) -> list[TokenResponse]:
        """All tokens but for the tokens themselves."""
        return self._get(TokenList, "/v1/tokens").tokens

    def create_token(self, role: str, name: str, docket: str | None = None) -> NewToken:
        """A new token, shown this once."""
        body = {"role": role, "name": name, "docket": docket}
        return self._send(NewToken, "POST", "/v1/tokens", body, again=False)

    def revoke_token(self, token_id: str) -> TokenResponse:
        """From now on the token opens nothing."""
        return self._send(TokenResponse, "DELETE", f"/v1/tokens/{quote(token_id, safe='')}")


def _people(
    people: Mapping[str, Mapping[str, Any]],
    scores: Mapping[str, float] | None = None,
    approved: Mapping[str, bool] | None = None,
) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for name, features in people.items():
        one: dict[str, Any] = {"id": name, "features": dict(features)}
        if scores is not None:
            one["score"] = float(scores[name])
        if approved is not None and name in approved:
            one["approved"] = approved[name]
        found.append(one)
    return found
