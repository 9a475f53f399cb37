"""Panel studies: votes by hand, pivots, and what cannot be compared."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from likewise.errors import LikewiseError, ParameterError
from likewise.simulate.game import Game
from studies.commands import main
from studies.comparing import panel_markdown, panel_study


def test_a_stricter_rule_reports_more_and_everybody_is_counted() -> None:
    rules = ("all", "majority", "any")
    found = panel_study(Game(rounds=60, seed=3, world_settings={"leniency": 0.5}), rules)
    assert [one.rule for one in found] == list(rules)
    assert all(len(one.objections) == 5 for one in found)
    for one in found:
        assert sum(one.decisive.values()) == one.outcome.reports
        assert one.agreement is None or one.agreement <= 1
    text = panel_markdown(found)
    assert text.count("\n") == 4
    assert "banker" in text


def test_under_a_veto_only_that_member_is_decisive() -> None:
    game = Game(rounds=80, seed=3, world_settings={"leniency": 0.05})
    (found,) = panel_study(game, ["veto(regulator)"])
    assert found.outcome.reports > 0
    assert {name for name, count in found.decisive.items() if count} == {"regulator"}


def test_panels_that_change_are_not_compared() -> None:
    with pytest.raises(LikewiseError, match="The panel of turnover changes"):
        panel_study(Game("turnover", rounds=40, world_settings={"term": 5}), ["any"])
    with pytest.raises(ParameterError, match="rules must be some, all different"):
        panel_study(Game(rounds=10), ["any", "any"])


def test_the_command_prints_a_line_for_each_rule() -> None:
    args = ["panels", "--rounds", "20", "--rule", "any", "--rule", "all", "--set", "k=4"]
    result = CliRunner().invoke(main, args)
    assert result.exit_code == 0, result.output
    assert result.stdout.count("\n| ") == 2
