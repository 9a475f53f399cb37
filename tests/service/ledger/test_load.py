"""Several processes serve one docket: nothing is lost, nothing is there twice."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.service.conftest import long_on_postgresql

SCRIPT = Path(__file__).parents[3] / "studies/scripts/ledger_load.py"


def _load(url: str, processes: int, clients: int, rounds: int) -> dict[str, Any]:
    asked = {"--url": url, "--processes": processes, "--clients": clients, "--rounds": rounds}
    words = [str(word) for pair in asked.items() for word in pair]
    done = subprocess.run(
        [sys.executable, str(SCRIPT), *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    print(done.stdout)
    figures: dict[str, Any] = json.loads(done.stdout)
    return figures


@long_on_postgresql()
def test_two_processes_lose_and_double_nothing(database: str) -> None:
    figures = _load(database, 2, 6, 24)
    assert figures["rounds"] == 24
    assert not figures["failures"]
    assert not figures["lost_or_twice"]
    assert figures["replay_holds"]


@pytest.mark.long
@pytest.mark.timeout(600)
def test_four_processes_and_32_clients_lose_nothing_in_2000_rounds(postgres_url: str) -> None:
    figures = _load(postgres_url, 4, 32, 2000)
    assert figures["rounds"] == 2000
    assert not figures["failures"]
    assert not figures["lost_or_twice"]
    assert figures["replay_holds"]
