"""Files of real people: where they are looked for, and the base of worlds that read them.

None of these files is part of this project. Judgements are read from a given folder, or from the
one that the environment variable ``LIKEWISE_PANELS`` names.
"""

import csv
import os
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from likewise.errors import LikewiseError
from likewise.numerics.fixed_point import IntArray
from likewise.panel import MetricAuditor, Panel, Ratings, Rule
from likewise.people import Feature, FeatureSchema, People
from likewise.simulate import Encounter, MissingDataError, Steady
from likewise.simulate.world import draw_round, encounter_of, setting

FOLDER = "LIKEWISE_PANELS"


def panel_file(folder: str, path: str, origin: str) -> Path:
    """Return a file of judgements in the given folder, or in that of the environment."""
    root = folder or os.environ.get(FOLDER, "")
    if not root:
        raise MissingDataError(
            f"The judgements {path} are not here. Get them from {origin}, and give the folder that "
            f"{path} is in with the setting `folder` or the environment variable {FOLDER}."
        )
    file = Path(root) / path
    if not file.is_file():
        raise MissingDataError(f"There is no file {file}. Get it from {origin}.")
    return file


def read_columns(path: Path, needed: Sequence[str]) -> list[dict[str, str]]:
    """The lines of a file that are not empty; of columns that have the same name, the first."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        header, *lines = csv.reader(file)
    if lacking := [name for name in needed if name not in header]:
        raise LikewiseError(f"{path} has no column {lacking[0]!r}. Get its authors' file.")
    places = {name: header.index(name) for name in header}
    return [{name: line[place] for name, place in places.items()} for line in lines if line]


@dataclass(frozen=True)
class Rated(Steady):
    """k people a round of a file that Likewise may not hand on, before those who rated them.

    With r_j(x) the rating rescaled to [0, 1], respondent j is an auditor with
    d_j(x, x′) = |r_j(x) − r_j(x′)|. These distances obey the triangle inequality.
    """

    seed: int
    k: int = setting(8, "the number of people a round", low=1, high=100)
    rule: Rule | str = setting("majority", "when objections make a report")
    folder: str = setting("", "the folder of the judgements; LIKEWISE_PANELS where it is empty")
    features: ClassVar[tuple[Feature, ...]]

    def __post_init__(self) -> None:
        super().__post_init__()
        self.everybody  # noqa: B018 - refuse a missing file now

    @property
    @abstractmethod
    def respondents(self) -> tuple[str, ...]: ...

    @property
    @abstractmethod
    def everybody(self) -> tuple[People, IntArray]:
        """The people that rounds are made of, with their labels."""

    @cached_property
    def schema(self) -> FeatureSchema:
        """The features, and a column for the ratings of each respondent, hidden from auditors."""
        columns = (f"rating of {name}" for name in self.respondents)
        ratings = (Feature(column, "number", 0, 1, visible=False) for column in columns)
        return FeatureSchema((*self.features, *ratings))

    @cached_property
    def panel(self) -> Panel:
        auditors = [MetricAuditor(n, Ratings(f"rating of {n}")) for n in self.respondents]
        return Panel(auditors, self.rule)

    def encounter(self, t: int) -> Encounter:
        """Draw k different people."""
        return self.drawn(t, *self.everybody)

    def drawn(self, t: int, people: People, labels: IntArray) -> Encounter:
        """Draw k different people of some."""
        positions = draw_round(self.seed, t, len(people), self.k)
        return encounter_of(t, people, labels, positions, self.panel)
