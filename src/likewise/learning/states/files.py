"""States as files: JSON behind one line that names the version, the length and the hash.

    likewise-state/2 <length of the JSON in bytes> <its SHA-256>
    {"learner": {…}, "arrays": ["…"], …}

Nothing in a file is ever executed. Arrays are little-endian int64 in base64, each written once
however many open rounds share it; the same state always gives the same bytes.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import os
from pathlib import Path
from typing import Any

from likewise.errors import LikewiseError, StateFileError, shown
from likewise.fixed_point import IntArray
from likewise.learning.learner import Learner
from likewise.learning.states.reading import COUNTS, modern, state_from_json
from likewise.learning.states.state import OpenRound, State
from likewise.validation import instance

__all__ = ["VERSION", "dump_state", "load_state", "parse_state", "save_state"]

VERSION = "likewise-state/2"
# Everything that was ever written is read.
READ = ("likewise-state/1", VERSION)


class _Arrays:
    """Arrays by number, each kept once."""

    def __init__(self) -> None:
        self._numbers: dict[bytes, int] = {}

    def number(self, array: IntArray) -> int:
        return self._numbers.setdefault(array.astype("<i8").tobytes(), len(self._numbers))

    @property
    def written(self) -> list[str]:
        return [base64.b64encode(content).decode("ascii") for content in self._numbers]


def _round_to_json(round_: OpenRound, arrays: _Arrays) -> dict[str, Any]:
    return {
        "id": round_.id,
        "number": round_.number,
        "policy": None
        if round_.frozen is None
        else [
            arrays.number(round_.frozen.costs),
            round_.frozen.scales.tolist(),
            list(round_.frozen.incurred),
        ],
        "lam": round_.lam,
        "draws": round_.draws,
        # A missing value is NaN, which JSON does not know.
        "people": [
            [p.id, [None if math.isnan(v) else v for v in p.features]] for p in round_.people
        ],
        "batches": round_.batches,
        "decisions": [
            [d.person, d.approved, d.score, d.inverse_chance, d.experts and list(d.experts)]
            for d in round_.decisions.values()
        ],
        "panel": round_.panel,
        "outcome": round_.outcome,
        "pairs": [list(pair) for pair in round_.pairs],
        "labels": dict(sorted(round_.labels.items())),
        "overrides": dict(sorted(round_.overrides.items())),
    }


def dump_state(state: State) -> bytes:
    """The state as the content of a file."""
    instance("state", state, State, "State.start(learner) makes one.")
    arrays = _Arrays()
    body = {
        "learner": state.learner.spec(),
        "costs": arrays.number(state.costs),
        "lam": state.lam,
        **{name: getattr(state, name) for name in COUNTS},
        "account": None
        if state.account is None
        else [state.account.paid, state.account.reported, state.account.largest_lam],
        "incurred": list(state.incurred),
        "tuning": [
            state.tuning.squares.tolist(),
            state.tuning.pending.tolist(),
            state.tuning.peak.tolist(),
        ],
        "open": [_round_to_json(round_, arrays) for round_ in state.open.values()],
        "closed": list(state.closed),
        "arrays": arrays.written,
    }
    text = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    content = text.encode()
    header = f"{VERSION} {len(content)} {hashlib.sha256(content).hexdigest()}\n"
    return header.encode() + content


def parse_state(content: bytes, source: str = "state", *, learner: Learner | None = None) -> State:
    """Read a state from the content of a file; ``source`` is named in errors.

    With a ``learner``, the state must be one of that learner's.
    """
    if not isinstance(content, bytes):
        raise StateFileError(
            f"{source} must be bytes, the content of a file; got {shown(content)}."
        )
    version, checked = _checked(content, source)
    try:
        body = json.loads(checked, object_pairs_hook=_object)
        state = state_from_json(modern(body) if version != VERSION else body)
    except (LikewiseError, RecursionError, ValueError) as error:
        raise StateFileError(
            f"{source}: the hash is right but the content is not a {version} state: {error}"
        ) from error
    if learner is not None:
        _check_learner(state, learner, source)
    return state


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object; one that says a thing twice can be read in two ways."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise StateFileError("an object names the same thing twice")
    return found


def _check_learner(state: State, learner: Learner, source: str) -> None:
    """Compare all settings; the engine is none of them, since every engine decides the same."""
    instance("learner", learner, Learner, "It is the learner that you expect.")
    there, here = state.learner.spec(), learner.spec()
    differ = [name for name in here if name != "engine" and there[name] != here[name]]
    if differ:
        said = ", ".join(_difference(name, there[name], here[name]) for name in differ)
        raise StateFileError(
            f"{source} is a state of another learner: there {said}. Continue it with its own "
            f"learner, load_state(path).learner, or start anew: State.start(learner)."
        )


def _difference(name: str, there: Any, here: Any) -> str:
    """The two values where they can be said in a few words; of two objects, where they differ."""
    if not (isinstance(there, dict) and isinstance(here, dict)):
        return f"{name} is {_brief(there)}, not {_brief(here)}"
    differ = [key for key in {**there, **here} if there.get(key) != here.get(key)]
    return f"{name} differs in its {', '.join(differ)}"


def _brief(value: Any) -> str:
    return "another" if isinstance(value, dict) else shown(value)


def _checked(content: bytes, source: str) -> tuple[str, bytes]:
    header, newline, body = content.partition(b"\n")
    words = header.decode("utf-8", errors="replace").split(" ")
    if not newline or len(words) != 3 or not words[0].startswith("likewise-state/"):
        raise StateFileError(
            f"{source} must begin with {VERSION!r}; it begins with {content[:24]!r}. It is not a "
            f"state file, or was cut short in its first line."
        )
    if words[0] not in READ:
        raise StateFileError(
            f"{source} has the version {words[0]!r}; this Likewise reads {' and '.join(READ)}. "
            f"Continue it with the Likewise that wrote it."
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
    return words[0], body


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
