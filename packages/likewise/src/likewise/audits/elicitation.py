"""Metric elicitation: an auditor's metric from judged pairs, how sure it is, what to ask next.

Somebody says of pairs whether two people are alike, a little different or very different; the
limits between the three are distances (:data:`LIMITS`). Of three people they say to whom the first
is closer. With δ_f the difference of a feature, 0 to 1, a metric is z = Σ w_f·δ_f with w_f ≥ 0, or
the root of z = Σ w_f·δ_f². A response puts z, or the difference of two, into an interval (a, b)
up to logistic noise of scale s:

    P(response) = σ((b − z)/s) − σ((a − z)/s),

which is log-concave in u = w/s and t = 1/s together. Under exponential priors on both, draws of
the posterior (slice sampling, one coordinate at a time, in many chains) say how sure the weights
are, once they are made wider (:data:`WIDER`); the median of each weight is the proposal. Which of
the two forms an auditor has is chosen by the probability that each gives to responses left out one
at a time.
"""

from __future__ import annotations

import math
import os
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from importlib.resources import files
from typing import Any

import numpy as np

from likewise.errors import AuditError, LikewiseError
from likewise.numerics.fixed_point import FloatArray, IntArray
from likewise.numerics.intervals import Interval
from likewise.panel import MetricAuditor, Panel, Rule, as_rule, metrics, objections
from likewise.people import FeatureSchema, People, cells, tables
from likewise.validation import instance, integer, items, require, within

RESPONSES = ("alike", "a little different", "very different")
LIMITS = (0.2, 0.5)
"""The distances between the three: chances may be 20 points apart, 50 points, or any."""
COLUMNS = ("member", "person", "other", "third", "response")
SETTLED = 0.05
"""A panel is settled when nine in ten of its distances are known to within this."""
SURE = 0.9
CHAINS, KEPT, PRIOR = 32, (16, 26, 36), 100.0
PAIRS = 2000
WIDER = 2.0
"""How much farther draws are put from their median than the posterior says.

No metric has quite this form, and a prior under which every feature counts is not that of auditors
who look at a few: as they are, draws cover half of the true weights (`python -m
studies.elicitation`).
"""


@dataclass(frozen=True)
class Judgement:
    """A member's response to a pair; with a ``third``, the id of whom the person is closer to.

    >>> Judgement("j1", "ann", "bo", "alike").limits
    (-inf, 0.2)
    """

    member: str
    person: str
    other: str
    response: str
    third: str = ""

    def __post_init__(self) -> None:
        people = self.people
        fits = all(people) and len({*people}) == len(people)
        require(fits, "Judgement", "must be of two or three different people", people, "")
        options = people[1:] if self.third else RESPONSES
        fits, rule = self.response in options, f"must be one of {', '.join(options)}"
        require(fits, "Judgement.response", rule, self.response, "Correct it, or leave it out.")
        require(bool(self.member), "Judgement.member", "must not be empty", self.member, "")

    @property
    def people(self) -> tuple[str, ...]:
        return (self.person, self.other, *([self.third] if self.third else []))

    @property
    def limits(self) -> tuple[float, float]:
        """The interval of the distance; of three people, of how much farther the other one is."""
        if self.third:
            return 0.0, math.inf
        place = RESPONSES.index(self.response)
        return (-math.inf, *LIMITS)[place], (*LIMITS, math.inf)[place]


def read_judgements(path: str | os.PathLike[str]) -> list[Judgement]:
    """The judgements of a CSV file: member, person, other, response, and perhaps third.

    Lines without a response are left out: who cannot say need not.
    """
    judgements = []
    rows = tables.read_table(path, [name for name in COLUMNS if name != "third"])
    for place, row in enumerate(rows):
        values = {name: row.get(name, "") for name in COLUMNS}
        try:
            judgements += [Judgement(**values)] if values["response"] else []
        except LikewiseError as error:
            raise AuditError(f"{tables.line_of(path, rows)(place)}: {error}") from error
    return judgements


@dataclass(frozen=True)
class _Form:
    """Σ w_f·δ_f^power over features: a weighted difference, or the square of a diagonal form."""

    schema: FeatureSchema
    names: tuple[str, ...]
    power: int = 1

    def differences(self, people: People, left: IntArray, right: IntArray) -> FloatArray:
        """δ^power of pairs by place, a row each."""
        sides = metrics.Sides.at(people, left, right)
        columns = [metrics.difference(sides, name, None) for name in self.names]
        return np.stack(columns, axis=1) ** self.power

    def distance(self, z: FloatArray) -> FloatArray:
        return np.minimum(1.0, np.maximum(0.0, z) ** (1 / self.power))

    def metric(self, weights: FloatArray) -> metrics.Metric:
        named = {n: round(w, 4) for n, w in zip(self.names, weights.tolist(), strict=True)}
        kept = {n: w for n, w in named.items() if w > 0} or named
        if self.power == 1:
            return metrics.WeightedL1(kept)
        widths = [self.schema[n].limits[1] - self.schema[n].limits[0] for n in kept]
        diagonal = [w / (width * width) for w, width in zip(kept.values(), widths, strict=True)]
        return metrics.Mahalanobis(tuple(kept), np.diag(diagonal), scale=1.0)


def forms_of(people: People) -> list[_Form]:
    """The forms that the visible features allow; categories and missing values have no square."""
    visible = [f for f in people.schema.features if f.visible]
    plain = [f for f in visible if f.kind != "category" and f.missing is None]
    forms = [(visible, 1), (plain, 2)]
    return [_Form(people.schema, tuple(f.name for f in fs), p) for fs, p in forms if fs]


@dataclass(frozen=True, eq=False)
class Fit:
    """A member's metric: draws of its weights and of 1/s, and the judgements behind it."""

    form: _Form
    draws: FloatArray
    judgements: int
    score: float
    """The logarithm of the chance given to a response that was left out, in the mean."""

    @property
    def samples(self) -> FloatArray:
        """Draws of the weights, a row each, farther from their median by the factor WIDER."""
        draws = self.draws[:, :-1] / self.draws[:, -1:]
        middle = np.median(draws, axis=0)
        return np.asarray(np.maximum(0.0, middle + WIDER * (draws - middle)))

    @cached_property
    def metric(self) -> metrics.Metric:
        return self.form.metric(np.median(self.samples, axis=0))

    @property
    def weights(self) -> dict[str, Interval]:
        """Every feature's weight, with an interval of 90 %."""
        low, middle, high = np.quantile(self.samples, [0.05, 0.5, 0.95], axis=0).tolist()
        ends = zip(middle, low, high, strict=True)
        return {n: Interval(*end) for n, end in zip(self.form.names, ends, strict=True)}

    def lines(self) -> list[str]:
        kind = "squared differences" if self.form.power == 2 else "differences"
        return [f"weights of {kind}, with intervals of 90 %:"] + [
            f"  {name}: {w.value:.2f} ({w.low:.2f} to {w.high:.2f})"
            for name, w in self.weights.items()
        ]


def _log_sigma(x: FloatArray) -> FloatArray:
    return np.asarray(np.minimum(x, 0.0) - np.log1p(np.exp(-np.abs(x))))


@dataclass(frozen=True, eq=False)
class _Likelihood:
    """Responses as intervals (low, high) of z, which is ``rows`` times the weights."""

    rows: FloatArray
    low: FloatArray
    high: FloatArray

    def __call__(self, z: FloatArray, t: FloatArray) -> FloatArray:
        """The logarithms, a row for each draw: of σ(ht − z) − σ(lt − z), written as a product."""
        t = t[:, None]
        width = np.log(-np.expm1(-(self.high - self.low) * t))
        return np.asarray(_log_sigma(z - self.low * t) + _log_sigma(self.high * t - z) + width)


def _likelihood(form: _Form, people: People, judgements: Sequence[Judgement]) -> _Likelihood:
    objections.check_among((j.people for j in judgements), people.places, "A judgement is about")

    def apart(others: Iterable[str]) -> FloatArray:
        left = np.array([people.places[j.person] for j in judgements])
        return form.differences(people, left, np.array([people.places[name] for name in others]))

    closer = [j.response if j.third else j.person for j in judgements]
    farther = [j.other if j.response != j.other else j.third for j in judgements]
    rows = apart(farther) - apart(closer)  # nobody is apart from themselves: a pair stays as it is
    limits = np.array([j.limits for j in judgements]).T
    low, high = np.where(np.isinf(limits), limits, limits**form.power)
    return _Likelihood(rows, low, high)


class _Chains:
    """Chains that draw (u, t) from the posterior, a row each; ``z`` is rows times u."""

    def __init__(self, likelihood: _Likelihood, rng: np.random.Generator) -> None:
        self.likelihood, self.rng = likelihood, rng
        self.columns = [*likelihood.rows.T, np.zeros(len(likelihood.rows))]  # t moves no z
        self.draws = rng.exponential(PRIOR / 4, (CHAINS, len(self.columns)))
        self.z = self.draws @ np.array(self.columns)

    def move(self, place: int) -> None:
        """Draw one coordinate anew."""
        start, column, z = self.draws[:, place].copy(), self.columns[place], self.z
        of_t = place == len(self.columns) - 1

        def density(x: FloatArray) -> Any:
            t = x if of_t else self.draws[:, -1]
            return self.likelihood(z + (x - start)[:, None] * column, t).sum(axis=1) - x / PRIOR

        self.draws[:, place] = _slice(density, start, self.rng)
        self.z = z + (self.draws[:, place] - start)[:, None] * column

    def scale(self) -> None:
        """Draw one factor for all coordinates of a chain, which move slowly one by one."""
        total, t, size = self.draws.sum(axis=1) / PRIOR, self.draws[:, -1], len(self.columns)

        def density(x: FloatArray) -> Any:
            logs = self.likelihood(self.z * x[:, None], t * x).sum(axis=1)
            return logs - x * total + (size - 1) * np.log(x)

        factors = _slice(density, np.ones(CHAINS), self.rng)[:, None]
        self.draws, self.z = self.draws * factors, self.z * factors


def _posterior(likelihood: _Likelihood, rng: np.random.Generator) -> FloatArray:
    """Draws of (u, t), a row each: of every chain, after some sweeps."""
    chains, kept = _Chains(likelihood, rng), []
    for sweep in range(1, max(KEPT) + 1):
        for place in range(len(chains.columns)):
            chains.move(place)
        chains.scale()
        kept += [chains.draws.copy()] if sweep in KEPT else []
    return np.concatenate(kept)


def _slice(
    density: Callable[[FloatArray], Any], start: FloatArray, rng: np.random.Generator
) -> FloatArray:
    """Draw a number above 0 anew in every chain, from a log-concave density."""
    level = density(start) - rng.exponential(size=CHAINS)
    low, high = np.zeros(CHAINS), 2 * start
    while (inside := density(high) > level).any():
        high = np.where(inside, 2 * high, high)
    values, rejected = start, np.ones(CHAINS, dtype=np.bool_)
    while rejected.any():
        values = np.where(rejected, low + (high - low) * rng.random(CHAINS), values)
        rejected &= density(values) < level
        low = np.where(rejected & (values < start), values, low)
        high = np.where(rejected & (values >= start), values, high)
    return values


def _fit(form: _Form, people: People, judgements: Sequence[Judgement], seed: int) -> Fit:
    likelihood = _likelihood(form, people, judgements)
    draws = _posterior(likelihood, np.random.default_rng(seed))
    logs = likelihood(draws[:, :-1] @ likelihood.rows.T, draws[:, -1])
    # The harmonic mean of a response's chances is its chance given all the others.
    left_out = math.log(len(draws)) - np.logaddexp.reduce(-logs, axis=0)
    return Fit(form, draws, len(judgements), float(left_out.mean()))


@dataclass(frozen=True, eq=False)
class Elicited:
    """A panel of fitted metrics, the alpha that it can bear, and what to ask next.

    ``known_to`` is the error of the panel's distances: of the pairs that it constrains, nine in ten
    are within it, by the draws of the posterior. ``alpha`` is the same with the members' own noise,
    as if they erred alike: a gap that exceeds a distance by less might not be reported if they were
    asked again.
    """

    people: People
    rule: Rule
    fits: Mapping[str, Fit]
    asked: frozenset[tuple[str, ...]]
    known_to: float
    alpha: float

    @cached_property
    def panel(self) -> Panel:
        """The panel, to audit with or to write down."""
        return Panel([MetricAuditor(n, fit.metric) for n, fit in self.fits.items()], self.rule)

    def judgements_needed(self, target: float = SETTLED) -> tuple[int, int]:
        """How many more of every member until ``known_to`` is that, at least and at most.

        Errors fall as 1/n where members are consistent and are asked what tells most, and as
        1/sqrt(n) where their noise is what is left.
        """
        target = within("target", target, 0, 1, "It is a distance.", ends="(]")
        size = min(fit.judgements for fit in self.fits.values())
        ratio = max(1.0, self.known_to / target)
        return math.ceil(size * (ratio - 1)), math.ceil(size * (ratio**2 - 1))

    def to_toml(self) -> str:
        """The panel as a file for ``likewise audit --panel``; comments say how sure it is."""
        notes = {name: fit.lines() for name, fit in self.fits.items()}
        return self.panel.to_toml(str(self).splitlines(), notes)

    def __str__(self) -> str:
        counts = ", ".join(f"{name} {fit.judgements}" for name, fit in self.fits.items())
        least, most = self.judgements_needed()
        needed = f"That is settled: at most {SETTLED:g}."
        if most:
            needed = f"{least} to {most} more judgements of every member would make that "
            needed += f"{SETTLED:g}."
        return (
            f"Metrics fitted to judgements ({counts}).\n"
            f"Nine in ten of the panel's distances are known to within {self.known_to:.2f}.\n"
            f"Proposed alpha: {self.alpha:.2f}. Asked again, members might not report a smaller "
            f"excess.\n{needed}"
        )


def elicit(
    people: People, judgements: Iterable[Judgement], rule: Rule | str = "majority", seed: int = 1
) -> Elicited:
    """Fit every member's metric to their judgements, with its uncertainty.

    Args:
        people: whom the judgements are about, with their features.
        judgements: of pairs and triplets; :func:`read_judgements` reads them.
        rule: joins the members.
        seed: of the draws.

    >>> from likewise import Feature, FeatureSchema
    >>> features = Feature("income", low=0, high=100), Feature("shoe", low=0, high=50)
    >>> schema = FeatureSchema(features)
    >>> people = schema.people([[10 * i, 7 * i % 50] for i in range(10)])
    >>> judged = [Judgement("j1", f"p{i}", f"p{j}", RESPONSES[(j - i > 1) + (j - i > 4)])
    ...           for i in range(1, 11) for j in range(i + 1, 11)]
    >>> fitted = elicit(people, judged)
    >>> {name: weight.value > 0.5 for name, weight in fitted.fits["j1"].weights.items()}
    {'income': True, 'shoe': False}
    """
    instance("people", people, People, "Make them with a schema: schema.people(rows).")
    seed = integer("seed", seed, 0, 1 << 63, "Take any such number.")
    by_member: dict[str, list[Judgement]] = {}
    for judgement in items("judgements", judgements, "List them: [Judgement(…), …]."):
        instance("judgements", judgement, Judgement, "Write Judgement(member, person, …).")
        by_member.setdefault(judgement.member, []).append(judgement)
    if not by_member:
        raise AuditError("There is no judgement, so there is nothing to fit. Judge some pairs.")
    cells.warn_of_alike(by_member)
    rule = as_rule(rule)
    rule.check(tuple(by_member))
    forms = forms_of(people)
    fits = {
        name: max((_fit(form, people, own, seed) for form in forms), key=lambda fit: fit.score)
        for name, own in by_member.items()
    }
    asked = frozenset(tuple(sorted(judgement.people)) for judgement in judgements)
    return Elicited(people, rule, fits, asked, *_errors(people, rule, fits, seed))


def _errors(people: People, rule: Rule, fits: Mapping[str, Fit], seed: int) -> tuple[float, float]:
    """How far nine in ten of the panel's distances are off: by the draws, and with noise too."""
    rng = np.random.default_rng(seed)
    left, right = _some_pairs(len(people), PAIRS, rng)
    # As if all members erred alike: what none of the features shows, all of them may see.
    noise = rng.logistic(size=(len(left), len(next(iter(fits.values())).draws)))
    proposed, drawn, noisy = [], [], []
    for fit in fits.values():
        apart = fit.form.differences(people, left, right)
        z = apart @ fit.samples.T
        proposed.append(fit.form.distance(apart @ np.median(fit.samples, axis=0)))
        drawn.append(fit.form.distance(z))
        s = 1.0 / fit.draws[:, -1]
        noisy.append(fit.form.distance(z + s * noise))
    members = tuple(fits)
    best = np.minimum(1.0, rule.pivot(np.array(proposed), members)[0])
    bound = best < 1 if (best < 1).any() else best <= 1

    def error(distances: list[FloatArray]) -> float:
        stacked = np.array(distances)[:, bound]
        pivots = rule.pivot(stacked.reshape(len(members), -1), members)[0]
        off = np.abs(np.minimum(1.0, pivots).reshape(stacked.shape[1:]) - best[bound, None])
        return float(np.quantile(off, SURE))

    return error(drawn), math.ceil(100 * error(noisy)) / 100


def _some_pairs(k: int, most: int, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
    """All pairs of k people by their places, or so many drawn at random."""
    if k * (k - 1) // 2 <= most:
        left, right = np.triu_indices(k, 1)
        return left, right
    left = rng.integers(0, k, most)
    return left, (left + rng.integers(1, k, most)) % k


CANDIDATES = 2000


def questions(
    people: People, count: int, elicited: Elicited | None = None, seed: int = 1
) -> list[tuple[str, ...]]:
    """Pairs and triplets to ask about, as ids, the most telling first.

    A question tells much if the draws of the metrics disagree on its response, and disagree
    otherwise than on those that were chosen before it. Before anybody was asked, metrics of a few
    features at a time are drawn.
    """
    if len(people) < 2:
        raise AuditError(f"A question is about two people; got {len(people)}. Give more.")
    count = integer("count", count, 1, CANDIDATES, "It is a number of questions.")
    rng = np.random.default_rng(seed)
    fits = [_guesses(people, rng)] if elicited is None else list(elicited.fits.values())
    candidates = _candidates(people, set() if elicited is None else {*elicited.asked}, rng)
    apart = np.concatenate([_disagreement(fit, people, candidates) for fit in fits], axis=1)
    chosen: list[int] = []
    for _ in range(min(count, len(candidates))):
        spread = (apart * apart).sum(axis=1)
        spread[chosen] = -1.0
        best = int(spread.argmax())
        chosen.append(best)
        # What is left when the response is known, up to the noise of a response.
        shared = apart @ apart[best] / (spread[best] + 0.05 * len(fits))
        apart = apart - shared[:, None] * apart[best]
    return [tuple(people.ids[p] for p in candidates[n].tolist() if p >= 0) for n in chosen]


def _guesses(people: People, rng: np.random.Generator) -> Fit:
    """Metrics of about three features each."""
    form = forms_of(people)[0]
    size = len(form.names)
    weights = rng.exponential(1.0, (CHAINS, size)) * (rng.random((CHAINS, size)) < 3 / size)
    t = np.full((CHAINS, 1), PRIOR / 2)
    return Fit(form, np.concatenate([weights * t, t], axis=1), 0, 0.0)


def _candidates(people: People, asked: set[tuple[str, ...]], rng: np.random.Generator) -> IntArray:
    """Pairs, as (person, other, -1), and triplets, in random order."""
    left, right = _some_pairs(len(people), CANDIDATES, rng)
    third = np.full(len(left), -1)
    if len(people) > 2:
        chosen = rng.random(len(left)) < 0.25
        third = np.where(chosen, rng.integers(0, len(people), len(left)), -1)
    rows = np.stack([left, right, third], axis=1)
    kept = [
        row
        for row in rows.tolist()
        if row[2] not in row[:2]
        and tuple(sorted(people.ids[p] for p in row if p >= 0)) not in asked
    ]
    return np.array(kept, dtype=np.int64).reshape(-1, 3)


def _disagreement(fit: Fit, people: People, candidates: IntArray) -> FloatArray:
    """The chances of the responses to each candidate by every draw, less their mean."""
    person, other, third = candidates.T
    triplet = third >= 0
    t = fit.draws[:, -1]
    weights = fit.draws[:, :-1].T
    z = fit.form.differences(people, person, other) @ weights
    farther = fit.form.differences(people, person, np.where(triplet, third, person)) @ weights
    low, high = (limit**fit.form.power * t for limit in LIMITS)
    first = np.where(triplet[:, None], farther - z, z - low)
    second = np.where(triplet[:, None], -math.inf, z - high)
    chances = np.stack([np.exp(_log_sigma(x)) for x in (first, second)], axis=1)
    apart = (chances - chances.mean(axis=2, keepdims=True)) / math.sqrt(len(t))
    return np.asarray(apart.reshape(len(candidates), -1))


def judging_page(people: People, asked: Sequence[tuple[str, ...]]) -> str:
    """A page that asks the questions, in any browser, and hands out the responses as a CSV file."""
    from likewise.audits.rendering import render  # which needs an optional library

    data = [{"ids": ids, "rows": _in_words(people, ids)} for ids in asked]
    script = files("likewise.audits").joinpath("templates/judge.js").read_text(encoding="utf-8")
    digest = b64encode(sha256(script.encode()).digest()).decode()  # the one script that may run
    return render(
        "judge.html", data=data, responses=RESPONSES, limits=LIMITS, columns=COLUMNS,
        script=script, digest=digest,
    )  # fmt: skip


def _in_words(people: People, ids: Sequence[str]) -> list[tuple[str, list[str]]]:
    """Features of two or three people in words; those of two differ wherever the values do."""
    places = [people.places[name] for name in ids]
    if len(places) == 2:
        return [(title, list(both)) for title, both in people.say_apart(*places).items()]
    words = [people.say(place) for place in places]
    return [(title, [person[title] for person in words]) for title in words[0]]
