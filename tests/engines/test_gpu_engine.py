"""The GPU engine: its kernels, interpreted on the CPU, make the reference's draws, bit for bit.

What an interpreter does with numpy a GPU does with its units; that it does, ``python -m studies
benchmark gpu`` checks on one. PyTorch is not among the libraries that the tests install: without
it the kernels are not tested here, and what is left is that the engine gives way, and says so.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
needs_torch = pytest.mark.skipif(
    find_spec("torch") is None or find_spec("triton") is None,
    reason="PyTorch and Triton are not installed: pip install 'likewise[gpu]'",
)

LOAD = """
import sys, warnings
sys.modules.update(dict.fromkeys(sys.argv[1:]))
from likewise.learner.oracle import load_engine
with warnings.catch_warnings(record=True) as heard:
    warnings.simplefilter("always")
    for _ in range(2):
        engine = load_engine("gpu")
print(engine.__name__)
for one in heard:
    print(f"{one.category.__name__}: {one.message}")
"""


def python(program: str, *arguments: str, **environment: str) -> str:
    process = subprocess.run(
        [sys.executable, "-c", program, *arguments], cwd=ROOT,
        env={**os.environ, **environment}, capture_output=True, text=True, timeout=280,
        check=False,
    )  # fmt: skip
    assert process.returncode == 0, process.stderr
    return process.stdout


def test_without_its_library_the_compiled_engine_takes_over_and_says_so_once() -> None:
    assert python(LOAD, "torch").splitlines() == [
        "likewise.learner.compiled",
        "SlowEngine: The GPU engine needs torch. Install it with: pip install 'likewise[gpu]'. "
        "Until then the compiled engine makes the draws: the same ones, slower.",
    ]


def test_without_numba_either_it_is_the_reference_and_both_are_named() -> None:
    name, gpu, compiled = python(LOAD, "torch", "numba").splitlines()
    assert name == "likewise.learner.reference"
    assert "The GPU engine needs torch" in gpu
    assert "The compiled engine needs numba" in compiled


@needs_torch
def test_without_a_gpu_the_compiled_engine_takes_over_and_says_so_once() -> None:
    name, warning = python(LOAD, CUDA_VISIBLE_DEVICES="").splitlines()
    assert name == "likewise.learner.compiled"
    assert warning.startswith("SlowEngine: The GPU engine needs an NVIDIA GPU, and PyTorch ")
    assert warning.endswith("the compiled engine makes the draws: the same ones, slower.")


@pytest.fixture(scope="module")
def interpreted() -> dict[str, Any]:
    """All that the kernels computed, in one process: only there are they interpreted."""
    program = "from tests.engines.interpreted import results\nprint(results())"
    results: dict[str, Any] = json.loads(python(program).splitlines()[-1])
    return results


@needs_torch
def test_draws_from_lists_are_the_references(interpreted: dict[str, Any]) -> None:
    """Few and many points, ties, copies, noise of any size, costs up to the largest accepted."""
    assert interpreted["draws"]["checked"] >= 8
    assert interpreted["draws"]["wrong"] == []


@needs_torch
def test_the_engine_draws_by_name_and_leaves_other_classes_to_the_compiled_one(
    interpreted: dict[str, Any],
) -> None:
    assert interpreted["engine"] == {
        "name": "likewise.learner.gpu", "list": True, "staircases": True, "threads": True
    }  # fmt: skip


@needs_torch
@pytest.mark.parametrize("row", ["gpu-draws", "gpu-draws-of-a-short-list"])
def test_the_benchmarks_draws_are_right(interpreted: dict[str, Any], row: str) -> None:
    details = interpreted["benchmark"][row]["details"]
    assert (details["choices_checked"], details["choices_wrong"]) == (40, 0)
    assert (
        details["reference_choices_checked"],
        details["reference_choices_wrong"],
    ) == (40, 0)


@needs_torch
def test_the_benchmark_names_the_device(interpreted: dict[str, Any]) -> None:
    assert interpreted["name"] == "none: kernels are interpreted on the CPU"
