"""Tables on pages: what stands between two marks of a document is made of stored rows."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from likewise.errors import LikewiseError

RESULTS, RESEARCH = Path("studies/results"), Path("docs/research")
"""The rows behind the tables of the documentation, and its pages, in the project's folder."""


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    above, *below = (f"| {' | '.join(cells)} |" for cells in (heads, *rows))
    return "\n".join([above, "|---" * len(heads) + "|", *below])


def as_json(rows: Any) -> str:
    return json.dumps(rows, indent=1, ensure_ascii=False) + "\n"


def stored(path: Path) -> Any:
    """The rows of a study's JSON file."""
    return json.loads(path.read_text(encoding="utf-8"))


def keep(rows: Any, path: Path, page: Path, mark: str, text: str) -> None:
    """Store rows, and put the table that is made of them into its page."""
    path.write_text(as_json(rows), encoding="utf-8")
    write_between_marks(page, mark, text)


def write_between_marks(path: Path, mark: str, text: str) -> None:
    """Replace what stands between ``<!-- mark: begin -->`` and ``<!-- mark: end -->``."""
    begin, end = f"<!-- {mark}: begin -->", f"<!-- {mark}: end -->"
    document = path.read_text(encoding="utf-8") if path.exists() else ""
    if document.count(begin) != 1 or document.count(end) != 1:
        raise LikewiseError(
            f"{path} must contain {begin!r} and {end!r} once each, for the tables to go between. "
            f"Run this in the project's folder."
        )
    before, rest = document.split(begin)
    after = rest.split(end)[1]
    path.write_text(f"{before}{begin}\n{text.strip()}\n{end}{after}", encoding="utf-8")
