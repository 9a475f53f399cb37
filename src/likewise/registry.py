"""Registries: everything that is known by name, ours and what installed packages add.

A saved state, a study in several processes and the command line know a hypothesis class, a player
or a world by its name alone. A package adds one with an entry point in its ``pyproject.toml``:

    [project.entry-points."likewise.hypotheses"]
    intervals = "my_package:Intervals"

Only what is installed can be named: no file and no request can bring code with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any, TypeVar, cast

from likewise.errors import LikewiseError, ParameterError, shown

if TYPE_CHECKING:
    from likewise.auditing import Metric, Selection
    from likewise.baselines import Baseline
    from likewise.hypotheses import HypothesisClass
    from likewise.learning import Player, Schedule
    from likewise.worlds import World

__all__ = [
    "BASELINES",
    "HYPOTHESES",
    "METRICS",
    "PLAYERS",
    "REGISTRIES",
    "SCHEDULES",
    "SELECTIONS",
    "WORLDS",
    "Registry",
]

T = TypeVar("T")


class Registry(Mapping[str, T]):
    """Things of one kind by name: ``ours`` (as module:attribute), entry points, and ``add``.

    What is registered is imported when it is first asked for, so that listing names costs nothing.

    >>> sorted(WORLDS)[:2], "loans" in WORLDS, WORLDS["loans"].__name__
    (['adaptive', 'admissions'], True, 'Loans')
    >>> WORLDS["lones"]  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    likewise.errors.ParameterError: world must be one of loans, admissions, drift, ...; got \
'lones'. Check the spelling; a package adds one with an entry point of the group 'likewise.worlds'.
    """

    def __init__(self, group: str, noun: str, ours: Mapping[str, str]) -> None:
        self.group, self.noun = group, noun
        self._ours = dict(ours)
        self._added: dict[str, T] = {}
        self._loaded: dict[str, T] = {}

    @cached_property
    def _installed(self) -> dict[str, list[EntryPoint]]:
        found: dict[str, list[EntryPoint]] = {}
        for point in entry_points(group=self.group):
            # An editable installation may be listed twice; the same object is no contradiction.
            others = found.setdefault(point.name, [])
            if all(point.value != other.value for other in others):
                others.append(point)
        return found

    @property
    def names(self) -> tuple[str, ...]:
        """All names: ours, those of installed packages, and those added here."""
        return tuple(dict.fromkeys((*self._ours, *sorted(self._installed), *self._added)))

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self.names

    def __getitem__(self, name: str) -> T:
        if not isinstance(name, str):
            raise self._unknown(name)
        if name in self._added:
            return self._added[name]
        if name not in self._loaded:
            self._loaded[name] = self._load(name)
        return self._loaded[name]

    def _load(self, name: str) -> T:
        if name not in self:
            raise self._unknown(name)
        points = self._installed.get(name, [])
        claims = [f"{point.value} of {_package(point)}" for point in points]
        if name in self._ours:
            claims.insert(0, "Likewise itself")
        if len(claims) > 1:
            raise LikewiseError(
                f"The {self.noun} {name!r} is claimed by {' and by '.join(claims)}. Uninstall one, "
                f"or ask its authors for another name."
            )
        if name in self._ours:
            module, _, attribute = self._ours[name].partition(":")
            return cast(T, getattr(import_module(module), attribute))
        try:
            return cast(T, points[0].load())
        except Exception as error:  # whatever a package of somebody else's does while it loads
            raise LikewiseError(
                f"The {self.noun} {name!r} is {claims[0]}, which cannot be loaded "
                f"({type(error).__name__}: {error}). Install that package again, or repair it."
            ) from error

    def _unknown(self, name: object) -> ParameterError:
        return ParameterError(
            self.noun, f"must be one of {', '.join(self.names)}", name,
            f"Check the spelling; a package adds one with an entry point of the group "
            f"{self.group!r}.",
        )  # fmt: skip

    def add(self, name: str, thing: T) -> T:
        """Register something for this process alone; other processes need an entry point."""
        if not isinstance(name, str) or not name:
            raise ParameterError(
                f"{self.noun} name", "must be text that is not empty", name, "Choose one."
            )
        if name in self and self[name] is not thing:
            raise ParameterError(
                f"{self.noun} name", "must not be taken", name, "Choose another name."
            )
        self._added[name] = thing
        return thing

    def read(self, key: str, spec: Mapping[str, Any], example: str) -> Any:
        """Read one of them from its JSON, which has its name under ``key``, as the example has."""
        if not isinstance(spec, Mapping) or key not in spec:
            rule = f"must be an object that names a {self.noun}"
            raise ParameterError(key, rule, spec, f"Write {example}.")
        kind: Any = self[spec[key]]
        try:
            return kind.from_spec(spec)
        except LikewiseError:
            raise
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise ParameterError(
                key, f"must be the JSON of the {self.noun} {spec[key]!r}", spec,
                f"{type(error).__name__}: {error}. Compare it with what spec() writes.",
            ) from error  # fmt: skip

    def check_name(self, name: object, thing: object) -> str:
        """The name, if it is registered for the thing: then what is saved can be loaded again.

        >>> WORLDS.check_name("loans", WORLDS["loans"])
        'loans'
        """
        if not isinstance(name, str) or name not in self or self[name] is not thing:
            named = getattr(thing, "__qualname__", type(thing).__qualname__)
            raise LikewiseError(
                f"{named} is not registered as the {self.noun} {shown(name)}, so nothing that is "
                f"saved under that name could be loaded again. Register it: by an entry point of "
                f"the group {self.group!r}, or with likewise.registry's add(…) in every process."
            )
        return name


def _package(point: EntryPoint) -> str:
    return "a package without a name" if point.dist is None else f"the package {point.dist.name}"


def _registry(group: str, noun: str, ours: Mapping[str, str]) -> Registry[Any]:
    return Registry(f"likewise.{group}", noun, ours)


_LISTED, _CELLS = "likewise.hypotheses.listed", "likewise.hypotheses.cells"

HYPOTHESES: Registry[type[HypothesisClass]] = _registry(
    "hypotheses",
    "hypothesis class",
    {
        "pool": f"{_LISTED}.pool:Pool",
        "segments": f"{_CELLS}.segments:Segments",
        "staircases": f"{_CELLS}.staircases:Staircases",
        "conjunctions": f"{_LISTED}.boolean:Conjunctions",
        "disjunctions": f"{_LISTED}.boolean:Disjunctions",
        "parities": f"{_LISTED}.boolean:Parities",
        "decision-lists": f"{_LISTED}.decision_lists:DecisionLists",
        "stumps": f"{_LISTED}.stumps:Stumps",
        "trees": f"{_LISTED}.trees:Trees",
        "linear-by-intercepts": f"{_LISTED}.linear:LinearByIntercepts",
    },
)
PLAYERS: Registry[type[Player]] = _registry(
    "players",
    "player",
    {
        "context-ftpl": "likewise.learning.primal.context_ftpl:ContextFTPL",
        "nested-ftpl": "likewise.learning.primal.nested_ftpl:NestedFTPL",
        "exponential-weights": "likewise.learning.primal.exponential_weights:ExponentialWeights",
    },
)
SCHEDULES: Registry[type[Schedule]] = _registry(
    "schedules",
    "schedule",
    {
        "self-tuned": "likewise.learning.schedules.self_tuned:SelfTuned",
        "paper": "likewise.learning.schedules.paper:Paper",
        "paper-one-sided": "likewise.learning.schedules.paper:PaperOneSided",
    },
)
BASELINES: Registry[Baseline] = _registry(
    "baselines",
    "baseline",
    {
        "accuracy-only": "likewise.baselines.plain:accuracy_only",
        "untaught": "likewise.baselines.plain:untaught",
        "constant": "likewise.baselines.plain:constant",
        "fixed-trade-off": "likewise.baselines.fixed_trade_off:fixed_trade_off",
        "bechavod-jung-wu": "likewise.baselines.bechavod_jung_wu:bechavod_jung_wu",
        "bechavod-roth": "likewise.baselines.bechavod_roth:bechavod_roth",
        "exp2": "likewise.baselines.bechavod_roth:exp2",
        "gillen": "likewise.baselines.gillen:gillen",
    },
)
WORLDS: Registry[type[World]] = _registry(
    "worlds",
    "world",
    {
        **{
            name: f"likewise.worlds.{name}:{name.capitalize()}"
            for name in (
                "loans",
                "admissions",
                "drift",
                "strategic",
                "adaptive",
                "adversarial",
                "turnover",
                "linear",
            )
        },
        "compas-judged": "likewise.worlds.people.compas:CompasJudged",
        "compas-fitted": "likewise.worlds.people.compas:CompasFitted",
        "phd-admissions": "likewise.worlds.people.phd:PhdAdmissions",
        "taiwan-credit": "likewise.worlds.people.credit:TaiwanCredit",
        "german-credit": "likewise.worlds.people.credit:GermanCredit",
        "law-school": "likewise.worlds.people.credit:LawSchool",
    },
)
METRICS: Registry[type[Metric]] = _registry(
    "metrics",
    "metric",
    {
        "weighted-l1": "likewise.auditing.metrics.by_feature:WeightedL1",
        "mahalanobis": "likewise.auditing.metrics.by_feature:Mahalanobis",
        "masked": "likewise.auditing.metrics.by_feature:Masked",
        "ratings": "likewise.auditing.metrics.opinions:Ratings",
    },
)
SELECTIONS: Registry[type[Selection]] = _registry(
    "selections",
    "selection of pairs",
    {
        "largest-gap": "likewise.auditing.selection:LargestGap",
        "first": "likewise.auditing.selection:FirstPair",
        "random": "likewise.auditing.selection:RandomPair",
        "all": "likewise.auditing.selection:AllPairs",
    },
)

REGISTRIES: tuple[Registry[Any], ...] = (
    HYPOTHESES, PLAYERS, SCHEDULES, BASELINES, WORLDS, METRICS, SELECTIONS,
)  # fmt: skip
