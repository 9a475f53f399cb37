"""The rows of ``studies/scripts/certificates.py`` say what the theory page says of them."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from studies.scripts import certificates as study

ROOT = Path(__file__).parents[2]


@cache
def stored() -> dict[str, Any]:
    rows: dict[str, Any] = json.loads((ROOT / "studies/results/certificates.json").read_text())
    return rows


def test_the_pages_tables_are_made_of_the_stored_rows() -> None:
    page = (ROOT / "docs/research/theory.md").read_text("utf-8")
    assert f"```text\n{study.as_tables(stored())}\n```" in page


def test_certificates_fail_no_more_often_than_they_say() -> None:
    """At most delta, and two standard errors, of 1,000 games at any of 20 looks."""
    covered = stored()["coverage"]
    assert (covered["games"], covered["looks"], covered["delta"]) == (1000, 20, 0.05)
    for name in ("draws", "one-sided", "overlooked"):
        assert covered[name] <= study.allowed(1000)
    assert covered["wrong"] == 0


def test_against_change_they_stay_above_regret_and_below_half_of_the_trivial_bound() -> None:
    for row in stored()["drift"]:
        assert [partition["parts"] for partition in row["partitions"]] == list(range(1, 9))
        for partition in row["partitions"]:
            assert partition["regret"] <= partition["certificate"] < row["trivial"] / 2


def test_one_sided_labels_are_certified_below_half_of_the_trivial_bound() -> None:
    for row in stored()["one-sided"]:
        assert row["regret"] <= row["certificate"] < row["trivial"] / 2


def test_with_auditors_who_err_the_robust_certificate_stands() -> None:
    for panel in ("perfect", "erring"):
        for row in stored()[panel]:
            assert row["regret"] <= row["robust"]
            assert row["overlooked"] <= row["overlooked at most"]
            assert panel != "perfect" or row["robust"] == row["certificate"]


def test_the_games_at_once_count_as_they_did() -> None:
    covered = stored()["coverage"]
    assert study.all_draws_fail(1000) == covered["draws"]
    assert study.all_one_sided_fail(200)[0] <= study.allowed(200)


@pytest.mark.long
def test_games_by_the_fold_fail_as_seldom() -> None:
    """Of 30 games at .05 more than six would fail once in 10,000 times."""
    assert sum(study.draws_fail(seed) for seed in range(30)) <= 6
    assert sum(study.one_sided_fails(seed)[0] for seed in range(30)) <= 6
    assert not any(study.wrong_fails(seed)[0] for seed in range(20))


@pytest.mark.long
def test_a_stored_row_is_played_again() -> None:
    assert study.erring(1) == stored()["erring"][0]
