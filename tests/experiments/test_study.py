"""The study: it can be stopped and continued, and its tables say what was measured."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from likewise.errors import LikewiseError, ParameterError
from likewise.experiments.configurations import Configuration
from likewise.experiments.parallel import in_processes
from likewise.experiments.study.run import run_study
from likewise.experiments.study.spec import StudySpec
from likewise.experiments.study.tables import (
    Point,
    beaten,
    points,
    study_markdown,
    write_between_marks,
)
from likewise.experiments.study.tuning import GRIDS, Trial, tuning_markdown
from likewise.game import parse_delay

TINY = StudySpec(
    seeds=(1,), horizons=(4, 8, 16), eps=(0.3,), etas=(1.0, 0.25), noise_divisors=(1.0, 1e5)
)

REACTING = replace(TINY, world="adversarial", etas=(1.0,), noise_divisors=(1e5,))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    run_study(TINY, folder, jobs=1)
    return folder


def test_every_configuration_has_a_result_at_every_horizon(folder: Path) -> None:
    results = run_study(TINY, folder, jobs=1)
    assert len(results) == len(TINY.configurations()) * len(TINY.horizons)


def test_a_study_that_was_stopped_goes_on_where_it_was(folder: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in folder.iterdir()}
    gone = next(path for path in before if path.name.startswith("exact"))
    gone.unlink()
    run_study(TINY, folder, jobs=1)
    after = {path: path.stat().st_mtime_ns for path in folder.iterdir()}
    assert {path for path in after if after[path] != before[path]} == {gone}


def test_the_table_has_a_row_for_every_configuration(folder: Path) -> None:
    text = study_markdown(TINY, points(TINY, run_study(TINY, folder, jobs=1)))
    assert all(f"| {configuration.title} |" in text for configuration in TINY.configurations())
    assert "beat" in text


def test_where_the_world_reacts_each_configuration_has_a_comparator_of_its_own(
    tmp_path: Path,
) -> None:
    found = points(REACTING, run_study(REACTING, tmp_path, jobs=1))
    text = study_markdown(REACTING, found)
    assert text.count("best fair policy |") == 1
    for mine in found:
        row = next(line for line in text.splitlines() if f"| {mine.configuration.title} |" in line)
        assert row.endswith(f" | {mine.comparator:.3f} |")
    assert len({mine.comparator for mine in found}) > 1


def test_where_the_world_is_steady_all_have_the_same_comparator(folder: Path) -> None:
    found = points(TINY, run_study(TINY, folder, jobs=1))
    assert len({mine.comparator for mine in found}) == 1
    assert "best fair policy |" not in study_markdown(TINY, found)


def point(learner: str, error: float, violations: float, reports: float) -> Point:
    ours = learner == "exact"
    configuration = Configuration(learner, 1.0 if ours else None, None if ours else 1.0)
    return Point(configuration, 0.3, (8,), (error,), (violations,), (reports,), 0.0, 0.4)


@pytest.mark.parametrize(
    ("paper", "says"),
    [((0.3, 5, 9), True), ((0.3, 5, 11), False), ((0.4, 1, 1), False), ((0.35, 6, 10), False)],
)
def test_a_point_beats_another_only_on_all_three(
    paper: tuple[float, float, float], says: bool
) -> None:
    ours = point("exact", 0.35, 6, 10)
    assert bool(beaten([ours, point("paper", *paper)])) == says


def test_tables_go_between_their_marks(tmp_path: Path) -> None:
    path = tmp_path / "doc.md"
    path.write_text("a\n<!-- study: begin -->\nold\n<!-- study: end -->\nb\n")
    write_between_marks(path, "study", "new")
    assert path.read_text() == "a\n<!-- study: begin -->\nnew\n<!-- study: end -->\nb\n"


def test_a_document_without_marks_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LikewiseError, match="once each"):
        write_between_marks(tmp_path / "none.md", "study", "new")


def test_the_readme_holds_a_table_for_every_part_of_the_study() -> None:
    readme = (Path(__file__).parents[2] / "README.md").read_text()
    for configuration in replace(TINY, noise_divisors=StudySpec().noise_divisors).configurations():
        assert readme.count(f"| {configuration.title} |") >= 2


def test_what_another_process_refuses_arrives_as_its_sentence() -> None:
    with pytest.raises(ParameterError, match=r"^delay must be a number of rounds .* got 'soon'"):
        list(in_processes(parse_delay, [("3",), ("soon",)], jobs=2))


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"world": "lones"}, "world must be one of loans, drift"),
        ({"learners": ("exactly",)}, "learner must be one of auto"),
        ({"baselines": ("untought",)}, "learner must be one of auto"),
        ({"hypotheses": "trees"}, "hypotheses must be one of segments"),
        ({"heard": (("full", "16", 1.0),)}, "delay must be below the number of rounds, 16"),
        ({"eps": (0.4,)}, "eps must be in"),
    ],
)
def test_a_study_that_makes_no_sense_is_refused_before_anything_is_played(
    tmp_path: Path, changes: dict[str, Any], says: str
) -> None:
    with pytest.raises(LikewiseError, match=says):
        run_study(replace(TINY, **changes), tmp_path / "runs", jobs=1)
    assert not (tmp_path / "runs").exists()


def test_tuning_shows_every_trial() -> None:
    trial = Trial("admissions", "context-ftpl", 0.1, 1.0, 0.25, 3, 7)
    assert "0.250 / 3 / 7" in tuning_markdown(GRIDS["full"], [trial], 10, (1,))
