"""Metric elicitation: weights that were there are found again, with an honest uncertainty."""

from __future__ import annotations

import tomllib
from pathlib import Path

import numpy as np
import pytest

from likewise import Feature, FeatureSchema, People
from likewise.audits import Judgement, elicit, judging_page, questions, read_judgements
from likewise.audits.elicitation import LIMITS, RESPONSES, _fit, forms_of
from likewise.errors import AuditError, LikewiseError, ParameterError
from likewise.panel import Mahalanobis, Masked, MetricAuditor, Panel, Ratings, WeightedL1
from studies.elicitation import SITTING, Case, f1, judgements, loans, reported

SCHEMA = FeatureSchema((
    Feature("income", low=0, high=100),
    Feature("debt", low=0, high=50),
    Feature("purpose", "category", levels=("car", "home", "boat")),
    Feature("secret", low=0, high=1, visible=False),
))  # fmt: skip


@pytest.fixture(scope="module")
def people() -> People:
    rng = np.random.default_rng(1)
    columns = (rng.integers(0, 101, 40), rng.integers(0, 51, 40), rng.integers(0, 3, 40))
    return SCHEMA.encoded(np.stack([*columns, rng.random(40)], axis=1))


def said_by(people: People, panel: Panel, count: int, seed: int = 1) -> list[Judgement]:
    """Judgements of a panel whose metrics are known, on questions that are drawn before."""
    case = Case(people, people, np.zeros(len(people)), panel)
    return judgements(case, questions(people, count, seed=seed), np.random.default_rng(seed))


def test_weights_are_found_and_what_does_not_count_gets_none(people: People) -> None:
    truth = {"income": 0.9, "purpose": 0.4}
    panel = Panel([MetricAuditor("j1", WeightedL1(truth))], "any")
    fitted = elicit(people, said_by(people, panel, 60))
    weights = fitted.fits["j1"].weights
    assert set(weights) == {"income", "debt", "purpose"}  # nobody judged what nobody saw
    for name, weight in weights.items():
        assert weight.low <= weight.value <= weight.high
        assert weight.value == pytest.approx(truth.get(name, 0.0), abs=0.12), name
    d, e = (p.distances(people)[0] / 2**20 for p in (panel, fitted.panel))
    assert np.quantile(abs(d - e), 0.9) < 0.1


@pytest.mark.long
def test_a_root_of_squares_is_told_from_a_sum(people: People) -> None:
    sum_, root = WeightedL1({"income": 0.8, "debt": 0.8}), Mahalanobis(
        ("income", "debt"), np.diag([0.8 / 100**2, 0.8 / 50**2]), 1.0
    )  # fmt: skip
    panel = Panel([MetricAuditor("sum", sum_), MetricAuditor("root", root)], "any")
    said = said_by(people, panel, 80)
    scores = {
        name: [_fit(form, people, [j for j in said if j.member == name], 1).score
               for form in forms_of(people)]
        for name in panel.members
    }  # fmt: skip
    assert scores["root"][1] > scores["root"][0]
    assert scores["root"][1] - scores["root"][0] > scores["sum"][1] - scores["sum"][0]
    fitted = elicit(people, said).fits["root"].metric
    assert isinstance(fitted, Mahalanobis)


@pytest.mark.long
def test_judgements_only_shrink_the_error_and_say_how_many_are_left(people: People) -> None:
    panel = Panel([MetricAuditor("j1", WeightedL1({"income": 0.7, "debt": 0.5}))], "any")
    said = said_by(people, panel, 80)
    few, many = elicit(people, said[:8]), elicit(people, said)
    assert many.known_to < 0.5 * few.known_to
    assert many.alpha < few.alpha
    least, most = few.judgements_needed(0.05)
    assert 0 < least < most
    assert few.judgements_needed(1.0) == (0, 0)
    with pytest.raises(ParameterError, match="target"):
        few.judgements_needed(0)


def test_noise_widens_alpha(people: People) -> None:
    """Somebody who contradicts themselves is no reason to report a small excess."""
    panel = Panel([MetricAuditor("j1", WeightedL1({"income": 0.9}))], "any")
    said = said_by(people, panel, 60)
    rng = np.random.default_rng(2)
    noisy = [
        j if j.third or rng.random() < 0.6
        else Judgement(j.member, j.person, j.other, RESPONSES[rng.integers(3)])
        for j in said
    ]  # fmt: skip
    assert elicit(people, noisy).alpha > elicit(people, said).alpha + 0.05


@pytest.mark.long
def test_triplets_alone_say_which_features_count(people: People) -> None:
    rng = np.random.default_rng(3)
    metric = Panel([MetricAuditor("j1", WeightedL1({"debt": 1.0}))], "any")
    d = metric.distances(people)[0]
    said = []
    for _ in range(60):
        a, b, c = rng.choice(len(people), 3, replace=False).tolist()
        if d[a, b] != d[a, c]:
            closer = b if d[a, b] < d[a, c] else c
            said.append(Judgement("j1", *(people.ids[p] for p in (a, b, closer, c))))
    weights = elicit(people, said).fits["j1"].samples
    debt = elicit(people, said).fits["j1"].form.names.index("debt")
    proposed = np.median(weights, axis=0)
    assert proposed[debt] / proposed.sum() > 0.85


def test_draws_are_those_of_the_posterior() -> None:
    """One feature and one response: the density of w·t and t integrated on a grid.

    96 draws; the median of u is within five standard errors, 5·0.05 in probability.
    """
    schema = FeatureSchema((Feature("x", low=0, high=1),))
    people = schema.people([[0.0], [0.5]])
    fit = _fit(forms_of(people)[0], people, [Judgement("j", "p1", "p2", "very different")], 1)
    u, t = np.meshgrid(np.linspace(0.5, 1500, 1500), np.linspace(0.5, 1500, 1500), indexing="ij")
    density = np.exp(-(u + t) / 100) / (1 + np.exp(-np.clip(0.5 * u - LIMITS[1] * t, -50, 50)))
    below = density.sum(axis=1).cumsum() / density.sum()
    place = below[np.searchsorted(u[:, 0], np.median(fit.draws[:, 0]))]
    assert abs(place - 0.5) < 0.25
    below = density.sum(axis=0).cumsum() / density.sum()
    place = below[np.searchsorted(t[0], np.median(fit.draws[:, 1]))]
    assert abs(place - 0.5) < 0.25


def test_questions_are_new_and_tell_more_than_chance(people: People) -> None:
    panel = Panel([MetricAuditor("j1", WeightedL1({"income": 0.6, "debt": 0.9}))], "any")
    first = questions(people, 20)
    assert questions(people, 20) == first
    assert questions(people, 20, seed=2) != first
    case = Case(people, people, np.zeros(len(people)), panel)
    said = judgements(case, first, np.random.default_rng(1))
    fitted = elicit(people, said)
    second = questions(people, 20, fitted)
    assert not {tuple(sorted(q)) for q in second} & fitted.asked
    chosen = elicit(people, said + judgements(case, second, np.random.default_rng(1)))
    rng = np.random.default_rng(4)
    drawn = [tuple(people.ids[p] for p in rng.choice(40, 2, replace=False)) for _ in range(20)]
    chance = elicit(people, said + judgements(case, drawn, np.random.default_rng(1)))
    assert chosen.known_to < chance.known_to


def test_two_people_are_a_question_and_one_is_none() -> None:
    two = FeatureSchema((Feature("x", low=0, high=1),)).people([[0.0], [1.0]])
    assert questions(two, 5) == [("p1", "p2")]
    with pytest.raises(AuditError, match="about two people"):
        questions(two.take([0]), 5)


def test_the_panel_is_a_file_that_audits(people: People, tmp_path: Path) -> None:
    panel = Panel([MetricAuditor('a "b"\n', WeightedL1({"income": 0.6, "purpose": 0.5}))], "any")
    fitted = elicit(people, said_by(people, panel, 20), rule="any")
    (tmp_path / "panel.toml").write_text(fitted.to_toml())
    assert Panel.from_file(tmp_path / "panel.toml") == fitted.panel
    assert f"Proposed alpha: {fitted.alpha:.2f}" in fitted.to_toml()
    ours = Panel([
        MetricAuditor("1", Masked(WeightedL1({"a b": 1, "é": 2}, {"é": 3}), ["a b", "é"])),
        MetricAuditor("2\x7f\\", Mahalanobis(["a"], [[1e-9]], 5)),
        MetricAuditor("3", Ratings({"ann": 0.25}, 0, 1)),
    ], "any")  # fmt: skip
    assert Panel.from_spec(tomllib.loads(ours.to_toml(["x\ny"], {"1": ["z\r"]}))) == ours


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("ann,p1,p2,,same\n", "line 2: Judgement.response must be one of alike"),
        ("ann,p1,p1,,alike\n", "line 2: Judgement must be of two or three different people"),
        ("ann,p1,p2,p2,p2\n", "different people"),
        ("ann,p1,p2,p3,p1\n", "must be one of p2, p3"),
        (",p1,p2,,alike\n", "Judgement.member must not be empty"),
        ("ann,p1,p99,,alike\n", "'p99' is not among the people"),
        ("ann,p1,p2,,\n", "no judgement"),
    ],
)
def test_what_is_no_judgement_is_refused(
    people: People, tmp_path: Path, text: str, says: str
) -> None:
    (tmp_path / "j.csv").write_text("member,person,other,third,response\n" + text)
    with pytest.raises(LikewiseError, match=says):
        elicit(people, read_judgements(tmp_path / "j.csv"))


def test_a_file_without_triplets_needs_no_column_for_them(tmp_path: Path) -> None:
    (tmp_path / "j.csv").write_text("response,member,other,person\nalike,ann,p2,p1\n")
    assert read_judgements(tmp_path / "j.csv") == [Judgement("ann", "p1", "p2", "alike")]


def test_the_page_holds_the_questions_as_data_alone() -> None:
    schema = FeatureSchema((Feature("kind", "category", levels=("</script><b>", "x")),))
    people = schema.people([["</script><b>"], ["x"]], ids=["<i>", "b"])
    page = judging_page(people, [("<i>", "b")])
    assert page.count("</script>") == 2
    assert "<b>" not in page
    assert "http" not in page.replace("http-equiv", "")


@pytest.mark.long
def test_fifty_judgements_of_the_loans_auditors_report_as_they_do() -> None:
    """One seed of the study: F1 of at least .8 where 7 % of the pairs are reported.

    The worst of ten seeds is stored with the study.
    """
    case = loans(3)
    rng = np.random.default_rng(3)
    said = judgements(case, questions(case.judged, SITTING, seed=3), rng)
    fitted = elicit(case.judged, said, case.panel.rule, 3)
    said += judgements(case, questions(case.judged, SITTING, fitted, 3), rng)
    fitted = elicit(case.judged, said, case.panel.rule, 3)
    truth, pivots = reported(case, case.panel)
    guess, fitted_pivots = reported(case, fitted.panel)
    assert truth.mean() < 0.1
    assert f1(truth, guess) >= 0.8
    off = abs(pivots - fitted_pivots)[fitted_pivots < 1]
    assert np.quantile(off, 0.9) < 2 * fitted.known_to
