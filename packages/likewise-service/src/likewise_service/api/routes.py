"""Routes of the API: what a function takes is read from requests by a plan that is made once.

FastAPI makes the plan, and documents the route; carrying it out, it would look at every part of the
plan anew for every request, which takes longer than all the rest of one.
"""

import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any
from urllib.parse import parse_qsl

from fastapi import HTTPException, Request
from fastapi.dependencies.models import Dependant
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from fastapi.security.base import SecurityBase
from pydantic import TypeAdapter
from starlette.responses import Response
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Receive, Scope, Send

Faults = list[dict[str, Any]]
# What FastAPI puts into the scope of a request that it traces.
_TRACED = "fastapi.telemetry"


class Arguments:
    """The arguments of a coroutine: dependencies, parameters of a request, and its body."""

    def __init__(self, dependant: Dependant) -> None:
        self._call: Callable[..., Awaitable[Any]] = dependant.call  # type: ignore[assignment] # set
        self._request = dependant.request_param_name
        # What documents the token checks nothing: the middleware does.
        self._dependencies = [
            (str(part.name), Arguments(part))
            for part in dependant.dependencies
            if not isinstance(part.call, SecurityBase)
        ]
        self._path = [_Parameter("path", field) for field in dependant.path_params]
        self._query = [_Parameter("query", field) for field in dependant.query_params]
        self._headers = [_Parameter("header", field) for field in dependant.header_params]
        self._body = [_Parameter("body", field) for field in dependant.body_params]

    async def call(self, request: Request, body: object, faults: Faults) -> Any:
        """Call it with what it takes; what does not fit is added to ``faults``, and it is not."""
        values, before = dict[str, Any](), len(faults)
        for name, dependency in self._dependencies:
            values[name] = await dependency.call(request, body, faults)
        for parameter in self._path:
            parameter.read(request.scope["path_params"], values, faults)
        if self._query:
            text = request.scope["query_string"].decode("latin-1")
            query = dict(parse_qsl(text, keep_blank_values=True)) if text else {}
            for parameter in self._query:
                parameter.read(query, values, faults)
        for parameter in self._headers:
            parameter.read(request.headers, values, faults)
        for parameter in self._body:
            parameter.take(body, values, faults)
        if len(faults) > before:
            return None
        if self._request is not None:
            values[self._request] = request
        return await self._call(**values)


class _Parameter:
    """A parameter of a function: its name there and in a request, and what it has to be."""

    def __init__(self, place: str, field: Any) -> None:
        self._name, self._alias = field.name, field.alias
        self._place = ("body",) if place == "body" else (place, field.alias)
        self._validate, self._info = field.validate, field.field_info
        self._required = self._info.is_required()

    def read(self, received: Mapping[str, str], values: dict[str, Any], faults: Faults) -> None:
        self.take(received.get(self._alias), values, faults)

    def take(self, value: object, values: dict[str, Any], faults: Faults) -> None:
        """Put a value among others; None is one that the request does not have."""
        if value is not None:
            values[self._name], errors = self._validate(value, loc=self._place)
            faults += errors
        elif self._required:
            faults.append({"type": "missing", "loc": self._place, "msg": "Field required"})
        else:
            values[self._name] = self._info.get_default(call_default_factory=True)


class ApiRoute(APIRoute):
    """A route whose function is called by :class:`Arguments`, and whose result is sent as JSON."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._arguments = Arguments(self.dependant)
        self._result = TypeAdapter(self.response_model)

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond to a request; whatever is refused on the way is an exception."""
        if scope["method"] not in (self.methods or ()):
            await super().handle(scope, receive, send)
            return
        request, faults = Request(scope, receive), Faults()
        body = None if self.body_field is None else await _json(request)
        result = await self._arguments.call(request, body, faults)
        if faults:
            raise RequestValidationError(faults)
        if isinstance(result, Response):
            await result(scope, receive, send)
            return
        content = self._result.dump_json(result)
        length = (b"content-length", str(len(content)).encode())
        headers = [length, (b"content-type", b"application/json")]
        status = self.status_code or 200
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": content})


class Routes:
    """The API's routes, found by the parts of an address; FastAPI would try one after another.

    ``rest`` serves all other addresses, other methods, and requests that FastAPI traces.
    """

    def __init__(self, routes: Iterable[BaseRoute], rest: ASGIApp) -> None:
        self._rest, self._tree = rest, dict[str, Any]()
        for route in routes:
            if isinstance(route, ApiRoute) and ":" not in route.path:
                node, places = self._tree, dict[str, int]()
                for place, part in enumerate(route.path.split("/")):
                    if part.startswith("{"):
                        places[part[1:-1]] = place
                    node = node.setdefault("{}" if part.startswith("{") else part, {})
                for method in route.methods or ():
                    node.setdefault(f"/{method}", (route, places))

    def find(self, method: str, path: str) -> tuple[ApiRoute, dict[str, str]] | None:
        """Return a route and what an address has for its parameters, or None."""
        parts, node = path.split("/"), self._tree
        for part in parts:
            below = node.get(part)
            if below is None and part:
                below = node.get("{}")
            if below is None:
                return None
            node = below
        if (end := node.get(f"/{method}")) is None:
            return None
        route, places = end
        return route, {name: parts[place] for name, place in places.items()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        route = None
        if scope["type"] == "http" and not scope.get("root_path") and _TRACED not in scope:
            route = self.find(scope["method"], scope["path"])
        if route is None:
            await self._rest(scope, receive, send)
        else:
            scope["route"], scope["path_params"] = route
            await route[0].handle(scope, receive, send)


async def _json(request: Request) -> Any:
    """Return the body of a request as JSON; the bytes themselves if it does not say that it is."""
    content = await request.body()
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    is_json = kind == "application/json" or (
        kind.startswith("application/") and kind.endswith("+json")
    )
    if not content or not is_json:
        return content or None
    try:
        return json.loads(content)
    except json.JSONDecodeError as error:
        fault = {"type": "json_invalid", "loc": ("body", error.pos), "msg": "JSON decode error"}
        raise RequestValidationError([fault]) from error
    except (ValueError, RecursionError) as error:  # not in UTF-8, or too deep
        raise HTTPException(400) from error
