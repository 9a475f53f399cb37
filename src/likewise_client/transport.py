"""Sending requests, and sending them again where that does no harm."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Self, TypeVar

import httpx

from likewise.service.api.responses import ReceiptResponse, Written
from likewise.service.ledger.signing.signatures import PrivateKey
from likewise_client.errors import Unreachable, error_of
from likewise_client.parsing import read_response

__all__ = ["Transport"]

T = TypeVar("T")
# The server, or something before it, had no time: the same request may succeed later.
PASSING = (429, 502, 503, 504)
LONGEST_WAIT = 30.0


class Transport:
    """The way to one server, with one token; ``member_key`` signs all that a member says."""

    def __init__(
        self,
        address: str,
        token: str,
        *,
        timeout: float = 60.0,
        retries: int = 3,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
        member_key: PrivateKey | None = None,
    ) -> None:
        self.member_key = member_key
        self.retries, self._sleep = retries, sleep
        self._http = httpx.Client(
            base_url=address,
            headers={"Authorization": f"Bearer {token}"},
            timeout=timeout,
            transport=transport,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of all connections."""
        self._http.close()

    def _get(self, kind: type[T], path: str, query: Mapping[str, Any] | None = None) -> T:
        return read_response(kind, self._request("GET", path, params=query).json())

    def _write(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, *, again: bool = True
    ) -> ReceiptResponse:
        return self._send(Written, method, path, body, again=again).receipt

    def _send(
        self,
        kind: type[T],
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        key: str | None = None,
        again: bool = True,
    ) -> T:
        headers = {} if key is None else {"Idempotency-Key": key}
        sent = self._request(method, path, again=again, json=body, headers=headers)
        return read_response(kind, sent.json())

    def _request(
        self, method: str, path: str, *, again: bool = True, **content: Any
    ) -> httpx.Response:
        """Send it; if that fails for now and it does no harm, send it again."""
        tries = self.retries + 1 if again else 1
        for number in range(1, tries + 1):
            wait = 0.1 * 2**number
            try:
                response = self._http.request(method, path, **content)
            except httpx.TransportError as error:
                if number == tries:
                    raise Unreachable(str(self._http.base_url), error) from error
            else:
                if response.is_success:
                    return response
                if response.status_code not in PASSING or number == tries:
                    raise error_of(response)
                wait = max(wait, _asked_wait(response))
            self._sleep(wait)
        raise AssertionError("unreachable: the last try returns or raises")

    def _lines(self, path: str) -> Iterator[bytes]:
        """The lines of a long response; only a line feed ends one."""
        rest = b""
        try:
            with self._http.stream("GET", path) as response:
                if not response.is_success:
                    response.read()
                    raise error_of(response)
                for part in response.iter_bytes():
                    *whole, rest = (rest + part).split(b"\n")
                    yield from whole
        except httpx.TransportError as error:
            raise Unreachable(str(self._http.base_url), error) from error
        if rest:
            yield rest


def _asked_wait(response: httpx.Response) -> float:
    """How long the server asks us to wait, within reason; it may also name a date."""
    text = response.headers.get("Retry-After", "")
    return min(float(text), LONGEST_WAIT) if text.isdecimal() else 0.0
