"""Repairs for readers by keyboard and by ear: what axe finds in theme and gallery.

And pages are lighter: styles and scripts of the gallery are loaded by its own pages alone, and what
only we would read in those of the theme is left out.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

REPAIRS = (
    # Captions of lists of pages are headings, of some level.
    (r'role="heading">', 'role="heading" aria-level="2">'),
    # A block that scrolls can be scrolled by keyboard.
    (r"<pre>", '<pre tabindex="0">'),
    # Two landmarks of one kind have names.
    (r'<aside class="sidebar-drawer">', '<aside class="sidebar-drawer" aria-label="Pages">'),
    (r'<aside class="toc-drawer', '<aside aria-label="On this page" class="toc-drawer'),
    (r'<th class="head"><p></p></th>', "<td></td>"),
    # The name of a type that stands for a dozen.
    (r"<em>TypeAliasForwardRef</em><em>\(</em><em>'(\w+)'</em><em>\)", r"<em>\1"),
    # The empty line that ends an example in Markdown is no part of it.
    (r"\n\s*\n</pre>", "\n</pre>"),
    # The gallery's links lie over its pictures, and their text is hidden.
    (
        r'<a class="reference internal" href="([^"]+)"><span class="doc">([^<]+)</span></a>',
        r'<a class="reference internal" href="\1" aria-label="\2"><span class="doc">\2</span></a>',
    ),
)
# The name of a module may be broken after a dot, where it heads a page on a phone.
MODULE = re.compile(r"(?<=<h1>)likewise[\w.]+(?=<a )")
OF_THE_GALLERY = re.compile(r"\s*<(?:link|script)\b[^>]*/sg[_-][^>]*>(?:</script>)?")
# Pictures for links that no page of ours has.
UNUSED = re.compile(r'<symbol id="svg-(?:eye|pencil)".*?</symbol>\s*', re.DOTALL)


def repair(app: Any, error: Exception | None) -> None:
    """Repair every page."""
    if error is not None or app.builder.format != "html":
        return
    for path in Path(app.outdir).rglob("*.html"):
        text = repaired = path.read_text(encoding="utf-8")
        for pattern, better in REPAIRS:
            repaired = re.sub(pattern, better, repaired)
        repaired = MODULE.sub(lambda name: name[0].replace(".", ".<wbr>"), repaired)
        if "gallery" not in path.relative_to(app.outdir).parts:
            repaired = OF_THE_GALLERY.sub("", repaired)
        before, article, after = UNUSED.sub("", repaired).partition("<article")
        repaired = re.sub(r"\n\s+", "\n", before) + article + after
        if repaired != text:
            path.write_text(repaired, encoding="utf-8")
    colours = Path(app.outdir) / "_static" / "pygments.css"
    plain = re.sub(r"/\*.*?\*/", "", colours.read_text(encoding="utf-8"), flags=re.DOTALL)
    colours.write_text(re.sub(r"\s*([{};:])\s+", r"\1", plain), encoding="utf-8")


def setup(app: Any) -> dict[str, bool]:
    """Tell Sphinx when to repair them."""
    app.connect("build-finished", repair, priority=900)  # when the theme has written its colours
    return {"parallel_read_safe": True}
