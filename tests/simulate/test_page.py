"""The page of worlds names every world and every setting of it."""

from __future__ import annotations

from pathlib import Path

import pytest

import studies  # noqa: F401 - registers worlds of real people
from likewise.simulate import WORLDS, settings_of

PAGE = (Path(__file__).parents[2] / "docs/research/worlds.md").read_text()


@pytest.mark.parametrize("name", WORLDS)
def test_the_page_names_the_world_and_every_setting(name: str) -> None:
    assert f"| `{name}` |" in PAGE
    for setting in settings_of(WORLDS[name]):
        assert f"`{setting}`" in PAGE


def test_every_picture_has_a_text() -> None:
    assert "![]" not in PAGE
