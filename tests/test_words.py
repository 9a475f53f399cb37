"""The ordinary word of the field, everywhere: a stranger should find a thing by searching for it.

On the left words that were private; on the right what others call it. ``policy`` means π alone.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

PRIVATE = {
    r"desks?": "docket",
    r"bench(?:es)?": "unit of work",
    r"books?": "projection",
    r"offices?": "worker",
    r"gates?": "middleware",
    r"doors?": "dependency",
    r"visits?": "page context",
    r"wires?": "transport",
    r"strangers?": "anonymous",
    r"answer(?:s|ed|ing)?": "response",
    r"stand[- _]?ins?": "surrogate",
    r"outlooks?": "estimates",
    r"contenders?": "configuration",
    r"arenas?": "environment",
    r"deaf": "ignores reports",
    r"heed(?:s|ed|ing)?": "ignores reports",
    r"whole[ _-]numbers?": "integer",
    r"for ever": "always",
}
# Where the private word is the right one: (file, word), with the reason.
ALLOWED: dict[tuple[str, str], str] = {}

KINDS = (".py", ".md", ".html", ".js", ".css", ".j2")
FILES = sorted(
    path
    for folder in (ROOT / "packages", ROOT / "studies", ROOT / "docs", ROOT)
    for path in (folder.glob("*.md") if folder == ROOT else folder.rglob("*"))
    if path.suffix in KINDS and "vendor" not in path.parts
)
SOURCES = sorted(path for path in FILES if path.suffix == ".py")


def _names(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", FILES, ids=_names)
def test_no_private_word_is_left(path: Path) -> None:
    text = re.sub(r"(?<=[a-z])(?=[A-Z])|_", " ", path.read_text(encoding="utf-8"))
    found = [
        f"{match.group(0)!r} (say {better!r})"
        for word, better in PRIVATE.items()
        for match in re.finditer(rf"\b{word}\b", text, flags=re.IGNORECASE)
        if (_names(path), match.group(0).lower()) not in ALLOWED
    ]
    assert not found, f"{_names(path)}: {', '.join(sorted(set(found)))}"


@pytest.mark.parametrize("path", SOURCES, ids=_names)
def test_docstrings_begin_with_a_noun_or_a_verb(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    found = [
        f"line {getattr(node, 'lineno', 1)}: {text.splitlines()[0]}"
        for node in ast.walk(tree)
        if isinstance(node, kinds) and (text := ast.get_docstring(node) or "")
        if re.match(r"(What|Who|Whom|Whose|Whether)\b", text)
    ]
    assert not found, "\n".join([_names(path), *found])
