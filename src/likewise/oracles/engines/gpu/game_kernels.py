"""Rounds of a game on a GPU: shares of draws that approve, the panel's report, both players' steps.

All in units of 2^-20 and the same operations as the learner's fold, so that a game on the device is
the game on the host. One program settles a round; it ends by setting the clock to the next one.
"""

from __future__ import annotations

from likewise.oracles.engines.gpu.arithmetic import rint
from likewise.oracles.engines.gpu.libraries import kernel, tl

_ONE = tl.constexpr(1 << 20)


@kernel("people")
def arrive_kernel(
    clock: tl.tensor,
    arrivals: tl.tensor,
    arrived: tl.tensor,
    counts: tl.tensor,
    people: tl.tensor,
    PEOPLE: tl.constexpr,
) -> None:  # pragma: no cover
    """The people of the clock's round; nobody has been counted yet."""
    person = tl.arange(0, PEOPLE)
    valid = person < people
    at = (tl.load(clock) - 1) * people + person
    tl.store(arrived + person, tl.load(arrivals + at, mask=valid, other=0), mask=valid)
    tl.store(counts + person, tl.zeros((PEOPLE,), tl.int32), mask=valid)


@kernel("draws", "size", "people")
def tally_kernel(
    choice: tl.tensor,
    points: tl.tensor,
    arrived: tl.tensor,
    counts: tl.tensor,
    approved: tl.tensor,
    draws: tl.tensor,
    size: tl.tensor,
    people: tl.tensor,
    BLOCK: tl.constexpr,
) -> None:  # pragma: no cover
    """counts[i] += draws that approve person i; the draw after them decides."""
    row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    chosen = tl.load(choice + row, mask=row <= draws, other=0)
    for i in range(people):
        at = points + tl.load(arrived + i).to(tl.int64) * size
        bits = tl.load(at + chosen, mask=row <= draws, other=0).to(tl.int32)
        tl.atomic_add(counts + i, tl.sum(tl.where(row < draws, bits, 0)), sem="relaxed")
        tl.store(approved + i + row * 0, bits.to(tl.uint8), mask=row == draws)


@kernel("people", "draws", "sensitivity", "unit")
def settle_kernel(
    clock: tl.tensor,
    counts: tl.tensor,
    approved: tl.tensor,
    labels: tl.tensor,
    distances: tl.tensor,
    steps: tl.tensor,
    lam: tl.tensor,
    amounts: tl.tensor,
    scores_of: tl.tensor,
    approved_of: tl.tensor,
    report_of: tl.tensor,
    lam_of: tl.tensor,
    people: tl.tensor,
    draws: tl.tensor,
    sensitivity: tl.tensor,
    unit: tl.tensor,
    beta: tl.tensor,
    PEOPLE: tl.constexpr,
) -> None:  # pragma: no cover
    """Scores, the report of the largest gap, the charges of a round, and the multiplier's step.

    amounts[i] = unit·(1 − 2·y_i), and ±lam on the two who are reported.
    """
    t = tl.load(clock)
    person = tl.arange(0, PEOPLE)
    valid = person < people
    at = (t - 1) * people + person
    count = tl.load(counts + person, mask=valid, other=0).to(tl.int64)
    score = (((count << 21) // draws) + 1) >> 1
    tl.store(scores_of + at, score, mask=valid)
    tl.store(approved_of + at, tl.load(approved + person, mask=valid, other=0), mask=valid)
    # Twice more, along either axis of the pairs.
    over, under = tl.arange(0, PEOPLE)[:, None], tl.arange(0, PEOPLE)[None, :]
    count_over = tl.load(counts + over, mask=over < people, other=0).to(tl.int64)
    count_under = tl.load(counts + under, mask=under < people, other=0).to(tl.int64)
    gap = ((((count_over << 21) // draws) + 1) >> 1) - ((((count_under << 21) // draws) + 1) >> 1)
    valid_pair = (over < people) & (under < people)
    pair = over * people + under
    allowed = tl.load(distances + (t - 1) * people * people + pair, mask=valid_pair, other=0)
    exceeded = valid_pair & (gap > allowed.to(tl.int64) + sensitivity)
    largest = tl.max(tl.max(tl.where(exceeded, gap, -1), axis=1), axis=0)
    first = tl.where(exceeded & (gap == largest), pair, people * people)
    reported = tl.min(tl.min(first, axis=1), axis=0)
    any_report = largest >= 0
    multiplier = tl.load(lam)
    price = rint(multiplier * _ONE).to(tl.int64)
    label = tl.load(labels + at, mask=valid, other=0).to(tl.int64)
    amount = unit * (1 - 2 * label)
    amount += tl.where(any_report & (person == reported // people), price, 0)
    amount -= tl.where(any_report & (person == reported % people), price, 0)
    tl.store(amounts + person, amount, mask=valid)
    mu = tl.load(steps + t - 1)
    gradient = tl.where(any_report, tl.load(beta), 0.0) - mu * multiplier
    multiplier = tl.maximum(multiplier + mu * gradient, 0.0)
    tl.store(lam, multiplier)
    tl.store(lam_of + t - 1, multiplier)
    tl.store(report_of + t - 1, tl.where(any_report, reported, -1))
    tl.store(clock, t + 1)
