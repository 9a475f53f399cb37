"""The best fixed policies in hindsight.

A sequence of rounds becomes the points that occur, a cost for each and a bound for each pair of
them; one linear program finds the policy (:mod:`likewise.simulate.programs`); and the policy is
checked against every round as it was, so that a wrong solution is an error and not a figure.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cache, partial
from typing import Self

import numpy as np

from likewise.errors import HypothesisError, PeopleError
from likewise.hypotheses import Bits, HypothesisClass, Listed, Points, Segments, Staircases
from likewise.learner.settings import Learner
from likewise.numerics.fixed_point import ONE, FloatArray, IntArray
from likewise.panel import Panel, Sides
from likewise.people.schema import People
from likewise.simulate import programs
from likewise.simulate.programs import ComparatorError, Constraints, Form, Search
from likewise.simulate.rounds import Algorithm
from likewise.simulate.world import Encounter
from likewise.validation import as_array, assign, flag, instance, items, real, require, within


@dataclass(frozen=True, eq=False)
class Faced:
    """A round as every policy faces it: people, their labels, and the pivot of every pair.

    ``points`` are the people as the hypothesis class sees them (``hypotheses.locate(people)``),
    ``labels`` is (k,) of 0 and 1, and ``pivots`` is (k, k), symmetric, in units of 2^-20; its
    diagonal means nothing. One round of Ψ in *Definition "Fair-In-Hindsight Policies"*.
    """

    points: Points
    labels: IntArray
    pivots: IntArray

    def __post_init__(self) -> None:
        for name in ("points", "labels", "pivots"):
            array = getattr(self, name)
            fits = isinstance(array, np.ndarray) and array.ndim > 0
            require(fits, f"Faced.{name}", "must be an array", array, "See faced_rounds.")
        k, labels, pivots = len(self.points), self.labels, self.pivots
        fits = labels.shape == (k,) and bool(np.isin(labels, (0, 1)).all())
        rule = f"must be 0 or 1, one for each of the {k} people"
        require(fits, "Faced.labels", rule, labels, "See faced_rounds.")
        fits = pivots.shape == (k, k) and pivots.dtype.kind in "iu" and pivots.min(initial=0) >= 0
        rule = f"must be integers of 2^-20, at least 0 and symmetric, for the pairs of {k} people"
        remedy = "Panel.pivots(people) has them as its distance."
        require(fits and bool((pivots == pivots.T).all()), "Faced.pivots", rule, pivots, remedy)


def faced_rounds(
    encounters: Iterable[Encounter],
    hypotheses: HypothesisClass,
    progress: Callable[[int], None] = lambda t: None,  # noqa: ARG005
) -> list[Faced]:
    """Turn the rounds of a game into those that a policy of the class faces."""
    instance("hypotheses", hypotheses, HypothesisClass, "Make one: Pool(…).")
    fits = isinstance(encounters, Iterable) and not isinstance(encounters, np.ndarray)
    require(fits, "encounters", "must be a list", encounters, "List them.")
    rounds = []
    for t, encounter in enumerate(encounters, start=1):
        instance("encounters", encounter, Encounter, "World.course() makes them.")
        points = hypotheses.locate(encounter.people)
        rounds.append(Faced(points, encounter.labels, encounter.pivots.distance))
        progress(t)
    return rounds


def checked_rounds(rounds: Sequence[Faced]) -> list[Faced]:
    """Return rounds with at least one person in them, or refuse them."""
    listed = items("best_fair_policy.rounds", rounds, "List what was faced: faced_rounds(…).")
    for faced in listed:
        instance("rounds", faced, Faced, "faced_rounds(…) makes them.")
    fits, rule = any(len(faced.labels) for faced in listed), "must have somebody in them"
    require(fits, "best_fair_policy.rounds", rule, len(listed), "Run one first.")
    return listed


FAIR_WITHIN = 1e-8
"""By how much the policy that is returned may violate a constraint; by more is an error."""
ERROR_WITHIN = 1e-8
"""By how much an error rate may differ from the program's value, or be above its lower bound."""


@dataclass(frozen=True, eq=False)
class BestFair:
    """The best fair policy in hindsight.

    ``error`` is Σ_t Error^t(π*), the expected number of mistakes over all ``people``. No fair
    policy makes fewer than ``bound`` (Lagrange duality, priced over all of H), which is the same
    number up to rounding. ``probabilities`` is the policy: the probability of approval of every
    cell for :class:`Segments` and :class:`Staircases`, the weight of every member for a
    :class:`Pool`. ``violation`` is the most by which a pair's constraint is violated, at most
    :data:`FAIR_WITHIN`. Where several policies are best, which one it is depends on the solver; the
    error does not.
    """

    error: float
    bound: float
    people: int
    probabilities: FloatArray
    violation: float

    @property
    def error_rate(self) -> float:
        return self.error / self.people

    def scores(self, points: Points) -> FloatArray:
        """π(x), the probability that each person is approved."""
        return _scores(self.probabilities, points)


def _scores(probabilities: FloatArray, points: Points) -> FloatArray:
    """Look cells up; sum the weights of the members that approve."""
    if points.ndim == 1:
        return probabilities[points]
    return np.asarray(points @ probabilities, dtype=np.float64)


def best_fair_policy(
    hypotheses: HypothesisClass, rounds: Sequence[Faced], slack: float
) -> BestFair:
    """Find the policy of least error among those that no round's panel would have reported.

    π* ∈ argmin Σ_t Error^t(π) over π ∈ ΔH with π(x_l) − π(x_r) ≤ d_pivot(l, r) + slack for every
    ordered pair of every round, where slack = alpha − eps ≥ 0. *Definition "Fair-In-Hindsight
    Policies"*, with the pivots of "Characterizing Monotone Individual Fairness Auditing Schemes".

    For a :class:`Pool` the program is over the weights of its members. For :class:`Segments` it is
    over the probabilities of the cells, non-decreasing in the score within a segment: a mixture of
    thresholds makes any such vector, and thresholds of segments can be drawn independently. So it
    is for :class:`Staircases`, where it is non-decreasing in both features.

    Two people, one good and one bad, whom the panel holds 1/4 apart: the good one is approved
    with certainty and the bad one with 3/4, or any two scores as far apart.

    >>> from likewise.hypotheses import Pool
    >>> pool = Pool.from_table([[0, 0], [0, 1], [1, 1]])
    >>> apart = np.array([[0, ONE // 4], [ONE // 4, 0]])
    >>> faced = Faced(np.array([[0, 0, 1], [0, 1, 1]]), np.array([0, 1]), apart)
    >>> best = best_fair_policy(pool, [faced], slack=0.0)
    >>> best.error, np.ptp(best.scores(faced.points)).item()
    (0.75, 0.25)
    """
    rounds = checked_rounds(rounds)
    remedy = "It is alpha − eps, and eps may be at most alpha."
    slack = within("best_fair_policy.slack", slack, 0, math.inf, remedy, ends="[)")
    form, place = form_of(hypotheses, [faced.points for faced in rounds])
    solution = programs.solve(form, merged(all_pairs(form.points, place, rounds, slack)))
    people = len(place)
    error, excess = replayed(solution.policy, rounds, slack)
    violation = float(excess.max(initial=0.0))
    if violation > FAIR_WITHIN:
        raise ComparatorError(
            f"The policy found breaks a constraint by {violation:.3g}; at most {FAIR_WITHIN:g} is "
            f"accepted. The solver's policy is not fair, so there is no comparator."
        )
    for name, value in (("value", solution.value), ("lower bound", solution.bound)):
        if abs(error - value) > ERROR_WITHIN * people:
            raise ComparatorError(
                f"The policy found makes {error!r} errors over {people} people, but the linear "
                f"program's {name} is {value!r}. They must agree within {ERROR_WITHIN:g} a person."
            )
    return BestFair(error, solution.bound, people, solution.policy, violation)


def form_of(hypotheses: HypothesisClass, points: Sequence[Points]) -> tuple[Form, IntArray]:
    """Return the variables that fit the class, and everybody's point."""
    if isinstance(hypotheses, Segments | Staircases):
        _check_points(points, (), hypotheses.separators - 1)
        if isinstance(hypotheses, Segments):
            shape = (hypotheses.segments, 1, hypotheses.bins)
        else:
            shape = (hypotheses.grids, hypotheses.rows, hypotheses.columns)
        return programs.Grids(*shape), np.concatenate(points)
    if isinstance(hypotheses, Listed):
        _check_points(points, (hypotheses.size,), 1)
        return programs.Members.of(np.concatenate(points))
    raise HypothesisError(
        f"The best fair policy is found for Segments, Staircases and classes that are listed; "
        f"{type(hypotheses).__name__} is neither. For a class that only an oracle can search, "
        f"columns are generated: likewise.simulate.best_fair_by_columns."
    )


def _check_points(points: Sequence[Points], shape: tuple[int, ...], largest: int) -> None:
    for t, array in enumerate(points, start=1):
        fits = array.ndim and array.shape[1:] == shape and array.dtype.kind in "iu"
        if not fits or array.min(initial=0) < 0 or array.max(initial=0) > largest:
            raise PeopleError(
                f"Faced.points of round {t} are not points of this class: got {array.dtype} "
                f"of shape {array.shape}. hypotheses.locate(people) makes them."
            )


def all_pairs(points: int, place: IntArray, rounds: Sequence[Faced], slack: float) -> Constraints:
    """Constrain the scores of the points by every pair of every round.

    A point's cost is the number of its people with label 0 less that with label 1. A bound of 1 or
    more constrains nothing and is left out.
    """
    labels = np.concatenate([faced.labels for faced in rounds])
    costs: FloatArray = np.zeros(points)
    np.add.at(costs, place, 1.0 - 2.0 * labels)
    ends = np.cumsum([len(faced.labels) for faced in rounds])
    every_pair, pairs = cache(partial(np.triu_indices, k=1)), []
    for faced, people in zip(rounds, np.split(place, ends[:-1]), strict=True):
        left, right = every_pair(len(people))
        pairs.append((people[left], people[right], faced.pivots[left, right]))
    left, right, units = (np.concatenate(column) for column in zip(*pairs, strict=True))
    bounds = units / ONE + slack
    binds = (bounds < 1) & (left != right)
    return Constraints(costs, int(labels.sum()), left[binds], right[binds], bounds[binds])


def merged(pairs: Constraints) -> Constraints:
    """Keep the smallest bound of every pair of points, whatever its round."""
    points = len(pairs.costs)
    key = np.minimum(pairs.left, pairs.right) * points + np.maximum(pairs.left, pairs.right)
    order = np.lexsort((pairs.bounds, key))
    order = order[np.diff(key[order], prepend=-1) > 0]
    left, right = key[order] // points, key[order] % points
    return Constraints(pairs.costs, pairs.ones, left, right, pairs.bounds[order])


def replayed(policy: FloatArray, rounds: Sequence[Faced], slack: float) -> tuple[float, FloatArray]:
    """Return the policy's errors, and its largest excess in every round as it was faced."""
    error, excess = 0.0, []
    for faced in rounds:
        scores = _scores(policy, faced.points)
        error += float(np.abs(scores - faced.labels).sum())
        gaps = scores[:, None] - scores - faced.pivots / ONE - slack
        np.fill_diagonal(gaps, 0.0)
        excess.append(float(gaps.max(initial=0.0)))
    return error, np.array(excess)


@dataclass(frozen=True, eq=False)
class ColumnPolicy:
    """A fair mixture of hypotheses that a search has found.

    ``error`` is the expected number of mistakes; ``bound``, where the search is exact, the least
    that any fair policy makes. ``columns`` are the hypotheses' predictions on the points, and
    ``calls`` says how often was searched for them.
    """

    error: float
    bound: float | None
    weights: FloatArray
    columns: Bits
    calls: int

    @property
    def scores(self) -> FloatArray:
        """π(x) on every point."""
        return np.asarray(self.weights @ self.columns, dtype=np.float64)


def exact_search(hypotheses: HypothesisClass, points: Points) -> Search:
    """Turn the oracle of a class into a search over its points; costs are rounded to 2^-20."""

    def search(costs: FloatArray) -> Bits:
        units = np.rint(costs * ONE).astype(np.int64)
        charged = hypotheses.charge(hypotheses.no_costs(), points, units)
        noise = np.zeros((1, hypotheses.separators), dtype=np.int64)
        return np.asarray(hypotheses.predict(hypotheses.minimise(charged, noise), points)[0])

    return search


def best_fair_by_columns(constraints: Constraints, search: Search, *, exact: bool) -> ColumnPolicy:
    """Find the fair policy of least error when the class cannot be listed, by column generation.

    min ones + Σ_x c_x·π(x) over mixtures π of what ``search`` finds, |π(l) − π(r)| ≤ b_lr.
    ``exact`` says that the search finds the least cost; only then is there a lower bound.

    Two points, one good and one bad, that may be 1/4 apart:

    >>> pair = Constraints(np.array([1.0, -1.0]), 1, np.array([0]), np.array([1]), np.array([0.25]))
    >>> policy = best_fair_by_columns(pair, lambda costs: costs < 0, exact=True)
    >>> policy.error, round(policy.bound, 6)
    (0.75, 0.75)
    """
    instance("constraints", constraints, Constraints, "Write Constraints(…).")
    require(callable(search), "search", "must be a function", search, "Write exact_search(…).")
    exact = flag("exact", exact, "Say whether the search finds the least cost.")
    form = programs.Columns(constraints.costs, search)
    solution = programs.solve(form, constraints)
    return ColumnPolicy(
        solution.value, solution.bound if exact else None, solution.policy, form.bits.T,
        form.calls,
    )  # fmt: skip


@dataclass(frozen=True)
class Comparators:
    """The errors of the best fixed policies at alpha − eps, at alpha − kappa and at alpha.

    A learner competes with policies that are fair at alpha − eps. Its panel is asked at
    alpha − kappa, so that is what it is driven to; and it violates nothing up to alpha. The first
    flatters, as most of a lead over it is slack that only the learner may use; the last is fair.
    """

    at_alpha_less_eps: float
    at_alpha_less_kappa: float
    at_alpha: float

    def __post_init__(self) -> None:
        for field in fields(self):
            value = real(field.name, getattr(self, field.name), "It is a number of errors.")
            assign(self, **{field.name: value})

    def rates(self, people: int) -> Self:
        return type(self)(**{name: value / people for name, value in asdict(self).items()})


def slacks_of(learner: Learner | Algorithm) -> tuple[float, float, float]:
    """Return alpha − eps, alpha − kappa and alpha, to nine digits.

    >>> from likewise.hypotheses import Pool
    >>> pool = Pool.from_table([[0, 0], [0, 1], [1, 1]])
    >>> slacks_of(Learner(pool, k=2, alpha=0.3, eps=0.3, seed=1))
    (0.0, 0.2025, 0.3)
    """
    fits, rule = isinstance(learner, Learner | Algorithm), "must be a Learner or an Algorithm"
    require(fits, "learner", rule, learner, "Make one: Learner(…).")
    alpha, asked_at = learner.alpha, learner.sensitivity / ONE
    if isinstance(learner, Learner):
        asked_at = alpha - learner.margins.kappa
    strict, driven = (max(0.0, round(slack, 9)) for slack in (alpha - learner.eps, asked_at))
    return strict, driven, round(alpha, 9)


def compare_with_fixed(
    learner: Learner | Algorithm, hypotheses: HypothesisClass, rounds: Sequence[Faced]
) -> Comparators:
    """Find the three comparators of a learner for the rounds faced, in numbers of errors.

    >>> from likewise.hypotheses import Pool
    >>> pool = Pool.from_table([[0, 0], [0, 1], [1, 1]])
    >>> alike = np.zeros((2, 2), dtype=np.int64)
    >>> faced = Faced(np.array([[0, 0, 1], [0, 1, 1]]), np.array([0, 1]), alike)
    >>> compare_with_fixed(Learner(pool, k=2, alpha=0.5, eps=0.5, seed=1), pool, [faced])
    Comparators(at_alpha_less_eps=1.0, at_alpha_less_kappa=0.6625, at_alpha=0.5)
    """
    errors = [best_fair_policy(hypotheses, rounds, slack).error for slack in slacks_of(learner)]
    return Comparators(*(round(error, 9) for error in errors))


SIDE = 512
MOST_POINTS = 5000


def nearest(people: People, panel: Panel, place: IntArray, points: int) -> IntArray:
    """Return the smallest pivot's distance of the people at each pair of points."""
    order = np.argsort(place, kind="stable")
    distance = np.full((points, points), ONE, dtype=np.int64)
    blocks = [order[start : start + SIDE] for start in range(0, len(order), SIDE)]
    sides = [people.take(block) for block in blocks]
    starts = [np.flatnonzero(np.r_[True, np.diff(place[block]) > 0]) for block in blocks]
    for a in range(len(blocks)):
        for b in range(a, len(blocks)):
            pair = Sides(sides[a], sides[b])
            distances = np.stack([auditor.between(pair) for auditor in panel.auditors])
            pivot, _ = panel.rule.pivot(distances, panel.members)
            least = np.minimum.reduceat(pivot, starts[a], axis=0)
            least = np.minimum.reduceat(least, starts[b], axis=1)
            cells = np.ix_(place[blocks[a]][starts[a]], place[blocks[b]][starts[b]])
            distance[cells] = np.minimum(distance[cells], least)
    return np.minimum(distance, distance.T)


def best_passing_policy(
    hypotheses: HypothesisClass, people: People, labels: IntArray, panel: Panel, alpha: float
) -> BestFair:
    """Find the policy of least error that the panel would let pass, with everybody in one round.

    min Error(π) over π ∈ ΔH with π(x_l) − π(x_r) ≤ d_pivot(l, r) + alpha for every pair.

    >>> from likewise.panel import MetricAuditor, Ratings
    >>> from likewise.hypotheses import Pool
    >>> from likewise.people import Feature, FeatureSchema
    >>> schema = FeatureSchema((Feature("r", low=0, high=1),))
    >>> pool = Pool.from_scores(schema, ["r"], [0.5], np.array([[0.25], [0.75]]))
    >>> people = schema.people([[0.25], [0.5]])
    >>> panel = Panel([MetricAuditor("j", Ratings("r"))], "any")
    >>> best_passing_policy(pool, people, np.array([0, 1]), panel, alpha=0.25).error
    0.5
    """
    instance("people", people, People, "Make them with the class's schema.")
    instance("panel", panel, Panel, "Write Panel([MetricAuditor(…)], 'majority').")
    instance("hypotheses", hypotheses, HypothesisClass, "Make one: Pool(…).")
    slack = within("alpha", alpha, 0, 1, "It is a difference of scores.")
    labels = as_array(labels)
    fits = labels.dtype.kind in "biu" and labels.shape == (len(people),) and len(people)
    if not fits or not np.isin(labels, (0, 1)).all():
        raise PeopleError(f"labels must be 0 or 1, one for each of the {len(people)} people.")
    form, place = form_of(hypotheses, [hypotheses.locate(people)])
    used, place = np.unique(place, return_inverse=True)
    if len(used) > MOST_POINTS:
        raise PeopleError(
            f"At most {MOST_POINTS} different points can be paired; these people are at "
            f"{len(used)}. Give fewer people."
        )
    left, right = np.triu_indices(len(used), 1)
    bounds = nearest(people, panel, place, len(used))[left, right] / ONE + slack
    left, right, bounds = used[left[bounds < 1]], used[right[bounds < 1]], bounds[bounds < 1]
    costs: FloatArray = np.zeros(form.points)
    np.add.at(costs, used[place], 1.0 - 2.0 * labels)
    solution = programs.solve(form, Constraints(costs, int(labels.sum()), left, right, bounds))
    scores = form.scores(solution.policy)
    violation = float((np.abs(scores[left] - scores[right]) - bounds).max(initial=0.0))
    return BestFair(solution.value, solution.bound, len(people), solution.policy, violation)
