"""Dockets: what there is, how one begins, who sits on its panel, and its end."""

from __future__ import annotations

import asyncio

from fastapi import APIRouter

from likewise.service.api.dependencies import (
    AppContextOf,
    Everybody,
    Governing,
    Operating,
    Somebody,
)
from likewise.service.api.errors import DOCUMENTED
from likewise.service.api.requests import (
    DocketBody,
    ErasureBody,
    MemberBody,
    MemberName,
    RevealBody,
    RuleBody,
)
from likewise.service.api.responses import DocketList, DocketResponse, Written
from likewise.service.api.serializers import docket_response, docket_summary, written
from likewise.service.auth.rate_limits import check_docket
from likewise.service.dockets.commands.erasure import erase, reveal_seed
from likewise.service.dockets.commands.members import change_rule, join, leave
from likewise.service.dockets.commands.rounds import open_docket
from likewise.service.dockets.spec import DocketSpec
from likewise.service.dockets.spec_reading import read_spec
from likewise.service.errors import ServiceError

__all__ = ["router"]

router = APIRouter(prefix="/v1/dockets", tags=["dockets"], responses=DOCUMENTED)


@router.get("")
async def list_dockets(caller: Somebody, services: AppContextOf) -> DocketList:
    """The dockets that your token concerns."""
    names = [name for name in await services.workers.dockets() if caller.concerns(name)]
    found = [
        await services.workers.run(n, lambda o: docket_summary(o.docket.projection)) for n in names
    ]
    return DocketList(found)


@router.post("", status_code=201)
async def create_docket(body: DocketBody, _: Operating, services: AppContextOf) -> DocketResponse:
    """Begin a docket. Its settings stay as they are, but for members and rule."""
    settings = body.model_dump()
    name = settings.pop("name")

    def made() -> DocketSpec:
        spec = read_spec(settings)
        check_docket(services.settings, spec)
        return spec

    spec = await asyncio.to_thread(made)
    await asyncio.to_thread(open_docket, services.store, name, spec)
    return await services.workers.run(name, lambda o: docket_response(o.docket, all_features=True))


@router.get("/{docket}")
async def get_docket(at: Everybody) -> DocketResponse:
    """A docket's settings, and its features."""
    everything = at.caller.role != "auditor"
    return await at.run(lambda worker: docket_response(worker.docket, all_features=everything))


@router.post("/{docket}/members")
async def add_member(body: MemberBody, at: Governing) -> Written:
    """Somebody joins the panel, for rounds that are sealed from now on."""
    return written(await at.run(lambda worker: join(worker.docket, body.member)))


@router.delete("/{docket}/members/{member}")
async def remove_member(member: MemberName, at: Governing) -> Written:
    """Somebody leaves the panel; rounds that are under way keep them."""
    return written(await at.run(lambda worker: leave(worker.docket, member)))


@router.put("/{docket}/rule")
async def set_rule(body: RuleBody, at: Governing) -> Written:
    """Another rule, for rounds that are sealed from now on."""
    return written(await at.run(lambda worker: change_rule(worker.docket, body.rule)))


@router.post("/{docket}/erasures")
async def erase_person(body: ErasureBody, at: Governing) -> Written:
    """Remove somebody's features, and the reasons that are about them."""
    return written(await at.run(lambda worker: erase(worker.docket, body.round, body.person)))


@router.post("/{docket}/seed")
async def publish_seed(body: RevealBody, at: Governing) -> Written:
    """Publish the seed, so that anybody can recompute the docket's decisions; do so at its end."""
    if body.docket != at.docket:
        raise ServiceError(
            "not-confirmed", 422,
            f"Send the docket's name, {at.docket!r}, to confirm: whoever knows the seed can "
            f"foresee its decisions.",
        )  # fmt: skip
    return written(await at.run(lambda worker: reveal_seed(worker.docket)))
