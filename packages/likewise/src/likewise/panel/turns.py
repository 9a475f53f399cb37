"""Members one after another: a pair is settled as soon as no further vote can change its outcome.

Take a monotone rule f. If it fires with every unknown vote as 0, the pair is reported whatever the
others say; if it does not fire with every unknown vote as 1, it is not. So the outcome is exactly
that of the whole panel. A further member sees only the pairs still in dispute, and nobody is asked
once there are none. The order changes only how many are asked; a model of each member predicts who
will agree.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from likewise.numerics.fixed_point import FloatArray, exp_negative, log_array
from likewise.numerics.logistic import Logistic
from likewise.panel.rules import BoolArray, Rule
from likewise.validation import as_array, instance, names, require

# Nobody is asked more often than this many times the mean, as long as somebody else can be.
MOST_ASKED = 1.27
# The variance of the weights of a member's model before their first vote.
VARIANCE = 4.0
# A model does not learn from a vote this near to the predicted chance; that saves most time.
FORESEEN = 0.02
# The least chance of agreeing on a pair, so that one pair does not decide everything.
LEAST = 0.001
# Doubts are counted in this part of a natural logarithm: they are kept, and should reveal little.
GRAIN = 16
# Of a normal variable z with variance v, E[1/(1 + e^−z)] is about that at mean/√(1 + v·π/8).
_PROBIT = 0.39269908169872414


def settled(
    rule: Rule, votes: BoolArray, heard: BoolArray, members: Sequence[str]
) -> tuple[BoolArray, BoolArray]:
    """Which pairs are settled, and which of them are reported.

    ``votes`` are (m, n), a row a member; ``heard``, (m, n), says which of them have been cast.

    >>> from likewise.panel import at_least
    >>> votes, heard = np.array([[True], [True], [False]]), np.array([[True], [True], [False]])
    >>> settled(at_least(2), votes, heard, ["a", "b", "c"])
    (array([ True]), array([ True]))
    """
    reported = rule.fires(votes & heard, members)
    possible = rule.fires(votes | ~heard, members)
    return reported == possible, reported


def doubts_of(
    rule: Rule, members: Sequence[str], chances: FloatArray, votes: BoolArray, heard: BoolArray
) -> tuple[int, ...]:
    """How doubtful it is that each member votes as the panel will.

    It is −ln of the chance that they do on all pairs in dispute, in parts of ``GRAIN``; the panel's
    vote is predicted by the rule on the votes cast and the likely ones.
    """
    disputed = ~settled(rule, votes, heard, members)[0]
    fires = rule.fires(np.where(heard, votes, chances > 0.5), members)
    agrees = np.maximum(np.where(fires, chances, 1.0 - chances), LEAST)
    parts = np.where(disputed, -log_array(agrees), 0.0)
    return tuple(math.floor(GRAIN * math.fsum(row)) for row in parts.tolist())


@dataclass(frozen=True)
class Turns:
    """How often members were asked, and how they judge: these decide whom to ask next.

    ``asked`` counts rounds by member. ``views`` are the numbers of a :class:`Logistic` for each
    member: how likely they object to a pair. Pairs come as ``inputs``, (n, d).
    """

    asked: Mapping[str, int] = field(default_factory=dict)
    views: Mapping[str, tuple[float, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        remedy = "Turns() begins anew."
        counts = dict(instance("asked", self.asked, Mapping, remedy))
        fits = all(type(count) is int and count >= 0 for count in counts.values())
        require(fits, "asked", "must have a count of each member", counts, remedy)
        views = dict(instance("views", self.views, Mapping, remedy))
        fits = all(isinstance(numbers, tuple) for numbers in views.values())
        require(fits, "views", "must have numbers of each member", views, remedy)

    def order(self, members: Sequence[str], doubts: Sequence[int]) -> list[str]:
        """Members in the order in which they should be asked.

        First come those who most certainly agree with the panel or were rarely asked; last come
        those who were asked more than their share.
        """
        mean = sum(self.asked.get(name, 0) for name in members) / len(members)
        doubt = dict(zip(members, doubts, strict=True))

        def place(name: str) -> tuple[bool, float]:
            asked = self.asked.get(name, 0)
            return asked > MOST_ASKED * mean + 1, asked / max(mean, 1.0) + doubt[name] / GRAIN

        return sorted(members, key=place)

    def chances(self, members: Sequence[str], inputs: FloatArray) -> FloatArray:
        """How likely members object to each pair, (m, n); nearer to ½ where little is known."""
        estimates = [self._view(name, inputs.shape[1]).estimates(inputs) for name in members]
        odds = np.array(
            [centre / np.sqrt(1.0 + _PROBIT * variance) for centre, variance in estimates]
        )
        small = exp_negative(np.abs(odds))
        return np.where(odds >= 0, 1.0, small) / (1.0 + small)

    def _view(self, name: str, d: int) -> Logistic:
        if name not in self.views:
            return Logistic.start(d, VARIANCE)
        model, remedy = Logistic.of(self.views[name]), "Use the features that it was learnt from."
        rule = f"must have {len(model.mean)} columns, as the model of {name!r} has"
        require(len(model.mean) == d, "inputs", rule, d, remedy)
        return model

    def learnt(
        self, members: Sequence[str], inputs: FloatArray, votes: BoolArray, heard: BoolArray
    ) -> Turns:
        """The same after the members' votes on some pairs, as far as they were not foreseen."""
        views = dict(self.views)
        unforeseen = heard & (np.abs(votes - self.chances(members, inputs)) > FORESEEN)
        for name, row, new in zip(members, votes, unforeseen, strict=True):
            model = self._view(name, inputs.shape[1])
            for pair, vote in zip(inputs[new].tolist(), row[new].tolist(), strict=True):
                model = model.after(pair, float(vote))
            if new.any():
                views[name] = model.numbers
        return replace(self, views=views)

    def after(self, member: str) -> Turns:
        """The same after a member was asked once more."""
        return replace(self, asked={**self.asked, member: self.asked.get(member, 0) + 1})

    def joined(self, member: str, members: Sequence[str]) -> Turns:
        """The same after somebody joined, as if asked as often as the other members.

        >>> Turns({"a": 10, "b": 14}).joined("c", ["a", "b"]).asked["c"]
        12
        """
        mean = sum(self.asked.get(name, 0) for name in members) // max(len(members), 1)
        return replace(self, asked={**self.asked, member: mean})


@dataclass(frozen=True)
class Heard:
    """The outcome of asking in turn: reported pairs, who was asked in order, and the turns since.

    ``heard`` is (m, n): a vote that was not asked for is unknown, and never counts as quiet.
    """

    reported: BoolArray
    asked: tuple[str, ...]
    heard: BoolArray
    turns: Turns


def ask_in_turn(
    rule: Rule, members: Sequence[str], votes: BoolArray, turns: Turns,
    inputs: FloatArray | None = None,
) -> Heard:  # fmt: skip
    """Ask members one after another about n pairs until each is settled.

    ``votes``, (m, n), are all members' votes on the pairs. The reported pairs are those of the
    whole panel. ``inputs``, (n, d), describe the pairs to the members' models, which otherwise
    learn how often each member objects.

    >>> from likewise.panel import at_least
    >>> votes = np.array([[False], [True], [False]])
    >>> ask_in_turn(at_least(2), ["a", "b", "c"], votes, Turns()).asked
    ('a', 'b', 'c')
    """
    instance("rule", rule, Rule, "parse_rule('majority') is one.")
    members = names("members", members, "Name those who sit, in the order of the votes.")
    votes = as_array(votes)
    require(votes.ndim == 2, "votes", "must have a row a member", votes, "A column is a pair.")
    rule.fires(votes, members)  # refuses what are no votes of these members
    votes = votes.astype(np.bool_)
    rows = np.ones((votes.shape[1], 1)) if inputs is None else as_array(inputs)
    fits = rows.ndim == 2 and len(rows) == votes.shape[1] and rows.dtype.kind == "f"
    require(fits, "inputs", "must have a row of numbers a pair", inputs, "None is for no features.")
    chances = instance("turns", turns, Turns, "Begin with Turns().").chances(members, rows)
    heard, asked = np.zeros(votes.shape, dtype=np.bool_), list[str]()
    done, reported = settled(rule, votes, heard, members)
    while not done.all():
        order = turns.order(members, doubts_of(rule, members, chances, votes, heard))
        name = next(name for name in order if name not in asked)
        heard[members.index(name)] = ~done
        asked.append(name)
        turns = turns.after(name)
        done, reported = settled(rule, votes, heard, members)
    return Heard(reported, tuple(asked), heard, turns.learnt(members, rows, votes, heard))
