"""How consistent people are, how well they are predicted, and how learners do before them.

    python -m studies people --write

``docs/research/results.md`` says what the columns are.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from likewise.learner.attention import SCALE, VARIANCE
from likewise.numerics.fixed_point import FloatArray
from likewise.numerics.logistic import Logistic
from likewise.panel.agreement import krippendorff_alpha
from studies.pages import Study, table
from studies.people.judgements import SETS, Judged, Judgement
from studies.sweep.runs import Row, stored_rows

GAMES = ("rivals-people", "predecessors-people", "people", "people-fitted")
PLAYED: Mapping[str, str] = {
    "compas-judged": "compas-judged",
    "phd-admissions": "phd-admissions",
    "recidivism-predictions, df": "recidivism-fitted",
    "recidivism-predictions, df_violent": "recidivism-fitted, violent",
}
"""The world that a set makes, for those who judged the same people or can be fitted."""
_IMAGINED = "its people are made up, so that no decision about them turns out right or wrong"
_HIDDEN = "the defendants' features are not public, so that a learner has nothing to go by"
NOT_PLAYED: Mapping[str, str] = {
    "effi_user_study1": "the files do not have what became of these loans",
    "effi_user_study2": "few judgements a person, of decisions; a model that is fitted to them "
    "predicts less of them than their frequency does, so that it would be nobody's panel",
    "fairness_perceptions_aies": _IMAGINED,
    "Preference-Instability, study 1": _IMAGINED,
    "Preference-Instability, study 2": _IMAGINED,
    "recidivism-predictions, lsi_balanced_br": _HIDDEN,
    "recidivism-predictions, lsi_low_br": _HIDDEN,
}
"""Why there is no game before the others."""
FOLDS, MOST = 5, 10_000
"""Parts of the people, each held out once; and the most judgements of a set that are predicted."""


def row_of(name: str, judged: Judged) -> dict[str, Any]:
    judgements = judged.judgements
    return {
        "set": name, "question": judged.question, "judgements": len(judgements),
        "respondents": len({j.respondent for j in judgements}),
        "subjects": len({j.subject for j in judgements}),
        **_repeats(judgements), "alpha": _alpha(judgements), **_predicted(judged),
    }  # fmt: skip


def _repeats(judgements: Sequence[Judgement]) -> dict[str, Any]:
    """How often two judgements of a subject by the same person agree."""
    again: dict[tuple[str, str], list[bool]] = defaultdict(list)
    for judgement in judgements:
        again[judgement.respondent, judgement.subject].append(judgement.value)
    pairs = [a == b for values in again.values() for a, b in combinations(values, 2)]
    return {"repeats": len(pairs), "same": sum(pairs) / len(pairs) if pairs else None}


def _alpha(judgements: Sequence[Judgement]) -> float | None:
    """Krippendorff's alpha of first judgements; None where nobody shares a subject."""
    units: dict[str, dict[str, bool]] = defaultdict(dict)
    for judgement in judgements:
        units[judgement.subject].setdefault(judgement.respondent, judgement.value)
    return krippendorff_alpha([values for values in units.values() if len(values) > 1])


def _predicted(judged: Judged) -> dict[str, Any]:
    """The shares of judgements predicted, and the log loss, on subjects of unseen people."""
    judgements = [j for j in judged.judgements if j.subject in judged.inputs]
    names = ("base", "nearest", "model", "base_loss", "model_loss")
    if not judgements:
        return {"predicted": 0, **dict.fromkeys(names)}
    rng = np.random.default_rng(1)
    judgements = [judgements[place] for place in rng.permutation(len(judgements))[:MOST]]
    everybody = sorted({person for j in judgements for person in judged.people[j.subject]})
    fold_of = dict(zip(everybody, rng.integers(0, FOLDS, len(everybody)).tolist(), strict=True))
    totals, count = np.zeros(len(names)), 0
    for fold in range(FOLDS):
        folds = [{fold_of[person] for person in judged.people[j.subject]} for j in judgements]
        train = [j for j, inside in zip(judgements, folds, strict=True) if fold not in inside]
        test = [j for j, inside in zip(judgements, folds, strict=True) if inside == {fold}]
        if train and test:
            totals += len(test) * np.array(_scores(judged, train, test))
            count += len(test)
    shares = (totals / count).tolist() if count else [None] * len(names)
    return {"predicted": count, **dict(zip(names, shares, strict=True))}


def _scores(judged: Judged, train: list[Judgement], test: list[Judgement]) -> list[float]:
    """Shares by the more frequent value, the nearest subject and the model; and log losses."""
    x, z = (_inputs(judged, part) for part in (train, test))
    y, truth = (np.array([j.value for j in part], dtype=float) for part in (train, test))
    base = (y.sum() + 1) / (len(y) + 2)
    model = Logistic.start(x.shape[1], VARIANCE)
    for row, value in zip(x.tolist(), y.tolist(), strict=True):
        model = model.after(row, value)
    chances = 1 / (1 + np.exp(-np.clip(z @ model.mean, -30, 30)))
    nearest = _nearest(x, y, z)
    return [
        *(float(((guess >= 0.5) == truth).mean()) for guess in (base, nearest, chances)),
        *(_loss(guess, truth) for guess in (np.full(len(truth), base), chances)),
    ]


def _inputs(judged: Judged, judgements: Sequence[Judgement]) -> FloatArray:
    rows = np.stack([judged.inputs[j.subject] for j in judgements])
    return np.concatenate([SCALE * rows, np.ones((len(rows), 1))], axis=1)


def _nearest(x: FloatArray, y: FloatArray, z: FloatArray) -> FloatArray:
    """The mean judgement of the subjects that are nearest to each, of which several may be."""
    subjects, which = np.unique(x, axis=0, return_inverse=True)
    means = np.bincount(which.ravel(), y) / np.bincount(which.ravel())
    places = [int(np.abs(subjects - row).sum(axis=1).argmin()) for row in z]
    return np.asarray(means[places])


def _loss(chances: FloatArray, truth: FloatArray) -> float:
    chances = np.clip(chances, 1e-6, 1 - 1e-6)
    return float(-np.log(np.where(truth == 1, chances, 1 - chances)).mean())


def _share(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f} %"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def markdown(rows: Sequence[dict[str, Any]]) -> str:
    """The tables: of people, of the games that there are, and of learners before them."""
    heads = (
        "set", "question", "people who judge", "judgements", "said again", "alpha",
        "more frequent value", "nearest", "panel model", "log loss",
    )  # fmt: skip
    lines = []
    for row in rows:
        losses = f"{_number(row['base_loss'])} → {_number(row['model_loss'])}"
        lines.append((
            row["set"], row["question"], f"{row['respondents']:,}", f"{row['judgements']:,}",
            f"{_share(row['same'])} of {row['repeats']:,}" if row["repeats"] else "–",
            _number(row["alpha"]), *(_share(row[name]) for name in ("base", "nearest", "model")),
            losses if row["base_loss"] is not None else "–",
        ))  # fmt: skip
    names = [row["set"] for row in rows]
    games = {n: f"`{PLAYED[n]}`" if n in PLAYED else f"none: {NOT_PLAYED[n]}" for n in names}
    worlds = {PLAYED[name] for name in names if name in PLAYED}
    learners = (
        "world", "learner", "rounds", "seeds", "error", "rounds in violation", "reports", "looks",
    )  # fmt: skip
    return "\n\n".join([
        table(heads, lines), table(("set", "game"), games.items()),
        table(learners, _games(worlds)),
    ])  # fmt: skip


def _games(worlds: Collection[str]) -> Iterator[Sequence[str]]:
    """The four counts of every learner in the stored games of some worlds, means over seeds."""
    games: dict[tuple[str, int, str], list[Row]] = defaultdict(list)
    for row in (row for study in GAMES for row in stored_rows(study)):
        if row.scenario in worlds:
            games[row.scenario, row.rounds, row.configuration].append(row)
    for (world, rounds, title), played in sorted(games.items()):
        learner = played[0].learner
        error = np.mean([row.error_rate for row in played])
        names = ("violations", "reports", "looks")
        counts = (np.mean([getattr(row, name) for row in played]) for name in names)
        yield (
            world, title if learner in title else f"{learner}, {title}", f"{rounds:,}",
            str(len(played)), f"{error:.3f}", *(f"{count:,.0f}" for count in counts),
        )  # fmt: skip


STUDY = Study("judgements", "judgements.json", "results.md", markdown)


def write(rows: Sequence[dict[str, Any]]) -> None:
    """Store the rows, in place of earlier ones of the same sets, and show all."""
    by_set = {row["set"]: row for row in (*STUDY.stored(), *rows)}
    STUDY.keep([by_set[name] for name in SETS if name in by_set])
