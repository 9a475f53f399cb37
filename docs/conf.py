"""The documentation site: `make docs`, offline and strict; no page names an address outside."""

from __future__ import annotations

import logging
import os
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
    "sphinx_copybutton", "screens", "sphinx_gallery.gen_gallery",
    "api_pages", "formulae", "llms", "access", "browser",
]  # fmt: skip
# Examples are run by every build: seconds each, and none of them is older than the code.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("DASK_LOGGING__DISTRIBUTED", "warning")
logging.basicConfig(level=logging.WARNING)  # before a package of the theme asks for everything
sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/\d\d_",
    "within_subsection_order": "FileNameSortKey",
    "run_stale_examples": True,
    "only_warn_on_example_error": True,
    "show_signature": False,
    "default_thumb_file": str(HERE / "_static" / "thumbnail.png"),
    "min_reported_time": 1_000_000,
    "show_memory": False,
    "download_all_examples": False,
    "remove_config_comments": True,
    "write_computation_times": False,
}
# A class says what its parameters are; a table below it lists them with their types.
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
autodoc_type_aliases = {"npt.ArrayLike": "ArrayLike"}  # not the dozen types that it stands for
autodoc_member_order = "bysource"
autosummary_generate = False
copybutton_prompt_text, copybutton_prompt_is_regexp = r">>> |\.\.\. |\$ ", True
exclude_patterns = [
    "_templates",
    "_ext",
    "figures",
    "examples",
    "paper/joss",
    "gallery/sg_execution_times.rst",
]
html_static_path = ["_static"]
html_css_files = ["site.css"]
templates_path = ["_templates"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
html_domain_indices = False  # the API reference has an index of its own
html_theme = "furo"
html_title = "Likewise"
html_copy_source = html_show_sourcelink = False
html_theme_options = {"footer_icons": []}
myst_heading_anchors = 3
# Links to files of the repository that are no pages of the site; tests see that they are there.
suppress_warnings = ["myst.xref_missing", "myst.header", "ref.python", "config.cache"]
