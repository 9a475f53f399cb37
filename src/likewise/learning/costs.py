"""One canonical form for every loss: signed costs on points, as integers of 2^-20.

| source            | point    | cost           |
|-------------------|----------|----------------|
| label y_i         | x_i      | eta·(1−2y_i)/k |
| report (l, r)     | x_l, x_r | +lam, −lam     |

What does not depend on the policy is left out. k is the largest number of people in a round, the
same for all rounds, since dividing by the round's own number would break the regret statement.
"""

from __future__ import annotations

from likewise.fixed_point import to_units

__all__ = ["report_cost"]


def report_cost(lam: float, pairs: int) -> int:
    """What one reported pair adds to its favoured member and takes from the other: lam/pairs.

    Several pairs are averaged, not summed, and rounded down: the range of the loss stays within
    what the bounds assume.

    >>> report_cost(0.5, 1), report_cost(0.5, 3)
    (524288, 174762)
    """
    return to_units(lam) // pairs
