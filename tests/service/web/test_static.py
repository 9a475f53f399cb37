"""The static files: ours are plain and fetch nothing from elsewhere; those of others unchanged."""

from __future__ import annotations

import hashlib
import re
from importlib.resources import files

import pytest

STATIC = files("likewise_service.web").joinpath("static")
OURS = (
    "console.css",
    "console.js",
    "dashboard.css",
    "dashboard.js",
    "likewise.css",
    "signing.js",
    "texts.js",
)


@pytest.mark.parametrize("name", OURS)
def test_our_files_need_nothing_from_elsewhere(name: str) -> None:
    text = STATIC.joinpath(name).read_text(encoding="utf-8")
    assert not re.search(r"https?://|@import|url\(|\beval\b|innerHTML|new Function", text)


def test_code_of_others_is_what_the_readme_says() -> None:
    vendor = STATIC.joinpath("vendor")
    readme = vendor.joinpath("README.md").read_text(encoding="utf-8")
    sums = re.findall(r"^([0-9a-f]{64})  (\S+)$", readme, re.MULTILINE)
    assert {name for _, name in sums} == {
        path.name for path in vendor.iterdir() if path.name.endswith((".js", ".css"))
    }
    for digest, name in sums:
        assert hashlib.sha256(vendor.joinpath(name).read_bytes()).hexdigest() == digest
    assert "http" not in readme


def test_every_file_of_others_comes_with_its_licence() -> None:
    names = {path.name for path in STATIC.joinpath("vendor").iterdir()}
    assert "uplot.LICENSE.txt" in names
