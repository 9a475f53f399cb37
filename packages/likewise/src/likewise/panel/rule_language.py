"""Rules as text: ``veto(j3) or at_least(80%)``.

rule    = all_of { "or" all_of }                  "and" binds tighter than "or"
all_of  = part { "and" part }
part    = "(" rule ")" | veto(NAME) | objects(NAME)
        | at_least(3) | at_least(80%) | at_least(2/3) | more_than(2/3), each also "… of NAMES"
        | majority | any | all, each also with (NAMES)
        | weighted(NAME: 2, NAME: 1; 2) | never
NAME    = letters, digits, "_", "-", "."; anything else in "double quotes"
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from itertools import product

import numpy as np

from likewise import validation as check
from likewise.errors import ParameterError, RuleError, foreign_code
from likewise.panel import rules
from likewise.panel.rules import And, BoolArray, Never, Or, Rule

_SPACE, _OPEN, _COMMA = re.compile(r"\s*"), re.compile(r"\("), re.compile(",")
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:\s*/\s*[0-9]+(?:\.[0-9]+)?)?")
_QUANTITY = re.compile(_NUMBER.pattern + r"\s*%?")
_DEEPEST = 100  # parentheses; far below where Python's own stack would end


def parse_rule(text: str) -> Rule:
    """Read a rule; ``parse_rule(str(rule)) == rule``.

    >>> from likewise.panel import at_least, veto
    >>> parse_rule("veto(j3) or at_least(80%)") == veto("j3") | at_least("80%")
    True
    >>> parse_rule("veto(j3) or at_least(j1)")
    Traceback (most recent call last):
    likewise.errors.RuleError: Rule text: expected votes or a share (3, 80% or 2/3); got 'j1'.
      veto(j3) or at_least(j1)
                           ^
    """
    remedy = "Such as 'veto(j3) or at_least(80%)'."
    check.require(isinstance(text, str), "rule", "must be a text", text, remedy)
    return _Reader(text).complete()


def as_rule(rule: Rule | str) -> Rule:
    """The rule itself, or the rule that a text describes."""
    return rule if isinstance(rule, Rule) else parse_rule(rule)


class _Reader:
    """A place in a text, and one method for each line of the grammar."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.place = 0
        self.depth = 0
        self.kinds: dict[str, Callable[[], Rule]] = {
            "veto": self.member,
            "objects": self.member,
            "at_least": lambda: self.counted(rules.at_least),
            "more_than": lambda: self.counted(rules.more_than),
            "weighted": self.weighted,
            "majority": lambda: rules.majority(*self.listed()),
            "any": lambda: rules.any_of(*self.listed()),
            "all": lambda: rules.all_of(*self.listed()),
            "never": lambda: rules.never(*self.listed(names=False)),
        }

    def complete(self) -> Rule:
        rule = self.either()
        if self.place < len(self.text):
            raise self.error("'or', 'and' or the end")
        return rule

    def either(self) -> Rule:
        return self.joined("or", self.both, Or)

    def both(self) -> Rule:
        return self.joined("and", self.part, And)

    def joined(self, word: str, part: Callable[[], Rule], kind: type[Or | And]) -> Rule:
        parts = [part()]
        while self.word(word):
            parts.append(part())
        return parts[0] if len(parts) == 1 else kind(tuple(parts))

    def part(self) -> Rule:
        if self.match(_OPEN):
            self.depth += 1
            if self.depth > _DEEPEST:
                raise self.error(f"at most {_DEEPEST} parentheses in each other")
            rule = self.either()
            self.sign(")")
            self.depth -= 1
            return rule
        start = self.skip()
        kind = self.match(rules.BARE_NAME)
        if kind not in self.kinds:
            self.place = start
            raise self.error(f"a rule ({', '.join(self.kinds)} or a parenthesis)")
        inside = self.skip()
        try:
            return self.kinds[kind]()
        except ParameterError as error:
            self.place = inside
            raise RuleError(f"Rule text: {error}\n{self.pointer()}") from None

    def member(self) -> Rule:
        self.sign("(")
        rule = rules.objects(self.name())
        self.sign(")", "')' (a name with spaces or signs goes in quotes)")
        return rule

    def counted(self, build: Callable[[str, list[str] | None], Rule]) -> Rule:
        self.sign("(")
        quantity = self.match(_QUANTITY)
        if not quantity:
            raise self.error("votes or a share (3, 80% or 2/3)")
        names = self.some_names() if self.word("of") else None
        self.sign(")", "')' or 'of'" if names is None else "',' or ')'")
        return build(quantity, names)

    def listed(self, names: bool = True) -> list[str]:
        if not self.match(_OPEN) or self.match(re.compile(r"\)")):
            return []
        if not names:
            raise self.error("')'")
        named = self.some_names()
        self.sign(")", "',' or ')'")
        return named

    def weighted(self) -> Rule:
        self.sign("(")
        weights: dict[str, str] = {}
        while not weights or self.match(_COMMA):
            name = self.name()
            if name in weights:
                raise self.error(f"everybody once ({name} has a weight already)")
            self.sign(":")
            weights[name] = self.number()
        self.sign(";", "',' and another member, or ';' and the threshold")
        threshold = self.number()
        self.sign(")")
        return rules.Weighted(weights, threshold)

    def some_names(self) -> list[str]:
        names = [self.name()]
        while self.match(_COMMA):
            names.append(self.name())
        return names

    def name(self) -> str:
        if bare := self.match(rules.BARE_NAME):
            return bare
        start = self.skip()
        try:
            return str(json.loads(self.match(_QUOTED) or ""))
        except ValueError:
            self.place = start
            raise self.error('a member\'s name, bare (j3) or in quotes ("Ms. Noor")') from None

    def number(self) -> str:
        if number := self.match(_NUMBER):
            return number
        raise self.error("a number (2, 0.5 or 1/3)")

    def word(self, word: str) -> bool:
        start = self.place
        if self.match(rules.BARE_NAME) == word:
            return True
        self.place = start
        return False

    def sign(self, sign: str, expected: str = "") -> None:
        if not self.match(re.compile(re.escape(sign))):
            raise self.error(expected or f"'{sign}'")

    def match(self, pattern: re.Pattern[str]) -> str:
        """Consume and return the text that matches here; empty if none does."""
        token = pattern.match(self.text, self.skip())
        if not token:
            return ""
        self.place = token.end()
        self.skip()
        return token[0]

    def skip(self) -> int:
        space = _SPACE.match(self.text, self.place)
        self.place = space.end() if space else self.place
        return self.place

    def error(self, expected: str) -> RuleError:
        start = self.skip()
        word = rules.BARE_NAME.match(self.text, start)
        rest = word[0] if word else self.text[start : start + 1]
        actual = repr(rest) if rest else "the end"
        return RuleError(f"Rule text: expected {expected}; got {actual}.\n{self.pointer()}")

    def pointer(self) -> str:
        line = re.sub(r"\s", " ", self.text)
        return f"  {line}\n  {' ' * self.place}^"


Profile = tuple[bool, ...]
_MOST_MEMBERS = 16


def from_function(f: Callable[[Profile], int], members: Sequence[str]) -> Rule:
    """A rule from a function of the votes, called once for each of the 2^m profiles.

    It must be monotone (definition "Monotone aggregation functions") and must not report when
    nobody objects. At most 16 members are allowed, since all 2^16 profiles are evaluated. Larger
    panels need a rule written as an expression, which is monotone by construction.

    >>> print(from_function(lambda v: v[0] or (v[1] and v[2]), ["a", "b", "c"]))
    veto(a) or all(b, c)
    >>> table = {(0, 0): 0, (0, 1): 1, (1, 0): 1, (1, 1): 0}
    >>> from_function(table.__getitem__, ["a", "b"])
    Traceback (most recent call last):
    likewise.errors.RuleError: The rule is not monotone: it \
reports when b objects, profile (0, 1), \
but not when a, b object, profile (1, 1) ≽ (0, 1). One more objection, of a, must not take a \
report back: report (1, 1) too, or do not report (0, 1).
    """
    names = check.names("members", members, rules.MEMBERS)
    m, limit = len(names), f"must be at most {_MOST_MEMBERS} for a function"
    remedy = "All 2^m profiles are evaluated. Write an expression instead: at_least, veto, | and &."
    check.require(m <= _MOST_MEMBERS, "members", limit, m, remedy)
    fits, remedy = callable(f), "Write lambda v: v[0]."
    check.require(fits, "f", "must be a function of the votes", f, remedy)
    values = np.zeros((2,) * m, dtype=np.bool_)
    for bits in product((False, True), repeat=m):
        failure = f"The function failed on the profile {_bits(bits)}"
        rule = "It is called for every profile, also for those that cannot come about."
        with foreign_code(RuleError, failure, rule):
            value: object = f(bits)
        values[tuple(map(int, bits))] = _truth(value, bits)
    if values[(0,) * m]:
        raise RuleError(
            f"The rule always fires: it reports when nobody objects, profile "
            f"{_bits((False,) * m)}. No auditor does that; make this profile 0."
        )
    _check_monotone(values, names)
    coalitions = [tuple(names[i] for i in np.flatnonzero(z)) for z in np.argwhere(_minimal(values))]
    coalitions.sort(key=lambda c: (len(c), [names.index(name) for name in c]))
    parts = tuple(rules.objects(c[0]) if len(c) == 1 else rules.all_of(*c) for c in coalitions)
    if not parts:
        return Never()
    return parts[0] if len(parts) == 1 else Or(parts)


def _truth(value: object, profile: Profile) -> bool:
    if isinstance(value, bool | int | np.bool_) and value in (0, 1):
        return bool(value)
    raise RuleError(
        f"The rule must say True or False (1 or 0) for every profile; got {value!r} for "
        f"{_bits(profile)}."
    )


def _check_monotone(values: BoolArray, names: tuple[str, ...]) -> None:
    """Compare profiles that differ in one vote, which suffices: ≼ is a chain of such steps."""
    for i, name in enumerate(names):
        taken_back = np.take(values, 0, axis=i) & ~np.take(values, 1, axis=i)
        if not taken_back.any():
            continue
        profiles = np.argwhere(taken_back)
        weak = np.insert(profiles[int(np.argmin(profiles.sum(axis=1)))], i, 0).astype(np.bool_)
        strong = weak.copy()
        strong[i] = True
        v, stronger = tuple(weak.tolist()), tuple(strong.tolist())
        raise RuleError(
            f"The rule is not monotone: it reports when {_objecting(v, names)}, profile "
            f"{_bits(v)}, but not when {_objecting(stronger, names)}, profile {_bits(stronger)} ≽ "
            f"{_bits(v)}. One more objection, of {rules.quoted(name)}, must not take a report "
            f"back: report {_bits(stronger)} too, or do not report {_bits(v)}."
        )


def _minimal(values: BoolArray) -> BoolArray:
    """The profiles that fire, and would not with any one objection fewer."""
    minimal = values.copy()
    for i in range(values.ndim):
        np.moveaxis(minimal, i, 0)[1] &= ~np.take(values, 0, axis=i)
    return minimal


def _bits(profile: Profile) -> str:
    return f"({', '.join(str(int(vote)) for vote in profile)}{',' * (len(profile) == 1)})"


def _objecting(profile: Profile, names: tuple[str, ...]) -> str:
    objectors = [rules.quoted(name) for name, vote in zip(names, profile, strict=True) if vote]
    return f"{', '.join(objectors)} object{'s' * (len(objectors) == 1)}"
