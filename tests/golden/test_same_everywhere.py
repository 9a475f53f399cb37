"""The same seed takes the same decisions under other BLAS kernels and other CPU features."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
GOLDEN = HERE / "traces.json"

# Every feature that numpy may dispatch on beyond its baseline; it ignores those it does not know.
FEATURES = "X86_V3 X86_V4 AVX512_ICL AVX512_SPR"
SETTINGS: dict[str, dict[str, str]] = {
    "as it is": {},
    "an old BLAS kernel, one thread": {
        "OPENBLAS_CORETYPE": "Nehalem",
        "OPENBLAS_NUM_THREADS": "1",
    },
    "another BLAS kernel, two threads": {
        "OPENBLAS_CORETYPE": "Haswell",
        "OPENBLAS_NUM_THREADS": "2",
    },
    "numpy without vector extensions": {"NPY_DISABLE_CPU_FEATURES": FEATURES},
    "numba for a generic processor": {"NUMBA_CPU_NAME": "generic"},
}


def run(settings: dict[str, str], cache: Path) -> dict[str, Any]:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache), **settings}
    command = [sys.executable, "-W", "ignore", str(HERE / "trace.py")]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=280, check=False
    )
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("numba")


@pytest.mark.parametrize("name", SETTINGS)
def test_the_recorded_decisions_are_taken(name: str, cache: Path) -> None:
    assert run(SETTINGS[name], cache)["games"] == json.loads(GOLDEN.read_text())


def test_the_settings_do_change_the_machine(cache: Path) -> None:
    """Otherwise the test above would compare a machine with itself."""
    program = (
        f"import sys; sys.path.insert(0, {str(HERE)!r}); import json, trace as t;"
        "print(json.dumps(t.machine()))"
    )
    seen = set()
    for settings in SETTINGS.values():
        environment = {**os.environ, **settings}
        command = [sys.executable, "-W", "ignore", "-c", program]
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=60, check=True
        )
        seen.add(done.stdout)
    assert len(seen) == len(SETTINGS)
