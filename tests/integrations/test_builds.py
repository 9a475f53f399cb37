"""A build fails when an audit gets worse: the option, the action and the hook."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]
from click.testing import CliRunner, Result

from likewise.cli import main

ROOT = Path(__file__).parents[2]
PANEL = """rule = "any"
[[auditors]]
name = "banker"
distance = { metric = "weighted-l1", weights = { income = 1.0 } }
"""
# Of the pairs none, one and two are reported at alpha = 0.2.
SCORES = {
    "fair": (0.5, 0.5, 0.5, 0.9),
    "worse": (0.2, 0.5, 0.35, 0.9),
    "worst": (0.2, 0.9, 0.9, 0.9),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "panel.toml").write_text(PANEL)
    for name, scores in SCORES.items():
        rows = zip(("ann", "bo", "cy", "di"), (50, 52, 53, 90), scores, strict=True)
        lines = ["person,income,score", *(f"{i},{income},{score}" for i, income, score in rows)]
        (tmp_path / f"{name}.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(
        main, ["audit", *arguments, "--ids", "person", "--panel", "panel.toml"]
    )


@pytest.mark.parametrize(
    ("before", "after", "status"),
    [("worse", "worse", 0), ("worse", "fair", 0), ("fair", "worse", 3), ("worse", "worst", 3)],
)
def test_the_status_is_3_exactly_if_more_pairs_are_reported(
    folder: Path, before: str, after: str, status: int
) -> None:
    assert run(f"{before}.csv", "--out", "before.json").exit_code == 0
    result = run(f"{after}.csv", "--before", "before.json", "--no-worse")
    assert result.exit_code == status, result.output
    assert ("more pairs are reported than before" in result.output) is (status == 3)
    assert run(f"{after}.csv", "--before", "before.json").exit_code == 0, "without it nothing fails"


def test_without_an_earlier_audit_there_is_nothing_to_compare(folder: Path) -> None:
    result = run("fair.csv", "--no-worse")
    assert result.exit_code == 2
    assert "--no-worse needs --before" in result.output


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
@pytest.mark.parametrize(("after", "status"), [("worse", 0), ("worst", 3)])
def test_the_steps_of_the_action_run(folder: Path, after: str, status: int) -> None:
    """All but the installation; GitHub itself was not there."""
    action: Any = yaml.safe_load((ROOT / "action.yml").read_text())
    install, step = action["runs"]["steps"]
    assert "pip install" in install["run"]
    assert run("worse.csv", "--out", "before.json").exit_code == 0
    inputs = {"scores": f"{after}.csv", "panel": "panel.toml", "before": "before.json",
              "options": "--ids person --alpha 0.2"}  # fmt: skip
    names = {key: re.sub(r"\$\{\{ inputs\.(\w+) \}\}", lambda m: inputs[m[1]], value)
             for key, value in step["env"].items()}  # fmt: skip
    command = folder / "bin" / "likewise"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m likewise "$@"\n')
    command.chmod(0o755)
    environment = {**os.environ, **names, "GITHUB_OUTPUT": str(folder / "outputs"),
                   "PATH": f"{command.parent}:{os.environ['PATH']}"}  # fmt: skip
    done = subprocess.run(["bash", "-eo", "pipefail", "-c", step["run"]], env=environment,
                          capture_output=True, text=True, timeout=120, check=False)  # fmt: skip
    assert done.returncode == status, done.stderr
    assert (folder / "audit.html").exists()
    assert (folder / "outputs").read_text() == "audit=audit.json\npage=audit.html\n"
    assert set(inputs) | {"likewise"} == set(action["inputs"])


@pytest.mark.long
def test_the_hook_fails_a_commit_that_makes_it_worse(folder: Path) -> None:
    pytest.importorskip("pre_commit", reason="pre-commit is not installed")
    assert run("worse.csv", "--out", "before.json").exit_code == 0
    shutil.copy("worse.csv", "scores.csv")
    hooks, here = folder / "hooks", folder / "here"
    hooks.mkdir()
    here.mkdir()
    shutil.copy(ROOT / ".pre-commit-hooks.yaml", hooks)
    (folder / "bin").mkdir()
    (folder / "bin" / "likewise").write_text(f'#!/bin/sh\nexec {sys.executable} -m likewise "$@"\n')
    (folder / "bin" / "likewise").chmod(0o755)
    environment = {**os.environ, "PATH": f"{folder / 'bin'}:{os.environ['PATH']}"}

    def git(*words: str, at: Path = here) -> str:
        who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        done = subprocess.run(["git", *who, *words], cwd=at, env=environment, capture_output=True,
                              text=True, timeout=120, check=True)  # fmt: skip
        return done.stdout.strip()

    git("init", "-q", at=hooks)
    git("add", ".", at=hooks)
    git("commit", "-qm", "hooks", at=hooks)
    git("init", "-q")
    for name in ("panel.toml", "before.json"):
        shutil.copy(folder / name, here)
    arguments = (
        "[scores.csv, --panel, panel.toml, --ids, person, --before, before.json, --no-worse]"
    )
    (here / ".pre-commit-config.yaml").write_text(
        f"repos:\n- repo: {hooks}\n  rev: {git('rev-parse', 'HEAD', at=hooks)}\n  hooks:\n"
        f"  - id: likewise-audit\n    args: {arguments}\n"
    )
    statuses = []
    for name in ("worse", "worst"):
        shutil.copy(folder / f"{name}.csv", here / "scores.csv")
        git("add", ".")
        command = [sys.executable, "-m", "pre_commit", "run"]
        done = subprocess.run(command, cwd=here, env=environment, capture_output=True, text=True,
                              timeout=240, check=False)  # fmt: skip
        statuses.append(done.returncode)
    assert statuses == [0, 1], done.stdout
