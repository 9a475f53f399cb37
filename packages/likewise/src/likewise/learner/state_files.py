"""States as files: JSON behind one line that names the version, the length and the hash.

    likewise-state/1 <length of the JSON in bytes> <its SHA-256>
    {"learner": {…}, "arrays": ["…"], …}

Nothing in a file is ever executed. Arrays are little-endian int64 in base64, each written once
even if open rounds share it. The same state always gives the same bytes; others are refused.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType, NoneType, UnionType
from typing import Any, Literal, NoReturn, Union, get_args, get_origin, get_type_hints

import numpy as np

from likewise.errors import LikewiseError, StateFileError, shown
from likewise.learner import fold
from likewise.learner.events import Person
from likewise.learner.settings import Learner
from likewise.learner.state import OpenRound, State, changed
from likewise.numerics.fixed_point import FloatArray, IntArray
from likewise.validation import choice, instance, require

VERSION = "likewise-state/1"
NOT_WRITTEN = "Likewise writes no such value."
# The rounds of a stream of noise are numbered below this.
MOST_ROUNDS = 1 << 32
# The numbers of arrays, by shape and content.
Numbers = dict[tuple[tuple[int, ...], bytes], int]
# Errors of reading content that is no state.
_STUMBLES = (
    ArithmeticError, AttributeError, LikewiseError, LookupError, RecursionError, TypeError,
    ValueError,
)  # fmt: skip


def _plain(value: Any, arrays: Numbers) -> Any:
    """A value that JSON's encoder cannot write, in simpler parts.

    An array of integers becomes its number in ``arrays``; a missing feature becomes null.
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
    """The types of the fields of a dataclass; none of a part that is written by its spec."""
    if not is_dataclass(kind) or hasattr(kind, "spec"):
        return {}
    hints = get_type_hints(kind)
    return {f.name: hints[f.name] for f in fields(kind)}


def _array(shape: Sequence[int], encoded: str) -> IntArray:
    content = base64.b64decode(encoded, validate=True)
    return np.frombuffer(content, dtype="<i8").astype(np.int64).reshape(shape)


def read(kind: Any, name: str, data: Any, arrays: Sequence[IntArray]) -> Any:
    """A value of a type from its JSON; errors call it ``name``."""
    if kind == IntArray:
        return arrays[data]
    if kind == FloatArray:
        return np.array(read(tuple[float, ...], name, data, arrays))
    if hasattr(kind, "from_spec"):
        return kind.from_spec(data)
    if types := _types(kind):
        require(isinstance(data, dict), name, "must be an object", data, NOT_WRITTEN)
        wrong = sorted(data.keys() ^ types.keys())
        rule = "must have its fields and no others; these are missing or too many"
        require(not wrong, name, rule, wrong, NOT_WRITTEN)
        return kind(**{k: read(types[k], f"{name}.{k}", v, arrays) for k, v in data.items()})
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType) and arguments[-1] is NoneType:
        return None if data is None else read(arguments[0], name, data, arrays)
    if origin is Literal:
        return choice(name, data, arguments, NOT_WRITTEN)
    if origin is Mapping:
        values = {key: read(arguments[1], name, value, arrays) for key, value in data.items()}
        return MappingProxyType(values)
    if origin is tuple:
        require(isinstance(data, list), name, "must be a list", data, NOT_WRITTEN)
        kinds = arguments[:1] * len(data) if arguments[-1] is Ellipsis else arguments
        return tuple(read(k, name, part, arrays) for k, part in zip(kinds, data, strict=True))
    if kind is float and data is None:
        return math.nan
    plain = arguments or (kind,)
    rule = f"must be {' or '.join(k.__name__ for k in plain)}"
    require(type(data) in plain, name, rule, data, NOT_WRITTEN)
    return data


def _state_from_json(body: Any) -> State:
    arrays = [_array(*pair) for pair in body.pop("arrays")]
    state: State = read(State, "state", body, arrays)
    rounds = {r.id: _in_order(r) for r in sorted(state.open.values(), key=lambda r: r.number)}
    state = changed(state, open=rounds)
    _check(state)
    return state


def _in_order(round_: OpenRound) -> OpenRound:
    """A round with its decisions in the order of its people, not of their names."""
    decisions = {p.id: round_.decisions[p.id] for p in round_.people if p.id in round_.decisions}
    return changed(round_, decisions=MappingProxyType(decisions))


def _check(state: State) -> None:
    """Refuse a state that contradicts its learner or its open rounds."""
    learner, tuning, rounds = state.learner, state.tuning, state.open.values()
    schema, player = learner.hypotheses.schema, learner.primal
    scales, shape = (player.scales(learner.hypotheses),), learner.hypotheses.no_costs().shape
    frozen = [round_.frozen for round_ in rounds if round_.frozen is not None]
    numbers = [0, *(round_.number for round_ in rounds), state.opened + 1]
    fits = numbers == sorted(set(numbers)) and state.opened < MOST_ROUNDS
    rule = f"must count the rounds, the open ones too, below {MOST_ROUNDS}"
    require(fits, "opened", rule, numbers, NOT_WRITTEN)
    awaits = [fold.awaited(round_, learner) for round_ in rounds]
    amounts = [tuning.squares, tuning.pending, tuning.peak, *(f.scales for f in frozen)]
    rules = {
        "costs": all(costs.shape == shape for costs in (state.costs, *(f.costs for f in frozen))),
        "tuning": all(a.shape == scales and bool((a >= 0).all()) for a in amounts),
        "tuning.outstanding": tuning.outstanding == sum(cost for cost, _ in awaits),
        "tuning.waiting": tuning.waiting == sum(audits for _, audits in awaits),
        "incurred": {len(state.incurred), *(len(f.incurred) for f in frozen)}
        == {player.experts(learner.hypotheses)},
        "lam": 0 <= state.lam <= state.account.largest_lam,
        "kappa": 0 <= state.kappa <= learner.margins.kappa,
        "memory": learner.looking.fits(state.memory, schema),
        "opened": len(rounds) <= learner.open_limit,
        "frozen": all((r.frozen is None) == (r.panel is not None) for r in rounds),
        "closed": len(state.closed) <= min(State.remembered, state.opened - len(rounds)),
    }
    for name, fits in rules.items():
        rule = "must be that of the learner and its open rounds"
        require(fits, name, rule, getattr(state, name, tuning), "The file contradicts itself.")
    for round_ in rounds:
        schema.encoded([p.features for p in round_.people], [p.id for p in round_.people])
        fold.check_decisions(tuple(round_.decisions.values()), round_, learner)


class StateWriter:
    """Writes successive states of a run without encoding unchanged rounds again."""

    def __init__(self) -> None:
        self._rounds: dict[str, tuple[OpenRound, str]] = {}

    def dump(self, state: State) -> bytes:
        instance("state", state, State, "State.start(learner) makes one.")
        arrays: Numbers = {}
        encoder = json.JSONEncoder(
            sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False,
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

    def _open_rounds(self, rounds: Mapping[str, OpenRound], encoder: json.JSONEncoder) -> str:
        """Rounds as JSON; those with a policy contain numbers of this state's arrays."""
        before, self._rounds = self._rounds, {}
        for name, round_ in sorted(rounds.items()):
            written = before.get(name)
            if written is None or written[0] is not round_ or round_.frozen is not None:
                written = round_, f"{encoder.encode(name)}:{encoder.encode(round_)}"
            self._rounds[name] = written
        return f"{{{','.join(text for _, text in self._rounds.values())}}}"


def dump_state(state: State) -> bytes:
    """The state as the content of a file."""
    return StateWriter().dump(state)


def parse_state(content: bytes, source: str = "state", *, learner: Learner | None = None) -> State:
    """Read a state from the content of a file; ``source`` is named in errors.

    With a ``learner``, the state must be one of that learner's.
    """
    if not isinstance(content, bytes):
        raise StateFileError(f"{source} must be bytes, a file's content; got {shown(content)}.")
    wrong = f"{source}: the hash is right but the content is not a {VERSION} state"
    try:
        state = _state_from_json(json.loads(_checked(content, source), parse_constant=_no_number))
        written = dump_state(state)
    except StateFileError:
        raise
    except _STUMBLES as error:
        raise StateFileError(f"{wrong}: {error}") from error
    if written != content:
        raise StateFileError(f"{wrong}: Likewise would write it in another way.")
    if learner is not None:
        _check_learner(state, learner, source)
    return state


def _no_number(name: str) -> NoReturn:
    """Refuse NaN and Infinity, which Python reads as numbers and JSON does not."""
    raise ValueError(f"{name} is no number of a state.")


def _check_learner(state: State, learner: Learner, source: str) -> None:
    """Compare all settings but the engine, since every engine decides the same."""
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
    """The two values; of two objects, the keys that differ."""
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
