"""The documentation site builds offline and strict, and names no address outside itself."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "docs" / "_ext"))
formulae: Any = import_module("formulae")
words: Any = import_module("words")

if TYPE_CHECKING:
    from playwright.sync_api import Page

CHROMIUM = Path("/usr/bin/chromium")
# A rule, an event, a rate, a test of law schools, a German word.
DICTIONARY = "AtLeast,checkin,fpr,lsat,unter"


# The first test that needs it builds the site: half a minute of a processor that may be shared.
@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built from a copy, so that nothing is left in the project's folder."""
    source, out = tmp_path_factory.mktemp("docs") / "docs", tmp_path_factory.mktemp("site")
    shutil.copytree(
        ROOT / "docs",
        source,
        ignore=shutil.ignore_patterns("api", "gallery", "_pictures", "__pycache__"),
    )
    done = subprocess.run(
        # The gallery and the pictures are made by `make docs`, which CI runs by itself.
        [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-D", "plot_gallery=0",
         "-D", "pictures=0", str(source), str(out)],
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


class _Anchors(HTMLParser):
    """The ids of a page, and where its links lead."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.ids |= {value for name in ("id", "name") if (value := values.get(name))}
        if tag == "a" and (target := values.get("href")):
            self.links.append(target)


@pytest.mark.long
@pytest.mark.timeout(600)
def test_every_link_of_the_site_leads_to_a_page_and_to_an_anchor_on_it(site: Path) -> None:
    pages = {path: _Anchors(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}
    broken = []
    for path, page in pages.items():
        for link in page.links:
            place, _, anchor = unquote(link).partition("#")
            target = (path.parent / place).resolve() if place else path
            on_page = target not in pages or not anchor or anchor in pages[target].ids
            if not target.exists() or not on_page:
                broken.append(f"{path.relative_to(site)}: {link}")
    assert not broken, "\n".join(broken)


@pytest.mark.long
@pytest.mark.timeout(600)
def test_no_page_is_heavy_and_a_list_names_all_of_them(site: Path) -> None:
    """At most 500 kB with all that a page loads, but for figures."""
    for path in site.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        parts = set(re.findall(r'(?:src|href)="([^"#?:]+\.(?:js|css))["?]', text))
        files = [path, *((path.parent / part).resolve() for part in parts)]
        font = site / "_static/vendor/formulae.woff2" if "<math" in text else path
        assert sum(file.stat().st_size for file in {*files, font}) < 500_000, path
    listed = (site / "llms.txt").read_text(encoding="utf-8")
    for page in ("tutorial.html", "research/theory.html", "gallery/index.html", "api/index.html"):
        assert f"({page}): " in listed, page


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    if not CHROMIUM.exists():
        pytest.skip(f"the pages are looked at in a browser, and {CHROMIUM} is not there")
    with sync_playwright() as playwright:
        yield playwright.chromium.launch(executable_path=str(CHROMIUM))


def _violations(page: Page) -> list[str]:
    from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]

    found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
    return [json.dumps([v["id"], [n["html"][:200] for n in v["nodes"][:3]]]) for v in found]


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nobody_is_shut_out_and_nothing_is_cut_off(site: Path, browser: Any, scheme: str) -> None:
    """Axe finds nothing on five pages, and on a phone no page is wider than the screen."""
    pages = ["index", "auditing-a-model", "research/theory", "api/likewise-people", "gallery/index"]
    page = browser.new_context(color_scheme=scheme).new_page()
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 900})
        for name in pages:
            page.goto((site / f"{name}.html").as_uri())
            assert page.evaluate("document.documentElement.scrollWidth") <= width, (name, width)
            if width == 1280:
                assert not _violations(page), name


def test_practitioners_need_not_read_more_than_25_000_words() -> None:
    assert sum(words.counted().values()) <= words.MOST, words.counted()


def test_nothing_is_misspelt() -> None:
    pytest.importorskip("codespell_lib", reason="codespell is not installed")
    patterns = ("*.md", "docs/**/*.md", "docs/examples/*", "packages/**/*.py", "packages/*/*.md")
    paths = [path for pattern in patterns for path in ROOT.glob(pattern)]
    done = subprocess.run(
        [sys.executable, "-m", "codespell_lib", "-L", DICTIONARY, *map(str, paths)],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("a gap of at most d + alpha − kappa_t, where", ["d + alpha − kappa_t"]),
        ("Let A ≤ min(s/2, sqrt(8·s·log|H|)) always. (a) gives a report.",
         ["A ≤ min(s/2, sqrt(8·s·log|H|))"]),
        ("E[J_i·1[ŷ_i = 1]] = q_i·E J_i; were h^t one", ["E[J_i·1[ŷ_i = 1]] = q_i·E J_i", "h^t"]),
        ("A report and a panel of two people, and/or none.", []),
    ],
)  # fmt: skip
def test_formulae_are_found_in_sentences(sentence: str, expected: list[str]) -> None:
    assert [sentence[a:b] for a, b in formulae.formulae_in(sentence)] == expected


def test_formulae_are_set_as_written() -> None:
    text = formulae.Formula("Σ_t f_t²/(4·sqrt(T)) ≤ e^{−2a/tau}", display=True).mathml()
    root = ElementTree.fromstring(text)
    assert "".join(root.itertext()) == "Σtft24·T≤e−2aτ"
    kinds = [element.tag for element in root.iter()]
    assert kinds.count("mfrac") == 2
    assert kinds.count("munder") == kinds.count("msqrt") == kinds.count("msup") == 1


def test_every_formula_of_the_theory_is_well_formed() -> None:
    text = (ROOT / "docs/research/theory.md").read_text(encoding="utf-8")
    found = [text[a:b] for a, b in formulae.formulae_in(text)]
    assert len(found) > 1000
    for formula in found:
        for display in (False, True):
            ElementTree.fromstring(formulae.Formula(formula, display=display).mathml())


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
