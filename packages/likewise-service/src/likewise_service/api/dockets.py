"""Dockets: their list, how one begins, its panel, and its end; tokens that open the API."""

import asyncio
from typing import Annotated, Literal

from fastapi import Path, Query
from pydantic import Field

from likewise_client import responses
from likewise_service.api import dependencies as deps
from likewise_service.api import metrics
from likewise_service.api.dependencies import Access, adds
from likewise_service.api.errors import Written, fill, receipt_response
from likewise_service.auth.tokens import Role, check_member, create_token, list_tokens, revoke_token
from likewise_service.dockets import erasure, panel, rounds
from likewise_service.dockets.docket import Docket
from likewise_service.dockets.spec import DocketSpec
from likewise_service.errors import ServiceError
from likewise_service.ledger import kinds, notes
from likewise_service.settings import Settings

router = deps.api_router("/v1/dockets", "dockets")

DECIDED_ELSEWHERE = "This docket audits decisions that are taken elsewhere."
IN_SHADOW = "This docket runs in shadow: do not use its decisions."

Seconds = Annotated[float, Field(gt=0, le=10**9, allow_inf_nan=False)]
RepeatShare = Annotated[float, Field(ge=0, le=0.5, allow_inf_nan=False)]
MemberName = Annotated[str, Path(min_length=1, max_length=200, pattern=deps.PRINTABLE)]


class DocketBody(deps.Body):
    """A new docket. Parameters of the learner that are left out have their defaults."""

    name: deps.DocketId
    title: deps.Text
    learner: deps.LearnerSpec
    members: Annotated[list[deps.Text], Field(max_length=100)]
    rule: deps.Rule = DocketSpec.rule
    quorum: Annotated[int, Field(ge=1, le=100)] = DocketSpec.quorum
    deadline: Seconds | None = DocketSpec.deadline
    shadow: bool = DocketSpec.shadow
    repeat_share: RepeatShare = DocketSpec.repeat_share
    audit_only: Annotated[
        bool, Field(description="You decide, and scores come with people; learner needs schema.")
    ] = DocketSpec.audit_only
    repeat_window: Annotated[int, Field(ge=1, le=10**6)] | None = DocketSpec.repeat_window
    turns: Annotated[
        bool, Field(description="Members are asked one after another, until the rule is settled.")
    ] = DocketSpec.turns
    together_share: Annotated[
        float, Field(ge=0, le=1, description="With turns: rounds that all members see at once.")
    ] = DocketSpec.together_share
    graded: Annotated[
        bool, Field(description="A flag may have a limit: the largest gap a member accepts.")
    ] = DocketSpec.graded


class LearnerBody(deps.Body):
    """A learner for an audit-only docket; rounds that are open have to be closed first."""

    learner: deps.LearnerSpec


class GuidelinesBody(deps.Body):
    text: Annotated[str, Field(min_length=1, max_length=20_000)]


class GoldPerson(deps.Body):
    """Somebody made up: the ledger keeps them, so no real person's data."""

    features: Annotated[dict[str, deps.FeatureValue], Field(max_length=1000)]
    chance: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class GoldBody(deps.Body):
    """A pair to practise with, the favoured first; members read ``why`` after they respond."""

    pair: Annotated[list[GoldPerson], Field(min_length=2, max_length=2)]
    response: Literal["flag", "fine"]
    why: deps.Reason


class PracticeBody(deps.Body):
    pairs: Annotated[list[GoldBody], Field(max_length=100)]


class MemberBody(deps.Body):
    member: deps.Text


class RuleBody(deps.Body):
    rule: deps.Rule


class RevealBody(deps.Body):
    """The docket's name once more, since this cannot be undone."""

    docket: Annotated[str, Field(max_length=64)]


def docket_response(docket: Docket) -> responses.DocketResponse:
    """Return a docket's settings; auditors do not learn of features that are hidden from them."""
    projection, settings = docket.projection, docket.projection.settings
    hides = any(body.role == "auditor" for body in kinds.current_actor().introduction)
    learner = docket.state.learner
    return fill(
        responses.DocketResponse, settings, name=docket.name,
        notice=IN_SHADOW if settings.shadow else DECIDED_ELSEWHERE if settings.audit_only else None,
        learner_from=projection.learner_from or None,
        features=[f.spec() for f in docket.schema.features if f.visible or not hides],
        k=learner.k, alpha=learner.alpha, feedback=learner.feedback,
        members=list(projection.members), rule=projection.rule,
        seed_commitment=projection.commitment, receipt=receipt_response(docket.receipt()),
    )  # fmt: skip


AfterDocket = Annotated[
    str, Query(pattern=f"^$|{deps.DOCKET_NAME}", max_length=64, description="Names above this.")
]
PartOfName = Annotated[
    str, Query(pattern="^[a-z0-9-]*$", max_length=64, description="Only names that hold this.")
]


@router.get("")
async def list_dockets(
    access: deps.AnyCaller, after: AfterDocket = "", limit: deps.Limit = 100,
    contains: PartOfName = "",
) -> responses.DocketList:  # fmt: skip
    """List the dockets that your token may use, by name."""

    rows = await asyncio.to_thread(
        access.app.store.listed, after, limit + 1, contains=contains, only=access.caller.docket
    )
    page = [responses.DocketSummary(n, spec["title"], spec["shadow"]) for n, spec in rows[:limit]]
    return responses.DocketList(page, page[-1].name if len(rows) > limit else None)


@router.post("", status_code=201)
async def create_docket(
    body: DocketBody, access: deps.AppAccess = deps.caller_adds(kinds.DocketOpened)
) -> responses.DocketResponse:
    """Begin a docket. Its settings stay as they are, except for members and rule."""

    def create() -> None:
        spec = DocketSpec.from_hand(body.model_dump(exclude={"name"}))
        _check_size(access.app.settings, spec)
        with kinds.acting(access.actor):
            rounds.open_docket(access.app.store, body.name, spec)

    await asyncio.to_thread(create)
    return await access.app.workers.run(body.name, lambda w: docket_response(w.docket))


def _check_size(settings: Settings, spec: DocketSpec) -> None:
    """Refuse a docket whose rounds would be larger than a request may be."""
    k, features = spec.learner["k"], len(spec.learner["hypotheses"]["schema"]["features"])
    if k > settings.people_limit or features > settings.feature_limit:
        allowed = f"k = {settings.people_limit} and {settings.feature_limit} features"
        fault = f"A docket may have {allowed} here; this one has {k} and {features}."
        remedy = "Ask for less, or raise people_limit and feature_limit of the server."
        raise ServiceError("too-many", 422, f"{fault} {remedy}")


@router.get("/{docket}")
async def get_docket(access: deps.AnyAccess) -> responses.DocketResponse:
    """Return a docket's settings, and its features."""
    return await access.run(lambda w: docket_response(w.docket))


AfterName = Annotated[
    str, Query(max_length=200, pattern=f"^$|{deps.PRINTABLE}", description="Names above this.")
]


@router.get("/{docket}/members")
async def list_members(
    access: deps.SupervisorAccess, after: AfterName = "", limit: deps.Limit = 100
) -> responses.MemberList:
    """List who sits, or sat lately, on the panel, by name, and how they took part."""
    return await access.run(lambda w: metrics.member_list(w, after=after, limit=limit))


@router.post("/{docket}/members")
async def add_member(body: MemberBody, access: Access = adds(kinds.MemberJoined)) -> Written:
    """Add a member to the panel, for rounds that are sealed from now on."""
    return await access.write(panel.join, body.member)


@router.delete("/{docket}/members/{member}")
async def remove_member(member: MemberName, access: Access = adds(kinds.MemberLeft)) -> Written:
    """Remove a member from the panel; rounds that are under way keep them."""
    return await access.write(panel.leave, member)


@router.put("/{docket}/rule")
async def set_rule(body: RuleBody, access: Access = adds(kinds.RuleChanged)) -> Written:
    """Set the rule for rounds that are sealed from now on."""
    return await access.write(panel.change_rule, body.rule)


@router.put("/{docket}/guidelines")
async def set_guidelines_(
    body: GuidelinesBody, access: Access = adds(kinds.GuidelinesSet)
) -> Written:
    """Tell the members of the panel what to look for."""
    return await access.write(panel.set_guidelines, body.text)


@router.put("/{docket}/practice")
async def set_practice_(body: PracticeBody, access: Access = adds(kinds.PracticeSet)) -> Written:
    """Set the pairs that members practise with; an empty list brings back the service's own."""

    def record(docket: Docket) -> notes.Checkpoint:
        pairs = []
        for gold in body.pairs:
            people = [(person.features, person.chance) for person in gold.pair]
            pairs.append(panel.gold_pair(docket.schema, people, gold.response, gold.why))
        return panel.set_practice(docket, pairs)

    return await access.write(record)


@router.put("/{docket}/learner")
async def set_learner(body: LearnerBody, access: Access = adds(kinds.LearnerGiven)) -> Written:
    """Let a learner decide from now on, in a docket that was audit-only."""
    return await access.write(rounds.give_learner, body.learner)


@router.post("/{docket}/erasures")
async def erase_person(body: deps.PersonBody, access: Access = adds(kinds.Erased)) -> Written:
    """Erase a person's features, and the reasons about them."""
    response = await access.write(erasure.erase, body.round, body.person)
    await asyncio.to_thread(access.app.store.scrub_soon)
    return response


@router.post("/{docket}/seed")
async def publish_seed(body: RevealBody, access: Access = adds(kinds.SeedRevealed)) -> Written:
    """Publish the seed, so that anybody can recompute the decisions; do so at the docket's end."""
    if body.docket != access.docket:
        remedy = f"Send the docket's name, {access.docket!r}, to confirm."
        why = "Whoever knows the seed can predict its decisions."
        raise ServiceError("not-confirmed", 422, f"{remedy} {why}")
    return await access.write(erasure.reveal_seed)


tokens = deps.api_router("/v1", "tokens")

TokenId = Annotated[str, Path(min_length=1, max_length=32, pattern=r"^[a-z0-9-]+$")]


class TokenBody(deps.Body):
    """A new token; an auditor's name is that of a member of the panel."""

    role: Role
    name: deps.Text
    docket: deps.DocketId | None = None


@tokens.get("/me")
async def who_am_i(access: deps.AnyCaller) -> responses.TokenResponse:
    """Return the owner of your token."""
    return fill(responses.TokenResponse, access.caller)


AfterToken = Annotated[
    str, Query(pattern="^[a-z0-9-]*$", max_length=32, description="Those behind this id.")
]


@tokens.get("/tokens")
async def get_tokens(
    access: deps.OperatorCaller, after: AfterToken = "", limit: deps.Limit = 100,
    docket: deps.OfDocket = None,
) -> responses.TokenList:  # fmt: skip
    """List tokens, revoked ones too, the oldest first; the tokens themselves are not shown."""
    owners = await asyncio.to_thread(
        list_tokens, access.app.store, after=after, limit=limit + 1, docket=docket
    )
    listed = [fill(responses.TokenResponse, owner) for owner in owners[:limit]]
    return responses.TokenList(listed, listed[-1].id if len(owners) > limit else None)


@tokens.post("/tokens", status_code=201)
async def new_token(
    body: TokenBody, access: deps.AppAccess = deps.caller_adds(kinds.TokenIssued)
) -> responses.NewToken:
    """Create a token, which is shown only once; an auditor must sit on the panel before."""
    app = access.app
    if body.docket is not None:
        members = await app.workers.run(body.docket, lambda w: tuple(w.docket.projection.members))
        if body.role == "auditor":
            check_member(body.name, body.docket, members)
    with kinds.acting(access.actor):
        token, identity = await asyncio.to_thread(
            create_token, app.store, body.role, body.name, body.docket
        )
    return responses.NewToken(token, fill(responses.TokenResponse, identity))


@tokens.delete("/tokens/{token_id}")
async def delete_token(
    token_id: TokenId, access: deps.AppAccess = deps.caller_adds(kinds.TokenEnded)
) -> responses.TokenResponse:
    """Revoke a token."""
    with kinds.acting(access.actor):
        identity = await asyncio.to_thread(revoke_token, access.app.store, token_id)
    access.app.tokens.forget()
    return fill(responses.TokenResponse, identity)
