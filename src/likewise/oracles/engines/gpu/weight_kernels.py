"""Exponential weights over a list on a GPU: sums of integer weights, one draw, and charges.

A round takes three launches. **sums** makes every weight once and adds it up, over all hypotheses
and over those that approve each person, a block at a time. **decide** is one program: it adds up
the blocks, divides, and finds the hypothesis that a random integer below the total falls on, for
which it makes the weights of one block again. **charge** adds the costs, and keeps the lowest of
each block, which the next round's weights begin with. Sums of integers are exact in any order.
"""

from __future__ import annotations

from likewise.oracles.engines.gpu.arithmetic import below, least_of, weight_of
from likewise.oracles.engines.gpu.libraries import kernel, tl

_SCORE_BITS = tl.constexpr(21)


@kernel("size", "people", "blocks")
def sums_kernel(
    costs: tl.tensor,
    minima: tl.tensor,
    temperature: tl.tensor,
    points: tl.tensor,
    arrived: tl.tensor,
    sums: tl.tensor,
    size: tl.tensor,
    people: tl.tensor,
    blocks: tl.tensor,
    BLOCK: tl.constexpr,
) -> None:  # pragma: no cover
    """sums[0, block] = Σ weights of a block, sums[1 + i, block] = of those that approve person i.

    ``points`` has a row of predictions for everybody, ``arrived`` the rows of a round.
    """
    block = tl.program_id(0)
    h = block.to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    valid = h < size
    lowest = least_of(minima, blocks, 1024)
    weights = weight_of(tl.load(costs + h, mask=valid, other=0), lowest, tl.load(temperature))
    weights = tl.where(valid, weights, 0)
    tl.store(sums + block, tl.sum(weights))
    for i in range(people):
        row = points + tl.load(arrived + i).to(tl.int64) * size
        approve = tl.load(row + h, mask=valid, other=0)
        tl.store(sums + (1 + i) * blocks + block, tl.sum(tl.where(approve != 0, weights, 0)))


@kernel()
def share_of(part: tl.tensor, total: tl.tensor) -> tl.tensor:  # pragma: no cover
    """part/total in units of 2^-20, halves up, as hypotheses.weights.score: bit by bit.

    Numbers of 63 bits would not fit when multiplied by 2^21; a remainder twice as large does.
    """
    rest = part.to(tl.uint64)
    divisor = total.to(tl.uint64)
    quotient = tl.where(rest >= divisor, 1, 0).to(tl.uint64)
    rest = tl.where(rest >= divisor, rest - divisor, rest)
    for _ in tl.static_range(_SCORE_BITS):
        rest = rest << 1
        more = rest >= divisor
        quotient = (quotient << 1) | more.to(tl.uint64)
        rest = tl.where(more, rest - divisor, rest)
    return ((quotient + 1) >> 1).to(tl.int64)


@kernel("size", "people", "blocks", "draw", "purpose", "key0", "key1")
def decide_kernel(
    costs: tl.tensor,
    minima: tl.tensor,
    temperature: tl.tensor,
    points: tl.tensor,
    arrived: tl.tensor,
    sums: tl.tensor,
    round_: tl.tensor,
    scores: tl.tensor,
    approved: tl.tensor,
    chosen: tl.tensor,
    size: tl.tensor,
    people: tl.tensor,
    blocks: tl.tensor,
    draw: tl.tensor,
    purpose: tl.tensor,
    key0: tl.tensor,
    key1: tl.tensor,
    BLOCK: tl.constexpr,
    BLOCKS: tl.constexpr,
    PEOPLE: tl.constexpr,
) -> None:  # pragma: no cover
    """scores[i] = π(x_i) in units of 2^-20; the predictions of one h ~ π, and its place."""
    block = tl.arange(0, BLOCKS)
    cumulated = tl.cumsum(tl.load(sums + block, mask=block < blocks, other=0))
    total = tl.max(cumulated)
    person = tl.arange(0, PEOPLE)
    parts = tl.zeros((PEOPLE,), tl.int64)
    for i in range(people):
        part = tl.sum(tl.load(sums + (1 + i) * blocks + block, mask=block < blocks, other=0))
        parts = tl.where(person == i, part, parts)
    valid = person < people
    tl.store(scores + person, share_of(parts, total), mask=valid)
    number = below(total, tl.load(round_), draw, purpose, key0, key1)
    # The block, and the place in it, that the number falls on: as many sums as do not exceed it.
    passed = (cumulated <= number) & (block < blocks)
    at = tl.sum(passed.to(tl.int64))
    number -= tl.max(tl.where(passed, cumulated, 0))
    place = tl.arange(0, BLOCK)
    h = at * BLOCK + place
    lowest = least_of(minima, blocks, 1024)
    cost = tl.load(costs + h, mask=h < size, other=0)
    weights = tl.where(h < size, weight_of(cost, lowest, tl.load(temperature)), 0)
    within = tl.cumsum(weights)
    member = at * BLOCK + tl.sum(((within <= number) & (h < size)).to(tl.int64))
    rows = tl.load(arrived + person, mask=valid, other=0).to(tl.int64)
    bits = tl.load(points + rows * size + member, mask=valid, other=0)
    tl.store(approved + person, bits, mask=valid)
    tl.store(chosen, member)


@kernel("size", "people")
def charge_kernel(
    costs: tl.tensor,
    minima: tl.tensor,
    points: tl.tensor,
    arrived: tl.tensor,
    amounts: tl.tensor,
    size: tl.tensor,
    people: tl.tensor,
    BLOCK: tl.constexpr,
) -> None:  # pragma: no cover
    """costs[h] += Σ_i amounts[i]·h(x_i), and the lowest of every block."""
    block = tl.program_id(0)
    h = block.to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    valid = h < size
    cost = tl.load(costs + h, mask=valid, other=(1 << 63) - 1)
    for i in range(people):
        row = points + tl.load(arrived + i).to(tl.int64) * size
        approve = tl.load(row + h, mask=valid, other=0)
        cost += tl.where(approve != 0, tl.load(amounts + i), 0)
    tl.store(costs + h, cost, mask=valid)
    tl.store(minima + block, tl.min(cost))
