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

T = TypeVar("T")
W = TypeVar("W")


@dataclass(frozen=True)
class Actor:
    """Somebody who acts; ``introduction`` are the records that a ledger needs of them first."""

    id: str
    introduction: tuple[TokenIssued | SignedIn, ...] = ()

    @classmethod
    def with_token(cls, issued: TokenIssued) -> Actor:
        """Return the owner of a token.

        >>> Actor.with_token(TokenIssued("7f", "client", "bank", "loans", "2026-03-01")).id
        'token:7f'
        """
        return cls(f"token:{issued.token}", (issued,))

    @classmethod
    def signed_in(cls, issued: TokenIssued, sign_in: SignedIn) -> Actor:
        """Return somebody at a page."""
        return cls(f"sign-in:{sign_in.sign_in}", (issued, sign_in))


MACHINE, SERVICE = Actor("machine"), Actor("service")
_CURRENT: ContextVar[Actor] = ContextVar("likewise_actor", default=MACHINE)


def current_actor() -> Actor:
    """Return who acts now."""
    return _CURRENT.get()


@contextmanager
def acting(actor: Actor) -> Iterator[None]:
    """Let somebody act within the block."""
    before = _CURRENT.set(actor)
    try:
        yield
    finally:
        _CURRENT.reset(before)


def done_by(actor: Actor, task: Callable[[W], T]) -> Callable[[W], T]:
    """Return the same task, done by somebody, in whatever thread it is called."""

    def act(worker: W) -> T:
        with acting(actor):
            return task(worker)

    return act
