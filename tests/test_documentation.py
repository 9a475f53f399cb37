"""The documentation tells the truth: its commands run, its links lead somewhere."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from likewise.cli import main

ROOT = Path(__file__).parent.parent
DOCUMENTS = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]


def shell_commands() -> list[str]:
    text = "\n".join(path.read_text() for path in DOCUMENTS)
    blocks = re.findall(r"```sh\n(.*?)```", text, flags=re.DOTALL)
    return [line for block in blocks for line in block.splitlines() if line.strip()]


@pytest.mark.parametrize("command", shell_commands())
def test_every_command_in_the_documentation_runs(command: str) -> None:
    words = shlex.split(command, comments=True)
    assert words[0] == "likewise"
    result = CliRunner().invoke(main, words[1:])
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_link_in_the_documentation_leads_somewhere(document: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", document.read_text()):
        assert (document.parent / target).exists(), target


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_no_python_block_in_the_documentation_escapes_the_doctests(document: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", document.read_text(), flags=re.DOTALL)
    assert all(block.lstrip().startswith(">>>") for block in blocks)


def test_every_target_of_the_makefile_that_the_readme_names_exists() -> None:
    makefile = (ROOT / "Makefile").read_text()
    for target in set(re.findall(r"(?:`|^)make ([a-z]+)", (ROOT / "README.md").read_text(), re.M)):
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE), target


def test_one_sided_labels_cost_no_more_than_was_promised() -> None:
    """At most 1.5 times the violations and 0.02 more error than full information, as measured."""
    text = (ROOT / "docs/late-feedback.md").read_text()
    found = re.findall(
        r"- (self-tuned|exact), eta = 1/4, one-sided labels: ([\d.]+) times the violations and "
        r"([+-][\d.]+) error",
        text,
    )
    assert {learner for learner, _, _ in found} == {"self-tuned", "exact"}
    for _, ratio, more in found:
        assert float(ratio) <= 1.5
        assert float(more) <= 0.02


def test_late_feedback_of_half_of_the_rounds_was_measured_to_be_sublinear() -> None:
    text = (ROOT / "docs/late-feedback.md").read_text()
    rows = re.findall(r"50 rounds late, 1/2 audited \|.*\| T\^([\d.]+), T\^([\d.]+) \|", text)
    assert len(rows) == 4
    assert all(float(growth) < 0.95 for growth, _ in rows)
