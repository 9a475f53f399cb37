"""When feedback comes: at once, some rounds later, or who knows when."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from likewise.errors import ParameterError
from likewise.events import Audited, Closed, Labelled
from likewise.portable_math import log
from likewise.randomness import Purpose, Stream
from likewise.validation import instance, integer, real

__all__ = ["AT_ONCE", "PROMPT", "Delay", "Delays", "Inbox", "parse_delay"]

# A geometric delay beyond this would not be seen in any game that one can play.
LONGEST = 10**9


@dataclass(frozen=True)
class Delay:
    """How many rounds later an audit or a label comes: ``rounds``, or at random.

    With a ``chance`` below 1 everything that is outstanding comes with that probability in every
    round, each on its own: a geometric number of rounds, (1 − chance)/chance in the mean.
    """

    rounds: int = 0
    chance: float = 1.0

    def __post_init__(self) -> None:
        rounds = integer("delay", self.rounds, 0, LONGEST, "0 means that all comes at once.")
        object.__setattr__(self, "rounds", rounds)
        chance = real("delay", self.chance, "geometric:0.02 means 49 rounds in the mean.")
        if not 1 / LONGEST <= chance <= 1:
            raise ParameterError(
                "delay", f"must have a chance in [{1 / LONGEST:g}, 1]", chance,
                "geometric:0.02 means 49 rounds in the mean.",
            )  # fmt: skip
        object.__setattr__(self, "chance", chance)

    @property
    def text(self) -> str:
        """In words; as :func:`parse_delay` reads it, where it can be read."""
        if self.chance == 1.0:
            return str(self.rounds)
        # On the command line there is the one or the other.
        return f"geometric:{self.chance!r}" + f" after {self.rounds}" * bool(self.rounds)

    @property
    def longest(self) -> int | None:
        """The most rounds that anything is late by; None where there is no such number."""
        return self.rounds if self.chance == 1.0 else None

    def draw(self, stream: Stream, item: int) -> int:
        """How many rounds later the item of that number comes.

        >>> Delay(rounds=3).draw(Stream(1, Purpose.DELAY, 1), 0)
        3
        """
        if self.chance == 1.0:
            return self.rounds
        uniform = float(stream.uniforms(item, 1, 1)[0, 0])
        waited = math.floor(log(uniform) / log(1.0 - self.chance))
        return self.rounds + min(waited, LONGEST)


AT_ONCE = Delay()


@dataclass(frozen=True)
class Delays:
    """How late audits come, and how late labels: a panel may meet long before a loan is repaid.

    >>> parse_delay("audits:0,labels:200").text
    'audits:0,labels:200'
    """

    audits: Delay = AT_ONCE
    labels: Delay = AT_ONCE

    def __post_init__(self) -> None:
        for name in ("audits", "labels"):
            instance(f"delay of {name}", getattr(self, name), Delay, "Write Delay(3).")

    @property
    def text(self) -> str:
        """As :func:`parse_delay` reads it; one delay where both are alike."""
        if self.audits == self.labels:
            return self.audits.text
        return f"audits:{self.audits.text},labels:{self.labels.text}"

    @property
    def longest(self) -> int | None:
        """The most rounds that anything is late by; None where there is no such number."""
        late = (self.audits.longest, self.labels.longest)
        return None if None in late else max(one for one in late if one is not None)


PROMPT = Delays()
"""Everything at once."""


def parse_delay(text: str) -> Delays:
    """``50``, ``geometric:0.02``, or one of these each: ``audits:0,labels:200``.

    >>> parse_delay("50").labels, parse_delay("geometric:0.02").audits
    (Delay(rounds=50, chance=1.0), Delay(rounds=0, chance=0.02))
    """
    if not isinstance(text, str):
        raise ParameterError("delay", _RULE, text, _REMEDY)
    if "," not in text:
        both = _one_delay(text, text)
        return Delays(both, both)
    parts = dict(part.strip().partition(":")[::2] for part in text.split(","))
    if set(parts) != {"audits", "labels"} or text.count(",") != 1:
        raise ParameterError("delay", _RULE, text, _REMEDY)
    return Delays(_one_delay(parts["audits"], text), _one_delay(parts["labels"], text))


_RULE = "must be a number of rounds, geometric:P, or audits:…,labels:…"
_REMEDY = "Write 50, geometric:0.02 for 49 rounds in the mean, or audits:0,labels:200."


def _one_delay(text: str, whole: str) -> Delay:
    kind, _, value = text.partition(":")
    try:
        return Delay(chance=float(value)) if kind == "geometric" else Delay(rounds=int(text))
    except ParameterError:
        raise
    except ValueError:
        raise ParameterError("delay", _RULE, whole, _REMEDY) from None


class Inbox:
    """Feedback on its way to the learner. A round is closed when all of its own has come."""

    def __init__(self, seed: int, delays: Delays) -> None:
        self._seed, self._delays = seed, delays
        self._due: dict[int, list[Audited | Labelled]] = defaultdict(list)
        self._left: dict[str, int] = {}

    def add(self, t: int, round_id: str, audit: Audited, labels: Sequence[Labelled]) -> None:
        """Post what round t will be told; each letter travels on its own."""
        stream = Stream(self._seed, Purpose.DELAY, t)
        letters: list[Audited | Labelled] = [audit, *labels]
        self._left[round_id] = len(letters)
        for item, letter in enumerate(letters):
            delay = self._delays.labels if item else self._delays.audits
            self._due[t + delay.draw(stream, item)].append(letter)

    def due(self, t: int) -> Iterator[Audited | Labelled | Closed]:
        """The letters that arrive at the end of round t, in the order in which they were posted."""
        for letter in self._due.pop(t, []):
            yield letter
            self._left[letter.round] -= 1
            if not self._left[letter.round]:
                del self._left[letter.round]
                yield Closed(letter.round)
