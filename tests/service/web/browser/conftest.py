"""A browser, and a stage: rendered pages behind the real content security policy, on loopback."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import pytest

from likewise_service.web.rendering import POLICY, PageContext, pair_key

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    from tests.service.web.conftest import Samples

CHROMIUM = Path("/usr/bin/chromium")
PATIENCE = 120_000  # milliseconds: a busy machine is no fault of a page
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
KINDS = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


@dataclass
class Stage:
    """A server of sample pages that remembers one member's flags, as the real one would."""

    samples: Samples
    pages: dict[str, str]
    spoken: dict[str, str] = field(default_factory=dict)
    flags: dict[str, str] = field(default_factory=dict)
    fines: set[str] = field(default_factory=set)
    refuse: str = ""
    seat: str = "5ea7"
    graded: bool = False
    posts: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    url: str = ""

    def reset(self) -> None:
        """Forget everything."""
        self.flags.clear()
        self.fines.clear()
        self.posts.clear()
        self.refuse, self.seat, self.graded = "", "5ea7", False

    def queue(self, focus: str = "", page: PageContext | None = None) -> dict[str, Any]:
        """The queue as it stands."""
        names = [pair_key(pair) for pair in self.samples.review().pairs]
        flags = {names.index(key): reason for key, reason in self.flags.items()}
        first = names.index(focus[33:]) + 1 if focus else 1
        review = self.samples.review(flags, graded=self.graded)
        return self.samples.queue(review, self.fines, first, page)

    def get(self, path: str, query: dict[str, str]) -> tuple[int, str, bytes]:
        """Status, kind and content of a page or file."""
        if path.startswith("/static/"):
            name = path.removeprefix("/static/")
            content = (
                files("likewise_service.web").joinpath("static", *name.split("/")).read_bytes()
            )
            return 200, KINDS[Path(name).suffix], content
        if path == "/console/queue.json" and self.refuse.startswith("/"):
            return 401, "application/json", b"{}"
        if path == "/console/queue.json":
            page = replace(self.samples.page, seat=self.seat)
            return 200, "application/json", json.dumps(self.queue(page=page)).encode()
        if path == "/console/":
            text = self.samples.asked(self.queue(query.get("pair", "")), query.get("last", ""))
        elif path.startswith("/page/"):
            text = (self.pages | self.spoken)[path.removeprefix("/page/")]
        else:
            fresh = path == "/dashboard/loans/"
            text = self.samples.dashboard(241) if fresh else self.pages["rounds"]
        return 200, "text/html; charset=utf-8", text.encode()

    def status(self, form: dict[str, str]) -> int:
        """The status of a request: refused, of nobody, of another seat, or done."""
        if self.refuse:
            return 401 if self.refuse.startswith("/") else 409
        return 200 if form.get("seat", self.seat) == self.seat else 403

    def post(self, path: str, form: dict[str, str]) -> str:
        """Do what a form asks, and say where to go next; empty where it is refused."""
        verb = path.rsplit("/", 1)[1]
        self.posts.append((verb, form))
        if self.status(form) != 200:
            return self.refuse if self.refuse.startswith("/") else ""
        if verb == "flag":
            self.flags[form["pair"]] = form["reason"]
        else:
            self.flags.pop(form["pair"], None)
        self.fines.discard(form["pair"])
        if verb == "fine":
            self.fines.add(form["pair"])
        place = f"{path.split('/')[3]}.{form['pair']}"
        return f"/console/?{'pair' if verb == 'undo' else 'last'}={place}"


class Server(ThreadingHTTPServer):
    """With room for all connections that a browser opens at once: a sixth would be dropped."""

    request_queue_size = 128


def handler(stage: Stage) -> type[BaseHTTPRequestHandler]:
    """The stage behind HTTP."""

    class Handler(BaseHTTPRequestHandler):
        def response(self, status: int, headers: dict[str, str], content: bytes = b"") -> None:
            self.send_response(status)
            for name, value in {"Content-Security-Policy": POLICY, **headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
            status, kind, content = stage.get(parts.path, query)
            self.response(status, {"Content-Type": kind, "Cache-Control": "no-store"}, content)

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            form = {k: v[-1] for k, v in parse_qs(body, keep_blank_values=True).items()}
            target = stage.post(self.path, form)
            if self.headers["Accept"] == "application/json":
                status = stage.status(form)
                said = {} if status == 200 else {"error": {"message": "Nothing was changed."}}
                kind = {"Content-Type": "application/json"}
                self.response(status, kind, json.dumps(said).encode())
            elif target:
                self.response(303, {"Location": target})
            else:
                kind = {"Content-Type": "text/html; charset=utf-8"}
                self.response(409, kind, stage.pages["problem"].encode())

        def log_message(self, format: str, *args: Any) -> None:
            pass

    return Handler


@pytest.fixture(scope="session")
def served(samples: Samples, hostile: Samples) -> Iterator[Stage]:
    bad = {f"hostile-{name}": page for name, page in hostile.pages().items()}
    stage = Stage(samples, {**samples.pages(), **bad})
    for code in ("de", "fr"):
        spoken = replace(samples, page=replace(samples.page, language=code))
        stage.spoken |= {f"{code}-{name}": page for name, page in spoken.pages().items()}
    server = Server(("127.0.0.1", 0), handler(stage))
    stage.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield stage
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def stage(served: Stage) -> Stage:
    served.reset()
    return served


# Not for the whole session: while it runs, asyncio.run would be refused in other tests.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    required = os.environ.get("LIKEWISE_BROWSER") == "required"
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        if required:
            raise
        pytest.skip("playwright is not installed")
    if not CHROMIUM.exists():
        if required:
            pytest.fail(f"LIKEWISE_BROWSER=required, but there is no {CHROMIUM}")
        pytest.skip(f"there is no {CHROMIUM}; install Debian's chromium to run the browser tests")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        yield started
        started.close()


def serious_violations(page: Page) -> list[dict[str, Any]]:
    """What axe finds on a page that shuts somebody out; lists of all that passes take it longer."""
    from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]

    found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
    return [violation for violation in found if violation["impact"] in ("serious", "critical")]
