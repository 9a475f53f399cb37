"""Templates: one Jinja2 environment for all pages, with escaping on and unknown names an error."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from fastapi.responses import HTMLResponse
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from likewise.service.api.metrics import evenly_spread
from likewise.service.clock import now
from likewise.service.web import formatting
from likewise.service.web.review_data import difference_text, review_data

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
# Under a content security policy without eval and inline styles; pages about people are kept
# neither in the browser's storage nor in htmx's own history; and new links work from the moment
# they are there, however fast somebody presses keys.
HTMX = json.dumps(
    {
        "allowEval": False,
        "allowScriptTags": False,
        "defaultSettleDelay": 0,
        "historyCacheSize": 0,
        "includeIndicatorStyles": False,
        "refreshOnHistoryMiss": True,
        "scrollIntoViewOnBoost": False,
        "selfRequestsOnly": True,
    }
)


@dataclass(frozen=True)
class PageContext:
    """The context of a page: the prefix of its addresses (``base``), and the token of its forms.

    ``title`` is that of the docket, ``who`` the name of the reader (empty when nobody is signed
    in), ``receipt`` the head of the ledger.
    """

    base: str
    csrf: str = ""
    title: str = "Likewise"
    who: str = ""
    receipt: str = ""
    now: str = field(default_factory=now)


@cache
def environment() -> Environment:
    """Return the environment, which is built on first use."""
    jinja = Environment(
        loader=PackageLoader("likewise.service.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    jinja.filters.update({name: getattr(formatting, name) for name in formatting.FILTERS})
    jinja.globals.update({name: getattr(formatting, name) for name in formatting.FUNCTIONS})
    jinja.filters.update(
        evenly_spread=evenly_spread, difference_text=difference_text, review_data=review_data
    )
    jinja.globals.update(htmx_config=HTMX, static="/static")
    return jinja


def render(template: str, page: PageContext, **values: Any) -> str:
    """Render a template, for example "console/awaiting.html"."""
    return environment().get_template(template).render(page=page, **values)


def html(text: str, status: int = 200) -> HTMLResponse:
    """Return a page under the strict content security policy."""
    return HTMLResponse(text, status, headers={"Content-Security-Policy": POLICY})


class StaticPages(StaticFiles):
    """Scripts and styles, which a browser may cache for an hour; they hold no personal data."""

    def __init__(self) -> None:
        super().__init__(directory=Path(__file__).parent / "static")

    async def get_response(self, path: str, scope: Scope) -> Response:
        """Return the file, with the time for which it may be cached."""
        response = await super().get_response(path, scope)
        response.headers["Cache-Control"] = "public, max-age=3600"
        return response
