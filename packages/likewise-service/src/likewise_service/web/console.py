"""The auditor's console: the queue of pairs, rounds as a whole, past ones, seats and keys."""

import asyncio
import json
import re
import secrets
from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, Any, Literal, NamedTuple

from fastapi import Path, Query
from fastapi.responses import JSONResponse, Response
from pydantic import TypeAdapter, ValidationError

from likewise.panel.objections import Pair
from likewise_service.api import member_keys
from likewise_service.api.reviews import SignatureBody, review_list, review_response
from likewise_service.auth.sign_ins import add_seat, choose_seat, list_seats
from likewise_service.dockets import board, panel, signing
from likewise_service.dockets.worker import Worker
from likewise_service.errors import ServiceError
from likewise_service.language import N_
from likewise_service.ledger import kinds, signatures
from likewise_service.verify.receipts import acknowledge
from likewise_service.web import practice, queue, rendering
from likewise_service.web.dependencies import (
    Auditor,
    PageRequest,
    acts,
    file_response,
    page_router,
    read_form,
    told,
)

router = page_router("/console")

# The most reviews on a page of the history.
PAGE = 50
_KEY = re.compile(r"[0-9a-f]{32}\Z")

Key = Annotated[str, Path(pattern="^[0-9a-f]{32}$")]
Place = Annotated[str, Query(pattern=queue.PLACE.pattern.replace("\\Z", "$"))]
Act = Literal["flag", "fine", "undo", "finish"]


@router.get("/")
async def queue_page(
    request: Auditor, pair: Place | None = None, last: Place | None = None
) -> Response:
    """Show the pair that is next in the queue, or a given one; ``last`` had its response now."""

    def task(worker: Worker) -> Response:
        focus = pair or ""
        if worker.board.find(request.caller.name, focus[:32]).ended if focus else False:
            return request.go(f"/rounds/{focus[:32]}")
        title, receipt = worker.docket.projection.settings.title, worker.docket.receipt()
        found = queue.find_queue(worker, request.caller.name, focus)
        return _show_queue(found, request.page(title, str(receipt)), last or "")

    return await request.run(task)


def _show_queue(
    found: queue.Queue, page: rendering.PageContext, last: str, word: str = ""
) -> Response:
    data = queue.queue_data(found, page)
    return rendering.html("console/queue.html", page, queue=data, last=last, word=word)


@router.get("/queue.json")
async def queue_json(
    request: Auditor, unsent: Annotated[int, Query(ge=0, le=10_000)] = 0
) -> Response:
    """Return the queue as it is now, and whose it is: tabs and sign-ins may have changed it.

    ``unsent`` responses are on their way, so that many pairs more are returned.
    """
    name, page = request.caller.name, request.page()
    ahead = queue.AHEAD + min(unsent, queue.LISTED)
    return await request.run(
        lambda w: JSONResponse(queue.queue_data(queue.find_queue(w, name, ahead=ahead), page))
    )


@router.get("/practice")
async def practice_page(
    request: Auditor,
    done: Annotated[int, Query(ge=0, le=panel.GOLD)] = 0,
    said: Annotated[str, Query(pattern="^(flag|fine)?$")] = "",
) -> Response:
    """Show made-up people of this docket, after a word on the pair before."""

    def task(worker: Worker) -> Response:
        pairs = worker.docket.projection.practice
        golds = practice.gold_pairs(pairs)
        word = golds[done - 1].word(said) if said and 0 < done <= len(golds) else ""
        page = request.page(worker.docket.projection.settings.title)
        made_up = queue.practice_queue(worker.docket.schema.features, done, pairs)
        return _show_queue(made_up, page, "", word)

    return await request.run(task)


@router.get("/rounds")
async def rounds_page(request: Auditor) -> Response:
    """List the rounds that are open, with what awaits a response in each."""

    def values(worker: Worker) -> dict[str, Any]:
        name = request.caller.name
        listed = review_list(worker.board, name, board.OPEN, queue.LISTED).reviews
        return {"reviews": listed, "left": queue.find_queue(worker, name).left}

    return await request.show("console/rounds.html", values)


@router.get("/rounds/{key}/to-sign.json")
async def to_sign(request: Auditor, key: Key) -> Response:
    """Return what a signature on a review covers, as it is now."""
    member = request.caller.name

    def task(worker: Worker) -> Response:
        content = signing.to_sign(worker.docket, worker.board.find(member, key).seat)
        return JSONResponse(queue.signing_data(worker, member, {key: content}))

    return await request.run(task)


@router.get("/rounds/{key}")
async def review_page(request: Auditor, key: Key) -> Response:
    """Show one round as a whole: its people, its pairs, and what the member said of them."""

    def values(worker: Worker) -> dict[str, Any]:
        review = worker.board.find(request.caller.name, key)
        fines = queue.read_fines(worker.store, worker.name, [key])[key]
        left, key_ = len(queue.awaiting(review, fines)), secrets.token_hex(16)
        response = review_response(worker.docket, review)
        to_sign = {key: signing.to_sign(worker.docket, review.seat)}
        browser = queue.signing_data(worker, request.caller.name, to_sign)
        return {
            "review": response, "fines": fines, "left": left, "form_key": key_, "signing": browser,
        }  # fmt: skip

    return await request.show("console/review.html", values)


def _once(form: Mapping[str, str]) -> str | None:
    """Return a request's key: one that is sent again has the same."""
    key = form.get("key")
    if key is not None and not _KEY.match(key):
        raise ServiceError("bad-key", 422, "This form has a key that is none. Load the page again.")
    return key


def _check_seat(request: PageRequest, form: Mapping[str, str]) -> None:
    """Refuse a form that speaks for another seat than the browser does by now."""
    if form.get("seat", request.caller.id) != request.caller.id:
        raise ServiceError(
            "other-seat", 403,
            N_("In this browser you speak for another seat by now. Choose the one you spoke for."),
        )  # fmt: skip


class _Response(NamedTuple):
    """A member's act on a review, as a form has it."""

    act: Act
    review: str
    form: Mapping[str, str]

    @property
    def key(self) -> str | None:
        return _once(self.form)

    @property
    def limit(self) -> float | None:
        """The points that the two may be apart, as a share; None where nothing is said."""
        points = self.form.get("limit", "-1")
        if not re.fullmatch(r"-1|[0-9]{1,2}", points):
            raise ServiceError(
                "bad-limit", 422, N_("A limit is 0 to 99 points. Load the page again.")
            )
        return None if points == "-1" else int(points) / 100

    def find(self, worker: Worker, member: str) -> tuple[board.Review, tuple[str, str]]:
        """Return the review and the two people, the favoured first."""
        review, pair = worker.board.find(member, self.review), self.form.get("pair", "").split(".")
        if len(pair) != 2:
            raise ServiceError("no-pair", 422, "This form names no pair. Load the page again.")
        return review, review.round.favoured_first(Pair.of(review.people(pair)))

    def write(self, worker: Worker, member: str) -> bool:
        """Record it, and hand the review in once every pair has a response; tell if it is."""
        docket, key, signed = worker.docket, self.key, _signatures(self.form)
        if self.act == "finish":
            seat = worker.board.find(member, self.review).seat
            panel.finish(docket, seat, signed.get("finish"), key=key)
            return True
        review, people = self.find(worker, member)
        if self.act == "flag":
            reason, flagged = self.form.get("reason", "").strip(), signed.get("flag")
            panel.flag(docket, review.seat, people, reason, flagged, limit=self.limit, key=key)
        else:
            if self.act == "undo" and review.target.finished:
                reopening = key and f"{key}:reopen"
                panel.reopen(docket, review.seat, signed.get("reopen"), key=reopening)
            panel.withdraw(docket, review.seat, people, signed.get("withdraw"), key=key)
        return hand_in(worker, worker.board.find(member, self.review), signed.get("finish"))


# An act needs another signature: the page shows what there is now, and the member signs again.
SIGN_AGAIN = ("signature-needed", "signature-late", "shown-changed", "bad-signature")
_SIGNATURES = TypeAdapter(dict[signatures.Act, SignatureBody])


def _signatures(form: Mapping[str, str]) -> dict[signatures.Act, signing.Signature]:
    """Return a member's signatures by what they sign: an act may need several, or none."""
    try:
        sent = _SIGNATURES.validate_json(form.get("signatures", "{}"), strict=True)
    except ValidationError as error:
        sentence = "This form has signatures that are none. Load the page again."
        raise ServiceError("bad-signature", 422, sentence) from error
    return {act: signature.parsed for act, signature in sent.items()}


def hand_in(worker: Worker, review: board.Review, signed: signing.Signature | None = None) -> bool:
    """Finish a review in which every pair has a response; tell if it is handed in.

    Where the member signs, and has not signed this, it waits for them.
    """
    fines = queue.read_fines(worker.store, worker.name, [review.id])[review.id]
    if review.status != "asked" or queue.awaiting(review, fines):
        return review.status != "asked"
    try:
        panel.finish(worker.docket, review.seat, signed)
    except ServiceError as error:
        if error.code not in SIGN_AGAIN:
            raise
        return False
    return True


@router.post("/rounds/{key}/comment")
async def comment_on_round(
    request: Annotated[PageRequest, acts(kinds.Commented, "/console")], key: Key
) -> Response:
    """Record a comment on a round, which other members see once the panel has closed."""
    form = await request.form()
    _check_seat(request, form)
    text, signed, once = form.get("comment", ""), _signatures(form).get("comment"), _once(form)

    def task(worker: Worker) -> None:
        seat = worker.board.find(request.caller.name, key).seat
        panel.comment(worker.docket, seat, text, signed, key=once)

    await request.run(task)
    return _saved(request, f"/rounds/{key}#comments")


@router.post("/rounds/{key}/{act}")
async def act_on_review(request: Auditor, key: Key, act: Act) -> Response:
    """Flag a pair, find it fine, take that back, or hand a review in as it is."""
    form, member = await request.form(), request.caller.name
    response = _Response(act, key, form)
    _check_seat(request, form)
    if key == practice.PRACTICE:  # nothing of it is recorded
        golds = await request.run(lambda w: practice.gold_pairs(w.docket.projection.practice))
        done = practice.practised(form.get("pair", ""), golds)
        said = act if act in ("flag", "fine") else ""
        return request.go(f"/practice?done={done}&said={said}")
    if act == "finish" and not form.get("meant"):
        sentence = N_("Tick that you mean it: no pair is asked about again.")
        raise ServiceError("not-meant", 422, sentence)
    if act in ("fine", "undo"):
        # Not in the docket's thread: a transaction may be under way there.
        review, people = await request.run(lambda worker: response.find(worker, member))
        place = (key, ".".join(review.aliases[person] for person in people))
        store, docket = request.app.store, request.docket
        await asyncio.to_thread(
            queue.keep_fine, store, docket, place, response.key, fine=act == "fine"
        )
    handed_in = await request.run(lambda worker: response.write(worker, member))
    place_query = f"{'pair' if act == 'undo' else 'last'}={key}.{form.get('pair', '')}"
    path = "/" if act == "finish" else f"/?{place_query}"
    return _saved(request, path, handed_in=handed_in)


def _saved(request: PageRequest, path: str, **more: bool) -> Response:
    """Tell the page's own script that an act is recorded; without it, go on to a page."""
    return JSONResponse({"saved": True, **more}) if request.wants_json else request.go(path)


@router.post("/hand-in")
async def hand_in_complete(request: Auditor) -> Response:
    """Hand in the reviews in which nothing awaits a response."""
    await request.form()

    def task(worker: Worker) -> None:
        reviews = worker.board.listed(request.caller.name, ("asked",), queue.LISTED)
        left = queue.find_queue(worker, request.caller.name).left
        complete = [hand_in(worker, review) for review in reviews if review.id not in left]
        if not all(complete):
            sentence = "You sign what you say, and that needs JavaScript. Switch it on."
            raise ServiceError("signature-needed", 409, sentence)

    await request.run(task)
    return request.go("/")


@router.get("/guidelines")
async def guidelines(request: Auditor) -> Response:
    def values(worker: Worker) -> dict[str, Any]:
        text = worker.docket.projection.guidelines
        paragraphs = [" ".join(part.split()) for part in text.split("\n\n") if part.strip()]
        return {"guidelines": paragraphs}

    return await request.show("console/guidelines.html", values)


@router.get("/history")
async def history(
    request: Auditor, after: Annotated[int | None, Query(ge=1, le=10**9)] = None
) -> Response:
    """Show the member's past reviews, the latest first, and what became of their objections."""

    def values(worker: Worker) -> dict[str, Any]:
        past = worker.board.listed(request.caller.name, board.ENDED, PAGE + 1, after)
        return {
            "reviews": [review_response(worker.docket, review) for review in past[:PAGE]],
            "older": past[PAGE - 1].number if len(past) > PAGE else None,
            "agreement": worker.docket.projection.tallies.agreement(request.caller.name),
        }

    return await request.show("console/history.html", values)


@router.get("/receipts.json")
async def receipts(request: Auditor) -> Response:
    """Return a signed file with all that the member has said, and a receipt of the ledger."""

    def task(worker: Worker) -> dict[str, Any]:
        docket = worker.docket
        reviews = [
            {
                "review": review.id,
                "status": review.status,
                "objections": [
                    asdict(objection) for objection in review_response(docket, review).objections
                ],
            }
            for statuses in (board.OPEN, board.ENDED)
            for review in worker.board.listed(request.caller.name, statuses, queue.LISTED)
        ]
        return acknowledge(
            request.caller.name, reviews, docket.receipt(), worker.store.keys.current()
        )

    text = json.dumps(await request.run(task), ensure_ascii=False, indent=2) + "\n"
    response = Response(text, media_type="application/json")
    return file_response(response, f"{request.docket}-receipts.json")


@router.get("/seats")
async def seats_page(request: Auditor) -> Response:
    return await _seats_page(request)


async def _seats_page(request: PageRequest, problem: str = "", status: int = 200) -> Response:
    seats = await asyncio.to_thread(list_seats, request.app.store, request.cookie)
    current, page = request.caller.id, request.page()
    return rendering.html(
        "console/seats.html", page, status, seats=seats, current=current, problem=problem
    )


@router.post("/seats/add")
async def add(request: Auditor) -> Response:
    token = (await request.form()).get("token", "").strip()
    try:
        await asyncio.to_thread(add_seat, request.app.store, request.cookie, token)
    except ServiceError as error:
        return await _seats_page(request, told(error, request.language), error.status)
    return request.go("/seats")


@router.post("/seats/choose")
async def choose(request: Auditor) -> Response:
    seat = (await request.form()).get("seat", "")
    await asyncio.to_thread(choose_seat, request.app.store, request.cookie, seat)
    return request.go("/")


@router.get("/signature")
async def signature_page(request: Auditor) -> Response:
    """Show what signing means, and the member's keys."""
    member = request.caller.name

    def values(worker: Worker) -> dict[str, Any]:
        browser = queue.signing_data(worker, member, {})
        return {"keys": member_keys.member_keys(worker.docket, member), "signing": browser}

    return await request.show("console/signature.html", values)


@router.post("/signature/enrol")
async def enrol(request: Auditor) -> Response:
    """Enrol the key of a browser, or agree to one that waits."""
    body = read_form(member_keys.MemberKeyBody, await request.form())
    await member_keys.enrol_member_key(body, request)
    return _saved(request, "/signature")


@router.post("/signature/revoke")
async def revoke(request: Auditor) -> Response:
    """End a key, signed by a key of the member or not."""
    form = await request.form()
    signature = form.get("signature") or None
    await member_keys.revoke_member_key(form.get("key_id", ""), request, signature)
    return _saved(request, "/signature")
