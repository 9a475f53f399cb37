"""Sets of judgements by real people: their authors' layouts on made-up files, and the figures."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from likewise.errors import LikewiseError
from likewise.simulate import MissingDataError
from studies.commands import main
from studies.people import benchmark
from studies.people.benchmark import row_of
from studies.people.judgements import KIDNEYS, PERCEPTIONS, SETS, Judged, Judgement
from studies.people.worlds import FOLDER


def write(path: Path, header: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *rows])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every survey in its authors' layout, of people and judgements that are made up."""
    monkeypatch.setenv(FOLDER, str(tmp_path))
    decided = {"1": "select_reject_application",
               "2": "OKBUTTON_CLICKED_DECIDE_MODAL_Applications_List"}  # fmt: skip
    for study, function in decided.items():
        data = tmp_path / f"effi_user_study{study}/data/processed_data"
        clicks = [[n, f"u{n % 3}", 100 + n // 3, function, "unfair" if n % 4 == 0 else "fair", 1]
                  for n in range(30)]  # fmt: skip
        clicks += [[30, "u0", 100, "select_applications", "None", 1],
                   [31, "u0", 100, function, "fair", 1]]  # fmt: skip
        write(data / "Feedback_final.csv",
              ["", "ID", "App ID", "Function", "Attribute", "Value"], clicks)  # fmt: skip
        name = "Applications_Converted.csv" if study == "1" else "Applications.csv"
        write(data / name,
              ["", "Application_id", "Predicted_decision", "Prediction_Confidence_Accepted",
               "ft_name_0", "ft_value_0", "ft_name_1", "ft_value_1"],
              [[i, 100 + i, ("Accepted", "Rejected")[i % 2], 50 + i, "Gender",
                ("Female", "Male")[i % 2], "Income", 1000 * i] for i in range(12)])  # fmt: skip
    asked = [
        [*("ab"[(n + side) % 2] for _ in range(7)), "None", int(side == n % 2), "", f"R{n % 4}", n]
        for n in range(20) for side in (0, 1)
    ]  # fmt: skip
    write(tmp_path / "fairness_perceptions_aies/data/question_info.csv",
          [*PERCEPTIONS, "answer", "slider", "responseid", "question_index"], asked)  # fmt: skip
    for name, uid, features, column in KIDNEYS.values():
        sides = [column.format(side=side, name=f) for side in "lr" for f in features]
        patients = [[3] * len(features) + [1] * len(features),
                    [1] * len(features) + [3] * len(features)]  # fmt: skip
        rows = [[n % 2, "easy1", int(n % 4 < 2), *patients[int(n % 4 < 2)]] for n in range(12)]
        rows += [[0, "attcheck", 1, *patients[0]]]
        write(tmp_path / "Preference-Instability/Study 1&2 - AIES 2024/data" / name,
              [uid, "pairid", "chosen", *sides], rows)  # fmt: skip
    public = tmp_path / "recidivism-predictions/data/public"
    for survey in ("df", "df_violent", "lsi_balanced_br", "lsi_low_br"):
        write(public / f"surveys/{survey}_response.csv",
              ["id", "user_id", "user_group", "individual_id", "predicted_decision",
               "enter_time"],
              [[n, f"u{n % 4}", "vignette", n % 80 // 4, 10 + 80 * (n % 80 // 4 % 2), n % 80]
               for n in range(90)])  # fmt: skip
    write(public / "individuals/compas_vignettes.csv",
          ["id", "sex", "age", "juv_fel_count", "juv_misd_count", "priors_count",
           "charge_degree (misd/fel)"],
          [[i, i % 2, 20 + i, 0, 1, 10 * (i % 2), 1] for i in range(20)])  # fmt: skip
    return tmp_path


SURVEYS = [name for name in SETS if name not in ("compas-judged", "phd-admissions")]


def test_every_survey_is_read_in_its_authors_layout(folder: Path) -> None:
    rows = {name: row_of(name, SETS[name]()) for name in SURVEYS}
    loans = rows["effi_user_study1"]
    assert (loans["judgements"], loans["respondents"], loans["repeats"]) == (30, 3, 0)
    first = {
        j.subject: j.value for j in SETS["effi_user_study1"]().judgements if j.subject == "100"
    }
    assert first == {"100": True}  # who clicks again has changed their mind
    assert rows["fairness_perceptions_aies"]["judgements"] == 20
    kidneys = rows["Preference-Instability, study 1"]
    assert (kidneys["judgements"], kidneys["subjects"]) == (12, 1)  # checks of attention are none
    assert kidneys["same"] == 1.0  # the same patient, on the left or on the right
    assert kidneys["repeats"] == 2 * 15
    assert rows["recidivism-predictions, df"]["judgements"] == 80  # a line may be there twice
    assert rows["recidivism-predictions, df"]["alpha"] == 1.0
    assert rows["recidivism-predictions, df"]["model"] == 1.0
    assert rows["recidivism-predictions, lsi_low_br"]["model"] is None


def test_a_file_that_is_not_there_is_skipped_and_one_of_another_layout_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "effi_user_study2/data/processed_data/Applications.csv").unlink()
    done = CliRunner().invoke(main, ["people"])
    assert done.exit_code == 0, done.output
    assert "effi_user_study2 is skipped. There is no file" in done.stderr
    assert "| effi_user_study1 |" in done.stdout
    write(folder / "fairness_perceptions_aies/data/question_info.csv", ["answer"], [["1"]])
    with pytest.raises(LikewiseError, match="has no column 'Upbringing'"):
        SETS["fairness_perceptions_aies"]()
    monkeypatch.delenv(FOLDER)
    with pytest.raises(MissingDataError, match=r"github\.com/evdoxiataka"):
        SETS["effi_user_study1"]()
    assert CliRunner().invoke(main, ["people"]).exit_code == 2


def test_figures_of_a_set_are_those_by_hand() -> None:
    values = {("a", "s"): [1, 1, 0], ("b", "s"): [1], ("a", "t"): [0], ("b", "t"): [0]}
    said = [Judgement(*who, bool(v)) for who, listed in values.items() for v in listed]
    row = row_of("made up", Judged("?", said, {}, {}))
    assert (row["repeats"], row["same"], row["alpha"]) == (3, pytest.approx(1 / 3), 1.0)
    assert (row["predicted"], row["model"]) == (0, None)


def test_what_is_stored_is_of_the_sets_that_there_are() -> None:
    stored = {row["set"] for row in benchmark.STUDY.stored()}
    assert {"compas-judged", "phd-admissions"} <= stored <= set(SETS)
