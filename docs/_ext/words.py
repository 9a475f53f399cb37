"""Words that a practitioner has to read: python docs/_ext/words.py.

Everything on pages outside research and the API reference counts, code and tables too; of the
gallery, what its examples say beside their code.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

DOCS = Path(__file__).parents[1]
MOST = 25_000


def counted() -> dict[str, int]:
    """The words of each page, by its path."""
    pages = [path for path in sorted(DOCS.rglob("*.md")) if path.parent.name not in APART]
    counts = {path: len(path.read_text(encoding="utf-8").split()) for path in pages}
    counts |= {path: len(_said(path).split()) for path in sorted(DOCS.glob("examples/*.py"))}
    return {path.relative_to(DOCS).as_posix(): count for path, count in counts.items()}


APART = ("research", "paper", "joss", "api", "gallery")


def _said(path: Path) -> str:
    source = path.read_text(encoding="utf-8")
    comments = re.findall(r"^# (?!%%)(.*)$", source, flags=re.MULTILINE)
    return " ".join([ast.get_docstring(ast.parse(source)) or "", *comments])


if __name__ == "__main__":
    for name, count in sorted(counted().items(), key=lambda pair: -pair[1]):
        print(f"{count:6,}  {name}")
    print(f"{sum(counted().values()):6,}  of at most {MOST:,}")
