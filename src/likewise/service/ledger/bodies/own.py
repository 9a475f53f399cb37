"""The base of all kinds of record: a frozen dataclass that knows its kind, its roles, its check."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, dataclass_transform

if TYPE_CHECKING:
    from likewise.service.verification.replay import Replay

# The class of every kind of record, by its name in the ledger.
KINDS: dict[str, type[Any]] = {}
# The roles that may add a record of a kind; the service and whoever is at the machine may add all.
ROLES: dict[str, frozenset[str]] = {}


def register(kind: str, body: type[Any], by: str) -> None:
    """Make a class the body of a kind of record, which the roles in ``by`` may add."""
    KINDS[kind], ROLES[kind] = body, frozenset(by.split())


@dataclass_transform(frozen_default=True)
class OwnBody:
    """A body that is no event of the learner, or part of one."""

    kind: ClassVar[str] = ""

    def __init_subclass__(cls, *, kind: str = "", by: str = "") -> None:
        dataclass(frozen=True)(cls)
        if kind:
            cls.kind = kind
            register(kind, cls, by)

    def check(self, replay: Replay) -> None:
        """Compare the record with what follows from those before it.

        Of kinds that do not say how, the projection and the fold judge alone.
        """


class MemberAct(OwnBody):
    """Something that a member of the panel says, and nobody else can say for them."""
