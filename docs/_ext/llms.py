"""llms.txt: what the site has, for programs that read: a title and a line for each page, in order.

Its form is that of https://llmstxt.org: a heading, a summary, and lists of links with descriptions.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from docutils import nodes


def write_list(app: Any, error: Exception | None) -> None:
    """Write the file beside the pages; the text of every page too, as it was written."""
    if error is None and app.builder.format == "html":
        (Path(app.outdir) / "llms.txt").write_text(_text(app), encoding="utf-8")


def _text(app: Any) -> str:
    env, lines = app.env, [f"# {app.config.project}", ""]
    lines += [f"> {_first_paragraph(env.get_doctree('index'))}", ""]
    for caption, pages in _sections(env.get_doctree("index")):
        lines += [f"## {caption}", ""]
        lines += [
            f"- [{env.titles[page].astext()}]({page}.html): {_summary(env, page)}" for page in pages
        ]
        lines.append("")
    return "\n".join(lines)


def _sections(doctree: nodes.document) -> list[tuple[str, list[str]]]:
    from sphinx.addnodes import toctree

    return [(tree["caption"], tree["includefiles"]) for tree in doctree.findall(toctree)]


def _first_paragraph(doctree: nodes.document) -> str:
    first = next(iter(doctree.findall(nodes.paragraph)), None)
    return "" if first is None else first.astext().replace("\n", " ")


def _summary(env: Any, page: str) -> str:
    return re.split(r"(?<=[.?!]) ", _first_paragraph(env.get_doctree(page)))[0].rstrip(":")


def setup(app: Any) -> dict[str, bool]:
    """Tell Sphinx when to write it."""
    app.connect("build-finished", write_list)
    return {"parallel_read_safe": True}
