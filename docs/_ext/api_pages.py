"""The API reference, from public names and docstrings: a page a room, made before every build."""

from __future__ import annotations

import inspect
from importlib import import_module
from pathlib import Path
from types import GenericAlias
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


def page(package: str) -> str:
    """One page: what the room is for, an index of its public names, and each of them in full."""
    module = import_module(package)
    places = {name: _place(package, name) for name in NAMES.get(package) or module.__all__}
    names = sorted(places, key=str.lower)
    lines = [
        package,
        "=" * len(package),
        "",
        _first(module),
        "",
        ".. autosummary::",
        "   :nosignatures:",
        "",
    ]
    # What has no docstring of its own, such as a union of types, would be described as its type.
    lines += [f"   ~{places[name]}" for name in names if _is_described(places[name])] + [""]
    for name in names:
        if places[name] == f"{package}.{name}":
            lines += [name, "-" * len(name), "", *_entry(places[name]), ""]
    return "\n".join(lines)


def _first(module: Any) -> str:
    """The first sentence of a module's docstring, in one line."""
    return (inspect.getdoc(module) or "").split("\n\n")[0].replace("\n", " ")


def _place(package: str, name: str) -> str:
    """Where a name is described: what ``likewise`` itself offers, in its room."""
    rooms = (room for room in PACKAGES if room.startswith(f"{package}.") and room not in NAMES)
    home = next((room for room in rooms if name in import_module(room).__all__), package)
    return f"{home}.{name}"


def _thing(name: str) -> Any:
    path, _, last = name.rpartition(".")
    return getattr(import_module(path), last)


def _is_described(name: str) -> bool:
    thing = _thing(name)
    return inspect.isroutine(thing) or (
        inspect.isclass(thing) and not isinstance(thing, GenericAlias)
    )


def _entry(name: str) -> list[str]:
    thing = _thing(name)
    if inspect.isroutine(thing):
        return [f".. autofunction:: {name}"]
    if inspect.ismodule(thing):
        return [f".. automodule:: {name}", "   :members:"]
    if not _is_described(name):
        return [
            f".. py:data:: {name}",
            "",
            f"   ``{thing!r}``" if isinstance(thing, GenericAlias) else "",
        ]
    return [f".. autoclass:: {name}", "   :members:"]


def escape_bars(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:  # noqa: ARG001
    """Keep |H| what it is, the size of H: reST would look for a substitution of that name."""
    example = False
    for place, line in enumerate(lines):
        example = line.lstrip().startswith(">>>") or (example and bool(line.strip()))
        if not example:
            parts = line.split("``")
            parts[::2] = [part.replace("|", "\\|") for part in parts[::2]]
            lines[place] = "``".join(parts)


def keep_sentences(
    _app: Any, what: str, _name: str, _thing: Any, _options: Any, lines: list[str]
) -> None:
    """Keep "The chance of this: ½" a sentence; what is before a colon would be taken for a type."""
    if what in ("attribute", "property"):
        lines.insert(0, "")


def skip_foreign(app: Any, what: str, name: str, thing: Any, skip: bool, options: Any) -> bool:  # noqa: ARG001
    """Leave out methods that scikit-learn adds; it describes them itself."""
    return skip or str(getattr(thing, "__module__", "")).startswith("sklearn")


def write_pages(app: Any) -> None:
    """Write the pages into ``docs/api``, only those that changed."""
    folder = Path(app.srcdir) / "api"
    folder.mkdir(exist_ok=True)
    listed = [package.replace(".", "-") for package in PACKAGES]
    toctree = "\n".join(["```{toctree}", ":hidden:", "", *listed, "```"])
    rows = [
        f"| [`{package}`]({name}.rst) | {_first(import_module(package)).replace('``', '`')} |"
        for name, package in zip(listed, PACKAGES, strict=True)
    ]
    table = "\n".join(["| module | what it is for |", "|---|---|", *rows])
    text = "Every public name, with its parameters and an example."
    pages = {"index.md": f"# API reference\n\n{text}\n\n{table}\n\n{toctree}\n"}
    pages |= {f"{name}.rst": page(package) for name, package in zip(listed, PACKAGES, strict=True)}
    for name, text in pages.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def setup(app: Any) -> dict[str, bool]:
    """Tell Sphinx when to write the pages."""
    app.connect("builder-inited", write_pages)
    app.connect("autodoc-process-docstring", keep_sentences, priority=400)  # before napoleon
    app.connect("autodoc-process-docstring", escape_bars)
    app.connect("autodoc-skip-member", skip_foreign)
    return {"parallel_read_safe": True}
