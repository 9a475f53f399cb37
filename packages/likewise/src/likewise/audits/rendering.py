"""The templates of pages, also of those without a figure, which need no library that draws."""

from __future__ import annotations

from typing import Any

from likewise import __version__
from likewise.errors import missing

try:
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
except ImportError as error:
    raise missing("An audit's page", "jinja2", "audit", error) from error


_FOLDERS = "likewise.audits", "likewise.simulate"  # the second has the look
_TEMPLATES = Environment(
    loader=ChoiceLoader([PackageLoader(folder, "templates") for folder in _FOLDERS]),
    autoescape=True, undefined=StrictUndefined,
)  # fmt: skip


def render(template: str, **values: Any) -> str:
    return _TEMPLATES.get_template(template).render(version=__version__, **values)
