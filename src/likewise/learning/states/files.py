"""States as files: JSON behind one line that names the version, the length and the hash.

    likewise-state/1 <length of the JSON in bytes> <its SHA-256>
    {"learner": {…}, "arrays": ["…"], …}

Nothing in a file is ever executed. Arrays are little-endian int64 in base64, each written once
however many open rounds share it; the same state always gives the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

from likewise.errors import LikewiseError, StateFileError, shown
from likewise.learning.learner import Learner
from likewise.learning.states.codec import ArrayWriter, to_json
from likewise.learning.states.reading import state_from_json
from likewise.learning.states.state import State
from likewise.validation import instance

VERSION = "likewise-state/1"


def dump_state(state: State) -> bytes:
    """The state as the content of a file."""
    instance("state", state, State, "State.start(learner) makes one.")
    arrays = ArrayWriter()
    body = to_json(state, arrays)
    body["arrays"] = arrays.to_json()
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
