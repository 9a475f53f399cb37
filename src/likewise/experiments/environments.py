"""Worlds by what they are for: judging learners, or choosing their defaults. None does both."""

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

__all__ = ["CHOOSING", "ENVIRONMENTS", "JUDGING", "Environment", "environment", "hypotheses_of"]


@dataclass(frozen=True)
class Environment:
    """A world by name, and its settings where they are not the world's own.

    >>> Environment("drift", {"spell": 200}).make(seed=1).spell
    200
    """

    world: str
    settings: Mapping[str, Any] = field(default_factory=dict)

    def make(self, seed: int) -> World:
        """The world of that seed."""
        return WORLDS[self.world].make(seed, **self.settings)


JUDGING = {
    name: Environment(name) for name in ("loans", "drift", "strategic", "adaptive", "adversarial")
}
CHOOSING = {
    "admissions": Environment("admissions"),
    "loans, another market": Environment(
        "loans", {"k": 4, "luck": 0.35, "harshness": 0, "leniency": 0.7}
    ),
}
ENVIRONMENTS = {**JUDGING, **CHOOSING}


def environment(name: str) -> Environment:
    """An environment of that name, or any registered world with its own settings.

    >>> environment("loans, another market").settings["k"]
    4
    >>> environment("lones")
    Traceback (most recent call last):
    likewise.errors.ParameterError: world must be one of loans, drift, strategic, adaptive, \
adversarial, admissions, loans, another market; got 'lones'. Check the spelling; a package adds \
one with an entry point of the group 'likewise.worlds'.
    """
    if name in ENVIRONMENTS:
        return ENVIRONMENTS[name]
    if name in WORLDS:
        return Environment(name)
    known = dict.fromkeys((*ENVIRONMENTS, *WORLDS))
    raise ParameterError(
        "world", f"must be one of {', '.join(known)}", name,
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
    try:
        spec = json.loads(Path(name).read_text(encoding="utf-8"))
    except OSError as error:
        raise LikewiseError(f"The class in {name} cannot be read: {error.strerror}.") from error
    except ValueError as error:
        raise LikewiseError(f"{name} is not JSON: {error}. Write json.dumps(spec()).") from error
    if not isinstance(spec, dict):
        raise LikewiseError(f"{name} must hold one JSON object, the spec() of a class.")
    found = class_from_spec(spec)
    if found.schema.digest != world.schema.digest:
        raise LikewiseError(
            f"The class in {name} is over other features ({', '.join(found.schema.names)}) than "
            f"the world {world.name} has ({', '.join(world.schema.names)}). Make it with the "
            f"world's schema."
        )
    return found
