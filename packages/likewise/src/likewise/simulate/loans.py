"""``loans``: the paper's motivating example, a lender under the eyes of five auditors.

Whether a loan is repaid depends on income, debt, missed payments and the length of the credit
history. The bureau's score knows these, but is harsher than it should be on the self-employed,
whose files are thin. The five auditors disagree on what makes two applicants similar: each has
reasons, and none of them is the bureau's score.

Everything is made from raw random words by basic operations, so that it is the same everywhere.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

import numpy as np

from likewise.hypotheses import HypothesisClass, Pool, Segments, Trees
from likewise.numerics.fixed_point import ONE, FloatArray, IntArray
from likewise.numerics.randomness import Purpose, Stream
from likewise.panel import Mahalanobis, Masked, MetricAuditor, Panel, Ratings, Rule, WeightedL1
from likewise.people import Feature, FeatureSchema, People
from likewise.simulate import world
from likewise.simulate.world import Encounter, Memoryless, Steady, View, setting

PURPOSES = ("car", "home", "education", "business", "other")
REGIONS = ("north", "east", "south", "west", "capital")
JOBS = ("salaried", "self-employed")

SCHEMA = FeatureSchema(
    (
        Feature("score", "integer", 300, 850, label="Bureau score"),
        Feature("income", "integer", 10, 200, label="Yearly income", unit="k€"),
        Feature("debt", "integer", 0, 100, label="Debt payments", unit="% of income"),
        Feature("history", "integer", 0, 30, label="Credit history", unit="years"),
        Feature("missed", "integer", 0, 6, label="Missed payments in two years"),
        Feature("interview", "integer", 0, 10, label="Interview", unit="of 10"),
        Feature("employment", "category", levels=JOBS),
        Feature("purpose", "category", levels=PURPOSES, label="Purpose of the loan"),
        Feature("region", "category", levels=REGIONS),
    )
)

Bar = float | Callable[[IntArray], FloatArray]
"""The soundness at which half of the applicants repay, or that soundness by region."""
_BAR = 0.57
_WORDS = 16
# How many applicants of consecutive rounds are made at a time.
_AT_ONCE = 512


@dataclass(frozen=True)
class LoanSettings(world.World):
    """The settings that all worlds of lending share: the market, the auditors, the classes.

    ``leniency`` multiplies the distances of the four auditors who weigh features, not that of the
    neighbour, who compares marks in the interview.
    """

    seed: int
    k: int = setting(8, "the number of people a round", low=1, high=10_000)
    rule: Rule | str = setting("majority", "when objections make a report")
    luck: float = setting(0.05, "the share of repayment that no feature explains", low=0, high=1)
    harshness: float = setting(
        60.0, "the points that the bureau takes from the self-employed", low=0, high=200
    )
    leniency: float = setting(
        1.0, "a factor on the distances of the auditors who weigh features", low=0.01, high=10
    )
    classes = ("segments", "segments-large", "pool", "trees")
    schema = SCHEMA

    @cached_property
    def panel(self) -> Panel:
        """Five auditors, each with a view of what makes two applicants similar."""
        return Panel(five_auditors(self.leniency), self.rule)

    def hypotheses(self, name: str | None = None) -> HypothesisClass:
        """Thresholds by segment (9^10, or 21^50 as ``segments-large``), a pool of cuts, or trees.

        The trees ask for the score, and for some of what the auditors judge by.
        """
        kind = self.class_name(name)
        if kind == "segments":
            return _segments(8, ["purpose", "employment"])
        if kind == "segments-large":
            return _segments(20, ["purpose", "region", "employment"])
        return _pool(self.seed) if kind == "pool" else _trees(self.seed)

    def applicants(self, t: int, bar: Bar = _BAR) -> tuple[FloatArray, IntArray]:
        stream = Stream(self.seed, Purpose.WORLD, t)
        return applicants(stream, self.k, self.luck, self.harshness, bar)

    def round_of(self, t: int, x: FloatArray, labels: IntArray) -> Encounter:
        return Encounter(world.numbered(t, x, SCHEMA), labels, self.panel)


class LoanWorld(LoanSettings, Steady):
    """A world of lending that does not react to the lender."""


@dataclass(frozen=True)
class Loans(LoanWorld):
    """k loan applications a round; five auditors; a majority of them makes a report."""

    name = "loans"
    summary = "a lender, five auditors who disagree, applicants drawn alike every round"

    def encounter(self, t: int) -> Encounter:
        number, at_once = Stream(self.seed, Purpose.WORLD, t).round, max(1, _AT_ONCE // self.k)
        offset = number % at_once
        block = _rounds(self.seed, self.k, self.luck, self.harshness, number - offset, at_once)
        x, labels = (array[offset].copy() for array in block)
        return self.round_of(number, x, labels)


def applicants(
    stream: Stream, k: int, luck: float, harshness: float, bar: Bar = _BAR
) -> tuple[FloatArray, IntArray]:
    """Draw features and labels of k applicants; at a soundness of ``bar`` half of them repay."""
    return _applicants(stream.uniforms(0, k, _WORDS), luck, harshness, bar)


@lru_cache(maxsize=8)
def _rounds(
    seed: int, k: int, luck: float, harshness: float, first: int, rounds: int
) -> tuple[FloatArray, IntArray]:
    """Draw the applicants of consecutive rounds, (rounds, k, features) and (rounds, k).

    They are the same as one by one, and numpy takes as long for many as for a few.
    """
    stream = Stream(seed, Purpose.WORLD, first)
    u = stream.uniforms_of_rounds(rounds, k, _WORDS).reshape(rounds * k, _WORDS)
    x, labels = _applicants(u, luck, harshness, _BAR)
    return x.reshape(rounds, k, -1), labels.reshape(rounds, k)


def _applicants(
    u: FloatArray, luck: float, harshness: float, bar: Bar
) -> tuple[FloatArray, IntArray]:
    """Turn uniform numbers, a row for each applicant, into features and labels."""
    wealth = (u[:, 0] + u[:, 1]) / 2
    care = (u[:, 2] + u[:, 3]) / 2
    selfemployed = u[:, 4] < 0.3
    income = np.rint(12 + 110 * wealth * wealth + 40 * u[:, 5] * wealth)
    debt = np.rint(np.clip(65 - 45 * care - 20 * wealth + 40 * (u[:, 6] - 0.5), 0, 100))
    history = np.rint(np.where(selfemployed, 12, 28) * u[:, 7] * (0.4 + 0.6 * care))
    missed = np.rint(np.clip(7 * (u[:, 8] - care) * u[:, 9] * 2, 0, 6))
    soundness = soundness_of(income, debt, history, missed)
    interview = np.rint(np.clip(10 * (1.9 * (soundness - 0.5) + 0.6 * u[:, 10] + 0.2), 0, 10))
    score = 590 + 620 * (soundness - 0.57) + 80 * (u[:, 11] - 0.5) - harshness * selfemployed
    purpose = np.floor(5 * u[:, 12])
    region = np.floor(5 * u[:, 13])
    needed = bar(region.astype(np.int64)) if callable(bar) else bar
    chance = (1 - luck) * np.clip(3.5 * (soundness - needed) + 0.5, 0, 1) + luck * 0.5
    labels = (u[:, 14] < chance).astype(np.int64)
    columns = [
        np.rint(np.clip(score, 300, 850)), np.clip(income, 10, 200), debt, history, missed,
        interview, selfemployed.astype(np.float64), purpose, region,
    ]  # fmt: skip
    return np.stack(columns, axis=1), labels


def soundness_of(
    income: FloatArray, debt: FloatArray, history: FloatArray, missed: FloatArray
) -> FloatArray:
    """Return how sound an applicant's finances are, in [0, 1]; repayment depends on it."""
    return np.clip(
        0.20
        + 0.30 * np.minimum(income, 100) / 100
        + 0.30 * (1 - debt / 100)
        + 0.20 * history / 28
        - 0.30 * missed / 6,
        0.0,
        1.0,
    )


def five_auditors(leniency: float) -> Sequence[MetricAuditor]:
    """Five views of similarity. Weights above 1 in all: enough differences are a full one."""
    finances = {"income": 1.25, "debt": 1.1, "history": 0.6, "missed": 1.1}
    conduct = {"missed": 2.0, "debt": 1.5, "history": 0.75}
    rules = {"debt": 2.25, "missed": 1.6}

    def scaled(weights: dict[str, float]) -> WeightedL1:
        return WeightedL1({name: weight * leniency for name, weight in weights.items()})

    return (
        MetricAuditor("banker", scaled(finances)),
        MetricAuditor("ethicist", scaled(conduct)),
        MetricAuditor("regulator", Masked(scaled({**finances, **rules}), ["debt", "missed"])),
        MetricAuditor(
            "statistician",
            Mahalanobis(
                ("income", "debt", "history"),
                [[2.0, -0.6, 0.0], [-0.6, 3.0, 0.0], [0.0, 0.0, 9.0]],
                scale=112.0 / leniency,
            ),
        ),
        MetricAuditor("neighbour", Ratings("interview", 0, 10)),
    )


def _segments(bins: int, by: Sequence[str]) -> Segments:
    cuts = [300 + 550 * i / bins for i in range(1, bins)]
    return Segments(SCHEMA, score="score", cuts=cuts, by=by)


def _pool(seed: int) -> Pool:
    """Up to forty cuts on each column a lender might rank by, told apart on 4,000 applicants."""
    x, _ = applicants(Stream(seed, Purpose.PROBE, 0), 4000, luck=0.05, harshness=60.0)
    return world.pool_of_cuts(SCHEMA, x, ("score", "income", "history", "interview"), 40)


def _trees(seed: int) -> Trees:
    """Two questions about score, income, debt and missed payments, told apart on 1,500 people."""
    x, _ = applicants(Stream(seed, Purpose.PROBE, 0), 1500, luck=0.05, harshness=60.0)
    cuts = {
        "score": [450, 500, 550, 600, 650], "debt": [20, 30, 40, 50], "missed": [1, 2],
        "income": [30, 50, 70],
    }  # fmt: skip
    return Trees(SCHEMA, cuts, x)


@dataclass(frozen=True)
class Drift(LoanWorld):
    """``loans``, with a recession every other ``spell`` rounds.

    In a recession the soundness that half of the applicants need to repay is ``depth`` higher.
    """

    spell: int = setting(
        1000, "the number of rounds that good years and recessions last in turn",
        low=1, high=10**9,
    )  # fmt: skip
    depth: float = setting(
        0.12, "how much sounder one must be in a recession to repay as likely", low=0, high=1
    )
    name = "drift"
    summary = "loans, with recessions that come without warning"

    def caveat(self, rounds: int) -> str | None:
        if rounds > self.spell:
            return None
        return (
            f"the first recession begins in round {self.spell + 1:,}, so {rounds:,} rounds of "
            f"drift are rounds of loans. Play more of them, or set a shorter spell."
        )

    def encounter(self, t: int) -> Encounter:
        recession = ((t - 1) // self.spell) % 2
        return self.round_of(t, *self.applicants(t, 0.57 + self.depth * recession))


TURNING_RULES = ("majority", "at_least(2)", "any", "at_least(80%)")
SMALLEST = 3


@dataclass(frozen=True)
class Turnover(LoanWorld):
    """``loans``, with another panel every ``term`` rounds; the first one is that of ``loans``."""

    term: int = setting(500, "the number of rounds that a panel sits", low=1, high=10**9)
    name = "turnover"
    summary = "loans, before panels whose members and rules change"

    def panel_of(self, t: int) -> Panel:
        number = (t - 1) // self.term
        if number == 0:
            return self.panel
        # Nobody else draws world noise at 0: rounds are counted from 1.
        uniforms = Stream(self.seed, Purpose.WORLD, 0).uniforms(number, 1, 8)[0]
        members = self.panel.auditors
        size = SMALLEST + int(uniforms[0] * (len(members) - SMALLEST + 1))
        chosen = sorted(np.argsort(uniforms[2 : 2 + len(members)], kind="stable")[:size].tolist())
        rule = TURNING_RULES[int(uniforms[1] * len(TURNING_RULES))]
        return Panel([members[i] for i in chosen], rule)

    def encounter(self, t: int) -> Encounter:
        return replace(self.round_of(t, *self.applicants(t)), panel=self.panel_of(t))


CANDIDATES = 32
PROPOSALS = 4
RULES = ("majority", "at_least(2)", "all", "veto({0})")


@dataclass(frozen=True)
class Adversarial(LoanSettings, Memoryless):
    """The worst of ``loans``: rounds of 2 to k people, ``spite`` of them labelled against π^t."""

    spite: float = setting(0.25, "the chance that a label is set against the policy", low=0, high=1)
    # No setting here: the adversary picks another rule every round.
    rule: Rule | str = field(default="majority", init=False)
    name = "adversarial"
    summary = "people, labels, panel and rule picked against the deployed policy"

    def meet(self, t: int, view: View) -> Encounter:
        stream = Stream(self.seed, Purpose.WORLD, t)
        x, labels = applicants(stream, CANDIDATES, self.luck, self.harshness)
        crowd = People(tuple(map(str, range(CANDIDATES))), x, SCHEMA)
        chances = view.chances(crowd)
        size, panels = self._proposals(stream)
        distances = dict(zip(self.panel.members, self.panel.distances(crowd), strict=True))
        excesses = [_excess(distances, chances, panel) for panel in panels]
        worst = max(range(PROPOSALS), key=lambda n: int(excesses[n].max()))
        panel, chosen = panels[worst], _worst(excesses[worst], size)
        coins = stream.uniforms(2 * CANDIDATES, 1, size)[0]
        against = (chances[chosen] < ONE // 2).astype(np.int64)
        picked = np.where(coins < self.spite, against, labels[chosen])
        return Encounter(world.numbered(t, x[chosen], SCHEMA), picked, panel)

    def _proposals(self, stream: Stream) -> tuple[int, list[Panel]]:
        """Draw the size of the round, and panels with rules to choose among."""
        auditors, k = self.panel.auditors, self.k
        limits = [max(1, k - 1), *[len(auditors) - 1, len(auditors), len(RULES)] * PROPOSALS]
        size, *rest = stream.numbers_below(limits, CANDIDATES, np.arange(len(limits)))
        panels = []
        for extra, first, rule in zip(rest[::3], rest[1::3], rest[2::3], strict=True):
            seated = [auditors[(first + i) % len(auditors)] for i in range(2 + extra)]
            panels.append(Panel(seated, RULES[rule].format(seated[0].name)))
        return min(k, 2 + size), panels


def _excess(distances: Mapping[str, IntArray], chances: IntArray, panel: Panel) -> IntArray:
    """By how much each pair's gap exceeds the panel's distance; every pair once."""
    gaps = np.abs(chances[:, None] - chances[None, :])
    seated = np.stack([distances[member] for member in panel.members])
    excess = gaps - panel.rule.pivot(seated, panel.members)[0]
    excess[np.tril_indices(len(excess))] = -4 * ONE
    return np.asarray(excess)


def _worst(excess: IntArray, size: int) -> IntArray:
    """The pair that comes closest to a violation (or goes furthest beyond), then the next."""
    order = np.argsort(-excess, axis=None, kind="stable")
    people = np.stack(np.divmod(order, len(excess)), axis=1).ravel()
    first = np.sort(np.unique(people, return_index=True)[1])
    return np.sort(people[first[:size]])


@dataclass(frozen=True)
class Adaptive(LoanSettings):
    """``loans``, in regions that remember.

    Every approved loan moves its region's fortune by ``pull`` up (repaid) or down (not), and every
    round fortunes fade by ``fading``. Fortune shifts the soundness that repaying takes.
    """

    pull: float = setting(
        0.004, "how far one loan moves the fortune of its region", low=0, high=0.1
    )
    fading: float = setting(
        0.02, "the share of fortune that is lost every round", low=0, high=1, beyond=True
    )
    name = "adaptive"
    summary = "loans, where approvals change who can repay later"

    def course(self) -> world.Course:
        return _Course(self)


class _Course(world.Course):
    def __init__(self, world: Adaptive) -> None:
        self._world = world
        self._fortune = np.zeros(len(REGIONS))

    def meet(self, t: int, view: View) -> Encounter:  # noqa: ARG002
        fortune = np.clip(self._fortune, -0.25, 0.25)
        x, labels = self._world.applicants(t, lambda region: 0.57 - fortune[region])
        return self._world.round_of(t, x, labels)

    def hear(self, encounter: Encounter, approved: world.Approved) -> None:
        region = encounter.people.column("region").astype(np.int64)
        self._fortune *= 1.0 - self._world.fading
        for place, label, loan in zip(region, encounter.labels, approved, strict=True):
            if loan:
                self._fortune[place] += self._world.pull * (2 * int(label) - 1)


STEPS = 4


@dataclass(frozen=True)
class Strategic(LoanSettings, Memoryless):
    """``loans``, whose applicants raise their score by up to ``reach`` points if it pays.

    Moving by the whole reach costs ``price`` in chances of approval, smaller moves in proportion.
    """

    reach: int = setting(
        90, "the points by which an applicant can raise the score at most", low=0, high=500
    )
    price: float = setting(
        0.15, "the cost of the whole reach, in chances of approval", low=0, high=1
    )
    name = "strategic"
    summary = "loans, whose applicants see the policy and move towards approval at a cost"

    def meet(self, t: int, view: View) -> Encounter:
        x, labels = self.applicants(t)
        options = [_polished(x, step, self.reach) for step in range(STEPS + 1)]
        worth = np.empty((STEPS + 1, self.k), dtype=np.int64)
        for step, option in enumerate(options):
            cost = round(self.price * ONE) * step // STEPS
            worth[step] = view.chances(world.numbered(t, option, SCHEMA)) - cost
        chosen = worth.argmax(axis=0)
        moved = np.stack([options[step][i] for i, step in enumerate(chosen.tolist())])
        return self.round_of(t, moved, labels)


def _polished(x: FloatArray, step: int, reach: int) -> FloatArray:
    better = x.copy()
    score, interview = SCHEMA.place("score"), SCHEMA.place("interview")
    better[:, score] = np.minimum(850, x[:, score] + reach * step // STEPS)
    better[:, interview] = np.minimum(10, x[:, interview] + step // 2)
    return better
