"""The documentation site builds offline and strict, and names no address outside itself."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


# The first test that needs it builds the site: half a minute of a processor that may be shared.
@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built from a copy, so that nothing is left in the project's folder."""
    source, out = tmp_path_factory.mktemp("docs") / "docs", tmp_path_factory.mktemp("site")
    shutil.copytree(ROOT / "docs", source, ignore=shutil.ignore_patterns("api", "__pycache__"))
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", str(source), str(out)],
        capture_output=True, text=True, timeout=560, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return out


@pytest.mark.long
@pytest.mark.timeout(600)
def test_every_page_is_in_the_site_and_nothing_is_fetched(site: Path) -> None:
    pages = {path.relative_to(site).as_posix() for path in site.rglob("*.html")}
    docs = ROOT / "docs"
    wanted = {p.relative_to(docs).with_suffix(".html").as_posix() for p in docs.rglob("*.md")}
    assert wanted <= pages
    assert "api/likewise-audits.html" in pages
    for name in pages:
        text = (site / name).read_text(encoding="utf-8")
        assert not re.search(r"(?:src|href)=[\"']?(?:https?:)?//", text), name
        assert "@import" not in text
    for style in site.rglob("*.css"):
        assert not re.search(r"url\([\"']?(?:https?:)?//", style.read_text(encoding="utf-8")), style


@pytest.mark.long
@pytest.mark.timeout(600)
def test_every_page_can_be_reached_from_the_first(site: Path) -> None:
    seen: set[str] = set()
    waiting = ["index.html"]
    while waiting:
        name = waiting.pop()
        if name in seen or not (site / name).exists():
            continue
        seen.add(name)
        folder = Path(name).parent
        for target in re.findall(r'href="([^"#:]+\.html)', (site / name).read_text()):
            waiting.append(_plain(folder / target))
    missing = {p.relative_to(site).as_posix() for p in site.rglob("*.html")} - seen
    assert missing <= {"genindex.html", "search.html"}


@pytest.mark.long
@pytest.mark.timeout(600)
def test_the_reference_says_what_each_name_is_for_and_lists_parameters(site: Path) -> None:
    pages = {path.stem: path.read_text(encoding="utf-8") for path in site.glob("api/*.html")}
    for name, page in pages.items():
        assert not re.search(r":[a-z]+:`|(?<!`)``(?!`)", re.sub(r"<[^>]+>", "", page)), name
    people = pages["likewise-people"]
    assert 'id="likewise.people.FeatureSchema.from_frame"' in people
    assert "the column of the outcome" in people
    # The first page sends to the rooms, where each name is described once.
    assert 'href="likewise-panel.html#likewise.panel.Panel"' in pages["likewise"]


def _plain(path: Path) -> str:
    parts: list[str] = []
    for part in path.parts:
        if part == "..":
            parts.pop()
        elif part != ".":
            parts.append(part)
    return "/".join(parts)
