"""Dependencies of the routes: which callers each takes, and what it has at hand."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, TypeVar

from fastapi import APIRouter, Depends, Path, Request, Security
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer
from starlette.requests import HTTPConnection

from likewise.service.api.errors import DOCUMENTED
from likewise.service.api.telemetry import Telemetry
from likewise.service.auth.provider import Provider
from likewise.service.auth.rate_limits import Buckets
from likewise.service.auth.tokens import Identity, Role
from likewise.service.dockets.worker import Worker, Workers
from likewise.service.errors import ServiceError
from likewise.service.ledger.actors import done_by
from likewise.service.ledger.store import Store
from likewise.service.settings import Settings

__all__ = [
    "BEARER",
    "DOCKET_NAME",
    "App",
    "AppContext",
    "Auditing",
    "Deciding",
    "DocketAccess",
    "DocketName",
    "Everybody",
    "Governing",
    "Inspecting",
    "Operating",
    "Reading",
    "Somebody",
    "Supervising",
    "api_router",
    "name_of",
]

T = TypeVar("T")


class Bearer(HTTPBearer):
    """A token, for the schema alone: the middleware has looked at it before any route."""

    async def __call__(self, request: HTTPConnection) -> None:
        """Look at nothing."""


BEARER = Bearer(auto_error=False, description="A token that the operator gave you: lw_…")
DOCKET_NAME = r"^[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?$"
DocketName = Annotated[str, Path(pattern=DOCKET_NAME, max_length=64, description="The docket.")]


def name_of(route: APIRoute) -> str:
    """The name of a route in the schema."""
    return route.name


def api_router(prefix: str, tag: str) -> APIRouter:
    """The routes of a part of the API, which all need a token."""
    return APIRouter(
        prefix=prefix, tags=[tag], responses=DOCUMENTED, dependencies=[Security(BEARER)],
        generate_unique_id_function=name_of,
    )  # fmt: skip


@dataclass(frozen=True)
class AppContext:
    """All that the routes of an app share."""

    store: Store
    settings: Settings
    workers: Workers
    telemetry: Telemetry
    page_limits: Buckets
    provider: Provider | None = None


# All of these are coroutines: FastAPI would run plain functions in threads.
async def _app(request: Request) -> AppContext:
    found: AppContext = request.app.state.context
    return found


App = Annotated[AppContext, Depends(_app)]


@dataclass(frozen=True)
class DocketAccess:
    """A caller, and a docket that concerns them."""

    caller: Identity
    docket: str
    app: AppContext

    @property
    def sees_panel(self) -> bool:
        """Tell if they may see what members say and do."""
        return self.caller.role in ("operator", "regulator")

    async def run(self, task: Callable[[Worker], T]) -> T:
        """Do something in the docket's thread."""
        return await self.app.workers.run(self.docket, done_by(self.caller.actor, task))


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


def _anybody(*roles: Role) -> Callable[[Request], Awaitable[Identity]]:
    async def check(request: Request) -> Identity:
        return _checked(request, roles)

    return check


def _at(*roles: Role) -> Callable[[Request, DocketName], Awaitable[DocketAccess]]:
    async def access(request: Request, docket: DocketName) -> DocketAccess:
        caller = _checked(request, roles)
        if not caller.concerns(docket):
            # The same whether it exists or not, so that nobody learns which dockets there are.
            raise ServiceError(
                "other-docket", 403,
                f"Your token is for the docket {caller.docket!r} alone. Ask the operator for one "
                f"of this docket.",
            )  # fmt: skip
        return DocketAccess(caller, docket, await _app(request))

    return access


Somebody = Annotated[Identity, Depends(_anybody("operator", "client", "auditor", "regulator"))]
Operating = Annotated[Identity, Depends(_anybody("operator"))]
Supervising = Annotated[Identity, Depends(_anybody("operator", "regulator"))]

Everybody = Annotated[DocketAccess, Depends(_at("operator", "client", "auditor", "regulator"))]
Deciding = Annotated[DocketAccess, Depends(_at("operator", "client"))]
Reading = Annotated[DocketAccess, Depends(_at("operator", "client", "regulator"))]
Inspecting = Annotated[DocketAccess, Depends(_at("operator", "regulator"))]
Auditing = Annotated[DocketAccess, Depends(_at("auditor"))]
Governing = Annotated[DocketAccess, Depends(_at("operator"))]
