"""Rules from a truth table or a function, checked for monotonicity.

Any monotone function is the "or" of its minimal winning coalitions: the smallest groups whose
objections make a report. So a user's own function becomes an expression that can be read, written
to a file and compared, and no code is ever stored.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import TypeVar

import numpy as np

from likewise.auditing.names import checked_names, quoted
from likewise.auditing.rules.base import BoolArray, Or, Rule
from likewise.auditing.rules.members import Never, objects
from likewise.auditing.rules.thresholds import all_of
from likewise.errors import ParameterError, RuleError, foreign_code

Profile = tuple[bool, ...]
Votes = TypeVar("Votes", bound=tuple[int, ...])  # so that any length of tuple is a key
_MOST_MEMBERS = 16


def from_truth_table(table: Mapping[Votes, int], members: Sequence[str]) -> Rule:
    """A rule from the result of every objection profile, 2^m of them.

    The table must be monotone (definition "Monotone aggregation functions") and must not report
    when nobody objects.

    >>> table = {(0, 0): 0, (0, 1): 0, (1, 0): 1, (1, 1): 1}
    >>> print(from_truth_table(table, ["a", "b"]))
    veto(a)
    >>> print(from_truth_table({(0, 0): 0, (0, 1): 1, (1, 0): 1, (1, 1): 0}, ["a", "b"]))
    Traceback (most recent call last):
    likewise.errors.RuleError: The rule is not monotone: it \
reports when b objects, profile (0, 1), \
but not when a, b object, profile (1, 1) ≽ (0, 1). One more objection, of a, must not take a \
report back: report (1, 1) too, or do not report (0, 1).
    """
    names = _panel(members)
    if not isinstance(table, Mapping) or not all(isinstance(votes, tuple) for votes in table):
        raise ParameterError(
            "table", "must be results by profile", table, "Write {(0, 0): 0, (0, 1): 1, …}."
        )
    results: dict[tuple[int, ...], int] = {tuple(votes): r for votes, r in table.items()}
    for profile in results:
        if len(profile) != len(names) or any(vote not in (0, 1) for vote in profile):
            raise RuleError(
                f"A profile must have a 0 or a 1 for each of the {len(names)} members "
                f"({', '.join(names)}); got {profile!r}. Write one vote for each, in that order."
            )

    def look_up(profile: Profile) -> int:
        if profile not in results:
            raise RuleError(
                f"The truth table must have all {1 << len(names)} profiles; {_bits(profile)} is "
                f"missing. Say whether the panel reports when {_objecting(profile, names)}."
            )
        return results[profile]

    return from_function(look_up, names)


def from_function(f: Callable[[Profile], int], members: Sequence[str]) -> Rule:
    """A rule from a function of the votes, called once for each of the 2^m profiles.

    At most 16 members, as every profile is evaluated: 2^16 = 65 536. Larger panels need a rule
    written as an expression, which is monotone by construction.

    >>> print(from_function(lambda v: v[0] or (v[1] and v[2]), ["a", "b", "c"]))
    veto(a) or all(b, c)
    """
    names = _panel(members)
    m = len(names)
    if not callable(f):
        raise ParameterError("f", "must be a function of the votes", f, "Write lambda v: v[0].")
    values = np.zeros((2,) * m, dtype=np.bool_)
    for bits in product((False, True), repeat=m):
        values[tuple(map(int, bits))] = _truth(_result(f, bits), bits)
    if values[(0,) * m]:
        raise RuleError(
            f"The rule always fires: it reports when nobody objects, profile "
            f"{_bits((False,) * m)}. No auditor does that; make this profile 0."
        )
    _check_monotone(values, names)
    coalitions = [tuple(names[i] for i in np.flatnonzero(z)) for z in np.argwhere(_minimal(values))]
    coalitions.sort(key=lambda c: (len(c), [names.index(name) for name in c]))
    parts = tuple(objects(c[0]) if len(c) == 1 else all_of(*c) for c in coalitions)
    if not parts:
        return Never()
    return parts[0] if len(parts) == 1 else Or(parts)


def _panel(members: Sequence[str]) -> tuple[str, ...]:
    names = checked_names(members, "members")
    if len(names) > _MOST_MEMBERS:
        raise ParameterError(
            "members",
            f"must be at most {_MOST_MEMBERS} for a truth table or a function",
            len(names),
            "All 2^m profiles are evaluated. Write an expression instead: at_least, veto, | and &.",
        )
    return names


def _result(f: Callable[[Profile], int], profile: Profile) -> object:
    with foreign_code(
        RuleError, f"The function failed on the profile {_bits(profile)}",
        "It is called for every profile, also for those that cannot come about.",
    ):  # fmt: skip
        return f(profile)


def _truth(value: object, profile: Profile) -> bool:
    if isinstance(value, bool | int | np.bool_) and value in (0, 1):
        return bool(value)
    raise RuleError(
        f"The rule must say True or False (1 or 0) for every profile; got {value!r} for "
        f"{_bits(profile)}."
    )


def _check_monotone(values: BoolArray, names: tuple[str, ...]) -> None:
    """Only profiles that differ in one vote need comparing: ≼ is a chain of such steps."""
    for i, name in enumerate(names):
        taken_back = np.take(values, 0, axis=i) & ~np.take(values, 1, axis=i)
        if not taken_back.any():
            continue
        profiles = np.argwhere(taken_back)
        weak = np.insert(profiles[int(np.argmin(profiles.sum(axis=1)))], i, 0).astype(np.bool_)
        strong = weak.copy()
        strong[i] = True
        v, stronger = tuple(weak.tolist()), tuple(strong.tolist())
        raise RuleError(
            f"The rule is not monotone: it reports when {_objecting(v, names)}, profile "
            f"{_bits(v)}, but not when {_objecting(stronger, names)}, profile {_bits(stronger)} ≽ "
            f"{_bits(v)}. One more "
            f"objection, of {quoted(name)}, must not take a report back: report "
            f"{_bits(stronger)} too, or do not report {_bits(v)}."
        )


def _minimal(values: BoolArray) -> BoolArray:
    """The profiles that fire, and would not with any one objection fewer."""
    minimal = values.copy()
    for i in range(values.ndim):
        above = [slice(None)] * values.ndim
        above[i] = slice(1, 2)
        below = list(above)
        below[i] = slice(0, 1)
        minimal[tuple(above)] &= ~values[tuple(below)]
    return minimal


def _bits(profile: Profile) -> str:
    return f"({', '.join(str(int(vote)) for vote in profile)}{',' * (len(profile) == 1)})"


def _objecting(profile: Profile, names: tuple[str, ...]) -> str:
    objectors = [quoted(name) for name, vote in zip(names, profile, strict=True) if vote]
    if not objectors:
        return "nobody objects"
    return f"{', '.join(objectors)} object{'s' * (len(objectors) == 1)}"
