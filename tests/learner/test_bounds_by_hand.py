"""The bounds with scales for parts, of mixtures and with late feedback, beside their formulas.

Mutants that die here, each tried by hand: b·eta, 5·b, b·eta·(2·M_T − 1) or 2·b·beta left out of the
theorem that has it; the label's term of a mixture left out, in either form; a burst that late
feedback does not make wider; a mixture whose weights and scores are not rounded; + for − and max
for sum between these; delta/5 for delta/9; R for k people where all experts' scores count.
"""

from __future__ import annotations

from dataclasses import replace
from math import log, sqrt

import pytest

from likewise import Pool
from likewise.learner.attention import Share
from likewise.learner.bounds import Lateness, Theorems, bounds
from likewise.learner.players import ContextFTPL, Term
from tests.learner.formulas import (
    ETA,
    LABEL,
    M_DRAWN,
    M_KNOWN,
    NOISE_2,
    ROOT,
    SCHEDULE,
    UNIT,
    WEIGHTS_2,
    WIDE_2,
    T,
    check,
    draws,
    exact_constants,
    full,
    learner,
    mixture,
    noise,
    theorem_b,
    theorem_c,
    theorem_c_surely,
)


def test_a_scale_for_every_part_with_full_information() -> None:
    c, b = noise()
    check(
        bounds(learner("context-ftpl", scales="per-part"), T),
        theorem_b(full(c, b), c, b, M_DRAWN),
    )
    c, b = exact_constants()
    check(
        bounds(learner("exponential-weights", scales="per-part"), T),
        theorem_b(full(c, b), c, b, M_KNOWN),
    )


def test_the_prior_from_coarse_to_fine_costs_ln_324() -> None:
    """Half on the constants, half of the rest on one rule for all, then 3^4: 2·2·81 = 324.

    One temperature, so no burst; five nodes of 2 + 2 weights, and one of how to split.
    """
    c = 0.25 / 0.5 + log(324) * 0.5 + 25 * 2**-40 * ROOT
    check(bounds(learner("exponential-weights"), T), theorem_b(full(c, 0), c, 0, M_KNOWN))


def test_a_mixture_with_full_information() -> None:
    """Of three experts' scores: eta·sqrt(2·T·ln(5/delta)/R) more."""
    c, b = mixture()
    off = ETA * sqrt(2 * T * log(5 / 0.05) / draws(3))
    check(bounds(learner("nested-ftpl"), T), theorem_b(full(c, b) + off, c, b, M_DRAWN))


def test_a_mixture_on_a_class_without_cells() -> None:
    """s = 2, A = 1 and one class: its noise is x/3·sqrt(s/A), and weights cost ln 2."""
    x = 0.5 / 3 * sqrt(2)
    c = 2 / x + x + 2 / (LABEL * x) + 0.25 / 0.25 + 0.25 * log(2)
    c += (2 * 2**-31 + 2**-20 + 2 * 2**-40) * ROOT
    off = ETA * sqrt(2 * T * log(5 / 0.05) / draws(2))
    pool = Pool.from_table([[0, 0], [0, 1], [1, 0], [1, 1]])
    actual = bounds(replace(learner("nested-ftpl"), hypotheses=pool), T)
    check(actual, theorem_b(full(c, 0) + off, c, 0, M_DRAWN))


def test_a_mixture_with_one_sided_labels() -> None:
    """On average its estimates are right; with high probability they count (2·M_T − 1)·eta."""
    c, b = mixture()
    off = ETA * 201 * sqrt(2 * T * log(9 / 0.05) / draws(3))
    check(
        bounds(learner("nested-ftpl", feedback="one-sided"), T),
        theorem_b(theorem_c(c, b), c, b, M_DRAWN, failing=0.05),
        theorem_b(theorem_c_surely(c, b) + off, c, b, M_DRAWN),
    )


def test_a_scale_for_every_part_with_one_sided_labels() -> None:
    c, b = noise()
    check(
        bounds(learner("context-ftpl", scales="per-part", feedback="one-sided"), T),
        theorem_b(theorem_c(c, b), c, b, M_DRAWN, failing=0.05),
        theorem_b(theorem_c_surely(c, b), c, b, M_DRAWN),
    )
    # C′: stability 1/2; J is cut off and rounded, (2·eta + k) units a round
    c, b = exact_constants(stability=0.5)
    labels = ETA * (c * sqrt(20 * T) + 5 * b) + (2 * ETA + 3) * UNIT * T
    check(
        bounds(learner("exponential-weights", scales="per-part", feedback="one-sided"), T),
        theorem_b(labels, c, b, M_KNOWN),
    )


@pytest.mark.parametrize("feedback", ["full", "one-sided"])
def test_late_feedback_makes_bursts_wider_too(feedback: str) -> None:
    one_sided, failing = feedback == "one-sided", 0.05 if feedback == "one-sided" else 0.0
    c, b = noise(NOISE_2, WIDE_2)
    labels = theorem_c(c, b) if one_sided else full(c, b)
    late = bounds(learner("context-ftpl", scales="per-part", feedback=feedback), T, delay=2)
    check(late, theorem_b(labels, c, b, M_DRAWN, d=2, failing=failing))
    c, b = mixture(NOISE_2, WEIGHTS_2, WIDE_2)
    off = ETA * sqrt(2 * T * log(5 / 0.05) / draws(3))
    labels = theorem_c(c, b) if one_sided else full(c, b) + off
    late = bounds(learner("nested-ftpl", feedback=feedback), T, delay=2)
    check(late, theorem_b(labels, c, b, M_DRAWN, d=2, failing=failing))


def test_late_feedback_with_known_policies_in_one_piece_and_uncounted() -> None:
    """In one piece sqrt(3) less of the stability; uncounted, the gain is sqrt(3) times as large."""
    c, b = exact_constants(WEIGHTS_2 / sqrt(3), WIDE_2)
    instance = learner("exponential-weights", scales="per-part")
    check(bounds(instance, T, delay=2, pieces=1), theorem_b(full(c, b), c, b, M_KNOWN, d=2))
    assert bounds(instance, T, delay=2, pieces=10) == bounds(instance, T, delay=2)
    c, b = exact_constants(WEIGHTS_2, sqrt(3))
    instance = replace(instance, schedule=replace(SCHEDULE, outstanding=0.0, waiting=0.0))
    check(bounds(instance, T, delay=2), theorem_b(full(c, b), c, b, M_KNOWN, d=2))


def test_a_quarter_audited() -> None:
    """2·b·beta·sqrt(p·T + 1)/p², and a bad estimate, 4·beta·delta/p, is paid for."""
    c, b = mixture()
    off = ETA * sqrt(2 * T * log(5 / 0.05) / draws(3))
    check(
        bounds(learner("nested-ftpl", attention=Share(0.25)), T),
        theorem_b(full(c, b) + off, c, b, M_DRAWN, failing=0.05, p=0.25),
    )
    check(
        bounds(learner("nested-ftpl", attention=Share(0.25), feedback="one-sided"), T),
        theorem_b(theorem_c(c, b), c, b, M_DRAWN, failing=0.05, p=0.25),
    )


def test_bursts_of_several_terms_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two terms with two and with three parts: b = 2·0.7·0.5 + 3·0.3·0.5, C likewise."""
    terms = (Term(1.0, (0.7,) * 2, 0.5), Term(1.0, (0.3,) * 3, 0.5))
    monkeypatch.setattr(ContextFTPL, "terms", lambda *_, **__: terms)
    c = sqrt(2) * (2 + 0.35) + sqrt(3) * (2 + 0.15) + 8 / (LABEL * 0.5) + 8 * 2**-31 * ROOT
    b = 2 * 0.7 * 0.5 + 3 * 0.3 * 0.5
    check(bounds(learner("context-ftpl"), T), theorem_b(full(c, b), c, b, M_DRAWN))


def test_bounds_say_which_theorem_they_are_and_in_which_sense_they_hold() -> None:
    one_sided = bounds(learner("nested-ftpl", feedback="one-sided"), T)
    share = bounds(learner("nested-ftpl", attention=Share(0.25)), T)
    message = [
        (actual.source.split(", ")[0], actual.holds.split(", ")[0])
        for actual in (*bounds(learner("nested-ftpl"), T), *one_sided, *share)
    ]
    assert message == [
        ("Theorem B", f"with probability 0.95 after {T:,} rounds"),
        ("Theorem C", "in expectation"),
        ("Theorem C", f"with probability 0.95 after {T:,} rounds"),
        ("Theorem B and D", "in expectation"),
    ]


def test_a_share_costs_a_known_policy_no_bad_estimate() -> None:
    c, b = exact_constants()
    instance = learner("exponential-weights", scales="per-part", attention=Share(0.25))
    check(bounds(instance, T), theorem_b(full(c, b), c, b, M_KNOWN, p=0.25))


def test_a_panel_that_is_not_asked_everything_has_a_round_more() -> None:
    """Theorem F: sqrt(T + 1) for sqrt(T) beside 4·C²/c, c·beta² and 2·b·beta; T = 3."""
    asked, part = (
        bounds(learner("exponential-weights", scales="per-part", attention=name), 3)[0].regret
        for name in ("possible", "model:0.1")
    )
    instance = learner("exponential-weights", scales="per-part")
    price, beta = Theorems(instance, Lateness(), 3), instance.margins.beta
    c = M_KNOWN / beta
    steady = 4 * price.constant**2 / c + c * beta * beta + 2 * price.burst * beta
    assert part - asked == pytest.approx(3 / ETA * steady * (2 - sqrt(3)), rel=1e-3)
