"""Settings for all tests: hypothesis is deterministic, and never times a single example."""

import math
from pathlib import Path

import pytest
from hypothesis import settings

from likewise.learner.oracle import WORKLOAD

settings.register_profile("likewise", derandomize=True, deadline=None)
settings.load_profile("likewise")


@pytest.fixture
def kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """The compiled engine from the first draw on, however little there is to compute."""
    monkeypatch.setattr(WORKLOAD, "seconds", math.inf)


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Where doctests are collected as well: what is beside the tests is helpers, not examples."""
    name = collection_path.name
    return True if name.endswith(".py") and not name.startswith("test_") else None
