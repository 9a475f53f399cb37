"""The benchmark: its rows, its plain references, and the figures that are stored."""

from __future__ import annotations

import json
from pathlib import Path
from typing import cast

import numpy as np
import pytest
from click.testing import CliRunner

from likewise import audit
from likewise.errors import ParameterError
from likewise.hypotheses import ExactWeights
from likewise.numerics.fixed_point import ONE
from studies.benchmark import audits
from studies.benchmark.items import ON_GPU, STUDY, Asked, Item, Skipped
from studies.benchmark.rounds import PlainList, PlainSegments, _contests
from studies.benchmark.run import GPU_ROWS, gpu_name, gpu_rows, run_benchmark
from studies.commands import main

# Every figure that was asked for of a CPU, and two that were not.
ITEMS = {
    "pool-draws", "staircase-draws", "segment-draws", "conjunction-draws", "parity-draws",
    "exact-round", "loans-round", "pool-round", "state-growth", "simulate-self-tuned",
    "simulate-exact", "start",
}  # fmt: skip


def test_audits_took_little_memory_and_looked_at_all_pairs_of_kinds() -> None:
    for row in audits.STUDY.stored():
        assert row["gigabytes"] < (2.0 if row["people"] > 10**7 else 1.0)
        assert row["kinds"] is None or row["looked_at"] == row["pairs"]


@pytest.mark.parametrize("discrete", [True, False])
def test_the_rows_of_the_benchmark_are_audited(discrete: bool) -> None:
    """The same by a stream that is generated, and by all people in memory."""
    figures = audits.one("generated", 2500, discrete, Path())
    table = audits.stream(2500, discrete).read_all()
    people = audits.SCHEMA.people(table.drop(["id", "score"]))
    exact = audit(people, table["score"], audits.PANEL, alpha=0.1)
    assert figures["reported"] == exact.reported.value


def test_the_stored_run_is_no_quick_one() -> None:
    report = STUDY.stored()
    assert not report["quick"]
    assert {item["name"] for item in report["items"]} <= ITEMS
    assert report["machine"]["processor"]
    for item in report["items"]:
        assert {"name", "seconds", "reference_seconds", "ratio", "asked", "met"} <= set(item)
        assert not any(value for key, value in item["details"].items() if key.endswith("_wrong"))


def test_nothing_was_wrong_on_the_gpu() -> None:
    items = {item["name"]: item for item in ON_GPU.stored()["items"]}
    assert set(items) == set(GPU_ROWS)
    for item in items.values():
        assert item["met"]
        assert not any(value for key, value in item["details"].items() if key.endswith("_wrong"))


def test_a_row_is_measured_beside_its_reference_and_written_as_json() -> None:
    done = CliRunner().invoke(
        main, ["benchmark", "--quick", "--json", "-", "segments", "exact"], catch_exceptions=False
    )
    report = json.loads(done.stdout)
    assert report["quick"]
    assert [item["name"] for item in report["items"]] == ["segment-draws", "exact-round"]
    for item in report["items"]:
        assert item["seconds"] > 0
        assert item["reference_seconds"] > 0
        assert item["ratio"] > 0


def test_a_row_that_there_is_not_is_refused() -> None:
    with pytest.raises(ParameterError, match="must be one of pool, staircases"):
        run_benchmark(["polls"])


def test_writing_elsewhere_is_refused_before_anything_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(main, ["benchmark", "--write"])
    assert done.exit_code == 2
    assert "Run this in the project's" in done.output


def test_without_a_gpu_its_rows_say_what_is_missing() -> None:
    if gpu_name() is not None:
        pytest.skip("there is a GPU here")
    rows = gpu_rows(quick=True)
    assert [row.name for row in rows] == list(GPU_ROWS)
    assert all(isinstance(row, Skipped) and "The GPU engine needs" in row.why for row in rows)


def test_an_item_keeps_to_what_was_asked_or_not() -> None:
    slow = Item("a", "b", "c", 2.0, "numpy", 1.0, Asked("times its time", 1.5))
    assert (slow.ratio, slow.met) == (2.0, False)
    wrong = Item("a", "b", "c", 1.0, "numpy", 9.0, Asked("times faster", 2.0), holds=False)
    assert (wrong.ratio, wrong.met) == (9.0, False)
    assert Item("a", "b", "c", 0.001, asked=Asked("a second", 200.0)).met


def test_plain_loops_have_the_sums_of_the_learner() -> None:
    """The scores of a policy for the same costs, to eleven digits; so nothing was left out."""
    for _, _, learner, met, start in _contests(quick=True):
        plain = cast(PlainSegments | PlainList, start())
        hypotheses = learner.hypotheses
        costs = np.random.default_rng(1).integers(-ONE, ONE, len(hypotheses.no_costs()))
        plain.costs = (costs / ONE).reshape(plain.costs.shape)
        policy = cast(ExactWeights, hypotheses).weigh(costs, plain.temperature * ONE)
        for round_ in met[:3]:
            pairs = policy.approval(hypotheses.locate(round_.people))
            scores, _ = plain.deploy(round_.people.x)
            assert scores == pytest.approx([a / b for a, b in pairs], abs=1e-11)
            decided = np.mean([plain.deploy(round_.people.x)[1] for _ in range(2000)], axis=0)
            # Six standard deviations of a mean of 2,000, for 24 people and two classes: 1e-7.
            assert np.abs(decided - scores).max() < 6 * 0.5 / np.sqrt(2000)
