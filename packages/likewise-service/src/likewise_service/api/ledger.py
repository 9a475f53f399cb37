"""The ledger: receipts, exports, packets, keys, retention, and the docket in numbers."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from typing import Annotated, Any, Self

from fastapi import APIRouter, Path, Query
from fastapi.responses import Response, StreamingResponse
from pydantic import Field, model_validator

from likewise_client import responses
from likewise_service.api import dependencies as deps
from likewise_service.api import metrics
from likewise_service.api.dependencies import Access, adds
from likewise_service.api.errors import DOCUMENTED, Written, fill, receipt_response
from likewise_service.dockets import assessment, erasure
from likewise_service.dockets.docket import Docket
from likewise_service.errors import ServiceError
from likewise_service.ledger import kinds, notes
from likewise_service.ledger.records import Record
from likewise_service.ledger.tiles import WIDTH, Log, tile_path
from likewise_service.verify import certificates, export, packets

router = deps.api_router("/v1/dockets/{docket}", "ledger")

PAGE = 1000

After = Annotated[int, Query(ge=0, le=deps.LARGEST, description="Records with numbers above this.")]
WrongReports = Annotated[
    int, Query(ge=0, le=10**9, description="Reports of pairs that the panel accepts in truth.")
]


def _documented(media_type: str) -> dict[int | str, dict[str, Any]]:
    return {200: {"content": {media_type: {"schema": {"type": "string"}}}}}


@router.get("/receipt")
async def get_receipt(access: deps.AnyAccess) -> responses.ReceiptResponse:
    """Return a receipt, by which you can tell later whether the ledger was rewritten."""
    return receipt_response(await _head(access))


async def _head(access: Access) -> notes.Checkpoint:
    """Return the checkpoint of the last record that the caller may know."""
    return await access.run(lambda worker: worker.docket.receipt())


TEXT, BYTES = "text/plain; charset=utf-8", "application/octet-stream"
# The number of a tile, as a path (tlog-tiles), and of its hashes if it is not full.
_TILE = re.compile(r"((?:x[0-9]{3}/)*[0-9]{3})(?:\.p/([1-9][0-9]{0,2}))?")
Number = Annotated[int, Path(ge=1, le=deps.LARGEST)]


@router.get("/checkpoint", response_class=Response, responses=_documented(TEXT))
async def get_checkpoint(access: deps.AnyAccess) -> Response:
    """Return the receipt alone, as logs serve it (C2SP's tlog-tiles and tlog-checkpoint)."""
    return Response(str(await _head(access)), media_type=TEXT)


@router.get("/inclusion/{number}", response_class=Response, responses=_documented(TEXT))
async def prove_inclusion(access: deps.AnyAccess, number: Number) -> Response:
    """Prove that the record of a number is in the ledger (tlog-proof)."""

    def proof(log: Log, checkpoint: notes.Checkpoint) -> notes.InclusionProof:
        hashes = log.inclusion(number - 1, log.size)
        return notes.InclusionProof(number - 1, tuple(hashes), checkpoint)

    return await _proof(access, number, proof)


@router.get("/consistency/{number}", response_class=Response, responses=_documented(TEXT))
async def prove_consistency(access: deps.AnyAccess, number: Number) -> Response:
    """Prove that the ledger begins with all records of a receipt, whose number you give."""

    def proof(log: Log, checkpoint: notes.Checkpoint) -> notes.ConsistencyProof:
        return notes.ConsistencyProof(number, tuple(log.consistency(number, log.size)), checkpoint)

    return await _proof(access, number, proof)


async def _proof(
    access: Access, number: int, proof: Callable[[Log, notes.Checkpoint], object]
) -> Response:
    """Return a proof that is made from the tree up to the last record that the caller may know."""
    checkpoint = await _head(access)
    if number > checkpoint.size:
        raise ServiceError("no-record", 404, f"There are {checkpoint.size:,} records to know of.")

    def made() -> str:
        with access.app.store.view(access.docket) as view:
            return str(proof(view.log(checkpoint.size), checkpoint))

    return Response(await asyncio.to_thread(made), media_type=TEXT)


@router.get("/tile/{level}/{path:path}", response_class=Response, responses=_documented(BYTES))
async def get_tile(
    access: deps.AnyAccess,
    level: Annotated[str, Path(pattern=r"^(entries|[1-5]?[0-9]|6[0-3])$")],
    path: Annotated[str, Path(max_length=100)],
) -> Response:
    """Return a tile of the tree's hashes, or the hashes of records (tlog-tiles)."""
    checkpoint = await _head(access)
    match = _TILE.fullmatch(path)
    number = int(match[1].replace("/", "").replace("x", "")) if match else 0
    width, height = int(match[2] or WIDTH) if match else 0, 0 if level == "entries" else int(level)
    there = checkpoint.size // WIDTH**height - number * WIDTH
    widest = min(there, WIDTH - 1 if match and match[2] else WIDTH)  # a full tile has no suffix
    if match is None or tile_path(number) != match[1] or not 0 < width <= widest:
        raise ServiceError("no-tile", 404, f"There are {checkpoint.size:,} records to know of.")

    def read() -> bytes:
        with access.app.store.view(access.docket) as view:
            if level == "entries":
                entries = view.entries(number * WIDTH, number * WIDTH + width)
                return b"".join(len(entry).to_bytes(2, "big") + entry for entry in entries)
            return b"".join(view.log(checkpoint.size).tile(height, number)[:width])

    headers = {"Cache-Control": "private, max-age=31536000, immutable"}
    return Response(await asyncio.to_thread(read), media_type=BYTES, headers=headers)


@router.get("/metrics")
async def get_metrics(access: deps.ReadAccess) -> metrics.MetricsResponse:
    """Return reports, errors, gaps, what is open or missing; and how the panel works."""
    return await access.run(metrics.measure)


@router.get("/certificate")
async def get_certificate(
    access: deps.ReadAccess,
    confidence: Annotated[float, Query(gt=0, lt=1)] = 0.95,
    wrong_reports: WrongReports = 0,
) -> responses.CertificateResponse:
    """Return a bound on the learner's regret so far, and when it holds; signed."""
    given = await access.run(
        lambda w: certificates.give_certificate(
            w.docket, confidence=confidence, wrong_reports=wrong_reports, one_sided=w.one_sided
        )
    )
    return responses.CertificateResponse(given, certificates.certificate_words(given))


@router.get("/agreement.csv", response_class=Response, responses=_documented("text/csv"))
async def get_agreement(access: deps.SupervisorAccess) -> Response:
    """Return agreement and disagreement by member and month, as a table."""
    rows = await access.run(lambda w: metrics.agreement_rows(w.docket.projection))
    return Response(b"".join(export.csv_line(row) + b"\n" for row in rows), media_type="text/csv")


async def _export(
    access: Access, after: int, line: Callable[[Record], bytes], media_type: str, head: bytes = b""
) -> StreamingResponse:
    """Stream the records page by page, so that a long ledger is never in memory."""
    last = await access.run(lambda worker: worker.docket.projection.head.seq)

    async def pages() -> AsyncIterator[bytes]:
        yield head
        for start in range(after, last, PAGE):
            end = min(start + PAGE, last)
            page = await asyncio.to_thread(access.app.store.records, access.docket, start, end)
            yield b"".join(line(record) + b"\n" for record in page)

    return StreamingResponse(pages(), media_type=media_type)


@router.get(
    "/ledger.jsonl", response_class=StreamingResponse, responses=_documented("application/jsonl")
)
async def export_jsonl(access: deps.SupervisorAccess, after: After = 0) -> StreamingResponse:
    """Stream all records, one a line, exactly as they were hashed."""
    return await _export(access, after, Record.line, "application/jsonl")


@router.get("/ledger.csv", response_class=StreamingResponse, responses=_documented("text/csv"))
async def export_csv(access: deps.SupervisorAccess, after: After = 0) -> StreamingResponse:
    """Stream all records as a table. Verify the other export: it has the exact bytes."""
    head = export.csv_line(export.COLUMNS) + b"\n"
    return await _export(access, after, export.table_line, "text/csv", head)


published = APIRouter(tags=["evidence"])

HoldId = Annotated[str, Path(pattern=r"^[0-9a-f]{12}$", description="From placing it.")]
Days = Annotated[float, Field(gt=0, le=36_525, allow_inf_nan=False)]


class RetentionBody(deps.Body):
    """Days after a round has closed for which features and reasons are kept; null: always.

    Or ``presets``, periods that laws ask for, by name; of several the longest.
    """

    features: Days | None = None
    reasons: Days | None = None
    presets: Annotated[list[str], Field(min_length=1, max_length=10)] | None = None

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        wanted = {"presets"} if self.presets is not None else {"features", "reasons"}
        if self.model_fields_set != wanted:
            raise ValueError("give both features and reasons, or presets alone")
        return self


class HoldBody(deps.Body):
    """A legal hold on the docket, a round, or a person of it; ``why`` stays in the ledger."""

    why: deps.Text
    round: deps.RoundName | None = None
    person: deps.PersonId | None = None


class KeyList(responses.Response):
    """The keys that sign, or once signed, receipts; the key in use is not ``retired``."""

    keys: list[responses.KeyResponse]


class HoldList(responses.Response):
    holds: list[responses.HoldResponse]


class NewHold(Written):
    hold: str


@published.get("/.well-known/likewise-keys.json", responses={s: DOCUMENTED[s] for s in (429, 503)})
async def published_keys(app: deps.App) -> KeyList:
    """List the installation's public keys, by which anybody can tell its receipts from others."""
    keys = await asyncio.to_thread(app.store.keys.listed)
    return KeyList(
        [fill(responses.KeyResponse, k, id=k.public.id, public=k.public.text) for k in keys]
    )


@router.post("/packets")
async def give_decision_packet(
    body: deps.PersonBody, access: Access = adds(kinds.PacketGiven)
) -> responses.PacketResponse:
    """Return everything that led to the decision on one person, in words and as signed JSON.

    It is for that person: it holds nobody else's data, and of the panel what your role may see. The
    ledger records that it was given.
    """
    packet = await access.run(
        lambda w: packets.give_packet(w.docket, body.round, body.person, access.caller.role)
    )
    return responses.PacketResponse(packet, packets.packet_words(packet))


@router.put("/retention")
async def set_periods(body: RetentionBody, access: Access = adds(kinds.RetentionSet)) -> Written:
    """Set how long features and reasons are kept after a round has closed."""
    periods = (body.features, body.reasons)
    if body.presets is not None:
        periods = (erasure.preset_days(body.presets),) * 2
    return await access.write(erasure.set_retention, *periods)


@router.get("/assessment")
async def get_assessment(access: deps.SupervisorAccess) -> dict[str, Any]:
    """Return the facts for a fundamental-rights impact assessment (EU AI Act, Art. 27).

    What only people can know is named, and left for them to write.
    """
    return await access.run(lambda w: assessment.assessment(w.docket))


@router.get("/assessment.md", response_class=Response, responses=_documented("text/markdown"))
async def get_assessment_text(access: deps.SupervisorAccess) -> Response:
    """Return the same as a text to complete."""
    content = await get_assessment(access)
    return Response(assessment.assessment_markdown(content), media_type="text/markdown")


@router.get("/holds")
async def list_holds(access: deps.SupervisorAccess) -> HoldList:
    """List the legal holds that are in force, the oldest first."""
    return await access.run(lambda w: hold_list(w.docket))


def hold_list(docket: Docket) -> HoldList:
    holds = docket.projection.governance.holds.values()
    return HoldList([fill(responses.HoldResponse, hold, round=hold.of_round) for hold in holds])


@router.post("/holds", status_code=201)
async def new_hold(body: HoldBody, access: Access = adds(kinds.HoldPlaced)) -> NewHold:
    """Place a legal hold on the docket, a round or a person: nothing of it is erased."""
    hold, receipt = await access.run(
        lambda w: erasure.place_hold(w.docket, body.why, body.round, body.person)
    )
    return NewHold(receipt_response(receipt), hold)


@router.delete("/holds/{hold}")
async def end_hold(hold: HoldId, access: Access = adds(kinds.HoldLifted)) -> Written:
    """Lift a legal hold."""
    return await access.write(erasure.lift_hold, hold)
