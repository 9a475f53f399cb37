"""Compiled code is kept, found again at the next start, and never out of date."""

from __future__ import annotations

import ast
import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ENGINE = ROOT / "packages/likewise/src/likewise/learner/compiled"
MODULES = sorted(ENGINE.rglob("*.py"))

# Draws of so many kinds; then how many functions were compiled, and how many were found on disk.
DRAW = """
import sys
sys.path.insert(0, sys.argv[1])
from tests.engines import test_workers as t
from likewise.learner.compiled import cells, lists, noise

for h, points in list(t.classes())[: int(sys.argv[2])]:
    for scale in (1.0, 1e-7):
        some = t.Noise(t.NOISE.stream, scale)
        t.compiled.approvals(h, h.no_costs(), some, points, range(500))
found = compiled = 0
for module in (cells, lists, noise):
    for name, value in vars(module).items():
        if hasattr(value, "py_func"):
            found += sum(value.stats.cache_hits.values())
            compiled += sum(value.stats.cache_misses.values())
print(found, compiled)
"""


def start(kinds: int = 100, **environment: str) -> subprocess.CompletedProcess[str]:
    process = subprocess.run(
        [sys.executable, "-c", DRAW, str(ROOT), str(kinds)], env={**os.environ, **environment},
        capture_output=True, text=True, timeout=280, check=False,
    )  # fmt: skip
    assert process.returncode == 0, process.stderr
    return process


@pytest.mark.long
def test_the_second_start_compiles_nothing(tmp_path: Path) -> None:
    _, compiled = map(int, start(NUMBA_CACHE_DIR=str(tmp_path)).stdout.split())
    assert compiled > 5
    loaded, compiled = map(int, start(NUMBA_CACHE_DIR=str(tmp_path)).stdout.split())
    assert compiled == 0
    assert loaded > 5


@pytest.mark.long
def test_a_package_that_cannot_be_written_keeps_its_code_in_the_users_folder(
    tmp_path: Path,
) -> None:
    """As for a package that root installed: the folder beside the source is not to be had."""
    user = {"NUMBA_CACHE_LOCATOR_CLASSES": "UserWideCacheLocator", "XDG_CACHE_HOME": str(tmp_path)}
    start(1, **user)
    assert list(tmp_path.rglob("*.nbc"))
    assert start(1, **user).stdout.split()[1] == "0"


@pytest.mark.long
def test_where_nothing_can_be_written_it_says_so_once_and_works() -> None:
    nowhere = {"NUMBA_CACHE_LOCATOR_CLASSES": "UserProvidedCacheLocator", "NUMBA_CACHE_DIR": ""}
    process = start(1, **nowhere)
    assert process.stderr.count("SlowEngine: Compiled code cannot be kept") == 1
    assert "NUMBA_CACHE_DIR" in process.stderr


# numba's index of compiled functions knows the file that a function stands in, and no other.


def decorated(module: Path) -> list[ast.FunctionDef]:
    return [
        node
        for node in ast.walk(ast.parse(module.read_text()))
        if isinstance(node, ast.FunctionDef)
        and any(isinstance(d, ast.Name) and d.id == "compiled" for d in node.decorator_list)
    ]


def calls(function: ast.FunctionDef) -> set[str]:
    """The names of functions that are called, and of the modules that they are called from."""
    functions = [node.func for node in ast.walk(function) if isinstance(node, ast.Call)]
    homes = [f.value if isinstance(f, ast.Attribute) else f for f in functions]
    return {home.id for home in homes if isinstance(home, ast.Name)}


def origins(module: Path) -> dict[str, str]:
    """The module of this engine that each imported name is from, or that it names."""
    package = "likewise.learner.compiled"
    return {
        alias.asname or alias.name: (node.module or "")[len(package) + 1 :] or alias.name
        for node in ast.walk(ast.parse(module.read_text()))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(package)
        for alias in node.names
    }


def built_in(module: Path) -> dict[str, str]:
    """The files that a file says it builds in, with their digests."""
    for node in ast.parse(module.read_text()).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "BUILT_IN":
            digests: dict[str, str] = ast.literal_eval(node.value)
            return digests
    return {}


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.name)
def test_compiled_functions_build_in_what_their_file_names_and_no_more(module: Path) -> None:
    origin = origins(module)
    called = {name for function in decorated(module) for name in calls(function)}
    assert {origin[name] for name in called & set(origin)} == set(built_in(module))


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.name)
def test_a_file_changes_when_what_it_builds_in_does(module: Path) -> None:
    for name, digest in built_in(module).items():
        now = hashlib.sha256(next(ENGINE.rglob(f"{name}.py")).read_bytes()).hexdigest()[:16]
        assert digest == now, (
            f"{name}.py has changed. Write {now} into BUILT_IN of {module.name}, so that what was "
            f"compiled with the old one is not used."
        )


def test_there_are_compiled_functions_to_check() -> None:
    assert sum(len(decorated(module)) for module in MODULES) >= 10
