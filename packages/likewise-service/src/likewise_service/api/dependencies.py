"""Every request: its caller and limits, the callers a route accepts, the way to a docket."""

import random
import time
import unicodedata
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, Any, Concatenate, ParamSpec, TypeVar

from fastapi import APIRouter, Depends, Header, HTTPException, Path, Query, Request, Security
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer
from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from likewise_service.api import errors
from likewise_service.api.routes import ApiRoute
from likewise_service.api.telemetry import Telemetry
from likewise_service.auth.sign_ins import Provider
from likewise_service.auth.tokens import ROLES, Buckets, Identity, Role, TokenCache
from likewise_service.dockets.docket import Docket
from likewise_service.dockets.worker import Worker, Workers
from likewise_service.errors import LOG, ServiceError
from likewise_service.ledger import kinds, notes
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
    if text.isascii() and text.isprintable() and text == text.strip():
        return text
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
Moment = Annotated[
    str, Field(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z$")
]
Integer = Annotated[int, Field(ge=-LARGEST, le=LARGEST)]
Real = Annotated[float, Field(allow_inf_nan=False)]
FeatureValue = bool | Integer | Real | Annotated[str, Field(max_length=200)] | None
Rule = Annotated[str, Field(min_length=1, max_length=2000)]
Reason = Annotated[str, Field(min_length=1)]
LearnerSpec = Annotated[dict[str, Any], Field(description="hypotheses, k, alpha, eps, …")]

# A page of a list: what comes above a place, and how much of it.
Limit = Annotated[int, Query(ge=1, le=500, description="The most entries of the page.")]
DocketName = Annotated[str, Path(pattern=DOCKET_NAME, max_length=64, description="The docket.")]
OfDocket = Annotated[
    str | None, Query(pattern=DOCKET_NAME, max_length=64, description="Those that concern it.")
]
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
    round: RoundName
    person: PersonId


T = TypeVar("T")
P = ParamSpec("P")


# Documents the token in the schema, and refuses nothing: the middleware checks it before any route.
BEARER = HTTPBearer(
    scheme_name="Bearer", auto_error=False,
    description="A token that the operator gave you: lw_…",
)  # fmt: skip


def operation_id(route: APIRoute) -> str:
    return route.name


def api_router(prefix: str, tag: str) -> APIRouter:
    return APIRouter(
        prefix=prefix, tags=[tag], responses=errors.DOCUMENTED, dependencies=[Security(BEARER)],
        generate_unique_id_function=operation_id, route_class=ApiRoute,
    )  # fmt: skip


@dataclass(frozen=True)
class AppContext:
    """The objects that all routes of an app share."""

    store: Store
    settings: Settings
    workers: Workers
    telemetry: Telemetry
    tokens: TokenCache
    page_limits: Buckets
    provider: Provider | None


# All of these are coroutines: FastAPI would run plain functions in threads.
async def app_context(request: Request) -> AppContext:
    context: AppContext = request.app.state.context
    return context


App = Annotated[AppContext, Depends(app_context)]
# Methods by which nothing is written.
SAFE = ("GET", "HEAD")


@dataclass(frozen=True)
class AppAccess:
    """A caller of an app."""

    caller: Identity
    app: AppContext

    @property
    def actor(self) -> kinds.Actor:
        return self.caller.actor


@dataclass(frozen=True)
class Access(AppAccess):
    """A caller, and a docket that the caller may use; ``writes`` tells if the request may write."""

    docket: str
    writes: bool

    async def run(self, task: Callable[[Worker], T], key: str | None = None) -> T:
        """Run a task in the docket's thread, in the name of the caller."""
        task = kinds.done_by(self.actor, task)
        return await self.app.workers.run(self.docket, task, key, writes=self.writes)

    async def write(
        self, command: Callable[Concatenate[Docket, P], notes.Checkpoint], *args: P.args,
        **options: P.kwargs,
    ) -> errors.Written:  # fmt: skip
        """Run a command that returns a receipt alone."""
        receipt = await self.run(lambda worker: command(worker.docket, *args, **options))
        return errors.Written(errors.receipt_response(receipt))


def _checked(request: Request, roles: tuple[Role, ...]) -> Identity:
    caller: Identity | None = request.scope["state"]["caller"]
    if caller is None:
        raise ServiceError("unauthorised", 401, "This needs a token. Ask the operator for one.")
    if caller.role not in roles:
        fault = f"This needs a token with the role {' or '.join(roles)}; yours is {caller.role}."
        raise ServiceError("wrong-role", 403, f"{fault} Ask the operator.")
    return caller


def _caller(*roles: Role) -> Callable[[Request], Awaitable[AppAccess]]:
    async def check(request: Request) -> AppAccess:
        return AppAccess(_checked(request, roles), await app_context(request))

    return check


def _access(*roles: Role) -> Callable[[Request, DocketName], Awaitable[Access]]:
    async def check(request: Request, docket: DocketName) -> Access:
        caller = _checked(request, roles)
        if not caller.concerns(docket):
            # The same whether it exists or not, so that nobody learns which dockets there are.
            fault = f"Your token is for the docket {caller.docket!r} alone."
            remedy = "Ask the operator for one of this docket."
            raise ServiceError("other-docket", 403, f"{fault} {remedy}")
        return Access(caller, await app_context(request), docket, request.method not in SAFE)

    return check


def _roles(kind: type[kinds.Body]) -> tuple[Role, ...]:
    return tuple(role for role in ROLES if role in kinds.MAY[kind.kind])


def adds(kind: type[kinds.Body]) -> Any:
    """Admit callers to a docket who may add that kind of record, as a verifier will check."""
    return Depends(_access(*_roles(kind)))


def caller_adds(kind: type[kinds.Body]) -> Any:
    """Admit callers who may add that kind of record, in whatever docket."""
    return Depends(_caller(*_roles(kind)))


_SUPERVISORS = tuple(role for role in ROLES if role in kinds.SUPERVISORS)
AnyCaller = Annotated[AppAccess, Depends(_caller(*ROLES))]
OperatorCaller = Annotated[AppAccess, Depends(_caller("operator"))]
SupervisorCaller = Annotated[AppAccess, Depends(_caller(*_SUPERVISORS))]

# Whoever may read a docket; all but auditors; the operator and regulators; auditors.
AnyAccess = Annotated[Access, Depends(_access(*ROLES))]
ReadAccess = Annotated[Access, Depends(_access("operator", "client", "regulator"))]
SupervisorAccess = Annotated[Access, Depends(_access(*_SUPERVISORS))]
AuditorAccess = Annotated[Access, adds(kinds.Flagged)]


HEADERS = (
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cache-control", b"no-store"),
)
SCHEMA = "/v1/openapi.json"
# Open to anybody, and they read the database.
PUBLIC = ("/readyz", "/.well-known/likewise-keys.json")
DISCONNECTED = 499  # the caller disconnected before the request was complete
GUARDED = ("/v1/", "/metrics")
# Ids of requests are for the log and need not be secret; the system's own would release Python's
# lock for each.
REQUESTS = random.Random()


class AccessMiddleware:
    """Recognises the caller, enforces the limits, adds headers, logs and counts.

    Addresses under /v1 and /metrics need a token, which is checked before anything else: without
    one nobody learns anything, not even which addresses exist.
    """

    def __init__(self, app: ASGIApp, context: AppContext) -> None:
        settings = context.settings
        self.app, self.settings, self.telemetry = app, settings, context.telemetry
        self.tokens = context.tokens
        self.callers = Buckets(settings.rate, settings.burst)
        self.anonymous = Buckets(settings.anonymous_rate, settings.anonymous_burst)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        if scope["method"] == "HEAD":  # as GET; uvicorn leaves the body out
            scope = {**scope, "method": "GET"}
        began, status, request_id = time.perf_counter(), 0, f"{REQUESTS.getrandbits(64):016x}"
        scope.setdefault("state", {})["caller"] = None
        sent = dict(reversed(scope["headers"]))  # the first one of a name

        async def respond(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = [*message["headers"], (b"x-request-id", request_id.encode())]
                names = {name.lower() for name, _ in message["headers"]}
                headers += [header for header in HEADERS if header[0] not in names]
                message = {**message, "headers": headers}
            await send(message)

        try:
            scope["state"]["caller"] = await self._caller(scope, sent.get(b"authorization", b""))
            bounded = self._bounded(sent.get(b"content-length", b""), receive)
            await self.app(scope, bounded, respond)
        except errors.EXPECTED as error:
            await errors.error_response(error)(scope, receive, respond)
        except ClientDisconnect:
            status = DISCONNECTED
        except Exception:
            LOG.exception("A request failed.", extra={"said": {"request": request_id}})
            if status:
                raise  # the response has begun; the connection has to break
            sentence = f"Something failed here. Tell the operator this number: {request_id}."
            await errors.Problem("internal", 500, sentence)(scope, receive, respond)
        finally:
            self._log(scope, status, request_id, time.perf_counter() - began)

    async def _caller(self, scope: Scope, authorization: bytes) -> Identity | None:
        """Return the caller; refuse a request that needs a token and has no valid one."""
        path: str = scope["path"]
        address = (scope.get("client") or ("unknown",))[0]
        guessing = path.endswith("/sign-in") and scope["method"] == "POST"
        if path in PUBLIC or guessing or path.startswith("/console/sign-on"):
            self.anonymous.take(address)  # it reads the database; nobody may guess tokens
        if path == SCHEMA or not path.startswith(GUARDED):
            return None
        scheme, _, token = authorization.decode("latin-1").partition(" ")
        caller = None
        if scheme.lower() == "bearer":
            caller = await self.tokens.find(token.strip())
        if caller is None:
            self.anonymous.take(address)
            remedy = "send the header Authorization: Bearer lw_…, or ask the operator for a token."
            sentence = f"This needs a token that is known and was not revoked: {remedy}"
            raise ServiceError("unauthorised", 401, sentence)
        self.callers.take(caller.id)
        return caller

    def _bounded(self, declared: bytes, receive: Receive) -> Receive:
        """Return a receiver that refuses the body as soon as it is too large."""
        limit, read = self.settings.body_limit, 0
        declared_too_large = declared.isdigit() and int(declared) > limit

        async def counted() -> Message:
            nonlocal read
            message = {} if declared_too_large else await receive()
            read += len(message.get("body", b""))
            if declared_too_large or read > limit:
                # Of this kind, since FastAPI turns others into one of its own.
                sentence = f"A request may have {limit} bytes. Send less of it at a time."
                raise HTTPException(413, sentence)
            return message

        return counted

    def _log(self, scope: Scope, status: int, request_id: str, seconds: float) -> None:
        caller: Identity | None = scope["state"]["caller"]
        role = caller.role if caller else "anonymous"
        route: Any = scope.get("route")
        path = getattr(route, "path", None) or "(none)"
        method = scope["method"] if scope["method"].isalpha() else "(other)"
        self.telemetry.responded(path, method, status, role, seconds)
        fields = {
            "event": "request", "request": request_id, "method": method, "route": path,
            "docket": scope.get("path_params", {}).get("docket"), "status": status,
            "ms": round(1000 * seconds, 2), "role": role, "token": caller.id if caller else None,
        }  # fmt: skip
        LOG.info("%s %s %s", method, path, status, extra={"said": fields})
