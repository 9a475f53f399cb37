"""Settings of a docket as somebody wrote them by hand: what is left out has its default."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from likewise.errors import LikewiseError
from likewise.hypotheses import class_from_spec
from likewise.learning import Learner
from likewise.learning.schedules import schedule_from_spec
from likewise.service.dockets.spec import DocketSpec
from likewise.service.errors import ServiceError

__all__ = ["read_spec"]

# Whatever a hand-written file makes a constructor stumble over, short of our own sentences.
_STUMBLES = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


def read_spec(data: Mapping[str, Any]) -> DocketSpec:
    """The settings of a docket, from JSON in which the learner may be given in part.

    A learner needs ``hypotheses``, ``k``, ``alpha`` and ``eps``.
    """
    try:
        learner = data.get("learner")
        if not isinstance(learner, Mapping):
            raise ServiceError(
                "bad-docket", 422,
                "A docket must have a learner: an object with hypotheses, k, alpha and eps.",
            )  # fmt: skip
        # With all of them it is the learner's own record, which is also checked for its version.
        whole = learner if "algorithm" in learner else _completed(learner)
        return DocketSpec.from_json({**data, "learner": whole})
    except LikewiseError:
        raise
    except _STUMBLES as error:
        raise ServiceError(
            "bad-docket", 422,
            f"These are not the settings of a docket ({type(error).__name__}: {error}). Compare "
            f"them with an example: DocketSpec(…).to_json().",
        ) from error  # fmt: skip


def _completed(learner: Mapping[str, Any]) -> dict[str, Any]:
    given = dict(learner)
    hypotheses = class_from_spec(given.pop("hypotheses"))
    given.pop("schema", None)
    if "schedule" in given:
        given["schedule"] = schedule_from_spec(given["schedule"])
    spec = Learner(hypotheses=hypotheses, seed=0, **given).spec()
    spec.pop("seed")
    return spec
