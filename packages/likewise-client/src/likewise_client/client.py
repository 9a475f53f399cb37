"""A typed client of the API.

    with Client("http://127.0.0.1:8000", token) as likewise:
        opened = likewise.open_round("small-loans", {"ann": {"score": 700, "purpose": "car"}})

Every method returns a plain value, or raises an :class:`ApiError` with the server's code and
sentence. Requests that may safely be repeated are sent again when the network or the server fails.
"""

from __future__ import annotations

import hashlib
import json
import time
import uuid
from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, Self
from urllib.parse import quote

import httpx

from likewise_client import responses as api
from likewise_client.errors import LedgerBroken, NotFound, Refused, Unreachable, error_of
from likewise_client.tree import Tree, is_consistent

People = Mapping[str, Mapping[str, Any]]
Scores = Mapping[str, float]
Approvals = Mapping[str, bool]
Json = dict[str, Any]
Receipt = api.ReceiptResponse
# The server, or a proxy before it, is busy: the same request may succeed later.
TRANSIENT = (429, 502, 503, 504)
LONGEST_WAIT = 30.0
# The entries of a page of a list.
PAGE = 500


class MemberKey(Protocol):
    """A member's own key; ``likewise_service`` reads one from a file."""

    @property
    def public(self) -> Any: ...

    def sign_act(
        self, docket: str, member: str, review: str, to_sign: Json, act: Any, pair: Any = (),
        reason: Any = None, limit: Any = None,
    ) -> Json: ...  # fmt: skip

    def consent(self, docket: str, member: str, key: str) -> str: ...

    def revocation(self, docket: str, member: str, key: str) -> str: ...


class Client:
    """One caller of one server; ``member_key`` signs what a member says."""

    def __init__(
        self, address: str, token: str, *, timeout: float = 60.0, retries: int = 3,
        transport: httpx.BaseTransport | None = None, sleep: Callable[[float], None] = time.sleep,
        member_key: MemberKey | None = None,
    ) -> None:  # fmt: skip
        self.member_key, self.retries, self._sleep = member_key, retries, sleep
        self._shown: dict[str, str] = {}  # what was shown of a review, by id
        token = token.strip()  # such as the line feed of a file
        _check_header("token", token)
        headers = {"Authorization": f"Bearer {token}"}
        self._http = httpx.Client(
            base_url=address, headers=headers, timeout=timeout, transport=transport
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    def dockets(self, contains: str = "") -> list[api.DocketSummary]:
        """List the dockets that you may use, by name; those whose names hold a text."""
        return self._pages(api.DocketSummary, "/v1/dockets", "dockets", contains=contains)

    def create_docket(self, name: str, spec: Mapping[str, Any]) -> api.DocketResponse:
        """Begin a docket, from ``DocketSpec.to_json()`` or a part of it."""
        body = {**spec, "name": name}
        return self._send(api.DocketResponse, "POST", "/v1/dockets", again=False, body=body)

    def docket(self, docket: str) -> api.DocketResponse:
        return self._get(api.DocketResponse, docket)

    def set_guidelines(self, docket: str, text: str) -> Receipt:
        """Tell the members of the panel what to look for."""
        return self._write("PUT", docket, "guidelines", text=text)

    def set_practice(self, docket: str, pairs: Sequence[Mapping[str, Any]]) -> Receipt:
        """Set the pairs that members practise with, each with the right response, and why.

        Each is ``{"pair": [{"features": …, "chance": …}, {…}], "response": "flag" or "fine",
        "why": …}`` of made-up people, the favoured first.
        """
        return self._write("PUT", docket, "practice", pairs=[dict(pair) for pair in pairs])

    def give_learner(self, docket: str, learner: Mapping[str, Any]) -> Receipt:
        """Let a learner decide from now on, in a docket that was audit-only."""
        return self._write("PUT", docket, "learner", learner=dict(learner))

    def add_member(self, docket: str, member: str) -> Receipt:
        return self._write("POST", docket, "members", member=member)

    def members(self, docket: str) -> list[api.MemberMetrics]:
        """List who sits, or sat lately, on the panel, and how they took part."""
        return self._pages(api.MemberMetrics, path(docket, "members"), "members")

    def remove_member(self, docket: str, member: str) -> Receipt:
        return self._write("DELETE", docket, "members", member, again=False)

    def set_rule(self, docket: str, rule: str) -> Receipt:
        """Set the rule for rounds that are sealed from now on."""
        return self._write("PUT", docket, "rule", rule=rule)

    def erase(self, docket: str, round_id: str, person: str) -> Receipt:
        """Erase a person's features, and the reasons about them."""
        return self._write("POST", docket, "erasures", round=round_id, person=person)

    def set_retention(self, docket: str, features: float | None, reasons: float | None) -> Receipt:
        """Set for how many days after a round has closed features and reasons are kept."""
        return self._write("PUT", docket, "retention", features=features, reasons=reasons)

    def retain_as(self, docket: str, *presets: str) -> Receipt:
        """Keep both as long as laws ask for, by name (colorado, regulation-b, …)."""
        return self._write("PUT", docket, "retention", presets=list(presets))

    def assessment(self, docket: str) -> Json:
        """Return the facts for a fundamental-rights impact assessment."""
        return self._get(Json, docket, "assessment")

    def place_hold(
        self, docket: str, why: str, round_id: str | None = None, person: str | None = None
    ) -> str:
        """Place a legal hold on the docket, a round or a person, and return its id."""
        body: Json = {"why": why, "round": round_id, "person": person}
        return self._post(str, docket, "holds", again=False, field="hold", **body)

    def holds(self, docket: str) -> list[api.HoldResponse]:
        """List the legal holds that are in force."""
        return self._get(list[api.HoldResponse], docket, "holds", field="holds")

    def lift_hold(self, docket: str, hold: str) -> Receipt:
        return self._write("DELETE", docket, "holds", hold, again=False)

    def appeal(
        self, docket: str, round_id: str, person: str, text: str | None = None,
        corrections: Mapping[str, Any] | None = None, *, key: str | None = None,
    ) -> api.AppealResponse:  # fmt: skip
        """Record that an applicant corrects data, or asks that a person reconsider."""
        asked = None if corrections is None else dict(corrections)
        body: Json = {"round": round_id, "person": person, "text": text, "corrections": asked}
        return self._post(api.AppealResponse, docket, "appeals", once=key or "", **body)

    def appeals(
        self, docket: str, status: str | None = None, round_id: str | None = None, after: int = 0,
        limit: int = 100,
    ) -> api.AppealList:  # fmt: skip
        """List appeals, the oldest first; ``status`` is open, overdue or ended."""
        query: Json = {"status": status, "round": round_id, "after": after, "limit": limit}
        return self._get(api.AppealList, docket, "appeals", **query)

    def assign_appeal(self, docket: str, appeal: str, reviewer: str) -> Receipt:
        """Name the person who is to reconsider."""
        return self._write("PUT", docket, "appeals", appeal, "reviewer", reviewer=reviewer)

    def decide_appeal(
        self, docket: str, appeal: str, approved: bool, reason: str, *, accepted: bool = False,
        reviewer: str | None = None,
    ) -> Receipt:  # fmt: skip
        """Record what the reviewer decides and why; an operator decides in their own name."""
        body: Json = {"approved": approved, "reason": reason, "accepted": accepted}
        body["reviewer"] = reviewer
        return self._write("POST", docket, "appeals", appeal, "outcome", again=False, **body)

    def withdraw_appeal(self, docket: str, appeal: str) -> Receipt:
        return self._write("POST", docket, "appeals", appeal, "withdrawal", again=False)

    def notices(self, docket: str) -> api.NoticesResponse:
        return self._get(api.NoticesResponse, docket, "notices")

    def set_notices(self, docket: str, before: str, after: str, days: float) -> Receipt:
        """Set the texts of notices, and the days for appeals that are opened from now on."""
        return self._write("PUT", docket, "notices", before=before, after=after, days=days)

    def give_notice(
        self, docket: str, round_id: str, person: str, occasion: str = "after", *,
        given: str | None = None, reasons: Sequence[str] = (),
    ) -> api.NoticeResponse:  # fmt: skip
        """Make the notice for one applicant, and record that it is given."""
        body: Json = {"round": round_id, "person": person, "occasion": occasion, "given": given}
        body["reasons"] = list(reasons)
        return self._post(api.NoticeResponse, docket, "notices", again=False, **body)

    def open_round(
        self, docket: str, people: People, *, round_id: str | None = None, seal: bool = True,
        key: str | None = None, scores: Scores | None = None, approved: Approvals | None = None,
    ) -> api.RoundResponse:  # fmt: skip
        """Open a round and decide on its people (features by id) at once.

        ``key`` is the idempotency key, by default a fresh one. In an audit-only docket ``scores``
        are the institution's, by id, and ``approved`` its decisions where they do not follow.
        """
        body: Json = {"people": _people(people, scores, approved), "round": round_id, "seal": seal}
        return self._post(api.RoundResponse, docket, "rounds", once=key or "", **body)

    def add_people(
        self, docket: str, round_id: str, people: People, *, key: str | None = None,
        scores: Scores | None = None, approved: Approvals | None = None,
    ) -> api.RoundResponse:  # fmt: skip
        listed, parts = _people(people, scores, approved), ("rounds", round_id, "people")
        return self._post(api.RoundResponse, docket, *parts, once=key or "", people=listed)

    def seal(self, docket: str, round_id: str) -> api.RoundResponse:
        """Seal a round: nobody else joins it, and the panel is asked."""
        return self._post(api.RoundResponse, docket, "rounds", round_id, "seal")

    def round(self, docket: str, round_id: str) -> api.RoundResponse:
        return self._get(api.RoundResponse, docket, "rounds", round_id)

    def rounds(
        self, docket: str, *, status: str | None = None, outcome: str | None = None, after: int = 0,
        limit: int = 100,
    ) -> api.RoundList:  # fmt: skip
        """Return a page of the rounds by number, the oldest first; ``next`` is the next ``after``.

        Of one outcome a page may be empty although there are more.
        """
        query = {"after": after, "limit": limit, "status": status, "outcome": outcome}
        return self._get(api.RoundList, docket, "rounds", **query)

    def label(self, docket: str, labels: Iterable[tuple[str, str, int]]) -> Receipt:
        """Record labels (round, person, label): all of them, or none."""
        items = [{"round": r, "person": p, "label": y} for r, p, y in labels]
        return self._write("POST", docket, "labels", labels=items)

    def override(
        self, docket: str, round_id: str, person: str, approved: bool, reason: str | None = None
    ) -> Receipt:
        """Record that somebody decided otherwise, and why."""
        body: Json = {"person": person, "approved": approved, "reason": reason}
        return self._write("POST", docket, "rounds", round_id, "overrides", **body)

    def close_round(self, docket: str, round_id: str, *, unaudited: bool = False) -> Receipt:
        """Close a round: no more labels come; ``unaudited`` ends its audit as well."""
        return self._write("POST", docket, "rounds", round_id, "close", unaudited=unaudited)

    def packet(self, docket: str, round_id: str, person: str) -> api.PacketResponse:
        """Return everything that led to the decision on one person, in words and signed."""
        return self._post(api.PacketResponse, docket, "packets", round=round_id, person=person)

    def reviews(self, docket: str, *, status: str = "asked") -> list[api.ReviewSummary]:
        return self._pages(api.ReviewSummary, path(docket, "reviews"), "reviews", status=status)

    def review(self, docket: str, review_id: str) -> api.ReviewResponse:
        """Return a review; what a member says of it later is signed as an act on what was shown."""
        review = self._get(api.ReviewResponse, docket, "reviews", review_id)
        if review.to_sign is not None:
            self._shown[review_id] = review.to_sign["shown"]
        return review

    def flag(
        self, docket: str, review_id: str, pair: Sequence[str], reason: str | None = None, *,
        limit: float | None = None,
    ) -> Receipt:  # fmt: skip
        """Flag a pair; ``limit`` is the largest gap you would accept, if the docket is graded."""
        words: Json = {"reason": reason, "limit": limit}
        return self._act(docket, review_id, "flag", "objections", pair=list(pair), **words)

    def withdraw(self, docket: str, review_id: str, pair: Sequence[str]) -> Receipt:
        return self._act(docket, review_id, "withdraw", "withdrawals", pair=list(pair))

    def finish(self, docket: str, review_id: str) -> Receipt:
        return self._act(docket, review_id, "finish", "finish")

    def reopen(self, docket: str, review_id: str) -> Receipt:
        return self._act(docket, review_id, "reopen", "reopen")

    def comment(self, docket: str, review_id: str, text: str) -> Receipt:
        """Comment on a round; other members see it once the panel has closed."""
        return self._act(docket, review_id, "comment", "comments", text=text.strip())

    def _act(self, docket: str, review_id: str, act: str, resource: str, **body: Any) -> Receipt:
        """Send an act of a member, signed if the member has a key; it happens at most once."""
        if self.member_key is not None:
            shown = self._shown.get(review_id)
            to_sign = self.review(docket, review_id).to_sign or {"shown": "", "flags": []}
            # What the caller was shown, even if that is not what is shown now.
            to_sign["shown"] = self._shown[review_id] = shown or to_sign["shown"]
            member, words = self.me().name, {"reason": body["text"]} if act == "comment" else body
            body["signature"] = self.member_key.sign_act(
                docket, member, review_id, to_sign, act, **words
            )
        receipt = self._write("POST", docket, "reviews", review_id, resource, once="", **body)
        if act == "finish":
            self._shown.pop(review_id, None)
        return receipt

    def sign_with(
        self, docket: str, key: MemberKey, before: MemberKey | None = None, *, device: str = ""
    ) -> Receipt:
        """Sign all that you say with a key of your own from now on, and not with ``before``.

        If you have another key that signs, and do not give it, the new one waits until it agrees.
        """
        member, text = self.me().name, key.public.text
        consent = None if before is None else before.consent(docket, member, text)
        body: Json = {"key": text, "device": device, "proof": key.consent(docket, member, text)}
        receipt = self._write("PUT", docket, "member-keys", consent=consent, **body)
        if before is not None:
            receipt = self.revoke_key(docket, before.public.id, key)
        self.member_key = key
        return receipt

    def member_keys(self, docket: str) -> list[api.MemberKeyResponse]:
        return self._get(list[api.MemberKeyResponse], docket, "member-keys", field="keys")

    def agree_to_key(self, docket: str, key_id: str, signed_by: MemberKey) -> Receipt:
        """Let a key that waits sign for you too, as one that does agrees."""
        key = self._public(docket, key_id)
        consent = signed_by.consent(docket, self.me().name, key)
        return self._write("PUT", docket, "member-keys", key=key, consent=consent)

    def revoke_key(self, docket: str, key_id: str, signed_by: MemberKey | None = None) -> Receipt:
        """End a key of yours, such as one that was lost; another one may sign that."""
        signature = None
        if signed_by is not None:
            key = self._public(docket, key_id)
            signature = signed_by.revocation(docket, self.me().name, key)
        return self._write(
            "DELETE", docket, "member-keys", key_id, again=False, signature=signature
        )

    def _public(self, docket: str, key_id: str) -> str:
        keys = {key.id: key.key for key in self.member_keys(docket)}
        if key_id not in keys:
            message = f"You have no key {key_id!r}; yours are: {', '.join(keys) or 'none'}."
            raise NotFound("no-key", 404, message)
        return keys[key_id]

    def keys(self) -> list[api.KeyResponse]:
        target = "/.well-known/likewise-keys.json"
        return self._send(list[api.KeyResponse], "GET", target, field="keys")

    def receipt(self, docket: str) -> Receipt:
        """Return the head of the ledger."""
        return self._get(Receipt, docket, "receipt")

    def check_receipt(self, docket: str, receipt: str) -> api.ReceiptCheck:
        """Check that the ledger begins with all records of a receipt, by a proof of consistency."""
        origin, size, root = _checkpoint(receipt)
        try:
            lines = self._lines(path(docket, "consistency", str(size)))
            head, _, rest = b"\n".join(lines).decode().partition("\n\n")
        except NotFound as error:
            if error.code != "no-record":
                raise
            return api.ReceiptCheck(False, f"The ledger has lost records. {error}")
        later, proof = _checkpoint(rest), [b64decode(line) for line in head.split("\n")[1:]]
        holds = origin == later[0] and is_consistent(size, root, *later[1:], proof)
        verb = "begins" if holds else "is not shown to begin"
        message = f"The ledger, which has {later[1]:,} records now, {verb} with the {size:,} for "
        return api.ReceiptCheck(holds, f"{message}which this receipt was given.")

    def metrics(self, docket: str) -> Json:
        """Return the docket's running numbers: rounds, the open ones and their age, people, …"""
        return self._get(Json, docket, "metrics")

    def certificate(
        self, docket: str, *, confidence: float = 0.95, wrong_reports: int = 0
    ) -> api.CertificateResponse:
        """Return a bound on the regret of the docket's learner so far, in words and signed."""
        query = {"confidence": confidence, "wrong_reports": wrong_reports}
        return self._get(api.CertificateResponse, docket, "certificate", **query)

    def ledger(self, docket: str) -> Iterator[Json]:
        """Stream all records, checking the bytes, number, docket and hash of each, and the root."""
        receipt, tree = self.receipt(docket), Tree()
        for seq, line in enumerate(self._lines(path(docket, "ledger.jsonl")), start=1):
            try:
                record = json.loads(line)
                content = canonical({k: v for k, v in record.items() if k != "hash"})
                digest = hashlib.sha256(content)
                named = (record["seq"], record["docket"], record["hash"])
                holds = named == (seq, docket, digest.hexdigest()) and canonical(record) == line
            except (ValueError, KeyError, AttributeError, RecursionError):
                raise _broken(docket, seq) from None
            tree = tree.plus(digest.digest())
            if not holds or (seq == receipt.seq and tree.root.hex() != receipt.hash):
                raise _broken(docket, seq)
            yield record
        if tree.size < receipt.seq:
            raise _broken(docket, tree.size + 1)

    def me(self) -> api.TokenResponse:
        return self._send(api.TokenResponse, "GET", "/v1/me")

    def tokens(self, docket: str | None = None) -> list[api.TokenResponse]:
        """List all tokens, or those that concern a docket, the oldest first."""
        return self._pages(api.TokenResponse, "/v1/tokens", "tokens", docket=docket)

    def create_token(self, role: str, name: str, docket: str | None = None) -> api.NewToken:
        """Create a token, which is shown only once."""
        body: Json = {"role": role, "name": name, "docket": docket}
        return self._send(api.NewToken, "POST", "/v1/tokens", again=False, **body)

    def revoke_token(self, token_id: str) -> api.TokenResponse:
        return self._send(api.TokenResponse, "DELETE", f"/v1/tokens/{quote(token_id, safe='')}")

    def _get(self, kind: type[api.T], docket: str, *parts: str, **how: Any) -> api.T:
        return self._send(kind, "GET", path(docket, *parts), **how)

    def _post(self, kind: type[api.T], docket: str, *parts: str, **how: Any) -> api.T:
        return self._send(kind, "POST", path(docket, *parts), **how)

    def _write(self, method: str, docket: str, *parts: str, **how: Any) -> Receipt:
        return self._send(Receipt, method, path(docket, *parts), field="receipt", **how)

    def _pages(self, kind: type[api.T], target: str, field: str, **query: Any) -> list[api.T]:
        """Return a whole list, page by page: each names the place where the next begins."""
        listed: list[api.T] = []
        place = None
        while True:
            page = self._send(Json, "GET", target, limit=PAGE, after=place, **query)
            listed += api.read_response(list[kind], page, field)  # type: ignore[valid-type]
            if (place := page.get("next")) is None:
                return listed

    def _send(
        self, kind: type[api.T], method: str, target: str, *, once: str | None = None,
        again: bool = True, field: str | None = None, body: Json | None = None, **content: Any,
    ) -> api.T:  # fmt: skip
        """Send a request, ``again`` if it fails for now, and read the response, or a field of it.

        The content of GET and DELETE is their query, that of others their ``body``. A request that
        is to act ``once`` has an idempotency key, by default a fresh one.
        """
        headers = {} if once is None else {"Idempotency-Key": once or uuid.uuid4().hex}
        for key in headers.values():
            _check_header("idempotency key", key)
        sent: Json = {"json": body or content or None}
        if method in ("GET", "DELETE"):
            sent = {"params": {name: value for name, value in content.items() if value is not None}}
        try:
            request = self._http.build_request(method, target, headers=headers, **sent)
        except (TypeError, ValueError) as error:
            message = (
                f"What you send is no JSON ({error}). Give texts, and finite numbers of Python."
            )
            raise Refused("no-json", 0, message) from error
        wait, tries = 0.1, self.retries + 1 if again else 1
        while True:
            wait, tries = 2 * wait, tries - 1
            retry_after = ""
            try:
                response = self._http.send(request)
            except httpx.RequestError as error:
                if not tries:
                    raise self._unreachable(error) from error
            else:
                if response.is_success:
                    return api.read_response(kind, response.content, field)
                if response.status_code not in TRANSIENT or not tries:
                    raise error_of(response)
                retry_after = response.headers.get("Retry-After", "")  # it may also be a date
            longer = min(float(retry_after), LONGEST_WAIT) if retry_after.isdecimal() else 0
            self._sleep(max(wait, longer))

    def _lines(self, target: str) -> Iterator[bytes]:
        """Stream the lines of a long response; only a line feed ends a line."""
        rest = b""
        try:
            with self._http.stream("GET", target) as response:
                if not response.is_success:
                    response.read()
                    raise error_of(response)
                for part in response.iter_bytes():
                    *lines, rest = (rest + part).split(b"\n")
                    yield from lines
        except httpx.RequestError as error:
            raise self._unreachable(error) from error
        if rest:
            yield rest

    def _unreachable(self, error: Exception) -> Unreachable:
        failure = f"{self._http.base_url} cannot be reached ({type(error).__name__}: {error})."
        return Unreachable("unreachable", 0, f"{failure} Is it running, and is the address right?")


def path(docket: str, *parts: str) -> str:
    """Return the path of a resource of a docket.

    >>> path("small loans", "rounds", "r1")
    '/v1/dockets/small%20loans/rounds/r1'
    """
    return "/v1/dockets/" + "/".join(quote(part, safe="") for part in (docket, *parts))


def canonical(value: Any) -> bytes:
    """Write JSON in the one form that is hashed: sorted keys, no spaces, UTF-8."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def _check_header(noun: str, text: str) -> None:
    """Refuse what no header can hold, without repeating it: it may be a token."""
    if not text or not text.isascii() or not text.isprintable() or text != text.strip():
        message = f"The {noun} must be printable ASCII characters without spaces at its ends."
        raise Refused("bad-header", 0, f"{message} Give it as you got it.")


def _checkpoint(text: str) -> tuple[str, int, bytes]:
    """Return the log, the number of records and the root that a receipt names."""
    try:
        origin, size, root = text.split("\n")[:3]
        return origin, int(size), b64decode(root, validate=True)
    except ValueError:
        message = f"{text[:80]!r} is not a receipt. Give all of its lines."
        raise Refused("no-receipt", 0, message) from None


def _broken(docket: str, seq: int) -> LedgerBroken:
    message = f"The ledger of {docket!r} does not hold at record {seq}."
    return LedgerBroken("ledger-broken", 0, f"{message} Tell whoever audits it.")


def _people(people: People, scores: Scores | None, approved: Approvals | None) -> list[Json]:
    return [
        {"id": name, "features": dict(features)}
        | ({} if scores is None else {"score": float(scores[name])})
        | ({"approved": approved[name]} if approved and name in approved else {})
        for name, features in people.items()
    ]
