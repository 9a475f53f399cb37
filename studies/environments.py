"""Worlds by purpose: judging learners, or choosing their defaults. None does both.

The choosing worlds are ``admissions`` and a market for loans that is not the README's, the judging
ones ``loans``, the worlds that drift and react, and the judgements of real people.
"""

from collections.abc import Mapping
from typing import Any

from likewise.errors import ParameterError
from likewise.registry import WORLDS

# The fields of a Game that make an environment.
Fields = Mapping[str, Any]
_LATE = {f"{rounds} late": str(rounds) for rounds in (10, 50, 200)} | {
    f"labels {rounds} late": f"audits:0,labels:{rounds}" for rounds in (200, 1000)
}
_MARKET: Fields = {"k": 4, "luck": 0.35, "harshness": 0.0, "leniency": 0.7}


def _fields(world: str, settings: Fields | None = None, **rules: Any) -> Fields:
    return {"world": world, "world_settings": settings or {}, **rules}


def _family(name: str, **settings: Any) -> dict[str, Fields]:
    """A market for loans as it is, with other panels, other rounds, and late feedback."""
    rule_any = {**settings, "rule": "any"}
    family = {
        name: _fields("loans", settings),
        f"{name}, any": _fields("loans", rule_any),
        f"{name}, strict": _fields("loans", {**settings, "leniency": 0.01}),
        f"{name}, lenient": _fields("loans", {**settings, "leniency": 2.0}),
        f"{name}, alpha .1": _fields("loans", settings, alpha=0.1),
        f"{name}, k 2": _fields("loans", {**settings, "k": 2}),
        f"{name}, k 16": _fields("loans", {**settings, "k": 16}),
        f"{name}, panels change": _fields("turnover", settings),
    }
    for late, delay in _LATE.items():
        family[f"{name}, {late}"] = _fields("loans", settings, delay=delay)
        family[f"{name}, any, {late}"] = _fields("loans", rule_any, delay=delay)
    return family


CHOOSING: Mapping[str, Fields] = {
    "admissions": _fields("admissions"),
    "admissions, any": _fields("admissions", {"rule": "any"}),
    "admissions, alpha .1": _fields("admissions", alpha=0.1),
    "admissions, k 2": _fields("admissions", {"k": 2}),
    "admissions, k 16": _fields("admissions", {"k": 16}),
    **{f"admissions, {late}": _fields("admissions", delay=delay) for late, delay in _LATE.items()},
    **_family("market", **_MARKET),
}
PEOPLE: Mapping[str, Fields] = {
    "compas-judged": _fields("compas-judged"),
    "compas-judged, 80%": _fields("compas-judged", {"rule": "at_least(80%)"}),
    "compas-judged, any": _fields("compas-judged", {"rule": "any"}),
    "compas-fitted": _fields("compas-fitted"),
    "phd-admissions": _fields("phd-admissions"),
}
JUDGING: Mapping[str, Fields] = {
    **_family("loans"),
    **{name: _fields(name) for name in ("drift", "strategic", "adaptive", "adversarial")},
    **PEOPLE,
}
PURPOSES = {"choosing": CHOOSING, "judging": JUDGING, "people": PEOPLE}


def environments(name: str) -> Mapping[str, Fields]:
    """All environments for a purpose, or the one of that name, or any world as it is."""
    every = {**JUDGING, **CHOOSING}
    if name in PURPOSES:
        return PURPOSES[name]
    if name not in every and name not in WORLDS:
        raise ParameterError(
            "use", f"must be a purpose ({', '.join(PURPOSES)}), an environment or a world "
            f"({', '.join(WORLDS)})", name, "Check the spelling.",
        )  # fmt: skip
    return {name: every[name] if name in every else _fields(name)}
