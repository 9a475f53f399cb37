"""Worlds of real people are tried where their files are, and left out elsewhere."""

from __future__ import annotations

import studies  # noqa: F401 - registers worlds of real people
from likewise.simulate import WORLDS, MissingDataError


def _here(name: str) -> bool:
    try:
        WORLDS[name].make(1)
    except MissingDataError:
        return False
    return True


HERE = [name for name in WORLDS if _here(name)]
