"""How consistent people are, how well they are predicted, and how learners do before them.

    python -m studies people --write

Consistent with themselves: the share of judgements that somebody repeated when asked again. With
each other: Krippendorff's alpha. Predicted: the model that ``PanelModel`` learns (logistic
regression, a Newton step a judgement), beside the more frequent value and the nearest subject,
on subjects of whom it saw nobody. The counts of learners are those of stored games.
"""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from likewise.learner.attention import SCALE, VARIANCE
from likewise.numerics.fixed_point import FloatArray
from likewise.panel.agreement import krippendorff_alpha
from studies.people.judgements import Judged, Judgement

ROWS, PAGE = Path("studies/results/judgements.json"), Path("docs/research/results.md")
GAMES = ("rivals-people", "predecessors-people", "people")
FOLDS, MOST = 5, 10_000
"""Parts of the people, each held out once; and the most judgements of a set that are predicted."""


def row_of(name: str, judged: Judged) -> dict[str, Any]:
    """The figures of a set."""
    said = judged.judgements
    return {
        "set": name, "question": judged.question, "judgements": len(said),
        "respondents": len({j.respondent for j in said}),
        "subjects": len({j.subject for j in said}),
        **_repeats(said), "alpha": _alpha(said), **_predicted(judged),
    }  # fmt: skip


def _repeats(said: Sequence[Judgement]) -> dict[str, Any]:
    """Of two judgements of a subject by the same person, how many are the same."""
    again: dict[tuple[str, str], list[bool]] = defaultdict(list)
    for judgement in said:
        again[judgement.respondent, judgement.subject].append(judgement.value)
    pairs = [a == b for values in again.values() for a, b in combinations(values, 2)]
    return {"repeats": len(pairs), "same": sum(pairs) / len(pairs) if pairs else None}


def _alpha(said: Sequence[Judgement]) -> float | None:
    """Krippendorff's alpha of first judgements; None where nobody shares a subject."""
    units: dict[str, dict[str, bool]] = defaultdict(dict)
    for judgement in said:
        units[judgement.subject].setdefault(judgement.respondent, judgement.value)
    return krippendorff_alpha([values for values in units.values() if len(values) > 1])


class NewtonModel:
    """The model of a panel: logistic regression with a normal posterior, a step a judgement."""

    def __init__(self, size: int) -> None:
        self.mean, self.covariance = np.zeros(size), VARIANCE * np.eye(size)

    def learn(self, row: FloatArray, value: bool) -> None:
        direction = self.covariance @ row
        chance = 1 / (1 + np.exp(-np.clip(row @ self.mean, -30, 30)))
        curvature = chance * (1 - chance)
        gain = 1 + curvature * (row @ direction)
        self.covariance -= np.outer(direction, direction) * (curvature / gain)
        self.mean += direction * ((value - chance) / gain)

    def chances(self, rows: FloatArray) -> FloatArray:
        return np.asarray(1 / (1 + np.exp(-np.clip(rows @ self.mean, -30, 30))))


def _predicted(judged: Judged) -> dict[str, Any]:
    """The shares of judgements predicted, and the log loss, on subjects of people not seen."""
    said = [j for j in judged.judgements if j.subject in judged.inputs]
    names = ("base", "nearest", "model", "base_loss", "model_loss")
    if not said:
        return {"predicted": 0, **dict.fromkeys(names)}
    rng = np.random.default_rng(1)
    said = [said[place] for place in rng.permutation(len(said))[:MOST]]
    everybody = sorted({person for j in said for person in judged.people[j.subject]})
    fold_of = dict(zip(everybody, rng.integers(0, FOLDS, len(everybody)).tolist(), strict=True))
    totals, count = np.zeros(len(names)), 0
    for fold in range(FOLDS):
        folds = [{fold_of[person] for person in judged.people[j.subject]} for j in said]
        train = [j for j, inside in zip(said, folds, strict=True) if fold not in inside]
        test = [j for j, inside in zip(said, folds, strict=True) if inside == {fold}]
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
    model = NewtonModel(x.shape[1])
    for row, value in zip(x, y, strict=True):
        model.learn(row, value)
    chances = model.chances(z)
    nearest = _nearest(x, y, z)
    return [
        *(float(((guess >= 0.5) == truth).mean()) for guess in (base, nearest, chances)),
        *(_loss(guess, truth) for guess in (np.full(len(truth), base), chances)),
    ]


def _inputs(judged: Judged, said: Sequence[Judgement]) -> FloatArray:
    rows = np.stack([judged.inputs[j.subject] for j in said])
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


def markdown(rows: Sequence[dict[str, Any]], results: Path = ROWS.parent) -> str:
    """Both tables: of people, and of learners before them."""
    lines = [
        "| set | question | people who judge | judgements | said again | alpha | more frequent "
        "value | nearest | panel model | log loss |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        losses = f"{_number(row['base_loss'])} → {_number(row['model_loss'])}"
        cells = (
            row["set"], row["question"], f"{row['respondents']:,}", f"{row['judgements']:,}",
            f"{_share(row['same'])} of {row['repeats']:,}" if row["repeats"] else "–",
            _number(row["alpha"]), *(_share(row[name]) for name in ("base", "nearest", "model")),
            losses if row["base_loss"] is not None else "–",
        )  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, "", *_games(rows, results)])


def _games(rows: Sequence[dict[str, Any]], results: Path) -> list[str]:
    """The four counts of every learner in the stored games before these people."""
    lines = [
        "| world | learner | rounds | seeds | error | rounds in violation | reports | looks |",
        "|---|---|---|---|---|---|---|---|",
    ]
    names = {row["set"] for row in rows}
    games: dict[tuple[str, str, str], list[dict[str, str]]] = defaultdict(list)
    for study in GAMES:
        with (results / f"{study}.csv").open(encoding="utf-8", newline="") as file:
            for game in csv.DictReader(file):
                if game["world"] in names and game["scenario"] == game["world"]:
                    games[game["world"], game["rounds"], game["configuration"]].append(game)
    for (world, rounds, configuration), played in sorted(games.items()):
        means = [np.mean([float(game[n] or 0) for game in played])
                 for n in ("error_rate", "violations", "reports", "looks")]  # fmt: skip
        learner = played[0]["learner"]
        title = configuration if learner in configuration else f"{learner}, {configuration}"
        lines.append(
            f"| {world} | {title} | {int(rounds):,} | {len(played)} | {means[0]:.3f} | "
            f"{means[1]:,.0f} | {means[2]:,.0f} | {means[3]:,.0f} |"
        )
    return lines


def keep(rows: Sequence[dict[str, Any]]) -> None:
    """Store the rows, in place of earlier ones of the same sets, and show all."""
    from studies.people.judgements import SETS
    from studies.sweep.tables import write_between_marks

    before = json.loads(ROWS.read_text(encoding="utf-8")) if ROWS.is_file() else []
    stored = {row["set"]: row for row in (*before, *rows)}
    ordered = [stored[name] for name in SETS if name in stored]
    ROWS.write_text(json.dumps(ordered, indent=1) + "\n", encoding="utf-8")
    write_between_marks(PAGE, "judgements", markdown(ordered))
