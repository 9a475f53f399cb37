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
from collections.abc import Callable

from likewise.auditing.names import BARE_NAME
from likewise.auditing.rules import thresholds
from likewise.auditing.rules.base import And, Or, Rule
from likewise.auditing.rules.members import never, objects
from likewise.errors import ParameterError, RuleError

_SPACE = re.compile(r"\s*")
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:\s*/\s*[0-9]+(?:\.[0-9]+)?)?")
_QUANTITY = re.compile(_NUMBER.pattern + r"\s*%?")
_DEEPEST = 100  # parentheses; far below where Python's own stack would end


def parse_rule(text: str) -> Rule:
    """Read a rule; ``parse_rule(str(rule)) == rule``.

    >>> from likewise.auditing import at_least, veto
    >>> parse_rule("veto(j3) or at_least(80%)") == veto("j3") | at_least("80%")
    True
    >>> parse_rule("veto(j3) or at_least(j1)")
    Traceback (most recent call last):
    likewise.errors.RuleError: Rule text: expected votes or a share (3, 80% or 2/3); got 'j1'.
      veto(j3) or at_least(j1)
                           ^
    """
    if not isinstance(text, str):
        raise ParameterError("rule", "must be a text", text, "Such as 'veto(j3) or at_least(80%)'.")
    return _Reader(text).complete()


def as_rule(rule: Rule | str) -> Rule:
    """A rule, or the rule that a text says.

    >>> print(as_rule("any"))
    any
    """
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
            "at_least": lambda: self.counted(thresholds.at_least),
            "more_than": lambda: self.counted(thresholds.more_than),
            "weighted": self.weighted,
            "majority": lambda: thresholds.majority(*self.listed()),
            "any": lambda: thresholds.any_of(*self.listed()),
            "all": lambda: thresholds.all_of(*self.listed()),
            "never": lambda: never(*self.listed(names=False)),
        }

    def complete(self) -> Rule:
        rule = self.either()
        if self.place < len(self.text):
            raise self.error("'or', 'and' or the end")
        return rule

    def either(self) -> Rule:
        parts = [self.both()]
        while self.word("or"):
            parts.append(self.both())
        return parts[0] if len(parts) == 1 else Or(tuple(parts))

    def both(self) -> Rule:
        parts = [self.part()]
        while self.word("and"):
            parts.append(self.part())
        return parts[0] if len(parts) == 1 else And(tuple(parts))

    def part(self) -> Rule:
        if self.match(re.compile(r"\(")):
            self.depth += 1
            if self.depth > _DEEPEST:
                raise self.error(f"at most {_DEEPEST} parentheses in each other")
            rule = self.either()
            self.sign(")")
            self.depth -= 1
            return rule
        start = self.skip()
        kind = self.match(BARE_NAME)
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
        rule = objects(self.name())
        self.sign(")", "')' (a name with spaces or signs goes in quotes)")
        return rule

    def counted(self, build: Callable[[str, list[str] | None], Rule]) -> Rule:
        self.sign("(")
        quantity = self.match(_QUANTITY)
        if not quantity:
            raise self.error("votes or a share (3, 80% or 2/3)")
        names = None
        if self.word("of"):
            names = self.some_names()
        self.sign(")", "')' or 'of'" if names is None else "',' or ')'")
        return build(quantity, names)

    def listed(self, names: bool = True) -> list[str]:
        if not self.match(re.compile(r"\(")) or self.match(re.compile(r"\)")):
            return []
        if not names:
            raise self.error("')'")
        named = self.some_names()
        self.sign(")", "',' or ')'")
        return named

    def weighted(self) -> Rule:
        self.sign("(")
        weights: dict[str, str] = {}
        while True:
            name = self.name()
            if name in weights:
                raise self.error(f"everybody once ({name} has a weight already)")
            self.sign(":")
            weights[name] = self.number()
            if not self.match(re.compile(",")):
                break
        self.sign(";", "',' and another member, or ';' and the threshold")
        threshold = self.number()
        self.sign(")")
        return thresholds.Weighted(weights, threshold)

    def some_names(self) -> list[str]:
        names = [self.name()]
        while self.match(re.compile(",")):
            names.append(self.name())
        return names

    def name(self) -> str:
        if bare := self.match(BARE_NAME):
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
        if self.match(BARE_NAME) == word:
            return True
        self.place = start
        return False

    def sign(self, sign: str, expected: str = "") -> None:
        if not self.match(re.compile(re.escape(sign))):
            raise self.error(expected or f"'{sign}'")

    def match(self, pattern: re.Pattern[str]) -> str:
        """The text that matches here, which is then behind us; empty where none does."""
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
        word = BARE_NAME.match(self.text, start)
        rest = word[0] if word else self.text[start : start + 1]
        actual = repr(rest) if rest else "the end"
        return RuleError(f"Rule text: expected {expected}; got {actual}.\n{self.pointer()}")

    def pointer(self) -> str:
        line = re.sub(r"\s", " ", self.text)
        return f"  {line}\n  {' ' * self.place}^"
