"""When feedback comes: at once, some rounds later, or who knows when."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from likewise.errors import ParameterError
from likewise.events import Closed, Event
from likewise.portable_math import log
from likewise.randomness import Purpose, Stream
from likewise.validation import integer, real

__all__ = ["AT_ONCE", "Delay", "Inbox", "parse_delay"]

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


def parse_delay(text: str) -> Delay:
    """``50``, or ``geometric:0.02``.

    >>> parse_delay("50"), parse_delay("geometric:0.02")
    (Delay(rounds=50, chance=1.0), Delay(rounds=0, chance=0.02))
    """
    if not isinstance(text, str):
        raise ParameterError(
            "delay", "must be text: a number of rounds or geometric:P", text, "Write '50'."
        )
    kind, _, value = text.partition(":")
    try:
        return Delay(chance=float(value)) if kind == "geometric" else Delay(rounds=int(text))
    except ParameterError:
        raise
    except ValueError:
        raise ParameterError(
            "delay", "must be a number of rounds or geometric:P", text,
            "Write 50, or geometric:0.02 for 49 rounds in the mean.",
        ) from None  # fmt: skip


class Inbox:
    """Feedback on its way to the learner. A round is closed when all of its own has come."""

    def __init__(self, delay: Delay = AT_ONCE) -> None:
        self._delay = delay
        self._due: dict[int, list[Event]] = defaultdict(list)
        self._left: dict[str, int] = {}

    def add(self, seed: int, t: int, round_id: str, audit: Event, labels: Sequence[Event]) -> None:
        """Post all feedback on round t; each piece travels on its own."""
        stream = Stream(seed, Purpose.DELAY, t)
        letters = [audit, *labels]
        self._left[round_id] = len(letters)
        for item, letter in enumerate(letters):
            self._due[t + self._delay.draw(stream, item)].append(letter)

    def due(self, t: int) -> Iterator[Event]:
        """The events that arrive at the end of round t, in the order in which it was posted."""
        for letter in self._due.pop(t, []):
            yield letter
            self._left[letter.round] -= 1
            if not self._left[letter.round]:
                del self._left[letter.round]
                yield Closed(letter.round)
