"""Listed classes over some columns: checks, limits of size, and the base class that they share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from likewise.errors import HypothesisError, ParameterError
from likewise.hypotheses.base import Bits
from likewise.hypotheses.listed.base import Listed
from likewise.schema import FeatureSchema, Kind, People
from likewise.validation import instance, items

# Beyond these a draw takes milliseconds and a block of draws hundreds of megabytes.
LARGEST = 1 << 17
LARGEST_TABLE = 1 << 25
# Kinds of columns that can be compared with a number.
NUMERIC: tuple[Kind, ...] = ("number", "integer", "flag")


def check_columns(
    owner: str, schema: FeatureSchema, columns: Sequence[str], kinds: tuple[Kind, ...]
) -> tuple[str, ...]:
    """Check that the columns are the schema's, different, of these kinds and never missing."""
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
                "Turn it into flags, one for each question of a rule.",
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
    """People who have these values in these columns, for a class that reads no others.

    The schema need not admit them: points of a separating set may be anywhere.

    >>> from likewise.schema import Feature
    >>> schema = FeatureSchema((Feature("a", "flag"), Feature("b", "flag")))
    >>> people_at(schema, ["b"], np.array([[1.0]])).x.tolist()
    [[0.0, 1.0]]
    """
    x = np.zeros((len(values), len(schema)))
    x[:, [schema.place(name) for name in columns]] = values
    return People(tuple(f"q{i + 1}" for i in range(len(values))), x, schema)


class OverColumns(Listed):
    """A listed class that reads some columns; ``separating_set`` holds values of these."""

    columns: tuple[str, ...]

    def __init__(self, schema: FeatureSchema, separating_set: npt.NDArray[Any]) -> None:
        self.separating_set = separating_set
        super().__init__(schema, separating=people_at(schema, self.columns, separating_set))

    @abstractmethod
    def evaluate(self, values: npt.NDArray[Any]) -> Bits:
        """The predictions of all hypotheses, (k, N), on rows of the columns' values, (k, n)."""

    def predictions(self, people: People) -> Bits:
        """The predictions of all hypotheses, shape (k, N)."""
        return self.evaluate(np.stack([people.column(name) for name in self.columns], axis=1))


def constant_in_words(bit: int) -> str:
    """The constant hypothesis in words.

    >>> constant_in_words(0)
    'approve nobody'
    """
    return f"approve {'everybody' if bit else 'nobody'}"


def shortest(number: float) -> str:
    """A number as %g writes it where that is exact, otherwise all of its digits.

    >>> shortest(20.0), shortest(1.23456789)
    ('20', '1.23456789')
    """
    short = f"{number:g}"
    return short if float(short) == number else repr(number)
