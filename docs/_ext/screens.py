"""Pictures of the report, the console and the dashboard, taken from the program by every build.

They are never older than the code. Where there is no Chromium, or with ``-D pictures=0``, each is a
note that says so.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CHROMIUM = Path("/usr/bin/chromium")
NAMES = ("report", "console", "dashboard")
SIZE = {"width": 1000, "height": 810}


def take_pictures(app: Any) -> None:
    """Write the pictures into ``docs/_pictures``."""
    from sphinx.util import logging

    folder = Path(app.srcdir) / "_pictures"
    folder.mkdir(exist_ok=True)
    if app.config.pictures not in (False, "0") and CHROMIUM.exists():
        _take(folder)
        return
    logging.getLogger(__name__).info("no pictures of pages: they need %s", CHROMIUM)
    for name in NAMES:
        if not (folder / f"{name}.png").exists():
            _note(folder / f"{name}.png")


def _note(path: Path) -> None:
    from PIL import Image, ImageDraw

    image = Image.new("RGB", (520, 60), "white")
    ImageDraw.Draw(image).text((10, 22), "This picture is taken where Chromium is.", fill="black")
    image.save(path)


def _take(folder: Path) -> None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as scratch:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM))
        page = browser.new_page(viewport=SIZE)
        page.goto(_report(Path(scratch)).as_uri())
        page.screenshot(path=folder / "report.png")
        with _served(Path(scratch)) as (address, member, operator):
            for name, token in (("console", member), ("dashboard", operator)):
                page = browser.new_context(viewport=SIZE).new_page()
                page.goto(f"{address}/console/sign-in")
                page.fill("input[name=token]", token)
                page.press("input[name=token]", "Enter")
                page.wait_for_url(lambda url: "sign-in" not in url)
                page.goto(f"{address}/{name}/")
                page.wait_for_load_state("networkidle")
                page.evaluate("scrollTo(0, 0)")  # the console brings the pair to the top
                page.screenshot(path=folder / f"{name}.png")
        browser.close()


def _report(folder: Path) -> Path:
    """The page of an audit of eighty people."""
    import numpy as np

    from likewise import Feature, FeatureSchema, MetricAuditor, Panel, audit
    from likewise.panel import WeightedL1

    rng = np.random.default_rng(1)
    rows = rng.uniform((20, 0), (120, 50), (80, 2)).round(0)
    schema = FeatureSchema((Feature("income", low=0, high=150), Feature("debt", low=0, high=50)))
    scores = 1 / (1 + np.exp(-(rows[:, 0] - rows[:, 1] - 45) / 6))
    panel = Panel([
        MetricAuditor("banker", WeightedL1({"income": 1.0, "debt": 0.5})),
        MetricAuditor("regulator", WeightedL1({"income": 0.6, "debt": 0.6})),
    ], "any")  # fmt: skip
    labels = (rng.random(80) < scores).astype(int)
    result = audit(schema.people(rows), scores, panel, alpha=0.2, labels=labels, model="credit 3")
    result.to_html(folder / "report.html")
    return folder / "report.html"


@contextmanager
def _served(folder: Path) -> Iterator[tuple[str, str, str]]:
    """The demo's server, with a member's and an operator's token, once a pair waits."""
    from likewise_client.client import Client
    from likewise_service.app import running
    from likewise_service.auth.tokens import create_token
    from likewise_service.demo import DEMO, YOU
    from likewise_service.ledger.store import Store
    from likewise_service.settings import Settings

    database = f"sqlite:///{folder / 'likewise.db'}"
    with running(Settings(database=database, demo=True)) as address:
        store = Store.open(database)
        operator, _ = create_token(store, "operator", "opal", None)
        with Client(address, operator) as client:
            _until(lambda: DEMO in [docket.name for docket in client.dockets()])
            _until(lambda: YOU in client.docket(DEMO).members)
        member, _ = create_token(store, "auditor", YOU, DEMO)
        with Client(address, member) as client:
            _until(lambda: bool(client.reviews(DEMO)))
        yield address, member, operator
        store.close()


def _until(fact: Any) -> None:
    ends = time.monotonic() + 180
    while not fact():
        if time.monotonic() > ends:
            raise TimeoutError("The demo's server has nothing to show after three minutes.")
        time.sleep(0.3)


def setup(app: Any) -> dict[str, bool]:
    """Tell Sphinx when to take them."""
    app.add_config_value("pictures", True, "env", types=(bool, str))
    app.connect("builder-inited", take_pictures)
    return {"parallel_read_safe": True}
