"""A sweep as data: every scenario with every learner and seed, read from a TOML file.

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

import hashlib
import itertools
import json
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

from likewise.errors import LikewiseError, ParameterError
from likewise.experiments.configurations import Configuration, Scenario
from likewise.experiments.environments import environment, environments_for
from likewise.experiments.learners import LEARNERS
from likewise.game.play import EVALUATION_DRAWS
from likewise.learning.learner import ALGORITHM
from likewise.registry import WORLDS
from likewise.validation import flag, integer, items, members, real, reals, text
from likewise.worlds.settings import known_setting

__all__ = ["HINDSIGHT", "Document", "Run", "Sweep", "read_sweep", "shipped_sweeps"]

HINDSIGHT = "fixed in hindsight"
_SCENARIO = (
    "world", "settings", "hypotheses", "alpha", "eps", "feedback", "delay", "audit_share",
    "report", "label",
)  # fmt: skip
_SWEEP = (
    "about", "level", "evaluation_draws", "prices", "comparators", "learners", "document", "figure",
)  # fmt: skip
_REMEDY = "See docs/sweeps.md."


@dataclass(frozen=True)
class Document:
    """The page into which the tables of a sweep go, and the mark between which they stand there."""

    file: str
    mark: str
    table: str = "points"


@dataclass(frozen=True)
class Run:
    """One game of a sweep: a scenario, a learner and a seed, counted at every horizon.

    ``comparators`` says that the best fixed policies in hindsight are found too.
    """

    scenario: Scenario
    configuration: Configuration
    seed: int
    horizons: tuple[int, ...]
    evaluation_draws: int = EVALUATION_DRAWS
    comparators: bool = True

    @property
    def digest(self) -> str:
        """A name for it: of all that its results depend on."""
        key = [
            ALGORITHM, self.scenario.key, self.configuration.key, self.seed, self.horizons,
            self.evaluation_draws, self.comparators,
        ]  # fmt: skip
        return hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()[:16]

    @property
    def title(self) -> str:
        """A line about it."""
        return f"{self.scenario.title}; {self.configuration.title}; seed {self.seed}"


@dataclass(frozen=True)
class Sweep:
    """Scenarios × learners × seeds, with the horizons at which they are counted.

    ``level`` is that of intervals; ``prices`` asks for fixed policies in hindsight that pay so much
    for their violations. ``only`` restricts a learner to some scenarios, by their titles.
    """

    title: str
    scenarios: tuple[Scenario, ...]
    learners: tuple[Configuration, ...]
    seeds: tuple[int, ...]
    horizons: tuple[int, ...]
    about: str = ""
    level: float = 0.95
    evaluation_draws: int = EVALUATION_DRAWS
    prices: tuple[float, ...] = ()
    comparators: bool = True
    only: Mapping[Configuration, tuple[str, ...]] = field(default_factory=dict)
    documents: tuple[Document, ...] = ()
    figure: str | None = None

    def __post_init__(self) -> None:
        if not self.scenarios or not self.learners or not self.seeds or not self.horizons:
            raise LikewiseError(
                f"The sweep {self.title!r} has nothing to play: it needs scenarios, learners, "
                f"seeds and horizons, at least one of each."
            )
        titles = [scenario.title for scenario in self.scenarios]
        for what, found in (
            ("scenarios", titles),
            ("learners", [one.title for one in self.learners]),
            ("seeds", [str(seed) for seed in self.seeds]),
        ):
            if twice := {one for one in found if found.count(one) > 1}:
                raise ParameterError(
                    what, "must all be different", sorted(twice)[0],
                    "Give one of them another label.",
                )  # fmt: skip
        for allowed in self.only.values():
            for one in allowed:
                if one not in titles:
                    raise ParameterError(
                        "only", f"must name scenarios of the sweep ({'; '.join(titles)})", one,
                        "Check the spelling.",
                    )  # fmt: skip

    @property
    def hindsight(self) -> tuple[Configuration, ...]:
        """The fixed policies in hindsight that pay for their violations."""
        return tuple(Configuration.of(HINDSIGHT, price=price) for price in self.prices)

    def learners_in(self, scenario: Scenario) -> tuple[Configuration, ...]:
        """Those that play there, and the policies in hindsight."""
        playing = [
            one for one in self.learners if scenario.title in self.only.get(one, (scenario.title,))
        ]
        return (*playing, *self.hindsight)

    def runs(self) -> Iterator[Run]:
        """All games, seed by seed; those in one world stand together, so that it is made once."""
        for seed in self.seeds:
            for scenario in self.scenarios:
                for configuration in self.learners_in(scenario):
                    yield Run(
                        scenario, configuration, seed, self.horizons, self.evaluation_draws,
                        self.comparators,
                    )  # fmt: skip

    @property
    def digest(self) -> str:
        """A name for all of it: of its runs, whatever they are called and in whatever order."""
        runs = ",".join(sorted(run.digest for run in self.runs()))
        return hashlib.sha256(runs.encode()).hexdigest()[:16]


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
