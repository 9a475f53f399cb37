"""Dockets: a list of them, how one begins, its panel, and its end."""

from __future__ import annotations

import asyncio

from likewise.service.api.dependencies import (
    App,
    Everybody,
    Governing,
    Operating,
    Somebody,
    api_router,
)
from likewise.service.api.requests import (
    DocketBody,
    ErasureBody,
    GuidelinesBody,
    LearnerBody,
    MemberBody,
    MemberName,
    RevealBody,
    RuleBody,
)
from likewise.service.api.responses import DocketList, DocketResponse, Written
from likewise.service.api.serializers import docket_list, docket_response, written
from likewise.service.auth.rate_limits import check_docket
from likewise.service.dockets.commands.erasure import erase, reveal_seed
from likewise.service.dockets.commands.learners import give_learner
from likewise.service.dockets.commands.members import change_rule, join, leave, set_guidelines
from likewise.service.dockets.commands.rounds import open_docket
from likewise.service.dockets.spec import DocketSpec
from likewise.service.errors import ServiceError
from likewise.service.ledger.actors import acting

__all__ = ["router"]

router = api_router("/v1/dockets", "dockets")


@router.get("")
async def list_dockets(caller: Somebody, app: App) -> DocketList:
    """The dockets that your token concerns."""
    names = [name for name in await app.workers.dockets() if caller.concerns(name)]
    return await asyncio.to_thread(docket_list, app.store, names)


@router.post("", status_code=201)
async def create_docket(body: DocketBody, caller: Operating, app: App) -> DocketResponse:
    """Begin a docket. Its settings stay as they are, but for members and rule."""
    settings = body.model_dump()
    name = settings.pop("name")

    def made() -> DocketSpec:
        spec = DocketSpec.from_hand(settings)
        check_docket(app.settings, spec)
        return spec

    spec = await asyncio.to_thread(made)
    with acting(caller.actor):
        await asyncio.to_thread(open_docket, app.store, name, spec)
    return await app.workers.run(name, lambda w: docket_response(w.docket, all_features=True))


@router.get("/{docket}")
async def get_docket(at: Everybody) -> DocketResponse:
    """A docket's settings, and its features."""
    everything = at.caller.role != "auditor"
    return await at.run(lambda w: docket_response(w.docket, all_features=everything))


@router.post("/{docket}/members")
async def add_member(body: MemberBody, at: Governing) -> Written:
    """Somebody joins the panel, for rounds that are sealed from now on."""
    return written(await at.run(lambda w: join(w.docket, body.member)))


@router.delete("/{docket}/members/{member}")
async def remove_member(member: MemberName, at: Governing) -> Written:
    """Somebody leaves the panel; rounds that are under way keep them."""
    return written(await at.run(lambda w: leave(w.docket, member)))


@router.put("/{docket}/rule")
async def set_rule(body: RuleBody, at: Governing) -> Written:
    """Another rule, for rounds that are sealed from now on."""
    return written(await at.run(lambda w: change_rule(w.docket, body.rule)))


@router.put("/{docket}/guidelines")
async def set_guidelines_(body: GuidelinesBody, at: Governing) -> Written:
    """Tell the panel's members what to look for."""
    return written(await at.run(lambda w: set_guidelines(w.docket, body.text)))


@router.put("/{docket}/learner")
async def set_learner(body: LearnerBody, at: Governing) -> Written:
    """Let a learner decide from now on, in a docket that was audit-only."""
    return written(await at.run(lambda w: give_learner(w.docket, body.learner)))


@router.post("/{docket}/erasures")
async def erase_person(body: ErasureBody, at: Governing) -> Written:
    """Remove somebody's features, and the reasons that are about them."""
    receipt = await at.run(lambda w: erase(w.docket, body.round, body.person))
    await asyncio.to_thread(at.app.store.scrub_soon)
    return written(receipt)


@router.post("/{docket}/seed")
async def publish_seed(body: RevealBody, at: Governing) -> Written:
    """Publish the seed, so that anybody can recompute the docket's decisions; do so at its end."""
    if body.docket != at.docket:
        raise ServiceError(
            "not-confirmed", 422,
            f"Send the docket's name, {at.docket!r}, to confirm: whoever knows the seed can "
            f"foresee its decisions.",
        )  # fmt: skip
    return written(await at.run(lambda w: reveal_seed(w.docket)))
