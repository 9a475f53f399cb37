"""An honest history holds, whatever was done in it and whenever: the verifier convicts nobody."""

from __future__ import annotations

from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from likewise_service.ledger.store import Store
from tests.service.verification.histories import History


@pytest.mark.parametrize(
    "seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(2, 150))]
)
def test_an_honest_history_holds(database: str, tmp_path: Path, seed: int) -> None:
    """Ten thousand more are played by ``studies.scripts.honest_histories``."""
    with ExitStack() as stack:
        stores = [stack.enter_context(closing(Store.open(database))) for _ in range(2)]
        history = History(stores, seed, tmp_path)
        history.play(40)
        assert history.faults() == []
