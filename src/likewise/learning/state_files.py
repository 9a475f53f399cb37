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
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from likewise.errors import LikewiseError, StateFileError
from likewise.events import Decision, Person
from likewise.fixed_point import IntArray
from likewise.learning.learner import Learner
from likewise.learning.primal import Frozen
from likewise.learning.state import OpenRound, State, Tuning

__all__ = ["VERSION", "dump_state", "load_state", "parse_state", "save_state"]

VERSION = "likewise-state/1"

_COUNTS = ("lam", "opened", "audits", "reports", "calls", "missing", "overridden")


class _Arrays:
    """Arrays by number, each kept once."""

    def __init__(self) -> None:
        self.written: list[str] = []

    def number(self, array: IntArray) -> int:
        text = base64.b64encode(array.astype("<i8").tobytes()).decode("ascii")
        if text not in self.written:
            self.written.append(text)
        return self.written.index(text)


def _round_to_json(round_: OpenRound, arrays: _Arrays) -> dict[str, Any]:
    return {
        "id": round_.id,
        "number": round_.number,
        "policy": None
        if round_.frozen is None
        else [arrays.number(round_.frozen.costs), round_.frozen.scale],
        "lam": round_.lam,
        "draws": round_.draws,
        # A missing value is NaN, which JSON does not know.
        "people": [
            [p.id, [None if math.isnan(v) else v for v in p.features]] for p in round_.people
        ],
        "batches": round_.batches,
        "decisions": [
            [d.person, d.approved, d.score, d.inverse_chance] for d in round_.decisions.values()
        ],
        "panel": round_.panel,
        "outcome": round_.outcome,
        "pairs": [list(pair) for pair in round_.pairs],
        "labels": dict(sorted(round_.labels.items())),
        "overrides": dict(sorted(round_.overrides.items())),
    }


def _round_from_json(
    data: Mapping[str, Any], arrays: list[IntArray], learner: Learner
) -> OpenRound:
    frozen = None
    if data["policy"] is not None:
        place, scale = data["policy"]
        frozen = Frozen(data["number"], learner.seed, arrays[place], scale, learner.copies)
    return OpenRound(
        id=data["id"],
        number=data["number"],
        frozen=frozen,
        lam=data["lam"],
        draws=data["draws"],
        people=tuple(
            Person(name, tuple(math.nan if v is None else v for v in features))
            for name, features in data["people"]
        ),
        batches=data["batches"],
        decisions=MappingProxyType({d[0]: Decision(*d) for d in data["decisions"]}),
        panel=data["panel"],
        outcome=data["outcome"],
        pairs=tuple((over, under) for over, under in data["pairs"]),
        labels=MappingProxyType(dict(data["labels"])),
        overrides=MappingProxyType(dict(data["overrides"])),
    )


def dump_state(state: State) -> bytes:
    """The state as the content of a file."""
    arrays = _Arrays()
    body = {
        "learner": state.learner.spec(),
        "costs": arrays.number(state.costs),
        **{name: getattr(state, name) for name in _COUNTS},
        "tuning": [state.tuning.squares, state.tuning.pending, state.tuning.peak],
        "open": [_round_to_json(round_, arrays) for round_ in state.open.values()],
        "closed": list(state.closed),
        "arrays": arrays.written,
    }
    text = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    content = text.encode()
    header = f"{VERSION} {len(content)} {hashlib.sha256(content).hexdigest()}\n"
    return header.encode() + content


def parse_state(content: bytes, source: str = "state") -> State:
    """Read a state from the content of a file; ``source`` is named in errors."""
    checked = _checked(content, source)
    try:
        body = json.loads(checked)
        learner = Learner.from_spec(body["learner"])
        shape = learner.hypotheses.no_costs().shape
        arrays = [_array(text, shape) for text in body["arrays"]]
        rounds = [_round_from_json(data, arrays, learner) for data in body["open"]]
        return State(
            learner=learner,
            costs=arrays[body["costs"]],
            tuning=Tuning(*body["tuning"]),
            open=MappingProxyType({round_.id: round_ for round_ in rounds}),
            closed=tuple(body["closed"]),
            **{name: body[name] for name in _COUNTS},
        )
    except (KeyError, TypeError, ValueError, IndexError, binascii.Error, LikewiseError) as error:
        raise StateFileError(
            f"{source}: the hash is right but the content is not a {VERSION} state: {error}"
        ) from error


def _checked(content: bytes, source: str) -> bytes:
    header, newline, body = content.partition(b"\n")
    words = header.decode("utf-8", errors="replace").split(" ")
    if not newline or len(words) != 3 or not words[0].startswith("likewise-state/"):
        raise StateFileError(
            f"{source} must begin with {VERSION!r}; it begins with {content[:24]!r}. It is not a "
            f"state file, or was cut short in its first line."
        )
    if words[0] != VERSION:
        raise StateFileError(
            f"{source} has the version {words[0]!r}; this Likewise reads {VERSION!r}. Continue it "
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


def _array(text: str, shape: tuple[int, ...]) -> IntArray:
    array = np.frombuffer(base64.b64decode(text, validate=True), dtype="<i8").astype(np.int64)
    if array.shape != shape:
        raise ValueError(f"an array has shape {array.shape}, the class needs {shape}")
    return array


def save_state(state: State, path: str | os.PathLike[str]) -> None:
    """Write a state to a file: all of it or, should the machine stop, none of it."""
    target = Path(path)
    part = target.with_name(target.name + ".part")
    with part.open("wb") as file:
        file.write(dump_state(state))
        file.flush()
        os.fsync(file.fileno())
    part.replace(target)


def load_state(path: str | os.PathLike[str]) -> State:
    """Read a state from a file and continue exactly where it was saved."""
    return parse_state(Path(path).read_bytes(), str(path))
