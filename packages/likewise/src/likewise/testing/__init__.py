"""Contracts as plain functions: does an extension do what its base class promises?

Each takes a part and raises :class:`~likewise.errors.ContractError`, with a sentence, where it
breaks its contract; otherwise it returns None. They need numpy alone, and work with or without
pytest. All that Likewise itself registers is checked by them too.

>>> from likewise.hypotheses import Pool
>>> check_hypotheses(Pool.from_table([[0, 0, 0], [0, 1, 1], [1, 1, 1]]))
"""

from likewise.errors import ContractError
from likewise.testing.contract import people_of
from likewise.testing.learners import check_attention, check_baseline, check_player, check_schedule
from likewise.testing.parts import check_hypotheses, check_metric, check_selection, check_world

__all__ = [
    "ContractError", "check_attention", "check_baseline", "check_hypotheses", "check_metric",
    "check_player", "check_schedule", "check_selection", "check_world", "people_of",
]  # fmt: skip
