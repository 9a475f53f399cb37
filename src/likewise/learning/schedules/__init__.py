"""When to step how far, how much noise, how many draws: the schedules.

:class:`SelfTuned` needs no horizon and is the default. :class:`Paper` and :class:`PaperOneSided`
have the constants of the paper's two theorems.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from likewise.learning.schedules.base import Schedule
from likewise.learning.schedules.paper import Paper, PaperOneSided
from likewise.learning.schedules.self_tuned import SelfTuned
from likewise.registry import SCHEDULES
from likewise.validation import instance

__all__ = [
    "SCHEDULES",
    "Paper",
    "PaperOneSided",
    "Schedule",
    "SelfTuned",
    "schedule_from_spec",
    "schedule_to_spec",
]


def schedule_to_spec(schedule: Schedule) -> dict[str, Any]:
    """Write a schedule as JSON, if it can be read back by its name.

    >>> schedule_to_spec(SelfTuned(x=1))["x"]
    1.0
    """
    instance("schedule", schedule, Schedule, "Such as SelfTuned().")  # type: ignore[type-abstract]
    spec = schedule.spec()
    SCHEDULES.check_name(spec.get("schedule"), type(schedule))
    return spec


def schedule_from_spec(spec: Mapping[str, Any]) -> Schedule:
    """Read any schedule from its JSON, by the name that it is registered under.

    >>> schedule_from_spec({"schedule": "self-tuned", "eta": 1}).error_weight()
    1.0
    """
    example = '{"schedule": "self-tuned", "eta": 0.25}'
    schedule: Schedule = SCHEDULES.read("schedule", spec, example)
    return schedule
