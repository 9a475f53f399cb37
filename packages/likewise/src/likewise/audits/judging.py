"""Pairs to ask about, so that the responses tell most of the metrics; and a page that asks."""

from __future__ import annotations

import math
from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from importlib.resources import files

import numpy as np

from likewise.audits.elicitation import (
    CHAINS,
    COLUMNS,
    LIMITS,
    PRIOR,
    RESPONSES,
    Elicited,
    Fit,
    forms_of,
    log_sigma,
    some_pairs,
)  # fmt: skip
from likewise.errors import AuditError
from likewise.numerics.fixed_point import FloatArray, IntArray
from likewise.people.schema import People
from likewise.validation import integer

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
    left, right = some_pairs(len(people), CANDIDATES, rng)
    third = np.full(len(left), -1)
    if len(people) > 2:
        third[rng.random(len(left)) < 0.25] = 0
        third = np.where(third == 0, rng.integers(0, len(people), len(left)), -1)
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
    z = fit.form.differences(people, person, other) @ fit.draws[:, :-1].T
    farther = fit.form.differences(people, person, np.where(triplet, third, person))
    farther = farther @ fit.draws[:, :-1].T
    low, high = (limit**fit.form.power * t for limit in LIMITS)
    first = np.where(triplet[:, None], farther - z, z - low)
    second = np.where(triplet[:, None], -math.inf, z - high)
    chances = np.stack([np.exp(log_sigma(x)) for x in (first, second)], axis=1)
    apart = (chances - chances.mean(axis=2, keepdims=True)) / math.sqrt(len(t))
    return np.asarray(apart.reshape(len(candidates), -1))


def judging_page(people: People, asked: Sequence[tuple[str, ...]]) -> str:
    """A page that asks the questions, in any browser, and hands out the responses as a CSV file."""
    from likewise.audits.report import render  # which needs an optional library

    data = [{"ids": ids, "rows": _in_words(people, ids)} for ids in asked]
    script = files("likewise.audits").joinpath("templates/judge.js").read_text(encoding="utf-8")
    digest = b64encode(sha256(script.encode()).digest()).decode()  # the one script that may run
    return render(
        "judge.html", data=data, responses=RESPONSES, limits=LIMITS, columns=COLUMNS,
        script=script, digest=digest,
    )  # fmt: skip


def _in_words(people: People, ids: Sequence[str]) -> list[tuple[str, list[str]]]:
    """Features of two or three people in words; those of two differ wherever the values do."""
    places = [people.ids.index(name) for name in ids]
    if len(places) == 2:
        return [(title, list(both)) for title, both in people.say_apart(*places).items()]
    said = [people.say(place) for place in places]
    return [(title, [person[title] for person in said]) for title in said[0]]
