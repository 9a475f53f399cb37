"""The documentation site builds offline and strict, and names no address outside itself."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote
from xml.etree import ElementTree

import pytest

from tests.made_once import made_once

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "docs" / "_ext"))
sys.path.insert(0, str(ROOT / "docs" / "_static" / "browser"))
browser_pages: Any = import_module("browser")
formulae: Any = import_module("formulae")
surrogates: Any = import_module("surrogates")
words: Any = import_module("words")

if TYPE_CHECKING:
    from playwright.sync_api import Page

CHROMIUM = Path("/usr/bin/chromium")
# A rule, an event, a rate, a test of law schools, a German word.
DICTIONARY = "AtLeast,checkin,dependant,fpr,lsat,unter"


# The first test that needs it builds the site: half a minute of a processor that may be shared.
@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built from a copy, so that nothing is left in the project's folder."""
    return made_once(tmp_path_factory, "site", build) / "site"


def build(folder: Path) -> None:
    source, out = folder / "docs", folder / "site"
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


@pytest.mark.long
@pytest.mark.timeout(600)
def test_every_page_is_in_the_site_and_nothing_is_fetched(site: Path) -> None:
    pages = {path.relative_to(site).as_posix() for path in site.rglob("*.html")}
    docs = ROOT / "docs"
    wanted = {
        p.relative_to(docs).with_suffix(".html").as_posix()
        for p in docs.rglob("*.md")
        if "joss" not in p.parts
    }
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
    """Axe finds nothing on five pages, and none of them is wider than the screen."""
    pages = ["index", "auditing-a-model", "research/theory", "api/likewise-people", "gallery/index"]
    page = browser.new_context(color_scheme=scheme).new_page()
    page.set_viewport_size({"width": 1280, "height": 900})
    for name in pages:
        page.goto((site / f"{name}.html").as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= 1280, name
        assert not _violations(page), name


@pytest.mark.long
@pytest.mark.timeout(600)
def test_no_page_is_wider_than_a_phone(site: Path, browser: Any) -> None:
    page = browser.new_page(viewport={"width": 390, "height": 900})
    wide = []
    for path in sorted(site.rglob("*.html")):
        page.goto(path.as_uri(), wait_until="domcontentloaded")
        if (width := page.evaluate("document.documentElement.scrollWidth")) > 390:
            wide.append(f"{path.relative_to(site)}: {width}")
    assert not wide, "\n".join(wide)


def solved(linprog: Any, text: str) -> dict[str, Any]:
    """Solve a program as HiGHS would, from its file to a response of the same form."""
    import numpy as np

    def row(terms: str) -> Any:
        values = np.zeros(text.count(" <= v"))
        for factor, place in re.findall(r"(\S+) v(\d+)", terms):
            values[int(place)] = float(factor)
        return values

    [costs] = re.findall(r" cost: (.*?)\nSubject To", text, re.S)
    rows = re.findall(r" r\d+: (.*?) (<=|=) (\S+)\n", text, re.S)
    above, equal = ([(row(r), float(b)) for r, s, b in rows if s == sign] for sign in ("<=", "="))
    [high] = re.findall(r" v0 <= (\S+)", text)
    result: Any = linprog(
        row(costs),
        A_ub=[r for r, _ in above] or None, b_ub=[b for _, b in above] or None,
        A_eq=[r for r, _ in equal] or None, b_eq=[b for _, b in equal] or None,
        bounds=(0, None if high == "inf" else float(high)), method="highs-ds",
    )  # fmt: skip
    duals = [*result.ineqlin.marginals, *result.eqlin.marginals]
    return {
        "Status": "Optimal", "ObjectiveValue": result.fun,
        "Columns": {f"v{place}": {"Primal": value} for place, value in enumerate(result.x)},
        "Rows": [{"Dual": value} for value in duals],
    }  # fmt: skip


def test_a_page_writes_the_linear_program_that_scipy_would_solve() -> None:
    import numpy as np
    from scipy.optimize import linprog

    rng = np.random.default_rng(5)
    for upper in (1.0, None):
        costs, rows = rng.normal(size=6) + (upper is None), rng.normal(size=(4, 6))
        program: dict[str, Any] = {
            "A_ub": rows, "b_ub": rng.uniform(0.1, 1, 4), "A_eq": np.ones((1, 6)), "b_eq": [1.0],
            "bounds": (0.0, upper),
        }  # fmt: skip
        ours, theirs = (
            surrogates.linprog(partial(solved, linprog), costs, **program),
            linprog(costs, **program),
        )
        np.testing.assert_allclose(ours.x, theirs.x, atol=1e-9)
        np.testing.assert_allclose(ours.ineqlin.marginals, theirs.ineqlin.marginals, atol=1e-9)
        np.testing.assert_allclose(ours.eqlin.marginals, theirs.eqlin.marginals, atol=1e-9)


@pytest.mark.long
@pytest.mark.parametrize("name", browser_pages.PAGES)
def test_an_example_runs_with_what_a_page_has_of_matplotlib_and_scipy(name: str) -> None:
    """In a process of its own, where the two are replaced before the library imports them."""
    script = f"""
import runpy
from functools import partial
from scipy.optimize import linprog
from tests.test_site import solved, surrogates
surrogates.install(partial(solved, linprog))
runpy.run_path("docs/examples/{name}.py")
assert surrogates.drawn()[0].startswith("<svg")
"""
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


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
        ("Error_t(π^t) and b’_i − a_i, of the auditors’ d_j; E_t is",
         ["Error_t(π^t)", "b’_i − a_i", "d_j", "E_t"]),
        ("the claim likewise_role, A’s", []),
        ("so E violations ≤ E reports ≤ (2/beta)·W; a report on regret, and its prior",
         ["E violations ≤ E reports ≤ (2/beta)·W"]),
        ("most violations / reports; Φ_{tau_{t−1}}(F) = −tau·log Σ_h prior(h), ln|H| and max S",
         ["Φ_{tau_{t−1}}(F) = −tau·log Σ_h prior(h)", "ln|H|", "max S"]),
        ("Let H = H_1 × … × H_n; f_1 … f_n, B_t + 2·lam_t·1[report] with |2·J_i·(1 − y_i) − 1|",
         ["H = H_1 × … × H_n", "f_1", "f_n", "B_t + 2·lam_t·1[report]", "|2·J_i·(1 − y_i) − 1|"]),
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


@pytest.mark.parametrize(
    ("text", "over", "under"),
    [
        ("B(Y + 1, b)/B(1, b)", "B(Y+1,b)", "B(1,b)"),
        ("2·ln(5·a)/R", "ln(5·a)", "R"),
        ("ln((a + b)·c) / ln q", "ln((a+b)·c)", "lnq"),
        ("ln|H|/E[X]", "ln|H|", "E[X]"),
        ("(a − b)/f_t(h)", "a−b", "ft(h)"),
        ("[n − R] / [1 + (n·T)]", "[n−R]", "[1+(n·T)]"),
    ],
)
def test_a_fraction_has_a_name_with_its_argument(text: str, over: str, under: str) -> None:
    root = ElementTree.fromstring(formulae.Formula(text, display=True).mathml())
    [fraction] = root.iter("mfrac")
    assert ["".join(part.itertext()) for part in fraction] == [over, under]


def test_bars_enclose_what_is_between_them() -> None:
    def bars(text: str) -> list[str | None]:
        root = ElementTree.fromstring(formulae.Formula(text).mathml())
        return [element.get("form") for element in root.iter("mo") if element.text == "|"]

    assert bars("log|H| + |a − b|") == ["prefix", "postfix"] * 2
    assert bars("E[|a| | b] ≤ |c|²") == ["prefix", "postfix", None, "prefix", "postfix"]
    assert bars("P(a | b)·|H|") == [None, "prefix", "postfix"]


def test_a_long_formula_may_be_broken_before_a_relation_outside_brackets() -> None:
    long = "E[J_i·1[ŷ_i = 1] | y] = q_i·E J_i ≤ |a − b| + max S"
    assert formulae._lines(long) == ["E[J_i·1[ŷ_i = 1] | y] ", "= q_i·E J_i ", "≤ |a − b| + max S"]
    assert formulae._lines("a = b ≤ c") == ["a = b ≤ c"]
    light = formulae._light(formulae.Formula("ln q + E [x]").mathml())
    assert light.startswith("<math><mi>ln\u2009</mi><mi>q</mi>")
    assert "<mspace width=.17em /><mo>[" in light
    assert "<mo stretchy=false>(" in formulae._light(formulae.Formula("f(x_t)").mathml())


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
