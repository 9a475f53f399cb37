"""An honest history holds, whatever was done in it and whenever: the verifier convicts nobody."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.service.verification.histories import History


@pytest.mark.parametrize("seed", range(20))
def test_an_honest_history_holds(database: str, tmp_path: Path, seed: int) -> None:
    history = History(database, seed, tmp_path)
    try:
        history.play(60)
        assert history.faults() == []
    finally:
        history.close()
