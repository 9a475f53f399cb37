"""Registries: every part that has a name, ours and those of installed packages.

Saved states, studies in several processes and the command line know a hypothesis class, a player
or a world by its name alone. A package adds one with an entry point in its ``pyproject.toml``:

    [project.entry-points."likewise.hypotheses"]
    intervals = "my_package:Intervals"

Only what is installed can be named: no file and no request can bring code with it. A program that
uses Likewise registers parts for its own process with :func:`register`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache, cached_property
from importlib.metadata import EntryPoint, entry_points
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, cast

from likewise.errors import LikewiseError, ParameterError, shown

if TYPE_CHECKING:
    from likewise.hypotheses.base import HypothesisClass
    from likewise.learner.attention import Attention
    from likewise.learner.players import Player
    from likewise.learner.schedules import Schedule
    from likewise.panel.metrics import Metric
    from likewise.panel.reports import Selection
    from likewise.simulate.learners import Baseline
    from likewise.simulate.world import World


T = TypeVar("T")


class Specified:
    """A part that its name and its parameters describe; attributes have the parameters' names.

    In its JSON the name stands under ``spec_key``, such as "metric".
    """

    spec_key: ClassVar[str]
    name: ClassVar[str] = ""

    def spec(self) -> dict[str, Any]:
        """The part as JSON: its name and its parameters, in their order."""
        values = {name: _listed(value) for name, value in parameters_of(self).items()}
        return {self.spec_key: self.name, **values}

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> Self:
        """Read the part from its JSON; parameters with a default may be left out."""
        return cls(**cls.read_parameters(spec))

    @classmethod
    def read_parameters(cls, spec: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters in a part's JSON: all that are required, and none that is unknown."""
        from likewise import validation  # it needs numpy, and the command line starts without

        defaults = _defaults(cast("type", cls))
        required = [name for name, default in defaults.items() if default is Parameter.empty]
        optional = [name for name in defaults if name not in required]
        title, key = f"{cls.spec_key} {cls.name!r}", cls.spec_key
        values = validation.members(title, spec, (key, *required), optional)
        return {name: value for name, value in values.items() if name != key}


def parameters_of(part: Specified) -> dict[str, Any]:
    """The parameters that a part was made with, by name, in their order."""
    names = _defaults(cast("type", type(part)))
    if lacking := [name for name in names if not hasattr(part, name)]:
        raise LikewiseError(
            f"{type(part).__name__} does not keep {', '.join(lacking)}, with which it was made, so "
            f"it cannot be written down. Keep each as an attribute of that name, or override "
            f"spec and from_spec."
        )
    return {name: getattr(part, name) for name in names}


@cache
def _defaults(part: type) -> Mapping[str, Any]:
    """The defaults of a part's parameters, by name; looking at a signature takes long."""
    return {name: p.default for name, p in signature(part).parameters.items()}


def _listed(value: Any) -> Any:
    """The value with lists in place of tuples, as JSON has them."""
    return [_listed(item) for item in value] if isinstance(value, tuple) else value


# Errors that the reader of a part may raise on a file that was written by hand.
_STUMBLES = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


class Registry(Mapping[str, T]):
    """Parts of one kind by name: those of Likewise, those of entry points, and those added.

    A part is imported when it is first looked up, so that listing the names costs nothing.

    >>> sorted(WORLDS)[0], "loans" in WORLDS, WORLDS["loans"].__name__
    ('adaptive', True, 'Loans')
    >>> WORLDS["lones"]  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    likewise.errors.ParameterError: world must be one of loans, drift, ...; got \
'lones'. Check the spelling; a package adds one with an entry point of the group \
'likewise.worlds', and has to be installed here.
    """

    def __init__(
        self, group: str, noun: str, room: str, targets: Mapping[str, str], key: str = ""
    ) -> None:
        """Ours are an ``attribute`` of the room, or a ``module:attribute`` in it."""
        self.group, self.noun, self.key = f"likewise.{group}", noun, key or noun
        self._targets: dict[str, str | T] = {
            name: f"likewise.{room}{'.' if ':' in target else ':'}{target}"
            for name, target in targets.items()
        }
        self._loaded: dict[str, T] = {}

    @cached_property
    def _installed(self) -> dict[str, list[EntryPoint]]:
        installed: dict[str, dict[str, EntryPoint]] = {}
        for point in entry_points(group=self.group):
            # An editable installation may be listed twice, with the same target.
            installed.setdefault(point.name, {}).setdefault(point.value, point)
        return {name: list(points.values()) for name, points in installed.items()}

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys((*self._targets, *sorted(self._installed))))

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and (name in self._targets or name in self._installed)

    def __getitem__(self, name: str) -> T:
        if name not in self:
            raise ParameterError(
                self.noun, f"must be one of {', '.join(self)}", name,
                f"Check the spelling; a package adds one with an entry point of the group "
                f"{self.group!r}, and has to be installed here.",
            )  # fmt: skip
        target = self._targets.get(name)
        if target is not None and not isinstance(target, str):
            return target
        if name not in self._loaded:
            self._loaded[name] = self._load(name, target)
        return self._loaded[name]

    def _load(self, name: str, target: str | None) -> T:
        points = self._installed.get(name, [])
        claims = [
            f"{point.value} of the package {point.dist.name if point.dist else '(no name)'}"
            for point in points
        ]
        if target is not None:
            claims.insert(0, "Likewise itself")
        if len(claims) > 1:
            raise LikewiseError(
                f"The {self.noun} {name!r} is claimed by {' and by '.join(claims)}. Uninstall one, "
                f"or ask its authors for another name."
            )
        if target is not None:
            return cast(T, EntryPoint(name, target, self.group).load())
        try:
            return cast(T, points[0].load())
        except Exception as error:  # a foreign package may raise anything while it loads
            raise LikewiseError(
                f"The {self.noun} {name!r} is {claims[0]}, which cannot be loaded "
                f"({type(error).__name__}: {error}). Install that package again, or repair it."
            ) from error

    def add(self, name: str, part: T) -> T:
        """Register a part for this process alone; other processes need an entry point."""
        if not isinstance(name, str) or not name:
            rule = "must be text that is not empty"
            raise ParameterError(f"{self.noun} name", rule, name, "Choose one.")
        if name not in self:
            self._targets[name] = part
        elif self._targets.get(name) != part and self[name] is not part:
            remedy = "Choose another name."
            raise ParameterError(f"{self.noun} name", "must not be taken", name, remedy)
        return part

    def write(self, part: Any) -> dict[str, Any]:
        """Return the JSON of a registered part, with its name under the registry's key."""
        if isinstance(part, type) or not hasattr(part, "spec"):
            rule = "must be of a class that is registered, as no code is ever kept in a file"
            raise ParameterError(self.key, rule, part, "Make it one, and register that.")
        spec: dict[str, Any] = part.spec()
        self.check_name(spec.get(self.key), type(part))
        return spec

    def read(self, spec: Mapping[str, Any]) -> Any:
        """Build a part from its JSON, with its name under the registry's key.

        >>> METRICS.read({"metric": "ratings", "ratings": "interview", "low": 0, "high": 10})
        Ratings(ratings='interview', low=0.0, high=10.0)
        """
        key = self.key
        if not isinstance(spec, Mapping) or key not in spec:
            rule = f"must be an object that names a {self.noun}"
            remedy = f'Write {{"{key}": "{next(iter(self))}", …}}.'
            raise ParameterError(key, rule, spec, remedy)
        kind: Any = self[spec[key]]
        try:
            return kind.from_spec(spec)
        except LikewiseError:
            raise
        except _STUMBLES as error:
            raise ParameterError(
                key, f"must be the JSON of the {self.noun} {spec[key]!r}", spec,
                f"{type(error).__name__}: {error}. Compare it with what spec() writes.",
            ) from error  # fmt: skip

    def check_name(self, name: object, part: object) -> str:
        """Return the name if it is registered for the part, which can then be loaded again."""
        if not isinstance(name, str) or name not in self or self[name] is not part:
            label = getattr(part, "__qualname__", type(part).__qualname__)
            raise LikewiseError(
                f"{label} is not registered as the {self.noun} {shown(name)}, so nothing that is "
                f"saved under that name could be loaded again. Register it: by an entry point of "
                f"the group {self.group!r}, or with likewise.registry's add(…) in every process."
            )
        return name


def register(group: str, parts: Mapping[str, Any]) -> None:
    """Register parts of a group ("worlds", "baselines", …): objects, or "module:attribute"."""
    registries = {registry.group.removeprefix("likewise."): registry for registry in REGISTRIES}
    if group not in registries:
        remedy = "Check the spelling."
        raise ParameterError("group", f"must be one of {', '.join(registries)}", group, remedy)
    for name, part in parts.items():
        registries[group].add(name, part)


HYPOTHESES: Registry[type[HypothesisClass]] = Registry(
    "hypotheses", "hypothesis class", "hypotheses", {
    "pool": "pool:Pool", "segments": "segments:Segments", "staircases": "staircases:Staircases",
    "conjunctions": "boolean:Conjunctions", "disjunctions": "boolean:Disjunctions",
    "parities": "boolean:Parities", "decision-lists": "boolean:DecisionLists",
    "stumps": "trees:Stumps", "trees": "trees:Trees",
    "linear-by-intercepts": "trees:LinearByIntercepts",
}, "class")  # fmt: skip
PLAYERS: Registry[type[Player]] = Registry("players", "player", "learner.players", {
    "context-ftpl": "ContextFTPL", "nested-ftpl": "NestedFTPL",
    "exponential-weights": "ExponentialWeights",
})  # fmt: skip
SCHEDULES: Registry[type[Schedule]] = Registry("schedules", "schedule", "learner.schedules", {
    "self-tuned": "SelfTuned", "paper": "Paper", "paper-one-sided": "PaperOneSided",
})  # fmt: skip
ATTENTIONS: Registry[type[Attention]] = Registry("attentions", "attention", "learner.attention", {
    "everything": "Everything", "share": "Share", "possible": "EveryPossiblePair",
    "dominance": "Dominance", "model": "PanelModel",
})  # fmt: skip
BASELINES: Registry[Baseline] = Registry("baselines", "baseline", "simulate.learners", {
    "accuracy-only": "accuracy_only", "untaught": "untaught", "constant": "constant",
})  # fmt: skip
WORLDS: Registry[type[World]] = Registry("worlds", "world", "simulate.loans", {
    "loans": "Loans", "drift": "Drift", "strategic": "Strategic", "adaptive": "Adaptive",
    "adversarial": "Adversarial", "turnover": "Turnover",
})  # fmt: skip
METRICS: Registry[type[Metric]] = Registry("metrics", "metric", "panel.metrics", {
    "weighted-l1": "WeightedL1", "mahalanobis": "Mahalanobis", "masked": "Masked",
    "ratings": "Ratings",
})  # fmt: skip
SELECTIONS: Registry[type[Selection]] = Registry(
    "selections", "selection of pairs", "panel.reports", {
    "largest-gap": "LargestGap", "first": "FirstPair", "random": "RandomPair", "all": "AllPairs",
}, "selection")  # fmt: skip
REGISTRIES: tuple[Registry[Any], ...] = (
    HYPOTHESES, PLAYERS, SCHEDULES, ATTENTIONS, BASELINES, WORLDS, METRICS, SELECTIONS,
)  # fmt: skip
