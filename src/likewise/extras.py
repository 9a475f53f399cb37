"""Optional libraries: which extra brings each, and the sentence for one that is missing.

Likewise needs numpy; the command line adds click and rich. Everything else is imported in one place
each, and where it is missing the error names the command that installs it.
"""

from __future__ import annotations

from importlib.util import find_spec

from likewise.errors import LikewiseError

EXTRAS = {
    "fast": ("numba",),
    "gpu": ("torch", "triton"),
    "frames": ("narwhals",),
    "models": ("narwhals", "scikit-learn"),
    "audit": ("jinja2", "matplotlib", "narwhals", "pandas", "scipy"),
    "groups": ("fairlearn",),
    "study": ("jinja2", "matplotlib", "scipy"),
}
# Libraries that are imported under another name than they are installed by.
_MODULES = {"scikit-learn": "sklearn"}


class MissingLibraryError(LikewiseError, ImportError):
    """An optional library is not installed, or cannot be imported."""


class MissingGpuError(LikewiseError):
    """There is no GPU that the GPU engine could work on."""


def missing(
    what: str, library: str, extra: str, error: ImportError | None = None
) -> MissingLibraryError:
    """The error for a library that ``what`` needs and that is not there.

    >>> print(missing("The best fair policy in hindsight", "scipy", "study"))
    The best fair policy in hindsight needs scipy. Install it with: pip install 'likewise[study]'
    """
    # A library that is there and does not load is another matter, and its own words help.
    broken = error is not None and find_spec(_MODULES.get(library, library)) is not None
    why = f", which cannot be imported ({error})" if broken else ""
    return MissingLibraryError(
        f"{what} needs {library}{why}. Install it with: pip install 'likewise[{extra}]'"
    )


def absent(extra: str) -> list[str]:
    """The libraries of an extra that are not installed.

    >>> absent("study")
    []
    """
    return [name for name in EXTRAS[extra] if find_spec(_MODULES.get(name, name)) is None]
