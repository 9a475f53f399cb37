"""Every stored set of judgements by real people, each in its authors' layout, as yes or no.

A subject is one person or two, described by inputs; a judgement is what somebody said of a subject,
perhaps again in a later sitting. The files lie in the folder that
``LIKEWISE_PANELS`` names, a clone of each repository beside the others. None of them is part of
this project, and nothing of theirs is kept but counts.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from likewise.numerics.fixed_point import FloatArray
from likewise.people.cells import parse_number
from studies.people import worlds
from studies.people.worlds import panel_file, read_columns

PAIRS = 2000
"""How many pairs of people are drawn where single people were rated."""
ALIKE = 0.25
"""Ratings within [0, 1] that are no farther apart call two people alike."""
MOST_LEVELS = 12


class Judgement(NamedTuple):
    """A yes or no of a respondent about a subject."""

    respondent: str
    subject: str
    value: bool


class Judged(NamedTuple):
    """A set of judgements; ``people`` are those of a subject, who are held out together.

    ``inputs`` are numbers within [−1, 1] by subject, or none where the files do not describe it.
    """

    question: str
    judgements: Sequence[Judgement]
    inputs: Mapping[str, FloatArray]
    people: Mapping[str, tuple[str, ...]]


def encoded(rows: Sequence[Mapping[str, str]], names: Iterable[str]) -> FloatArray:
    """Columns of text as numbers within [0, 1]: scaled by their range, or a column a level."""
    columns: list[FloatArray] = []
    for name in names:
        cells = [row[name].strip() for row in rows]
        numbers = [parse_number(cell) for cell in cells]
        if None not in numbers:
            values = np.array(numbers, dtype=np.float64)
            columns.append((values - values.min()) / (np.ptp(values) or 1.0))
            continue
        levels = sorted(set(cells))
        if len(levels) <= MOST_LEVELS:
            columns += [np.array([cell == level for cell in cells], float) for level in levels]
    return np.stack(columns, axis=1) if columns else np.zeros((len(rows), 0))


def rated(world: type[worlds.Rated], question: str) -> Judged:
    """Pairs drawn at random, and whether each respondent's ratings call them alike."""
    made, rng = world(1), np.random.default_rng(1)
    people = made.everybody[0]
    left = rng.integers(0, len(people), PAIRS)
    right = (left + rng.integers(1, len(people), PAIRS)) % len(people)
    visible = [place for place, f in enumerate(people.schema.features) if f.visible]
    x = people.x[:, visible] / (np.ptp(people.x[:, visible], axis=0) + 1e-12)
    subjects = [f"{people.ids[i]} and {people.ids[j]}" for i, j in zip(left, right, strict=True)]
    pairs = zip(left.tolist(), right.tolist(), strict=True)
    both = dict(zip(subjects, pairs, strict=True))
    apart = {name: np.abs(x[i] - x[j]) for name, (i, j) in both.items()}
    ratings = {name: people.column(f"rating of {name}") for name in made.respondents}
    judgements = [
        Judgement(name, subject, bool(abs(rating[i] - rating[j]) <= ALIKE))
        for name, rating in ratings.items() for subject, (i, j) in both.items()
    ]  # fmt: skip
    who = {name: (people.ids[i], people.ids[j]) for name, (i, j) in both.items()}
    return Judged(question, judgements, apart, who)


def loans(study: str) -> Judged:
    """Lay people call decisions on loan applications fair or unfair (effi_user_study1 and 2)."""
    folder, origin = f"effi_user_study{study}/data/processed_data", "github.com/evdoxiataka"
    feedback = read_columns(panel_file("", f"{folder}/Feedback_final.csv", origin), LOAN_COLUMNS)
    first, second = ("Applications_Converted.csv", "Applications.csv")
    file = panel_file("", f"{folder}/{first if study == '1' else second}", origin)
    last = {  # who clicks again has changed their mind, and was not asked again
        (row["ID"], row["App ID"]): row["Attribute"] != "unfair"
        for row in feedback
        if row["Attribute"] in ("fair", "unfair", "checked") and row["Function"] in DECIDED
    }
    judgements = [Judgement(*who, value) for who, value in last.items()]
    judged = {judgement.subject for judgement in judgements}
    rows = [
        row for row in read_columns(file, ["Application_id"]) if row["Application_id"] in judged
    ]
    values = [name for name in rows[0] if name.startswith("ft_value_")]
    x = encoded(rows, ["Predicted_decision", "Prediction_Confidence_Accepted", *values])
    inputs = {row["Application_id"]: v for row, v in zip(rows, x, strict=True)}
    return Judged("is this decision on a loan fair?", judgements, inputs, _alone(inputs))


LOAN_COLUMNS = ("ID", "App ID", "Function", "Attribute")
DECIDED = ("select_reject_application", "OKBUTTON_CLICKED_DECIDE_MODAL_Applications_List")


def _alone(subjects: Iterable[str]) -> dict[str, tuple[str, ...]]:
    return {subject: (subject,) for subject in subjects}


PERCEPTIONS = (
    "Upbringing", "Age", "Criminal History", "Occupation", "Children", "Health Issues", "Race",
    "Political Affiliation",
)  # fmt: skip


def perceptions() -> Judged:
    """Choices of who should be favoured; a line for each of two (fairness_perceptions_aies)."""
    path = "fairness_perceptions_aies/data/question_info.csv"
    file = panel_file("", path, "github.com/kennyjoseph/fairness_perceptions_aies")
    rows = read_columns(file, [*PERCEPTIONS, "answer", "responseid", "question_index"])
    x = encoded(rows, PERCEPTIONS)
    together: dict[tuple[str, str], list[int]] = {}
    for place, row in enumerate(rows):
        together.setdefault((row["responseid"], row["question_index"]), []).append(place)
    judgements, inputs = [], {}
    for (respondent, number), places in together.items():
        responses = [rows[place]["answer"] for place in places]
        if sorted(responses) == ["0", "1"]:  # neither or both is no choice
            subject = f"{respondent} {number}"
            judgements.append(Judgement(respondent, subject, responses[0] == "1"))
            inputs[subject] = x[places[0]] - x[places[1]]
    return Judged("which of two should be favoured?", judgements, inputs, _alone(inputs))


KIDNEYS = {
    "1": ("ipmdata0316722.csv", "uid", ("alco", "dep", "life", "crim"), "{side}{name}"),
    "2": ("final_exp_2_data.csv", "id", ("elderlyDep", "lifeYearsGained", "obesity",
          "weeklyWorkhours", "yearsWaiting"), "{side}_{name}"),
}  # fmt: skip


def kidneys(study: str) -> Judged:
    """Which of two patients gets a kidney, asked again in later sittings (Preference-Instability).

    The same two patients are one subject, whoever of them stands on the left.
    """
    name, uid, features, column = KIDNEYS[study]
    file = panel_file(
        "", f"Preference-Instability/Study 1&2 - AIES 2024/data/{name}",
        "github.com/vijaykeswani/Preference-Instability",
    )  # fmt: skip
    names = [column.format(side=side, name=f) for side in "lr" for f in features]
    rows = read_columns(file, [uid, "pairid", "chosen", *names])
    rows = [row for row in rows if not row["pairid"].startswith("att")]  # checks of attention
    sides = np.array([[float(row[n]) for n in names] for row in rows])
    left, right = sides[:, : len(features)], sides[:, len(features) :]
    spread = np.ptp(np.concatenate([left, right]), axis=0) + 1e-12
    judgements, inputs = [], {}
    for row, a, b in zip(rows, left, right, strict=True):
        swapped = tuple(a) > tuple(b)
        first, second = (b, a) if swapped else (a, b)
        subject = f"{first.tolist()} or {second.tolist()}"
        judgements.append(Judgement(row[uid], subject, (row["chosen"] == "1") != swapped))
        inputs[subject] = (first - second) / spread
    return Judged("which of two patients gets a kidney?", judgements, inputs, _alone(inputs))


def recidivism(survey: str) -> Judged:
    """Predictions about defendants, 0 to 100: above 50 is yes (recidivism-predictions).

    Vignettes of the last two surveys are not public: nothing is known of these defendants.
    """
    judgements = [
        Judgement(*who, percent > 50) for who, percent in worlds.predictions(survey).items()
    ]
    inputs: dict[str, FloatArray] = {}
    if survey.startswith("df"):
        people = worlds.vignettes()
        x = encoded(people, worlds.DEFENDANT)
        inputs = {row["id"]: v for row, v in zip(people, x, strict=True)}
    return Judged("will this defendant offend again?", judgements, inputs, _alone(inputs))


SETS: dict[str, Callable[[], Judged]] = {
    "compas-judged": partial(rated, worlds.CompasJudged, "are two defendants alike?"),
    "phd-admissions": partial(rated, worlds.PhdAdmissions, "are two applicants alike?"),
    "effi_user_study1": partial(loans, "1"),
    "effi_user_study2": partial(loans, "2"),
    "fairness_perceptions_aies": perceptions,
    "Preference-Instability, study 1": partial(kidneys, "1"),
    "Preference-Instability, study 2": partial(kidneys, "2"),
    **{
        f"recidivism-predictions, {survey}": partial(recidivism, survey)
        for survey in ("df", "df_violent", "lsi_balanced_br", "lsi_low_br")
    },
}
"""The sets by name; a set whose files are not here raises MissingDataError."""
