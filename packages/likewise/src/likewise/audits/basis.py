"""The basis of an audit: the panel, the schema, and hashes of the data and scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from platform import python_version
from typing import TYPE_CHECKING, Any

import numpy as np

from likewise import __version__
from likewise.audits.scores import Rows
from likewise.errors import LikewiseError
from likewise.panel import MetricAuditor, Panel
from likewise.validation import instance, integer, text

if TYPE_CHECKING:
    from likewise.audits import Survey


@dataclass(frozen=True)
class Basis:
    """The basis of an audit: with the same data and scores it can be done again.

    ``panel`` has every metric and weight and the rule, ``schema`` every feature. ``hashes`` are
    SHA-256 of data (the schema's own hash, ids, features), scores and labels as arrays of
    little-endian floats, people in the order of their ids (shorter ones first), and of files that
    were read. ``left_out`` says how many rows, and why.
    """

    model: str
    date: str
    versions: Mapping[str, str]
    hashes: Mapping[str, str]
    left_out: Mapping[str, int]
    schema: Mapping[str, Any]
    panel: Mapping[str, Any]

    def facts(self) -> list[tuple[str, str]]:
        """Names and values, for tables."""
        versions = ", ".join(f"{name} {number}" for name, number in self.versions.items())
        left_out = "; ".join(f"{count:,}: {why}" for why, count in self.left_out.items())
        return [
            ("model", self.model or "not named"),
            ("date", self.date.replace("T", " ").replace("+00:00", " UTC")),
            ("rows left out", left_out or "none"),
            *((f"SHA-256 of {name}", digest) for name, digest in self.hashes.items()),
            ("made with", versions),
        ]


def basis_of(
    rows: Rows, panel: Panel | Survey, model: str, left_out: Mapping[str, int] | None
) -> Basis:
    """The record of what the audit rests on; kinds of people are hashed with their counts."""
    people = rows.people
    instance("left_out", {} if left_out is None else left_out, Mapping, "Write {'no score': 3}.")
    reasons = {
        text("left_out", why, "A reason is text."): integer("left_out", n, 0, None, "Count rows.")
        for why, n in (left_out or {}).items()
    }
    head = "\n".join([people.schema.digest, *people.ids])
    numbers = {"scores": rows.chances, "counts": rows.counts, "labels": rows.labels}
    hashes = {"data": _sha256(people.x, head)} | {
        name: _sha256(array) for name, array in numbers.items() if array is not None
    }
    spec = panel.spec() if not isinstance(panel, Panel) else {
        "auditors": [_auditor_spec(auditor) for auditor in panel.auditors], "rule": str(panel.rule),
    }  # fmt: skip
    versions = {"likewise": __version__, "Python": python_version(), "numpy": np.__version__}
    return Basis(
        text("model", model, "It is a name."),
        datetime.now(UTC).isoformat(timespec="seconds"), versions,
        hashes if len(people) else {},  # there are none of rows that are read block by block
        reasons,
        people.schema.spec(), spec,
    )  # fmt: skip


def _sha256(numbers: Any, head: str = "") -> str:
    """SHA-256 of the head and of numbers as little-endian floats; a missing one is always alike."""
    floats = np.asarray(numbers, dtype="<f8")
    floats = np.where(np.isnan(floats), np.nan, floats)
    return sha256(head.encode() + floats.tobytes()).hexdigest()


def _auditor_spec(auditor: MetricAuditor) -> dict[str, Any]:
    """Every metric and weight; what cannot be written down is named alone."""
    try:
        return auditor.spec()
    except LikewiseError:  # a function, or a metric that nobody has registered
        function: Any = getattr(auditor.distance, "function", auditor.distance)
        name = getattr(function, "__qualname__", type(function).__qualname__)
        code = {"function": f"{function.__module__}.{name}"}
        return {"name": auditor.name, "distance": code}
