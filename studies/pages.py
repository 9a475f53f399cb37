"""Tables on pages: what stands between two marks of a document is made of stored rows."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Study:
    """A study whose rows are stored in a JSON file, and shown at a mark of a page.

    ``file`` and ``on`` are names in :data:`RESULTS` and :data:`RESEARCH`; ``show`` turns the rows
    into what the page has of them.
    """

    mark: str
    file: str
    on: str
    show: Callable[[Any], str]

    @property
    def page(self) -> Path:
        return RESEARCH / self.on

    def stored(self) -> Any:
        return json.loads((RESULTS / self.file).read_text(encoding="utf-8"))

    def keep(self, rows: Any) -> None:
        """Store the rows, and put what is made of them into the page."""
        (RESULTS / self.file).write_text(as_json(rows), encoding="utf-8")
        write_between_marks(self.page, self.mark, self.show(rows))


def between_marks(path: Path, mark: str) -> str:
    """Return the text between ``<!-- mark: begin -->`` and ``<!-- mark: end -->``."""
    return _parts(path, mark)[1].strip()


def write_between_marks(path: Path, mark: str, text: str) -> None:
    """Replace what stands between the two marks."""
    before, _, after = _parts(path, mark)
    path.write_text(f"{before}\n{text.strip()}\n{after}", encoding="utf-8")


def _parts(path: Path, mark: str) -> tuple[str, str, str]:
    """A page up to the end of the first mark, between both, and from the second on."""
    begin, end = f"<!-- {mark}: begin -->", f"<!-- {mark}: end -->"
    document = path.read_text(encoding="utf-8") if path.exists() else ""
    if document.count(begin) != 1 or document.count(end) != 1:
        raise LikewiseError(
            f"{path} must contain {begin!r} and {end!r} once each, for the tables to go between. "
            f"Run this in the project's folder."
        )
    before, rest = document.split(begin)
    between, after = rest.split(end)
    return before + begin, between, end + after
