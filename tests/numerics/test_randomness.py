"""Noise is a function of seed, purpose, round and draw, with the right distribution."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from likewise.errors import ParameterError
from likewise.numerics.fixed_point import ONE
from likewise.numerics.randomness import Noise, Purpose, Stream, laplace, philox

# A statistical test here fails for a right program with about this probability: p-values are those
# of large samples.
FALSE_ALARM = 1e-6


@pytest.mark.parametrize(
    ("counter", "key", "answer"),
    [
        ([0] * 4, 0, "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        ([0xFFFFFFFF] * 4, 0xFFFFFFFFFFFFFFFF, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
        (
            [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
            0x299F31D0A4093822,
            "d16cfe09 94fdcceb 5001e420 24126ea1",
        ),
    ],
)
def test_the_generator_gives_its_authors_known_answers(
    counter: list[int], key: int, answer: str
) -> None:
    words = philox(np.array(counter, dtype=np.uint64)[:, None], key)[:, 0]
    assert " ".join(f"{int(word):08x}" for word in words) == answer


@pytest.mark.parametrize("seed", [0, 7, 1 << 32, (1 << 64) - 1])
def test_a_few_words_in_plain_integers_are_those_of_the_arrays(seed: int) -> None:
    """Also for draws beyond 2^32, where the arrays wrap around."""
    stream = Stream(seed, Purpose.LOTTERY, (1 << 32) - 1)
    for draw in (0, 1, 12345, (1 << 32) - 1, 1 << 32, 1 << 40):
        large = stream.words(draw, 1, 100)[0]
        for places in ([0], [99], [3, 4, 3], list(range(30))):
            assert stream.words_of(draw, places) == large[places].tolist()
            few = stream.words_at(draw, 1, np.array(places))[0]
            assert few.tolist() == large[places].tolist()


@pytest.mark.parametrize("count", [1, 2, 16, 17, 60])
def test_integers_below_their_limits_are_one_by_one_what_they_are_together(count: int) -> None:
    stream = Stream(11, Purpose.DECIDE, 3)
    limits = [(1 << 40) + i for i in range(count)]
    together = stream.numbers_below(limits, 9, np.arange(count))
    for i, number in enumerate(together):
        high, low = stream.words(9, 1, 2 * count)[0, 2 * i : 2 * i + 2].tolist()
        assert number == ((high << 32 | low) * limits[i]) >> 64


def test_any_block_of_draws_and_positions_can_be_made_alone() -> None:
    stream = Stream(123, Purpose.ELICIT, 9)
    full = stream.words(0, 20, 30)
    positions = np.array([29, 3, 4, 17])
    assert (stream.words_at(5, 7, positions) == full[5:12][:, positions]).all()


def pairs_of_words(stream: Stream) -> set[int]:
    """64-bit numbers, two words each: 50 draws of 20 numbers."""
    high, low = stream.words(0, 50, 40).astype(np.uint64).reshape(-1, 2).T
    return set(((high << np.uint64(32)) | low).tolist())


def test_other_seeds_purposes_and_rounds_share_no_number() -> None:
    """72 streams of 1,000 numbers of 64 bits: some two agree by chance once in 7·10^9 times."""
    streams = [
        Stream(seed, purpose, number)
        for seed in (0, 1, 2, 1 << 32, (1 << 32) + 1, (1 << 64) - 1)
        for purpose in (Purpose.ELICIT, Purpose.DECIDE, Purpose.EVALUATE)
        for number in (0, 1, 2, (1 << 32) - 1)
    ]
    actual: set[int] = set()
    for stream in streams:
        actual |= pairs_of_words(stream)
    assert len(actual) == 1000 * len(streams)


def test_laplace_variables_have_the_laplace_distribution() -> None:
    z = laplace(Stream(5, Purpose.PROBE, 1).words(0, 500, 400)).reshape(-1)
    assert stats.kstest(z, "laplace").pvalue > FALSE_ALARM


def test_repeated_noise_is_a_difference_of_gamma_variables() -> None:
    copies, draws = 3, 200_000
    noise = Noise(Stream(6, Purpose.PROBE, 2), scale=2.0, copies=copies)
    sample = noise.sample(0, draws, np.array([0]))[:, 0] / ONE / 2.0
    rng = np.random.default_rng(1)
    twin = rng.gamma(copies, size=draws) - rng.gamma(copies, size=draws)
    assert stats.ks_2samp(sample, twin).pvalue > FALSE_ALARM


def test_noise_on_two_points_is_independent() -> None:
    sample = Noise(Stream(7, Purpose.PROBE, 1), 1.0).sample(0, 100_000, np.array([0, 1]))
    assert stats.spearmanr(sample[:, 0], sample[:, 1]).pvalue > FALSE_ALARM


def test_numbers_below_a_limit_are_uniform() -> None:
    stream = Stream(8, Purpose.REPORT, 1)
    counts = np.bincount([stream.below(7, draw) for draw in range(7000)], minlength=7)
    assert stats.chisquare(counts).pvalue > FALSE_ALARM


@pytest.mark.parametrize("seed", [-1, 1 << 64])
def test_a_seed_out_of_range_is_refused(seed: int) -> None:
    with pytest.raises(ParameterError, match="seed must be an integer"):
        Stream(seed, Purpose.WORLD, 0)


@pytest.mark.parametrize("scale", [-1.0, math.inf, math.nan, 2.0**34])
def test_noise_that_would_overflow_is_refused(scale: float) -> None:
    with pytest.raises(ParameterError, match="noise scale"):
        Noise(Stream(1, Purpose.ELICIT, 1), scale)
