"""The facts of an impact assessment: each point of Art. 27(1), by the ledger or left to people."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from likewise.cli.main import main
from likewise_service.dockets import appeals, rounds
from likewise_service.dockets.assessment import TO_WRITE, assessment, assessment_markdown
from likewise_service.dockets.docket import Docket
from likewise_service.ledger.notes import Checkpoint


@pytest.fixture
def docket(begin: Callable[..., Docket], applicants: Any) -> Docket:
    """A round of three, and an appeal."""
    made = begin()
    rounds.open_round(made, applicants("p"), round_id="r1")
    appeal, _ = appeals.open_appeal(made, "r1", "p1", "look again")
    appeals.assign_appeal(made, appeal.id, "mia")
    appeals.decide_appeal(made, appeal.id, "mia", True, "seen")
    return made


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_every_point_has_facts_or_says_what_people_have_to_write(docket: Docket) -> None:
    content = assessment(docket)
    points = {part["point"]: part for part in content["parts"]}
    assert list(points)[:6] == [f"27(1)({letter})" for letter in "abcdef"]
    assert all(part["to_write"] for part in content["parts"]), "no point is the ledger's alone"
    assert points["27(1)(b)"]["facts"]["people decided on"] == 3
    assert points["27(1)(d)"]["facts"]["appeals decided"] == 1
    assert points["27(1)(f)"]["facts"]["days within which a person reconsiders"] == 30
    assert Checkpoint.parse(content["receipt"]).size == docket.store.head("loans").seq
    expected = sum(len(part["to_write"]) for part in content["parts"])
    assert assessment_markdown(content).count(TO_WRITE) == expected
    assert "p1" not in json.dumps(content["parts"]), "it names nobody"


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_titles_cannot_break_out(docket: Docket) -> None:
    content = {**assessment(docket), "title": "<script>x</script>\n# [a](b)"}
    text = assessment_markdown(content)
    assert "<script>" not in text
    assert "\n# [" not in text


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_at_the_machine(docket: Docket, tmp_path: Path) -> None:
    address = docket.store.url.render_as_string(hide_password=False)
    words = ["export", "loans", "--assessment", "--to", str(tmp_path / "a"), "--database", address]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 0, result.output
    names = {path.name for path in (tmp_path / "a").iterdir()}
    assert names == {"assessment.json", "assessment.md"}
    assert CliRunner().invoke(main, words).exit_code == 1, "nothing is overwritten"
