"""The documentation site: `make docs`, offline and strict; no page names an address outside."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

from likewise import __version__

project = "Likewise"
author = copyright = "The Likewise developers"
release = version = __version__
extensions = ["myst_parser", "api_pages"]
exclude_patterns = ["_templates", "_ext", "figures"]
templates_path = ["_templates"]
source_suffix = {".md": "markdown"}
html_theme = "furo"
html_title = "Likewise"
html_copy_source = html_show_sourcelink = False
html_theme_options = {"footer_icons": []}
myst_heading_anchors = 3
# Links to files of the repository that are no pages of the site; tests see that they are there.
suppress_warnings = ["myst.xref_missing", "myst.header"]
