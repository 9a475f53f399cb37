"""The mutants as they were run: all that the script names, and at most three of them alive."""

from __future__ import annotations

import json

from studies.scripts import mutants

ROWS = json.loads(mutants.ROWS.read_text(encoding="utf-8"))


def test_every_mutant_can_be_made_and_was_run() -> None:
    """A text that is not there once any more is refused: then the mutant says nothing."""
    titles = [mutant.title for mutant in mutants._mutants() if mutant.source]
    assert len(titles) == len(set(titles)) >= 100
    assert set(titles) == set(ROWS)


def test_few_are_alive() -> None:
    alive = [title for title, row in ROWS.items() if row["killed"] is None]
    assert len(alive) <= 3, alive
    killers = {row["killed"].partition("::")[0] for row in ROWS.values() if row["killed"]}
    assert all((mutants.ROOT / name).is_file() for name in killers)
