"""The settings of a docket: what is decided on, by which class, under which panel and rule."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from likewise.errors import LikewiseError, ParameterError
from likewise.hypotheses import Stumps, class_from_spec
from likewise.learner.settings import ALGORITHM, Learner
from likewise.numerics.fixed_point import to_units
from likewise.panel import rule_language, rules
from likewise.people.schema import FeatureSchema
from likewise.registry import ATTENTIONS, SCHEDULES
from likewise.validation import flag, integer, positive, require, within
from likewise_service.errors import ServiceError

# What constructors raise on a hand-written file, besides errors of our own.
_UNREADABLE = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?\Z")


def checked_docket_name(name: str) -> str:
    """Return a name that fits into an address: small letters, digits and hyphens, at most 64.

    >>> checked_docket_name("small-loans-2026")
    'small-loans-2026'
    """
    valid = isinstance(name, str) and _NAME.match(name) is not None
    rule = "must be small letters, digits and hyphens, at most 64 of them"
    require(valid, "docket", rule, name, "For example small-loans-2026.")
    return name


def checked_panel(members: tuple[str, ...], rule: str) -> str:
    """Return the rule's canonical text, if it can fire on a panel of these members."""
    different = len(set(members)) == len(members)
    require(different, "members", "must be different people", list(members), "")
    for member in members:
        rules.checked_name(member, "A panel")
    parsed = rule_language.as_rule(rule)
    remedy = f"The members are {', '.join(members)}; name those, or count fewer votes."
    fires = not members or parsed.can_fire(members)
    require(fires, "rule", f"must be able to fire on a panel of {len(members)}", rule, remedy)
    return str(parsed)


def commitment(seed: int, salt: bytes) -> str:
    """Return a docket's commitment to its seed: SHA-256(salt ‖ seed)."""
    return hashlib.sha256(salt + str(seed).encode()).hexdigest()


@dataclass(frozen=True)
class DocketSpec:
    """All settings of a docket, as its first record holds them; the seed is only committed to.

    ``learner`` is :meth:`Learner.spec` without its seed. ``quorum`` members must have reviewed a
    round for its audit to count when the ``deadline`` (in seconds after sealing) passes; without a
    deadline a panel waits for all of its members. In ``shadow`` the docket scores and is audited,
    but its decisions are not used. ``repeat_share`` is how often an auditor is shown an earlier
    round again, without being told, out of the last ``repeat_window`` that they finished (None: of
    all). Pairs whose scores differ by more than ``sensitivity`` (in units of 2^-20, the learner's)
    can be reported; ``least`` (in units) is the smallest chance with which a round is shown whole.
    In an ``audit_only`` docket the institution decides, scores come with the people, and the
    learner only keeps count. With ``turns`` members are asked one after another, each about the
    pairs still in dispute and within a deadline of their own, until no vote can change the outcome;
    a lottery puts ``together_share`` of the rounds before all at once, and agreement is counted in
    those. In a ``graded`` docket a flag may say how far apart the two may be at most.
    """

    title: str
    learner: Mapping[str, Any]
    members: tuple[str, ...]
    rule: str = "majority"
    quorum: int = 1
    deadline: float | None = None
    shadow: bool = False
    repeat_share: float = 0.05
    repeat_window: int | None = 200
    audit_only: bool = False
    turns: bool = False
    together_share: float = 0.05
    graded: bool = False
    sensitivity: int = field(init=False, repr=False, compare=False)
    least: int = field(init=False, repr=False, compare=False)
    learns: bool = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        titled = isinstance(self.title, str) and 0 < len(self.title) <= 200
        require(titled, "title", "must be text of 1 to 200 characters", self.title, "")
        members, deadline, window = tuple(self.members), self.deadline, self.repeat_window
        if deadline is not None:
            deadline = positive("deadline", deadline, "It is in seconds.")
        within("repeat_share", self.repeat_share, 0, 0.5, "0.05 is the default; 0 means never.")
        remedy = "0.05 puts one round in twenty before all members at once; 0 means never."
        together = within("together_share", self.together_share, 0, 1, remedy)
        if window is not None:
            window = integer("repeat_window", window, 1, None, "200 is the default.")
        unseeded = "seed" not in self.learner
        require(unseeded, "learner", "must not name its seed", "seed", "It stays secret.")
        audit_only = flag("audit_only", self.audit_only, "Say which.")
        learner = self.make_learner(0)
        looking = learner.looking
        self._check_use(learner)
        turns = flag("turns", self.turns, "Say whether members are asked one after another.")
        vars(self).update(
            members=members, rule=checked_panel(members, self.rule), deadline=deadline,
            quorum=integer("quorum", self.quorum, 1, None, "1 at least."), repeat_window=window,
            audit_only=audit_only, learner=_without_seed(learner), sensitivity=learner.sensitivity,
            least=to_units(looking.least), turns=turns, learns=turns or looking.learns,
            graded=flag("graded", self.graded, "Say whether a flag may have a limit."),
            together_share=together,
        )  # fmt: skip

    def _check_use(self, learner: Learner) -> None:
        one_sided, looking = learner.pricing.one_sided, learner.looking
        require(
            not self.audit_only or not (self.shadow or one_sided), "audit_only",
            "must have full feedback, and no shadow", self.audit_only,
            "The institution decides in any case.",
        )  # fmt: skip
        require(
            not self.audit_only or not looking.learns, "attention",
            "must be possible, everything or a share in an audit-only docket", looking.name,
            "Name another; a learner that is given later may have any.",
        )  # fmt: skip
        require(
            not self.audit_only or not learner.primal.experts(learner.hypotheses), "player",
            "must not mix others in an audit-only docket", learner.primal.name,
            "Name context-ftpl; a learner that is given later may have any.",
        )  # fmt: skip
        require(
            not self.shadow or not one_sided, "shadow", "must have full feedback",
            learner.feedback,
            "In shadow somebody else decides, so the chances of approval are not ours.",
        )  # fmt: skip

    def make_learner(self, seed: int) -> Learner:
        try:
            return Learner.from_spec({"algorithm": ALGORITHM, **self.learner, "seed": seed})
        except (KeyError, TypeError) as error:
            raise ParameterError(
                "learner", "must be the settings of a learner", str(error),
                "Give hypotheses, k, alpha and eps, and leave out the seed.",
            ) from error  # fmt: skip

    @property
    def schema(self) -> FeatureSchema:
        return self.make_learner(0).hypotheses.schema

    @classmethod
    def of(cls, title: str, learner: Learner, members: tuple[str, ...], **more: Any) -> DocketSpec:
        return cls(title, _without_seed(learner), members, **more)

    def to_json(self) -> dict[str, Any]:
        plain = {name: getattr(self, name) for name in _settings()}
        return {**plain, "learner": dict(self.learner), "members": list(self.members)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> DocketSpec:
        """Read settings; those that are left out have their defaults."""
        names = _settings()
        if unknown := set(data) - set(names):
            fault = f"A docket has no setting {', '.join(sorted(map(repr, unknown)))}"
            raise LikewiseError(f"{fault}; it has {', '.join(sorted(names))}.")
        try:
            return cls(**data)
        except TypeError as error:
            fault = f"These are not the settings of a docket: {_plain(error)}."
            raise LikewiseError(fault) from error

    @classmethod
    def from_hand(cls, data: Mapping[str, Any]) -> DocketSpec:
        """Read settings as somebody wrote them, in which the learner may be given in part.

        A learner needs ``hypotheses``, ``k``, ``alpha`` and ``eps``. Where the docket is
        ``audit_only``, ``schema``, ``k`` and ``alpha`` will do: pairs whose scores differ by more
        than alpha − kappa can be reported, with the default kappa of eps = 0.02.
        """
        try:
            learner = data.get("learner")
            if not isinstance(learner, Mapping):
                parts = "an object with hypotheses, k, alpha and eps"
                raise ServiceError("bad-docket", 422, f"A docket must have a learner: {parts}.")
            # With all of them it is the learner's own record, which is checked for its version.
            audit_only = data.get("audit_only") is True and "hypotheses" not in learner
            completed = _bookkeeping if audit_only else _completed
            settings = learner if "algorithm" in learner else completed(learner)
            return cls.from_json({**data, "learner": settings})
        except LikewiseError:
            raise
        except _UNREADABLE as error:
            fault = f"something is missing, or of another kind than it should be ({_plain(error)})"
            remedy = "Compare them with the example that `likewise init` writes."
            sentence = f"These are not the settings of a docket: {fault}. {remedy}"
            raise ServiceError("bad-docket", 422, sentence) from error


def _plain(error: Exception) -> str:
    """Return the message of a Python error without the names of our code."""
    return re.sub(r"\b[\w.]*__\w+__\(?\)?\s*|\b(?:\w+\.)+\w+\(\)\s*", "", str(error)).strip()


def _settings() -> list[str]:
    return [setting.name for setting in fields(DocketSpec) if setting.init]


def _without_seed(learner: Learner) -> dict[str, Any]:
    return {name: value for name, value in learner.spec().items() if name != "seed"}


def _completed(learner: Mapping[str, Any]) -> dict[str, Any]:
    settings = dict(learner)
    hypotheses = class_from_spec(settings.pop("hypotheses"))
    settings.pop("schema", None)
    return _without_seed(Learner(hypotheses=hypotheses, seed=0, **_parts(settings)))


def _parts(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Read the parts of a learner; an attention may be named, as in ``share:0.25``."""
    parts = dict(settings)
    if "schedule" in parts:
        parts["schedule"] = SCHEDULES.read(parts["schedule"])
    if isinstance(parts.get("attention"), Mapping):
        parts["attention"] = ATTENTIONS.read(parts["attention"])
    return parts


def _bookkeeping(learner: Mapping[str, Any]) -> dict[str, Any]:
    """Complete a learner that decides nothing: it knows a round's people and missing labels."""
    settings = dict(learner)
    schema = FeatureSchema.from_spec(settings.pop("schema"))
    complete = (feature for feature in schema.features if feature.missing is None)
    number = next((f for f in complete if f.kind in ("number", "integer", "flag")), None)
    if number is None:
        fault = "An audit-only docket needs a feature that is a number or a flag and never missing."
        remedy = "Add one, such as the year of the application."
        raise ServiceError("bad-docket", 422, f"{fault} {remedy}")
    low, high = number.limits
    cut = (low + high) / 2 if math.isfinite(high - low) else 0.0
    hypotheses = Stumps(schema, {number.name: [cut]})
    return _without_seed(Learner(hypotheses, seed=0, **{"eps": 0.02, **_parts(settings)}))
