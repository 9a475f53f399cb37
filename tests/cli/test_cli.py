"""The command line: what it prints, how fast it starts, and how it says no."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from likewise.cli.main import main
from likewise.cli.play import RULES
from likewise.learner import load_state
from likewise.registry import SELECTIONS
from likewise.simulate import WORLDS, Loans
from likewise.simulate.demo import SHOWN
from likewise.simulate.learners import learner_names
from tests.files_of_people import HERE

KEYS = {
    "rounds", "k", "hypotheses", "separators", "error_rate", "comparator_error_rate", "regret",
    "violations", "reports", "oracle_calls", "bounds", "seconds",
}  # fmt: skip


def run(*args: str) -> Any:
    return CliRunner().invoke(main, list(args))


def simulate(*args: str) -> dict[str, Any]:
    result = run("simulate", "--out", "-", "--rounds", "20", *args)
    assert result.exit_code == 0, result.output
    data: dict[str, Any] = json.loads(result.stdout)
    return data


@pytest.mark.parametrize("learner", learner_names())
def test_simulate_prints_one_json_object_for_every_learner(learner: str) -> None:
    where = {
        "gillen": ("--world", "linear", "--feedback", "one-sided"),
        "bechavod-roth": ("--feedback", "one-sided"),
        "exp2": ("--feedback", "one-sided"),
    }
    data = simulate("--learner", learner, "--seed", "3", *where.get(learner, ()))
    assert data.keys() >= KEYS
    assert (data["rounds"], data["learner"]) == (20, learner)


@pytest.mark.parametrize("world", HERE)
def test_every_world_can_be_simulated(world: str) -> None:
    assert simulate("--world", world)["world"] == world


@pytest.mark.parametrize("name", ["segments", "segments-large", "pool", "trees"])
def test_every_class_of_loans_can_be_simulated(name: str) -> None:
    assert simulate("--hypotheses", name)["hypotheses"] == Loans(1).hypotheses(name).size


def test_the_same_seed_prints_the_same_counts() -> None:
    one, two = (simulate("--learner", "self-tuned", "--seed", "5") for _ in range(2))
    assert {k: v for k, v in one.items() if k != "seconds"} == {
        k: v for k, v in two.items() if k != "seconds"
    }


@pytest.mark.parametrize("rule", [text for text, _ in RULES])
def test_every_rule_that_is_listed_can_be_used(rule: str) -> None:
    assert simulate("--set", f"rule={rule}", "--no-comparator", "--rounds", "4")["rounds"] == 4


def test_a_trace_and_a_state_can_be_kept(tmp_path: Path) -> None:
    simulate("--out", str(tmp_path / "t.csv"), "--out", str(tmp_path / "s.state"))
    assert len((tmp_path / "t.csv").read_text().splitlines()) == 21
    assert load_state(tmp_path / "s.state").opened == 20


def test_json_can_go_to_a_file(tmp_path: Path) -> None:
    result = run("simulate", "--rounds", "10", "--out", str(tmp_path / "o.json"))
    assert result.exit_code == 0
    assert json.loads((tmp_path / "o.json").read_text())["rounds"] == 10


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--alpha", "0"], "alpha must be in (0, 1]; got 0.0."),
        (["--eps", "0.5"], "eps must be in (0, alpha]"),
        (["--with", "kappa=0.4"], "kappa must be in [0, eps)"),
        (["--learner", "self-tuned", "--with", "r=0.25"], "r must be in [0, eps − kappa)"),
        (["--with", "eta=0"], "eta must be a positive number"),
        (["--set", "rule=veto(nobody)"], "nobody"),
        (["--set", "rule=at_least(0)"], "must be at least 1"),
        (["--set", "rule=any or"], "expected"),
        (["--hypotheses", "forest"], "hypotheses must be one of"),
        (["--learner", "paper", "--with", "b=0.5"], "b must be in [0, 1/4]"),
    ],
)
def test_bad_input_gets_a_sentence_and_no_traceback(args: list[str], message: str) -> None:
    result = run("simulate", "--rounds", "10", *args)
    assert result.exit_code == 1
    assert message in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ("simulate --rounds 0", "'--rounds': 0 is not in the range x>=1"),
        ("demo --rounds 7", "'--rounds': 7 is not in the range x>=8"),
        ("simulate --with dual", "'dual' is not of the form NAME=VALUE"),
        ("simulate --with eta=1 --with eta=2", "The setting eta is given twice"),
    ],
)
def test_what_does_not_fit_is_refused_at_once(args: str, message: str) -> None:
    result = run(*args.split())
    assert result.exit_code == 2
    assert message in result.stderr


@pytest.mark.parametrize(
    ("learner", "setting"),
    [("paper", "eta=0.1"), ("constant", "x=1"), ("untaught", "kappa=0.1"), ("exact", "b=0.1")],
)
def test_a_setting_of_another_learner_is_refused(learner: str, setting: str) -> None:
    result = run("simulate", "--learner", learner, "--with", setting)
    assert result.exit_code == 1
    assert f"A setting of the learner {learner} must be one of its own" in result.stderr


def test_a_file_that_could_not_be_written_is_refused_before_the_game(tmp_path: Path) -> None:
    folder = tmp_path / "missing"
    for name, says in (("a.csv", f"there is no folder {folder}"), ("a.txt", "must end in .json")):
        result = run("simulate", "--rounds", "1000000000", "--out", str(folder / name))
        assert result.exit_code == 2
        assert says in result.stderr


def test_a_report_in_a_missing_folder_is_refused_before_the_demo(tmp_path: Path) -> None:
    result = run("demo", "--rounds", "1000000000", "--out", str(tmp_path / "missing" / "demo.html"))
    assert result.exit_code == 2
    assert "there is no folder" in result.stderr


def test_any_setting_of_a_learner_can_be_given() -> None:
    found = simulate("--learner", "exact", "--with", "dual=additive", "--with", "prior=flat")
    assert found["rounds"] == 20
    refused = run("simulate", "--with", "duel=additive")
    assert refused.exit_code == 1
    assert "A setting of the learner auto must be one of its own" in refused.stderr


def test_the_three_comparators_and_the_certificate_are_printed() -> None:
    data = simulate("--learner", "exact")
    fixed = data["comparators"]
    assert fixed["at_alpha_less_eps"] >= fixed["at_alpha_less_kappa"] >= fixed["at_alpha"]
    assert data["comparator_error_rate"] == fixed["at_alpha_less_eps"]
    assert data["certificate"]["regret"] >= data["regret"]
    said = run("simulate", "--rounds", "20").stdout
    assert "best fixed" in said
    assert "certificate" in said


def test_a_policy_that_is_near_constant_is_pointed_out() -> None:
    """A panel that objects to the slightest difference, and a learner that weighs nothing else."""
    args = ("--set", "leniency=0.01", "--set", "rule=any", "--alpha", "0.02", "--with", "eta=0.01")
    result = run("simulate", "--rounds", "60", "--out", "-", *args)
    assert "The policy is near constant" in json.loads(result.stdout)["near_constant"]
    assert "Note: The policy is near constant" in result.stderr
    assert simulate("--learner", "exact")["near_constant"] is None


@pytest.mark.parametrize(("rule", "said"), [("at_least(6)", True), ("at_least(5)", False)])
def test_a_rule_that_can_never_fire_is_pointed_out(rule: str, said: bool) -> None:
    result = run(
        "simulate", "--rounds", "2", "--set", f"rule={rule}", "--out", "-", "--no-comparator"
    )
    assert json.loads(result.stdout)["reports"] == 0
    assert ("can never fire on a panel of 5" in result.stderr) == said


def test_list_names_everything() -> None:
    listed = run("list").stdout
    assert all(name in listed for name in (*learner_names(), *WORLDS, *SELECTIONS))
    assert all(text in listed for text, _ in RULES)


@pytest.mark.parametrize("selection", SELECTIONS)
def test_every_selection_that_is_listed_can_be_used(selection: str) -> None:
    assert simulate("--selection", selection, "--no-comparator")["rounds"] == 20


def test_every_option_says_what_it_is_for() -> None:
    for command in main.commands.values():
        options = [p for p in command.params if isinstance(p, click.Option)]
        assert [p.name for p in options if not p.help] == []


def test_help_is_there_at_once() -> None:
    """Start-up under 0.3 s of processor time: the machine is shared, and its clock is not ours."""
    times = []
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [sys.executable, "-m", "likewise", "--help"]
        subprocess.run(command, capture_output=True, check=True, timeout=60)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert min(times) < 0.3


def test_help_imports_no_heavy_library() -> None:
    program = (
        "import sys; import likewise.cli;"
        "sys.exit(bool({'numpy', 'scipy', 'numba', 'matplotlib', 'rich'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False, timeout=60).returncode == 0


def test_no_progress_bar_where_there_is_no_terminal() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "likewise", "simulate", "--rounds", "10", "--no-comparator"],
        capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    assert done.stderr == ""


@pytest.mark.parametrize("arguments", [("propose", "--help"), ("simulate", "--rounds", "2")])
def test_a_pipe_gets_utf_8_whatever_the_machine_writes_by_default(arguments: Any) -> None:
    """A pipe of Windows has cp1252, which lacks the minus sign and ≤; our files are UTF-8."""
    done = subprocess.run(
        [sys.executable, "-m", "likewise", *arguments],
        env={**os.environ, "PYTHONIOENCODING": "cp1252"},
        capture_output=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr.decode()
    assert any(sign in done.stdout.decode("utf-8") for sign in "−≤")


def test_a_full_disk_is_a_sentence() -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "likewise", "list"],
            stdout=full, stderr=subprocess.PIPE, text=True, check=False, timeout=120,
        )  # fmt: skip
    assert (done.returncode, done.stderr) == (1, "Error: No space left on device.\n")


def test_a_progress_bar_on_a_terminal_even_when_json_goes_to_standard_output() -> None:
    shown, other = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "likewise", "simulate", "--rounds", "100", "--no-comparator",
         "--out", "-"],
        stdout=subprocess.PIPE, stderr=other, env={**os.environ, "TERM": "xterm"},
    )  # fmt: skip
    os.close(other)
    seen = b""
    with open(shown, "rb", buffering=0) as terminal, contextlib.suppress(OSError):
        while chunk := terminal.read(4096):  # ends with an error once nobody writes any more
            seen += chunk
    assert json.loads(process.communicate(timeout=120)[0])["rounds"] == 100
    assert b"/100" in seen


def test_a_demo_prints_a_table_and_writes_one_file(tmp_path: Path) -> None:
    out = tmp_path / "demo.html"
    result = run("demo", "--rounds", "30", "--out", str(out))
    assert result.exit_code == 0, result.output
    assert all(name in result.stdout for name in SHOWN)
    assert "alpha = 0.3, eps = 0.3." in result.stdout
    first, *table, last = result.stdout.splitlines()
    assert "30 rounds" in first
    assert max(map(len, table)) <= 80
    assert last == out.resolve().as_uri(), "the address of the page ends it"
    assert "//" not in out.read_text().replace("<!--", "")
