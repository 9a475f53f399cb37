"""Attention: which pairs of a round are put before the panel.

The panel's time is what an audit costs. A pair can only be reported if its gap exceeds
alpha − kappa; of these *possible* pairs an attention asks about those whose outcome it does not
know, and with probability ``chance`` it shows the whole round, that is, all possible pairs.

    everything   every round, even where nothing could be reported
    share        a lottery draws a share of the rounds; reports weigh one over the share
    possible     rounds with a possible pair: exact, since the others are quiet in any case
    dominance    possible pairs except those that an accepted pair dominates
    model        pairs of which a model of the panel, learnt from its reports, is not sure

What is asked and the chance are functions of the past, of the round's people, of the published
scores and of who sits on the panel; the coin is thrown last. So regret and reports keep their
bounds whatever the attention does, and reports that nobody saw have an unbiased estimate and an
interval that holds at every time (:func:`~likewise.learner.certificate.unseen_reports`; Theorem F).
"""

from __future__ import annotations

import math
from abc import ABC
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, lru_cache
from hashlib import sha256
from typing import ClassVar, Self, cast

import numpy as np
import numpy.typing as npt

from likewise.errors import ParameterError
from likewise.learner.events import Limits, Person
from likewise.numerics.fixed_point import (
    ONE,
    FloatArray,
    IntArray,
    from_units,
    log,
    to_units,
)
from likewise.numerics.logistic import Logistic
from likewise.numerics.randomness import Purpose, Stream
from likewise.people.features import Feature
from likewise.people.schema import FeatureSchema
from likewise.registry import ATTENTIONS, Specified
from likewise.validation import assign, flag, integer, positive, within

BoolArray = npt.NDArray[np.bool_]
Memory = tuple[float, ...]
"""The numbers that an attention has learnt; they are saved and hashed with the state."""

# With a smaller chance a panel teaches nothing, and nothing is known of what it misses.
SMALLEST_CHANCE = 0.001


@dataclass(frozen=True, eq=False)
class Possible:
    """The possible pairs of a round: places of the favoured and the other, and gaps in units.

    Their gaps exceed ``least``, alpha − kappa.
    """

    schema: FeatureSchema
    people: tuple[Person, ...]
    over: IntArray
    under: IntArray
    gaps: IntArray
    least: int

    @classmethod
    def of(
        cls, schema: FeatureSchema, people: tuple[Person, ...], scores: Sequence[int], least: int
    ) -> Self:
        """The pairs whose gap exceeds ``least``, in the order of the people."""
        if max(scores) - min(scores) <= least:  # most rounds of a strict panel
            nobody = np.zeros(0, dtype=np.int64)
            return cls(schema, people, nobody, nobody, nobody, least)
        column: IntArray = np.array(scores, dtype=np.int64)
        gaps = column[:, None] - column
        over, under = np.nonzero(gaps > least)
        return cls(schema, people, over, under, gaps[over, under], least)

    def __len__(self) -> int:
        return len(self.gaps)

    def ids(self) -> list[tuple[str, str]]:
        """The pairs by id, the favoured first."""
        names = [person.id for person in self.people]
        both = zip(self.over.tolist(), self.under.tolist(), strict=True)
        return [(names[i], names[j]) for i, j in both]

    def only(self, chosen: BoolArray) -> Self:
        over, under, gaps = (array[chosen] for array in (self.over, self.under, self.gaps))
        return type(self)(self.schema, self.people, over, under, gaps, self.least)

    @cached_property
    def differences(self) -> FloatArray:
        """The differences in each feature, within [0, 1]: one row a pair.

        A number's difference is a share of its range, or of the two sizes if it has no range.
        Levels are equal or not. A missing value differs from one that is present.
        """
        x = np.array([person.features for person in self.people], dtype=np.float64)
        left, right = x[self.over], x[self.under]
        columns = []
        for place, feature in enumerate(self.schema.features):
            if not feature.visible:  # to the panel
                continue
            low, high = feature.limits
            a, b = left[:, place], right[:, place]
            if feature.kind in ("category", "flag"):
                share = (a != b).astype(np.float64)
            elif math.isfinite(high - low):
                share = np.abs(a - b) / (high - low)
            else:  # halves, since sums of two huge numbers may be infinite
                a, b = a / 2.0, b / 2.0
                sizes = np.maximum(np.abs(a) + np.abs(b), np.finfo(np.float64).tiny)
                share = np.abs(a - b) / sizes
            missing = np.isnan(a), np.isnan(b)
            columns.append(np.where(missing[0] | missing[1], missing[0] != missing[1], share))
        return np.array(columns).reshape(len(columns), len(self)).T

    @cached_property
    def inputs(self) -> FloatArray:
        """Inputs of a model: 4·excess, 4·|difference| of every feature, and 1; one row a pair.

        A panel compares the excess of a gap over alpha − kappa with a distance, so a model does not
        have to learn alpha − kappa, nor learn it again when kappa shrinks.
        """
        excess, constant = ((self.gaps - self.least) / ONE)[:, None], np.ones((len(self), 1))
        return np.concatenate([SCALE * excess, SCALE * self.differences, constant], axis=1)

    @cached_property
    def less_favoured(self) -> FloatArray:
        """The places of the less favoured one's values in their ranges: one row a pair.

        A number x without a range has the place x/(1 + |x|); a missing value has 0.
        """
        x = np.array([person.features for person in self.people], dtype=np.float64)
        columns = [
            _share_of_range(feature, x[:, place])
            for place, feature in enumerate(self.schema.features)
            if feature.visible
        ]
        return np.array(columns).reshape(len(columns), len(x)).T[self.under]


def _share_of_range(feature: Feature, values: FloatArray) -> FloatArray:
    low, high = feature.limits
    if math.isfinite(high - low):
        shares = (values - low) / (high - low or 1.0)  # a category may have a single level
    else:
        shares = values / (1.0 + np.abs(values))
    return np.where(np.isnan(values), 0.0, shares)


@dataclass(frozen=True, eq=False)
class Response:
    """The panel's response to the ``pairs`` that it was shown.

    Some were ``asked`` about in any case, and some are ``reported``. ``whole`` says that all
    possible pairs were shown; ``late`` is how many rounds have opened since; ``limits`` are the
    largest gaps, by ids and in units, that the panel would accept for reported pairs, if it said
    so; ``panel`` is the name of the panel, if another one may sit by now.
    """

    pairs: Possible
    asked: BoolArray
    reported: BoolArray
    whole: bool
    late: int = 0
    limits: Limits = field(default_factory=dict)
    panel: str | None = None

    def is_of(self, number: float) -> bool:
        """Test whether the panel of that number responded."""
        return self.panel is None or panel_number(self.panel) == number

    @property
    def quiet(self) -> bool:
        """True if nothing was reported, so that every pair is accepted."""
        return not self.reported.any()

    @property
    def surprise(self) -> bool:
        """True if a pair was reported that only chance had shown."""
        return bool((self.reported & ~self.asked).any())


class Attention(Specified, ABC):
    """Decides which possible pairs of a round are put before the panel; learns from responses.

    A subclass is a frozen dataclass of its parameters, registered under its ``name``
    (:data:`likewise.registry.ATTENTIONS`); ``summary`` is a line for ``likewise list``. Its memory
    is a tuple of numbers that the learner's state keeps. All methods are functions of their
    arguments alone, computed by + − · / and square roots.
    """

    spec_key = "attention"
    summary: ClassVar[str]
    # Whether it learns from responses.
    learns: ClassVar[bool] = False
    # Whether rounds in which nothing is possible count as quiet although nobody looks at them.
    skips: ClassVar[bool] = True
    # A report weighs one over it: the share of rounds that a lottery draws, else 1.
    share: float = 1.0
    # The smallest chance with which a round is ever shown whole.
    least: float = 1.0
    # One in so many of the rounds that nobody is asked about lowers the multiplier; 0 for none.
    steps: int = 0
    # Whether the panel is asked for the largest gap that it would accept in a reported pair.
    graded: bool = False

    @property
    def asks_all(self) -> bool:
        """True if it asks about all possible pairs, so that they need not be listed."""
        return type(self).unknown is Attention.unknown

    @property
    def misses(self) -> bool:
        """True if reports may be missed, and those that are seen weigh no more for it."""
        return self.least < 1 and self.share == 1

    def start(self, schema: FeatureSchema) -> Memory:  # noqa: ARG002
        """The memory before the first round."""
        return ()

    def fits(self, memory: Memory, schema: FeatureSchema) -> bool:
        """Test whether a memory that was read from a file fits these features."""
        return len(memory) == len(self.start(schema))

    def unknown(self, memory: Memory, pairs: Possible) -> BoolArray:  # noqa: ARG002
        """The pairs that are asked about in any case: here, all of them."""
        return np.ones(len(pairs), dtype=np.bool_)

    def chance(self, memory: Memory) -> int:  # noqa: ARG002
        """The chance, in units, with which the next round is shown whole."""
        return ONE

    def period(self, memory: Memory) -> int:  # noqa: ARG002
        """``steps``, or more where the memory vouches for fewer rounds."""
        return self.steps

    def convene(self, memory: Memory, panel: str) -> Memory:  # noqa: ARG002
        """The memory when the panel of a name, perhaps a new one, is about to be asked."""
        return memory

    def learn(self, memory: Memory, response: Response) -> Memory:  # noqa: ARG002
        """The memory after the panel's response."""
        return memory


@dataclass(frozen=True)
class Asking:
    """The pairs that the panel is asked about in a round.

    ``pairs`` are those that it is asked about in any case, the favoured first, or None for all
    possible ones; ``whole`` says that the coin, of probability ``chance`` (in units), showed it all
    ``possible`` pairs, or ``everything``; ``looked_at`` that it is asked at all. ``memory`` is a
    hash of the attention's memory when it asked. Possible pairs have a gap above ``sensitivity``,
    alpha − kappa in units.
    """

    pairs: tuple[tuple[str, str], ...] | None = None
    possible: int = 0
    whole: bool = True
    chance: int = ONE
    looked_at: bool = True
    memory: str = ""
    everything: bool = True
    sensitivity: int = 0

    @property
    def shown(self) -> int:
        """How many pairs are put before the panel."""
        return self.possible if self.whole or self.pairs is None else len(self.pairs)

    @property
    def quiet(self) -> bool:
        """True if nothing could be reported, so that the round is quiet although nobody looks."""
        return self.whole and not self.looked_at

    def asks(self, pair: tuple[str, str]) -> bool:
        """Test whether the panel is asked about a pair, the favoured first."""
        return self.whole or self.expected(pair)

    def expected(self, pair: tuple[str, str]) -> bool:
        """Test whether a pair is asked about in any case: its report is no surprise."""
        return self.pairs is None or pair in self.pairs


def ask(attention: Attention, memory: Memory, pairs: Possible, number: int, seed: int) -> Asking:
    """Choose among the possible pairs of a round; the coin is thrown last."""
    unknown = attention.unknown(memory, pairs)
    everything = attention.asks_all or (attention.skips and bool(unknown.all()))
    chance = ONE if everything else attention.chance(memory)
    whole = chance >= ONE or Stream(seed, Purpose.LOTTERY, number).below(ONE) < chance
    asked = None if everything else tuple(pairs.only(unknown).ids())
    looked_at = (len(pairs) > 0 and (whole or bool(asked))) if attention.skips else whole
    return Asking(
        asked, len(pairs), whole, chance, looked_at, digest(memory), not attention.skips,
        pairs.least,
    )  # fmt: skip


def ask_all(attention: Attention, scores: Sequence[int], sensitivity: int) -> Asking:
    """Count the possible pairs of a round, for an attention that asks about all of them."""
    ordered, possible = sorted(scores), 0
    if ordered[-1] - ordered[0] > sensitivity:
        # For each score, how many others lie more than the sensitivity below it.
        possible = sum([bisect_left(ordered, score - sensitivity) for score in ordered])
    return _asking_all(possible, attention.skips, sensitivity)


@lru_cache(maxsize=256)  # the same numbers come again and again
def _asking_all(possible: int, skips: bool, sensitivity: int) -> Asking:
    looked_at = possible > 0 or not skips
    return Asking(None, possible, True, ONE, looked_at, "", not skips, sensitivity)


@lru_cache(maxsize=16)
def digest(memory: Memory) -> str:
    """A hash of a memory; empty for an empty one."""
    return sha256(repr(memory).encode()).hexdigest()[:32] if memory else ""


def attention_named(text: str) -> Attention:
    """The attention of a name; a colon precedes parameters by name, or the first one alone.

    >>> attention_named("share:0.25"), attention_named("possible")
    (Share(share=0.25), EveryPossiblePair())
    >>> attention_named("model:least=0.1,steps=2").spec()["steps"]
    2
    """
    name, colon, value = text.partition(":") if isinstance(text, str) else (text, "", "")
    kind = ATTENTIONS[name]
    if not colon:
        return cast(Attention, ATTENTIONS.read({"attention": name}))
    parameters = {f.name: f.default for f in fields(kind)}  # type: ignore[arg-type] # a dataclass
    try:
        pairs = [part.rpartition("=")[::2] for part in value.split(",")]
        numbers = {key or next(iter(parameters)): float(number) for key, number in pairs}
        if len(numbers) < len(pairs):
            raise ValueError("a parameter is there twice")
    except (StopIteration, ValueError):
        raise ParameterError(
            "attention", "must be a name, or a name and numbers", text,
            f"Write one of {', '.join(ATTENTIONS)}, share:0.25 or model:least=0.1,patience=5.",
        ) from None  # fmt: skip
    values = {key: _as_kind(parameters.get(key), number) for key, number in numbers.items()}
    return cast(Attention, ATTENTIONS.read({"attention": name, **values}))


def _as_kind(default: object, number: float) -> float:
    """The number as an integer or a flag if the default is one and nothing is lost."""
    if not (isinstance(default, int) and math.isfinite(number)):
        return number
    plain = type(default)(number)
    return plain if plain == number else number


def _chance(name: str, value: float) -> float:
    """A probability of looking, on the grid of 2^-20."""
    remedy = (
        "Rounds that are never looked at have no bound on what nobody saw in them; with 0.05 one "
        "in twenty is shown whole."
    )
    return from_units(to_units(within(name, value, SMALLEST_CHANCE, 1, remedy)))


@dataclass(frozen=True)
class Everything(Attention):
    """Every round is looked at, as in the paper."""

    name = "everything"
    summary = "every round, whatever its gaps"
    skips = False


@dataclass(frozen=True)
class Share(Attention):
    """A lottery draws a share of the rounds, whatever is in them; reports weigh one over it."""

    share: float = 0.25
    name = "share"
    summary = "a share of the rounds, by lot; reports weigh one over the share"
    skips = False

    def __post_init__(self) -> None:
        share = _chance("share", self.share)
        assign(self, share=share, least=share)

    def unknown(self, memory: Memory, pairs: Possible) -> BoolArray:  # noqa: ARG002
        """None: a round is shown whole or not at all."""
        return np.zeros(len(pairs), dtype=np.bool_)

    def chance(self, memory: Memory) -> int:  # noqa: ARG002
        return to_units(self.share)


@dataclass(frozen=True)
class EveryPossiblePair(Attention):
    """Every round in which some gap exceeds alpha − kappa: nothing is lost."""

    name = "possible"
    summary = "rounds in which some gap exceeds alpha − kappa; nothing is lost"


@dataclass(frozen=True)
class Dominance(Attention):
    """Possible pairs except those that an accepted pair dominates.

    If the panel accepted a pair, it accepts every pair that differs by as much in each feature and
    has no larger gap: certainly so, if all auditors' metrics grow with differences. The memory
    holds the last ``remembered`` accepted pairs that no other dominates; a surprise or another
    panel clears it. With probability ``least`` a round is shown whole.
    """

    least: float = 0.05
    remembered: int = 128
    name = "dominance"
    learns = True
    summary = "possible pairs that no accepted pair dominates; the others by chance"

    def __post_init__(self) -> None:
        most = integer("remembered", self.remembered, 1, 4096, "128 is the default.")
        assign(self, least=_chance("least", self.least), remembered=most)

    def start(self, schema: FeatureSchema) -> Memory:  # noqa: ARG002
        """No panel yet."""
        return (0.0,)

    def fits(self, memory: Memory, schema: FeatureSchema) -> bool:
        """Test for the panel's number and the rows of some pairs."""
        width = sum(feature.visible for feature in schema.features) + 1
        return len(memory) % width == 1 % width and 1 <= len(memory) <= 1 + width * self.remembered

    def convene(self, memory: Memory, panel: str) -> Memory:
        """Another panel has accepted nothing yet."""
        number = panel_number(panel)
        return memory if memory[0] == number else (number,)

    def unknown(self, memory: Memory, pairs: Possible) -> BoolArray:
        """The pairs that no remembered pair dominates."""
        rows = _ordered(pairs)
        accepted = np.array(memory[1:]).reshape(-1, rows.shape[1])
        known = np.any(np.all(accepted[None, :, :] <= rows[:, None, :], axis=2), axis=1)
        return np.asarray(~known, dtype=np.bool_)

    def chance(self, memory: Memory) -> int:  # noqa: ARG002
        return to_units(self.least)

    def learn(self, memory: Memory, response: Response) -> Memory:
        """Keep the accepted pairs that no other dominates; a former panel teaches nothing."""
        if not response.is_of(memory[0]):
            return memory
        if response.surprise or not response.quiet:
            return memory[:1] if response.surprise else memory
        rows = _ordered(response.pairs)
        accepted = np.array(memory[1:]).reshape(-1, rows.shape[1])
        for row in rows[self.unknown(memory, response.pairs)]:
            if not (accepted <= row).all(axis=1).any():
                accepted = np.concatenate([accepted[~(row <= accepted).all(axis=1)], row[None]])
        return (memory[0], *accepted[-self.remembered :].ravel().tolist())


def panel_number(panel: str) -> float:
    """A number above 0 that identifies a panel in a memory by a hash of its name."""
    return 1.0 + int.from_bytes(sha256(panel.encode()).digest()[:6])


def _ordered(pairs: Possible) -> FloatArray:
    """Differences, and minus the gap: a pair dominates those that are larger everywhere."""
    return np.concatenate([pairs.differences, -(pairs.gaps / ONE)[:, None]], axis=1)


@dataclass(frozen=True)
class PanelModel(Attention):
    """Possible pairs of which a model of the panel is not sure; the others by chance.

    The model is logistic regression of 'the panel reports this pair' on 4·(gap − alpha + kappa),
    4·|difference| of every feature that the panel sees, and a constant, learnt by a Newton step a
    pair (an extended Kalman filter). A pair is unknown if the upper end of its chance, a standard
    deviation above the mean, exceeds ``doubt``.

    The model also judges itself. A surprise is a report of a pair that only chance had put before
    the panel. After n whole rounds without one, the next round is shown whole with probability
    c/(c + n), but at least ``least``; c is ``patience``·(1 + s), and s counts surprises, of which
    each whole round forgets a hundredth. A surprise divides n by 1 + s and doubles the variance.
    The round after a surprise, or after a report in a round shown in part, is shown whole, so that
    a panel that has changed its mind is soon found out; where reports come late, d rounds have a
    chance of 1/(1 + d) each.

    A new panel puts w = (m/(m + 10))² of the memory in doubt after m responses of the former one:
    rounds have a chance of w until one is shown whole, n and s lose w, and w/10 is added to the
    variance of every weight. Panels that rotate from round to round are thus learnt as one.

    A ``personal`` model also sees the values of the less favoured, and moves the edge above which
    it asks: a surprise lowers it, an expected report in a whole round raises it, so that three in
    ten such reports are surprises (adaptive conformal inference, Gibbs and Candès 2021). With real
    people it looks less.

    Args:
        least: the smallest probability with which a round is shown whole.
        doubt: the chance of a report above which a pair is asked about.
        patience: how many whole rounds without a surprise halve the chance of the next, at first.
        steps: one in so many of the rounds that nobody is asked about lowers the multiplier as a
            quiet one does, or one in 1 + (steps − 1)·(1 + s) after surprises; 0 for none.
        graded: whether the panel is asked for the largest gap that it would accept in a reported
            pair. The pair then teaches the model twice: as it is, and at that limit.
        personal: whether the less favoured one's values count, and the edge moves.
    """

    least: float = 0.04
    doubt: float = 0.2
    patience: float = 3.0
    steps: int = 6
    graded: bool = False
    personal: bool = False
    name = "model"
    learns = True
    summary = "pairs of which a model of the panel is not sure; the others by chance"

    def __post_init__(self) -> None:
        assign(
            self,
            least=_chance("least", self.least),
            doubt=within("doubt", self.doubt, 0, 1, "0.2 is the default.", ends="()"),
            patience=positive("patience", self.patience, "3 is the default."),
            steps=integer("steps", self.steps, 0, 1 << 32, "6 is the default."),
            graded=flag("graded", self.graded, "False is the default."),
            personal=flag("personal", self.personal, "False is the default."),
        )

    def start(self, schema: FeatureSchema) -> Memory:
        """No round and no panel yet; weights of mean 0."""
        d = (1 + self.personal) * sum(feature.visible for feature in schema.features) + 2
        return (*(0.0,) * self._own, *Logistic.start(d, VARIANCE).numbers)

    @property
    def _own(self) -> int:
        """How many numbers precede the regression's: n, s, the chance of a round that follows, the
        panel's number, its responses, and the edge's.
        """
        return 5 + self.personal

    def convene(self, memory: Memory, panel: str) -> Memory:
        """Put what was learnt in doubt when the panel changes."""
        quiet, surprises, followed, sat, responses = memory[:5]
        number = panel_number(panel)
        if sat == number:
            return memory
        share = responses / (responses + ACQUAINTED)
        doubted = share * share if sat else 0.0
        model, kept = Logistic.of(memory[self._own :]), 1.0 - doubted
        stirred = model.covariance + STIR * doubted * np.eye(len(model.mean))
        judged = quiet * kept, surprises * kept, max(followed, doubted), number, 0.0
        numbers = replace(model, covariance=stirred).numbers
        return (*judged, *memory[5 : self._own], *numbers)

    def _rows(self, pairs: Possible) -> FloatArray:
        """The inputs of the regression, a row a pair."""
        if not self.personal:
            return pairs.inputs
        return np.concatenate([pairs.inputs, SCALE / 2.0 * pairs.less_favoured], axis=1)

    def chance(self, memory: Memory) -> int:
        """c/(c + n), but at least ``least`` and the chance that follows a report."""
        quiet, surprises, followed = memory[:3]
        c = self.patience * (1.0 + surprises)
        return to_units(max(self.least, c / (c + quiet), followed))

    def period(self, memory: Memory) -> int:
        """1 + (steps − 1)·(1 + s), since a model that was surprised vouches for fewer rounds."""
        return 1 + int((self.steps - 1) * (1.0 + memory[1])) if self.steps else 0

    def unknown(self, memory: Memory, pairs: Possible) -> BoolArray:
        """mean + standard deviation > ln(doubt/(1 − doubt)) + the edge's move."""
        centre, variance = Logistic.of(memory[self._own :]).estimates(self._rows(pairs))
        edge = log(self.doubt) - log(1.0 - self.doubt) + (memory[5] if self.personal else 0.0)
        return np.asarray(centre + np.sqrt(variance) > edge)

    def learn(self, memory: Memory, response: Response) -> Memory:
        """Take a Newton step for each pair, or for those reported unless the response is quiet."""
        model = Logistic.of(memory[self._own :])
        if response.surprise and model.covariance.max() < WIDEST:
            model = replace(model, covariance=model.covariance * 2.0)
        for row, target in _lessons(response, self._rows(response.pairs)):
            model = model.after(row.tolist(), target)
        moved = self._moved(memory[5], response) if self.personal else ()
        sat = memory[3], memory[4] + response.is_of(memory[3])
        return (*self._judged(memory, response), *sat, *moved, *model.numbers)

    def _moved(self, edge: float, response: Response) -> tuple[float]:
        """How far the edge is from ``doubt``, in log odds; rounds shown in part tell nothing."""
        told = response.whole and not response.quiet
        return (edge + PACE * (MISSED - response.surprise) if told else edge,)

    def _judged(self, memory: Memory, response: Response) -> tuple[float, float, float]:
        """n, s, and the chance of the round that follows a report."""
        quiet, surprises, followed = memory[:3]
        if response.whole and not response.surprise:
            return quiet + 1.0, surprises * REMEMBERED, 0.0
        if not response.quiet:
            followed = 1.0 / (1.0 + response.late)
        if response.surprise:
            surprises += 1.0
            quiet = quiet / (1.0 + surprises)
        return quiet, surprises, followed


def _lessons(response: Response, rows: FloatArray) -> Iterator[tuple[FloatArray, float]]:
    """Inputs with their targets: pairs as they were judged, and accepted at their limits.

    Below alpha − kappa nothing is reported; a limit below it says that every gap above would be.
    """
    if response.quiet:
        yield from ((row, 0.0) for row in rows)
        return
    least, ids = response.pairs.least, response.pairs.ids()
    for place in np.nonzero(response.reported)[0].tolist():
        limit, row = response.limits.get(ids[place]), rows[place]
        yield row, 1.0
        if limit is not None:
            excess = max(limit - least, 0) / ONE  # the first input, at that gap
            yield np.concatenate([[SCALE * excess], row[1:]]), float(limit < least)


# The largest variance: surprises would take that of a feature in which nobody differs to infinity.
WIDEST = 2.0**40
# The variance of the weights before the first response, on inputs from 0 to SCALE.
VARIANCE, SCALE = 1.0, 4.0
# How fast reports move the edge of a personal model, and the share of surprises that it aims at.
PACE, MISSED = 0.1, 0.3
# The share of earlier surprises that is left after a whole round without one.
REMEMBERED = 0.99
# After how many responses m/(m + 10) is a half, and the variance that full doubt adds to weights.
ACQUAINTED, STIR = 10.0, 0.1
