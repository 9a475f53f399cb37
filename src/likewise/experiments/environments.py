"""Worlds by what they are for: judging learners, or choosing their defaults. None does both.

The choosing worlds are the families of ``admissions`` and of a market for loans that is not the
README's; the judging ones are the family of ``loans``, the worlds that drift and react, and the
judgements of real people. Each family has strict and lenient panels, the rule `any`, a small alpha,
few and many people a round, late feedback, and panels that change.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from likewise.errors import LikewiseError, ParameterError
from likewise.hypotheses import HypothesisClass, class_from_spec
from likewise.registry import WORLDS
from likewise.worlds import World

__all__ = [
    "CHOOSING",
    "ENVIRONMENTS",
    "JUDGING",
    "PEOPLE",
    "PURPOSES",
    "Environment",
    "class_from_file",
    "environment",
    "environments_for",
    "hypotheses_of",
]  # fmt: skip


@dataclass(frozen=True)
class Environment:
    """A world by name, with its settings where they are not the world's own, and rules of the game.

    ``rules`` are those of a scenario: alpha, delay and so on.

    >>> Environment("drift", {"spell": 200}).make(seed=1).spell
    200
    """

    world: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    rules: Mapping[str, Any] = field(default_factory=dict)

    def make(self, seed: int) -> World:
        """The world of that seed."""
        return WORLDS[self.world].make(seed, **self.settings)


_LATE: dict[str, dict[str, Any]] = {
    "10 late": {"delay": "10"},
    "50 late": {"delay": "50"},
    "200 late": {"delay": "200"},
    "labels 200 late": {"delay": "audits:0,labels:200"},
    "labels 1000 late": {"delay": "audits:0,labels:1000"},
}


def _family(name: str, world: str, **settings: Any) -> dict[str, Environment]:
    """A world of lending as it is, with other panels, with other rounds, and with late feedback."""
    plain = Environment(world, settings)
    strict = 0.01
    found = {
        name: plain,
        f"{name}, any": Environment(world, {**settings, "rule": "any"}),
        f"{name}, strict": Environment(world, {**settings, "leniency": strict}),
        f"{name}, lenient": Environment(world, {**settings, "leniency": 2.0}),
        f"{name}, alpha .1": Environment(world, settings, {"alpha": 0.1}),
        f"{name}, k 2": Environment(world, {**settings, "k": 2}),
        f"{name}, k 16": Environment(world, {**settings, "k": 16}),
        f"{name}, panels change": Environment("turnover", settings),
    }
    for late, rules in _LATE.items():
        found[f"{name}, {late}"] = Environment(world, settings, rules)
        found[f"{name}, any, {late}"] = Environment(world, {**settings, "rule": "any"}, rules)
    return found


_MARKET: dict[str, Any] = {"k": 4, "luck": 0.35, "harshness": 0.0, "leniency": 0.7}
CHOOSING = {
    "admissions": Environment("admissions"),
    "admissions, any": Environment("admissions", {"rule": "any"}),
    "admissions, alpha .1": Environment("admissions", {}, {"alpha": 0.1}),
    "admissions, k 2": Environment("admissions", {"k": 2}),
    "admissions, k 16": Environment("admissions", {"k": 16}),
    **{
        f"admissions, {late}": Environment("admissions", {}, rules) for late, rules in _LATE.items()
    },
    **_family("market", "loans", **_MARKET),
}
PEOPLE = {
    "compas-judged": Environment("compas-judged"),
    "compas-judged, 80%": Environment("compas-judged", {"rule": "at_least(80%)"}),
    "compas-judged, any": Environment("compas-judged", {"rule": "any"}),
    "compas-fitted": Environment("compas-fitted"),
    "phd-admissions": Environment("phd-admissions"),
}
JUDGING = {
    **_family("loans", "loans"),
    **{name: Environment(name) for name in ("drift", "strategic", "adaptive", "adversarial")},
    **PEOPLE,
}
PURPOSES: Mapping[str, Mapping[str, Environment]] = {
    "choosing": CHOOSING,
    "judging": JUDGING,
    "people": PEOPLE,
}
ENVIRONMENTS = {**JUDGING, **CHOOSING}


def environments_for(purpose: str) -> dict[str, Environment]:
    """All environments for a purpose; none where that is no purpose."""
    return dict(PURPOSES.get(purpose, {}))


def environment(name: str) -> Environment:
    """An environment of that name, or any registered world with its own settings.

    >>> environment("market").settings["k"]
    4
    >>> environment("lones")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    likewise.errors.ParameterError: world must be one of loans, admissions, drift, ...; got \
'lones'. Check the spelling; a package adds one with an entry point of the group 'likewise.worlds'.
    """
    if name in ENVIRONMENTS:
        return ENVIRONMENTS[name]
    if name in WORLDS:
        return Environment(name)
    raise ParameterError(
        "world", f"must be one of {', '.join(WORLDS)}", name,
        f"Check the spelling; a package adds one with an entry point of the group "
        f"{WORLDS.group!r}.",
    )  # fmt: skip


def hypotheses_of(world: World, name: str | None) -> HypothesisClass:
    """A class for a world: one of its own by name, its first, or any class from a JSON file.

    The file holds what ``hypotheses.spec()`` says, over the features of the world; its class is
    any that is registered, also by an installed package.
    """
    if name is None or not name.endswith(".json"):
        return world.hypotheses(name)
    found = class_from_file(name)
    if found.schema.digest != world.schema.digest:
        raise LikewiseError(
            f"The class in {name} is over other features ({', '.join(found.schema.names)}) than "
            f"the world {world.name} has ({', '.join(world.schema.names)}). Make it with the "
            f"world's schema."
        )
    return found


def class_from_file(name: str) -> HypothesisClass:
    """Any registered class, from a JSON file that holds its ``spec()``."""
    try:
        spec = json.loads(Path(name).read_text(encoding="utf-8"))
    except OSError as error:
        raise LikewiseError(f"The class in {name} cannot be read: {error.strerror}.") from error
    except ValueError as error:
        raise LikewiseError(f"{name} is not JSON: {error}. Write json.dumps(spec()).") from error
    if not isinstance(spec, dict):
        raise LikewiseError(f"{name} must hold one JSON object, the spec() of a class.")
    return class_from_spec(spec)
