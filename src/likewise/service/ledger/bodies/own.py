"""The base of bodies that are no events of the learner."""

from __future__ import annotations

from dataclasses import dataclass
from typing import dataclass_transform

__all__ = ["OwnBody"]


@dataclass_transform(frozen_default=True)
class OwnBody:
    """A body that is no event of the learner, or part of one: every one is a frozen dataclass."""

    def __init_subclass__(cls) -> None:
        dataclass(frozen=True)(cls)
