"""The page of worlds and its picture: every world is there, and none both judges and chooses."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from likewise.cli import main
from likewise.cli.study import FRONTIERS, PAGES
from likewise.experiments.configurations import Configuration
from likewise.experiments.environments import CHOOSING, ENVIRONMENTS, JUDGING
from likewise.experiments.study import pages
from likewise.experiments.study.frontiers import MARKERS, frontiers_svg, write_frontiers
from likewise.experiments.study.spec import StudySpec
from likewise.experiments.study.tables import Point
from likewise.worlds import WORLDS, settings_of

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / PAGES["worlds"]).read_text()
MARKS = ("judging", "choosing")


def found(scale: float = 1.0, horizons: tuple[int, ...] = (500, 8000)) -> list[Point]:
    """Points as a study might find them; at the smaller eps, far away from the others."""
    made = []
    for place, configuration in enumerate(StudySpec(noise_divisors=(1e5, 1e6)).configurations()):
        error = (0.9, 0.3 + 0.01 * place)
        counts = (0.0, scale * (8 - place))
        made += [
            Point(configuration, 0.3, horizons, error, counts, counts, 0.0, 0.4),
            Point(configuration, 0.1, horizons, (0.9, 0.87), (0.0, 7777.0), counts, 0.0, 0.4),
        ]
    return made


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in ET.fromstring(svg).iter() if "text" in element.tag]


def test_every_world_has_a_panel() -> None:
    svg = frontiers_svg({name: found() for name in ENVIRONMENTS})
    for name in ENVIRONMENTS:
        assert texts(svg).count(f"{name}, T = 8,000") == 1


def test_learners_are_named_and_can_be_told_apart_without_colour() -> None:
    assert len(set(MARKERS.values())) == len(MARKERS)
    shown = texts(frontiers_svg({"drift": found()}))
    assert {c.learner for c in StudySpec().configurations()} == set(MARKERS)
    assert all(shown.count(name) == 1 for name in MARKERS)
    assert [shown.count(knob) for knob in ("1/4", "1/16", "10⁵", "10⁶")] == [2, 2, 1, 1]


def test_only_the_longest_horizon_at_eps_alpha_is_drawn() -> None:
    svg = frontiers_svg({"drift": found()})
    assert "error 30.0%, 8 violations" in svg
    assert "90.0%" not in svg
    assert "7777" not in svg


@pytest.mark.parametrize("scale", [0.0, 0.1, 1.0, 1000.0])
def test_no_violations_and_many_can_both_be_drawn(scale: float) -> None:
    ticks = texts(frontiers_svg({"drift": found(scale)}))
    assert "0" in ticks or scale > 1


def test_a_learner_that_stands_alone_can_be_drawn() -> None:
    alone = Point(Configuration("untaught"), 0.3, (8,), (0.4,), (0.0,), (0.0,), 0.0, 0.4)
    assert "drift, T = 8" in texts(frontiers_svg({"drift": [alone]}))


def test_the_picture_has_the_same_bytes_when_written_twice(tmp_path: Path) -> None:
    worlds = {name: found() for name in JUDGING}
    one, other = tmp_path / "new" / "a.svg", tmp_path / "b.svg"
    write_frontiers(one, worlds)
    write_frontiers(other, worlds)
    assert one.read_bytes() == other.read_bytes()
    assert b"<metadata" not in one.read_bytes()


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the page alone, and studies that take no time."""
    small = StudySpec(
        seeds=(1,), horizons=(4, 8), eps=(0.3,), etas=(1.0,), noise_divisors=(), world="drift"
    )
    parts = [("judging", small), ("choosing", replace(small, world="loans, another market"))]
    monkeypatch.setitem(pages.PARTS, "worlds", lambda *_: iter(parts))
    monkeypatch.chdir(tmp_path)
    PAGES["worlds"].parent.mkdir()
    PAGES["worlds"].write_text(PAGE)
    return tmp_path


def study(*options: str) -> None:
    command = ["study", "--page", "worlds", "--jobs", "1", "--folder", "runs", *options]
    result = CliRunner().invoke(main, command)
    assert result.exit_code == 0, result.output


def test_nothing_is_written_unless_asked_for(elsewhere: Path) -> None:
    study()
    assert PAGES["worlds"].read_text() == PAGE
    assert sorted(path.name for path in elsewhere.iterdir()) == ["docs", "runs"]
    assert not FRONTIERS.exists()


@pytest.mark.usefixtures("elsewhere")
def test_tables_and_picture_are_written_together() -> None:
    study("--write")
    text = PAGES["worlds"].read_text()
    judging = text.split("<!-- judging: begin -->")[1].split("<!-- judging: end -->")[0]
    choosing = text.split("<!-- choosing: begin -->")[1].split("<!-- choosing: end -->")[0]
    assert "World `drift`" in judging
    assert "World `loans, another market`" in choosing
    shown = texts(FRONTIERS.read_text())
    assert "drift, T = 8" in shown
    assert not any("market" in text for text in shown)


def test_worlds_judge_or_choose_and_never_both() -> None:
    assert not set(JUDGING) & set(CHOOSING)
    assert {**JUDGING, **CHOOSING} == ENVIRONMENTS
    placed = {part.world: mark for mark, part in pages.PARTS["worlds"](8000, None)}
    assert placed == {name: MARKS[name in CHOOSING] for name in ENVIRONMENTS if name != "loans"}


def test_the_page_has_each_mark_once_and_each_picture_a_text() -> None:
    for mark in MARKS:
        assert PAGE.count(f"<!-- {mark}: begin -->") == PAGE.count(f"<!-- {mark}: end -->") == 1
    assert PAGE.count(f"]({FRONTIERS.relative_to('docs')})") == 1
    assert "![]" not in PAGE


def test_the_page_names_every_world_and_every_knob_of_it() -> None:
    before = PAGE.split("## How the tables are made")[0]
    for name in {**ENVIRONMENTS, **WORLDS}:
        assert f"| `{name}` |" in before
    for world in WORLDS.values():
        for knob in settings_of(world):
            assert f"`{knob}`" in before
