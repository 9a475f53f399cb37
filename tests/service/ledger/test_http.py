"""Over HTTP: several processes, many clients, and a server that is killed and started again."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.service.conftest import long_on_postgresql

ROOT = Path(__file__).parents[3]

pytestmark = pytest.mark.timeout(900)


def load(url: str, **options: int) -> dict[str, Any]:
    given = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    done = subprocess.run(
        [sys.executable, str(ROOT / "studies/scripts/http_load.py"), "--url", url, *given],
        capture_output=True, text=True, timeout=800, check=False,
    )  # fmt: skip
    assert done.stdout, done.stderr
    figures: dict[str, Any] = json.loads(done.stdout)
    assert figures["failures"] == []
    assert figures["acknowledged_but_lost"] == 0
    assert not figures["lost_or_twice"]
    assert figures["replay_holds"], figures["differences"]
    return figures


@long_on_postgresql()
def test_two_processes_lose_and_double_nothing(database: str) -> None:
    assert load(database, processes=2, clients=6, rounds=24)["rounds"] == 24


@pytest.mark.long
def test_four_processes_and_32_clients_lose_nothing_over_http(postgres_url: str) -> None:
    figures = load(postgres_url, processes=4, clients=32, rounds=160)
    print(json.dumps(figures["milliseconds"]), figures["rounds_a_second"], "rounds a second")


@pytest.mark.long
@pytest.mark.parametrize(
    ("database", "turns"), [("sqlite", 0), ("postgresql", 1)], indirect=["database"]
)
def test_a_server_that_is_killed_under_load_loses_no_answer_that_it_gave(
    database: str, turns: int
) -> None:
    figures = load(database, processes=2, clients=8, rounds=140, kills=8, turns=turns)
    assert figures["kills"] == 8
