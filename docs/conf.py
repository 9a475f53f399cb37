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
extensions = [
    "myst_parser", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.napoleon",
    "sphinx_copybutton", "api_pages",
]  # fmt: skip
# A class says what its parameters are; a table below it lists them with their types.
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
autodoc_member_order = "bysource"
autosummary_generate = False
copybutton_prompt_text, copybutton_prompt_is_regexp = r">>> |\.\.\. |\$ ", True
exclude_patterns = ["_templates", "_ext", "figures"]
templates_path = ["_templates"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
html_theme = "furo"
html_title = "Likewise"
html_copy_source = html_show_sourcelink = False
html_theme_options = {"footer_icons": []}
myst_heading_anchors = 3
# Links to files of the repository that are no pages of the site; tests see that they are there.
suppress_warnings = ["myst.xref_missing", "myst.header", "ref.python"]
