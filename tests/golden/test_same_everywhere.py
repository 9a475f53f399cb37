"""The same seed takes the same decisions under other BLAS kernels and other CPU features."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

HERE = Path(__file__).parent
GOLDEN = HERE / "traces.json"

BUILD = np._core._multiarray_umath  # type: ignore[attr-defined]
# Every feature that this numpy may dispatch on beyond its baseline.
FEATURES = " ".join(BUILD.__cpu_dispatch__)
OLD_KERNEL = {"OPENBLAS_CORETYPE": "Nehalem", "OPENBLAS_NUM_THREADS": "1"}
NEW_KERNEL = {"OPENBLAS_CORETYPE": "Haswell", "OPENBLAS_NUM_THREADS": "2"}
NO_VECTORS = {"NPY_DISABLE_CPU_FEATURES": FEATURES}
GENERIC = {"NUMBA_CPU_NAME": "generic"}
SETTINGS: dict[str, dict[str, str]] = {
    "as it is": {},
    "an old BLAS kernel, one thread": OLD_KERNEL,
    "another BLAS kernel, two threads": NEW_KERNEL,
    "numpy without vector extensions": NO_VECTORS,
    "numba for a generic processor": GENERIC,
}


def skip_unless_it_can_run(settings: dict[str, str]) -> None:
    """A BLAS kernel can be chosen on x86 alone; Haswell's needs a processor that has AVX2."""
    if "OPENBLAS_CORETYPE" not in settings:
        return
    if platform.machine().lower() not in ("x86_64", "amd64"):
        pytest.skip(f"no BLAS kernels of x86 on {platform.machine()}")
    if settings["OPENBLAS_CORETYPE"] == "Haswell" and not BUILD.__cpu_features__.get("AVX2"):
        pytest.skip("this processor has no AVX2, which Haswell's kernel needs")


def python(settings: dict[str, str], *arguments: str, cache: Path) -> Any:
    """What a new process with these settings prints, from JSON."""
    root = str(Path(__file__).parents[2])  # where the studies are
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache), "PYTHONPATH": root, **settings}
    command = [sys.executable, "-W", "ignore", *arguments]
    process = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=280, check=False
    )
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout)


def machine(settings: dict[str, str], cache: Path) -> dict[str, Any]:
    """The machine as a new process with these settings sees it."""
    program = (
        f"import sys; sys.path.insert(0, {str(HERE)!r}); import json, trace as t;"
        "print(json.dumps(t.machine()))"
    )
    facts: dict[str, Any] = python(settings, "-c", program, cache=cache)
    return facts


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("numba")


@pytest.mark.parametrize("name", SETTINGS)
def test_the_recorded_decisions_are_taken(name: str, cache: Path) -> None:
    skip_unless_it_can_run(SETTINGS[name])
    games = python(SETTINGS[name], str(HERE / "trace.py"), cache=cache)["games"]
    assert games == json.loads(GOLDEN.read_text())


# The test above compares a machine with itself unless the settings take effect. Of the two BLAS
# kernels at least one is not the machine's own.


@pytest.mark.parametrize("settings", [OLD_KERNEL, NEW_KERNEL], ids=["Nehalem", "Haswell"])
def test_the_blas_kernel_is_the_one_that_was_asked_for(
    settings: dict[str, str], cache: Path
) -> None:
    skip_unless_it_can_run(settings)
    subprocess_machine = machine(settings, cache)
    if subprocess_machine["blas"] != ["openblas"]:
        pytest.skip(
            f"numpy is built on {subprocess_machine['blas']}, whose kernels cannot be chosen"
        )
    assert subprocess_machine["kernels"] == [settings["OPENBLAS_CORETYPE"]]
    threads, most = int(settings["OPENBLAS_NUM_THREADS"]), max(machine({}, cache)["threads"])
    assert subprocess_machine["threads"] == [min(threads, most)]


def test_no_vector_extension_is_left_to_numpy(cache: Path) -> None:
    if not machine({}, cache)["dispatch"]:
        pytest.skip("this processor has none beyond numpy's baseline")
    assert machine(NO_VECTORS, cache)["dispatch"] == []


def test_numba_compiles_for_a_generic_processor(cache: Path) -> None:
    assert machine({}, cache)["numba"] != "generic" == machine(GENERIC, cache)["numba"]
