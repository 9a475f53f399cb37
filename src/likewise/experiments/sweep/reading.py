"""A sweep from a TOML file: every scenario with every learner and seed.

    title = "loans, strict and lenient"
    seeds = { first = 101, count = 10 }
    horizons = [500, 2000]

    [[scenarios]]
    world = "loans"
    settings = { leniency = [0.01, 1.0, 2.0] }

    [[learners]]
    learner = "exact"
    eta = [0.25, 0.03125]

A list in place of a value is a grid; a table with several of them stands for all combinations.
Worlds and learners are registered names, ours or an installed package's.
"""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from likewise.errors import LikewiseError, ParameterError
from likewise.experiments.configurations import Configuration, Scenario
from likewise.experiments.environments import environment, environments_for
from likewise.experiments.learners import LEARNERS
from likewise.experiments.sweep.spec import Document, Sweep
from likewise.game.play import EVALUATION_DRAWS
from likewise.registry import WORLDS
from likewise.validation import flag, integer, items, members, real, reals, text
from likewise.worlds.settings import known_setting

__all__ = ["read_sweep", "shipped_sweeps", "sweep_from_data"]

_SCENARIO = (
    "world", "settings", "hypotheses", "alpha", "eps", "feedback", "delay", "audit_share",
    "report", "label",
)  # fmt: skip
_SWEEP = (
    "about", "level", "evaluation_draws", "prices", "comparators", "learners", "document", "figure",
)  # fmt: skip
_REMEDY = "See docs/sweeps.md."


def shipped_sweeps() -> dict[str, Path]:
    """The sweeps that come with the package, by name."""
    folder = Path(str(files("likewise.experiments.sweep") / "shipped"))
    return {path.stem: path for path in sorted(folder.glob("*.toml"))}


def read_sweep(source: str | Path) -> Sweep:
    """A sweep from its TOML file, or by the name of one that comes with the package."""
    shipped = shipped_sweeps()
    path = shipped[str(source)] if str(source) in shipped else Path(source)
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise LikewiseError(
            f"The sweep {str(source)!r} cannot be read: {error.strerror}. Give a TOML file, or one "
            f"of those that come with the package: {', '.join(shipped)}."
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise LikewiseError(f"{path} is not a TOML file: {error}") from error
    try:
        return sweep_from_data(data)
    except LikewiseError as error:
        raise LikewiseError(f"{path}: {error}") from error


def sweep_from_data(data: Mapping[str, Any]) -> Sweep:
    """A sweep from what its TOML file says; anything unknown in it is refused.

    >>> tiny = sweep_from_data({
    ...     "title": "tiny", "seeds": [1], "horizons": [8],
    ...     "scenarios": [{"world": "loans", "delay": ["0", "2"]}],
    ...     "learners": [{"learner": "exact", "eta": [1, 0.25]}]})
    >>> [run.title for run in tiny.runs()][-1]
    'loans, 2 rounds late; exact, eta = 1/4; seed 1'
    """
    given = members("A sweep", data, ("title", "seeds", "horizons", "scenarios"), _SWEEP)
    scenarios = [
        scenario
        for table in items("scenarios", given["scenarios"], _REMEDY)
        for scenario in _scenarios(table)
    ]
    only: dict[Configuration, tuple[str, ...]] = {}
    learners: list[Configuration] = []
    for table in items("learners", given.get("learners", []), _REMEDY):
        for configuration, allowed in _configurations(table):
            learners.append(configuration)
            if allowed is not None:
                only[configuration] = allowed
    horizons = items("horizons", given["horizons"], "List numbers of rounds.")
    return Sweep(
        text("title", given["title"], "Give the sweep a name."),
        tuple(scenarios),
        tuple(learners),
        _seeds(given["seeds"]),
        tuple(sorted(integer("horizons", n, 2, 1 << 32, "Rounds to play.") for n in horizons)),
        text("about", given.get("about", ""), "A sentence about it."),
        _level(given.get("level", 0.95)),
        integer("evaluation_draws", given.get("evaluation_draws", EVALUATION_DRAWS), 1, 10**9, ""),
        reals("prices", given.get("prices", []), "Errors that a unit of excess costs."),
        flag("comparators", given.get("comparators", True), "Say which."),
        only,
        tuple(_document(one) for one in items("document", given.get("document", []), _REMEDY)),
        None if "figure" not in given else text("figure", given["figure"], _REMEDY),
    )  # fmt: skip


def _level(value: Any) -> float:
    level = real("level", value, "0.95 is the default.")
    if not 0 < level < 1:
        raise ParameterError("level", "must be in (0, 1)", value, "0.95 is the default.")
    return level


def _document(table: Any) -> Document:
    given = members("document", table, ("file", "mark"), ("table",))
    return Document(**{name: text(name, value, _REMEDY) for name, value in given.items()})


def _seeds(value: Any) -> tuple[int, ...]:
    if isinstance(value, Mapping):
        given = members("seeds", value, ("first", "count"))
        first = integer("seeds.first", given["first"], 0, 1 << 62, "Any number.")
        return tuple(range(first, first + integer("seeds.count", given["count"], 1, 10**6, "")))
    listed = items("seeds", value, "List them, or write { first = 101, count = 10 }.")
    return tuple(integer("seeds", seed, 0, 1 << 64, "Any number.") for seed in listed)


def _scenarios(table: Any) -> Iterator[Scenario]:
    """All scenarios of one table; ``use`` names an environment, or all for a purpose."""
    if isinstance(table, Mapping) and "use" in table:
        given = members("A scenario with use", table, ("use",), _SCENARIO[2:])
        bases = _used(text("use", given.pop("use"), _REMEDY))
    else:
        given = members("A scenario", table, ("world",), _SCENARIO[1:])
        bases = [{}]
    settings = given.pop("settings", {})
    if not isinstance(settings, Mapping):
        raise ParameterError("settings", "must be a table", settings, "{ leniency = 0.01 }.")
    for base in bases:
        for values in _grid(given):
            for chosen in _grid(settings):
                yield _scenario({**base, **values}, {**base.get("settings", {}), **chosen})


def _used(name: str) -> list[dict[str, Any]]:
    named = environments_for(name) or {name: environment(name)}
    return [
        {"world": one.world, "settings": dict(one.settings), **one.rules, "label": title}
        for title, one in named.items()
    ]


def _scenario(values: Mapping[str, Any], settings: Mapping[str, Any]) -> Scenario:
    plain = {key: value for key, value in values.items() if key != "settings"}
    for key in ("alpha", "eps", "audit_share"):
        if key in plain:
            plain[key] = real(key, plain[key], _REMEDY)
    for key in ("world", "hypotheses", "feedback", "report", "label"):
        if key in plain:
            plain[key] = text(key, plain[key], _REMEDY)
    if "delay" in plain:
        plain["delay"] = str(plain["delay"])
    world = WORLDS[plain["world"]]
    for name in settings:
        known_setting(world, name)
    return Scenario(settings=tuple(settings.items()), **plain)


def _configurations(table: Any) -> Iterator[tuple[Configuration, tuple[str, ...] | None]]:
    if not isinstance(table, Mapping) or "learner" not in table:
        raise ParameterError("A learner", "must be a table with its name", table, _REMEDY)
    given = dict(table)
    only = given.pop("only", None)
    allowed = None if only is None else tuple(items("only", only, "List titles of scenarios."))
    label = given.pop("label", None)
    for name in _names(given.pop("learner")):
        named = LEARNERS[text("learner", name, _REMEDY)]
        for values in _grid(given):
            checked = named.check(values)
            yield Configuration(name, tuple(checked.items()), label), allowed


def _names(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list) else [value]


def _grid(table: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """All combinations of a table whose lists are grids.

    >>> list(_grid({"eta": [1, 2], "x": 3}))
    [{'eta': 1, 'x': 3}, {'eta': 2, 'x': 3}]
    """
    options = [value if isinstance(value, list) else [value] for value in table.values()]
    for values in itertools.product(*options):
        yield dict(zip(table, values, strict=True))
