"""Actors: who does what is being recorded.

``token:ID`` and ``sign-in:ID`` are people and programs that the ledger knows by a record of their
own; ``machine`` is whoever works at the machine itself, on the command line or from a program;
``service`` is the service on its own account, as when a deadline passes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TypeVar

from likewise.service.ledger.bodies.evidence import SignedIn, TokenIssued

__all__ = ["MACHINE", "SERVICE", "Actor", "acting", "current_actor", "done_by"]

T = TypeVar("T")
W = TypeVar("W")


@dataclass(frozen=True)
class Actor:
    """Somebody who acts; ``introduction`` is what a ledger says of them when it meets them."""

    id: str
    introduction: tuple[TokenIssued | SignedIn, ...] = ()

    @classmethod
    def with_token(cls, issued: TokenIssued) -> Actor:
        """The owner of a token.

        >>> Actor.with_token(TokenIssued("7f", "client", "bank", "loans", "2026-03-01")).id
        'token:7f'
        """
        return cls(f"token:{issued.token}", (issued,))

    @classmethod
    def signed_in(cls, issued: TokenIssued, sign_in: SignedIn) -> Actor:
        """Somebody at a page."""
        return cls(f"sign-in:{sign_in.sign_in}", (issued, sign_in))


MACHINE, SERVICE = Actor("machine"), Actor("service")
_CURRENT: ContextVar[Actor] = ContextVar("likewise_actor", default=MACHINE)


def current_actor() -> Actor:
    """The one who acts now."""
    return _CURRENT.get()


@contextmanager
def acting(actor: Actor) -> Iterator[None]:
    """All that is recorded within the block is done by somebody."""
    before = _CURRENT.set(actor)
    try:
        yield
    finally:
        _CURRENT.reset(before)


def done_by(actor: Actor, task: Callable[[W], T]) -> Callable[[W], T]:
    """The same task, done by somebody, in whatever thread it is called."""

    def done(worker: W) -> T:
        with acting(actor):
            return task(worker)

    return done
