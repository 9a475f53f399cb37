"""Names of panel members: which are allowed, and how they are written in a rule."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence

from likewise.errors import AuditError, ParameterError, RuleError
from likewise.validation import as_list, items

BARE_NAME = re.compile(r"[\w.\-]+")


def checked_name(name: object, where: str) -> str:
    """The name itself, if it is a text that is not empty."""
    if not isinstance(name, str) or not name.strip():
        raise ParameterError(
            where, "must be a name, a text that is not blank", name, "Write one such as 'j3'."
        )
    return name


def checked_names(names: Iterable[str], where: str) -> tuple[str, ...]:
    """Names of some members, at least one and all different.

    >>> checked_names(["j1", "j2", "j1"], "at_least(of=…)")
    Traceback (most recent call last):
    likewise.errors.ParameterError: at_least(of=…) must name nobody twice; got 'j1'. Name j1 once.
    """
    if isinstance(names, str):
        raise ParameterError(where, "must be a list of names", names, f"Write [{names!r}].")
    if (values := as_list(names)) is None:
        raise ParameterError(where, "must be a list of names", names, "Write ['j1', 'j2'].")
    listed = tuple(checked_name(name, where) for name in values)
    if not listed:
        raise ParameterError(
            where, "must name at least one member", listed, "Somebody has to be able to object."
        )
    twice = [name for i, name in enumerate(listed) if name in listed[:i]]
    if twice:
        raise ParameterError(where, "must name nobody twice", twice[0], f"Name {twice[0]} once.")
    return listed


def quoted(name: str) -> str:
    r"""A name as it stands in a rule: bare where that can be read back, else in quotes.

    >>> print(quoted("j3"), quoted("Ms. Noor"), quoted('the "new" one'))
    j3 "Ms. Noor" "the \"new\" one"
    """
    return name if BARE_NAME.fullmatch(name) else json.dumps(name, ensure_ascii=False)


def seated(members: Sequence[str], named: Iterable[str], rule: object) -> dict[str, int]:
    """The place of every member of a panel that a rule can be used on.

    >>> seated(["j1", "j2"], ["j2"], "veto(j2)")
    {'j1': 0, 'j2': 1}
    """
    panel = items("members", members, "List their names: ['j1', 'j2'].")
    seats = {checked_name(name, "members"): place for place, name in enumerate(panel)}
    if not seats:
        raise AuditError(
            f"The panel for the rule {rule} must not be empty; got no members. Without auditors "
            f"nothing is audited: record the round as unaudited instead."
        )
    if len(seats) != len(panel):
        raise AuditError(
            f"Members of a panel must have different names; got {_listed(panel)}. Rename one, so "
            f"that a rule can tell them apart."
        )
    if absent := [quoted(name) for name in named if name not in seats]:
        raise RuleError(
            f"The rule {rule} names {', '.join(absent)}, who {'is' if len(absent) == 1 else 'are'} "
            f"not on the panel ({_listed(panel)}). Put them on it, or take them out of the rule."
        )
    return seats


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(quoted, names))
