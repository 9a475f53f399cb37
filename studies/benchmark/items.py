"""One figure of the benchmark: our time, the reference's, their ratio, and what was asked."""

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

import numpy as np

from likewise.errors import LikewiseError
from likewise.hypotheses import Bits, Cut, Listed, Pool, Segments, Staircases
from likewise.numerics.fixed_point import IntArray
from likewise.people import Feature, FeatureSchema, People
from studies.pages import Study, table

# What may be asked of a figure, in words: of its ratio to the reference, its time, or its rate.
KINDS = {
    "times faster": "at least {:g} times faster",
    "times its time": "at most {:g} times its time",
    "seconds": "at most {:g} s",
    "a second": "at least {:g} a second",
}


class Asked(NamedTuple):
    """A requirement: a kind of :data:`KINDS`, and its number."""

    kind: str
    value: float


@dataclass(frozen=True)
class Item:
    """A measured figure. ``seconds`` are for one call, one round or one game, as ``what`` says."""

    name: str
    what: str
    shape: str
    seconds: float
    reference: str | None = None
    reference_seconds: float | None = None
    asked: Asked | None = None
    details: dict[str, float | int | str] = field(default_factory=dict)
    holds: bool = True

    @property
    def ratio(self) -> float | None:
        """The reference's time over ours; the inverse where a multiple of its time is asked."""
        if self.reference_seconds is None:
            return None
        ratio = self.reference_seconds / self.seconds
        return 1 / ratio if self.asked and self.asked.kind == "times its time" else ratio

    @property
    def met(self) -> bool | None:
        """True where what was asked is kept, None where nothing was."""
        if self.asked is None:
            return None
        kind, value = self.asked
        figure = {"seconds": self.seconds, "a second": 1 / self.seconds}.get(kind, self.ratio)
        if figure is None or not self.holds:
            return False
        return figure <= value if KINDS[kind].startswith("at most") else figure >= value

    def to_json(self) -> dict[str, Any]:
        plain = asdict(self)
        plain.pop("holds")
        plain["asked"] = self.asked and KINDS[self.asked.kind].format(self.asked.value)
        return {**plain, "ratio": self.ratio, "met": self.met}


class Skipped(NamedTuple):
    """A figure that this machine cannot give, and why."""

    name: str
    why: str


def seconds_of(
    function: Callable[[], object], repeats: int, clock: Callable[[], float] = time.perf_counter
) -> float:
    """The least time of some calls, after one that is not counted."""
    function()
    return min(_timed(function, clock) for _ in range(repeats))


def race(
    ours: Callable[[], object],
    reference: Callable[[], object],
    repeats: int,
    clock: Callable[[], float] = time.perf_counter,
) -> tuple[float, float]:
    """The least times of both, in turns, so that what else the machine does befalls them alike.

    ``time.thread_time`` as the clock leaves out what others do on this processor meanwhile.
    """
    ours()
    reference()
    pairs = [(_timed(ours, clock), _timed(reference, clock)) for _ in range(repeats)]
    return min(first for first, _ in pairs), min(second for _, second in pairs)


def _timed(function: Callable[[], object], clock: Callable[[], float]) -> float:
    began = clock()
    function()
    return clock() - began


def amount(seconds: float | None) -> str:
    if seconds is None:
        return "–"
    units = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))
    size, unit = next((unit for unit in units if seconds >= unit[0]), units[-1])
    return f"{seconds / size:.3g} {unit}"


def _limit(item: Mapping[str, Any]) -> str:
    """The least time that the machine could take, by some measure, and ours as a multiple of it."""
    limit = item["details"].get("limit_seconds")
    if limit is None:
        return "–"
    return f"{amount(limit)} ({item['details']['limit']}), {item['seconds'] / limit:.3g} times that"


def _where(machine: Mapping[str, Any]) -> str:
    libraries = ("python", "numpy", "numba", "torch", "triton")
    versions = [f"{name} {machine[name]}" for name in libraries if machine[name]]
    cores = f"{machine['cores']} cores"
    parts = [part for part in (machine["processor"], cores, machine["gpu"]) if part]
    return f"Measured on: {', '.join(parts)}; {', '.join(versions)}."


def _checks(report: Mapping[str, Any]) -> str:
    """Counts of what was compared with the reference engine, or exact sums, and what differed."""
    counts = [
        f"`{item['name']}` {count:,} {key.removesuffix('_checked').replace('_', ' ')} "
        f"({item['details'][key.replace('_checked', '_wrong')]} differ)"
        for item in report["items"]
        for key, count in item["details"].items()
        if key.endswith("_checked")
    ]
    return f"Checked in the same run: {'; '.join(counts)}." if counts else ""


def markdown(report: Mapping[str, Any]) -> str:
    """The items as a table, and the machine below it."""
    heads = ("what", "shape", "ours", "reference", "ratio", "asked", "kept", "limit")
    rows = (
        (f"`{item['name']}`: {item['what']}", item["shape"].replace("|", "\\|"),
         amount(item["seconds"]), amount(item["reference_seconds"])
         + (f" ({item['reference']})" if item["reference"] else ""),
         "–" if item["ratio"] is None else f"{item['ratio']:.3g}", item["asked"] or "–",
         {True: "yes", False: "no", None: "–"}[item["met"]], _limit(item))
        for item in report["items"]
    )  # fmt: skip
    lines = [table(heads, rows), "", _where(report["machine"]), _checks(report)]
    for item in report["items"]:
        processor = item["details"].get("processor_seconds")
        if processor is not None:
            lines.append(
                f"`{item['name']}` takes {amount(processor)} of processor time, which two idle "
                f"cores share: {amount(processor / 2)}."
            )
    lines += [
        f"Not measured there: `{row['name']}` ({row['why']})." for row in report["skipped"][:1]
    ]
    return "\n".join(line for n, line in enumerate(lines) if line or n == 1)


STUDY = Study("benchmark", "performance.json", "performance.md", markdown)
# Written by `benchmark gpu --json`, on a machine that has a GPU.
ON_GPU = Study("gpu", "performance-gpu.json", "performance.md", markdown)


class Table(Listed):
    """A list that is nothing but its predictions on the separating set, shape (N, s)."""

    def __init__(self, on_set: Bits) -> None:
        self.schema = FeatureSchema((Feature("nobody"),))
        self._on_set = np.ascontiguousarray(on_set, dtype=np.uint8)

    def predictions(self, people: People) -> Bits:
        raise LikewiseError(f"{self!r} is only drawn from; {len(people)} people have no place.")

    def describe(self, code: IntArray) -> str:
        return f"hypothesis {int(code[0])}"

    def spec(self) -> dict[str, Any]:
        return {"class": "table", "table": self._on_set.tolist()}


def random_table(size: int, points: int, seed: int = 1) -> Table:
    rng = np.random.default_rng(seed)
    rows = np.zeros((0, points), dtype=np.uint8)
    while len(rows) < size:
        more = rng.integers(0, 2, (size + size // 4, points), dtype=np.uint8)
        packed = np.packbits(np.concatenate([rows, more]), axis=1)
        _, first = np.unique(packed, axis=0, return_index=True)
        rows = np.concatenate([rows, more])[np.sort(first)]
    return Table(rows[:size])


def grid(rows: int, columns: int) -> Staircases:
    schema = FeatureSchema((Feature("a"), Feature("b")))
    return Staircases(
        schema, first="a", first_cuts=range(1, rows), second="b", second_cuts=range(1, columns)
    )


def segments(count: int, bins: int) -> Segments:
    """Thresholds on one score, one for each of some segments."""
    names = tuple(f"s{i}" for i in range(count))
    schema = FeatureSchema((Feature("score"), Feature("segment", "category", levels=names)))
    return Segments(schema, score="score", cuts=range(1, bins), by=["segment"])


def pool_of_cuts(size: int) -> Pool:
    """A pool of about ``size``: cuts on a score and as many on an income, and both constants."""
    schema = FeatureSchema(
        (Feature("score", low=300, high=850), Feature("income", low=10, high=200))
    )
    rng = np.random.default_rng(7)
    scores, incomes = np.linspace(300, 850, size), rng.permutation(np.linspace(10, 200, size))
    x = np.stack([scores, incomes], axis=1)
    # Every other value: between any two cuts of a column there is somebody.
    places = np.linspace(1, size - 1, size // 2 - 1).astype(np.int64)
    cuts = [
        Cut(name, float(np.sort(x[:, place])[i])) for place, name in enumerate(schema.names)
        for i in places
    ]  # fmt: skip
    members = [Cut("score", float("-inf")), *cuts, Cut("score", float("inf"))]
    return Pool(schema, members, x)


class Met(NamedTuple):
    """A round as the benchmark needs it."""

    people: People
    labels: IntArray


def customers(pool: Pool, rounds: int, k: int) -> list[Met]:
    """People of a pool of cuts, most of whom deserve approval where both their columns are high."""
    rng = np.random.default_rng(8)
    encounters = []
    for _ in range(rounds):
        x = np.stack([rng.uniform(300, 850, k), rng.uniform(10, 200, k)], axis=1)
        good = x[:, 0] / 850 + x[:, 1] / 200 + rng.normal(0, 0.2, k) > 1.2
        encounters.append(Met(pool.schema.people(x), good.astype(np.int64)))
    return encounters
