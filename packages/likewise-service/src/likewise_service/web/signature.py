"""The page on which a member enrols the keys of their browsers, agrees to them, and ends them."""

from collections.abc import Callable
from typing import Any

from fastapi.responses import JSONResponse, Response
from pydantic import ValidationError

from likewise_service.api.member_keys import EndBody, MemberKeyBody, member_keys
from likewise_service.dockets import signing
from likewise_service.dockets.docket import Docket
from likewise_service.dockets.worker import Worker
from likewise_service.errors import ServiceError
from likewise_service.ledger import signatures
from likewise_service.web import queue
from likewise_service.web.dependencies import Auditor, PageRequest, page_router

router = page_router("/console/signature")


@router.get("")
async def signature_page(request: Auditor) -> Response:
    """Show what signing means, and the member's keys."""
    member = request.caller.name

    def values(worker: Worker) -> dict[str, Any]:
        browser = queue.signing_data(worker, member, {})
        return {"keys": member_keys(worker.docket, member), "signing": browser}

    return await request.show("console/signature.html", values)


@router.post("/enrol")
async def enrol(request: Auditor) -> Response:
    """Enrol the key of a browser, or agree to one that waits."""

    def command(docket: Docket, member: str, form: dict[str, str]) -> None:
        body = MemberKeyBody(**form)
        key = signatures.PublicKey(body.key)
        signing.enrol_key(
            docket, member, key, device=body.device, proof=body.proof, consent=body.consent
        )

    return await _change(request, command)


@router.post("/revoke")
async def revoke(request: Auditor) -> Response:
    """End a key, signed by a key of the member or not."""

    def command(docket: Docket, member: str, form: dict[str, str]) -> None:
        body = EndBody(**form)
        signing.revoke_key(docket, member, body.key_id, body.signature)

    return await _change(request, command)


async def _change(
    request: PageRequest, command: Callable[[Docket, str, dict[str, str]], None]
) -> Response:
    form, member = await request.form(), request.caller.name
    fields = {name: text for name, text in form.items() if name != "csrf"}
    try:
        await request.run(lambda worker: command(worker.docket, member, fields))
    except ValidationError as error:
        sentence = "This form names no key, or no signature. Load the page again."
        raise ServiceError("bad-signature", 422, sentence) from error
    return JSONResponse({"saved": True}) if request.wants_json else request.go("/signature")
