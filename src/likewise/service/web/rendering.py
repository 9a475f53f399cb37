"""The one Jinja2 environment of all pages: escaping is on, and an unknown name is an error."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from likewise.service.web import formatting as words

__all__ = ["HTMX", "render"]

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


@cache
def environment() -> Environment:
    """The environment, made on first use."""
    made = Environment(
        loader=PackageLoader("likewise.service.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["percent"] = words.percent
    made.filters["rounded"] = words.rounded
    made.filters["moment"] = words.moment
    made.filters["span"] = words.span
    made.globals["points"] = words.points
    made.globals["count"] = words.count
    made.globals["until"] = words.until
    made.globals["htmx_config"] = HTMX
    return made


def render(template: str, **values: Any) -> str:
    """One template, for example "console/awaiting.html", as HTML."""
    return environment().get_template(template).render(**values)
