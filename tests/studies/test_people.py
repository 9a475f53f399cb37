"""Worlds of real people on made-up files, and on the real ones where they are; surveys."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from likewise.errors import LikewiseError
from likewise.numerics.fixed_point import ONE
from likewise.simulate import MissingDataError
from likewise.testing import check_world
from studies.people.compas import LAST, CompasFitted, CompasJudged, fitted, read_compas
from studies.people.files import FOLDER
from studies.people.phd import PhdAdmissions
from studies.people.surveys import read_survey
from tests.files_of_people import HERE

HEADER = (
    "id,name,dob,c_case_number,compas_screening_date,decile_score,age,priors_count,juv_fel_count,"
    "juv_misd_count,juv_other_count,c_charge_degree,sex,two_year_recid,decile_score,priors_count"
)
SCALE = ("Extremely unlikely", "Unlikely", "Neither", "Likely", "Extremely likely")


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    """Twelve defendants, of whom ten were judged by three people, and one was screened late."""
    rng = np.random.default_rng(1)
    lines, judged = [HEADER], ["Defendant,1,2,3"]
    for n in range(1, 14):
        date = "2014-05-01" if n == 13 else f"2013-{12 - n % 12:02d}-01"
        decile, priors = rng.integers(1, 11), rng.integers(0, 9)
        lines.append(
            f"{n},jane doe,1980-01-01,13CF{n},{date},{decile},{20 + n},{priors},0,1,0,"
            f"{'FM'[n % 2]},{('Male', 'Female')[n % 2]},{n % 2},{decile},{priors}"
        )
        if n <= 10:
            judged.append(",".join([str(n), *(SCALE[i] for i in rng.integers(0, 5, 3))]))
    (tmp_path / "compas.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "panel-compas").mkdir()
    (tmp_path / "panel-compas/recidivism_judgments.csv").write_text("\n".join(judged) + "\n")
    return {"folder": str(tmp_path), "file": str(tmp_path / "compas.csv")}


def test_who_was_judged_is_drawn_before_those_who_judged(files: dict[str, str]) -> None:
    world = CompasJudged(1, k=4, **files)
    assert [len(world.everybody[0]), *world.panel.members] == [10, "1", "2", "3"]
    met = world.encounter(3)
    ratings = met.people.x[:, -3:]
    apart = np.abs(ratings[:, None, :] - ratings[None, :, :])
    middle = np.sort(apart, axis=2)[:, :, 1]
    # At least two of three object where the second smallest distance is exceeded.
    assert np.abs(met.pivots.distance / ONE - middle).max() < 1e-5


def test_everybody_arrives_in_order_and_those_screened_late_are_cut(files: dict[str, str]) -> None:
    world = CompasFitted(1, k=4, **files)
    dates = read_compas(Path(files["file"])).ids
    assert len(dates) == 12
    assert "13" not in dates
    first = [name for t in (1, 2, 3) for name in world.encounter(t).people.ids]
    assert [name.partition("-")[2] for name in first] == list(dates)
    assert "fitted" in (world.caveat(3) or "")
    assert "begins again" in (world.caveat(4) or "")


def test_nothing_that_names_a_person_is_kept(files: dict[str, str]) -> None:
    world = CompasJudged(1, k=4, **files)
    for name in world.schema.names:
        assert not {"name", "dob", "case"} & set(name.split())
    assert "jane" not in repr(vars(read_compas(Path(files["file"]))))
    assert LAST == "2014-04-01"


def test_a_file_that_is_not_here_is_asked_for(
    files: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(FOLDER, raising=False)
    with pytest.raises(MissingDataError, match=r"panel-compas.*LIKEWISE_PANELS"):
        CompasJudged(1)
    with pytest.raises(MissingDataError, match="There is no file nowhere"):
        CompasJudged(1, folder=files["folder"], file="nowhere")
    with pytest.raises(MissingDataError, match=r"phd_2022\.csv"):
        PhdAdmissions(1, folder=files["folder"])
    other = Path(files["folder"]) / "other.csv"
    other.write_text("id,age\n1,2\n")
    with pytest.raises(LikewiseError, match="is not COMPAS: it has no column"):
        CompasJudged(1, folder=files["folder"], file=str(other))


def test_a_fit_finds_the_line_that_ratings_lie_on() -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(200, 2))
    ratings = np.clip(0.5 + 0.1 * x @ np.array([[1.0, 0.0], [0.0, -1.0]]), 0, 1)
    assert np.abs(fitted(x, ratings, x) - ratings).max() < 0.02


SURVEY = "who,whom,answer\nann,a,0\nann,b,4\nann,c,1\nbo,a,2\nbo,b,2\nbo,c,4\n"


def survey(tmp_path: Path, text: str, **more: object) -> object:
    (tmp_path / "survey.csv").write_text(text)
    names = ("who", "whom", "answer")
    return read_survey(tmp_path / "survey.csv", *names, scale=(0.0, 4.0), **more)  # type: ignore[arg-type]


def test_a_long_survey_becomes_a_panel(tmp_path: Path) -> None:
    (tmp_path / "survey.csv").write_text(SURVEY)
    found = read_survey(tmp_path / "survey.csv", "who", "whom", "answer", scale=(0.0, 4.0))
    assert found.respondents == ("ann", "bo")
    assert [found.of(person) for person in found.people] == [[0.0, 0.5], [1.0, 0.5], [0.25, 1.0]]
    assert found.panel("any").members == ("ann", "bo")


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("bo,c,4\n", "", "the respondent 'bo' has no judgement of 'c'"),
        ("bo,c,4", "bo,c,", "the respondent 'bo' has no judgement of 'c'"),
        ("bo,a,2\nbo,b,2\nbo,c,4", "bo,a,\nbo,b,\nbo,c,", "'bo' has judged nobody"),
        ("bo,c,4", "bo,c,5", r"'5' is not within \[0, 4\]"),
        ("bo,c,4", "bo,c,much", "'much' is no number"),
        ("bo,c,4", "bo,b,4", "'bo' has judged 'b' before"),
        ("bo,c,4", ",c,4", "must not be empty"),
        ("bo,c,4", "bo,c", "it must have 3 cells"),
        ("who,whom", "whose,whom", "must have one column 'who'"),
    ],
)
def test_a_survey_with_gaps_or_nonsense_is_refused(
    tmp_path: Path, old: str, new: str, says: str
) -> None:
    assert old in SURVEY
    with pytest.raises(LikewiseError, match=says):
        survey(tmp_path, SURVEY.replace(old, new))


def test_a_respondent_who_was_asked_and_judged_nobody_is_named(tmp_path: Path) -> None:
    with pytest.raises(LikewiseError, match="the respondent 'cy' has judged nobody"):
        survey(tmp_path, SURVEY, respondents=["ann", "bo", "cy"])
    with pytest.raises(LikewiseError, match="'bo' is none of the respondents"):
        survey(tmp_path, SURVEY, respondents=["ann"])


TAIWAN = "LIMIT_BAL,AGE,PAY_0,PAY_2,PAY_3,PAY_4,PAY_5,PAY_6,BILL_AMT1,default.payment.next.month"
GERMAN = """@relation credit
@attribute checking_status {'<0'}
@attribute duration real
@attribute credit_amount real
@attribute savings_status {'<100'}
@attribute employment {'<1'}
@attribute age real
@attribute class {good, bad}
@data
"""


@pytest.fixture
def tables(tmp_path: Path) -> dict[str, str]:
    """Small files of the three kinds, with people made up."""
    rng = np.random.default_rng(5)
    taiwan, german, law = [TAIWAN], [], ["LSAT,UGPA,PF_0,PF_1"]
    for n in range(20):
        taiwan.append(f"{1000 * (20 + n)},{20 + n},0,{n % 3},0,0,-1,0,{900 * n},{n % 2}")
        german.append(f"'<0',{6 + n},{1000 + 99 * n},'no known savings','<1',{20 + n},good")
        law.append(f"{20 + n},{2 + n / 20},{n % 2},{1 - n % 2}")
    rng.shuffle(german)
    files = {"taiwan-credit": "t.csv", "german-credit": "g.arff", "law-school": "l.csv"}
    for name, text in (
        ("t.csv", "\n".join(taiwan)), ("g.arff", GERMAN + "\n".join(german)),
        ("l.csv", "\n".join(law)),
    ):  # fmt: skip
        (tmp_path / name).write_text(text + "\n")
    return {world: str(tmp_path / name) for world, name in files.items()}


@pytest.mark.filterwarnings("ignore::likewise.errors.MergedHypotheses")
@pytest.mark.parametrize("name", ["taiwan-credit", "german-credit", "law-school"])
def test_tables_of_people_make_worlds(name: str, tables: dict[str, str]) -> None:
    from likewise.learner import Learner
    from likewise.simulate import WORLDS
    from likewise.simulate.rounds import play

    world = WORLDS[name].make(1, k=4, file=tables[name])
    assert play(world, Learner(world.hypotheses(), 4, 0.3, 0.3, 1), 5).rounds == 5
    other = next(path for path in tables.values() if path != tables[name])
    with pytest.raises(LikewiseError, match="person 1 cannot be read"):
        WORLDS[name].make(1, k=4, file=other)
    with pytest.raises(LikewiseError, match="fewer than the 50 of a round"):
        WORLDS[name].make(1, k=50, file=tables[name])
    with pytest.raises(MissingDataError, match="There is no file nowhere"):
        WORLDS[name].make(1, file="nowhere")


REAL = ["compas-judged", "compas-fitted", "phd-admissions", "taiwan-credit", "german-credit",
        "law-school"]  # fmt: skip


@pytest.mark.parametrize("name", REAL)
def test_the_real_files_make_worlds(name: str) -> None:
    from likewise.simulate import WORLDS

    if name not in HERE:
        pytest.skip(f"the files of {name} are not here: see docs/research/worlds.md")
    check_world(WORLDS[name].make(2), rounds=3)
