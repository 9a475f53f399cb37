"""The pieces of the predecessors against their definitions, and each in a game."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from likewise.errors import LikewiseError, ParameterError
from likewise.hypotheses import Pool
from likewise.learner.events import Audited, Labelled
from likewise.numerics.fixed_point import ONE
from likewise.simulate import Delay, Loans
from likewise.simulate.game import Game
from likewise.simulate.rounds import play, start
from studies.baselines.gillen import Ellipsoid, Linear, fair_choice, gillen, squared_features
from studies.baselines.learnt_metric import (
    LearntMetric,
    fair_for_metric,
    features_of,
    learnt_metric,
)
from studies.baselines.predecessors import (
    LARGEST_EXPONENT,
    Copies,
    PerturbedPredecessor,
    Predecessor,
    SinhaVaze,
    bechavod_jung_wu,
    bechavod_roth,
    exp2,
    fixed_trade_off,
    power_of,
    sinha_vaze,
)

PEOPLE = 3
FUNCTIONS = list(itertools.product((0, 1), repeat=PEOPLE))


def loss(h: tuple[int, ...], place: int, label: int) -> float:
    """Misclassification of one labelled person."""
    return float(h[place] != label)


@pytest.mark.parametrize("report", [(0, 1), (2, 0)])
@pytest.mark.parametrize("count", [1, 4])
def test_with_full_information_costs_are_the_losses_of_the_copies(
    report: tuple[int, int], count: int
) -> None:
    """For every h: C copies of (x_l, 0) and (x_r, 1), and the labels, up to one constant."""
    copies, labels = Copies(count, one_sided=False), (1, 0, 1)
    over, under = report
    costs = [float(copies.label(y, ONE)) for y in labels]
    costs[over] += copies.report(0, True, ONE)
    costs[under] += copies.report(1, False, ONE)
    by_definition = [
        sum(loss(h, i, y) for i, y in enumerate(labels))
        + count * (loss(h, over, 0) + loss(h, under, 1))
        for h in FUNCTIONS
    ]
    by_costs = [sum(c * h[i] for i, c in enumerate(costs)) / ONE for h in FUNCTIONS]
    apart = np.array(by_definition) - np.array(by_costs)
    assert np.ptp(apart) < 1e-12


@pytest.mark.parametrize("approved", list(itertools.product((False, True), repeat=PEOPLE)))
def test_with_one_sided_labels_costs_are_the_estimated_losses_of_the_copies(
    approved: tuple[bool, ...],
) -> None:
    """Actions (h, 1 − h), losses (1 − y, ½), each estimated by its weight where it was taken."""
    count, (over, under), labels, weights = 3, (1, 2), (0, 1, 1), (2, 5, 3)
    copies = Copies(count, one_sided=True)
    costs = [
        float(copies.label(y, w * ONE) if yes else copies.rejected(w * ONE))
        for y, w, yes in zip(labels, weights, approved, strict=True)
    ]
    costs[over] += copies.report(0, approved[over], weights[over] * ONE)
    costs[under] += copies.report(1, approved[under], weights[under] * ONE)

    def estimated(h: tuple[int, ...], place: int, label: int) -> float:
        approving = (1 - label) * weights[place] * approved[place]
        rejecting = 0.5 * weights[place] * (not approved[place])
        return h[place] * approving + (1 - h[place]) * rejecting

    by_definition = [
        sum(estimated(h, i, y) for i, y in enumerate(labels))
        + count * (estimated(h, over, 0) + estimated(h, under, 1))
        for h in FUNCTIONS
    ]
    by_costs = [sum(c * h[i] for i, c in enumerate(costs)) / ONE for h in FUNCTIONS]
    assert np.ptp(np.array(by_definition) - np.array(by_costs)) < 1e-12


@pytest.mark.parametrize("rounds", [1, 7, 512, 1000, 10_000])
@pytest.mark.parametrize("power", [(2, 9), (4, 45), (1, 3), (38, 45), (1, 5)])
def test_powers_of_the_horizon_are_rounded_up(rounds: int, power: tuple[int, int]) -> None:
    found = power_of(rounds, *power)
    wanted = rounds ** (power[0] / power[1])
    assert wanted - 1e-9 <= found < wanted + 1 + 1e-9


def test_the_redraws_estimate_one_over_the_chance() -> None:
    """E[J·1[ŷ = 1]] = 1 − (1 − q)^M: of 3,000 rounds of noise alone, within five deviations."""
    world = Loans(1)
    made = bechavod_roth(world.hypotheses(), 8, 0.3, 0.3, 5, rounds=30)
    assert isinstance(made, PerturbedPredecessor)
    driver = made.fresh()
    people = world.encounter(1).people
    total, count = 0.0, 0
    for _ in range(300):
        driver.deploy(people, "panel")
        both = zip(driver.weights, driver.approved, strict=True)
        total += sum(weight / ONE for weight, yes in both if yes)
        count += len(people)
        driver.costs = driver.hypotheses.no_costs()
    q, m = 0.5, power_of(30, 1, 3)
    assert total / count == pytest.approx(1 - (1 - q) ** m, abs=0.12)


LEARNERS = [
    ("bechavod-jung-wu", "full"),
    ("fixed-trade-off", "full"),
    ("sinha-vaze", "full"),
    ("learnt-metric", "full"),
    ("bechavod-roth", "one-sided"),
    ("exp2", "one-sided"),
]


@pytest.mark.parametrize(("name", "feedback"), LEARNERS)
def test_each_plays_the_same_game_twice_and_counts_its_calls(name: str, feedback: str) -> None:
    world = Loans(4)
    game = Game("loans", name, 40, 3, feedback=feedback)
    made = game.make_learner(world.hypotheses(), 8)
    assert isinstance(made, Predecessor)
    one, two = (play(world, made, 40) for _ in range(2))
    assert one.error.tolist() == two.error.tolist()
    assert one.calls[-1] == pytest.approx(40 * made.calls_a_round(40))
    assert one.lam[0] == start(made).lam
    with pytest.raises(LikewiseError, match="is no fold over events"):
        _ = one.state


@pytest.mark.parametrize(("name", "feedback"), LEARNERS)
def test_each_is_refused_where_it_is_not_defined(name: str, feedback: str) -> None:
    world = Loans(4)
    other = {"full": "one-sided", "one-sided": "full"}[feedback]
    with pytest.raises(ParameterError, match=f"feedback must be {feedback} for the learner {name}"):
        Game("loans", name, 40, 3, feedback=other).make_learner(world.hypotheses(), 8)
    with pytest.raises(ParameterError, match="attention must be left out"):
        Game("loans", name, 40, 3, feedback=feedback, attention="share:0.5").prepare()
    made = Game("loans", name, 40, 3, feedback=feedback).make_learner(world.hypotheses(), 8)
    with pytest.raises(ParameterError, match="delay must be 0"):
        play(world, made, 40, delay=Delay(3))


def test_constants_that_make_no_sense_are_refused() -> None:
    pool = Pool.from_table([[0, 0], [0, 1], [1, 1]])
    with pytest.raises(ParameterError, match="rounds must be given for bechavod-jung-wu"):
        bechavod_jung_wu(pool, 2, 0.3, 0.3, 1)
    for divisor in (0.0, -1.0, float("nan")):
        with pytest.raises(ParameterError, match="noise_divisor must be"):
            bechavod_jung_wu(pool, 2, 0.3, 0.3, 1, rounds=10, noise_divisor=divisor)
        with pytest.raises(ParameterError, match="noise_divisor must be"):
            exp2(pool, 2, 0.3, 0.3, 1, rounds=10, noise_divisor=divisor)
    with pytest.raises(ParameterError, match="lam must be in"):
        fixed_trade_off(pool, 2, 0.3, 0.3, 1, lam=-1.0)
    with pytest.raises(ParameterError, match="rounds must be given for sinha-vaze"):
        sinha_vaze(pool, 2, 0.3, 0.3, 1)
    with pytest.raises(ParameterError, match="beta must be in"):
        sinha_vaze(pool, 2, 0.3, 0.3, 1, rounds=10, beta=1.5)
    with pytest.raises(ParameterError, match="caution must be in"):
        learnt_metric(pool, 2, 0.3, 0.3, 1, caution=0.0)
    with pytest.raises(ParameterError, match="columns must be some of"):
        learnt_metric(pool, 2, 0.3, 0.3, 1, columns="income")
    with pytest.raises(LikewiseError, match="gillen is defined in the world linear alone"):
        gillen(pool, 2, 0.3, 0.3, 1, rounds=10)


def test_a_learner_with_less_noise_learns() -> None:
    world = Loans(4)
    errors = {}
    for divisor in (1.0, 10.0):
        made = bechavod_jung_wu(
            world.hypotheses(), 8, 0.3, 0.3, 3, rounds=150, noise_divisor=divisor
        )
        played = play(world, made, 150)
        errors[divisor] = played.error.sum() / played.people.sum()
    assert errors[10.0] < errors[1.0] - 0.02


def distances(shell: Ellipsoid, points: Any) -> Any:
    """(w − centre)ᵀ shape⁻¹ (w − centre) of every point."""
    apart = points - shell.centre
    return np.einsum("ij,ij->i", apart, np.linalg.solve(shell.shape, apart.T).T)


def test_a_cut_keeps_everything_on_its_side_and_loses_volume() -> None:
    rng = np.random.default_rng(2)
    shell, volume = Ellipsoid.ball(3, 2.0), []
    inside = rng.normal(size=(4000, 3))
    inside = inside[(inside**2).sum(axis=1) <= 4]
    for _ in range(12):
        features = rng.normal(size=3)
        smaller = bool(rng.integers(2))
        before, guess = shell, shell.guess(features)
        shell = shell.cut(features, smaller=smaller)
        side = (inside @ features <= guess) == smaller
        inside = inside[side & (distances(before, inside) <= 1 + 1e-9)]
        assert (distances(shell, inside) <= 1 + 1e-6).all()
        volume.append(np.linalg.det(shell.shape) / np.linalg.det(before.shape))
    assert max(volume) < np.exp(-2 / (2 * (3 + 1)) + 1e-9)


def test_the_program_is_solved_as_by_hand() -> None:
    """Against the best of a grid, for three people and distances at random."""
    rng = np.random.default_rng(3)
    grid = np.array(list(itertools.product(np.linspace(0, 1, 21), repeat=3)))
    for _ in range(10):
        rewards = rng.normal(size=3)
        d = np.abs(rng.normal(size=(3, 3))) * 0.4
        d = np.triu(d, 1) + np.triu(d, 1).T
        found = fair_choice(rewards, d)
        assert (np.abs(found[:, None] - found) <= d + 1e-9 + np.eye(3)).all()
        fits = (np.abs(grid[:, :, None] - grid[:, None, :]) <= d + np.eye(3) + 1e-12).all((1, 2))
        assert found @ rewards >= (grid[fits] @ rewards).max() - 1e-9


def test_squared_distances_are_linear_in_their_features() -> None:
    rng = np.random.default_rng(4)
    a = rng.normal(size=(2, 2))
    gram = a.T @ a
    entries = np.array([gram[0, 0], gram[0, 1], gram[1, 1]])
    for _ in range(5):
        apart = rng.normal(size=2)
        assert entries @ squared_features(apart) == pytest.approx(((a @ apart) ** 2).sum())


def test_gillen_learns_the_auditors_distances_and_the_rewards() -> None:
    """Its named pairs become closer to their distance, and it errs less than a coin."""
    world = Linear(3)
    made = gillen(world.hypotheses(), 4, 0.3, 0.3, 3, rounds=300, width_divisor=10.0)
    played = play(world, made, 300, keep=lambda _: True)
    over = []
    for moment in played.moments:
        gaps = np.abs(moment.policy[:, None] - moment.policy)
        gaps -= moment.encounter.pivots.distance
        np.fill_diagonal(gaps, 0)
        over.append(max(0, int(gaps.max())) / ONE)
    assert np.mean(over[200:]) < 0.5 * np.mean(over[:50])
    assert played.error[100:].sum() / played.people[100:].sum() < 0.45


def experts(rounds: int, **settings: float) -> SinhaVaze:
    """Sinha and Vaze's algorithm over all functions of three people."""
    pool = Pool.from_table(FUNCTIONS)
    made = sinha_vaze(pool, PEOPLE, 0.3, 0.3, 1, rounds=rounds, **settings)
    assert isinstance(made, SinhaVaze)
    return made.fresh()


def test_sinha_vaze_charges_the_surrogate_loss_for_every_hypothesis() -> None:
    """f_t + Φ′(Q_t)·g_t, up to one constant, with Q_t the violation of the report itself."""
    made = experts(100, beta=1.0, steepness=20.0)
    people = made.hypotheses.schema.people(np.array(FUNCTIONS).T.tolist())
    ids, labels = people.ids, (1, 0, 0)
    made.deploy(people, "panel")
    # Weights that are not flat yet have no gap; this is as if they had one.
    made.scores[:] = [int(0.9 * ONE), int(0.2 * ONE), int(0.5 * ONE)]
    made.hear(Audited("r1", "report", ((ids[0], ids[1]),)))
    for name, label in zip(ids, labels, strict=True):
        made.hear(Labelled("r1", name, label))
    growth = 20.0 / math.log(len(FUNCTIONS))
    assert made.excess == pytest.approx(0.4, abs=1e-5)
    assert made.lam == pytest.approx(growth * math.exp(growth * made.excess))
    by_definition = [
        sum(loss(h, i, y) for i, y in enumerate(labels)) / PEOPLE + made.lam * (h[0] - h[1])
        for h in FUNCTIONS
    ]
    assert np.ptp(np.array(by_definition) - made.costs / ONE) < 1e-4


def test_sinha_vaze_has_its_own_constants_and_hears_nothing_in_quiet_rounds() -> None:
    for beta, rounds in ((0.0, 50), (0.5, 400), (1.0, 400)):
        driver = experts(rounds, beta=beta)
        wanted = rounds ** (beta - 1) / math.log(len(FUNCTIONS))
        assert driver.growth == pytest.approx(wanted, rel=0.05)
    people = driver.hypotheses.schema.people(np.array(FUNCTIONS).T.tolist())
    driver.deploy(people, "panel")
    driver.hear(Audited("r1", "quiet", ()))
    assert driver.excess == 0
    assert not driver.costs.any()
    driver.excess = 1e9
    assert driver.lam == pytest.approx(driver.growth * math.exp(LARGEST_EXPONENT))


def test_sinha_vaze_never_lowers_its_price() -> None:
    world = Loans(4)
    made = sinha_vaze(
        world.hypotheses(), 8, 0.3, 0.3, 3, rounds=150, beta=1.0, steepness=30.0, noise_divisor=2.0
    )
    played = play(world, made, 150)
    assert (np.diff(played.lam) >= 0).all()
    assert played.reported.any()
    assert (played.violation == played.reported).all()


def test_a_learnt_metric_moves_as_the_audit_says_and_is_obeyed() -> None:
    world = Loans(4)
    made = learnt_metric(world.hypotheses(), 8, 0.3, 0.3, 3, margin_share=0.5)
    assert isinstance(made, LearntMetric)
    for t in range(1, 40):
        people = world.encounter(t).people
        before = made.distances(people)
        scores = made.deploy(people, "panel").scores / ONE
        gaps = scores[:, None] - scores
        assert (gaps <= before + 0.15 + np.eye(8) + 1e-5).all()
        over, under = np.unravel_index(int(gaps.argmax()), gaps.shape)
        far = gaps[over, under] > made.sensitivity / ONE
        report = t % 2 == 0 and far
        pair = (people.ids[over], people.ids[under])
        made.hear(Audited(f"r{t}", "report" if report else "quiet", (pair,) if report else ()))
        after = made.distances(people)
        if report:
            assert after[over, under] <= before[over, under] + 1e-9
        elif far:
            assert after[over, under] >= before[over, under] - 1e-9
        assert np.linalg.eigvalsh(made.matrix).min() > -1e-9


def test_a_metric_is_learnt_from_reports_alone() -> None:
    """Before an auditor with a Mahalanobis distance, it is nearer to that than at the start."""
    world = Linear(3)
    made = learnt_metric(world.hypotheses(), 4, 0.1, 0.1, 3, caution=10.0)
    played = play(world, made, 600)
    assert played.violation[:100].sum() > 2 * played.violation[500:].sum()
    assert played.error[100:].sum() / played.people[100:].sum() < 0.4


def test_features_of_people_are_between_0_and_1() -> None:
    people = Loans(4).encounter(1).people
    features = features_of(people.schema, people.x)
    assert features.shape == (8, 6 + 2 + 5 + 5)
    assert features.min() >= 0
    assert features.max() <= 1
    assert (features[:, 6:8].sum(axis=1) == 1).all()
    assert (features_of(people.schema, people.x, ("employment",)) == features[:, 6:8]).all()


@pytest.mark.parametrize("k", [1, 2, 5, 9])
def test_a_fair_choice_for_a_metric_is_that_of_the_solver(k: int) -> None:
    rng = np.random.default_rng(k)
    for scale, slack in itertools.product((0.0, 0.4, 1.0), (0.0, 0.3)):
        x, rewards = rng.random((k, 3)), rng.normal(size=k)
        most = scale * np.sqrt(((x[:, None] - x) ** 2).sum(axis=2)) + slack
        p = fair_for_metric(rewards, most)
        assert (p[:, None] - p <= most + np.eye(k) + 1e-9).all()
        assert rewards @ p == pytest.approx(rewards @ fair_choice(rewards, most))
