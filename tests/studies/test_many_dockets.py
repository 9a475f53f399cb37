"""Many dockets: a small part of the study, whose figures are those of 10,000."""

from __future__ import annotations

from pathlib import Path

from studies.scripts.many_dockets import furnish, measure, paths, table


def test_every_page_and_list_of_many_dockets(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'many.db'}"
    tokens = furnish(url, dockets=30, members=5, rounds=2)
    rows = measure(url, tokens, dockets=30, times=1)
    assert [row.path for row in rows] == [path for listed in paths(30).values() for path in listed]
    # A thousandth of the dockets, and a machine that may be busy: an order of magnitude to spare.
    assert max(row.processor for row in rows) < 300
    assert table(rows).count("\n") == len(rows) + 1
