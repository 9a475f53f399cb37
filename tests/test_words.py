"""The ordinary word of the field, everywhere: a stranger should find a thing by searching for it.

On the left words that were private; on the right what others call it. ``policy`` means π alone.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

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
ALLOWED: dict[tuple[str, str], str] = {
    ("packages/likewise/src/likewise/audits/formats.py", "office"): "addresses of Office Open XML",
    ("studies/people/judgements.py", "answer"): "a column of its authors' file",
}

KINDS = (".py", ".md", ".html", ".js", ".css", ".j2")
FILES = sorted(
    path
    for folder in (ROOT / "packages", ROOT / "studies", ROOT / "docs", ROOT)
    for path in (folder.glob("*.md") if folder == ROOT else folder.rglob("*"))
    if path.suffix in KINDS and not {"vendor", "gallery"} & {*path.parts}  # not ours; made
)
SOURCES = sorted(path for path in FILES if path.suffix == ".py")


def _names(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_no_private_word_is_left() -> None:
    private = re.compile("|".join(rf"(\b{word}\b)" for word in PRIVATE), flags=re.IGNORECASE)
    better = list(PRIVATE.values())
    left = set()
    for path in FILES:
        text = re.sub(r"(?<=[a-z])(?=[A-Z])|_", " ", path.read_text(encoding="utf-8"))
        for match in private.finditer(text):
            if (_names(path), match.group(0).lower()) not in ALLOWED:
                instead = better[(match.lastindex or 1) - 1]
                left.add(f"{_names(path)}: {match.group(0)!r} (say {instead!r})")
    assert not left, "\n".join(["", *sorted(left)])


def test_docstrings_begin_with_a_noun_or_a_verb() -> None:
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    questions = [
        f"{_names(path)}:{getattr(node, 'lineno', 1)}: {text.splitlines()[0]}"
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, kinds) and (text := ast.get_docstring(node) or "")
        if re.match(r"(What|Who|Whom|Whose|Whether)\b", text)
    ]
    rule = "Begin these with a noun or a verb, not with What, Who, Whom, Whose or Whether:"
    assert not questions, "\n".join(["", rule, *questions])
