"""docs/paper-map.md is complete for sections 2 to 4, and every entry leads somewhere."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in (ROOT / "docs/paper-map.md").read_text().splitlines()
    if line.startswith("| ") and not line.startswith("| in the paper")
]

# The titled environments of sections 2 to 4; those without a title are counted below.
IN_THE_PAPER = {
    "Definition: Fairness violation", "Definition: Auditor", "Definition: Auditing scheme",
    "Definition: Independent aggregation functions", "Definition: Aggregation order",
    "Definition: Monotone aggregation functions", "Definition: Monotone auditing scheme",
    "Definition: Misclassification loss", "Definition: Unfairness loss",
    "Definition: Unfairness proxy loss", "Definition: Fair-In-Hindsight Policies",
    "Definition: Regret", "Definition: Regularized Lagrangian loss",
    "Definition: Lagrangian loss", "Definition: Separating set",
    "Algorithm: Online Learning with Individual Fairness",
    "Algorithm: Reduction to Context-FTPL + Online Gradient Descent",
    "Algorithm: Online Learning with Individual Fairness under Partial Information",
    "Algorithm: Reduction to Context-Semi-Bandit-FTPL + Online Gradient Descent",
}  # fmt: skip
LEMMAS, THEOREMS, REMARKS = 4, 2, 9


def resolve(symbol: str) -> object:
    parts = symbol.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            found: object = import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for name in parts[cut:]:
            found = getattr(found, name)
        return found
    raise AssertionError(symbol)


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_every_entry_leads_to_a_symbol_and_a_test(row: list[str]) -> None:
    _, symbol, test = row
    assert resolve(symbol.strip("`")) is not None
    assert "def test_" in (ROOT / test.strip("`")).read_text()


def test_every_titled_statement_has_an_entry() -> None:
    assert {row[0] for row in ROWS} >= IN_THE_PAPER


def test_every_untitled_statement_has_an_entry() -> None:
    kinds = [re.split(":", row[0])[0] for row in ROWS]
    assert kinds.count("Lemma") == LEMMAS
    theorems = {row[0].split(",")[0] for row in ROWS if row[0].startswith("Theorem: ")}
    assert len(theorems) == THEOREMS
    assert kinds.count("Remark") >= REMARKS
