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
# One process may have several of them: the decisions are the same only if none changes anything.
SETTINGS: dict[str, dict[str, str]] = {
    "as it is": {},
    "an old BLAS kernel, one thread; numpy without vector extensions": OLD_KERNEL | NO_VECTORS,
    "another BLAS kernel, two threads": NEW_KERNEL,
    "numba for a generic processor": GENERIC,
}
# `make test` plays them as they are and with the settings that are furthest from that.
NAMES = [
    *list(SETTINGS)[:2],
    *(pytest.param(n, marks=pytest.mark.long) for n in list(SETTINGS)[2:]),
]


def possible(settings: dict[str, str]) -> dict[str, str]:
    """A BLAS kernel can be chosen on x86 alone; Haswell's needs a processor that has AVX2."""
    kernel = settings.get("OPENBLAS_CORETYPE")
    without = {name: value for name, value in settings.items() if "OPENBLAS" not in name}
    reason = ""
    if kernel and platform.machine().lower() not in ("x86_64", "amd64"):
        reason = f"no BLAS kernels of x86 on {platform.machine()}"
    if kernel == "Haswell" and not BUILD.__cpu_features__.get("AVX2"):
        reason = "this processor has no AVX2, which Haswell's kernel needs"
    if reason and not without:
        pytest.skip(reason)
    return without if reason else settings


def python(settings: dict[str, str], *arguments: str) -> dict[str, Any]:
    """What a new process with these settings prints, from JSON.

    Kernels come from where every process keeps them: numba tells its targets apart by itself.
    """
    root = str(Path(__file__).parents[2])  # where the studies are
    path = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
    command = [sys.executable, "-W", "ignore", str(HERE / "trace.py"), *arguments]
    # A number of threads that another test has set for this process is none of the settings.
    inherited = {name: value for name, value in os.environ.items() if "NUM_THREADS" not in name}
    process = subprocess.run(
        command, env={**inherited, "PYTHONPATH": path, **settings},
        capture_output=True, text=True, timeout=280, check=False,
    )  # fmt: skip
    assert process.returncode == 0, process.stderr
    printed: dict[str, Any] = json.loads(process.stdout)
    return printed


@pytest.fixture(scope="module")
def usual() -> Any:
    """The machine as a new process sees it that has no settings."""
    return python({}, "--machine")["machine"]


@pytest.mark.parametrize("name", NAMES)
def test_the_recorded_decisions_are_taken(name: str, usual: dict[str, Any]) -> None:
    settings = possible(SETTINGS[name])
    printed = python(settings)
    assert printed["games"] == json.loads(GOLDEN.read_text())
    took_effect(settings, printed["machine"], usual)


def took_effect(settings: dict[str, str], machine: dict[str, Any], usual: dict[str, Any]) -> None:
    """Check the settings: without effect a machine would have been compared with itself.

    Of the two BLAS kernels at least one is not the machine's own.
    """
    if "NPY_DISABLE_CPU_FEATURES" in settings:
        assert machine["dispatch"] == []
    if "NUMBA_CPU_NAME" in settings:
        assert usual["numba"] != "generic" == machine["numba"]
    if "OPENBLAS_CORETYPE" in settings:
        if machine["blas"] != ["openblas"]:
            pytest.skip(f"numpy is built on {machine['blas']}, whose kernels cannot be chosen")
        assert machine["kernels"] == [settings["OPENBLAS_CORETYPE"]]
        threads = int(settings["OPENBLAS_NUM_THREADS"])
        assert machine["threads"] == [min(threads, max(usual["threads"]))]
    if "NPY_DISABLE_CPU_FEATURES" in settings and not usual["dispatch"]:
        pytest.skip("this processor has no vector extensions beyond numpy's baseline")
