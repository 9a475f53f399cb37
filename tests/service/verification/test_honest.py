"""An honest history holds, whatever was done in it and whenever: the verifier convicts nobody."""

from __future__ import annotations

from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from likewise_service.ledger.store import Store
from tests.service.verification.histories import History

# Those of one seed are the same acts on both databases.
PLAYED = {"sqlite": 30, "postgresql": 10}


@pytest.mark.parametrize(
    ("database", "seed"),
    [
        pytest.param(database, seed, marks=[pytest.mark.long] if seed > 1 else [])
        for database, count in PLAYED.items()
        for seed in range(count)
    ],
    indirect=["database"],
)
def test_an_honest_history_holds(database: str, tmp_path: Path, seed: int) -> None:
    """Ten thousand more are played by ``studies.scripts.honest_histories``."""
    with ExitStack() as stack:
        stores = [stack.enter_context(closing(Store.open(database))) for _ in range(2)]
        history = History(stores, seed, tmp_path)
        history.play(40)
        assert history.faults() == []
