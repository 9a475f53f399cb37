"""The API reference, from public names and docstrings: a page a room, made before every build."""

from __future__ import annotations

import inspect
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

PACKAGES = (
    "likewise", "likewise.audits", "likewise.people", "likewise.hypotheses", "likewise.panel",
    "likewise.learner", "likewise.learner.events", "likewise.learner.oracle", "likewise.simulate",
    "likewise.simulate.propose", "likewise.sklearn", "likewise.testing", "likewise.numerics",
    "likewise.registry", "likewise.errors", "likewise_client",
)  # fmt: skip
# The public names of rooms and modules that have no ``__all__``.
NAMES = {
    "likewise.errors": (
        "AuditError", "ContractError", "EventRefused", "HypothesisError", "LikewiseError",
        "LikewiseWarning", "MergedHypotheses", "MissingGpuError", "MissingLibraryError",
        "ParameterError", "PeopleError", "RuleError", "SchemaAdvice", "SlowEngine",
        "StateFileError", "UnseenValues",
    ),
    "likewise.learner.events": (
        "Arrived", "Audited", "Closed", "Decided", "Decision", "Event", "Labelled", "Outcome",
        "Overridden", "Person", "Sealed", "event_from_json", "event_to_json",
    ),
    "likewise.learner.oracle": ("ENGINES", "Oracle", "compile_at_once", "load_engine"),
    "likewise.numerics": (
        "fixed_point.ONE", "fixed_point.from_units", "fixed_point.to_units",
        "intervals.Interval", "intervals.share", "randomness.Noise", "randomness.Purpose",
        "randomness.Stream",
    ),
    "likewise.registry": (
        "BASELINES", "HYPOTHESES", "METRICS", "PLAYERS", "SCHEDULES", "SELECTIONS", "WORLDS",
        "Registry", "register",
    ),
    "likewise.simulate.propose": ("Proposal", "Trial", "propose"),
    "likewise.sklearn": ("LikewiseClassifier",),
}  # fmt: skip
WIDEST = 88


_EMPTY = inspect.Signature.empty


class _Bare:
    """An annotation that is printed as it was written, without quotes."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def _bare(annotation: Any) -> Any:
    return _Bare(annotation) if isinstance(annotation, str) else annotation


def _named(default: Any) -> Any:
    """A function by its name: its ``repr`` holds an address, which differs from build to build."""
    return _Bare(default.__name__) if inspect.isroutine(default) else default


def _signature(name: str, thing: Any, *, bound: bool = False) -> str:
    """A call as it is written, a line a parameter where it is long; ``bound`` without the first."""
    try:
        signature = inspect.signature(thing)
    except (TypeError, ValueError):
        return name
    parameters = [
        one.replace(annotation=_bare(one.annotation), default=_named(one.default))
        for one in signature.parameters.values()
    ][1 if bound else 0 :]
    back = _EMPTY if inspect.isclass(thing) else _bare(signature.return_annotation)
    signature = signature.replace(parameters=parameters, return_annotation=back)
    if len(line := f"{name}{signature}") <= WIDEST:
        return line
    alone = [
        str(signature.replace(parameters=[one], return_annotation=_EMPTY)) for one in parameters
    ]
    lines = [one[1:-1].removesuffix(", /") for one in alone]
    kinds = [one.kind for one in parameters]
    if inspect.Parameter.KEYWORD_ONLY in kinds and inspect.Parameter.VAR_POSITIONAL not in kinds:
        lines = [line.removeprefix("*, ") for line in lines]
        lines.insert(kinds.index(inspect.Parameter.KEYWORD_ONLY), "*")
    arrow = "" if back is _EMPTY else f" -> {inspect.formatannotation(back)}"
    return f"{name}(\n" + "".join(f"    {line},\n" for line in lines) + f"){arrow}"


def _docstring(thing: Any) -> str:
    own = inspect.getdoc(thing) if inspect.isclass(thing) or inspect.isroutine(thing) else None
    return own or ""


def _said(call: str, said: str) -> list[str]:
    """A call, and below it its docstring, as they are written."""
    return ["```text", call, "```", "", *(["````text", said, "````", ""] if said else [])]


def _members(thing: Any) -> list[str]:
    """Public methods and properties that say what they do, with signatures and parameters."""
    if not inspect.isclass(thing):
        return []
    lines = []
    for name, value in vars(thing).items():
        plain = value.__func__ if isinstance(value, classmethod | staticmethod) else value
        seen = isinstance(plain, property | cached_property)
        said = inspect.getdoc(plain)
        if name.startswith("_") or not said or not (callable(plain) or seen):
            continue
        lines += [f"### {thing.__name__}.{name}", ""]
        if seen:
            lines += ["````text", said, "````", ""]
            continue
        call = f"{thing.__name__}.{name}" if isinstance(value, classmethod | staticmethod) else name
        lines += _said(_signature(call, plain, bound=not isinstance(value, staticmethod)), said)
    return lines


def page(package: str) -> str:
    """One page: every public name with its signature, its docstring and its methods."""
    module = import_module(package)
    first = (inspect.getdoc(module) or package).split("\n\n")[0].replace("\n", " ")
    lines = [f"# `{package}`", "", first, ""]
    for name in sorted(NAMES.get(package) or module.__all__, key=str.lower):
        path, _, last = f"{package}.{name}".rpartition(".")
        thing = getattr(import_module(path), last)
        called = callable(thing) and inspect.getmodule(thing) is not None
        lines += [f"## {name}", ""]
        if called:
            lines += _said(_signature(last, thing), _docstring(thing))
        lines += _members(thing)
    return "\n".join(lines)


def _toctree(names: list[str]) -> str:
    return "\n".join(["```{toctree}", ":maxdepth: 1", "", *names, "```"])


def _other_pages(source: Path) -> list[str]:
    """Pages that the index of their folder does not list, so that every page can be reached."""
    return [
        f"/{path.relative_to(source).with_suffix('').as_posix()}"
        for index in (source / "index.md", *source.glob("*/index.md"))
        for path in sorted(index.parent.glob("*.md"))
        if index.parent.name != "api" and path != index
        if path.stem not in index.read_text(encoding="utf-8").splitlines()
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
