"""The API reference, from `__all__` and docstrings: a page a package, made before every build."""

from __future__ import annotations

import inspect
from importlib import import_module
from pathlib import Path
from typing import Any

PACKAGES = (
    "likewise", "likewise.schema", "likewise.frames", "likewise.hypotheses", "likewise.auditing",
    "likewise.audits", "likewise.learning", "likewise.estimator", "likewise.oracles",
    "likewise.game", "likewise.worlds", "likewise.evaluation", "likewise.baselines",
    "likewise.events", "likewise.errors", "likewise.registry", "likewise.testing",
)  # fmt: skip


def _signature(thing: Any) -> str:
    try:
        return str(inspect.signature(thing))
    except (TypeError, ValueError):
        return ""


def _docstring(thing: Any) -> str:
    own = inspect.getdoc(thing) if inspect.isclass(thing) or inspect.isroutine(thing) else None
    return own or ""


def _members(thing: Any) -> list[str]:
    """Public methods and properties that say what they do, a line each."""
    if not inspect.isclass(thing):
        return []
    lines = []
    for name, value in vars(thing).items():
        plain = value.__func__ if isinstance(value, classmethod | staticmethod) else value
        said = inspect.getdoc(plain.fget if isinstance(plain, property) else plain)
        if name.startswith("_") or not said or not (callable(plain) or isinstance(plain, property)):
            continue
        lines.append(f"- `{name}`: {said.splitlines()[0].replace('|', chr(92) + '|')}")
    return lines


def page(package: str) -> str:
    """One page: every public name with its signature, its docstring and its methods."""
    module = import_module(package)
    first = (inspect.getdoc(module) or package).split("\n\n")[0].replace("\n", " ")
    lines = [f"# `{package}`", "", first, ""]
    for name in sorted(module.__all__, key=str.lower):
        thing = getattr(module, name)
        called = callable(thing) and inspect.getmodule(thing) is not None
        lines += [f"## {name}", ""]
        if called:
            lines += ["```text", f"{name}{_signature(thing)}", "```", ""]
        if said := _docstring(thing):
            lines += ["````text", said, "````", ""]
        if members := _members(thing):
            lines += [*members, ""]
    return "\n".join(lines)


def _toctree(names: list[str]) -> str:
    return "\n".join(["```{toctree}", ":maxdepth: 1", "", *names, "```"])


def _other_pages(source: Path) -> list[str]:
    """Pages that the first page does not list, so that every page can be reached."""
    listed = (source / "index.md").read_text(encoding="utf-8").splitlines()
    hidden = {"index", "package"}
    return [
        f"/{path.stem}"
        for path in sorted(source.glob("*.md"))
        if path.stem not in listed and path.stem not in hidden
    ]


def write_pages(app: Any) -> None:
    """Write the pages into ``docs/api``, only those that changed."""
    folder = Path(app.srcdir) / "api"
    folder.mkdir(exist_ok=True)
    listed = [package.replace(".", "-") for package in PACKAGES]
    toctree = _toctree(listed)
    if others := _other_pages(Path(app.srcdir)):
        toctree += f"\n\n## Other pages\n\n{_toctree(others)}"
    pages = {"index": f"# API reference\n\nEvery public name.\n\n{toctree}\n"}
    pages |= {name: page(package) for name, package in zip(listed, PACKAGES, strict=True)}
    for name, text in pages.items():
        path = folder / f"{name}.md"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def setup(app: Any) -> dict[str, bool]:
    """Tell Sphinx when to write the pages."""
    app.connect("builder-inited", write_pages)
    return {"parallel_read_safe": True}
