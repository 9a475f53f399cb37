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

# No game is long enough to see a geometric delay beyond this.
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
        """The delay in words; :func:`parse_delay` reads those of the command line."""
        if self.chance == 1.0:
            return str(self.rounds)
        return f"geometric:{self.chance!r}" + f" after {self.rounds}" * bool(self.rounds)

    @property
    def longest(self) -> int | None:
        """The most rounds that anything is late by; None where there is no such number."""
        return self.rounds if self.chance == 1.0 else None

    def draw(self, stream: Stream, item: int) -> int:
        """Draw the number of rounds by which an item is late.

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
        """The delays as :func:`parse_delay` reads them; one of them where both are alike."""
        if self.audits == self.labels:
            return self.audits.text
        return f"audits:{self.audits.text},labels:{self.labels.text}"

    @property
    def longest(self) -> int | None:
        """The most rounds that anything is late by; None where there is no such number."""
        audits, labels = self.audits.longest, self.labels.longest
        return None if audits is None or labels is None else max(audits, labels)


_RULE = "must be a number of rounds, geometric:P, or audits:…,labels:…"
_REMEDY = "Write 50, geometric:0.02 for 49 rounds in the mean, or audits:0,labels:200."


def parse_delay(text: str) -> Delays:
    """Parse ``50``, ``geometric:0.02``, or a pair of these: ``audits:0,labels:200``.

    >>> parse_delay("50").labels, parse_delay("geometric:0.02").audits
    (Delay(rounds=50, chance=1.0), Delay(rounds=0, chance=0.02))
    """
    if not isinstance(text, str):
        raise ParameterError("delay", _RULE, text, _REMEDY)
    parts = {"audits": text, "labels": text}
    if "," in text:
        parts = dict(part.strip().partition(":")[::2] for part in text.split(","))
    if set(parts) != {"audits", "labels"} or text.count(",") > 1:
        raise ParameterError("delay", _RULE, text, _REMEDY)
    try:
        return Delays(**{name: _parse_part(part) for name, part in parts.items()})
    except ParameterError:
        raise
    except ValueError:
        raise ParameterError("delay", _RULE, text, _REMEDY) from None


def _parse_part(text: str) -> Delay:
    kind, _, value = text.partition(":")
    return Delay(chance=float(value)) if kind == "geometric" else Delay(rounds=int(text))


class Inbox:
    """Feedback on its way to the learner. A round closes when all of its feedback has come."""

    def __init__(self, seed: int, delays: Delays) -> None:
        self._seed, self._delays = seed, delays
        self._due: dict[int, list[Audited | Labelled]] = defaultdict(list)
        self._outstanding: dict[str, int] = {}

    def add(self, t: int, round_id: str, audit: Audited, labels: Sequence[Labelled]) -> None:
        """Schedule the feedback of round t; each event has a delay of its own."""
        stream = Stream(self._seed, Purpose.DELAY, t)
        events: list[Audited | Labelled] = [audit, *labels]
        self._outstanding[round_id] = len(events)
        for item, event in enumerate(events):
            delay = self._delays.labels if item else self._delays.audits
            self._due[t + delay.draw(stream, item)].append(event)

    def due(self, t: int) -> Iterator[Audited | Labelled | Closed]:
        """Yield the events that arrive at the end of round t, in the order of their rounds."""
        for event in self._due.pop(t, []):
            yield event
            self._outstanding[event.round] -= 1
            if not self._outstanding[event.round]:
                del self._outstanding[event.round]
                yield Closed(event.round)
