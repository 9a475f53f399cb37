"""A round of the exact player on a long list, beside plain numpy and the speed of memory."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from likewise.experiments.benchmark.classes import Table, random_table
from likewise.experiments.benchmark.items import Asked, Item, seconds_of
from likewise.experiments.benchmark.plain import PlainList
from likewise.fixed_point import ONE
from likewise.oracles import load_engine
from likewise.oracles.oracle import Engine
from likewise.randomness import Purpose, Stream

__all__ = ["exact_round"]


def _processor_seconds(function: Callable[[], object]) -> float:
    """The time of all threads together on their processors, without that of other programs."""
    began = time.process_time()
    function()
    return time.process_time() - began


def _bytes_of_a_round(size: int, k: int) -> float:
    """Costs (8 bytes) and predictions (1) are read twice, costs written once."""
    return size * (24.0 + 2.0 * k)


def copy_rate(size: int) -> float:
    """Bytes a second that numpy reads and writes when it copies as many costs."""
    numbers = np.zeros(size, dtype=np.int64)
    copy = np.empty_like(numbers)
    return 2.0 * numbers.nbytes / seconds_of(lambda: np.copyto(copy, numbers), 20)


class _Round:
    """A list with costs and k people, whose predictions are given."""

    def __init__(self, table: Table, k: int) -> None:
        rng = np.random.default_rng(6)
        self.table, self.stream = table, Stream(1, Purpose.DECIDE, 1)
        self.predictions = rng.integers(0, 2, (k, table.size), dtype=np.uint8)
        self.amounts = rng.integers(-ONE // 32, ONE // 32, k)
        self.costs = rng.integers(0, 4 * ONE, table.size)
        self.costs.flags.writeable = False

    def play(self, engine: Engine) -> None:
        """Scores, a draw, and charges."""
        policy = engine.weigh(self.table, self.costs, float(ONE))
        policy.approval(self.predictions)
        policy.draw(self.predictions, self.stream, 0)
        engine.charge(self.table, self.costs, self.predictions, self.amounts)

    def agrees(self, engine: Engine) -> bool:
        """Compare scores, some draws and charges with those of the class itself."""
        arguments = (self.costs, self.predictions, self.amounts)
        expected = self.table.weigh(self.costs, float(ONE))
        weighed = engine.weigh(self.table, self.costs, float(ONE))
        draws = [
            [policy.draw(self.predictions, self.stream, i).tolist() for i in range(10)]
            for policy in (weighed, expected)
        ]
        return (
            weighed.approval(self.predictions) == expected.approval(self.predictions)
            and draws[0] == draws[1]
            and np.array_equal(engine.charge(self.table, *arguments), self.table.charge(*arguments))
        )

    def plain(self) -> Callable[[], None]:
        """The same by numpy, in floats."""
        plain = PlainList(
            len(self.amounts), np.zeros(self.table.size, dtype=np.int64), np.zeros(self.table.size)
        )
        plain.costs = self.costs / ONE
        floats = self.predictions.astype(np.float64)

        def play() -> None:
            plain.decide(floats)
            plain.charge(slice(None), self.amounts / ONE)

        return play


def exact_round(quick: bool) -> Item:
    """Exponential weights over a long list, the predictions given: scores, a draw, charges."""
    size, k = (1 << 12, 8) if quick else (1 << 20, 8)
    round_ = _Round(random_table(size, 20 if quick else 24).with_prior("flat"), k)
    engine = load_engine("compiled")

    def play() -> None:
        round_.play(engine)

    same = round_.agrees(engine)
    # Each after its like, as a game has them: in turns they would empty each other's caches.
    seconds = seconds_of(play, 3 if quick else 200)
    reference = seconds_of(round_.plain(), 3 if quick else 40)
    processor = min(_processor_seconds(play) for _ in range(5))
    return Item(
        "exact-round", "a round of exponential weights, predictions given: scores, draw, charges",
        f"|H| = {size:,}, k = {k}", seconds,
        "numpy float64: exp, sums and charges, predictions given as floats", reference,
        Asked("a second", 200.0),
        {"rounds_a_second": 1 / seconds, "same_integers_as_the_reference": int(same),
         "processor_seconds": processor,
         "limit": "costs and predictions read twice, costs written once, at the speed of a copy",
         "limit_seconds": _bytes_of_a_round(size, k) / copy_rate(size)}, holds=same,
    )  # fmt: skip
