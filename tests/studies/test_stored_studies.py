"""Elicitation and alarms, as they were measured."""

from __future__ import annotations

from studies import elicitation, monitoring


def test_fifty_judgements_of_the_loans_auditors_were_measured_to_suffice() -> None:
    """F1 of at least .8 with every one of ten seeds, where fewer than a tenth are reported."""
    rows = [r for r in elicitation.STUDY.stored() if (r["case"], r["judgements"]) == ("loans", 50)]
    assert sorted(row["seed"] for row in rows) == list(range(1, 11))
    assert min(row["f1"] for row in rows) >= 0.8
    assert max(row["base_rate"] for row in rows) < 0.1
    assert max(row["f1_even"] for row in rows) < 0.5


def test_stated_intervals_of_fitted_weights_were_measured_to_cover() -> None:
    """Of intervals of 90 % at least 85 %; of members of whom every tenth response is a slip, 80."""
    cases = {"loans": 0.85, "loans, one response in ten off by one": 0.8}
    for case, least in cases.items():
        rows = [r for r in elicitation.STUDY.stored() if (r["case"], r["judgements"]) == (case, 50)]
        assert sum(r["covered"] for r in rows) >= least * sum(r["weights"] for r in rows) > 150
    consistent = [r for r in elicitation.STUDY.stored() if r["case"] == "loans"]
    assert sum(row["within_known"] for row in consistent) >= 0.9 * len(consistent)


def test_a_thousand_streams_without_change_had_few_alarms() -> None:
    rows = [row for row in monitoring.STUDY.stored() if row["kind"] == "no change"]
    for row in rows:
        assert row["streams"] == 1000
        assert (row["alarms"] > 500) if row["baseline"] == monitoring.NAIVE else row["alarms"] <= 50
    doubled = [row for row in monitoring.STUDY.stored() if row["kind"] == "doubling"]
    assert all(r["delay"] <= 4 and r["alarms"] >= 0.98 * r["streams"]
               for r in doubled if r["baseline"] == "stated")  # fmt: skip
