"""Sweeps: read from TOML, resumed after anything, the same for any number of processes."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from likewise.cli.main import main as likewise
from likewise.errors import LikewiseError, ParameterError
from likewise.learner import Learner, SelfTuned
from likewise.simulate import parse_delay
from likewise.simulate.counts import summarise
from likewise.simulate.game import Game
from likewise.simulate.parallel import Processes
from likewise.simulate.rounds import play
from studies import commands
from studies.commands import main
from studies.pages import write_between_marks
from studies.sweep import spec
from studies.sweep.runs import play_run, read_rows, run_sweep
from studies.sweep.spec import (
    CHOOSING,
    JUDGING,
    Entry,
    Sweep,
    read_sweep,
    shipped_sweeps,
    sweep_from_data,
)
from studies.sweep.tables import TABLES, points_of, sweep_markdown

TINY: dict[str, Any] = {
    "title": "tiny",
    "seeds": [1, 2],
    "horizons": [8, 24],
    "prices": [4.0],
    "evaluation_draws": 50,
    "scenarios": [{"world": "loans", "settings": {"rule": ["majority", "any"]}}],
    "learners": [
        {"learner": "exact", "eta": [1.0, 0.25]},
        {"learner": "paper", "noise_divisor": 1e5, "draws": "r"},
        {"learner": "untaught"},
    ],
}
FILE = """
title = "slow enough to be interrupted"
seeds = { first = 1, count = 6 }
horizons = [250]
comparators = false
[[scenarios]]
world = "loans"
[[learners]]
learner = "exact"
"""


def tiny(**changes: Any) -> Sweep:
    return sweep_from_data({**TINY, **changes})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    run_sweep(tiny(), folder, Processes(1))
    return folder


def test_every_run_has_a_row_at_every_horizon_in_the_sweeps_order(folder: Path) -> None:
    rows = read_rows(folder / "results.csv")
    runs = list(tiny().runs())
    assert [(row.run, row.rounds) for row in rows] == [(r.digest, t) for r in runs for t in (8, 24)]
    assert len(rows) == 2 * 2 * (2 + 1 + 1 + 1) * 2


@pytest.mark.long
def test_the_file_is_the_same_bit_for_bit_whatever_the_number_of_processes(
    folder: Path, tmp_path: Path
) -> None:
    run_sweep(tiny(), tmp_path, Processes(2))
    assert (tmp_path / "results.csv").read_bytes() == (folder / "results.csv").read_bytes()


def test_what_is_there_is_not_played_again(folder: Path) -> None:
    class Nobody(Processes):
        def map(self, *_: Any) -> Any:
            raise AssertionError("Everything is there.")

    assert run_sweep(tiny(), folder, Nobody()) == read_rows(folder / "results.csv")


@pytest.mark.long
def test_a_process_that_is_killed_loses_nothing_that_had_finished(tmp_path: Path) -> None:
    file, out = tmp_path / "slow.toml", tmp_path / "out"
    file.write_text(FILE)
    command = [sys.executable, "-m", "studies", "sweep", str(file), "--jobs", "1"]
    process = subprocess.Popen([*command, "--folder", str(out)], start_new_session=True)
    wait_for(lambda: len(list(out.glob("*.csv"))) >= 2, process)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait(timeout=60)
    finished = {path: path.stat().st_mtime_ns for path in out.glob("*.csv")}
    assert 2 <= len(finished) < 6
    run_sweep(read_sweep(file), out, Processes(1))
    assert {path: path.stat().st_mtime_ns for path in finished} == finished
    run_sweep(read_sweep(file), tmp_path / "whole", Processes(1))
    assert (out / "results.csv").read_bytes() == (tmp_path / "whole" / "results.csv").read_bytes()


def wait_for(there: Any, process: subprocess.Popen[Any], seconds: float = 120.0) -> None:
    until = time.monotonic() + seconds
    while not there():
        assert time.monotonic() < until, "It took too long."
        assert process.poll() is None, "It ended before it could be killed."
        time.sleep(0.01)


def test_a_default_that_moved_makes_other_runs_of_what_leaves_it_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    learners: list[tuple[str, dict[str, float]]] = [
        ("exact", {}), ("exact", {"eta": 0.5}), ("exact", {"eta": 0.5, "kappa": 0.1}),
        ("untaught", {}), ("bechavod-jung-wu", {}),
    ]  # fmt: skip
    games = [Game("loans", name, learner_settings=settings) for name, settings in learners]
    before = [Entry(game, "", "").key for game in games]
    monkeypatch.setattr(spec, "DEFAULTS", {"eta": 1 / 7, "kappa_share": 0.2})
    moved = [Entry(game, "", "").key != key for game, key in zip(games, before, strict=True)]
    assert moved == [True, True, False, True, False]
    made = Game("loans", "exact", 10, alpha=1.0).prepare().learner
    assert isinstance(made, Learner)
    assert isinstance(made.schedule, SelfTuned)
    assert before[0][1]["defaults"] == {
        "eta": made.schedule.eta, "kappa_share": made.margins.kappa / made.margins.eps,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"scenarios": [{"world": "lones"}]}, "world must be one of loans"),
        ({"learners": [{"learner": "exactly"}]}, "learner must be one of auto"),
        ({"learners": [{"learner": "exact", "etta": 1}]}, "learner exact must be one of its own"),
        ({"scenarios": [{"world": "loans", "setings": {}}]}, "setings"),
        ({"scenarios": [{"world": "loans", "settings": {"spell": 3}}]}, "must be one of its own"),
        ({"horizon": [3]}, "horizon"),
        ({"seeds": []}, "at least one of each"),
        ({"seeds": [1, 1]}, "seeds must all be different"),
        ({"learners": [{"learner": "exact"}, {"learner": "exact"}]}, "learners must all be diff"),
        ({"horizons": [1]}, r"horizons must be an integer in \[2"),
        ({"learners": [{"learner": "exact", "eta": "1"}]}, "eta must be a number"),
        ({"learners": [{"learner": "exact", "only": ["nowhere"]}]}, "only must name scenarios"),
        ({"scenarios": [{"use": "lons, any"}]}, "use must be a purpose"),
        ({"comparators": "no"}, "comparators must be"),
        ({"scenarios": [{"world": "loans", "delay": "24"}]}, "delay must be below the number of"),
        ({"scenarios": [{"world": "loans", "report": "widest"}]}, "must be one of largest-gap"),
    ],
)
def test_a_sweep_that_says_nonsense_is_refused(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(LikewiseError, match=says):
        tiny(**changes)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"scenarios": [{"world": "loans", "hypotheses": "forest"}]}, "must be one of segments"),
        ({"scenarios": [{"world": "loans", "eps": 0.4}]}, "eps must be in"),
        ({"scenarios": [{"world": "adaptive"}]}, "prices must be left out where the world reacts"),
        ({"learners": [{"learner": "exact", "eta": -1}]}, "eta must be a positive number"),
    ],
)
def test_what_cannot_be_played_is_refused_before_anything_is(
    tmp_path: Path, changes: dict[str, Any], says: str
) -> None:
    with pytest.raises(LikewiseError, match=says):
        run_sweep(tiny(**changes), tmp_path / "runs", Processes(1))
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("text", ["title = ", "title = 3\n", "\xff"])
def test_a_file_that_is_no_sweep_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "mine.toml").write_bytes(text.encode("latin-1"))
    with pytest.raises(LikewiseError, match=r"mine\.toml"):
        read_sweep(tmp_path / "mine.toml")
    with pytest.raises(LikewiseError, match="cannot be read"):
        read_sweep(tmp_path / "nowhere.toml")


def test_a_run_is_counted_as_simulate_counts_it(folder: Path) -> None:
    row = next(
        r
        for r in read_rows(folder / "results.csv")
        if (r.learner, r.rounds, r.seed) == ("exact", 24, 1)
    )
    result = CliRunner().invoke(
        likewise,
        ["simulate", "--learner", "exact", "--with", "eta=1", "--rounds", "24", "--out", "-"],
    )
    data = json.loads(result.stdout)
    assert (row.error_rate, row.violations) == (data["error_rate"], data["violations"])
    assert row.at_alpha == round(data["comparators"]["at_alpha"], 6)


def test_a_learner_that_knows_the_horizon_plays_a_game_for_each(folder: Path) -> None:
    """Its first 8 rounds of 24 are no game of 8: its constants would be others."""
    settings = {"noise_divisor": 1e5, "draws": "r"}
    short, long = (Game("loans", "paper", t, learner_settings=settings).prepare() for t in (8, 24))
    assert short.learner.settings() != long.learner.settings()
    played = play(short.world, short.learner, 8, evaluation_draws=50)
    row = next(r for r in read_rows(folder / "results.csv") if r.learner == "paper")
    assert (row.rounds, row.seed, row.scenario) == (8, 1, "loans, majority")
    assert row.error_rate == summarise(played).error_rate


def test_fixed_policies_in_hindsight_are_never_worse_for_a_lower_price() -> None:
    sweep = tiny(prices=[0.5, 8.0, 256.0], learners=[{"learner": "untaught"}])
    runs = [run for run in sweep.runs() if run.entry.price is not None]
    found = [play_run(run)[-1] for run in runs[:3]]
    assert [row.error_rate for row in found] == sorted(row.error_rate for row in found)
    assert found[0].violations >= found[-1].violations


@pytest.mark.parametrize("table", TABLES)
def test_every_table_names_every_learner(folder: Path, table: str) -> None:
    sweep = tiny()
    text = sweep_markdown(sweep, read_rows(folder / "results.csv"), table)
    titles = {entry.title for entry in sweep.entries if entry.price is None}
    if table == "plain":
        pytest.skip("it shows the first learner and one that ignores the panel, without names")
    if table == "frontier":
        assert any(title in text for title in titles)
    else:
        assert all(title in text for title in titles)
    assert ("loans, any" in text) == (table != "calls"), "calls are those of the first scenario"


@pytest.mark.parametrize(("learners", "ignoring"), [(["exact", "untaught"], 2), (["exact"], 0)])
def test_the_plain_table_compares_with_a_learner_that_ignores_the_panel(
    tmp_path: Path, learners: list[str], ignoring: int
) -> None:
    """Without such a learner its two columns are empty."""
    sweep = tiny(learners=[{"learner": name} for name in learners], prices=[])
    text = sweep_markdown(sweep, run_sweep(sweep, tmp_path, Processes(1)), "plain")
    for line in text.splitlines()[2:]:
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        assert len(cells) == 7
        assert sum(cell != "–" for cell in cells[4:6]) == ignoring


def test_the_command_prints_every_table() -> None:
    assert tuple(TABLES) == commands.TABLES


def test_an_unknown_table_is_refused(folder: Path) -> None:
    with pytest.raises(ParameterError, match="table must be one of"):
        sweep_markdown(tiny(), read_rows(folder / "results.csv"), "pie")


def test_a_points_worst_seed_is_its_worst(folder: Path) -> None:
    for point in points_of(tiny(), read_rows(folder / "results.csv")):
        rows = point.rows[-1]
        assert point.worst().violations == max(row.violations for row in rows)
        assert point.at().error == sum(row.error_rate for row in rows) / len(rows)


def test_tables_go_between_their_marks(tmp_path: Path) -> None:
    path = tmp_path / "doc.md"
    path.write_text("a\n<!-- study: begin -->\nold\n<!-- study: end -->\nb\n")
    write_between_marks(path, "study", "new")
    assert path.read_text() == "a\n<!-- study: begin -->\nnew\n<!-- study: end -->\nb\n"
    with pytest.raises(LikewiseError, match="once each"):
        write_between_marks(tmp_path / "none.md", "study", "new")


def test_what_another_process_refuses_arrives_as_its_sentence() -> None:
    with pytest.raises(ParameterError, match=r"^delay must be a number of rounds.* got 'soon'"):
        list(Processes(2).map(parse_delay, [("3",), ("soon",)]))


def test_worlds_judge_or_choose_and_never_both() -> None:
    assert not set(JUDGING) & set(CHOOSING)
    played = {
        purpose: {
            (one["world"], tuple(sorted(one["world_settings"].items()))) for one in named.values()
        }
        for purpose, named in (("judging", JUDGING), ("choosing", CHOOSING))
    }
    assert not played["judging"] & played["choosing"]


def run(*args: str) -> Any:
    return CliRunner().invoke(main, list(args))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    text = FILE.replace("250", "10").replace("count = 6", "count = 2")
    (tmp_path / "mine.toml").write_text(text)
    return tmp_path / "mine.toml"


def test_the_command_plays_and_prints(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = run(
        "sweep", str(file), "--folder", str(out), "--jobs", "1", "--table", "summary",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "| loans |" in result.stdout
    with (out / "results.csv").open() as lines:
        assert len(list(csv.DictReader(lines))) == 2


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["--write"], "--write needs a [[document]]"),
        (["--jobs", "0"], "0 is not in the range"),
        (["--table", "pie"], "'pie' is not one of"),
    ],
)
def test_options_that_make_no_sense_are_refused(file: Path, args: list[str], says: str) -> None:
    result = run("sweep", str(file), "--folder", str(file.parent / "out"), *args)
    assert result.exit_code != 0
    assert says in result.output
    assert not (file.parent / "out").exists()


def test_tables_are_not_written_where_there_is_no_document(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("sweep", "new-default", "--write")
    assert result.exit_code == 2
    assert "Run this in the project's folder" in result.output


def test_the_shipped_sweeps_can_be_listed() -> None:
    listed = run("sweep", "list").stdout
    assert all(name in listed for name in shipped_sweeps())
