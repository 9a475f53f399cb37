"""Settings for all tests: hypothesis is deterministic, and never times a single example."""

import math

import pytest
from hypothesis import settings

from likewise.learner.oracle import WORKLOAD

settings.register_profile("likewise", derandomize=True, deadline=None)
settings.load_profile("likewise")


@pytest.fixture
def kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """The compiled engine from the first draw on, however little there is to compute."""
    monkeypatch.setattr(WORKLOAD, "seconds", math.inf)
