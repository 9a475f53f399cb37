"""The three comparators are in every table and picture, with the kappa that they are of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from likewise.hypotheses import Pool
from likewise.learner import Learner
from likewise.simulate.canvas import STYLE
from likewise.simulate.game import Game
from studies.sweep.figures import VIEWS, draw_points
from studies.sweep.runs import stored_rows
from studies.sweep.spec import HINDSIGHT, IGNORING, read_sweep
from studies.sweep.tables import (
    Point,
    by_scenario,
    fixed_of,
    fixed_words,
    kappas_of,
    near_constant_line,
    points_of,
    stored_points,
    sweep_markdown,
)

POOL = Pool.from_table([[0, 0], [0, 1], [1, 1]])


def only(name: str, keep: Any) -> list[Point]:
    return [point for point in stored_points(name) if keep(point)]


def test_every_kappa_of_ours_has_its_own_comparator() -> None:
    found = stored_points("frontier")
    kappas = kappas_of(found)
    assert kappas == ("kappa = eps/10", "kappa = eps/4", "kappa = eps/2")
    for together in by_scenario(found).values():
        fixed = fixed_of(together, kappas)
        assert fixed is not None
        for share, word in zip((0.1, 0.25, 0.5), kappas, strict=True):
            mine = next(p for p in together if p.setting("kappa_share") == share)
            assert fixed.at_alpha_less_kappa[word] == mine.mean_of("at_alpha_less_kappa")
        rates = [fixed.at_alpha, *fixed.at_alpha_less_kappa.values(), fixed.at_alpha_less_eps]
        assert rates == sorted(rates)  # the stricter, the more errors


def test_a_learner_that_leaves_kappa_out_has_the_default() -> None:
    assert kappas_of(stored_points("strict-and-late")) == ("kappa = 0.325·eps",)


def test_where_nobody_is_ours_the_learner_is_named() -> None:
    found = only("linear", lambda one: one.learner in ("gillen", HINDSIGHT))
    assert kappas_of(found) == ("kappa of gillen, width_divisor = 1",)
    words = fixed_words(found)
    assert f"{found[0].mean_of('at_alpha_less_kappa'):.3f} at alpha − kappa (kappa of" in words


def test_policies_in_hindsight_alone_are_compared_with_nobody() -> None:
    found = only("predecessors", lambda one: one.learner == HINDSIGHT)
    assert found
    assert fixed_words(found) == ""


def test_where_the_world_reacts_the_comparators_are_of_one_learner_and_it_is_named() -> None:
    found = stored_points("predecessors-elsewhere")
    named = {scenario: fixed_words(mine) for scenario, mine in by_scenario(found).items()}
    assert "rounds that exact, eta = 1/4 faced" in named["adaptive"]
    assert "faced" not in named["loans, panels change"]


def test_without_comparators_there_is_nothing_to_say_and_no_line() -> None:
    for name in ("tune", "predecessors"):
        rows = [
            replace(row, at_alpha_less_eps=None, at_alpha_less_kappa=None, at_alpha=None)
            for row in stored_rows(name)
        ]
        sweep = read_sweep(name)
        assert fixed_words(points_of(sweep, rows)) == ""
        assert "| – |" in sweep_markdown(sweep, rows, "summary")
        fig = draw_points(points_of(sweep, rows))
        assert not any(upright(axes) for axes in fig.axes)
        assert not any("alpha" in text.get_text() for text in fig.legends[0].get_texts())


def test_rates_are_given_against_all_three() -> None:
    text = sweep_markdown(read_sweep("feedback"), stored_rows("feedback"), "rates")
    assert "| regret, alpha − eps | regret, alpha − kappa | regret, alpha |" in text
    assert "its own kappa (ours: kappa = 0.325·eps)" in text


def upright(axes: Any) -> list[float]:
    """The places of the dotted lines from the bottom of a panel to its top."""
    return [
        float(line.get_xdata()[0])
        for line in axes.lines
        if list(line.get_ydata()) == [0, 1] and len(set(line.get_xdata())) == 1
    ]


def wanted(found: Sequence[Point], *, every_kappa: bool) -> list[float]:
    ours = [point for point in found if point.ours]
    middle = sorted({point.mean_of("at_alpha_less_kappa") for point in ours})
    kept = middle if every_kappa else middle[:1]
    rates = [ours[0].mean_of("at_alpha"), *kept, ours[0].mean_of("at_alpha_less_eps")]
    return [100 * rate for rate in rates]


@pytest.mark.parametrize("name", ["frontier", "predecessors"])
def test_every_panel_has_a_line_for_each_comparator(name: str) -> None:
    points = stored_points(name)
    fig = STYLE(draw_points)(points)
    scenarios = [together for together in by_scenario(points).values() for _ in VIEWS]
    assert len(fig.axes) == len(scenarios)
    for axes, together in zip(fig.axes, scenarios, strict=True):
        expected = wanted(together, every_kappa=name == "frontier")
        assert sorted(upright(axes)) == pytest.approx(sorted(expected))
        low, high = axes.get_xlim()
        assert all(low < x < high for x in upright(axes))


def test_the_line_of_a_kappa_has_the_colour_that_the_legend_gives_it() -> None:
    found = stored_points("frontier")
    fig = draw_points(found)
    legend = {line.get_label(): line.get_color() for line in fig.legends[0].get_lines()}
    panel: Any = fig.axes[0]
    mine = next(iter(by_scenario(found).values()))
    fixed = fixed_of(mine, kappas_of(found))
    assert fixed is not None
    for word, rate in fixed.at_alpha_less_kappa.items():
        drawn = [line.get_color() for line in panel.lines if line.get_xdata()[0] == 100 * rate]
        assert legend[word] in drawn


def test_what_is_near_constant_is_marked_with_its_cost_and_what_would_change_it() -> None:
    text = sweep_markdown(read_sweep("people-rules"), stored_rows("people-rules"), "summary")
    marked = [line for line in text.splitlines() if line.startswith("|") and "°" in line]
    assert [line.split(" |")[0] for line in marked] == ["| phd-admissions"]
    near = [
        point
        for point in stored_points("people-rules")
        if point.scenario == "phd-admissions" and point.ours
    ]
    assert marked[0].count("°") == len(near) == 2
    note = text.splitlines()[-1]
    for point in near:
        cost = point.at().error - point.mean_of("at_alpha")
        assert f"phd-admissions: {point.title} ({cost:.3f} above)" in note
    for word in ("larger eta", "smaller kappa", "larger alpha", "a rule that needs more"):
        assert word in note
    assert "°" not in sweep_markdown(read_sweep("people"), stored_rows("people"), "summary")


def test_knobs_are_offered_only_to_learners_that_have_them() -> None:
    others = [p for p in stored_points("predecessors-people") if p.learner == "fixed-trade-off"]
    assert "eta" not in near_constant_line(others).split("What would change it")[1]


def test_nobody_is_warned_who_ignores_the_panel() -> None:
    for name in IGNORING:
        learner = Game("loans", name, 100).make_learner(POOL, 2)
        assert isinstance(learner, Learner)
        assert learner.ignores_reports
    assert any(
        point.mean_of("largest_gap_last_quarter") == 0
        for point in only("predecessors", lambda one: one.learner == "constant")
    )
    text = sweep_markdown(read_sweep("predecessors"), stored_rows("predecessors"), "points")
    assert "Near constant" not in text
