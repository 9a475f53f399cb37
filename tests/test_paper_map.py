"""docs/research/paper-map.md is complete from section 2 on, and every entry leads somewhere."""

from __future__ import annotations

import os
import re
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in (ROOT / "docs/research/paper-map.md").read_text().splitlines()
    if line.startswith("| ") and not line.startswith("| in the paper")
]

# The titled environments from section 2 to the end; those without a title are counted below.
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
LEMMAS, THEOREMS, REMARKS, FIGURES, BOXES, FOOTNOTES = 4, 2, 10, 3, 1, 18
# Of the conclusion, and of the appendices: related work, and the proofs that are not beside their
# statements.
OPEN_QUESTIONS, RELATED, PROOFS = 3, 2, 2

# The paper's source, for those who have it: a folder with the .tex file.
PAPER = Path(os.environ.get("LIKEWISE_PAPER", ROOT.parent / "shared" / "paper"))


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


def counted(kind: str) -> int:
    return sum(row[0].startswith(f"{kind}: ") for row in ROWS)


def test_every_untitled_statement_has_an_entry() -> None:
    theorems = {row[0].split(",")[0] for row in ROWS if row[0].startswith("Theorem: ")}
    assert len(theorems) == THEOREMS
    expected = {
        "Lemma": LEMMAS, "Remark": REMARKS, "Figure": FIGURES, "Box": BOXES, "Footnote": FOOTNOTES,
        "Open question": OPEN_QUESTIONS, "Appendix": RELATED, "Proof": PROOFS,
    }  # fmt: skip
    assert {kind: counted(kind) for kind in expected} == expected


def source() -> str:
    """Section 2 and all that follows, without comments."""
    texts = [path.read_text(encoding="utf-8") for path in sorted(PAPER.glob("*.tex"))]
    if not texts:
        pytest.skip(f"the paper's source is not in {PAPER}; LIKEWISE_PAPER names its folder")
    text = re.sub(r"(?<!\\)%.*", "", "".join(texts))
    return text[text.index(r"\section{Individual Fairness and Monotone Auditing Schemes}") :]


def test_the_list_is_that_of_the_paper() -> None:
    text = source()
    begun = {
        kind: len(re.findall(rf"\\begin\{{{kind}\}}", text))
        for kind in ("definition", "lemma", "theorem", "remark", "figure", "algorithm")
    }
    titled = {name.split(": ")[0].lower() for name in IN_THE_PAPER}
    assert begun == {
        "lemma": LEMMAS, "theorem": THEOREMS, "remark": REMARKS, "figure": FIGURES,
        **{kind: sum(n.lower().startswith(kind) for n in IN_THE_PAPER) for kind in titled},
    }  # fmt: skip
    assert len(re.findall(r"\\footnote(?:text)?\s*\{", text)) == FOOTNOTES
    appendix = text[text.index(r"\appendix") :]
    assert len(re.findall(r"\\begin\{proof\}", appendix)) == PROOFS
    assert len(re.findall(r"limitation is|lower bounds", text[text.index(r"\section{Conc") :])) >= 2
    assert len(re.findall(r"\\fbox\s*\{", text)) == BOXES
    titles = re.findall(r"\\begin\{definition\}[^\[\n]*\[([^\]]+)\]", text)
    assert {f"Definition: {title}" for title in titles} <= IN_THE_PAPER
    assert len(titles) == begun["definition"]
