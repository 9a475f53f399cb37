"""Mutants: one wrong line at a time, and whether the tests that should notice do.

    python -m studies.scripts.mutants

Each mutant of ``mutants.toml`` is a text of a module and what it becomes; a process of
its own imports that module so changed, and runs tests until one fails, those named beside it first.
Rows are stored as they come; a mutant that is stored is not run again.
"""

import importlib.abc
import importlib.util
import json
import os
import sys
import tomllib
from collections.abc import Iterator, Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import numba  # noqa: F401 - imported once, before the processes are forked
import pytest
import scipy.optimize  # noqa: F401

ROOT = Path(__file__).parents[2]
ROWS = ROOT / "studies/results/mutants.json"
LIKEWISE = ROOT / "packages/likewise/src/likewise"
# Run after the tests that a mutant names.
ALL = ("learner", "paper", "panel")


class Mutant(NamedTuple):
    """A text of a module, which is there once, what it becomes, and the tests that should fail."""

    module: str
    text: str
    becomes: str
    tests: str

    @property
    def path(self) -> Path:
        return LIKEWISE / f"{self.module.replace('.', '/')}.py"

    @property
    def source(self) -> str:
        source = self.path.read_text(encoding="utf-8")
        if source.count(self.text) != 1:
            raise ValueError(f"{self.module}: {self.text!r} is not there once.")
        return source.replace(self.text, self.becomes)

    @property
    def title(self) -> str:
        return f"{self.path.stem}: {self.text.strip()} → {self.becomes.strip()}"


def _mutants() -> Iterator[Mutant]:
    listed = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    for module, changes in listed.items():
        for tests, some in changes.items():
            for text, becomes in some.items():
                yield Mutant(module, text, becomes, tests)


class Changed(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports one module from another source."""

    def __init__(self, mutant: Mutant) -> None:
        self.name, self.source = f"likewise.{mutant.module}", mutant.source
        self.path = str(mutant.path)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        del path, target
        if fullname != self.name:
            return None
        return importlib.util.spec_from_loader(fullname, self, origin=self.path)

    def exec_module(self, module: ModuleType) -> None:
        exec(compile(self.source, self.path, "exec"), vars(module))


def killed(mutant: Mutant) -> str | None:
    """The first test that fails with the mutant, or None; a process of its own runs them."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        sys.meta_path.insert(0, Changed(mutant))
        first = FirstFailure()
        options = ["-x", "-q", "-n", "0", "-p", "no:cacheprovider", "-m", "not long"]
        for names in ((mutant.tests,), ALL):
            tests = [str(ROOT / "tests" / name) for name in names]
            if code := pytest.main([*options, *tests], plugins=[first]):
                break
        os.write(writer, (first.name or ("" if code == 0 else f"exit {int(code)}")).encode())
        os._exit(0)
    os.close(writer)
    os.waitpid(child, 0)
    name = os.read(reader, 10_000).decode()
    os.close(reader)
    return name or None


class FirstFailure:
    """Keeps the name of the first test that fails."""

    name = ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and not self.name:
            self.name = report.nodeid

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed and not self.name:
            self.name = f"{report.nodeid} cannot be imported"


def main() -> None:
    """Run the mutants that are not stored, and print which are alive."""
    rows = json.loads(ROWS.read_text(encoding="utf-8"))
    mutants = list(_mutants())
    for mutant in mutants:
        _ = mutant.source  # all are there before the first is run
    for mutant in mutants:
        if mutant.title not in rows:
            rows[mutant.title] = {"killed": killed(mutant)}
            ROWS.write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    alive = [mutant.title for mutant in mutants if rows[mutant.title]["killed"] is None]
    print(f"{len(mutants) - len(alive)} of {len(mutants)} killed. Alive:", *alive, sep="\n")


if __name__ == "__main__":
    main()
