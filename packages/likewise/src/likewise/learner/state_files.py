"""States as files: JSON behind one line that names the version, the length and the hash.

    likewise-state/1 <length of the JSON in bytes> <its SHA-256>
    {"learner": {…}, "arrays": ["…"], …}

Nothing in a file is ever executed. Arrays are little-endian int64 in base64, each written once
however many open rounds share it; the same state always gives the same bytes.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache, partial
from pathlib import Path
from types import MappingProxyType, NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

from likewise.errors import LikewiseError, ParameterError, StateFileError, shown
from likewise.learner import fold
from likewise.learner.attention import Asking
from likewise.learner.events import Audited, Person
from likewise.learner.players import Frozen
from likewise.learner.settings import Learner
from likewise.learner.state import OpenRound, OpenRounds, State, changed
from likewise.numerics.fixed_point import ONE, FloatArray, IntArray, to_units
from likewise.validation import choice, flag, instance, integer, items, members, real, require, text

VERSION = "likewise-state/1"
LARGEST = 1 << 100  # no count and no cost of any run comes near it
LARGEST_PENDING = 1 << 62  # nor here
MOST_ROUNDS = 1 << 32  # they are numbered below that
NOT_WRITTEN = "Likewise writes no such value."
Reader = Callable[[Any, Sequence[IntArray]], Any]
# The numbers of arrays, by shape and content.
Numbers = dict[tuple[tuple[int, ...], bytes], int]


def _plain(value: Any, arrays: Numbers) -> Any:
    """A value that JSON's own encoder does not write, as one that it does, or nearly.

    An array of integers is written as its number, and kept in ``arrays``; a missing feature is
    null.
    """
    if isinstance(value, Person):
        features = [None if math.isnan(number) else number for number in value.features]
        return {"id": value.id, "features": features}
    if names := _types(value.__class__):
        return {name: getattr(value, name) for name in names}
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, np.ndarray):
        if value.dtype != np.int64:
            return value.tolist()
        return arrays.setdefault((value.shape, value.astype("<i8").tobytes()), len(arrays))
    return value.spec()


@cache
def _types(kind: Any) -> dict[str, Any]:
    """The fields, with their types, of what is written field by field; parts of a learner are not,
    but by their spec.
    """
    if not is_dataclass(kind) or hasattr(kind, "spec"):
        return {}
    hints = get_type_hints(kind)
    return {f.name: hints[f.name] for f in fields(kind)}


def _array(data: Any) -> IntArray:
    shape, encoded = _exactly(2, "arrays", data)
    sizes = [
        integer("arrays: a shape", n, 0, 1 << 32, NOT_WRITTEN)
        for n in items("arrays: a shape", shape, NOT_WRITTEN)
    ]
    try:
        content = base64.b64decode(encoded, validate=True)
    except (binascii.Error, TypeError, ValueError):
        raise ParameterError("arrays", "must be in base64", encoded, NOT_WRITTEN) from None
    rule = f"must be {math.prod(sizes)} integers of 64 bits"
    fits = len(content) == 8 * math.prod(sizes)
    require(fits, "arrays", rule, f"{len(content)} bytes", NOT_WRITTEN)
    return np.frombuffer(content, dtype="<i8").astype(np.int64).reshape(sizes)


@cache
def reader(kind: Any, name: str) -> Reader:
    """The function that reads JSON as a value of a type; ``name`` is what errors call it.

    >>> reader(tuple[int, ...], "closed")([1, 2], [])
    (1, 2)
    """
    if kind in _PLAIN:
        read = _PLAIN[kind]
        return lambda data, _: read(name, data)
    if kind == IntArray:
        return lambda data, arrays: arrays[integer(name, data, 0, len(arrays), NOT_WRITTEN)]
    if hasattr(kind, "from_spec"):
        return lambda data, _: kind.from_spec(data)
    if kind is OpenRounds:
        return _open_rounds_reader(name)
    if types := _types(kind):
        return _object_reader(kind, name, types)
    return _generic_reader(kind, name)


def _generic_reader(kind: Any, name: str) -> Reader:
    """The reader of X | None, Literal[…], Mapping[str, X], tuple[X, …] or tuple[X, Y]."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        present = reader(next(a for a in arguments if a is not NoneType), name)
        return lambda data, arrays: None if data is None else present(data, arrays)
    if origin is Literal:
        return lambda data, _: choice(name, data, arguments, NOT_WRITTEN)
    if origin is Mapping:
        return _mapping_reader(arguments[1], name)
    if origin is not tuple:
        raise TypeError(f"{name} has the type {kind}, which the codec does not know")
    if arguments[-1] is Ellipsis:
        item = reader(arguments[0], name)
        return lambda data, arrays: tuple(
            [item(part, arrays) for part in items(name, data, NOT_WRITTEN)]
        )
    parts = [reader(argument, name) for argument in arguments]
    return lambda data, arrays: tuple(
        part(value, arrays)
        for part, value in zip(parts, _exactly(len(parts), name, data), strict=True)
    )


def _object_reader(kind: Any, name: str, types: Mapping[str, Any]) -> Reader:
    readers = {key: reader(part, f"{name}.{key}") for key, part in types.items()}

    def read(data: Any, arrays: Sequence[IntArray]) -> Any:
        values = members(name, data, readers)
        return kind(**{key: read(values[key], arrays) for key, read in readers.items()})

    return read


def _open_rounds_reader(name: str) -> Reader:
    rounds = reader(tuple[OpenRound, ...], name)

    def read(data: Any, arrays: Sequence[IntArray]) -> OpenRounds:
        by_id = {round_.id: round_ for round_ in rounds(data, arrays)}
        fits, rule = len(by_id) == len(data), "must have every id once"
        require(fits, name, rule, list(by_id), NOT_WRITTEN)
        return OpenRounds(by_id)

    return read


def _mapping_reader(kind: Any, name: str) -> Reader:
    item = reader(kind, name)

    def read(data: Any, arrays: Sequence[IntArray]) -> Any:
        require(isinstance(data, Mapping), name, "must be an object", data, NOT_WRITTEN)
        return MappingProxyType({key: item(value, arrays) for key, value in data.items()})

    return read


def _exactly(count: int, name: str, data: Any) -> list[Any]:
    values = items(name, data, NOT_WRITTEN)
    require(len(values) == count, name, f"must be {count} values", data, NOT_WRITTEN)
    return values


def _read_float(name: str, data: Any) -> float:
    """A finite number, or NaN where it is missing."""
    number = math.nan if data is None else real(name, data, NOT_WRITTEN)
    require(not math.isinf(number), name, "must be finite", data, NOT_WRITTEN)
    return number


_PLAIN: Mapping[Any, Callable[[str, Any], Any]] = {
    bool: lambda name, data: flag(name, data, NOT_WRITTEN),
    int: lambda name, data: integer(name, data, -LARGEST, LARGEST, NOT_WRITTEN),
    float: _read_float,
    int | float: lambda name, data: data if type(data) is int else _read_float(name, data),
    str: lambda name, data: text(name, data, NOT_WRITTEN),
    FloatArray: lambda name, data: np.array(
        [_read_float(name, number) for number in items(name, data, NOT_WRITTEN)]
    ),
}


def state_from_json(body: Any) -> State:
    """The state that a file's JSON describes; raises a LikewiseError that names the field."""
    values = members("state", body, [*(f.name for f in fields(State)), "arrays"])
    arrays = [_array(pair) for pair in items("arrays", values.pop("arrays"), NOT_WRITTEN)]
    state: State = reader(State, "state")(values, arrays)
    _check_counts(state)
    _check_memory(state)
    rounds = {name: _checked_round(name, state) for name in state.open}
    state = changed(state, open=OpenRounds(rounds))
    _check_sums(state)
    return state


_require = partial(require, remedy="The file contradicts itself.")


def _checked_round(name: str, state: State) -> OpenRound:
    """An open round, if its parts can have come about one after the other."""
    round_, learner = state.open[name], state.learner
    try:
        fold.check_id(round_.id, "id")
        _require(round_.number >= 1, "number", "must be at least 1", round_.number)
        _check_policy(round_, learner)
        _check_people(round_, learner)
        _check_outcome(round_, learner)
    except LikewiseError as error:
        raise ParameterError(
            f"open[{name!r}]", "must be an open round", round_.id, str(error)
        ) from error
    decisions = {p.id: round_.decisions[p.id] for p in round_.people if p.id in round_.decisions}
    return changed(round_, decisions=MappingProxyType(decisions))


def _check_policy(round_: OpenRound, learner: Learner) -> None:
    """The policy and what was fixed with it when the round opened."""
    number, frozen = round_.number, round_.frozen
    _require(round_.lam >= 0, "lam", "must be at least 0", round_.lam)
    draws = learner.draws(number)
    _require(round_.draws == draws, "draws", f"must be {draws} in round {number}", round_.draws)
    sealed, rule = round_.panel is not None, "must be kept until the round is sealed"
    _require(sealed == (frozen is None), "frozen", rule, round_.panel)
    if frozen is not None:
        _check_shape("frozen.costs", frozen.costs, learner)
        _check_amounts("frozen.scales", frozen.scales, learner)
        _check_experts("frozen.incurred", frozen.incurred, learner)
        expected = Frozen(
            number, learner.seed, frozen.costs, frozen.scales, learner.copies, frozen.incurred
        )
        _require(frozen == expected, "frozen", f"must be the policy of round {number}", frozen)


def _check_people(round_: OpenRound, learner: Learner) -> None:
    people, limit = round_.people, learner.k
    _require(0 < len(people) <= limit, "people", f"must be between 1 and k = {limit}", len(people))
    for person in people:
        fold.check_id(person.id, "people: an id")
    learner.hypotheses.schema.encoded([p.features for p in people], [p.id for p in people])
    batches, rule = round_.batches, f"must be between 1 and {len(people)}, the people"
    _require(1 <= batches <= len(people), "batches", rule, batches)
    decided = sorted(p.id for p in people[: len(round_.decisions)])
    keys = [(key, decision.person) for key, decision in sorted(round_.decisions.items())]
    rule = "must be on the people who arrived first"
    _require(keys == [(p, p) for p in decided], "decisions", rule, list(round_.decisions))
    fold.check_decisions(tuple(round_.decisions.values()), round_, learner)


def _check_outcome(round_: OpenRound, learner: Learner) -> None:
    sealed, rule = round_.panel is not None, "must be what the panel of a sealed round is asked"
    _require(sealed == (round_.asking is not None), "asking", rule, round_.asking)
    if round_.panel is not None:
        fold.check_id(round_.panel, "panel")
        rule = "must be none while people are undecided"
        _require(not round_.undecided, "panel", rule, round_.panel)
    if round_.asking is not None:
        _check_asking(round_.asking, round_, learner)
    if round_.outcome is None:
        _require(not round_.pairs, "pairs", "must be none before the audit", round_.pairs)
    else:
        rule = "must be none before the round is sealed"
        _require(round_.panel is not None, "outcome", rule, round_.outcome)
        # The constructor and the check are those of the event that said so.
        fold.check_pairs(Audited(round_.id, round_.outcome, round_.pairs), round_)
    for person, label in round_.labels.items():
        fold.checked_label(person, label, round_, fractions=learner.loss.fractions)
        if learner.pricing.one_sided:
            fold.check_seen(person, round_)
    for person, approved in round_.overrides.items():
        decision = round_.decisions.get(person)
        changes = decision is not None and decision.approved != approved
        _require(changes, "overrides", "must change the decision on somebody", person)


def _check_asking(asked: Asking, round_: OpenRound, learner: Learner) -> None:
    """The panel must have been asked about pairs of the round that could be reported."""
    least, most = learner.sensitivity, to_units(learner.alpha)
    fits, rule = least <= asked.sensitivity <= most, f"must be in [{least}, {most}]"
    _require(fits, "asking.sensitivity", rule, asked.sensitivity)
    possible = fold.possible_pairs(round_, learner, asked.sensitivity).ids()
    fits = asked.possible == len(possible) and set(asked.pairs or ()) <= set(possible)
    _require(fits, "asking", f"must be of the {len(possible)} possible pairs", asked)
    _require(0 < asked.chance <= ONE, "asking.chance", "must be in (0, 2^20]", asked.chance)


def _check_counts(state: State) -> None:
    """Counts must agree with each other and with the rounds that are open."""
    learner, opened = state.learner, state.opened
    everybody = opened * learner.k
    limits = {
        "opened": MOST_ROUNDS, "missing": everybody, "overridden": everybody,
        "audits": 0 if learner.ignores_reports else opened,
        "reports": opened if learner.ignores_reports else state.audits, "calls": None,
    }  # fmt: skip
    for name, limit in limits.items():
        value = getattr(state, name)
        _require(value >= 0, name, "must be at least 0", value)
        if limit is not None:
            _require(value <= limit, name, f"must be at most {limit} here", value)
    numbers = [round_.number for round_ in state.open.values()]
    _require(len(set(numbers)) == len(numbers), "open", "must have every number once", numbers)
    last, limit = max(numbers, default=0), learner.open_limit
    _require(last <= opened, "opened", f"must be at least {last}, an open round", opened)
    _require(len(numbers) <= limit, "open", f"must be at most {limit} rounds", len(numbers))
    closed, limit = state.closed, min(opened - len(numbers), State.remembered)
    for name in closed:
        fold.check_id(name, "closed: a round's id")
    distinct = len(set(closed)) == len(closed) <= limit
    _require(distinct, "closed", f"must be at most {limit} different rounds", len(closed))
    overlap = sorted(set(state.open) & set(closed))
    _require(not overlap, "closed", "must not name a round that is open", overlap)


def _check_memory(state: State) -> None:
    """The attention must have learnt of these features, and counted these rounds."""
    learner, looks = state.learner, state.looks
    fits = learner.looking.fits(state.memory, learner.hypotheses.schema)
    rule = f"must be what {learner.looking.name!r} learns of the learner's features"
    _require(fits, "memory", rule, f"{len(state.memory)} numbers")
    fits = all(map(math.isfinite, state.memory))
    _require(fits, "memory", "must be finite numbers", state.memory)
    fits = 0 <= looks.surprises <= looks.rounds <= state.opened and looks.pairs >= 0
    fits = fits and 0 <= looks.in_part <= state.opened
    _require(fits, "looks", f"must count at most {state.opened} rounds", looks)
    fits = looks.unseen >= 0 >= looks.log_chances
    _require(fits, "looks", "must have chances of at most 1", looks)


def _check_sums(state: State) -> None:
    learner, account, tuning = state.learner, state.account, state.tuning
    _require(state.lam >= 0, "lam", "must be at least 0", state.lam)
    largest = learner.margins.kappa
    _require(0 <= state.kappa <= largest, "kappa", f"must be in [0, {largest!r}]", state.kappa)
    _require(account.reported >= 0, "account.reported", "must be at least 0", account.reported)
    rule = f"must be at least lam, which is {state.lam!r}"
    _require(account.largest_lam >= state.lam, "account.largest_lam", rule, account.largest_lam)
    _check_shape("costs", state.costs, learner)
    _check_experts("incurred", state.incurred, learner)
    for name in ("squares", "peak", "pending"):
        _check_amounts(f"tuning.{name}", getattr(tuning, name), learner)
    small = bool((tuning.pending < LARGEST_PENDING).all())
    _require(small, "tuning.pending", "must be below 2^62", tuning.pending)
    awaits = [fold.awaited(round_, learner) for round_ in state.open.values()]
    cost, audits = sum(cost for cost, _ in awaits), sum(audits for _, audits in awaits)
    value = tuning.outstanding
    _require(value == cost, "tuning.outstanding", f"must be {cost}", value)
    _require(tuning.waiting == audits, "tuning.waiting", f"must be {audits}", tuning.waiting)


def _check_shape(name: str, costs: Any, learner: Learner) -> None:
    shape = learner.hypotheses.no_costs().shape
    _require(costs.shape == shape, name, f"must have the shape {shape}", costs.shape)


def _check_amounts(name: str, amounts: Any, learner: Learner) -> None:
    count = learner.primal.scales(learner.hypotheses)
    fits = amounts.shape == (count,) and bool(np.all(amounts >= 0))
    _require(fits, name, f"must be {count} numbers of at least 0", amounts.tolist())


def _check_experts(name: str, costs: tuple[int, ...], learner: Learner) -> None:
    count = learner.primal.experts(learner.hypotheses)
    _require(len(costs) == count, name, f"must be {count} values", costs)


class StateWriter:
    """Writes states of one run, one after another: what has not changed is not encoded again."""

    def __init__(self) -> None:
        self._rounds: dict[str, tuple[OpenRound, str]] = {}

    def dump(self, state: State) -> bytes:
        """The state as the content of a file."""
        instance("state", state, State, "State.start(learner) makes one.")
        arrays: Numbers = {}
        encoder = json.JSONEncoder(
            sort_keys=True, separators=(",", ":"), ensure_ascii=False,
            default=lambda value: _plain(value, arrays),
        )  # fmt: skip
        texts = {
            name: encoder.encode(getattr(state, name)) for name in _types(State) if name != "open"
        }
        texts["open"] = self._open_rounds(state.open, encoder)
        texts["arrays"] = encoder.encode(
            [[shape, base64.b64encode(content).decode("ascii")] for shape, content in arrays]
        )
        listed = ",".join(f'"{name}":{text}' for name, text in sorted(texts.items()))
        content = f"{{{listed}}}".encode()
        header = f"{VERSION} {len(content)} {hashlib.sha256(content).hexdigest()}\n"
        return header.encode() + content

    def _open_rounds(self, rounds: OpenRounds, encoder: json.JSONEncoder) -> str:
        """Rounds as JSON; those with a policy name arrays by numbers that are this state's."""
        before, self._rounds = self._rounds, {}
        for name, round_ in rounds.items():
            written = before.get(name)
            if written is None or written[0] is not round_ or round_.frozen is not None:
                written = round_, encoder.encode(round_)
            self._rounds[name] = written
        return f"[{','.join(text for _, text in self._rounds.values())}]"


def dump_state(state: State) -> bytes:
    """The state as the content of a file."""
    return StateWriter().dump(state)


def parse_state(content: bytes, source: str = "state", *, learner: Learner | None = None) -> State:
    """Read a state from the content of a file; ``source`` is named in errors.

    With a ``learner``, the state must be one of that learner's.
    """
    if not isinstance(content, bytes):
        raise StateFileError(f"{source} must be bytes, a file's content; got {shown(content)}.")
    body = _checked(content, source)
    try:
        state = state_from_json(json.loads(body, object_pairs_hook=_object))
    except (LikewiseError, RecursionError, ValueError) as error:
        raise StateFileError(
            f"{source}: the hash is right but the content is not a {VERSION} state: {error}"
        ) from error
    if learner is not None:
        _check_learner(state, learner, source)
    return state


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object; one that names a key twice can be read in two ways."""
    members = dict(pairs)
    if len(members) != len(pairs):
        raise StateFileError("an object names the same key twice")
    return members


def _check_learner(state: State, learner: Learner, source: str) -> None:
    """Compare all settings; the engine is none of them, since every engine decides the same."""
    instance("learner", learner, Learner, "It is the learner that you expect.")
    stored, expected = state.learner.spec(), learner.spec()
    names = [name for name in expected if name != "engine" and stored[name] != expected[name]]
    if names:
        differences = ", ".join(_difference(n, stored[n], expected[n]) for n in names)
        raise StateFileError(
            f"{source} is a state of another learner: there {differences}. Continue it with its "
            f"own learner, load_state(path).learner, or start anew: State.start(learner)."
        )


def _difference(name: str, stored: Any, expected: Any) -> str:
    """The two values where they are short; of two objects, the keys that differ."""
    if isinstance(stored, dict) and isinstance(expected, dict):
        keys = [k for k in {**stored, **expected} if stored.get(k) != expected.get(k)]
        return f"{name} differs in its {', '.join(keys)}"
    return f"{name} is {shown(stored)}, not {shown(expected)}"


def _checked(content: bytes, source: str) -> bytes:
    """The JSON behind a header that fits it."""
    header, newline, body = content.partition(b"\n")
    words = header.decode("utf-8", errors="replace").split(" ")
    if not newline or len(words) != 3 or not words[0].startswith("likewise-state/"):
        raise StateFileError(
            f"{source} must begin with {VERSION!r}; it begins with {content[:24]!r}. It is not a "
            f"state file, or was cut short in its first line."
        )
    if words[0] != VERSION:
        raise StateFileError(
            f"{source} has the version {words[0]!r}; this Likewise reads {VERSION}. Continue it "
            f"with the Likewise that wrote it."
        )
    if words[1] != str(len(body)):
        raise StateFileError(
            f"{source} must have {words[1]} bytes after its first line; it has {len(body)}. It was "
            f"cut short or added to; restore it from a copy."
        )
    if hashlib.sha256(body).hexdigest() != words[2]:
        raise StateFileError(
            f"{source} does not have the hash that its first line names. It was changed after it "
            f"was written; restore it from a copy."
        )
    return body


def save_state(state: State, path: str | os.PathLike[str]) -> None:
    """Write a state to a file: all of it or, should the machine stop, none of it."""
    content = dump_state(state)
    try:
        target = Path(path)
        part = target.with_name(target.name + ".part")
        with part.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        part.replace(target)
    except (OSError, TypeError, ValueError) as error:
        raise StateFileError(f"The state was not written to {shown(path)}: {error}") from error


def load_state(path: str | os.PathLike[str], *, learner: Learner | None = None) -> State:
    """Read a state from a file and continue exactly where it was saved.

    With a ``learner``, a file of another learner is refused.
    """
    try:
        content = Path(path).read_bytes()
    except (OSError, TypeError, ValueError) as error:
        raise StateFileError(f"No state was read from {shown(path)}: {error}") from error
    return parse_state(content, str(path), learner=learner)
