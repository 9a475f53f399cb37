"""A sweep as data: every scenario with every learner and seed, and what becomes of it."""

import hashlib
import itertools
import json
import math
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from likewise.errors import LikewiseError, ParameterError
from likewise.learner.attention import attention_named
from likewise.learner.schedules import KAPPA_SHARE, SelfTuned
from likewise.learner.settings import ALGORITHM
from likewise.registry import WORLDS
from likewise.simulate.game import Game
from likewise.simulate.learners import OURS, checked_settings
from likewise.simulate.rounds import EVALUATION_DRAWS, Delay, Delays
from likewise.validation import flag, integer, items, members, real, reals, text


def fraction(value: float) -> str:
    """A setting such as eta as people write it."""
    near = Fraction(value).limit_denominator(1024)
    power_of_two = near.denominator & (near.denominator - 1) == 0
    short = power_of_two or float(f"{value:g}") != value
    return str(near) if short and float(near) == value else f"{value:g}"


def setting_title(name: str, value: Any) -> str:
    """A setting with its value, in words for a table."""
    if name == "noise_divisor":
        power = math.log10(value) if value > 0 else math.nan
        return f"noise ÷ 10^{power:.0f}" if power == round(power) != 0 else f"noise ÷ {value:g}"
    if name == "kappa_share":
        near = Fraction(value).limit_denominator(12)
        exact = near.numerator == 1 and abs(float(near) - value) < 1e-12
        return f"kappa = eps/{near.denominator}" if exact else f"kappa = {value:g}·eps"
    if isinstance(value, bool):
        return name.replace("_", " ") if value else f"not {name.replace('_', ' ')}"
    if isinstance(value, float):
        return f"{name} = {fraction(value)}"
    return f"{name} = {value}" if not isinstance(value, str) else value


def learner_title(learner: str, settings: Mapping[str, Any]) -> str:
    return ", ".join([learner, *(setting_title(*pair) for pair in settings.items())])


def scenario_title(game: Game) -> str:
    """A world with its settings and class, and the rules of the game there."""
    return ", ".join([game.world, *_scenario_parts(game)])


def _scenario_parts(game: Game) -> Iterator[str]:
    yield from (setting_title(*pair) for pair in game.world_settings.items())
    if game.hypotheses is not None:
        yield game.hypotheses
    if game.alpha != 0.3:
        yield f"alpha = {game.alpha:g}"
    if game.eps is not None:
        yield f"eps = {game.eps:g}"
    if game.feedback != "full":
        yield f"{game.feedback} labels"
    yield from _late(game.delays)
    if game.attention.startswith("share:"):
        yield f"{fraction(float(game.attention.removeprefix('share:')))} audited"
    elif game.attention not in ("everything", "possible"):
        yield f"attention {game.attention}"
    if game.selection not in (None, "largest-gap"):
        yield f"report {game.selection}"


def _late(delays: Delays) -> Iterator[str]:
    parts: dict[str, Delay] = {"audits ": delays.audits, "labels ": delays.labels}
    if delays.audits == delays.labels:
        parts = {"": delays.audits}
    for noun, delay in parts.items():
        if delay.chance < 1:
            yield f"{noun}geometric delay ({delay.chance:g})"
        elif delay.rounds:
            yield f"{noun}{delay.rounds} rounds late"


HINDSIGHT = "fixed in hindsight"
# Baselines that ignore the panel; learners of ours with an eta of their own and the default kappa.
IGNORING = ("untaught", "accuracy-only", "constant")
# Defaults that a run depends on where it leaves the setting out.
DEFAULTS: Mapping[str, float] = {"eta": SelfTuned.eta, "kappa_share": KAPPA_SHARE}


@dataclass(frozen=True)
class Entry:
    """One learner in one scenario; with a ``price``, the fixed policy in hindsight that pays it."""

    game: Game
    scenario: str
    title: str
    price: float | None = None

    @property
    def learner(self) -> str:
        return self.game.learner if self.price is None else HINDSIGHT

    @property
    def settings(self) -> Mapping[str, Any]:
        return self.game.learner_settings if self.price is None else {"price": self.price}

    @property
    def ours(self) -> bool:
        return self.learner in OURS

    @property
    def key(self) -> list[Any]:
        """All that its runs depend on: the scenario, and the learner with defaults left out."""
        game, settings = self.game, dict(self.settings)
        scenario = {
            "world": game.world, "settings": dict(game.world_settings),
            "hypotheses": game.hypotheses, "alpha": game.alpha, "eps": game.eps_or_alpha,
            "feedback": game.feedback, "delay": game.delay, **_attention(game.attention),
            "report": game.selection or "largest-gap",
        }  # fmt: skip
        values = {**settings, "kappa_share": settings.get("kappa_share", settings.get("kappa"))}
        names = (
            tuple(DEFAULTS) if self.ours else ("kappa_share",) if self.learner in IGNORING else ()
        )
        defaults = {name: DEFAULTS[name] for name in names if values.get(name) is None}
        learner = {"learner": self.learner, "settings": settings}
        return [scenario, learner | ({"defaults": defaults} if defaults else {})]


def _attention(name: str) -> dict[str, Any]:
    """The part of a run's key: `possible` and `everything` play the same game, bit for bit."""
    kind, _, share = name.partition(":")
    if kind in ("possible", "everything", "share"):
        return {"audit_share": float(share) if kind == "share" else 1.0}
    return {"audit_share": 1.0, "attention": attention_named(name).spec()}


@dataclass(frozen=True)
class Run:
    """One game of a sweep: a learner in a scenario with a seed, counted at every horizon."""

    entry: Entry
    seed: int
    horizons: tuple[int, ...]
    evaluation_draws: int = EVALUATION_DRAWS
    comparators: bool = True

    @property
    def game(self) -> Game:
        return replace(self.entry.game, seed=self.seed, rounds=max(self.horizons))

    @property
    def digest(self) -> str:
        """A name made of everything that its results depend on."""
        key = [
            ALGORITHM, *self.entry.key, self.seed, self.horizons, self.evaluation_draws,
            self.comparators,
        ]  # fmt: skip
        return hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Document:
    """The page into which the tables of a sweep go, and the mark between which they stand there."""

    file: str
    mark: str
    table: str


@dataclass(frozen=True)
class Sweep:
    """Learners in scenarios, the seeds, and the horizons at which they are counted."""

    title: str
    entries: tuple[Entry, ...]
    seeds: tuple[int, ...]
    horizons: tuple[int, ...]
    about: str = ""
    evaluation_draws: int = EVALUATION_DRAWS
    comparators: bool = True
    documents: tuple[Document, ...] = ()
    figure: str | None = None

    def __post_init__(self) -> None:
        if not self.entries or not self.seeds or not self.horizons:
            raise LikewiseError(
                f"The sweep {self.title!r} has nothing to play: it needs scenarios, learners, "
                f"seeds and horizons, at least one of each."
            )
        all_different("seeds", self.seeds)

    def runs(self) -> Iterator[Run]:
        """All games, seed by seed; those in one world stand together, so that it is made once."""
        for by_seed in zip(*map(self.runs_of, self.entries), strict=True):
            yield from by_seed

    def runs_of(self, entry: Entry) -> list[Run]:
        rules = (self.horizons, self.evaluation_draws, self.comparators)
        return [Run(entry, seed, *rules) for seed in self.seeds]


LearnerFields = tuple[str, dict[str, Any], list[str] | None]
"""A title, fields of a game, and the scenarios that it is restricted to."""


def _entries(
    scenarios: Mapping[str, Game], learners: Sequence[LearnerFields], prices: Sequence[float]
) -> Iterator[Entry]:
    """Every learner in every scenario that it may play in, and a policy for every price."""
    all_different("learners", [title for title, _, _ in learners])
    for name in (name for _, _, only in learners for name in only or ()):
        if name not in scenarios:
            rule = f"must name scenarios of the sweep ({'; '.join(scenarios)})"
            raise ParameterError("only", rule, name, "Check the spelling.")
    for scenario, game in scenarios.items():
        for title, fields, only in learners:
            if only is None or scenario in only:
                yield Entry(replace(game, **fields), scenario, title)
        for price in prices if learners else ():
            yield Entry(game, scenario, learner_title(HINDSIGHT, {"price": price}), price)


def all_different(name: str, values: Sequence[object]) -> None:
    """Refuse a value that is there twice."""
    for value in values:
        if values.count(value) > 1:
            remedy = "Give one of them another label."
            raise ParameterError(name, "must all be different", value, remedy)


# Worlds by purpose: judging learners, or choosing their defaults. None does both. The choosing ones
# are ``admissions`` and a market for loans that is not the README's; the judging ones ``loans``,
# the worlds that drift and react, and the judgements of real people.
Fields = Mapping[str, Any]
_LATE = {f"{rounds} late": str(rounds) for rounds in (10, 50, 200)} | {
    f"labels {rounds} late": f"audits:0,labels:{rounds}" for rounds in (200, 1000)
}
_MARKET: Fields = {"k": 4, "luck": 0.35, "harshness": 0.0, "leniency": 0.7}


def _fields(world: str, settings: Fields | None = None, **rules: Any) -> Fields:
    return {"world": world, "world_settings": settings or {}, **rules}


def _family(name: str, **settings: Any) -> dict[str, Fields]:
    """A market for loans as it is, with other panels, other rounds, and late feedback."""
    rule_any = {**settings, "rule": "any"}
    family = {
        name: _fields("loans", settings),
        f"{name}, any": _fields("loans", rule_any),
        f"{name}, strict": _fields("loans", {**settings, "leniency": 0.01}),
        f"{name}, lenient": _fields("loans", {**settings, "leniency": 2.0}),
        f"{name}, alpha .1": _fields("loans", settings, alpha=0.1),
        f"{name}, k 2": _fields("loans", {**settings, "k": 2}),
        f"{name}, k 16": _fields("loans", {**settings, "k": 16}),
        f"{name}, panels change": _fields("turnover", settings),
    }
    for late, delay in _LATE.items():
        family[f"{name}, {late}"] = _fields("loans", settings, delay=delay)
        family[f"{name}, any, {late}"] = _fields("loans", rule_any, delay=delay)
    return family


CHOOSING: Mapping[str, Fields] = {
    "admissions": _fields("admissions"),
    "admissions, any": _fields("admissions", {"rule": "any"}),
    "admissions, alpha .1": _fields("admissions", alpha=0.1),
    "admissions, k 2": _fields("admissions", {"k": 2}),
    "admissions, k 16": _fields("admissions", {"k": 16}),
    **{f"admissions, {late}": _fields("admissions", delay=delay) for late, delay in _LATE.items()},
    **_family("market", **_MARKET),
}
PEOPLE: Mapping[str, Fields] = {
    "compas-judged": _fields("compas-judged"),
    "compas-judged, 80%": _fields("compas-judged", {"rule": "at_least(80%)"}),
    "compas-judged, any": _fields("compas-judged", {"rule": "any"}),
    "compas-fitted": _fields("compas-fitted"),
    "phd-admissions": _fields("phd-admissions"),
}
JUDGING: Mapping[str, Fields] = {
    **_family("loans"),
    **{name: _fields(name) for name in ("drift", "strategic", "adaptive", "adversarial")},
    **PEOPLE,
}
PURPOSES = {"choosing": CHOOSING, "judging": JUDGING, "people": PEOPLE}


def environments(name: str) -> Mapping[str, Fields]:
    """All environments for a purpose, or the one of that name, or any world as it is."""
    every = {**JUDGING, **CHOOSING}
    if name in PURPOSES:
        return PURPOSES[name]
    if name not in every and name not in WORLDS:
        raise ParameterError(
            "use", f"must be a purpose ({', '.join(PURPOSES)}), an environment or a world "
            f"({', '.join(WORLDS)})", name, "Check the spelling.",
        )  # fmt: skip
    return {name: every[name] if name in every else _fields(name)}


# The fields of a Game that a scenario may set, by their names in a file.
_RULES = ("hypotheses", "alpha", "eps", "feedback", "delay", "attention", "report", "label")
_SWEEP = ("about", "evaluation_draws", "prices", "comparators", "learners", "document", "figure")
_REMEDY = "See docs/research/sweeps.md."


def shipped_sweeps() -> dict[str, Path]:
    """The sweeps that come with the package, by name."""
    folder = Path(__file__).parent.parent / "sweeps"
    return {path.stem: path for path in sorted(folder.glob("*.toml"))}


def read_sweep(source: str | Path) -> Sweep:
    """A sweep from its TOML file, or by the name of one that comes with the package."""
    shipped = shipped_sweeps()
    path = shipped.get(str(source), Path(source))
    try:
        return sweep_from_data(tomllib.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise LikewiseError(
            f"The sweep {str(source)!r} cannot be read: {error.strerror}. Give a TOML file, or one "
            f"of those that come with the package: {', '.join(shipped)}."
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, LikewiseError) as error:
        raise LikewiseError(f"{path}: {error}") from error


def sweep_from_data(data: Mapping[str, Any]) -> Sweep:
    """A sweep from what its TOML file says; anything unknown in it is refused."""
    table = members("A sweep", data, ("title", "seeds", "horizons", "scenarios"), _SWEEP)
    listed = items("horizons", table["horizons"], "List numbers of rounds.")
    horizons = tuple(sorted(integer("horizons", n, 2, 1 << 32, "Rounds to play.") for n in listed))
    scenarios = [
        scenario
        for entry in items("scenarios", table["scenarios"], _REMEDY)
        for scenario in _scenarios(entry, max(horizons, default=2))
    ]
    all_different("scenarios", [title for title, _ in scenarios])
    learners = [
        learner
        for entry in items("learners", table.get("learners", []), _REMEDY)
        for learner in _learners(entry)
    ]
    prices = reals("prices", table.get("prices", []), "Errors that a unit of excess costs.")
    documents = items("document", table.get("document", []), _REMEDY)
    return Sweep(
        text("title", table["title"], "Give the sweep a name."),
        tuple(_entries(dict(scenarios), learners, prices)),
        _seeds(table["seeds"]),
        horizons,
        text("about", table.get("about", ""), "A sentence about it."),
        integer("evaluation_draws", table.get("evaluation_draws", EVALUATION_DRAWS), 1, 10**9, ""),
        flag("comparators", table.get("comparators", True), "Say which."),
        tuple(Document(**members("document", d, ("file", "mark", "table"))) for d in documents),
        table.get("figure"),
    )


def _seeds(value: Any) -> tuple[int, ...]:
    if isinstance(value, Mapping):
        table = members("seeds", value, ("first", "count"))
        first = integer("seeds.first", table["first"], 0, 1 << 62, "Any number.")
        return tuple(range(first, first + integer("seeds.count", table["count"], 1, 10**6, "")))
    listed = items("seeds", value, "List them, or write { first = 101, count = 10 }.")
    return tuple(integer("seeds", seed, 0, 1 << 64, "Any number.") for seed in listed)


def _scenarios(table: Any, rounds: int) -> Iterator[tuple[str, Game]]:
    """Titles and games without a learner yet; ``use`` names an environment, or a purpose's."""
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
    for base, rules, chosen in itertools.product(bases, _grid(values), _grid(settings)):
        # What was stored was looked at in full; `possible` plays the same game.
        fields = {"attention": "everything", **base, **rules}
        fields["world_settings"] = {**base.get("world_settings", {}), **chosen}
        for name in ("alpha", "eps"):
            if name in fields:
                fields[name] = real(name, fields[name], _REMEDY)
        if "delay" in fields:
            fields["delay"] = str(fields["delay"])
        if "report" in fields:
            fields["selection"] = fields.pop("report")
        label = fields.pop("label", None)
        game = Game(rounds=rounds, **fields)
        yield scenario_title(game) if label is None else label, game


def _learners(table: Any) -> Iterator[LearnerFields]:
    if not isinstance(table, Mapping) or "learner" not in table:
        raise ParameterError("A learner", "must be a table with its name", table, _REMEDY)
    values = dict(table)
    label = values.pop("label", None)
    only = items("only", values.pop("only"), "List titles.") if "only" in values else None
    for chosen in _grid(values):
        name = text("learner", chosen.pop("learner"), _REMEDY)
        attention = {"attention": chosen.pop("attention")} if "attention" in chosen else {}
        settings = checked_settings(name, chosen)
        title = learner_title(name, {**settings, **attention}) if label is None else label
        yield title, {"learner": name, "learner_settings": settings, **attention}, only


def _grid(table: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """All combinations of a table whose lists are grids."""
    options = [value if isinstance(value, list) else [value] for value in table.values()]
    for values in itertools.product(*options):
        yield dict(zip(table, values, strict=True))
