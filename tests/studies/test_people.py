"""Worlds of real people on made-up files, and on the real ones where they are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from likewise.errors import LikewiseError
from likewise.numerics.fixed_point import ONE
from likewise.simulate import MissingDataError
from likewise.testing import check_world
from studies.people.worlds import (
    FOLDER,
    JUDGEMENTS,
    LAST,
    CompasFitted,
    CompasJudged,
    PhdAdmissions,
    RecidivismFitted,
    fitted,
    read_compas,
)
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
    assert "jane" not in repr(read_compas(Path(files["file"])))
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
    with pytest.raises(LikewiseError, match="has no column"):
        CompasJudged(1, folder=files["folder"], file=str(other))


def test_a_fit_finds_the_line_that_ratings_lie_on() -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(200, 2))
    ratings = np.clip(0.5 + 0.1 * x @ np.array([[1.0, 0.0], [0.0, -1.0]]), 0, 1)
    assert np.abs(fitted(x, ratings, x) - ratings).max() < 0.02


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("\n1,", "\n2,", "has a defendant twice"),
        ("Defendant,1", "Defended,1", "must have one column 'Defendant'"),
        (",Neither", ",Perhaps", "'Perhaps' is none of the judgements"),
    ],
)
def test_judgements_with_gaps_or_nonsense_are_refused(
    files: dict[str, str], old: str, new: str, says: str
) -> None:
    path = Path(files["folder"]) / JUDGEMENTS
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    with pytest.raises(LikewiseError, match=says):
        CompasJudged(1, k=4, **files)


def predictions(folder: Path, respondents: int) -> str:
    """Sixty defendants and respondents who judged fifty of them by their earlier convictions."""
    public = folder / "recidivism-predictions/data/public"
    for part in ("surveys", "individuals"):
        (public / part).mkdir(parents=True, exist_ok=True)
    people = ["id,sex,age,juv_fel_count,juv_misd_count,priors_count,charge_degree (misd/fel),"
              "compas_decile_score,two_year_recid"]  # fmt: skip
    people += [f"{i},{i % 2},{20 + i % 9},0,0,{i % 11},{i % 2},{1 + i % 10},{i % 3 == 0:d}"
               for i in range(60)]  # fmt: skip
    (public / "individuals/compas_vignettes.csv").write_text("\n".join(people) + "\n")
    scores = ["id,is_violent_recid", *(f"{i},{i % 5 == 0:d}" for i in range(99))]
    (public / "individuals/compas_scores.csv").write_text("\n".join(scores) + "\n")
    said = ["user_id,individual_id,predicted_decision"]
    for name in range(respondents):
        said += [f"{name},{i},{9 * (i % 11)}" for i in range(name % 10, name % 10 + 50)]
        said.append(f"{name},dummy1,100")
    for survey in ("df", "df_violent"):
        (public / f"surveys/{survey}_response.csv").write_text("\n".join(said) + "\n")
    return str(folder)


def test_respondents_who_judged_other_people_are_fitted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each by those shown to them: a rating falls with earlier convictions, for all defendants."""
    monkeypatch.setenv(FOLDER, predictions(tmp_path, 23))
    world = RecidivismFitted(1)
    check_world(world, rounds=3)
    people, labels = world.everybody
    assert (len(people), len(world.panel.members)) == (60, 20)
    assert labels.tolist() == [int(i % 3 != 0) for i in range(60)]
    rating = people.column("rating of 7")
    assert np.abs(rating - (1 - 0.09 * people.column("priors"))).max() < 0.03
    violent = RecidivismFitted(1, violent=True)
    assert violent.everybody[1].tolist() == [int(i % 5 != 0) for i in range(60)]
    assert "fitted to 50 judgements each" in str(world.caveat(10))


def test_too_few_respondents_and_files_that_are_not_there_are_refused(tmp_path: Path) -> None:
    with pytest.raises(LikewiseError, match="Only 19 respondents have judged 50 defendants"):
        RecidivismFitted(1, folder=predictions(tmp_path, 19))
    with pytest.raises(MissingDataError, match=r"github\.com/stanford-policylab"):
        RecidivismFitted(1, folder=str(tmp_path / "nowhere"))


REAL = ["compas-judged", "compas-fitted", "phd-admissions", "recidivism-fitted"]


@pytest.mark.parametrize("name", REAL)
def test_the_real_files_make_worlds(name: str) -> None:
    from likewise.simulate import WORLDS

    if name not in HERE:
        pytest.skip(f"the files of {name} are not here: see docs/research/worlds.md")
    check_world(WORLDS[name].make(2), rounds=3)
