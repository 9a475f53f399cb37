"""The three comparators of a scenario, for tables and figures, and the kappa of the middle one.

The best fixed policies at alpha − eps and at alpha are the same for everybody who faced the same
rounds. That at alpha − kappa is one for each kappa, which is a setting of ours.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from likewise.experiments.sweep.points import Point
from likewise.experiments.sweep.titles import setting_title
from likewise.learning.schedules.self_tuned import KAPPA_SHARE

MOST = 3  # more of them in one place are not read


@dataclass(frozen=True)
class Kappas:
    """The kappas whose comparators are shown, from small to large, in words.

    ``between`` says that there are others, of which these are the smallest and the largest.
    """

    words: tuple[str, ...]
    between: bool = False

    @property
    def text(self) -> str:
        """All of them in one phrase.

        >>> Kappas(("kappa = eps/4", "kappa = eps/2")).text
        'kappa = eps/4 and eps/2'
        >>> Kappas(("kappa = eps/4", "kappa = eps/2"), between=True).text
        'kappa from eps/4 to eps/2'
        """
        first, *rest = self.words
        if self.between:
            return f"{first.replace(' =', ' from', 1)} to {rest[0].removeprefix('kappa = ')}"
        return _listed([first, *(word.removeprefix("kappa = ") for word in rest)])

    def values(self, numbers: Sequence[str]) -> str:
        """A number for each of them, in words."""
        return " to ".join(numbers) if self.between else _listed(numbers)


@dataclass(frozen=True)
class Fixed:
    """The error rates of the best fixed policies in hindsight, that at alpha − kappa by kappa.

    ``faced_by`` is the learner whose rounds they are of, where the world reacts to each.
    """

    at_alpha_less_eps: float
    at_alpha_less_kappa: Mapping[str, float]
    at_alpha: float
    faced_by: str | None

    def rates(self, kappas: Kappas) -> tuple[str, str, str]:
        """The three as tables have them."""
        middle_rates = [self.at_alpha_less_kappa.get(word) for word in kappas.words]
        middle = kappas.values(["–" if rate is None else f"{rate:.3f}" for rate in middle_rates])
        return f"{self.at_alpha_less_eps:.3f}", middle, f"{self.at_alpha:.3f}"


def kappas_of(points: Sequence[Point]) -> Kappas:
    """The kappas of our learners there; that of the first learner where none is ours."""
    playing = [point for point in points if point.plays]
    sizes: dict[str, float] = {}
    for point in playing:
        if point.ours:
            sizes.setdefault(*_kappa(point))
    if not sizes:
        return Kappas(tuple(f"kappa of {point.title}" for point in playing[:1]) or ("kappa",))
    words = sorted(sizes, key=lambda word: sizes[word])
    if len(words) > MOST:
        return Kappas((words[0], words[-1]), between=True)
    return Kappas(tuple(words))


def fixed_of(together: Sequence[Point], kappas: Kappas) -> Fixed | None:
    """The comparators of one scenario; None where they were not asked for.

    Where each learner faced rounds of its own, all are those of the first of ours.
    """
    playing = [point for point in together if point.plays]
    if not playing:
        return None
    first = next((point for point in playing if point.ours), playing[0])
    outer = (first.mean_of("at_alpha_less_eps"), first.mean_of("at_alpha"))
    if any(map(math.isnan, outer)):
        return None
    reacts = any(abs(point.mean_of("at_alpha") - outer[1]) > 1e-9 for point in playing)
    middle: dict[str, float] = {}
    for point in [first] if reacts else [first, *playing]:
        word = _kappa(point)[0] if point.ours else f"kappa of {point.title}"
        if word in kappas.words:
            middle.setdefault(word, point.mean_of("at_alpha_less_kappa"))
    ordered = {word: middle[word] for word in kappas.words if word in middle}
    return Fixed(outer[0], ordered, outer[1], first.title if reacts else None)


def fixed_words(together: Sequence[Point]) -> str:
    """The three comparators of a scenario in words, to follow its title; none if unknown."""
    kappas = kappas_of(together)
    fixed = fixed_of(together, kappas)
    if fixed is None:
        return ""
    first, middle, last = fixed.rates(kappas)
    faced = "" if fixed.faced_by is None else f", for the rounds that {fixed.faced_by} faced"
    return (
        f"; best fixed policies in hindsight{faced}: {first} at alpha − eps; {middle} at alpha − "
        f"kappa ({kappas.text}); {last} at alpha"
    )


def _kappa(point: Point) -> tuple[str, float]:
    """The kappa of one of our learners in words, and as a number."""
    kappa = point.setting("kappa")
    if kappa is not None:
        return setting_title("kappa", kappa), float(kappa)
    share = point.setting("kappa_share")
    share = KAPPA_SHARE if share is None else share
    return setting_title("kappa_share", share), share * point.game.eps_or_alpha


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
