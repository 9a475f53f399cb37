"""An audit as one HTML page that needs nothing else, neither a network nor a script."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from likewise import __version__
from likewise.audits import figures
from likewise.errors import AuditError, shown
from likewise.extras import missing

try:
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
except ImportError as error:
    raise missing("An audit's page", "jinja2", "audit", error) from error

if TYPE_CHECKING:
    from likewise.audits.result import Audit


_TEMPLATES = Environment(
    loader=ChoiceLoader(
        [
            PackageLoader("likewise.audits", "templates"),
            PackageLoader("likewise.experiments.demo", "templates"),  # the look
        ]
    ),
    autoescape=True,
    undefined=StrictUndefined,
)
TITLES = {
    "alpha": "How it changes with alpha",
    "rules": "Under other rules",
    "members": "Who objects",
    "price": "The price",
}
READING = {
    "alpha": "The share of pairs that would be reported, and of people in one of them, at each "
    "alpha. The dashed line is the alpha of this audit.",
    "rules": "The same objections joined by other rules, at the same alpha.",
    "members": "The share of pairs that each member of the panel objects to.",
    "price": "The error of the model, and of what could take its place on the same people.",
}


def audit_page(audit: Audit) -> str:
    """The page; it names no address outside itself."""
    pictures = [
        (
            TITLES[kind],
            READING[kind],
            figures.figure(audit, kind, f"{TITLES[kind]}. {READING[kind]}"),
        )
        for kind in figures.available(audit)
    ]
    return _TEMPLATES.get_template("audit.html").render(
        audit=audit, figures=pictures, version=__version__
    )


def write_page(page: str, path: str | os.PathLike[str]) -> None:
    """Write a page to a file."""
    try:
        Path(path).write_text(page, encoding="utf-8", newline="\n")
    except (OSError, TypeError, ValueError) as error:
        raise AuditError(f"The page was not written to {shown(path)}: {error}") from error
