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
from likewise.experiments.environments import environments
from likewise.experiments.games import Game
from likewise.experiments.learners import checked_settings
from likewise.experiments.sweep.spec import Document, Sweep, all_different, entries_of
from likewise.experiments.sweep.titles import learner_title, scenario_title
from likewise.game.play import EVALUATION_DRAWS
from likewise.validation import flag, integer, items, members, real, reals, text

# The fields of a Game that a scenario may set, by their names in a file.
_NUMBERS = ("alpha", "eps", "audit_share")
_TEXTS = ("world", "hypotheses", "feedback", "report", "label")
_RULES = ("hypotheses", "alpha", "eps", "feedback", "delay", "audit_share", "report", "label")
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
    table = members("A sweep", data, ("title", "seeds", "horizons", "scenarios"), _SWEEP)
    listed = items("horizons", table["horizons"], "List numbers of rounds.")
    horizons = tuple(sorted(integer("horizons", n, 2, 1 << 32, "Rounds to play.") for n in listed))
    learners = [
        learner
        for entry in items("learners", table.get("learners", []), _REMEDY)
        for learner in _learners(entry)
    ]
    return Sweep(
        text("title", table["title"], "Give the sweep a name."),
        entries_of(
            _all_scenarios(table["scenarios"], max(horizons, default=2)),
            [(title, fields) for title, fields, _ in learners],
            reals("prices", table.get("prices", []), "Errors that a unit of excess costs."),
            {title: only for title, _, only in learners if only is not None},
        ),
        _seeds(table["seeds"]),
        horizons,
        text("about", table.get("about", ""), "A sentence about it."),
        _level(table.get("level", 0.95)),
        integer("evaluation_draws", table.get("evaluation_draws", EVALUATION_DRAWS), 1, 10**9, ""),
        flag("comparators", table.get("comparators", True), "Say which."),
        tuple(_document(entry) for entry in items("document", table.get("document", []), _REMEDY)),
        None if "figure" not in table else text("figure", table["figure"], _REMEDY),
    )


def _level(value: Any) -> float:
    level = real("level", value, "0.95 is the default.")
    if not 0 < level < 1:
        raise ParameterError("level", "must be in (0, 1)", value, "0.95 is the default.")
    return level


def _document(table: Any) -> Document:
    fields = members("document", table, ("file", "mark"), ("table",))
    return Document(**{name: text(name, value, _REMEDY) for name, value in fields.items()})


def _seeds(value: Any) -> tuple[int, ...]:
    if isinstance(value, Mapping):
        table = members("seeds", value, ("first", "count"))
        first = integer("seeds.first", table["first"], 0, 1 << 62, "Any number.")
        return tuple(range(first, first + integer("seeds.count", table["count"], 1, 10**6, "")))
    listed = items("seeds", value, "List them, or write { first = 101, count = 10 }.")
    return tuple(integer("seeds", seed, 0, 1 << 64, "Any number.") for seed in listed)


def _all_scenarios(tables: Any, rounds: int) -> dict[str, Game]:
    """All scenarios by title; titles must differ."""
    scenarios = [
        scenario
        for table in items("scenarios", tables, _REMEDY)
        for scenario in _scenarios(table, rounds)
    ]
    all_different("scenarios", [title for title, _ in scenarios])
    return dict(scenarios)


def _scenarios(table: Any, rounds: int) -> Iterator[tuple[str, Game]]:
    """The scenarios of one table; ``use`` names an environment, or all for a purpose."""
    if isinstance(table, Mapping) and "use" in table:
        values = members("A scenario with use", table, ("use",), _RULES)
        used = environments(text("use", values.pop("use"), _REMEDY))
        bases = [{"label": title, **fields} for title, fields in used.items()]
    else:
        values = members("A scenario", table, ("world",), ("settings", *_RULES))
        bases = [{}]
    settings = values.pop("settings", {})
    if not isinstance(settings, Mapping):
        raise ParameterError("settings", "must be a table", settings, "{ leniency = 0.01 }.")
    for base in bases:
        for rules in _grid(values):
            for chosen in _grid(settings):
                world_settings = {**base.get("world_settings", {}), **chosen}
                yield _scenario({**base, **rules, "world_settings": world_settings}, rounds)


def _scenario(values: Mapping[str, Any], rounds: int) -> tuple[str, Game]:
    """The title of a scenario, and its game without a learner yet."""
    fields = dict(values)
    fields |= {name: real(name, fields[name], _REMEDY) for name in _NUMBERS if name in fields}
    fields |= {name: text(name, fields[name], _REMEDY) for name in _TEXTS if name in fields}
    label = fields.pop("label", None)
    if "delay" in fields:
        fields["delay"] = str(fields["delay"])
    if "report" in fields:
        fields["selection"] = fields.pop("report")
    game = Game(rounds=rounds, **fields)
    return scenario_title(game) if label is None else label, game


def _learners(table: Any) -> Iterator[tuple[str, dict[str, Any], tuple[str, ...] | None]]:
    """The learners of one table: title, fields of a game, and the scenarios it is restricted to."""
    if not isinstance(table, Mapping) or "learner" not in table:
        raise ParameterError("A learner", "must be a table with its name", table, _REMEDY)
    values = dict(table)
    listed, names, label = (
        values.pop("only", None),
        values.pop("learner"),
        values.pop("label", None),
    )
    only = None if listed is None else tuple(items("only", listed, "List titles of scenarios."))
    for name in names if isinstance(names, list) else [names]:
        for chosen in _grid(values):
            settings = checked_settings(text("learner", name, _REMEDY), chosen)
            title = learner_title(name, settings) if label is None else label
            yield title, {"learner": name, "learner_settings": settings}, only


def _grid(table: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """All combinations of a table whose lists are grids.

    >>> list(_grid({"eta": [1, 2], "x": 3}))
    [{'eta': 1, 'x': 3}, {'eta': 2, 'x': 3}]
    """
    options = [value if isinstance(value, list) else [value] for value in table.values()]
    for values in itertools.product(*options):
        yield dict(zip(table, values, strict=True))
