"""Columns that a listed class looks at, people who are known by these alone, and limits of size."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from likewise.errors import HypothesisError, ParameterError
from likewise.schema import FeatureSchema, Kind, People
from likewise.validation import instance, items

__all__ = ["LARGEST", "LARGEST_TABLE", "NUMERIC", "check_columns", "check_size", "people_at"]

# Beyond these a draw takes milliseconds and a block of draws hundreds of megabytes.
LARGEST = 1 << 17
LARGEST_TABLE = 1 << 25
# Kinds of columns that can be compared with a number.
NUMERIC: tuple[Kind, ...] = ("number", "integer", "flag")


def check_columns(
    owner: str, schema: FeatureSchema, columns: Sequence[str], kinds: tuple[Kind, ...]
) -> tuple[str, ...]:
    """The columns, if they are some of the schema's, different, of these kinds, never missing."""
    instance(f"{owner}.schema", schema, FeatureSchema, "Make one: FeatureSchema((Feature(…), …)).")
    listed = [] if isinstance(columns, str) else items(f"{owner}.columns", columns, "List them.")
    features = [schema[name] for name in listed]
    if not listed or len(set(listed)) != len(listed):
        raise ParameterError(
            f"{owner}.columns", "must be a list of at least one name, none of them twice", columns,
            f"The schema has {', '.join(schema.names)}.",
        )  # fmt: skip
    for feature in features:
        if feature.kind not in kinds:
            raise ParameterError(
                f"{owner}.columns",
                f"must be of the kinds {', '.join(kinds)}",
                f"{feature.name} ({feature.kind})",
                "Turn it into flags, one for each thing that a rule may ask.",
            )
        if feature.missing is not None:
            raise ParameterError(
                f"{owner}.columns",
                "must never be missing",
                f"{feature.name} (missing={feature.missing!r})",
                "Fill it in before it comes here, and make 'missing' a flag of its own.",
            )
    return tuple(feature.name for feature in features)


def check_size(owner: str, size: int, separators: int, remedy: str) -> None:
    """Refuse a class that is too large to be listed."""
    if size > LARGEST:
        raise HypothesisError(
            f"{owner} must have at most {LARGEST} hypotheses, as they are listed; this one has "
            f"{size}. {remedy}"
        )
    if size * separators > LARGEST_TABLE:
        raise HypothesisError(
            f"{owner} must have at most {LARGEST_TABLE} predictions on its separating set; this "
            f"one has {size} hypotheses on {separators} points. {remedy}"
        )


def people_at(
    schema: FeatureSchema, columns: Sequence[str], values: npt.NDArray[np.floating | np.uint8]
) -> People:
    """People who have these values in these columns, for a class that looks at nothing else.

    They need not be people whom the schema admits: points of a separating set may be anywhere.

    >>> from likewise.schema import Feature
    >>> schema = FeatureSchema((Feature("a", "flag"), Feature("b", "flag")))
    >>> people_at(schema, ["b"], np.array([[1.0]])).x.tolist()
    [[0.0, 1.0]]
    """
    x = np.zeros((len(values), len(schema)))
    x[:, [schema.place(name) for name in columns]] = values
    return People(tuple(f"q{i + 1}" for i in range(len(values))), x, schema)
