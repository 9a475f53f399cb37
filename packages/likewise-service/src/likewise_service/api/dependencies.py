"""Dependencies of the routes: which callers each accepts, and how it reaches a docket."""

from __future__ import annotations

import unicodedata
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, Any, Concatenate, ParamSpec, TypeVar

from fastapi import APIRouter, Depends, Header, Path, Request, Security
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer
from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from starlette.requests import HTTPConnection

from likewise_client.responses import Written
from likewise_service.api.errors import DOCUMENTED, Telemetry, written
from likewise_service.auth.sign_ins import Provider
from likewise_service.auth.tokens import ROLES, Buckets, Identity, Role
from likewise_service.dockets.docket import Docket
from likewise_service.dockets.worker import Worker, Workers
from likewise_service.errors import ServiceError
from likewise_service.ledger.kinds import Actor, done_by
from likewise_service.ledger.records import Receipt
from likewise_service.ledger.store import Store
from likewise_service.settings import Settings

# Text without control characters, which neither logs nor PostgreSQL can hold.
PRINTABLE = r"^[^\x00-\x1f\x7f-\x9f]+$"
ROUND_ID = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"
SIGNATURE = r"^[A-Za-z0-9_-]{86}$"
DOCKET_NAME = r"^[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?$"
# JSON has no exact integers beyond this.
LARGEST = 2**53
# Categories of format and control characters, private ones, and separators other than the space.
INVISIBLE = ("Cf", "Cc", "Co", "Cs", "Cn", "Zl", "Zp")


def _unambiguous(text: str) -> str:
    """Refuse a name that looks like another one: by invisible characters, or split letters."""
    if unicodedata.normalize("NFC", text) != text or text != text.strip():
        raise ValueError("must be in normal form (NFC), without spaces at its ends")
    if any(unicodedata.category(char) in INVISIBLE for char in text):
        raise ValueError("must not hold invisible characters")
    return text


Unambiguous = AfterValidator(_unambiguous)
Text = Annotated[str, Field(min_length=1, max_length=200, pattern=PRINTABLE), Unambiguous]
PersonId = Annotated[str, Field(min_length=1, max_length=128, pattern=PRINTABLE), Unambiguous]
RoundName = Annotated[str, Field(min_length=1, max_length=64, pattern=ROUND_ID)]
DocketId = Annotated[str, Field(pattern=DOCKET_NAME, max_length=64)]
Rule = Annotated[str, Field(min_length=1, max_length=2000)]
Reason = Annotated[str, Field(min_length=1)]
LearnerSpec = Annotated[dict[str, Any], Field(description="hypotheses, k, alpha, eps, …")]

DocketName = Annotated[str, Path(pattern=DOCKET_NAME, max_length=64, description="The docket.")]
RoundId = Annotated[str, Path(min_length=1, max_length=64, pattern=ROUND_ID)]
IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key", min_length=1, max_length=200, pattern=r"^[\x21-\x7e]+$",
        description="The same key with the same request gets the same response.",
    ),
]  # fmt: skip


class Body(BaseModel):
    """A request: nothing is converted, and unknown fields are refused."""

    model_config = ConfigDict(strict=True, extra="forbid")


class PersonBody(Body):
    """A person of a round, to be erased or to be given the file of a decision."""

    round: RoundName
    person: PersonId


T = TypeVar("T")
P = ParamSpec("P")


class Bearer(HTTPBearer):
    """Documents the token in the schema; the middleware checks it before any route."""

    async def __call__(self, request: HTTPConnection) -> None:
        """Check nothing."""


BEARER = Bearer(auto_error=False, description="A token that the operator gave you: lw_…")


def operation_id(route: APIRoute) -> str:
    """Name a route in the schema by its function."""
    return route.name


def api_router(prefix: str, tag: str) -> APIRouter:
    """Return a router whose routes all need a token."""
    return APIRouter(
        prefix=prefix, tags=[tag], responses=DOCUMENTED, dependencies=[Security(BEARER)],
        generate_unique_id_function=operation_id,
    )  # fmt: skip


@dataclass(frozen=True)
class AppContext:
    """The objects that all routes of an app share."""

    store: Store
    settings: Settings
    workers: Workers
    telemetry: Telemetry
    page_limits: Buckets
    provider: Provider | None = None


# All of these are coroutines: FastAPI would run plain functions in threads.
async def app_context(request: Request) -> AppContext:
    """Return the objects that all routes of the app share."""
    context: AppContext = request.app.state.context
    return context


App = Annotated[AppContext, Depends(app_context)]


@dataclass(frozen=True)
class DocketAccess:
    """A caller, and a docket that the caller may use."""

    caller: Identity
    docket: str
    app: AppContext

    @property
    def actor(self) -> Actor:
        """Return the caller as an actor of the ledger."""
        return self.caller.actor

    @property
    def sees_panel(self) -> bool:
        """Tell whether the caller may see what members say and do."""
        return self.caller.role in ("operator", "regulator")

    async def run(self, task: Callable[[Worker], T]) -> T:
        """Run a task in the docket's thread, in the name of the caller."""
        return await self.app.workers.run(self.docket, done_by(self.actor, task))

    async def write(
        self, command: Callable[Concatenate[Docket, P], Receipt], *args: P.args, **options: P.kwargs
    ) -> Written:
        """Run a command that returns a receipt alone."""
        return written(await self.run(lambda worker: command(worker.docket, *args, **options)))


def _checked(request: Request, roles: tuple[Role, ...]) -> Identity:
    caller: Identity | None = request.state.caller
    if caller is None:
        raise ServiceError("unauthorised", 401, "This needs a token. Ask the operator for one.")
    if caller.role not in roles:
        raise ServiceError(
            "wrong-role", 403,
            f"This takes a token of the role {' or '.join(roles)}; yours is of the role "
            f"{caller.role}. Ask the operator.",
        )  # fmt: skip
    return caller


def _caller(*roles: Role) -> Callable[[Request], Awaitable[Identity]]:
    async def check(request: Request) -> Identity:
        return _checked(request, roles)

    return check


def _access(*roles: Role) -> Callable[[Request, DocketName], Awaitable[DocketAccess]]:
    async def check(request: Request, docket: DocketName) -> DocketAccess:
        caller = _checked(request, roles)
        if not caller.concerns(docket):
            # The same whether it exists or not, so that nobody learns which dockets there are.
            raise ServiceError(
                "other-docket", 403,
                f"Your token is for the docket {caller.docket!r} alone. Ask the operator for one "
                f"of this docket.",
            )  # fmt: skip
        return DocketAccess(caller, docket, await app_context(request))

    return check


AnyCaller = Annotated[Identity, Depends(_caller(*ROLES))]
OperatorCaller = Annotated[Identity, Depends(_caller("operator"))]
SupervisorCaller = Annotated[Identity, Depends(_caller("operator", "regulator"))]

AnyAccess = Annotated[DocketAccess, Depends(_access(*ROLES))]
ClientAccess = Annotated[DocketAccess, Depends(_access("operator", "client"))]
ReadAccess = Annotated[DocketAccess, Depends(_access("operator", "client", "regulator"))]
SupervisorAccess = Annotated[DocketAccess, Depends(_access("operator", "regulator"))]
AuditorAccess = Annotated[DocketAccess, Depends(_access("auditor"))]
OperatorAccess = Annotated[DocketAccess, Depends(_access("operator"))]
