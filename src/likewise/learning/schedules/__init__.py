"""When to step how far, how much noise, how many draws: the schedules.

:class:`SelfTuned` needs no horizon and is the default. :class:`Paper` and :class:`PaperOneSided`
have the constants of the paper's two theorems.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from likewise.errors import ParameterError
from likewise.learning.schedules.base import Schedule
from likewise.learning.schedules.paper import Paper, PaperOneSided
from likewise.learning.schedules.self_tuned import SelfTuned
from likewise.registry import SCHEDULES

__all__ = ["SCHEDULES", "Paper", "PaperOneSided", "Schedule", "SelfTuned", "schedule_from_spec"]


def schedule_from_spec(spec: Mapping[str, Any]) -> Schedule:
    """Read a schedule from its JSON."""
    fields = dict(spec)
    name = fields.pop("schedule", None)
    if name not in SCHEDULES:
        raise ParameterError(
            "schedule", f"must be one of {', '.join(SCHEDULES)}", name,
            "The file is not one of ours.",
        )  # fmt: skip
    return SCHEDULES[name](**fields)
